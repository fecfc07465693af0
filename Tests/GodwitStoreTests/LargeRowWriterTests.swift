import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

/// Rows that are computed as SQLite reads them.
struct LargeRowWriterTests {
  private static func bytes(_ count: Int, _ seed: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8) ^ seed) }
  }

  private func connection(_ columns: String = "Z_PK INTEGER PRIMARY KEY, A INTEGER, B VARCHAR, C BLOB") throws
    -> StoreConnection
  {
    let connection = try StoreConnection(path: nil)
    try connection.execute("CREATE TABLE T (\(columns))")
    try connection.execute("CREATE TABLE S (Z_PK INTEGER PRIMARY KEY, V)")
    return connection
  }

  private func value(_ connection: StoreConnection, _ key: Int64, _ value: SQLValue) throws -> OpenValue {
    try connection.execute("INSERT OR REPLACE INTO S VALUES (?1, ?2)", [.integer(key), value])
    return try OpenValue(
      LargeValue(database: "main", table: "S", column: "V", key: key, isText: value.kind == SQLValue.text([]).kind),
      connection)
  }

  @Test func `SQLite copies a large record without extracting columns`() throws {
    let connection = try connection()
    let writer = try #require(try LargeRowWriter(connection, tables: ["t"]))
    let codes = try connection.rows("EXPLAIN " + writer.transfer(to: "T")).map { row -> String in
      if case .text(let code) = row[1] { String(decoding: code, as: UTF8.self) } else { "" }
    }
    #expect(codes.contains("RowData") || codes.contains("RowCell"), "\(codes)")
    #expect(!codes.contains("Column") && !codes.contains("MakeRecord"), "\(codes)")
  }

  @Test(arguments: [true, false])
  func `a large record of any length equals SQLite's own`(isText: Bool) throws {
    let connection = try connection()
    let writer = try #require(try LargeRowWriter(connection, tables: ["T"]))
    // A page holds 4061 bytes of a row, or 489 and what the last page of the rest would hold.
    let sizes =
      Array(4030...4070) + Array(4560...4600) + Array(8130...8180) + [60, 61, 62, 63, 64, 16_383, 16_384, 300_000]
    var key = Int64.min
    for (number, size) in sizes.enumerated() {
      let content = isText ? SQLValue.text(Self.bytes(size, 7).map { $0 & 0x7f }) : .blob(Self.bytes(size, number))
      let a = SQLValue.integer(number % 9 == 0 ? 0 : 1 << (number % 63))
      try connection.execute("INSERT INTO T VALUES (?1, ?2, ?3, NULL)", [.integer(key), a, .text([0x41])])
      let large = try value(connection, 1, content)
      try writer.complete(key, in: "T", with: [isText ? "b" : "C": large], holding: .mebibytes(1))
      let found = try #require(try connection.rows("SELECT * FROM T WHERE Z_PK = ?1", [.integer(key)]).first)
      #expect(found == [.integer(key), a, isText ? content : .text([0x41]), isText ? .null : content], "\(size)")
      key = number == sizes.count / 2 ? -100 : number == sizes.count - 2 ? .max : key &+ 1
    }
    #expect(try connection.rows("PRAGMA main.integrity_check") == [[.text(Array("ok".utf8))]])
    #expect(try connection.integer("SELECT COUNT(*) FROM T") == Int64(sizes.count))
  }

  @Test func `a record header that its own length makes longer is right`() throws {
    for columns in [124, 125, 126, 127, 128, 200] {
      let names = (0..<columns).map { "C\($0)" }
      let connection = try connection("Z_PK INTEGER PRIMARY KEY, \(names.map { "\($0) BLOB" }.joined(separator: ", "))")
      let writer = try #require(try LargeRowWriter(connection, tables: ["T"]))
      try connection.execute("INSERT INTO T (Z_PK, C1) VALUES (5, 2.5)")
      let content = SQLValue.blob(Self.bytes(5000, columns))
      try writer.complete(5, in: "T", with: ["C\(columns / 2)": value(connection, 1, content)], holding: .mebibytes(1))
      #expect(try connection.value("SELECT C\(columns / 2) FROM T") == content)
      #expect(try connection.value("SELECT C1 FROM T") == .real(2.5))
      #expect(try connection.rows("PRAGMA main.integrity_check") == [[.text(Array("ok".utf8))]])
    }
  }

  @Test func `pages of a large-row file skip the lock-byte page and restart after the last`() throws {
    for start in [LargeRowFile.lockPage - 5, LargeRowFile.pages - 12] {
      let connection = try connection()
      let writer = try #require(try LargeRowWriter(connection, tables: ["T"]))
      writer.file.nextPage = start
      for key in Int64(1)...4 {
        try connection.execute("INSERT INTO T (Z_PK) VALUES (?1)", [.integer(key)])
        let content = SQLValue.text(Self.bytes(20_000, Int(key)).map { $0 & 0x7f })
        try writer.complete(key, in: "T", with: ["B": value(connection, 1, content)], holding: .mebibytes(1))
        #expect(try connection.value("SELECT B FROM T WHERE Z_PK = ?1", [.integer(key)]) == content)
      }
      #expect(try connection.rows("PRAGMA main.integrity_check") == [[.text(Array("ok".utf8))]])
    }
  }

  @Test func `blobs at the end of a row are filled, others copied`() throws {
    let connection = try connection("Z_PK INTEGER PRIMARY KEY, A BLOB, B INTEGER, C BLOB, D VARCHAR, E INTEGER")
    let writer = try #require(try LargeRowWriter(connection, tables: ["T"]))
    let blob = try value(connection, 1, .blob(Self.bytes(400_000, 3)))
    let text = try value(connection, 2, .text(Self.bytes(400_000, 3).map { $0 & 0x7f }))
    let cases: [(String, [String: OpenValue], LargeRowWriter.Way)] = [
      ("NULL, 1, NULL, NULL, 0", ["A": blob, "C": blob], .filled), ("NULL, 2, NULL, NULL, 0", ["A": blob], .copied),
      ("NULL, 2, NULL, NULL, 0", ["C": blob], .filled), ("NULL, 0, NULL, 'x', NULL", ["A": blob, "C": blob], .copied),
      ("NULL, 0, NULL, NULL, NULL", ["A": blob, "D": text], .copied), ("x'00', 7, NULL, NULL, 1", ["C": blob], .filled),
    ]
    for (number, (row, values, way)) in cases.enumerated() {
      try connection.execute("INSERT INTO T VALUES (\(number), \(row))")
      let before = try connection.rows("SELECT * FROM T WHERE Z_PK = \(number)")[0]
      #expect(try writer.complete(Int64(number), in: "T", with: values, holding: .init(bytes: 0)) == way, "\(row)")
      var expected = before
      for (place, name) in ["A", "B", "C", "D", "E"].enumerated() {
        if let large = values[name] { expected[place + 1] = try connection.whole(large.large) }
      }
      #expect(try connection.rows("SELECT * FROM T WHERE Z_PK = \(number)")[0] == expected, "\(row)")
    }
    #expect(try connection.rows("PRAGMA main.integrity_check") == [[.text(Array("ok".utf8))]])
    let small = try value(connection, 3, .blob([1, 2]))
    try connection.execute("INSERT INTO T (Z_PK) VALUES (100)")
    #expect(try writer.complete(100, in: "T", with: ["C": small], holding: .init(bytes: 2)) == .copied)
  }

  @Test func `tables with an index, a trigger or NOT NULL are not served, and another key is not changed`()
    throws
  {
    let connection = try connection()
    for table in [
      "I (Z_PK INTEGER PRIMARY KEY, A)", "G (Z_PK INTEGER PRIMARY KEY, A)", "W (Z_PK, A)",
      "N (Z_PK INTEGER PRIMARY KEY, A NOT NULL)", "K (ID INTEGER PRIMARY KEY)",
      "C (Z_PK INTEGER PRIMARY KEY, A, B AS (A + 1))",
    ] {
      try connection.execute("CREATE TABLE \(table)")
    }
    try connection.execute("CREATE INDEX X ON I (A)")
    try connection.execute("CREATE TRIGGER R AFTER INSERT ON G BEGIN SELECT 1; END")
    let writer = try #require(try LargeRowWriter(connection, tables: ["T", "I", "G", "N", "K", "C", "W", "Nobody"]))
    let names = ["T", "I", "G", "N", "K", "C", "W", "Nobody", "S"]
    #expect(try names.filter { try writer.supports($0) } == ["T", "K", "W"])
    try connection.execute("INSERT INTO W VALUES (1, zeroblob(1000))")
    let limit = ByteCount(bytes: 100)
    #expect(try writer.change(1, in: "W", lengthLimit: limit, holding: limit) {} == nil)
  }

  @Test func `a row is changed while its large values are set aside`() throws {
    let connection = try connection("Z_PK INTEGER PRIMARY KEY, A INTEGER, B VARCHAR, C BLOB")
    let writer = try #require(try LargeRowWriter(connection, tables: ["T"]))
    let (text, blob) = (SQLValue.text(Self.bytes(70_000, 1).map { $0 & 0x7f }), SQLValue.blob(Self.bytes(90_000, 2)))
    for (key, b, c) in [
      (Int64(1), text, blob), (2, text, SQLValue.null), (3, .null, blob), (4, .text([65]), .blob([1])),
    ] {
      try connection.execute("INSERT INTO T VALUES (?1, NULL, ?2, ?3)", [.integer(key), b, c])
      var seen: [SQLValue] = []
      let way = try writer.change(key, in: "T", lengthLimit: .init(bytes: 100), holding: .init(bytes: 0)) {
        seen = try connection.rows("SELECT B, C FROM T WHERE Z_PK = ?1", [.integer(key)])[0]
        try connection.execute("UPDATE T SET A = Z_PK * 1000000 WHERE Z_PK = ?1", [.integer(key)])
      }
      #expect(way == [.copied, .copied, .filled, nil][Int(key) - 1])
      #expect(seen == (key == 4 ? [] : [.null, .null]))
      let made = try connection.rows("SELECT A, B, C FROM T WHERE Z_PK = ?1", [.integer(key)])[0]
      #expect(made == [key == 4 ? .null : .integer(key * 1_000_000), b, c])
    }
    #expect(try connection.integer("SELECT COUNT(*) FROM temp.godwit_aside") == 0)
    #expect(try connection.rows("PRAGMA main.integrity_check") == [[.text(Array("ok".utf8))]])
  }

  @Test func `an unreadable large value fails its row, and the next row is right`() throws {
    let connection = try connection()
    let writer = try #require(try LargeRowWriter(connection, tables: ["T"]))
    try connection.execute("INSERT INTO T (Z_PK) VALUES (1), (2)")
    let gone = try value(connection, 1, .text(Self.bytes(50_000, 1).map { $0 & 0x7f }))
    try connection.execute("DELETE FROM S")
    #expect(throws: GodwitError.self) {
      try connection.transaction { try writer.complete(1, in: "T", with: ["B": gone], holding: .mebibytes(1)) }
    }
    let content = SQLValue.text(Self.bytes(50_000, 2).map { $0 & 0x7f })
    try writer.complete(2, in: "T", with: ["B": value(connection, 2, content)], holding: .mebibytes(1))
    #expect(try connection.rows("SELECT Z_PK, B FROM T") == [[.integer(1), .null], [.integer(2), content]])
  }

  @Test func `large rows are separated from others at every key`() throws {
    let connection = try connection("Z_PK INTEGER PRIMARY KEY, A VARCHAR, B BLOB, C INTEGER")
    func spans(_ first: Int64 = .min, _ last: Int64 = .max) throws -> [RowSpan] {
      try connection.spans(
        database: "main", table: "T", columns: ["A", "B"], from: first, through: last, limit: .init(bytes: 100))
    }
    #expect(try spans() == [])
    for (key, a, b) in [
      (Int64.min, 101, 0), (-5, 100, 0), (-4, 0, 100), (3, 50, 51), (4, 500, 500), (6, 0, 0), (9, 1, 1), (.max, 0, 101),
    ] {
      try connection.execute(
        "INSERT INTO T VALUES (?1, CAST(zeroblob(\(a)) AS TEXT), zeroblob(\(b)), 5)", [.integer(key)])
    }
    #expect(
      try spans() == [.large(.min), .small(-5 ... -4), .large(3), .large(4), .small(6...9), .large(.max)])
    #expect(try spans(-4, 6) == [.small(-4 ... -4), .large(3), .large(4), .small(6...6)])
    #expect(try spans(4, 4) == [.large(4)])
    #expect(try spans(10, .max - 1) == [])
  }
}

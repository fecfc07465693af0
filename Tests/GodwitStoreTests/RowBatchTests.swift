import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Rows that are inserted together are those that single statements insert.
struct RowBatchTests {
  private func connection() throws -> StoreConnection {
    let connection = try StoreConnection(path: nil, cache: .mebibytes(1))
    try connection.execute("CREATE TABLE T (K INTEGER PRIMARY KEY, A, B)")
    return connection
  }

  private func batch(_ connection: StoreConnection, rows: Int, bytes: Int = 1 << 16, conflict: String = "") -> RowBatch
  {
    RowBatch(
      connection, into: "main.T", columns: ["K", "A", "B"], conflict: conflict, limits: .init(rows: rows, bytes: bytes))
  }

  /// Every row, by key.
  private func content(_ connection: StoreConnection) throws -> [[SQLValue]] {
    try connection.rows("SELECT * FROM T ORDER BY K")
  }

  private static let values: [SQLValue] = [
    .null, .integer(.min), .integer(0), .integer(.max), .real(-0.5), .real(.infinity), .text(""), .text("Gödel"),
    .text([0xFF, 0x00, 0x41]), .blob([]), .blob([0, 1, 2]), .text(String(repeating: "x", count: 3000)),
  ]

  @Test(arguments: [1, 2, 5, 32, 100]) func `values of every kind arrive as single statements bind them`(rows: Int)
    throws
  {
    let (together, alone) = (try connection(), try connection())
    let batch = batch(together, rows: rows)
    let insert = try alone.prepare("INSERT INTO T VALUES (?1, ?2, ?3)")
    // 77 rows: full statements, and a rest.
    for key in Int64(0)..<77 {
      let a = Self.values[Int(key) % Self.values.count]
      let b = Self.values[Int(key) * 5 % Self.values.count]
      batch.add(key)
      let fits = batch.add([b, a], at: [1, 0])
      #expect(fits)
      if batch.endRow() { #expect(try batch.write() > 0) }
      try insert.run([.integer(key), a, b])
    }
    #expect(batch.isEmpty == (77 % rows == 0))
    try batch.write()
    #expect(try content(together) == content(alone))
  }

  @Test func `rows wait until they are written, and not longer than the limit of bytes`() throws {
    let connection = try connection()
    let batch = batch(connection, rows: 1000, bytes: 2000)
    for key in Int64(1)...3 {
      batch.add(key)
      #expect(batch.add(.text(String(repeating: "y", count: 400))))
      batch.add(nil as Int64?)
      #expect(!batch.endRow())
    }
    #expect(try content(connection).isEmpty)
    #expect(try batch.write() == 3)
    #expect(try content(connection).count == 3)
    batch.add(4)
    for _ in 0..<2 { #expect(batch.add(.blob([UInt8](repeating: 1, count: 500)))) }
    #expect(!batch.endRow())
    batch.add(5)
    for _ in 0..<2 { #expect(batch.add(.blob([UInt8](repeating: 2, count: 500)))) }
    #expect(batch.endRow())
    #expect(try batch.write() == 2)
  }

  @Test func `a value that is too large is refused, and its row forgotten`() throws {
    let connection = try connection()
    let batch = batch(connection, rows: 10, bytes: 2000)
    batch.add(1)
    #expect(batch.add(.text("kept")))
    batch.add(7)
    _ = batch.endRow()
    batch.add(2)
    #expect(batch.add(.text("gone")))
    #expect(!batch.add(.blob([UInt8](repeating: 1, count: 501))))
    batch.dropRow()
    batch.add(3)
    batch.add(8)
    batch.add(9)
    _ = batch.endRow()
    #expect(try batch.write() == 2)
    #expect(
      try content(connection) == [
        [.integer(1), .text("kept"), .integer(7)], [.integer(3), .integer(8), .integer(9)],
      ])
  }

  @Test func `refused rows leave no bytes behind`() throws {
    let batch = batch(try connection(), rows: 10, bytes: 2000)
    func refuseRows() {
      for key in Int64(1)...100 {
        batch.add(key)
        _ = batch.add(.text(String(repeating: "y", count: 400)))
        #expect(!batch.add(.blob([UInt8](repeating: 1, count: 501))))
        batch.dropRow()
      }
    }
    refuseRows()
    #expect(batch.waitingBytes == 0)
    batch.add(1)
    #expect(batch.add(.text("four")))
    batch.add(2)
    _ = batch.endRow()
    refuseRows()
    #expect(batch.waitingBytes == 4)
    #expect(try batch.write() == 1)
    refuseRows()
    #expect(batch.waitingBytes == 0)
  }

  @Test func `a row above the limit is refused, and cells count as bytes`() throws {
    let connection = try connection()
    let columns = (0..<500).map { "C\($0)" }
    try connection.execute("CREATE TABLE W (\(columns.joined(separator: ", ")))")
    let batch = RowBatch(connection, into: "main.W", columns: columns, limits: .init(rows: 1000, bytes: 20_000))
    let value = SQLValue.blob([UInt8](repeating: 1, count: 1000))
    #expect((0..<21).map { _ in batch.add(value) } == Array(repeating: true, count: 20) + [false])
    batch.dropRow()
    // 8000 bytes for each row.
    for row in 0..<3 {
      #expect(!batch.isRowComplete)
      for column in columns.indices { batch.add(Int64(column)) }
      #expect(batch.isRowComplete)
      #expect(batch.endRow() == (row == 2))
    }
    batch.add(0)
    #expect(!batch.isRowComplete)
    batch.dropRow()
    #expect(try batch.write() == 3)
  }

  @Test func `the widest rows stay below SQLite's limit of parameters`() throws {
    let columns = (0..<2000).map { "C\($0)" }
    var contents: [[[SQLValue]]] = []
    for isTogether in [true, false] {
      let connection = try connection()
      try connection.execute("CREATE TABLE W (\(columns.joined(separator: ", ")))")
      // The default limit of SQLite; some systems allow more.
      connection.withHandle { ParameterLimit.set(32_766, on: $0) }
      let batch = RowBatch(
        connection, into: "main.W", columns: columns, limits: .init(rows: isTogether ? 128 : 1, bytes: 4 << 20))
      for row in Int64(0)..<40 {
        for column in columns.indices { batch.add(row * 10_000 + Int64(column)) }
        if batch.endRow() { try batch.write() }
      }
      #expect(try batch.write() == (isTogether ? 40 : 0))
      contents.append(try connection.rows("SELECT * FROM W ORDER BY rowid"))
    }
    #expect(contents[0] == contents[1])
    #expect(contents[0].count == 40)
    #expect(contents[0].last?.last == .integer(391_999))
  }

  @Test func `columns convert values as they do for single statements`() throws {
    let types = ["VARCHAR", "INTEGER", "DECIMAL", "TIMESTAMP", "FLOAT", "BLOB"]
    let columns = types.map { "A\($0)" }
    let further: [SQLValue] = [.text("NaN"), .text("1"), .text("2.50"), .real(2.0), .real(.nan), .real(1e300)]
    let values = Self.values + further
    var contents: [[[SQLValue]]] = []
    for isTogether in [true, false] {
      let connection = try connection()
      let definitions = zip(columns, types).map { "\($0) \($1)" }.joined(separator: ", ")
      try connection.execute("CREATE TABLE W (\(definitions))")
      let batch = RowBatch(connection, into: "main.W", columns: columns, limits: .init(rows: 1000, bytes: 1 << 20))
      let places = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
      let insert = try connection.prepare("INSERT INTO W VALUES (\(places))")
      for first in values.indices {
        let row = columns.indices.map { values[(first + $0 * 5) % values.count] }
        guard isTogether else {
          try insert.run(row)
          continue
        }
        #expect(batch.add(row, at: Array(row.indices)))
        _ = batch.endRow()
      }
      try batch.write()
      let read = columns.map { "\($0), typeof(\($0))" }.joined(separator: ", ")
      contents.append(try connection.rows("SELECT \(read) FROM W ORDER BY rowid"))
    }
    #expect(contents[0].count == values.count)
    #expect(contents[0] == contents[1])
  }

  @Test func `rows that a conflict leaves out are not counted`() throws {
    let connection = try connection()
    try connection.execute("INSERT INTO T VALUES (5, 'old', NULL)")
    let batch = batch(connection, rows: 40, conflict: "ON CONFLICT (K) DO NOTHING")
    for key in Int64(1)...40 {
      batch.add(key)
      batch.add(nil as Int64?)
      batch.add(key as Int64?)
      _ = batch.endRow()
    }
    #expect(try batch.write() == 39)
    #expect(try content(connection)[4] == [.integer(5), .text("old"), .null])
  }

  @Test func `rows that are discarded, and those of a failed statement, are not written later`() throws {
    let connection = try connection()
    let batch = batch(connection, rows: 40)
    func add(_ keys: [Int64]) {
      for key in keys {
        batch.add(key)
        batch.add(key)
        batch.add(key)
        _ = batch.endRow()
      }
    }
    add([1, 2])
    batch.discard()
    #expect(try batch.write() == 0)
    add([3, 4, 3])
    #expect(throws: GodwitError.self) { try batch.write() }
    #expect(batch.isEmpty)
    add([6])
    batch.endStatements()
    #expect(try batch.write() == 1)
  }
}

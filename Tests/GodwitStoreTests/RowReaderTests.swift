import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

struct RowReaderTests {
  private static let size = LargeValue.limit.bytes + 10

  /// Keys at both ends, large values of both kinds, a row with two of them, and one that is as long as the limit.
  private func reader(_ connection: StoreConnection) throws -> RowReader {
    try connection.execute("CREATE TABLE T (Z_PK INTEGER PRIMARY KEY, A, B)")
    let text = "CAST(zeroblob(\(Self.size)) AS TEXT)"
    for row in [
      "\(Int64.min), 1, NULL", "-5, zeroblob(\(Self.size)), 'x'", "3, \(text), zeroblob(\(Self.size))",
      "4, 2.5, zeroblob(\(LargeValue.limit.bytes))", "\(Int64.max), 'end', \(text)",
    ] {
      try connection.execute("INSERT INTO T VALUES (\(row))")
    }
    return try RowReader(
      connection, database: "main", table: "T", columns: ["Z_PK", "A", "B"].map { .init(name: $0) })
  }

  private func text(_ row: StoredRow?) -> String {
    guard let row else { return "none" }
    return row.values.indices.map { place in
      switch row.content(place) {
      case .large(let large): "large \(large.column) \(large.key) \(large.isText ? "text" : "blob")"
      case .value(.blob(let bytes)): "blob \(bytes.count)"
      case .value(.text(let bytes)): "'\(String(decoding: bytes, as: UTF8.self))'"
      case .value(let value): "\(value)"
      }
    }.joined(separator: " | ")
  }

  private static let rows = [
    "integer(\(Int64.min)) | integer(1) | null", "integer(-5) | large A -5 blob | 'x'",
    "integer(3) | large A 3 text | large B 3 blob", "integer(4) | real(2.5) | blob \(LargeValue.limit.bytes)",
    "integer(\(Int64.max)) | 'end' | large B \(Int64.max) text",
  ]

  @Test func `rows are read in key order, without reading large values`() throws {
    let connection = try StoreConnection(path: nil)
    let reader = try reader(connection)
    var found: [String] = []
    while let row = try reader.next() { found.append(text(row)) }
    #expect(found == Self.rows)
    #expect(try reader.next() == nil)
  }

  @Test func `a row read by key is the same row, and the length limit is lifted afterwards`() throws {
    let connection = try StoreConnection(path: nil)
    let reader = try reader(connection)
    #expect(try [Int64.min, -5, 3, 4, .max, 5].map { text(try reader.row($0)) } == Self.rows + ["none"])
    let row = try #require(try reader.row(3))
    let large = try #require(row.large[1])
    #expect(try connection.whole(large) == .text([UInt8](repeating: 0, count: Int(Self.size))))
  }

  @Test func `stored bytes are compared in rows, files and memory`() throws {
    let connection = try StoreConnection(path: nil)
    let folder = try TemporaryFolder()
    let support = SupportFolder(path: folder.path)
    let name = "00000001-1111-2222-3333-444444444444"
    try connection.execute("CREATE TABLE T (Z_PK INTEGER PRIMARY KEY, A)")
    let size = 3 * (1 << 18) + 7
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var other = bytes
    other[size - 1] &+= 1
    var middle = bytes
    middle[(1 << 18) + 5000] &+= 1
    try connection.execute("INSERT INTO T VALUES (1, ?1)", [.blob([1] + bytes)])
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: support.path(of: name)))
    let row = LargeValue(database: "main", table: "T", column: "A", key: 1, isText: false)
    let places: [StoredBytes] = [.memory(bytes), .file(name, support), .row(row, from: 1, connection)]
    for a in places {
      for b in places { #expect(try a.isSame(as: b)) }
      for changed in [other, middle] {
        #expect(try !a.isSame(as: .memory(changed)) && !StoredBytes.memory(changed).isSame(as: a))
      }
      #expect(try !a.isSame(as: .memory(Array(bytes.dropLast()))) && !a.isSame(as: .row(row, connection)))
      #expect(try a.prefix(3) == Array(bytes.prefix(3)))
    }
    // As long as a whole number of pieces, and empty.
    let pieces = StoredBytes.memory([UInt8](repeating: 3, count: 1 << 19))
    #expect(try pieces.isSame(as: pieces) && StoredBytes.memory([]).isSame(as: .memory([])))
    #expect(try StoredBytes.memory([1]).prefix(3) == [1])
  }
}

import GodwitModel

/// Whole numbers in their order, each in so many bytes; all but the last few thousand wait in a temporary table.
final class NumberList {
  private static let pieceBytes = 64 << 10

  private let connection: StoreConnection
  private let table: String
  private let size: Int
  private let insert: SQLStatement
  private var piece: [UInt8] = []
  private(set) var count = 0

  /// - Parameters:
  ///   - name: The name of the table; no other list of the connection has it.
  ///   - size: Bytes of a number.
  init(_ connection: StoreConnection, name: String, size: Int) throws {
    (self.connection, table, self.size) = (connection, "temp.\(StoreSchema.identifier(name))", size)
    try connection.execute("CREATE TEMP TABLE \(StoreSchema.identifier(name)) (place INTEGER PRIMARY KEY, bytes BLOB)")
    insert = try connection.prepare("INSERT INTO \(table) (bytes) VALUES (?1)")
  }

  deinit { insert.finalize() }

  func append(_ number: UInt64) throws {
    for shift in stride(from: 8 * (size - 1), through: 0, by: -8) {
      piece.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
    }
    count += 1
    guard piece.count >= Self.pieceBytes else { return }
    try insert.run([.blob(piece)])
    piece.removeAll(keepingCapacity: true)
  }

  /// Hands out the bytes of all numbers, the high one of each first.
  func forEachPiece(_ body: ([UInt8]) throws -> Void) throws {
    try connection.query("SELECT bytes FROM \(table) ORDER BY place") { row in
      if case .blob(let bytes) = row.value(0) { try body(bytes) }
      return true
    }
    try body(piece)
  }
}

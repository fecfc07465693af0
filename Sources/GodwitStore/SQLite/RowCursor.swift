/// Walks the rows of a table in the order of keys and hands them on where SQLite has them, without a copy.
///
/// A row with a value above `LargeValue.limit` is only named: `RowReader` reads such a one.
package final class RowCursor {
  private let rows: String
  private let connection: StoreConnection
  private let statement: SQLStatement
  private var isBound = false
  private var nextKey: Int64? = .min
  /// The key of the row at which it stands; nil before the first and after the last.
  package private(set) var key: Int64?
  /// Whether a value of the row is above the limit, so that `row` is not there.
  package private(set) var isLarge = false
  /// How many rows are stepped over before the next one is looked for by its key.
  private static let stride = 16

  /// - Parameters:
  ///   - database: The name under which the connection has the database.
  ///   - columns: The first is the primary key.
  package init(_ connection: StoreConnection, database: String, table: String, columns: [RowReader.Column]) throws {
    self.connection = connection
    rows = "\(StoreSchema.identifier(database)).\(StoreSchema.identifier(table))"
    statement = try connection.prepare(
      "SELECT \(columns.map(\.sql).joined(separator: ", ")) FROM \(rows) WHERE Z_PK >= ?1 ORDER BY Z_PK")
  }

  /// Valid until the cursor moves.
  package var row: SQLRow { statement.row }

  /// Ends its use of the database.
  package func finalize() { statement.finalize() }

  /// Moves to the next row; false after the last.
  package func next() throws -> Bool {
    guard let first = nextKey else {
      key = nil
      return false
    }
    if !isBound { try statement.bind(.integer(first)) }
    isBound = true
    isLarge = false
    switch try statement.step(lengthLimit: LargeValue.limit) {
    case .row: stand(at: statement.row.int64(0))
    case .done:
      statement.reset()
      (key, nextKey) = (nil, nil)
      return false
    case .tooLarge:
      isBound = false
      guard
        let found = try connection.integer(
          "SELECT Z_PK FROM \(rows) WHERE Z_PK >= ?1 ORDER BY Z_PK LIMIT 1", [.integer(first)])
      else {
        (key, nextKey) = (nil, nil)
        return false
      }
      isLarge = true
      stand(at: found)
    }
    return true
  }

  /// Moves on to the first row whose key is at least the given one, and says whether it is that one.
  ///
  /// - Parameter wanted: Not below one that was sought before.
  package func seek(_ wanted: Int64) throws -> Bool {
    if let key, key >= wanted { return key == wanted }
    for _ in 0..<Self.stride {
      guard try next(), let key else { return false }
      if key >= wanted { return key == wanted }
    }
    nextKey = wanted
    isBound = false
    return try next() && key == wanted
  }

  private func stand(at found: Int64) {
    key = found
    nextKey = found == .max ? nil : found + 1
  }
}

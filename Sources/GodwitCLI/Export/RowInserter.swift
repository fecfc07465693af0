import GodwitModel
import GodwitStore

/// Inserts rows into the tables of a new database, large values a piece at a time.
///
/// Make all tables first, and their indexes afterwards.
final class RowInserter {
  private let connection: StoreConnection
  private let tables: Set<String>
  private var writer: LargeRowWriter?
  private var isSupported: [String: Bool] = [:]

  /// Records up to it are held as a whole.
  private static let recordLimit = ByteCount.mebibytes(4)

  init(_ connection: StoreConnection, tables: Set<String>) { (self.connection, self.tables) = (connection, tables) }

  /// - Parameters:
  ///   - statement: Inserts all columns of the table.
  ///   - values: NULL in the place of a large value.
  ///   - large: By place.
  ///   - columns: The names of the columns, by place.
  func insert(
    _ values: [SQLValue], large: [Int: any LargeBytes], by statement: SQLStatement, into table: String,
    columns: [String]
  ) throws {
    guard !large.isEmpty else { return try statement.run(values) }
    let writer = try writer ?? LargeRowWriter(connection, tables: tables)
    self.writer = writer
    let isServed = try isSupported[table] ?? writer?.supports(table) ?? false
    isSupported[table] = isServed
    guard let writer, isServed else {
      var values = values
      for (place, bytes) in large { values[place] = try bytes.whole }
      return try statement.run(values)
    }
    try statement.run(values)
    let named = Dictionary(large.map { (columns[$0.key], $0.value) }) { first, _ in first }
    try writer.complete(connection.lastInsertedKey, in: table, with: named, holding: Self.recordLimit)
  }
}

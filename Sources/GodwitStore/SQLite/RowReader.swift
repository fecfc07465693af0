/// Reads the rows of a table, one by its key or all in the order of keys, and leaves large values where they are.
///
/// A row costs one step of a statement. Where SQLite says that a value is too large, the row is read column by column.
///
/// Not for rows of which every value is needed: `StoreConnection.query` hands those on without a copy.
package final class RowReader {
  package struct Column: Sendable, Hashable {
    package var name: String
    /// What is selected: the quoted name, or an expression in its place.
    package var sql: String

    package init(name: String, sql: String? = nil) {
      self.name = name
      self.sql = sql ?? StoreSchema.identifier(name)
    }
  }

  private let connection: StoreConnection
  private let database: String
  private let table: String
  private let columns: [Column]
  private let byKey: SQLStatement
  private let inOrder: SQLStatement
  /// By what they select.
  private var single: [String: SQLStatement] = [:]
  /// The key from which the walk continues; nil after the highest possible key.
  private var nextKey: Int64? = .min
  private var isBound = false

  /// - Parameters:
  ///   - database: The name under which the connection has the database.
  ///   - columns: The first is the primary key.
  package init(_ connection: StoreConnection, database: String, table: String, columns: [Column]) throws {
    self.connection = connection
    self.database = database
    self.table = table
    self.columns = columns
    let list = columns.map(\.sql).joined(separator: ", ")
    let rows = "\(StoreSchema.identifier(database)).\(StoreSchema.identifier(table))"
    byKey = try connection.prepare("SELECT \(list) FROM \(rows) WHERE Z_PK = ?1")
    inOrder = try connection.prepare("SELECT \(list) FROM \(rows) WHERE Z_PK >= ?1 ORDER BY Z_PK")
  }

  /// The row of a key; nil when there is none.
  package func row(_ key: Int64) throws -> StoredRow? {
    try byKey.bind(.integer(key))
    defer { byKey.reset() }
    switch try byKey.step(lengthLimit: LargeValue.limit) {
    case .row: return StoredRow(values: byKey.row.values(0..<columns.count))
    case .done: return nil
    case .tooLarge: return try sparedRow(key)
    }
  }

  /// The next row in the order of keys; nil after the last.
  package func next() throws -> StoredRow? {
    guard let first = nextKey else { return nil }
    if !isBound { try inOrder.bind(.integer(first)) }
    isBound = true
    switch try inOrder.step(lengthLimit: LargeValue.limit) {
    case .row:
      setNext(after: inOrder.row.int64(0))
      return StoredRow(values: inOrder.row.values(0..<columns.count))
    case .done:
      inOrder.reset()
      nextKey = nil
      return nil
    case .tooLarge:
      isBound = false
      guard case .value(.integer(let key)) = try part("Z_PK", "Z_PK >= ?1 ORDER BY Z_PK LIMIT 1", first) else {
        return nil
      }
      setNext(after: key)
      return try sparedRow(key)
    }
  }

  private func setNext(after key: Int64) { nextKey = key == .max ? nil : key + 1 }

  /// A row read column by column.
  private func sparedRow(_ key: Int64) throws -> StoredRow? {
    var row = StoredRow(values: [])
    for (place, column) in columns.enumerated() {
      switch try part(column.sql, "Z_PK = ?1", key) {
      case .missing: return nil
      case .value(let value): row.values.append(value)
      case .tooLarge:
        // The kind of a value costs no look at it.
        guard case .value(let kind) = try part("typeof(\(column.sql))", "Z_PK = ?1", key) else { return nil }
        row.values.append(.null)
        row.large[place] = LargeValue(
          database: database, table: table, column: column.name, key: key, isText: kind == .text("text"))
      }
    }
    return row
  }

  private enum Part {
    case missing, tooLarge
    case value(SQLValue)
  }

  /// One column of one row.
  private func part(_ sql: String, _ condition: String, _ key: Int64) throws -> Part {
    let text =
      "SELECT \(sql) FROM \(StoreSchema.identifier(database)).\(StoreSchema.identifier(table)) WHERE \(condition)"
    let statement = try single[text] ?? connection.prepare(text)
    single[text] = statement
    try statement.bind(.integer(key))
    defer { statement.reset() }
    switch try statement.step(lengthLimit: LargeValue.limit) {
    case .row: return .value(statement.row.value(0))
    case .done: return .missing
    case .tooLarge: return .tooLarge
    }
  }
}

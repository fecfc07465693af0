/// Reads the rows of a table, one by its key or all in the order of keys, and leaves large values where they are.
///
/// A row costs one step of a statement. Where SQLite says that a value is too large, the row is read column by column.
///
/// Not for rows of which every value is needed: `StoreConnection.query` hands those on without a copy.
package final class RowReader {
  package struct Column: Sendable, Hashable {
    package var name: String
    /// The selected expression: the quoted name, or another expression in its place.
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
  private let keyName: String
  private let condition: StoreSchema.RowCondition
  private let selection: String
  private let byKey: SQLStatement
  /// Reads the whole table, and after a large row the rows behind it.
  private var walk: SQLStatement
  private var isAtEnd = false
  private var lastKey: Int64?
  /// The single-row statements by their selected columns.
  private var single: [String: SQLStatement] = [:]

  /// SQLite's number of a row, as SQL.
  private var rowName: String { keyName == "Z_PK" ? "rowid" : keyName }
  private var rows: String { "\(StoreSchema.identifier(database)).\(StoreSchema.identifier(table))" }
  /// The key of a row is above the first parameter.
  private var isBehind: String { "\(keyName) > ?1" }

  /// - Parameters:
  ///   - database: The name under which the connection has the database.
  ///   - columns: The first is the primary key.
  ///   - keyName: The key, as SQL.
  ///   - condition: Leaves out the other rows.
  package init(
    _ connection: StoreConnection, database: String, table: String, columns: [Column], keyName: String = "Z_PK",
    where condition: StoreSchema.RowCondition = .init(sql: nil)
  ) throws {
    self.connection = connection
    self.database = database
    self.table = table
    self.columns = columns
    self.keyName = keyName
    self.condition = condition
    let rows = "\(StoreSchema.identifier(database)).\(StoreSchema.identifier(table))"
    selection = "SELECT \(columns.map(\.sql).joined(separator: ", ")) FROM \(rows)"
    byKey = try connection.prepare("\(selection) WHERE \(keyName) = ?1\(condition.further)")
    walk = try connection.prepare("\(selection)\(condition.clause) ORDER BY \(keyName)")
  }

  /// The row of a key; nil without one.
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
    guard !isAtEnd else { return nil }
    switch try walk.step(lengthLimit: LargeValue.limit) {
    case .row:
      lastKey = walk.row.int64(0)
      return StoredRow(values: walk.row.values(0..<columns.count))
    case .done:
      walk.reset()
      isAtEnd = true
      return nil
    case .tooLarge:
      let place = lastKey == nil ? condition.clause : " WHERE \(isBehind)\(condition.further)"
      guard case .value(.integer(let key)) = try part(keyName, "\(place) ORDER BY \(keyName) LIMIT 1", lastKey ?? 0)
      else {
        isAtEnd = true
        return nil
      }
      lastKey = key
      walk = try connection.prepare(
        "\(selection) WHERE \(isBehind)\(condition.further) ORDER BY \(keyName)")
      try walk.bind([.integer(key)])
      return try sparedRow(key)
    }
  }

  /// A row read column by column.
  private func sparedRow(_ key: Int64) throws -> StoredRow? {
    var row = StoredRow(values: [])
    for (place, column) in columns.enumerated() {
      switch try part(column.sql, " WHERE \(keyName) = ?1", key) {
      case .missing: return nil
      case .value(let value): row.values.append(value)
      case .tooLarge:
        // The kind of a value costs no look at it.
        guard case .value(let kind) = try part("typeof(\(column.sql))", " WHERE \(keyName) = ?1", key)
        else { return nil }
        row.values.append(.null)
        guard case .value(.integer(let number)) = try part(rowName, " WHERE \(keyName) = ?1", key) else { return nil }
        row.large[place] = LargeValue(
          database: database, table: table, column: column.name, key: key,
          isText: kind == .text("text"), rowNumber: number)
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
    let text = "SELECT \(sql) FROM \(rows)\(condition)"
    let statement = try connection.prepare(text, keptIn: &single)
    try statement.bind([.integer(key)])
    defer { statement.reset() }
    switch try statement.step(lengthLimit: LargeValue.limit) {
    case .row: return .value(statement.row.value(0))
    case .done: return .missing
    case .tooLarge: return .tooLarge
    }
  }
}

import GodwitModel
import GodwitStore

/// Copies tables of a store into a new SQLite file, without keys, constraints, indexes and triggers.
///
/// A table with `Z_ENT` gets one column more, `entity`, with the entity's name. A text that is not UTF-8 becomes a BLOB,
/// since most readers would stop at it.
enum RawSQLiteExport {
  /// Writes a new file that has its name when it is complete.
  ///
  /// - Parameter store: The store, whose permissions the file gets.
  /// - Throws: `.cannotCreate` (73) when something is at the path.
  static func write(_ tables: [RawStore.Table], from source: RawStore, to path: String, like store: String) throws {
    try NewDatabase.write(to: path, like: store) { connection in
      let made = try tables.map { try make($0, in: connection) }
      let inserter = RowInserter(connection, tables: Set(tables.map(\.name)))
      for (table, (columns, insert)) in zip(tables, made) {
        try copy(table, from: source, columns: columns, insert, by: inserter)
      }
    }
  }

  /// - Returns: the names of the columns, and the statement that inserts a row.
  private static func make(
    _ table: RawStore.Table, in connection: StoreConnection
  ) throws -> (columns: [String], insert: SQLStatement) {
    var names = SQLiteNames()
    // The column of the name gives way to one that the store has.
    var columns = table.columns.map { names.add($0.name) }
    var definitions = zip(columns, table.columns).map { "\(quoted($0)) \(typeName($1.type))" }
    if table.entityColumn != nil {
      columns.append(names.add("entity"))
      definitions.append("\(quoted(columns[columns.count - 1])) TEXT")
    }
    let insert = try NewDatabase.makeTable(
      table.name, of: "table '\(table.name)'", columns: definitions, in: connection)
    return (columns, insert)
  }

  private static func copy(
    _ table: RawStore.Table, from source: RawStore, columns: [String], _ insert: SQLStatement,
    by inserter: RowInserter
  ) throws {
    defer { insert.finalize() }
    try source.forEachRow(of: table) { row in
      var values = row.content.values.map(readable)
      if table.entityColumn != nil { values.append(row.entity.map { .text($0) } ?? .null) }
      let large = try row.content.large.mapValues { value in
        let isReadable = try !value.isText || source.bytes(of: value).forEachText { _ in }
        return try source.open(value, asBlob: !isReadable)
      }
      try inserter.insert(values, large: large, by: insert, into: table.name, columns: columns)
      return true
    }
  }

  /// The declared type, which decides how SQLite converts values; nothing else that may stand there. `ANY` converts
  /// values everywhere but in a STRICT table. A type with a word of SQL, such as `check`, is quoted: it would begin a
  /// constraint.
  private static func typeName(_ type: String) -> String {
    guard type.uppercased() != "ANY", type.allSatisfy({ $0.isASCII && ($0.isLetter || $0 == " ") }) else { return "" }
    let isPlain = type.split(separator: " ").allSatisfy { StoreSchema.identifier(String($0)) == $0 }
    return isPlain ? type : quoted(type)
  }

  private static func readable(_ value: SQLValue) -> SQLValue {
    guard case .text(let bytes) = value, String(validating: bytes, as: UTF8.self) == nil else { return value }
    return .blob(bytes)
  }
}

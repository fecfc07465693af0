package import GodwitModel

/// The external files that rows of a SQLite store name, in a temporary table.
package final class NamedFiles {
  private let connection: StoreConnection
  private let find: SQLStatement

  package convenience init(inStoreAt path: String, model: ManagedObjectModel) throws {
    let connection = try StoreConnection.openStore(readingAt: path)
    let schema = try StoreSchema(model: model, probing: connection)
    var columns: [(table: String, column: String)] = []
    for table in schema.tables {
      for column in table.columns {
        guard case .attribute(let entity, let name, _) = column.role,
          model.attribute(name, of: entity)?.allowsExternalBinaryDataStorage == true
        else { continue }
        columns.append((table.name, column.name))
      }
    }
    try self.init(connection, columns: columns)
  }

  /// For a store of any model: every column of binary data is read.
  package convenience init(inStoreAt path: String) throws {
    let connection = try StoreConnection.openStore(readingAt: path)
    var columns: [(table: String, column: String)] = []
    try connection.query(
      """
      SELECT m.name, c.name FROM source.sqlite_master AS m, pragma_table_info(m.name, 'source') AS c
      WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND upper(c.type) = 'BLOB'
      """
    ) { row in
      if let table = row.string(0), let column = row.string(1) { columns.append((table, column)) }
      return true
    }
    try self.init(connection, columns: columns)
  }

  private init(_ connection: StoreConnection, columns: [(table: String, column: String)]) throws {
    self.connection = connection
    try connection.execute("PRAGMA temp_store = FILE")
    try connection.execute("CREATE TEMP TABLE named (name BLOB PRIMARY KEY) WITHOUT ROWID")
    for (table, column) in columns {
      let value = quoted(column)
      try connection.execute(
        "INSERT OR IGNORE INTO temp.named SELECT substr(\(value), 2, 36) FROM source.\(quoted(table)) WHERE \(ExternalDataSQL.isReference(value))"
      )
    }
    find = try connection.prepare("SELECT 1 FROM temp.named WHERE name = ?1")
  }

  deinit {
    find.finalize()
    try? connection.close()
  }

  package func contains(_ name: String) throws -> Bool {
    try find.bind([.blob(Array(name.utf8))])
    return try find.step()
  }

  /// All names, each once.
  package func forEach(_ body: (String) throws -> Void) throws {
    try connection.query("SELECT name FROM temp.named") { row in
      try body(String(decoding: row.bytes(0), as: UTF8.self))
      return true
    }
  }
}

package import GodwitModel

/// Makes stores without objects, as Core Data would.
package enum EmptyStore {
  /// Makes the file with tables, entity rows and metadata, but without the model's indexes: see `createIndexes`.
  ///
  /// - Parameters:
  ///   - path: Where the store goes.
  ///   - schema: The tables.
  ///   - metadata: The metadata of the store.
  ///   - cache: The page cache of the connection.
  /// - Returns: A connection whose main database is the store.
  /// - Throws: `.cannotCreate` when something is at the path already; SQLite's errors as `StoreConnection` maps them.
  package static func create(
    at path: String, schema: StoreSchema, metadata: StoreMetadata, cache: ByteCount = .mebibytes(8)
  ) throws -> StoreConnection {
    guard try isFree(path) else {
      throw GodwitError(
        .cannotCreate, "cannot create store '\(path)': it already exists",
        remedy: "name another path, or remove the file")
    }
    let connection = try StoreConnection(path: path, cache: cache, create: true)
    try configure(connection)
    try connection.transaction {
      try createTables(of: schema, on: connection)
      try metadata.write(to: connection)
    }
    return connection
  }

  /// Whether a store can be made at a path: nothing is there, or an empty file that was made to hold the name.
  private static func isFree(_ path: String) throws -> Bool {
    guard let status = try FileStatus.look(named: path) else { return true }
    return status.isFile && status.size == 0
  }

  /// Sets the properties that must be set before the first table: page size 4096, incremental vacuum, UTF-8, rollback
  /// journal.
  package static func configure(_ connection: StoreConnection, in database: String = "main") throws {
    try connection.execute("PRAGMA \(database).page_size = 4096")
    try connection.execute("PRAGMA \(database).auto_vacuum = INCREMENTAL")
    try connection.execute("PRAGMA encoding = 'UTF-8'")
    try connection.execute("PRAGMA \(database).journal_mode = DELETE")
  }

  /// Makes all tables, and the entities' rows in `Z_PRIMARYKEY` with counters of 0.
  ///
  /// - Parameter database: One that is attached, when the main one is empty.
  package static func createTables(
    of schema: StoreSchema, on connection: StoreConnection, in database: String = "main"
  ) throws {
    try schema.checkColumns()
    try schema.checkNames()
    for statement in schema.createStatements { try connection.execute(placed(statement, in: database)) }
    try writeEntities(of: schema, on: connection)
  }

  /// Makes the entities' rows in `Z_PRIMARYKEY`, with counters of 0.
  package static func writeEntities(of schema: StoreSchema, on connection: StoreConnection) throws {
    let insert = try connection.prepare(
      "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?1, ?2, ?3, 0)")
    defer { insert.finalize() }
    for (name, number) in schema.entityNumbers.sorted(by: { $0.value < $1.value }) {
      let parent = schema.model.entity(name)?.superentityName.flatMap(schema.number)
      try insert.run([.int(number), .text(name), .int(parent ?? 0)])
    }
  }

  /// Makes the model's indexes, except those that exist.
  ///
  /// - Throws: `.dataWrong` when rows break a uniqueness constraint.
  package static func createIndexes(
    of schema: StoreSchema, on connection: StoreConnection, in database: String = "main",
    where isWanted: (StoreSchema.Index) -> Bool = { _ in true }
  ) throws {
    let names = try connection.strings("SELECT name FROM \(database).sqlite_master WHERE type = 'index'")
    let present = Set(names.map { $0.lowercased() })
    for index in schema.indexes where !present.contains(index.name.lowercased()) && isWanted(index) {
      try connection.execute(placed(index.sql, in: database))
    }
  }

  /// The statement with its table or index in the database. SQLite keeps the text without the name of the database.
  private static func placed(_ statement: String, in database: String) -> String {
    for head in ["CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX "] where statement.hasPrefix(head) {
      return head + database + "." + statement.dropFirst(head.count)
    }
    return statement
  }

  /// Sets `Z_MAX` of every root entity to its highest key, keeping a higher counter.
  package static func updatePrimaryKeyCounters(of schema: StoreSchema, on connection: StoreConnection) throws {
    for table in schema.tables {
      guard let number = schema.number(of: table.rootEntityName) else { continue }
      try connection.execute(
        """
        UPDATE Z_PRIMARYKEY SET Z_MAX = max(coalesce(Z_MAX, 0), \
        coalesce((SELECT max(Z_PK) FROM \(StoreSchema.identifier(table.name))), 0)) WHERE Z_ENT = ?1
        """, [.int(number)])
    }
  }
}

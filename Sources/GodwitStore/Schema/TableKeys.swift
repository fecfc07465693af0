import GodwitModel

/// Proves the keys of a table that every statement takes for granted: each row has an integer for its key, and no two
/// rows have the same.
///
/// SQLite keeps that promise for a table as Core Data defines it, so that a look at the definition is enough. A table
/// that was rebuilt, or whose definition is damaged, is read.
package struct TableKeys {
  /// The reason why the rows of a table cannot be told apart.
  package struct Fault: Error {
    package var table: String
    package var reason: String
  }

  private let connection: StoreConnection
  private let database: String
  private let table: String

  package init(_ connection: StoreConnection, database: String, table: String) {
    (self.connection, self.database, self.table) = (connection, database, table)
  }

  private var rows: String { "\(StoreSchema.identifier(database)).\(StoreSchema.identifier(table))" }

  /// Whether `Z_PK` is another name of SQLite's row number.
  package func areRowNumbers() throws -> Bool {
    let keys = try names("SELECT name FROM pragma_table_xinfo(?1, ?2) WHERE pk > 0")
    guard keys == ["Z_PK"] else { return false }
    // Any other primary key has an index.
    return try names("SELECT name FROM pragma_index_list(?1, ?2) WHERE origin = 'pk'").isEmpty
  }

  /// - Throws: `Fault` for the table of an entity with a row that has no key of its own.
  package func prove() throws {
    guard try !areRowNumbers() else { return }
    try proveRowNumbers()
    let odd = "FROM \(rows) WHERE typeof(Z_PK) <> 'integer'"
    if let row = try connection.rows("SELECT rowid, typeof(Z_PK) \(odd) ORDER BY rowid LIMIT 1").first {
      let count = try connection.integer("SELECT COUNT(*) \(odd)") ?? 0
      let kind = row[1] == .text("null") ? "NULL" : row[1] == .text("real") ? "a real number" : "a text or bytes"
      throw fault(
        "the key 'Z_PK' of \(count.counted("row")) is not an integer: the first, row \(row[0].decimal), has \(kind)")
    }
    try refuse(repeated: ["Z_PK"], as: "the key 'Z_PK'")
  }

  /// - Throws: `Fault` for the table of a many-to-many with a row that names no two objects, or names those of another.
  ///
  /// - Parameter areUnique: Whether SQLite refuses a pair that is there already.
  package func prove(pair columns: [String], areUnique: Bool) throws {
    if !areUnique { try proveRowNumbers() }
    let tests = columns.map { "typeof(\(StoreSchema.identifier($0))) <> 'integer'" }
    if let row = try connection.integer("SELECT rowid FROM \(rows) WHERE \(tests.joined(separator: " OR ")) LIMIT 1") {
      throw fault("a key of row \(row) is not an integer, in column '\(columns.joined(separator: "' or '"))'")
    }
    if !areUnique { try refuse(repeated: columns, as: "the pair of keys") }
  }

  /// Whether SQLite refuses a second row with the values of some columns, and numbers the rows.
  func areUnique(_ columns: [String]) throws -> Bool {
    guard try hasRowNumbers() else { return false }
    let indexes = try names("SELECT name FROM pragma_index_list(?1, ?2) WHERE \"unique\" AND NOT partial")
    return try indexes.contains { index in
      try Set(connection.strings("SELECT name FROM pragma_index_info(?1, ?2)", [.text(index), .text(database)]))
        == Set(columns)
    }
  }

  /// Links and large values are found by SQLite's own number of their row.
  private func proveRowNumbers() throws {
    if try names("SELECT name FROM pragma_table_xinfo(?1, ?2)").contains(where: { $0.lowercased() == "rowid" }) {
      throw fault("its column 'rowid' hides the numbers of the rows")
    }
    if try !hasRowNumbers() { throw fault("it was made WITHOUT ROWID") }
  }

  private func hasRowNumbers() throws -> Bool {
    do {
      try connection.prepare("SELECT rowid FROM \(rows)").finalize()
      return true
    } catch let error as GodwitError where error.code == .internalBug { return false }
  }

  private func refuse(repeated columns: [String], as what: String) throws {
    let list = columns.map(StoreSchema.identifier).joined(separator: ", ")
    guard
      let row = try connection.rows(
        "SELECT COUNT(*), \(list) FROM \(rows) GROUP BY \(list) HAVING COUNT(*) > 1 ORDER BY \(list) LIMIT 1"
      ).first
    else { return }
    throw fault("\(row[0].decimal) rows have \(what) \(row.dropFirst().map(\.decimal).joined(separator: ", "))")
  }

  private func names(_ sql: String) throws -> [String] {
    try connection.strings(sql, [.text(table), .text(database)])
  }

  private func fault(_ reason: String) -> Fault { Fault(table: table, reason: reason) }
}

extension SQLValue {
  /// An integer as text.
  fileprivate var decimal: String { if case .integer(let number) = self { "\(number)" } else { "?" } }
}

extension StoreSchema {
  /// Tables in which SQLite does not keep keys apart.
  static func unkeyed(
    _ tables: [EntityTable], _ joins: [JoinTable], _ connection: StoreConnection, in database: String
  ) throws -> Set<String> {
    let objects = try tables.map(\.name).filter {
      try !TableKeys(connection, database: database, table: $0).areRowNumbers()
    }
    let links = try joins.filter {
      try !TableKeys(connection, database: database, table: $0.name).areUnique([$0.ownerColumn, $0.destinationColumn])
    }
    return Set(objects + links.map(\.name))
  }

  /// Proves the keys of all objects and links of a store: see `TableKeys`.
  ///
  /// - Parameter isWritten: Whether rows will be added, so that SQLite itself must keep keys apart.
  /// - Throws: `.dataWrong` (65) with the table and the key.
  package func checkKeys(
    _ connection: StoreConnection, database: String = StoreConnection.sourceSchema, isWritten: Bool = false
  ) throws {
    do {
      let doubtful = unkeyedTables.value
      for table in tables where doubtful.contains(table.name) {
        try TableKeys(connection, database: database, table: table.name).prove()
      }
      for join in joinTables {
        let keys = TableKeys(connection, database: database, table: join.name)
        try keys.prove(pair: [join.ownerColumn, join.destinationColumn], areUnique: !doubtful.contains(join.name))
      }
      if isWritten, let table = doubtful.min() {
        throw TableKeys.Fault(table: table, reason: "it was made without the primary key of Core Data's tables")
      }
    } catch let fault as TableKeys.Fault {
      let path = database == StoreConnection.sourceSchema ? connection.sourcePath ?? connection.path : connection.path
      throw GodwitError(
        .dataWrong, "cannot read '\(path)': the keys of table '\(fault.table)' do not tell its rows apart",
        cause: fault.reason, remedy: GodwitError.damageRemedy, safe: "the store is untouched")
    }
  }
}

import GodwitModel

extension StoreSchema {
  /// The statements that make all tables of an empty store, spelt and ordered as Core Data's:
  /// each entity table with the join tables it owns, then `Z_PRIMARYKEY` and `Z_METADATA`.
  /// `Z_MODELCACHE` is left out: Core Data makes it itself when it wants a cache.
  package var createStatements: [String] {
    tables.flatMap { table in
      let members = Set(model.family(of: table.rootEntityName).map(\.name))
      return [table.createStatement]
        + joinTables.filter { members.contains($0.ownerEntityName) }.map(\.createStatement)
    } + Self.fixedStatements
  }

  /// `Z_PRIMARYKEY` and `Z_METADATA`.
  static let fixedStatements = [
    "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
    "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
  ]

  /// The statements that make all indexes, in Core Data's order.
  package var indexStatements: [String] { indexes.map(\.sql) }

  /// The statements that make the triggers of derived attributes, as far as they are known: `triggers(of:)`.
  package var triggerStatements: [String] { triggers.map(\.sql) }

  /// The whole schema as SQL text, a statement a line.
  package var schemaSQL: String {
    (createStatements + indexStatements + triggerStatements).map { $0 + ";\n" }.joined()
  }
}

extension StoreSchema.EntityTable {
  /// `CREATE TABLE ZFOO ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, … )`
  package var createStatement: String {
    let list = columns.map { column in
      "\(StoreSchema.identifier(column.name)) \(column.declaredType)"
        + (column.role == .primaryKey ? " PRIMARY KEY" : "")
    }
    return "CREATE TABLE \(StoreSchema.identifier(name)) ( \(list.joined(separator: ", ")) )"
  }
}

extension StoreSchema.JoinTable {
  /// `CREATE TABLE Z_1FOOS ( Z_1BARS INTEGER, Z_2FOOS INTEGER, PRIMARY KEY (Z_1BARS, Z_2FOOS) )`
  package var createStatement: String {
    let ends = [ownerColumn, destinationColumn].map(StoreSchema.identifier)
    let orders = [destinationOrderColumn, ownerOrderColumn].compactMap { $0 }.map(StoreSchema.identifier)
    let columns = (ends + orders).map { "\($0) INTEGER" } + ["PRIMARY KEY (\(ends.joined(separator: ", ")))"]
    return "CREATE TABLE \(StoreSchema.identifier(name)) ( \(columns.joined(separator: ", ")) )"
  }
}

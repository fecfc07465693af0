import GodwitModel

extension StoreSchema {
  /// The most columns that a table of SQLite has, as SQLite is built everywhere.
  package static let columnsMaximum = 2000

  /// The highest `Z_ENT` of a model's entity. Core Data's own tables, such as the tables of persistent history, have
  /// higher numbers, and an entity of the model may have the name of one of them.
  package static let lastEntityNumber = 16_000

  /// The tables of persistent history.
  package static let historyTables = ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"]

  /// - Throws: `.dataWrong` (65) naming the entity whose table would have more columns than SQLite allows.
  package func checkColumns() throws {
    for table in tables where table.columns.count > Self.columnsMaximum {
      throw GodwitError(
        .dataWrong,
        "cannot make a table for entity '\(table.rootEntityName)' of model '\(model.name)' and its subentities: expected at most \(Self.columnsMaximum) columns, found \(table.columns.count)",
        remedy: "move attributes to another entity; SQLite allows no more columns")
    }
  }

  /// The tables that every store has, whatever its model.
  static let ownTables = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]

  /// Two things of a model for which a store would need one name: SQLite ignores the case of names, and Core Data's
  /// names of tables are in upper case.
  package struct SharedName: Sendable, Hashable {
    /// The name, as the later one has it.
    package let name: String
    /// The owners, for example `entity 'Pa'`, in the order in which a store would be made.
    package let owners: [String]
    /// The entity of the later owner.
    package let entity: String

    /// For example `entity 'Pa' and entity 'pA' would share the name 'ZPA'`.
    package var description: String { "\(owners.joined(separator: " and ")) would share the name '\(name)'" }
  }

  /// The names that more than one table of a store would have. No known file shows how Core Data names them.
  package var sharedNames: [SharedName] {
    var owners: [[UInt8]: String] = [:]
    var shared: [SharedName] = []
    func take(_ name: String, _ owner: String, of entity: String) {
      // SQLite ignores the case of ASCII letters alone.
      let key = name.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
      if let other = owners[key] {
        shared.append(SharedName(name: name, owners: [other, owner], entity: entity))
      } else {
        owners[key] = owner
      }
    }
    for name in Self.ownTables { take(name, "a table of Core Data's own", of: "") }
    for table in tables { take(table.name, "entity '\(table.rootEntityName)'", of: table.rootEntityName) }
    for join in joinTables {
      take(join.name, "relationship '\(join.ownerEntityName).\(join.ownerRelationshipName)'", of: join.ownerEntityName)
    }
    return shared
  }

  /// - Throws: `.missingInput` (66) naming the things of the model that would share a name in a store.
  package func checkNames() throws {
    guard let first = sharedNames.first else { return }
    throw GodwitError(
      .missingInput, "cannot make a store of model '\(model.name)': \(first.description)",
      cause: "SQLite ignores the case of names; how Core Data tells the two apart is not known",
      remedy: "rename an entity in the model; with its former name as renaming identifier it keeps its objects")
  }
}

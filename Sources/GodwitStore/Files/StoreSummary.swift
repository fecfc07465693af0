package import Foundation
import GodwitModel

/// The facts about a store that need no model, for `godwit inspect`.
package struct StoreSummary: Sendable, Hashable, Encodable {
  /// One line of `Z_PRIMARYKEY`, with the number of rows.
  package struct Entity: Sendable, Hashable, Encodable {
    /// `Z_ENT`
    package var number: Int64
    /// nil when `Z_PRIMARYKEY` holds NULL.
    package var name: String?
    /// nil for a root.
    package var superentityNumber: Int64?
    /// Rows of exactly this entity; nil when its table was not found under the expected name.
    package var rows: Int64?
    /// `Z_MAX`
    package var primaryKeyCounter: Int64?
  }

  /// Rows whose `Z_ENT` is of no entity that belongs in their table.
  package struct StrayRows: Sendable, Hashable, Encodable {
    /// The table's name.
    package var table: String
    /// `Z_ENT`; nil for NULL.
    package var number: Int64?
    /// How many rows.
    package var rows: Int64
  }

  /// The path of the store as the caller gave it.
  package var path: String
  /// The type of the store. For an atomic store the properties about files, pages and tables are empty or 0.
  package var type: StoreType
  /// The size of the store, in bytes.
  package var fileBytes: Int64
  /// The size of a `-wal` with content; nil without one.
  package var walBytes: Int64?
  /// Whether there is a rollback journal beside the store that SQLite would roll back.
  package var hasHotJournal = false
  /// The store's identifier.
  package var uuid: String
  /// The version of Core Data that wrote last; nil when the metadata does not say.
  package var frameworkVersion: Int64?
  /// The version identifiers of the model that wrote last.
  package var versionIdentifiers: [String]
  /// All keys of the metadata, sorted.
  package var metadataKeys: [String]
  /// The application's keys among them.
  package var applicationKeys: [String]
  /// The entities by number, including those of persistent history (16001 and up).
  package var entities: [Entity]
  /// Rows whose `Z_ENT` is of no entity that belongs in their table.
  package var strayRows: [StrayRows] = []
  /// Tables whose rows have no keys of their own, so that no verb reads their objects; each with the reason.
  package var damagedKeys: [String] = []
  /// The size of a page, in bytes.
  package var pageSizeBytes: Int64 = 0
  /// `wal` or `delete`, as the file's header says.
  package var journalMode: String
  /// 0 none, 1 full, 2 incremental.
  package var autoVacuum: Int64 = 0
  /// Whether the store carries its model, in `Z_MODELCACHE`.
  package var hasModelCache = false
  /// Tables of persistent history (`ACHANGE`, `ATRANSACTION`…).
  package var historyTables: [String] = []
  /// Tables of CloudKit mirroring (`ANSCK…`).
  package var cloudKitTables: [String] = []
  /// The names of the triggers.
  package var triggers: [String] = []
  /// The number of files of external binary data in the store's support folder.
  package var externalFiles: Int64 = 0
  /// The size of those files together, in bytes.
  package var externalBytes: Int64 = 0

  /// Reads a store, leaving no trace. Costs a scan of every entity table.
  ///
  /// - Parameter url: A store of any type that ``StoreType`` has.
  /// - Throws: `.missingInput` (66) when the store is missing; `.dataWrong` (65) when it is damaged, or not a Core Data
  ///   store; `.permission` (77) when it cannot be read; `.stopped` (75) when it changed during the reading.
  package init(readingStoreAt url: URL) throws { try self.init(readingStoreAt: url.filePath) }

  package init(readingStoreAt path: String) throws {
    let files = try StoreFiles(path: path)
    switch files.type {
    case .sqlite: try self.init(readingDatabase: files, path: path)
    case .xml, .binary: try self.init(readingAtomicStore: files)
    }
  }

  private init(readingDatabase files: StoreFiles, path: String) throws {
    let connection = try StoreConnection.openStore(readingAt: path)
    let metadata = try StoreMetadata(reading: connection, path: path)
    let stamp = try files.stamp()
    self.path = path
    type = .sqlite
    fileBytes = stamp.store.size
    walBytes = stamp.wal?.size
    hasHotJournal = try files.hasHotJournal()
    uuid = metadata.uuid
    frameworkVersion = metadata.frameworkVersion
    versionIdentifiers = metadata.versionIdentifiers
    metadataKeys = metadata.values.keys.sorted().map(\.string)
    applicationKeys = metadata.applicationValues.keys.sorted().map(\.string)
    pageSizeBytes = try connection.integer("PRAGMA source.page_size") ?? 0
    autoVacuum = try connection.integer("PRAGMA source.auto_vacuum") ?? 0
    journalMode = stamp.store.header.count > 18 && stamp.store.header[18] == 2 ? "wal" : "delete"
    func names(_ type: String) throws -> [String] {
      try connection.strings("SELECT name FROM source.sqlite_master WHERE type = ?1 ORDER BY name", [.text(type)])
    }
    let tables = try names("table")
    triggers = try names("trigger")
    hasModelCache = tables.contains("Z_MODELCACHE")
    cloudKitTables = tables.filter { $0.hasPrefix("ANSCK") }
    historyTables = tables.filter { StoreSchema.historyTables.contains($0) }
    var (count, bytes): (Int64, Int64) = (0, 0)
    try SupportFolder(ofStoreAt: path).forEachFile { _, size in
      count += 1
      bytes += size
    }
    (externalFiles, externalBytes) = (count, bytes)
    (entities, strayRows) = try Self.entities(connection, tables: Set(tables))
    for table in tables where table.hasPrefix("Z") {
      do {
        guard try connection.columnNames(of: table, in: StoreConnection.sourceSchema).contains("Z_PK") else { continue }
        try TableKeys(connection, database: StoreConnection.sourceSchema, table: table).prove()
      } catch let fault as TableKeys.Fault { damagedKeys.append("\(fault.table): \(fault.reason)") }
    }
  }

  private static func entities(_ connection: StoreConnection, tables: Set<String>) throws -> ([Entity], [StrayRows]) {
    var entities: [Int64: Entity] = [:]
    var strays: [StrayRows] = []
    var roots: [Int64: Int64] = [:]
    let limit = StoreListing.limitEntities
    // A longer name is refused before it is read.
    let isRead: Void? = try connection.withLengthLimit(.mebibytes(1)) {
      try connection.query("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM source.Z_PRIMARYKEY LIMIT \(limit + 1)") { row in
        let parent = row.int64(2)
        entities[row.int64(0)] = Entity(
          number: row.int64(0), name: row.string(1), superentityNumber: parent == 0 ? nil : parent, rows: nil,
          primaryKeyCounter: row.isNull(3) ? nil : row.int64(3))
        return true
      }
    }
    guard isRead != nil, entities.count <= limit else {
      throw GodwitError(
        .dataWrong,
        "cannot read the store: expected at most \(limit) entities in 'Z_PRIMARYKEY' with names below 1 MiB, found more",
        remedy: GodwitError.damageRemedy)
    }
    let families = Dictionary(grouping: entities.keys) { Self.root(of: $0, entities, &roots) }
    // In number order, so that rows with a number of another table's entity are reported in the same way every time.
    for (number, members) in families.sorted(by: { $0.key < $1.key }) {
      guard let root = entities[number], let name = root.name?.uppercased(),
        let table = Self.tableNames(of: name, number: number).first(where: tables.contains)
      else { continue }
      guard try connection.columnNames(of: table, in: StoreConnection.sourceSchema).contains("Z_ENT") else { continue }
      let members = Set(members)
      for member in members { entities[member]?.rows = 0 }
      try connection.query("SELECT Z_ENT, count(*) FROM source.\(StoreSchema.identifier(table)) GROUP BY Z_ENT") {
        row in
        let number = row.int64(0)
        if members.contains(number) {
          entities[number]?.rows = row.int64(1)
        } else {
          strays.append(StrayRows(table: table, number: row.isNull(0) ? nil : number, rows: row.int64(1)))
        }
        return true
      }
    }
    return (entities.values.sorted { $0.number < $1.number }, strays)
  }

  /// The names that the table of a root entity may have. The name of an entity of history begins with another letter, so
  /// that an entity of the model may have the name, too.
  private static func tableNames(of name: String, number: Int64) -> [String] {
    guard number > StoreSchema.lastEntityNumber else { return ["Z" + name] }
    return StoreSchema.historyTables.contains("A" + name) ? ["A" + name] : ["A" + name, "Z" + name]
  }

  /// The number of the topmost ancestor; of damaged rows that lead in a circle, one of the circle.
  private static func root(of number: Int64, _ entities: [Int64: Entity], _ roots: inout [Int64: Int64]) -> Int64 {
    var path: [Int64] = []
    var seen: Set<Int64> = []
    var root = number
    while true {
      if let known = roots[root] {
        root = known
        break
      }
      guard seen.insert(root).inserted else { break }
      path.append(root)
      guard let parent = entities[root]?.superentityNumber, entities[parent] != nil else { break }
      root = parent
    }
    for member in path { roots[member] = root }
    return root
  }
}

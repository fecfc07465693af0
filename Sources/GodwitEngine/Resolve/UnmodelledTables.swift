package import GodwitJob
package import GodwitModel
package import GodwitStore

/// Tables of the source that no model names: persistent history and CloudKit mirroring.
///
/// The history tables stay, empty, with their counters: a token from before the migration then never names a
/// transaction that is made after it. The mirroring tables are dropped.
package struct UnmodelledTables {
  /// The statements that make the empty tables, their indexes and their rows of `Z_PRIMARYKEY`.
  package let statements: [String]
  /// Metadata keys that are removed with the mirror.
  package let metadataKeys: [String]
  /// Notes for the plan about tables with rows that are left out.
  package let notes: [MigrationNote]
  private let hasHistory: Bool

  /// - Parameter isStandIn: Whether the source is the stand-in of a later step, which has tables and no metadata.
  /// - Throws: `.dataWrong` (65) when CloudKit mirrors the store and the job does not drop the mirror, or a table of
  ///   history is not as Core Data makes it.
  init(_ connection: StoreConnection, job: MigrationJob, isStandIn: Bool) throws {
    let tables = try connection.strings(
      "SELECT name FROM source.sqlite_master WHERE type = 'table' ORDER BY rowid")
    func rows(_ table: String) throws -> Int64 {
      try connection.integer("SELECT COUNT(*) FROM source.\(quoted(table))") ?? 0
    }
    var notes: [MigrationNote] = []
    let mirror = tables.filter { $0.hasPrefix("ANSCK") }
    if let first = mirror.first, !job.dropsMirroring {
      throw GodwitError(
        .dataWrong,
        "cannot migrate '\(job.sourcePath)': it has CloudKit mirroring tables ('\(first)'), and the records would not match",
        remedy: "write `cloudkit: drop`: the new store then has no CloudKit data; a container mirrors it in full")
    }
    for table in mirror {
      notes.append(
        MigrationNote(.cloudKitDropped, "CloudKit mirroring is dropped: \(try rows(table).counted("row")) of \(table)"))
    }
    let metadata = job.dropsMirroring && !isStandIn ? try StoreMetadata(reading: connection, path: job.sourcePath) : nil
    metadataKeys = (metadata?.values.keys.sorted().map(\.string) ?? []).filter(StoreMetadata.isMirroringKey)
    for key in metadataKeys {
      notes.append(MigrationNote(.cloudKitDropped, "CloudKit mirroring is dropped: metadata key \(key)"))
    }

    let history = StoreSchema.historyTables.filter(tables.contains)
    hasHistory = !history.isEmpty
    var statements: [String] = []
    for table in history {
      notes.append(
        MigrationNote(.historyDropped, "persistent history is dropped: \(try rows(table).counted("row")) of \(table)"))
      statements += try Self.definitions(of: table, connection)
      let name = String(table.dropFirst())
      let highest = try connection.integer("SELECT MAX(Z_PK) FROM source.\(quoted(table))") ?? 0
      for row in try connection.rows(
        "SELECT Z_ENT, Z_SUPER, Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_NAME = ?1 AND Z_ENT > 16000", [.text(name)])
      {
        guard case .integer(let number) = row[0] else { continue }
        func integer(_ value: SQLValue) -> Int64 { if case .integer(let number) = value { number } else { 0 } }
        statements.append(
          "INSERT OR REPLACE INTO main.Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (\(number), '\(name)', \(integer(row[1])), \(max(integer(row[2]), highest)))"
        )
      }
    }
    self.statements = statements
    self.notes = notes
  }

  /// The metadata of Core Data's that belongs to the tables that stay.
  package func metadata(_ source: StoreMetadata) -> [Text: PropertyListValue] {
    let key = StoreMetadata.Key.ancillaryHashes
    return hasHistory ? source.values[key].map { [Text(key): $0] } ?? [:] : [:]
  }

  /// The statements that made a table and its indexes, as the source has them.
  private static func definitions(of table: String, _ connection: StoreConnection) throws -> [String] {
    var found: [String] = []
    try connection.query(
      "SELECT type, name, sql FROM source.sqlite_master WHERE tbl_name = ?1 AND type IN ('table', 'index') AND sql NOT NULL ORDER BY type DESC, rowid",
      [.text(table)]
    ) { row in
      let (type, name, sql) = (row.string(0) ?? "", row.string(1) ?? "", row.string(2) ?? "")
      let head = type == "table" ? "CREATE TABLE \(name) (" : "INDEX \(name) ON \(table) ("
      // The text is executed, so it may contain only names, types and brackets.
      let isPlain = sql.unicodeScalars.allSatisfy {
        $0.isASCII
          && ($0.properties.isAlphabetic || $0.properties.numericType != nil || "_ (),".unicodeScalars.contains($0))
      }
      guard sql.hasPrefix("CREATE "), sql.contains(head), isPlain, !sql.uppercased().contains("SELECT") else {
        throw GodwitError(
          .dataWrong, "cannot read the persistent history: \(type) '\(name)' differs from Core Data's",
          remedy: "remove the history's tables from a copy of the store, and migrate the copy")
      }
      found.append(sql)
      return true
    }
    return found
  }
}

import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// Makes the store of quarantined objects: the source model, and one entity of reasons.
///
/// Objects keep their primary keys, values and the links among them. Links to other objects are nil: those objects are
/// in the destination. The content depends on the record alone. `publish` puts the store in place.
package struct QuarantineWriter {
  let job: MigrationJob
  let record: RejectionRecord
  let folder: String

  private var storePath: String { folder + "/quarantine.sqlite" }
  private var partPath: String { folder + "/quarantine-part.sqlite" }
  private var support: SupportFolder { SupportFolder(ofStoreAt: storePath) }
  private var sourceSupport: SupportFolder { job.sourceSupport }

  package init(_ job: MigrationJob, _ record: RejectionRecord, in folder: String) {
    (self.job, self.record, self.folder) = (job, record, folder)
  }

  /// Makes the store in the work folder, unless it exists. It gets its name when it is complete.
  ///
  /// - Parameters:
  ///   - digest: The digest of the job, which its metadata names.
  ///   - files: The source.
  ///   - working: Gets the connection that is at work.
  /// - Returns: its path.
  /// - Throws: `.stopped` (75) when another process changed the source since the round began.
  package func make(
    digest: String, from files: StoreFiles, working: (StoreConnection) -> Void
  ) throws -> String {
    guard try !WorkFolder.exists(storePath) else { return storePath }
    guard try record.countOfRound == 0 else {
      throw GodwitError(.internalBug, "objects of a round that is not over would be in quarantine")
    }
    try record.checkSource(files)
    for suffix in ["", "-journal"] { try WorkFolder.removeFile(partPath + suffix) }
    try support.remove()
    let model = try QuarantineModel.model(for: job.sourceModel)
    let reader = try StoreConnection(path: nil)
    try reader.attachSource(files, workFolder: folder, model: job.sourceModel)
    let source = try StoreSchema(model: job.sourceModel, probing: reader)
    let schema = StoreSchema(model: model, names: JoinNames(of: source))
    let before = try StoreMetadata(reading: reader, path: job.sourcePath)
    try reader.close()

    var metadata = StoreMetadata(model: model, uuid: Digest.uuid(of: "quarantine\n\(digest)"))
    // The source's entities keep their version hashes unchanged.
    let hashes = model.versionHashes.mapValues(\.bytes).merging(before.versionHashes) { _, known in known }
    metadata.values[StoreMetadata.Key.versionHashes] = .dictionary(hashes.mapValues { .data($0) })
    metadata.values[QuarantineModel.jobKey] = .string(digest)
    metadata.values[QuarantineModel.sourceKey] = .string(try record.identity.source)
    if let merged = job.merged { metadata.values[QuarantineModel.mergedKey] = .array(merged.paths.map { .string($0) }) }
    metadata.values.merge(QuarantineModel.values(carrying: job.sourceModel)) { $1 }
    let connection = try EmptyStore.create(at: partPath, schema: schema, metadata: metadata)
    working(connection)
    try connection.attachSource(files, workFolder: folder, model: job.sourceModel)
    try record.attach(to: connection)
    let writer = try LargeRowWriter(connection, tables: Set(schema.tables.map(\.name)))
    try connection.transaction {
      let copied = try fill(connection, schema, from: source, writer)
      let expected = try record.count
      guard copied == expected else {
        // A change that no time or size shows is one too.
        throw GodwitError(
          .dataWrong, "cannot write the quarantine: expected \(expected) objects in the source, found \(copied)",
          remedy: "make sure nothing writes to the source, `godwit discard` the job and run again")
      }
      try writeReasons(connection, schema, uuids: (metadata.uuid, before.uuid))
      try EmptyStore.updatePrimaryKeyCounters(of: schema, on: connection)
      try createIndexes(of: schema, on: connection)
    }
    let missing = try carryFiles(connection, schema)
    try connection.execute("DETACH \(RejectionRecord.schema)")
    try connection.close()
    // Beside a source with a write-ahead log an attached record stays locked.
    try record.setMissingFiles(missing)
    try writeDigest(&metadata)
    try WorkFolder.sync(partPath)
    try record.checkSource(files)
    guard rename(partPath, storePath) == 0 else { throw GodwitError.disk("cannot rename '\(partPath)'", errno: errno) }
    try WorkFolder.sync(folder)
    return storePath
  }

  /// Records the objects of the store, so that `godwit quarantine apply` can detect others.
  private func writeDigest(_ metadata: inout StoreMetadata) throws {
    var objects = ObjectListDigest()
    try record.connection.query("SELECT entity, key FROM rejected ORDER BY entity, key") { row in
      objects.add(row.string(0) ?? "", row.int64(1))
      return true
    }
    metadata.values[QuarantineModel.objectsKey] = .string(objects.finish())
    let connection = try StoreConnection(path: partPath, create: true)
    try connection.execute("PRAGMA journal_mode = DELETE")
    try connection.transaction { try metadata.write(to: connection) }
    try connection.close()
  }

  /// A uniqueness constraint that the source's own rows break must not lose those rows.
  private func createIndexes(of schema: StoreSchema, on connection: StoreConnection) throws {
    for index in schema.indexes {
      do { try connection.execute(index.sql) } catch let error as GodwitError where error.refusal == .duplicate {
        continue
      }
    }
  }

  // MARK: Objects

  private func rejected(_ root: String, row alias: String, _ column: String, entities: [String]) -> String {
    let list = entities.map(textLiteral).joined(separator: ", ")
    return
      "\(RejectionRecord.schema).rejected AS \(alias) WHERE \(alias).root = \(textLiteral(root)) AND \(alias).key = \(column) AND \(alias).entity IN (\(list))"
  }

  /// The number of an entity by its name, as SQL.
  private func number(of entities: [String], _ name: String, _ schema: StoreSchema) -> String {
    let cases = entities.compactMap { entity in
      schema.number(of: entity).map { "WHEN \(textLiteral(entity)) THEN \($0)" }
    }
    return cases.isEmpty ? "NULL" : "CASE \(name) \(cases.joined(separator: " ")) END"
  }

  /// - Returns: the number of objects.
  private func fill(
    _ connection: StoreConnection, _ schema: StoreSchema, from source: StoreSchema, _ writer: LargeRowWriter?
  ) throws -> Int64 {
    var count: Int64 = 0
    for entity in job.sourceModel.entities where !entity.isAbstract {
      try copyRows(of: entity.name, connection, schema, from: source, writer)
      guard let table = schema.table(of: entity.name) else { continue }
      count +=
        try connection.integer(
          "SELECT COUNT(*) FROM main.\(quoted(table.name))\(schema.isObject(of: [entity.name]).clause)") ?? 0
    }
    for join in source.joinTables { try copyPairs(of: join, connection, schema, from: source) }
    return count
  }

  private func copyRows(
    of entity: String, _ connection: StoreConnection, _ schema: StoreSchema, from source: StoreSchema,
    _ writer: LargeRowWriter?
  ) throws {
    let model = job.sourceModel
    guard let table = schema.table(of: entity), let old = source.table(of: entity),
      let number = schema.number(of: entity)
    else { return }
    var columns: [(name: String, value: String)] = [
      ("Z_PK", "s.Z_PK"), ("Z_ENT", "\(number)"), ("Z_OPT", "s.Z_OPT"),
    ]
    // The columns of attributes, by those of the source.
    var attributes: [String: String] = [:]
    for column in schema.columns(of: entity) {
      switch column.role {
      case .primaryKey, .entity, .optimisticLock, .foreignEntity, .orderKey: continue
      case .attribute(_, let name, _):
        guard let from = source.column(of: name, in: entity) else { continue }
        columns.append((column.name, "s.\(quoted(from))"))
        attributes[from] = column.name
      case .foreignKey(let owner, let name):
        guard let relationship = model.relationship(name, of: owner),
          let root = model.root(of: relationship.destinationEntityName)?.name,
          case .foreignKey(_, let from, _, let fromOrder) = source.storage(of: name, in: owner),
          case .foreignKey(_, _, let entityColumn, let orderColumn) = schema.storage(of: name, in: owner)
        else { continue }
        let family = model.family(of: relationship.destinationEntityName).map(\.name)
        let target = rejected(root, row: "t", "s.\(quoted(from))", entities: family)
        columns.append((column.name, "(SELECT t.key FROM \(target))"))
        if let entityColumn {
          columns.append((entityColumn, "(SELECT \(self.number(of: family, "t.entity", schema)) FROM \(target))"))
        }
        if let orderColumn, let fromOrder {
          columns.append((orderColumn, "CASE WHEN EXISTS (SELECT 1 FROM \(target)) THEN s.\(quoted(fromOrder)) END"))
        }
      }
    }
    let root = model.root(of: entity)?.name ?? entity
    let rejected =
      "FROM \(RejectionRecord.schema).rejected AS r CROSS JOIN source.\(quoted(old.name)) AS s ON s.Z_PK = r.key WHERE r.root = \(textLiteral(root)) AND r.entity = \(textLiteral(entity))"
    func insert(without large: Set<String> = [], key: Int64? = nil) throws {
      let names = columns.map { quoted($0.name) }.joined(separator: ", ")
      let values = columns.map { large.contains($0.name) ? "NULL" : $0.value }.joined(separator: ", ")
      let only = key.map { " AND r.key = \($0)" } ?? ""
      try connection.execute(
        "INSERT INTO main.\(quoted(table.name)) (\(names)) SELECT \(values) \(rejected)\(only) ORDER BY r.key")
    }
    let limit = ByteCount.mebibytes(1)
    guard let writer, try writer.supports(table.name) else { return try insert() }
    // SQLite refuses a row with a large value. Each record is then held once.
    guard try connection.withLengthLimit(limit, { try insert() }) == nil else { return }
    for key in try connection.rows("SELECT r.key \(rejected) ORDER BY r.key").compactMap(\.first) {
      guard case .integer(let key) = key else { continue }
      let found = try connection.openValues(
        above: limit, database: StoreConnection.sourceSchema, table: old.name, key: key,
        columns: attributes.keys.sorted())
      let large = Dictionary(found.compactMap { from, value in attributes[from].map { ($0, value) } }) { first, _ in
        first
      }
      try insert(without: Set(large.keys), key: key)
      if !large.isEmpty { try writer.complete(key, in: table.name, with: large, holding: limit) }
    }
  }

  private func copyPairs(
    of join: StoreSchema.JoinTable, _ connection: StoreConnection, _ schema: StoreSchema, from source: StoreSchema
  ) throws {
    let model = job.sourceModel
    guard let (table, columns) = schema.pairs(of: join) else { return }
    func ends(_ column: String, _ entity: String, _ alias: String) -> String {
      let root = model.root(of: entity)?.name ?? entity
      let family = model.family(of: entity).map(\.name)
      return "EXISTS (SELECT 1 FROM \(rejected(root, row: alias, "s.\(quoted(column))", entities: family)))"
    }
    try connection.execute(
      """
      INSERT OR IGNORE INTO main.\(quoted(table)) (\(columns.map { quoted($0.own) }.joined(separator: ", "))) \
      SELECT \(columns.map { "s.\(quoted($0.name))" }.joined(separator: ", ")) FROM source.\(quoted(join.name)) AS s \
      WHERE \(ends(join.ownerColumn, join.ownerEntityName, "a")) \
      AND \(ends(join.destinationColumn, join.destinationEntityName, "b")) ORDER BY 1, 2
      """)
  }

  // MARK: Reasons

  private func writeReasons(
    _ connection: StoreConnection, _ schema: StoreSchema, uuids: (own: String, source: String)
  ) throws {
    guard let table = schema.table(of: QuarantineModel.reasonEntity),
      let number = schema.number(of: QuarantineModel.reasonEntity)
    else { throw GodwitError(.internalBug, "the quarantine has no table of reasons") }
    func uri(_ uuid: String) -> String {
      "'x-coredata://' || \(textLiteral(uuid)) || '/' || o.entity || '/p' || r.key"
    }
    let values: [QuarantineModel.Attribute: String] = [
      .objectURI: uri(uuids.own), .sourceURI: uri(uuids.source), .entity: "o.entity", .key: "r.key",
      .mapping: "r.mapping", .destination: "r.destination", .property: "NULLIF(r.property, '')", .message: "r.message",
      .round: "o.round",
    ]
    let columns = QuarantineModel.Attribute.allCases.compactMap { attribute -> (String, String)? in
      guard let column = schema.column(of: attribute.rawValue, in: QuarantineModel.reasonEntity),
        let value = values[attribute]
      else { return nil }
      return (column, value)
    }
    try connection.execute(
      """
      INSERT INTO main.\(quoted(table.name)) (Z_PK, Z_ENT, Z_OPT, \(columns.map { quoted($0.0) }.joined(separator: ", "))) \
      SELECT ROW_NUMBER() OVER (ORDER BY r.root, r.key, r.mapping, r.property), \(number), 1, \
      \(columns.map(\.1).joined(separator: ", ")) FROM \(RejectionRecord.schema).reason AS r \
      JOIN \(RejectionRecord.schema).rejected AS o ON o.root = r.root AND o.key = r.key \
      ORDER BY r.root, r.key, r.mapping, r.property
      """)
  }

  // MARK: External files

  /// Brings the files that values refer to. One that the source lacks is not there either.
  ///
  /// - Returns: how many the source lacks.
  private func carryFiles(_ connection: StoreConnection, _ schema: StoreSchema) throws -> Int64 {
    var isMade = false
    var missing: Int64 = 0
    for entity in job.sourceModel.entities where !entity.isAbstract {
      guard let table = schema.table(of: entity.name) else { continue }
      for attribute in job.sourceModel.attributes(of: entity.name) where attribute.allowsExternalBinaryDataStorage {
        guard let column = schema.column(of: attribute.name, in: entity.name).map(quoted) else { continue }
        let kind = schema.isObject(of: [entity.name]).further
        try connection.query(
          "SELECT \(column) FROM main.\(quoted(table.name)) WHERE \(ExternalDataSQL.isReference(column))\(kind)"
        ) { row in
          guard case .external(let name)? = StoredBinary(row.bytes(0)) else { return true }
          if !isMade {
            for (path, like) in [
              (support.path, sourceSupport.path), (support.dataPath, sourceSupport.dataPath),
            ] {
              try WorkFolder.makeFolder(path, mode: FileRights.folderMode(like: like))
            }
            isMade = true
          }
          if try !support.carry(name, from: sourceSupport, as: name) { missing += 1 }
          return true
        }
      }
    }
    guard isMade else { return missing }
    for path in [support.dataPath, support.path] { try WorkFolder.sync(path) }
    return missing
  }
}

extension StoreSchema {
  /// The table in which this schema stores the pairs of another schema's many-to-many, and its columns, each with that of
  /// the other schema: those of the two ends, then those of the orders that both schemas store.
  func pairs(of join: JoinTable) -> (table: String, columns: [(own: String, name: String)])? {
    guard
      case .join(let table, let subject, let object, let order) = storage(
        of: join.ownerRelationshipName, in: join.ownerEntityName)
    else { return nil }
    var columns = [(own: subject, name: join.ownerColumn), (own: object, name: join.destinationColumn)]
    if let order, let name = join.ownerOrderColumn { columns.append((order, name)) }
    if !join.isReflexive, let inverse = join.inverseRelationshipName,
      case .join(_, _, _, let order?) = storage(of: inverse, in: join.destinationEntityName),
      let name = join.destinationOrderColumn
    {
      columns.append((order, name))
    }
    return (table.name, columns)
  }
}

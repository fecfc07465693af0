import GodwitJob
import GodwitModel
import GodwitStore

/// A quarantine that a user may have edited, opened for reading.
///
/// It is only read, with its write-ahead log if there is one. Its content is checked against its reasons, which the run
/// wrote and users do not edit.
final class EditedQuarantine {
  let files: StoreFiles
  let connection: StoreConnection
  let schema: StoreSchema
  let metadata: StoreMetadata
  let support: SupportFolder
  /// The source model of the job.
  let model: ManagedObjectModel
  private let stamp: StoreFiles.Stamp

  /// - Throws: `.missingInput` (66) without a file; `.dataWrong` (65) for one that is not a quarantine.
  init(readingAt path: String) throws {
    files = try StoreFiles(path: path)
    stamp = try files.stamp()
    func notOne(_ cause: String) -> GodwitError {
      Self.refusal(
        path, "it is not a quarantine that Godwit wrote", cause: cause,
        remedy: "name the store that the run has put beside the destination, or a copy of it")
    }
    guard files.type == .sqlite else { throw notOne("it is \(files.type.nounWithArticle)") }
    do {
      connection = try .openStore(readingAt: path)
      metadata = try StoreMetadata(reading: connection, path: path)
    } catch let error as GodwitError where error.code == .dataWrong { throw notOne(error.message) }
    guard metadata.applicationValues[QuarantineModel.jobKey] != nil else {
      throw notOne("its metadata name no job under '\(QuarantineModel.jobKey)'")
    }
    model = try QuarantineModel.sourceModel(in: metadata, path: path)
    do {
      schema = try StoreSchema(model: try QuarantineModel.model(for: model), probing: connection)
      try schema.checkKeys(connection)
    } catch let error as GodwitError where error.code == .dataWrong {
      throw Self.refusal(
        path, "it does not have the tables and keys of the source model", cause: error.message,
        remedy: "edit it with the source model and the entity of reasons")
    }
    support = SupportFolder(ofStoreAt: path)
    try support.refuseLinks()
  }

  /// The error for a quarantine that cannot be applied.
  static func refusal(_ path: String, _ why: String, cause: String? = nil, remedy: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot apply '\(path)': \(why)", cause: cause, remedy: remedy, safe: "nothing was written")
  }

  func refusal(_ why: String, cause: String? = nil, remedy: String) -> GodwitError {
    Self.refusal(files.givenPath, why, cause: cause, remedy: remedy)
  }

  /// Refuses a quarantine that was opened with another model: its rows are those of a migration, not edits.
  ///
  /// - Parameter source: The metadata of the source, whose version hashes the run has given to the quarantine.
  /// - Throws: `.dataWrong` (65).
  func checkModel(asIn source: StoreMetadata) throws {
    let own = metadata.versionHashes
    guard let name = source.versionHashes.filter({ own[$0.key] != $0.value }).keys.min() else { return }
    throw refusal(
      "its entity '\(name)' is of another model version",
      cause: "an application has opened it with another model than the source's, and has migrated it",
      remedy: "edit a copy of the quarantine as the run wrote it, opened with the source model")
  }

  private var olderForm: GodwitError { QuarantineModel.olderForm(files.givenPath) }

  /// The digest of the content that the source had when the run read it.
  ///
  /// - Throws: `.cannotCreate` (73) for a quarantine of a version of Godwit that did not record the digest.
  var sourceDigest: String {
    get throws {
      guard let digest = metadata.applicationValues[QuarantineModel.sourceKey]?.string else { throw olderForm }
      return digest
    }
  }

  /// - Throws: `.stopped` (75) when the file has changed since it was opened.
  func checkUnchanged() throws {
    guard try files.stamp() != stamp else { return }
    throw GodwitError(
      .stopped, "stopped: '\(files.givenPath)' changed while its edits were applied",
      remedy: "close the application that edits it and run the same command", safe: "nothing was written",
      stopReason: .sourceChanged)
  }

  // MARK: Reasons

  /// Lists the objects in temporary tables of a connection that has the store attached as `source`. `godwit_reason` has
  /// those that the run has quarantined, and `godwit_held` those that are still in the store.
  ///
  /// - Throws: `.dataWrong` (65) when the store holds anything else.
  func noteObjects(in connection: StoreConnection) throws {
    for sql in [
      "CREATE TEMP TABLE godwit_reason (entity TEXT, key INTEGER, PRIMARY KEY (entity, key)) WITHOUT ROWID",
      "CREATE TEMP TABLE godwit_held (root TEXT, key INTEGER, entity TEXT, PRIMARY KEY (root, key)) WITHOUT ROWID",
    ] { try connection.execute(sql) }
    try readReasons(into: connection)
    for entity in model.entities where !entity.isAbstract {
      guard let table = schema.table(of: entity.name) else { continue }
      let kind = schema.isObject(of: [entity.name], row: "f").further
      try connection.execute(
        """
        INSERT OR IGNORE INTO temp.godwit_held (root, key, entity) SELECT ?1, r.key, r.entity \
        FROM temp.godwit_reason AS r CROSS JOIN source.\(quoted(table.name)) AS f ON f.Z_PK = r.key \
        WHERE r.entity = ?2\(kind)
        """, [.text(table.rootEntityName), .text(entity.name)])
    }
    for table in schema.tables where table.rootEntityName != QuarantineModel.reasonEntity {
      let keys = try connection.rows(
        "SELECT f.Z_PK, f.Z_ENT FROM source.\(quoted(table.name)) AS f WHERE NOT EXISTS (SELECT 1 FROM temp.godwit_held AS h WHERE h.root = ?1 AND h.key = f.Z_PK) ORDER BY f.Z_PK LIMIT 5",
        [.text(table.rootEntityName)])
      guard !keys.isEmpty else { continue }
      throw notHeld(keys, root: table.rootEntityName)
    }
  }

  private func readReasons(into connection: StoreConnection) throws {
    let name = QuarantineModel.reasonEntity
    guard let table = schema.table(of: name),
      let entity = schema.column(of: QuarantineModel.Attribute.entity.rawValue, in: name),
      let key = schema.column(of: QuarantineModel.Attribute.key.rawValue, in: name)
    else { throw GodwitError(.internalBug, "the quarantine has no table of reasons") }
    try connection.execute(
      "INSERT OR IGNORE INTO temp.godwit_reason (entity, key) SELECT \(quoted(entity)), \(quoted(key)) FROM source.\(quoted(table.name))"
    )
    var objects = ObjectListDigest()
    try connection.query("SELECT entity, key FROM temp.godwit_reason ORDER BY entity, key") { row in
      objects.add(row.string(0) ?? "", row.int64(1))
      return true
    }
    guard let known = metadata.applicationValues[QuarantineModel.objectsKey]?.string else { throw olderForm }
    guard objects.finish() == known else {
      throw refusal(
        "its table of reasons was edited",
        cause: "the objects of '\(name)' say what was set aside, and some were added, changed or deleted".onOneLine,
        remedy: "edit a copy of the quarantine whose reasons are as the run wrote them")
    }
  }

  private func notHeld(_ rows: [[SQLValue]], root: String) -> GodwitError {
    let names = rows.map { row -> String in
      guard case .integer(let key) = row[0] else { return root }
      if case .integer(let number) = row[1], let name = schema.entityName(Int(clamping: number)) {
        return "\(name) p\(key)"
      }
      return "\(root) p\(key)"
    }
    return refusal(
      "the run did not set \(names[0]) aside",
      cause:
        "no reason names \(names.joined(separator: ", ")): new objects, and objects of another entity, are not edits",
      remedy: "delete them from the quarantine; insert new objects in the destination when the job is done")
  }
}

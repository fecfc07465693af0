import Foundation
package import GodwitJob
package import GodwitModel
package import GodwitStore

/// The store that a job with `existing: append` adds to, as it was before the job.
package struct ExistingDestination {
  let path: String
  package let files: StoreFiles
  /// Its tables and entity numbers, which may be older than those a new store would get.
  package let schema: StoreSchema
  /// The highest key given out so far, by root entity; 0 for a look at the source of a job that has finished.
  private(set) var highestKeys: [String: Int64]
  /// The records of earlier appending jobs, oldest first.
  private(set) var records: [AppendRecord]
  /// Whether the store has the objects of the job itself already.
  private(set) var hasOwnObjects = false
  /// Objects in it.
  let rows: Int64
  let bytes: Int64
  /// Whether it has a persistent history, which will not list the new objects.
  let hasHistory: Bool

  /// The most of `StoreMetadata`'s 16 MiB that the metadata may take before a job adds to it.
  private static let limitMetadataBytes = 12 << 20

  /// Checks that the job can append to the store. Writes nothing.
  ///
  /// - Throws: `.cannotCreate` (73) when it has another model or is not a SQLite store; `.configuration` (78) if it
  ///   cannot be extended; `.dataWrong` (65) when it is damaged or mirrored by CloudKit.
  package init(_ job: MigrationJob) throws {
    path = job.destinationPath
    guard let status = try FileStatus.look(named: path), status.isFile else {
      throw Self.refusal(
        path, "it is not a regular file", remedy: "name the store itself: appending replaces it under its name")
    }
    do { files = try StoreFiles(path: path) } catch let error as GodwitError where error.code == .dataWrong {
      throw Self.refusal(path, "it is not a Core Data store", cause: error.message, remedy: "name another destination")
    }
    guard files.type == .sqlite else {
      throw Self.refusal(path, "it is \(files.type.nounWithArticle)", remedy: "append to a SQLite store")
    }
    let connection = try StoreConnection.openStore(readingAt: path)
    defer { try? connection.close() }
    let metadata = try StoreMetadata(reading: connection, path: path)
    try Self.check(metadata, of: path, model: job.destinationModel)
    guard metadata.plistData.count <= Self.limitMetadataBytes else {
      throw Self.refusal(
        path, "its metadata has no room for another job", remedy: "start a new destination with the next job")
    }
    let schema = try StoreSchema(model: job.destinationModel, probing: connection)
    try schema.checkKeys(connection, isWritten: true)
    self.schema = schema
    records = try AppendRecord.all(in: metadata, path: path)
    for table in try connection.rows(
      "SELECT name, sql LIKE 'CREATE VIRTUAL%' FROM source.sqlite_master WHERE type = 'table' AND (name LIKE 'ANSCK%' OR sql LIKE 'CREATE VIRTUAL%') ORDER BY rowid"
    ) {
      guard case .text(let bytes) = table[0] else { continue }
      let name = String(decoding: bytes, as: UTF8.self)
      guard table[1] == .integer(1) else {
        throw GodwitError(
          .dataWrong,
          "cannot append to '\(path)': it has CloudKit mirroring tables ('\(name)'), which would miss the new objects",
          remedy: "append to a store that no container mirrors")
      }
      throw GodwitError(
        .configuration, "cannot append to '\(path)': its index '\(name)' would not find the new objects",
        remedy: "drop that index in a copy of the store, and append to the copy")
    }
    try Self.refuseForeignIndexes(of: schema, connection, at: path)
    var (highest, rows): ([String: Int64], Int64) = ([:], 0)
    for table in schema.tables {
      let counter = try connection.highestCounter(of: table.rootEntityName, in: schema) ?? 0
      let key = try connection.integer("SELECT MAX(Z_PK) FROM source.\(quoted(table.name))") ?? 0
      highest[table.rootEntityName] = max(0, counter, key)
      rows += try connection.integer("SELECT COUNT(*) FROM source.\(quoted(table.name))") ?? 0
    }
    (highestKeys, self.rows) = (highest, rows)
    bytes = status.size
    hasHistory =
      try connection.value("SELECT 1 FROM source.sqlite_master WHERE type = 'table' AND name = 'ATRANSACTION'") != nil
  }

  /// - Throws: `.configuration` (78) if a table that gets rows has an index that SQLite cannot write.
  private static func refuseForeignIndexes(
    of schema: StoreSchema, _ connection: StoreConnection, at path: String
  ) throws {
    let written = Set(
      (schema.tables.map(\.name) + schema.joinTables.map(\.name) + ["Z_PRIMARYKEY", "Z_METADATA"]).map {
        $0.lowercased()
      })
    let indexes = try connection.foreignIndexes(in: StoreConnection.sourceSchema)
    guard let index = indexes.first(where: { written.contains($0.table.lowercased()) }) else { return }
    throw GodwitError(
      .configuration, "cannot append to '\(path)': \(index.reason)",
      remedy: "drop that index in a copy of the store, and append to the copy: the application makes the index again",
      safe: "nothing was written")
  }

  /// - Throws: `.dataWrong` (65) when an entity has the highest key that there is.
  package func checkKeysAreLeft() throws {
    guard let full = highestKeys.filter({ $0.value == .max }).map(\.key).min() else { return }
    throw GodwitError(
      .dataWrong, "cannot append to '\(path)': no key is left for another '\(full)'",
      remedy: "name another destination")
  }

  /// The same for a look at the source of a job that has finished: its own record is not that of an earlier job.
  ///
  /// - Parameter digest: The digest under which the store names the job.
  package func afterJob(_ digest: String) -> Self {
    var other = self
    (other.records, other.hasOwnObjects) = (records.filter { $0.job != digest }, true)
    other.highestKeys = highestKeys.mapValues { _ in 0 }
    return other
  }

  private static func refusal(
    _ path: String, _ why: String, cause: String? = nil, remedy: String
  ) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot append to '\(path)': \(why)", cause: cause, remedy: remedy, safe: "nothing was written")
  }

  /// The version hashes must be those of the destination model.
  private static func check(_ metadata: StoreMetadata, of path: String, model: ManagedObjectModel) throws {
    guard !model.isCompatible(with: metadata.entityVersionHashes) || metadata.versionHashes.isEmpty else { return }
    let (found, wanted) = (metadata.versionHashes, model.versionHashes)
    let names = Set(found.keys).union(wanted.keys).sorted { Text($0) < Text($1) }
    let first = names.first { found[$0] != wanted[$0]?.bytes }
    let why: String
    switch first {
    case nil: why = "it does not identify its model"
    case let name? where found.isEmpty: why = "it does not identify its model, and has no hash of '\(name)'"
    case let name? where found[name] == nil: why = "it has no entity '\(name)', which model '\(model.name)' has"
    case let name? where wanted[name] == nil: why = "it has an entity '\(name)', which model '\(model.name)' lacks"
    case let name?: why = "its entity '\(name)' is not that of model '\(model.name)'"
    }
    throw refusal(
      path, why, remedy: "migrate it to the destination model first, or name the model it has (`godwit why` compares)")
  }

  /// The error for a destination that another process changed while a run was about to replace it by its larger copy.
  package static func changed(_ path: String) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot append to '\(path)': it changed since the run began",
      remedy: "`godwit discard` the job and run again: its copy of the destination lacks the change",
      safe: "the destination stays as it is now")
  }

  // MARK: The copy

  /// Copies the store, which the caller has locked, and syncs the copy.
  package func copy(to copy: String) throws {
    let part = copy + ".part"
    for old in ["", "-journal", "-wal", "-shm"].map({ copy + $0 }) + [part] { unlink(old) }
    try StoreCloner.make(of: path, to: part, isSynced: true)
    // A copy that was cut short must never look like a store to resume.
    guard rename(part, copy) == 0 else {
      throw GodwitError(
        .inputOutput, "cannot make '\(copy)'", cause: String(cString: strerror(errno)),
        remedy: "fix the cause and run the same command")
    }
  }

  /// Checks that the copy still has the tables of the store, for a run that goes on with it.
  ///
  /// - Throws: `.dataWrong` (65) when one was changed.
  func checkCopy(_ copy: StoreConnection) throws {
    do {
      let found = try StoreSchema(model: schema.model, probing: copy, schema: "main")
      try found.checkKeys(copy, database: "main", isWritten: true)
      guard found.tables != schema.tables || found.joinTables != schema.joinTables else { return }
      throw GodwitError(.dataWrong, "cannot go on with '\(copy.path)': its tables have different definitions")
    } catch var error as GodwitError where error.code == .dataWrong {
      (error.remedy, error.safe) = ("`godwit discard` the job and run again", "the destination is untouched")
      throw error
    }
  }

  /// Makes the copy ready for chunks. Call inside the transaction that makes the ledger.
  ///
  /// - Returns: The statements of the triggers that were there.
  func dropTriggersAndIndexes(of copy: StoreConnection) throws -> [String] {
    var triggers: [String] = []
    let known = Set(schema.indexes.map(\.sql))
    let items = try copy.rows(
      "SELECT type, name, sql FROM main.sqlite_master WHERE type IN ('trigger', 'index') AND sql NOT NULL ORDER BY rowid"
    )
    for item in items {
      guard case .text(let type) = item[0], case .text(let name) = item[1], case .text(let bytes) = item[2] else {
        continue
      }
      let sql = String(decoding: bytes, as: UTF8.self)
      let quotedName = quoted(String(decoding: name, as: UTF8.self))
      if type.elementsEqual("trigger".utf8) {
        // They call functions that exist inside Core Data alone.
        triggers.append(sql)
        try copy.execute("DROP TRIGGER main.\(quotedName)")
      } else if known.contains(sql) {
        // The index stage builds it, over old rows and new ones.
        try copy.execute("DROP INDEX main.\(quotedName)")
      }
    }
    return triggers
  }
}

/// The state of the destination that a resumed run appends to. It is stored in the ledger.
package struct AppendMark: Codable {
  package var stamp: StoreFiles.Stamp
  /// The digest of the content.
  package var digest: String
  /// The statements of the store's triggers, which are made again at the end.
  package var triggers: [String]
}

import Foundation
import GodwitDisk
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// A job that adds to a destination that exists.
///
/// 1. The destination is locked, and its log written back into it: no other process gets in until the run ends.
/// 2. A copy in the work folder becomes the store under construction. Its triggers and the model's indexes go, the
///    ledger comes, in one transaction.
/// 3. The chunks run as usual; every key they assign is higher than those in use.
/// 4. The last transaction makes the triggers again and writes counters and metadata.
/// 5. New external files are linked beside the old ones, and the copy is renamed over the destination (`InPlaceSwap`).
/// A run that dies before the rename leaves the destination as it was; the next one continues in the copy.
extension MigrationManager {
  /// The store to append to; nil when there is none, or the job does not append.
  func existingDestination() throws -> ExistingDestination? {
    guard job.appends else { return nil }
    guard job.destinationType == .sqlite else {
      throw GodwitError(
        .configuration, "cannot append to '\(job.destinationPath)': only a SQLite store can be appended to",
        remedy: "remove `append: true` or `destination-type: xml`", safe: "nothing was written")
    }
    return isDestinationTaken ? try ExistingDestination(job) : nil
  }

  /// Whether the destination names this very job.
  func isAppended(_ source: OpenSource) throws -> Bool { try appendedDigest(source) != nil }

  /// The digest under which the destination names this very job; nil if it does not. Reads all of the source.
  private func appendedDigest(_ source: OpenSource) throws -> String? {
    guard isDestinationTaken, let metadata = try? StoreMetadata(readingStoreAt: job.destinationPath),
      let jobs = metadata.applicationValues[Self.jobsKey]?.array, !jobs.isEmpty
    else { return nil }
    let digest = try identity(quickIdentity, files: source.files).digest
    return jobs.contains(.string(digest)) ? digest : nil
  }

  func runAppending(watch: StopCondition, progress: (MigrationProgress) -> Void) throws -> MigrationSummary {
    let files = try OpenSource(job, attach: false)
    if let digest = try appendedDigest(files) { return try finishedBefore(digest: digest, removeDelivered(digest)) }
    // What is wrong with the destination is said before anything is made.
    _ = try existingDestination()
    let folder = try WorkFolder(forDestination: job.destinationPath)
    let lock: StoreLock
    do {
      lock = try StoreLock(store: job.destinationPath, action: "append to '\(job.destinationPath)'")
    } catch {
      if !isWorthKeeping(folder.path) { folder.undo() }
      throw error
    }
    defer { withExtendedLifetime(lock) {} }
    let source: OpenSource
    do {
      // Asked again under the locks: another run may have finished meanwhile.
      if let digest = try appendedDigest(files) {
        guard try isDelivered(digest, in: folder) else { return try finishedBefore(digest: digest) }
        let notes = try placeReceipt(of: folder)
        try folder.remove()
        return try finishedBefore(digest: digest, notes)
      }
      source = try OpenSource(job, attach: false, existing: try existingDestination())
      try InPlaceSwap(store: job.destinationPath, keepsOld: false).checkRights(workFolder: folder.path)
    } catch {
      if !isWorthKeeping(folder.path) { folder.undo() }
      throw error
    }
    let stamp = try source.existing?.files.stamp()
    return try work(in: folder, source: source, watch: watch, progress: progress) { made, path, folder in
      guard let files = source.existing?.files, try files.stamp() == stamp else { throw changedDestination() }
      try folder.markAppend()
      try InPlaceSwap(
        store: job.destinationPath, keepsOld: false, keepsOldFiles: true, before: job.hooks.beforeAppendStep
      ).exchange(path, support: made.support, workFolder: folder.path)
      let notes = try placeReceipt(of: folder)
      try folder.remove()
      return notes
    }
  }

  /// Removes the work folder of a run that died after it had put the store in place; that of another job stays.
  ///
  /// - Returns: What the summary is to say of that.
  private func removeDelivered(_ digest: String) throws -> [MigrationNote] {
    guard WorkFolder.exists(forDestination: job.destinationPath) else { return [] }
    let folder: WorkFolder
    do { folder = try WorkFolder(forDestination: job.destinationPath) } catch let error as GodwitError
      where error.code == .stopped
    {
      // Another job is at work there.
      return []
    }
    guard try isDelivered(digest, in: folder) else { return [] }
    let notes = try placeReceipt(of: folder)
    try folder.remove()
    return notes
  }

  /// Whether nothing in a folder is needed any more by a job whose objects are in the destination: it has no store, or
  /// one of this very job. A power cut can bring back what had been renamed or removed.
  private func isDelivered(_ digest: String, in folder: borrowing WorkFolder) throws -> Bool {
    guard try folder.hasStores() else { return true }
    if let record = try? StepRecord.read(in: folder.path) { return record.identity.digest == digest }
    if let ledger = try? Self.openLedger(inFolder: folder.path) {
      defer { try? ledger.connection.close() }
      return (try? ledger.identity().digest) == digest
    }
    let metadata = try? StoreMetadata(readingStoreAt: lastStepFolder(in: folder.path).storePath)
    return metadata?.applicationValues[Self.jobsKey]?.array?.last == .string(digest)
  }

  private func changedDestination() -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot append to '\(job.destinationPath)': it changed since the run began",
      remedy: "`godwit discard` the job and run again: its copy of the destination lacks the change",
      safe: "the destination stays as it is now")
  }

  // MARK: The store under construction

  /// Makes the copy ready for chunks. Call inside the transaction that makes the ledger.
  ///
  /// - Returns: The triggers that were there.
  func beginAppending(to existing: ExistingDestination, _ connection: StoreConnection) throws -> [String] {
    var triggers: [String] = []
    let items = try connection.rows(
      "SELECT type, name, sql FROM main.sqlite_master WHERE type IN ('trigger', 'index') AND sql NOT NULL ORDER BY rowid"
    )
    let known = Set(existing.schema.indexes.map(\.sql))
    for item in items {
      guard case .text(let type) = item[0], case .text(let name) = item[1], case .text(let bytes) = item[2] else {
        continue
      }
      let sql = String(decoding: bytes, as: UTF8.self)
      let quotedName = quoted(String(decoding: name, as: UTF8.self))
      if type.elementsEqual("trigger".utf8) {
        // They call functions that exist inside Core Data alone.
        triggers.append(sql)
        try connection.execute("DROP TRIGGER main.\(quotedName)")
      } else if known.contains(sql) {
        // The index stage builds it, over old rows and new ones.
        try connection.execute("DROP INDEX main.\(quotedName)")
      }
    }
    return triggers
  }

  /// Refuses to go on when the destination is not what the run began with.
  func checkExisting(_ existing: ExistingDestination?, facts: PlanFacts, ledger: Ledger) throws {
    switch (existing, facts.highestDestinationKeys) {
    case (nil, nil): return
    case (nil, .some):
      throw GodwitError(
        .cannotCreate,
        "cannot resume '\(job.name)': the destination it appends to no longer exists, '\(job.destinationPath)'",
        remedy: "put it back, or `godwit discard` the job and run again")
    case (.some, nil):
      throw GodwitError(
        .cannotCreate, "cannot resume '\(job.name)': '\(job.destinationPath)' was created during the run",
        remedy: "move it away to resume, or `godwit discard` the job and run again to append to it")
    case (let existing?, .some):
      var mark = try ledger.appendMark()
      let stamp = try existing.files.stamp()
      guard mark.stamp != stamp else { return }
      guard try existing.files.contentDigest() == mark.digest else { throw changedDestination() }
      mark.stamp = stamp
      try ledger.setAppendMark(mark)
    }
  }

  // MARK: Metadata

  /// What the finished store says of this job.
  ///
  /// - Parameter source: The metadata of the source.
  func appendRecord(
    _ identity: JobFingerprint, digest: String, source: StoreMetadata, opened: AttachedSource, facts: PlanFacts
  ) throws -> AppendRecord {
    var keys: [String: AppendRecord.Keys] = [:]
    for table in opened.destinationSchema.tables {
      guard let number = opened.destinationSchema.number(of: table.rootEntityName) else { continue }
      let counter = try opened.connection.integer(
        "SELECT Z_MAX FROM main.Z_PRIMARYKEY WHERE Z_ENT = ?1", [.int(number)])
      let after = facts.highestDestinationKeys?[table.rootEntityName]
      keys[table.rootEntityName] = .init(after: after, through: max(counter ?? 0, after ?? 0))
    }
    let mappings = opened.resolved.entityMappings.filter { $0.earlier == nil }.map { mapping in
      AppendRecord.Mapping(
        name: mapping.name, source: mapping.source.name, destination: mapping.destination.name,
        filter: mapping.filter?.source.text, uniqueBy: mapping.mapping.uniqueBy,
        keys: facts.mappings[mapping.index].keys)
    }
    return AppendRecord(
      job: digest, sourceUUID: source.uuid, source: identity.source, keys: keys, mappings: mappings)
  }

  /// The metadata of the destination before the job, with the job's name and record added.
  func appendedMetadata(
    _ connection: StoreConnection, digest: String, now: Double, record: AppendRecord
  ) throws -> StoreMetadata {
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: job.destinationPath)
    let jobs = metadata.values[Self.jobsKey]?.array ?? []
    metadata.values[Self.jobsKey] = .array(jobs + [.string(digest)])
    let records = metadata.values[AppendRecord.key]?.array ?? []
    metadata.values[AppendRecord.key] = .array(records + [record.propertyList])
    if job.callsNow { metadata.setMoment(now, of: digest) }
    return metadata
  }
}

extension WorkFolder {
  private var appendMarkPath: String { path + "/append" }

  /// Notes that what follows may give files of this folder names beside the destination.
  func markAppend() throws {
    try Self.writeNote(Data(), to: appendMarkPath)
    try Self.sync(path)
  }

  /// Takes back what the exchange of an append that is discarded did so far: new external files that got a name beside
  /// the destination. Call only while the finished store is still in the folder.
  func undoAppend(to destination: String) throws {
    guard FileManager.default.fileExists(atPath: appendMarkPath) else { return }
    let live = SupportFolder(ofStoreAt: destination)
    for store in try stores() {
      let support = SupportFolder(ofStoreAt: store)
      try support.forEachFile { name, _ in
        // Its name was made for this job alone; the bytes are compared all the same.
        guard try live.size(of: name) != nil, try live.holdsSameBytes(name, as: name, in: support) else { return }
        unlink(live.path(of: name))
      }
    }
    rmdir(live.dataPath)
    rmdir(live.path)
  }
}

import Foundation
import GodwitDisk
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The checks and the metadata of a destination that a job adds to: see `AppendDelivery`.
extension MigrationManager {
  /// The store to append to; nil when there is none, or the job does not append.
  func existingDestination() throws -> ExistingDestination? {
    guard job.appends else { return nil }
    return isDestinationTaken ? try ExistingDestination(job) : nil
  }

  /// The digest under which the destination names this very job; nil if it does not. Reads all of the source.
  func appendedDigest(_ source: OpenSource) throws -> String? {
    guard isDestinationTaken, let metadata = try? StoreMetadata(readingStoreAt: job.destinationPath),
      let jobs = metadata.applicationValues[Self.jobsKey]?.array, !jobs.isEmpty
    else { return nil }
    let digest = try identity(quickIdentity, files: source.files).digest
    return jobs.contains(.string(digest)) ? digest : nil
  }

  func changedDestination() -> GodwitError {
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

  /// The record of this job in the finished store.
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
  /// Takes back what the exchange of an append that is discarded did so far: new external files that got a name beside
  /// the destination. Call only while the finished store is still in the folder.
  func undoAppend(to destination: String) throws {
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

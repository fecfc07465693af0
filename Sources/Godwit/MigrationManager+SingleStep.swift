import Foundation
import GodwitDisk
import GodwitEngine
import GodwitInPlace
import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

extension MigrationManager {
  /// Checks a source through the connection of the run if that is the only way: a source with a hot journal, whose
  /// content only this connection sees, and a source too small for a thread.
  ///
  /// - Parameter isNew: Whether the run begins.
  func checkSource(_ files: StoreFiles, _ connection: StoreConnection, isNew: Bool) throws {
    guard job.sourceCheck != .none, files.type == .sqlite else { return }
    let isShort = job.position.isFirst && job.needsNoThread(reading: files)
    guard try isShort || (isNew && files.hasHotJournal()) else { return }
    let found = try connection.complaints(
      about: StoreConnection.sourceSchema, isFull: job.sourceCheck == .full, limit: 1)
    if let complaint = found.first { throw SourceCheck.damage(job.sourcePath, complaint) }
  }

  /// The metadata key under which a store names its maker: the job, or the step when others follow.
  var madeByKey: String { job.position.isLast ? Self.jobsKey : Self.stepKey }

  var cacheSize: ByteCount { .init(bytes: job.memory.bytes / 4) }

  func configure(_ connection: StoreConnection, isNew: Bool) throws {
    // First: the kind of vacuum is written at once.
    let isResumable = job.durability == .resumable
    try connection.execute("PRAGMA synchronous = \(isResumable ? "NORMAL" : "OFF")")
    if isNew {
      try connection.execute("PRAGMA page_size = 4096")
      if !isResumable { try connection.execute("PRAGMA journal_mode = MEMORY") }
      try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    }
    // Pages are only appended, so a rollback journal stays small; a WAL would write everything twice.
    if isResumable { try connection.execute("PRAGMA journal_mode = DELETE") }
    // Darwin leaves bytes in the cache of the drive unless it is told not to; elsewhere this has no effect.
    try connection.execute("PRAGMA fullfsync = ON")
    try connection.execute("PRAGMA secure_delete = OFF")
    try connection.execute("PRAGMA temp_store = FILE")
    // `status` may be reading the ledger when a chunk commits.
    try connection.execute("PRAGMA busy_timeout = 30000")
  }

  func writeEntityNumbers(_ schema: StoreSchema, _ connection: StoreConnection) throws {
    let insert = try connection.prepare(
      "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?1, ?2, ?3, 0)")
    defer { insert.finalize() }
    for entity in schema.model.entities {
      guard let number = schema.number(of: entity.name) else { continue }
      let parent = entity.superentityName.flatMap { schema.number(of: $0) } ?? 0
      try insert.run([.int(number), .text(entity.name), .int(parent)])
    }
  }

  /// Refuses to go on with another job's work, and names what differs.
  func compare(
    _ known: JobFingerprint, with quick: JobFingerprint, ledger: Ledger, stamp: StoreFiles.Stamp,
    files: StoreFiles, origin: String?
  ) throws {
    var digest = origin ?? known.source
    if origin == nil, try ledger.stamp() != stamp {
      digest = try files.contentDigest()
      if digest == known.source { try ledger.setStamp(stamp) }
    }
    try compare(known, with: quick, source: digest)
  }

  func compare(_ known: JobFingerprint, with quick: JobFingerprint, source: String) throws {
    let parts = [
      ("the source store", known.source, source), ("the source model", known.sourceModel, quick.sourceModel),
      ("the destination model", known.destinationModel, quick.destinationModel),
      (quick.nameOfMappings(since: known), known.mappings, quick.mappings),
      ("the manifest", known.manifest, quick.manifest),
    ]
    guard let changed = parts.first(where: { $1 != $2 }) else { return }
    // Before the digest of a large source is known, any change of the file's time counts, and cannot be undone.
    let isUndoable = !changed.1.isEmpty
    throw GodwitError(
      .cannotCreate, "cannot resume '\(job.name)': \(changed.0) changed since the run began",
      remedy: isUndoable
        ? "undo the change to resume, or `godwit discard` the job and run again"
        : "`godwit discard` the job and run again",
      safe: "what is durable is kept in '\(WorkFolder.path(forDestination: job.destinationPath))'")
  }

  /// The last transaction: metadata and counters are written, the ledger goes.
  ///
  /// - Parameters:
  ///   - before: Called when the store is checked, before that transaction.
  ///   - atEnd: Called before that transaction commits, with what the store says of itself.
  func finish(
    _ connection: StoreConnection, ledger: Ledger, opened: AttachedSource, plan: MigrationPlan,
    quarantined: Int64 = 0, before: () throws -> Void,
    atEnd: (StoreMetadata) throws -> Void = { _ in }
  ) throws {
    let identity = try ledger.identity()
    try connection.quickCheck(remedy: "check the disk, `godwit discard` the job and run again")
    try before()
    // The last step answers for the whole job, whose digest the caller knows.
    let digest = job.position.isLast ? job.position.jobDigest ?? identity.digest : identity.digest
    let before = try StoreMetadata(reading: connection, path: job.sourcePath)
    var metadata = self.metadata(after: before, digest: digest, now: plan.facts.now, leftOut: opened.leftOut)
    // The keys in the source's record do not hold for the destination.
    metadata.values[AppendRecord.key] = nil
    // In place it says of the store what it said before.
    if !job.isInPlace, !job.position.isInPlace {
      metadata.values[StoreMetadata.Key.quarantined] = quarantined > 0 ? .integer(quarantined) : nil
    }
    let kept = opened.resolved.keptCounters(
      destination: opened.destinationSchema, facts: plan.facts)
    let isNew = plan.facts.highestDestinationKeys == nil
    let triggers = isNew ? nil : try ledger.appendMark().triggers
    let vacuum = "PRAGMA main.incremental_vacuum"
    try connection.transaction {
      // Last chance to check completeness: the ledger is dropped below.
      guard try ledger.isComplete() else {
        throw GodwitError(
          .stopped, "stopped: not all chunks of '\(job.name)' are durable", remedy: "run the same command to resume",
          stopReason: .requested)
      }
      let raise = try connection.prepare("UPDATE Z_PRIMARYKEY SET Z_MAX = MAX(Z_MAX, ?2) WHERE Z_ENT = ?1")
      for (number, highest) in kept { try raise.run([.int(number), .integer(highest)]) }
      raise.finalize()
      if job.appends {
        let record = try appendRecord(identity, digest: digest, source: before, opened: opened, facts: plan.facts)
        if isNew {
          metadata.values[AppendRecord.key] = .array([record.propertyList])
        } else {
          metadata = try appendedMetadata(connection, digest: digest, now: plan.facts.now, record: record)
        }
      }
      try metadata.write(to: connection)
      try ledger.drop()
      if isNew { for sql in opened.leftOut.statements { try connection.execute(sql) } }
      let made =
        try triggers
        ?? DerivedTriggers(
          source: opened.sourceSchema, destination: opened.destinationSchema, connection: connection
        ).statements
      for sql in made { try connection.execute(sql) }
      if job.durability == .restart { try connection.execute(vacuum) }
      try atEnd(metadata)
    }
    // A commit of its own keeps the journal of a large store small.
    if job.durability == .resumable { try connection.execute(vacuum) }
  }

  /// The metadata of the finished store.
  ///
  /// - Parameters:
  ///   - source: The metadata of the source.
  ///   - digest: That of the job, or of the step when others follow.
  ///   - now: The value of `now()`, in seconds since 2001; nil if rows may have retained that of an earlier run.
  func metadata(
    after source: StoreMetadata, digest: String, now: Double?, leftOut: UnmodelledTables
  ) -> StoreMetadata {
    let model = job.destinationModel
    var metadata = source
    metadata.values[Self.stepKey] = nil
    metadata.values[RemovedRepairs.key] = nil
    let jobs = job.position.isLast ? metadata.applicationValues[Self.jobsKey]?.array ?? [] : []
    metadata.values = metadata.values(
      versionHashes: model.versionHashes.mapValues(\.bytes), digest: model.versionHashesDigest,
      checksum: model.versionChecksum, versionIdentifiers: model.versionIdentifiers,
      extra: leftOut.metadata(source).merging([madeByKey: .array(jobs + [.string(digest)])]) { _, new in new })
    for key in leftOut.metadataKeys { metadata.values[key] = nil }
    if let now, job.position.isLast, job.callsNow { metadata.setMoment(now, of: digest) }
    return metadata
  }
}

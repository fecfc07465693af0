import Foundation
package import GodwitJob
package import GodwitModel
package import GodwitStore

/// The end of a step: what it made is recorded and counted, then the ledger goes.
extension StepRun {
  /// The last transaction: metadata and counters are written, the ledger goes.
  ///
  /// - Parameters:
  ///   - before: Called when the store is checked, before that transaction.
  ///   - atEnd: Called before that transaction commits, with what the store says of itself.
  func finish(
    _ connection: StoreConnection, ledger: Ledger, opened: AttachedSource, plan: MigrationPlan,
    quarantined: Int64, before: () throws -> Void, atEnd: (StoreMetadata) throws -> Void
  ) throws {
    let identity = try ledger.identity()
    try connection.quickCheck(remedy: "check the disk, `godwit discard` the job and run again")
    try before()
    // The last step answers for the whole job, whose digest the caller knows.
    let digest = job.position.isLast ? job.position.jobDigest ?? identity.digest : identity.digest
    let before = try StoreMetadata(reading: connection, path: job.sourcePath)
    var metadata = job.metadata(after: before, digest: digest, now: plan.facts.now, leftOut: opened.leftOut)
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
        let record = try appendRecord(
          identity, digest: digest, source: before, opened: opened, facts: plan.facts, met: ledger.met())
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
      if !journal.isDurable { try connection.execute(vacuum) }
      try atEnd(metadata)
    }
    // A commit of its own keeps the journal of a large store small.
    if journal.isDurable { try connection.execute(vacuum) }
  }

  /// The record of this job in the finished store.
  ///
  /// - Parameter source: The metadata of the source.
  private func appendRecord(
    _ identity: JobFingerprint, digest: String, source: StoreMetadata, opened: AttachedSource, facts: PlanFacts,
    met: [MetCount]
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
        keys: facts.mappings[mapping.index].keys, met: met.first { $0.mapping == mapping.name }?.met)
    }
    return AppendRecord(
      job: digest, sourceUUID: source.uuid, source: identity.source, keys: keys, mappings: mappings)
  }

  /// The metadata of the destination before the job, with the job's name and record added.
  private func appendedMetadata(
    _ connection: StoreConnection, digest: String, now: Double, record: AppendRecord
  ) throws -> StoreMetadata {
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: job.destinationPath)
    let jobs = metadata.values[StoreMetadata.Key.jobs]?.array ?? []
    metadata.values[StoreMetadata.Key.jobs] = .array(jobs + [.string(digest)])
    let records = metadata.values[AppendRecord.key]?.array ?? []
    metadata.values[AppendRecord.key] = .array(records + [record.propertyList])
    if job.callsNow { metadata.setMoment(now, of: digest) }
    return metadata
  }

  // MARK: The receipt

  /// Whether the store of this step will be the destination as it is.
  private var countsAhead: Bool {
    job.receipt != nil && job.position.isLast && job.destinationType == .sqlite && job.steps.last?.didMigrate == nil
  }

  /// Counts what the receipt says of a store that is complete but for its commit; nil where it will not be the
  /// destination as it is, and where that failed: the finished store is counted then.
  ///
  /// - Throws: When SQLite has rolled back the transaction that is counted.
  func count(
    _ connection: StoreConnection, metadata: StoreMetadata
  ) throws -> (facts: ReceiptedStore.Facts, content: Receipt.Content)? {
    guard countsAhead else { return nil }
    do {
      let store = try ReceiptedStore(
        filledBy: connection, path: folder.storePath, becoming: job.destinationPath,
        model: try Receipt.model(asReceiptOf: job.destinationModel), metadata: metadata)
      return (try store.facts(), Receipt.content(try store.checksums()))
    } catch {
      guard (try? connection.checkTransaction()) != nil else { throw error }
      return nil
    }
  }

  /// Counts the checksums of a store whose rows are final, beside SQLite's check of it; nil where it will not be the
  /// destination as it is.
  func countAhead() -> BackgroundTask<Receipt.Content>? {
    guard countsAhead else { return nil }
    return BackgroundTask {
      [path = folder.storePath, destination = job.destinationPath, model = job.destinationModel, budget = job.memory]
      isWanted in
      let store = try ReceiptedStore(
        filledAt: path, becoming: destination, model: try Receipt.model(asReceiptOf: model), budget: budget,
        // SQLite's check has a processor to itself.
        readers: max(1, ReaderPool.processors - 1))
      return Receipt.content(
        try store.checksums {
          guard isWanted() else { throw CancellationError() }
        })
    }
  }

  /// Whether what the ledger knows is needed: for the receipt, which a job of several steps may get when it is resumed.
  private var needsOutcome: Bool { job.receipt != nil || job.position.count > 1 }

  /// Whether the finished store of a step lacks what the receipt needs. A delivery that has begun is finished.
  var lacksOutcome: Bool {
    needsOutcome && journal.content?.outcome == nil && (journal.content?.phase ?? .making) == .making
  }

  /// Records what the ledger knows, before its tables go.
  ///
  /// - Parameters:
  ///   - quarantined: The objects of the source that the plan did not count, since they are in quarantine.
  ///   - content: The content of the store, if it is counted already.
  func recordOutcome(
    _ plan: MigrationPlan, _ ledger: Ledger, _ summary: MigrationSummary, quarantined: [QuarantineCount],
    content: Receipt.Content?
  ) throws {
    // A later run may ask for a receipt that this one does not.
    guard journal.isDurable || needsOutcome else { return }
    let facts = plan.facts
    // The facts of the plan, without those that may change between two runs of the same job.
    var fixed = facts
    fixed.mappings = facts.mappings.map { mapping in
      var mapping = mapping
      mapping.chunkRows = 0
      return mapping
    }
    fixed.now = 0
    var step = Receipt.Step(
      job, plan, digest: Digest.hex(String(decoding: try fixed.sortedJSON(), as: UTF8.self)),
      made: try ledger.objectsMade(), quarantined: quarantined)
    let kept = try ledger.keptInvalid()
    step.keptInvalid = kept.isEmpty ? nil : kept
    let note = Receipt.Note(
      step: step, summary: summary, identity: try ledger.identity(), began: facts.now, stamp: try ledger.stamp(),
      content: content)
    try journal.update { $0.outcome = note }
  }
}

extension MigrationJob {
  /// The page cache of the store under construction.
  package var cacheSize: ByteCount { .init(bytes: memory.bytes / 4) }

  /// The metadata key under which a store names its maker: the job, or the step when others follow.
  var madeByKey: String { position.isLast ? StoreMetadata.Key.jobs : StoreMetadata.Key.step }

  /// The metadata of the finished store.
  ///
  /// - Parameters:
  ///   - source: The metadata of the source.
  ///   - digest: That of the job, or of the step when others follow.
  ///   - now: The value of `now()`, in seconds since 2001; nil if rows may have retained that of an earlier run.
  package func metadata(
    after source: StoreMetadata, digest: String, now: Double?, leftOut: UnmodelledTables
  ) -> StoreMetadata {
    let model = destinationModel
    var metadata = source
    metadata.values[StoreMetadata.Key.step] = nil
    metadata.values[RemovedRepairs.key] = nil
    let jobs = position.isLast ? metadata.applicationValues[StoreMetadata.Key.jobs]?.array ?? [] : []
    metadata.values = metadata.values(
      versionHashes: model.versionHashes.mapValues(\.bytes), digest: model.versionHashesDigest,
      checksum: model.versionChecksum, versionIdentifiers: model.versionIdentifiers,
      extra: leftOut.metadata(source).merging([Text(madeByKey): .array(jobs + [.string(digest)])]) { _, new in new })
    for key in leftOut.metadataKeys { metadata.values[key] = nil }
    if let now, position.isLast, callsNow { metadata.setMoment(now, of: digest) }
    return metadata
  }
}

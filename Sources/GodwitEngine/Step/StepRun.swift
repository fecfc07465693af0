import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// One step on its way into the store of its folder.
package final class StepRun {
  let job: MigrationJob
  let folder: StepFolder
  let journal: RunJournal
  let source: SourceFiles
  let quick: JobFingerprint
  private let origin: String?
  private let now: Double?
  private let watch: StopCondition
  private let rejections: RejectionSearch?
  /// The digest of the source's content, computed beside the run.
  private var digest: BackgroundTask<String>?
  /// The losses, if they are counted beside the run.
  private var losses: BackgroundTask<LossCount>?

  private var control: MigrationControl { watch.control }
  /// The store that the job appends to.
  var existing: ExistingDestination? { job.appends ? source.existing : nil }

  /// - Parameters:
  ///   - folder: Gets the store.
  ///   - origin: For a step of several: the digest of all that came before, in place of the source's own.
  ///   - now: The value of `now()`, if a larger job decides that.
  ///   - rejections: Finds the objects that validation rejects; nil where they stop the run.
  package init(
    _ job: MigrationJob, in folder: StepFolder, _ journal: RunJournal, source: SourceFiles,
    origin: String? = nil, now: Double? = nil, watch: StopCondition, rejections: RejectionSearch? = nil
  ) {
    (self.job, self.folder, self.journal, self.source) = (job, folder, journal, source)
    (self.origin, self.now, self.watch, self.rejections) = (origin, now, watch, rejections)
    quick = JobFingerprint(job)
  }

  /// Ends what runs beside.
  package func abandon() {
    digest?.abandon()
    losses?.abandon()
  }

  func identity() throws -> JobFingerprint {
    quick.withSource(
      try origin ?? rejections?.known?.identity.source ?? digest?.value() ?? source.files.contentDigest())
  }

  /// The identity that a new record of rejected objects is bound to.
  private func identity(_ ledger: Ledger, _ stamp: StoreFiles.Stamp) throws -> (JobFingerprint, StoreFiles.Stamp) {
    var identity = quick
    identity.source = try origin ?? (Ledger.exists(ledger.connection) ? ledger.identity().source : "")
    if identity.source.isEmpty {
      let task = digest ?? BackgroundTask { [files = source.files] in try files.contentDigest(while: $0) }
      digest = task
      // The time box does not end it: a digest begins again each time.
      guard let found = try task.value(while: { [control] in control.reason == nil }) else {
        throw RejectionSearchStopped(reason: control.reason ?? "")
      }
      identity.source = found
    }
    guard try source.files.stamp() == stamp else { throw SourceCheck.changed(source.files, since: stamp) }
    return (identity, stamp)
  }

  /// Migrates the step into the store of its folder, or resumes, or finds that it is done.
  ///
  /// - Returns: The summary, and the progress to show when the store is in place.
  package func run(progress: (MigrationProgress) -> Void) throws -> (MigrationSummary, MigrationProgress?) {
    guard let (connection, made) = try openStore() else {
      var summary = journal.content?.outcome?.summary ?? MigrationSummary(outcome: .finished)
      (summary.outcome, summary.reason, summary.wasResumed) = (.finished, nil, true)
      return (summary, nil)
    }
    let writeback = journal.isDurable ? Writeback(of: folder.storePath) : nil
    defer { writeback?.end() }
    defer { try? connection.close() }
    // The store is started over: external files are those of an earlier attempt.
    if made { try folder.support.remove() }
    let (kept, isCopied) = try keptSource()
    if isCopied, let reason = watch.stopReason { return (MigrationSummary(outcome: .stopped, reason: reason), nil) }
    control.setInterrupt { [connection] in connection.interrupt() }
    defer { control.setInterrupt(nil) }
    try configure(connection, isNew: made && existing == nil)
    // Taken before the source is opened: a change from here on is noticed.
    let stamp = try source.files.mergedStamp ?? source.files.stamp()
    // The record and the copy are of this state of the source.
    try rejections?.known?.checkSource(source.files)
    if made, origin == nil, rejections?.known == nil {
      digest = BackgroundTask(isShort: journal.durability.needsNoThread(reading: source.files)) {
        [files = source.files] in
        try files.contentDigest(while: $0)
      }
    }
    try connection.attachSource(
      kept ?? source.files, cache: .init(bytes: job.memory.bytes / 8), workFolder: folder.path, model: job.sourceModel,
      checkpoint: { [control] in try control.checkpoint() })
    try checkSource(connection, isNew: made && origin == nil)
    var ledger = Ledger(connection: connection)
    rejections?.identify = { [unowned self, ledger] in try identity(ledger, stamp) }
    if !made {
      try ledger.checkTables(at: folder.storePath)
      try ledger.checkVersion()
    }
    let known = try made ? nil : ledger.identity()
    if !made { try checkExisting(facts: try ledger.facts(), ledger: ledger) }
    let opened = try AttachedSource(
      connection, job: job, files: source.files, existing: existing,
      digest: { try known?.source ?? identity().source })
    // One transaction, which ends in `complete`: what fails or stops before takes all of it back.
    if !journal.isDurable { try connection.execute("BEGIN IMMEDIATE") }
    let (plan, program) = try withoutActuallyEscaping(progress) { progress in
      try made ? begin(opened, ledger, stamp, progress) : resume(opened, ledger, stamp)
    }
    let done = try ledger.done()
    // Outside observers read the speed of the run.
    let earlier = plan.chunks.filter { done.contains($0.id) }
    ledger.pace = MigrationStatus.Pace(
      began: watch.start.timeIntervalSinceReferenceDate, rowsBefore: ProgressMeter.rows(earlier),
      workBefore: RemainingTime.work(earlier))
    let executor = try executor(plan, program, opened, ledger, stamp)
    // The rate is that of the chunks: planning reads no rows that count.
    let meter = ProgressMeter(plan: plan, done: done, start: Date())
    progress(meter.progress)
    let stopped = try execute(executor, on: connection, meter: meter, progress: progress)
    if let stopped, !journal.isDurable { return (MigrationSummary(outcome: .stopped, reason: stopped), nil) }
    return try complete(executor, opened, plan, isLast: meter.isComplete, stopped: stopped, made: made) {
      meter.complete()
    }
  }

  /// Ends the step if all chunks are done.
  private func complete(
    _ executor: Executor, _ opened: AttachedSource, _ plan: MigrationPlan, isLast: Bool, stopped: String?, made: Bool,
    progress: () -> MigrationProgress
  ) throws -> (MigrationSummary, MigrationProgress?) {
    let (connection, ledger) = (opened.connection, executor.ledger)
    let isComplete = try isLast && ledger.isComplete()
    if stopped == nil, isComplete { try rejections?.known?.dropRound() }
    var summary = MigrationSummary(outcome: .stopped, reason: stopped)
    let totals = try ledger.totals()
    (summary.objects, summary.ambiguousToOne) = (totals.objects, totals.ambiguousToOne)
    summary.overridden = totals.overridden
    summary.keptInvalid = try ledger.keptInvalid()
    summary.dropped = plan.dropped
    summary.wasResumed = !made
    var plan = plan
    let goesOn = stopped == nil || isComplete
    let isCounted = try addLosses(to: &plan, waiting: goesOn)
    summary.losses = try executor.losses(summary, plan: plan)
    summary.losses.losses = job.marking(try summary.losses.losses + quarantineLosses())
    summary.codedNotes = try executor.withMet(plan.codedNotes) + executor.notes
    guard goesOn else { return (summary, nil) }
    guard try isCounted && recordDigest(executor, ledger) else {
      summary.reason = control.reason
      return (summary, nil)
    }
    if let error = job.error(for: summary.losses) { throw error }
    let isRestart = !journal.isDurable
    // Only this connection can count rows that are not committed.
    let counting = isRestart ? nil : countAhead()
    try finish(
      connection, ledger: ledger, opened: opened, plan: plan, quarantined: rejections?.known?.count ?? 0
    ) {
      // The finished store is counted if this failed or was stopped.
      let content = try? counting?.value { [control] in control.reason == nil }
      try recordOutcome(
        plan, ledger, summary, quarantined: rejections?.known?.quarantined() ?? [], content: content)
    } atEnd: { metadata in
      if isRestart { journal.counted = try count(connection, metadata: metadata) }
      try executor.checkSource()
    }
    if isRestart { try connection.execute("COMMIT") }
    try connection.close()
    summary.outcome = .finished
    summary.reason = nil
    return (summary, progress())
  }

  /// Whether losses are counted beside the chunks: not if one of them stops the run, or if that takes no time.
  private var countsBeside: Bool { !job.failsOnLoss && !journal.durability.needsNoThread(reading: source.files) }

  /// Begins to count the losses of a plan that has none.
  private func countLosses(_ planner: Planner, _ planned: inout (MigrationPlan, StepProgram)) throws {
    losses = countsBeside ? try LossCount.beside(planner, planned.0) : nil
    // A loss that stops the run is found before it begins.
    if losses == nil { try planner.addLosses(to: &planned.0, isWhole: job.failsOnLoss) }
  }

  /// Adds what was counted beside the chunks.
  ///
  /// - Returns: false if the run is stopped before it is counted.
  private func addLosses(to plan: inout MigrationPlan, waiting: Bool) throws -> Bool {
    guard let losses else { return true }
    let counted = try waiting ? losses.value(while: { [control] in control.reason == nil }) : losses.valueIfReady()
    counted?.add(to: &plan)
    return counted != nil
  }

  private func plan(
    _ opened: AttachedSource, _ progress: @escaping (MigrationProgress) -> Void
  ) throws -> (MigrationPlan, StepProgram) {
    var planner = opened.planner(job)
    planner.durability = journal.durability
    // It tells of its counting. The percent is that of the chunks.
    planner.progress = { part in
      var part = part
      (part.percent, part.rows, part.totalRows, part.rowsPerSecond) = (0, 0, 0, 0)
      progress(part)
    }
    do {
      var planned = try planner.plan(
        now: now ?? job.now?.timeIntervalSinceReferenceDate ?? Date().timeIntervalSinceReferenceDate,
        countsLosses: false)
      try countLosses(planner, &planned)
      try rejections?.setTaken(planned.0.facts)
      try rejections?.check()
      return planned
    } catch {
      if let rejections { try planner.searchRejected(after: error, rejections) }
      throw error
    }
  }

  /// The losses from objects that earlier rounds have rejected.
  private func quarantineLosses() throws -> [LossReport.Loss] {
    try rejections?.known?.losses(step: job.position.step) ?? []
  }

  /// The source without the objects that earlier rounds have rejected; nil for the source itself. And whether it was
  /// copied now.
  private func keptSource() throws -> (StoreFiles?, isCopied: Bool) {
    guard let record = rejections?.known, try record.round > 0 else { return (nil, false) }
    let isThere = try FilteredSource.exists(in: folder.path)
    if !isThere {
      try job.checkSpace(DiskNeed(destinationBytes: source.files.size, temporaryBytes: 0), safe: keptSafe)
    }
    let reader = try StoreConnection(path: nil)
    defer { control.setInterrupt(nil) }
    try reader.attachSource(
      source.files, cache: .init(bytes: job.memory.bytes / 8), workFolder: folder.path, model: job.sourceModel,
      checkpoint: { [control] in try control.checkpoint() })
    let schema = try StoreSchema(model: job.sourceModel, probing: reader)
    try FilteredSource(schema, record, in: folder.path).make(from: reader, of: source.files) { connection in
      control.setInterrupt { [connection] in connection.interrupt() }
      // The time box does not end it: a copy begins again each time.
      connection.whileRunning(stopIf: { [control] in control.reason != nil })
    }
    return (try StoreFiles(path: FilteredSource.path(in: folder.path)), !isThere)
  }

  /// The text about what remains when a round cannot begin.
  private var keptSafe: String { "the objects that are rejected are noted in '\(folder.path)'" }

  /// The disk need of the rest of the job, if earlier rounds have made a part of it.
  private func need(_ plan: MigrationPlan) throws -> DiskNeed {
    var need = plan.disk
    // The merged source is there.
    need.destinationBytes -= job.mergedBytes
    guard let record = rejections?.known, try record.round > 0 else { return need }
    // The copy of the source is there. The quarantine gets the share of it that is rejected.
    need.destinationBytes -= plan.facts.sourceBytes
    let taken = plan.facts.entities.reduce(Int64(1)) { $0 &+ $1.taken }
    let share = Double(try record.countBefore) / Double(max(1, taken))
    let quarantine = min(Double(source.files.size), Double(plan.facts.sourceBytes) * share)
    need.destinationBytes += Int64(exactly: quarantine.rounded(.up)) ?? source.files.size
    return need
  }

  /// Refuses to go on with another job's work.
  private func compare(_ ledger: Ledger, _ stamp: StoreFiles.Stamp) throws {
    let known = try ledger.identity()
    var digest = origin ?? known.source
    let before = try ledger.stamp()
    if origin == nil, before != stamp {
      digest = try source.files.contentDigest()
      if digest == known.source { try ledger.setStamp(stamp) }
    }
    try known.refuseChanges(in: quick, source: digest, of: job, since: before)
  }

  /// Plans, and makes the tables and the ledger in one transaction.
  private func begin(
    _ opened: AttachedSource, _ ledger: Ledger, _ stamp: StoreFiles.Stamp,
    _ progress: @escaping (MigrationProgress) -> Void
  ) throws -> (MigrationPlan, StepProgram) {
    let connection = opened.connection
    let (plan, program) = try plan(opened, progress)
    if let error = job.error(for: LossReport(try plan.losses.losses + quarantineLosses())) { throw error }
    var need = try need(plan)
    // The store of the step before and the one under construction lie side by side.
    if job.position.count > 1, job.position.isFirst { need.destinationBytes *= 2 }
    try job.checkSpace(need, safe: rejections?.known == nil ? nil : keptSafe)
    let schema = opened.destinationSchema
    try connection.transaction {
      var triggers: [String] = []
      if let existing {
        triggers = try existing.dropTriggersAndIndexes(of: connection)
      } else {
        try EmptyStore.createTables(of: schema, on: connection)
      }
      for sql in program.scratchStatements { try connection.execute(sql) }
      // A large source is read beside the first chunks. Until its digest is there, the stamp stands for it.
      let isLarge = digest != nil && existing == nil && source.files.size >= EngineTuning.current.largeSourceBytes
      try ledger.create(
        identity: isLarge ? quick : identity(), facts: plan.facts, chunks: plan.chunks, stamp: stamp,
        isTemporary: !journal.isDurable)
      if let existing {
        try ledger.setAppendMark(
          .init(stamp: existing.files.stamp(), digest: existing.files.contentDigest(), triggers: triggers))
      }
    }
    journal.hasBegun = true
    if journal.isDurable { try WorkFolder.sync(folder.path) }
    return (plan, program)
  }

  /// Takes the plan from the ledger of a run before.
  private func resume(
    _ opened: AttachedSource, _ ledger: Ledger, _ stamp: StoreFiles.Stamp
  ) throws -> (MigrationPlan, StepProgram) {
    try compare(ledger, stamp)
    let facts = try ledger.facts()
    try rejections?.setTaken(facts)
    try rejections?.check()
    opened.functions.setNow(facts.now)
    // It tells of no counting: the percent would be less than an earlier run has shown.
    var planner = opened.planner(job)
    planner.durability = journal.durability
    var planned = try planner.plan(facts: facts, chunks: try ledger.chunks(), countsLosses: false)
    try Self.checkTables(
      opened.destinationSchema.createStatements, isOwn: existing == nil,
      others: planned.1.scratchStatements, of: opened.connection, at: folder.storePath)
    try Self.checkPrograms(
      of: existing == nil ? opened.destinationSchema : nil, in: opened.connection, at: folder.storePath)
    if let existing { try existing.checkCopy(opened.connection) }
    try countLosses(planner, &planned)
    job.noteSpace(try need(planned.0))
    return planned
  }

  private func executor(
    _ plan: MigrationPlan, _ program: StepProgram, _ opened: AttachedSource, _ ledger: Ledger,
    _ stamp: StoreFiles.Stamp
  ) throws -> Executor {
    opened.functions.setNow(plan.facts.now)
    opened.functions.mover = ExternalDataMover(
      job, source: job.sourceSupport, destination: folder.support)
    let lacksDigest = try origin == nil && ledger.identity().source.isEmpty
    if lacksDigest {
      digest = digest ?? BackgroundTask { [files = source.files] in try files.contentDigest(while: $0) }
    }
    let policies =
      program.resolved.hasPolicies
      ? try PolicyRun(
        job: job, program: program, connection: opened.connection, functions: opened.functions, ledger: ledger,
        folder: folder) : nil
    return Executor(
      job: job, durability: journal.durability, plan: plan, program: program, connection: opened.connection,
      functions: opened.functions,
      ledger: ledger, files: source.files, stamp: stamp, sourceDigest: lacksDigest ? digest : nil, policies: policies,
      rejections: rejections, spillPath: { [folder] in folder.spillPath(mapping: $0) })
  }

  /// - Returns: Why the run stopped; nil at the end of the chunks.
  private func execute(
    _ executor: Executor, on connection: StoreConnection, meter: ProgressMeter,
    progress: (MigrationProgress) -> Void
  ) throws -> String? {
    return try withoutActuallyEscaping(progress) { progress in
      connection.whileRunning(tick: { if let part = meter.tick() { progress(part) } })
      defer { connection.whileRunning(tick: nil) }
      var stopped: String?
      do {
        try executor.run(beforeChunks: { if let part = meter.begin($0) { progress(part) } }) { chunk in
          progress(meter.finish(chunk))
          stopped = watch.stopReason
          return stopped == nil
        }
      } catch let error as GodwitError where error.code == .stopped && control.reason != nil {
        // The interrupt rolled the running chunk back: a checkpoint all the same.
        stopped = control.reason
      }
      return stopped
    }
  }

  /// Writes the digest of a large source into the ledger, once it is there.
  ///
  /// - Returns: false when the run is stopped before.
  private func recordDigest(_ executor: Executor, _ ledger: Ledger) throws -> Bool {
    // The ledger is asked, since what a chunk wrote may have been rolled back with it.
    guard let pending = digest, try ledger.identity().source.isEmpty else { return true }
    guard let digest = try pending.value(while: { [control] in control.reason == nil }) else { return false }
    try ledger.connection.transaction {
      try ledger.setSource(digest)
      try executor.checkSource()
    }
    return true
  }
}

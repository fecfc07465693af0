import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// A job of several steps: each step is migrated like a job of its own, into a store in the work folder.
///
/// 1. The journal names the steps before the first one begins.
/// 2. Step *k* reads the store of step *k* - 1 (the first one the source) and makes its own, resumable chunk by chunk.
/// 3. When its store is finished and synced, the journal says so; then the store of step *k* - 1 is removed.
/// 4. The store of the last step becomes the destination.
/// So at any moment at most two stores lie in the work folder, and no finished step is run again.
extension MigrationManager {
  // MARK: Run

  /// Makes the store of the last step in the work folder, or goes on with it.
  func makeSteps(
    in claim: borrowing Claim, source: SourceFiles, watch: StopCondition, progress: (MigrationProgress) -> Void
  ) throws -> (MigrationSummary, MigrationProgress?) {
    let (folder, journal) = (claim.path, claim.journal)
    guard job.isStepped else {
      return try runRounds(in: folder, journal, source: source, watch: watch, progress: progress)
    }
    var (record, isResumed) = try record(of: source, journal)
    var meter = StepMeter(count: job.steps.count)
    var last: MigrationProgress?
    for index in record.finished.count..<job.steps.count {
      let (summary, complete) = try runStep(index, of: record, in: folder, journal, source: source, watch: watch) {
        progress(meter.part($0, step: index))
      }
      guard summary.outcome == .finished else {
        return (total(record, plus: summary, isResumed: isResumed), nil)
      }
      try finishStep(index, summary, of: &record, in: folder, journal, source: source)
      last = complete.map { meter.part($0, step: index) }
      if let reason = watch.stopReason, index + 1 < job.steps.count {
        var stopped = total(record, isResumed: isResumed)
        stopped.reason = reason
        return (stopped, nil)
      }
    }
    var summary = total(record, isResumed: isResumed)
    summary.outcome = .finished
    return (summary, last)
  }

  /// The steps of an interrupted run from the journal, or those of a run that begins.
  private func record(
    of source: SourceFiles, _ journal: RunJournal
  ) throws -> (record: WorkJournal.Steps, isResumed: Bool) {
    let stamp = try source.files.stamp()
    if var known = journal.content?.steps {
      var digest = known.identity.source
      if known.stamp != stamp {
        digest = try source.files.contentDigest()
        known.stamp = stamp
      }
      try known.identity.refuseChanges(in: quickIdentity, source: digest, of: job)
      guard known.hops == job.steps.map(\.hops) else { throw otherSteps }
      return (known, true)
    }
    let record = WorkJournal.Steps(
      identity: try quickIdentity.withContent(of: source.files), stamp: stamp,
      now: job.now?.timeIntervalSinceReferenceDate ?? Date().timeIntervalSinceReferenceDate,
      hops: job.steps.map(\.hops))
    try checkSteps()
    try journal.update { $0.steps = record }
    return (record, false)
  }

  /// The folder of the step before, which holds the store that a step reads. The first step reads the job's source.
  private func folderBefore(_ index: Int, in folder: String) -> StepFolder? {
    index == 0 ? nil : StepFolder(ofStep: index, in: folder)
  }

  private func runStep(
    _ index: Int, of record: WorkJournal.Steps, in folder: String, _ journal: RunJournal, source: SourceFiles,
    watch: StopCondition, progress: (MigrationProgress) -> Void
  ) throws -> (MigrationSummary, MigrationProgress?) {
    let step = StepFolder(ofStep: index + 1, in: folder)
    let before = folderBefore(index, in: folder)
    try WorkFolder.makeFolder(step.path, mode: 0o700)
    let stepJob = try job(ofStep: index, source: before?.storePath, identity: record.identity)
    if try !WorkFolder.exists(step.storePath) {
      try run(
        job.steps[index].willMigrate, of: index, on: before?.storePath ?? job.sourcePath, isWritable: index > 0,
        source: source.files)
    }
    let stepSource =
      try before.map { _ in try SourceFiles(stepJob, attach: false, existing: source.existing) } ?? source
    let run = StepRun(
      stepJob, in: step, journal, source: stepSource, origin: record.finished.last?.digest ?? record.identity.source,
      now: record.now, watch: watch)
    defer { run.abandon() }
    return try run.run(progress: progress)
  }

  /// Syncs a finished step, records it, and removes the store that it read.
  private func finishStep(
    _ index: Int, _ summary: MigrationSummary, of record: inout WorkJournal.Steps, in folder: String,
    _ journal: RunJournal, source: SourceFiles
  ) throws {
    let step = StepFolder(ofStep: index + 1, in: folder)
    let before = folderBefore(index, in: folder)
    try run(job.steps[index].didMigrate, of: index, on: step.storePath, isWritable: true, source: source.files)
    if journal.isDurable { for path in [step.storePath, step.path] { try WorkFolder.sync(path) } }
    let identity = try JobFingerprint(job(ofStep: index, source: before?.storePath, identity: record.identity))
      .withSource(record.finished.last?.digest ?? record.identity.source)
    record.finished.append(
      .init(digest: identity.digest, summary: summary, receipt: journal.content?.outcome?.step))
    try journal.update { $0.steps = record }
    if let before { try? WorkFolder.removeStep(before.path) }
  }

  /// - Throws: The error of the hook; `.stopped` (75) when it changed the source of the job.
  private func run(
    _ hook: MigrationStage.Hook?, of index: Int, on path: String, isWritable: Bool, source: StoreFiles
  ) throws {
    guard let hook else { return }
    let step = job.steps[index]
    do {
      let stamp = try source.stamp()
      try hook.body(
        .init(
          storePath: path, isStoreWritable: isWritable, sourceModel: step.sourceModel,
          destinationModel: step.destinationModel))
      guard try source.stamp() == stamp else {
        throw GodwitError(
          .stopped, "stopped: the source '\(source.givenPath)' changed while the hook '\(hook.identity)' ran",
          remedy:
            "restore the source if the hook changed it, correct the hook, `godwit discard` the job and run again",
          safe: "nothing was written to the source by Godwit itself", stopReason: .sourceChanged)
      }
    } catch {
      var failure =
        error as? GodwitError
        ?? GodwitError(
          .inputOutput, "the hook '\(hook.identity)' failed", cause: "\(error)")
      failure.context = failure.context ?? StepPosition(index: index, count: job.steps.count).context
      failure.remedy =
        failure.remedy
        ?? "fix the cause and run the same job; to change the hook, `godwit discard` the job and run it again"
      failure.safe = failure.safe ?? "finished steps are durable; the source is untouched"
      throw failure
    }
  }

  private func job(ofStep index: Int, source: String?, identity: JobFingerprint) throws -> MigrationJob {
    var step = MigrationManager(try job.step(index, source: source)).job
    if step.position.isLast { step.position.jobDigest = identity.digest }
    return step
  }

  private func total(
    _ record: WorkJournal.Steps, plus running: MigrationSummary? = nil, isResumed: Bool
  ) -> MigrationSummary {
    let steps = record.finished.map(\.summary) + [running].compactMap(\.self)
    var summary = MigrationSummary(outcome: .stopped, reason: running?.reason)
    // Objects of the last step are those of the destination; what went wrong on the way counts in every step.
    summary.objects = steps.last?.objects ?? 0
    summary.ambiguousToOne = steps.reduce(0) { $0 + $1.ambiguousToOne }
    summary.overridden = steps.reduce(0) { $0 + $1.overridden }
    summary.keptInvalid = KeptInvalid.overall(steps.map(\.keptInvalid))
    summary.dropped = steps.flatMap(\.dropped)
    summary.losses = LossReport(job.marking(steps.flatMap(\.losses.losses)))
    for note in steps.flatMap(\.codedNotes) where !summary.codedNotes.contains(note) { summary.codedNotes.append(note) }
    summary.wasResumed = isResumed || running?.wasResumed == true
    return summary
  }

  /// Refuses work that cannot be resumed by the job as it is: without a quarantine where objects are in one already, or
  /// with other steps.
  func refuseOtherWork(in claim: borrowing Claim) throws {
    guard let content = claim.journal.content else { return }
    try refuseQuarantined(in: claim.path)
    if try hasOtherSteps(content, in: claim.path) { throw otherSteps }
  }

  /// Whether work was begun with other steps. Which of them are fused may depend on keys that are not part of the job's
  /// identity.
  func hasOtherSteps(_ journal: WorkJournal, in folder: String) throws -> Bool {
    guard job.isStepped else { return journal.steps != nil }
    return try WorkFolder.exists(StepFolder(path: folder).storePath)
      || journal.steps.map { $0.hops != job.steps.map(\.hops) } ?? false
  }

  var otherSteps: GodwitError {
    GodwitError(
      .cannotCreate, "cannot resume '\(job.name)': other hops are fused into one step than when the run began",
      remedy: "undo the change of 'chunks' or 'existing' to resume, or `godwit discard` the job and run again",
      safe: "what is durable is kept in '\(job.workPath)'")
  }

  /// Reports faults of a later step before the first one begins.
  private func checkSteps() throws {
    for index in job.steps.indices { _ = try planWithoutRows(step: index) }
  }

  // MARK: Plan

  /// The plan of all steps. The rows of a step can be counted only when the steps before it are done.
  func planSteps(_ estimatesTime: Bool) throws -> MigrationPlan {
    let folder = job.workPath
    let record = try WorkJournal.read(in: folder)?.steps
    let current = min(record?.finished.count ?? 0, job.steps.count - 1)
    let here = try job.step(current, source: folderBefore(current, in: folder)?.storePath)
    let source = try SourceFiles(
      here, existing: here.appends ? try existingDestination() : nil, digest: record?.finished.last?.digest)
    var (plan, program): (MigrationPlan, StepProgram)
    let planner = try source.planner(here)
    var done: Set<Int> = []
    var isResumed = false
    if let ledger = try Ledger.opened(in: StepFolder(ofStep: current + 1, in: folder).path) {
      defer { try? ledger.connection.close() }
      (plan, program) = try planner.plan(facts: try ledger.facts(), chunks: try ledger.chunks())
      done = try ledger.done()
      isResumed = true
    } else {
      (plan, program) = try planner.plan(now: Date().timeIntervalSinceReferenceDate)
    }
    try source.addForecast(to: &plan, of: here)
    if estimatesTime {
      plan.time = planner.timeEstimate(plan, program, done: done).repeated(
        job.steps.count - current, because: "later steps are taken to be as long as step \(current + 1)")
    }
    plan.countedStep = current + 1
    plan.source = job.sourcePath
    plan.sourceModelOrigin = job.sourceModelOrigin
    // The store of the step before and the one under construction lie side by side.
    plan.disk.destinationBytes *= 2
    let counted = plan
    plan.losses = LossReport()
    plan.steps = try job.steps.indices.flatMap { index in
      let part = index == current ? counted : try planWithoutRows(step: index)
      var steps = part.steps
      let losses = record.flatMap { index < current ? $0.finished[index].summary.losses : nil } ?? part.losses
      plan.losses.losses += job.marking(losses.losses)
      for position in steps.indices {
        steps[position].hooks = job.steps[index].namedHooks.map { "\($0): \($1.identity)" }
        if index != current {
          steps[position].rowsNote = index < current ? "the step is done" : "counted when the previous step is done"
        }
        guard job.isInPlace else { continue }
        steps[position].way = MigrationPlan.wayOfSteps(job.steps.count)
        steps[position].strategy = .executor
      }
      return steps
    }
    return job.measured(plan, isResumed: isResumed)
  }

  /// The plan of a step on a store without objects: everything but counts.
  private func planWithoutRows(step index: Int) throws -> MigrationPlan {
    try withoutRows(step: index) { try $0.plan(now: Date().timeIntervalSinceReferenceDate).0 }
  }

  /// Has a planner look at a step whose source has no objects.
  func withoutRows<T>(step index: Int, _ body: (Planner) throws -> T) throws -> T {
    let step = try job.step(index)
    let connection = try StoreConnection(path: nil)
    defer { try? connection.close() }
    try connection.attachEmptySource(StoreSchema(model: step.sourceModel))
    do {
      let existing = step.appends ? try existingDestination() : nil
      return try body(
        AttachedSource(
          connection, job: step, files: nil, existing: existing, digest: { try origin(ofStep: index) }
        ).planner(step))
    } catch var error as GodwitError {
      error.context = error.context ?? step.position.context
      throw error
    }
  }

  /// The digest of the content that a step reads: that of the step before, and so of all earlier steps.
  private func origin(ofStep index: Int) throws -> String {
    try (0..<index).reduce(StoreFiles(path: job.sourcePath).contentDigest()) { source, earlier in
      try MigrationManager(job.step(earlier)).quickIdentity.withSource(source).digest
    }
  }

  // MARK: Status

  /// nil without steps.
  func statusOfSteps(_ journal: WorkJournal) throws -> MigrationStatus? {
    guard let finished = journal.steps?.finished.count else { return nil }
    let current = StepFolder(ofStep: finished + 1, in: job.workPath)
    let isLast = finished + 1 >= job.steps.count
    var status: MigrationStatus
    if let ledger = try Ledger.opened(in: current.path) {
      defer { try? ledger.connection.close() }
      status = try Self.status(of: job, ledger)
      // The rows of later steps are not known.
      if !isLast { status.secondsLeft = nil }
    } else {
      // The ledger goes when the step's store is complete. A store that is appended to names its jobs from the start.
      let isWritten = isLast && job.appends ? journal.phase != .making : try Self.isWritten(current, isLast: isLast)
      status = MigrationStatus(state: .unfinished, job: job.name, percent: isWritten ? 100 : 0)
    }
    status.step = min(finished + 1, job.steps.count)
    status.steps = job.steps.count
    status.percent = min(100, (Double(finished) * 100 + status.percent) / Double(job.steps.count))
    return status
  }

  /// Whether the store of a step is complete. The step is recorded later, when its hook `after` is done too.
  private static func isWritten(_ folder: StepFolder, isLast: Bool) throws -> Bool {
    let metadata = try StoreMetadata.ifStore(at: folder.storePath)
    return metadata?.applicationValues[isLast ? jobsKey : StoreMetadata.Key.step] != nil
  }
}

/// Turns the progress of one step into that of the job. Every step counts alike: the rows of later ones are not known
/// yet.
private struct StepMeter {
  let count: Int
  private var running: (step: Int, since: Date)?

  init(count: Int) { self.count = count }

  mutating func part(_ progress: MigrationProgress, step index: Int) -> MigrationProgress {
    var progress = progress
    let isLast = index + 1 == count
    let percent = (Double(index) * 100 + progress.percent) / Double(count)
    progress.percent = isLast && progress.percent >= 100 ? 100 : min(99.9, percent)
    progress.step = index + 1
    progress.steps = count
    let now = Date()
    let since = running.flatMap { $0.step == index ? $0.since : nil } ?? now
    running = (index, since)
    // Later steps are taken to be as long as this one.
    let passed = now.timeIntervalSince(since)
    progress.secondsLeft = progress.secondsLeft.map { $0 + (passed + $0) * Double(count - index - 1) }
    return progress
  }
}

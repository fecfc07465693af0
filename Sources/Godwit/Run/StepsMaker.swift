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
struct StepsMaker {
  let request: RunRequest
  let watch: StopCondition

  var job: MigrationJob { request.job }

  /// Makes the store of the last step in the work folder, or goes on with it.
  func make(
    in claim: borrowing Claim, source: SourceFiles, progress: (MigrationProgress) -> Void
  ) throws -> (MigrationSummary, MigrationProgress?) {
    let (folder, journal) = (claim.path, claim.journal)
    switch request.maker {
    case .steps: return try makeAll(in: folder, journal, source: source, progress: progress)
    case .rounds(let limits): return try runRounds(limits, in: folder, journal, source: source, progress: progress)
    case .step, .statements:
      let run = StepRun(job, in: StepFolder(path: folder), journal, source: source, watch: watch)
      defer { run.abandon() }
      return try run.run(progress: progress)
    }
  }

  private func makeAll(
    in folder: String, _ journal: RunJournal, source: SourceFiles, progress: (MigrationProgress) -> Void
  ) throws -> (MigrationSummary, MigrationProgress?) {
    var (record, isResumed) = try record(of: source, journal)
    var meter = StepMeter(count: job.steps.count)
    var last: MigrationProgress?
    for step in job.steps.ids.dropFirst(record.finished.count) {
      let (summary, complete) = try runStep(step, of: record, in: folder, journal, source: source) {
        progress(meter.part($0, of: step))
      }
      guard summary.outcome == .finished else {
        return (total(record, plus: summary, isResumed: isResumed), nil)
      }
      try finishStep(step, summary, of: &record, in: folder, journal, source: source)
      last = complete.map { meter.part($0, of: step) }
      if let reason = watch.stopReason, step.count < job.steps.count {
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
    let stamp = try source.files.mergedStamp ?? source.files.stamp()
    if var known = journal.content?.steps {
      var digest = known.identity.source
      let before = known.stamp
      if before != stamp {
        digest = try source.files.contentDigest()
        known.stamp = stamp
      }
      try known.identity.refuseChanges(
        in: JobFingerprint(job), source: digest, of: job, since: before)
      guard known.hops == job.steps.map(\.hops) else { throw UnfinishedWork(job).otherSteps }
      return (known, true)
    }
    let record = WorkJournal.Steps(
      identity: try JobFingerprint(job).withContent(of: source.files), stamp: stamp,
      now: job.now?.timeIntervalSinceReferenceDate ?? Date().timeIntervalSinceReferenceDate,
      hops: job.steps.map(\.hops))
    try checkSteps()
    try journal.update { $0.steps = record }
    return (record, false)
  }

  /// The folder of the step before, which holds the store that a step reads. The first step reads the job's source.
  static func folderBefore(_ step: StepID, in folder: String) -> StepFolder? {
    step == .first ? nil : StepFolder(of: StepID(step.number - 1), in: folder)
  }

  private func runStep(
    _ id: StepID, of record: WorkJournal.Steps, in folder: String, _ journal: RunJournal, source: SourceFiles,
    progress: (MigrationProgress) -> Void
  ) throws -> (MigrationSummary, MigrationProgress?) {
    let step = StepFolder(of: id, in: folder)
    let before = Self.folderBefore(id, in: folder)
    try WorkFolder.makeFolder(step.path, mode: 0o700)
    let stepJob = try job(of: id, source: before?.storePath, identity: record.identity)
    if try !WorkFolder.exists(step.storePath) {
      try run(
        job.steps[id].willMigrate, of: id, on: before?.storePath ?? job.sourcePath, isWritable: id > .first,
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
    _ id: StepID, _ summary: MigrationSummary, of record: inout WorkJournal.Steps, in folder: String,
    _ journal: RunJournal, source: SourceFiles
  ) throws {
    let step = StepFolder(of: id, in: folder)
    let before = Self.folderBefore(id, in: folder)
    try run(job.steps[id].didMigrate, of: id, on: step.storePath, isWritable: true, source: source.files)
    if journal.isDurable { for path in [step.storePath, step.path] { try WorkFolder.sync(path) } }
    let identity = try JobFingerprint(job(of: id, source: before?.storePath, identity: record.identity))
      .withSource(record.finished.last?.digest ?? record.identity.source)
    record.finished.append(
      .init(digest: identity.digest, summary: summary, receipt: journal.content?.outcome?.step))
    try journal.update { $0.steps = record }
    if let before { try? WorkFolder.removeStep(before.path) }
  }

  /// - Throws: The error of the hook; `.stopped` (75) when it changed the source of the job.
  private func run(
    _ hook: MigrationStage.Hook?, of id: StepID, on path: String, isWritable: Bool, source: StoreFiles
  ) throws {
    guard let hook else { return }
    let step = job.steps[id]
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
      failure.context = failure.context ?? StepPosition(step: id, count: job.steps.count).context
      failure.remedy =
        failure.remedy
        ?? "fix the cause and run the same job; to change the hook, `godwit discard` the job and run it again"
      failure.safe = failure.safe ?? "finished steps are durable; the source is untouched"
      throw failure
    }
  }

  private func job(of id: StepID, source: String?, identity: JobFingerprint) throws -> MigrationJob {
    var step = MigrationManager(try job.step(id, source: source)).job
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

  /// Reports faults of a later step before the first one begins.
  private func checkSteps() throws {
    for step in job.steps.ids { _ = try PlanMaker(job).planWithoutRows(of: step) }
  }

}

/// Turns the progress of one step into that of the job. Every step counts alike: the rows of later ones are not known
/// yet.
private struct StepMeter {
  let count: Int
  private var running: (step: StepID, since: Date)?

  init(count: Int) { self.count = count }

  mutating func part(_ progress: MigrationProgress, of step: StepID) -> MigrationProgress {
    var progress = progress
    let isLast = step.count == count
    let percent = (Double(step.number) * 100 + progress.percent) / Double(count)
    progress.percent = isLast && progress.percent >= 100 ? 100 : min(99.9, percent)
    progress.step = step.count
    progress.steps = count
    let now = Date()
    let since = running.flatMap { $0.step == step ? $0.since : nil } ?? now
    running = (step, since)
    // Later steps are taken to be as long as this one.
    let passed = now.timeIntervalSince(since)
    progress.secondsLeft = progress.secondsLeft.map { $0 + (passed + $0) * Double(count - step.count) }
    return progress
  }
}

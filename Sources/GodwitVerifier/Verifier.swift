package import Foundation
public import GodwitJob
import GodwitModel
import GodwitStore

/// Proves a finished destination against its source, object by object, without the code that made it.
///
/// The executor lowers a mapping to SQL. The verifier evaluates the same expressions in Swift, finds the keys from the
/// content of the destination, and replays relationship assignments one at a time. It writes to neither store. It needs
/// time and temporary disk space in proportion to the store. Its memory depends only on the largest object: its largest
/// to-many, and its values that an expression reads or that have rules. Copied values are compared a piece at a time,
/// in rows and in external files.
///
/// A job of several steps is proved step by step, even if steps ran as one. The stores between the steps are made again
/// in `TMPDIR`.
///
/// If several jobs appended to a store, the verifier proves the part of this one job: the job's record in the metadata
/// has the keys. Other objects are only counted.
///
/// After a migration in place the old store stays as `Name~.ext`, and a job with that source is proved like any other.
/// Its rows may be those of the old store, because a change of definitions alone leaves them. Columns may therefore be
/// in another order, and a counter of edits (`Z_OPT`) or a key without a target may be that of the old row.
///
/// Not proved are:
/// - the values that `now()` gave in a destination that does not record its moment, which earlier versions made.
///   Decisions by such values in a step before the last one are not proved either. Filters that call `now()` are
///   evaluated with the destination's time of modification;
/// - the objects that a registered policy made, and their links;
/// - relationships set by an expression other than the manager's two lookups;
/// - the order of an object's related objects when several assignments gave them, or a path of several
///   segments that are ordered, or several sources of a `unique-by` object.
///
/// Each of these is counted in the report.
public struct Verifier: Sendable {
  /// The job whose destination is proved.
  package private(set) var job: MigrationJob

  /// Makes a merged source in a folder, unless the closure says that it is to stop.
  let makeSource: @Sendable (MigrationJob, String, @escaping () -> Bool) throws -> Void

  /// Migrates one step of a job of several into a store of its own, which is then proved and deleted.
  let makeStore: @Sendable (MigrationJob) throws -> Void
  /// See `ComparedStores.usesShortcuts`. For tests, which compare the results of both ways.
  package var usesShortcuts = true
  /// How many of each hundred objects are looked at, by ranges of keys; nil for all.
  ///
  /// The report then counts as not proved: objects outside the sample, relationships other than to-ones stored in rows
  /// of the sample, derived values and the rules of the model that concern several objects.
  package var samplePercent: Double?

  /// The file in which a stopped verification records its progress, so that the next one of the same stores continues;
  /// nil to begin with the first object each time.
  ///
  /// A finished verification without findings removes the file. Otherwise the file says how many differences it has
  /// found, until a later one finds none or a run makes the store again. A sample is never recorded.
  package var checkpointFile: URL?

  /// For tests, which stop more often.
  package var rowsPerCheckpoint: Int64?

  /// For tests, which damage a merged source before it is proved.
  package var afterMerge: (@Sendable (String) throws -> Void)?

  package init(
    job: MigrationJob, makeSource: @escaping @Sendable (MigrationJob, String, @escaping () -> Bool) throws -> Void,
    makeStore: @escaping @Sendable (MigrationJob) throws -> Void
  ) {
    self.job = job.namingInferredSteps()
    (self.makeSource, self.makeStore) = (makeSource, makeStore)
  }

  /// Compares the whole destination with the whole source.
  ///
  /// - Parameters:
  ///   - control: Stops the verification soon after a request. The stores between the steps of a job of several are
  ///     completed first.
  ///   - maximumSeconds: A time box; the verification stops soon after it.
  ///   - tell: Called with the finished share, 0 to 1, which never decreases.
  /// - Throws: `.missingInput` (66) when the job has no finished destination; `.dataWrong` (65) when a store cannot be
  ///   read at all; `.stopped` (75) if it was stopped, or a store changed during the verification; `CancellationError`
  ///   if the calling task is cancelled.
  public func run(
    control: MigrationControl = MigrationControl(), maximumSeconds: Double? = nil,
    progress tell: (Double) -> Void = { _ in }
  ) throws -> VerificationReport {
    try Task.checkCancellation()
    if let samplePercent, !(samplePercent >= 0.001 && samplePercent <= 100) {
      throw GodwitError(
        .usage, "cannot verify a sample of \(samplePercent) %", remedy: "give a percentage from 0.001 to 100")
    }
    return try run(VerificationStop(control, maximumSeconds: maximumSeconds), progress: tell)
  }

  private func run(_ stop: VerificationStop, progress tell: (Double) -> Void) throws -> VerificationReport {
    try StoreFiles.refuseImpossible(job.destinationPath)
    let unfinished = job.workPath
    // Another job may be at work on a copy; whether this one is finished the store says.
    guard try job.appends || !WorkFolder.exists(unfinished) else {
      throw GodwitError(
        .missingInput, "cannot verify '\(job.destinationPath)': the job is unfinished, '\(unfinished)' exists",
        remedy: "run the job to its end with `godwit run`, then verify")
    }
    guard try WorkFolder.exists(job.destinationPath) else {
      throw GodwitError(
        .missingInput, "cannot verify '\(job.destinationPath)': no such file",
        remedy: "run the job with `godwit run` first")
    }
    if let metadata = try StoreMetadata.ifStore(at: job.destinationPath) {
      try RemovedRepairs.refuse(metadata, of: job.destinationPath)
    }
    guard job.merged != nil else { return try prove(stop, progress: tell) }
    return try proveMerged(stop, progress: tell)
  }

  /// Makes the merged source again in `TMPDIR`, proves it against its parts, and then the destination against it.
  private func proveMerged(_ stop: VerificationStop, progress tell: (Double) -> Void) throws -> VerificationReport {
    let scratch = try ScratchFolder()
    defer { withExtendedLifetime(scratch) {} }
    let stamp = try job.sourceFiles().stamp()
    var whole = self
    whole.job = job.readingMerged(in: scratch.path)
    let merged: VerificationReport
    do {
      try makeSource(job, scratch.path) { stop.isDue }
      try afterMerge?(whole.job.sourcePath)
      merged = try MergeProof(whole.job) { stop.isDue }.run()
    } catch {
      guard stop.isDue else { throw error }
      throw stop.error(job.destinationPath, found: VerificationReport())
    }
    // A destination cannot be compared with a source that is not what its parts say.
    guard merged.isClean else { return merged }
    let report: VerificationReport
    do { report = merged.adding(try whole.prove(stop, progress: tell)) } catch let error as GodwitError {
      throw whole.job.namingParts(error)
    }
    guard try job.sourceFiles().stamp() == stamp else {
      throw GodwitError(
        .stopped, "cannot verify '\(job.destinationPath)': a store of '\(job.sourceName)' changed meanwhile",
        remedy: "stop what writes to it and run the same command", stopReason: .sourceChanged)
    }
    return report
  }

  private func prove(_ stop: VerificationStop, progress tell: (Double) -> Void) throws -> VerificationReport {
    let part = try AppendedPart(of: job.appends, in: job.destinationPath, digest: jobDigest)
    let original = try PreMigrationStore(of: job)
    let moment = try JobClock(of: job, digest: jobDigest)
    let held = try QuarantinedObjects(of: job, digest: jobDigest)
    var kept = try stopped(hasQuarantine: held != nil)
    let reached = HighestShare(kept?.share ?? 0)
    let report: VerificationReport
    do {
      if let held {
        report = try run(held, part, original, moment, stop, &kept) { tell(reached.raised(to: $0)) }
      } else if job.isStepped {
        report = try runSteps(part, original, moment, stop, &kept) { tell(reached.raised(to: $0)) }
      } else {
        report = try compare(job, part, original, moment, stop, &kept) { tell(reached.raised(to: $0)) }
      }
    } catch var error as GodwitError where error.code == .stopped && stop.isDue {
      kept?.share = reached.share
      error.remedy = "run the same command with more time: it begins with the first object"
      if let checkpointFile, kept?.keep(stop.found, of: job.destinationPath, in: checkpointFile) == true {
        error.remedy = "run the same command to go on: what was compared is kept in '\(checkpointFile.path)'"
      }
      throw error
    }
    if let checkpointFile { kept?.end(report, of: job.destinationPath, isWhole: !job.appends, in: checkpointFile) }
    return report
  }

  /// The record of an earlier verification of the same stores, or an empty one; nil to record nothing.
  private func stopped(hasQuarantine: Bool) throws -> StoppedVerification? {
    guard let checkpointFile, samplePercent == nil else { return nil }
    let identity = try StoppedVerification.Identity(job, hasQuarantine: hasQuarantine)
    guard let known = try StoppedVerification(at: checkpointFile) else {
      return StoppedVerification(identity: identity)
    }
    guard known.identity != identity else { return known }
    var fresh = StoppedVerification(identity: identity)
    if try known.found?.isOf(storeAt: job.destinationPath) == true { fresh.found = known.found }
    // The progress on a store that no longer exists is useless.
    if fresh.found == nil, known.identity.destination != identity.destination {
      try? WorkFolder.removeFile(checkpointFile.path)
    }
    return fresh
  }

  /// Proves a destination and the quarantine beside it. It reads a copy of the source that is made again each time, so
  /// the quarantine is proved again each time. The progress on the destination is kept.
  private func run(
    _ held: QuarantinedObjects, _ part: AppendedPart?, _ original: PreMigrationStore?, _ moment: JobClock,
    _ stop: VerificationStop, _ kept: inout StoppedVerification?, progress: (Double) -> Void
  ) throws -> VerificationReport {
    // The quarantine holds objects of the source that the whole job read.
    var whole = job.resolvingLinks().fusingSteps()
    whole.quarantine = nil
    // The findings of an earlier verification in the destination.
    let known = kept?.checkpoint?.report ?? VerificationReport()
    var proof: QuarantineProof?
    do {
      let made = try QuarantineProof(whole, held, at: moment) { stop.isDue }
      proof = made
      try made.run()
    } catch let error as GodwitError where error.code == .stopped && stop.isDue {
      throw stop.error(job.destinationPath, found: (proof?.report ?? VerificationReport()).adding(known))
    }
    guard let proof else { return known }
    let found =
      whole.isStepped
      ? try runSteps(part, original, moment, stop, &kept, after: proof.report, progress: progress)
      : try compare(
        whole, part, original, moment, stop, &kept, after: proof.report, readingSourceAt: proof.rest.path,
        progress: progress)
    return proof.report.adding(found)
  }

  /// The digest under which a destination names the job.
  private func jobDigest() throws -> String {
    let resolved = job.resolvingLinks().fusingSteps()
    return try JobFingerprint(resolved).withContent(of: resolved.sourceFiles()).digest
  }

  /// - Parameters:
  ///   - part: The part of the destination that the job made; nil for all of it.
  ///   - original: The store that it was made of, when that was in place.
  ///   - moment: The value of `now()` in the step.
  ///   - before: The earlier findings, for the message of a stop.
  ///   - path: A copy of the source without the objects in quarantine; nil for the source itself.
  private func compare(
    _ job: MigrationJob, _ part: AppendedPart?, _ original: PreMigrationStore?, _ moment: JobClock,
    _ stop: VerificationStop, _ kept: inout StoppedVerification?,
    after before: VerificationReport = VerificationReport(), readingSourceAt path: String? = nil,
    progress: (Double) -> Void
  ) throws -> VerificationReport {
    let sourceFiles = try job.sourceFiles()
    let destinationFiles = try StoreFiles(path: job.destinationPath)
    let stamps = (try sourceFiles.stamp(), try destinationFiles.stamp())
    let verification = Verification(
      try ComparedStores(
        job, moment: moment, part: part, original: original, usesShortcuts: usesShortcuts,
        sample: samplePercent.map { KeySample(percent: $0) }, readingSourceAt: path))
    // The stores between steps are made again, and the file says nothing of them.
    let isKept = kept != nil && !self.job.isStepped
    if isKept { verification.progress.start = kept?.checkpoint }
    if let rowsPerCheckpoint { verification.progress.rowsPerCheckpoint = rowsPerCheckpoint }
    verification.progress.isStopped = { stop.isDue }
    verification.stores.whileRunning { stop.isDue }
    do { try verification.run(progress: progress) } catch let error as GodwitError
      where error.code == .stopped && stop.isDue
    {
      // A verification that stops before it has restored the earlier state lacks the earlier findings.
      let isResumed = verification.progress.checkpoint != nil
      let known = isResumed ? nil : kept?.checkpoint?.report
      if isKept, let checkpoint = verification.finalCheckpoint() { kept?.checkpoint = checkpoint }
      throw stop.error(job.destinationPath, found: before.adding(known ?? verification.findings.report))
    } catch let error as GodwitError
      where verification.fileProof.isSourceDamaged && error.code == .internalBug
    {
      throw GodwitError(
        .dataWrong, "cannot verify '\(job.destinationPath)': SQLite finds the source '\(job.sourceName)' damaged",
        cause: error.message, remedy: GodwitError.damageRemedy + "; then run the job again")
    }
    guard try stamps == (sourceFiles.stamp(), destinationFiles.stamp()) else {
      throw GodwitError(
        .stopped, "cannot verify '\(job.destinationPath)': a store changed during the verification",
        remedy: "stop what writes to it and run the same command", stopReason: .sourceChanged)
    }
    return verification.findings.report
  }

  /// Proves every step by itself. The stores between are gone, so they are made again, in a temporary folder, up to the
  /// first that a hook may have changed.
  ///
  /// `now()` has its value of the job. If that is unknown, the stores between equal those of the run except for
  /// decisions by such values.
  private func runSteps(
    _ part: AppendedPart?, _ original: PreMigrationStore?, _ moment: JobClock, _ stop: VerificationStop,
    _ kept: inout StoppedVerification?, after before: VerificationReport = VerificationReport(),
    progress: (Double) -> Void
  ) throws -> VerificationReport {
    let scratch = try ScratchFolder()
    defer { withExtendedLifetime(scratch) {} }
    let folder = scratch.path
    var report = kept?.report ?? VerificationReport()
    let done = kept?.steps ?? 0
    var source: String?
    var unknown = UnknownTimes()
    let count = Double(job.steps.count)
    for id in job.steps.ids {
      var step = try job.step(id, source: source)
      // A hook is code of the manifest's, and proving a store runs none. So the hook's changes to a store are unknown,
      // and the input of the later steps is too. Before the first step a hook cannot change anything: the source is
      // watched.
      if job.steps[id].didMigrate != nil || id > .first && job.steps[id].willMigrate != nil {
        report.count(
          "not proved: steps whose store a hook changed, and those after them, from \(step.position.context)",
          Int64(job.steps.count - id.number))
        break
      }
      if stop.isDue { throw stop.error(job.destinationPath, found: before.adding(report)) }
      let isLast = step.position.isLast
      if isLast, unknown.after(step, knowsNow: true).decidesObjects {
        report.count("not proved: \(step.position.context), as earlier ones depend on a now() that was not kept", 1)
        break
      }
      var here = isLast ? moment : JobClock(now: moment.now)
      here.unknown = isLast ? unknown : UnknownTimes()
      if !moment.isKnown { unknown = unknown.after(step) }
      if !isLast {
        step.now = Date(timeIntervalSinceReferenceDate: moment.now)
        step.destinationType = .sqlite
        step.destinationPath = "\(folder)/step-\(id.count).sqlite"
        // A step of a finished job ran before, so a failure now is an error of its own.
        try makeStore(step)
      }
      if stop.isDue { throw stop.error(job.destinationPath, found: before.adding(report)) }
      if id.number >= done {
        let found = try compare(
          step, isLast ? part : nil, isLast ? original : nil, here, stop, &kept, after: before.adding(report)
        ) {
          progress((Double(id.number) + $0) / count)
        }
        report.add(found, of: step.position)
        kept?.steps = id.count
        kept?.report = report
      }
      if let source { try? FileManager.default.removeItem(atPath: source) }
      source = step.destinationPath
    }
    progress(1)
    return report
  }
}

/// The highest share of a verification that was reported.
private final class HighestShare {
  private(set) var share: Double

  init(_ share: Double) { self.share = min(max(share, 0), 0.999) }

  func raised(to new: Double) -> Double {
    share = max(share, new)
    return share
  }
}

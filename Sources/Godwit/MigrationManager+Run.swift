import Foundation
import GodwitDisk
import GodwitEngine
import GodwitInPlace
import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore
import GodwitVerifier

extension MigrationManager {
  /// Starts or resumes the migration on the calling thread. If the job is already finished, the summary says so.
  ///
  /// If the calling task is cancelled, the run stops at the next checkpoint, as with `control`: the summary's outcome
  /// is `.stopped`.
  ///
  /// - Parameters:
  ///   - control: Stops the run from another thread.
  ///   - maximumSeconds: A time limit; the run stops at the first checkpoint after it.
  ///   - progress: Called after every chunk, and up to four times a second while one runs, on the calling thread.
  /// - Throws: `GodwitError`. What is durable stays, and the same call resumes if it can. `.usage` (64) for a manager
  ///   whose stores are not named yet.
  @discardableResult
  public func run(
    control: MigrationControl = MigrationControl(), maximumSeconds: Double? = nil,
    progress: (MigrationProgress) -> Void = { _ in }
  ) throws -> MigrationSummary {
    try recorded(control, maximumSeconds) { try run(watch: $0, progress: progress) }
  }

  /// Runs, and records how that ended for those who ask from outside.
  func recorded(
    _ control: MigrationControl, _ maximumSeconds: Double?, run: (StopCondition) throws -> MigrationSummary
  ) throws -> MigrationSummary {
    try refuseWithoutStore()
    try job.refuseGuessedNames()
    let watch = StopCondition(control: control, start: Date(), maximumSeconds: maximumSeconds)
    // A store that is replaced tells them only before.
    let notes = ((try? job.layoutNotes()) ?? []) + missingLogNotes()
    var summary: MigrationSummary
    do { summary = try run(watch) } catch {
      guard var known = (error as? GodwitError).map(tellingDiscard) else {
        noteEnd(failedWith: GodwitError(.internalBug, "unexpected failure: \(error)"), watch)
        throw error
      }
      // A statement that was interrupted does not know by whom.
      if known.stopReason == .requested, let reason = control.reason {
        known.stopReason = GodwitError.StopReason(of: reason)
      }
      noteEnd(failedWith: known, watch)
      throw known
    }
    if summary.outcome == .stopped { noteEnd(summary, watch) }
    // Of a store that was appended to, what was found of earlier jobs still holds.
    if summary.outcome == .finished, !job.appends { KnownFindings.forget(storeAt: job.destinationPath) }
    if summary.outcome != .alreadyFinished {
      summary.codedNotes = job.inputNotes + summary.codedNotes + KeptInvalid.notes(summary.keptInvalid) + notes
    }
    return summary
  }

  func run(watch: StopCondition, progress: (MigrationProgress) -> Void) throws -> MigrationSummary {
    if !job.syncsCheckpoints, !mayLeaveCheckpointsUnsynced {
      return try syncingCheckpoints.run(watch: watch, progress: progress)
    }
    if let obstacle = job.quarantineObstacle { throw obstacle }
    try checkReceiptPlace()
    try checkQuarantinePlace()
    if let rule = job.inPlace { return try runInPlace(rule, watch: watch, progress: progress) }
    if job.appends, isDestinationTaken { return try runAppending(watch: watch, progress: progress) }
    if case .replace(let keepsOld) = job.existingDestination, !job.appends, isDestinationTaken {
      return try runReplacing(keepsOld: keepsOld, watch: watch, progress: progress)
    }
    let source = try OpenSource(job, attach: false, existing: try existingDestination())
    let quick = quickIdentity
    if isDestinationTaken {
      guard WorkFolder.exists(forDestination: job.destinationPath) else {
        return try finished(source: source, quick: quick)
      }
      // A run that died between the link and the removal of its folder leaves both.
      let folder = try WorkFolder(forDestination: job.destinationPath)
      // One that died while it replaced the destination, when the manifest still said so, has files to remove.
      try InPlaceSwap.settleReplacement(of: job.destinationPath, workFolder: folder.path)
      guard var summary = try? finished(source: source, quick: quick) else {
        throw GodwitError(
          .cannotCreate,
          "cannot write '\(job.destinationPath)': it exists, and so does the work folder of an unfinished run",
          remedy: "move the destination away, or `godwit discard` the job")
      }
      summary.codedNotes += try placeReceipt(of: folder)
      // The run before may have died before it did.
      try syncDelivered()
      try folder.remove()
      return summary
    }
    try refuseStaleLog()
    let folder = try WorkFolder(forDestination: job.destinationPath, isSynced: job.syncsCheckpoints)
    guard folder.isSynced == job.syncsCheckpoints else {
      throw GodwitError(
        .stopped, "cannot run: another process was working on '\(folder.path)' a moment ago",
        remedy: "run the same command", stopReason: .locked)
    }
    let dropped =
      try job.appends
      ? [] : dropOutdatedWork(in: folder, source: source.files) { try source.files.contentDigest() }
    let prepared = PreparedReceipt()
    var summary = try work(
      in: folder, source: source, watch: watch, prepared: prepared, progress: progress
    ) { made, path, folder in
      try folder.settle(finished: made.storePath)
      var notes = try placeQuarantine(of: folder, made, source.files, watch.control)
      try WorkFolder.removeFile(folder.receiptReplacedPath)
      try folder.publish(
        path, to: job.destinationPath, like: source.files.path, hasFiles: job.destinationType == .sqlite)
      notes += try placeReceipt(of: folder, prepared)
      if !folder.isSynced { try syncDelivered() }
      try folder.remove()
      return notes
    }
    if summary.outcome == .finished { summary.codedNotes += dropped }
    return summary
  }

  /// Whether a power cut may lose the checkpoints of this job. A delivery that has begun must be brought to its end.
  private var mayLeaveCheckpointsUnsynced: Bool {
    guard BootIdentity.current != nil, job.inPlace == nil, !job.appends, job.quarantine == nil, !isDestinationTaken
    else { return false }
    return !WorkFolder.isSynced(WorkFolder.path(forDestination: job.destinationPath))
  }

  /// Migrates all steps in the work folder, and delivers the finished store.
  ///
  /// - Parameters:
  ///   - replaces: Whether a destination is there that the finished store is to replace.
  ///   - prepared: Gets the receipt that is written.
  ///   - deliver: Puts the file of the finished store where it belongs, and removes the folder. It returns what the
  ///     summary is to say of that.
  func work(
    in folder: borrowing WorkFolder, source: OpenSource, watch: StopCondition, replaces: Bool = false,
    prepared: PreparedReceipt? = nil, progress: (MigrationProgress) -> Void,
    deliver: (StepFolder, _ path: String, borrowing WorkFolder) throws -> [MigrationNote]
  ) throws -> MigrationSummary {
    let (quick, control) = (quickIdentity, watch.control)
    let check = job.needsNoThread(reading: source.files) ? nil : SourceCheck(job, source.files)
    defer { check?.abandon() }
    let made = lastStepFolder(in: folder.path)
    try refuseQuarantined(in: folder.path)
    try refuseOtherSteps(in: folder.path)
    var keeps = isWorthKeeping(folder.path)
    var meter = job.destinationType == .xml ? XMLMeter(folder: folder.path, steps: job.steps.count) : nil
    var shown = ShownProgress(folder: folder.path)
    let history = HistoryRecorder(job, folder: folder.path, begin: watch.start)
    func report(_ part: MigrationProgress) {
      var part = shown.shown(part)
      history.note(part)
      // A later round moves the percentage little: the name tells of it. The history is of the job's own names.
      if part.round > 1 { part.name += " (round \(part.round))" }
      progress(part)
    }
    func tell(_ part: MigrationProgress) { report(meter?.part(part) ?? part) }
    do {
      // The first of several is refused where its mapping is resolved.
      if job.missingPolicies.count > 1, let error = job.missingPolicyError { throw error }
      if job.inPlace == nil, source.existing == nil, !replaces {
        try folder.refuseForeignSupport(of: job.destinationPath)
        if !FileManager.default.fileExists(atPath: made.storePath) {
          try folder.removeMovedSupport(of: job.destinationPath)
        }
      }
      try noteOwner(in: folder)
      keeps = true
      var (summary, last) =
        !job.isStepped
        ? try runRounds(
          in: StepFolder(path: folder.path), source: source, quick: quick, watch: watch, prepared: prepared,
          isWorthKeeping: &keeps, progress: tell)
        : try runSteps(
          in: folder.path, source: source, quick: quick, watch: watch, prepared: prepared, isWorthKeeping: &keeps,
          progress: tell)
      if summary.outcome == .finished, try check?.finish(while: { control.reason == nil }) == false {
        (summary.outcome, summary.reason) = (.stopped, control.reason)
      }
      if summary.outcome == .finished {
        let written = try file(of: made.storePath, in: folder, control: control) { objects, total in
          if let part = meter?.wrote(objects, of: total) { report(part) }
        }
        switch written {
        case .stopped(let reason): (summary.outcome, summary.reason) = (.stopped, reason)
        case .written(let path):
          summary.seconds = Date().timeIntervalSince(watch.start)
          if let reason = try prepareReceipt(
            of: path, in: folder, made, &summary, control, history: history, prepared: prepared)
          {
            (summary.outcome, summary.reason) = (.stopped, reason)
          } else {
            summary.codedNotes += try deliver(made, path, folder)
            if let last = meter?.complete() ?? last { progress(shown.shown(last)) }
          }
        }
      }
      summary.seconds = Date().timeIntervalSince(watch.start)
      summary.peakBytes = ProcessMemory.peakBytes
      if summary.outcome == .stopped { history.end(.stopped) }
      return summary
    } catch {
      // Without a ledger there is nothing to resume: a job that was never right leaves no trace.
      if keeps { history.end(.failed) } else { folder.undo() }
      throw SourceCheck.cause(of: error, job, check)
    }
  }

  /// Whether a work folder holds something to resume.
  func isWorthKeeping(_ folder: String) -> Bool {
    [StepFolder(path: folder).storePath, StepRecord.path(in: folder), RejectionRecord.path(in: folder)].contains(
      where: FileManager.default.fileExists)
  }

  func refuseStaleLog() throws {
    guard job.destinationType == .sqlite else { return }
    for suffix in ["-wal", "-journal"] {
      let path = job.destinationPath + suffix
      guard FileManager.default.fileExists(atPath: path) else { continue }
      throw GodwitError(
        .cannotCreate, "cannot write '\(job.destinationPath)': it has the log of another store beside it, '\(path)'",
        remedy: "move that file away: SQLite would apply it to the new store")
    }
  }
}

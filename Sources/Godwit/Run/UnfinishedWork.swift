import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The unfinished work of an earlier run.
struct UnfinishedWork {
  let job: MigrationJob

  init(_ job: MigrationJob) { self.job = job }

  /// Whether a run of this job has a work folder, at work or killed. Asked where nothing is found to resume.
  ///
  /// Several jobs may append to one destination: without a journal it is not known which of them began it.
  func hasRunWithoutWork() throws -> Bool {
    guard try WorkFolder.isMarked(job.workPath) else { return false }
    guard let journal = try Definite.answer({ try WorkJournal.read(in: job.workPath) }) ?? nil else {
      return !job.appends
    }
    return job.owns(journal.owner)
  }

  /// Whether a work folder holds something to resume.
  func isResumable(_ folder: String) throws -> Bool {
    let journal = try Definite.answer { try WorkJournal.read(in: folder) } ?? nil
    return try journal.map { try RunJournal.isResumable($0, in: folder) } ?? false
  }

  /// Whether the next run of a job begins again, although the last one left a work folder.
  func startsAgain(_ status: MigrationStatus) throws -> Bool {
    guard status.state == .unfinished || status.state == .notStarted else { return false }
    return try status.percent == 0 && status.lines.isEmpty && !isResumable(job.workPath)
  }

  /// Removes the folder that an unfinished run left of a source that is again as it was. The work of another job
  /// remains, as does a folder in which a run is at work.
  func removeNeedless() throws {
    guard try WorkFolder.exists(forDestination: job.destinationPath), let claim = try Claim.unlessLocked(job) else {
      return
    }
    let owner = claim.journal.content?.owner
    let isOurs = try owner.map(job.owns) ?? true || !claim.folder.hasStores()
    try claim.end(isOurs ? .done : .kept)
  }

  /// - Throws: `.cannotCreate` (73) if another job has begun work in a folder.
  func refuseOthers(in folder: String) throws {
    guard try isResumable(folder), let known = try WorkJournal.read(in: folder)?.owner, !job.owns(known) else { return }
    throw GodwitError(
      .cannotCreate,
      "cannot replace '\(job.destinationPath)': '\(folder)' has the unfinished work of another job, '\(known.job)'",
      remedy: "let that job finish, or `godwit discard` it", safe: "nothing was written")
  }

  /// Removes unfinished work of this job that nothing can finish any more, because something has changed since it began:
  /// nothing is lost but the time. Does nothing for a job that replaces nothing: there a person decides.
  ///
  /// - Parameters:
  ///   - files: The files of the source.
  ///   - digest: The digest of their content, asked for if they are not as they were.
  /// - Returns: The notes for the summary.
  func dropOutdated(
    in claim: borrowing Claim, source files: StoreFiles, digest: () throws -> String
  ) throws -> [MigrationNote] {
    guard job.replacesEarlierResult, try claim.journal.isResumable, let content = claim.journal.content,
      job.owns(content.owner)
    else { return [] }
    let changed = try changes(of: content, in: claim.path, source: files, digest: digest)
    guard !changed.isEmpty else { return [] }
    // Its quarantine may be in its place already.
    try QuarantinePlacement.removePlaced(of: job.destinationPath, in: claim.path)
    try claim.startOver(job)
    try claim.folder.removeContent()
    claim.journal.forget()
    return [
      MigrationNote(
        .workDropped,
        "the job starts again: the work of an earlier run was removed, because \(changed.joined(separator: ", ")) changed since it began"
      )
    ]
  }

  /// The changes since the work of a folder began, in words.
  private func changes(
    of journal: WorkJournal, in folder: String, source files: StoreFiles, digest: () throws -> String
  ) throws -> [String] {
    guard try !hasOtherSteps(journal, in: folder) else { return ["the fusion of its steps"] }
    guard let (known, stamp) = try beginning(of: journal, in: folder) else { return [] }
    // As long as the digest of a large source is not there, the stamp alone stands for it.
    let now = JobFingerprint(job).withSource(try stamp == files.stamp() ? known.source : digest())
    return now.changes(since: known).map(\.words)
  }

  /// The job and the source with which the work of a folder began; nil if it has not begun.
  private func beginning(
    of journal: WorkJournal, in folder: String
  ) throws -> (known: JobFingerprint, stamp: StoreFiles.Stamp?)? {
    if job.isStepped { return journal.steps.map { ($0.identity, $0.stamp) } }
    if let ledger = try Ledger.opened(in: folder) {
      defer { try? ledger.connection.close() }
      return (try ledger.identity(), try ledger.stamp())
    }
    return journal.outcome.map { ($0.identity, $0.stamp) }
  }

  /// - Throws: `.cannotCreate` (73) for unfinished work that a run cannot resume.
  func refuseChanged() throws {
    guard !job.replacesEarlierResult, try isResumable(job.workPath),
      let journal = try WorkJournal.read(in: job.workPath)
    else { return }
    guard try !hasOtherSteps(journal, in: job.workPath) else { throw otherSteps }
    let current = journal.steps.map { StepFolder(of: $0.current, in: job.workPath).path }
    if let ledger = try Ledger.opened(in: current ?? job.workPath) {
      defer { try? ledger.connection.close() }
      try ledger.checkVersion()
    }
    guard let (known, stamp) = try beginning(of: journal, in: job.workPath) else { return }
    let files = try job.sourceFiles()
    let digest = try stamp == files.stamp() ? known.source : files.contentDigest()
    try known.refuseChanges(in: JobFingerprint(job), source: digest, of: job, since: stamp)
  }

  // MARK: Work that does not fit

  /// Refuses work that cannot be resumed by the job as it is: without a quarantine where objects are in one already, or
  /// with other steps.
  func refuseOther(in claim: borrowing Claim) throws {
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

  /// Refuses to go on without a quarantine where some objects are in it, whatever the job is now.
  func refuseQuarantined(in folder: String) throws {
    guard job.quarantine == nil, let count = try RejectionRecord.opened(in: folder)?.count, count > 0 else { return }
    throw GodwitError(
      .cannotCreate,
      "cannot resume '\(job.name)': the run began with a quarantine and has set aside \(count.counted("object"))",
      remedy: "write `on-invalid: {quarantine: …}` again to resume, or `godwit discard` the job and run again",
      safe: "what is durable is kept in '\(folder)'")
  }

  // MARK: Discarding

  /// Removes the unfinished work of a destination: see `MigrationManager.discard`.
  static func discard(destination: String, isInPlace: Bool) throws -> Bool {
    let destination = isInPlace ? StoreFiles.resolvingLink(destination) : destination
    guard try WorkFolder.exists(forDestination: destination) else { return false }
    let folder = try WorkFolder(forDestination: destination)
    // A damaged journal does not keep a job from being discarded.
    let path = folder.path
    let journal = try Definite.answer { try WorkJournal.read(in: path) } ?? nil
    var swap = InPlaceSwap(store: destination, keepsOld: true)
    swap.mark = journal?.exchange
    if journal?.phase != .placing { _ = try swap.finishReplacement(workFolder: folder.path) }
    try ReceiptPlacement.place(inDiscarded: folder, journal, destination: destination)
    if !isInPlace { try QuarantinePlacement.removePlaced(of: destination, in: folder.path) }
    if try WorkFolder.exists(destination) {
      try KeptStore.removeLeftovers(of: destination, in: folder.path)
    } else {
      try folder.removeStores()
      try WorkFolder.removeMovedSupport(of: destination, mark: journal?.support)
    }
    try folder.remove()
    return true
  }
}

extension MigrationJob {
  /// Adds to an error of a store in the work folder how to begin again: no backup has that store.
  func tellingDiscard(_ error: GodwitError) -> GodwitError {
    let folder = WorkFolder.path(forDestination: String(destinationPath.split(separator: "/").last ?? "")) + "/"
    guard error.code == .dataWrong, error.message.contains(folder), error.remedy?.contains("discard") != true else {
      return error
    }
    var told = error
    told.remedy = "`godwit discard` the job and run again"
    return told
  }
}

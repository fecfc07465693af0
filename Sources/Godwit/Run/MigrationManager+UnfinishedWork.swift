import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The unfinished work of an earlier run.
extension MigrationManager {
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
  func removeNeedlessWork() throws {
    guard try WorkFolder.exists(forDestination: job.destinationPath), let claim = try Claim.unlessLocked(job) else {
      return
    }
    let owner = claim.journal.content?.owner
    let isOurs = try owner.map(job.owns) ?? true || !claim.folder.hasStores()
    try claim.end(isOurs ? .done : .kept)
  }

  /// - Throws: `.cannotCreate` (73) if another job has begun work in a folder.
  func refuseWorkOfOthers(in folder: String) throws {
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
  func dropOutdatedWork(
    in claim: borrowing Claim, source files: StoreFiles, digest: () throws -> String
  ) throws -> [MigrationNote] {
    guard job.replacesEarlierResult, try claim.journal.isResumable, let content = claim.journal.content,
      job.owns(content.owner)
    else { return [] }
    let changed = try changes(of: content, in: claim.path, source: files, digest: digest)
    guard !changed.isEmpty else { return [] }
    // Its quarantine may be in its place already.
    try Self.removePlacedQuarantine(ofDestination: job.destinationPath, in: claim.path)
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
    let now = quickIdentity.withSource(try stamp == files.stamp() ? known.source : digest())
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
  func refuseChangedWork() throws {
    guard !job.replacesEarlierResult, try isResumable(job.workPath),
      let journal = try WorkJournal.read(in: job.workPath)
    else { return }
    guard try !hasOtherSteps(journal, in: job.workPath) else { throw otherSteps }
    let current = journal.steps.map { StepFolder(ofStep: $0.finished.count + 1, in: job.workPath).path }
    if let ledger = try Ledger.opened(in: current ?? job.workPath) {
      defer { try? ledger.connection.close() }
      try ledger.checkVersion()
    }
    guard let (known, stamp) = try beginning(of: journal, in: job.workPath) else { return }
    let files = try StoreFiles(path: job.sourcePath)
    let digest = try stamp == files.stamp() ? known.source : files.contentDigest()
    try known.refuseChanges(in: quickIdentity, source: digest, of: job)
  }
}

import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The work folder of a run, with its lock and its journal. It ends once, by `end`; one that is never ended stays for the
/// next run.
struct Claim: ~Copyable {
  /// The fate of the folder.
  enum End {
    /// The job is done: the folder goes.
    case done
    /// The folder has nothing that a later run needs: it goes, and so do the empty folders that were made for it.
    case undone
    /// The next run needs the folder, or it has the work of another job.
    case kept
    /// The run failed while it made the store. A job that was never right leaves no trace; what failed later is recorded,
    /// also where nothing can be resumed.
    case failed
  }

  let folder: WorkFolder
  let journal: RunJournal

  var path: String { folder.path }

  /// - Throws: `.stopped` (75) when another run holds the lock; what `WorkFolder.init` and `WorkJournal.read` throw.
  init(_ job: MigrationJob, _ durability: MigrationJob.Durability = .resumable) throws {
    let folder = try WorkFolder(forDestination: job.destinationPath, isSynced: durability == .resumable)
    let journal = try RunJournal(job, in: folder.path, durability)
    self.journal = journal
    self.folder = folder
  }

  /// nil while another run holds the lock.
  static func unlessLocked(_ job: MigrationJob) throws -> Claim? {
    do { return try Claim(job) } catch let error as GodwitError where error.stopReason == .locked { return nil }
  }

  /// Removes the leftovers of work that cannot be resumed: of a run that was to begin again after a kill, of a finished
  /// store that is gone, of a `quarantine apply`.
  func begin(_ job: MigrationJob) throws {
    guard let content = journal.content else { return try folder.removeContent() }
    let isGone = try content.phase != .making && !WorkFolder.exists(job.lastStepFolder(in: path).storePath)
    if try isGone || !journal.isResumable { try startOver(job) }
  }

  /// Removes the stores under construction, so that a later run begins again. Call while the destination has no store, or
  /// another one.
  func startOver(_ job: MigrationJob) throws {
    let support = journal.content?.support
    try journal.update { $0 = WorkJournal(owner: $0.owner, support: support, lastRun: $0.lastRun) }
    try folder.removeStores()
    guard try support != nil && !job.isDestinationTaken else { return }
    try WorkFolder.removeMovedSupport(of: job.destinationPath, mark: support)
    try journal.update { $0.support = nil }
  }

  /// Lets go of the folder. The lock ends with it.
  ///
  /// - Throws: When the folder of a job that is done cannot be removed. No other end throws.
  consuming func end(_ end: End) throws {
    switch end {
    case .done: try folder.remove()
    case .undone: folder.undo()
    case .kept: break
    case .failed: fail()
    }
  }

  private func fail() {
    guard !journal.mayBeResumable else { return }
    guard journal.hasBegun else { return folder.undo() }
    do {
      try folder.removeContent()
      journal.forget()
      try journal.publish { _ in }
    } catch { folder.undo() }
  }
}

extension MigrationJob {
  /// Whether anything exists at the destination, including a broken symbolic link.
  var isDestinationTaken: Bool { get throws { try WorkFolder.exists(destinationPath) } }
}

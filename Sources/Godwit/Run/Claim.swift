import Foundation
import GodwitDisk
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The work folder of a run, with its lock and its journal.
struct Claim: ~Copyable {
  let folder: WorkFolder
  let journal: RunJournal

  var path: String { folder.path }

  /// - Throws: `.stopped` (75) when another run holds the lock; what `WorkFolder.init` and `WorkJournal.read` throw.
  init(_ job: MigrationJob, _ durability: MigrationJob.Durability = .resumable) throws {
    let folder = try WorkFolder(forDestination: job.destinationPath, isSynced: durability == .resumable)
    let journal = try RunJournal(job, in: folder.path, isDurable: durability == .resumable)
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
    if isGone || !journal.isResumable { try startOver(job) }
  }

  /// Removes the stores under construction, so that a later run begins again. Call while the destination has no store, or
  /// another one.
  func startOver(_ job: MigrationJob) throws {
    let support = journal.content?.support
    try journal.update { $0 = WorkJournal(owner: $0.owner, support: support, lastRun: $0.lastRun) }
    try folder.removeStores()
    guard support != nil, !job.isDestinationTaken else { return }
    try WorkFolder.removeMovedSupport(of: job.destinationPath, mark: support)
    try journal.update { $0.support = nil }
  }

  /// Ends a run that has failed or stopped: what cannot be resumed goes.
  func undoUnlessResumable() { if !journal.isResumable { folder.undo() } }

  /// Ends a run that failed. A job that was never right leaves no trace; what failed later is recorded, also where
  /// nothing can be resumed.
  func fail() {
    guard !journal.isResumable else { return }
    guard journal.hasBegun else { return folder.undo() }
    do {
      try folder.removeContent()
      journal.forget()
      try journal.publish { _ in }
    } catch { folder.undo() }
  }

  /// Removes the folder of a run that is done.
  func release() throws { try folder.remove() }
}

/// The journal of a run that holds its work folder.
final class RunJournal {
  /// nil before anything is recorded.
  private(set) var content: WorkJournal?
  /// Whether the folder holds something to resume.
  var isResumable: Bool
  /// Whether the next run reads it: not that of a run which begins again after a kill.
  let isDurable: Bool
  /// Whether the store has been begun.
  var hasBegun = false
  /// The content of the finished store, if this run has counted it.
  var counted: (facts: ReceiptedStore.Facts, content: Receipt.Content)?
  /// The receipt in the work folder, where this run has written it.
  var receipt: Receipt?

  private let folder: String
  private let owner: WorkJournal.Owner

  init(_ job: MigrationJob, in folder: String, isDurable: Bool) throws {
    (self.folder, owner) = (folder, job.owner)
    content = try WorkJournal.read(in: folder)
    isResumable = content.map { Self.isResumable($0, in: folder) } ?? false
    // A run that can be resumed stays one.
    self.isDurable = isDurable || content != nil
  }

  /// Whether a folder with a journal has a store under construction, a finished step or rejected objects.
  static func isResumable(_ content: WorkJournal, in folder: String) -> Bool {
    content.steps != nil
      || [StepFolder(path: folder).storePath, RejectionRecord.path(in: folder)].contains(
        where: FileManager.default.fileExists)
  }

  /// Changes the journal. The change is durable when the call returns, if anything of the run is.
  func update(_ change: (inout WorkJournal) -> Void) throws {
    var new = content ?? WorkJournal(owner: owner)
    change(&new)
    if isDurable { try new.write(in: folder) }
    content = new
  }

  /// Forgets what was recorded, once the content of the folder is gone.
  func forget() { (content, isResumable, receipt, counted) = (nil, false, nil, nil) }

  /// Changes the journal before something of the finished store gets a name beside the destination.
  func publish(_ change: (inout WorkJournal) -> Void) throws {
    try update(change)
    if !isDurable { try content?.write(in: folder) }
    isResumable = true
  }
}

extension MigrationJob {
  var owner: WorkJournal.Owner { WorkJournal.Owner(job: name, appends: appends) }

  /// Whether the work of an owner is that of this job.
  func owns(_ owner: WorkJournal.Owner) -> Bool { isNamed(owner.job) && appends == owner.appends }

  /// The folder of the store that becomes the destination.
  func lastStepFolder(in folder: String) -> StepFolder {
    StepFolder(path: !isStepped ? folder : StepFolder.path(ofStep: steps.count, in: folder))
  }

  /// Whether anything exists at the destination, including a broken symbolic link.
  var isDestinationTaken: Bool { WorkFolder.isTaken(destinationPath) }
}

import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// The journal of a run that holds its work folder.
package final class RunJournal {
  /// nil before anything is recorded.
  package private(set) var content: WorkJournal?
  /// Whether the folder holds something to resume.
  package var isResumable: Bool
  /// Whether the next run reads it: not that of a run which begins again after a kill.
  package let isDurable: Bool
  /// Whether the store has been begun.
  package var hasBegun = false
  /// The content of the finished store, if this run has counted it.
  package var counted: (facts: ReceiptedStore.Facts, content: Receipt.Content)?
  /// The receipt in the work folder, where this run has written it.
  package var receipt: Receipt?

  private let folder: String
  private let owner: WorkJournal.Owner

  package init(_ job: MigrationJob, in folder: String, isDurable: Bool) throws {
    (self.folder, owner) = (folder, job.owner)
    content = try WorkJournal.read(in: folder)
    isResumable = try content.map { try Self.isResumable($0, in: folder) } ?? false
    // A run that can be resumed stays one.
    self.isDurable = isDurable || content != nil
  }

  /// Whether a folder with a journal has a store under construction, a finished step or rejected objects.
  package static func isResumable(_ content: WorkJournal, in folder: String) throws -> Bool {
    if try content.steps != nil || RejectionRecord.exists(in: folder) { return true }
    guard try WorkFolder.exists(StepFolder(path: folder).storePath) else { return false }
    guard content.phase == .making, content.outcome == nil else { return true }
    // Until the plan is committed, the next run begins again. The run itself reports a ledger that cannot be read.
    do { return try Ledger.opened(in: folder) != nil } catch { return true }
  }

  /// Changes the journal. The change is durable when the call returns, if anything of the run is.
  package func update(_ change: (inout WorkJournal) -> Void) throws {
    var new = content ?? WorkJournal(owner: owner)
    change(&new)
    if isDurable { try new.write(in: folder) }
    content = new
  }

  /// Forgets what was recorded, once the content of the folder is gone.
  package func forget() { (content, isResumable, receipt, counted) = (nil, false, nil, nil) }

  /// Changes the journal before something of the finished store gets a name beside the destination.
  package func publish(_ change: (inout WorkJournal) -> Void) throws {
    try update(change)
    if !isDurable { try content?.write(in: folder) }
    isResumable = true
  }
}

extension MigrationJob {
  package var owner: WorkJournal.Owner { WorkJournal.Owner(job: name, appends: appends) }

  /// Whether the work of an owner is that of this job.
  package func owns(_ owner: WorkJournal.Owner) -> Bool { isNamed(owner.job) && appends == owner.appends }

  /// The folder of the store that becomes the destination.
  package func lastStepFolder(in folder: String) -> StepFolder {
    isStepped ? StepFolder(ofStep: steps.count, in: folder) : StepFolder(path: folder)
  }
}

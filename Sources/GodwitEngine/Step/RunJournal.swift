import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// The journal of a run that holds its work folder.
package final class RunJournal {
  /// nil before anything is recorded.
  package private(set) var content: WorkJournal?
  /// The durability of the run: what was asked for, or that of the work in the folder. Work that can be resumed stays so.
  package let durability: MigrationJob.Durability
  /// Whether the next run reads the journal: not that of a run which begins again after a kill.
  package var isDurable: Bool { durability == .resumable }
  /// Whether the store has been begun.
  package var hasBegun = false
  /// Whether something of the finished store may have a name beside the destination, or has the destination's.
  private var hasPublished = false
  /// The content of the finished store, if this run has counted it.
  package var counted: (facts: ReceiptedStore.Facts, content: Receipt.Content)?
  /// The receipt in the work folder, where this run has written it.
  package var receipt: Receipt?

  private let folder: String
  private let owner: WorkJournal.Owner

  package init(_ job: MigrationJob, in folder: String, _ durability: MigrationJob.Durability) throws {
    (self.folder, owner) = (folder, job.owner)
    content = try WorkJournal.read(in: folder)
    self.durability = content == nil ? durability : .resumable
  }

  /// Whether a later run could go on with what the folder holds now: a store under construction, a finished step or
  /// rejected objects. Files with a name beside the destination are always left to the next run.
  ///
  /// - Throws: When the folder cannot be looked at: nobody can tell then.
  package var isResumable: Bool {
    get throws {
      if hasPublished { return true }
      guard isDurable, let content else { return false }
      return try Self.isResumable(content, in: folder)
    }
  }

  /// Whether the folder must stay: a folder that cannot be looked at may hold something to resume.
  package var mayBeResumable: Bool {
    do { return try isResumable } catch { return true }
  }

  /// Whether a folder with a journal has a store under construction, a finished step or rejected objects.
  package static func isResumable(_ content: WorkJournal, in folder: String) throws -> Bool {
    if try RejectionRecord.exists(in: folder) { return true }
    // The first of several steps is like a job of its own.
    let first = content.steps == nil ? StepFolder(path: folder) : StepFolder(of: .first, in: folder)
    if content.steps?.finished.isEmpty == false { return true }
    // The hook before the first step comes before its store: what the journal says of the source holds from there on.
    guard try WorkFolder.exists(first.storePath) else { return content.steps != nil }
    guard content.phase == .making, content.outcome == nil else { return true }
    // Until the plan is committed, the next run begins again. The run itself reports a ledger that cannot be read.
    do { return try Ledger.opened(in: first.path) != nil } catch { return true }
  }

  /// Changes the journal. The change is durable when the call returns, if anything of the run is.
  package func update(_ change: (inout WorkJournal) -> Void) throws {
    var new = content ?? WorkJournal(owner: owner)
    change(&new)
    if isDurable { try new.write(in: folder) }
    content = new
  }

  /// Forgets what was recorded, once the content of the folder is gone.
  package func forget() { (content, hasPublished, receipt, counted) = (nil, false, nil, nil) }

  /// Changes the journal before something of the finished store gets a name beside the destination.
  package func publish(_ change: (inout WorkJournal) -> Void) throws {
    try update(change)
    if !isDurable { try content?.write(in: folder) }
    hasPublished = true
  }

  /// Notes that the finished store is the destination: whatever fails now is left to the next run.
  package func delivered() { hasPublished = true }
}

extension MigrationJob {
  package var owner: WorkJournal.Owner { WorkJournal.Owner(job: name, appends: appends) }

  /// Whether the work of an owner is that of this job.
  package func owns(_ owner: WorkJournal.Owner) -> Bool { isNamed(owner.job) && appends == owner.appends }

  /// The folder of the store that becomes the destination.
  package func lastStepFolder(in folder: String) -> StepFolder {
    isStepped ? StepFolder(of: StepID(count: steps.count), in: folder) : StepFolder(path: folder)
  }
}

import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// A store that takes the place of its source.
///
/// A copy in the work folder beside the store is migrated, then the two are exchanged: see `InPlaceSwap`. A job that needs
/// only statements needs no exchange if the old store is not kept.
final class InPlaceDelivery: Delivery {
  let manager: MigrationManager
  let watch: StopCondition
  let keepsOld: Bool
  /// Keeps every other process out of the store.
  private var lock: StoreLock?

  init(manager: MigrationManager, watch: StopCondition, keepsOld: Bool) {
    (self.manager, self.watch, self.keepsOld) = (manager, watch, keepsOld)
  }

  private func exchange(_ claim: borrowing Claim) -> InPlaceSwap {
    var swap = swap(claim, keepsOld: keepsOld)
    swap.oldModel = job.sourceModel
    return swap
  }

  func finished() throws -> MigrationSummary? {
    guard try manager.isMigratedInPlace(), try !WorkFolder.exists(forDestination: job.sourcePath) else { return nil }
    return MigrationSummary(outcome: .alreadyFinished)
  }

  func begin(_ claim: borrowing Claim) throws -> RunPipeline.Beginning {
    // Asked again under the lock: another run may have finished meanwhile.
    if try manager.isMigratedInPlace() { return try finishExchanged(claim) }
    lock = try StoreLock(store: job.sourcePath)
    _ = try finishExchange(claim)
    try exchange(claim).checkRights(workFolder: claim.path)
    let files = try StoreFiles(path: job.sourcePath)
    switch try manager.lightweightWay(isResumed: claim.journal.isResumable, files: files) {
    case .definitions(let change): return .edit(change, files)
    case .sql(let statements): return .edit(statements, files)
    case .executor: return .make(try SourceFiles(job, attach: false))
    }
  }

  /// Ends the work of a run that died after the store had been migrated.
  private func finishExchanged(_ claim: borrowing Claim) throws -> RunPipeline.Beginning {
    let swap = exchange(claim)
    if try swap.hasExchanged() {
      try swap.finish(workFolder: claim.path)
    } else if !keepsOld, try StoreFiles(path: job.sourcePath).type == .sqlite {
      try manager.removeDeadJournal()
      try manager.removeUnreferencedFiles(in: claim.path)
    }
    var summary = MigrationSummary(outcome: .alreadyFinished)
    summary.codedNotes = try missingReceiptNote(claim)
    let settled = try manager.settle(claim)
    summary.codedNotes += settled.notes
    return .finished(summary, settled.end)
  }

  /// The note on a store that was edited itself by a run which died before it had counted the receipt. The
  /// application may have written since: what would be counted now need not be what the run made.
  private func missingReceiptNote(_ claim: borrowing Claim) throws -> [MigrationNote] {
    guard let path = try manager.receiptPath, try !WorkFolder.exists(claim.folder.receiptPath),
      try MigrationManager.receipt(at: path).map({ try MigrationManager.isReceipt($0, ofStoreAt: job.sourcePath) })
        != true
    else { return [] }
    return [
      .init(
        .receiptMissing, "no receipt was written: the run that migrated the store was killed before it had counted it")
    ]
  }

  func deliver(_ made: RunPipeline.Made, _ claim: borrowing Claim) throws -> [MigrationNote] {
    try exchange(claim).replace(with: made.file, support: made.folder.support, workFolder: claim.path)
    try claim.journal.update { $0.phase = .placing }
    return []
  }

  func edit(
    _ program: any InPlaceProgram, _ files: StoreFiles, _ claim: borrowing Claim,
    progress: (MigrationProgress) -> Void
  ) throws -> RunPipeline.Left {
    // A killed run left a copy that cannot be resumed.
    if claim.journal.content == nil { try claim.folder.removeContent() }
    return try manager.edit(
      program, files: files, keepsOld ? exchange(claim) : nil, lock, claim, watch, progress: progress)
  }

  func hasBegunExchange(_ claim: borrowing Claim) throws -> Bool {
    try exchange(claim).hasBegun() || manager.isMigratedInPlace()
  }
}

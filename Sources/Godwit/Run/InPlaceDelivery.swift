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
  let job: MigrationJob
  private let maker: RunRequest.Maker
  private let watch: StopCondition
  private let keepsOld: Bool
  /// Keeps every other process out of the store.
  private var lock: StoreLock?

  init(_ request: RunRequest, watch: StopCondition, keepsOld: Bool) {
    (job, maker) = (request.job, request.maker)
    (self.watch, self.keepsOld) = (watch, keepsOld)
  }

  private func exchange(_ claim: borrowing Claim) -> InPlaceSwap {
    var swap = swap(claim, keepsOld: keepsOld)
    swap.oldModel = job.sourceModel
    return swap
  }

  func finished() throws -> MigrationSummary? {
    guard try DestinationLook(job).isMigratedInPlace(), try !WorkFolder.exists(forDestination: job.sourcePath) else {
      return nil
    }
    return MigrationSummary(outcome: .alreadyFinished)
  }

  func begin(_ claim: borrowing Claim) throws -> RunPipeline.Beginning {
    // Asked again under the lock: another run may have finished meanwhile.
    if try DestinationLook(job).isMigratedInPlace() { return try finishExchanged(claim) }
    lock = try StoreLock(store: job.sourcePath)
    _ = try finishExchange(claim)
    try exchange(claim).checkRights(workFolder: claim.path)
    if maker == .statements, try !claim.journal.isResumable {
      let files = try StoreFiles(path: job.sourcePath)
      if let program = try StatementsMaker(job: job, watch: watch).program(for: files) {
        return .edit(.init(program: program, files: files, swap: keepsOld ? exchange(claim) : nil, lock: lock))
      }
    }
    return .make(try SourceFiles(job, attach: false))
  }

  /// Ends the work of a run that died after the store had been migrated.
  private func finishExchanged(_ claim: borrowing Claim) throws -> RunPipeline.Beginning {
    let swap = exchange(claim)
    if try swap.hasExchanged() {
      try swap.finish(workFolder: claim.path)
    } else if !keepsOld, try StoreFiles(path: job.sourcePath).type == .sqlite {
      try EditedStore(job).removeDeadJournal()
      try EditedStore(job).removeUnreferencedFiles(in: claim.path)
    }
    var summary = MigrationSummary(outcome: .alreadyFinished)
    summary.codedNotes = try missingReceiptNote(claim)
    let settled = try ReceiptPlacement(job).settle(claim)
    summary.codedNotes += settled.notes
    return .finished(summary, settled.end)
  }

  /// The note on a store that was edited itself by a run which died before it had counted the receipt. The
  /// application may have written since: what would be counted now need not be what the run made.
  private func missingReceiptNote(_ claim: borrowing Claim) throws -> [MigrationNote] {
    guard let path = try ReceiptPlacement(job).path, try !WorkFolder.exists(claim.folder.receiptPath),
      try Receipt.found(at: path).map({ try $0.isOfStore(at: job.sourcePath) })
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

  func hasBegunExchange(_ claim: borrowing Claim) throws -> Bool {
    try exchange(claim).hasBegun() || DestinationLook(job).isMigratedInPlace()
  }
}

import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// Objects that are added to a destination.
///
/// 1. The destination is locked, and its log written back into it: no other process gets in until the run ends.
/// 2. A copy in the work folder becomes the store under construction. Its triggers and the model's indexes go, the
///    ledger comes, in one transaction.
/// 3. The chunks run as usual; every key they assign is higher than those in use.
/// 4. The last transaction makes the triggers again and writes counters and metadata.
/// 5. New external files are linked beside the old ones, and the copy is renamed over the destination (`InPlaceSwap`).
/// A run that dies before the rename leaves the destination as it was; the next one continues in the copy.
final class AppendDelivery: Delivery {
  let job: MigrationJob
  private var lock: StoreLock?
  /// The destination as it was under the lock.
  private var before: (files: StoreFiles, stamp: StoreFiles.Stamp)?

  init(job: MigrationJob) { self.job = job }

  func finished() throws -> MigrationSummary? {
    let source = try SourceFiles(job, attach: false)
    guard let digest = try DestinationLook(job).appendedDigest(source) else {
      // A wrong destination is an error before anything is made.
      _ = try DestinationLook(job).existingDestination()
      return nil
    }
    return try QuarantinePlacement(job).finishedBefore(digest: digest, removeDelivered(digest))
  }

  /// Removes the work folder of a run that died after it had put the store in place; that of another job stays.
  ///
  /// - Returns: Notes for the summary.
  private func removeDelivered(_ digest: String) throws -> [MigrationNote] {
    // Another job may be at work there.
    guard try WorkFolder.exists(forDestination: job.destinationPath), let claim = try Claim.unlessLocked(job) else {
      return []
    }
    guard try isDelivered(digest, in: claim) else { return [] }
    let settled = try ReceiptPlacement(job).settle(claim)
    try claim.end(settled.end)
    return settled.notes
  }

  /// Whether nothing in a folder is needed any more by a job whose objects are in the destination: it has no store, or
  /// one of this very job. A power cut can bring back what had been renamed or removed.
  private func isDelivered(_ digest: String, in claim: borrowing Claim) throws -> Bool {
    guard let content = claim.journal.content, try claim.folder.hasStores() else { return true }
    if let steps = content.steps { return steps.identity.digest == digest }
    let path = claim.path
    if let ledger = try Definite.answer({ try Ledger.opened(in: path) }) ?? nil {
      defer { try? ledger.connection.close() }
      return try Definite.answer { try ledger.identity().digest } == digest
    }
    return try StoreMetadata.ifStore(at: job.lastStepFolder(in: claim.path).storePath)?.jobs.last == digest
  }

  func begin(_ claim: borrowing Claim) throws -> RunPipeline.Beginning {
    lock = try StoreLock(store: job.destinationPath, action: "append to '\(job.destinationPath)'")
    // Asked again under the locks: another run may have finished meanwhile.
    if let digest = try DestinationLook(job).appendedDigest(SourceFiles(job, attach: false)) {
      guard try isDelivered(digest, in: claim) else {
        return .finished(try QuarantinePlacement(job).finishedBefore(digest: digest), .kept)
      }
      let settled = try ReceiptPlacement(job).settle(claim)
      return .finished(try QuarantinePlacement(job).finishedBefore(digest: digest, settled.notes), settled.end)
    }
    // The receipt of another job, whose run died when its objects were in the destination.
    let notes = try finishExchange(claim) ? ReceiptPlacement(job).place(of: claim) : []
    let source = try SourceFiles(job, attach: false, existing: try DestinationLook(job).existingDestination())
    try swap(claim, keepsOld: false).checkRights(workFolder: claim.path)
    before = try source.existing.map { ($0.files, try $0.files.stamp()) }
    return .make(source, notes: notes)
  }

  func deliver(_ made: RunPipeline.Made, _ claim: borrowing Claim) throws -> [MigrationNote] {
    guard let before, try before.files.stamp() == before.stamp else {
      throw ExistingDestination.changed(job.destinationPath)
    }
    var swap = swap(claim, keepsOld: false)
    swap.keepsOldFiles = true
    swap.before = job.hooks.beforeAppendStep
    try swap.replace(with: made.file, support: made.folder.support, workFolder: claim.path)
    try claim.journal.update { $0.phase = .placing }
    return []
  }
}

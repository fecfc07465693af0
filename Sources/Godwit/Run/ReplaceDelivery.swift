import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// A destination that the same job made before something changed.
///
/// 1. The exchange of an earlier run is finished or reverted: see `InPlaceSwap.finishReplacement`.
/// 2. The destination is looked at: is it this job's, and did anything change?
/// 3. The job runs in its work folder. Others may use the destination meanwhile.
/// 4. The destination is locked, looked at again, and exchanged for the new store in one rename (`InPlaceSwap`).
/// A destination that was written to since its delivery is not replaced (`WrittenSince`). The run looks before the work, and
/// again under the lock.
/// At every moment a whole store with all its external files has the destination's name.
final class ReplaceDelivery: Delivery {
  let job: MigrationJob
  private let isProvedAfter: Bool
  private let watch: StopCondition
  private let keepsOld: Bool
  private var notes: [MigrationNote] = []
  private var earlier: EarlierResult?
  /// The results of the comparisons before the work.
  private var seen: (destination: WrittenSince?, kept: WrittenSince?)

  init(_ request: RunRequest, watch: StopCondition, keepsOld: Bool) {
    (job, isProvedAfter) = (request.job, request.isProvedAfter)
    (self.watch, self.keepsOld) = (watch, keepsOld)
  }

  func finished() throws -> MigrationSummary? {
    try finishEarlier()
    switch try DestinationLook(job).look() {
    case .current(let digest):
      // A job that is done is so without writing to its destination. The time of its receipt is that of the last run that
      // found it done.
      try UnfinishedWork(job).removeNeedless()
      if !isProvedAfter { try ReplacedStore(job).noteSuccess() }
      return try QuarantinePlacement(job).finishedBefore(digest: digest ?? "", notes)
    case .outdated(let found): earlier = found
    case .foreign(let error): throw error
    case .absent: break
    }
    return nil
  }

  /// Finishes or reverts the exchange of an earlier run.
  private func finishEarlier() throws {
    guard try WorkFolder.exists(forDestination: job.destinationPath) else { return }
    let claim = try Claim(job)
    let isInPlace = try finishExchange(claim)
    let receipt = try Receipt.found(at: claim.folder.receiptPath)
    if try receipt.map({ try $0.isOfStore(at: job.destinationPath) }) == true {
      notes += try ReceiptPlacement(job).place(of: claim)
    }
    if !isInPlace { try KeptStore.removeLeftovers(of: job.destinationPath, in: claim.path) }
    // A run that died after its store had got its name leaves a folder without one, or with a second name of it.
    let store = job.lastStepFolder(in: claim.path).storePath
    // One that died while it removed its folder leaves a folder without a journal.
    let isOver = try isInPlace || claim.journal.content == nil || !claim.folder.hasStores()
    try claim.end(try isOver || FileStatus.areSame(store, job.destinationPath) ? .done : .kept)
  }

  func begin(_ claim: borrowing Claim) throws -> RunPipeline.Beginning {
    guard let earlier else { throw GodwitError(.internalBug, "the destination was not looked at") }
    notes.append(ReplacedStore(job).replacementNote(earlier.changes))
    // Asked again under the lock: another run may have finished meanwhile. The source need not be read again.
    let receipt = try DestinationLook(job).replaceable()
    guard receipt.job.digest == earlier.receipt?.job.digest else {
      throw GodwitError(
        .stopped, "cannot run: another process has just replaced '\(job.destinationPath)'",
        remedy: "run the same command", stopReason: .locked)
    }
    try checkLosses(receipt)
    try swap(claim, keepsOld: false).checkRights(workFolder: claim.path)
    try UnfinishedWork(job).refuseOthers(in: claim.path)
    let source = try SourceFiles(job, attach: false)
    notes += try UnfinishedWork(job).dropOutdated(in: claim, source: source.files) {
      try earlier.identity?.source ?? source.files.contentDigest()
    }
    return .make(source, notes: notes)
  }

  /// Refuses, before the work, a run at whose end something would be lost.
  private func checkLosses(_ receipt: Receipt) throws {
    try QuarantinePlacement(job).refuseReplaced(receipt)
    try ReplacedStore(job).checkIsWritable()
    guard !keepsOld else {
      seen = (nil, try KeptStore(job).check(watch, safe: "nothing was written"))
      return
    }
    let written = try ReplacedStore(job).writtenSince(receipt, watch)
    guard written.differences.isEmpty else {
      throw try ReplacedStore(job).changedError(written, safe: "nothing was written")
    }
    seen = (written, nil)
  }

  // MARK: The exchange

  func deliver(_ made: RunPipeline.Made, _ claim: borrowing Claim) throws -> [MigrationNote] {
    guard try job.isDestinationTaken else {
      // The destination was moved away meanwhile.
      try DestinationLook(job).refuseStaleLog()
      try claim.journal.update { $0.receipt?.replaced = nil }
      try publish(made, claim)
      return []
    }
    let safe = "the old store is still in place; the new one is finished in '\(claim.path)'"
    let lock: StoreLock
    let receipt: Receipt
    let written: WrittenSince
    do {
      receipt = try DestinationLook(job).replaceable()
      lock = try lockDestination()
      written = try ReplacedStore(job).writtenSince(receipt, known: seen.destination, watch)
      guard keepsOld || written.differences.isEmpty else {
        throw try ReplacedStore(job).changedError(written, safe: safe)
      }
    } catch var error as GodwitError {
      error.safe = safe
      throw error
    }
    defer { withExtendedLifetime(lock) {} }
    var swap = swap(claim, keepsOld: keepsOld)
    swap.readsOldColumns = true
    try claim.journal.update { $0.receipt?.replaced = receipt.job.digest ?? "" }
    if keepsOld {
      let path = claim.path
      swap.makeRoom = { [self] in
        try KeptStore(job).makeRoom(watch, receipt, known: seen.kept, workFolder: path, safe: safe)
      }
    }
    // An atomic store has its binary data inside, and what was carried for it stays in the work folder.
    let support =
      job.destinationType.isAtomic ? SupportFolder(path: claim.path + "/no-files") : made.folder.support
    try swap.replace(with: made.file, support: support, workFolder: claim.path)
    try claim.journal.update { $0.phase = .placing }
    return written.differences.isEmpty ? [] : [ReplacedStore(job).changedNote(written)]
  }

  /// Locks the destination. A short read or write by another process does not stop the run.
  private func lockDestination() throws -> StoreLock {
    let end = ContinuousClock.now + .seconds(job.hooks.lockSeconds)
    while true {
      do {
        return try StoreLock(store: job.destinationPath, action: "replace '\(job.destinationPath)'")
      } catch let error as GodwitError where error.stopReason == .inUse {
        guard ContinuousClock.now < end, watch.control.reason == nil else { throw error }
        usleep(50_000)
      }
    }
  }
}

import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// The findings of a plan about a destination that exists, and about the place of the receipt.
///
/// The checks are those that a run makes before its work: `RunCheck.all`, and those of a replacement. Two things only
/// the run finds out, because they cannot be tried without writing: whether owner and attributes of the old store may be
/// given to another file, and whether a process has the store open when it is exchanged.
struct DestinationFindings {
  private(set) var obstacles: [RunObstacle] = []
  private(set) var notes: [MigrationNote] = []

  /// The content of the destination is read only if its size or its first bytes are not those of its delivery.
  init(_ job: MigrationJob) throws {
    for check in RunCheck.all {
      if let code = check.code { try look(code) { try check.pass(job) } }
    }
    if case .replace(let keepsOld) = job.existingDestination, try job.isDestinationTaken {
      try look(atReplacedBy: job, keepsOld: keepsOld)
    }
  }

  private mutating func look(_ code: RunObstacle.Code, _ action: () throws -> Void) throws {
    do { try action() } catch let error as GodwitError { obstacles.append(RunObstacle(code, error)) }
  }

  private mutating func look(atReplacedBy job: MigrationJob, keepsOld: Bool) throws {
    let (look, replaced) = (DestinationLook(job), ReplacedStore(job))
    let found = Result { try look.replaceable() }
    if case .success = found { notes.append(replaced.replacementNote([])) }
    let watch = StopCondition(control: MigrationControl(), start: Date(), maximumSeconds: nil)
    var known: Receipt?
    // Without a receipt of its own the job is refused already.
    if job.receipt != nil {
      try self.look(.destination) {
        let receipt = try found.get()
        guard try look.isSameStore(as: receipt) else { throw look.madeFromOther(receipt) }
        try replaced.checkIsWritable()
        known = receipt
      }
    }
    if let receipt = known {
      var written: WrittenSince?
      try self.look(.destination) { try QuarantinePlacement(job).refuseReplaced(receipt) }
      try self.look(.destination) { written = try replaced.writtenSince(receipt, watch) }
      if let written, !written.differences.isEmpty {
        if keepsOld {
          notes.append(replaced.changedNote(written))
        } else {
          obstacles.append(
            RunObstacle(.destinationChanged, try replaced.changedError(written, safe: "nothing was written")))
        }
      }
      if keepsOld { try self.look(.oldStore) { try KeptStore(job).check(watch, safe: "nothing was written") } }
    }
    try self.look(.workFolder) { try UnfinishedWork(job).refuseOthers(in: job.workPath) }
  }
}

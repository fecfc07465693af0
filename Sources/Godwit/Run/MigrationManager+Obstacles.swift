import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// The findings of a plan about a destination that exists, and about the place of the receipt.
///
/// The checks are those that a run makes before its work: `RunCheck.all`, and those of a replacement. Two things only
/// the run finds out, because they cannot be tried without writing: whether owner and attributes of the old store may be
/// given to another file, and whether a process has the store open when it is exchanged.
extension MigrationManager {
  /// The obstacles to a run at its destination. Writes nothing.
  package func destinationObstacles() throws -> [RunObstacle] { try destinationFindings().obstacles }

  /// Adds to a plan what would stop a run at its destination, and what a run would say of it.
  func tellDestination(in plan: inout MigrationPlan) throws {
    let found = try destinationFindings()
    plan.codedNotes += found.notes
    plan.destinationObstacles = found.obstacles + plan.destinationObstacles
  }

  /// The content of the destination is read only if its size or its first bytes are not those of its delivery.
  private func destinationFindings() throws -> (obstacles: [RunObstacle], notes: [MigrationNote]) {
    var obstacles: [RunObstacle] = []
    var notes: [MigrationNote] = []
    func look(_ code: RunObstacle.Code, _ action: () throws -> Void) throws {
      do { try action() } catch let error as GodwitError { obstacles.append(RunObstacle(code, error)) }
    }
    for check in RunCheck.all { try look(check.code) { try check.pass(self) } }
    if case .replace(let keepsOld) = job.existingDestination, try job.isDestinationTaken {
      if job.replacesEarlierResult, (try? replaceable()) != nil { notes.append(replacementNote([])) }
      let watch = StopCondition(control: MigrationControl(), start: Date(), maximumSeconds: nil)
      var known: Receipt?
      try look(.destination) { known = try replaceableResult() }
      if let receipt = known {
        var written: WrittenSince?
        try look(.destination) { try refuseQuarantineOfReplaced(receipt) }
        try look(.destination) { written = try writtenSince(receipt, watch) }
        if let written, !written.differences.isEmpty {
          if keepsOld {
            notes.append(changedNote(written))
          } else {
            obstacles.append(
              RunObstacle(.destinationChanged, try destinationChanged(written, safe: "nothing was written")))
          }
        }
        if keepsOld { try look(.oldStore) { try checkKept(watch, safe: "nothing was written") } }
      }
      try look(.workFolder) { try refuseWorkOfOthers(in: job.workPath) }
    }
    return (obstacles, notes)
  }

  /// Refuses a folder that takes no files, and so no work folder. Missing folders of the path do not matter: a run
  /// makes them.
  func checkDestinationFolder() throws {
    guard try !WorkFolder.exists(forDestination: job.destinationPath) else { return }
    var folder = URL(filePath: job.destinationPath).deletingLastPathComponent().standardizedFileURL
    while FileStatus(following: folder.path) == nil, errno == ENOENT, folder.path != "/" {
      folder = folder.deletingLastPathComponent().standardizedFileURL
    }
    guard access(folder.path, W_OK | X_OK) != 0 else { return }
    let code = errno
    // A finished job needs no work folder.
    guard [EACCES, EPERM, EROFS].contains(code), try !isFinished() else { return }
    throw GodwitError.disk(
      "cannot make '\(job.destinationPath)' in the folder '\(folder.path)'", errno: code, safe: "nothing was written")
  }

  /// The receipt of a store that a run may replace.
  private func replaceableResult() throws -> Receipt {
    if job.receipt == nil { throw RunRequest.replacesUnknown(job) }
    let receipt = try replaceable()
    guard try isSameStore(as: receipt) else { throw madeFromOther(receipt) }
    try checkDestinationIsWritable()
    return receipt
  }
}

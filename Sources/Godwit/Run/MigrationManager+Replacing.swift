import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

/// Checks of the destination and of the kept store, for a run that replaces its earlier result and for its plan.
extension MigrationManager {
  /// Gives the receipt of a finished destination the time of the last success, if a run that finds nothing to do is one.
  package func noteSuccess() throws {
    guard try job.replacesEarlierResult && job.isDestinationTaken, try Definite.answer(replaceable) != nil else {
      return
    }
    utimes(try knownReceiptPath(), nil)
  }

  /// - Throws: `.permission` (77) for a destination that may not be written.
  func checkDestinationIsWritable() throws {
    guard access(job.destinationPath, W_OK) != 0 else { return }
    let code = errno
    throw GodwitError.disk("cannot replace '\(job.destinationPath)'", errno: code, safe: "nothing was written")
  }

  /// - Parameter known: The result of an earlier comparison.
  func writtenSince(_ receipt: Receipt, known: WrittenSince? = nil, _ watch: StopCondition) throws -> WrittenSince {
    try WrittenSince(
      to: job.destinationPath, receipt: receipt, at: knownReceiptPath(), known: known, control: watch.control)
  }

  /// The error for a destination whose changes would be lost.
  func destinationChanged(_ written: WrittenSince, safe: String) throws -> GodwitError {
    let receipt = try knownReceiptPath()
    return GodwitError(
      .cannotCreate, "cannot replace '\(job.destinationPath)': it was written to since the job made it",
      cause: written.differences.joined(separator: "\n"),
      remedy:
        "write `keep-old: true` to keep it as '\(keptPath)', or move it away; `godwit verify --receipt '\(receipt)'` lists what differs",
      safe: safe)
  }

  /// The error for a kept store whose changes would be lost.
  func keptStoreChanged(_ written: WrittenSince, safe: String) -> GodwitError {
    GodwitError(
      .cannotCreate,
      "cannot keep the old store: '\(keptPath)', which the job kept before, was written to since the job made it",
      cause: written.differences.joined(separator: "\n"),
      remedy: "move it away with its external files and its receipt, or write `keep-old: false`", safe: safe)
  }

  // MARK: The old store

  var keptPath: String { InPlaceSwap.oldPath(of: job.destinationPath) }
  var keptReceiptPath: String { keptPath + Receipt.suffix }

  /// The external files of the store that was kept or is to be; nil for an atomic store: files beside it are another's.
  func keptSupport() throws -> SupportFolder? {
    let path = try WorkFolder.exists(keptPath) ? keptPath : job.destinationPath
    let type = try Definite.answer { try StoreFiles(path: path).type }
    return type?.isAtomic == true ? nil : SupportFolder(ofStoreAt: keptPath)
  }

  /// The store that was kept before, on its way out.
  static func removedPath(in workFolder: String) -> String { workFolder + "/kept.removed" }

  /// Removes what a run left that died after it had begun to remove the store kept before, or to keep the one at the
  /// destination, which is still there: external files without their store, and a receipt without one.
  static func removeLeftoversOfKept(_ destination: String, in workFolder: String) throws {
    let kept = InPlaceSwap.oldPath(of: destination)
    guard try !WorkFolder.exists(kept) else { return }
    let (removed, path) = (removedPath(in: workFolder), kept + Receipt.suffix)
    let isRemoved = try WorkFolder.exists(removed)
    if isRemoved, try Definite.answer({ try StoreFiles(path: removed).type })?.isAtomic != true {
      try SupportFolder(ofStoreAt: kept).remove()
    }
    if let receipt = try receipt(at: path), try isRemoved || isReceipt(receipt, ofStoreAt: destination),
      receipt.destination.keptFrom == URL(filePath: destination).lastPathComponent
    {
      try WorkFolder.removeFile(path)
    }
    try WorkFolder.removeFile(removed)
  }

  /// Refuses a job whose old store would take the name of a file that the job did not keep there itself, or that was
  /// written to since.
  ///
  /// - Parameter known: The result of an earlier comparison.
  /// - Returns: The result of the comparison; nil where no store is kept.
  /// - Throws: `.cannotCreate` (73).
  @discardableResult
  func checkKept(_ watch: StopCondition, known: WrittenSince? = nil, safe: String) throws -> WrittenSince? {
    func refusal(_ path: String, _ why: String) -> GodwitError {
      GodwitError(
        .cannotCreate, "cannot keep the old store: '\(path)' exists, and \(why)",
        remedy: "move it away, or write `keep-old: false`", safe: safe)
    }
    let support = try keptSupport()
    for path in [keptPath, support?.path, keptReceiptPath].compactMap(\.self) {
      guard try WorkFolder.exists(path) && !isKeptByUs(path) else { continue }
      throw refusal(path, "the job did not keep it there")
    }
    guard try WorkFolder.exists(keptPath), let receipt = try Self.receipt(at: keptReceiptPath) else {
      for suffix in ["-wal", "-journal"] where try WorkFolder.exists(keptPath + suffix) {
        throw refusal(keptPath + suffix, "SQLite would apply that log to the old store")
      }
      return nil
    }
    if let name = try support?.firstForeignName() {
      throw refusal(name, "the store that the job kept there has no such external file")
    }
    let written = try WrittenSince(
      to: keptPath, receipt: receipt, at: keptReceiptPath, known: known, control: watch.control)
    guard written.differences.isEmpty else { throw keptStoreChanged(written, safe: safe) }
    return written
  }

  /// Whether what has the name of a kept store is one that an earlier run of this job kept: its receipt says so. The
  /// receipt comes first and goes last.
  ///
  /// The name alone says nothing: many stores may be migrated under one job's name, and a source `Name~.ext` be one of
  /// them.
  func isKeptByUs(_ path: String) throws -> Bool {
    guard let receipt = try Self.receipt(at: keptReceiptPath), job.isNamed(receipt.job.name),
      receipt.destination.keptFrom == destinationFile
    else { return false }
    return try path != keptPath || Self.isReceipt(receipt, ofStoreAt: keptPath)
  }

  // MARK: Notes

  /// The note of plan and summary on a destination that is replaced.
  func replacementNote(_ changes: [MigrationStatus.Change]) -> MigrationNote {
    let why = changes.isEmpty ? "" : ", because \(changes.map(\.words).joined(separator: ", ")) changed"
    return MigrationNote(.replaces, "the new store replaces '\(job.destinationPath)', which the job made before\(why)")
  }

  /// The note in the summary on a store that was written to and is kept.
  func changedNote(_ written: WrittenSince) -> MigrationNote {
    MigrationNote(
      .destinationChanged,
      "'\(job.destinationPath)' was written to since the job made it, and is kept with that as '\(keptPath)': \(written.differences.joined(separator: "; "))"
    )
  }
}

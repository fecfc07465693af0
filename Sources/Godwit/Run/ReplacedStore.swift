import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

/// The destination of a job that replaces its earlier result, for the run and for its plan.
struct ReplacedStore {
  let job: MigrationJob

  init(_ job: MigrationJob) { self.job = job }

  /// - Throws: `.permission` (77) for a destination that may not be written.
  func checkIsWritable() throws {
    guard access(job.destinationPath, W_OK) != 0 else { return }
    let code = errno
    throw GodwitError.disk("cannot replace '\(job.destinationPath)'", errno: code, safe: "nothing was written")
  }

  /// - Parameter known: The result of an earlier comparison.
  func writtenSince(_ receipt: Receipt, known: WrittenSince? = nil, _ watch: StopCondition) throws -> WrittenSince {
    try WrittenSince(
      to: job.destinationPath, receipt: receipt, at: DestinationLook(job).knownReceiptPath(), known: known,
      control: watch.control)
  }

  /// The error for a destination whose changes would be lost.
  func changedError(_ written: WrittenSince, safe: String) throws -> GodwitError {
    let receipt = try DestinationLook(job).knownReceiptPath()
    return GodwitError(
      .cannotCreate, "cannot replace '\(job.destinationPath)': it was written to since the job made it",
      cause: written.differences.asLines,
      remedy:
        "write `keep-old: true` to keep it as '\(KeptStore(job).path)', or move it away; `godwit verify --receipt '\(receipt)'` lists what differs",
      safe: safe)
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
      "'\(job.destinationPath)' was written to since the job made it, and is kept with that as '\(KeptStore(job).path)': \(written.differences.joined(separator: "; "))"
    )
  }

  // MARK: The last success

  /// Gives the receipt of a finished destination the time of the last success, if a run that finds nothing to do is one.
  func noteSuccess() throws {
    guard try job.replacesEarlierResult && job.isDestinationTaken,
      try Definite.answer(DestinationLook(job).replaceable) != nil
    else {
      return
    }
    utimes(try DestinationLook(job).knownReceiptPath(), nil)
  }
}

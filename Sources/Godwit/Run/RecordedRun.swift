import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

/// A run with the notes of its input, and with the record of how it ended for those who ask from outside.
struct RecordedRun {
  let job: MigrationJob
  let isProvedAfter: Bool
  let watch: StopCondition

  /// - Parameters: See `MigrationManager.run`.
  func run(progress: (MigrationProgress) -> Void) throws -> MigrationSummary {
    try RunCheck.pass(.manifest, job)
    // Collected before the work: a run in place replaces the store that they are read from.
    let notes = sourceNotes()
    var summary: MigrationSummary
    do {
      let request = try RunRequest(job, isTaken: try job.isDestinationTaken, isProvedAfter: isProvedAfter)
      summary = try RunPipeline(request: request, watch: watch).run(progress: progress)
    } catch { throw recorded(error) }
    if summary.outcome == .stopped { end.note(summary) }
    // Findings about earlier jobs still hold for a store that was appended to.
    if summary.outcome == .finished, !job.appends { KnownFindings.forget(storeAt: job.destinationPath) }
    if summary.outcome != .alreadyFinished {
      summary.codedNotes = job.inputNotes + summary.codedNotes + KeptInvalid.notes(summary.keptInvalid) + notes
    }
    return summary
  }

  private var end: RunEnd { RunEnd(job: job, watch: watch) }

  private func sourceNotes() -> [MigrationNote] {
    do { return try job.layoutNotes() + job.storeNotes() } catch {
      // A finished job needs no source, and any other one fails at the same file.
      let why = (error as? GodwitError)?.line ?? "\(error)"
      return [MigrationNote(.logMissing, "the logs of the source were not looked at: \(why)")]
    }
  }

  /// Records an error.
  ///
  /// - Returns: The error, to be thrown.
  private func recorded(_ error: any Error) -> any Error {
    guard var known = (error as? GodwitError).map({ job.tellingDiscard(job.namingParts($0)) }) else {
      end.note(failedWith: GodwitError(.internalBug, "unexpected failure: \(error)"))
      return error
    }
    // A statement that was interrupted does not know by whom.
    if known.stopReason == .requested, let reason = watch.control.reason {
      known.stopReason = GodwitError.StopReason(of: reason)
    }
    end.note(failedWith: known)
    return known
  }
}

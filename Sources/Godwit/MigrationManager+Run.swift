import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

extension MigrationManager {
  /// Starts or resumes the migration on the calling thread. If the job is already finished, the summary says so.
  ///
  /// If the calling task is cancelled, the run stops at the next checkpoint, as with `control`: the summary's outcome
  /// is `.stopped`.
  ///
  /// - Parameters:
  ///   - control: Stops the run from another thread.
  ///   - maximumSeconds: A time limit; the run stops at the first checkpoint after it.
  ///   - progress: Called after every chunk, and up to four times a second while one runs, on the calling thread.
  /// - Throws: `GodwitError`. Durable work remains, and the same call resumes if it can. `.usage` (64) for a manager
  ///   whose stores are not named yet.
  @discardableResult
  public func run(
    control: MigrationControl = MigrationControl(), maximumSeconds: Double? = nil,
    progress: (MigrationProgress) -> Void = { _ in }
  ) throws -> MigrationSummary {
    try refuseWithoutStore()
    try RunCheck.pass(.manifest, job)
    let watch = StopCondition(control: control, start: Date(), maximumSeconds: maximumSeconds)
    // Collected before the work: a run in place replaces the store that they are read from.
    let notes: [MigrationNote]
    do { notes = try job.layoutNotes() + job.storeNotes() } catch {
      // A finished job needs no source, and any other one fails at the same file.
      let why = (error as? GodwitError)?.line ?? "\(error)"
      notes = [MigrationNote(.logMissing, "the logs of the source were not looked at: \(why)")]
    }
    var summary: MigrationSummary
    // How it ended is recorded for those who ask from outside.
    do {
      let request = try RunRequest(job, isTaken: try job.isDestinationTaken, isProvedAfter: isProvedAfter)
      summary = try RunPipeline(request: request, watch: watch).run(progress: progress)
    } catch {
      guard var known = (error as? GodwitError).map(job.tellingDiscard) else {
        RunEnd(job: job, watch: watch).note(failedWith: GodwitError(.internalBug, "unexpected failure: \(error)"))
        throw error
      }
      // A statement that was interrupted does not know by whom.
      if known.stopReason == .requested, let reason = control.reason {
        known.stopReason = GodwitError.StopReason(of: reason)
      }
      RunEnd(job: job, watch: watch).note(failedWith: known)
      throw known
    }
    if summary.outcome == .stopped { RunEnd(job: job, watch: watch).note(summary) }
    // Findings about earlier jobs still hold for a store that was appended to.
    if summary.outcome == .finished, !job.appends { KnownFindings.forget(storeAt: job.destinationPath) }
    if summary.outcome != .alreadyFinished {
      summary.codedNotes = job.inputNotes + summary.codedNotes + KeptInvalid.notes(summary.keptInvalid) + notes
    }
    return summary
  }
}

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
    try job.refuseGuessedNames()
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
    do { summary = try RunPipeline(manager: self, watch: watch).run(progress: progress) } catch {
      guard var known = (error as? GodwitError).map(tellingDiscard) else {
        noteEnd(failedWith: GodwitError(.internalBug, "unexpected failure: \(error)"), watch)
        throw error
      }
      // A statement that was interrupted does not know by whom.
      if known.stopReason == .requested, let reason = control.reason {
        known.stopReason = GodwitError.StopReason(of: reason)
      }
      noteEnd(failedWith: known, watch)
      throw known
    }
    if summary.outcome == .stopped { noteEnd(summary, watch) }
    // Findings about earlier jobs still hold for a store that was appended to.
    if summary.outcome == .finished, !job.appends { KnownFindings.forget(storeAt: job.destinationPath) }
    if summary.outcome != .alreadyFinished {
      summary.codedNotes = job.inputNotes + summary.codedNotes + KeptInvalid.notes(summary.keptInvalid) + notes
    }
    return summary
  }

  func refuseStaleLog() throws {
    guard job.destinationType == .sqlite else { return }
    for suffix in ["-wal", "-journal"] {
      let path = job.destinationPath + suffix
      guard try WorkFolder.exists(path) else { continue }
      throw GodwitError(
        .cannotCreate, "cannot write '\(job.destinationPath)': it has the log of another store beside it, '\(path)'",
        remedy: "move that file away: SQLite would apply it to the new store")
    }
  }

  /// Adds to an error of a store in the work folder how to begin again: no backup has that store.
  func tellingDiscard(_ error: GodwitError) -> GodwitError {
    let folder = WorkFolder.path(forDestination: String(job.destinationPath.split(separator: "/").last ?? "")) + "/"
    guard error.code == .dataWrong, error.message.contains(folder), error.remedy?.contains("discard") != true else {
      return error
    }
    var told = error
    told.remedy = "`godwit discard` the job and run again"
    return told
  }
}

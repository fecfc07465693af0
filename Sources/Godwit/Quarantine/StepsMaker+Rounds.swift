import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// Setting rejected objects aside.
///
/// 1. A run that meets a rejected row finds all that the stage rejects, and notes them in the work folder
///    (`RejectionSearch`).
/// 2. The result of the round is removed, and the next round reads a copy of the source without these objects
///    (`FilteredSource`). Objects that need one of them may be rejected then: rounds go on until none is.
/// 3. The objects of all rounds go into a store (`QuarantineWriter`), which is put in its place before the destination.
/// The destination is thus the one of a source that never had these objects.
extension StepsMaker {
  /// Migrates one step in as many rounds as it takes.
  func runRounds(
    _ limits: Quarantine, in path: String, _ journal: RunJournal, source: SourceFiles,
    progress: (MigrationProgress) -> Void
  ) throws -> (MigrationSummary, MigrationProgress?) {
    let folder = StepFolder(path: path)
    // A round after the first makes its own store.
    let isResumed = try journal.isResumable
    while true {
      let search = try RejectionSearch(job, limits: limits, in: folder.path) { watch.stopReason }
      if let record = search.known {
        try compare(record, with: JobFingerprint(job), files: source.files)
        try clearRound(record, in: folder)
      }
      let round = try search.known?.round ?? 0
      let before = try RejectionRecord.percentBefore(readingIn: folder.path)
      var reached = before
      do {
        let run = StepRun(job, in: folder, journal, source: source, watch: watch, rejections: search)
        defer { run.abandon() }
        var result = try run.run { part in
          var part = part
          part.percent = min(99.9, before + (100 - before) * part.percent / 100)
          part.round = round + 1
          reached = max(reached, part.percent)
          progress(part)
        }
        if let record = search.known { result.0.quarantined = try record.quarantined() }
        result.0.wasResumed = result.0.wasResumed || isResumed
        return result
      } catch is RejectedObjectsFound {
        guard round + 1 < job.hooks.rejectionRounds else { throw try tooManyRounds(search.record, round + 1) }
        try search.record.checkSource(source.files)
        try search.record.finishRound(percent: reached)
      } catch let error as GodwitError where error.code == .stopped && error.stopReason == .requested {
        // A statement between two checkpoints was interrupted.
        guard let reason = watch.stopReason else { throw error }
        return (MigrationSummary(outcome: .stopped, reason: reason), nil)
      } catch let stop as RejectionSearchStopped {
        return (MigrationSummary(outcome: .stopped, reason: stop.reason), nil)
      }
    }
  }

  private func tooManyRounds(_ record: RejectionRecord, _ rounds: Int) throws -> GodwitError {
    GodwitError(
      .dataWrong,
      "cannot finish job '\(job.name)': after \(rounds) rounds objects are still rejected, \(try record.count) until now",
      cause: "each round found objects that are invalid only because those of the round before are missing",
      remedy:
        "make the relationships optional in the destination model that lead from one of them to the next, or repair the source; then `godwit discard` the job and run again",
      safe: "the source is untouched, and no destination was put in place")
  }

  /// Refuses to go on with objects of another job, or of another state of the source.
  private func compare(_ record: RejectionRecord, with quick: JobFingerprint, files: StoreFiles) throws {
    let known = try record.identity
    var digest = known.source
    let (stamp, before) = (try files.stamp(), try record.stamp)
    if before != stamp {
      digest = try files.contentDigest()
      if digest == known.source { try record.setStamp(stamp) }
    }
    try known.refuseChanges(in: quick, source: digest, of: job, since: before)
  }

  /// Removes what an earlier round has made, if that was not done.
  private func clearRound(_ record: RejectionRecord, in folder: StepFolder) throws {
    guard try record.mustClear else { return }
    for suffix in ["", "-journal"] { try WorkFolder.removeFile(folder.storePath + suffix) }
    try FilteredSource.remove(in: folder.path)
    // A store that came back after a power failure would be taken for this round's.
    try WorkFolder.sync(folder.path)
    try record.cleared()
  }
}

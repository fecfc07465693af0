import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// How a run ended, as it is recorded for those who ask from outside.
struct RunEnd {
  let job: MigrationJob
  let watch: StopCondition

  /// Records that a run stopped at a checkpoint. A failure to record it never fails the run.
  func note(_ summary: MigrationSummary) {
    let code = Self.signal(summary.reason) ?? .stopped
    record { holder in
      RunRecord(
        holder: holder, ended: Date(), isStopped: true, status: code.rawValue, code: code.name,
        reason: summary.reason ?? "on request", reasonCode: summary.stopReason?.rawValue)
    }
  }

  /// Records how a run failed, or by what it was stopped.
  func note(failedWith error: GodwitError) {
    // Then another run has the folder.
    guard error.stopReason != .locked else { return }
    // The process ends by the signal, whatever the statement said that it interrupted.
    let code = error.stopReason == .signal ? Self.signal(watch.control.reason) ?? error.code : error.code
    record { holder in
      RunRecord(
        holder: holder, ended: Date(), isStopped: error.code == .stopped, status: code.rawValue, code: code.name,
        reason: nil, reasonCode: error.stopReason?.rawValue, message: error.line, remedy: error.remedy)
    }
  }

  /// A run that has left nothing to resume leaves no record.
  private func record(_ record: (LockHolder) -> RunRecord) {
    WorkFolder.recordEnd(inFolder: job.workPath, runSince: watch.start) { holder in
      guard var journal = try WorkJournal.read(in: job.workPath) else { return }
      journal.lastRun = record(holder)
      try journal.write(in: job.workPath)
    }
  }

  /// How a process ends that stopped for a signal.
  private static func signal(_ reason: String?) -> GodwitError.Code? {
    switch reason {
    case "SIGINT"?: .interrupted
    case "SIGTERM"?: .terminated
    default: nil
    }
  }
}

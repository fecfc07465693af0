import Foundation
import GodwitJob

/// The status as JSON.
struct StatusRecord: Encodable {
  struct Run: Encodable {
    let state: MigrationStatus.Run.State
    let pid: Int32?
    let host: String?
    let since, ended: String?
    let status: Int32?
    let reason, reasonCode, message, remedy: String?
    let isResumable: Bool
    /// nil for a run that is resumed, as keys without a value are left out.
    let startsAgain: Bool?

    init(_ run: MigrationStatus.Run) {
      (state, pid, host, status) = (run.state, run.pid, run.host, run.status)
      (since, ended) = (StatusRecord.time(run.since), StatusRecord.time(run.ended))
      (reason, reasonCode, message, remedy) = (run.reason, run.reasonCode, run.message, run.remedy)
      (isResumable, startsAgain) = (run.isResumable, run.startsAgain ? true : nil)
    }
  }

  /// The result of `--check`.
  struct Check: Encodable {
    let status, text: String

    init(_ check: StatusCheck) { (status, text) = (check.level.word, check.text) }
  }

  let state: MigrationStatus.State
  let job: String
  let percent: Double
  let lines: [MigrationStatus.Line]
  let step, steps: Int?
  let run: Run?
  let lastCommit, lastSuccess: String?
  let rowsPerSecond, secondsLeft: Double?
  let verifyFindings: Int64?
  let changes: [MigrationStatus.Change]?
  let check: Check?

  init(_ status: MigrationStatus, check: StatusCheck? = nil) {
    (state, job, percent, lines) = (status.state, status.job, status.percent, status.lines)
    (step, steps) = (status.step, status.steps)
    run = status.run.map(Run.init)
    (lastCommit, lastSuccess) = (Self.time(status.lastCommit), Self.time(status.lastSuccess))
    (rowsPerSecond, secondsLeft) = (status.rowsPerSecond, status.secondsLeft)
    verifyFindings = status.verifyFindings
    changes = status.changes.isEmpty ? nil : status.changes
    self.check = check.map(Check.init)
  }

  private static func time(_ time: Date?) -> String? {
    time.map { ObjectWriter.date($0.timeIntervalSinceReferenceDate) }
  }
}

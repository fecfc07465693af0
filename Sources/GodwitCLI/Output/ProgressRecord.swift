import Foundation
import GodwitJob
import GodwitModel

/// The first JSON line of a run.
struct VersionRecord: Encodable {
  let schemaVersion = OutputKind.version
  let version: String
  /// When the line was written.
  let time: String
}

/// A JSON line between the first and the last: the library's progress, with the time of the line.
struct ProgressRecord: Encodable {
  let progress: MigrationProgress
  let time: String

  private enum CodingKeys: String, CodingKey { case schemaVersion, time }

  func encode(to encoder: any Encoder) throws {
    try progress.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(OutputKind.version, forKey: .schemaVersion)
    try container.encode(time, forKey: .time)
  }
}

/// The last JSON line of a run.
struct SummaryRecord: SummaryLine {
  let schemaVersion = OutputKind.version
  let time: String
  /// The exit status.
  let status: Int32
  let outcome: String
  let reason, reasonCode: String?
  /// Why the verification after the migration could not be done.
  let verifyFailure: String?
  let job, destination: String
  /// Left out where rows were not counted.
  let objects: Int64?
  let ambiguousToOne, overridden: Int64
  /// Left out where nothing is in quarantine.
  let quarantine: String?
  let quarantined: [QuarantineCount]?
  let dropped: [MigrationPlan.Dropped]
  let losses: [LossReport.Loss]
  let notes: [String]
  let noteCodes: [MigrationNote.Code]
  let seconds: Double
  let peakBytes, budgetBytes: Int64
  let wasResumed: Bool

  /// - Parameters:
  ///   - status: The exit status; 0 leaves that of a stopped run to its reason.
  ///   - verifyFailure: Why the verification after it could not be done.
  init(
    _ summary: MigrationSummary, job: MigrationJob, time: String, status: Int32 = 0, verifyFailure: GodwitError? = nil
  ) {
    self.time = time
    self.status = summary.outcome == .stopped && status == 0 ? StopSignals.code(of: summary.reason).rawValue : status
    outcome = summary.outcome.rawValue
    reason = summary.reason
    reasonCode = summary.stopReason?.rawValue
    self.verifyFailure = verifyFailure?.line
    self.job = job.name
    destination = job.destinationPath
    objects = summary.isCounted ? summary.objects : nil
    (ambiguousToOne, overridden) = (summary.ambiguousToOne, summary.overridden)
    let isQuarantined = !summary.quarantined.isEmpty && summary.outcome != .stopped
    quarantine = isQuarantined ? job.quarantinePath : nil
    quarantined = isQuarantined ? summary.quarantined : nil
    dropped = summary.dropped
    losses = summary.losses.losses
    notes = summary.notes
    noteCodes = summary.codedNotes.map(\.code)
    seconds = summary.seconds
    peakBytes = summary.peakBytes
    budgetBytes = job.memory.bytes
    wasResumed = summary.wasResumed
  }

  private enum CodingKeys: String, CodingKey {
    case schemaVersion, time, status, outcome, reason, reasonCode, verifyFailure, job, destination, objects, dropped,
      losses
    case quarantine, quarantined
    case notes, noteCodes, seconds, peakBytes, budgetBytes, wasResumed
    case ambiguousToOne = "several"
    case overridden = "displaced"
  }
}

/// A failure as JSON: the last line of a run, or a document in place of what a verb prints.
struct FailureRecord: SummaryLine {
  let schemaVersion = OutputKind.version
  /// Left out of a line of a run, which has it already.
  let type: String?
  /// Only of a line of a run.
  let time: String?
  /// The job's name; only of a line of a run, where it is known.
  let job: String?
  let outcome = "failed"
  /// The exit status.
  let status: Int32
  /// The kind of failure in words that never change.
  let code: String
  /// The reason of a command that stopped at a checkpoint (75).
  let reason, reasonCode: String?
  let message: String
  /// `FILE:LINE:COLUMN`, where the error has a place in a file.
  let location: String?
  let site, cause, remedy, safe: String?

  /// - Parameters:
  ///   - type: `error` in place of what a verb prints; nil for the last line of a run.
  ///   - time: When the line of a run was written.
  ///   - job: The name of a run's job.
  init(_ error: GodwitError, type: String? = "error", time: String? = nil, job: String? = nil) {
    self.type = type
    (self.time, self.job) = (time, job)
    location = error.location.map(\.text)
    status = error.code.rawValue
    code = error.code.name
    reason = error.stopReason?.text
    reasonCode = error.stopReason?.rawValue
    message = error.message
    (site, cause, remedy, safe) = (error.context, error.cause, error.remedy, error.safe)
  }
}

extension GodwitError.StopReason {
  /// The reason in words.
  fileprivate var text: String {
    switch self {
    case .locked: "another process works on the job"
    case .timeLimit: StopCondition.timeLimit
    case .signal: "a signal"
    case .cancelled: MigrationControl.cancelled
    case .requested: "on request"
    case .sourceChanged: "the source changed"
    case .inUse: "another process uses the store"
    }
  }
}

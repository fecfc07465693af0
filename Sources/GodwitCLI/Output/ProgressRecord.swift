import GodwitJob
import GodwitModel

/// The first JSON line of a run.
struct VersionRecord: Encodable {
  let type = "version"
  let version: String
}

/// A JSON line between the first and the last.
struct ProgressRecord: Encodable {
  let type = "progress"
  let percent: Double
  let step, steps, pass, passes: Int
  let name, stage: String
  let chunk, chunks: Int
  let rows, totalRows: Int64
  let rowsPerSecond: Double
  let secondsLeft: Double?
  let residentBytes: Int64

  init(_ progress: MigrationProgress) {
    percent = progress.percent
    (step, steps, pass, passes) = (progress.step, progress.steps, progress.pass, progress.passes)
    (name, stage) = (progress.name, progress.stage)
    (chunk, chunks) = (progress.chunk, progress.chunks)
    (rows, totalRows) = (progress.rows, progress.totalRows)
    rowsPerSecond = progress.rowsPerSecond
    secondsLeft = progress.secondsLeft
    residentBytes = progress.residentBytes
  }
}

/// The last JSON line of a run.
struct SummaryRecord: Encodable {
  let type = "summary"
  let outcome: String
  let reason: String?
  let job, destination: String
  /// Left out where rows were not counted.
  let objects: Int64?
  let ambiguousToOne, overridden: Int64
  let dropped: [MigrationPlan.Dropped]
  let losses: [LossReport.Loss]
  let notes: [String]
  let seconds: Double
  let peakBytes, budgetBytes: Int64
  let wasResumed: Bool

  init(_ summary: MigrationSummary, job: MigrationJob) {
    outcome = summary.outcome.rawValue
    reason = summary.reason
    self.job = job.name
    destination = job.destinationPath
    objects = summary.isCounted ? summary.objects : nil
    (ambiguousToOne, overridden) = (summary.ambiguousToOne, summary.overridden)
    dropped = summary.dropped
    losses = summary.losses.losses
    notes = summary.notes
    seconds = summary.seconds
    peakBytes = summary.peakBytes
    budgetBytes = job.memory.bytes
    wasResumed = summary.wasResumed
  }

  private enum CodingKeys: String, CodingKey {
    case type, outcome, reason, job, destination, objects, dropped, losses, notes, seconds, peakBytes, budgetBytes
    case wasResumed
    case ambiguousToOne = "several"
    case overridden = "displaced"
  }
}

/// The last JSON line of a run that failed.
struct FailureRecord: Encodable {
  let type: String
  let outcome = "failed"
  let status: Int32
  let message: String
  /// `FILE:LINE:COLUMN`, where the error has a place in a file.
  let location: String?
  let site, cause, remedy, safe: String?

  /// - Parameter type: `summary` as the last line of a run, `error` in place of what a reading verb prints.
  init(_ error: GodwitError, type: String = "summary") {
    self.type = type
    location = error.location.map(\.text)
    status = error.code.rawValue
    message = error.message
    (site, cause, remedy, safe) = (error.context, error.cause, error.remedy, error.safe)
  }
}

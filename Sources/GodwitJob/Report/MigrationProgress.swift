package import GodwitModel
import Synchronization

/// The progress of a running migration.
public struct MigrationProgress: Sendable, Hashable, Codable {
  /// 0 to 100; never less than an earlier one, also after a resume.
  public var percent: Double
  /// The percent as a number from 0 to 1.
  public var fraction: Double { percent / 100 }
  /// The current step, from 1.
  package var step: Int
  /// The number of steps.
  package var steps: Int
  /// The current pass, from 1; 0 for work that belongs to no pass.
  package var pass: Int
  /// The number of passes of the step.
  package var passes: Int
  /// The mapping, or what is built.
  public var name: String
  /// The current stage, for example `create`.
  package var stage: String
  /// Finished chunks of this name and stage.
  package var chunk: Int
  /// Chunks of this name and stage.
  package var chunks: Int
  /// Rows read by all stages together; while an atomic store is written, the objects in it. If rows are not counted, this
  /// and `totalRows` are 0. The rows of a chunk that is running are estimated.
  public var rows: Int64
  /// Rows that the run expects all stages to read together.
  public var totalRows: Int64
  /// Rows read per second, on average over this run.
  package var rowsPerSecond: Double
  /// The estimated time left, in seconds; nil while it is not known.
  public var secondsLeft: Double?
  /// The resident memory of the process, in bytes.
  package var residentBytes: Int64
  /// Whether a part of a chunk that is running is counted: a run that is killed does the chunk again.
  package var isEstimated = false
  /// Whether the source is counted: no chunk has begun.
  package var isPlanning = false
  /// Which round of a run with a quarantine it belongs to, from 1.
  package var round = 1

  private enum CodingKeys: String, CodingKey {
    case percent, step, steps, pass, passes, name, stage, chunk, chunks, rows, totalRows, rowsPerSecond, secondsLeft
    case residentBytes
  }

  package init(
    percent: Double, step: StepID, steps: Int, pass: Int, passes: Int, name: String, stage: String, chunk: Int,
    chunks: Int, rows: Int64, totalRows: Int64, rowsPerSecond: Double, secondsLeft: Double? = nil, residentBytes: Int64
  ) {
    self.percent = percent
    self.step = step.count
    self.steps = steps
    self.pass = pass
    self.passes = passes
    self.name = name
    self.stage = stage
    self.chunk = chunk
    self.chunks = chunks
    self.rows = rows
    self.totalRows = totalRows
    self.rowsPerSecond = rowsPerSecond
    self.secondsLeft = secondsLeft
    self.residentBytes = residentBytes
  }

  /// Makes it the last progress of a run, whose store is in place.
  package mutating func complete() {
    isEstimated = false
    percent = 100
    rows = totalRows
    secondsLeft = 0
    residentBytes = ProcessMemory.residentBytes
  }
}

/// The result of a run.
public struct MigrationSummary: Sendable, Codable, Hashable {
  /// How a run ended.
  public enum Outcome: String, Sendable, Codable, Hashable {
    /// The destination is finished.
    case finished
    /// The destination was finished by an earlier run of the same job.
    case alreadyFinished = "already finished"
    /// The run stopped at a checkpoint; the same command resumes.
    case stopped
  }

  /// How the run ended.
  public var outcome: Outcome
  /// Why it stopped: `time limit reached`, `SIGTERM`, or what the caller gave.
  public var reason: String?
  /// Why it stopped, as one of a few kinds; nil for a run that did not stop.
  package var stopReason: GodwitError.StopReason? { reason.map(GodwitError.StopReason.init(of:)) }
  /// Objects made, by all runs of the job together.
  public var objects: Int64 = 0
  /// false after a migration in place by definition alone, which reads no row: `objects` is 0 then.
  package var isCounted = true
  /// To-one relationships that found several objects and took the first.
  package var ambiguousToOne: Int64 = 0
  /// Relationship assignments that a later one overrides.
  package var overridden: Int64 = 0
  /// Objects that break a rule and stay: see ``MigrationJob/keepsInvalid``.
  package var keptInvalid: [KeptInvalid] = []
  /// Source objects that are in quarantine, by entity: see ``MigrationJob/quarantine``.
  package var quarantined: [QuarantineCount] = []
  /// How many objects the job has set aside: those in quarantine, and those of a quarantine that is not there any more
  /// or cannot be read.
  public var quarantinedObjects: Int64 { quarantined.reduce(missingQuarantined) { $0 &+ $1.objects } }
  /// How many objects an earlier run has set aside that the quarantine beside the destination does not have now.
  package var missingQuarantined: Int64 = 0
  /// Source objects that no mapping took.
  package var dropped: [MigrationPlan.Dropped] = []
  /// The losses of the migration, in the order of steps.
  public var losses = LossReport()
  /// The plan's notes, such as tables that were left out.
  public var notes: [String] { codedNotes.map(\.text) }
  /// The notes with the code of each.
  package var codedNotes: [MigrationNote] = []
  /// How long this run took, in seconds.
  package var seconds: Double = 0
  /// The peak of the process's resident memory, in bytes.
  package var peakBytes: Int64 = 0
  /// Whether the run resumed an earlier one.
  public var wasResumed: Bool = false

  package init(outcome: Outcome, reason: String? = nil) { (self.outcome, self.reason) = (outcome, reason) }
}

/// Stops a running migration from another thread.
public final class MigrationControl: Sendable {
  private struct State {
    var reason: String?
    var interrupt: (@Sendable () -> Void)?
  }
  private let state = Mutex(State())

  /// A control that has not been asked to stop anything.
  public init() {}

  /// Asks for a stop at the next checkpoint. If it is called again, the first reason counts.
  public func stop(reason: String) { state.withLock { $0.reason = $0.reason ?? reason } }

  /// Rolls the running chunk back, so that the stop comes at once. Call `stop` first.
  package func interrupt() { state.withLock { $0.interrupt }?() }

  /// Why the run is to stop; nil to continue. In a cancelled task the cancellation is the reason.
  package var reason: String? {
    if Task.isCancelled { stop(reason: Self.cancelled) }
    return state.withLock { $0.reason }
  }

  package static let cancelled = "cancelled"

  package func setInterrupt(_ action: (@Sendable () -> Void)?) { state.withLock { $0.interrupt = action } }
}

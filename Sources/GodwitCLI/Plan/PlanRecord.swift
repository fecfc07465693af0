import Godwit
import GodwitJob
import GodwitModel

/// A plan as JSON: what `godwit plan --format json` prints, and with all digests what `-o` writes.
struct PlanRecord: Codable {
  struct Obstacle: Codable {
    var code: RunObstacle.Code
    /// The exit status that a run would have.
    var status: Int32
    /// As the summary has it.
    var message: String
  }

  /// The format of the document.
  static let version = 1

  var schemaVersion: Int? = Self.version
  var type: String? = "plan"
  /// The version of Godwit that made the plan.
  var godwit: String? = GodwitCommand.version
  var job, source, destination: String
  var sourceModelOrigin: String?
  var isMigrationNeeded: Bool
  /// The identity of the plan's job. Plans before version 1 of the format lack it.
  var identity: PlanIdentity?
  /// The manifest of a plan in a file.
  var manifest: PlanManifest?
  /// Left out, as is all that follows, where the job is finished.
  var summary: PlanSummary?
  var time: TimeEstimate?
  /// The sample from which the counts are estimated.
  var sample: MigrationPlan.Sample?
  var steps: [MigrationPlan.Step]?
  var expressions: [PlanExpressions]?
  var stages: [MigrationPlan.StageCount]?
  var chunks: Int?
  var losses: [LossReport.Loss]?
  /// How many rejected objects the run may set aside, and where they go.
  var quarantine: String?
  var missingPolicies: [PolicyUse]?
  var mappingSearch: [String]?
  var notes: [String]?
  /// The code of each note, in the same order.
  var noteCodes: [MigrationNote.Code]?
  /// The obstacles to a run, in the order of the summary's obstacles.
  var obstacles: [Obstacle]?
  var setAside: Int64?
  var totalRows, diskBytes, temporaryBytes, freeBytes, temporaryFreeBytes, sourceBytes: Int64?
  var temporaryFolder: String?
  var shortage: String?

  /// - Parameters:
  ///   - manager: The manager of the job: its steps are those of the plan.
  ///   - plan: nil for a finished job.
  init(_ migration: MigrationJob, manager: MigrationManager, plan: MigrationPlan?, isNeeded: Bool) {
    job = migration.name
    source = migration.sourceName
    destination = migration.destinationPath
    sourceModelOrigin = migration.sourceModelOrigin
    isMigrationNeeded = isNeeded
    guard let plan else { return }
    summary = plan.summary
    time = plan.time
    sample = plan.sample
    steps = plan.steps
    expressions = PlanExpressions.all(of: manager.job)
    stages = plan.stages
    chunks = plan.chunks.count
    losses = plan.losses.losses
    quarantine = plan.quarantine
    missingPolicies = plan.missingPolicies
    mappingSearch = plan.mappingSearch
    notes = plan.notes
    noteCodes = plan.codedNotes.map(\.code)
    obstacles = plan.obstacles.map { Obstacle(code: $0.code, status: $0.failure.rawValue, message: $0.text) }
    setAside = plan.setAside
    totalRows = plan.totalRows
    diskBytes = plan.diskBytes
    temporaryBytes = plan.disk.temporaryBytes
    freeBytes = plan.freeBytes
    temporaryFolder = plan.temporaryFolder
    temporaryFreeBytes = plan.temporaryFreeBytes
    sourceBytes = plan.sourceBytes
    shortage = plan.shortage
  }
}

import Godwit
import GodwitJob
import GodwitModel

/// A plan as JSON: what `godwit plan --format json` prints, and with all digests what `-o` writes.
struct PlanRecord: Codable {
  /// The format of the document.
  static let version = 1

  var schemaVersion: Int? = Self.version
  var type: String? = "plan"
  /// The version of Godwit that made the plan.
  var godwit: String? = GodwitCommand.version
  var job, source, destination: String
  var sourceModelOrigin: String?
  var isMigrationNeeded: Bool
  /// What makes it the plan of this job. Plans before version 1 of the format lack it.
  var identity: PlanIdentity?
  /// Of a plan in a file.
  var manifest: PlanManifest?
  /// Left out, as is all that follows, where the job is finished.
  var summary: PlanSummary?
  var time: TimeEstimate?
  var steps: [MigrationPlan.Step]?
  var expressions: [PlanExpressions]?
  var stages: [MigrationPlan.StageCount]?
  var chunks: Int?
  var losses: [LossReport.Loss]?
  var missingPolicies: [PolicyUse]?
  var mappingSearch: [String]?
  var notes: [String]?
  var totalRows, diskBytes, temporaryBytes, freeBytes, temporaryFreeBytes, sourceBytes: Int64?
  var temporaryFolder: String?
  var shortage: String?

  /// - Parameters:
  ///   - manager: Of the job: its steps are those of the plan.
  ///   - plan: nil for a finished job.
  init(_ migration: MigrationJob, manager: MigrationManager, plan: MigrationPlan?, isNeeded: Bool) {
    job = migration.name
    source = migration.sourcePath
    destination = migration.destinationPath
    sourceModelOrigin = migration.sourceModelOrigin
    isMigrationNeeded = isNeeded
    guard let plan else { return }
    summary = plan.summary
    time = plan.time
    steps = plan.steps
    expressions = PlanExpressions.all(of: manager.job)
    stages = plan.stages
    chunks = plan.chunks.count
    losses = plan.losses.losses
    missingPolicies = plan.missingPolicies
    mappingSearch = plan.mappingSearch
    notes = plan.notes
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

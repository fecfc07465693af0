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
  var obstacles: [PlanObstacle]?
  var totalRows, diskBytes, temporaryBytes, freeBytes, temporaryFreeBytes, sourceBytes: Int64?
  var temporaryFolder: String?
  var shortage: String?

  /// - Parameters:
  ///   - manager: The manager of the job: its steps are those of the plan.
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
    obstacles = PlanObstacle.all(of: plan)
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

/// An obstacle to a run of a plan.
struct PlanObstacle: Codable, Equatable {
  enum Code: String, Codable {
    /// A policy is not registered.
    case policyMissing = "policy-missing"
    /// Values do not fit their new type.
    case valuesDoNotFit = "values-do-not-fit"
    /// The job must lose nothing.
    case losses
    /// There is too little disk space.
    case diskSpace = "disk-space"
    /// The job may not replace what is at the destination.
    case destination
    /// The destination was changed since the job made it.
    case destinationChanged = "destination-changed"
    /// The store that the run would replace cannot be kept.
    case oldStore = "old-store"
    /// The receipt cannot be written where the manifest wants it.
    case receipt
    /// The work folder has the unfinished work of another job.
    case workFolder = "work-folder"

    init(_ code: DestinationObstacle.Code) {
      switch code {
      case .destination: self = .destination
      case .destinationChanged: self = .destinationChanged
      case .oldStore: self = .oldStore
      case .receipt: self = .receipt
      case .workFolder: self = .workFolder
      }
    }
  }

  var code: Code
  /// The exit status that a run would have.
  var status: Int32
  /// As the summary has it.
  var message: String

  /// The summary says them in this order: all policies in one, then one for each attribute whose values do not fit, and
  /// last what is in the way at the destination.
  static func all(of plan: MigrationPlan) -> [PlanObstacle] {
    let kinds: [(Code, GodwitError.Code, Int)] = [
      (.policyMissing, .configuration, plan.missingPolicies.isEmpty ? 0 : 1),
      (.valuesDoNotFit, .dataWrong, plan.misfits.count),
      (.losses, .dataWrong, plan.mustLoseNothing ? 1 : 0),
      (.diskSpace, .inputOutput, plan.shortage == nil ? 0 : 1),
    ]
    var codes = kinds.flatMap { code, status, count in Array(repeating: (code, status), count: count) }
    codes += plan.destinationObstacles.map { (Code($0.code), $0.failure) }
    return zip(codes, plan.summary.obstacles).map { kind, message in
      PlanObstacle(code: kind.0, status: kind.1.rawValue, message: message)
    }
  }
}

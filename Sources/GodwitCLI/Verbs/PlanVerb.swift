import ArgumentParser
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel

struct PlanVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Show steps, passes, chunks, lanes with reasons, rows, losses and disk space; write nothing.")

  @OptionGroup var job: JobOptions
  @OptionGroup var overrides: OverrideOptions
  @OptionGroup var format: FormatOptions

  @Flag(
    name: .customLong("detailed-exitcode"),
    help: "Exit with 2 if a migration is needed, otherwise with 0.")
  var detailedExitCode = false

  @Flag(name: .customLong("fail-on-loss"), help: "Exit with 65 if the migration would lose data.")
  var failOnLoss = false

  mutating func run(in session: CommandSession) throws -> Int32 {
    var migration = try job.loader(in: session, overrides: overrides.values()).job()
    if failOnLoss { migration.failsOnLoss = true }
    let manager = MigrationManager(migration)
    let isFinished = try manager.isFinished()
    let plan: MigrationPlan?
    do { plan = isFinished ? nil : try manager.plan() } catch { throw migration.tellingHints(error) }
    session.warnOfReplacedValues(in: migration)
    session.warnOfUnconfirmedHashRules(migration.destinationModel.unconfirmedHashRules.map(\.description))
    switch format.format {
    case .json: try session.print(json: PlanRecord(migration, plan: plan))
    case .text:
      session.output.write(
        plan.map { "\($0)\n" + (migration.fitsAlready ? Self.fits(migration) : "") }
          ?? "job \(migration.name): already finished, nothing to do ('\(migration.destinationPath)')\n")
    }
    if let error = plan.flatMap({ $0.missingPolicies.isEmpty ? nil : migration.missingPolicyError }) { throw error }
    if let error = plan.flatMap({ migration.error(for: $0.losses) }) { throw migration.tellingHints(error) }
    return detailedExitCode && !isFinished && !migration.fitsAlready ? 2 : 0
  }
}

extension PlanVerb {
  private static func fits(_ job: MigrationJob) -> String {
    "note         the source already has version '\(job.destinationModel.name)': no migration is needed, and `godwit run` \(job.inPlace == nil ? "makes a copy" : "writes it again")\n"
  }
}

extension MigrationJob {
  /// Whether the source already has the wanted version, and the job does nothing else with it.
  fileprivate var fitsAlready: Bool {
    !appends && steps.allSatisfy { $0.isInferred && $0.willMigrate == nil && $0.didMigrate == nil }
      && sourceModel.isCompatible(with: destinationModel.versionHashes)
  }
}

/// A plan as JSON.
private struct PlanRecord: Encodable {
  let job, source, destination: String
  let sourceModelOrigin: String?
  let isMigrationNeeded: Bool
  var steps: [MigrationPlan.Step]?
  var stages: [MigrationPlan.StageCount]?
  var chunks: Int?
  var losses: [LossReport.Loss]?
  var missingPolicies: [PolicyUse]?
  var mappingSearch: [String]?
  var notes: [String]?
  var totalRows, diskBytes, temporaryBytes, freeBytes, temporaryFreeBytes, sourceBytes: Int64?
  var temporaryFolder: String?
  var shortage: String?

  init(_ migration: MigrationJob, plan: MigrationPlan?) {
    job = migration.name
    source = migration.sourcePath
    destination = migration.destinationPath
    sourceModelOrigin = migration.sourceModelOrigin
    isMigrationNeeded = plan != nil && !migration.fitsAlready
    guard let plan else { return }
    steps = plan.steps
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

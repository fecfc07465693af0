import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel

/// Whether a job is still the one that a plan was made for.
struct PlanCheck {
  /// The plan's file.
  let path: String
  let plan: PlanRecord

  init(path: String) throws {
    self.path = path
    plan = try PlanFile.read(path)
    guard plan.identity?.source != nil, plan.manifest != nil else {
      throw GodwitError(
        .configuration, "cannot run the plan '\(path)': the file has no digests of the source and the manifest",
        remedy: "write the plan with `godwit plan JOB.yaml -o FILE`; what --format json prints is not enough")
    }
  }

  /// Refuses a job that would do anything else than the plan says.
  ///
  /// A run that has begun is only compared by digests: its ledger holds the counts.
  ///
  /// - Throws: 73 with everything that changed.
  func refuseOther(_ migration: MigrationJob, manager: MigrationManager, manifestPath: String) throws {
    guard let identity = plan.identity else { return }
    let isFinished = try manager.isFinished()
    if isFinished, migration.isInPlace {
      // The source is the result now, and only the version tells.
      guard identity.models.last?.versionHashes == migration.destinationModel.versionHashesDigest else {
        throw refusal(["the destination model '\(migration.destinationModel.name)'"])
      }
      return
    }
    var changes = try identity.differences(
      from: PlanIdentity(manager.job, manifestPath: manifestPath), job: migration)
    if changes.isEmpty, !isFinished {
      if plan.steps == nil {
        changes = ["the destination '\(migration.destinationPath)': the job was finished when the plan was made"]
      } else if try manager.status().state != .unfinished {
        var now = PlanRecord(migration, manager: manager, plan: try manager.plan(), isNeeded: plan.isMigrationNeeded)
        now.identity = identity
        // The digest covers filters and expressions: their text may differ in blanks alone.
        changes = PlanDifference(from: plan, to: now, file: path).changes
          .filter { $0.isOfResult && $0.kind != .property && $0.field != "filter" }.map(\.description)
      }
    }
    guard changes.isEmpty else { throw refusal(changes) }
  }

  private func refusal(_ changes: [String]) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot run the plan '\(path)': something changed since it was made",
      cause: changes.map(\.onOneLine).joined(separator: "\n"),
      remedy:
        "undo the change; or see all of it with `godwit plan JOB.yaml --diff \(path)`, and make the plan again with -o",
      safe: "nothing was written")
  }
}

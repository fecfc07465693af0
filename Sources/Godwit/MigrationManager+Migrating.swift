public import Foundation
public import GodwitJob
public import GodwitModel

/// A manager of models and a mapping, for one store or many; Core Data's `NSMigrationManager`.
///
/// ```swift
/// let manager = MigrationManager(sourceModel: people3, destinationModel: people4, mappingModel: mapping)
/// let plan = try manager.plan(migratingStoreAt: people, to: newPeople)
/// let report = try await manager.migrate(plan) { progress in … }   // safe to cancel, to kill, to call again
/// ```
extension MigrationManager {
  /// A manager whose stores are given later, for each migration.
  ///
  /// - Parameters:
  ///   - sourceModel: The version that the stores were made with.
  ///   - destinationModel: The version of the new stores.
  ///   - mappingModel: The mapping of each entity.
  ///   - policies: The policies, by the names that mappings give. A policy with state needs a `MigrationJob` with a
  ///     `PolicyRegistry`.
  public init(
    sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel, mappingModel: MappingModel,
    policies: [String: any EntityMigrationPolicy & Sendable] = [:]
  ) {
    self.init(
      MigrationJob(
        name: "", sourcePath: "", destinationPath: "", sourceModel: sourceModel, destinationModel: destinationModel,
        mappingModels: [mappingModel]),
      policies: PolicyRegistry(policies))
  }

  /// Plans the migration of a store: see `plan()`. Writes nothing.
  ///
  /// - Parameters:
  ///   - source: The store to migrate.
  ///   - destination: Where the new store will go.
  ///   - limits: The limits of the run.
  /// - Throws: The errors of `plan()`; `.configuration` (78) if both paths name one file, or the budget is under 16
  ///   MiB.
  public func plan(
    migratingStoreAt source: URL, to destination: URL, limits: MigrationLimits = MigrationLimits()
  ) throws -> MigrationPlan {
    guard source.resolvingSymlinksInPath().path != destination.resolvingSymlinksInPath().path else {
      throw GodwitError(
        .configuration, "cannot migrate '\(source.filePath)' to itself",
        remedy: "name another destination, or migrate in place")
    }
    guard limits.memory >= .mebibytes(16) else {
      throw GodwitError(
        .configuration, "cannot run with a memory budget of \(limits.memory): a run needs at least 16 MiB",
        remedy: "raise the limit")
    }
    return try manager(ofStoreAt: source.filePath, to: destination.filePath, limits: limits).plan()
  }

  /// The durable work of a migration: see `status()`. Writes nothing.
  ///
  /// - Parameters:
  ///   - source: The store to migrate.
  ///   - destination: Where the new store goes.
  public func status(migratingStoreAt source: URL, to destination: URL) throws -> MigrationStatus {
    try manager(
      ofStoreAt: source.filePath, to: destination.filePath, limits: MigrationLimits(memory: job.memory)
    ).status()
  }

  /// A manager of models has no stores of its own, and an empty path is that of the working folder.
  func refuseWithoutStore() throws {
    guard job.sourcePath.isEmpty || job.destinationPath.isEmpty else { return }
    throw GodwitError(
      .usage, "cannot tell which store is meant: the manager was made from models and names none",
      remedy:
        "call `plan(migratingStoreAt:to:limits:)`, `migrate(_:progress:)` or `status(migratingStoreAt:to:)`, or make the manager from a `MigrationJob`"
    )
  }

  /// Carries out a plan on its own thread, or resumes it: see `run`.
  ///
  /// Cancelling the task stops the run at a checkpoint. Durable work remains, and the same call resumes. The run plans
  /// again under the lock, because the source may have changed.
  ///
  /// - Parameters:
  ///   - plan: A plan of this manager.
  ///   - progress: Called after every chunk, and up to four times a second while one runs, on the run's thread.
  /// - Throws: `CancellationError` if the task was cancelled before the end; otherwise the errors of `run`.
  @discardableResult
  public func migrate(
    _ plan: MigrationPlan, progress: @escaping @Sendable (MigrationProgress) -> Void = { _ in }
  ) async throws -> MigrationSummary {
    try Task.checkCancellation()
    return try await manager(ofStoreAt: plan.source, to: plan.destination, limits: plan.limits).run(progress: progress)
  }

  func manager(
    ofStoreAt source: String, to destination: String, limits: MigrationLimits
  ) -> MigrationManager {
    var job = job
    if job.name.isEmpty { job.name = URL(filePath: destination).deletingPathExtension().lastPathComponent }
    (job.sourcePath, job.destinationPath) = (source, destination)
    (job.memory, job.chunkRows) = (limits.memory, limits.chunkRows)
    return MigrationManager(job)
  }
}

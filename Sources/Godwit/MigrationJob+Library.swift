public import Foundation
import GodwitInference
public import GodwitJob
import GodwitModel
import GodwitStore
public import GodwitVerifier
public import GodwitXcode

/// A job as a caller of the library uses it.
///
/// ```swift
/// let job = try MigrationJob(migrating: store, to: destination, models: bundle)   // to the bundle's current version
/// for try await progress in job.run() { print(progress.fraction) }                // safe to cancel, to kill, to call again
/// print(try await job.verify().isClean)
/// ```
extension MigrationJob {
  /// A job that migrates a store to a version of its models.
  ///
  /// The source's version is the one whose hashes are in the store. Mapping models serve the steps that they are for;
  /// every other step is inferred.
  ///
  /// - Parameters:
  ///   - source: The store.
  ///   - destination: The place of the new store. The place must be free.
  ///   - models: All versions of the model.
  ///   - version: The version of the new store; nil for the current one.
  ///   - mappings: The application's mapping models.
  /// - Throws: `.missingInput` (66) for a missing store or version; `.noPath` (69) if no version has the
  ///   store's hashes or no step can be inferred; `.dataWrong` (65) for a damaged store or model.
  public init(
    migrating source: URL, to destination: URL, models: ModelBundle, version: String? = nil,
    mappings: [FoundMapping] = []
  ) throws {
    let metadata = try StoreMetadata(readingStoreAt: source.filePath)
    let versions = try models.readableVersions.map(models.model(named:))
    guard let old = versions.first(where: { $0.isCompatible(with: metadata) }) else {
      throw GodwitError(
        .noPath, "no version of '\(models.url.filePath)' has the hashes of '\(source.filePath)'",
        remedy: "`godwit why` compares the store with each version", safe: "nothing was written")
    }
    let new = try version.map(models.model(named:)) ?? models.currentModel()
    guard !new.isCompatible(with: metadata) else {
      throw GodwitError(
        .noPath, "'\(source.filePath)' already has the version '\(new.name)'", remedy: "name another version",
        safe: "nothing was written")
    }
    let steps = try MigrationPathFinder(models: versions, mappings: mappings).path(from: old, to: new)
    self.init(
      name: destination.deletingPathExtension().lastPathComponent, source: source, destination: destination,
      first: steps[0], later: Array(steps.dropFirst()))
  }

  /// The plan of a run: see ``MigrationManager``. Writes nothing.
  ///
  /// - Parameter estimatesTime: Whether a sample of the source is made in memory to estimate the time of a run.
  /// - Throws: `CancellationError` if the task is cancelled.
  public func plan(estimatingTime estimatesTime: Bool = false) async throws -> MigrationPlan {
    try await MigrationManager(self).plan(estimatingTime: estimatesTime)
  }

  /// Starts or resumes the migration on a thread of its own.
  ///
  /// - Parameter maximumSeconds: A time limit; the run stops at the first checkpoint after it, and the summary's outcome
  ///   is `.stopped`.
  /// - Returns: Its progress as a sequence, and its summary.
  public func run(maximumSeconds: Double? = nil) -> MigrationRun {
    MigrationManager(self).start(maximumSeconds: maximumSeconds)
  }

  /// The durable work of the migration. Writes nothing.
  public func status() throws -> MigrationStatus { try MigrationManager(self).status() }

  /// Compares the whole destination with the whole source.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  public func verify() async throws -> VerificationReport { try await Verifier(job: self).run() }
}

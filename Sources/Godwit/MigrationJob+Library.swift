public import Foundation
public import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
public import GodwitVerifier
public import GodwitXcode

/// A job as a caller of the library uses it.
///
/// ```swift
/// let job = try MigrationJob(migrating: store, to: destination, models: bundle)   // to the bundle's current version
/// print(job.mappingOrigins)                                                       // V1toV2.mapping.yaml, inferred
/// for try await progress in job.run() { print(progress.fraction) }                // safe to cancel, to kill, to call again
/// print(try await job.verify().isClean)
/// ```
extension MigrationJob {
  /// A job that migrates a store to a version of its models.
  ///
  /// The source's version is the one whose hashes are in the store. Mapping models beside the bundle and in the project
  /// around it serve the steps that they are for, as for `godwit run`; every other step is inferred. ``mappingOrigins``
  /// says what each step uses.
  ///
  /// - Parameters:
  ///   - source: The store.
  ///   - destination: The place of the new store. The place must be free.
  ///   - models: All versions of the model.
  ///   - version: The version of the new store; nil for the current one.
  ///   - mappings: The application's mapping models, in place of those that the search finds; nil to search.
  ///   - policies: The policies that the mapping models name.
  /// - Throws: `.missingInput` (66) for a missing store or version; `.noPath` (69) if no version has the
  ///   store's hashes or no step can be inferred; `.configuration` (78) for a mapping model that is wrong;
  ///   `.dataWrong` (65) for a damaged store or model.
  public init(
    migrating source: URL, to destination: URL, models: ModelBundle, version: String? = nil,
    mappings: [FoundMapping]? = nil, policies: PolicyRegistry = [:]
  ) throws {
    let metadata = try StoreMetadata(readingStoreAt: source.filePath)
    let new = try version.map(models.model(named:)) ?? models.currentModel()
    var versions = try models.readableVersions.map(models.model(named:))
    // The current version is the newest, whatever its name.
    if new.name == models.currentVersion { versions = versions.filter { $0.name != new.name } + [new] }
    guard let old = versions.first(where: { $0.isCompatible(with: metadata) }) else {
      throw GodwitError(
        .noPath, "no version of '\(models.url.filePath)' has the hashes of '\(source.filePath)'",
        remedy: "`godwit why` compares the store with each version", safe: "nothing was written")
    }
    guard !new.isCompatible(with: metadata) else {
      throw GodwitError(
        .noPath, "'\(source.filePath)' already has the version '\(new.name)'", remedy: "name another version",
        safe: "nothing was written")
    }
    let way = MappingFinder.Way(from: old, to: new, among: versions)
    let (steps, record) =
      try mappings.map { mappings in
        (
          try MigrationPathFinder(models: versions, mappings: mappings).path(from: old, to: new),
          MappingSearchRecord()
        )
      } ?? Self.search(beside: models, on: way)
    self.init(
      name: destination.deletingPathExtension().lastPathComponent, source: source, destination: destination,
      first: steps[0], later: Array(steps.dropFirst()))
    mappingSearch = record
    self.policies = policies
  }

  /// The path that the mapping models beside a bundle and in its project give.
  private static func search(
    beside models: ModelBundle, on way: MappingFinder.Way
  ) throws -> (steps: [MigrationStep], record: MappingSearchRecord) {
    let folder = models.url.deletingLastPathComponent().filePath
    let finder = MappingFinder(models: [models.url.filePath], base: folder)
    func between(_ source: String, _ destination: String) -> [String] {
      MappingFinder.namesBetween(source, destination, in: way.versions.map(\.name))
    }
    let passed = between(way.source.name, way.destination.name)
    try finder.refuseUnreadable(among: way.versions.filter { passed.contains($0.name) })
    do {
      var (steps, record) = try finder.path(on: way, among: { way.versions }, log: { _ in })
      let inferred = steps.filter(\.isInferred).map { between($0.sourceModel.name, $0.destinationModel.name) }
      record.unsearched = finder.linesElsewhere(spanning: inferred) { way }
      return (steps, record)
    } catch let error as GodwitError where error.code == .noPath {
      throw finder.tellingElsewhere(error) { way }
    }
  }

  /// The mapping models of each step: the names of their files, or `inferred`.
  public var mappingOrigins: [String] { steps.map { $0.origin ?? "" } }

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

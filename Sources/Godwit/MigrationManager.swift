public import Foundation
import GodwitEngine
public import GodwitJob
import GodwitModel
import GodwitStore

/// Plans and runs one migration job, and resumes it where an earlier run stopped.
///
/// ```swift
/// let manager = MigrationManager(job)
/// print(try manager.plan())                    // writes nothing
/// let summary = try manager.run { progress in … }   // safe to stop, to kill, to call again
/// ```
///
/// Do not use it while another process writes to the store: the run notices that and stops.
public struct MigrationManager: Sendable {
  /// The job with its steps as they run: inferred steps are fused if the result is equal.
  package internal(set) var job: MigrationJob
  /// Whether a verification follows, so that only it makes a run a success which finds nothing to do.
  package var isProvedAfter = false

  /// A manager of a job.
  ///
  /// - Parameter job: The migration. Its files are read only for a plan or a run.
  public init(_ job: MigrationJob) { self.job = job.resolvingLinks().namingInferredSteps().fusingSteps() }

  /// A manager of a job, with more policies.
  ///
  /// - Parameters:
  ///   - job: The migration.
  ///   - policies: Added to those of the job. They replace policies of the same name.
  public init(_ job: MigrationJob, policies: PolicyRegistry) {
    self.job = job.resolvingLinks().namingInferredSteps().fusingSteps()
    self.job.policies.add(policies)
  }

  /// The metadata key under which a finished store names the digests of the jobs that made it.
  package static let jobsKey = StoreMetadata.Key.jobs

  // MARK: Plan

  /// Plans what `run` would do. Counts rows in the source, writes nothing, and works on a read-only file system.
  ///
  /// An unfinished run's plan is read from its ledger. The plan lists policies that nobody registered; `run` refuses
  /// them.
  ///
  /// - Parameter estimatesTime: Whether a sample of the source is made in memory to estimate the time of a run, which takes
  ///   less than a second.
  /// - Throws: `.usage` (64) for a manager whose stores are not named yet.
  public func plan(estimatingTime estimatesTime: Bool = false) throws -> MigrationPlan {
    try refuseWithoutStore()
    return try PlanMaker(job).plan(estimatesTime)
  }

  /// The durable work: the chunks of an unfinished run, or that the destination is finished; and the state of the last
  /// run.
  ///
  /// - Parameter comparesSource: Whether all of the source is read to tell whether it has changed since the destination
  ///   was made. Otherwise the times of its files tell that, and an earlier result that is replaced counts as finished.
  /// - Throws: `.usage` (64) for a manager whose stores are not named yet.
  package func status(comparesSource: Bool = true) throws -> MigrationStatus {
    try refuseWithoutStore()
    return try RunStatus(job).status(comparesSource: comparesSource)
  }

  /// Whether the destination is the finished store of this job. Writes nothing.
  ///
  /// - Throws: `.cannotCreate` (73) if the destination is something else; `.usage` (64) for a manager whose stores are
  ///   not named yet.
  package func isFinished() throws -> Bool {
    try refuseWithoutStore()
    return try DestinationLook(job).isFinished()
  }

  /// The obstacles to a run at its destination. Writes nothing.
  package func destinationObstacles() throws -> [RunObstacle] { try DestinationFindings(job).obstacles }

  /// How many objects a finished job has set aside, for which a run ends with 3 each time.
  package func setAsideBefore() throws -> Int64 { try QuarantinePlacement(job).setAsideBefore() }

  /// Gives the receipt of a finished destination the time of the last success, if a run that finds nothing to do is one.
  package func noteSuccess() throws { try ReplacedStore(job).noteSuccess() }

  /// Removes an unfinished destination with its ledger and spill files. A finished destination stays.
  ///
  /// - Parameters:
  ///   - destination: Where the job would have put its store.
  ///   - isInPlace: Whether the destination is the source.
  /// - Returns: false when there is nothing to remove.
  /// - Throws: `.stopped` (75) while a run holds the lock.
  @discardableResult
  public static func discard(destination: URL, isInPlace: Bool = false) throws -> Bool {
    try discard(destination: destination.filePath, isInPlace: isInPlace)
  }

  package static func discard(destination: String, isInPlace: Bool = false) throws -> Bool {
    try UnfinishedWork.discard(destination: destination, isInPlace: isInPlace)
  }
}

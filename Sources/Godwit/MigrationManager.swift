public import Foundation
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

  // MARK: Before a run

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
    let source = try MergedSource(job)
    var plan = try source.reading { try PlanMaker($0).plan(estimatesTime) }
    plan.codedNotes = (source.record?.notes ?? []) + plan.codedNotes
    return plan
  }

  /// Looks for what a run would stop at, or carry along broken: see `AuditReport`. Writes nothing, and works on a
  /// read-only file system.
  ///
  /// In a job of several steps it looks at the first one: the sources of the others are not made yet.
  ///
  /// - Parameters:
  ///   - samples: How many objects of each finding are named.
  ///   - showsValues: Whether the values concerned are told, and the shapes of encoded values. They are data of users.
  /// - Throws: `.usage` (64) for a manager whose stores are not named yet; what makes the source or the job unusable as
  ///   a whole, as `plan()` does; `.stopped` (75) if the source changed meanwhile.
  package func audit(samples: Int = 5, showingValues showsValues: Bool = false) throws -> AuditReport {
    try refuseWithoutStore()
    return try MergedSource(job).reading {
      try JobAudit($0).report(samples: samples, showingValues: showsValues)
    }
  }

  /// The obstacles to a run at its destination. Writes nothing.
  package func destinationObstacles() throws -> [RunObstacle] { try DestinationFindings(job).obstacles }

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

  // MARK: Run

  /// Starts or resumes the migration on the calling thread. If the job is already finished, the summary says so.
  ///
  /// If the calling task is cancelled, the run stops at the next checkpoint, as with `control`: the summary's outcome
  /// is `.stopped`.
  ///
  /// - Parameters:
  ///   - control: Stops the run from another thread.
  ///   - maximumSeconds: A time limit; the run stops at the first checkpoint after it.
  ///   - progress: Called after every chunk, and up to four times a second while one runs, on the calling thread.
  /// - Throws: `GodwitError`. Durable work remains, and the same call resumes if it can. `.usage` (64) for a manager
  ///   whose stores are not named yet.
  @discardableResult
  public func run(
    control: MigrationControl = MigrationControl(), maximumSeconds: Double? = nil,
    progress: (MigrationProgress) -> Void = { _ in }
  ) throws -> MigrationSummary {
    try refuseWithoutStore()
    let watch = StopCondition(control: control, start: Date(), maximumSeconds: maximumSeconds)
    return try RecordedRun(job: job.readingMerged(in: job.workPath), isProvedAfter: isProvedAfter, watch: watch).run(
      progress: progress)
  }

  // MARK: After a run

  /// Finds out what became of an object of the source, or what an object of the destination was made of. Writes to
  /// neither store.
  ///
  /// The stores between the steps of a job are made again in `TMPDIR`, where the job has several that were not fused. If
  /// objects are in quarantine, the source is copied there.
  ///
  /// - Parameters:
  ///   - uri: `x-coredata://STORE/Entity/p1`, or `Entity/p1`.
  ///   - side: Which store the object is in. nil for the one that the URI names; for `Entity/p1` the destination.
  /// - Throws: `.usage` (64) for a text that is not a URI, for the URI of another store, and for a job that appends or
  ///   migrates in place; `.missingInput` (66) without a finished destination or such an object; `.dataWrong` (65) for
  ///   a value that cannot be read.
  package func trace(_ uri: String, in side: ObjectTrace.Side? = nil) throws -> ObjectTrace {
    try trace(uri, in: side, leavingLarge: false) { trace, _ in trace }
  }

  /// As the other.
  ///
  /// - Parameters:
  ///   - isLeft: Whether large values are left in their stores.
  ///   - body: Gets the trace, and what tells the bytes of large values meanwhile.
  package func trace<T>(
    _ uri: String, in side: ObjectTrace.Side?, leavingLarge isLeft: Bool,
    _ body: (ObjectTrace, (ObjectTrace.LargeValue) throws -> StoredBytes) throws -> T
  ) throws -> T {
    try refuseWithoutStore()
    let source = try MergedSource(job)
    return try source.reading { job in
      let chain = try TraceChain(job, merged: source.record, leavesLargeValues: isLeft)
      return try body(chain.trace(uri, in: side), chain.bytes)
    }
  }

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

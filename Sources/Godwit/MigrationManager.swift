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

  /// All digests but the source's, which costs a reading of the whole store.
  var quickIdentity: JobFingerprint { JobFingerprint(job) }

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
    try job.refuseGuessedNames()
    if let error = RunRequest.refusal(of: job) { throw error }
    let missing = job.missingPolicies
    var complete = self
    for use in missing { complete.job.policies.register(use.policy, PlannedPolicy()) }
    var plan: MigrationPlan
    do {
      try complete.refuseUnknownAcceptedLosses()
      plan = try complete.planWithPolicies(estimatesTime)
    } catch let error as GodwitError {
      throw tellingDiscard(error)
    }
    plan.refusesLosses = job.failsOnLoss
    plan.acceptsSetAside = job.acceptsSettingAside(plan.forecast?.setAsideEntities ?? [])
    plan.missingPolicies = missing
    plan.mappingSearch = job.mappingSearch.lines
    plan.advice = job.mappingSearch.advice
    // The origin of the source model comes first: it decides everything else.
    plan.codedNotes = try job.inputNotes + plan.codedNotes + job.layoutNotes() + job.storeNotes()
    try tellDestination(in: &plan)
    plan.quarantine = job.quarantine.map { "\($0), in \(job.quarantinePath)" }
    return plan
  }

  private func planWithPolicies(_ estimatesTime: Bool) throws -> MigrationPlan {
    guard !job.isStepped else { return try planSteps(estimatesTime) }
    let clock = ContinuousClock()
    let begin = clock.now
    let source = try SourceFiles(job, existing: try existingDestination())
    let opening = clock.now - begin
    if let resumed = try Ledger.opened(in: job.workPath) {
      defer { try? resumed.connection.close() }
      let planner = try source.planner(job)
      var (plan, program) = try planner.plan(facts: try resumed.facts(), chunks: try resumed.chunks())
      if job.isInPlace { plan.describe(.executor(reason: Self.goesOn)) }
      try source.addForecast(to: &plan, of: job, resuming: job.workPath)
      if estimatesTime {
        plan.time = plan.estimate(
          of: job, chunks: planner.timeEstimate(plan, program, done: try resumed.done()), opening: opening)
      }
      return job.measured(plan, isResumed: true)
    }
    return job.measured(try plan(source, opening: estimatesTime ? opening : nil))
  }

  /// The durable work: the chunks of an unfinished run, or that the destination is finished; and the state of the last
  /// run.
  ///
  /// - Parameter comparesSource: Whether all of the source is read to tell whether it has changed since the destination
  ///   was made. Otherwise the times of its files tell that, and an earlier result that is replaced counts as finished.
  /// - Throws: `.usage` (64) for a manager whose stores are not named yet.
  package func status(comparesSource: Bool = true) throws -> MigrationStatus {
    try refuseWithoutStore()
    do { return try withRun(durableStatus(comparesSource: comparesSource)) } catch let error as GodwitError
      where error.code == .stopped
    {
      // A run that commits at this moment lets nobody read its ledger. The status can still say that it is at work.
      guard case .held = try WorkFolder.lockState(ofFolder: job.workPath) else { throw error }
      return try withRun(MigrationStatus(state: .unfinished, job: job.name))
    } catch let error as GodwitError { throw tellingDiscard(error) }
  }

  private func durableStatus(comparesSource: Bool) throws -> MigrationStatus {
    // Without a journal the next run begins again.
    if let journal = try WorkJournal.read(in: job.workPath),
      let status = try statusOfWork(journal, comparesSource: comparesSource)
    {
      return try withDelivery(status)
    }
    // The ledger is missing between two rounds of a run with a quarantine.
    if try !job.isDestinationTaken && RejectionRecord.exists(in: job.workPath) {
      return try withDelivery(MigrationStatus(state: .unfinished, job: job.name))
    }
    func status(_ state: MigrationStatus.State) -> MigrationStatus { MigrationStatus(state: state, job: job.name) }
    switch try destination(comparesSource ? .content : .times) {
    case .current: return status(.finished)
    case .absent:
      // A run in place by SQL or by definition has no ledger, and neither has any run before its first chunk.
      return status(try hasRunWithoutWork() ? .unfinished : .notStarted)
    case .outdated(let earlier):
      let replaces = job.replacesEarlierResult
      // The next run of a job that replaces looks whether the content of the source has changed.
      if replaces, !comparesSource, earlier.changes == [.source] { return status(.finished) }
      var found = status(replaces ? .outdated : .foreign)
      found.changes = earlier.changes
      if replaces, !comparesSource { found.changes.removeAll { $0 == .source } }
      return found
    case .foreign: return status(.foreign)
    }
  }

  /// The status by what the work folder holds; nil without work to resume.
  private func statusOfWork(_ journal: WorkJournal, comparesSource: Bool) throws -> MigrationStatus? {
    // A run that died between the link and the removal of its folder is finished but for that folder.
    guard try journal.phase == .making || !destination(comparesSource ? .content : .times).isCurrent else { return nil }
    if job.isStepped, let status = try statusOfSteps(journal) { return status }
    if let ledger = try Ledger.opened(in: job.workPath) {
      defer { try? ledger.connection.close() }
      return try Self.status(of: job, ledger)
    }
    guard !job.isStepped, job.owns(journal.owner), journal.phase != .making || journal.outcome != nil,
      try WorkFolder.exists(job.lastStepFolder(in: job.workPath).storePath)
    else { return nil }
    return MigrationStatus(state: .unfinished, job: job.name, percent: 100)
  }

  /// The status by a ledger: its chunks, and how fast they came.
  static func status(of job: MigrationJob, _ ledger: Ledger) throws -> MigrationStatus {
    let (chunks, done) = (try ledger.chunks(), try ledger.done())
    var status = MigrationStatus(state: .unfinished, job: job.name, chunks: chunks, done: done)
    status.take(try ledger.knownPace(), of: chunks, done: chunks.filter { done.contains($0.id) })
    return status
  }

  /// The status as progress shows it: with the share that the writing of an atomic store has.
  private func withDelivery(_ status: MigrationStatus) throws -> MigrationStatus {
    var status = status
    let before = try RejectionRecord.percentBefore(readingIn: job.workPath)
    if before > 0, status.percent < 100 { status.percent = before + (100 - before) * status.percent / 100 }
    guard job.destinationType.isAtomic else { return status }
    status.percent = AtomicStoreMeter.percent(
      ofChunks: status.percent, shown: try ShownProgress.percent(in: job.workPath))
    return status
  }

  /// Whether the destination is the finished store of this job. Writes nothing.
  ///
  /// - Throws: `.cannotCreate` (73) if the destination is something else; `.usage` (64) for a manager whose stores are
  ///   not named yet.
  package func isFinished() throws -> Bool {
    try refuseWithoutStore()
    if let error = RunRequest.refusal(of: job) { throw error }
    let refusal: GodwitError
    switch try destination() {
    case .current: return true
    case .absent: return false
    case .outdated(let earlier):
      if job.replacesEarlierResult { return false }
      refusal = earlier.refusal
    case .foreign(let error): refusal = error
    }
    // An unfinished run is planned from its ledger; `run` says what is in its way.
    if try WorkFolder.exists(forDestination: job.destinationPath) { return false }
    throw refusal
  }

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
    let destination = isInPlace ? StoreFiles.resolvingLink(destination) : destination
    guard try WorkFolder.exists(forDestination: destination) else { return false }
    let folder = try WorkFolder(forDestination: destination)
    // A damaged journal does not keep a job from being discarded.
    let path = folder.path
    let journal = try Definite.answer { try WorkJournal.read(in: path) } ?? nil
    var swap = InPlaceSwap(store: destination, keepsOld: true)
    swap.mark = journal?.exchange
    if journal?.phase != .placing { _ = try swap.finishReplacement(workFolder: folder.path) }
    try placeReceipt(inDiscarded: folder, journal, destination: destination)
    if !isInPlace { try removePlacedQuarantine(ofDestination: destination, in: folder.path) }
    if try WorkFolder.exists(destination) {
      try removeLeftoversOfKept(destination, in: folder.path)
    } else {
      try folder.removeStores()
      try WorkFolder.removeMovedSupport(of: destination, mark: journal?.support)
    }
    try folder.remove()
    return true
  }
}

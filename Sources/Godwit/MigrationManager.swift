import Foundation
import GodwitDisk
import GodwitEngine
import GodwitInPlace
public import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// Plans and carries out one migration job, and picks it up where an earlier run left it.
///
/// ```swift
/// let manager = MigrationManager(job)
/// print(try manager.plan())                    // writes nothing
/// let summary = try manager.run { progress in … }   // safe to stop, to kill, to call again
/// ```
///
/// Not for a store that another process writes: the run notices and stops.
public struct MigrationManager: Sendable {
  /// The job with its steps as they run: inferred ones are one where the result is equal.
  public private(set) var job: MigrationJob

  public init(_ job: MigrationJob) { self.job = job.resolvingLinks().namingInferredSteps().fusingSteps() }

  /// - Parameter policies: Added to those of the job; of two with one name these win.
  public init(_ job: MigrationJob, policies: PolicyRegistry) {
    self.job = job.resolvingLinks().namingInferredSteps().fusingSteps()
    self.job.policies.add(policies)
  }

  /// The metadata key under which a finished store names the digests of the jobs that made it.
  public static let jobsKey = StoreMetadata.Key.jobs

  static let stepKey = StoreMetadata.Key.step

  /// All digests but the source's, which costs a reading of the whole store.
  var quickIdentity: JobFingerprint { JobFingerprint(job) }

  /// The digest of the whole source content, counted once and trusted while the files' stamps are equal.
  func identity(_ quick: JobFingerprint, files: StoreFiles) throws -> JobFingerprint {
    try quick.withContent(of: files)
  }

  // MARK: Plan

  /// What `run` would do. Counts in the source; writes nothing, and works on a read-only tree.
  ///
  /// An unfinished run's plan is read from its ledger. Policies that nobody registered are listed; `run` refuses them.
  ///
  /// - Throws: `.usage` (64) for a manager whose stores are not named yet.
  public func plan() throws -> MigrationPlan {
    try refuseWithoutStore()
    let missing = job.missingPolicies
    var complete = self
    for use in missing { complete.job.policies.register(use.policy, PlannedPolicy()) }
    var plan = try complete.planWithPolicies()
    plan.missingPolicies = missing
    plan.mappingSearch = job.mappingSearch
    plan.notes += try job.layoutNotes()
    return plan
  }

  private func planWithPolicies() throws -> MigrationPlan {
    guard !job.isStepped else { return try planSteps() }
    let source = try OpenSource(job, existing: try existingDestination())
    if let resumed = try openLedger() {
      defer { try? resumed.connection.close() }
      var plan = try source.planner(job).plan(facts: try resumed.facts(), chunks: try resumed.chunks()).0
      if job.inPlace != nil { plan.describe(.executor(reason: Self.goesOn)) }
      return measured(plan)
    }
    return measured(try plan(source))
  }

  /// What is durable: the chunks of an unfinished run, or that the destination is finished.
  ///
  /// - Throws: `.usage` (64) for a manager whose stores are not named yet.
  public func status() throws -> MigrationStatus {
    try refuseWithoutStore()
    if job.isStepped, let status = try statusOfSteps() { return withDelivery(status) }
    if let ledger = try openLedger() {
      defer { try? ledger.connection.close() }
      let chunks = try ledger.chunks()
      let done = try ledger.done()
      return withDelivery(MigrationStatus(state: .unfinished, job: job.name, chunks: chunks, done: done))
    }
    if !job.isStepped, try isUndelivered() {
      return withDelivery(MigrationStatus(state: .unfinished, job: job.name, chunks: [], done: [], percent: 100))
    }
    guard isDestinationTaken, try job.inPlace == nil || isMigratedInPlace(),
      try !job.appends || isAppended(OpenSource(job, attach: false))
    else {
      return MigrationStatus(state: .notStarted, job: job.name, chunks: [], done: [])
    }
    let isOurs = try job.inPlace != nil || job.appends || isMadeByThisJob()
    return MigrationStatus(state: isOurs ? .finished : .foreign, job: job.name, chunks: [], done: [])
  }

  /// Whether the destination names this very job: its source, models and mappings as they are now.
  private func isMadeByThisJob() throws -> Bool {
    do {
      _ = try finished(source: OpenSource(job, attach: false), quick: quickIdentity)
      return true
    } catch let error as GodwitError where error.code == .cannotCreate { return false }
  }

  /// Whether the chunks of a job are done and its XML store is not written.
  private func isUndelivered() throws -> Bool {
    let store = lastStepFolder(in: WorkFolder.path(forDestination: job.destinationPath)).storePath
    guard job.destinationType == .xml, FileManager.default.fileExists(atPath: store) else { return false }
    // A store without a ledger is finished, or was never begun.
    return (try? StoreMetadata(readingStoreAt: store).applicationValues[Self.jobsKey]) != nil
  }

  /// The status as progress shows it: with the share that the writing of an XML store has.
  private func withDelivery(_ status: MigrationStatus) -> MigrationStatus {
    guard job.destinationType == .xml else { return status }
    var status = status
    status.percent = XMLMeter.percent(
      ofChunks: status.percent, in: WorkFolder.path(forDestination: job.destinationPath))
    return status
  }

  /// Whether the destination is the finished store of this very job. Writes nothing.
  ///
  /// - Throws: `.cannotCreate` (73) when something else stands at the destination; `.usage` (64) for a manager whose stores
  ///   are not named yet.
  public func isFinished() throws -> Bool {
    try refuseWithoutStore()
    if job.inPlace != nil { return try isMigratedInPlace() }
    if job.appends { return try isAppended(OpenSource(job, attach: false)) }
    guard isDestinationTaken else { return false }
    do {
      _ = try finished(source: OpenSource(job, attach: false), quick: quickIdentity)
      return true
    } catch let error as GodwitError where error.code == .cannotCreate {
      // An unfinished run is planned from its ledger; `run` says what is in its way.
      if WorkFolder.exists(forDestination: job.destinationPath) { return false }
      throw error
    }
  }

  /// Removes an unfinished destination with its ledger and spill files. A finished destination stays.
  ///
  /// - Parameter isInPlace: Whether the destination is the source.
  /// - Returns: false when there is nothing to remove.
  /// - Throws: `.stopped` (75) while a run holds the lock.
  public static func discard(destination: String, isInPlace: Bool = false) throws -> Bool {
    let destination = isInPlace ? StoreFiles.resolvingLink(destination) : destination
    guard WorkFolder.exists(forDestination: destination) else { return false }
    let folder = try WorkFolder(forDestination: destination)
    if isInPlace {
      InPlaceSwap(store: destination, keepsOld: true).undo(workFolder: folder.path)
    } else if (try? FileManager.default.attributesOfItem(atPath: destination)) == nil {
      try folder.removeStores()
      try folder.removeMovedSupport(of: destination)
    } else if try folder.hasStores() {
      // An append that had begun to put its store in place.
      try folder.undoAppend(to: destination)
      try folder.removeStores()
    }
    try folder.remove()
    return true
  }

  /// Whether anything stands there, a symbolic link to nothing included.
  var isDestinationTaken: Bool {
    (try? FileManager.default.attributesOfItem(atPath: job.destinationPath)) != nil
  }

  private func openLedger() throws -> Ledger? {
    try Self.openLedger(inFolder: WorkFolder.path(forDestination: job.destinationPath))
  }

  /// The ledger of the unfinished store in a folder; nil when there is none.
  static func openLedger(inFolder folder: String) throws -> Ledger? {
    let path = folder + "/store.sqlite"
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    // Looking never writes. A run may be at work; one that was killed may have left a journal, through which the store
    // is read as it was before.
    var connection = try StoreConnection(path: nil)
    do { try connection.attachShared(path: path) } catch let error as GodwitError where error.code != .stopped {
      // Not while a run holds the store: its journal is not a dead one's.
      connection = try StoreConnection(path: nil)
      try connection.attachSource(try StoreFiles(path: path))
    }
    guard try connection.integer("SELECT COUNT(*) FROM source.sqlite_master WHERE name = 'godwit_ledger'") == 1 else {
      return nil
    }
    return Ledger(connection: connection)
  }

  static func now() -> Double { Date().timeIntervalSinceReferenceDate }

  // MARK: Run

  /// Migrates, or resumes, or finds that all is done.
  ///
  /// It works on the calling thread. Where a task calls it and is cancelled, the run stops at the next checkpoint, as it does
  /// by `control`: the summary's outcome is `.stopped`.
  ///
  /// - Parameters:
  ///   - control: Stops the run from another thread.
  ///   - maximumSeconds: A time box; the run stops at the first checkpoint after it.
  ///   - progress: Called after every chunk, on the calling thread.
  /// - Throws: `GodwitError`; what is durable stays, and the same call resumes where that makes sense. `.usage` (64) for a
  ///   manager whose stores are not named yet.
  @discardableResult
  public func run(
    control: MigrationControl = MigrationControl(), maximumSeconds: Double? = nil,
    progress: (MigrationProgress) -> Void = { _ in }
  ) throws -> MigrationSummary {
    try refuseWithoutStore()
    let watch = RunWatch(control: control, start: Date(), maximumSeconds: maximumSeconds)
    // A store that is replaced tells them only before.
    let notes = (try? job.layoutNotes()) ?? []
    var summary = try run(watch: watch, progress: progress)
    if summary.outcome != .alreadyFinished { summary.notes += notes }
    return summary
  }

  private func run(watch: RunWatch, progress: (MigrationProgress) -> Void) throws -> MigrationSummary {
    if let rule = job.inPlace { return try runInPlace(rule, watch: watch, progress: progress) }
    if job.appends, isDestinationTaken { return try runAppending(watch: watch, progress: progress) }
    let source = try OpenSource(job, attach: false, existing: try existingDestination())
    let quick = quickIdentity
    if isDestinationTaken {
      guard WorkFolder.exists(forDestination: job.destinationPath) else {
        return try finished(source: source, quick: quick)
      }
      // A run that died between the link and the removal of its folder leaves both.
      let folder = try WorkFolder(forDestination: job.destinationPath)
      guard let summary = try? finished(source: source, quick: quick) else {
        throw GodwitError(
          .cannotCreate,
          "cannot write '\(job.destinationPath)': it exists, and so does the work folder of an unfinished run",
          remedy: "move the destination away, or `godwit discard` the job")
      }
      try folder.remove()
      return summary
    }
    try refuseStaleLog()
    let folder = try WorkFolder(forDestination: job.destinationPath)
    return try work(in: folder, source: source, watch: watch, progress: progress) { _, path, folder in
      try folder.publish(path, to: job.destinationPath, like: source.files.path)
      try folder.remove()
    }
  }

  /// Migrates all steps in the work folder, and delivers the finished store.
  ///
  /// - Parameter deliver: Puts the file of the finished store where it belongs, and removes the folder.
  func work(
    in folder: borrowing WorkFolder, source: OpenSource, watch: RunWatch, progress: (MigrationProgress) -> Void,
    deliver: (StepFolder, _ path: String, borrowing WorkFolder) throws -> Void
  ) throws -> MigrationSummary {
    let (quick, control) = (quickIdentity, watch.control)
    let check = SourceCheck(job, source.files)
    defer { check?.abandon() }
    let made = lastStepFolder(in: folder.path)
    try refuseOtherSteps(in: folder.path)
    var keeps = isWorthKeeping(folder.path)
    var meter = job.destinationType == .xml ? XMLMeter(folder: folder.path, steps: job.steps.count) : nil
    func tell(_ part: MigrationProgress) { progress(meter?.part(part) ?? part) }
    do {
      // The first of several is refused where its mapping is resolved.
      if job.missingPolicies.count > 1, let error = job.missingPolicyError { throw error }
      if job.inPlace == nil, source.existing == nil {
        try folder.refuseForeignSupport(of: job.destinationPath)
        if !FileManager.default.fileExists(atPath: made.storePath) {
          try folder.removeMovedSupport(of: job.destinationPath)
        }
      }
      keeps = true
      var (summary, last) =
        !job.isStepped
        ? try run(
          in: StepFolder(path: folder.path), source: source, quick: quick, watch: watch, isWorthKeeping: &keeps,
          progress: tell)
        : try runSteps(
          in: folder.path, source: source, quick: quick, watch: watch, isWorthKeeping: &keeps, progress: tell)
      if summary.outcome == .finished, try check?.finish(while: { control.reason == nil }) == false {
        (summary.outcome, summary.reason) = (.stopped, control.reason)
      }
      if summary.outcome == .finished {
        let written = try file(of: made.storePath, in: folder, control: control) { objects, total in
          if let part = meter?.wrote(objects, of: total) { progress(part) }
        }
        switch written {
        case .stopped(let reason): (summary.outcome, summary.reason) = (.stopped, reason)
        case .written(let path):
          try deliver(made, path, folder)
          if let last = meter?.complete() ?? last { progress(last) }
        }
      }
      summary.seconds = Date().timeIntervalSince(watch.start)
      summary.peakBytes = ProcessMemory.peakBytes
      return summary
    } catch {
      // Without a ledger there is nothing to resume: a job that was never right leaves no trace.
      if !keeps { folder.undo() }
      throw SourceCheck.cause(of: error, job, check)
    }
  }

  /// Whether a work folder holds something to resume.
  func isWorthKeeping(_ folder: String) -> Bool {
    [StepFolder(path: folder).storePath, StepRecord.path(in: folder)].contains(where: FileManager.default.fileExists)
  }

  /// Of a source of so many bytes the digest is not waited for.
  @TaskLocal static var largeSource: Int64 = 64 << 20

  /// An existing destination: ours and the same job, or in the way.
  private func finished(source: OpenSource, quick: JobFingerprint) throws -> MigrationSummary {
    let inTheWay = GodwitError(
      .cannotCreate, "cannot write '\(job.destinationPath)': it exists and was not made by this job",
      remedy: "move it away, name another destination, or write `append: true` to add to it",
      safe: "nothing was written")
    let metadata: StoreMetadata
    do { metadata = try StoreMetadata(readingStoreAt: job.destinationPath) } catch { throw inTheWay }
    let jobs = metadata.applicationValues[Self.jobsKey]?.array?.compactMap(\.string) ?? []
    guard !jobs.isEmpty else { throw inTheWay }
    guard try StoreFiles(path: job.destinationPath).type == job.destinationType,
      jobs.contains(try identity(quick, files: source.files).digest)
    else {
      throw GodwitError(
        .cannotCreate,
        "cannot write '\(job.destinationPath)': it is the finished store of another job, or the source, a model or a mapping changed since",
        remedy: "move it away to migrate again", safe: "nothing was written")
    }
    return MigrationSummary(outcome: .alreadyFinished)
  }

  private func refuseStaleLog() throws {
    guard job.destinationType == .sqlite else { return }
    for suffix in ["-wal", "-journal"] {
      let path = job.destinationPath + suffix
      guard FileManager.default.fileExists(atPath: path) else { continue }
      throw GodwitError(
        .cannotCreate, "cannot write '\(job.destinationPath)': a log of another store lies beside it, '\(path)'",
        remedy: "move that file away: SQLite would apply it to the new store")
    }
  }

  /// Migrates one step into the store of its folder, or resumes, or finds that it is done.
  ///
  /// - Parameters:
  ///   - origin: For a step of several: the digest of all that came before, in place of the source's own.
  ///   - now: What `now()` means, when a larger job has settled it.
  /// - Returns: What was done, and the progress to show when the store is in place.
  func run(
    in folder: StepFolder, source: OpenSource, quick: JobFingerprint, origin: String? = nil, now: Double? = nil,
    watch: RunWatch, isWorthKeeping: inout Bool, progress: (MigrationProgress) -> Void
  ) throws -> (MigrationSummary, MigrationProgress?) {
    var digest: BesideWork<String>?
    defer { digest?.abandon() }
    func identity() throws -> JobFingerprint {
      var identity = quick
      identity.source = try origin ?? digest?.value() ?? source.files.contentDigest()
      return identity
    }
    let control = watch.control
    let manager = FileManager.default
    let existing = job.appends ? source.existing : nil
    var made = !manager.fileExists(atPath: folder.storePath)
    isWorthKeeping = !made
    if made { try existing?.copy(to: folder.storePath) }
    var connection = try StoreConnection(path: folder.storePath, cache: cacheSize, create: true)
    if !made, try !Ledger.exists(connection) {
      // Either all is done but the move, or the run died before its first commit.
      if let jobs = try? StoreMetadata(reading: connection, schema: "main", path: folder.storePath)
        .applicationValues[madeByKey]?.array?.compactMap(\.string),
        jobs.contains(try job.position.jobDigest ?? identity().digest)
      {
        try connection.close()
        return (MigrationSummary(outcome: .finished, wasResumed: true), nil)
      }
      isWorthKeeping = false
      try connection.close()
      for suffix in ["", "-journal"] { try WorkFolder.removeFile(folder.storePath + suffix) }
      try existing?.copy(to: folder.storePath)
      connection = try StoreConnection(path: folder.storePath, cache: cacheSize, create: true)
      made = true
    }
    if made { try folder.removeSupport() }
    defer { try? connection.close() }
    control.setInterrupt { [connection] in connection.interrupt() }
    defer { control.setInterrupt(nil) }
    try configure(connection, isNew: made && existing == nil)
    // Taken before the source is opened: a change from here on is noticed.
    let stamp = try source.files.stamp()
    if made, origin == nil { digest = BesideWork { [files = source.files] in try files.contentDigest(while: $0) } }
    try connection.attachSource(
      source.files, cache: .init(bytes: job.memory.bytes / 8), workFolder: folder.path, model: job.sourceModel,
      checkpoint: { try control.checkpoint() })
    try checkRolledBack(source.files, connection, isWanted: made && origin == nil)
    let ledger = Ledger(connection: connection)
    if !made { try ledger.checkVersion() }
    let known = try made ? nil : ledger.identity()
    if !made { try checkExisting(existing, facts: try ledger.facts(), ledger: ledger) }
    let opened = try AttachedSource(
      connection, job: job, files: source.files, existing: existing,
      digest: { try known?.source ?? identity().source })
    let plan: MigrationPlan
    let program: StepProgram
    if made {
      (plan, program) = try opened.planner(job).plan(now: now ?? job.now ?? Self.now())
      if let error = job.error(for: plan.losses) { throw error }
      var need = plan.disk
      // The store of the step before and the one under construction lie side by side.
      if job.position.count > 1, job.position.isFirst { need.destinationBytes *= 2 }
      try checkSpace(need)
      let schema = opened.destinationSchema
      try connection.transaction {
        var triggers: [String] = []
        if let existing {
          triggers = try beginAppending(to: existing, connection)
        } else {
          for sql in schema.createStatements { try connection.execute(sql) }
          try writeEntityNumbers(schema, connection)
        }
        for sql in program.scratchStatements { try connection.execute(sql) }
        // A large source is read beside the first chunks. Until its digest is there, the stamp stands for it.
        let begun = digest != nil && existing == nil && source.files.size >= Self.largeSource ? quick : try identity()
        try ledger.create(identity: begun, facts: plan.facts, chunks: plan.chunks, stamp: stamp)
        if let existing {
          try ledger.setAppendMark(
            .init(stamp: existing.files.stamp(), digest: existing.files.contentDigest(), triggers: triggers))
        }
      }
      isWorthKeeping = true
      try WorkFolder.sync(folder.path)
    } else {
      try compare(
        ledger.identity(), with: quick, ledger: ledger, stamp: stamp, files: source.files, origin: origin)
      let facts = try ledger.facts()
      opened.functions.setNow(facts.now)
      (plan, program) = try opened.planner(job).plan(facts: facts, chunks: try ledger.chunks())
    }
    opened.functions.setNow(plan.facts.now)
    opened.functions.mover = ExternalDataMover(
      source: SupportFolder(ofStoreAt: job.sourcePath), destination: folder.support)
    let executor = Executor(
      job: job, plan: plan, program: program, connection: connection, functions: opened.functions, ledger: ledger,
      files: source.files, stamp: stamp, spillPath: { folder.spillPath(mapping: $0) })
    if origin == nil, try ledger.identity().source.isEmpty {
      digest = digest ?? BesideWork { [files = source.files] in try files.contentDigest(while: $0) }
      executor.sourceDigest = digest
    }
    if program.resolved.hasPolicies {
      executor.policies = try PolicyRun(
        job: job, program: program, connection: connection, functions: opened.functions, ledger: ledger, folder: folder,
        isResumed: !made)
    }
    var meter = ProgressMeter(plan: plan, done: try ledger.done(), start: watch.start)
    var stopped: String?
    progress(meter.progress)
    do {
      try executor.run { chunk in
        progress(meter.finish(chunk))
        stopped = watch.stopReason
        return stopped == nil
      }
    } catch let error as GodwitError where error.code == .stopped && control.reason != nil {
      // The interrupt rolled the running chunk back: a checkpoint all the same.
      stopped = control.reason
    }
    var summary = MigrationSummary(outcome: .stopped, reason: stopped)
    let totals = try ledger.totals()
    (summary.objects, summary.several, summary.displaced) = totals
    summary.dropped = plan.steps.flatMap(\.dropped)
    summary.losses = try executor.losses(summary)
    summary.notes = plan.notes + executor.notes
    summary.wasResumed = !made
    var isComplete = stopped == nil || meter.isComplete
    // The ledger is asked, since what a chunk wrote may have been rolled back with it.
    if isComplete, let pending = digest, try ledger.identity().source.isEmpty {
      if let digest = try pending.value(while: { control.reason == nil }) {
        try connection.transaction {
          try ledger.setSource(digest)
          try executor.checkSource()
        }
      } else {
        (isComplete, summary.reason) = (false, control.reason)
      }
    }
    if isComplete {
      if let error = job.error(for: summary.losses) { throw error }
      try finish(connection, ledger: ledger, opened: opened, plan: plan)
      try connection.close()
      summary.outcome = .finished
      summary.reason = nil
      return (summary, meter.complete())
    }
    return (summary, nil)
  }

  /// Checks a source with a hot journal, which is read through what stands for it here and nowhere else.
  private func checkRolledBack(_ files: StoreFiles, _ connection: StoreConnection, isWanted: Bool) throws {
    guard isWanted, job.sourceCheck != .none, files.type == .sqlite, try files.hasHotJournal() else { return }
    let found = try connection.complaints(
      about: StoreConnection.sourceSchema, isFull: job.sourceCheck == .full, limit: 1)
    if let complaint = found.first { throw SourceCheck.damage(job.sourcePath, complaint) }
  }

  /// Under which metadata key a store names what made it: the job, or the step when others follow.
  var madeByKey: String { job.position.isLast ? Self.jobsKey : Self.stepKey }

  var cacheSize: ByteCount { .init(bytes: job.memory.bytes / 4) }

  private func configure(_ connection: StoreConnection, isNew: Bool) throws {
    if isNew {
      try connection.execute("PRAGMA page_size = 4096")
      try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    }
    // Pages are only appended, so a rollback journal stays small; a WAL would write everything twice.
    try connection.execute("PRAGMA journal_mode = DELETE")
    try connection.execute("PRAGMA synchronous = NORMAL")
    try connection.execute("PRAGMA secure_delete = OFF")
    try connection.execute("PRAGMA temp_store = FILE")
    // `status` may be reading the ledger when a chunk commits.
    try connection.execute("PRAGMA busy_timeout = 30000")
  }

  func writeEntityNumbers(_ schema: StoreSchema, _ connection: StoreConnection) throws {
    for entity in schema.model.entities {
      guard let number = schema.number(of: entity.name) else { continue }
      let parent = entity.superentityName.flatMap { schema.number(of: $0) } ?? 0
      try connection.execute(
        "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?1, ?2, ?3, 0)",
        [.int(number), .text(entity.name), .int(parent)])
    }
  }

  /// Refuses to go on with another job's work, and names what differs.
  private func compare(
    _ known: JobFingerprint, with quick: JobFingerprint, ledger: Ledger, stamp: StoreFiles.Stamp,
    files: StoreFiles, origin: String?
  ) throws {
    var digest = origin ?? known.source
    if origin == nil, try ledger.stamp() != stamp {
      digest = try files.contentDigest()
      if digest == known.source { try ledger.setStamp(stamp) }
    }
    try compare(known, with: quick, source: digest)
  }

  func compare(_ known: JobFingerprint, with quick: JobFingerprint, source: String) throws {
    let parts = [
      ("the source store", known.source, source), ("the source model", known.sourceModel, quick.sourceModel),
      ("the destination model", known.destinationModel, quick.destinationModel),
      ("the mapping", known.mappings, quick.mappings), ("the manifest", known.manifest, quick.manifest),
    ]
    guard let changed = parts.first(where: { $1 != $2 }) else { return }
    // Before the digest of a large source is known, any change of the file's time counts, and cannot be undone.
    let isUndoable = !changed.1.isEmpty
    throw GodwitError(
      .cannotCreate, "cannot resume '\(job.name)': \(changed.0) changed since the run began",
      remedy: isUndoable
        ? "undo the change to resume, or `godwit discard` the job and run again"
        : "`godwit discard` the job and run again",
      safe: "what is durable stays in '\(WorkFolder.path(forDestination: job.destinationPath))'")
  }

  /// The last transaction: metadata and counters are written, the ledger goes.
  private func finish(
    _ connection: StoreConnection, ledger: Ledger, opened: AttachedSource, plan: MigrationPlan
  ) throws {
    let identity = try ledger.identity()
    try connection.quickCheck(remedy: "check the disk, `godwit discard` the job and run again")
    // The last step answers for the whole job, whose digest the caller knows.
    let digest = job.position.isLast ? job.position.jobDigest ?? identity.digest : identity.digest
    let before = try StoreMetadata(reading: connection, path: job.sourcePath)
    var metadata = self.metadata(after: before, digest: digest, leftOut: opened.leftOut)
    // What it says of keys holds for the source alone.
    metadata.values[AppendRecord.key] = nil
    let kept = opened.resolved.keptCounters(
      destination: opened.destinationSchema, facts: plan.facts)
    let isNew = plan.facts.highestDestinationKeys == nil
    let triggers = isNew ? nil : try ledger.appendMark().triggers
    try connection.transaction {
      for (number, highest) in kept {
        try connection.execute(
          "UPDATE Z_PRIMARYKEY SET Z_MAX = MAX(Z_MAX, ?2) WHERE Z_ENT = ?1", [.int(number), .integer(highest)])
      }
      if job.appends {
        let record = try appendRecord(identity, digest: digest, source: before, opened: opened, facts: plan.facts)
        if isNew {
          metadata.values[AppendRecord.key] = .array([record.propertyList])
        } else {
          metadata = try appendedMetadata(connection, digest: digest, record: record)
        }
      }
      try metadata.write(to: connection)
      try ledger.drop()
      if isNew { for sql in opened.leftOut.statements { try connection.execute(sql) } }
      let made =
        try triggers
        ?? DerivedTriggers(
          source: opened.sourceSchema, destination: opened.destinationSchema, connection: connection
        ).statements
      for sql in made { try connection.execute(sql) }
    }
    try connection.execute("PRAGMA main.incremental_vacuum")
  }

  /// What the finished store says of itself.
  ///
  /// - Parameters:
  ///   - source: What the source says.
  ///   - digest: That of the job, or of the step when others follow.
  func metadata(after source: StoreMetadata, digest: String, leftOut: LeftOutTables) -> StoreMetadata {
    let model = job.destinationModel
    var metadata = source
    metadata.values[Self.stepKey] = nil
    let jobs = job.position.isLast ? metadata.applicationValues[Self.jobsKey]?.array ?? [] : []
    metadata.values = metadata.values(
      versionHashes: model.versionHashes.mapValues(\.bytes), digest: model.versionHashesDigest,
      checksum: model.versionChecksum, versionIdentifiers: model.versionIdentifiers,
      extra: leftOut.metadata(source).merging([madeByKey: .array(jobs + [.string(digest)])]) { _, new in new })
    for key in leftOut.metadataKeys { metadata.values[key] = nil }
    return metadata
  }

}

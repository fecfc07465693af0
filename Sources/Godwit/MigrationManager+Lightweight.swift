import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// A job in place that needs no new store: see `SchemaOnlyRun` and `InPlaceSQLRun`.
extension MigrationManager {
  static let goesOn = "an unfinished run is resumed"

  // MARK: Plan

  /// The plan of a run that begins, with the way it takes when it is in place.
  ///
  /// - Parameter opening: How long it took to open the source, where the time of a run is to be estimated.
  func plan(_ source: SourceFiles, opening: Duration?) throws -> MigrationPlan {
    var planner = try source.planner(job)
    var counted: (plan: MigrationPlan, program: StepProgram)?
    func count() throws -> (plan: MigrationPlan, program: StepProgram) {
      if let counted { return counted }
      let made = try planner.planLeavingOutUncomputable(now: Date().timeIntervalSinceReferenceDate)
      counted = made
      return made
    }
    var way: InPlaceStrategy?
    if job.isInPlace, let attached = source.attached {
      way = try InPlaceStrategy(job: job, source: attached, type: source.files.type, counted: count)
    }
    if case .definitions? = way { planner.takesUnknownEntities = true }
    var (plan, program) = try count()
    if let way { plan.describe(way) }
    try source.addForecast(to: &plan, of: job)
    if let opening { plan.time = plan.estimate(of: job, chunks: planner.timeEstimate(plan, program), opening: opening) }
    return plan
  }

  /// How a run begins that holds the store's lock.
  ///
  /// - Parameter isResumed: Whether an earlier run has begun a store.
  func lightweightWay(isResumed: Bool, files: StoreFiles) throws -> InPlaceStrategy {
    guard job.steps.count == 1 else { return .executor(reason: "the job has \(job.steps.count) steps") }
    guard !isResumed else { return .executor(reason: Self.goesOn) }
    guard job.steps.first?.isInferred == true, files.type == .sqlite else {
      return .executor(reason: "the mapping is not inferred")
    }
    let connection = try StoreConnection(path: nil)
    defer { try? connection.close() }
    try connection.attachSource(files, cache: .init(bytes: job.memory.bytes / 8), model: job.sourceModel)
    let source = try AttachedSource(connection, job: job, files: files)
    try source.planner(job).refuseEmptyResult()
    let way = try InPlaceStrategy(job: job, source: source, type: files.type) {
      try source.planner(job).plan(now: Date().timeIntervalSinceReferenceDate)
    }
    if job.failsOnLoss {
      // A change of definitions counts nothing by itself.
      let losses: LossReport
      if case .sql(let program) = way {
        losses = program.losses
      } else {
        var planner = source.planner(job)
        planner.takesUnknownEntities = true
        losses = try planner.plan(now: Date().timeIntervalSinceReferenceDate).0.losses
      }
      if let error = job.error(for: losses) { throw error }
    }
    // A change of definitions alone moves no row, and takes the same time for any number of rows.
    if case .sql = way { _ = try SourceCheck(job, files)?.finish { true } }
    return way
  }

  // MARK: Run

  /// Has statements change the store itself, or a copy that is exchanged for it.
  ///
  /// - Parameters:
  ///   - swap: Exchanges a copy; nil to change the store itself, under SQLite's own journal and locks.
  ///   - lock: Ours, which SQLite's own would collide with: given up when SQLite takes its own.
  func edit(
    _ program: any InPlaceProgram, files: StoreFiles, _ swap: InPlaceSwap?, _ lock: StoreLock?,
    _ claim: borrowing Claim, _ watch: StopCondition, progress: (MigrationProgress) -> Void
  ) throws -> RunPipeline.Left {
    let copy = claim.path + "/copy.sqlite"
    let live = SupportFolder(ofStoreAt: job.sourcePath)
    let support = swap == nil ? live : SupportFolder(ofStoreAt: copy)
    let digest = quickIdentity.withSource(try program.contentDigest(files)).digest
    let stamp = try files.stamp()
    let meter = InPlaceSQLMeter(program, copiedBytes: swap == nil ? 0 : stamp.store.size, start: watch.start)
    let history = HistoryRecorder(job, folder: nil, begin: watch.start)
    func tell(_ part: MigrationProgress) {
      history.note(part)
      progress(part)
    }
    func stopped(_ reason: String) -> RunPipeline.Left {
      RunPipeline.Left(result: .success(meter.summary(stoppedBy: reason)), end: .undone)
    }
    func removeCopy() { if swap != nil { for suffix in ["", "-journal"] { unlink(copy + suffix) } } }
    do {
      if swap != nil { try support.remove() }
      tell(meter.progress)
      let connection: StoreConnection
      if swap != nil {
        try StoreCloner.make(of: files.path, to: copy, isReflinkWanted: job.hooks.makesReflinks) { bytes in
          if let made = meter.copied(bytes) { tell(made) }
          try watch.checkpoint()
        }
        connection = try connectionToCopy(copy)
      } else {
        try noteFiles(program, in: claim.path)
        lock?.release()
        connection = try exclusiveConnection(files, stamp: stamp)
      }
      defer { try? connection.close() }
      try edit(
        program, connection: connection, digest: digest, mover: ExternalDataMover(source: live, destination: support),
        files: files, stamp: stamp, meter: meter, watch: watch, progress: tell)
      try connection.close()
    } catch {
      removeCopy()
      guard (error as? GodwitError)?.code == .stopped, let reason = watch.stopReason else { throw error }
      return stopped(reason)
    }
    var summary = meter.summary()
    if var swap {
      if let reason = try prepareReceipt(of: copy, in: claim, &summary, watch.control, history: history) {
        removeCopy()
        return stopped(reason)
      }
      swap.keepsOldFiles = program.keepsFiles
      // The journal may have begun with the receipt.
      swap.mark = claim.journal.content?.exchange
      try swap.replace(with: copy, support: support, workFolder: claim.path)
      try claim.journal.update { $0.phase = .placing }
    } else {
      // The dead journal is unused now: the store is whole even if it cannot be removed.
      try? removeDeadJournal()
      if !program.keepsFiles { try removeUnreferencedFiles(in: claim.path) }
      writeReceiptOfEditedStore(files, in: claim, &summary, watch, history: history)
    }
    let settled = try settle(claim)
    summary.codedNotes += settled.notes
    return RunPipeline.Left(result: .success(summary), end: settled.end, last: meter.complete())
  }

  /// Opens a copy, which is thrown away if a failure leaves it half done.
  private func connectionToCopy(_ path: String) throws -> StoreConnection {
    let connection = try StoreConnection(path: path, cache: job.cacheSize)
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    try connection.execute("PRAGMA journal_mode = DELETE")
    try connection.undefended { try connection.execute("PRAGMA journal_mode = OFF") }
    try connection.execute("PRAGMA synchronous = OFF")
    return connection
  }

  /// Opens the store with SQLite's own exclusive lock, which lasts as long as the connection.
  ///
  /// Until it ends nothing else in this process may open and close the file: that would end the lock.
  ///
  /// - Throws: `.stopped` (75) when another process has the store open, or has changed it since the plan was made.
  private func exclusiveConnection(_ files: StoreFiles, stamp: StoreFiles.Stamp) throws -> StoreConnection {
    do {
      let connection = try StoreConnection(path: files.path, cache: job.cacheSize)
      try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
      try connection.execute("BEGIN EXCLUSIVE")
      try connection.execute("COMMIT")
      guard try Self.isUnchanged(files.path, since: stamp) else {
        throw StoreLock.busy("migrate '\(job.sourcePath)' in place")
      }
      try connection.execute("PRAGMA journal_mode = DELETE")
      // The journal's removal must be durable before files go that the old rows name.
      try connection.execute("PRAGMA synchronous = EXTRA")
      return connection
    } catch let error as GodwitError where error.code == .stopped {
      throw StoreLock.busy("migrate '\(job.sourcePath)' in place")
    }
  }

  /// By what a look at the name tells, without opening the file.
  private static func isUnchanged(_ path: String, since stamp: StoreFiles.Stamp) throws -> Bool {
    guard let status = try FileStatus.look(following: path) else { return false }
    return try status.size == stamp.store.size && status.modified.seconds == stamp.store.seconds
      && status.modified.nanoseconds == stamp.store.nanoseconds
      && (FileStatus.look(following: path + "-wal")?.size ?? 0) == 0
  }

  /// The one transaction.
  private func edit(
    _ program: any InPlaceProgram, connection: StoreConnection, digest: String, mover: ExternalDataMover,
    files: StoreFiles, stamp: StoreFiles.Stamp, meter: InPlaceSQLMeter, watch: StopCondition,
    progress: (MigrationProgress) -> Void
  ) throws {
    try connection.execute("PRAGMA temp_store = FILE")
    try connection.execute("PRAGMA secure_delete = OFF")
    connection.aliasSourceToMain(named: job.sourcePath)
    watch.control.setInterrupt { connection.interrupt() }
    defer { watch.control.setInterrupt(nil) }
    connection.whileRunning { watch.stopReason != nil }
    defer { connection.whileRunning(stopIf: nil) }
    let run = try program.begin(on: connection, mover: mover, files: files, stamp: stamp)
    let tasks = try run.tasks { [self] in try finish(program, connection: connection, digest: digest) }
    meter.begin(tasks)
    defer { meter.overridden = run.overridden }
    try withoutActuallyEscaping(progress) { progress in
      connection.whileRunning {
        if let part = meter.tick() { progress(part) }
        return watch.stopReason != nil
      }
      defer { connection.whileRunning(stopIf: nil) }
      try connection.transaction {
        for task in tasks {
          try watch.checkpoint()
          if let part = meter.begin(task) { progress(part) }
          try task.body()
          progress(meter.finish(task))
        }
        try watch.checkpoint()
        connection.whileRunning(stopIf: nil)
        watch.control.setInterrupt(nil)
      }
    }
  }

  /// Counters, metadata, what stays of tables that no model names, and triggers.
  private func finish(_ program: any InPlaceProgram, connection: StoreConnection, digest: String) throws {
    let schema = program.destination
    try connection.execute("DELETE FROM main.Z_PRIMARYKEY")
    try EmptyStore.writeEntities(of: schema, on: connection)
    try EmptyStore.updatePrimaryKeyCounters(of: schema, on: connection)
    for (number, highest) in try program.counters() {
      try connection.execute(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = MAX(Z_MAX, ?2) WHERE Z_ENT = ?1", [.int(number), .integer(highest)])
    }
    try job.metadata(after: program.metadata, digest: digest, now: nil, leftOut: program.leftOut).write(to: connection)
    for sql in program.leftOut.statements + program.triggers { try connection.execute(sql) }
  }
}

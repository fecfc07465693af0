import Foundation
import GodwitDisk
import GodwitEngine
import GodwitInPlace
import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitPlatform
import GodwitStore

/// A job in place that needs no new store: see `SchemaOnlyRun` and `InPlaceSQLRun`.
extension MigrationManager {
  static let goesOn = "an unfinished run is resumed"

  // MARK: Plan

  /// The plan of a run that begins, with the way it takes when it is in place.
  ///
  /// - Parameter opening: How long it took to open the source, where the time of a run is to be estimated.
  func plan(_ source: OpenSource, opening: Duration?) throws -> MigrationPlan {
    let planner = try source.planner(job)
    var (plan, program) = try planner.plan(now: Self.now())
    if job.isInPlace, let attached = source.attached {
      plan.describe(try InPlaceStrategy(job: job, source: attached, type: source.files.type) { (plan, program) })
    }
    if let opening { plan.time = estimate(planner.timeEstimate(plan, program), of: plan, opening) }
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
      try source.planner(job).plan(now: Self.now())
    }
    if job.failsOnLoss {
      // A change of definitions counts nothing by itself.
      let losses: LossReport
      if case .sql(let program) = way {
        losses = program.losses
      } else {
        losses = try source.planner(job).plan(now: Self.now()).0.losses
      }
      if let error = job.error(for: losses) { throw error }
    }
    // A change of definitions alone moves no row, and takes the same time for any number of rows.
    if case .sql = way { _ = try SourceCheck(job, files)?.finish { true } }
    return way
  }

  // MARK: Run

  /// Migrates a copy in the work folder, and exchanges it for the store.
  func runCopy(
    _ program: any InPlaceProgram, files: StoreFiles, _ claim: borrowing Claim, _ swap: InPlaceSwap,
    _ watch: StopCondition, progress: (MigrationProgress) -> Void, recordPlaced: (borrowing Claim) throws -> Void
  ) throws -> MigrationSummary {
    let path = claim.path + "/copy.sqlite"
    let support = SupportFolder(ofStoreAt: path)
    let digest = try digest(program, files)
    let stamp = try files.stamp()
    var meter = InPlaceSQLMeter(program, copiedBytes: stamp.store.size, start: watch.start)
    let history = HistoryRecorder(job, folder: nil, begin: watch.start)
    func tell(_ part: MigrationProgress) {
      history.note(part)
      progress(part)
    }
    do {
      try support.remove()
      tell(meter.progress)
      try StoreCloner.make(of: files.path, to: path, isReflinkWanted: job.hooks.makesReflinks) { bytes in
        if let made = meter.copied(bytes) { tell(made) }
        try watch.checkpoint()
      }
      let connection = try StoreConnection(path: path, cache: cacheSize)
      defer { try? connection.close() }
      try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
      try connection.execute("PRAGMA journal_mode = DELETE")
      // A copy that a failure leaves half done is thrown away.
      try connection.undefended { try connection.execute("PRAGMA journal_mode = OFF") }
      try connection.execute("PRAGMA synchronous = OFF")
      try edit(
        program, connection: connection, digest: digest,
        mover: ExternalDataMover(source: SupportFolder(ofStoreAt: job.sourcePath), destination: support), files: files,
        stamp: stamp, meter: &meter, watch: watch, progress: tell)
      try connection.close()
    } catch {
      for suffix in ["", "-journal"] { unlink(path + suffix) }
      guard let reason = Self.stopReason(error, watch) else { throw error }
      return meter.stopped(reason)
    }
    var swap = swap
    swap.keepsOldFiles = program.keepsFiles
    var summary = meter.finished()
    if let reason = try prepareReceipt(of: path, in: claim, &summary, watch.control, history: history) {
      for suffix in ["", "-journal"] { unlink(path + suffix) }
      return meter.stopped(reason)
    }
    // The journal may have begun with the receipt.
    swap.mark = claim.journal.content?.exchange
    try swap.exchange(path, support: support, workFolder: claim.path)
    try recordPlaced(claim)
    summary.codedNotes += try finish(claim)
    progress(meter.complete())
    return summary
  }

  /// Edits the store itself, under SQLite's own journal and locks.
  ///
  /// - Parameter lock: Ours, which SQLite's own would collide with: given up when SQLite takes its own.
  func runDirectly(
    _ program: any InPlaceProgram, files: StoreFiles, lock: StoreLock?, _ claim: borrowing Claim,
    _ watch: StopCondition, progress: (MigrationProgress) -> Void
  ) throws -> MigrationSummary {
    let digest = try digest(program, files)
    let stamp = try files.stamp()
    let support = SupportFolder(ofStoreAt: job.sourcePath)
    var meter = InPlaceSQLMeter(program, copiedBytes: 0, start: watch.start)
    let history = HistoryRecorder(job, folder: nil, begin: watch.start)
    func tell(_ part: MigrationProgress) {
      history.note(part)
      progress(part)
    }
    do {
      tell(meter.progress)
      try noteFiles(program, in: claim.path)
      lock?.release()
      let connection = try exclusiveConnection(files, stamp: stamp)
      defer { try? connection.close() }
      // The journal's removal must be durable before files go that the old rows name.
      try connection.execute("PRAGMA synchronous = EXTRA")
      try edit(
        program, connection: connection, digest: digest,
        mover: ExternalDataMover(source: support, destination: support), files: files, stamp: stamp, meter: &meter,
        watch: watch, progress: tell)
      try connection.close()
    } catch {
      guard let reason = Self.stopReason(error, watch) else { throw error }
      return meter.stopped(reason)
    }
    // The dead journal is unused now: the store is whole even if it cannot be removed.
    try? removeDeadJournal()
    if !program.keepsFiles { try removeUnreferencedFiles(in: claim.path) }
    var summary = meter.finished()
    writeReceiptOfEditedStore(files, in: claim, &summary, watch, history: history)
    summary.codedNotes += try finish(claim)
    progress(meter.complete())
    return summary
  }

  /// Opens the store with SQLite's own exclusive lock, which lasts as long as the connection.
  ///
  /// Until it ends nothing else in this process may open and close the file: that would end the lock.
  ///
  /// - Throws: `.stopped` (75) when another process has the store open, or has changed it since the plan was made.
  private func exclusiveConnection(_ files: StoreFiles, stamp: StoreFiles.Stamp) throws -> StoreConnection {
    do {
      let connection = try StoreConnection(path: files.path, cache: cacheSize)
      try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
      try connection.execute("BEGIN EXCLUSIVE")
      try connection.execute("COMMIT")
      guard Self.isUnchanged(files.path, since: stamp) else {
        throw StoreLock.busy("migrate '\(job.sourcePath)' in place")
      }
      try connection.execute("PRAGMA journal_mode = DELETE")
      return connection
    } catch let error as GodwitError where error.code == .stopped {
      throw StoreLock.busy("migrate '\(job.sourcePath)' in place")
    }
  }

  private func digest(_ program: any InPlaceProgram, _ files: StoreFiles) throws -> String {
    var identity = quickIdentity
    identity.source = try program.contentDigest(files)
    return identity.digest
  }

  private static func stopReason(_ error: any Error, _ watch: StopCondition) -> String? {
    (error as? GodwitError)?.code == .stopped ? watch.stopReason : nil
  }

  /// By what a look at the name tells, without opening the file.
  private static func isUnchanged(_ path: String, since stamp: StoreFiles.Stamp) -> Bool {
    guard let status = FileStatus(following: path) else { return false }
    return status.size == stamp.store.size && status.modified.seconds == stamp.store.seconds
      && status.modified.nanoseconds == stamp.store.nanoseconds && StoreFiles.size(ofFile: path + "-wal") == 0
  }

  /// The one transaction.
  private func edit(
    _ program: any InPlaceProgram, connection: StoreConnection, digest: String, mover: ExternalDataMover,
    files: StoreFiles, stamp: StoreFiles.Stamp, meter: inout InPlaceSQLMeter, watch: StopCondition,
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
    let running = RunningInPlaceMeter(meter)
    defer {
      meter = running.meter
      meter.overridden = run.overridden
    }
    try withoutActuallyEscaping(progress) { progress in
      connection.whileRunning {
        if let part = running.meter.tick() { progress(part) }
        return watch.stopReason != nil
      }
      defer { connection.whileRunning(stopIf: nil) }
      try connection.transaction {
        for task in tasks {
          try watch.checkpoint()
          running.meter.begin(task)
          try task.body()
          progress(running.meter.finish(task))
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
    try writeEntityNumbers(schema, connection)
    try EmptyStore.updatePrimaryKeyCounters(of: schema, on: connection)
    for (number, highest) in try program.counters() {
      try connection.execute(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = MAX(Z_MAX, ?2) WHERE Z_ENT = ?1", [.int(number), .integer(highest)])
    }
    try metadata(after: program.metadata, digest: digest, now: nil, leftOut: program.leftOut).write(to: connection)
    for sql in program.leftOut.statements + program.triggers { try connection.execute(sql) }
  }
}

/// A meter that a callback of SQLite moves on.
private final class RunningInPlaceMeter {
  var meter: InPlaceSQLMeter
  init(_ meter: InPlaceSQLMeter) { self.meter = meter }
}

extension StopCondition {
  /// - Throws: `.stopped` (75) once the run is to stop.
  func checkpoint() throws {
    guard let stopReason else { return }
    throw GodwitError(
      .stopped, "stopped: \(stopReason)", remedy: "run the same command",
      stopReason: GodwitError.StopReason(of: stopReason))
  }
}

import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// Has statements change a store in place, where no new store is needed: see `SchemaOnlyRun` and `InPlaceSQLRun`.
struct StatementsMaker {
  let job: MigrationJob
  let watch: StopCondition

  static let goesOn = "an unfinished run is resumed"

  /// The statements of a run that holds the store's lock.
  ///
  /// - Returns: nil for a store that takes more than statements.
  func program(for files: StoreFiles) throws -> (any InPlaceProgram)? {
    guard files.type == .sqlite else { return nil }
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
    if case .sql = way { _ = try SourceCheck(job, files, job.durability)?.finish { true } }
    switch way {
    case .definitions(let change): return change
    case .sql(let statements): return statements
    case .executor: return nil
    }
  }

  /// Statements, and what they change.
  struct Work {
    let program: any InPlaceProgram
    /// The store.
    let files: StoreFiles
    /// Exchanges a copy; nil to change the store itself, under SQLite's own journal and locks.
    let swap: InPlaceSwap?
    /// Ours, which SQLite's own would collide with: given up when SQLite takes its own.
    let lock: StoreLock?
  }

  /// Has statements change the store itself, or a copy that is exchanged for it.
  func make(
    _ work: Work, in claim: borrowing Claim, progress: (MigrationProgress) -> Void
  ) throws -> RunPipeline.Left {
    let (program, files, swap, lock) = (work.program, work.files, work.swap, work.lock)
    // A killed run left a copy that cannot be resumed.
    if claim.journal.content == nil { try claim.folder.removeContent() }
    try job.checkSpace(program.diskNeed(storeBytes: files.size))
    let copy = claim.path + "/copy.sqlite"
    let live = SupportFolder(ofStoreAt: job.sourcePath)
    let support = swap == nil ? live : SupportFolder(ofStoreAt: copy)
    let digest = JobFingerprint(job).withSource(try program.contentDigest(files)).digest
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
        try EditedStore(job).noteFiles(program, in: claim.path)
        lock?.release()
        connection = try exclusiveConnection(files, stamp: stamp)
      }
      defer { try? connection.close() }
      try edit(
        program, connection: connection, digest: digest,
        mover: ExternalDataMover(job, source: live, destination: support),
        files: files, stamp: stamp, meter: meter, progress: tell)
      try connection.close()
    } catch {
      removeCopy()
      guard (error as? GodwitError)?.code == .stopped, let reason = watch.stopReason else { throw error }
      return stopped(reason)
    }
    var summary = meter.summary()
    if var swap {
      if let reason = try ReceiptPlacement(job).prepare(of: copy, in: claim, &summary, watch.control, history: history)
      {
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
      try? EditedStore(job).removeDeadJournal()
      if !program.keepsFiles { try EditedStore(job).removeUnreferencedFiles(in: claim.path) }
      ReceiptPlacement(job).prepareOfEditedStore(files, in: claim, &summary, watch, history: history)
    }
    let settled = try ReceiptPlacement(job).settle(claim)
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
    files: StoreFiles, stamp: StoreFiles.Stamp, meter: InPlaceSQLMeter,
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

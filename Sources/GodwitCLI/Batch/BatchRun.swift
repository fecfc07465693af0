import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier

/// `godwit run` for a manifest of many stores: each is a job of its own.
///
/// It finds the stores, has `StoreDispatch` run their jobs, and tells what became of them.
struct BatchRun {
  let session: CommandSession
  let loader: JobLoader
  let jobs: Int
  /// The stores to take, with their results in a folder; nil: all of them, and no folder.
  let shard: StoreShard?
  /// Whether stores that have failed run again.
  let retries: Bool
  let mode: ProgressMode
  let isQuiet, verifies: Bool
  let maximumSeconds: Double?
  /// Whether a signal ends the command with 75.
  let isWorker: Bool

  /// The objects that the threads of the jobs need.
  private struct Work: Sendable {
    let control: BatchControl
    let progress: BatchProgress
    let problem: FirstError
    let end: Date?

    var shard: ShardRun?

    /// Writes down what became of a store, or of a place that cannot be looked at.
    func tell(_ index: Int, _ result: StoreResult, _ error: GodwitError? = nil) {
      let told = shard?.record(index, result, error) ?? result
      do { try progress.ended(index, told) } catch { problem.set(GodwitCommand.known(error)) }
      // The table of a shard has rows for what did not go well.
      if shard == nil || told.status != 0 { control.keep(index, told) }
    }
  }

  /// Runs all jobs, prints the table, and calls the commands for the end of the run.
  ///
  /// - Returns: The worst status (`StoreTable.worstFirst`).
  /// - Throws: An error that stops the run before any job begins.
  func run() throws -> Int32 {
    let signals = StopSignals(isWorker: isWorker)
    let start = ContinuousClock.now
    let deadline = maximumSeconds.map { Date(timeIntervalSinceNow: $0) }
    session.diagnostics.logSettings?.job = loader.manifest.job
    let control = BatchControl()
    let progress = BatchProgress(mode: mode, isQuiet: isQuiet, stream: session.output)
    // Before the stores are looked for, which may take long.
    signals.watch(
      stop: { control.stop(reason: $0) }, interrupt: { control.interrupt() }, report: { progress.printNow() })
    try progress.begin()
    let stores: JobLoader.Selection
    var matches: [StorePattern.Match]
    var shardRun: ShardRun?
    var unreadable: [(path: String, error: GodwitError)] = []
    let jobs = OpenFiles.jobs(upTo: jobs) { if !isQuiet { session.warn($0) } }
    do {
      try refuseLostProofs()
      let folder = try shard.map { _ in try ResultsFolder(loader.manifest) }
      if let folder { try ShardRun.check(loader, folder) }
      stores = try loader.selection(
        shard ?? .whole, jobs: jobs, results: shard.flatMap { folder?.resultsPath($0) },
        isStopped: { control.reason != nil }, unreadable: { unreadable.append((path: $0, error: $1)) },
        note: { if !isQuiet { session.warn($0) } })
      matches = stores.matches
      if let shard, let folder {
        let run = try ShardRun(
          shard, folder, loader, stores, &unreadable, retries: retries, verifies: verifies, control: control)
        (shardRun, matches) = (run, run.matches)
      }
      progress.setStores(sizes: matches.map { StoreFiles.size(ofFile: $0.path) } + unreadable.map { _ in 0 })
      if let shardRun { progress.pass(finished: shardRun.passedSizes, failed: shardRun.failedBefore) }
    } catch { return try fail(with: GodwitCommand.known(error), signals) }
    let work = Work(
      control: control, progress: progress, problem: FirstError(), end: deadline, shard: shardRun)
    for (index, place) in unreadable.enumerated() {
      session.write(place.error)
      work.tell(matches.count + index, StoreResult(unreadable: place.path, place.error), place.error)
    }
    dispatch(stores, matches, jobs: jobs, work)
    control.waitForAll()
    signals.finish()
    let ended = control.results
    let seconds = Clock.seconds(since: start)
    if let shardRun {
      shardRun.finish()
      return try finish(shardRun.table(ended), work, seconds: seconds, signals)
    }
    let rows =
      matches.indices.map { ended[$0] ?? .notRun(stores.store(matches[$0])) }
      + ended.filter { $0.key >= matches.count }.values
    return try finish(StoreTable(sorting: rows), work, seconds: seconds, signals)
  }

  /// Tells why no job began.
  private func fail(with error: GodwitError, _ signals: StopSignals) throws -> Int32 {
    signals.finish()
    var error = error
    let isSignal = signals.tell(in: &error)
    // Printed first: commands may take long.
    if !isSignal || !isQuiet { _ = GodwitCommand.report(error, in: session) }
    let record = FailureRecord(error, type: nil, time: Clock.stamp, job: loader.manifest.job)
    if !error.code.isStop, let second = loader.hooks.call(.failure, record, job: loader.manifest.job) {
      session.warn(of: second)
    }
    if mode == .json, !isQuiet { session.output.write(try JSONText.line(ofType: "summary", record) + "\n") }
    if isSignal { signals.dieIfStopped() }
    return error.code.rawValue
  }

  private func refuseLostProofs() throws {
    guard verifies, loader.manifest.destination.existing == .inPlace(keepsOld: false) else { return }
    throw GodwitError(
      .usage, "cannot verify the stores after they have run: they migrate in place and keep no old store",
      remedy: "write `keep-old: true`, or leave out --verify", safe: "nothing was written")
  }

  // MARK: The jobs

  private func dispatch(
    _ stores: JobLoader.Selection, _ matches: [StorePattern.Match], jobs: Int, _ work: Work
  ) {
    let dispatch = StoreDispatch(
      session: session, control: work.control, jobs: jobs, isQuiet: isQuiet, verifies: verifies, end: work.end,
      isWorker: isWorker, isJSON: mode == .json && !isQuiet,
      // One store at a time is through before the next one begins, so that a kill can be told from those before it.
      syncs: jobs > 1 ? OpenFiles.batch(besides: jobs).map { SyncGroup(limit: $0) } : nil,
      update: { work.progress.update($0, percent: $1) },
      ended: { index, result, error in work.tell(index, result, error) })
    guard let shard = work.shard else {
      var next = matches.indices.makeIterator()
      return dispatch.run { next.next().map { ($0, stores.store(matches[$0])) } }
    }
    // A store that may have killed a process comes when all others are through, and alone.
    for (indices, jobs) in [(shard.others, jobs), (shard.suspects, 1)] where work.control.reason == nil {
      var dispatch = dispatch
      dispatch.jobs = jobs
      if indices == shard.suspects { dispatch.syncs = nil }
      var next = indices.makeIterator()
      dispatch.run {
        while shard.mayGoOn, let index = next.next() {
          let store = stores.store(matches[index])
          // If it cannot be discarded, the run says why.
          if shard.isOutdated(index) { _ = try? MigrationManager.discard(destination: store.destination) }
          guard let error = shard.begin(index) else { return (index, store) }
          session.write(error)
          dispatch.ended(index, StoreResult(StorePlace(store), failed: error, seconds: 0), error)
        }
        return nil
      }
      work.control.waitForAll()
    }
  }

  // MARK: The end

  private func finish(_ table: StoreTable, _ work: Work, seconds: Double, _ signals: StopSignals) throws -> Int32 {
    var status = work.shard.map { $0.status(table) } ?? table.status
    for error in work.shard?.errors ?? [] { session.write(error) }
    if let problem = work.problem.error {
      session.write(problem)
      status = StoreTable.worst(of: [status, problem.code.rawValue])
    }
    // A signal that came too late stopped nothing.
    let isSignal = signals.stopSignal != nil && (table.count(.stopped) > 0 || table.count(.notRun) > 0)
    if isSignal, let stopped = signals.status { status = stopped }
    func record() -> BatchSummaryRecord {
      BatchSummaryRecord(
        table, manifest: loader.manifest, status: status, seconds: seconds, peakBytes: ProcessMemory.peakBytes)
    }
    if let failure = callCommands(record(), table) {
      if [0, RunVerb.quarantinedStatus].contains(status) {
        session.write(failure)
        status = failure.code.rawValue
      } else {
        session.warn(of: failure)
      }
    }
    if !isQuiet {
      if mode == .json {
        session.output.write(try JSONText.line(ofType: "summary", record()) + "\n")
      } else {
        if work.shard == nil || !table.results.isEmpty { session.output.write(table.text) }
        session.output.write("\(work.progress.percent) \(table.counts), \(Clock.text(seconds)) s\n")
      }
    }
    if isSignal { signals.dieIfStopped() }
    return status
  }

  /// Calls the commands for the end of the run, once for all stores.
  private func callCommands(_ summary: BatchSummaryRecord, _ table: StoreTable) -> GodwitError? {
    guard summary.outcome != "stopped" else { return nil }
    var summary = summary
    summary.results = table.results
    return loader.hooks.call(summary.outcome == "finished" ? .success : .failure, summary, job: loader.manifest.job)
  }
}

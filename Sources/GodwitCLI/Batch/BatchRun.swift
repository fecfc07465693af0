import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitPlatform
import GodwitStore
import GodwitVerifier

/// `godwit run` for a manifest whose source is a pattern: each store is a job of its own.
///
/// It finds the stores, has `StoreDispatch` run their jobs, and tells what became of them.
struct BatchRun {
  let session: CommandSession
  let loader: JobLoader
  var jobs = 1
  var resultsPath: String?
  var mode = ProgressMode.auto
  var isQuiet = false
  var failsOnLoss = false
  var verifies = false
  var maximumSeconds: Double?
  /// Whether a signal ends the command with 75.
  var isWorker = false

  /// What the threads of the jobs need.
  private struct Work: Sendable {
    let control: BatchControl
    let progress: BatchProgress
    let results: ResultsFile?
    let problem: FirstError
    let end: Date?

    /// Writes down what became of a store, or of a place that cannot be looked at.
    func tell(_ index: Int, _ result: StoreResult) {
      do { try results?.append(BatchProgress.line(result)) } catch { problem.set(GodwitCommand.known(error)) }
      do { try progress.ended(index, result) } catch { problem.set(GodwitCommand.known(error)) }
      control.keep(index, result)
    }
  }

  /// Runs all jobs, prints the table, and calls the commands for the end of the run.
  ///
  /// - Returns: The worst status (`StoreTable.worstFirst`).
  /// - Throws: What keeps any job from beginning.
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
    let stores: [ManifestStore]
    let results: ResultsFile?
    var unreadable: [(path: String, error: GodwitError)] = []
    let jobs = OpenFiles.jobs(upTo: jobs) { if !isQuiet { session.warn($0) } }
    do {
      try refuseLostProofs()
      stores = try loader.stores(
        jobs: jobs, results: resultsPath, isStopped: { control.reason != nil },
        unreadable: { unreadable.append((path: $0, error: $1)) }, note: { if !isQuiet { session.warn($0) } })
      results = try resultsPath.map { try ResultsFile(path: $0, like: stores.map(\.path)) }
    } catch { return try fail(with: GodwitCommand.known(error), signals) }
    progress.setStores(sizes: stores.map { Self.size(of: $0.path) } + unreadable.map { _ in 0 })
    let work = Work(control: control, progress: progress, results: results, problem: FirstError(), end: deadline)
    for (index, place) in unreadable.enumerated() {
      session.write(place.error)
      work.tell(stores.count + index, StoreResult(unreadable: place.path, place.error))
    }
    dispatch(stores, jobs: jobs, work)
    control.waitForAll()
    signals.finish()
    let ended = control.results
    let rows = stores.indices.map { ended[$0] ?? .notRun(stores[$0]) } + ended.filter { $0.key >= stores.count }.values
    return try finish(StoreTable(sorting: rows), work, seconds: Clock.seconds(since: start), signals)
  }

  /// Tells why no job began.
  private func fail(with error: GodwitError, _ signals: StopSignals) throws -> Int32 {
    signals.finish()
    var error = error
    let isSignal = error.code == .stopped && signals.stopSignal != nil
    if isSignal, let status = signals.status {
      (error.code, error.stopReason) = (GodwitError.Code(rawValue: status) ?? .stopped, .signal)
    }
    // Printed first: commands may take long.
    if !isSignal || !isQuiet { _ = GodwitCommand.report(error, in: session) }
    let record = FailureRecord(error, type: nil, time: Clock.stamp, job: loader.manifest.job)
    switch error.code {
    case .stopped, .interrupted, .terminated: break
    default:
      if let second = call(.failure, record, status: error.code.rawValue, outcome: record.outcome) { warn(of: second) }
    }
    if mode == .json, !isQuiet { session.output.write(try JSONText.line(ofType: "summary", record) + "\n") }
    if isSignal { signals.dieIfStopped() }
    return error.code.rawValue
  }

  private func refuseLostProofs() throws {
    guard verifies, case .inPlace(keepOld: false, _) = loader.manifest.destination else { return }
    throw GodwitError(
      .usage, "cannot verify the stores after they have run: they migrate in place and keep no old store",
      remedy: "write `keep-old: true`, or leave out --verify", safe: "nothing was written")
  }

  static func size(of path: String) -> Int64 {
    var info = stat()
    return stat(path, &info) == 0 ? Int64(info.st_size) : 0
  }

  // MARK: The jobs

  private func dispatch(_ stores: [ManifestStore], jobs: Int, _ work: Work) {
    var next = stores.enumerated().makeIterator()
    let dispatch = StoreDispatch(
      session: session, control: work.control, jobs: jobs, isQuiet: isQuiet, failsOnLoss: failsOnLoss,
      verifies: verifies, end: work.end, isWorker: isWorker, isJSON: mode == .json && !isQuiet,
      update: { work.progress.update($0, percent: $1) },
      ended: { index, result, _ in work.tell(index, result) })
    dispatch.run { next.next().map { ($0.offset, $0.element) } }
  }

  // MARK: The end

  private func finish(_ table: StoreTable, _ work: Work, seconds: Double, _ signals: StopSignals) throws -> Int32 {
    var status = table.status
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
        warn(of: failure)
      }
    }
    if !isQuiet {
      if mode == .json {
        session.output.write(try JSONText.line(ofType: "summary", record()) + "\n")
      } else {
        session.output.write(table.text)
        session.output.write("\(work.progress.percent) \(table.counts), \(Clock.text(seconds)) s\n")
      }
    }
    if isSignal { signals.dieIfStopped() }
    return status
  }

  /// Calls the commands for the end of the run, once for all stores.
  private func callCommands(_ summary: BatchSummaryRecord, _ table: StoreTable) -> GodwitError? {
    var summary = summary
    summary.results = table.results
    switch summary.outcome {
    case "finished": return call(.success, summary, status: summary.status, outcome: summary.outcome)
    case "failed": return call(.failure, summary, status: summary.status, outcome: summary.outcome)
    default: return nil
    }
  }

  private func call(_ key: JobHooks.Key, _ record: some Encodable, status: Int32, outcome: String) -> GodwitError? {
    let hooks = loader.hooks
    guard hooks.has(key) else { return nil }
    let variables = [
      "GODWIT_STATUS": "\(status)", "GODWIT_OUTCOME": outcome, "GODWIT_JOB": loader.manifest.job,
    ]
    do {
      try hooks.run(key, summary: try JSONText.line(ofType: "summary", record) + "\n", variables: variables)
      return nil
    } catch { return GodwitCommand.known(error) }
  }

  private func warn(of error: GodwitError) {
    session.warn(error.message + (error.cause.map { ": \($0)" } ?? ""))
  }
}

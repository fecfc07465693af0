import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier

/// `godwit run` for a manifest whose source is a pattern: each store is a job of its own.
///
/// The calling thread finds the stores, loads one job after the other, and gives each to a thread when one of `jobs`
/// places is free. A job that fails leaves the others alone. A stop reaches all of them.
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

  /// A source of this many bytes is migrated again sooner than its checkpoints are synced.
  private static let smallBytes: Int64 = 16 << 20
  private static let timeLimit = StopCondition.timeLimit

  /// What the threads of the jobs need.
  private struct Work: Sendable {
    let session: CommandSession
    let control: BatchControl
    let progress: BatchProgress
    let results: ResultsFile?
    let problem: FirstError
    let verifies: Bool
    let end: Date?

    var secondsLeft: Double? { end.map { max(0, $0.timeIntervalSinceNow) } }
  }

  /// Runs all jobs, prints the table, and calls the commands for the end of the run.
  ///
  /// - Returns: The worst status (`StoreTable.worstFirst`).
  /// - Throws: What keeps any job from beginning.
  func run() throws -> Int32 {
    let signals = StopSignals()
    let start = ContinuousClock.now
    let end = maximumSeconds.map { Date(timeIntervalSinceNow: $0) }
    session.diagnostics.logSettings?.job = loader.manifest.job
    let stores: [ManifestStore]
    let results: ResultsFile?
    do {
      stores = try loader.stores(jobs: jobs)
      try refuseLostProofs()
      results = try resultsPath.map(ResultsFile.init(path:))
    } catch let error as GodwitError {
      // Printed first: commands may take long.
      guard loader.hooks.has(.failure) else { throw error }
      let status = GodwitCommand.report(error, in: session)
      let record = FailureRecord(error, type: nil, time: Clock.stamp, job: loader.manifest.job)
      if let second = call(.failure, record, status: status, outcome: record.outcome) { warn(of: second) }
      if mode == .json, !isQuiet { session.output.write(try JSONText.line(ofType: "summary", record) + "\n") }
      return status
    }
    let control = BatchControl()
    let progress = BatchProgress(
      sizes: stores.map { Self.size(of: $0.path) }, mode: mode, isQuiet: isQuiet, stream: session.output)
    signals.watch(
      stop: { control.stop(reason: $0) }, interrupt: { control.interrupt() }, report: { progress.printNow() })
    try progress.begin()
    let work = Work(
      session: session, control: control, progress: progress, results: results, problem: FirstError(),
      verifies: verifies, end: end)
    dispatch(stores, work)
    control.waitForAll()
    signals.finish()
    let ended = control.results
    let table = StoreTable(results: stores.indices.map { ended[$0] ?? .notRun(stores[$0]) })
    return try finish(table, work, seconds: Clock.seconds(since: start), signals)
  }

  private func refuseLostProofs() throws {
    guard verifies, case .inPlace(keepOld: false, _) = loader.manifest.destination else { return }
    throw GodwitError(
      .usage, "cannot verify the stores after they have run: they migrate in place and keep no old store",
      remedy: "write `keep-old: true`, or leave out --verify", safe: "nothing was written")
  }

  private static func size(of path: String) -> Int64 {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int64 ?? 0
  }

  // MARK: The jobs

  /// Begins one job after the other, as places become free.
  private func dispatch(_ stores: [ManifestStore], _ work: Work) {
    var warned: Set<[String]> = []
    for (index, store) in stores.enumerated() {
      work.control.take(limit: jobs)
      if work.secondsLeft == 0 { work.control.stop(reason: Self.timeLimit) }
      guard work.control.reason == nil else { return work.control.end(index, nil) }
      let begin = ContinuousClock.now
      var job: MigrationJob
      do { job = try store.loader.job() } catch {
        let result = StoreResult(
          StorePlace(store), failed: GodwitCommand.known(error), seconds: Clock.seconds(since: begin))
        Self.tell(index, result, GodwitCommand.known(error), work)
        continue
      }
      if failsOnLoss { job.failsOnLoss = true }
      job.syncsCheckpoints = Self.size(of: store.path) > Self.smallBytes
      // Most stores are of a few versions: one warning for each is enough.
      if !isQuiet, warned.insert(job.steps.flatMap { [$0.sourceModel.name, $0.destinationModel.name] }).inserted {
        session.warnOfReplacedValues(in: job)
        session.warnOfUnconfirmedHashRules(job.destinationModel.unconfirmedHashRules.map(\.description))
      }
      let (ready, place, proof) = (job, StorePlace(store), ProofLoader(store))
      let control = work.control.begin(index)
      let body: @Sendable () -> Void = { Self.migrate(ready, proof, index, place, control, work, since: begin) }
      if jobs == 1 || !WorkerThread.start(body) { body() }
    }
  }

  /// Runs one job, and tells what became of it.
  private static func migrate(
    _ job: MigrationJob, _ loader: ProofLoader, _ index: Int, _ store: StorePlace, _ control: MigrationControl,
    _ work: Work,
    since begin: ContinuousClock.Instant
  ) {
    do {
      let summary = try MigrationManager(job).run(control: control, maximumSeconds: work.secondsLeft) {
        work.progress.update(index, percent: $0.percent * (work.verifies ? 0.5 : 1))
      }
      var result = StoreResult(store, summary, seconds: 0)
      if work.verifies, summary.outcome != .stopped {
        let report = try prove(job, loader, index, control, work)
        result.findings = report.totalFindings
        if !report.isClean {
          (result.outcome, result.status) = (.failed, GodwitError.Code.findings.rawValue)
          work.session.output.write("\(store.path.onOneLine): \(report)\n")
        }
      }
      result.seconds = Clock.seconds(since: begin)
      tell(index, result, nil, work)
    } catch {
      var known = GodwitCommand.known(job.tellingHints(error))
      if known.code == .stopped, let reason = work.control.reason,
        [.signal, .requested].contains(known.stopReason),
        let code = GodwitError.Code(
          rawValue: StopSignals.status(of: reason)), code != .stopped
      {
        (known.code, known.stopReason) = (code, .signal)
      }
      tell(index, StoreResult(store, failed: known, seconds: Clock.seconds(since: begin)), known, work)
    }
  }

  private static func prove(
    _ job: MigrationJob, _ loader: ProofLoader, _ index: Int, _ control: MigrationControl, _ work: Work
  ) throws -> VerificationReport {
    // A store that is replaced is proved against the old one, which has a version of its own.
    let job = job.inPlace == nil ? job : try loader.job()
    var verifier = Verifier(job: job)
    verifier.checkpointFile = URL(filePath: job.destinationPath + Verifier.checkpointSuffix)
    return try verifier.run(control: control, maximumSeconds: work.secondsLeft) { share in
      work.progress.update(index, percent: 50 + share * 50)
    }
  }

  /// Says what became of a store: its error, its line, its line in the file.
  private static func tell(_ index: Int, _ result: StoreResult, _ error: GodwitError?, _ work: Work) {
    if var error, result.outcome == .failed {
      if !error.message.contains(result.store) {
        error.context = ["store '\(result.store.onOneLine)'", error.context].compactMap(\.self).joined(separator: ", ")
      }
      work.session.write(error)
    }
    do { try work.results?.append(BatchProgress.line(result)) } catch { work.problem.set(GodwitCommand.known(error)) }
    do { try work.progress.ended(index, result) } catch { work.problem.set(GodwitCommand.known(error)) }
    work.control.end(index, result)
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
    if isSignal, let number = signals.stopSignal { status = 128 &+ number }
    func record() -> BatchSummaryRecord {
      BatchSummaryRecord(
        table, manifest: loader.manifest, status: status, seconds: seconds, peakBytes: ProcessMemory.peakBytes)
    }
    if let failure = callCommands(record(), table) {
      if status == 0 {
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

import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier

/// Runs the jobs of many stores, so many at the same time.
///
/// The calling thread loads one job after the other, and gives each to a thread when one of `jobs` places is free. A job
/// that fails leaves the others alone. A stop of `control` reaches all of them.
struct StoreDispatch: Sendable {
  let session: CommandSession
  let control: BatchControl
  var jobs = 1
  var isQuiet = false
  /// Whether each store is proved when it is migrated.
  var verifies = false
  /// When all are to stop.
  var end: Date?
  /// Whether a signal ends the command with 75.
  var isWorker = false
  /// Whether the output takes lines of JSON alone.
  var isJSON = false
  /// The room on the disks, which the jobs share.
  var space = SharedSpace()
  /// The syncs that small stores share; nil where each syncs its own files.
  var syncs: SyncGroup?
  /// How far a store came, from 0 to 100.
  let update: @Sendable (_ index: Int, _ percent: Double) -> Void
  /// A store has ended, or was stopped; with its error if it has one. Called by its own thread, before its place is
  /// free.
  let ended: @Sendable (_ index: Int, _ result: StoreResult, _ error: GodwitError?) -> Void

  private var secondsLeft: Double? { end.map { max(0, $0.timeIntervalSinceNow) } }

  /// Begins one job after the other, as places become free. Returns when the last one has begun: see
  /// `BatchControl.waitForAll`.
  ///
  /// - Parameter next: The next store and its number, asked for when there is a place for it; nil when there is none.
  func run(_ next: () -> (index: Int, store: ManifestStore)?) {
    var warned: Set<[String]> = []
    defer { syncs?.close() }
    while true {
      // A batch may be delivered while the next one is collected.
      control.take(limit: jobs, delivered: 2 * (syncs?.limit ?? 1))
      if secondsLeft == 0 { control.stop(reason: StopCondition.timeLimit) }
      guard control.reason == nil, let (index, store) = next() else { return control.end() }
      begin(index, store, &warned)
    }
  }

  /// A source of at most this many bytes is migrated again in less time than its checkpoints take.
  private static let smallBytes: Int64 = 16 << 20

  /// A run that begins again after a kill holds its transaction in memory, so only a small store may have one.
  static func durability(ofSource path: String) -> MigrationJob.Durability {
    StoreFiles.size(ofFile: path) > smallBytes ? .resumable : .restart
  }

  private func begin(_ index: Int, _ store: ManifestStore, _ warned: inout Set<[String]>) {
    let begin = ContinuousClock.now
    var job: MigrationJob
    do { job = try store.loader.job() } catch {
      let known = GodwitCommand.known(error)
      return tell(index, StoreResult(StorePlace(store), failed: known, seconds: Clock.seconds(since: begin)), known)
    }
    job.durability = Self.durability(ofSource: store.path)
    if jobs > 1 {
      job.hooks.space = space.share { [control, end] in
        control.reason ?? (end.map { $0.timeIntervalSinceNow <= 0 } == true ? StopCondition.timeLimit : nil)
      }
    }
    // Most stores are of a few versions: one warning for each is enough.
    if !isQuiet, warned.insert(job.steps.flatMap { [$0.sourceModel.name, $0.destinationModel.name] }).inserted {
      session.warnOfReplacedValues(in: job)
      session.warnOfUnconfirmedHashRules(job.destinationModel.unconfirmedHashRules.map(\.description))
    }
    let (ready, place, proof) = (job, StorePlace(store), ProofLoader(store))
    let control = control.begin(index)
    let tuning = EngineTuning.current
    let body: @Sendable (SyncGroup.Member?) -> Void = { sync in
      var job = ready
      job.hooks.sync = sync
      EngineTuning.$current.withValue(tuning) { migrate(job, proof, index, place, control, since: begin) }
      sync?.end()
    }
    let sync = job.durability == .restart ? syncs?.begin { [self] in self.control.deliver(index) } : nil
    if jobs == 1, syncs == nil { return body(nil) }
    guard !WorkerThread.start({ body(sync) }) else { return }
    // The calling thread is needed to begin the stores that this one would wait for.
    sync?.end()
    body(nil)
  }

  /// Runs one job, and tells what became of it.
  private func migrate(
    _ job: MigrationJob, _ loader: ProofLoader, _ index: Int, _ store: StorePlace, _ control: MigrationControl,
    since begin: ContinuousClock.Instant
  ) {
    do {
      var manager = MigrationManager(job)
      manager.isProvedAfter = verifies
      let summary = try run(manager, index, control)
      if isQuiet { session.warnOfMissingReceipt(summary.codedNotes, of: store.path) }
      var result = StoreResult(store, summary, seconds: 0)
      if isWorker, result.outcome == .stopped { result.status = GodwitError.Code.stopped.rawValue }
      if verifies, let note = job.noteOfNoProof(after: summary) {
        (result.notes, result.noteCodes) = ((result.notes ?? []) + [note.text], (result.noteCodes ?? []) + [note.code])
      } else if verifies, summary.outcome != .stopped {
        self.control.resume(index, limit: jobs)
        let report = try prove(job, loader, index, control)
        result.findings = report.totalFindings
        if !report.isClean {
          (result.outcome, result.status) = (.failed, GodwitError.Code.findings.rawValue)
          try tell(report, of: store)
        } else if summary.outcome == .alreadyFinished {
          try manager.noteSuccess()
        }
      }
      result.seconds = Clock.seconds(since: begin)
      tell(index, result, nil)
    } catch {
      var known = GodwitCommand.known(job.tellingHints(error))
      if known.code == .stopped, let reason = self.control.reason, [.signal, .requested].contains(known.stopReason) {
        let code = StopSignals.code(of: reason)
        if code != .stopped { (known.code, known.stopReason) = (isWorker ? .stopped : code, .signal) }
      }
      tell(index, StoreResult(store, failed: known, seconds: Clock.seconds(since: begin)), known)
    }
  }

  private func run(
    _ manager: MigrationManager, _ index: Int, _ control: MigrationControl
  ) throws -> MigrationSummary {
    // The job's claim of space ends here: its written files already lower the free space.
    defer { manager.job.hooks.space?.end() }
    return try manager.run(control: control, maximumSeconds: secondsLeft) {
      update(index, $0.percent * (verifies ? 0.5 : 1))
    }
  }

  /// Prints what differs.
  private func tell(_ report: VerificationReport, of store: StorePlace) throws {
    guard isJSON else { return session.output.write("\(store.path.onOneLine): \(report.overview)\n") }
    let record = VerificationRecord(report: report, time: Clock.stamp, store: store.path)
    session.output.write(try JSONText.line(ofType: "verify", record) + "\n")
  }

  private func prove(
    _ job: MigrationJob, _ loader: ProofLoader, _ index: Int, _ control: MigrationControl
  ) throws -> VerificationReport {
    // A store that is replaced is proved against the old one, which has a version of its own.
    let job = !job.isInPlace ? job : try loader.job()
    var verifier = Verifier(job: job)
    verifier.checkpointFile = URL(filePath: job.destinationPath + MigrationJob.verificationSuffix)
    return try verifier.run(control: control, maximumSeconds: secondsLeft) { share in
      update(index, 50 + share * 50)
    }
  }

  /// Says what became of a store: its error, and all else by `ended`.
  private func tell(_ index: Int, _ result: StoreResult, _ error: GodwitError?) {
    // The store stopped for a reason of its own, not because all stores are to stop.
    let isOwnStop = [.locked, .inUse, .sourceChanged].contains(error?.stopReason)
    if result.outcome == .failed || isOwnStop, let error { session.write(error.naming(store: result.store)) }
    ended(index, result, error)
    control.end(index)
  }
}

extension MigrationJob {
  /// Why there is nothing to compare a store with; nil where it can be proved.
  ///
  /// A store that had the version before any run was never replaced. The old one of another may have been removed since.
  func noteOfNoProof(after summary: MigrationSummary) -> MigrationNote? {
    guard isInPlace, summary.outcome == .alreadyFinished else { return nil }
    let old = Self.oldPath(of: sourcePath)
    guard !FileManager.default.fileExists(atPath: old) else { return nil }
    return MigrationNote(.notProved, "not proved: there is no old store, '\(old)', to compare with")
  }
}

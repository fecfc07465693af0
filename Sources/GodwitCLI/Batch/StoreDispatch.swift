import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier

/// Runs the jobs of many stores, so many at the same time: what `run` with a pattern and `fleet run` share.
///
/// The calling thread loads one job after the other, and gives each to a thread when one of `jobs` places is free. A job
/// that fails leaves the others alone. A stop of `control` reaches all of them.
struct StoreDispatch: Sendable {
  let session: CommandSession
  let control: BatchControl
  var jobs = 1
  var isQuiet = false
  var failsOnLoss = false
  /// Whether each store is proved when it is migrated.
  var verifies = false
  /// When all are to stop.
  var end: Date?
  /// Whether a signal ends the command with 75.
  var isWorker = false
  /// Whether the output takes lines of text, and not of JSON alone.
  var printsText = true
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
  /// - Throws: What `next` throws.
  func run(_ next: () throws -> (index: Int, store: ManifestStore)?) rethrows {
    var warned: Set<[String]> = []
    while true {
      control.take(limit: jobs)
      if secondsLeft == 0 { control.stop(reason: StopCondition.timeLimit) }
      guard control.reason == nil else { return control.end() }
      let taken: (index: Int, store: ManifestStore)?
      do { taken = try next() } catch {
        control.end()
        throw error
      }
      guard let (index, store) = taken else { return control.end() }
      begin(index, store, &warned)
    }
  }

  private func begin(_ index: Int, _ store: ManifestStore, _ warned: inout Set<[String]>) {
    let begin = ContinuousClock.now
    var job: MigrationJob
    do { job = try store.loader.job() } catch {
      let known = GodwitCommand.known(error)
      return tell(index, StoreResult(StorePlace(store), failed: known, seconds: Clock.seconds(since: begin)), known)
    }
    if failsOnLoss { job.failsOnLoss = true }
    // Most stores are of a few versions: one warning for each is enough.
    if !isQuiet, warned.insert(job.steps.flatMap { [$0.sourceModel.name, $0.destinationModel.name] }).inserted {
      session.warnOfReplacedValues(in: job)
      session.warnOfUnconfirmedHashRules(job.destinationModel.unconfirmedHashRules.map(\.description))
    }
    let (ready, place, proof) = (job, StorePlace(store), ProofLoader(store))
    let control = control.begin(index)
    let body: @Sendable () -> Void = { migrate(ready, proof, index, place, control, since: begin) }
    if jobs == 1 || !WorkerThread.start(body) { body() }
  }

  /// Runs one job, and tells what became of it.
  private func migrate(
    _ job: MigrationJob, _ loader: ProofLoader, _ index: Int, _ store: StorePlace, _ control: MigrationControl,
    since begin: ContinuousClock.Instant
  ) {
    do {
      let summary = try MigrationManager(job).run(control: control, maximumSeconds: secondsLeft) {
        update(index, $0.percent * (verifies ? 0.5 : 1))
      }
      var result = StoreResult(store, summary, seconds: 0)
      if isWorker, result.outcome == .stopped { result.status = GodwitError.Code.stopped.rawValue }
      if verifies, summary.outcome != .stopped, !isProofless(job, summary) {
        let report = try prove(job, loader, index, control)
        result.findings = report.totalFindings
        if !report.isClean {
          (result.outcome, result.status) = (.failed, GodwitError.Code.findings.rawValue)
          if printsText { session.output.write("\(store.path.onOneLine): \(report)\n") }
        }
      }
      result.seconds = Clock.seconds(since: begin)
      tell(index, result, nil)
    } catch {
      var known = GodwitCommand.known(job.tellingHints(error))
      if known.code == .stopped, let reason = self.control.reason, [.signal, .requested].contains(known.stopReason) {
        let status = isWorker ? GodwitError.Code.stopped.rawValue : StopSignals.status(of: reason)
        if let code = GodwitError.Code(rawValue: status), StopSignals.status(of: reason) != 75 {
          (known.code, known.stopReason) = (code, .signal)
        }
      }
      tell(index, StoreResult(store, failed: known, seconds: Clock.seconds(since: begin)), known)
    }
  }

  /// Whether there is nothing to compare a store with: it had the version before, or its old one was removed.
  private func isProofless(_ job: MigrationJob, _ summary: MigrationSummary) -> Bool {
    job.inPlace != nil && summary.outcome == .alreadyFinished
      && !FileManager.default.fileExists(atPath: MigrationJob.InPlace.oldPath(of: job.sourcePath))
  }

  private func prove(
    _ job: MigrationJob, _ loader: ProofLoader, _ index: Int, _ control: MigrationControl
  ) throws -> VerificationReport {
    // A store that is replaced is proved against the old one, which has a version of its own.
    let job = job.inPlace == nil ? job : try loader.job()
    var verifier = Verifier(job: job)
    verifier.checkpointFile = URL(filePath: job.destinationPath + Verifier.checkpointSuffix)
    return try verifier.run(control: control, maximumSeconds: secondsLeft) { share in
      update(index, 50 + share * 50)
    }
  }

  /// Says what became of a store: its error, and all else by `ended`.
  private func tell(_ index: Int, _ result: StoreResult, _ error: GodwitError?) {
    // Of its own, and not because all are to stop.
    let isOwnStop = [.locked, .inUse, .sourceChanged].contains(error?.stopReason)
    if result.outcome == .failed || isOwnStop, var error {
      if !error.message.contains(result.store) {
        error.context = ["store '\(result.store.onOneLine)'", error.context].compactMap(\.self).joined(separator: ", ")
      }
      session.write(error)
    }
    ended(index, result, error)
    control.end(index)
  }
}

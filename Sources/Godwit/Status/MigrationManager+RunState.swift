import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

/// The state of the last run for an outside observer: see `MigrationStatus.Run`.
extension MigrationManager {
  // MARK: Recording

  /// Records that a run stopped at a checkpoint. A failure to record it never fails the run.
  func noteEnd(_ summary: MigrationSummary, _ watch: StopCondition) {
    let code = Self.signal(summary.reason) ?? .stopped
    recordEnd(watch) { holder in
      RunRecord(
        holder: holder, ended: Date(), isStopped: true, status: code.rawValue, code: code.name,
        reason: summary.reason ?? "on request", reasonCode: summary.stopReason?.rawValue)
    }
  }

  /// Records how a run failed, or by what it was stopped.
  func noteEnd(failedWith error: GodwitError, _ watch: StopCondition) {
    // Then another run has the folder.
    guard error.stopReason != .locked else { return }
    // The process ends by the signal, whatever the statement said that it interrupted.
    let code = error.stopReason == .signal ? Self.signal(watch.control.reason) ?? error.code : error.code
    recordEnd(watch) { holder in
      RunRecord(
        holder: holder, ended: Date(), isStopped: error.code == .stopped, status: code.rawValue, code: code.name,
        reason: nil, reasonCode: error.stopReason?.rawValue, message: error.line, remedy: error.remedy)
    }
  }

  /// A run that has left nothing to resume leaves no record.
  private func recordEnd(_ watch: StopCondition, _ record: (LockHolder) -> RunRecord) {
    WorkFolder.recordEnd(inFolder: job.workPath, runSince: watch.start) { holder in
      guard var journal = try WorkJournal.read(in: job.workPath) else { return }
      journal.lastRun = record(holder)
      try journal.write(in: job.workPath)
    }
  }

  /// How a process ends that stopped for a signal.
  private static func signal(_ reason: String?) -> GodwitError.Code? {
    switch reason {
    case "SIGINT"?: .interrupted
    case "SIGTERM"?: .terminated
    default: nil
    }
  }

  // MARK: Reading

  /// The status with what became of the last run, and when the job last succeeded.
  func withRun(_ status: MigrationStatus) throws -> MigrationStatus {
    var status = status
    let lock = try WorkFolder.lockState(ofFolder: job.workPath)
    switch (lock, status.state) {
    case (.held(let holder), _): status.run = MigrationStatus.Run(.running, isResumable: true).of(holder)
    case (.none, .finished), (.free, .finished): status.run = .init(.finished, isResumable: false)
    case (.none, _): break
    case (.free(let holder), _):
      status.run = try ended(holder)
      let again = try startsAgain(status)
      status.run?.startsAgain = again
    }
    if status.run?.state != .running { status.secondsLeft = nil }
    // Findings count like a run that failed: no success is known since.
    status.verifyFindings = try job.isDestinationTaken ? KnownFindings.count(ofStoreAt: job.destinationPath) : nil
    if status.verifyFindings == nil { status.lastSuccess = try lastSuccess(of: status.state) }
    return status
  }

  /// How the run ended that held the lock last.
  private func ended(_ holder: LockHolder?) throws -> MigrationStatus.Run {
    // The folder may be another user's.
    guard try WorkFolder.isOwn(job.workPath),
      let record = try Definite.answer({ try WorkJournal.read(in: job.workPath)?.lastRun }) ?? nil,
      record.holder == holder
    else {
      return MigrationStatus.Run(.stale, isResumable: true).of(holder)
    }
    let fixable = [GodwitError.Code.inputOutput, .permission].map(\.rawValue)
    let isResumable =
      record.isStopped
      ? job.replacesEarlierResult || record.reasonCode != GodwitError.StopReason.sourceChanged.rawValue
      : fixable.contains(record.status)
    var run = MigrationStatus.Run(record.isStopped ? .stopped : .failed, isResumable: isResumable).of(holder)
    run.ended = LockHolder.time(record.ended)
    (run.status, run.reason, run.reasonCode) = (record.status, record.reason, record.reasonCode)
    (run.message, run.remedy) = (record.message, record.remedy)
    return run
  }

  /// When the destination was made, or a run found last that nothing had changed; nil if the job did not make it.
  private func lastSuccess(of state: MigrationStatus.State) throws -> Date? {
    guard try !job.isInPlace && job.isDestinationTaken else { return nil }
    guard let receipt = try Definite.answer(replaceable) else {
      return state == .finished ? try Self.timeOfChange(job.destinationPath).map { min($0, Date()) } : nil
    }
    let made = Receipt.date(receipt.finished)
    guard job.replacesEarlierResult, let asked = try Self.timeOfChange(knownReceiptPath()) else { return made }
    // Clamp to now: a future mtime would never expire.
    return min(max(made ?? asked, asked), Date())
  }

  static func timeOfChange(_ path: String) throws -> Date? {
    try FileStatus.look(following: path).map { Date(timeIntervalSince1970: $0.modified.interval) }
  }
}

extension MigrationStatus.Run {
  /// The run with its process.
  fileprivate func of(_ holder: LockHolder?) -> Self {
    var run = self
    (run.pid, run.host, run.since) = (holder?.pid, holder?.host, holder.flatMap { LockHolder.time($0.since) })
    return run
  }
}

extension Receipt {
  /// A time that a receipt has; nil for a text that is none.
  static func date(_ text: String) -> Date? { try? Date(text, strategy: .iso8601) }
}

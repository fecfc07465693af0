import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

/// The state of a job for an outside observer: its durable work, and what became of its last run.
struct RunStatus {
  let job: MigrationJob

  init(_ job: MigrationJob) { self.job = job }

  /// The durable work, and the state of the last run.
  ///
  /// - Parameter comparesSource: Whether all of the source is read to tell whether it has changed.
  func status(comparesSource: Bool) throws -> MigrationStatus {
    do { return try withRun(durableStatus(comparesSource: comparesSource)) } catch let error as GodwitError
      where error.code == .stopped
    {
      // A run that commits at this moment lets nobody read its ledger. The status can still say that it is at work.
      guard case .held = try WorkFolder.lockState(ofFolder: job.workPath) else { throw error }
      return try withRun(MigrationStatus(state: .unfinished, job: job.name))
    } catch let error as GodwitError { throw job.tellingDiscard(error) }
  }

  // MARK: The last run

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
      let again = try UnfinishedWork(job).startsAgain(status)
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
    guard let receipt = try Definite.answer(DestinationLook(job).replaceable) else {
      return state == .finished ? try DestinationLook.timeOfChange(job.destinationPath).map { min($0, Date()) } : nil
    }
    let made = Receipt.date(receipt.finished)
    guard job.replacesEarlierResult,
      let asked = try DestinationLook.timeOfChange(DestinationLook(job).knownReceiptPath())
    else { return made }
    // Clamp to now: a future mtime would never expire.
    return min(max(made ?? asked, asked), Date())
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

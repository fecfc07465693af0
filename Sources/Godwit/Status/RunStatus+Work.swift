import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The durable work of a job.
extension RunStatus {
  func durableStatus(comparesSource: Bool) throws -> MigrationStatus {
    // Without a journal the next run begins again.
    if let journal = try WorkJournal.read(in: job.workPath),
      let status = try statusOfWork(journal, comparesSource: comparesSource)
    {
      return try withDelivery(status)
    }
    // The ledger is missing between two rounds of a run with a quarantine.
    if try !job.isDestinationTaken && RejectionRecord.exists(in: job.workPath) {
      return try withDelivery(MigrationStatus(state: .unfinished, job: job.name))
    }
    func status(_ state: MigrationStatus.State) -> MigrationStatus { MigrationStatus(state: state, job: job.name) }
    switch try DestinationLook(job).look(comparesSource ? .content : .times) {
    case .current: return status(.finished)
    case .absent:
      // A run in place by SQL or by definition has no ledger, and neither has any run before its first chunk.
      return status(try UnfinishedWork(job).hasRunWithoutWork() ? .unfinished : .notStarted)
    case .outdated(let earlier): return try outdated(earlier, comparesSource: comparesSource)
    case .foreign: return status(.foreign)
    }
  }

  /// The status of an earlier result, by what the next run makes of it.
  private func outdated(_ earlier: EarlierResult, comparesSource: Bool) throws -> MigrationStatus {
    func status(_ state: MigrationStatus.State, _ changes: [MigrationStatus.Change]) -> MigrationStatus {
      var status = MigrationStatus(state: state, job: job.name)
      status.changes = changes
      return status
    }
    // A run replaces a store by its receipt alone.
    guard job.replacesEarlierResult, earlier.receipt != nil else { return status(.foreign, earlier.changes) }
    let obstacle = try DestinationFindings(job).obstacles.first { $0.failure == .cannotCreate }
    if let obstacle {
      return status(.foreign, earlier.changes + (obstacle.code == .destinationChanged ? [.destination] : []))
    }
    guard !comparesSource else { return status(.outdated, earlier.changes) }
    // The next run looks whether the content of the source has changed.
    let changes = earlier.changes.filter { $0 != .source }
    return status(changes.isEmpty ? .finished : .outdated, changes)
  }

  /// The status by what the work folder holds; nil without work to resume.
  private func statusOfWork(_ journal: WorkJournal, comparesSource: Bool) throws -> MigrationStatus? {
    // A run that died between the link and the removal of its folder is finished but for that folder.
    guard try journal.phase == .making || !DestinationLook(job).look(comparesSource ? .content : .times).isCurrent
    else { return nil }
    if job.isStepped, let status = try statusOfSteps(journal) { return status }
    if let ledger = try Ledger.opened(in: job.workPath) {
      defer { try? ledger.connection.close() }
      return try self.status(by: ledger)
    }
    guard !job.isStepped, job.owns(journal.owner), journal.phase != .making || journal.outcome != nil,
      try WorkFolder.exists(job.lastStepFolder(in: job.workPath).storePath)
    else { return nil }
    return MigrationStatus(state: .unfinished, job: job.name, percent: 100)
  }

  /// The status by a ledger: its chunks, and how fast they came.
  private func status(by ledger: Ledger) throws -> MigrationStatus {
    let (chunks, done) = (try ledger.chunks(), try ledger.done())
    var status = MigrationStatus(state: .unfinished, job: job.name, chunks: chunks, done: done)
    status.take(try ledger.knownPace(), of: chunks, done: chunks.filter { done.contains($0.id) })
    return status
  }

  /// The status as progress shows it: with the share that the writing of an atomic store has.
  private func withDelivery(_ status: MigrationStatus) throws -> MigrationStatus {
    var status = status
    let before = try RejectionRecord.percentBefore(readingIn: job.workPath)
    if before > 0, status.percent < 100 { status.percent = before + (100 - before) * status.percent / 100 }
    guard job.destinationType.isAtomic else { return status }
    status.percent = AtomicStoreMeter.percent(
      ofChunks: status.percent, shown: try ShownProgress.percent(in: job.workPath))
    return status
  }

  // MARK: Several steps

  /// nil without steps.
  private func statusOfSteps(_ journal: WorkJournal) throws -> MigrationStatus? {
    guard let step = journal.steps?.current else { return nil }
    let current = StepFolder(of: step, in: job.workPath)
    let isLast = step.count >= job.steps.count
    var status: MigrationStatus
    if let ledger = try Ledger.opened(in: current.path) {
      defer { try? ledger.connection.close() }
      status = try self.status(by: ledger)
      // The rows of later steps are not known.
      if !isLast { status.secondsLeft = nil }
    } else {
      // The ledger goes when the step's store is complete. A store that is appended to names its jobs from the start.
      let isWritten = isLast && job.appends ? journal.phase != .making : try Self.isWritten(current, isLast: isLast)
      status = MigrationStatus(state: .unfinished, job: job.name, percent: isWritten ? 100 : 0)
    }
    status.step = min(step.count, job.steps.count)
    status.steps = job.steps.count
    status.percent = min(100, (Double(step.number) * 100 + status.percent) / Double(job.steps.count))
    return status
  }

  /// Whether the store of a step is complete. The step is recorded later, when its hook `after` is done too.
  private static func isWritten(_ folder: StepFolder, isLast: Bool) throws -> Bool {
    let metadata = try StoreMetadata.ifStore(at: folder.storePath)
    return metadata?.applicationValues[isLast ? StoreMetadata.Key.jobs : StoreMetadata.Key.step] != nil
  }
}

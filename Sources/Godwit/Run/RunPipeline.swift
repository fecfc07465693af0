import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// A run from its request to the release of its work folder.
///
/// 1. Claim: the work folder with its lock. The exchange of an earlier run is finished or reverted.
/// 2. Make: the store of each step in the work folder, chunk by chunk; or one transaction in the store itself.
/// 3. Seal: the store is written as it will be, and its receipt is counted.
/// 4. Deliver: the store becomes the destination in one rename or link.
/// 5. Place: the receipt follows.
/// 6. Release: the work folder goes.
struct RunPipeline {
  let request: RunRequest
  let watch: StopCondition

  private var job: MigrationJob { request.job }

  /// The result of the look at the destination, before the store is made.
  enum Beginning {
    /// The job is done.
    case finished(MigrationSummary, Claim.End)
    /// The store is to be made.
    case make(SourceFiles, notes: [MigrationNote] = [])
    /// Statements change the store itself, or a copy of it.
    case edit(StatementsMaker.Work)
  }

  /// The finished store.
  struct Made {
    /// The folder of the last step.
    let folder: StepFolder
    /// The file that becomes the destination.
    let file: String
    /// The files of the source.
    let source: StoreFiles
  }

  /// The rest of the work in the folder.
  struct Left {
    var result: Result<MigrationSummary, any Error>
    var end: Claim.End
    /// Shown when the folder is gone.
    var last: MigrationProgress?
  }

  func run(progress: (MigrationProgress) -> Void) throws -> MigrationSummary {
    try RunCheck.passPlaces(job)
    let delivery = delivery()
    // It may hold the lock of the destination.
    defer { withExtendedLifetime(delivery) {} }
    if let summary = try delivery.finished() { return summary }
    if job.merged == nil { try AcceptedLossesCheck(job).refuseUnknown() }
    let claim = try Claim(job, request.durability)
    let left = work(delivery, claim, progress: progress)
    try claim.end(left.end)
    if let last = left.last { progress(last) }
    return try left.result.get()
  }

  private func work(
    _ delivery: any Delivery, _ claim: borrowing Claim, progress: (MigrationProgress) -> Void
  ) -> Left {
    do {
      switch try delivery.begin(claim) {
      case .finished(let summary, let end): return Left(result: .success(summary), end: end)
      case .edit(let work):
        return try StatementsMaker(job: job, watch: watch).make(work, in: claim, progress: progress)
      case .make(let source, let notes):
        try claim.begin(job)
        return make(source, delivery, claim, notes, progress: progress)
      }
    } catch { return Left(result: .failure(error), end: end(ofUnbegun: claim, delivery)) }
  }

  /// The end of a run that failed before it made anything. A folder stays if something of it can be resumed, and as long
  /// as nobody can tell whether it has begun an exchange.
  private func end(ofUnbegun claim: borrowing Claim, _ delivery: any Delivery) -> Claim.End {
    guard !claim.journal.mayBeResumable else { return .kept }
    do { return try delivery.hasBegunExchange(claim) ? .kept : .undone } catch { return .kept }
  }

  private func delivery() -> any Delivery {
    switch request.delivery {
    case .create: CreateDelivery(job: job, watch: watch)
    case .replace(let keepsOld): ReplaceDelivery(request, watch: watch, keepsOld: keepsOld)
    case .append: AppendDelivery(job: job)
    case .inPlace(let keepsOld): InPlaceDelivery(request, watch: watch, keepsOld: keepsOld)
    }
  }

  /// Makes the store in the work folder, delivers it and places its receipt.
  ///
  /// - Parameter notes: Added to the summary of a run that finishes the job.
  private func make(
    _ source: SourceFiles, _ delivery: any Delivery, _ claim: borrowing Claim, _ notes: [MigrationNote],
    progress: (MigrationProgress) -> Void
  ) -> Left {
    let durability = claim.journal.durability
    let control = watch.control
    var check: SourceCheck?
    defer { check?.abandon() }
    var shown = RunProgress(job, in: claim.path, isDurable: claim.journal.isDurable, begin: watch.start)
    var end = claim.journal.isDurable ? Claim.End.kept : .undone
    do {
      check = durability.needsNoThread(reading: source.files) ? nil : try SourceCheck(job, source.files, durability)
      try UnfinishedWork(job).refuseOther(in: claim)
      // The first of several is refused where its mapping is resolved.
      if job.missingPolicies.count > 1, let error = job.missingPolicyError { throw error }
      try delivery.prepare(claim)
      if try !claim.journal.isResumable { try claim.journal.update { $0.owner = job.owner } }
      guard let (source, merged) = try merged(source, in: claim, progress: { progress(shown.part($0)) }) else {
        shown.history.end(.stopped)
        return Left(result: .success(MigrationSummary(outcome: .stopped, reason: control.reason)), end: end)
      }
      var (summary, last) = try StepsMaker(request: request, watch: watch).make(in: claim, source: source) {
        progress(shown.part($0))
      }
      summary.codedNotes = merged + summary.codedNotes
      if summary.outcome == .finished, try check?.finish(while: { control.reason == nil }) == false {
        (summary.outcome, summary.reason) = (.stopped, control.reason)
      }
      if summary.outcome == .finished {
        let folder = job.lastStepFolder(in: claim.path)
        let file = try file(of: folder.storePath, in: claim.path) { objects, total in
          if let part = shown.wrote(objects, of: total) { progress(part) }
        }
        summary.seconds = Date().timeIntervalSince(watch.start)
        var reason = file == nil ? control.reason : nil
        if let file {
          reason = try ReceiptPlacement(job).prepare(of: file, in: claim, &summary, control, history: shown.history)
          if reason == nil {
            let made = Made(folder: folder, file: file, source: source.files)
            summary.codedNotes += try delivery.deliver(made, claim)
            claim.journal.delivered()
            let settled = try ReceiptPlacement(job).settle(claim)
            summary.codedNotes += settled.notes + notes
            end = settled.end
            last = shown.complete(last)
          }
        }
        if let reason { (summary.outcome, summary.reason) = (.stopped, reason) }
      }
      summary.seconds = Date().timeIntervalSince(watch.start)
      summary.peakBytes = ProcessMemory.peakBytes
      if summary.outcome == .stopped {
        shown.history.end(.stopped)
        last = nil
      }
      return Left(result: .success(summary), end: end, last: last)
    } catch {
      if claim.journal.mayBeResumable { shown.history.end(.failed) }
      return Left(result: .failure(SourceCheck.cause(of: error, job, check)), end: .failed)
    }
  }

  /// The source, with its parts in one store where it has several, and notes on these.
  ///
  /// - Returns: nil when the run is stopped meanwhile.
  private func merged(
    _ source: SourceFiles, in claim: borrowing Claim, progress: (MigrationProgress) -> Void
  ) throws -> (SourceFiles, [MigrationNote])? {
    guard job.merged != nil else { return (source, []) }
    guard let record = try RunMerge(job: job, watch: watch).make(in: claim, progress: progress) else { return nil }
    // Tables that no model names are known only now.
    try AcceptedLossesCheck(job).refuseUnknown()
    return (source.merged(at: record.stamp), record.notes)
  }

  /// The file that becomes the destination: the finished store of the work folder, or what is written of it.
  ///
  /// An atomic store is written inside the folder. A run that dies or stops meanwhile writes it again: the finished store
  /// is still there, and names the job in its metadata. A time limit does not stop the writing: the next run would
  /// start over, and never get further.
  ///
  /// - Parameter progress: Called while an atomic store is written, with the number of objects in it and that of all.
  /// - Returns: nil when the run was stopped meanwhile.
  private func file(of store: String, in folder: String, progress: (Int64, Int64) -> Void) throws -> String? {
    guard job.destinationType.isAtomic else { return store }
    let path = folder + "/store.\(job.destinationType.manifestName)"
    do {
      try AtomicStoreWriter(
        readingStoreAt: store, model: job.destinationModel, as: job.destinationType, name: job.destinationPath
      ).write(to: path) {
        progress($0, $1)
        try watch.control.checkpoint()
      }
    } catch let error as GodwitError where error.code == .stopped {
      guard watch.control.reason != nil else { throw error }
      return nil
    }
    return path
  }
}

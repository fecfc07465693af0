import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// How a finished store becomes the destination.
protocol Delivery {
  var job: MigrationJob { get }

  /// The summary of a job that is done; nil for a job that has work to do. The run has no claim yet: a delivery that ends
  /// the work of an earlier run claims the folder for that.
  func finished() throws -> MigrationSummary?

  /// Finishes or reverts the exchange of an earlier run, locks the destination and checks it.
  func begin(_ claim: borrowing Claim) throws -> RunPipeline.Beginning

  /// Last checks before the store is made.
  func prepare(_ claim: borrowing Claim) throws

  /// Puts the finished store in its place.
  ///
  /// - Returns: Notes for the summary.
  func deliver(_ made: RunPipeline.Made, _ claim: borrowing Claim) throws -> [MigrationNote]

  /// Whether files beside the destination must be removed before the folder may go.
  func hasBegunExchange(_ claim: borrowing Claim) throws -> Bool
}

extension Delivery {
  func prepare(_ claim: borrowing Claim) throws {}

  func hasBegunExchange(_ claim: borrowing Claim) throws -> Bool { false }

  /// The exchange of the destination, which goes on where an earlier run has begun it.
  func swap(_ claim: borrowing Claim, keepsOld: Bool) -> InPlaceSwap {
    var swap = InPlaceSwap(store: job.destinationPath, keepsOld: keepsOld)
    swap.makesHardLinks = job.hooks.makesHardLinks
    let journal = claim.journal
    swap.mark = journal.content?.exchange
    swap.record = { mark in
      try journal.publish {
        $0.phase = .exchanging
        $0.exchange = mark
      }
    }
    swap.before = job.hooks.beforeSwapStep
    return swap
  }

  /// Finishes the exchange of an earlier run, or reverts it. The next run exchanges again.
  ///
  /// - Returns: Whether the store in place came out of this work folder.
  func finishExchange(_ claim: borrowing Claim) throws -> Bool {
    let swap = swap(claim, keepsOld: true)
    guard claim.journal.content?.phase != .placing else {
      // A power cut may have brought back files that were removed. A store that was put here since has files of its own.
      if try swap.hasExchanged() { try swap.finish(workFolder: claim.path) }
      return true
    }
    if try swap.finishReplacement(workFolder: claim.path) { return true }
    guard swap.mark != nil else { return false }
    try claim.journal.update {
      $0.phase = .made
      $0.exchange = nil
    }
    return false
  }

  /// Makes the store the destination where nothing is.
  func publish(_ made: RunPipeline.Made, _ claim: borrowing Claim) throws {
    let journal = claim.journal
    let record = { (mark: String) throws in
      try journal.publish {
        $0.phase = .exchanging
        $0.support = mark
      }
    }
    try claim.folder.publish(
      made.file, to: job.destinationPath, like: made.source.path, mark: journal.content?.support,
      makeDurable: { try sync($0, claim) },
      record: job.destinationType == .sqlite ? record : nil)
  }

  /// Makes the store and its receipt durable.
  private func sync(_ store: String, _ claim: borrowing Claim) throws {
    if let group = job.groupedSync(of: claim.journal) {
      if group.syncFiles(in: claim.path) { return }
      let receipt = claim.folder.receiptPath
      if try WorkFolder.exists(receipt) { try WorkFolder.sync(receipt) }
    }
    // The receipt must not be lost once the store has its name.
    if !claim.journal.isDurable, job.receipt != nil { try WorkFolder.sync(claim.path) }
    try WorkFolder.sync(store)
  }
}

extension MigrationJob {
  /// The syncs that a run shares with other runs. A run that can be resumed syncs its own files as it goes.
  func groupedSync(of journal: RunJournal) -> SyncGroup.Member? { journal.isDurable ? nil : hooks.sync }
}

import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// A check that comes before the work of a run, and reads only.
///
/// A run carries the list out in its order, and ends at the first refusal. A plan carries out all of it, and tells of each
/// refusal.
struct RunCheck: Sendable {
  /// The place that a check looks at.
  enum Scope: String, Sendable {
    case source, destination, delivery
  }

  /// The obstacle that a refusal is.
  let code: RunObstacle.Code
  let scope: Scope
  /// The fact that holds after the check has passed.
  let claim: String
  /// Whether the first write of a run fails in its place, so that a run leaves the check out.
  var isFoundByWriting = false
  let pass: @Sendable (MigrationManager) throws -> Void

  /// In the order in which a run meets them.
  static let all = [
    RunCheck(code: .receipt, scope: .delivery, claim: "The place of the receipt is free, or has a receipt.") {
      try $0.checkReceiptPlace()
    },
    RunCheck(code: .quarantine, scope: .delivery, claim: "The place of the quarantine is free.") {
      try $0.checkQuarantinePlace()
    },
    RunCheck(code: .oldStore, scope: .delivery, claim: "A store in place can get its second name.") {
      try $0.checkOldName()
    },
    RunCheck(
      code: .destination, scope: .destination, claim: "The destination's folder takes files.", isFoundByWriting: true
    ) {
      try $0.checkDestinationFolder()
    },
    RunCheck(code: .workFolder, scope: .destination, claim: "The work folder is Godwit's.", isFoundByWriting: true) {
      guard try WorkFolder.exists(forDestination: $0.job.destinationPath) else { return }
      try WorkFolder.checkOwn($0.job.workPath)
    },
    RunCheck(code: .destination, scope: .destination, claim: "No log of another store is where a new destination goes.")
    {
      if try $0.isForNewStore { try $0.refuseStaleLog() }
    },
    RunCheck(
      code: .destination, scope: .destination, claim: "No external files of another store are where new ones go."
    ) {
      guard try $0.isForNewStore else { return }
      let mark = try WorkJournal.read(in: $0.job.workPath)?.support
      try WorkFolder.refuseForeignSupport(of: $0.job.destinationPath, mark: mark)
    },
    RunCheck(
      code: .destination, scope: .destination, claim: "No store of another job is beside unfinished work.",
      isFoundByWriting: true
    ) {
      // Another check tells what no run can have.
      guard !$0.job.replacesEarlierResult, RunRequest.refusal(of: $0.job) == nil,
        try RunRequest($0.job, isTaken: $0.job.isDestinationTaken).delivery == .create
      else { return }
      let watch = StopCondition(control: MigrationControl(), start: Date(), maximumSeconds: nil)
      try CreateDelivery(manager: $0, watch: watch).refuseOtherBesideWork()
    },
    RunCheck(
      code: .workFolder, scope: .source, claim: "The inputs are those with which unfinished work began.",
      isFoundByWriting: true
    ) {
      try $0.refuseChangedWork()
    },
  ]

  /// - Throws: The first refusal.
  static func passAll(_ manager: MigrationManager) throws {
    for check in all where !check.isFoundByWriting { try check.pass(manager) }
  }
}

extension MigrationManager {
  /// Whether the run makes a store where nothing is.
  fileprivate var isForNewStore: Bool { get throws { try !job.isInPlace && !job.isDestinationTaken } }

  /// - Throws: `.cannotCreate` (73) when the store that a run in place keeps cannot have its name.
  fileprivate func checkOldName() throws {
    guard case .inPlace(let keepsOld) = job.existingDestination else { return }
    let journal = try WorkFolder.exists(forDestination: job.sourcePath) ? try WorkJournal.read(in: job.workPath) : nil
    guard try !isMigratedInPlace() else { return }
    var swap = InPlaceSwap(store: job.sourcePath, keepsOld: keepsOld)
    swap.mark = journal?.exchange
    try swap.checkOldName()
  }
}

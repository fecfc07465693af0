import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// A check that comes before the work of a run, and reads only.
///
/// A run carries the list out in its order, and ends at the first refusal. A plan ends at a refusal of the manifest or of
/// the job. It carries out all others, and tells of each.
struct RunCheck: Sendable {
  /// The place that a check looks at.
  enum Scope: String, Sendable {
    case manifest, job, source, destination, delivery
  }

  /// The obstacle that a refusal is; nil where no plan can be made either.
  let code: RunObstacle.Code?
  let scope: Scope
  /// The fact that holds after the check has passed.
  let claim: String
  /// Whether the first write of a run fails in its place, so that a run leaves the check out.
  var isFoundByWriting = false
  let pass: @Sendable (MigrationJob) throws -> Void

  /// In the order in which a run meets them.
  static let all = [
    RunCheck(code: nil, scope: .manifest, claim: "A strict job guesses no name.") { try $0.refuseGuessedNames() },
    RunCheck(code: nil, scope: .job, claim: "Objects that are to be set aside have a limit and a new store.") {
      if let error = $0.quarantineObstacle { throw error }
    },
    RunCheck(code: nil, scope: .job, claim: "The destination has no name that belongs to another store.") {
      try $0.refuseReservedDestination()
    },
    RunCheck(code: nil, scope: .job, claim: "A store that is appended to is a SQLite store.") {
      try $0.refuseAppendingToAtomic()
    },
    RunCheck(code: .destination, scope: .delivery, claim: "A job that replaces has a receipt to know its work by.") {
      try $0.refuseReplacingUnknown()
    },
    RunCheck(code: .receipt, scope: .delivery, claim: "The place of the receipt is free, or has a receipt.") {
      try ReceiptPlacement($0).check()
    },
    RunCheck(code: .quarantine, scope: .delivery, claim: "The place of the quarantine is free.") {
      try QuarantinePlacement($0).check()
    },
    RunCheck(code: .oldStore, scope: .delivery, claim: "A store in place can get its second name.") {
      try $0.checkOldName()
    },
    RunCheck(
      code: .destination, scope: .destination, claim: "The destination's folder takes files.", isFoundByWriting: true
    ) {
      try DestinationLook($0).checkDestinationFolder()
    },
    RunCheck(code: .workFolder, scope: .destination, claim: "The work folder is Godwit's.", isFoundByWriting: true) {
      guard try WorkFolder.exists(forDestination: $0.destinationPath) else { return }
      try WorkFolder.checkOwn($0.workPath)
    },
    RunCheck(code: .destination, scope: .destination, claim: "No log of another store is where a new destination goes.")
    {
      if try $0.isForNewStore { try DestinationLook($0).refuseStaleLog() }
    },
    RunCheck(
      code: .destination, scope: .destination, claim: "No external files of another store are where new ones go."
    ) {
      guard try $0.isForNewStore else { return }
      let mark = try WorkJournal.read(in: $0.workPath)?.support
      try WorkFolder.refuseForeignSupport(of: $0.destinationPath, mark: mark)
    },
    RunCheck(
      code: .destination, scope: .destination, claim: "No store of another job is beside unfinished work.",
      isFoundByWriting: true
    ) {
      // Another check tells what no run can have.
      guard !$0.replacesEarlierResult, try RunRequest.delivery(of: $0, isTaken: $0.isDestinationTaken) == .create
      else { return }
      let watch = StopCondition(control: MigrationControl(), start: Date(), maximumSeconds: nil)
      try CreateDelivery(job: $0, watch: watch).refuseOtherBesideWork()
    },
    RunCheck(
      code: .workFolder, scope: .source, claim: "The inputs are those with which unfinished work began.",
      isFoundByWriting: true
    ) {
      try UnfinishedWork($0).refuseChanged()
    },
  ]

  /// - Throws: The first refusal of a scope.
  static func pass(_ scope: Scope, _ job: MigrationJob) throws {
    for check in all where check.scope == scope { try check.pass(job) }
  }

  /// The checks that come after the request.
  ///
  /// - Throws: The first refusal.
  static func passPlaces(_ job: MigrationJob) throws {
    for check in all where check.code != nil && !check.isFoundByWriting { try check.pass(job) }
  }
}

extension MigrationJob {
  /// Whether the run makes a store where nothing is.
  fileprivate var isForNewStore: Bool { get throws { try !isInPlace && !isDestinationTaken } }

  /// - Throws: `.cannotCreate` (73) when the store that a run in place keeps cannot have its name.
  fileprivate func checkOldName() throws {
    guard case .inPlace(let keepsOld) = existingDestination else { return }
    let journal = try WorkFolder.exists(forDestination: sourcePath) ? try WorkJournal.read(in: workPath) : nil
    guard try !DestinationLook(self).isMigratedInPlace() else { return }
    var swap = InPlaceSwap(store: sourcePath, keepsOld: keepsOld)
    swap.mark = journal?.exchange
    try swap.checkOldName()
  }

  /// - Throws: `.configuration` (78) for the log of a source, for example: nothing could open that any more.
  fileprivate func refuseReservedDestination() throws {
    guard !isInPlace, let why = OutputFile.reserved(destinationPath) else { return }
    throw GodwitError(
      .configuration, "cannot write the destination to '\(destinationPath)': \(why)",
      remedy: "name another file with `destination`", safe: "nothing was written")
  }

  fileprivate func refuseAppendingToAtomic() throws {
    guard appends, destinationType != .sqlite else { return }
    throw GodwitError(
      .configuration, "cannot append to '\(destinationPath)': only a SQLite store can be appended to",
      remedy: "remove `existing: append` or `destination-type: \(destinationType.manifestName)`",
      safe: "nothing was written")
  }

  /// A job without a receipt does not know its own work.
  fileprivate func refuseReplacingUnknown() throws {
    guard replacesEarlierResult, receipt == nil, try isDestinationTaken else { return }
    throw GodwitError(
      .configuration, "cannot replace '\(destinationPath)': the job has no receipt to know its own work by",
      remedy: "remove `receipt: none`, or write `existing: fail`", safe: "nothing was written")
  }
}

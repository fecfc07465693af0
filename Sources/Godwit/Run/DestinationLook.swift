import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// A look at the destination of a job: its kind, its maker, and the obstacles to a run. Writes nothing.
struct DestinationLook {
  let job: MigrationJob

  init(_ job: MigrationJob) { self.job = job }

  /// Looks at the destination. Writes nothing.
  ///
  /// - Throws: The errors of reading the source or the destination, but for `.cannotCreate` (73), which is `.foreign`.
  func look(_ comparison: Destination.Comparison = .content) throws -> Destination {
    if job.isInPlace { return try isMigratedInPlace() ? .current(digest: nil) : .absent }
    guard try job.isDestinationTaken else { return .absent }
    if job.appends {
      guard comparison == .content else { return try isAppendedByTimes() ? .current(digest: nil) : .absent }
      return try appendedDigest(SourceFiles(job, attach: false)).map { .current(digest: $0) } ?? .absent
    }
    do { return try comparison == .content ? destinationByContent() : destinationByTimes() } catch let error
      as GodwitError
      where error.code == .cannotCreate
    { return .foreign(error) }
  }

  /// A store names the digest of the job that made it in its metadata. The digest alone cannot tell what changed since:
  /// the receipt of that run can.
  private func destinationByContent() throws -> Destination {
    let source = try SourceFiles(job, attach: false)
    let metadata = try madeStore()
    let identity = try JobFingerprint(job).withContent(of: source.files)
    if try StoreFiles(path: job.destinationPath).type == job.destinationType, metadata.jobs.contains(identity.digest) {
      // The next run that replaces the store before it would remove this one.
      if mayBeKept, let receipt = try Receipt.found(at: knownReceiptPath()) { try refuseKept(receipt) }
      return .current(digest: identity.digest)
    }
    let receipt = try earlierReceipt(metadata)
    let (changes, details) = changes(since: receipt, identity)
    guard let first = changes.first else { throw unknownOrigin("its store type differs") }
    guard try first != .source || isSameStore(as: receipt) else { throw madeFromOther(receipt) }
    return .outdated(
      EarlierResult(receipt: receipt, changes: changes, refusal: changedSince(details), identity: identity))
  }

  /// Whether the destination is the finished store of this job.
  ///
  /// - Throws: `.configuration` (78) for a job that cannot run; `.cannotCreate` (73) if the destination is something else.
  func isFinished() throws -> Bool {
    try RunCheck.pass(.job, job)
    let refusal: GodwitError
    switch try look() {
    case .current: return true
    case .absent: return false
    case .outdated(let earlier):
      if job.replacesEarlierResult { return false }
      refusal = earlier.refusal
    case .foreign(let error): refusal = error
    }
    // An unfinished run is planned from its ledger; `run` says what is in its way.
    if try WorkFolder.exists(forDestination: job.destinationPath) { return false }
    throw refusal
  }

  // MARK: What it is

  /// The metadata of a store at the destination that Godwit made.
  ///
  /// - Throws: `.cannotCreate` (73) for anything else.
  func madeStore() throws -> StoreMetadata {
    let inTheWay = GodwitError(
      .cannotCreate, "cannot write '\(job.destinationPath)': it exists and was not made by this job",
      cause: job.replacesEarlierResult ? "`existing: replace` replaces only what the same job made" : nil,
      remedy: job.replacesEarlierResult
        ? "move it away, or name another destination"
        : "move it away, name another destination, or write `existing: append` under `destination` to add to it",
      safe: "nothing was written")
    guard let metadata = try StoreMetadata.ifStore(at: job.destinationPath), !metadata.jobs.isEmpty else {
      throw inTheWay
    }
    try RemovedRepairs.refuse(metadata, of: job.destinationPath)
    return metadata
  }

  /// Where the receipt of what is at the destination would be.
  func knownReceiptPath() throws -> String { try ReceiptPlacement(job).path ?? job.destinationPath + Receipt.suffix }

  /// The receipt of the store at the destination.
  ///
  /// - Throws: `.cannotCreate` (73) when there is none, or it says that another job made the store.
  func earlierReceipt(_ metadata: StoreMetadata) throws -> Receipt {
    let path = try knownReceiptPath()
    guard let receipt = try Receipt.found(at: path) else {
      throw unknownOrigin("its receipt '\(path)', which would say what made it, does not exist or is damaged")
    }
    guard let digest = receipt.job.digest, digest == metadata.jobs.last, receipt.destination.uuid == metadata.uuid
    else { throw unknownOrigin("the receipt '\(path)' is that of another store") }
    try refuseKept(receipt)
    guard job.isNamed(receipt.job.name) else {
      throw GodwitError(
        .cannotCreate,
        "cannot write '\(job.destinationPath)': it is the finished store of another job, '\(receipt.job.name)'",
        remedy: "move it away, or name another destination", safe: "nothing was written")
    }
    return receipt
  }

  /// Whether the destination has a name that runs give to stores which they replace.
  private var mayBeKept: Bool {
    URL(filePath: job.destinationPath).deletingPathExtension().lastPathComponent.hasSuffix("~")
  }

  /// - Throws: `.cannotCreate` (73) for a store that a run of another destination kept.
  private func refuseKept(_ receipt: Receipt) throws {
    guard let first = receipt.destination.keptFrom, receipt.destination.file == job.destinationFile else { return }
    throw GodwitError(
      .cannotCreate,
      "cannot write '\(job.destinationPath)': it is the store that a run kept when it replaced '\(first)'",
      remedy: "move it away with its receipt, or name another destination", safe: "nothing was written")
  }

  func changedSince(_ details: [Detail]) -> GodwitError {
    GodwitError(
      .cannotCreate,
      "cannot write '\(job.destinationPath)': this job made it, and \(details.map(\.what).joined(separator: ", ")) changed since",
      cause: details.map(\.text).asLines,
      remedy: "move it away to migrate again, or write `existing: replace` under `destination`",
      safe: "nothing was written")
  }

  func unknownOrigin(_ cause: String) -> GodwitError {
    GodwitError(
      .cannotCreate,
      "cannot write '\(job.destinationPath)': it is the finished store of another job, or the source, a model, a mapping or the manifest changed since",
      cause: cause, remedy: "move it away to migrate again", safe: "nothing was written")
  }

  /// The earlier result at the destination, which may be replaced, whatever changed. Does not read the source.
  ///
  /// - Throws: `.cannotCreate` (73) for any other store.
  func replaceable() throws -> Receipt {
    if try FileStatus.look(named: job.destinationPath)?.isFile == false {
      throw GodwitError(
        .cannotCreate, "cannot replace '\(job.destinationPath)': it is a link or a folder, not a regular file",
        remedy: "name the file itself", safe: "nothing was written")
    }
    return try earlierReceipt(madeStore())
  }

  /// Whether the source is the store that it was, by its identifier. A receipt in which it is missing says nothing.
  func isSameStore(as receipt: Receipt) throws -> Bool {
    guard let known = receipt.source.uuid else { return true }
    return try Definite.answer { try job.sourceUUID() } == known
  }

  /// A destination that is the result of another source store.
  func madeFromOther(_ receipt: Receipt) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot write '\(job.destinationPath)': this job made it from another store",
      cause: "the source's identifier (Z_UUID) is not '\(receipt.source.uuid ?? "")' any more",
      remedy: "move the destination away, or name another one", safe: "nothing was written")
  }

  // MARK: What changed

  typealias Detail = (what: String, text: String)

  /// The differences from a receipt, with both digests.
  func changes(
    since receipt: Receipt, _ now: JobFingerprint
  ) -> ([MigrationStatus.Change], [Detail]) {
    let then = receipt.job
    struct Part {
      var change: MigrationStatus.Change
      var old: String?
      var new: String

      init(_ change: MigrationStatus.Change, _ old: String?, _ new: String) {
        (self.change, self.old, self.new) = (change, old, new)
      }
    }
    let parts = [
      Part(.source, receipt.source.digest, now.source), Part(.sourceModel, then.sourceModel, now.sourceModel),
      Part(.destinationModel, then.destinationModel, now.destinationModel),
      Part(.mappings, then.mappings, now.mappings), Part(.manifest, then.manifest, now.manifest),
    ]
    let differing = parts.filter { $0.old != $0.new }
    let details = differing.flatMap { part -> [Detail] in
      let (change, old, new) = (part.change, part.old, part.new)
      guard change == .manifest, let known = then.settings else {
        return [Self.detail(change.words, "digest", old.map { String($0.prefix(12)) }, String(new.prefix(12)))]
      }
      let settings = JobFingerprint.settings(of: job)
      let keys = settings.keys.sorted().filter { settings[$0] != known[$0] }
      guard !keys.isEmpty else { return [Self.detail(change.words, "digest", old, new)] }
      return keys.map { key in
        let what = key == "policies" ? "the versions of policies" : "the manifest's key '\(key)'"
        func short(_ value: String?) -> String? { value.map { $0.count == 64 ? String($0.prefix(12)) : $0 } }
        return Self.detail(what, "value", short(known[key]), short(settings[key]) ?? "")
      }
    }
    return (differing.map(\.change), details)
  }

  private static func detail(_ what: String, _ kind: String, _ old: String?, _ new: String) -> Detail {
    (what, "\(what): \(kind) \(old ?? "unknown") when the destination was made, \(new) now")
  }

  // MARK: To append, and in place

  /// The store to append to; nil when there is none, or the job does not append.
  func existingDestination() throws -> ExistingDestination? {
    guard let existing = try storeAppendedTo() else { return nil }
    try existing.checkKeysAreLeft()
    return existing
  }

  /// The same without a look at its keys.
  func storeAppendedTo() throws -> ExistingDestination? {
    try job.appends && job.isDestinationTaken ? ExistingDestination(job) : nil
  }

  /// The digest under which the destination names this very job; nil if it does not. Reads all of the source.
  func appendedDigest(_ source: SourceFiles) throws -> String? {
    guard try job.isDestinationTaken, let jobs = try StoreMetadata.ifStore(at: job.destinationPath)?.jobs, !jobs.isEmpty
    else { return nil }
    let digest = try JobFingerprint(job).withContent(of: source.files).digest
    return jobs.contains(digest) ? digest : nil
  }

  /// Whether the store has the destination model already.
  func isMigratedInPlace() throws -> Bool {
    job.destinationModel.isCompatible(with: try StoreMetadata(readingStoreAt: job.sourcePath))
  }
}

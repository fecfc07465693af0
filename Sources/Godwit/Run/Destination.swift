import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The state of a job's result at its destination. `run`, `plan`, `status` and the receipt read this one look.
enum Destination {
  /// The result is not there, and nothing is in its way: an empty place, a store to append to, a store to migrate in place.
  case absent
  /// The result from the source as it is now. `digest` names the job in the store's metadata; nil in place, and
  /// where times stand for the content of the source.
  case current(digest: String?)
  /// An earlier result of the same job, made before something changed.
  case outdated(EarlierResult)
  /// Another store or file, with the error of a run (73).
  case foreign(GodwitError)

  var isCurrent: Bool { if case .current = self { true } else { false } }

  /// How the source is compared with what it was when the destination was made.
  enum Comparison {
    /// By the digest of all its content.
    case content
    /// By size, time and first bytes of its files.
    case times
  }
}

/// A store that the job made, of another content of its source or with other models, mappings or keys.
struct EarlierResult {
  /// The receipt of the run that made it; nil if only times are known.
  let receipt: Receipt?
  /// The differences; not empty.
  let changes: [MigrationStatus.Change]
  /// The error of a job that replaces nothing.
  let refusal: GodwitError
  /// The job as it is now; nil if the source was not read.
  let identity: JobFingerprint?
}

extension MigrationManager {
  /// Looks at the destination. Writes nothing.
  ///
  /// - Throws: The errors of reading the source or the destination, but for `.cannotCreate` (73), which is `.foreign`.
  func destination(_ comparison: Destination.Comparison = .content) throws -> Destination {
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
    let identity = try quickIdentity.withContent(of: source.files)
    if try StoreFiles(path: job.destinationPath).type == job.destinationType, metadata.jobs.contains(identity.digest) {
      // The next run that replaces the store before it would remove this one.
      if mayBeKept, let receipt = try Self.receipt(at: knownReceiptPath()) { try refuseKept(receipt) }
      return .current(digest: identity.digest)
    }
    let receipt = try earlierReceipt(metadata)
    let (changes, details) = changes(since: receipt, identity)
    guard let first = changes.first else { throw unknownOrigin("its store type differs") }
    guard try first != .source || isSameStore(as: receipt) else { throw madeFromOther(receipt) }
    return .outdated(
      EarlierResult(receipt: receipt, changes: changes, refusal: changedSince(details), identity: identity))
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
  func knownReceiptPath() throws -> String { try receiptPath ?? job.destinationPath + Receipt.suffix }

  /// The receipt of the store at the destination.
  ///
  /// - Throws: `.cannotCreate` (73) when there is none, or it says that another job made the store.
  private func earlierReceipt(_ metadata: StoreMetadata) throws -> Receipt {
    let path = try knownReceiptPath()
    guard let receipt = try Self.receipt(at: path) else {
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
    guard let first = receipt.destination.keptFrom, receipt.destination.file == destinationFile else { return }
    throw GodwitError(
      .cannotCreate,
      "cannot write '\(job.destinationPath)': it is the store that a run kept when it replaced '\(first)'",
      remedy: "move it away with its receipt, or name another destination", safe: "nothing was written")
  }

  private func changedSince(_ details: [Detail]) -> GodwitError {
    GodwitError(
      .cannotCreate,
      "cannot write '\(job.destinationPath)': this job made it, and \(details.map(\.what).joined(separator: ", ")) changed since",
      cause: details.map(\.text).joined(separator: "\n"),
      remedy: "move it away to migrate again, or write `existing: replace` under `destination`",
      safe: "nothing was written")
  }

  private func unknownOrigin(_ cause: String) -> GodwitError {
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
    return try StoreMetadata.ifStore(at: job.sourcePath)?.uuid == known
  }

  /// A destination that is the result of another source store.
  func madeFromOther(_ receipt: Receipt) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot write '\(job.destinationPath)': this job made it from another store",
      cause: "the source's identifier (Z_UUID) is not '\(receipt.source.uuid ?? "")' any more",
      remedy: "move the destination away, or name another one", safe: "nothing was written")
  }

  // MARK: By times

  /// For those who ask often. Without a receipt, a store of the destination's model is taken for the job's, and its own
  /// time is compared with the source's.
  private func destinationByTimes() throws -> Destination {
    let metadata = try madeStore()
    guard try Self.receipt(at: knownReceiptPath()) != nil else {
      let type = try StoreFiles(path: job.destinationPath).type
      guard type == job.destinationType, job.destinationModel.isCompatible(with: metadata) else {
        throw unknownOrigin("it has another model or type, and no receipt says what made it")
      }
      if try isSourceOlder(than: Self.timeOfChange(job.destinationPath)) { return .current(digest: nil) }
      let details = [(what: MigrationStatus.Change.source.words, text: "the source is newer than the destination")]
      return .outdated(
        EarlierResult(receipt: nil, changes: [.source], refusal: changedSince(details), identity: nil))
    }
    let receipt = try earlierReceipt(metadata)
    let now = quickIdentity.withSource(try isSourceUntouched(since: receipt) ? receipt.source.digest ?? "" : "")
    let (changes, details) = changes(since: receipt, now)
    guard let first = changes.first else { return .current(digest: nil) }
    guard try first != .source || isSameStore(as: receipt) else { throw madeFromOther(receipt) }
    return .outdated(EarlierResult(receipt: receipt, changes: changes, refusal: changedSince(details), identity: nil))
  }

  /// Whether the destination names this job, by its record of what was appended, and the source was not written to since.
  func isAppendedByTimes() throws -> Bool {
    guard try job.isDestinationTaken, let metadata = try StoreMetadata.ifStore(at: job.destinationPath) else {
      return false
    }
    let jobs = metadata.jobs
    let uuid = try StoreMetadata(readingStoreAt: job.sourcePath).uuid
    let quick = quickIdentity
    let isThere = try AppendRecord.all(in: metadata, path: job.destinationPath).contains { record in
      record.sourceUUID == uuid && quick.withSource(record.source).digest == record.job && jobs.contains(record.job)
    }
    guard isThere else { return false }
    guard let receipt = try Self.receipt(at: knownReceiptPath()) else {
      return try isSourceOlder(than: Self.timeOfChange(job.destinationPath))
    }
    return try isSourceUntouched(since: receipt)
  }

  /// Whether the files of the source are as a receipt says.
  private func isSourceUntouched(since receipt: Receipt) throws -> Bool {
    guard receipt.source.path == job.sourcePath else { return false }
    guard let known = receipt.source.stamp else {
      // The receipt has whole seconds.
      return try isSourceOlder(than: receipt.began.flatMap(Receipt.date)?.addingTimeInterval(-1))
    }
    return try sourceStamp().map(Receipt.sourceStamp) == known
  }

  /// nil for a source that is not there any more.
  private func sourceStamp() throws -> StoreFiles.Stamp? {
    try Definite.answer { try StoreFiles(path: job.sourcePath).stamp() }
  }

  /// Whether the source was written last before a time.
  private func isSourceOlder(than time: Date?) throws -> Bool {
    guard let time, let stamp = try sourceStamp() else { return false }
    return [stamp.store, stamp.wal, stamp.journal].compactMap(\.self).allSatisfy {
      Double($0.seconds) + Double($0.nanoseconds) / 1e9 < time.timeIntervalSince1970
    }
  }

  // MARK: What changed

  private typealias Detail = (what: String, text: String)

  /// The differences from a receipt, with both digests.
  private func changes(
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
}

import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The look for those who ask often: times of files stand for their content.
extension DestinationLook {
  /// For those who ask often. Without a receipt, a store of the destination's model is taken for the job's, and its own
  /// time is compared with the source's.
  func destinationByTimes() throws -> Destination {
    let metadata = try madeStore()
    guard try Receipt.found(at: knownReceiptPath()) != nil else {
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
    let now = JobFingerprint(job).withSource(try isSourceUntouched(since: receipt) ? receipt.source.digest ?? "" : "")
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
    let uuid = try job.sourceUUID()
    let quick = JobFingerprint(job)
    let isThere = try AppendRecord.all(in: metadata, path: job.destinationPath).contains { record in
      record.sourceUUID == uuid && quick.withSource(record.source).digest == record.job && jobs.contains(record.job)
    }
    guard isThere else { return false }
    guard let receipt = try Receipt.found(at: knownReceiptPath()) else {
      return try isSourceOlder(than: Self.timeOfChange(job.destinationPath))
    }
    return try isSourceUntouched(since: receipt)
  }

  /// Whether the files of the source are as a receipt says. A run from another folder has another path to them.
  private func isSourceUntouched(since receipt: Receipt) throws -> Bool {
    func name(_ path: String) -> String { URL(filePath: path).lastPathComponent }
    guard receipt.source.paths.map(name) == job.sourcePaths.map(name) else { return false }
    guard let known = receipt.source.stamp else {
      guard try receipt.source.isAt(job.sourcePaths) else { return false }
      // The receipt has whole seconds.
      return try isSourceOlder(than: receipt.began.flatMap(Receipt.date)?.addingTimeInterval(-1))
    }
    return try sourceStamp().map(Receipt.sourceStamp) == known
  }

  /// nil for a source that is not there any more.
  private func sourceStamp() throws -> StoreFiles.Stamp? {
    try Definite.answer { try job.sourceFiles().stamp() }
  }

  /// Whether the source was written last before a time.
  private func isSourceOlder(than time: Date?) throws -> Bool {
    guard let time, let stamp = try sourceStamp() else { return false }
    return [stamp.store, stamp.wal, stamp.journal].compactMap(\.self).allSatisfy {
      Double($0.seconds) + Double($0.nanoseconds) / 1e9 < time.timeIntervalSince1970
    }
  }

  static func timeOfChange(_ path: String) throws -> Date? {
    try FileStatus.look(following: path).map { Date(timeIntervalSince1970: $0.modified.interval) }
  }
}

import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The quarantine of a job at its place beside the destination.
struct QuarantinePlacement {
  let job: MigrationJob

  init(_ job: MigrationJob) { self.job = job }

  /// Refuses a place that something else has taken, before anything is written.
  func check() throws {
    guard job.quarantine != nil,
      try !WorkFolder.exists(forDestination: job.destinationPath) && !job.isDestinationTaken
    else { return }
    let path = job.quarantinePath
    for taken in [path, path + "-wal", path + "-journal", SupportFolder(ofStoreAt: path).path] {
      guard try WorkFolder.exists(taken) else { continue }
      throw inTheWay(taken, safe: "nothing was written")
    }
  }

  private func inTheWay(_ path: String, safe: String) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot write the quarantine '\(job.quarantinePath)': '\(path)' exists",
      remedy: "move it away, or write `on-invalid: fail`", safe: safe)
  }

  /// Puts the quarantine of the work folder in its place, if objects are in it. The destination is not in its place yet.
  ///
  /// - Returns: The notes for the summary.
  func place(
    of claim: borrowing Claim, _ made: RunPipeline.Made, _ control: MigrationControl
  ) throws -> [MigrationNote] {
    guard job.quarantine != nil, let record = try RejectionRecord.opened(in: claim.path), try record.count > 0 else {
      return []
    }
    let digest = try Self.jobDigest(ofMade: made.folder)
    let path = job.quarantinePath
    if try WorkFolder.exists(path) {
      // A run that was killed after it had put it there.
      guard try record.digest == digest, try QuarantineModel.jobDigest(ofStoreAt: path) == digest else {
        throw inTheWay(path, safe: "the finished store is '\(made.folder.storePath)'")
      }
      return try missingFilesNote(record)
    }
    defer { control.setInterrupt(nil) }
    let store = try QuarantineWriter(job, record, in: claim.path).make(digest: digest, from: made.source) {
      connection in
      control.setInterrupt { [connection] in connection.interrupt() }
    }
    try record.setDigest(digest)
    let notes = try missingFilesNote(record)
    try record.close()
    let journal = claim.journal
    try claim.folder.publish(store, to: path, like: made.source.path, mark: journal.content?.quarantineSupport) {
      mark in
      try journal.publish {
        $0.phase = .exchanging
        $0.quarantineSupport = mark
      }
    }
    try WorkFolder.sync(path.parentPath)
    return notes
  }

  /// The digest of the job that a finished store names.
  private static func jobDigest(ofMade made: StepFolder) throws -> String {
    let metadata = try StoreMetadata(readingStoreAt: made.storePath)
    guard let digest = metadata.applicationValues[StoreMetadata.Key.jobs]?.array?.last?.string else {
      throw GodwitError(.internalBug, "the finished store does not name its job")
    }
    return digest
  }

  private func missingFilesNote(_ record: RejectionRecord) throws -> [MigrationNote] {
    let count = try record.missingFiles
    guard count > 0 else { return [] }
    return [
      .init(
        .externalDataMissing,
        "\(count.counted("external file")) of objects in quarantine \(count == 1 ? "is" : "are") missing in the source, and so in the quarantine"
      )
    ]
  }

  /// The summary of a job that an earlier run has finished, with the objects that it set aside.
  ///
  /// The number in the metadata is that of the job that made the store. Others may have appended to it.
  ///
  /// - Parameters:
  ///   - digest: The name of the job in the destination's metadata.
  ///   - notes: Further notes for the summary.
  func finishedBefore(digest: String, _ notes: [MigrationNote] = []) throws -> MigrationSummary {
    var summary = MigrationSummary(outcome: .alreadyFinished)
    summary.codedNotes = notes
    let metadata = try StoreMetadata(readingStoreAt: job.destinationPath)
    let path = job.quarantinePath
    let isThere = try QuarantineModel.jobDigest(ofStoreAt: path) == digest
    let held =
      isThere
      ? try Definite.answer { try QuarantineModel.counts(ofStoreAt: path, model: job.sourceModel) } : nil
    summary.quarantined = held ?? []
    guard let count = metadata.applicationValues[StoreMetadata.Key.quarantined]?.integer, count > 0,
      try !AppendRecord.all(in: metadata, path: job.destinationPath).contains(where: { $0.job == digest })
    else { return summary }
    let missing = count - min(count, max(0, summary.quarantinedObjects))
    guard missing > 0 else { return summary }
    summary.missingQuarantined = missing
    let why =
      !isThere
      ? "is not there: neither store has them"
      : held == nil ? "cannot be read" : "has \(summary.quarantinedObjects - missing) of them"
    summary.codedNotes.append(
      .init(
        .quarantineMissing,
        "the run set \(count.counted("object")) aside, and their quarantine '\(path)' \(why)"))
    return summary
  }

  /// How many objects a finished job has set aside, for which a run ends with 3 each time.
  func setAsideBefore() throws -> Int64 {
    guard job.quarantine != nil, case .current(let digest?) = try DestinationLook(job).look() else { return 0 }
    return try finishedBefore(digest: digest).quarantinedObjects
  }

  /// Refuses to replace a store as long as the objects lie beside it that its run has set aside: a later quarantine would
  /// find its place taken, and nobody could tell whose they are.
  ///
  /// - Parameter receipt: That of the store that is to be replaced.
  /// - Throws: `.cannotCreate` (73).
  func refuseReplaced(_ receipt: Receipt) throws {
    let path = job.quarantinePath
    guard let digest = try QuarantineModel.jobDigest(ofStoreAt: path), receipt.destination.jobs.contains(digest) else {
      return
    }
    throw GodwitError(
      .cannotCreate,
      "cannot replace '\(job.destinationPath)': the objects that its run has set aside are in '\(path)'",
      cause: "they are in no other store that Godwit made, and the new store would have nothing to do with them",
      remedy:
        "see that you have what you need of them, move the quarantine away with its folder '\(SupportFolder(ofStoreAt: path).path)', and run the same command",
      safe: "nothing was written")
  }

  /// Removes the quarantine that an unfinished run has put in its place. Any other file there remains, as does that of
  /// a finished destination.
  static func removePlaced(of destination: String, in folder: String) throws {
    // A discarded job needs no sound record. Without one nobody knows whose a quarantine is: it stays.
    guard let digest = try Definite.answer({ try RejectionRecord.opened(in: folder)?.digest }) ?? nil else { return }
    guard try StoreMetadata.ifStore(at: destination)?.jobs.contains(digest) != true else { return }
    let path = destination + Quarantine.suffix
    // Its support folder may be there alone: it comes first.
    if try QuarantineModel.jobDigest(ofStoreAt: path) == digest {
      // The store names the job: it goes last.
      try SupportFolder(ofStoreAt: path).remove()
      try WorkFolder.removeFile(path)
    } else {
      try WorkFolder.removeMovedSupport(
        of: path, mark: Definite.answer { try WorkJournal.read(in: folder) }??.quarantineSupport)
    }
  }
}

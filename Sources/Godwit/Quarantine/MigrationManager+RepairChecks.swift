import Foundation
import GodwitDisk
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// What a run with `--from-quarantine` looks at before and between its own work.
extension MigrationManager {
  /// Ends an ordinary run that died after it had put the destination in its place: its receipt, by which the destination
  /// is known, may be in the work folder alone.
  func settleOrdinaryRun() throws {
    guard isDestinationTaken, WorkFolder.exists(forDestination: job.destinationPath), !hasUnfinishedRepairs else {
      return
    }
    let folder = try WorkFolder(forDestination: job.destinationPath)
    try InPlaceSwap.settleReplacement(of: job.destinationPath, workFolder: folder.path)
    guard let made = Self.receipt(at: folder.receiptPath), Self.isReceipt(made, ofStoreAt: job.destinationPath) else {
      return
    }
    _ = try placeReceipt(of: folder)
    // A receipt that could not be placed stays in the folder.
    guard !FileManager.default.fileExists(atPath: folder.receiptPath) else {
      throw GodwitError(
        .cannotCreate, "cannot take repairs into '\(job.destinationPath)': its receipt is still in '\(folder.path)'",
        remedy: "run the job without --from-quarantine, which says what is in its way", safe: "nothing was written")
    }
    try folder.remove()
  }

  /// Refuses a quarantine that the run could not lock when it is done.
  func checkQuarantineIsWritable() throws {
    let path = job.quarantinePath
    guard RepairDelivery.isThere(path), access(path, W_OK) != 0 else { return }
    throw GodwitError.disk("cannot replace the quarantine '\(path)'", errno: errno, safe: "nothing was written")
  }

  /// Refuses a receipt that could not be replaced when the destination is exchanged already. It is there: the destination
  /// is known by it.
  func checkReceiptIsWritable() throws {
    guard let path = receiptPath else { return }
    let folder = path.parentPath.isEmpty ? "." : path.parentPath
    guard access(folder, W_OK | X_OK) != 0 else { return }
    throw GodwitError.disk("cannot replace the receipt '\(path)'", errno: errno, safe: "nothing was written")
  }

  /// The job with the digest of its source.
  ///
  /// Unfinished work has that digest: it stands for the content as long as the files of the source are as they were.
  /// Else a run with a short time box would do nothing but read the source.
  ///
  /// - Throws: `.stopped` (75) when the run is asked to stop meanwhile. A time box does not end the reading.
  func identity(
    of files: StoreFiles, at stamp: StoreFiles.Stamp, _ control: MigrationControl
  ) throws -> JobFingerprint {
    var identity = quickIdentity
    let folder = WorkFolder.path(forDestination: job.destinationPath)
    if let note = try? RepairNote.read(in: folder), note.sourcePath == files.path, note.stamp == stamp {
      identity.source = note.identity.source
      return identity
    }
    do { identity.source = try files.contentDigest(while: { control.reason == nil }) } catch is CancellationError {
      try control.checkpoint()
      throw CancellationError()
    }
    return identity
  }

  /// The bytes that the copy of the source takes in the work folder, with the external files that cannot be hard links
  /// there.
  func bytesOfCopy(_ source: StoreFiles, _ quarantine: StoreFiles) throws -> Int64 {
    let stamp = try source.stamp()
    // A log may add as many pages to the copy. What must be converted or rolled back is copied for that.
    var parts = [source.size, quarantine.size, stamp.wal?.size ?? 0]
    if try source.type == .xml || source.hasHotJournal() { parts.append(source.size) }
    let known = source.type == .sqlite ? SupportFolder(ofStoreAt: job.sourcePath) : nil
    if let known, !isLinkable(known) {
      try known.forEachFile { name, bytes in if SupportFolder.isFileName(name) { parts.append(bytes) } }
    }
    let edited = SupportFolder(ofStoreAt: quarantine.givenPath)
    if !isLinkable(edited) {
      try edited.forEachFile { name, bytes in
        // A file that the source has too comes from there.
        guard SupportFolder.isFileName(name), try known?.size(of: name) == nil else { return }
        parts.append(bytes)
      }
    }
    return parts.reduce(0) { sum, part in
      let (total, overflow) = sum.addingReportingOverflow(part)
      return overflow ? .max : total
    }
  }

  /// Whether files of a folder can get a second name in the work folder.
  private func isLinkable(_ support: SupportFolder) -> Bool {
    let other = job.hooks.freeSpace(support.dataPath)
    return other != nil && other?.device == job.hooks.freeSpace(job.workPath)?.device
  }

  /// Refuses what is left of a store whose file was moved away without it: a log, and external files.
  func refuseRemains(ofStoreAt path: String) throws {
    try RepairDelivery.refuseStaleLog(beside: path)
    let support = SupportFolder(ofStoreAt: path).path
    guard RepairDelivery.isThere(support) else { return }
    throw GodwitError(
      .cannotCreate, "cannot write the quarantine '\(path)': '\(support)' exists",
      cause: "it has the external files of a store that was moved away without them",
      remedy: "move it to that store, and run the same command", safe: "it was not changed")
  }

  /// A destination that would be lost with what somebody has written to it.
  func wouldLose(_ written: WrittenSince, safe: String? = nil) -> GodwitError {
    let remedy = "correct the objects in the destination itself: it is not made again from the source any more"
    return GodwitError(
      .cannotCreate, "cannot take repairs into '\(job.destinationPath)': it was written to since the job made it",
      cause: written.differences.joined(separator: "\n"),
      remedy: safe == nil ? remedy : remedy + "; `godwit discard` removes the work folder",
      safe: safe ?? "nothing was written")
  }

  /// What is to be said of a finished destination whose repairs are not beside it.
  func repairsNotes(_ metadata: StoreMetadata) -> [MigrationNote] {
    guard let mark = RepairsMark(metadata) else { return [] }
    let path = job.repairsPath
    let objects = "\(mark.objects) object\(mark.objects == 1 ? "" : "s")"
    let what: String
    if !RepairDelivery.isThere(path) {
      what = "'\(path)' is not there"
    } else if let complaint = RepairsFile.complaint(about: path, digest: mark.digest, objects: mark.objects) {
      what = complaint
    } else {
      do {
        guard let complaint = try RepairsFile.fileComplaint(about: path, isQuick: true) else { return [] }
        what = complaint
      } catch { what = "'\(path)' cannot be read: \((error as? GodwitError)?.line ?? "\(error)")" }
    }
    return [
      .init(
        .repairsMissing,
        "the destination was made with repairs of \(objects), and \(what): source and mappings alone do not make it again"
      )
    ]
  }
}

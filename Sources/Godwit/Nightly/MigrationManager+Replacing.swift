import Foundation
import GodwitDisk
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitPlatform
import GodwitStore

/// A job whose destination is there already, because the job made it before something changed.
///
/// 1. What an earlier run began is ended or taken back: see `InPlaceSwap.settleReplacement`.
/// 2. The destination is looked at: is it this job's, and did anything change?
/// 3. The job runs in its work folder as if there were no destination, which others may use meanwhile.
/// 4. The destination is locked, looked at again, and exchanged for the new store in one rename (`InPlaceSwap`).
/// At every moment a whole store with all its external files has the destination's name.
extension MigrationManager {
  func runReplacing(
    keepsOld: Bool, watch: StopCondition, progress: (MigrationProgress) -> Void
  ) throws -> MigrationSummary {
    guard job.receipt != nil else {
      throw GodwitError(
        .configuration, "cannot replace '\(job.destinationPath)': the job has no receipt to know its own work by",
        remedy: "remove `receipt: none`, or write `on-existing: fail`", safe: "nothing was written")
    }
    var notes = try settle()
    let source = try OpenSource(job, attach: false)
    let quick = quickIdentity
    guard case .outdated(let earlier) = try existing(source: source, quick: quick) else {
      return try alreadyFinished(notes)
    }
    notes.append(replacementNote(earlier.changes))
    let folder = try WorkFolder(forDestination: job.destinationPath)
    do {
      // Asked again under the lock: another run may have finished meanwhile. The source need not be read again.
      guard try replaceable().job.digest == earlier.receipt.job.digest else {
        throw GodwitError(
          .stopped, "cannot run: another process has just replaced '\(job.destinationPath)'",
          remedy: "run the same command", stopReason: .locked)
      }
      try checkKept(keepsOld: keepsOld)
      try InPlaceSwap(store: job.destinationPath, keepsOld: false).checkRights(workFolder: folder.path)
    } catch {
      if !isWorthKeeping(folder.path) { folder.undo() }
      throw error
    }
    var summary = try work(in: folder, source: source, watch: watch, replaces: true, progress: progress) {
      made, path, folder in
      try replace(with: path, support: made.support, keepsOld: keepsOld, in: folder, like: source.files.path)
      let notes = try placeReceipt(of: folder)
      try folder.remove()
      return notes
    }
    if summary.outcome == .finished { summary.codedNotes += notes }
    return summary
  }

  /// A job that is done is so without writing to its destination. The time of its receipt is that of the last run that
  /// found it done.
  private func alreadyFinished(_ notes: [MigrationNote]) throws -> MigrationSummary {
    var summary = MigrationSummary(outcome: .alreadyFinished)
    summary.codedNotes = notes
    if WorkFolder.exists(forDestination: job.destinationPath) {
      // What an unfinished run left of a source that has come back to what it was.
      let folder = try WorkFolder(forDestination: job.destinationPath)
      try folder.remove()
    }
    if (try? replaceable()) != nil { utimes(knownReceiptPath, nil) }
    return summary
  }

  // MARK: Earlier runs

  /// Ends or takes back what an earlier run left in the work folder, if that is more than an unfinished store.
  ///
  /// - Returns: What the summary is to say of that.
  private func settle() throws -> [MigrationNote] {
    guard WorkFolder.exists(forDestination: job.destinationPath) else { return [] }
    let folder = try WorkFolder(forDestination: job.destinationPath)
    let isInPlace = try InPlaceSwap.settleReplacement(of: job.destinationPath, workFolder: folder.path)
    let notes = try isReceiptOfDestination(folder.receiptPath) ? placeReceipt(of: folder) : []
    // A run that died after its store had got its name leaves a folder without one, or with a second name of it.
    let store = lastStepFolder(in: folder.path).storePath
    if try isInPlace || !folder.hasStores() || Self.isSameFile(store, job.destinationPath) { try folder.remove() }
    return notes
  }

  /// Whether a receipt is that of the store at the destination.
  private func isReceiptOfDestination(_ path: String) -> Bool {
    guard let receipt = Self.receipt(at: path), let digest = receipt.job.digest,
      let metadata = try? StoreMetadata(readingStoreAt: job.destinationPath)
    else { return false }
    return metadata.applicationValues[Self.jobsKey]?.array?.last?.string == digest
  }

  private static func isSameFile(_ one: String, _ other: String) -> Bool {
    var (a, b) = (stat(), stat())
    return lstat(one, &a) == 0 && lstat(other, &b) == 0 && (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
  }

  // MARK: The exchange

  private func replace(
    with made: String, support: SupportFolder, keepsOld: Bool, in folder: borrowing WorkFolder, like original: String
  ) throws {
    guard isDestinationTaken else {
      // Somebody has moved it away meanwhile.
      try folder.publish(made, to: job.destinationPath, like: original)
      return
    }
    let safe = "the old store is still in place; the new one is finished in '\(folder.path)'"
    let lock: StoreLock
    let receipt: Receipt
    do {
      receipt = try replaceable()
      lock = try StoreLock(store: job.destinationPath, action: "replace '\(job.destinationPath)'")
    } catch var error as GodwitError {
      error.safe = safe
      throw error
    }
    defer { withExtendedLifetime(lock) {} }
    if keepsOld { try makeRoomForOld(receipt, workFolder: folder.path) }
    var swap = InPlaceSwap(
      store: job.destinationPath, keepsOld: keepsOld, makesHardLinks: job.hooks.makesHardLinks,
      before: job.hooks.beforeSwapStep)
    swap.readsOldColumns = true
    try swap.replace(with: made, support: support, workFolder: folder.path)
  }

  // MARK: The old store

  private var keptPath: String { InPlaceSwap.oldPath(of: job.destinationPath) }
  private var keptReceiptPath: String { keptPath + Receipt.suffix }

  /// Refuses a job whose old store would take the name of something that the job did not keep there itself.
  ///
  /// - Throws: `.cannotCreate` (73).
  private func checkKept(keepsOld: Bool) throws {
    guard keepsOld else { return }
    let support = SupportFolder(ofStoreAt: keptPath).path
    for path in [keptPath, support, keptReceiptPath] {
      var info = stat()
      guard lstat(path, &info) == 0, !isKeptByUs(path) else { continue }
      throw GodwitError(
        .cannotCreate, "cannot keep the old store: '\(path)' exists, and the job did not keep it there",
        remedy: "move it away, or write `keep-old: false`", safe: "nothing was written")
    }
  }

  /// Whether what has the name of a kept store is one that an earlier run of this job kept: its receipt says so. The
  /// receipt comes first and goes last.
  private func isKeptByUs(_ path: String) -> Bool {
    guard let receipt = Self.receipt(at: keptReceiptPath), receipt.job.name == job.name else { return false }
    guard path == keptPath else { return true }
    let metadata = try? StoreMetadata(readingStoreAt: keptPath)
    return metadata?.applicationValues[Self.jobsKey]?.array?.last?.string == receipt.job.digest
  }

  /// Removes the store that was kept before, and puts the receipt of the one that is to be kept beside its name.
  private func makeRoomForOld(_ receipt: Receipt, workFolder: String) throws {
    try checkKept(keepsOld: true)
    let folder = URL(filePath: keptPath).deletingLastPathComponent().path
    if isKeptByUs(keptPath) {
      // Not what is beside a store that a person has put there since.
      try SupportFolder(ofStoreAt: keptPath).remove()
      for suffix in ["-wal", "-shm", "-journal", ""] { try WorkFolder.removeFile(keptPath + suffix) }
      try WorkFolder.sync(folder)
    }
    let note = workFolder + "/kept.json"
    let data: Data
    do { data = try receipt.encoded() } catch { throw GodwitError.disk("cannot write '\(note)'", error) }
    try WorkFolder.writeNote(data, to: note)
    // It cannot be on another disk: the work folder is beside the destination, and so is what is kept.
    guard try move(note, to: keptReceiptPath, replaces: true) else {
      throw GodwitError.disk("cannot write '\(keptReceiptPath)'", errno: EXDEV)
    }
  }

  // MARK: Notes

  /// What a plan says of the destination that a run would replace.
  func replacementNotes() -> [MigrationNote] {
    guard job.replacesEarlierResult, !job.appends, isDestinationTaken, (try? replaceable()) != nil else { return [] }
    return [replacementNote([])]
  }

  private func replacementNote(_ changes: [MigrationStatus.Change]) -> MigrationNote {
    let why = changes.isEmpty ? "" : ", because \(changes.map(\.words).joined(separator: ", ")) changed"
    return MigrationNote(.replaces, "the new store replaces '\(job.destinationPath)', which the job made before\(why)")
  }
}

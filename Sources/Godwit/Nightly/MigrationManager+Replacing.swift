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
/// What somebody has written to the destination since the job delivered it is never discarded (`WrittenSince`): that is
/// looked for before the work, and again under the lock.
/// At every moment a whole store with all its external files has the destination's name.
extension MigrationManager {
  func runReplacing(
    keepsOld: Bool, watch: StopCondition, progress: (MigrationProgress) -> Void
  ) throws -> MigrationSummary {
    try refuseReplacingWithoutReceipt()
    var notes = try settle()
    let source = try OpenSource(job, attach: false)
    let quick = quickIdentity
    let earlier: EarlierResult
    switch try existing(source: source, quick: quick) {
    case .finished(let digest): return try alreadyFinished(digest: digest, notes)
    case .outdated(let found): earlier = found
    }
    notes.append(replacementNote(earlier.changes))
    let folder = try WorkFolder(forDestination: job.destinationPath)
    let seen: (destination: WrittenSince?, kept: WrittenSince?)
    do {
      // Asked again under the lock: another run may have finished meanwhile. The source need not be read again.
      let receipt = try replaceable()
      guard receipt.job.digest == earlier.receipt.job.digest else {
        throw GodwitError(
          .stopped, "cannot run: another process has just replaced '\(job.destinationPath)'",
          remedy: "run the same command", stopReason: .locked)
      }
      seen = try checkLosses(receipt, keepsOld: keepsOld, watch)
      try InPlaceSwap(store: job.destinationPath, keepsOld: false).checkRights(workFolder: folder.path)
      try refuseWorkOfOthers(in: folder.path)
      notes += try dropOutdatedWork(in: folder, source: source.files) { earlier.identity.source }
    } catch {
      if !isWorthKeeping(folder.path) { folder.undo() }
      throw error
    }
    var summary = try work(in: folder, source: source, watch: watch, replaces: true, progress: progress) {
      made, path, folder in
      let files = job.destinationType == .xml ? Self.noSupport(in: folder.path) : made.support
      let exchange = Exchange(made: path, support: files, keepsOld: keepsOld, original: source.files.path)
      var notes = try replace(exchange, in: folder, seen: seen, watch)
      notes += try placeReceipt(of: folder)
      try folder.remove()
      return notes
    }
    if summary.outcome == .finished { summary.codedNotes += notes }
    return summary
  }

  /// Where nothing is: an XML store has its binary data inside, and what was carried for it stays in the work folder.
  static func noSupport(in folder: String) -> SupportFolder { SupportFolder(path: folder + "/no-files") }

  /// Refuses, before the night's work, a run at whose end something would be lost.
  ///
  /// - Returns: What was compared.
  private func checkLosses(
    _ receipt: Receipt, keepsOld: Bool, _ watch: StopCondition
  ) throws -> (destination: WrittenSince?, kept: WrittenSince?) {
    try refuseQuarantineOfReplaced(receipt)
    try checkDestinationIsWritable()
    guard keepsOld else {
      let written = try writtenSince(receipt, watch)
      guard written.differences.isEmpty else { throw destinationChanged(written, safe: "nothing was written") }
      return (written, nil)
    }
    return (nil, try checkKept(watch, safe: "nothing was written"))
  }

  /// A job that is done is so without writing to its destination. The time of its receipt is that of the last run that
  /// found it done.
  private func alreadyFinished(digest: String, _ notes: [MigrationNote]) throws -> MigrationSummary {
    try removeNeedlessWork()
    if !isProvedAfter { noteSuccess() }
    return try finishedBefore(digest: digest, notes)
  }

  /// Gives the receipt of a finished destination the time of the last success, if a run that finds nothing to do is one.
  package func noteSuccess() {
    guard job.replacesEarlierResult, !job.appends, isDestinationTaken, (try? replaceable()) != nil else { return }
    utimes(knownReceiptPath, nil)
  }

  /// - Throws: `.configuration` (78) for a job that does not know its own work.
  func refuseReplacingWithoutReceipt() throws {
    guard job.receipt == nil else { return }
    throw GodwitError(
      .configuration, "cannot replace '\(job.destinationPath)': the job has no receipt to know its own work by",
      remedy: "remove `receipt: none`, or write `on-existing: fail`", safe: "nothing was written")
  }

  /// - Throws: `.permission` (77) for a destination that may not be written.
  func checkDestinationIsWritable() throws {
    guard access(job.destinationPath, W_OK) != 0 else { return }
    let code = errno
    throw GodwitError.disk("cannot replace '\(job.destinationPath)'", errno: code, safe: "nothing was written")
  }

  // MARK: Earlier runs

  /// Ends or takes back what an earlier run left in the work folder, if that is more than an unfinished store.
  ///
  /// - Returns: What the summary is to say of that.
  private func settle() throws -> [MigrationNote] {
    guard WorkFolder.exists(forDestination: job.destinationPath) else { return [] }
    let folder = try WorkFolder(forDestination: job.destinationPath)
    let isInPlace = try InPlaceSwap.settleReplacement(of: job.destinationPath, workFolder: folder.path)
    let isReceipt = Self.receipt(at: folder.receiptPath).map { Self.isReceipt($0, ofStoreAt: job.destinationPath) }
    let notes = try isReceipt == true ? placeReceipt(of: folder) : []
    if !isInPlace { try removeReceiptOfNone() }
    // A run that died after its store had got its name leaves a folder without one, or with a second name of it.
    let store = lastStepFolder(in: folder.path).storePath
    if try isInPlace || !folder.hasStores() || Self.isSameFile(store, job.destinationPath) { try folder.remove() }
    return notes
  }

  /// Removes the receipt of a store that was to be kept by a run that died before it did.
  private func removeReceiptOfNone() throws {
    guard !Self.isThere(keptPath), let receipt = Self.receipt(at: keptReceiptPath), receipt.job.name == job.name,
      receipt.destination.keptFrom == destinationFile, Self.isReceipt(receipt, ofStoreAt: job.destinationPath)
    else { return }
    try WorkFolder.removeFile(keptReceiptPath)
  }

  private static func isThere(_ path: String) -> Bool {
    var info = stat()
    return lstat(path, &info) == 0
  }

  private static func isSameFile(_ one: String, _ other: String) -> Bool {
    var (a, b) = (stat(), stat())
    return lstat(one, &a) == 0 && lstat(other, &b) == 0 && (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
  }

  // MARK: The exchange

  /// What takes the place of the destination.
  struct Exchange {
    /// The file of the finished store, and its external files.
    let made: String
    let support: SupportFolder
    let keepsOld: Bool
    /// The source, for a destination that somebody has moved away meanwhile.
    let original: String
  }

  func replace(
    _ exchange: Exchange, in folder: borrowing WorkFolder, seen: (destination: WrittenSince?, kept: WrittenSince?),
    _ watch: StopCondition
  ) throws -> [MigrationNote] {
    guard isDestinationTaken else {
      try refuseStaleLog()
      try WorkFolder.removeFile(folder.receiptReplacedPath)
      try folder.publish(
        exchange.made, to: job.destinationPath, like: exchange.original, hasFiles: job.destinationType == .sqlite)
      return []
    }
    let safe = "the old store is still in place; the new one is finished in '\(folder.path)'"
    let lock: StoreLock
    let receipt: Receipt
    let written: WrittenSince
    do {
      receipt = try replaceable()
      lock = try lockDestination(watch)
      written = try writtenSince(receipt, known: seen.destination, watch)
      guard exchange.keepsOld || written.differences.isEmpty else { throw destinationChanged(written, safe: safe) }
    } catch var error as GodwitError {
      error.safe = safe
      throw error
    }
    defer { withExtendedLifetime(lock) {} }
    var swap = InPlaceSwap(
      store: job.destinationPath, keepsOld: exchange.keepsOld, makesHardLinks: job.hooks.makesHardLinks,
      before: job.hooks.beforeSwapStep)
    swap.readsOldColumns = true
    try noteReplaced(receipt, in: folder)
    if exchange.keepsOld {
      let path = folder.path
      swap.makeRoom = { try makeRoomForOld(receipt, known: seen.kept, workFolder: path, watch, safe: safe) }
    }
    try swap.replace(with: exchange.made, support: exchange.support, workFolder: folder.path)
    return written.differences.isEmpty ? [] : [changedNote(written)]
  }

  /// Locks the destination. Who reads it for a moment, or writes, does not cost the night.
  private func lockDestination(_ watch: StopCondition) throws -> StoreLock {
    let end = ContinuousClock.now + .seconds(job.hooks.lockSeconds)
    while true {
      do {
        return try StoreLock(store: job.destinationPath, action: "replace '\(job.destinationPath)'")
      } catch let error as GodwitError where error.stopReason == .inUse {
        guard ContinuousClock.now < end, watch.control.reason == nil else { throw error }
        usleep(50_000)
      }
    }
  }

  // MARK: The old store

  var keptPath: String { InPlaceSwap.oldPath(of: job.destinationPath) }
  private var keptReceiptPath: String { keptPath + Receipt.suffix }

  /// The external files of the store that was kept or is to be; nil for an XML store: files beside it are another's.
  private var keptSupport: SupportFolder? {
    let type = try? StoreFiles(path: Self.isThere(keptPath) ? keptPath : job.destinationPath).type
    return type == .xml ? nil : SupportFolder(ofStoreAt: keptPath)
  }

  /// Refuses a job whose old store would take the name of something that the job did not keep there itself, or that
  /// somebody has written to since.
  ///
  /// - Parameter known: What was compared before.
  /// - Returns: What was compared; nil where no store is kept.
  /// - Throws: `.cannotCreate` (73).
  @discardableResult
  func checkKept(_ watch: StopCondition, known: WrittenSince? = nil, safe: String) throws -> WrittenSince? {
    func refusal(_ path: String, _ why: String) -> GodwitError {
      GodwitError(
        .cannotCreate, "cannot keep the old store: '\(path)' exists, and \(why)",
        remedy: "move it away, or write `keep-old: false`", safe: safe)
    }
    let support = keptSupport
    for path in [keptPath, support?.path, keptReceiptPath].compactMap(\.self) {
      guard Self.isThere(path), !isKeptByUs(path) else { continue }
      throw refusal(path, "the job did not keep it there")
    }
    guard Self.isThere(keptPath), let receipt = Self.receipt(at: keptReceiptPath) else {
      for suffix in ["-wal", "-journal"] where Self.isThere(keptPath + suffix) {
        throw refusal(keptPath + suffix, "SQLite would apply that log to the old store")
      }
      return nil
    }
    if let name = try support?.firstForeignName() {
      throw refusal(name, "is no external file of the store that the job kept there")
    }
    let written = try WrittenSince(
      to: keptPath, receipt: receipt, at: keptReceiptPath, known: known, control: watch.control)
    guard written.differences.isEmpty else { throw keptStoreChanged(written, safe: safe) }
    return written
  }

  /// Whether what has the name of a kept store is one that an earlier run of this job kept: its receipt says so. The
  /// receipt comes first and goes last.
  ///
  /// The name alone says nothing: many stores may be migrated under one job's name, and a source `Name~.ext` be one of
  /// them.
  private func isKeptByUs(_ path: String) -> Bool {
    guard let receipt = Self.receipt(at: keptReceiptPath), receipt.job.name == job.name,
      receipt.destination.keptFrom == destinationFile
    else { return false }
    return path != keptPath || Self.isReceipt(receipt, ofStoreAt: keptPath)
  }

  /// Removes the store that was kept before, and puts the receipt of the one that is to be kept beside its name.
  private func makeRoomForOld(
    _ receipt: Receipt, known: WrittenSince?, workFolder: String, _ watch: StopCondition, safe: String
  ) throws {
    try checkKept(watch, known: known, safe: safe)
    let folder = URL(filePath: keptPath).deletingLastPathComponent().path
    let removed = workFolder + "/kept.removed"
    if isKeptByUs(keptPath) {
      // The store moves away before its files go: a store without them looks like one that was written to.
      for suffix in ["-wal", "-shm", "-journal"] { try WorkFolder.removeFile(keptPath + suffix) }
      // After a power cut both names may stand for one file, and `rename` would leave both.
      try WorkFolder.removeFile(removed)
      guard rename(keptPath, removed) == 0 else {
        throw GodwitError.disk("cannot remove '\(keptPath)'", errno: CLibrary.errno)
      }
      try WorkFolder.sync(workFolder)
      try WorkFolder.sync(folder)
    }
    // Without this file a person has moved the store away, and its external files are not ours to remove.
    if Self.isThere(removed) {
      try keptSupport?.remove()
      try WorkFolder.sync(folder)
      try WorkFolder.removeFile(removed)
    }
    let note = workFolder + "/kept.json"
    var kept = receipt
    kept.destination.file = URL(filePath: keptPath).lastPathComponent
    kept.destination.keptFrom = destinationFile
    let data: Data
    do { data = try kept.encoded() } catch { throw GodwitError.disk("cannot write '\(note)'", error) }
    try WorkFolder.writeNote(data, to: note)
    // It cannot be on another disk: the work folder is beside the destination, and so is what is kept.
    guard try Self.move(note, to: keptReceiptPath, replaces: true, like: job.destinationPath) else {
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

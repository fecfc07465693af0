import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// How a receipt gets from the work folder to its place: after its store, see `MigrationManager+Receipt.swift`.
extension MigrationManager {
  /// Puts the receipt of the work folder in its place, if there is one. The store is in its place already.
  ///
  /// A receipt of another job, which appended to the same destination and died, goes where that job's manifest had it.
  ///
  /// - Returns: A note if that fails in the default place: the job is finished all the same.
  /// - Throws: If it fails at a path of the manifest, or the disk refused it. The work folder keeps the receipt, and the
  ///   next run tries again.
  func placeReceipt(of claim: borrowing Claim) throws -> [MigrationNote] {
    let (file, journal) = (claim.folder.receiptPath, claim.journal)
    let made: Receipt
    if let receipt = journal.receipt {
      made = receipt
    } else {
      guard try WorkFolder.exists(file) else { return [] }
      do { made = try Receipt.read(file) } catch let error as GodwitError where error.isDefinite {
        return [.init(.receiptMissing, "no receipt was written: \(error.line)")]
      }
    }
    let place = journal.content?.receipt
    let isOwn = journal.receipt != nil || isOwn(made)
    guard let path = try isOwn ? receiptPath : place?.path ?? job.destinationPath + Receipt.suffix else {
      return []
    }
    do {
      try Self.place(made, of: file, at: path, destination: job.destinationPath, replaced: place?.replaced)
      return []
    } catch let error as GodwitError {
      if isOwn, isOwed(after: error) { throw error }
      let whose = isOwn ? "" : " of '\(made.job.name)'"
      let isTriedAgain = try isOwn && keepsWaitingReceipt()
      let next = isTriedAgain ? "; run the same command when that is mended" : ""
      return [.init(.receiptMissing, "no receipt\(whose) was written: \(error.line)\(next)")]
    }
  }

  /// Puts the receipt of a folder that is discarded in its place, if it is that of the store at the destination: the
  /// only proof of it, and what the job knows it by.
  static func placeReceipt(
    inDiscarded folder: borrowing WorkFolder, _ journal: WorkJournal?, destination: String
  ) throws {
    let file = folder.receiptPath
    guard let made = try receipt(at: file), try isReceipt(made, ofStoreAt: destination) else { return }
    let known = journal?.receipt
    let path = known?.path ?? destination + Receipt.suffix
    try place(made, of: file, at: path, destination: destination, replaced: known?.replaced)
    try WorkFolder.sync(path.parentPath)
  }

  /// Puts the receipt of a job in its place whose store is there already, and syncs both.
  ///
  /// - Returns: Notes for the summary, and what becomes of the work folder.
  func settle(_ claim: borrowing Claim) throws -> (notes: [MigrationNote], end: Claim.End) {
    let notes = try placeReceipt(of: claim)
    // Names are durable before the folder goes that has the store and the receipt too.
    let folders = Set([job.destinationPath.parentPath] + (try receiptPath.map { [$0.parentPath] } ?? []))
    for folder in folders { try WorkFolder.sync(folder) }
    // A folder that stays is for the next run what a run leaves that dies here.
    let isDone = try notes.isEmpty || !keepsWaitingReceipt() || !WorkFolder.exists(claim.folder.receiptPath)
    return (notes, isDone ? .done : .kept)
  }

  /// Whether the work folder keeps a receipt that found no place, for the next run: that of a new store, unless its name
  /// is too long for any place.
  private func keepsWaitingReceipt() throws -> Bool {
    guard !job.isInPlace, !job.appends, let receiptPath = try receiptPath else { return false }
    return FileStatus(named: receiptPath) != nil || errno != ENAMETOOLONG
  }

  /// Whether a receipt is that of a store, by the job that the store names last.
  static func isReceipt(_ receipt: Receipt, ofStoreAt path: String) throws -> Bool {
    guard let digest = receipt.job.digest else { return false }
    return try StoreMetadata.ifStore(at: path)?.jobs.last == digest
  }

  private static func place(
    _ made: Receipt, of file: String, at path: String, destination: String, replaced: String?
  ) throws {
    let delivered = "the migrated store is in its place; run the same command to write the receipt"
    var replaces = false
    if try WorkFolder.exists(path) {
      guard let known = try receipt(at: path) else { throw inTheWay(path, safe: delivered) }
      // The receipt of a store that was replaced goes with it.
      let isOfReplaced =
        replaced != nil && known.job.digest == replaced && known.destination.uuid == made.destination.uuid
        && known.destination.file == made.destination.file
      // Two jobs of one manifest, for other stores, have one digest.
      let isOfSame =
        known.job.digest == made.job.digest && known.destination.file == made.destination.file
        && known.source.path == made.source.path
      if !isOfSame, !isOfReplaced { try moveAside(path, known) }
      replaces = true
    }
    do {
      // On the same disk nothing can be left half-way.
      if try move(file, to: path, replaces: replaces, like: destination) { return }
      // It tells of the source, and is no more readable.
      try NewFile.make(path, like: [destination], replaces: replaces) { temporary in
        try Data(contentsOf: URL(filePath: file)).write(to: URL(filePath: temporary))
      }
    } catch {
      var told = GodwitError.disk("cannot write the receipt '\(path)'", error)
      told.safe = delivered
      throw told
    }
    unlink(file)
  }

  /// Moves a synced file of the work folder beside the destination, no more readable than that is. The caller syncs the
  /// folder.
  ///
  /// - Returns: false if the path is on another disk, or the file system has no hard links.
  static func move(
    _ file: String, to path: String, replaces: Bool, like destination: String
  ) throws -> Bool {
    try FileRights.copyMode(of: destination, to: file)
    guard (replaces ? rename(file, path) : link(file, path)) == 0 else {
      let code = CLibrary.errno
      guard [EXDEV, EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(code) else {
        throw GodwitError.disk("cannot write '\(path)'", errno: code)
      }
      return false
    }
    if !replaces { unlink(file) }
    return true
  }

  /// Gives a receipt of another job a name of its own: it may be the only proof of a store that was moved away.
  private static func moveAside(_ path: String, _ known: Receipt) throws {
    let stem = path.hasSuffix(Receipt.suffix) ? path.dropLast(Receipt.suffix.count) : path.dropLast(0)
    let mark = (known.job.digest ?? Digest.hex(known.finished)).prefix(12)
    var number = 1
    while true {
      let aside = "\(stem).\(mark)\(number > 1 ? "-\(number)" : "")\(Receipt.suffix)"
      if link(path, aside) == 0 { return }
      let code = errno
      // The same receipt, of a run that died here.
      if code == EEXIST, FileManager.default.contentsEqual(atPath: path, andPath: aside) { return }
      guard code == EEXIST, number < 1000 else {
        throw GodwitError.disk("cannot give the earlier receipt '\(path)' the name '\(aside)'", errno: code)
      }
      number += 1
    }
  }
}

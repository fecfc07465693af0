import Foundation
import GodwitDisk
import GodwitJob
import GodwitModel
import GodwitPlatform
import GodwitStore

/// How a receipt gets from the work folder to its place: after its store, see `MigrationManager+Receipt.swift`.
extension MigrationManager {
  /// Puts the receipt of the work folder in its place, if there is one. The store is in its place already.
  ///
  /// A receipt of another job, which appended to the same destination and died, goes where that job's manifest had it.
  ///
  /// - Parameter prepared: The receipt of the folder, where this run has written it.
  /// - Returns: A note if that fails in the default place: the job is finished all the same.
  /// - Throws: If it fails at a path of the manifest, or the disk refused it. The work folder keeps the receipt, and the
  ///   next run tries again.
  func placeReceipt(
    of folder: borrowing WorkFolder, _ prepared: PreparedReceipt? = nil
  ) throws -> [MigrationNote] {
    let made: Receipt
    if let receipt = prepared?.receipt {
      made = receipt
    } else {
      guard FileManager.default.fileExists(atPath: folder.receiptPath) else { return [] }
      do { made = try Receipt.read(folder.receiptPath) } catch let error as GodwitError {
        return [.init(.receiptMissing, "no receipt was written: \(error.line)")]
      }
    }
    let isOwn = prepared?.receipt != nil || isOwn(made)
    guard let path = isOwn ? receiptPath : Self.notedPlace(in: folder, destination: job.destinationPath) else {
      return []
    }
    do {
      try Self.place(
        made, of: folder.receiptPath, at: path, destination: job.destinationPath, replaced: Self.replaced(in: folder),
        isSynced: folder.isSynced)
      return []
    } catch let error as GodwitError {
      if isOwn, isOwed(after: error) { throw error }
      let whose = isOwn ? "" : " of '\(made.job.name)'"
      return [.init(.receiptMissing, "no receipt\(whose) was written: \(error.line)")]
    }
  }

  /// Puts the receipt of a folder that is discarded in its place, if it is that of the store at the destination: the
  /// only proof of it, and what the job knows it by.
  static func placeReceipt(inDiscarded folder: borrowing WorkFolder, destination: String) throws {
    guard let made = receipt(at: folder.receiptPath), isReceipt(made, ofStoreAt: destination),
      let path = notedPlace(in: folder, destination: destination)
    else { return }
    try place(made, of: folder.receiptPath, at: path, destination: destination, replaced: replaced(in: folder))
  }

  /// Where the job that wrote the receipt of a folder wants it. A job whose work is not synced notes only another place
  /// than the usual one.
  ///
  /// - Returns: nil where that cannot be read.
  private static func notedPlace(in folder: borrowing WorkFolder, destination: String) -> String? {
    guard FileManager.default.fileExists(atPath: folder.receiptPlacePath) else {
      return usualReceiptPath(ofStoreAt: destination)
    }
    let noted = ReadableFile.text(of: folder.receiptPlacePath)
    return noted?.isEmpty == false ? noted : nil
  }

  /// Syncs the folders in which store and receipt have got their names.
  func syncDelivered() throws {
    let folders = Set([job.destinationPath.parentPath] + (receiptPath.map { [$0.parentPath] } ?? []))
    for folder in folders { try WorkFolder.sync(folder) }
  }

  /// Notes whose receipt goes when the store of the folder replaces another one. A receipt alone does not tell its
  /// store's folder: that of a destination before, in another folder, may be at the same path of the manifest.
  func noteReplaced(_ receipt: Receipt, in folder: borrowing WorkFolder) throws {
    try WorkFolder.writeNote(Data((receipt.job.digest ?? "").utf8), to: folder.receiptReplacedPath)
  }

  /// The digest of the job that made the store which that of the folder has replaced; nil if it has replaced none.
  private static func replaced(in folder: borrowing WorkFolder) -> String? {
    let noted = ReadableFile.text(of: folder.receiptReplacedPath)
    return noted?.isEmpty == false ? noted : nil
  }

  /// Whether a receipt is that of a store, by the job that the store names last.
  static func isReceipt(_ receipt: Receipt, ofStoreAt path: String) -> Bool {
    guard let digest = receipt.job.digest, let metadata = try? StoreMetadata(readingStoreAt: path) else { return false }
    return metadata.applicationValues[jobsKey]?.array?.last?.string == digest
  }

  private static func place(
    _ made: Receipt, of file: String, at path: String, destination: String, replaced: String?, isSynced: Bool = true
  ) throws {
    let delivered = "the migrated store is in its place; run the same command to write the receipt"
    var info = stat()
    var replaces = false
    if lstat(path, &info) == 0 {
      guard let known = receipt(at: path) else { throw inTheWay(path, safe: delivered) }
      // The receipt of a store that was replaced goes with it.
      let isOfReplaced =
        replaced != nil && known.job.digest == replaced && known.destination.uuid == made.destination.uuid
        && known.destination.file == made.destination.file
      if known.job.digest != made.job.digest, !isOfReplaced { try moveAside(path, known) }
      replaces = true
    }
    do {
      // On the same disk nothing can be left half-way.
      if try move(file, to: path, replaces: replaces, like: destination, isSynced: isSynced) { return }
      let temporary = try NewFile.temporaryName(beside: path, replaces: replaces)
      do {
        try Data(contentsOf: URL(filePath: file)).write(to: URL(filePath: temporary))
        // It tells of the source, and is no more readable.
        try NewFile.publish(temporary, as: path, like: [destination], replaces: replaces)
      } catch {
        NewFile.discard(temporary)
        throw error
      }
    } catch {
      var told = GodwitError.disk("cannot write the receipt '\(path)'", error)
      told.safe = delivered
      throw told
    }
    unlink(file)
  }

  /// Moves a file of the work folder beside the destination, no more readable than that is.
  ///
  /// - Parameter isSynced: Whether it is durable then; otherwise it is synced before, and its folder later.
  /// - Returns: false if the path is on another disk, or the file system has no hard links.
  static func move(
    _ file: String, to path: String, replaces: Bool, like destination: String, isSynced: Bool = true
  ) throws -> Bool {
    try FileRights.copyMode(of: destination, to: file)
    if isSynced { try WorkFolder.sync(file) }
    guard (replaces ? rename(file, path) : link(file, path)) == 0 else {
      let code = CLibrary.errno
      guard [EXDEV, EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(code) else {
        throw GodwitError.disk("cannot write '\(path)'", errno: code)
      }
      return false
    }
    if !replaces { unlink(file) }
    if isSynced { try WorkFolder.sync(URL(filePath: path).deletingLastPathComponent().path) }
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

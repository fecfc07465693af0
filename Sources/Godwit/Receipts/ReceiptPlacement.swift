import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The receipt of a finished job on its way into its place.
///
/// 1. Where it goes is checked before the run begins.
/// 2. Before the ledger goes, what it knows is recorded in the journal.
/// 3. When the store is complete, its checksums are counted, and the receipt is written in the work folder.
/// 4. The store is put in its place, then the receipt, then the work folder goes.
/// A run that dies after 3 leaves the receipt in the folder, and the next run puts it in its place.
/// A new store whose receipt finds no place keeps its work folder, and the run ends with 0: an error each night would help
/// nobody, and a receipt that is counted again lacks the losses.
struct ReceiptPlacement {
  let job: MigrationJob

  init(_ job: MigrationJob) { self.job = job }

  /// Where the receipt goes; nil for a job without one.
  var path: String? {
    get throws {
      switch job.receipt {
      case nil: nil
      case .file(let url): url.filePath
      case .besideDestination where job.appends: "\(job.destinationPath).\(try appendMark())\(Receipt.suffix)"
      case .besideDestination: job.destinationPath + Receipt.suffix
      }
    }
  }

  /// One destination has a receipt of each job that appends to it.
  private func appendMark() throws -> String {
    let uuid = try Definite.answer { try job.sourceUUID() } ?? ""
    let sources = job.sourcePaths.map { URL(filePath: $0).standardizedFileURL.path }
    return String(Digest.hex(([JobFingerprint(job).digest, uuid] + sources).joined(separator: "\n")).prefix(12))
  }

  /// Whether the job remains unfinished when an error kept its receipt from being written: one at a path of the
  /// manifest, or one by which the next run knows the destination. A disk that refuses may accept any receipt in the next
  /// run. If the usual place cannot hold a receipt, no run can write it.
  func isOwed(after error: GodwitError) -> Bool {
    if case .file? = job.receipt { return true }
    return job.replacesEarlierResult || error.code == .inputOutput
  }

  // MARK: Before

  /// Refuses a path of the manifest at which the receipt cannot be written when the job is done. The default place
  /// refuses nothing: a run that cannot write there says so when it is done.
  ///
  /// - Throws: `.cannotCreate` (73) when something else is there, or its folder is missing; `.permission` (77) when the
  ///   folder cannot be written; `.configuration` (78) when it is the path of another file of the job.
  func check() throws {
    // A run that has begun is not kept from its end.
    guard case .file? = job.receipt, let path = try path,
      try !WorkFolder.exists(forDestination: job.destinationPath)
    else { return }
    // A finished job has no receipt to write.
    if let error = try obstacle(path), try !DestinationLook(job).isFinished() { throw error }
  }

  private func obstacle(_ path: String) throws -> GodwitError? {
    if let name = try JobFiles(job, receipt: nil).name(at: path) {
      return GodwitError(
        .configuration, "cannot write the receipt to '\(path)': it is the job's \(name)",
        remedy: "name another file with `receipt`, or write `receipt: none`", safe: "nothing was written")
    }
    if let why = OutputFile.reserved(path) {
      return GodwitError(
        .configuration, "cannot write the receipt to '\(path)': \(why)", remedy: "name another file with `receipt`",
        safe: "nothing was written")
    }
    let folder = URL(filePath: path).deletingLastPathComponent().standardizedFileURL.path
    let destinationFolder = URL(filePath: job.destinationPath).deletingLastPathComponent().standardizedFileURL.path
    if FileStatus(named: path) != nil {
      guard try Receipt.found(at: path) == nil else { return nil }
      return Self.inTheWay(path, safe: "nothing was written")
    }
    let code = errno
    if code != ENOENT, code != ENOTDIR {
      return GodwitError.disk("cannot write the receipt '\(path)'", errno: code, safe: "nothing was written")
    }
    // The destination's own folder is made, and refused, with the work folder.
    guard folder != destinationFolder else { return nil }
    guard try FileStatus.look(following: folder)?.isFolder == true else {
      return GodwitError(
        .cannotCreate, "cannot write the receipt '\(path)': its folder '\(folder)' does not exist",
        remedy: "make the folder, or name another file with `receipt`", safe: "nothing was written")
    }
    guard access(folder, W_OK | X_OK) != 0 else { return nil }
    return GodwitError.disk("cannot write the receipt '\(path)'", errno: errno, safe: "nothing was written")
  }

  static func inTheWay(_ path: String, safe: String) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot write the receipt '\(path)': something else is there",
      cause: "a run renames an older receipt and never touches a file that is not a receipt",
      remedy: "move it away, name another file with `receipt`, or write `receipt: none`", safe: safe)
  }

  /// Whether the receipt in a work folder is this job's. Jobs that append to one destination share the folder.
  ///
  /// - Throws: When a source cannot be looked at.
  func isOwn(_ receipt: Receipt) throws -> Bool {
    try receipt.isOf(Receipt.job(job, JobFingerprint(job), digest: nil), file: job.destinationFile)
      && receipt.source.isAt(job.sourcePaths)
  }

  // MARK: After

  /// Puts the receipt of the work folder in its place, if there is one. The store is in its place already.
  ///
  /// A receipt of another job, which appended to the same destination and died, goes where that job's manifest had it.
  ///
  /// - Returns: A note if that fails in the default place: the job is finished all the same.
  /// - Throws: If it fails at a path of the manifest, or the disk refused it. The work folder keeps the receipt, and the
  ///   next run tries again.
  func place(of claim: borrowing Claim) throws -> [MigrationNote] {
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
    let isOwn = try journal.receipt != nil || isOwn(made)
    guard let path = try isOwn ? self.path : place?.path ?? job.destinationPath + Receipt.suffix else {
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
  static func place(
    inDiscarded folder: borrowing WorkFolder, _ journal: WorkJournal?, destination: String
  ) throws {
    let file = folder.receiptPath
    guard let made = try Receipt.found(at: file), try made.isOfStore(at: destination) else { return }
    let known = journal?.receipt
    let path = known?.path ?? destination + Receipt.suffix
    try place(made, of: file, at: path, destination: destination, replaced: known?.replaced)
    try WorkFolder.sync(path.parentPath)
  }

  /// Puts the receipt of a job in its place whose store is there already, and syncs both.
  ///
  /// - Returns: Notes for the summary, and what becomes of the work folder.
  func settle(_ claim: borrowing Claim) throws -> (notes: [MigrationNote], end: Claim.End) {
    let notes = try place(of: claim)
    // Names are durable before the folder goes that has the store and the receipt too.
    let folders = Set([job.destinationPath.parentPath] + (try path.map { [$0.parentPath] } ?? []))
    if try job.groupedSync(of: claim.journal)?.syncNames(in: folders) != true {
      for folder in folders { try WorkFolder.sync(folder) }
    }
    // A folder that stays is for the next run what a run leaves that dies here.
    let isDone = try notes.isEmpty || !keepsWaitingReceipt() || !WorkFolder.exists(claim.folder.receiptPath)
    return (notes, isDone ? .done : .kept)
  }

  /// Whether the work folder keeps a receipt that found no place, for the next run: that of a new store, unless its name
  /// is too long for any place.
  private func keepsWaitingReceipt() throws -> Bool {
    guard !job.isInPlace, !job.appends, let path = try path else { return false }
    return FileStatus(named: path) != nil || errno != ENAMETOOLONG
  }

  private static func place(
    _ made: Receipt, of file: String, at path: String, destination: String, replaced: String?
  ) throws {
    let delivered = "the migrated store is in its place; run the same command to write the receipt"
    var replaces = false
    if try WorkFolder.exists(path) {
      guard let known = try Receipt.found(at: path) else { throw inTheWay(path, safe: delivered) }
      // The receipt of a store that was replaced goes with it.
      let isOfReplaced =
        replaced != nil && known.job.digest == replaced && known.destination.uuid == made.destination.uuid
        && known.destination.file == made.destination.file
      // Two jobs of one manifest, for other stores, have one digest.
      let isOfSame =
        try known.job.digest == made.job.digest && known.destination.file == made.destination.file
        && known.source.isAt(made.source.paths)
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

extension Receipt {
  /// The receipt at a path; nil if nothing is there, or something else.
  ///
  /// - Throws: When the file could not be read.
  static func found(at path: String) throws -> Receipt? {
    guard let status = try FileStatus.look(named: path), status.isFile else { return nil }
    return try Definite.answer { try Receipt.read(path) }
  }

  /// Whether a receipt is that of a store, by the job that the store names last.
  func isOfStore(at path: String) throws -> Bool {
    guard let digest = job.digest else { return false }
    return try StoreMetadata.ifStore(at: path)?.jobs.last == digest
  }
}

extension MigrationJob {
  /// The name of the destination without its folder.
  var destinationFile: String { URL(filePath: destinationPath).lastPathComponent }
}

import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The receipt of a finished job.
///
/// 1. Where it goes is checked before the run begins.
/// 2. Before the ledger goes, what it knows is recorded in the journal.
/// 3. When the store is complete, its checksums are counted, and the receipt is written in the work folder.
/// 4. The store is put in its place, then the receipt, then the work folder goes.
/// A run that dies after 3 leaves the receipt in the folder, and the next run puts it in its place.
extension MigrationManager {
  /// Where the receipt goes; nil for a job without one.
  var receiptPath: String? {
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
    let uuid = try StoreMetadata.ifStore(at: job.sourcePath)?.uuid ?? ""
    let source = URL(filePath: job.sourcePath).standardizedFileURL.path
    return String(Digest.hex([quickIdentity.digest, uuid, source].joined(separator: "\n")).prefix(12))
  }

  var destinationFile: String { URL(filePath: job.destinationPath).lastPathComponent }

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
  func checkReceiptPlace() throws {
    // A run that has begun is not kept from its end.
    guard case .file? = job.receipt, let path = try receiptPath,
      try !WorkFolder.exists(forDestination: job.destinationPath)
    else { return }
    // A finished job has no receipt to write.
    if let error = try receiptObstacle(path), try !isFinished() { throw error }
  }

  private func receiptObstacle(_ path: String) throws -> GodwitError? {
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
      guard try Self.receipt(at: path) == nil else { return nil }
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

  /// The receipt at a path; nil if nothing is there, or something else.
  ///
  /// - Throws: When the file could not be read.
  static func receipt(at path: String) throws -> Receipt? {
    guard let status = try FileStatus.look(named: path), status.isFile else { return nil }
    return try Definite.answer { try Receipt.read(path) }
  }

  /// Whether the receipt in a work folder is this job's. Jobs that append to one destination share the folder.
  func isOwn(_ receipt: Receipt) -> Bool {
    receipt.isOf(Receipt.job(job, quickIdentity, digest: nil), file: destinationFile)
      && receipt.source.path == job.sourcePath
  }

  // MARK: Writing

  /// Counts the checksums of the finished store, and writes the receipt into the work folder.
  ///
  /// - Parameters:
  ///   - store: The file that becomes the destination.
  ///   - summary: Gets a note if no receipt can be in the default place. The store is delivered all the same.
  ///   - history: The run's record of its chunks.
  ///   - isUnchanged: Whether the store is as it was when the counting began.
  /// - Returns: Why the run stopped meanwhile; nil when the receipt is written, or the job has none.
  /// - Throws: For a path of the manifest, what makes the receipt impossible; for any place, what the disk refused.
  func prepareReceipt(
    of store: String, in claim: borrowing Claim, _ summary: inout MigrationSummary, _ control: MigrationControl,
    history: HistoryRecorder, isUnchanged: () throws -> Bool = { true }
  ) throws -> String? {
    let journal = claim.journal
    guard let path = try receiptPath else {
      try journal.update { $0.phase = max($0.phase, .made) }
      return nil
    }
    let note = journal.content?.outcome
    // A run that died while it delivered may have lost what the receipt was made of.
    if note == nil, !job.isInPlace, !job.isStepped, let known = try knownReceipt(ofStoreAt: store, in: claim.folder) {
      journal.receipt = known
      return nil
    }
    do {
      var receipt = try receipt(ofStoreAt: store, note?.content, journal.counted) { try control.checkpoint() }
      if job.isStepped, let record = journal.content?.steps {
        receipt.steps = record.finished.compactMap(\.receipt)
        receipt.losses = record.finished.flatMap(\.summary.losses.losses)
        receipt.source.digest = record.identity.source
        receipt.source.stamp = Receipt.sourceStamp(record.stamp)
        receipt.began = Receipt.time(record.now)
      } else if let note {
        receipt.steps = [note.step]
        receipt.losses = note.summary.losses.losses
        receipt.source.digest = note.identity.source
        receipt.source.stamp = note.stamp.map(Receipt.sourceStamp)
        receipt.began = Receipt.time(job.now == nil ? note.began : summary.begin)
      } else {
        receipt.losses = summary.losses.losses
        receipt.began = Receipt.time(summary.begin)
      }
      receipt.seconds = summary.seconds
      receipt.peakBytes = ProcessMemory.peakBytes
      receipt.budgetBytes = job.memory.bytes
      receipt.history = history.finished()
      guard try isUnchanged() else {
        throw GodwitError(.stopped, "another process wrote to the store meanwhile", stopReason: .sourceChanged)
      }
      // In place the application may write to the store already.
      if !job.isInPlace {
        receipt.destination.stamp = try Receipt.deliveryStamp(ofStoreAt: store)
        receipt.destination.fileStamp = try Receipt.fileStamp(ofStoreAt: store)
      }
      try WorkFolder.writeNote(try receipt.encoded(), to: claim.folder.receiptPath)
      try journal.update {
        $0.phase = max($0.phase, .made)
        $0.receipt = WorkJournal.ReceiptPlace(path: path, replaced: $0.receipt?.replaced)
      }
      journal.receipt = receipt
    } catch is CancellationError { throw CancellationError() } catch {
      let error = GodwitError.disk("cannot write the receipt", error)
      if error.code == .stopped, let reason = control.reason { return reason }
      // The place of the receipt has no part in reading the store: a file that may not be read now may be read in the
      // next run.
      guard isOwed(after: error) || error.code == .permission else {
        summary.codedNotes.append(.init(.receiptMissing, "no receipt was written: \(error.line)"))
        return nil
      }
      var told = error
      let orWithout = job.replacesEarlierResult ? "" : ", or write `receipt: none`,"
      told.remedy = "fix the cause\(orWithout) and run the same command"
      let isKept =
        journal.isDurable && (try? WorkFolder.exists(job.lastStepFolder(in: claim.path).storePath)) == true
      if isKept { told.remedy? += ": the migration itself is done" }
      throw told
    }
    return nil
  }

  /// The receipt in a work folder, if it is that of a finished store in it.
  private func knownReceipt(ofStoreAt store: String, in folder: borrowing WorkFolder) throws -> Receipt? {
    guard let known = try Self.receipt(at: folder.receiptPath), isOwn(known), known.destination.stamp != nil,
      try known.destination.stamp == Receipt.deliveryStamp(ofStoreAt: store),
      try Self.isReceipt(known, ofStoreAt: store)
    else { return nil }
    return known
  }

  /// A receipt of what a store holds.
  ///
  /// - Parameter content: The content of the store, if it is counted already.
  private func receipt(
    ofStoreAt path: String, _ content: Receipt.Content?,
    _ counted: (facts: ReceiptedStore.Facts, content: Receipt.Content)?, check: @escaping () throws -> Void
  ) throws -> Receipt {
    let (facts, content) = try counted ?? count(storeAt: path, content, check)
    // In place the source is the store that the destination took over its identifier from.
    // A new store of one step has it from the source as well.
    let isKept = job.isInPlace || (!job.appends && !job.isStepped)
    let source = try isKept ? facts.metadata.uuid : StoreMetadata.ifStore(at: job.sourcePath)?.uuid
    return Receipt(
      of: facts, content, bytes: StoreFiles.size(ofFile: path), job: job, identity: quickIdentity,
      file: destinationFile, sourceUUID: source, finished: Date().ISO8601Format())
  }

  private func count(
    storeAt path: String, _ content: Receipt.Content?, _ check: @escaping () throws -> Void
  ) throws -> (facts: ReceiptedStore.Facts, content: Receipt.Content) {
    // Readers of the receipt know the model from it alone: so this count must not know more.
    let store = try ReceiptedStore(
      path: path, becoming: path == job.destinationPath ? nil : job.destinationPath,
      model: Receipt.model(asReceiptOf: job.destinationModel), budget: job.memory, checkpoint: check)
    return (try store.facts(), try content ?? Receipt.content(store.checksums(check: check)))
  }

  /// Writes the receipt of a store that was edited in its place. The application may write to it already: a receipt is
  /// written only if nothing changed while it was counted.
  ///
  /// - Parameter summary: Gets a note when there is none. The store is migrated all the same.
  func writeReceiptOfEditedStore(
    _ files: StoreFiles, in claim: borrowing Claim, _ summary: inout MigrationSummary, _ watch: StopCondition,
    history: HistoryRecorder
  ) {
    guard job.receipt != nil else { return }
    do {
      let stamp = try files.stamp()
      let reason = try prepareReceipt(of: job.sourcePath, in: claim, &summary, watch.control, history: history) {
        try files.stamp() == stamp
      }
      if let reason {
        summary.codedNotes.append(.init(.receiptMissing, "no receipt was written: the run was stopped by \(reason)"))
      }
    } catch {
      // No later run may count what the application has written to since.
      let why = (error as? GodwitError).map { ": \($0.line)" } ?? ""
      summary.codedNotes.append(.init(.receiptMissing, "no receipt was written\(why)"))
    }
  }
}

extension Receipt {
  /// A time in UTC, as RFC 3339 writes it.
  static func time(_ seconds: Double) -> String { Date(timeIntervalSinceReferenceDate: seconds).ISO8601Format() }
}

extension MigrationSummary {
  /// When the run began, by its own time: seconds since 2001.
  fileprivate var begin: Double { Date().timeIntervalSinceReferenceDate - seconds }
}

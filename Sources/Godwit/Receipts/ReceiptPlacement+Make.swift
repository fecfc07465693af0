import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// How a receipt is made: counted when the store is complete, and written into the work folder.
extension ReceiptPlacement {
  /// Counts the checksums of the finished store, and writes the receipt into the work folder.
  ///
  /// - Parameters:
  ///   - store: The file that becomes the destination.
  ///   - summary: Gets a note if no receipt can be in the default place. The store is delivered all the same.
  ///   - history: The run's record of its chunks.
  ///   - isUnchanged: Whether the store is as it was when the counting began.
  /// - Returns: Why the run stopped meanwhile; nil when the receipt is written, or the job has none.
  /// - Throws: For a path of the manifest, what makes the receipt impossible; for any place, what the disk refused.
  func prepare(
    of store: String, in claim: borrowing Claim, _ summary: inout MigrationSummary, _ control: MigrationControl,
    history: HistoryRecorder, isUnchanged: () throws -> Bool = { true }
  ) throws -> String? {
    let journal = claim.journal
    guard let path = try self.path else {
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
      try WorkFolder.writeNote(
        try receipt.encoded(), to: claim.folder.receiptPath, isSynced: job.groupedSync(of: journal) == nil)
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
      let isKept = journal.isDurable && journal.mayBeResumable
      if isKept { told.remedy? += ": the migration itself is done" }
      throw told
    }
    return nil
  }

  /// The receipt in a work folder, if it is that of a finished store in it.
  private func knownReceipt(ofStoreAt store: String, in folder: borrowing WorkFolder) throws -> Receipt? {
    guard let known = try Receipt.found(at: folder.receiptPath), try isOwn(known), known.destination.stamp != nil,
      try known.destination.stamp == Receipt.deliveryStamp(ofStoreAt: store),
      try known.isOfStore(at: store)
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
    let source = try isKept ? facts.metadata.uuid : Definite.answer { try job.sourceUUID() }
    return Receipt(
      of: facts, content, bytes: StoreFiles.size(ofFile: path), job: job, identity: JobFingerprint(job),
      file: job.destinationFile, sourceUUID: source, finished: Date().ISO8601Format())
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
  func prepareOfEditedStore(
    _ files: StoreFiles, in claim: borrowing Claim, _ summary: inout MigrationSummary, _ watch: StopCondition,
    history: HistoryRecorder
  ) {
    guard job.receipt != nil else { return }
    do {
      let stamp = try files.stamp()
      let reason = try prepare(of: job.sourcePath, in: claim, &summary, watch.control, history: history) {
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

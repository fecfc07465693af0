import Foundation
import GodwitDisk
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitPlatform
import GodwitStore

/// The receipt of a finished job.
///
/// 1. Where it goes is checked before the run begins.
/// 2. Before the ledger goes, what it knows is noted in the folder of the step.
/// 3. When the store is complete, its checksums are counted, and the receipt is written in the work folder.
/// 4. The store is put in its place, then the receipt, then the work folder goes.
/// A run that dies after 3 leaves the receipt in the folder, and the next run puts it in its place.
extension MigrationManager {
  /// Where the receipt goes; nil for a job without one.
  var receiptPath: String? {
    switch job.receipt {
    case nil: return nil
    case .file(let url): return url.filePath
    case .besideDestination where job.appends:
      // One destination has a receipt of each job.
      let uuid = (try? StoreMetadata(readingStoreAt: job.sourcePath).uuid) ?? ""
      let source = URL(filePath: job.sourcePath).standardizedFileURL.path
      let mark = Digest.hex([quickIdentity.digest, uuid, source].joined(separator: "\n")).prefix(12)
      return "\(job.destinationPath).\(mark)\(Receipt.suffix)"
    case .besideDestination: return job.destinationPath + Receipt.suffix
    }
  }

  private var receiptJob: Receipt.Job { Receipt.job(job, quickIdentity, digest: nil) }
  private var destinationFile: String { URL(filePath: job.destinationPath).lastPathComponent }

  // MARK: Before

  /// Refuses a place in which the receipt cannot be written when the job is done.
  ///
  /// - Throws: `.cannotCreate` (73) when something else is there, or its folder is missing; `.permission` (77) when the
  ///   folder cannot be written; `.configuration` (78) when it is the path of another file of the job.
  func checkReceiptPlace() throws {
    guard let path = receiptPath else { return }
    func place(_ path: String) -> String { URL(filePath: path).standardizedFileURL.path }
    let others = [("source", job.sourcePath), ("destination", job.destinationPath), ("work folder", job.workPath)]
    for (name, other) in others
    where place(other) == place(path) {
      throw GodwitError(
        .configuration, "cannot write the receipt to '\(path)': it is the job's \(name)",
        remedy: "name another file with `receipt`, or write `receipt: none`", safe: "nothing was written")
    }
    var info = stat()
    if lstat(path, &info) == 0 {
      guard isOwnReceipt(path, info) || (try? isFinished()) == true else {
        throw GodwitError(
          .cannotCreate, "cannot write the receipt '\(path)': something else is there",
          cause: "a run replaces a receipt of the same models, mappings and destination, and nothing else",
          remedy: "move it away, name another file with `receipt`, or write `receipt: none`",
          safe: "nothing was written")
      }
    }
    // The destination's own folder is made, and refused, with the work folder.
    let folder = URL(filePath: path).deletingLastPathComponent().path
    guard folder != URL(filePath: job.destinationPath).deletingLastPathComponent().path else { return }
    let isFolder = stat(folder, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
    let isWritable = access(folder, W_OK | X_OK) == 0
    let code = errno
    // A finished job stays finished: its summary says that the receipt cannot be written.
    if isFolder, isWritable || (try? isFinished()) == true { return }
    guard isFolder else {
      throw GodwitError(
        .cannotCreate, "cannot write the receipt '\(path)': its folder '\(folder)' does not exist",
        remedy: "make the folder, or name another file with `receipt`", safe: "nothing was written")
    }
    throw GodwitError.disk("cannot write the receipt '\(path)'", errno: code, safe: "nothing was written")
  }

  private func isOwnReceipt(_ path: String, _ info: stat) -> Bool {
    guard info.st_mode & S_IFMT == S_IFREG, let known = try? Receipt.read(path) else { return false }
    return known.isOf(receiptJob, file: destinationFile)
  }

  // MARK: Counting

  /// Counts the checksums of a store whose rows are final, beside SQLite's check of it; nil where it will not be the
  /// destination as it is.
  func countAhead(in folder: StepFolder, _ schema: StoreSchema) -> BackgroundTask<Receipt.Content>? {
    guard job.receipt != nil, job.position.isLast, job.destinationType == .sqlite else { return nil }
    let cache = ByteCount(bytes: max(job.memory.bytes / 16, 1 << 20))
    return BackgroundTask { [path = folder.storePath, destination = job.destinationPath] isWanted in
      let sums = try ReceiptedStore.checksums(
        ofFilledStoreAt: path, becoming: destination, schema: schema, cache: cache
      ) {
        guard isWanted() else { throw CancellationError() }
      }
      return Receipt.content(sums)
    }
  }

  /// Notes what the ledger knows, before its tables go.
  ///
  /// - Parameter content: What the store holds, if it is counted already.
  func noteOutcome(
    in folder: StepFolder, _ plan: MigrationPlan, _ ledger: Ledger, losses: LossReport, content: Receipt.Content?
  ) throws {
    guard job.receipt != nil else { return }
    let facts = plan.facts
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // What the plan fixed, but for what may change between two runs of the same job.
    var fixed = facts
    fixed.mappings = facts.mappings.map { mapping in
      var mapping = mapping
      mapping.chunkRows = 0
      return mapping
    }
    fixed.now = 0
    let step = Receipt.Step(
      job, plan, digest: Digest.hex(String(decoding: try encoder.encode(fixed), as: UTF8.self)),
      made: try ledger.objectsMade())
    let note = Receipt.Note(
      step: step, losses: losses, identity: try ledger.identity(), began: facts.now, content: content)
    try WorkFolder.writeNote(try encoder.encode(note), to: folder.outcomePath)
    try WorkFolder.sync(folder.path)
  }

  /// Counts the checksums of the finished store, and writes the receipt into the work folder.
  ///
  /// - Parameters:
  ///   - store: The file that becomes the destination.
  ///   - made: The folder of the last step.
  /// - Returns: Why the run stopped meanwhile; nil when the receipt is written, or the job has none.
  func prepareReceipt(
    of store: String, in folder: borrowing WorkFolder, _ made: StepFolder, _ summary: MigrationSummary,
    _ control: MigrationControl, sourceDigest: String? = nil
  ) throws -> String? {
    guard job.receipt != nil else { return nil }
    let note = Receipt.Note.read(made.outcomePath)
    // A hook may have changed the store since it was counted.
    let isCounted = job.steps.last?.didMigrate == nil && job.destinationType == .sqlite
    var receipt: Receipt
    do {
      receipt = try self.receipt(.run, ofStoreAt: store, isCounted ? note?.content : nil) { try control.checkpoint() }
    } catch let error as GodwitError where error.code == .stopped && control.reason != nil {
      return control.reason
    }
    if job.isStepped, let record = try StepRecord.read(in: folder.path) {
      receipt.steps = record.steps.compactMap(\.receipt)
      receipt.losses = record.steps.flatMap { $0.losses?.losses ?? [] }
      receipt.source.digest = record.identity.source
      receipt.began = Receipt.time(record.now)
    } else if let note {
      receipt.steps = [note.step]
      receipt.losses = note.losses.losses
      receipt.source.digest = note.identity.source
      receipt.began = Receipt.time(job.now == nil ? note.began : summary.begin)
    } else {
      receipt.losses = summary.losses.losses
      receipt.began = Receipt.time(summary.begin)
    }
    receipt.seconds = summary.seconds
    receipt.peakBytes = ProcessMemory.peakBytes
    receipt.budgetBytes = job.memory.bytes
    try WorkFolder.writeNote(try receipt.encoded(), to: folder.receiptPath)
    try WorkFolder.sync(folder.path)
    return nil
  }

  /// A receipt of what a store holds.
  private func receipt(
    _ origin: Receipt.Origin, ofStoreAt path: String, _ content: Receipt.Content? = nil, check: () throws -> Void
  ) throws -> Receipt {
    let reader = try ReceiptedStore(
      path: path, becoming: path == job.destinationPath ? nil : job.destinationPath,
      model: job.destinationModel, cache: .init(bytes: max(job.memory.bytes / 8, 1 << 20)))
    // In place the source is the store that the destination took over its identifier from.
    let source = job.inPlace == nil ? try? StoreMetadata(readingStoreAt: job.sourcePath).uuid : reader.metadata.uuid
    return try Receipt(
      origin, of: reader, job: job, identity: quickIdentity, file: destinationFile, sourceUUID: source,
      finished: Date().ISO8601Format(), content: content, check: check)
  }

  // MARK: Delivering

  /// Puts the receipt of the work folder in its place, if there is one.
  func placeReceipt(of folder: borrowing WorkFolder) throws {
    let made = folder.receiptPath
    guard let path = receiptPath, FileManager.default.fileExists(atPath: made) else { return }
    // It tells of the source, and is no more readable.
    try FileRights.copyMode(of: job.destinationPath, to: made)
    if rename(made, path) != 0 {
      let code = errno
      guard code == EXDEV else { throw GodwitError.disk("cannot write the receipt '\(path)'", errno: code) }
      let temporary = try NewFile.temporaryName(beside: path, replaces: true)
      do {
        try WorkFolder.writeNote(try Data(contentsOf: URL(filePath: made)), to: temporary)
        try NewFile.publish(temporary, as: path, like: job.destinationPath, replaces: true)
      } catch {
        NewFile.discard(temporary)
        throw GodwitError.disk("cannot write the receipt '\(path)'", error)
      }
    }
    try WorkFolder.sync(URL(filePath: path).deletingLastPathComponent().path)
  }

  /// Writes the receipt of a finished job that has none: the run died before it was in its place and its work folder is
  /// gone, or an earlier version made the store.
  ///
  /// - Returns: The summary, with a note when the receipt cannot be written. The job is finished all the same.
  func healingReceipt(_ summary: MigrationSummary, _ watch: StopCondition) throws -> MigrationSummary {
    var info = stat()
    guard let path = receiptPath, lstat(path, &info) != 0 else { return summary }
    var summary = summary
    do {
      var receipt = try receipt(.rebuilt, ofStoreAt: job.destinationPath) { try watch.control.checkpoint() }
      if job.inPlace == nil { receipt.source.digest = try StoreFiles(path: job.sourcePath).contentDigest() }
      let folder = try WorkFolder(forDestination: job.destinationPath)
      try WorkFolder.writeNote(try receipt.encoded(), to: folder.receiptPath)
      try placeReceipt(of: folder)
      try folder.remove()
    } catch let error as GodwitError
      where [.permission, .cannotCreate, .inputOutput].contains(error.code) || error.stopReason == .locked
    {
      summary.codedNotes.append(.init(.receiptMissing, "no receipt was written: \(error.line)"))
    }
    return summary
  }
}

extension Receipt {
  /// A time in UTC, as RFC 3339 writes it.
  static func time(_ seconds: Double) -> String { Date(timeIntervalSinceReferenceDate: seconds).ISO8601Format() }
}

extension Receipt.Note {
  /// nil when there is none, or a damaged one.
  static func read(_ path: String) -> Receipt.Note? {
    (try? Data(contentsOf: URL(filePath: path))).flatMap { try? JSONDecoder().decode(Self.self, from: $0) }
  }
}

extension MigrationSummary {
  /// When the run began, by its own time: seconds since 2001.
  fileprivate var begin: Double { Date().timeIntervalSinceReferenceDate - seconds }
}

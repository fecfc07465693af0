public import Foundation
import GodwitDisk
import GodwitEngine
public import GodwitJob
import GodwitModel
import GodwitStore

/// Taking repaired objects of a quarantine into the destination.
///
/// Nothing is added to the finished destination. The job runs again, on a copy of the source with the repairs in it
/// (`RepairedSource`), beside the old destination. Then destination, quarantine, repairs file and receipt take the place
/// of the old ones. So the destination is what an ordinary run would make of a repaired source.
///
/// 1. What an earlier run began to deliver is delivered.
/// 2. Destination, source and quarantine are looked at: do they belong together, and has nobody written to the
///    destination?
/// 3. The repaired source and the repairs file are made, and noted (`RepairNote`).
/// 4. The job runs as any other. Its digest is that of source and repairs together.
/// 5. The destination is exchanged, as `on-existing: replace` does it. Then all else follows (`RepairDelivery`).
extension MigrationManager {
  /// Takes repaired objects into the destination, on the calling thread, or resumes that.
  ///
  /// The summary's outcome is `.alreadyFinished` if the repairs of the quarantine are in the destination already, and if
  /// nothing in it was edited.
  ///
  /// - Parameters:
  ///   - file: The quarantine of the destination, or a copy of it, with objects that were edited. It is only read. The
  ///     one beside the destination is replaced.
  ///   - control: Stops the run from another thread.
  ///   - maximumSeconds: A time limit; the run stops at the first checkpoint after it.
  ///   - progress: Called after every chunk, and up to four times a second while one runs, on the calling thread.
  /// - Throws: `GodwitError`. The old destination stays until the new one takes its place, and the same call resumes if
  ///   it can.
  @discardableResult
  public func run(
    fromQuarantine file: URL, control: MigrationControl = MigrationControl(), maximumSeconds: Double? = nil,
    progress: (MigrationProgress) -> Void = { _ in }
  ) throws -> MigrationSummary {
    try recorded(control, maximumSeconds) { try run(fromQuarantine: file.filePath, watch: $0, progress: progress) }
  }

  private func run(
    fromQuarantine file: String, watch: StopCondition, progress: (MigrationProgress) -> Void
  ) throws -> MigrationSummary {
    try checkTakesRepairs()
    try settleRepairs()
    try settleOrdinaryRun()
    guard isDestinationTaken else {
      throw GodwitError(
        .cannotCreate, "cannot take repairs into '\(job.destinationPath)': there is no such destination",
        remedy: "run the job without --from-quarantine first", safe: "nothing was written")
    }
    let source = try OpenSource(job, attach: false)
    let stamp = try source.files.stamp()
    let identity = try identity(of: source.files, at: stamp, watch.control)
    if case .outdated(let earlier) = try existing(source: source, quick: quickIdentity, identity: identity) {
      var refusal = earlier.refusal
      refusal.remedy = "undo the change, or move the destination and its quarantine away and run the job again"
      throw refusal
    }
    let (metadata, jobs) = try madeStore()
    let earlier = RepairsMark(metadata)
    func done(_ text: String?) throws -> MigrationSummary {
      // A run that died while it removed its folder, which had become needless.
      if !hasUnfinishedRepairs { try removeNeedlessWork() }
      var summary = try finished(source: source, quick: quickIdentity, identity: identity)
      if let text { summary.codedNotes.append(.init(.repaired, text)) }
      return summary
    }
    let isOwn = Self.isSamePlace(file, job.quarantinePath)
    // The quarantine of a destination into which everything was taken is gone.
    if isOwn, !RepairDelivery.isThere(file), earlier != nil,
      metadata.applicationValues[StoreMetadata.Key.quarantined] == nil
    {
      return try done(nil)
    }
    let quarantine = try EditedQuarantine(readingAt: file, source: job.sourceModel)
    try quarantine.checkModel(asIn: StoreMetadata(readingStoreAt: source.files.path))
    let content = try quarantine.contentDigest { try watch.control.checkpoint() }
    if earlier?.files.contains(content) == true {
      return try done("the repairs of '\(file)' are in the destination already")
    }
    guard let replaced = jobs.last, quarantine.jobDigest == replaced else { throw foreign(file) }
    guard try content != quarantine.originalContent else { return try done("no object of '\(file)' was edited") }
    try checkEarlierRepairs(earlier)
    let beside = try quarantineBeside(isOwn: isOwn, quarantine, content: content, watch.control)
    let repair = RepairInput(
      identity: identity, stamp: stamp, replaced: replaced, earlier: earlier, quarantine: quarantine, content: content,
      beside: beside)
    return try take(repair, from: source, watch: watch, progress: progress) { try done($0) }
  }

  private static func isSamePlace(_ one: String, _ other: String) -> Bool {
    func place(_ path: String) -> String { URL(filePath: path).standardizedFileURL.path }
    return place(one) == place(other) || RepairDelivery.isSameFile(one, other)
  }

  /// What a run takes repairs from.
  private struct RepairInput {
    let identity: JobFingerprint
    let stamp: StoreFiles.Stamp
    let replaced: String
    let earlier: RepairsMark?
    let quarantine: EditedQuarantine
    let content: String
    let beside: RepairNote.Beside?
  }

  // MARK: Checks

  private func checkTakesRepairs() throws {
    guard job.quarantine != nil else {
      throw GodwitError(
        .configuration, "cannot take repairs into '\(job.destinationPath)': job '\(job.name)' has no quarantine",
        remedy: "write the `on-invalid: {quarantine: …}` with which the destination was made",
        safe: "nothing was written")
    }
    if let obstacle = job.quarantineObstacle { throw obstacle }
    guard job.receipt != nil else {
      throw GodwitError(
        .configuration,
        "cannot take repairs into '\(job.destinationPath)': the job has no receipt to know its own work by",
        remedy: "remove `receipt: none`, move the destination away and run the job again", safe: "nothing was written")
    }
  }

  private func foreign(_ file: String) -> GodwitError {
    GodwitError(
      .cannotCreate,
      "cannot take repairs from '\(file)': it is not the quarantine of '\(job.destinationPath)' as it is",
      cause: "another job, another source, or an earlier run of this job wrote it",
      remedy: "repair the objects in '\(job.quarantinePath)'", safe: "nothing was written")
  }

  /// The repairs that the destination was made with must be there: with them the source is the destination's.
  private func checkEarlierRepairs(_ mark: RepairsMark?) throws {
    let path = job.repairsPath
    if let mark {
      var complaint = RepairsFile.complaint(about: path, digest: mark.digest, objects: mark.objects)
      if complaint == nil { complaint = try RepairsFile.fileComplaint(about: path) }
      guard let complaint else { return }
      throw GodwitError(
        .cannotCreate, "cannot take repairs into '\(job.destinationPath)': \(complaint)",
        cause: "a run that does not know the earlier repairs would undo them",
        remedy:
          "restore the file with its folder of files from a backup, or move the destination away and run the job again",
        safe: "nothing was written")
    }
    try RepairDelivery.refuseStaleLog(beside: path)
    for taken in [path, SupportFolder(ofStoreAt: path).path] where RepairDelivery.isThere(taken) {
      throw GodwitError(
        .cannotCreate, "cannot write the repairs '\(path)': '\(taken)' exists",
        cause: "the destination was made without repairs", remedy: "move it away", safe: "nothing was written")
    }
  }

  /// The quarantine that will be replaced.
  ///
  /// - Throws: `.cannotCreate` (73) when it has edits that are in no other file, or is not the destination's.
  private func quarantineBeside(
    isOwn: Bool, _ edited: EditedQuarantine, content: String, _ control: MigrationControl
  ) throws -> RepairNote.Beside? {
    let path = job.quarantinePath
    if isOwn { return RepairNote.Beside(content: content, stamp: try edited.files.stamp()) }
    guard RepairDelivery.isThere(path) else {
      try refuseRemains(ofStoreAt: path)
      return nil
    }
    let beside = try EditedQuarantine(readingAt: path, source: job.sourceModel)
    guard beside.jobDigest == edited.jobDigest else { throw foreign(path) }
    let stamp = try beside.files.stamp()
    let found = try beside.contentDigest { try control.checkpoint() }
    guard try found == beside.originalContent || found == content else {
      throw GodwitError(
        .cannotCreate,
        "cannot replace the quarantine '\(path)': it was edited, and not as '\(edited.files.givenPath)' was",
        remedy: "take the repairs from one of them, and move the other away", safe: "nothing was written")
    }
    return RepairNote.Beside(content: found, stamp: stamp)
  }

  // MARK: The run

  private func take(
    _ repair: RepairInput, from source: OpenSource, watch: StopCondition, progress: (MigrationProgress) -> Void,
    done: (String) throws -> MigrationSummary
  ) throws -> MigrationSummary {
    let folder = try WorkFolder(forDestination: job.destinationPath)
    let seen: WrittenSince
    let known: RepairNote?
    var note: RepairNote?
    let dropped: [MigrationNote]
    do {
      known = try RepairNote.read(in: folder.path)
      // Asked again under the lock: another run may have finished meanwhile.
      let receipt = try replaceable()
      guard receipt.job.digest == repair.replaced else {
        throw GodwitError(
          .stopped, "cannot run: another process has just replaced '\(job.destinationPath)'",
          remedy: "run the same command", stopReason: .locked)
      }
      seen = try writtenSince(receipt, known: known?.destination.map(WrittenSince.init(nothingAt:)), watch)
      guard seen.differences.isEmpty else { throw wouldLose(seen) }
      try InPlaceSwap(store: job.destinationPath, keepsOld: false).checkRights(workFolder: folder.path)
      try checkQuarantineIsWritable()
      try checkReceiptIsWritable()
      try refuseWorkOfOthers(in: folder.path)
      (note, dropped) = try self.note(of: repair, in: folder, source, watch.control)
      // A destination that somebody has opened is not compared once more by each run.
      if seen.stamp != note?.destination {
        note?.destination = seen.stamp
        try note?.write(in: folder.path)
      }
    } catch {
      if !isWorthKeeping(folder.path), !hasUnfinishedRepairs { folder.undo() }
      if let reason = watch.control.reason, (error as? GodwitError)?.code == .stopped {
        return MigrationSummary(outcome: .stopped, reason: reason)
      }
      throw error
    }
    guard let note else {
      folder.undo()
      return try done("no object of '\(repair.quarantine.files.givenPath)' was repaired")
    }
    // What cannot be resumed is done, and the next run goes on from here.
    if note.content != known?.content || !dropped.isEmpty, let reason = watch.stopReason {
      var summary = MigrationSummary(outcome: .stopped, reason: reason)
      summary.codedNotes = dropped
      return summary
    }
    let inner = reading(note, in: folder.path)
    var summary = try inner.work(
      in: folder, source: try OpenSource(inner.job, attach: false), watch: watch, replaces: true, progress: progress
    ) { made, path, folder in
      try inner.checkSource(source.files, note)
      var notes = try inner.prepareQuarantine(of: made, in: folder.path, watch.control)
      if RepairDelivery.isThere(job.quarantinePath) {
        let lock = try RepairDelivery.lock(job.quarantinePath)
        defer { lock.release() }
        try RepairDelivery.check(job.quarantinePath, note, contentDigest)
        try RepairDelivery.checkFiles(of: job.quarantinePath, note, in: folder.path)
      } else {
        try refuseRemains(ofStoreAt: job.quarantinePath)
      }
      let files = job.destinationType == .xml ? Self.noSupport(in: folder.path) : made.support
      let exchange = Exchange(made: path, support: files, keepsOld: false, original: source.files.path)
      notes += try replace(exchange, in: folder, seen: (seen, nil), watch)
      notes += try deliver(note, in: folder)
      return notes
    }
    if summary.outcome == .finished { summary.codedNotes += [told(note)] + dropped }
    return summary
  }

  /// The note of the work in a folder: of an earlier run with the same repairs, or a new one.
  ///
  /// A time box does not end the work: it would begin anew each time, and never be done.
  ///
  /// - Returns: no note when nothing was repaired; and what the summary is to say.
  private func note(
    of repair: RepairInput, in folder: borrowing WorkFolder, _ source: OpenSource, _ control: MigrationControl
  ) throws -> (RepairNote?, [MigrationNote]) {
    let known = try RepairNote.read(in: folder.path)
    var dropped: [MigrationNote] = []
    if let known, known.identity == repair.identity, known.replaced == repair.replaced, known.stage == .pending {
      if try known.content == repair.content && RepairedSource.isWhole(in: folder.path) { return (known, []) }
      // It was made from source and quarantine, which are both there: nothing is lost but the time.
      try folder.removeContent()
      dropped = [
        MigrationNote(
          .workDropped,
          "the run begins anew: what an earlier run had begun was removed, because the quarantine was edited since")
      ]
    }
    guard try !isWorthKeeping(folder.path) && !folder.hasStores() else {
      throw GodwitError(
        .cannotCreate, "cannot take repairs into '\(job.destinationPath)': '\(folder.path)' has unfinished work",
        cause: known == nil ? nil : "a run of another state of the source was not finished",
        remedy: "let that run finish, or `godwit discard` the job", safe: "nothing was written")
    }
    try folder.removeContent()
    try checkSpace(DiskNeed(destinationBytes: bytesOfCopy(source.files, repair.quarantine.files), temporaryBytes: 0))
    defer { control.setInterrupt(nil) }
    let outcome = try RepairedSource(job, in: folder.path).make(
      from: source.files, digest: repair.identity.source, earlier: repair.earlier, quarantine: repair.quarantine,
      content: repair.content
    ) { connection in
      guard let connection else { return control.setInterrupt(nil) }
      control.setInterrupt { [connection] in connection.interrupt() }
      connection.whileRunning(stopIf: { [control] in control.reason != nil })
    } check: {
      try control.checkpoint()
    }
    guard let outcome else { return (nil, dropped) }
    try repair.quarantine.checkUnchanged()
    guard try source.files.stamp() == repair.stamp else { throw changed(source.files) }
    var note = RepairNote(
      identity: repair.identity, stamp: repair.stamp, content: repair.content, replaced: repair.replaced,
      mark: outcome.mark, earlier: repair.earlier?.digest, quarantine: repair.beside, repaired: outcome.repaired,
      unchanged: outcome.unchanged, deleted: outcome.deleted)
    note.sourcePath = source.files.path
    if RepairDelivery.isThere(job.quarantinePath) {
      try RepairDelivery.checkFiles(of: job.quarantinePath, note, in: folder.path)
    }
    try note.write(in: folder.path)
    return (note, dropped)
  }

  private func changed(_ files: StoreFiles) -> GodwitError {
    GodwitError(
      .stopped, "stopped: the source '\(files.givenPath)' changed during the run",
      remedy: "make sure nothing writes to it, `godwit discard` the job and run again",
      safe: "the old destination is still in place", stopReason: .sourceChanged)
  }

  private func checkSource(_ files: StoreFiles, _ note: RepairNote) throws {
    guard try files.stamp() == note.stamp || files.contentDigest() == note.identity.source else { throw changed(files) }
  }

  /// Makes the new quarantine in the work folder, if objects are still rejected.
  private func prepareQuarantine(
    of made: StepFolder, in folder: String, _ control: MigrationControl
  ) throws -> [MigrationNote] {
    guard let record = try RejectionRecord.opened(in: folder), try record.count > 0 else { return [] }
    _ = try makeQuarantine(
      record, Self.jobDigest(ofMade: made), in: folder, try StoreFiles(path: job.sourcePath), control)
    let notes = try missingFilesNote(record)
    try record.close()
    return notes
  }

  private func contentDigest(_ path: String) throws -> String? {
    do { return try QuarantineModel.contentDigest(ofStoreAt: path, model: job.sourceModel) } catch let error
      as GodwitError
      where error.code == .dataWrong
    { return nil }
  }

  private func told(_ note: RepairNote) -> MigrationNote {
    func objects(_ count: Int64) -> String { "\(count) object\(count == 1 ? "" : "s")" }
    var parts = ["\(objects(note.repaired)) of the quarantine \(note.repaired == 1 ? "was" : "were") edited"]
    if note.unchanged > 0 { parts.append("\(objects(note.unchanged)) not") }
    if note.deleted > 0 {
      parts.append(
        "\(objects(note.deleted)) deleted from it, and taken as the source has \(note.deleted == 1 ? "it" : "them")")
    }
    return MigrationNote(.repaired, "\(parts.joined(separator: ", ")); the repairs are kept in '\(job.repairsPath)'")
  }

  // MARK: Delivery

  /// What a work folder says of repairs.
  enum RepairState {
    case none, delivered, unfinished
  }

  /// Delivers the rest of what an earlier run has begun to deliver.
  @discardableResult
  private func settleRepairs() throws -> RepairState {
    guard RepairNote.exists(in: WorkFolder.path(forDestination: job.destinationPath)) else { return .none }
    let folder = try WorkFolder(forDestination: job.destinationPath)
    guard let note = try RepairNote.read(in: folder.path) else { return .none }
    try InPlaceSwap.settleReplacement(of: job.destinationPath, workFolder: folder.path)
    guard try note.isDelivered(at: job.destinationPath, workFolder: folder.path) else { return .unfinished }
    _ = try deliver(note, in: folder)
    return .delivered
  }

  /// Puts all else in its place, once the destination is.
  private func deliver(_ note: RepairNote, in folder: borrowing WorkFolder) throws -> [MigrationNote] {
    try RepairDelivery.finish(note, in: folder, destination: job.destinationPath, content: contentDigest)
    let notes = try reading(note, in: folder.path).placeReceipt(of: folder)
    try folder.remove()
    return notes
  }

  /// What a run without repairs does where one with repairs has been.
  ///
  /// - Returns: nil to go on.
  func afterRepairs() throws -> MigrationSummary? {
    guard try settleRepairs() == .unfinished, !job.replacesEarlierResult else { return nil }
    let folder = WorkFolder.path(forDestination: job.destinationPath)
    guard isDestinationTaken, job.inPlace == nil, !job.appends else {
      throw GodwitError(
        .cannotCreate, "cannot run '\(job.name)': '\(folder)' has the unfinished work of a run with --from-quarantine",
        remedy: "`godwit discard` the job and run again", safe: "nothing was written")
    }
    var summary = try finished(source: OpenSource(job, attach: false), quick: quickIdentity)
    summary.codedNotes.append(
      .init(
        .repairsUnfinished,
        "a run with --from-quarantine is not finished: run its command again, or `godwit discard` the job"))
    return summary
  }

  /// Whether a run with repairs was not finished.
  var hasUnfinishedRepairs: Bool { RepairNote.exists(in: WorkFolder.path(forDestination: job.destinationPath)) }
}

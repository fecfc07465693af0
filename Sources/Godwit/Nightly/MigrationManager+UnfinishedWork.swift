import Foundation
import GodwitDisk
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// Whose the unfinished work of a folder is: `owner.json`. Several jobs may append to one destination, and their digests
/// may be equal but for the source's.
struct WorkOwner: Codable, Equatable {
  var job: String
  var appends: Bool

  private static func path(in folder: String) -> String { folder + "/owner.json" }

  /// nil in folders of earlier versions, and where it cannot be read.
  static func read(in folder: String) -> WorkOwner? {
    (try? ReadableFile.bytes(of: path(in: folder), limit: .mebibytes(64)))
      .flatMap { try? JSONDecoder().decode(Self.self, from: $0) }
  }

  func write(in folder: String, isSynced: Bool) throws {
    try WorkFolder.writeNote(json: self, to: Self.path(in: folder), isSynced: isSynced)
  }
}

/// What an earlier run has begun and not finished.
extension MigrationManager {
  private var owner: WorkOwner { WorkOwner(job: job.name, appends: job.appends) }

  /// Notes whose the work is that begins now.
  func noteOwner(in folder: borrowing WorkFolder) throws {
    guard !isWorthKeeping(folder.path), WorkOwner.read(in: folder.path) != owner else { return }
    try owner.write(in: folder.path, isSynced: job.syncsCheckpoints)
  }

  /// Whether a folder has unfinished work of this job, from whatever source, models or mappings.
  private func hasOwnWork(_ folder: String) -> Bool { WorkOwner.read(in: folder) == owner }

  /// Whether a run of this job has a work folder, at work or killed. Asked where nothing is found to resume.
  ///
  /// Of a folder without an owner it is not known which of several jobs that append began it.
  var hasRunWithoutWork: Bool {
    let folder = job.workPath
    guard WorkFolder.hasLiveMark(folder) else { return false }
    guard let known = WorkOwner.read(in: folder) else { return !job.appends }
    return known == owner
  }

  /// Whether the next run of a job begins again, although the last one left a work folder.
  func startsAgain(_ status: MigrationStatus) -> Bool {
    guard status.state == .unfinished || status.state == .notStarted else { return false }
    if WorkFolder.isLost(job.workPath) { return true }
    return status.percent == 0 && status.lines.isEmpty && !isWorthKeeping(job.workPath)
  }

  /// Removes the folder that an unfinished run left of a source that has come back to what it was. What another job has
  /// begun there stays, and so does a folder in which a run is at work.
  func removeNeedlessWork() throws {
    guard WorkFolder.exists(forDestination: job.destinationPath) else { return }
    let folder: WorkFolder
    do { folder = try WorkFolder(forDestination: job.destinationPath) } catch let error as GodwitError
      where error.stopReason == .locked
    { return }
    let isOwn = hasOwnWork(folder.path)
    let isEmpty = try !folder.hasStores()
    guard isOwn || isEmpty else { return }
    try folder.remove()
  }

  /// - Throws: `.cannotCreate` (73) if another job has begun work in a folder.
  func refuseWorkOfOthers(in folder: String) throws {
    guard isWorthKeeping(folder), let known = WorkOwner.read(in: folder), known != owner else { return }
    throw GodwitError(
      .cannotCreate,
      "cannot replace '\(job.destinationPath)': '\(folder)' has the unfinished work of another job, '\(known.job)'",
      remedy: "let that job finish, or `godwit discard` it", safe: "nothing was written")
  }

  /// Removes unfinished work of this job that nothing can finish any more, because something has changed since it began:
  /// nothing is lost but the time. Does nothing for a job that replaces nothing: there a person decides.
  ///
  /// - Parameters:
  ///   - files: The files of the source.
  ///   - digest: The digest of their content, asked for if they are not as they were.
  /// - Returns: What the summary is to say of that.
  func dropOutdatedWork(
    in folder: borrowing WorkFolder, source files: StoreFiles, digest: () throws -> String
  ) throws -> [MigrationNote] {
    guard job.replacesEarlierResult, isWorthKeeping(folder.path), hasOwnWork(folder.path) else { return [] }
    let changed = try changes(ofWorkIn: folder.path, source: files, digest: digest)
    guard !changed.isEmpty else { return [] }
    // Its quarantine may be in its place already.
    try Self.removePlacedQuarantine(ofDestination: job.destinationPath, in: folder)
    try folder.removeContent()
    return [
      MigrationNote(
        .workDropped,
        "the job begins anew: what an earlier run had begun was removed, because \(changed.joined(separator: ", ")) changed since"
      )
    ]
  }

  /// What is not as it was when the work of a folder began, in words.
  private func changes(
    ofWorkIn folder: String, source files: StoreFiles, digest: () throws -> String
  ) throws -> [String] {
    let other = job.isStepped ? StepFolder(path: folder).storePath : StepRecord.path(in: folder)
    guard !FileManager.default.fileExists(atPath: other) else { return ["the fusion of its steps"] }
    let known: JobFingerprint
    let stamp: StoreFiles.Stamp?
    if job.isStepped {
      guard let record = try StepRecord.read(in: folder) else { return [] }
      let hops = job.steps.map(\.hops)
      guard (record.hops ?? hops.map { _ in 1 }) == hops else { return ["the fusion of its steps"] }
      (known, stamp) = (record.identity, record.stamp)
    } else if let ledger = try Self.openLedger(inFolder: folder) {
      defer { try? ledger.connection.close() }
      (known, stamp) = (try ledger.identity(), try ledger.stamp())
    } else if let note = Receipt.Note.read(StepFolder(path: folder).outcomePath) {
      (known, stamp) = (note.identity, note.stamp)
    } else {
      return []
    }
    var now = quickIdentity
    // As long as the digest of a large source is not there, the stamp alone stands for it.
    now.source = try stamp == files.stamp() ? known.source : digest()
    let parts: [(MigrationStatus.Change, String, String)] = [
      (.source, known.source, now.source), (.sourceModel, known.sourceModel, now.sourceModel),
      (.destinationModel, known.destinationModel, now.destinationModel), (.mappings, known.mappings, now.mappings),
      (.manifest, known.manifest, now.manifest),
    ]
    return parts.filter { $0.1 != $0.2 }.map(\.0.words)
  }
}

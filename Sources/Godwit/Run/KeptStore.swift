import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

/// The store that a run keeps beside the one that replaces it: `Name~.ext` with its external files and its receipt.
struct KeptStore {
  let job: MigrationJob

  init(_ job: MigrationJob) { self.job = job }

  var path: String { InPlaceSwap.oldPath(of: job.destinationPath) }
  var receiptPath: String { path + Receipt.suffix }

  /// The external files of the store that was kept or is to be; nil for an atomic store: files beside it are another's.
  func externalFiles() throws -> SupportFolder? {
    let store = try WorkFolder.exists(path) ? path : job.destinationPath
    let type = try Definite.answer { try StoreFiles(path: store).type }
    return type?.isAtomic == true ? nil : SupportFolder(ofStoreAt: path)
  }

  /// The store that was kept before, on its way out.
  static func removedPath(in workFolder: String) -> String { workFolder + "/kept.removed" }

  /// Removes what a run left that died after it had begun to remove the store kept before, or to keep the one at the
  /// destination, which is still there: external files without their store, and a receipt without one.
  static func removeLeftovers(of destination: String, in workFolder: String) throws {
    let kept = InPlaceSwap.oldPath(of: destination)
    guard try !WorkFolder.exists(kept) else { return }
    let (removed, path) = (removedPath(in: workFolder), kept + Receipt.suffix)
    let isRemoved = try WorkFolder.exists(removed)
    if isRemoved, try Definite.answer({ try StoreFiles(path: removed).type })?.isAtomic != true {
      try SupportFolder(ofStoreAt: kept).remove()
    }
    if let receipt = try Receipt.found(at: path), try isRemoved || receipt.isOfStore(at: destination),
      receipt.destination.keptFrom == URL(filePath: destination).lastPathComponent
    {
      try WorkFolder.removeFile(path)
    }
    try WorkFolder.removeFile(removed)
  }

  /// Refuses a job whose old store would take the name of a file that the job did not keep there itself, or that was
  /// written to since.
  ///
  /// - Parameter known: The result of an earlier comparison.
  /// - Returns: The result of the comparison; nil where no store is kept.
  /// - Throws: `.cannotCreate` (73).
  @discardableResult
  func check(_ watch: StopCondition, known: WrittenSince? = nil, safe: String) throws -> WrittenSince? {
    func refusal(_ path: String, _ why: String) -> GodwitError {
      GodwitError(
        .cannotCreate, "cannot keep the old store: '\(path)' exists, and \(why)",
        remedy: "move it away, or write `keep-old: false`", safe: safe)
    }
    let support = try externalFiles()
    for path in [path, support?.path, receiptPath].compactMap(\.self) {
      guard try WorkFolder.exists(path) && !isOurs(path) else { continue }
      throw refusal(path, "the job did not keep it there")
    }
    guard try WorkFolder.exists(path), let receipt = try Receipt.found(at: receiptPath) else {
      for suffix in ["-wal", "-journal"] where try WorkFolder.exists(path + suffix) {
        throw refusal(path + suffix, "SQLite would apply that log to the old store")
      }
      return nil
    }
    if let name = try support?.firstForeignName() {
      throw refusal(name, "the store that the job kept there has no such external file")
    }
    let written = try WrittenSince(
      to: path, receipt: receipt, at: receiptPath, known: known, control: watch.control)
    guard written.differences.isEmpty else { throw changedError(written, safe: safe) }
    return written
  }

  /// Whether what has the name of a kept store is one that an earlier run of this job kept: its receipt says so. The
  /// receipt comes first and goes last.
  ///
  /// The name alone says nothing: many stores may be migrated under one job's name, and a source `Name~.ext` be one of
  /// them.
  func isOurs(_ path: String) throws -> Bool {
    guard let receipt = try Receipt.found(at: receiptPath), job.isNamed(receipt.job.name),
      receipt.destination.keptFrom == job.destinationFile
    else { return false }
    return try path != self.path || receipt.isOfStore(at: self.path)
  }

  /// The error for a kept store whose changes would be lost.
  func changedError(_ written: WrittenSince, safe: String) -> GodwitError {
    GodwitError(
      .cannotCreate,
      "cannot keep the old store: '\(path)', which the job kept before, was written to since the job made it",
      cause: written.differences.asLines,
      remedy: "move it away with its external files and its receipt, or write `keep-old: false`", safe: safe)
  }

  /// Removes the store that was kept before, and puts the receipt of the one that is to be kept beside its name.
  func makeRoom(
    _ watch: StopCondition, _ receipt: Receipt, known: WrittenSince?, workFolder: String, safe: String
  ) throws {
    try check(watch, known: known, safe: safe)
    let folder = URL(filePath: path).deletingLastPathComponent().path
    let removed = Self.removedPath(in: workFolder)
    if try isOurs(path) {
      // The store moves away before its files go: a store without them looks like one that was written to.
      for suffix in ["-wal", "-shm", "-journal"] { try WorkFolder.removeFile(path + suffix) }
      // After a power cut both names may stand for one file, and `rename` would leave both.
      try WorkFolder.removeFile(removed)
      guard rename(path, removed) == 0 else {
        throw GodwitError.disk("cannot remove '\(path)'", errno: CLibrary.errno)
      }
      try WorkFolder.sync(workFolder)
      try WorkFolder.sync(folder)
    }
    // Without this file a person has moved the store away, and its external files are not ours to remove.
    if try WorkFolder.exists(removed) {
      try externalFiles()?.remove()
      try WorkFolder.sync(folder)
    }
    let note = workFolder + "/kept.json"
    var kept = receipt
    kept.destination.file = URL(filePath: path).lastPathComponent
    kept.destination.keptFrom = job.destinationFile
    let data: Data
    do { data = try kept.encoded() } catch { throw GodwitError.disk("cannot write '\(note)'", error) }
    try WorkFolder.writeNote(data, to: note)
    // It cannot be on another disk: the work folder and the kept files are beside the destination.
    guard try ReceiptPlacement.move(note, to: receiptPath, replaces: true, like: job.destinationPath) else {
      throw GodwitError.disk("cannot write '\(receiptPath)'", errno: EXDEV)
    }
    try WorkFolder.sync(folder)
    try WorkFolder.removeFile(removed)
  }
}

import Foundation
import GodwitDisk
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// Puts what lies beside a repaired destination in its place: the new quarantine and the repairs file.
///
/// The destination is in its place already: it was exchanged in one rename, and its job tells the new one from the old.
/// From then on nothing goes back. Each stage is noted before it begins and can be done again.
///
/// 1. The old quarantine is checked once more: nobody may have edited it since its repairs were taken. Then the store
///    goes, and after it its folder of files.
/// 2. The new quarantine takes its place, if objects are still rejected.
/// 3. The old repairs file goes: the new one has all of it.
/// 4. The new repairs file takes its place.
enum RepairDelivery {
  /// Ends the delivery of a job that is discarded, if its destination is in its place.
  static func finish(inDiscarded folder: borrowing WorkFolder, destination: String) throws {
    let note: RepairNote?
    do { note = try RepairNote.read(in: folder.path) } catch let error as GodwitError {
      // Work that is not delivered needs no sound note.
      guard InPlaceSwap.hasMark(workFolder: folder.path) else { return }
      throw GodwitError(
        .cannotCreate, "cannot discard '\(folder.path)': it has repairs that belong to '\(destination)'",
        cause: error.line,
        remedy: "run the job again with the version of Godwit that began it, or move the folder away",
        safe: "nothing was removed")
    }
    guard let note, try note.isDelivered(at: destination, workFolder: folder.path) else { return }
    try finish(note, in: folder, destination: destination) { _ in nil }
  }

  /// - Parameter content: Gives the digest of what a quarantine holds; nil where nobody can tell.
  /// - Throws: `.cannotCreate` (73) when something else is in the way, or the quarantine was edited; `.stopped` (75)
  ///   while somebody has it open.
  static func finish(
    _ note: RepairNote, in folder: borrowing WorkFolder, destination: String, content: (String) throws -> String?
  ) throws {
    var note = note
    let quarantine = destination + Quarantine.suffix
    let repairs = destination + RepairsFile.suffix
    let path = folder.path
    func advance(to stage: RepairNote.Stage) throws {
      note.stage = stage
      try note.write(in: path)
    }
    if note.stage == .pending || note.stage == .clearingQuarantine {
      if isThere(quarantine) {
        let lock = try lock(quarantine)
        try check(quarantine, note, content)
        try checkFiles(of: quarantine, note, in: path)
        try advance(to: .clearingQuarantine)
        // Its log is empty while it is locked.
        for suffix in ["-wal", "-shm", "-journal", ""] { try WorkFolder.removeFile(quarantine + suffix) }
        try WorkFolder.sync(quarantine.parentPath)
        lock.release()
      }
      // The store is gone, and its files go with it.
      if note.stage == .clearingQuarantine {
        try checkFiles(of: quarantine, note, in: path)
        try removeFiles(ofStoreAt: quarantine)
      }
      try advance(to: .placingQuarantine)
    }
    if note.stage == .placingQuarantine {
      try place(path + "/quarantine.sqlite", at: quarantine, in: folder, like: destination)
      try advance(to: .clearingRepairs)
    }
    if note.stage == .clearingRepairs {
      if isThere(repairs) {
        guard try StoreFiles(path: repairs).contentDigest() == note.earlier else { throw inTheWay(repairs) }
        for suffix in ["-wal", "-shm", "-journal", ""] { try WorkFolder.removeFile(repairs + suffix) }
        try WorkFolder.sync(repairs.parentPath)
      }
      try removeFiles(ofStoreAt: repairs)
      try advance(to: .placingRepairs)
    }
    if note.stage == .placingRepairs {
      try place(RepairedSource.repairsPath(in: path), at: repairs, in: folder, like: destination)
      try advance(to: .done)
    }
  }

  /// Removes the external files of a store that is gone; durable when it returns. After a power cut none may be there
  /// again: they would be those of the store that gets the name.
  private static func removeFiles(ofStoreAt path: String) throws {
    let support = SupportFolder(ofStoreAt: path)
    guard support.exists else { return }
    try support.remove()
    for folder in [support.dataPath, support.path, path.parentPath] where folder.isEmpty || isThere(folder) {
      try WorkFolder.sync(folder)
    }
  }

  static func isThere(_ path: String) -> Bool {
    var info = stat()
    return lstat(path, &info) == 0
  }

  static func isSameFile(_ one: String, _ other: String) -> Bool {
    var (a, b) = (stat(), stat())
    return stat(one, &a) == 0 && stat(other, &b) == 0 && (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
  }

  static func lock(_ quarantine: String) throws -> StoreLock {
    try StoreLock(store: quarantine, action: "replace the quarantine '\(quarantine)'")
  }

  /// Refuses a quarantine with edits that nobody has taken.
  static func check(_ path: String, _ note: RepairNote, _ content: (String) throws -> String?) throws {
    var cause = "there was none then"
    if let known = note.quarantine {
      if try StoreFiles(path: path).stamp() == known.stamp { return }
      let found = try content(path)
      if found == known.content { return }
      // Who discards a job has no model of the store.
      cause = found == nil ? "its file was written to since, and what it holds was not compared" : "it was edited since"
    }
    throw GodwitError(
      .cannotCreate, "cannot replace the quarantine '\(path)': it is not as it was when its repairs were taken",
      cause: cause,
      remedy: "run the job again, which compares its content; or move it away with its folder of files before that",
      safe: "nothing of it was changed, and the repairs that were taken are kept")
  }

  /// Refuses external files of the old quarantine that are in no other place: they would go with it.
  static func checkFiles(of quarantine: String, _ note: RepairNote, in folder: String) throws {
    guard let source = note.sourcePath else { return }
    let support = SupportFolder(ofStoreAt: quarantine)
    try support.refuseLinks()
    let others = [RepairedSource.repairsPath(in: folder), folder + "/quarantine.sqlite", source].map {
      SupportFolder(ofStoreAt: $0)
    }
    try support.forEachFile { name, _ in
      guard SupportFolder.isFileName(name) else { return }
      guard try !others.contains(where: { try support.holdsSameBytes(name, as: name, in: $0) }) else { return }
      throw GodwitError(
        .cannotCreate,
        "cannot replace the quarantine '\(quarantine)': its external file '\(support.path(of: name))' is in no other place",
        cause: "no object of the quarantine from which the repairs are names it, and the source has none like it",
        remedy: "move the file away, and run the same command",
        safe: "the file was not changed")
    }
  }

  /// Refuses the log of another store beside a place that is free: SQLite would apply it to the store that gets the
  /// name.
  static func refuseStaleLog(beside path: String) throws {
    for suffix in ["-wal", "-journal"] {
      var info = stat()
      guard lstat(path + suffix, &info) == 0, info.st_size > 0 else { continue }
      throw GodwitError(
        .cannotCreate, "cannot write '\(path)': the log of another store is beside it, '\(path + suffix)'",
        remedy: "move it to the store that it belongs to, and run the same command",
        safe: "the log was not changed")
    }
  }

  private static func inTheWay(_ path: String) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot write the repairs '\(path)': something else is there",
      remedy: "move it away, and run the same command", safe: "the repairs are kept in the work folder")
  }

  /// Moves a store of the work folder beside the destination; does nothing without one.
  private static func place(
    _ made: String, at path: String, in folder: borrowing WorkFolder, like destination: String
  ) throws {
    guard isThere(made) else { return }
    // A run that died between the link and the removal of the old name.
    if isSameFile(made, path) { return try WorkFolder.removeFile(made) }
    if !isThere(path) { try refuseStaleLog(beside: path) }
    try folder.publish(made, to: path, like: destination)
  }
}

package import Foundation
import GodwitModel

/// The entries that a work folder may hold, and those that are removed.
///
/// A folder is ours if it is a real folder of this user's that others cannot write, and is empty or has the marker. All
/// possible entries must be listed here. Any other name, or a symbolic link, stops the job before anything is opened,
/// and is never removed.
extension WorkFolder {
  /// Written when the folder is made.
  static let markerName = "made-by-godwit"
  package static let lockName = "lock"
  /// The text of the marker: the version of the folder's content.
  private static let markerText = "godwit work folder 2\n"

  /// Files beside the stores, each with the `.new` that it is written under. `run.json` alone says where a run stands.
  /// A resumed run also reads the lists of names, which are too long for `run.json`, and the percentage last shown.
  package static let notes: Set<String> = [
    "run.json", "receipt.json", "history.json", "shown.percent", "replaced.names", "given.names", "edited.names",
    "kept.json", "kept.removed", "rights.probe", "merged.json",
  ]
  package static let stores: Set<String> = [
    "store.sqlite", "copy.sqlite", "source-copy.sqlite", "source-partial.sqlite", "rejected.sqlite",
    "source-kept.sqlite", "kept-part.sqlite", "quarantine.sqlite", "quarantine-part.sqlite", "edited.sqlite",
    "merged.sqlite", "merged-part.sqlite",
  ]
  private static let storeSuffixes = ["", "-journal", "-wal", "-shm", ".part"]
  private static let spillSuffixes = ["", ".new", ".inverse"].flatMap { [$0, $0 + ".runs-0", $0 + ".runs-1"] }
  private static let supportFolders: Set<String> = [
    ".store_SUPPORT", ".copy_SUPPORT", ".quarantine_SUPPORT", ".edited_SUPPORT", ".merged_SUPPORT",
  ]

  private static let atomicStores: Set<String> = ["store.xml", "store.binary"]

  private enum Kind {
    case file, step, support
  }

  /// The kind of an entry of a work folder or of a step's folder in it, by its name; nil for an unknown name.
  private static func kind(of name: String, isStep: Bool) -> Kind? {
    if !isStep {
      let base = name.hasSuffix(".new") ? String(name.dropLast(4)) : name
      if name == markerName || name == lockName || notes.contains(base) { return .file }
      if isNumbered(name, after: "step-") { return .step }
    }
    if supportFolders.contains(name) { return .support }
    if atomicStores.contains(name) { return .file }
    for suffix in storeSuffixes where name.hasSuffix(suffix) {
      let store = String(name.dropLast(suffix.count))
      if stores.contains(store) || isConversion(store) { return .file }
    }
    for suffix in spillSuffixes where name.hasSuffix(".lz4" + suffix) {
      if isNumbered(String(name.dropLast(4 + suffix.count)), after: "association-") { return .file }
    }
    return nil
  }

  private static func isNumbered(_ name: String, after beginning: String) -> Bool {
    guard name.hasPrefix(beginning) else { return false }
    let digits = name.utf8.dropFirst(beginning.utf8.count)
    return !digits.isEmpty && digits.count < 10 && digits.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Whether a name is `source-` and 16 hex digits: the converted form of an atomic store.
  private static func isConversion(_ name: String) -> Bool {
    guard name.hasPrefix("source-"), name.hasSuffix(".sqlite"), name.utf8.count == 7 + 16 + 7 else { return false }
    return name.dropFirst(7).dropLast(7).allSatisfy(\.isHexDigit)
  }

  // MARK: Looking

  /// Checks that an existing folder is one of Godwit's.
  ///
  /// - Throws: `.cannotCreate` (73) when it is not; `.dataWrong` (65) for a journal that would have SQLite delete a
  ///   file.
  package static func checkOwn(_ path: String) throws {
    func foreign(_ why: String) -> GodwitError {
      GodwitError(
        .cannotCreate, "cannot use '\(path)' as the work folder: \(why)",
        remedy: "move it away, or name another destination", safe: "nothing in it was changed")
    }
    guard let status = try FileStatus.look(named: path) else { throw justFinished(path) }
    if let why = status.reasonForeign { throw foreign(why) }
    // Another run may be making or removing entries of the folder. The lock, acquired next, decides.
    let names = try entries(path).filter { try exists(path + "/" + $0) }
    // A folder that was being made or removed when the run died.
    if names.isEmpty || names == [lockName] { return try check(names, in: path, isStep: false, foreign) }
    guard try names.contains(markerName) || isMarked(path) else {
      throw foreign("Godwit did not make it, or an earlier version did: it has no file '\(markerName)'")
    }
    // A power cut may have left a part of the text, or zeros.
    let text = try marker(of: path)
    guard !text.hasPrefix("godwit work folder") || markerText.hasPrefix(text) else {
      throw GodwitError(
        .cannotCreate, "cannot use '\(path)': another version of Godwit left unfinished work there",
        cause: "this version does not resume that",
        remedy: "end it with that version, or move the folder away and run again", safe: "nothing in it was changed")
    }
    try check(names, in: path, isStep: false, foreign)
  }

  private static func check(
    _ names: [String], in path: String, isStep: Bool, _ foreign: (String) -> GodwitError
  ) throws {
    for name in names {
      let item = path + "/" + name
      guard let kind = kind(of: name, isStep: isStep) else {
        throw foreign("'\(item)' in it is not Godwit's")
      }
      guard let status = try FileStatus.look(named: item) else { continue }
      guard kind == .file ? status.isFile : status.isFolder else {
        throw foreign("'\(item)' in it is not a \(kind == .file ? "regular file" : "folder")")
      }
      switch kind {
      case .file: break
      case .step: try check(entries(item), in: item, isStep: true, foreign)
      case .support: try SupportFolder(path: item).refuseLinks()
      }
    }
  }

  /// The names in a folder.
  ///
  /// - Throws: `.inputOutput` or `.permission` when it cannot be read: an unreadable folder is not an empty one.
  static func entries(_ path: String) throws -> [String] {
    do { return try FileManager.default.contentsOfDirectory(atPath: path) } catch {
      throw GodwitError.disk("cannot read '\(path)'", error)
    }
  }

  // MARK: Making

  /// Empty for a folder without a marker, and for one whose power was cut as it was written.
  private static func marker(of path: String) throws -> String {
    let file = path + "/" + markerName
    guard try exists(file) else { return "" }
    do {
      return String(decoding: try ReadableFile.bytes(of: file, limit: .mebibytes(1)) ?? Data(), as: UTF8.self)
    } catch { throw GodwitError.disk("cannot read '\(file)'", error) }
  }

  /// Whether a run has made a folder its own.
  package static func isMarked(_ path: String) throws -> Bool { try exists(path + "/" + markerName) }

  /// Marks the folder of the holder of the lock as Godwit's. It is the first of the folder's files.
  package static func mark(_ path: String, isSynced: Bool) throws {
    guard try marker(of: path) != markerText else { return }
    let file = path + "/" + markerName
    let descriptor = CLibrary.open(file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw GodwitError.disk("cannot create '\(file)'", errno: CLibrary.errno) }
    defer { close(descriptor) }
    let bytes = Array(markerText.utf8)
    // A text this short is written in one call, or the disk is full.
    let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    guard count == bytes.count, ftruncate(descriptor, off_t(count)) == 0, !isSynced || CLibrary.sync(descriptor) == 0
    else { throw GodwitError.disk("cannot write '\(file)'", errno: count < 0 ? CLibrary.errno : ENOSPC) }
  }

  /// Writes a file of the folder as a whole: under another name, synced, renamed.
  ///
  /// - Parameters:
  ///   - isSynced: false where the file may be lost with the power.
  ///   - body: Passes on the bytes, piece by piece.
  static func writeWhole(
    _ path: String, isSynced: Bool = true, _ body: (_ write: @escaping ([UInt8]) throws -> Void) throws -> Void
  ) throws {
    let new = path + ".new"
    func failure(_ code: Int32) -> GodwitError { GodwitError.disk("cannot write '\(path)'", errno: code) }
    unlink(new)
    let descriptor = CLibrary.open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(errno) }
    defer { close(descriptor) }
    do {
      try body { try NewFile.write($0, to: descriptor, failure: failure) }
      guard !isSynced || CLibrary.sync(descriptor) == 0, rename(new, path) == 0 else { throw failure(errno) }
    } catch {
      // On a disk that is full it takes no room that the run may need.
      unlink(new)
      throw error
    }
  }

  /// Writes a small file of the folder as a whole.
  package static func writeNote(_ data: Data, to path: String, isSynced: Bool = true) throws {
    try writeWhole(path, isSynced: isSynced) { try $0([UInt8](data)) }
  }

  /// Writes a small file whose loss does not matter: as a whole, but without a sync, whose time depends on the disk. A
  /// failure leaves the file unchanged.
  package static func writeHint(_ data: Data, to path: String) {
    // A file in a folder without the mark would keep the next run out.
    guard FileStatus(named: path.parentPath + "/" + markerName) != nil else { return }
    try? writeNote(data, to: path, isSynced: false)
  }

  // MARK: Removing

  /// Removes all that is in the folder but marker and lock, so that a job begins again.
  package func removeContent() throws { try Self.removeContent(of: path, isStep: false) }

  /// Removes one of Godwit's files, if it exists.
  package static func removeFile(_ path: String) throws {
    guard unlink(path) != 0, errno != ENOENT else { return }
    throw GodwitError.disk("cannot remove '\(path)'", errno: errno)
  }

  /// Removes the folder of a step and our files in it.
  package static func removeStep(_ path: String) throws {
    try removeContent(of: path, isStep: true)
    guard rmdir(path) == 0 || errno == ENOENT else { throw GodwitError.disk("cannot remove '\(path)'", errno: errno) }
  }

  /// Removes our files from a folder, except marker and lock. The journal is removed first.
  static func removeContent(of path: String, isStep: Bool) throws {
    let names = try entries(path)
    if !isStep, names.contains("run.json") { try removeFile(journalPath(in: path)) }
    for name in names where name != markerName && name != lockName && name != "run.json" {
      let item = path + "/" + name
      switch kind(of: name, isStep: isStep) {
      case .file?: try removeFile(item)
      case .step?: try removeStep(item)
      case .support?: try SupportFolder(path: item).remove()
      case nil:
        throw GodwitError(
          .cannotCreate, "cannot remove '\(path)': '\(item)' in it is not Godwit's",
          remedy: "move that away and run the same command")
      }
    }
  }
}

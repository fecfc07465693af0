import Foundation
import GodwitModel
import GodwitPlatform
import GodwitStore

/// The support folder under construction, and its move into place.
///
/// It gets its name before the store gets its own, so that no store is ever there without its files. A mark in the work
/// folder says which folder beside the destination is ours: a run that died in between goes on, and a discarded job
/// leaves nothing behind.
extension WorkFolder {
  private var markPath: String { path + "/support.id" }

  /// - Throws: `.cannotCreate` (73) when a support folder that is not of this job lies beside the destination: its
  ///   files would become the new store's.
  package func refuseForeignSupport(of destination: String) throws {
    let folder = SupportFolder(ofStoreAt: destination)
    guard folder.exists, !isOurs(folder) else { return }
    throw GodwitError(
      .cannotCreate,
      "cannot write '\(destination)': the support folder of another store is beside it, '\(folder.path)'",
      remedy: "move that folder away, or name another destination")
  }

  private func isOurs(_ folder: SupportFolder) -> Bool {
    guard let mark = ReadableFile.text(of: markPath), let found = Self.identity(folder.path)
    else { return false }
    return mark == found
  }

  /// Device and inode, which a rename keeps.
  private static func identity(_ path: String) -> String? {
    var info = stat()
    guard lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else { return nil }
    return "\(info.st_dev) \(info.st_ino)"
  }

  /// Moves the support folder of the finished store to the destination's; does nothing when there is none, or it is
  /// there already.
  func publishSupport(ofStoreAt store: String, to destination: String) throws {
    let support = SupportFolder(ofStoreAt: store)
    guard let identity = Self.identity(support.path) else { return }
    let target = SupportFolder(ofStoreAt: destination)
    try refuseForeignSupport(of: destination)
    try Self.writeNote(Data(identity.utf8), to: markPath)
    for item in [markPath, path, support.dataPath, support.path] { try Self.sync(item) }
    guard rename(support.path, target.path) == 0 else {
      let code = CLibrary.errno
      throw GodwitError(
        [EEXIST, ENOTEMPTY, ENOTDIR].contains(code) ? .cannotCreate : .inputOutput,
        "cannot finish: the support folder cannot be renamed to '\(target.path)'",
        cause: String(cString: strerror(code)),
        remedy: "move away what is there and run the same command")
    }
    try Self.sync(destination.parentPath)
  }

  /// Removes the support folder that was moved to the destination. Call only while the destination has no store, and
  /// after the store under construction is gone: without it nothing is resumed.
  package func removeMovedSupport(of destination: String) throws {
    let target = SupportFolder(ofStoreAt: destination)
    if isOurs(target) { try target.remove() }
    try Self.removeFile(markPath)
  }
}

import Foundation
import GodwitModel

/// The support folder under construction, and its move into place.
///
/// It gets its name before the store gets its own, so that no store ever exists without its files. The journal records
/// which folder beside the destination is ours, so that the next run can continue or undo the move.
extension WorkFolder {
  /// - Parameter mark: The journal's record of the support folder that was moved.
  /// - Throws: `.cannotCreate` (73) when a support folder that is not of this job lies beside the destination: its
  ///   files would become the new store's.
  package static func refuseForeignSupport(of destination: String, mark: String?) throws {
    let folder = SupportFolder(ofStoreAt: destination)
    guard try exists(folder.path), try !isOurs(folder, mark) else { return }
    throw GodwitError(
      .cannotCreate,
      "cannot write '\(destination)': the support folder of another store is beside it, '\(folder.path)'",
      remedy: "move that folder away, or name another destination")
  }

  private static func isOurs(_ folder: SupportFolder, _ mark: String?) throws -> Bool {
    try FileStatus.look(named: folder.path)?.isFolder != false
      && FileMark.matches(mark, folder.path, followsLink: false)
  }

  /// Moves the support folder of the finished store to the destination's; does nothing if it does not exist, or has
  /// been moved already.
  ///
  /// - Parameter record: Writes the mark of the folder into the journal.
  static func publishSupport(
    ofStoreAt store: String, to destination: String, mark: String?, record: (String) throws -> Void
  ) throws {
    let support = SupportFolder(ofStoreAt: store)
    guard let identity = try FileMark.of(support.path, followsLink: false) else { return }
    let target = SupportFolder(ofStoreAt: destination)
    try refuseForeignSupport(of: destination, mark: mark)
    for item in [support.dataPath, support.path] { try sync(item) }
    try record(identity)
    guard rename(support.path, target.path) == 0 else {
      let code = CLibrary.errno
      throw GodwitError(
        [EEXIST, ENOTEMPTY, ENOTDIR].contains(code) ? .cannotCreate : .inputOutput,
        "cannot finish: the support folder cannot be renamed to '\(target.path)'",
        cause: String(cString: strerror(code)),
        remedy: "move away what is there and run the same command")
    }
    try sync(destination.parentPath)
  }

  /// Removes the support folder that was moved to the destination. Call only while the destination has no store, and
  /// after the store under construction is gone: without it nothing is resumed.
  package static func removeMovedSupport(of destination: String, mark: String?) throws {
    let target = SupportFolder(ofStoreAt: destination)
    if try isOurs(target, mark) { try target.remove() }
  }
}

import Foundation
import GodwitModel

/// An exchange that can be undone.
///
/// A run may be abandoned between two steps, by a kill, by `discard` or because the source changes. The files that the
/// exchange has added beside the old store must then be removed. `given.names` in the work folder lists these external
/// files before the first of them is added.
extension InPlaceSwap {
  private static func givenPath(in workFolder: String) -> String { workFolder + "/given.names" }

  /// Exchanges the stores, or goes on with it. The caller holds the lock of the old store.
  ///
  /// - Parameters:
  ///   - made: The finished store in the work folder.
  ///   - support: Its external files.
  /// - Throws: `.cannotCreate` (73) if an external file beside the old store has the name of another one of the new
  ///   store.
  package func replace(with made: String, support: SupportFolder, workFolder: String) throws {
    let live = SupportFolder(ofStoreAt: store)
    // An exchange that goes on has the list: its files are there now.
    if try !hasBegun() {
      try NameList.write(Self.givenPath(in: workFolder)) { add in
        try support.forEachFile { name, _ in
          guard SupportFolder.isFileName(name), try isMissing(name, in: live, orSameAsIn: support) else { return }
          try add(name)
        }
      }
    }
    try WorkFolder.sync(workFolder)
    try exchange(made, support: support, workFolder: workFolder)
  }

  /// Whether the old store has no file of a name. Core Data never changes a file, so that one of the same name has the
  /// same bytes. If the bytes differ, both stores cannot have their files at the same time.
  private func isMissing(_ name: String, in live: SupportFolder, orSameAsIn support: SupportFolder) throws -> Bool {
    guard let old = try FileStatus.look(named: live.path(of: name)) else { return true }
    guard old.isFile else { throw inTheWay(live.path(of: name), "it is not a regular file") }
    if try FileStatus.look(named: support.path(of: name))?.identity == old.identity { return false }
    guard try live.holdsSameBytes(name, as: name, in: support) else {
      throw inTheWay(live.path(of: name), "the new store has a file of the same name with other bytes")
    }
    return false
  }

  private func inTheWay(_ path: String, _ cause: String) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot replace '\(store)': the external file '\(path)' is in the way", cause: cause,
      remedy: "move the destination with its support folder away, and run the same command",
      safe: "the old store is still in place; the new one is finished in the work folder")
  }

  /// Completes or undoes the replacement that an earlier run began. Does nothing if none was begun.
  ///
  /// - Returns: Whether the store in place was made in this work folder.
  package func finishReplacement(workFolder: String) throws -> Bool {
    guard mark != nil else { return false }
    if try hasExchanged() {
      try finish(workFolder: workFolder)
      return true
    }
    try undo()
    try removeGiven(workFolder: workFolder)
    return false
  }

  /// Removes the external files that were added for a store that was not delivered. A file that a row of the store in
  /// place names stays, whichever run added it.
  private func removeGiven(workFolder: String) throws {
    let live = SupportFolder(ofStoreAt: store)
    guard try WorkFolder.exists(live.path) else { return }
    try live.refuseLinks()
    let isStore = try WorkFolder.exists(store) && StoreFiles(path: store).type == .sqlite
    let named = isStore ? try NamedFiles(inStoreAt: store) : nil
    try NameList.read(Self.givenPath(in: workFolder)) { name in
      guard SupportFolder.isFileName(name), try live.size(of: name) != nil, try named?.contains(name) != true else {
        return
      }
      unlink(live.path(of: name))
    }
    // After a power cut no file may be there again whose name is forgotten.
    try WorkFolder.sync(live.dataPath)
    for path in [live.dataPath, live.path] { rmdir(path) }
  }
}

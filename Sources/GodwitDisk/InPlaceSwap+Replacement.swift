import Foundation
import GodwitModel
import GodwitPlatform
package import GodwitStore

/// A destination that is replaced by the store that the same job makes of a source that has changed.
///
/// The exchange is that of a store in place. What differs is that a run may be given up between two steps, because the
/// source changes once more: what the exchange has added beside the old store must then be taken back. `given.names` in
/// the work folder lists the external files that it adds, before it adds the first.
extension InPlaceSwap {
  private static func notePath(in workFolder: String) -> String { workFolder + "/given.names" }

  /// Whether a work folder has notes of the replacement of a store.
  package static func isReplacement(workFolder: String) -> Bool {
    var info = stat()
    return lstat(notePath(in: workFolder), &info) == 0
  }

  /// Exchanges the stores. The caller holds the lock of the old one, and has taken back what an earlier run began.
  ///
  /// - Parameters:
  ///   - made: The finished store in the work folder.
  ///   - support: Its external files.
  /// - Throws: `.cannotCreate` (73) if an external file beside the old store has the name of another one of the new
  ///   store.
  package func replace(with made: String, support: SupportFolder, workFolder: String) throws {
    let live = SupportFolder(ofStoreAt: store)
    var given: [String] = []
    try support.forEachFile { name, _ in
      guard SupportFolder.isFileName(name) else { return }
      if try isMissing(name, in: live, orSameAsIn: support) { given.append(name) }
    }
    try NameList.write(Self.notePath(in: workFolder)) { add in for name in given.sorted() { try add(name) } }
    try WorkFolder.sync(workFolder)
    try exchange(made, support: support, workFolder: workFolder)
    // Before anything else of the folder goes: what was given belongs to the store in place now.
    try WorkFolder.removeFile(Self.notePath(in: workFolder))
  }

  /// Whether the old store has no file of a name. Core Data never writes to a file again, so that one of the same name
  /// has the same bytes; where it has not, both stores cannot have their files at once.
  private func isMissing(_ name: String, in live: SupportFolder, orSameAsIn support: SupportFolder) throws -> Bool {
    var (old, new) = (stat(), stat())
    guard lstat(live.path(of: name), &old) == 0 else {
      guard [ENOENT, ENOTDIR].contains(CLibrary.errno) else {
        throw GodwitError.disk("cannot read '\(live.path(of: name))'", errno: CLibrary.errno)
      }
      return true
    }
    guard old.st_mode & S_IFMT == S_IFREG else { throw inTheWay(live.path(of: name), "it is no ordinary file") }
    if lstat(support.path(of: name), &new) == 0, (old.st_dev, old.st_ino) == (new.st_dev, new.st_ino) { return false }
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

  /// Ends or takes back what an earlier run began of a replacement; does nothing in a work folder without one.
  ///
  /// - Returns: Whether the store in place came out of this work folder.
  @discardableResult
  package static func settleReplacement(of store: String, workFolder: String) throws -> Bool {
    guard isReplacement(workFolder: workFolder) else {
      return InPlaceSwap(store: store, keepsOld: true).hasExchanged(workFolder: workFolder)
    }
    let swap = InPlaceSwap(store: store, keepsOld: true)
    if swap.hasExchanged(workFolder: workFolder) {
      try swap.finish(workFolder: workFolder)
      try WorkFolder.removeFile(notePath(in: workFolder))
      return true
    }
    swap.undo(workFolder: workFolder)
    try swap.removeGiven(workFolder: workFolder)
    // The list goes last: while it is there, this can be done again.
    for path in [markPath(in: workFolder), leftoversPath(in: workFolder), notePath(in: workFolder)] {
      try WorkFolder.removeFile(path)
    }
    return false
  }

  /// Removes the external files that were added for a store that did not come. What a row of the store in place names
  /// stays, whoever put it there.
  private func removeGiven(workFolder: String) throws {
    var given: Set<String> = []
    try NameList.read(Self.notePath(in: workFolder)) { if SupportFolder.isFileName($0) { given.insert($0) } }
    let live = SupportFolder(ofStoreAt: store)
    given = try given.filter { try live.size(of: $0) != nil }
    guard !given.isEmpty else { return }
    try live.refuseLinks()
    var info = stat()
    if lstat(store, &info) == 0, try StoreFiles(path: store).type == .sqlite {
      let named = try NamedFiles(inStoreAt: store)
      given = try given.filter { try !named.contains($0) }
    }
    for name in given { unlink(live.path(of: name)) }
    // After a power cut no file may be there again whose name is forgotten.
    try WorkFolder.sync(live.dataPath)
    rmdir(live.dataPath)
    rmdir(live.path)
  }
}

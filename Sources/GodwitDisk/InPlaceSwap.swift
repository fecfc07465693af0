import Foundation
package import GodwitModel
import GodwitPlatform
package import GodwitStore

/// Puts a finished store in the place of the one it was made of.
///
/// 1. The external files of the old store get a second name in the support folder of `Name~.ext`.
/// 2. Those of the new store get one in the support folder of `Name.ext`, beside the old ones: names are never used
///    twice.
/// 3. The names that only rows of the old store bore are noted in the work folder. A file that no row named is not
///    ours.
/// 4. The old store gets a second name, `Name~.ext`.
/// 5. The new store is synced and renamed over the old name; the folder is synced. This one moment is the exchange.
/// 6. The noted files of the old store are removed.
/// At every moment a whole store with all its external files is there under the old name. Each step can be done again,
/// so a run that died in between goes on. Where the file system has no hard links, files are copied: a mark in the work
/// folder, written before step 1, tells that a second name is ours.
package struct InPlaceSwap {
  package let store: String
  /// Whether the old store stays, as `Name~.ext`.
  package let keepsOld: Bool
  /// Whether hard links are tried before copies.
  package var makesHardLinks = true
  /// Whether the new store has the values of the old one, so that its external files stay.
  package var keepsOldFiles = false
  /// The model of the old store, by which its rows are asked for their external files; nil: all of those stay.
  package var oldModel: ManagedObjectModel?
  /// Whether the rows of the old store are asked for their external files whatever its model, column by column.
  package var readsOldColumns = false
  /// Called when nothing but the disk can keep the exchange from its end, before the old store's second name is looked
  /// at: what has that name and may go is removed there.
  package var makeRoom: () throws -> Void = {}
  /// Called before each step with its number; a test dies there.
  package var before: (Int) throws -> Void = { _ in }

  package init(
    store: String, keepsOld: Bool, makesHardLinks: Bool = true, keepsOldFiles: Bool = false,
    oldModel: ManagedObjectModel? = nil, before: @escaping (Int) throws -> Void = { _ in }
  ) {
    self.store = store
    self.keepsOld = keepsOld
    self.makesHardLinks = makesHardLinks
    self.keepsOldFiles = keepsOldFiles
    self.oldModel = oldModel
    self.before = before
  }

  /// `people.sqlite` becomes `people~.sqlite`.
  package static func oldPath(of store: String) -> String {
    let url = URL(filePath: store)
    let ending = url.pathExtension
    let name = url.deletingPathExtension().lastPathComponent + "~" + (ending.isEmpty ? "" : "." + ending)
    let folder = store.parentPath
    return folder.isEmpty ? name : folder == "/" ? "/" + name : "\(folder)/\(name)"
  }

  private var oldPath: String { Self.oldPath(of: store) }
  private var folder: String { store.parentPath }

  static func leftoversPath(in workFolder: String) -> String { workFolder + "/replaced.json" }
  static func markPath(in workFolder: String) -> String { workFolder + "/exchange.id" }

  // MARK: Mark

  /// What is written down before the first second name is given out.
  private struct Mark: Codable {
    /// Device and inode of the store that is to be replaced.
    var store: String
    /// Those of the store that is to replace it.
    var made: String
    /// Whether `Name~.ext` is a name that the exchange gives out, so that it may be taken back.
    var keepsOld: Bool
  }

  /// Device and inode of a file, which stay while it has a name.
  private static func identity(_ path: String) -> String? {
    var info = stat()
    return stat(path, &info) == 0 ? "\(info.st_dev) \(info.st_ino)" : nil
  }

  private static func mark(in workFolder: String) -> Mark? {
    FileManager.default.contents(atPath: markPath(in: workFolder)).flatMap {
      try? JSONDecoder().decode(Mark.self, from: $0)
    }
  }

  /// Whether second names have been given out, and the store has not been replaced since.
  package func hasBegun(workFolder: String) -> Bool {
    guard let mark = Self.mark(in: workFolder) else { return false }
    return mark.store == Self.identity(store)
  }

  /// Whether what bears the name `Name~.ext` is the exchange's own. An exchange that keeps nothing owns no such name.
  private func ownsOldName(workFolder: String) -> Bool {
    hasBegun(workFolder: workFolder) && Self.mark(in: workFolder)?.keepsOld == true
  }

  /// Whether the store is the one that a run put in place whose work folder is still there; another one that came
  /// into being meanwhile is not.
  package func hasExchanged(workFolder: String) -> Bool {
    guard let mark = Self.mark(in: workFolder) else { return false }
    return mark.made == Self.identity(store)
  }

  private func writeMark(of made: String, in workFolder: String) throws {
    let path = Self.markPath(in: workFolder)
    let mark = Mark(
      store: Self.identity(store) ?? "", made: Self.identity(made) ?? "",
      keepsOld: keepsOld || ownsOldName(workFolder: workFolder))
    try WorkFolder.writeNote(json: mark, to: path)
    try sync(folders: [path, workFolder])
  }

  // MARK: Rights

  /// Tries whether a new file can get owner, group, permissions, access control list and extended attributes of the
  /// store.
  ///
  /// - Throws: `.permission` (77) when it cannot, before any work is done.
  package func checkRights(workFolder: String) throws {
    let probe = workFolder + "/rights.probe"
    try WorkFolder.writeNote(Data(), to: probe)
    defer { unlink(probe) }
    try FileRights.copyAll(of: store, to: probe)
  }

  // MARK: Exchange

  /// - Throws: `.cannotCreate` (73) when something else has the name that the old store is to get.
  package func checkOldName(workFolder: String) throws {
    guard keepsOld, !ownsOldName(workFolder: workFolder) else { return }
    let support = SupportFolder(ofStoreAt: oldPath)
    for suffix in ["-wal", "-journal"] where try exists(oldPath + suffix) {
      throw GodwitError(
        .cannotCreate, "cannot keep the old store: '\(oldPath)\(suffix)' exists",
        cause: "SQLite would apply the log to the store that gets the name '\(oldPath)'",
        remedy: "move it away, or write `keep-old: false`", safe: "the store is unchanged")
    }
    for path in usesFiles ? [oldPath, support.path] : [oldPath] where try exists(path) {
      // A second name of the store itself is what it is to get.
      if path == oldPath, isSameFile(path, store) { continue }
      if path == support.path, try isSameFile(oldPath, store) || !exists(oldPath),
        try isPartOfLiveSupport(support)
      {
        continue
      }
      throw GodwitError(
        .cannotCreate, "cannot keep the old store: '\(path)' exists",
        remedy: "move it away, or write `keep-old: false`", safe: "the store is unchanged")
    }
  }

  /// Steps 1 to 5. The caller holds the lock of the store.
  ///
  /// - Parameters:
  ///   - made: The finished store in the work folder.
  ///   - support: Its external files.
  package func exchange(_ made: String, support: SupportFolder, workFolder: String) throws {
    let live = SupportFolder(ofStoreAt: store)
    try live.refuseLinks()
    let old = usesFiles ? try names(in: live) : []
    let new = try names(in: support)
    try makeRoom()
    // Hours may have passed since the run began.
    try checkOldName(workFolder: workFolder)
    try writeMark(of: made, in: workFolder)
    try before(1)
    if keepsOld, !old.isEmpty {
      let kept = SupportFolder(ofStoreAt: oldPath)
      try makeFolder(kept, like: live)
      for name in old { try give(live.path(of: name), secondName: kept.path(of: name)) }
      try sync(folders: [kept.dataPath, kept.path])
    }
    try before(2)
    if !new.isEmpty {
      try makeFolder(live, like: support)
      for name in new { try give(support.path(of: name), secondName: live.path(of: name)) }
      try sync(folders: [live.dataPath, live.path])
    }
    try before(3)
    let leftovers = keepsOldFiles ? [] : try ofOldRows(old.subtracting(new), butNotOf: made).sorted()
    try WorkFolder.writeNote(json: leftovers, to: Self.leftoversPath(in: workFolder))
    try WorkFolder.sync(workFolder)
    try before(4)
    if keepsOld {
      try give(store, secondName: oldPath)
      try WorkFolder.sync(folder)
    }
    // An empty log and its index belong to the old store. The lock keeps others from making new ones.
    for suffix in ["-wal", "-shm"] { unlink(store + suffix) }
    try FileRights.copyAll(of: store, to: made)
    try WorkFolder.sync(made)
    try before(5)
    guard rename(made, store) == 0 else {
      throw GodwitError(
        .inputOutput, "cannot replace '\(store)'", cause: String(cString: strerror(errno)),
        remedy: "fix the cause and run the same command", safe: "the old store is still in place")
    }
    try WorkFolder.sync(folder)
    try finish(workFolder: workFolder)
  }

  /// Step 6. Call only when the new store has the old name.
  package func finish(workFolder: String) throws {
    try before(6)
    let note = Self.leftoversPath(in: workFolder)
    guard let data = FileManager.default.contents(atPath: note),
      let leftovers = try? JSONDecoder().decode([String].self, from: data)
    else { return }
    let live = SupportFolder(ofStoreAt: store)
    try live.refuseLinks()
    for name in leftovers where SupportFolder.isFileName(name) {
      guard try live.size(of: name) != nil else { continue }
      try WorkFolder.removeFile(live.path(of: name))
    }
    rmdir(live.dataPath)
    rmdir(live.path)
  }

  /// Takes back what steps 1 to 4 did of a job that is discarded. Call only while the old store has its name.
  package func undo(workFolder: String) {
    guard ownsOldName(workFolder: workFolder) else { return }
    if usesFiles { try? SupportFolder(ofStoreAt: oldPath).remove() }
    unlink(oldPath)
  }

  // MARK: Files

  /// The files of a support folder that a row may name.
  private func names(in folder: SupportFolder) throws -> Set<String> {
    var names: Set<String> = []
    try folder.forEachFile { name, _ in if SupportFolder.isFileName(name) { names.insert(name) } }
    return names
  }

  /// Whether the store in place may have files: an XML store has its binary data inside, so that a support folder beside
  /// it is that of another store.
  private var usesFiles: Bool { (try? StoreFiles(path: store).type) != .xml }

  /// Those of some files that rows of the old store name and, where source and destination are two stores, no row of the
  /// new one. Such a row may name a file that the source lacks: of one name there is one content, and the copy beside the
  /// old store may be the last.
  private func ofOldRows(_ names: Set<String>, butNotOf made: String) throws -> [String] {
    guard !names.isEmpty, oldModel != nil || readsOldColumns, try StoreFiles(path: store).type == .sqlite else {
      return []
    }
    let named = try oldModel.map { try NamedFiles(inStoreAt: store, model: $0) } ?? NamedFiles(inStoreAt: store)
    let ofOld = try names.filter { try named.contains($0) }
    guard readsOldColumns, !ofOld.isEmpty, try StoreFiles(path: made).type == .sqlite else { return Array(ofOld) }
    let wanted = try NamedFiles(inStoreAt: made)
    return try ofOld.filter { try !wanted.contains($0) }
  }

  /// Whether every file of the folder is one of the live support folder's, by name and content's identity.
  private func isPartOfLiveSupport(_ folder: SupportFolder) throws -> Bool {
    let live = SupportFolder(ofStoreAt: store)
    var isPart = true
    try folder.forEachFile { name, _ in
      isPart = isPart && SupportFolder.isFileName(name) && isSameFile(folder.path(of: name), live.path(of: name))
    }
    return isPart
  }

  /// - Throws: When the name cannot be looked at: that says nothing of what bears it.
  private func exists(_ path: String) throws -> Bool {
    var info = stat()
    if lstat(path, &info) == 0 { return true }
    guard errno == ENOENT || errno == ENOTDIR else { throw GodwitError.disk("cannot read '\(path)'", errno: errno) }
    return false
  }

  private func isSameFile(_ a: String, _ b: String) -> Bool {
    var (x, y) = (stat(), stat())
    guard stat(a, &x) == 0, stat(b, &y) == 0 else { return false }
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino
  }

  /// A hard link; a synced copy where there is none. Does nothing when the name is there already.
  private func give(_ path: String, secondName name: String) throws {
    // The caller knows that what bears the name is ours, and whole: a copy gets its name when it is.
    if try exists(name) { return }
    if makesHardLinks {
      if link(path, name) == 0 { return }
      let code = errno
      guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV].contains(code) else {
        throw GodwitError(
          .inputOutput, "cannot link '\(path)' as '\(name)'", cause: String(cString: strerror(code)),
          remedy: "fix the cause and run the same command", safe: "the old store is still in place")
      }
    }
    let copy = name + ".new"
    try StoreCloner.make(of: path, to: copy, isSynced: true)
    try FileRights.copyAll(of: path, to: copy)
    guard rename(copy, name) == 0 else {
      throw GodwitError(
        .inputOutput, "cannot copy '\(path)' to '\(name)'", cause: String(cString: strerror(errno)),
        remedy: "fix the cause and run the same command", safe: "the old store is still in place")
    }
  }

  /// Makes a support folder with the permissions of another, and for the owner of the store.
  private func makeFolder(_ folder: SupportFolder, like other: SupportFolder) throws {
    var info = stat()
    for (path, original) in [(folder.path, other.path), (folder.dataPath, other.dataPath)]
    where try !exists(path) {
      try WorkFolder.makeFolder(path, mode: FileRights.folderMode(like: original))
      guard stat(store, &info) == 0, info.st_uid != geteuid() else { continue }
      guard chown(path, info.st_uid, info.st_gid) == 0 else {
        throw GodwitError.disk("cannot make the store's owner the owner of '\(path)'", errno: errno)
      }
    }
  }

  private func sync(folders: [String]) throws { for folder in folders { try WorkFolder.sync(folder) } }
}

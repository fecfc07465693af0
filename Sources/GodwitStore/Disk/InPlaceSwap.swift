import Foundation
package import GodwitModel

/// Puts a finished store in the place of the one it was made of.
///
/// 1. The external files of the old store get a second name in the support folder of `Name~.ext`.
/// 2. Those of the new store get one in the support folder of `Name.ext`, beside the old ones: names are never used
///    twice.
/// 3. The names that only rows of the old store have are written to `replaced.names`. A file that no row names is not
///    ours.
/// 4. The old store gets a second name, `Name~.ext`.
/// 5. The new store is synced and renamed over the old name; the folder is synced. This one moment is the exchange.
/// 6. The files of `replaced.names` are removed.
/// At every moment a whole store with all its external files exists under the old name. After a run that died, the next
/// one undoes the steps before the exchange and begins with them again, or carries out step 6. If the file system has no
/// hard links, files are copied: two renames would leave a moment without a store. A mark in the journal, written before
/// step 1, records that a second name is ours.
package struct InPlaceSwap {
  package let store: String
  /// Whether the old store stays, as `Name~.ext`.
  package let keepsOld: Bool
  /// Whether hard links are tried before copies.
  package var makesHardLinks = true
  /// Whether the new store has the values of the old one, so that its external files stay.
  package var keepsOldFiles = false
  /// The model of the old store, by which its rows are searched for external files. With nil all files stay.
  package var oldModel: ManagedObjectModel?
  /// Whether the rows of the old store are searched for external files column by column, whatever its model.
  package var readsOldColumns = false
  /// Called when only the disk can still stop the exchange, before the old store's second name is checked. It removes a
  /// removable file with that name.
  package var makeRoom: () throws -> Void = {}
  /// The journal's record of an exchange that has begun.
  package var mark: Mark?
  /// Writes the mark into the journal. It is durable when the call returns.
  package var record: (Mark) throws -> Void = { _ in }
  /// Called before each step with its number; a test dies there.
  package var before: (Int) throws -> Void = { _ in }

  package init(store: String, keepsOld: Bool) { (self.store, self.keepsOld) = (store, keepsOld) }

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

  private static func leftoversPath(in workFolder: String) -> String { workFolder + "/replaced.names" }

  // MARK: Mark

  /// The record that is written before the exchange gives a file its first second name.
  package struct Mark: Codable, Sendable, Hashable {
    /// The file of the store that is to be replaced: see `FileMark`.
    var store: String
    /// The file of the store that replaces it.
    package var made: String
    /// Whether `Name~.ext` is a name that the exchange gives out and may remove.
    var keepsOld: Bool
    /// The identifier of the store that replaces it, and the job that made it: whoever copies a backup over that store
    /// keeps the file. nil in a mark of an earlier version.
    var content: String?
  }

  /// The identifier of a store and the digest of the job that made it last; nil for any other file.
  private static func content(_ path: String) throws -> String? {
    let metadata: StoreMetadata
    do { metadata = try StoreMetadata(readingStoreAt: path) } catch let error as GodwitError
      where error.code == .dataWrong
    { return nil }
    return ([metadata.uuid] + metadata.jobs).joined(separator: " ")
  }

  /// Whether second names have been given out, and the store has not been replaced since.
  package func hasBegun() throws -> Bool { try FileMark.matches(mark?.store, store) }

  /// Whether the file named `Name~.ext` is the exchange's own. An exchange that keeps no old store owns no such name.
  private func ownsOldName() throws -> Bool { try mark?.keepsOld == true && hasBegun() }

  /// Whether the store is the one that a run put in place whose work folder still exists. A store that another process
  /// made since is not, and neither is a backup that was copied over it.
  package func hasExchanged() throws -> Bool {
    guard let mark, try FileMark.matches(mark.made, store) else { return false }
    return try mark.content == nil || mark.content == Self.content(store)
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

  /// - Throws: `.cannotCreate` (73) when another file has the name that the old store is to get.
  package func checkOldName() throws {
    guard keepsOld, try !ownsOldName() else { return }
    let support = SupportFolder(ofStoreAt: oldPath)
    for suffix in ["-wal", "-journal"] where try WorkFolder.exists(oldPath + suffix) {
      throw GodwitError(
        .cannotCreate, "cannot keep the old store: '\(oldPath)\(suffix)' exists",
        cause: "SQLite would apply the log to the store that gets the name '\(oldPath)'".onOneLine,
        remedy: "move it away, or write `keep-old: false`", safe: "the store is unchanged")
    }
    for path in try usesFiles() ? [oldPath, support.path] : [oldPath] where try WorkFolder.exists(path) {
      // The second name may already be a hard link of the store.
      if path == oldPath, try FileStatus.areSame(path, store) { continue }
      if path == support.path, try FileStatus.areSame(oldPath, store) || !WorkFolder.exists(oldPath),
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
  func exchange(_ made: String, support: SupportFolder, workFolder: String) throws {
    let live = SupportFolder(ofStoreAt: store)
    try live.refuseLinks()
    try makeRoom()
    // Hours may have passed since the run began.
    try checkOldName()
    try record(
      Mark(
        store: FileMark.of(store) ?? "", made: FileMark.of(made) ?? "", keepsOld: keepsOld || ownsOldName(),
        content: Self.content(made)))
    try before(1)
    if keepsOld, try usesFiles() {
      try give(filesOf: live, secondNamesIn: SupportFolder(ofStoreAt: oldPath), like: live)
    }
    try before(2)
    try give(filesOf: support, secondNamesIn: live, like: support)
    try before(3)
    try NameList.write(Self.leftoversPath(in: workFolder)) { add in
      if !keepsOldFiles { try forEachOfOldRows(in: live, butNot: support, made, add) }
    }
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
    guard rename(made, store) == 0 else { throw failure("replace '\(store)'", errno) }
    try WorkFolder.sync(folder)
    try finish(workFolder: workFolder)
  }

  /// Step 6. Call only when the new store has the old name.
  package func finish(workFolder: String) throws {
    try before(6)
    let live = SupportFolder(ofStoreAt: store)
    try live.refuseLinks()
    try NameList.read(Self.leftoversPath(in: workFolder)) { name in
      guard SupportFolder.isFileName(name), try live.size(of: name) != nil else { return }
      try WorkFolder.removeFile(live.path(of: name))
    }
    for path in [live.dataPath, live.path] { rmdir(path) }
  }

  /// Undoes steps 1 and 4. Call only while the old store has its name.
  func undo() throws {
    guard try ownsOldName() else { return }
    if try usesFiles() { try SupportFolder(ofStoreAt: oldPath).remove() }
    try WorkFolder.removeFile(oldPath)
  }

  // MARK: Files

  /// Gives a second name in another support folder to each file that a row may name.
  private func give(filesOf folder: SupportFolder, secondNamesIn other: SupportFolder, like: SupportFolder) throws {
    var isMade = false
    try folder.forEachFile { name, _ in
      guard SupportFolder.isFileName(name) else { return }
      if !isMade { try makeFolder(other, like: like) }
      isMade = true
      try give(folder.path(of: name), secondName: other.path(of: name))
    }
    if isMade { for folder in [other.dataPath, other.path] { try WorkFolder.sync(folder) } }
  }

  /// Whether the store in place may have files. An atomic store has its binary data inside, and a support folder beside
  /// it is that of another store.
  private func usesFiles() throws -> Bool { try !StoreFiles(path: store).type.isAtomic }

  /// The files beside the store that rows of the old store name and that are not among those of the new one. Where source
  /// and destination are two stores, no row of the new one may name them either: such a row may name a file that the source
  /// lacks, and the copy beside the old store may be the last.
  private func forEachOfOldRows(
    in live: SupportFolder, butNot new: SupportFolder, _ made: String, _ body: (String) throws -> Void
  ) throws {
    guard try usesFiles(), try WorkFolder.exists(live.path), oldModel != nil || readsOldColumns,
      try StoreFiles(path: store).type == .sqlite
    else {
      return
    }
    let named = try oldModel.map { try NamedFiles(inStoreAt: store, model: $0) } ?? NamedFiles(inStoreAt: store)
    let isOther = try readsOldColumns && StoreFiles(path: made).type == .sqlite
    let wanted = isOther ? try NamedFiles(inStoreAt: made) : nil
    try live.forEachFile { name, _ in
      guard SupportFolder.isFileName(name), try new.size(of: name) == nil, try named.contains(name),
        try wanted?.contains(name) != true
      else { return }
      try body(name)
    }
  }

  /// Whether every file of the folder is one of the live support folder's, by name and content's identity.
  private func isPartOfLiveSupport(_ folder: SupportFolder) throws -> Bool {
    let live = SupportFolder(ofStoreAt: store)
    var isPart = true
    try folder.forEachFile { name, _ in
      isPart =
        try isPart && SupportFolder.isFileName(name) && FileStatus.areSame(folder.path(of: name), live.path(of: name))
    }
    return isPart
  }

  /// Makes a hard link, or a synced copy if that is impossible. Does nothing if the name exists.
  private func give(_ path: String, secondName name: String) throws {
    // The caller knows that a file with this name is ours. It is whole, because a copy gets its name at its end.
    if try WorkFolder.exists(name) { return }
    if makesHardLinks {
      if link(path, name) == 0 { return }
      let code = errno
      guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV].contains(code) else {
        throw failure("link '\(path)' as '\(name)'", code)
      }
    }
    let copy = name + ".new"
    try StoreCloner.make(of: path, to: copy, isSynced: true)
    try FileRights.copyAll(of: path, to: copy)
    guard rename(copy, name) == 0 else { throw failure("copy '\(path)' to '\(name)'", errno) }
  }

  private func failure(_ what: String, _ code: Int32) -> GodwitError {
    GodwitError(
      .inputOutput, "cannot \(what)", cause: String(cString: strerror(code)),
      remedy: "fix the cause and run the same command", safe: "the old store is still in place")
  }

  /// Makes a support folder with the permissions of another, and for the owner of the store.
  private func makeFolder(_ folder: SupportFolder, like other: SupportFolder) throws {
    for (path, original) in [(folder.path, other.path), (folder.dataPath, other.dataPath)]
    where try !WorkFolder.exists(path) {
      try WorkFolder.makeFolder(path, mode: FileRights.folderMode(like: original))
      guard let status = try FileStatus.look(following: store), status.owner != geteuid() else { continue }
      guard chown(path, status.owner, status.group) == 0 else {
        throw GodwitError.disk("cannot make the store's owner the owner of '\(path)'", errno: errno)
      }
    }
  }
}

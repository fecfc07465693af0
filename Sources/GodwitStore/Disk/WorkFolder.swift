import Foundation
import GodwitModel

/// `DESTINATION.godwit/`: everything unfinished of one job, and the lock that keeps a second run out.
///
/// 1. `init` makes the folder (and the destination's folder) with rights for its owner only, and acquires the kernel
///    lock on `lock`. An existing folder must be ours: see `checkOwn`.
/// 2. The store under construction, its spill files and `run.json` live inside.
/// 3. `publish` moves the finished store to the destination; `remove` deletes the folder.
/// The lock ends with the process, so none goes stale.
package struct WorkFolder: ~Copyable {
  package let path: String
  private let lock: FileLock
  /// The folders that `init` made above the work folder, innermost first.
  private let madeFolders: [String]

  package static func path(forDestination destination: String) -> String { destination + ".godwit" }

  /// Whether anything has the folder's name, a symbolic link to nothing included.
  package static func exists(forDestination destination: String) throws -> Bool {
    try exists(path(forDestination: destination))
  }

  /// Whether anything has a name, a symbolic link to nothing included.
  ///
  /// - Throws: When the name cannot be read, which does not prove that it is free.
  package static func exists(_ path: String) throws -> Bool {
    try FileStatus.look(named: path) != nil
  }

  /// - Parameter isSynced: Whether the folder outlives a power cut.
  /// - Throws: `.cannotCreate` (73) when the folder cannot be made, or another file has its name, `.permission` (77)
  ///   when it is not writable, `.stopped` (75) when another run holds the lock.
  package init(forDestination destination: String, isSynced: Bool = true) throws {
    let path = Self.path(forDestination: destination)
    let missing = Self.missingFolders(above: path)
    let lock: FileLock
    do { lock = try Self.lock(folder: path, isSynced: isSynced) } catch {
      for folder in missing { rmdir(folder) }
      throw error
    }
    try Self.mark(path, isSynced: isSynced)
    lock.noteHolder(isSynced: isSynced)
    self.lock = lock
    madeFolders = missing
    self.path = path
  }

  private static func missingFolders(above path: String) -> [String] {
    var missing: [String] = []
    var folder = path.parentPath
    // One that cannot be looked at is not missing.
    while !folder.isEmpty, folder != "/", FileStatus(following: folder) == nil,
      [ENOENT, ENOTDIR].contains(CLibrary.errno)
    {
      missing.append(folder)
      folder = folder.parentPath
    }
    return missing
  }

  private static func lock(folder path: String, isSynced: Bool) throws -> FileLock {
    let parent = path.parentPath
    var making = mkdir(path, 0o700) == 0 ? 0 : CLibrary.errno
    if making == ENOENT {
      try makeFolder(parent)
      making = mkdir(path, 0o700) == 0 ? 0 : CLibrary.errno
    }
    switch making {
    case 0: if isSynced { try sync(parent) }
    case EEXIST: try checkOwn(path)
    default: throw cannotCreate(path, errno: making)
    }
    let lock = path + "/" + lockName
    do { return try FileLock(path: lock, mode: 0o600) } catch {
      switch error {
      case .unopened(ENOENT) where making == EEXIST: throw justFinished(path)
      case .unopened(let code), .failed(let code): throw Self.cannotCreate(lock, errno: code)
      case .held(let holder):
        throw GodwitError(
          .stopped, "cannot run: another process is working on '\(path)'",
          cause: holder.map { "the lock is held by \($0.description)" },
          remedy: "wait for it to end and run the same command", stopReason: .locked)
      case .replaced: throw justFinished(path)
      }
    }
  }

  /// The folder, or its lock, was removed during the check.
  static func justFinished(_ path: String) -> GodwitError {
    GodwitError(
      .stopped, "cannot run: another process has just finished with '\(path)'", remedy: "run the same command",
      stopReason: .locked)
  }

  // The lock is held until the value ends, and not until its last use.
  deinit { withExtendedLifetime(lock) {} }

  private static func cannotCreate(_ path: String, errno code: Int32) -> GodwitError {
    var error = GodwitError.disk("cannot create '\(path)'", errno: code)
    // A name that cannot be given is the destination's, whatever the reason.
    let isOfDisk = [ENOSPC, EDQUOT, EIO, EINTR, ESTALE, ETIMEDOUT, ENOMEM, EMFILE, ENFILE].contains(code)
    if error.code == .inputOutput, !isOfDisk { error.code = .cannotCreate }
    if !isOfDisk, let obstacle = obstacle(to: path) { error.cause = obstacle }
    if code == ENOENT { error.cause = "the file system accepts no new files there" }
    error.remedy = "check the destination's folder and run the same command"
    return error
  }

  /// Makes a folder and those above it, each of them durable when it returns.
  ///
  /// - Throws: `GodwitError.disk` names the failures.
  package static func makeFolder(_ path: String, mode: UInt32 = 0o777) throws {
    guard !path.isEmpty else { return }
    let parent = path.parentPath
    guard mkdir(path, mode_t(mode)) != 0 else { return try sync(parent) }
    var code = CLibrary.errno
    if code == ENOENT, !parent.isEmpty, parent != path {
      try makeFolder(parent)
      guard mkdir(path, mode_t(mode)) != 0 else { return try sync(parent) }
      // The parent exists but refuses the name, as `/proc` does. Trying again does not help.
      code = CLibrary.errno
    }
    guard code == EEXIST, try FileStatus.look(following: path)?.isFolder == true else {
      throw cannotCreate(path, errno: code)
    }
  }

  /// Refuses a path with a file in the place of a folder, as making the folder would.
  ///
  /// - Throws: `.cannotCreate` (73).
  package static func refuseObstacle(to path: String) throws {
    if obstacle(to: path.parentPath) != nil { throw cannotCreate(path, errno: ENOTDIR) }
  }

  /// The first part of the path that exists and is not a folder.
  private static func obstacle(to path: String) -> String? {
    var part = path
    while !part.isEmpty, part != "/" {
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: part, isDirectory: &isFolder) {
        return isFolder.boolValue ? nil : "'\(part)' is a file"
      }
      part = part.parentPath
    }
    return nil
  }

  /// Makes a store of the folder the destination, without replacing anything. The caller syncs the destination's folder.
  ///
  /// - Parameters:
  ///   - storePath: The file inside the folder.
  ///   - original: The source, whose permissions it gets under the umask.
  ///   - mark: The journal's record of a support folder that was moved.
  ///   - makeDurable: Makes the file durable, and whatever must be durable before the destination has its name.
  ///   - record: Writes the mark of the support folder into the journal; nil for a store without external files.
  package func publish(
    _ storePath: String, to destination: String, like original: String, mark: String?,
    makeDurable: (String) throws -> Void = { try sync($0) }, record: ((String) throws -> Void)?
  ) throws {
    try FileRights.copyMode(of: original, to: storePath)
    try makeDurable(storePath)
    if let record { try Self.publishSupport(ofStoreAt: storePath, to: destination, mark: mark, record: record) }
    // A hard link fails when the name exists, where a rename would silently replace it.
    if link(storePath, destination) == 0 {
      unlink(storePath)
    } else if CLibrary.errno == EEXIST {
      throw GodwitError(
        .cannotCreate, "cannot finish: '\(destination)' was created during the run",
        remedy: "move it away and run the same command", safe: "the finished store is '\(storePath)'")
    } else {
      let code = CLibrary.errno
      guard try !Self.exists(destination) else { throw Self.cannotCreate(destination, errno: code) }
      guard rename(storePath, destination) == 0 else {
        throw Self.cannotCreate(destination, errno: CLibrary.errno)
      }
    }
  }

  /// The receipt of a finished store that is not in its place yet.
  package var receiptPath: String { Self.receiptPath(in: path) }
  package static func receiptPath(in folder: String) -> String { folder + "/receipt.json" }

  /// When the chunks of the job ran, for its report.
  package static func historyPath(in folder: String) -> String { folder + "/history.json" }

  /// The journal: the state of the run.
  package static func journalPath(in folder: String) -> String { folder + "/run.json" }

  /// Deletes only the stores under construction. A later run then starts over instead of resuming.
  package func removeStores() throws {
    for store in try stores() { try Self.removeFile(store) }
  }

  /// Deletes the folder with our files in it. The lock is held until the value ends.
  ///
  /// - Throws: `.cannotCreate` (73) when the folder contains anything else, which stays.
  package func remove() throws {
    // The journal goes first: without it a later run begins again. Marker and lock go last: while they exist, a
    // half-removed folder can still be recognised as ours and removed.
    try Self.removeContent(of: path, isStep: false)
    for name in [Self.markerName, Self.lockName] { try Self.removeFile(path + "/" + name) }
    // Another process may have entered the folder when the lock's name was removed.
    guard rmdir(path) == 0 || [ENOENT, ENOTEMPTY, EEXIST].contains(CLibrary.errno) else {
      throw GodwitError.disk("cannot remove '\(path)'", errno: CLibrary.errno)
    }
  }

  /// Whether the folder has a store under construction, or a finished one that is not in its place yet.
  package func hasStores() throws -> Bool { try !stores().isEmpty }

  /// The stores of the folder, that of the last step first.
  private func stores() throws -> [String] {
    try (steps() + [path]).map { StepFolder(path: $0).storePath }.filter { try Self.exists($0) }
  }

  /// The folders of the steps, the last first.
  private func steps() throws -> [String] {
    let steps = try Self.entries(path).filter { $0.hasPrefix("step-") }
    return steps.sorted { $0.compare($1, options: .numeric) == .orderedDescending }.map { "\(path)/\($0)" }
  }

  /// Deletes the folder, and the empty folders that were made for it. Folders that cannot be deleted stay.
  package func undo() {
    guard (try? remove()) != nil else { return }
    for folder in madeFolders where rmdir(folder) != 0 { return }
  }

  package static func sync(_ path: String) throws {
    let descriptor = CLibrary.open(path.isEmpty ? "." : path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw GodwitError.disk("cannot open '\(path)' to sync it", errno: CLibrary.errno) }
    defer { close(descriptor) }
    guard CLibrary.sync(descriptor) == 0 else { throw GodwitError.disk("cannot sync '\(path)'", errno: CLibrary.errno) }
  }
}

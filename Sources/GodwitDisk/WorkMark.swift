import Foundation
import GodwitModel
import GodwitPlatform
import GodwitStore

/// When this machine was started, as a name that no other start has. What was written and not synced before another one
/// may be lost, or half there.
package enum BootIdentity {
  /// nil where the system does not tell; whatever is written is synced then. Tests have their own.
  @TaskLocal package static var current: String? = system

  private static let system = CLibrary.bootIdentity
}

/// What the mark of a work folder says of the work in it.
///
/// Work that is not synced as it is done survives the death of the process, and not that of the machine: a later run
/// goes on with it only while the machine has not been started again. It is synced before anything of it is delivered:
/// from then on an empty file `settled` stands for the mark of synced work, which saves the sync of another mark.
enum WorkMark: Equatable {
  case synced
  /// With the start of the machine during which it was done.
  case unsynced(boot: String)
  /// Half a mark: nothing behind it can be relied on.
  case torn

  private static let whole = "godwit work folder 1\n"
  /// No beginning of it is the mark of synced work.
  private static let unsynced = "godwit work folder, not synced, boot "

  var text: String {
    switch self {
    case .synced: Self.whole
    case .unsynced(let boot): Self.unsynced + boot + "\n"
    case .torn: ""
    }
  }

  init(text: String) {
    if text == Self.whole {
      self = .synced
    } else if text.hasPrefix(Self.unsynced), text.hasSuffix("\n") {
      self = .unsynced(boot: String(text.dropFirst(Self.unsynced.count).dropLast()))
    } else {
      self = .torn
    }
  }

  /// Whether the work is lost, or may be.
  var isLost: Bool {
    switch self {
    case .synced: false
    case .unsynced(let boot): boot != BootIdentity.current
    case .torn: true
    }
  }
}

extension WorkFolder {
  private static func markPath(_ path: String) -> String { path + "/" + markerName }
  private static func settledPath(_ path: String) -> String { path + "/" + settledName }

  /// The mark of a folder; nil for one without.
  static func mark(of path: String) throws -> WorkMark? {
    guard exists(markPath(path)) else { return nil }
    guard !exists(settledPath(path)) else { return .synced }
    let data: Data?
    do { data = try ReadableFile.bytes(of: markPath(path), limit: .mebibytes(1)) } catch {
      throw GodwitError.disk("cannot read '\(markPath(path))'", error)
    }
    return WorkMark(text: String(decoding: data ?? Data(), as: UTF8.self))
  }

  private static func exists(_ path: String) -> Bool {
    var info = stat()
    return lstat(path, &info) == 0
  }

  /// Whether a later run begins anew with a folder, because the machine has been started again since its work.
  package static func isLost(_ path: String) -> Bool { (try? mark(of: path))?.isLost ?? false }

  /// Whether a run has made a folder its own, and no power cut has taken what it did there.
  package static func hasLiveMark(_ path: String) -> Bool { (try? mark(of: path)).map { !$0.isLost } ?? false }

  /// Whether something of the finished store in a folder may be in its place already.
  package static func hasBegunDelivery(_ path: String) -> Bool {
    exists(settledPath(path)) || exists(path + "/support.id")
  }

  /// Whether a later run of a folder's work must sync what it does.
  package static func isSynced(_ path: String) -> Bool { (try? mark(of: path)) == .synced }

  /// Writes the mark. That of synced work is durable when it returns; of another one a part may get lost with the power,
  /// which says no less.
  static func setMark(_ mark: WorkMark, in path: String) throws {
    let marker = markPath(path)
    let descriptor = open(marker, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw GodwitError.disk("cannot create '\(marker)'", errno: CLibrary.errno) }
    defer { close(descriptor) }
    let bytes = Array(mark.text.utf8)
    let count = bytes.withUnsafeBytes { CLibrary.write(descriptor, $0.baseAddress, $0.count) }
    // So short a text is written at once, or there is no room for it.
    guard count < 0 || count == bytes.count else { throw GodwitError.disk("cannot write '\(marker)'", errno: ENOSPC) }
    guard count > 0, ftruncate(descriptor, off_t(count)) == 0, mark != .synced || CLibrary.sync(descriptor) == 0 else {
      throw GodwitError.disk("cannot write '\(marker)'", errno: CLibrary.errno)
    }
  }

  /// Marks the folder of the holder of the lock, and removes work that is lost.
  ///
  /// - Parameter isSynced: Whether the work is synced as it is done.
  /// - Returns: The same; true also for work that an earlier run has synced.
  static func settleMark(of path: String, isSynced: Bool) throws -> Bool {
    let wanted = isSynced ? nil : BootIdentity.current.map(WorkMark.unsynced)
    switch try mark(of: path) {
    case .synced?:
      // Whatever becomes of the file that stands for it.
      if exists(settledPath(path)) { try setMark(.synced, in: path) }
      return true
    case .unsynced(BootIdentity.current)?:
      if wanted == nil { try settle(path) }
      return wanted == nil
    case let known:
      if known != nil {
        // Without its store nothing of a half-removed folder is resumed.
        try removeStores(in: path)
        try removeContent(of: path, isStep: false)
      }
      // The first of the folder's files: where names become durable in their order, it is there when any other is.
      try setMark(wanted ?? .synced, in: path)
      return wanted == nil
    }
  }

  /// Makes the work of a folder durable, and says so in its mark.
  static func settle(_ path: String) throws {
    for folder in try [path] + steps(in: path) { try syncFiles(of: folder) { $0 != markerName && $0 != lockName } }
    try setMark(.synced, in: path)
  }

  /// Makes a finished store durable with all that its delivery needs, and says so.
  ///
  /// Where that is the store alone, nothing is said: when the power goes before its name is durable at the destination,
  /// the next run begins anew, and after that it finds the store there.
  ///
  /// - Parameter store: The store of the last step, in the folder.
  static func settle(_ path: String, finished store: String) throws {
    let folder = store.parentPath
    // A receipt tells all that the outcome does.
    var needless = needlessWhenFinished
    if exists(path + "/receipt.json") { needless.insert("outcome.json") }
    // Where a finished store alone is found, a run that does not know whose it is begins anew.
    if !exists(recordPath(in: path)) { needless.insert("owner.json") }
    func isNeeded(_ name: String) -> Bool { !needless.contains(name) && !name.hasSuffix(".lz4") }
    if folder != path {
      try syncFiles(of: folder, where: isNeeded)
    } else if try entries(path).filter(isNeeded).map({ path + "/" + $0 }) == [store] {
      return try sync(store)
    }
    let settled = settledPath(path)
    try syncFiles(of: path, where: isNeeded) {
      let descriptor = open(settled, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw GodwitError.disk("cannot create '\(settled)'", errno: CLibrary.errno) }
      close(descriptor)
    }
  }

  /// Syncs files of a folder, then the folder.
  ///
  /// - Parameter before: Called between the two.
  private static func syncFiles(
    of folder: String, where isNeeded: (String) -> Bool, before: () throws -> Void = {}
  ) throws {
    for name in try entries(folder) where isNeeded(name) {
      let item = folder + "/" + name
      var info = stat()
      guard lstat(item, &info) == 0 else { throw GodwitError.disk("cannot read '\(item)'", errno: CLibrary.errno) }
      if info.st_mode & S_IFMT == S_IFREG { try sync(item) }
    }
    try before()
    try sync(folder)
  }
}

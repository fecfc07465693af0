import Foundation
import GRDBSQLite
import GodwitModel

/// A file system of SQLite's that shows a database as its hot journal would leave it, and writes nothing.
///
/// SQLite itself can roll back only by writing, so that whoever may not write had to copy the whole store for one page of
/// it. Here a page comes from the journal where that has it, else from the database.
enum RolledBackStore {
  private static let name = "godwit-rolled-back"

  /// How to attach a store with a hot journal; nil where a copy is needed, because only SQLite can judge the journal.
  ///
  /// - Throws: as `StoreFiles.init` names the failures.
  static func uri(of files: StoreFiles) throws -> String? {
    guard isRegistered, try !files.hasWAL(),
      try RolledBackFile(path: files.path, journalPath: files.journalPath) != nil
    else { return nil }
    return StoreFiles.uri(path: files.path, query: "mode=ro&immutable=1&vfs=\(name)")
  }

  /// `SQLITE_IOERR_READ` and `SQLITE_IOERR_SHORT_READ`, macros that Swift does not see.
  private static let readFailed = SQLITE_IOERR | 1 << 8
  private static let endedEarly = SQLITE_IOERR | 2 << 8

  /// What SQLite holds for an open file.
  private struct OpenFile {
    var base: sqlite3_file
    var content: Unmanaged<RolledBackFile>?
  }

  private static func open(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<OpenFile> {
    UnsafeMutableRawPointer(file).assumingMemoryBound(to: OpenFile.self)
  }

  private static func content(_ file: UnsafeMutablePointer<sqlite3_file>?) -> RolledBackFile? {
    file.flatMap { open($0).pointee.content?.takeUnretainedValue() }
  }

  /// All but the opening of files is the system's own.
  private static let isRegistered: Bool = {
    guard let system = sqlite3_vfs_find(nil) else { return false }
    let made = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    made.initialize(to: system.pointee)
    made.pointee.pNext = nil
    made.pointee.zName = UnsafePointer(strdup(name))
    made.pointee.szOsFile = Int32(MemoryLayout<OpenFile>.size)
    made.pointee.xOpen = { _, path, file, flags, outFlags in
      guard let file else { return SQLITE_CANTOPEN }
      RolledBackStore.open(file).initialize(to: OpenFile(base: sqlite3_file(), content: nil))
      guard flags & SQLITE_OPEN_MAIN_DB != 0, let path else { return SQLITE_CANTOPEN }
      let name = String(cString: path)
      guard let content = try? RolledBackFile(path: name, journalPath: name + "-journal") else {
        return SQLITE_CANTOPEN
      }
      let methods = RolledBackStore.methods
      RolledBackStore.open(file).pointee = OpenFile(
        base: sqlite3_file(pMethods: methods.pointer), content: .passRetained(content))
      outFlags?.pointee = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB
      return SQLITE_OK
    }
    return sqlite3_vfs_register(made, 0) == SQLITE_OK
  }()

  /// Made once, never changed, and never freed.
  private struct Methods: @unchecked Sendable {
    let pointer: UnsafePointer<sqlite3_io_methods>
  }

  private static let methods: Methods = {
    let made = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    made.initialize(to: sqlite3_io_methods())
    made.pointee.iVersion = 1
    made.pointee.xClose = { file in
      guard let file else { return SQLITE_OK }
      RolledBackStore.open(file).pointee.content?.release()
      RolledBackStore.open(file).pointee.content = nil
      return SQLITE_OK
    }
    made.pointee.xRead = { file, buffer, count, offset in
      guard let content = RolledBackStore.content(file), let buffer else { return RolledBackStore.readFailed }
      let whole = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
      guard let got = try? content.read(whole, at: offset) else { return RolledBackStore.readFailed }
      guard got < whole.count else { return SQLITE_OK }
      whole[got...].initializeMemory(as: UInt8.self, repeating: 0)
      return RolledBackStore.endedEarly
    }
    made.pointee.xFileSize = { file, size in
      size?.pointee = RolledBackStore.content(file)?.size ?? 0
      return SQLITE_OK
    }
    made.pointee.xWrite = { _, _, _, _ in SQLITE_READONLY }
    made.pointee.xTruncate = { _, _ in SQLITE_READONLY }
    made.pointee.xSync = { _, _ in SQLITE_OK }
    made.pointee.xLock = { _, _ in SQLITE_OK }
    made.pointee.xUnlock = { _, _ in SQLITE_OK }
    made.pointee.xCheckReservedLock = { _, isReserved in
      isReserved?.pointee = 0
      return SQLITE_OK
    }
    made.pointee.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
    made.pointee.xSectorSize = { _ in 4096 }
    made.pointee.xDeviceCharacteristics = { _ in SQLITE_IOCAP_IMMUTABLE }
    return Methods(pointer: UnsafePointer(made))
  }()
}

import CSQLite
import GodwitModel

/// A file system of SQLite's that reads a database with its write-ahead log, and writes, makes and removes nothing.
///
/// SQLite removes a log in which it finds no valid frame, also on a connection that may only read. Here the log is opened
/// for reading, whatever the rights of the process are, and a removal does nothing. No lock is taken.
enum UnwritingFileSystem {
  private static let name = "godwit-unwriting"

  /// The system's file system without locks, which does the reading.
  private static var system: UnsafeMutablePointer<sqlite3_vfs>? { sqlite3_vfs_find("unix-none") }

  /// How to attach a store; nil when SQLite does not accept the file system.
  static func uri(path: String) -> String? {
    isRegistered ? StoreFiles.uri(path: path, query: "mode=ro&vfs=\(name)") : nil
  }

  private static let isRegistered: Bool = {
    guard let system else { return false }
    let made = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    made.initialize(to: system.pointee)
    made.pointee.pNext = nil
    made.pointee.zName = UnsafePointer(strdup(name))
    made.pointee.xOpen = { _, path, file, flags, outFlags in
      guard let system = UnwritingFileSystem.system, let open = system.pointee.xOpen else { return SQLITE_CANTOPEN }
      let logs = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL
      guard flags & (SQLITE_OPEN_MAIN_DB | logs) != 0 else { return open(system, path, file, flags, outFlags) }
      let rights = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_DELETEONCLOSE | SQLITE_OPEN_READONLY
      return open(system, path, file, flags & ~rights | SQLITE_OPEN_READONLY, outFlags)
    }
    made.pointee.xDelete = { _, _, _ in SQLITE_OK }
    return sqlite3_vfs_register(made, 0) == SQLITE_OK
  }()
}

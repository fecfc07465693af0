import CSQLite
import Foundation

/// The content of a database file in such a file system.
protocol ReadOnlyContent: AnyObject {
  var size: Int64 { get }

  /// Fills a buffer from an offset; returns how many bytes there are, fewer at the end alone.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at start: Int64) throws -> Int
}

/// A file system of SQLite's whose databases are computed as they are read. It writes nothing and takes no lock.
///
/// Databases of it are opened with `immutable=1`: SQLite then looks for no journal.
enum ReadOnlyFileSystem {
  /// The function that gives the content of a file by its path when the file is opened.
  private final class Opener {
    let open: (String) -> (any ReadOnlyContent)?

    init(_ open: @escaping (String) -> (any ReadOnlyContent)?) { self.open = open }
  }

  /// `SQLITE_IOERR_READ` and `SQLITE_IOERR_SHORT_READ`, macros that Swift does not see.
  private static let readFailed = SQLITE_IOERR | 1 << 8
  private static let endedEarly = SQLITE_IOERR | 2 << 8

  private final class Content {
    let content: any ReadOnlyContent

    init(_ content: any ReadOnlyContent) { self.content = content }
  }

  /// SQLite's record of an open file.
  private struct OpenFile {
    var base: sqlite3_file
    var content: Unmanaged<Content>?
  }

  private static func file(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<OpenFile> {
    UnsafeMutableRawPointer(file).assumingMemoryBound(to: OpenFile.self)
  }

  private static func content(_ file: UnsafeMutablePointer<sqlite3_file>?) -> (any ReadOnlyContent)? {
    file.flatMap { Self.file($0).pointee.content?.takeUnretainedValue().content }
  }

  /// Makes a file system known to SQLite, for the life of the process. All but the opening of files is the system's
  /// own.
  ///
  /// - Parameter open: The content of the file at a path; nil if the file does not exist.
  /// - Returns: false when SQLite does not accept the file system.
  static func register(_ name: String, open: @escaping (String) -> (any ReadOnlyContent)?) -> Bool {
    guard let system = sqlite3_vfs_find(nil) else { return false }
    let made = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    made.initialize(to: system.pointee)
    made.pointee.pNext = nil
    made.pointee.zName = UnsafePointer(strdup(name))
    made.pointee.szOsFile = Int32(MemoryLayout<OpenFile>.size)
    made.pointee.pAppData = Unmanaged.passRetained(Opener(open)).toOpaque()
    made.pointee.xOpen = { system, path, file, flags, outFlags in
      guard let file, let data = system?.pointee.pAppData else { return SQLITE_CANTOPEN }
      ReadOnlyFileSystem.file(file).initialize(to: OpenFile(base: sqlite3_file(), content: nil))
      let opener = Unmanaged<Opener>.fromOpaque(data).takeUnretainedValue()
      guard flags & SQLITE_OPEN_MAIN_DB != 0, let path, let content = opener.open(String(cString: path)) else {
        return SQLITE_CANTOPEN
      }
      ReadOnlyFileSystem.file(file).pointee = OpenFile(
        base: sqlite3_file(pMethods: ReadOnlyFileSystem.methods.pointer), content: .passRetained(Content(content)))
      outFlags?.pointee = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB
      return SQLITE_OK
    }
    return sqlite3_vfs_register(made, 0) == SQLITE_OK
  }

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
      ReadOnlyFileSystem.file(file).pointee.content?.release()
      ReadOnlyFileSystem.file(file).pointee.content = nil
      return SQLITE_OK
    }
    made.pointee.xRead = { file, buffer, count, offset in
      guard let content = ReadOnlyFileSystem.content(file), let buffer else { return ReadOnlyFileSystem.readFailed }
      let whole = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
      guard let got = try? content.read(whole, at: offset) else { return ReadOnlyFileSystem.readFailed }
      guard got < whole.count else { return SQLITE_OK }
      whole[got...].initializeMemory(as: UInt8.self, repeating: 0)
      return ReadOnlyFileSystem.endedEarly
    }
    made.pointee.xFileSize = { file, size in
      size?.pointee = ReadOnlyFileSystem.content(file)?.size ?? 0
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

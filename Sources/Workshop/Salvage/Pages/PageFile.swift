import Foundation
import GodwitModel
import GodwitStore

/// The pages of a database, read as bytes, with those that its log or its journal has in their place.
///
/// SQLite is not asked: it refuses a file at the first page that is wrong. All files are opened for reading, and nothing
/// appears beside them. A page that the disk cannot read is a page that is gone.
final class PageFile {
  let header: DatabaseHeader
  let pageSize: Int
  /// The bytes of a page that SQLite uses.
  let usableSize: Int
  /// The pages that the file has, those of the log included.
  let pageCount: UInt32
  /// The pages that the header names and the file lacks.
  let missingPages: UInt32
  /// The log, if it is used.
  let log: LogPages?
  /// Whether pages come from a rollback journal.
  var hasJournal: Bool { journal != nil }
  /// The pages that the disk could not read.
  private(set) var failedReads: Set<UInt32> = []

  private let database: SourceFile
  private let journal: RolledBackFile?

  /// - Parameter usesLog: Whether the log and the journal beside the file count.
  /// - Throws: `.dataWrong` (65) for a file in which no page of a database is found; `.missingInput` (66) and
  ///   `.permission` (77) if it cannot be opened.
  init(path: String, usesLog: Bool) throws {
    database = try SourceFile(path, named: path)
    let raw = DatabaseHeader(try database.bytes(100, at: 0) ?? [])
    let found = usesLog ? try LogPages(path + "-wal") : nil
    // A log of other pages is the log of another file.
    var log = found.flatMap { log in
      log.usedFrames > 0 && (raw == nil || raw?.pageSize == log.pageSize) ? log : nil
    }
    journal = usesLog && log == nil ? try Self.journal(of: path) : nil
    guard let size = try raw?.pageSize ?? log?.pageSize ?? PageSizeGuess(database).pageSize else {
      throw GodwitError(
        .dataWrong, "cannot salvage '\(path)': no page of a SQLite database is in it",
        cause: "the file has another format, is encrypted, or was overwritten as a whole",
        remedy: "restore the store from a backup", safe: "the store is untouched")
    }
    pageSize = size
    let first =
      try log.flatMap { try $0.page(1) } ?? journal.flatMap { try $0.prefix(100) } ?? database.bytes(100, at: 0)
    let header = DatabaseHeader(first ?? []) ?? raw ?? DatabaseHeader(assumedPageSize: size)
    self.header = header
    usableSize = size - header.reservedBytes
    let filePages = UInt32(clamping: (journal?.size ?? database.size) / Int64(size))
    var count = filePages
    if let used = log { count = max(1, used.pageCount) }
    let named = log == nil && journal == nil ? header.pageCount : nil
    if let named, named < filePages { count = named }
    missingPages = named.map { $0 > filePages ? $0 - filePages : 0 } ?? 0
    // A count from a damaged log must not decide how much memory is taken.
    let reachable = UInt32(clamping: Int64(filePages) + Int64(log?.distinctPages ?? 0))
    if count > reachable { count = reachable }
    pageCount = count
    if log?.pageCount == 0 { log = nil }
    self.log = log
  }

  private static func journal(of path: String) throws -> RolledBackFile? {
    guard FileStatus(following: path + "-journal")?.isFile == true else { return nil }
    let file = try RolledBackFile(path: path, journalPath: path + "-journal")
    return file?.isRolledBack == true ? file : nil
  }

  /// The bytes of a page; nil if the file has no such page, or the disk cannot read it.
  func page(_ number: UInt32) throws -> [UInt8]? {
    guard number > 0, number <= pageCount else { return nil }
    do {
      if let page = try log?.page(number) { return page }
      let place = Int64(number - 1) * Int64(pageSize)
      if let journal {
        let bytes = try [UInt8](unsafeUninitializedCapacity: pageSize) { buffer, count in
          count = try journal.read(UnsafeMutableRawBufferPointer(buffer), at: place)
        }
        return bytes.count == pageSize ? bytes : nil
      }
      let bytes = try database.bytes(pageSize, at: place)
      return bytes?.count == pageSize ? bytes : nil
    } catch let error as GodwitError where error.code == .inputOutput {
      failedReads.insert(number)
      return nil
    }
  }

  /// Whether a page holds nothing of a database: the one where SQLite keeps its locks.
  func isLockPage(_ number: UInt32) -> Bool { Int64(number - 1) * Int64(pageSize) == 0x4000_0000 }
}

extension RolledBackFile {
  fileprivate func prefix(_ count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, got in
      got = try read(UnsafeMutableRawBufferPointer(buffer), at: 0)
    }
  }
}

/// A file that is read by places; closes when it goes.
final class SourceFile {
  private let descriptor: Int32
  private let name: String
  let size: Int64

  /// - Throws: `.missingInput`, `.permission` or `.inputOutput`; `.dataWrong` for anything but a regular file.
  init(_ path: String, named name: String) throws {
    self.name = name
    descriptor = CLibrary.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw GodwitError.reading(storeAt: name, CLibrary.errno) }
    guard let status = FileStatus(openFile: descriptor), status.isFile else {
      close(descriptor)
      throw GodwitError(
        .dataWrong, "cannot read '\(name)': expected a file, found a folder or a special file",
        remedy: "check the path")
    }
    size = status.size
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The bytes from a place, fewer at the end; nil behind the end.
  ///
  /// - Throws: `.inputOutput` if the disk fails.
  func bytes(_ count: Int, at place: Int64) throws -> [UInt8]? {
    guard place < size else { return nil }
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      while done < count {
        let got = pread(descriptor, buffer.baseAddress?.advanced(by: done), count - done, off_t(place) + off_t(done))
        if got < 0, CLibrary.errno == EINTR { continue }
        guard got >= 0 else { throw GodwitError.reading(storeAt: name, CLibrary.errno) }
        if got == 0 { return }
        done += got
      }
    }
  }
}

/// The first 100 bytes of a database, as SQLite's page "Database File Format" describes them.
struct DatabaseHeader: Equatable {
  let pageSize: Int
  let reservedBytes: Int
  /// The pages of the database; nil if the writer did not know the field.
  let pageCount: UInt32?
  let firstTrunk: UInt32
  let freePages: UInt32
  /// Whether the file has a pointer map; nil if the header is gone.
  let hasPointerMap: Bool?
  /// Whether texts are UTF-16, and in which order.
  let encoding: TextEncoding
  let userVersion: Int64
  let applicationID: Int64

  enum TextEncoding: UInt64 {
    case utf8 = 1
    case utf16LittleEndian = 2
    case utf16BigEndian = 3
  }

  /// nil if the bytes are not a header.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 100, bytes.starts(with: Array("SQLite format 3\0".utf8)) else { return nil }
    let raw = Int(bytes.number(at: 16, size: 2))
    let size = raw == 1 ? 65536 : raw
    guard size >= 512, size <= 65536, size & (size - 1) == 0 else { return nil }
    pageSize = size
    reservedBytes = size - Int(bytes[20]) >= 480 ? Int(bytes[20]) : 0
    let count = UInt32(bytes.number(at: 28, size: 4))
    pageCount = bytes[24..<28].elementsEqual(bytes[92..<96]) && count > 0 ? count : nil
    firstTrunk = UInt32(bytes.number(at: 32, size: 4))
    freePages = UInt32(bytes.number(at: 36, size: 4))
    hasPointerMap = bytes.number(at: 52, size: 4) != 0
    encoding = TextEncoding(rawValue: bytes.number(at: 56, size: 4)) ?? .utf8
    userVersion = Int64(Int32(truncatingIfNeeded: bytes.number(at: 60, size: 4)))
    applicationID = Int64(Int32(truncatingIfNeeded: bytes.number(at: 68, size: 4)))
  }

  /// The header of a file that lost it: what Core Data writes.
  init(assumedPageSize size: Int) {
    pageSize = size
    (reservedBytes, pageCount, firstTrunk, freePages) = (0, nil, 0, 0)
    (hasPointerMap, encoding, userVersion, applicationID) = (nil, .utf8, 0, 0)
  }

  /// Whether the header was read.
  var isRead: Bool { hasPointerMap != nil }
}

/// The page size of a file whose header is gone: the size with which most bytes are sound pages of tables.
private struct PageSizeGuess {
  private(set) var pageSize: Int?

  private static let sampledBytes = 16 << 20

  init(_ file: SourceFile) throws {
    var best = 0
    for size in [4096, 1024, 2048, 8192, 16384, 32768, 65536, 512] {
      var sound = 0
      for number in 0..<min(Int64(Self.sampledBytes), file.size) / Int64(size) {
        guard let bytes = try file.bytes(size, at: number * Int64(size)), bytes.count == size, bytes[0] == 0x0D,
          let leaf = TableLeaf(bytes, at: 0, usableSize: size), leaf.isSound, !leaf.cells.isEmpty
        else { continue }
        sound += size
      }
      if sound > best { (best, pageSize) = (sound, size) }
    }
  }
}

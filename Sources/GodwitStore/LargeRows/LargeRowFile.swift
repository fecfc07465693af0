import CSQLite
import Foundation
import GodwitModel
import Synchronization

/// A virtual database: empty tables, except for one with a single row. Its pages are made as SQLite reads them.
///
///     pages 1 to n   an ordinary database with the tables
///     a table's root a leaf with the row's cell: bytes of its record, key, the record's beginning, first page of the rest
///     behind n       the rest: number of the next page, 4092 bytes
///
/// No row uses pages of the one before it, since SQLite may still know those.
///
/// `SQLITE_LIMIT_LENGTH` finds the large values, and SQLite copies them from here unread, so other rows cost nothing
/// more. Asking each length would, and a temporary file would be written.
final class LargeRowFile: ReadOnlyContent, @unchecked Sendable {
  private static let pageBytes = 4096
  private static let restBytes = pageBytes - 4
  /// As many as SQLite takes, so that there are new ones for every row.
  static let pages = 1_073_741_823
  /// No database has a page where SQLite keeps its locks.
  static let lockPage = 0x4000_0000 / pageBytes + 1
  /// The pages of a row that are read at once from the place of its values.
  private static let windowPages = 64

  private let image: [UInt8]
  private let roots: [String: Int]

  private struct Row {
    var record: RowRecord
    var root: Int
    /// The root's page.
    var leaf: [UInt8]
    /// Bytes of the record that are not on the root.
    var restStart: Int
    /// The first page of the rest, and how many there are, not counting the page that none has.
    var first: Int
    var count: Int
  }

  private var row: Row?
  /// The first page of the next row's rest.
  var nextPage: Int
  /// Whether SQLite has read the page with the cell of the present row.
  private(set) var isRowRead = false
  /// The reason why reading failed, because SQLite reports only the failure.
  private(set) var failure: (any Error)?
  private var window: [UInt8] = []
  private var windowStart = -1

  var size: Int64 { Int64(Self.pages) * Int64(Self.pageBytes) }

  /// - Parameter definitions: The `CREATE TABLE` statements of the tables.
  init(definitions: [String]) throws {
    let made = try StoreConnection(path: nil)
    defer { try? made.close() }
    try made.execute("PRAGMA page_size = \(Self.pageBytes)")
    try made.execute("PRAGMA auto_vacuum = NONE")
    for sql in definitions { try made.execute(sql) }
    var roots: [String: Int] = [:]
    try made.query("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'") { row in
      roots[(row.string(0) ?? "").lowercased()] = row.int(1)
      return true
    }
    self.roots = roots
    var image = try made.withHandle { handle in
      var count: sqlite3_int64 = 0
      guard let bytes = sqlite3_serialize(handle, "main", &count, 0) else {
        throw GodwitError(.inputOutput, "cannot hold the definitions of tables in memory: out of memory")
      }
      defer { sqlite3_free(bytes) }
      return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }
    // The number of pages counts where the version it is for is that of the last change.
    for (offset, number) in [(24, 1), (28, Self.pages), (92, 1)] {
      image.replaceSubrange(offset..<offset + 4, with: Self.bigEndian(number))
    }
    self.image = image
    nextPage = image.count / Self.pageBytes + 1
  }

  func hasTable(_ name: String) -> Bool { roots[name.lowercased()] != nil }

  /// Makes a row the only one of all tables. The caller makes SQLite drop the pages that it read before.
  func show(_ record: RowRecord, key: Int64, in table: String) {
    guard let root = roots[table.lowercased()] else { return hide() }
    let most = Self.pageBytes - 35
    let least = (Self.pageBytes - 12) * 32 / 255 - 23
    let total = record.byteCount
    var local = total
    if total > most {
      local = least + (total - least) % Self.restBytes
      if local > most { local = least }
    }
    let count = (total - local + Self.restBytes - 1) / Self.restBytes
    if nextPage + count >= Self.pages { nextPage = image.count / Self.pageBytes + 1 }
    var cell: [UInt8] = []
    RowRecord.append(UInt64(total), to: &cell)
    RowRecord.append(UInt64(bitPattern: key), to: &cell)
    let start = cell.count
    cell += [UInt8](repeating: 0, count: local)
    failure = nil
    do { try cell.withUnsafeMutableBytes { try record.read(.init(rebasing: $0[start...]), at: 0) } } catch {
      failure = error
    }
    if count > 0 { cell += Self.bigEndian(Self.page(nextPage)) }
    // Leaf of a table; no free block; one cell; where cells begin; no fragments; where the cell lies.
    let place = UInt16(Self.pageBytes - cell.count)
    let high = UInt8(place >> 8)
    let low = UInt8(place & 0xff)
    var leaf: [UInt8] = [0x0d, 0, 0, 0, 1, high, low, 0, high, low]
    leaf += [UInt8](repeating: 0, count: Int(place) - leaf.count) + cell
    row = Row(record: record, root: root, leaf: leaf, restStart: local, first: nextPage, count: count)
    nextPage += count
    isRowRead = false
    windowStart = -1
  }

  func hide() {
    row = nil
    window = []
    windowStart = -1
  }

  private static func bigEndian(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).bigEndian) { Array($0) }
  }

  /// The page with a number that leaves out the one that no database has.
  private static func page(_ number: Int) -> Int { number >= lockPage ? number + 1 : number }
  private static func number(_ page: Int) -> Int { page > lockPage ? page - 1 : page }

  func read(_ buffer: UnsafeMutableRawBufferPointer, at start: Int64) throws -> Int {
    var done = 0
    let count = Int(max(0, min(Int64(buffer.count), size - start)))
    while done < count {
      let (page, offset) = Int(start + Int64(done)).quotientAndRemainder(dividingBy: Self.pageBytes)
      let part = UnsafeMutableRawBufferPointer(
        rebasing: buffer[done..<done + min(count - done, Self.pageBytes - offset)])
      do { try fill(part, page: page + 1, from: offset) } catch {
        failure = failure ?? error
        throw error
      }
      done += part.count
    }
    return count
  }

  private func fill(_ part: UnsafeMutableRawBufferPointer, page: Int, from offset: Int) throws {
    if let failure { throw failure }
    if let row, page == row.root {
      isRowRead = true
      return part.copyBytes(from: row.leaf[offset..<offset + part.count])
    }
    let start = (page - 1) * Self.pageBytes + offset
    if start < image.count { return part.copyBytes(from: image[start..<start + part.count]) }
    guard let row, page != Self.lockPage, case let place = Self.number(page) - row.first,
      (0..<row.count).contains(place)
    else { throw GodwitError(.internalBug, "cannot read page \(page): it belongs to no row") }
    let link = place + 1 < row.count ? Self.page(row.first + place + 1) : 0
    var done = 0
    if offset < 4 {
      let bytes = Self.bigEndian(link).dropFirst(offset).prefix(part.count)
      part.copyBytes(from: bytes)
      done = bytes.count
    }
    try fillRest(
      UnsafeMutableRawBufferPointer(rebasing: part[done...]),
      at: row.restStart + place * Self.restBytes + offset + done - 4, of: row.record)
  }

  private func fillRest(_ part: UnsafeMutableRawBufferPointer, at start: Int, of record: RowRecord) throws {
    guard !part.isEmpty else { return }
    if windowStart < 0 || start < windowStart || start + part.count > windowStart + window.count {
      if window.isEmpty { window = [UInt8](repeating: 0, count: Self.windowPages * Self.restBytes) }
      windowStart = -1
      try window.withUnsafeMutableBytes { try record.read($0, at: start) }
      windowStart = start
    }
    part.copyBytes(from: window[start - windowStart..<start - windowStart + part.count])
  }

  // MARK: How SQLite finds it

  private static let system = "godwit-large-rows"
  private static let files = Mutex<(next: Int, byPath: [String: LargeRowFile])>((0, [:]))

  private static let isRegistered = ReadOnlyFileSystem.register(system) { path in
    files.withLock { $0.byPath[path] }
  }

  /// Runs `body` with a URI under which SQLite can open the file during the call; nil if SQLite refuses the file
  /// system.
  func withURI<T>(_ body: (String) throws -> T) rethrows -> T? {
    guard Self.isRegistered else { return nil }
    let path = Self.files.withLock { files in
      files.next += 1
      let path = "/\(Self.system)-\(files.next)"
      files.byPath[path] = self
      return path
    }
    defer { Self.files.withLock { _ = $0.byPath.removeValue(forKey: path) } }
    return try body(StoreFiles.uri(path: path, query: "mode=ro&immutable=1&vfs=\(Self.system)"))
  }
}

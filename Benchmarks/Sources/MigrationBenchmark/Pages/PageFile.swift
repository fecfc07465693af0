import Foundation

/// A SQLite database file that gets whole pages: numbers of free pages, the pages themselves, and the pointer map that
/// `auto_vacuum` asks for. Several threads may use it at once.
///
/// Source: "Database File Format" of SQLite, sections 1.3, 1.5, 1.6 and 1.8. Databases of 1 GiB and more are not
/// written, since they have a page for locks in the middle.
final class PageFile: @unchecked Sendable {
  static let pageSize = 4096
  /// Pages between two pages of the pointer map, with one of these.
  private static let mapInterval = pageSize / 5 + 1
  /// Pages that a writer takes at a time.
  static let runLength = 64

  /// The kind of a page in the pointer map.
  enum Kind: UInt8 {
    case root = 1
    case free = 2
    case tree = 5
  }

  private let handle: Int32
  private let turn = NSLock()
  private var next: UInt32
  private var free: [UInt32] = []
  /// Five bytes a page: kind and parent.
  private var map: [UInt8]

  /// - Parameter path: A database with pages of 4096 bytes and a pointer map that no connection has open.
  init(path: String) {
    handle = open(path, O_RDWR)
    guard handle >= 0 else { fatalError("cannot open \(path)") }
    var header = [UInt8](repeating: 0, count: 100)
    pread(handle, &header, 100, 0)
    next = header[28..<32].reduce(0) { $0 << 8 | UInt32($1) } + 1
    map = [UInt8](repeating: 0, count: Int(next) * 5)
    for page in 3..<next where !Self.isMap(page) {
      pread(handle, &map[Int(page) * 5], 5, Self.mapOffset(of: page))
    }
  }

  private static func isMap(_ page: UInt32) -> Bool { page >= 2 && (Int(page) - 2) % mapInterval == 0 }

  private static func mapOffset(of page: UInt32) -> Int {
    let place = (Int(page) - 2) % mapInterval
    return (Int(page) - place - 1) * pageSize + (place - 1) * 5
  }

  /// Numbers of new pages in a row: so many, or fewer where a page of the pointer map follows.
  func take(_ count: Int) -> Range<UInt32> {
    turn.lock()
    defer { turn.unlock() }
    if count == 1, let page = free.popLast() { return page..<page + 1 }
    if Self.isMap(next) { next += 1 }
    let first = next
    repeat { next += 1 } while next < first + UInt32(count) && !Self.isMap(next)
    guard next < 1 << 18 else { fatalError("a database of 1 GiB is not supported") }
    let needed = Int(next) * 5
    if map.count < needed { map.append(contentsOf: repeatElement(0, count: needed - map.count)) }
    return first..<next
  }

  func giveBack(_ pages: Range<UInt32>) {
    turn.lock()
    defer { turn.unlock() }
    free.append(contentsOf: pages)
  }

  func setParent(_ parent: UInt32, of pages: [UInt32]) {
    turn.lock()
    defer { turn.unlock() }
    for page in pages { set(.tree, parent, of: page) }
  }

  private func set(_ kind: Kind, _ parent: UInt32, of page: UInt32) {
    let place = Int(page) * 5
    map[place] = kind.rawValue
    for byte in 0..<4 { map[place + 1 + byte] = UInt8(truncatingIfNeeded: parent >> UInt32(24 - 8 * byte)) }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at page: UInt32) {
    guard pwrite(handle, bytes.baseAddress, bytes.count, off_t(page - 1) * off_t(Self.pageSize)) == bytes.count else {
      fatalError("cannot write pages")
    }
  }

  /// Writes the pointer map, the list of free pages and the header.
  func finish() {
    let trunk = free.popLast()
    if let trunk {
      guard free.count < 1000 else { fatalError("too many free pages") }
      var page = [UInt8](repeating: 0, count: Self.pageSize)
      page.put(UInt32(free.count), at: 4)
      for (place, leaf) in free.enumerated() {
        page.put(leaf, at: 8 + 4 * place)
        set(.free, 0, of: leaf)
      }
      set(.free, 0, of: trunk)
      page.withUnsafeBytes { write($0, at: trunk) }
    }
    let empty = [UInt8](repeating: 0, count: Self.pageSize)
    // The last page exists, whatever was written.
    if let last = free.max(), last == next - 1 { empty.withUnsafeBytes { write($0, at: last) } }
    for first in stride(from: UInt32(2), to: next, by: Self.mapInterval) {
      var page = empty
      for place in 0..<UInt32(Self.mapInterval - 1) where first + 1 + place < next {
        let from = Int(first + 1 + place) * 5
        for byte in 0..<5 { page[Int(place) * 5 + byte] = map[from + byte] }
      }
      page.withUnsafeBytes { write($0, at: first) }
    }
    var header = [UInt8](repeating: 0, count: 100)
    pread(handle, &header, 100, 0)
    let changes = header[24..<28].reduce(0) { $0 << 8 | UInt32($1) } + 1
    header.put(changes, at: 24)
    header.put(changes, at: 92)
    header.put(next - 1, at: 28)
    header.put(trunk ?? 0, at: 32)
    header.put(trunk == nil ? 0 : UInt32(free.count + 1), at: 36)
    pwrite(handle, header, 100, 0)
    close(handle)
  }
}

extension [UInt8] {
  /// Writes a number with the highest byte first.
  mutating func put(_ number: UInt32, at place: Int) {
    for byte in 0..<4 { self[place + byte] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * byte)) }
  }
}

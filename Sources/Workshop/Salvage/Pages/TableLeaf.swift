import GodwitModel

/// A leaf page of a table, parsed by its own header alone.
///
/// The page is sound if its cells and its free blocks fill it without a gap and without an overlap, as SQLite's integrity
/// check demands, and if the keys ascend.
struct TableLeaf {
  struct Cell {
    let key: Int64
    /// The length of the whole record.
    let payloadBytes: Int
    /// Where the part of the record in this page is.
    let start: Int
    let localBytes: Int
    /// The first page with the rest of the record; 0 for a record that fits in its page.
    let overflowPage: UInt32
    /// Where the cell begins, and how long it is.
    let place: Int
    let size: Int
  }

  /// The cells that can be parsed, in the order of the page.
  private(set) var cells: [Cell] = []
  /// How many cells the header names.
  let count: Int
  private(set) var isSound: Bool

  /// - Parameters:
  ///   - start: 100 in the first page of the file, 0 in all others.
  /// - Returns: nil if the page is not the leaf of a table.
  init?(_ page: [UInt8], at start: Int, usableSize: Int) {
    guard page[start] == 0x0D else { return nil }
    count = Int(page.number(at: start + 3, size: 2))
    guard start + 8 + 2 * count <= usableSize else { return nil }
    isSound = true
    cells.reserveCapacity(count)
    for index in 0..<count {
      let place = Int(page.number(at: start + 8 + 2 * index, size: 2))
      guard place >= start + 8 + 2 * count, let cell = Self.cell(page, at: place, usableSize) else {
        isSound = false
        continue
      }
      if let last = cells.last, last.key >= cell.key { isSound = false }
      cells.append(cell)
    }
    isSound =
      isSound
      && PageFill.isExact(
        page, at: start, headBytes: 8, count: count, usableSize: usableSize,
        cells: cells.map { PageFill.Part(start: $0.place, size: $0.size) })
  }

  private static func cell(_ page: [UInt8], at place: Int, _ usableSize: Int) -> Cell? {
    var next = place
    guard let payload = Varint.read(page, &next, usableSize), let key = Varint.read(page, &next, usableSize),
      payload >= 2, payload <= Int64(Int32.max)
    else { return nil }
    let bytes = Int(payload)
    let local = localBytes(bytes, usableSize)
    let end = next + local + (local < bytes ? 4 : 0)
    guard end <= usableSize else { return nil }
    let overflow = local < bytes ? UInt32(page.number(at: next + local, size: 4)) : 0
    return Cell(
      key: key, payloadBytes: bytes, start: next, localBytes: local, overflowPage: overflow, place: place,
      size: max(4, end - place))
  }

  /// How much of a record a leaf holds.
  private static func localBytes(_ payload: Int, _ usableSize: Int) -> Int {
    let most = usableSize - 35
    guard payload > most else { return payload }
    return spilled(payload, most: most, usableSize)
  }

  /// How much of a record that is too large for its page stays in it.
  static func spilled(_ payload: Int, most: Int, _ usableSize: Int) -> Int {
    let least = (usableSize - 12) * 32 / 255 - 23
    let rest = least + (payload - least) % (usableSize - 4)
    return rest <= most ? rest : least
  }
}

/// An interior page of a table.
struct TableInterior {
  struct Cell {
    let child: UInt32
    /// The highest key that the child may have.
    let key: Int64
  }

  let cells: [Cell]
  let rightChild: UInt32

  /// - Returns: nil if the page is not a sound interior page of a table.
  init?(_ page: [UInt8], at start: Int, usableSize: Int) {
    guard page[start] == 0x05 else { return nil }
    let count = Int(page.number(at: start + 3, size: 2))
    guard start + 12 + 2 * count <= usableSize else { return nil }
    var cells: [Cell] = []
    var parts: [PageFill.Part] = []
    for index in 0..<count {
      let place = Int(page.number(at: start + 12 + 2 * index, size: 2))
      var next = place + 4
      guard place >= start + 12 + 2 * count, next < usableSize, let key = Varint.read(page, &next, usableSize),
        cells.last.map({ $0.key < key }) ?? true
      else { return nil }
      cells.append(Cell(child: UInt32(page.number(at: place, size: 4)), key: key))
      parts.append(PageFill.Part(start: place, size: max(4, next - place)))
    }
    guard
      PageFill.isExact(page, at: start, headBytes: 12, count: count, usableSize: usableSize, cells: parts)
    else { return nil }
    self.cells = cells
    rightChild = UInt32(page.number(at: start + 8, size: 4))
  }
}

/// Whether the cells and free blocks of a page fill it exactly.
enum PageFill {
  struct Part {
    let start: Int
    let size: Int
  }

  static func isExact(
    _ page: [UInt8], at start: Int, headBytes: Int, count: Int, usableSize: Int, cells: [Part]
  ) -> Bool {
    let raw = Int(page.number(at: start + 5, size: 2))
    let content = raw == 0 ? 65536 : raw
    guard content >= start + headBytes + 2 * count, content <= usableSize else { return false }
    var parts = cells
    var next = Int(page.number(at: start + 1, size: 2))
    while next != 0 {
      guard next >= content, next + 4 <= usableSize else { return false }
      let size = Int(page.number(at: next + 2, size: 2))
      guard size >= 4, next + size <= usableSize else { return false }
      parts.append(Part(start: next, size: size))
      let following = Int(page.number(at: next, size: 2))
      guard following == 0 || following > next else { return false }
      next = following
    }
    parts.sort { $0.start < $1.start }
    var (end, used) = (content, 0)
    for part in parts {
      guard part.start >= end else { return false }
      end = part.start + part.size
      used += part.size
    }
    return end <= usableSize && used + Int(page[start + 7]) == usableSize - content
  }
}

/// SQLite's numbers of variable length.
enum Varint {
  /// - Parameter place: Moves behind the number.
  /// - Returns: nil if the number does not end before a place.
  static func read(_ bytes: [UInt8], _ place: inout Int, _ end: Int) -> Int64? {
    var value: UInt64 = 0
    for index in 0..<9 {
      guard place < end else { return nil }
      let byte = bytes[place]
      place += 1
      if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
      value = value << 7 | UInt64(byte & 0x7F)
      if byte < 0x80 { return Int64(bitPattern: value) }
    }
    return nil
  }
}

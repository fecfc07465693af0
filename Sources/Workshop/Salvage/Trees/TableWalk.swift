import GodwitModel
import GodwitStore

/// A part of a table that could not be read.
struct LostPart {
  enum Reason: String {
    /// The page is not in the file, or the disk cannot read it.
    case missing
    /// The page is not one of a table.
    case damaged
    /// The page holds other rows than those that belong there.
    case misplaced
    /// Some rows of the page do not decode whole.
    case rows
  }

  /// The page; 0 if its number is unknown.
  let page: UInt32
  let keys: ClosedRange<Int64>
  let reason: Reason
}

/// Walks the tree of a table from its root, and notes where the way ends.
///
/// Each page must hold only keys that its parent allows, and comes once. A page that breaks a rule is left to
/// `OrphanSearch`, which may find that it belongs elsewhere.
struct TableWalk {
  /// The page behind the deepest tree that SQLite makes.
  private static let depthLimit = 40

  let pages: PageFile
  /// Takes a leaf; false if it holds rows of another table.
  var leaf: (_ leaf: TableLeaf, _ bytes: [UInt8], _ page: UInt32, _ keys: ClosedRange<Int64>) throws -> Bool
  var lost: (LostPart) throws -> Void

  /// - Parameter reached: The pages of trees that were walked; those of this tree are added.
  func walk(from root: UInt32, reached: inout PageBits) throws {
    try walk(root, .min ... .max, depth: 0, &reached)
  }

  private func walk(_ number: UInt32, _ keys: ClosedRange<Int64>, depth: Int, _ reached: inout PageBits) throws {
    guard depth < Self.depthLimit, number > 0, !reached.contains(number), let bytes = try pages.page(number) else {
      return try lost(LostPart(page: number, keys: keys, reason: .missing))
    }
    let start = number == 1 ? 100 : 0
    if let leaf = TableLeaf(bytes, at: start, usableSize: pages.usableSize) {
      guard leaf.isSound else {
        reached.insert(number)
        if try !self.leaf(leaf, bytes, number, keys) { try lost(LostPart(page: number, keys: keys, reason: .damaged)) }
        return
      }
      guard leaf.cells.allSatisfy({ keys.contains($0.key) }), try self.leaf(leaf, bytes, number, keys) else {
        return try lost(LostPart(page: number, keys: keys, reason: .misplaced))
      }
      reached.insert(number)
      return
    }
    guard let interior = TableInterior(bytes, at: start, usableSize: pages.usableSize) else {
      return try lost(LostPart(page: number, keys: keys, reason: .damaged))
    }
    guard interior.cells.allSatisfy({ keys.contains($0.key) }) else {
      return try lost(LostPart(page: number, keys: keys, reason: .misplaced))
    }
    reached.insert(number)
    var first = keys.lowerBound
    for cell in interior.cells {
      try walk(cell.child, first...max(first, cell.key), depth: depth + 1, &reached)
      guard cell.key < keys.upperBound else { return }
      first = cell.key + 1
    }
    try walk(interior.rightChild, first...keys.upperBound, depth: depth + 1, &reached)
  }
}

/// Walks the tree of an index of pairs of keys, and hands out its records in order.
final class IndexWalk {
  private static let depthLimit = 40

  private let pages: PageFile
  private let record: (_ first: Int64, _ second: Int64) throws -> Void
  private var last: (Int64, Int64, Int64)?

  init(_ pages: PageFile, record: @escaping (_ first: Int64, _ second: Int64) throws -> Void) {
    (self.pages, self.record) = (pages, record)
  }

  /// - Returns: Whether all of the tree was read, in order.
  func walk(from root: UInt32, reached: inout PageBits) throws -> Bool {
    last = nil
    var own = PageBits(pageCount: pages.pageCount)
    return try walk(root, depth: 0, &own, &reached)
  }

  private struct Cell {
    let child: UInt32
    let values: [SQLValue]
  }

  private func walk(
    _ number: UInt32, depth: Int, _ own: inout PageBits, _ reached: inout PageBits
  ) throws -> Bool {
    guard depth < Self.depthLimit, number > 1, own.insert(number), let bytes = try pages.page(number),
      let cells = cells(bytes)
    else { return false }
    reached.insert(number)
    var isWhole = true
    for cell in cells {
      if cell.child > 0 { isWhole = try walk(cell.child, depth: depth + 1, &own, &reached) && isWhole }
      isWhole = try take(cell.values) && isWhole
    }
    guard bytes[0] == 0x02 else { return isWhole }
    let right = UInt32(bytes.number(at: 8, size: 4))
    return try walk(right, depth: depth + 1, &own, &reached) && isWhole
  }

  /// nil unless the page is a sound page of such an index.
  private func cells(_ bytes: [UInt8]) -> [Cell]? {
    guard bytes[0] == 0x0A || bytes[0] == 0x02 else { return nil }
    let (head, before) = bytes[0] == 0x02 ? (12, 4) : (8, 0)
    let count = Int(bytes.number(at: 3, size: 2))
    guard head + 2 * count <= pages.usableSize else { return nil }
    var cells: [Cell] = []
    var parts: [PageFill.Part] = []
    for index in 0..<count {
      let place = Int(bytes.number(at: head + 2 * index, size: 2))
      var next = place + before
      guard place >= head + 2 * count, next < pages.usableSize,
        let length = Varint.read(bytes, &next, pages.usableSize), length >= 2,
        length <= Int64(pages.usableSize - next),
        let values = StoredRecord.values(Array(bytes[next..<next + Int(length)]), .utf8)
      else { return nil }
      cells.append(Cell(child: before > 0 ? UInt32(bytes.number(at: place, size: 4)) : 0, values: values))
      parts.append(PageFill.Part(start: place, size: max(4, next + Int(length) - place)))
    }
    guard
      PageFill.isExact(
        bytes, at: 0, headBytes: head, count: count, usableSize: pages.usableSize, cells: parts)
    else { return nil }
    return cells
  }

  /// - Returns: false for a record that is not a pair, or not behind the last one.
  private func take(_ values: [SQLValue]) throws -> Bool {
    guard values.count == 3, case .integer(let first) = values[0], case .integer(let second) = values[1],
      case .integer(let row) = values[2]
    else { return false }
    if let last, last >= (first, second, row) { return false }
    last = (first, second, row)
    try record(first, second)
    return true
  }
}

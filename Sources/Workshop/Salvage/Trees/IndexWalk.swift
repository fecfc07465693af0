import GodwitModel
import GodwitStore

/// Walks the tree of an index, and hands out its records in order. The last value of a record is the key of its row.
final class IndexWalk {
  private static let depthLimit = 40

  private let pages: PageFile
  private let overflow: OverflowReader
  private let record: ([SQLValue]) throws -> Bool

  /// - Parameter record: Takes the values of a record; false if it is none of the index.
  init(_ source: SalvageSource, record: @escaping ([SQLValue]) throws -> Bool) {
    (pages, overflow, self.record) = (source.pages, source.overflow, record)
  }

  /// - Returns: Whether all of the tree was read.
  func walk(from root: UInt32, reached: inout PageBits) throws -> Bool {
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
      let cells = try cells(bytes, number)
    else { return false }
    reached.insert(number)
    var isWhole = true
    for cell in cells {
      if cell.child > 0 { isWhole = try walk(cell.child, depth: depth + 1, &own, &reached) && isWhole }
      isWhole = try record(cell.values) && isWhole
    }
    guard bytes[0] == 0x02 else { return isWhole }
    let right = UInt32(bytes.number(at: 8, size: 4))
    return try walk(right, depth: depth + 1, &own, &reached) && isWhole
  }

  /// nil unless the page is a sound page of an index.
  private func cells(_ bytes: [UInt8], _ number: UInt32) throws -> [Cell]? {
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
        let length = Varint.read(bytes, &next, pages.usableSize), length >= 2, length <= Int64(Int32.max)
      else { return nil }
      let local = Self.localBytes(Int(length), pages.usableSize)
      let end = next + local + (local < Int(length) ? 4 : 0)
      guard end <= pages.usableSize else { return nil }
      var content = Array(bytes[next..<next + local])
      if local < Int(length) {
        let first = UInt32(bytes.number(at: next + local, size: 4))
        let record = OverflowReader.Record(
          local: content[...], byteCount: Int(length), first: first, owner: number)
        guard let whole = try overflow.bytes(record) else { return nil }
        content = whole.bytes
      }
      guard let values = StoredRecord.values(content, pages.header.encoding) else { return nil }
      cells.append(Cell(child: before > 0 ? UInt32(bytes.number(at: place, size: 4)) : 0, values: values))
      parts.append(PageFill.Part(start: place, size: max(4, end - place)))
    }
    guard
      PageFill.isExact(
        bytes, at: 0, headBytes: head, count: count, usableSize: pages.usableSize, cells: parts)
    else { return nil }
    return cells
  }

  /// How much of a record a page of an index holds.
  private static func localBytes(_ payload: Int, _ usableSize: Int) -> Int {
    let most = (usableSize - 12) * 64 / 255 - 23
    return payload > most ? TableLeaf.spilled(payload, most: most, usableSize) : payload
  }
}

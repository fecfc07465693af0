import GodwitModel
import GodwitStore

/// The rows of one leaf, each whole or not at all.
final class LeafRows {
  struct Row {
    let key: Int64
    let values: [SQLValue]
    /// Large binary data by the place of its column, where `values` has empty data.
    var large: [Int: ChainBytes] = [:]
  }

  private let pages: PageFile
  private let overflow: OverflowReader

  init(_ pages: PageFile, _ overflow: OverflowReader) { (self.pages, self.overflow) = (pages, overflow) }

  /// The row of a cell; nil unless it decodes whole.
  func row(_ cell: TableLeaf.Cell, _ bytes: [UInt8], page: UInt32) throws -> Row? {
    let local = bytes[cell.start..<cell.start + cell.localBytes]
    guard cell.localBytes < cell.payloadBytes else {
      return StoredRecord.values(Array(local), pages.header.encoding).map { Row(key: cell.key, values: $0) }
    }
    let record = OverflowReader.Record(
      local: local, byteCount: cell.payloadBytes, first: cell.overflowPage, owner: page)
    if cell.payloadBytes > LargeRecord.limitBytes, let large = try LargeRecord(record, overflow, pages) {
      return Row(key: cell.key, values: large.values, large: large.large)
    }
    guard let whole = try overflow.bytes(record), let values = StoredRecord.values(whole, pages.header.encoding) else {
      return nil
    }
    return Row(key: cell.key, values: values)
  }

  /// Hands out the rows of a page that is sound and where it belongs.
  ///
  /// - Parameter lost: Takes the key of a row that does not decode whole.
  func forEachRow(
    of leaf: TableLeaf, _ bytes: [UInt8], page: UInt32, _ body: (Row) throws -> Void, lost: (Int64) throws -> Void
  ) throws {
    for cell in leaf.cells {
      if let row = try row(cell, bytes, page: page) { try body(row) } else { try lost(cell.key) }
    }
  }

  /// The rows of a page that is not sound: those that fit the table, lie within the page's keys in ascending order, and do
  /// not overlap.
  func remains(
    of leaf: TableLeaf, _ bytes: [UInt8], page: UInt32, keys: ClosedRange<Int64>, shape: TableShape
  ) throws -> [Row] {
    var rows: [Row] = []
    var taken: [Range<Int>] = []
    for cell in leaf.cells where keys.contains(cell.key) {
      let range = cell.place..<cell.place + cell.size
      guard !taken.contains(where: { $0.overlaps(range) }), let row = try row(cell, bytes, page: page),
        shape.fits(row.values)
      else { continue }
      taken.append(range)
      rows.append(row)
    }
    return Self.longestAscending(rows)
  }

  /// The most rows whose keys ascend: a key that was overwritten stands out.
  private static func longestAscending(_ rows: [Row]) -> [Row] {
    var lengths = [Int](repeating: 1, count: rows.count)
    var before = [Int?](repeating: nil, count: rows.count)
    for index in rows.indices {
      for earlier in 0..<index
      where rows[earlier].key < rows[index].key && lengths[earlier] >= lengths[index] {
        (lengths[index], before[index]) = (lengths[earlier] + 1, earlier)
      }
    }
    var kept: [Row] = []
    var next = lengths.indices.max { lengths[$0] < lengths[$1] }
    while let index = next {
      kept.append(rows[index])
      next = before[index]
    }
    return kept.reversed()
  }
}

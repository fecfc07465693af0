import GodwitModel
import GodwitStore

/// The rows of one leaf, each whole or not at all.
final class LeafRows {
  struct Row {
    let key: Int64
    let values: [SQLValue]
    /// Large binary data by the place of its column, where `values` has empty data.
    var large: [Int: ChainBytes] = [:]
    /// Whether its last value ends with a page of zeros, which are the value's own or a hole.
    var isDoubtful = false
  }

  /// A text or number does not end with so many zeros: they stand in place of what is lost.
  private static let mostZeros = 16

  private let pages: PageFile
  private let overflow: OverflowReader

  init(_ pages: PageFile, _ overflow: OverflowReader) { (self.pages, self.overflow) = (pages, overflow) }

  /// The row of a cell; nil unless it decodes whole.
  func row(_ cell: TableLeaf.Cell, _ bytes: [UInt8], page: UInt32) throws -> Row? {
    let local = bytes[cell.start..<cell.start + cell.localBytes]
    guard cell.localBytes < cell.payloadBytes else {
      let record = Array(local)
      let zeros = record.reversed().prefix { $0 == 0 }.count
      guard zeros < Self.mostZeros || StoredRecord.endsInBytes(zeros, StoredRecord.parts(record)) else { return nil }
      return StoredRecord.values(record, pages.header.encoding).map { Row(key: cell.key, values: $0) }
    }
    let record = OverflowReader.Record(
      local: local, byteCount: cell.payloadBytes, first: cell.overflowPage, owner: page)
    if cell.payloadBytes > LargeRecord.limitBytes, let large = try LargeRecord(record, overflow, pages) {
      return Row(key: cell.key, values: large.values, large: large.large, isDoubtful: large.isDoubtful)
    }
    guard let whole = try overflow.bytes(record),
      let values = StoredRecord.values(whole.bytes, pages.header.encoding)
    else { return nil }
    guard whole.doubtful > 0 else { return Row(key: cell.key, values: values) }
    // A text does not end with zeros.
    guard StoredRecord.endsInBytes(whole.doubtful, StoredRecord.parts(whole.bytes)) else { return nil }
    return Row(key: cell.key, values: values, isDoubtful: true)
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
    var taken = TakenBytes()
    for cell in leaf.cells where keys.contains(cell.key) {
      let range = cell.place..<cell.place + cell.size
      guard taken.isFree(range), !Self.runsIntoZeros(range, bytes), let row = try row(cell, bytes, page: page),
        shape.fits(row.values)
      else { continue }
      taken.take(range)
      rows.append(row)
    }
    return Self.longestAscending(rows)
  }

  /// Whether a cell ends with zeros that go on behind it: they may stand in place of its last values. The next cell of a
  /// sound page begins with another byte.
  private static func runsIntoZeros(_ cell: Range<Int>, _ bytes: [UInt8]) -> Bool {
    let zeros = bytes[cell].reversed().prefix { $0 == 0 }.count
    let isAtEnd = cell.upperBound == bytes.count
    return zeros >= (isAtEnd ? mostZeros : 1) && bytes[cell.upperBound...].prefix(16).allSatisfy { $0 == 0 }
  }

  /// The most rows whose keys ascend: a key that was overwritten stands out.
  private static func longestAscending(_ rows: [Row]) -> [Row] {
    // The row with the lowest key that ends such a sequence, by the length of the sequence.
    var ends: [Int] = []
    var before = [Int?](repeating: nil, count: rows.count)
    for index in rows.indices {
      let length = ends.partitionPoint { rows[$0].key < rows[index].key }
      before[index] = length > 0 ? ends[length - 1] : nil
      if length == ends.count { ends.append(index) } else { ends[length] = index }
    }
    var kept: [Row] = []
    var next = ends.last
    while let index = next {
      kept.append(rows[index])
      next = before[index]
    }
    return kept.reversed()
  }
}

/// The bytes of a page that cells were taken from: ranges in order that do not overlap.
private struct TakenBytes {
  private var ranges: [Range<Int>] = []

  func isFree(_ range: Range<Int>) -> Bool {
    let next = ranges.partitionPoint { $0.upperBound <= range.lowerBound }
    return next == ranges.count || ranges[next].lowerBound >= range.upperBound
  }

  mutating func take(_ range: Range<Int>) {
    ranges.insert(range, at: ranges.partitionPoint { $0.upperBound <= range.lowerBound })
  }
}

extension Array {
  /// The number of elements at the beginning that fulfil a condition, where none behind them does.
  fileprivate func partitionPoint(_ condition: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if condition(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

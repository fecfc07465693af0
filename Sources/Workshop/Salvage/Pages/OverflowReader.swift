import GodwitModel
import GodwitStore

/// The pages with the rest of records that are too large for their page.
final class OverflowReader {
  private let pages: PageFile
  private let map: PointerMap

  /// A record of which a part is in other pages.
  struct Record {
    /// The part in its own page.
    let local: ArraySlice<UInt8>
    /// The length of the whole.
    let byteCount: Int
    /// The first of the other pages.
    let first: UInt32
    /// The page with the local part.
    let owner: UInt32
  }

  init(_ pages: PageFile, _ map: PointerMap) { (self.pages, self.map) = (pages, map) }

  /// Hands out a record piece by piece.
  ///
  /// - Returns: nil unless the chain of pages is whole: each page exists and comes once, the last one names no other, and
  ///   the pointer map agrees where it can be read. Otherwise the bytes of the record in its last page, if that is all
  ///   zeros behind other bytes, and may be a hole; 0 for any other record.
  func read(_ record: Record, _ body: (ArraySlice<UInt8>) -> Void) throws -> Int? {
    let room = pages.usableSize - 4
    guard (record.byteCount - record.local.count + room - 1) / room <= Int(pages.pageCount) else { return nil }
    var seen: Set<UInt32> = [record.owner]
    var (next, parent, use) = (record.first, record.owner, PointerMap.Use.firstOverflow)
    var done = record.local.count
    var zeros = Zeros()
    var doubtful = 0
    body(record.local)
    zeros.add(record.local)
    while done < record.byteCount {
      guard next > 1, seen.insert(next).inserted, let page = try pages.page(next) else { return nil }
      if let entry = try map.entry(of: next), entry.use != use || entry.parent != parent { return nil }
      let count = min(room, record.byteCount - done)
      let isLast = done + count == record.byteCount
      let following = UInt32(page.number(at: 0, size: 4))
      guard isLast == (following == 0) else { return nil }
      // Zeros behind zeros are taken for the value's own.
      if isLast, zeros.isHole(page) { doubtful = count }
      body(page[4..<4 + count])
      zeros.add(page[4..<4 + count])
      done += count
      (parent, next, use) = (next, following, .laterOverflow)
    }
    return doubtful
  }

  /// How the bytes before a page end.
  private struct Zeros {
    private var count = 0

    mutating func add(_ bytes: ArraySlice<UInt8>) {
      let tail = bytes.reversed().prefix(64).prefix { $0 == 0 }.count
      count = tail == bytes.count ? count + tail : tail
    }

    /// Whether a page of zeros follows other bytes.
    func isHole(_ page: [UInt8]) -> Bool { count < 64 && page.allSatisfy { $0 == 0 } }
  }

  /// All bytes of a record, and how many of the last are zeros that may be a hole; nil unless it is whole.
  func bytes(_ record: Record) throws -> (bytes: [UInt8], doubtful: Int)? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(record.byteCount)
    return try read(record) { bytes += $0 }.map { (bytes, $0) }
  }
}

/// A record with binary data that does not fit in memory several times.
struct LargeRecord {
  /// The values; empty data in place of the large ones.
  private(set) var values: [SQLValue] = []
  /// The large values by their places.
  private(set) var large: [Int: ChainBytes] = [:]
  /// Whether the last value ends with a page of zeros that may be a hole.
  private(set) var isDoubtful = false

  /// Binary data above this size is written piece by piece.
  static let limitBytes = 1 << 20

  private struct Part {
    let start: Int
    let length: Int
    let type: Int64
    var bytes: [UInt8] = []
    var isLarge: Bool { type >= 12 && type % 2 == 0 && length > LargeRecord.limitBytes }
  }

  /// - Returns: nil unless the record decodes whole, or if its types do not fit in its own page.
  init?(
    _ record: OverflowReader.Record, _ overflow: OverflowReader, _ pages: PageFile
  ) throws {
    let local = Array(record.local)
    var place = 0
    guard let head = Varint.read(local, &place, local.count), head >= Int64(place), head <= Int64(local.count) else {
      return nil
    }
    var parts: [Part] = []
    var end = Int(head)
    while place < Int(head) {
      guard let type = Varint.read(local, &place, Int(head)), let length = StoredRecord.length(of: type),
        length <= record.byteCount - end
      else { return nil }
      parts.append(Part(start: end, length: length, type: type))
      end += length
    }
    guard end == record.byteCount, !parts.isEmpty else { return nil }
    var position = 0
    let doubtful = try overflow.read(record) { piece in
      for index in parts.indices where !parts[index].isLarge {
        let first = max(parts[index].start, position)
        let last = min(parts[index].start + parts[index].length, position + piece.count)
        guard first < last else { continue }
        let offset = piece.startIndex - position
        parts[index].bytes += piece[(first + offset)..<(last + offset)]
      }
      position += piece.count
    }
    guard let doubtful, StoredRecord.endsInBytes(doubtful, parts.map { ($0.type, $0.length) }) else { return nil }
    isDoubtful = doubtful > 0
    for (index, part) in parts.enumerated() {
      if part.isLarge {
        large[index] = ChainBytes(pages, record, start: part.start, byteCount: part.length)
        values.append(.blob([]))
        continue
      }
      let value = StoredRecord.decode(part.bytes, at: 0, part.length, part.type, pages.header.encoding)
      guard let value else { return nil }
      values.append(value)
    }
  }
}

/// The bytes of a value in a chain of pages that was found whole.
final class ChainBytes: LargeBytes {
  let byteCount: Int
  let isText = false
  private let pages: PageFile
  private let record: OverflowReader.Record
  private let start: Int
  /// The page that was read last, and how many came before it.
  private var current: (index: Int, bytes: [UInt8])?

  init(_ pages: PageFile, _ record: OverflowReader.Record, start: Int, byteCount: Int) {
    (self.pages, self.record, self.start, self.byteCount) = (pages, record, start, byteCount)
  }

  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    let room = pages.usableSize - 4
    var done = 0
    while done < buffer.count {
      let position = start + offset + done
      let piece: ArraySlice<UInt8>
      if position < record.local.count {
        piece = record.local[(record.local.startIndex + position)...]
      } else {
        let rest = position - record.local.count
        piece = try page(rest / room)[(4 + rest % room)..<(4 + room)]
      }
      let count = min(piece.count, buffer.count - done)
      UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count]).copyBytes(from: piece.prefix(count))
      done += count
    }
  }

  private func page(_ index: Int) throws -> [UInt8] {
    if current == nil || (current?.index ?? 0) > index { current = (0, try bytes(of: record.first)) }
    while let known = current, known.index < index {
      current = (known.index + 1, try bytes(of: UInt32(known.bytes.number(at: 0, size: 4))))
    }
    return current?.bytes ?? []
  }

  private func bytes(of number: UInt32) throws -> [UInt8] {
    guard let page = try pages.page(number) else {
      throw GodwitError(
        .stopped, "stopped: page \(number) of the store cannot be read any more", remedy: "run the same command",
        stopReason: .sourceChanged)
    }
    return page
  }
}

import Foundation
import GodwitModel
import GodwitStore

/// The pages of a rollback journal: those before a transaction that never ended.
///
/// `RollbackJournal` describes the format, and reads a journal as SQLite does: up to the first record that is not whole.
/// Here a damaged record costs its own page alone, and is said.
final class JournalPages {
  private(set) var pageSize = 0
  /// The pages of the database before the transaction; nil if the journal is not used.
  private(set) var pageCount: UInt32?
  /// The pages that the journal has.
  var pages: some Collection<UInt32> { places.keys }
  /// Which of its pages are lost, or why it is not used; nil if all of it counts, or a transaction has ended it.
  private(set) var problem: String?

  private let file: SourceFile
  private var places: [UInt32: Int64] = [:]
  /// The highest page that the database has or had.
  private var lastPage: UInt32 = 0
  /// The records that are not whole, with others behind them.
  private var damaged: Int64 = 0

  private static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
  private static let headerBytes = 28

  /// - Parameters:
  ///   - databasePageSize: The size by the header of the database; nil if that is lost.
  ///   - database: The page of the database itself, for records that the header does not count.
  /// - Returns: nil without a journal, and for an empty or a cleared one.
  init?(_ path: String, databasePageSize: Int?, database: SourceFile) throws {
    guard let status = FileStatus(following: path), status.isFile, status.size > 0 else { return nil }
    file = try SourceFile(path, named: path)
    guard let header = try file.readable(Self.headerBytes, at: 0) else {
      problem = "the disk cannot read its header"
      return
    }
    guard !header.allSatisfy({ $0 == 0 }) else { return nil }
    guard header.count == Self.headerBytes else {
      problem = "it is shorter than a header"
      return
    }
    guard try file.size < 16 || file.readable(8, at: file.size - 8) != Self.magic else {
      problem = "its transaction was over several databases, and only SQLite knows whether it ended"
      return
    }
    let sector = Int64(header.number(at: 20, size: 4))
    let size = Int(header.number(at: 24, size: 4))
    let page = size == 0 ? databasePageSize ?? 0 : size
    guard header.starts(with: Self.magic), Self.isSize(sector, from: 32), Self.isSize(Int64(page), from: 512) else {
      problem = "its header is not valid"
      return
    }
    guard databasePageSize == nil || databasePageSize == page else {
      problem = "its pages have \(page) bytes, and those of the database \(databasePageSize ?? 0)"
      return
    }
    pageSize = page
    lastPage = max(UInt32(header.number(at: 16, size: 4)), UInt32(clamping: database.size / Int64(page)))
    try readSegments(sector, database)
    if damaged > 0 {
      problem =
        "\(damaged.counted("damaged record")), whose pages may hold a transaction that never ended"
    }
    guard problem == nil || !places.isEmpty else { return }
    pageCount = UInt32(header.number(at: 16, size: 4))
  }

  private static func isSize(_ number: Int64, from least: Int64) -> Bool {
    number >= least && number <= 65536 && number & (number - 1) == 0
  }

  private static func checksum(of page: ArraySlice<UInt8>, _ nonce: UInt32) -> UInt32 {
    stride(from: page.count - 200, to: 0, by: -200).reduce(nonce) { $0 &+ UInt32(page[page.startIndex + $1]) }
  }

  private var recordBytes: Int64 { Int64(pageSize + 8) }

  private func readSegments(_ sector: Int64, _ database: SourceFile) throws {
    var offset: Int64 = 0
    while offset + Int64(Self.headerBytes) <= file.size {
      let header = try file.readable(Self.headerBytes, at: offset)
      guard let header, header.starts(with: Self.magic) else {
        // Bytes behind the last segment are of an earlier transaction, unless the disk fails.
        if header == nil { problem = "the disk cannot read the header at byte \(offset)" }
        return
      }
      let nonce = UInt32(header.number(at: 12, size: 4))
      let named = UInt32(header.number(at: 8, size: 4))
      let records = offset + sector
      let room = max(0, file.size - records) / recordBytes
      let isOpen = named == .max
      let count = isOpen ? room : min(Int64(named), room)
      let read = try readRecords(count, at: records, nonce, isOpen: isOpen, sector)
      if read < count, try isHeader(at: aligned(records + read * recordBytes, sector)) {
        if !isOpen { problem = "a header counts too many records" }
      } else if !isOpen, Int64(named) > room {
        problem = "it is cut off: \(Int64(named) - room) of its records are not there"
        return
      }
      if isOpen, read == count, file.size > records + count * recordBytes { problem = "its last record is cut off" }
      let end = records + read * recordBytes
      offset = aligned(try readUncounted(at: end, nonce, database), sector)
    }
  }

  /// Where a segment begins that comes behind a place.
  private func aligned(_ place: Int64, _ sector: Int64) -> Int64 { (place + sector - 1) / sector * sector }

  private func isHeader(at place: Int64) throws -> Bool {
    try place < file.size && file.readable(Self.headerBytes, at: place)?.starts(with: Self.magic) == true
  }

  private struct Record {
    let page: UInt32
    let isWhole: Bool
  }

  /// nil where the file ends, or the disk fails.
  private func record(at place: Int64, _ nonce: UInt32) throws -> Record? {
    guard let bytes = try file.readable(pageSize + 8, at: place), bytes.count == pageSize + 8 else { return nil }
    let page = UInt32(bytes.number(at: 0, size: 4))
    // The checksum does not cover the number.
    let isPage = page != 0 && page != UInt32(0x4000_0000 / pageSize + 1) && page <= lastPage
    let sum = bytes.number(at: pageSize + 4, size: 4)
    return Record(page: page, isWhole: isPage && sum == Self.checksum(of: bytes[4..<pageSize + 4], nonce))
  }

  /// Reads the records of a segment.
  ///
  /// - Parameter isOpen: Whether the header does not know how many there are: the segment then ends with its last whole
  ///   record.
  /// - Returns: How many records there are: fewer than the header says if the next segment begins before.
  private func readRecords(
    _ count: Int64, at start: Int64, _ nonce: UInt32, isOpen: Bool, _ sector: Int64
  ) throws -> Int64 {
    var bad: Int64 = 0
    var read: Int64 = 0
    for index in 0..<count {
      let record = try record(at: start + index * recordBytes, nonce)
      guard let record, record.isWhole else {
        if try isHeader(at: aligned(start + index * recordBytes, sector)) { return index }
        bad += 1
        continue
      }
      damaged += bad
      bad = 0
      // A page comes once.
      if places[record.page] != nil { damaged += 1 }
      places[record.page] = places[record.page] ?? start + index * recordBytes + 4
      read = index + 1
    }
    guard !isOpen else { return read }
    damaged += bad
    return count
  }

  /// Reads whole records behind those that the header counts.
  ///
  /// They were not synced, so the database still has their pages as they are. If it has others, the count is wrong.
  ///
  /// - Returns: Where the segment ends.
  private func readUncounted(at start: Int64, _ nonce: UInt32, _ database: SourceFile) throws -> Int64 {
    var place = start
    var isWrong = false
    var found: [UInt32: Int64] = [:]
    // The next segment has a header where a record would be.
    while let record = try record(at: place, nonce), record.isWhole {
      if places[record.page] == nil, found[record.page] == nil {
        found[record.page] = place + 4
        let before = try file.readable(pageSize, at: place + 4)
        let now = try database.readable(pageSize, at: Int64(record.page - 1) * Int64(pageSize))
        if before != now { isWrong = true }
      }
      place += recordBytes
    }
    guard isWrong else { return start }
    places.merge(found) { first, _ in first }
    problem = "its header counts too few records; the others are used too"
    return place
  }

  /// The page as the journal has it; nil if it has none.
  func page(_ number: UInt32) throws -> [UInt8]? {
    guard let place = places[number] else { return nil }
    let bytes = try file.bytes(pageSize, at: place)
    return bytes?.count == pageSize ? bytes : nil
  }
}

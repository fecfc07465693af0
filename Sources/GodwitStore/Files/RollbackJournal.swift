import Foundation
import GodwitModel

/// The pages that a rollback journal would put back into its database: those before a transaction that never ended.
///
/// The format is that of SQLite's page "Database File Format", section 3. A journal is valid if SQLite accepts it.
///
///     segment   header, padded to a sector, then records; the next segment begins at a multiple of the sector size
///     header    magic (8 bytes), number of records, nonce, pages of the database before, sector size, page size
///     record    page number, the page, checksum: the nonce and every 200th byte from the end of the page
///
/// The first record that is not whole or has a wrong checksum ends the journal: it was not written when the power
/// failed, so its page was not written to the database either.
struct RollbackJournal {
  /// SQLite itself handles larger journals. All of a journal is read before the first page of its database.
  static let limit = ByteCount.mebibytes(1024)

  /// A journal that only SQLite can judge is copied with its store, up to this size.
  static let copyLimit = ByteCount.mebibytes(4096)

  private static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
  /// The number of records where the journal was never synced: as many as there are.
  private static let allRecords: UInt32 = .max

  private(set) var pageSize = 0
  /// The size of the database before; nil when the journal says nothing valid at all.
  private(set) var databaseBytes: Int64?
  /// The position of each page in the journal, by page number.
  private(set) var pages: [UInt32: Int64] = [:]
  /// The records of a segment, behind the first that is cut off or damaged, which the journal's header promises; nil
  /// without any. SQLite writes their number when they are safe on the disk, and only then their pages to the database.
  private(set) var lostRecords: Int64?
  /// The length of the valid part. The rest was never written, whatever the size of the file.
  private(set) var validBytes: Int64 = 0

  /// Reads a journal.
  ///
  /// - Returns: nil for one that only SQLite can judge: it says too much, belongs to a transaction over several
  ///   databases, or names no page size.
  /// - Throws: `.inputOutput` when it cannot be read.
  init?(_ file: borrowing ReadableFile) throws {
    guard try !Self.namesSuperJournal(file) else { return nil }
    var sectorSize: Int64 = 0
    var offset: Int64 = 0
    while offset + max(28, sectorSize) <= file.size {
      let header = try file.bytes(28, at: offset)
      guard header.count == 28, header.starts(with: Self.magic) else { return }
      func number(_ place: Int) -> UInt32 { UInt32(header.number(at: place, size: 4)) }
      if offset == 0 {
        let (sector, page) = (Int64(number(20)), Int(number(24)))
        // An old version left it to the database to say.
        if page == 0 { return nil }
        guard Self.isSize(sector, from: 32), Self.isSize(Int64(page), from: 512), sector <= file.size else { return }
        (sectorSize, pageSize) = (sector, page)
        databaseBytes = Int64(number(16)) * Int64(page)
      }
      let nonce = number(12)
      offset += sectorSize
      validBytes = offset
      let recordBytes = Int64(pageSize + 8)
      let count =
        number(8) == Self.allRecords ? (file.size - sectorSize) / recordBytes : Int64(number(8))
      for done in 0..<count {
        guard offset <= Self.limit.bytes else { return nil }
        lostRecords = number(8) == Self.allRecords ? nil : count - done
        let record = try file.bytes(pageSize + 8, at: offset)
        guard record.count == pageSize + 8 else { return }
        let page = UInt32(record.number(at: 0, size: 4))
        // No database has a page where SQLite keeps its locks.
        guard page != 0, page != UInt32(0x4000_0000 / pageSize + 1),
          record.number(at: pageSize + 4, size: 4) == Self.checksum(of: record[4..<pageSize + 4], nonce)
        else { return }
        pages[page] = offset + 4
        offset += recordBytes
        validBytes = offset
        lostRecords = nil
      }
      offset = (offset + sectorSize - 1) / sectorSize * sectorSize
    }
    // A header that is cut off behind its number of records.
    let rest = try offset > 0 ? file.bytes(12, at: offset) : []
    guard rest.count == 12, rest.starts(with: Self.magic) else { return }
    let count = UInt32(rest.number(at: 8, size: 4))
    if count > 0, count != Self.allRecords { lostRecords = Int64(count) }
  }

  private static func isSize(_ number: Int64, from least: Int64) -> Bool {
    number >= least && number <= 65536 && number & (number - 1) == 0
  }

  private static func checksum(of page: ArraySlice<UInt8>, _ nonce: UInt32) -> UInt32 {
    stride(from: page.count - 200, to: 0, by: -200).reduce(nonce) { $0 &+ UInt32(page[page.startIndex + $1]) }
  }

  /// Whether a name is at the end: the transaction was over several databases, and another file says how it ended.
  ///
  /// SQLite deletes that file when it has rolled the journal back.
  static func namesSuperJournal(_ file: borrowing ReadableFile) throws -> Bool {
    guard file.size >= 16 else { return false }
    return try file.bytes(8, at: file.size - 8) == magic
  }
}

/// A database as it was before the transaction of its hot journal. Both files stay unchanged.
package final class RolledBackFile: ReadOnlyContent {
  private let database: ReadableFile
  private let journal: ReadableFile
  private let rollback: RollbackJournal
  package let size: Int64
  /// Whether the journal is valid, so that its pages count.
  package var isRolledBack: Bool { rollback.databaseBytes != nil }

  /// - Returns: nil where only SQLite can judge the journal.
  /// - Throws: as `StoreFiles.init` names the failures.
  package init?(path: String, journalPath: String) throws {
    database = try ReadableFile(path: path, name: path)
    journal = try ReadableFile(path: journalPath, name: journalPath)
    guard let rollback = try RollbackJournal(journal) else { return nil }
    self.rollback = rollback
    size = rollback.databaseBytes ?? database.size
  }

  /// Fills a buffer; returns how many bytes there are, fewer at the end alone.
  package func read(_ buffer: UnsafeMutableRawBufferPointer, at start: Int64) throws -> Int {
    let count = Int(max(0, min(Int64(buffer.count), size - start)))
    var done = 0
    while done < count {
      let offset = start + Int64(done)
      let pageSize = Int64(max(rollback.pageSize, 1))
      let page = rollback.pages.isEmpty ? nil : rollback.pages[UInt32(offset / pageSize + 1)]
      // Up to the end of the page, where the next bytes may lie elsewhere.
      let length = rollback.pages.isEmpty ? count - done : min(count - done, Int(pageSize - offset % pageSize))
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + length])
      let got = try page.map { try journal.fill(part, at: $0 + offset % pageSize) } ?? database.fill(part, at: offset)
      // A rollback restores the length of the database.
      if got < length { part[got...].initializeMemory(as: UInt8.self, repeating: 0) }
      done += length
    }
    return count
  }
}

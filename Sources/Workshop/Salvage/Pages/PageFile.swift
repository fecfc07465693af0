import Foundation
import GodwitModel
import GodwitStore

/// The pages of a database, read as bytes, with those that its log or its journal has in their place.
///
/// SQLite is not asked: it refuses a file at the first page that is wrong. All files are opened for reading, and nothing
/// appears beside them. A page that the disk cannot read is a page that is gone.
final class PageFile {
  private(set) var header: DatabaseHeader
  let pageSize: Int
  /// The bytes of a page that SQLite uses.
  private(set) var usableSize: Int
  /// The highest page that the file, its log or its journal has.
  let pageCount: UInt32
  /// The pages that belong to the database: those behind are left from before it shrank.
  private(set) var ownPages: UInt32
  /// The pages that the header, the log or the journal names and none of them has.
  let missingPages: UInt32
  /// The log, if it is used.
  let log: LogPages?
  /// Whether pages come from a rollback journal.
  var hasJournal: Bool { journal != nil }
  /// Whether the journal has all of its pages.
  var hasWholeJournal: Bool { journal != nil && journal?.problem == nil }
  /// The losses with the log or the journal, one sentence each.
  private(set) var losses: [String] = []
  /// Findings about the header and the log that cost nothing, one sentence each.
  private(set) var notes: [String] = []
  /// The pages that the disk could not read.
  private(set) var failedReads: Set<UInt32> = []

  private let database: SourceFile
  private let journal: JournalPages?
  private let path: String

  /// A page number behind the file must not decide how much memory is taken.
  private static let reach = 1 << 22

  /// - Parameters:
  ///   - path: The file itself, not a link to it: SQLite looks for the other files beside it.
  ///   - usesLog: Whether the log and the journal beside the file count.
  /// - Throws: `.dataWrong` (65) for a file in which no page of a database is found, or one without content before its
  ///   first transaction; `.missingInput` (66) and `.permission` (77) if it cannot be opened.
  init(path: String, usesLog: Bool) throws {
    self.path = path
    database = try SourceFile(path, named: path)
    let raw = DatabaseHeader(try database.readable(100, at: 0) ?? [])
    let found = usesLog ? try LogPages(path + "-wal") : nil
    // A log of other pages is the log of another file.
    let fits = found.map { raw == nil || raw?.pageSize == $0.pageSize } ?? false
    log = fits ? found.flatMap { $0.usedFrames > 0 && $0.pageCount > 0 ? $0 : nil } : nil
    let foundJournal =
      usesLog ? try JournalPages(path + "-journal", databasePageSize: raw?.pageSize, database: database) : nil
    journal = log == nil && foundJournal?.pageCount != nil ? foundJournal : nil
    let guess = raw == nil ? try PageSizeGuess(database) : nil
    guard let size = raw?.pageSize ?? log?.pageSize ?? journal?.pageSize ?? guess?.pageSize else {
      throw GodwitError(
        .dataWrong, "cannot salvage '\(path)': no page of a SQLite database is in it",
        cause: "the file has another format, is encrypted, or was overwritten as a whole",
        remedy: "restore the store from a backup", safe: "the store is untouched")
    }
    pageSize = size
    let first = try log?.page(1) ?? journal?.page(1) ?? database.readable(100, at: 0)
    let repaired = DatabaseHeader(first ?? [], damaged: size)
    let header =
      DatabaseHeader(first ?? []) ?? raw ?? repaired
      ?? DatabaseHeader(assumedPageSize: size, reservedBytes: guess?.reservedBytes ?? 0)
    if raw == nil, repaired != nil { notes.append("the header of the file is damaged; its other fields are used") }
    self.header = header
    usableSize = size - header.reservedBytes
    let filePages = UInt32(clamping: database.size / Int64(size))
    let others = log.map { Array($0.pages) } ?? journal.map { Array($0.pages) } ?? []
    let reach = UInt32(clamping: Int64(filePages) + Int64(others.count) + Int64(Self.reach))
    let behind = others.filter { $0 > filePages && $0 <= reach }
    pageCount = max(filePages, behind.max() ?? 0)
    let named = log?.pageCount ?? journal?.pageCount ?? header.pageCount
    ownPages = min(named ?? pageCount, pageCount)
    let end = max(named ?? 0, filePages)
    missingPages = end - filePages - UInt32(behind.count { $0 <= end })
    noteLog(found, fits: fits)
    noteJournal(foundJournal)
    if journal?.pageCount == 0, others.isEmpty {
      throw GodwitError(
        .dataWrong,
        "cannot salvage '\(path)': by its journal, the store was empty before a transaction that never ended",
        remedy: "move '\(path)-journal' away to salvage what the transaction had written, and run the same command",
        safe: "the store is untouched")
    }
    try checkHeader()
  }

  private func noteLog(_ found: LogPages?, fits: Bool) {
    guard let found else { return }
    if let problem = found.problem {
      losses.append(
        log == nil
          ? "'\(path)-wal' is not used: \(problem)"
          : "'\(path)-wal' is used up to frame \(found.usedFrames): \(problem)")
    } else if !fits {
      losses.append("'\(path)-wal' is not used: its pages have \(found.pageSize) bytes, so it is of another file")
    } else if let unended = found.unended {
      notes.append(
        "'\(path)-wal': frames \(unended.lowerBound) to \(unended.upperBound) are of a transaction that never ended")
    }
  }

  private func noteJournal(_ found: JournalPages?) {
    guard let found else { return }
    let name = "'\(path)-journal'"
    if log != nil, found.pageCount != nil {
      losses.append("\(name) is not used, as the log is")
    } else if let problem = found.problem {
      losses.append(found.pageCount == nil ? "\(name) is not used: \(problem)" : "\(name): \(problem)")
    }
  }

  /// Takes all pages of the file for those of the database.
  ///
  /// - Parameter why: The finding that shows that the page count is wrong.
  func ownAllPages(_ why: String) {
    let count = "the page count is \(ownPages), and the file has \(pageCount) pages"
    if journal != nil { losses.append("\(count): \(why)") } else { notes.append("\(count): \(why)") }
    ownPages = pageCount
  }

  /// The bytes of a page; nil if the file has no such page, or the disk cannot read it.
  func page(_ number: UInt32) throws -> [UInt8]? {
    guard number > 0, number <= pageCount else { return nil }
    do {
      if let page = try log?.page(number) ?? journal?.page(number) { return page }
      let bytes = try database.bytes(pageSize, at: Int64(number - 1) * Int64(pageSize))
      return bytes?.count == pageSize ? bytes : nil
    } catch let error as GodwitError where error.code == .inputOutput {
      failedReads.insert(number)
      return nil
    }
  }

  /// Whether a page holds nothing of a database: the one where SQLite keeps its locks.
  func isLockPage(_ number: UInt32) -> Bool { Int64(number - 1) * Int64(pageSize) == 0x4000_0000 }
}

// MARK: Fields of the header that the pages show to be otherwise

extension PageFile {
  private static var sampledPages: UInt32 { 256 }
  private static var schemaWords: Set<String> { ["table", "index", "view", "trigger"] }

  /// Compares two fields of the header with the pages: the bytes that each page reserves, and the encoding of texts.
  private func checkHeader() throws {
    var leaves: [(bytes: [UInt8], start: Int)] = []
    for number in 1...max(1, min(pageCount, Self.sampledPages)) {
      let start = number == 1 ? 100 : 0
      guard let bytes = try page(number), bytes[start] == 0x0D, bytes.number(at: start + 3, size: 2) > 0 else {
        continue
      }
      leaves.append((bytes, start))
    }
    func sound(_ reserved: Int) -> Int {
      leaves.count { TableLeaf($0.bytes, at: $0.start, usableSize: pageSize - reserved)?.isSound == true }
    }
    let named = header.reservedBytes
    if sound(named) * 2 < leaves.count {
      var likely = (reserved: named, sound: sound(named))
      for reserved in 0...min(255, pageSize - 480) {
        let found = sound(reserved)
        if found > likely.sound { likely = (reserved, found) }
      }
      if likely.reserved != named {
        usableSize = pageSize - likely.reserved
        notes.append("each page reserves \(likely.reserved) bytes, and not \(named) as the header says")
      }
    }
    if let found = try schemaEncoding(), found != header.encoding {
      notes.append("the encoding of texts in the header is wrong: the definitions of tables are in \(found.name)")
      header.encoding = found
    }
  }

  /// The encoding of the words that the schema has in each row; nil if its first leaf cannot be read.
  private func schemaEncoding() throws -> DatabaseHeader.TextEncoding? {
    var number: UInt32 = 1
    for _ in 0..<40 {
      let start = number == 1 ? 100 : 0
      guard let bytes = try page(number) else { return nil }
      if let leaf = TableLeaf(bytes, at: start, usableSize: usableSize) {
        for cell in leaf.cells where cell.localBytes >= 16 {
          var place = cell.start
          let end = cell.start + cell.localBytes
          guard let head = Varint.read(bytes, &place, end), let type = Varint.read(bytes, &place, end),
            let length = StoredRecord.length(of: type), head > 0, head < Int64(end - cell.start),
            cell.start + Int(head) + length <= end
          else { continue }
          let word = bytes[(cell.start + Int(head))..<(cell.start + Int(head) + length)]
          for encoding in [DatabaseHeader.TextEncoding.utf8, .utf16LittleEndian, .utf16BigEndian]
          where Self.schemaWords.contains(String(decoding: StoredRecord.text(word, encoding), as: UTF8.self)) {
            return encoding
          }
        }
        return nil
      }
      guard let interior = TableInterior(bytes, at: start, usableSize: usableSize) else { return nil }
      number = interior.cells.first?.child ?? interior.rightChild
    }
    return nil
  }
}

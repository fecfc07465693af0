import Foundation
import TestSupport
import Testing

@testable import GodwitStore

/// A database is read through its hot journal as SQLite itself would roll it back, byte for byte.
struct RollbackJournalTests {
  struct Shape: Sendable, CustomTestStringConvertible {
    var pageSize = 1024
    var synchronous = "FULL"
    var change = "UPDATE T SET A = A + 1"
    var testDescription: String { "pages of \(pageSize), synchronous \(synchronous), \(change)" }
  }

  static let shapes: [Shape] = [
    Shape(), Shape(pageSize: 512), Shape(pageSize: 65536), Shape(synchronous: "NORMAL"), Shape(synchronous: "OFF"),
    Shape(change: "INSERT INTO T SELECT A, B FROM T"), Shape(change: "DELETE FROM T WHERE A % 3 > 0"),
    Shape(synchronous: "OFF", change: "CREATE TABLE U AS SELECT * FROM T"),
  ]

  /// A database in the middle of a transaction that reached the file several times.
  private func files(_ shape: Shape) throws -> (database: Data, journal: Data) {
    let folder = try TemporaryFolder()
    let path = folder.file("made.sqlite")
    let connection = try StoreConnection(path: path, create: true)
    try connection.execute("PRAGMA page_size = \(shape.pageSize)")
    try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    try connection.execute("CREATE TABLE T (A, B)")
    try connection.transaction {
      for row in 0..<100 { try connection.execute("INSERT INTO T VALUES (?1, zeroblob(900))", [.int(row)]) }
    }
    try connection.execute("PRAGMA synchronous = \(shape.synchronous)")
    try connection.execute("PRAGMA cache_size = 1")
    try connection.execute("PRAGMA cache_spill = 1")
    try connection.execute("BEGIN IMMEDIATE")
    try connection.execute(shape.change)
    let made = try (
      Data(contentsOf: URL(filePath: path)), Data(contentsOf: URL(filePath: path + "-journal"))
    )
    try connection.execute("ROLLBACK")
    return made
  }

  /// The database after SQLite's rollback.
  private func rolledBack(_ database: Data, _ journal: Data) throws -> Data {
    let folder = try TemporaryFolder()
    let path = folder.file("hot.sqlite")
    try database.write(to: URL(filePath: path))
    try journal.write(to: URL(filePath: path + "-journal"))
    do {
      let connection = try StoreConnection(path: path)
      // The rest may be damaged; the rollback happens before any of it is read.
      _ = try? connection.value("SELECT COUNT(*) FROM sqlite_master")
      try connection.close()
    } catch {}
    return try Data(contentsOf: URL(filePath: path))
  }

  private func seen(_ database: Data, _ journal: Data, piece: Int = 1 << 20) throws -> Data? {
    let folder = try TemporaryFolder()
    let path = folder.file("hot.sqlite")
    try database.write(to: URL(filePath: path))
    try journal.write(to: URL(filePath: path + "-journal"))
    guard let file = try RolledBackFile(path: path, journalPath: path + "-journal") else { return nil }
    var bytes = Data()
    var buffer = [UInt8](repeating: 7, count: piece)
    while true {
      let got = try buffer.withUnsafeMutableBytes { try file.read($0, at: Int64(bytes.count)) }
      bytes += buffer.prefix(got)
      if got < piece { return bytes }
    }
  }

  @Test(arguments: shapes) func `a database read through its journal is as SQLite's rollback leaves it`(shape: Shape)
    throws
  {
    let (database, journal) = try files(shape)
    let expected = try rolledBack(database, journal)
    #expect(expected != database, "nothing was rolled back")
    #expect(try seen(database, journal) == expected)
    // Reads that end within pages.
    #expect(try seen(database, journal, piece: 700) == expected)
  }

  // Pages of 64 KiB take most of the time: they belong to the long tier.
  static let damaged = shapes.prefix(3).filter {
    TestTier.isLong || $0.pageSize < 65536
  }

  @Test(arguments: damaged) func `a truncated or damaged journal is read as far as SQLite reads it`(
    shape: Shape
  ) throws {
    let (database, journal) = try files(shape)
    var random = SeededGenerator(seed: 7)
    for _ in 0..<4 {
      let cut = journal.prefix(Int.random(in: 1...journal.count, using: &random))
      #expect(try seen(database, cut) == rolledBack(database, cut), "cut to \(cut.count)")
      var damaged = journal
      let place = Int.random(in: 0..<journal.count, using: &random)
      damaged[place] ^= 0x40
      #expect(try seen(database, damaged) == rolledBack(database, damaged), "damaged at \(place)")
    }
    for place in [0, 9, 13, 17, 19, 21, 27, 515] {
      var damaged = journal
      damaged[place] ^= 0x01
      #expect(try seen(database, damaged) == rolledBack(database, damaged), "damaged at \(place)")
    }
    let short = database.prefix(database.count / 2)
    #expect(try seen(short, journal) == rolledBack(short, journal))
  }

  @Test func `a journal of several databases, and one without a page size, is left to SQLite`() throws {
    let (database, journal) = try files(Shape())
    let name = Data("/nowhere/super-journal".utf8)
    let sum = name.reduce(UInt32(0)) { $0 &+ UInt32($1) }
    func number(_ value: UInt32) -> Data { withUnsafeBytes(of: value.bigEndian) { Data($0) } }
    let whole =
      journal + number(0x4000_0000 / 1024 + 1) + name + number(UInt32(name.count)) + number(sum) + journal.prefix(8)
    #expect(try seen(database, whole) == nil)
    #expect(try seen(database, journal) != nil)
    var sizeless = journal
    sizeless.replaceSubrange(24..<28, with: [0, 0, 0, 0])
    #expect(try seen(database, sizeless) == nil)
  }

  @Test func `a journal that is cut off says that records are lost, wherever it is cut`() throws {
    let journal = try files(Shape()).journal
    let magic = Data([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7])
    let folder = try TemporaryFolder()
    func lost(_ bytes: Data) throws -> Int64? {
      let path = folder.file("cut-journal")
      try bytes.write(to: URL(filePath: path))
      let found = try RollbackJournal(ReadableFile(path: path, name: path))
      return try #require(found).lostRecords
    }
    #expect(try lost(journal) == nil)
    var segments = 0
    for start in stride(from: 512, to: journal.count - 600, by: 512) where journal[start..<start + 8] == magic {
      let records = journal[start + 8..<start + 12].reduce(Int64(0)) { $0 << 8 | Int64($1) }
      guard records > 0 else { continue }
      segments += 1
      for size in [20, 500, 512, 600] { #expect(try lost(journal.prefix(start + size)) == records, "\(start) \(size)") }
    }
    #expect(segments > 2)
  }
}

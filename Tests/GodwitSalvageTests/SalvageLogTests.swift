import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitSalvage

/// Logs and journals that are damaged, and sound ones beside damaged stores.
@Suite struct SalvageLogTests {
  /// A store with a log or a journal, as a process that was killed leaves it.
  private struct Live {
    let main: [UInt8]
    let log: [UInt8]
    /// With the log, or before the transaction of the journal.
    let content: StoreContent
  }

  private static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }

  private static func logged(_ world: DamageWorld, _ before: String = "", _ statements: String...) throws -> Live {
    let live = world.folder.file("live-\(UUID().uuidString).sqlite")
    try FileManager.default.copyItem(atPath: world.store, toPath: live)
    let connection = try StoreConnection(path: live)
    if !before.isEmpty { try connection.execute(before) }
    try connection.execute("PRAGMA journal_mode = WAL")
    try connection.execute("PRAGMA wal_autocheckpoint = 0")
    for statement in statements { try connection.execute(statement) }
    let result = Live(main: try bytes(live), log: try bytes(live + "-wal"), content: try StoreContent(connection))
    try connection.close()
    return result
  }

  private static func insert(_ range: ClosedRange<Int>) -> String {
    """
    WITH RECURSIVE n(i) AS (SELECT \(range.lowerBound) UNION ALL SELECT i + 1 FROM n WHERE i < \(range.upperBound)) \
    INSERT INTO ZSHELF (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT i, (SELECT max(Z_ENT) FROM ZSHELF), 1, 'shelf ' || i FROM n
    """
  }

  /// A store amid a transaction that changes and deletes rows.
  private static func journaled(_ world: DamageWorld) throws -> Live {
    let live = world.folder.file("live-\(UUID().uuidString).sqlite")
    try FileManager.default.copyItem(atPath: world.store, toPath: live)
    let connection = try StoreConnection(path: live)
    let content = try StoreContent(connection)
    try connection.execute("PRAGMA journal_mode = DELETE")
    try connection.execute("PRAGMA cache_size = 2")
    try connection.execute("BEGIN")
    try connection.execute("UPDATE ZITEM SET ZTITLE = 'never committed'")
    try connection.execute("DELETE FROM ZSHELF")
    let result = Live(main: try bytes(live), log: try bytes(live + "-journal"), content: content)
    try connection.execute("ROLLBACK")
    try connection.close()
    return result
  }

  private static func salvage(_ world: DamageWorld, _ main: [UInt8], journal: [UInt8]) throws
    -> SalvagePromiseTests.Result
  {
    let path = world.folder.file("damaged.sqlite-journal")
    try Data(journal).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try world.salvage(main)
  }

  private static func frame(_ number: Int, _ world: DamageWorld) -> Int { 32 + (number - 1) * (world.pages.size + 24) }

  // MARK: Logs

  @Test func `pages of a whole log come over where the file is cut off`() throws {
    let world = try DamageWorld(seed: 0)
    let live = try Self.logged(world, "", Self.insert(100_000...102_000))
    for pages in [3, 5, world.pages.count - 1] {
      let result = try world.salvage(Array(live.main.prefix(pages * world.pages.size)), log: live.log)
      let shelves = try #require(result.content.tables["ZSHELF"]).rows
      #expect((100_000...102_000).count { shelves[Int64($0)] != nil } > 1900, "\(pages) pages\n\(result.report)")
      #expect(result.report.pages.missing > 0)
      SalvagePromiseTests.expectHonest(result, live.content, "\(pages) pages")
    }
  }

  @Test func `a frame that is damaged in the middle of a log is a loss`() throws {
    let world = try DamageWorld(seed: 0)
    let live = try Self.logged(
      world, "", Self.insert(100_000...100_200), Self.insert(100_300...100_400), Self.insert(100_500...100_600))
    let (size, frames) = (world.pages.size + 24, (live.log.count - 32) / (world.pages.size + 24))
    let changes: [(String, (inout [UInt8]) -> Void)] = [
      ("a bit of the salt", { $0[Self.frame(2, world) + 8] ^= 1 }),
      ("other salts", { for place in 8..<16 { $0[Self.frame(2, world) + place] = 7 } }),
      (
        "zeros",
        { $0.replaceSubrange(Self.frame(2, world)..<Self.frame(3, world), with: repeatElement(0, count: size)) }
      ),
      ("a bit of the salt of the last frame", { $0[Self.frame(frames, world) + 13] ^= 1 }),
      (
        "zeros at the end",
        { $0.replaceSubrange(Self.frame(frames, world)..<$0.count, with: repeatElement(0, count: size)) }
      ),
      ("cut off in a head", { $0.removeLast($0.count - Self.frame(frames, world) - 10) }),
    ]
    for (name, change) in changes {
      var log = live.log
      change(&log)
      SalvagePromiseTests.expectHonest(try world.salvage(live.main, log: log), live.content, name)
    }
    #expect(!SalvagePromiseTests.namesLoss(try world.salvage(live.main, log: live.log).report))
  }

  @Test func `a log that lacks frames of its index is a loss`() throws {
    let world = try DamageWorld(seed: 0)
    let live = world.folder.file("live.sqlite")
    try FileManager.default.copyItem(atPath: world.store, toPath: live)
    let connection = try StoreConnection(path: live)
    for statement in ["PRAGMA journal_mode = WAL", Self.insert(100_000...100_100), Self.insert(100_200...100_300)] {
      try connection.execute(statement)
    }
    let (main, log) = (try Self.bytes(live), try Self.bytes(live + "-wal"))
    let index = world.folder.file("damaged.sqlite-shm")
    try FileManager.default.copyItem(atPath: live + "-shm", toPath: index)
    try connection.close()
    #expect(!SalvagePromiseTests.namesLoss(try world.salvage(main, log: log).report))
    let frames = (log.count - 32) / (world.pages.size + 24)
    let cut = try world.salvage(main, log: Array(log.prefix(Self.frame(frames, world))))
    #expect(cut.report.losses.contains { $0.contains("cut off") }, "\(cut.report)")
  }

  @Test func `frames of an earlier use of a log are no loss`() throws {
    let world = try DamageWorld(seed: 0)
    let live = try Self.logged(
      world, "", Self.insert(100_000...100_400), "PRAGMA wal_checkpoint(TRUNCATE)", Self.insert(100_500...101_000),
      "PRAGMA wal_checkpoint(RESTART)", Self.insert(101_100...101_110))
    let result = try world.salvage(live.main, log: live.log)
    #expect(!SalvagePromiseTests.namesLoss(result.report), "\(result.report)")
    #expect(result.content.tables["ZSHELF"]?.rows.count == live.content.tables["ZSHELF"]?.rows.count)
  }

  @Test func `the log of a store behind a link is the one beside the store`() throws {
    let world = try DamageWorld(seed: 0)
    let live = try Self.logged(world, "", Self.insert(100_000...100_200))
    _ = try world.salvage(live.main, log: live.log)
    let folder = world.folder.file("links")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: folder + "/link.sqlite", withDestinationPath: world.folder.file("damaged.sqlite"))
    let copy = folder + "/copy.sqlite"
    _ = try Salvage(store: folder + "/link.sqlite", copy: copy, models: [world.model]).run()
    let connection = try StoreConnection(path: copy)
    defer { try? connection.close() }
    #expect(try StoreContent(connection).tables["ZSHELF"]?.rows.count == live.content.tables["ZSHELF"]?.rows.count)
  }

  @Test(arguments: [
    ("", "CREATE TABLE OWN (a PRIMARY KEY, b) WITHOUT ROWID"),
    ("CREATE INDEX PART ON ZSHELF (ZNAME)\nWHERE\nZNAME IS NOT NULL", ""),
    ("CREATE INDEX PART ON ZSHELF (ZNAME) WHERE(ZNAME IS NOT NULL)", ""),
  ]) func `a log of the store itself is used`(before: String, after: String) throws {
    let world = try DamageWorld(seed: 0)
    let live = try Self.logged(
      world, before, Self.insert(100_000...100_200), "UPDATE ZSHELF SET ZNAME = NULL WHERE Z_PK < 100005",
      after.isEmpty ? "SELECT 1" : after)
    let result = try world.salvage(live.main, log: live.log)
    #expect(result.content.tables["ZSHELF"]?.rows == live.content.tables["ZSHELF"]?.rows, "\(result.report)")
  }

  @Test func `a wrong digit of the identifier does not make a log another store's`() throws {
    let world = try DamageWorld(seed: 0)
    let live = try Self.logged(
      world, "", Self.insert(100_000...100_200), "UPDATE Z_METADATA SET Z_PLIST = Z_PLIST || x'00'")
    guard case .text(let identifier)? = world.content.tables["Z_METADATA"]?.rows.values.first?[1] else { return }
    var main = live.main
    let place = try #require(main.indices.first { main[$0...].starts(with: identifier) })
    main[place] ^= 1
    let result = try world.salvage(main, log: live.log)
    #expect(result.content.tables["ZSHELF"]?.rows == live.content.tables["ZSHELF"]?.rows, "\(result.report)")
  }

  @Test func `a log with transactions that is not used is a loss`() throws {
    let (world, other) = (try DamageWorld(seed: 0, hasLog: true), try DamageWorld(seed: 5, rows: 400, hasLog: true))
    let result = try world.salvage(world.bytes(), log: other.bytes("-wal"))
    #expect(result.report.losses.contains { $0.contains("is not used") }, "\(result.report)")
  }

  // MARK: Journals

  private static let journalChanges: [(String, @Sendable (inout [UInt8]) -> Void)] = [
    ("a checksum", { $0[512 + 3 * 4104 - 1] ^= 1 }), ("the magic number", { $0[1] ^= 1 }),
    ("the first byte", { $0[0] = 0 }),
    ("the nonce", { $0[12] ^= 1 }), ("the number of records", { $0[11] = 0 }),
    ("more records", { $0[10] = 0xFF }), ("the sector size", { $0[20] = 0xFF }), ("the page size", { $0[26] = 0x20 }),
    ("cut off", { $0.removeLast($0.count / 3) }), ("shorter than a header", { $0 = Array($0.prefix(20)) }),
    ("noise", { for place in $0.indices { $0[place] = UInt8(truncatingIfNeeded: place &* 31 &+ 7) } }),
  ]

  @Test(arguments: journalChanges.map(\.0)) func `a damaged journal is a loss, or all is rolled back`(name: String)
    throws
  {
    let world = try DamageWorld(seed: 0)
    let live = try Self.journaled(world)
    var journal = live.log
    try #require(Self.journalChanges.first { $0.0 == name }).1(&journal)
    let result = try Self.salvage(world, live.main, journal: journal)
    let isRolledBack = ["ZITEM", "ZSHELF"].allSatisfy {
      result.content.tables[$0]?.rows == live.content.tables[$0]?.rows
    }
    #expect(isRolledBack || SalvagePromiseTests.namesLoss(result.report), "\(result.report)")
  }

  @Test func `the records behind a damaged one are rolled back too`() throws {
    let world = try DamageWorld(seed: 0)
    let live = try Self.journaled(world)
    var journal = live.log
    let record = world.pages.size + 8
    // Byte 200 from the end of the page is part of the checksum.
    let saved = Int(journal.number(at: 512 + record, size: 4))
    journal[512 + record + 4 + world.pages.size - 200] ^= 1
    let result = try Self.salvage(world, live.main, journal: journal)
    var oracle = SalvageOracle(world)
    oracle.check(result.content, damaged: [saved])
    let wrong = oracle.faults.filter { !$0.contains("never committed") }
    #expect(wrong.isEmpty && SalvagePromiseTests.namesLoss(result.report), "\(wrong.prefix(3))\n\(result.report)")
  }

  @Test func `a cleared journal is no loss`() throws {
    let world = try DamageWorld(seed: 0)
    let live = try Self.journaled(world)
    let journal = [UInt8](repeating: 0, count: 28) + live.log.dropFirst(28)
    let result = try Self.salvage(world, world.bytes(), journal: journal)
    #expect(!SalvagePromiseTests.namesLoss(result.report), "\(result.report)")
    let zeros = try Self.salvage(world, world.bytes(), journal: [UInt8](repeating: 0, count: 9000))
    #expect(!SalvagePromiseTests.namesLoss(zeros.report))
  }

  @Test(arguments: [[0xFF, 0, 0, 0], [0, 0, 0, 2]] as [[UInt8]])
  func `a wrong page count of a journal hides no row`(count: [UInt8]) throws {
    let world = try DamageWorld(seed: 0)
    let live = try Self.journaled(world)
    var journal = live.log
    journal.replaceSubrange(16..<20, with: count)
    let result = try Self.salvage(world, live.main, journal: journal)
    var oracle = SalvageOracle(world)
    oracle.check(result.content, damaged: [])
    #expect(oracle.faults.isEmpty, "\(oracle.faults.prefix(3))\n\(result.report)")
  }
}

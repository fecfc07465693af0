import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// The tables that a job keeps of itself while its store is under construction.
struct LedgerTests {
  private static let chunks = [
    Chunk(
      id: 0, pass: 1, work: .create(mapping: 0, predicate: nil), name: "A", range: .init(lower: nil, upper: 4), rows: 3),
    Chunk(id: 1, pass: 1, work: .create(mapping: 0, predicate: 1), name: "A", range: .all, rows: 2),
    Chunk(
      id: 2, pass: 0, work: .relate(link: 1, scan: 2), name: "A.b", range: .init(lower: -5, upper: .max), rows: 5),
  ]

  /// A ledger of those chunks, in a database in memory.
  private func ledger() throws -> Ledger {
    let fixture = try MigrationFixture([.make("A")], to: [.make("A")])
    try fixture.build { try $0.insert("A", key: 1) }
    fixture.mappings = [try .make("A", "A", kind: .copy)]
    let connection = try StoreConnection(path: nil)
    let ledger = Ledger(connection: connection)
    #expect(try !Ledger.exists(connection))
    var facts = try fixture.plannedFacts()
    facts.now = 12.5
    try ledger.create(
      identity: JobFingerprint(fixture.job), facts: facts, chunks: Self.chunks,
      stamp: StoreFiles(path: fixture.sourcePath).stamp())
    #expect(try ledger.facts() == facts)
    return ledger
  }

  @Test func `the ledger reads chunks as they were written`() throws {
    let ledger = try ledger()
    #expect(try Ledger.exists(ledger.connection))
    #expect(try ledger.chunks() == Self.chunks)
    #expect(try ledger.done() == [])
  }

  @Test func `the ledger counts a finished chunk as done and adds it to the totals`() throws {
    let ledger = try ledger()
    try ledger.finish(Self.chunks[0], .init(rows: 3, ambiguousToOne: 1, overridden: 0))
    try ledger.finish(Self.chunks[2], .init(rows: 5, ambiguousToOne: 0, overridden: 2))
    #expect(try ledger.done() == [0, 2])
    let totals = try ledger.totals()
    // Rows of other stages are not objects.
    #expect(totals.objects == 3 && totals.ambiguousToOne == 1 && totals.overridden == 2)
  }

  @Test func `an uncommitted chunk is not done`() throws {
    let ledger = try ledger()
    try ledger.connection.execute("BEGIN")
    try ledger.finish(Self.chunks[1], .init(rows: 2))
    #expect(try ledger.done() == [1])
    try ledger.connection.execute("ROLLBACK")
    #expect(try ledger.done() == [])
  }

  @Test func `the ledger keeps the latest spill mark of each mapping`() throws {
    let ledger = try ledger()
    #expect(try ledger.spillMark(mapping: 4) == nil)
    try ledger.setSpillMark(SpillMark(length: 10, checksum: 1), pairs: 2, mapping: 4)
    try ledger.setSpillMark(SpillMark(length: 90, checksum: .max), pairs: 7, mapping: 4)
    let found = try #require(try ledger.spillMark(mapping: 4))
    #expect(found.mark == SpillMark(length: 90, checksum: .max) && found.pairs == 7)
  }

  @Test func `a ledger of another version is refused`() throws {
    let ledger = try ledger()
    try ledger.checkVersion()
    try ledger.connection.execute(
      "UPDATE godwit_ledger SET value = '\(Ledger.version + 1)' WHERE key = 'version'")
    let error = #expect(throws: GodwitError.self) { try ledger.checkVersion() }
    #expect(error?.code == .cannotCreate)
  }

  @Test(arguments: ["DELETE FROM godwit_ledger WHERE key = 'facts'", "UPDATE godwit_ledger SET value = '{'"])
  func `a missing or damaged ledger entry is named`(sql: String) throws {
    let ledger = try ledger()
    try ledger.connection.execute(sql)
    let error = #expect(throws: GodwitError.self) { try ledger.facts() }
    #expect(error?.code == .dataWrong && error?.message.contains("'facts'") == true)
    #expect(error?.remedy != nil)
  }

  @Test func `dropping the ledger removes only its own tables`() throws {
    let ledger = try ledger()
    try ledger.connection.execute("CREATE TABLE ZPERSON (Z_PK INTEGER PRIMARY KEY)")
    try ledger.connection.execute("CREATE INDEX godwit_find_1 ON ZPERSON (Z_PK)")
    try ledger.drop()
    #expect(try ledger.connection.rows("SELECT name FROM main.sqlite_master").map { $0[0].plain } == ["ZPERSON"])
    #expect(try !Ledger.exists(ledger.connection))
  }
}

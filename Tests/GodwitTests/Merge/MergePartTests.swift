import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// Stores that are merged, each with something that its neighbours must not change.
struct MergePartTests {
  private static let file = "00000001-1111-2222-3333-444444444444"

  private static func world(_ names: String...) throws -> PartWorld {
    let world = try PartWorld()
    for name in names { try world.build(name) }
    return world
  }

  @Test func `the first store keeps its keys, and those of later ones are raised by the highest before`() throws {
    let world = try PartWorld()
    try world.build("a.sqlite", firstKey: 5)
    try world.build("b.sqlite")
    try world.build("c.sqlite", firstKey: 1 << 61)
    let summary = try world.run(world.job("a.sqlite", "b.sqlite", "c.sqlite"))
    #expect(
      try world.rows("SELECT Z_PK, ZNAME FROM source.ZPERSON ORDER BY 1") == [
        "5|a.sqlite 0", "6|a.sqlite 1", "7|b.sqlite 0", "8|b.sqlite 1", "\((1 << 61) + 8)|c.sqlite 0",
        "\((1 << 61) + 9)|c.sqlite 1",
      ])
    #expect(
      try world.people()
        == ["a", "b", "c"].flatMap { n in
          (0...1).map { "\(n).sqlite \($0)|\(n).sqlite team|\(n).sqlite tag" }
        })
    let notes = summary.codedNotes.filter { $0.code == .merged }.map(\.text)
    let place = world.folder.path
    #expect(
      notes.first
        == "the source is 3 stores, merged in this order: 4 objects of '\(place)/a.sqlite', 4 objects of '\(place)/b.sqlite', 4 objects of '\(place)/c.sqlite'"
    )
    #expect(
      notes.dropFirst().first
        == "keys of '\(place)/b.sqlite' are raised in the source: Person by 6, Tag by 5, Team by 5")
  }

  @Test func `keys below 1 stay in the first store, and go above those of the first in a later one`() throws {
    for names in [["a.sqlite", "b.sqlite"], ["b.sqlite", "a.sqlite"]] {
      let world = try PartWorld()
      try world.build("a.sqlite", firstKey: -7)
      try world.build("b.sqlite")
      try world.run(world.job(names[0], names[1]))
      let keys = try world.rows("SELECT Z_PK FROM source.ZPERSON ORDER BY 1")
      #expect(keys == (names[0] == "a.sqlite" ? ["-7", "-6", "1", "2"] : ["1", "2", "3", "4"]))
      #expect(try world.people().allSatisfy { $0.prefix(1) == $0.split(separator: "|")[1].prefix(1) })
    }
  }

  @Test func `a link to nothing leads to no object of another store`() throws {
    let world = try Self.world("a.sqlite", "b.sqlite")
    // Both would be keys of the other store.
    try world.alter("a.sqlite", "UPDATE ZPERSON SET ZTEAM = 2 WHERE Z_PK = 1")
    try world.alter("b.sqlite", "UPDATE ZPERSON SET ZTEAM = 0 WHERE Z_PK = 1")
    try world.run(world.job("a.sqlite", "b.sqlite"))
    #expect(
      try world.people().map { String($0.split(separator: "|")[1]) } == [
        "nil", "a.sqlite team", "nil", "b.sqlite team",
      ])
  }

  @Test func `keys that would be too large are an error that names the store and the entity`() throws {
    let world = try PartWorld()
    try world.build("a.sqlite", firstKey: .max - 5)
    try world.build("b.sqlite", firstKey: 10)
    let error = try #require(throws: GodwitError.self) { try MigrationManager(world.job("a.sqlite", "b.sqlite")).run() }
    #expect(error.code == .dataWrong && error.message.contains("/b.sqlite': the keys of its 'Person'"), "\(error)")
    #expect(!FileManager.default.fileExists(atPath: world.folder.file("out")))
  }

  // MARK: External files

  @Test func `files of one name with other bytes are all there`() throws {
    let world = try Self.world("a.sqlite", "b.sqlite", "c.sqlite")
    for (name, bytes) in [("a.sqlite", "one"), ("b.sqlite", "two"), ("c.sqlite", "one")] {
      try world.addPhoto(name, key: 1, file: Self.file, bytes: bytes)
    }
    try world.run(world.job("a.sqlite", "b.sqlite", "c.sqlite"))
    #expect(
      try ["a", "b", "c"].map { try world.photo("\($0).sqlite 0") } == ["one", "two", "one"])
    #expect(try world.rows("SELECT COUNT(DISTINCT ZPHOTO) FROM source.ZPERSON") == ["2"])
  }

  @Test func `a file that one store lacks is not taken from another`() throws {
    for isFirst in [true, false] {
      let world = try Self.world("a.sqlite", "b.sqlite")
      try world.addPhoto("a.sqlite", key: 1, file: Self.file, bytes: isFirst ? nil : "one")
      try world.addPhoto("b.sqlite", key: 1, file: Self.file, bytes: isFirst ? "one" : nil)
      try world.run(world.job("a.sqlite", "b.sqlite"))
      #expect(try ["a", "b"].map { try world.photo("\($0).sqlite 0") } == (isFirst ? [nil, "one"] : ["one", nil]))
    }
  }

  // MARK: Other files

  @Test func `a log and an XML store are read as those of one source, and nothing is written beside them`() throws {
    let world = try Self.world("a.sqlite", "b.sqlite")
    let writer = try StoreConnection(path: world.folder.file("a.sqlite"))
    try writer.execute("PRAGMA journal_mode = WAL")
    try writer.execute("UPDATE ZPERSON SET ZNAME = 'a.sqlite new' WHERE Z_PK = 1")
    let xml = world.folder.file("b.xml")
    try AtomicStoreWriter(readingStoreAt: world.folder.file("b.sqlite"), model: world.model, as: .xml, name: xml)
      .write(to: xml)
    let before = try FileManager.default.contentsOfDirectory(atPath: world.folder.path).sorted()
    let log = try Data(contentsOf: URL(filePath: world.folder.file("a.sqlite-wal")))
    try world.run(world.job("a.sqlite", "b.xml"))
    #expect(
      try world.people().map { String($0.prefix { $0 != "|" }) } == [
        "a.sqlite 1", "a.sqlite new", "b.sqlite 0", "b.sqlite 1",
      ])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: world.folder.path).sorted() == (before + ["out"]).sorted())
    #expect(try Data(contentsOf: URL(filePath: world.folder.file("a.sqlite-wal"))) == log)
    try writer.close()
  }

  @Test func `tables and columns of any store that no model names are losses`() throws {
    let world = try Self.world("a.sqlite", "b.sqlite")
    try world.alter("a.sqlite", "CREATE TABLE extra (x)", "INSERT INTO extra VALUES (1), (2)")
    try world.alter(
      "b.sqlite", "CREATE TABLE extra (x)", "INSERT INTO extra VALUES (3)", "ALTER TABLE ZPERSON ADD COLUMN MINE",
      "UPDATE ZPERSON SET MINE = 7 WHERE Z_PK = 2", "CREATE VIEW newest AS SELECT 1")
    var job = try world.job("a.sqlite", "b.sqlite")
    let plan = try MigrationManager(job).plan()
    func counts(_ report: LossReport) -> [String] { report.losses.map { "\($0.subject) \($0.count ?? -1)" }.sorted() }
    #expect(counts(plan.losses) == ["ZPERSON.MINE 1", "extra 3"])
    #expect(plan.codedNotes.contains { $0.code == .programsDropped && $0.text.contains("b.sqlite': ") })
    #expect(try counts(world.run(job).losses) == ["ZPERSON.MINE 1", "extra 3"])
    job.onLoss = .fail
    job.destinationPath = world.folder.file("out/strict.sqlite")
    job = job.readingMerged(in: job.workPath)
    #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    job.acceptedLosses = ["extra", "ZPERSON.MINE"]
    #expect(try MigrationManager(job).run().outcome == .finished)
  }

  @Test func `large values are merged within the budget`() throws {
    let world = try Self.world("a.sqlite", "b.sqlite")
    for name in ["a.sqlite", "b.sqlite"] {
      try world.alter(
        name,
        "UPDATE ZPERSON SET ZPHOTO = CAST(x'01' || zeroblob(5000000) AS BLOB), ZNAME = ZNAME || printf('%.*c', 2000000, 'x') WHERE Z_PK = 2"
      )
    }
    try world.run(world.job("a.sqlite", "b.sqlite"))
    #expect(
      try world.rows("SELECT length(ZNAME), length(ZPHOTO) FROM source.ZPERSON ORDER BY Z_PK") == [
        "10|nil", "2000010|5000001", "10|nil", "2000010|5000001",
      ])
  }

  @Test func `copies of one store are merged, and a note says so`() throws {
    let world = try PartWorld()
    let uuid = UUID()
    try world.build("a.sqlite", uuid: uuid)
    try world.build("b.sqlite", uuid: uuid)
    let summary = try world.run(world.job("a.sqlite", "b.sqlite"))
    #expect(summary.codedNotes.contains { $0.text.contains("b.sqlite' is a copy of '") })
    let own = try StoreMetadata(readingStoreAt: world.destinationPath).uuid
    #expect(own != uuid.uuidString && own == MergedSources.uuid(of: [uuid.uuidString, uuid.uuidString]))
    #expect(UUID(uuidString: own) != nil)
  }

  @Test func `entity numbers of a store that was migrated in place are those of the merged store`() throws {
    let world = try Self.world("a.sqlite", "b.sqlite")
    // Person, Tag and Team change their numbers.
    try world.alter(
      "b.sqlite", "UPDATE Z_PRIMARYKEY SET Z_ENT = Z_ENT + 40", "UPDATE ZPERSON SET Z_ENT = Z_ENT + 40",
      "UPDATE ZTAG SET Z_ENT = Z_ENT + 40", "UPDATE ZTEAM SET Z_ENT = Z_ENT + 40")
    let join = try #require(StoreSchema(model: world.model).joinTables.first)
    let renamed = [join.name, join.ownerColumn, join.destinationColumn].map { $0.replacing(/Z_(\d)/) { "Z_4\($0.1)" } }
    try world.alter(
      "b.sqlite", "ALTER TABLE \(join.name) RENAME TO \(renamed[0])",
      "ALTER TABLE \(renamed[0]) RENAME COLUMN \(join.ownerColumn) TO \(renamed[1])",
      "ALTER TABLE \(renamed[0]) RENAME COLUMN \(join.destinationColumn) TO \(renamed[2])")
    try world.run(world.job("a.sqlite", "b.sqlite"))
    #expect(try world.rows("SELECT DISTINCT Z_ENT FROM source.ZPERSON") == ["1"])
    #expect(try world.people().last == "b.sqlite 1|b.sqlite team|b.sqlite tag")
  }

  @Test func `a damaged store is an error that names it`() throws {
    let world = try Self.world("a.sqlite", "b.sqlite")
    let handle = try FileHandle(forWritingTo: URL(filePath: world.folder.file("b.sqlite")))
    try handle.seek(toOffset: 4096 * 2 + 8)
    try handle.write(contentsOf: Data(repeating: 0xff, count: 3000))
    try handle.close()
    let error = try #require(throws: GodwitError.self) { try MigrationManager(world.job("a.sqlite", "b.sqlite")).run() }
    #expect(error.code == .dataWrong && "\(error)".contains("b.sqlite"), "\(error)")
  }
}

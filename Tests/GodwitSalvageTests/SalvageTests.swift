import Foundation
import GodwitModel
import GodwitStore
import GodwitSynthesis
import TestSupport
import Testing

@testable import GodwitSalvage

@Suite struct SalvageTests {
  private func names(_ folder: TemporaryFolder) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
  }

  private func edit(_ path: String, _ statements: String...) throws {
    let connection = try StoreConnection(path: path)
    try connection.undefended {
      for statement in statements { try connection.execute(statement) }
    }
    try connection.close()
  }

  @Test(arguments: [true, false]) func `the source and its log stay as they are`(hasLog: Bool) throws {
    let world = try DamageWorld(seed: 1, hasLog: hasLog)
    let before = try names(world.folder)
    let bytes = [try world.bytes(), hasLog ? try world.bytes("-wal") : []]
    let copy = world.folder.file("copy.sqlite")
    _ = try Salvage(store: world.store, copy: copy, models: [world.model]).run()
    #expect(try names(world.folder) == before.union(["copy.sqlite"]))
    #expect(try [world.bytes(), hasLog ? world.bytes("-wal") : []] == bytes)
  }

  @Test func `a log is used up to its last sound commit`() throws {
    let folder = try TemporaryFolder()
    let world = try DamageWorld(seed: 0)
    let live = folder.file("live.sqlite")
    try FileManager.default.copyItem(atPath: world.store, toPath: live)
    let connection = try StoreConnection(path: live)
    try connection.execute("PRAGMA journal_mode = WAL")
    try connection.execute("PRAGMA wal_autocheckpoint = 0")
    try connection.execute(
      "INSERT INTO ZSHELF (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT 100001, max(Z_ENT), 1, 'first' FROM ZSHELF")
    let first = try #require(FileStatus(following: live + "-wal")?.size)
    try connection.execute(
      "INSERT INTO ZSHELF (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT 100002, max(Z_ENT), 1, 'second' FROM ZSHELF")
    var log = Array(try Data(contentsOf: URL(filePath: live + "-wal")))
    let main = Array(try Data(contentsOf: URL(filePath: live)))
    try connection.close()
    let whole = try world.salvage(main, log: log)
    #expect(whole.content.tables["ZSHELF"]?.rows[100_002] != nil && whole.report.losses.isEmpty)
    log[Int(first) + 24 + 1000] ^= 0xFF
    let result = try world.salvage(main, log: log)
    let rows = try #require(result.content.tables["ZSHELF"]).rows
    #expect(rows[100_001] != nil && rows[100_002] == nil)
    #expect(result.report.losses.contains { $0.contains("is used up to frame") } && !result.report.isWhole)
  }

  @Test func `a hot journal is rolled back, and serves for damaged pages too`() throws {
    let world = try DamageWorld(seed: 0)
    let live = world.folder.file("live.sqlite")
    try FileManager.default.copyItem(atPath: world.store, toPath: live)
    let connection = try StoreConnection(path: live)
    try connection.execute("PRAGMA journal_mode = DELETE")
    try connection.execute("PRAGMA cache_size = 2")
    try connection.execute("BEGIN")
    try connection.execute("UPDATE ZITEM SET ZTITLE = 'never committed'")
    try connection.execute("DELETE FROM ZSHELF")
    var bytes = Array(try Data(contentsOf: URL(filePath: live)))
    let journal = try Data(contentsOf: URL(filePath: live + "-journal"))
    try connection.execute("ROLLBACK")
    try connection.close()
    // A page that the journal has.
    let saved = Int(Array(journal).number(at: 512, size: 4))
    for place in 0..<world.pages.size { bytes[(saved - 1) * world.pages.size + place] = 0 }
    let path = world.folder.file("damaged.sqlite")
    try journal.write(to: URL(filePath: path + "-journal"))
    let result = try world.salvage(bytes)
    var oracle = SalvageOracle(world)
    oracle.check(result.content, damaged: [])
    #expect(oracle.faults.isEmpty, "page \(saved): \(oracle.faults.prefix(5))\n\(result.report)")
  }

  @Test func `a log of another store is not used`() throws {
    let (world, other) = (try DamageWorld(seed: 0, hasLog: true), try DamageWorld(seed: 5, rows: 400, hasLog: true))
    let result = try world.salvage(world.bytes(), log: other.bytes("-wal"))
    #expect(result.report.losses.contains { $0.contains("it is of another") }, "\(result.report)")
    #expect(result.report.tables.allSatisfy { $0.lostRanges == 0 })
  }

  @Test(arguments: testSeeds(2)) func `pages of the log are used in place of damaged ones`(seed: UInt64) throws {
    let world = try DamageWorld(seed: seed, hasLog: true)
    let (sound, log) = (try world.bytes(), try world.bytes("-wal"))
    let logged = Set(
      stride(from: 32, to: log.count, by: world.pages.size + 24).map { Int(log.number(at: $0, size: 4)) })
    for page in TestTier.sample(1...sound.count / world.pages.size, each: 5) {
      var bytes = sound
      // The header says the size of a page; the log says it too.
      for place in 0..<world.pages.size { bytes[(page - 1) * world.pages.size + place] = 0 }
      let result = try world.salvage(bytes, log: log)
      var oracle = SalvageOracle(world)
      oracle.check(result.content, damaged: logged.contains(page) ? [] : [page])
      #expect(oracle.faults.isEmpty, "seed \(seed), page \(page): \(oracle.faults.prefix(5))\n\(result.report)")
    }
  }

  @Test func `a column and a table of the model that are missing are made and named`() throws {
    let world = try DamageWorld(seed: 2)
    try edit(
      world.store, "DROP INDEX IF EXISTS x", "ALTER TABLE ZEPISODE DROP COLUMN ZPLAYED", "DROP TABLE ZTAG")
    let result = try world.salvage(world.bytes())
    let episodes = try #require(result.content.tables["ZEPISODE"])
    let place = try #require(episodes.columns.firstIndex(of: "ZPLAYED"))
    #expect(episodes.rows.values.allSatisfy { $0[place] == .integer(0) } && !episodes.rows.isEmpty)
    #expect(result.content.tables["ZTAG"]?.rows.isEmpty == true)
    #expect(result.report.losses.contains("table 'ZEPISODE' lacked 1 column of the model: ZPLAYED"))
    #expect(result.report.losses.contains("table 'ZTAG' of the model is not in the store"), "\(result.report)")
    #expect(
      result.report.links.contains {
        $0.isPair && $0.relationship.contains("tags") || $0.relationship.contains("podcasts")
      })
    #expect(!result.report.isWhole)
  }

  @Test func `wrong counters and lost entity rows are made again, and nothing is lost`() throws {
    let world = try DamageWorld(seed: 1)
    try edit(
      world.store, "UPDATE ZMESSAGE SET ZCONVERSATION = NULL, ZSENDER = NULL", "UPDATE Z_PRIMARYKEY SET Z_MAX = -1",
      "DELETE FROM Z_PRIMARYKEY WHERE Z_NAME = 'User'",
      "UPDATE Z_PRIMARYKEY SET Z_SUPER = 9 WHERE Z_NAME = 'TextMessage'")
    let result = try world.salvage(world.bytes())
    var oracle = SalvageOracle(world)
    oracle.check(result.content, damaged: [])
    #expect(oracle.faults.allSatisfy { $0.contains("ZCONVERSATION") || $0.contains("ZSENDER") || $0.contains("Z_FOK") })
    let rows = try #require(result.content.tables["Z_PRIMARYKEY"]).rows.values
    #expect(rows.contains { $0[1] == .text("User") })
    let message = try #require(rows.first { $0[1] == .text("Message") })
    #expect(rows.first { $0[1] == .text("TextMessage") }?[2] == message[0])
    #expect(result.report.inferred.contains { $0.contains("'Z_PRIMARYKEY' was corrected") })
  }

  @Test func `large binary data comes over, piece by piece`() throws {
    let world = try DamageWorld(seed: 2)
    try edit(
      world.store, "UPDATE ZPODCAST SET ZARTWORK = randomblob(3000001), ZTITLE = 'large' WHERE Z_PK = 7",
      "UPDATE ZPODCAST SET ZARTWORK = zeroblob(1500000) WHERE Z_PK = 9")
    let connection = try StoreConnection(path: world.store)
    let sound = try StoreContent(connection)
    try connection.close()
    let result = try world.salvage(world.bytes())
    #expect(result.content.tables["ZPODCAST"]?.rows == sound.tables["ZPODCAST"]?.rows)
    #expect(result.report.tables.allSatisfy { $0.lostRanges == 0 })
    // A hole in it costs the row.
    var bytes = try world.bytes()
    let hole = bytes.count / world.pages.size - 600
    for place in 0..<world.pages.size { bytes[(hole - 1) * world.pages.size + place] = 0 }
    let damaged = try world.salvage(bytes)
    let lost = Set(sound.tables["ZPODCAST"]?.rows.keys.map { $0 } ?? [])
      .subtracting(damaged.content.tables["ZPODCAST"]?.rows.keys.map { $0 } ?? [])
    #expect(lost == [7] || lost == [9], "\(lost)")
  }

  @Test func `a virtual table comes over with its rows`() throws {
    let world = try DamageWorld(seed: 2)
    try edit(
      world.store, "CREATE VIRTUAL TABLE Z_RT_Place USING rtree(id, minX, maxX)",
      "INSERT INTO Z_RT_Place VALUES (1, 2, 3), (4, 5, 6)",
      "CREATE TRIGGER Z_RT_Place_insert AFTER INSERT ON ZTAG BEGIN INSERT INTO Z_RT_Place VALUES (NEW.Z_PK + 100, 1, 1); END"
    )
    let result = try world.salvage(world.bytes())
    #expect(result.report.losses.isEmpty && result.report.tables.allSatisfy { $0.lostRanges == 0 })
    let connection = try StoreConnection(path: result.copy)
    defer { try? connection.close() }
    try connection.execute("PRAGMA trusted_schema = ON")
    try connection.execute("INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (900000, 4, 1, 'x')")
    #expect(try connection.integer("SELECT count(*) FROM Z_RT_Place WHERE minX > 0") == 3)
  }

  @Test func `rows of no entity are listed, and left out of a hierarchy`() throws {
    let world = try DamageWorld(seed: 1)
    try edit(
      world.store, "UPDATE ZMESSAGE SET Z_ENT = 77 WHERE Z_PK IN (SELECT Z_PK FROM ZMESSAGE ORDER BY Z_PK LIMIT 2)",
      "UPDATE ZUSER SET Z_ENT = 78 WHERE Z_PK = (SELECT min(Z_PK) FROM ZUSER)")
    let result = try world.salvage(world.bytes())
    let strays = result.report.strays
    #expect(strays.first { $0.table == "ZMESSAGE" }?.isLeftOut == true)
    #expect(strays.first { $0.table == "ZMESSAGE" }?.rows == 2)
    #expect(strays.first { $0.table == "ZUSER" }?.isLeftOut == false)
    let messages = try #require(result.content.tables["ZMESSAGE"]).rows.count
    #expect(messages == (try #require(world.content.tables["ZMESSAGE"]).rows.count) - 2)
  }

  @Test func `external files come over, and missing ones are nil and listed`() throws {
    let world = try DamageWorld(seed: 2)
    let (there, gone) = (UUID().uuidString, UUID().uuidString)
    let folder = world.folder.file(".damaged_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data("picture".utf8).write(to: URL(filePath: folder + "/" + there))
    func value(_ name: String) -> String { "x'02\(Array(name.utf8).map { String($0, radix: 16) }.joined())00'" }
    try edit(
      world.store,
      "UPDATE ZPODCAST SET ZARTWORK = \(value(there)) WHERE Z_PK = (SELECT min(Z_PK) FROM ZPODCAST)",
      "UPDATE ZPODCAST SET ZARTWORK = \(value(gone)) WHERE Z_PK = (SELECT max(Z_PK) FROM ZPODCAST)")
    let result = try world.salvage(world.bytes())
    let files = try FileManager.default.contentsOfDirectory(
      atPath: world.folder.file(".damaged-copy_SUPPORT/_EXTERNAL_DATA"))
    #expect(files == [there] && result.report.files == 1)
    #expect(result.report.missingFiles.map(\.files) == [[gone]] && result.report.missingFiles[0].isNil)
    let table = try #require(result.content.tables["ZPODCAST"])
    let place = try #require(table.columns.firstIndex(of: "ZARTWORK"))
    #expect(table.rows[table.rows.keys.max() ?? 0]?[place] == .null)
  }

  @Test func `a store without a model comes over as tables`() throws {
    let world = try DamageWorld(seed: 3)
    var bytes = try world.bytes()
    let leaf = try #require(
      world.pages.kindOfPage.first { $0.value == "leaf" && world.pages.tableOfPage[$0.key] == "ZPERSON" }?.key)
    for place in 0..<world.pages.size { bytes[(leaf - 1) * world.pages.size + place] = 0 }
    let result = try world.salvage(bytes, models: [])
    #expect(result.report.model == nil && !result.report.isWhole)
    for (row, pages) in world.pages.pagesOfRow where !pages.contains(leaf) {
      #expect(
        result.content.tables[row.table]?.rows[row.key] == world.content.tables[row.table]?.rows[row.key], "\(row)")
    }
  }

  @Test func `an error says why a file cannot be salvaged`() throws {
    let folder = try TemporaryFolder()
    func code(_ bytes: [UInt8], copy: String = "copy.sqlite", models: [String] = []) -> GodwitError.Code? {
      let path = folder.file("store.sqlite")
      do {
        try Data(bytes).write(to: URL(filePath: path))
        _ = try Salvage(store: path, copy: folder.file(copy), models: models).run()
        return nil
      } catch { return (error as? GodwitError)?.code }
    }
    var random = SeededGenerator(seed: 1)
    #expect(code((0..<40_960).map { _ in UInt8(random.below(256)) }) == .dataWrong)
    #expect(code([]) == .dataWrong)
    #expect(
      code(Array("<?xml version=\"1.0\"?><!DOCTYPE database SYSTEM \"x\"><database></database>".utf8)) == .dataWrong)
    let world = try DamageWorld(seed: 0, rows: 20)
    #expect(code(try world.bytes(), copy: "store.sqlite") == .cannotCreate)
    #expect(code(try world.bytes(), copy: "a-wal") == .usage)
    #expect(code(try world.bytes(), models: [try DamageWorld(seed: 1, rows: 10).model]) == .noPath)
    #expect(try names(folder) == ["store.sqlite"])
  }
}

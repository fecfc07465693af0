import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@testable import Godwit

/// A store without history and free pages, in the place of the old one.
struct StoreCompactionTests {
  private struct Died: Error {}

  private static let history = [
    "CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB )",
    "CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT )",
    "CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID)",
    "INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 50), (16002, 'TRANSACTION', 0, 3000)",
    "WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000) INSERT INTO ACHANGE SELECT x, 16001, NULL, 0, 1, x, x, randomblob(40) FROM n",
    "INSERT INTO ATRANSACTION VALUES (7, 16002, NULL, 1.5)",
  ]

  private let folder: TemporaryFolder
  private let path: String

  /// Forty notes of sixty, an external file, a table and a view that no model names, and history.
  init() throws {
    folder = try TemporaryFolder()
    path = folder.file("notes.sqlite")
    var data = AttributeDescription(name: "data", type: .binary)
    data.allowsExternalBinaryDataStorage = true
    let note = EntityDescription(
      name: "Note", attributes: [AttributeDescription(name: "text", type: .string), data],
      relationships: [
        .toMany("links", "Note", inverse: "linkedBy"), .toMany("linkedBy", "Note", inverse: "links"),
      ])
    let builder = try StoreBuilder(path: path, model: ManagedObjectModel(name: "1", entities: [note]))
    for key in Int64(1)...60 {
      try builder.insert(
        "Note", key: key, attributes: ["text": .init(String(repeating: "text \(key) ", count: 100))],
        relationships: ["links": [max(1, key - 1)]])
    }
    try builder.finish()
    let support = SupportFolder(ofStoreAt: path)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    try Data([1]).write(to: URL(filePath: support.path(of: "00000001-1111-2222-3333-444444444444")))
    try alter(
      Self.history + [
        "DELETE FROM ZNOTE WHERE Z_PK > 40", "UPDATE ZNOTE SET Z_OPT = 9 WHERE Z_PK = 3",
        "CREATE TABLE own (a TEXT, b)", "INSERT INTO own VALUES ('x', 1.5), (NULL, x'00')",
        "CREATE VIEW newest AS SELECT * FROM ZNOTE", "PRAGMA user_version = 7",
      ])
  }

  private func alter(_ statements: [String]) throws {
    let connection = try StoreConnection(path: path)
    for sql in statements { try connection.execute(sql) }
    try connection.close()
  }

  /// Every definition, and every row of every table with its rowid, but for the rows of history.
  private func content(_ path: String) throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: path)
    var lines = try connection.strings(
      "SELECT type || name || COALESCE(sql, '') FROM source.sqlite_master WHERE name <> 'Z_MODELCACHE' ORDER BY 1")
    for table in try connection.strings("SELECT name FROM source.sqlite_master WHERE type = 'table' ORDER BY name")
    where !table.hasPrefix("A") && table != "Z_MODELCACHE" {
      // The counters of history have a test of their own.
      let kept = table == "Z_PRIMARYKEY" ? " WHERE Z_ENT < 16000" : ""
      let rows = try connection.rows("SELECT rowid, * FROM source.\(quoted(table))\(kept) ORDER BY rowid")
      lines += rows.map { "\(table) \($0)" }
    }
    return lines
  }

  private func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  private func integer(_ sql: String) throws -> Int64? {
    try StoreConnection.openStore(readingAt: path).integer(sql)
  }

  // MARK: Files beside the store

  @Test(arguments: ["-wal", "-journal"])
  func `a file that SQLite would pass over and remove stays, and the store is not compacted`(suffix: String) throws {
    let noise = Data((0..<600).map { UInt8(truncatingIfNeeded: $0 &* 7 | 1) })
    try noise.write(to: URL(filePath: path + suffix))
    for isPlan in [true, false] {
      let error = #expect(throws: GodwitError.self) {
        _ = isPlan ? try StoreCompaction(store: path).plan() : try StoreCompaction(store: path, keepsOld: true).run()
      }
      #expect(error?.code == .dataWrong && error?.message.contains("\(suffix)' is not used") == true, "\(error as Any)")
    }
    #expect(try Data(contentsOf: URL(filePath: path + suffix)) == noise)
    #expect(try !files().contains { $0.contains("~") || $0.contains("godwit") })
  }

  @Test func `what an ended transaction left behind does not keep a store from being compacted`() throws {
    try Data(count: 512).write(to: URL(filePath: path + "-journal"))
    #expect(try StoreCompaction(store: path).run().outcome == .compacted)
  }

  // MARK: The result

  @Test func `history and free pages go, and everything else stays`() throws {
    let before = try content(path)
    #expect(try integer("PRAGMA source.freelist_count") ?? 0 > 0)
    let plan = try StoreCompaction(store: path).plan()
    #expect(plan.history.map(\.rows) == [2000, 1] && plan.outcome == .planned)
    let report = try StoreCompaction(store: path).run()
    #expect(report.outcome == .compacted && report.keptAs == nil)
    #expect(try content(path) == before)
    #expect(try integer("PRAGMA source.freelist_count") == 0)
    #expect(try integer("PRAGMA source.user_version") == 7)
    for table in ["ACHANGE", "ATRANSACTION"] { #expect(try integer("SELECT COUNT(*) FROM source.\(table)") == 0) }
    #expect(report.newBytes == Int64(try Data(contentsOf: URL(filePath: path)).count))
    // The forecast is near what comes out.
    let new = try #require(report.newBytes)
    #expect(new < report.sizeBytes && abs(new - report.expectedBytes) < report.sizeBytes / 10, "\(report)")
    #expect(try files() == [".notes_SUPPORT", "notes.sqlite"])
    #expect(try SupportFolder(ofStoreAt: path).size(of: "00000001-1111-2222-3333-444444444444") == 1)
  }

  @Test(arguments: [
    "UPDATE own SET b = 1.25 WHERE a = 'x'", "UPDATE own SET b = x'01' WHERE a IS NULL", "UPDATE own SET b = 'x'",
    "DELETE FROM own WHERE a IS NULL", "INSERT INTO own VALUES (NULL, NULL)",
  ]) func `a value that differs is seen before the exchange`(change: String) throws {
    let other = folder.file("other.sqlite")
    try FileManager.default.copyItem(atPath: path, toPath: other)
    func isEqual() throws -> Bool {
      let (old, new) = (try StoreConnection.openStore(readingAt: path), try StoreConnection.openStore(readingAt: other))
      return try StoreCompaction.isEqual("own", old, new) {}
    }
    #expect(try isEqual())
    let connection = try StoreConnection(path: other)
    try connection.execute(change)
    try connection.close()
    #expect(try !isEqual())
  }

  @Test func `a number of history is never given out again`() throws {
    _ = try StoreCompaction(store: path).run()
    // CHANGE counted to 50 although it had the key 2000.
    #expect(try integer("SELECT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_ENT = 16001") == 2000)
    #expect(try integer("SELECT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_ENT = 16002") == 3000)
  }

  @Test func `a compact store is left alone, and a dry run writes nothing`() throws {
    let before = try Data(contentsOf: URL(filePath: path))
    _ = try StoreCompaction(store: path).plan()
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
    _ = try StoreCompaction(store: path).run()
    let file = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    let again = try StoreCompaction(store: path).run()
    #expect(again.outcome == .nothingToDo && again.newBytes == nil)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int == file)
  }

  @Test func `the log of a store is a part of it`() throws {
    let connection = try StoreConnection(path: path)
    try connection.execute("PRAGMA journal_mode = WAL")
    try connection.execute("INSERT INTO own VALUES ('logged', 1)")
    // A process that was killed leaves its log.
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: folder.file("killed.sqlite" + suffix))
    }
    try connection.close()
    let killed = folder.file("killed.sqlite")
    let before = try content(killed)
    #expect(try StoreCompaction(store: killed).run().outcome == .compacted)
    #expect(try content(killed) == before)
    #expect(try StoreConnection.openStore(readingAt: killed).integer("SELECT COUNT(*) FROM source.own") == 3)
  }

  @Test func `the old store is kept on request, and stands in nobody's way`() throws {
    let before = try Data(contentsOf: URL(filePath: path))
    let report = try StoreCompaction(store: path, keepsOld: true).run()
    #expect(report.keptAs == folder.file("notes~.sqlite"))
    #expect(try Data(contentsOf: URL(filePath: folder.file("notes~.sqlite"))) == before)
    #expect(
      try SupportFolder(ofStoreAt: folder.file("notes~.sqlite")).size(of: "00000001-1111-2222-3333-444444444444") == 1)
    try alter(["DELETE FROM ZNOTE WHERE Z_PK > 20"])
    let error = #expect(throws: GodwitError.self) { try StoreCompaction(store: path, keepsOld: true).run() }
    #expect(error?.code == .cannotCreate)
    #expect(try !files().contains("notes.sqlite.godwit"))
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is missing"))
  func `a store without its model gets the compiled model of its version, as Core Data keeps it`() throws {
    let fixtures = "alemar11_CoreDataPlus/Tests/Resources/SampleModel/Fixtures/"
    let found = try FileManager.default.contentsOfDirectory(atPath: Corpus.path(fixtures))
    let store = try #require(found.first { $0.hasSuffix(".sqlite") })
    let copy = folder.file("sample.sqlite")
    try FileManager.default.copyItem(atPath: Corpus.path(fixtures + store), toPath: copy)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy)
    let connection = try StoreConnection(path: copy)
    try connection.execute("DROP TABLE IF EXISTS Z_MODELCACHE")
    try connection.close()
    let before = try content(copy)
    let models = Corpus.path(fixtures + "SampleModel.momd")
    let report = try StoreCompaction(store: copy, model: models).run()
    #expect(report.modelCache == .added)
    #expect(try content(copy) == before)
    guard case .fits = try StoredModel(inStoreAt: copy, metadata: StoreMetadata(readingStoreAt: copy)) else {
      Issue.record("the store's own model is not read from it")
      return
    }
    // The notes have another version.
    let error = #expect(throws: GodwitError.self) { try StoreCompaction(store: path, model: models).run() }
    #expect(error?.code == .noPath)
  }

  // MARK: Refusals

  @Test func `a mirrored store is refused with the reason, and compacted with the flag`() throws {
    try alter([
      "CREATE TABLE ANSCKMETADATAENTRY (Z_PK INTEGER PRIMARY KEY)", "INSERT INTO ANSCKMETADATAENTRY VALUES (1)",
    ])
    let before = try Data(contentsOf: URL(filePath: path))
    for work in [{ try StoreCompaction(store: path).run() }, { try StoreCompaction(store: path).plan() }] {
      let error = try #require(throws: GodwitError.self) { try work() }
      #expect(error.code == .dataWrong && error.cause?.contains("not exported") == true)
      #expect(error.remedy?.contains("--mirrored") == true)
    }
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
    let report = try StoreCompaction(store: path, acceptsMirror: true).run()
    #expect(report.isMirrored && report.notes.contains { $0.contains("never exported") })
    #expect(try integer("SELECT COUNT(*) FROM source.ANSCKMETADATAENTRY") == 1)
  }

  @Test func `a store in use is 75, and stays`() throws {
    let other = try StoreLock(store: path)
    let error = try #require(throws: GodwitError.self) { try StoreCompaction(store: path).run() }
    #expect(error.code == .stopped && error.stopReason == .inUse)
    other.release()
    #expect(try files() == [".notes_SUPPORT", "notes.sqlite"])
  }

  @Test func `a store with the unfinished work of a job is 73`() throws {
    do {
      let work = try WorkFolder(forDestination: path)
      try WorkJournal(owner: .init(job: "nightly", appends: false)).write(in: work.path)
    }
    for work in [{ _ = try StoreCompaction(store: path).run() }, { _ = try StoreCompaction(store: path).undo() }] {
      let error = try #require(throws: GodwitError.self) { try work() }
      #expect(error.code == .cannotCreate && error.message.contains("'nightly'"), "\(error)")
    }
    #expect(try WorkJournal.read(in: path + ".godwit") != nil)
  }

  @Test func `too little room and another kind of store are refused before anything is written`() throws {
    var scarce = StoreCompaction(store: path)
    scarce.freeSpace = { _ in FreeSpace(device: 1, bytes: 1000) }
    #expect(#expect(throws: GodwitError.self) { try scarce.run() }?.code == .inputOutput)
    let note = folder.file("text.sqlite")
    try Data("<?xml version=\"1.0\"?><!DOCTYPE database SYSTEM \"x\"><database></database>".utf8)
      .write(to: URL(filePath: note))
    #expect(#expect(throws: GodwitError.self) { try StoreCompaction(store: note).run() }?.code == .dataWrong)
    #expect(try files() == [".notes_SUPPORT", "notes.sqlite", "text.sqlite"])
  }

  @Test func `a stop leaves the store and no work folder`() throws {
    let before = try Data(contentsOf: URL(filePath: path))
    let compaction = StoreCompaction(store: path)
    compaction.control.stop(reason: "SIGTERM")
    #expect(#expect(throws: GodwitError.self) { try compaction.run() }?.code == .stopped)
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
    #expect(try files() == [".notes_SUPPORT", "notes.sqlite"])
  }

  // MARK: Kills

  @Test(arguments: 1...6, [false, true])
  func `a process that dies in the exchange leaves a whole store, and the next call ends the work`(
    step: Int, keepsOld: Bool
  ) throws {
    let before = try content(path)
    var dying = StoreCompaction(store: path, keepsOld: keepsOld)
    dying.beforeExchangeStep = { if $0 == step { throw Died() } }
    #expect(throws: Died.self) { try dying.run() }
    #expect(try content(path) == before)
    let report = try StoreCompaction(store: path, keepsOld: keepsOld).run()
    #expect(report.outcome == .compacted && report.newBytes != nil)
    #expect(try content(path) == before)
    #expect(try integer("PRAGMA source.freelist_count") == 0)
    let old = keepsOld ? [".notes~_SUPPORT", "notes~.sqlite"] : []
    #expect(try files() == ([".notes_SUPPORT", "notes.sqlite"] + old).sorted())
  }

  @Test(arguments: 1...6)
  func `undo takes an exchange back that has not happened`(step: Int) throws {
    let before = try Data(contentsOf: URL(filePath: path))
    var dying = StoreCompaction(store: path, keepsOld: true)
    dying.beforeExchangeStep = { if $0 == step { throw Died() } }
    #expect(throws: Died.self) { try dying.run() }
    #expect(try StoreCompaction(store: path).undo())
    #expect(try (Data(contentsOf: URL(filePath: path)) == before) == (step < 6))
    let old = step < 6 ? [] : [".notes~_SUPPORT", "notes~.sqlite"]
    #expect(try files() == ([".notes_SUPPORT", "notes.sqlite"] + old).sorted())
    #expect(try !StoreCompaction(store: path).undo())
  }
}

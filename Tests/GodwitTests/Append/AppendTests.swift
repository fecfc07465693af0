import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// `existing: append`: a destination that exists takes the new rows.
@Suite struct AppendTests {
  private static let old =
    "SELECT Z_PK, Z_ENT, Z_OPT, ZNAME, ZHOME FROM source.ZCUSTOMER WHERE Z_PK <= 7 UNION ALL SELECT Z_PK, Z_ENT, Z_OPT, ZNUMBER, ZCUSTOMER FROM source.ZORDER WHERE Z_PK <= 3"

  @Test func `new objects get keys above all keys in use, and old objects stay unchanged`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.buildDestination()
    try world.alter("out/shop.sqlite", "UPDATE Z_PRIMARYKEY SET Z_MAX = 20 WHERE Z_NAME = 'Order'")
    let before = try StoreMetadata(readingStoreAt: world.destinationPath)
    let rows = try world.rows(Self.old)
    let summary = try world.run(world.job("a.sqlite"))
    #expect(summary.objects == 4 + 2 + 8 + 16 + 2 + 4)
    #expect(try world.rows(Self.old) == rows)
    #expect(try world.rows("SELECT MIN(Z_PK), MAX(Z_PK), COUNT(*) FROM source.ZCUSTOMER") == ["7|11|5"])
    #expect(
      try world.rows("SELECT Z_PK, ZCUSTOMER FROM source.ZORDER WHERE Z_PK > 3 ORDER BY 1 LIMIT 3") == [
        "23|8", "24|8", "25|9",
      ])
    #expect(
      try world.rows("SELECT Z_NAME, Z_MAX FROM source.Z_PRIMARYKEY ORDER BY 1") == [
        "Card|4", "City|4", "Customer|11", "Line|16", "Order|30", "Tag|11",
      ])
    let after = try StoreMetadata(readingStoreAt: world.destinationPath)
    #expect(after.uuid == before.uuid)
    #expect(after.values["com.example.note"] == .string("kept"))
    #expect(after.values[MigrationManager.jobsKey]?.array?.count == 1)
    #expect(try world.files() == ["shop.sqlite"])
    #expect(try world.rows("SELECT COUNT(*) FROM source.sqlite_master WHERE name LIKE 'godwit%'") == ["0"])
    let plain = StoreSchema(model: world.destination).indexes.count
    #expect(
      try world.rows("SELECT COUNT(*) FROM source.sqlite_master WHERE type = 'index' AND sql NOT NULL") == ["\(plain)"])
  }

  @Test func `several jobs append to one destination in order, and each is recognised as done`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.build("b.sqlite", customers: 3)
    let (first, second) = (try world.job("a.sqlite"), try world.job("b.sqlite"))
    try world.run(first)
    let alone = try StoreDump(world.destinationPath).lines.filter { $0.hasPrefix("  ") }
    try world.run(second)
    let rows = try StoreDump(world.destinationPath).lines
    #expect(alone.filter { $0.contains("a.sqlite") }.allSatisfy(rows.contains))
    #expect(alone.filter { $0.contains("a.sqlite") }.count == 4 + 2 + 4)
    #expect(try world.rows("SELECT COUNT(*), MAX(Z_PK) FROM source.ZCUSTOMER") == ["7|7"])
    // unique-by makes one object per value: those of the first job are the second's too.
    #expect(
      try world.rows("SELECT ZNAME, COUNT(*) FROM source.ZCITY GROUP BY 1 ORDER BY 1") == ["city 0|1", "city 1|1"])
    for job in [first, second] {
      #expect(try MigrationManager(job).isFinished())
      #expect(try MigrationManager(job).status().state == .finished)
      let before = try Data(contentsOf: URL(filePath: world.destinationPath))
      #expect(try world.run(job).outcome == .alreadyFinished)
      #expect(try Data(contentsOf: URL(filePath: world.destinationPath)) == before)
      try world.verify(job)
    }
    let third = try world.job(
      "b.sqlite", [.make("Tag", "Tag", kind: .copy, relationships: ["customers": .mapping("Nobody", keyPath: [])])])
    #expect(try world.refusal(third).message.contains("unknown mapping 'Nobody'"))
  }

  @Test func `an append stopped after every chunk, and killed at every step of its end, makes the same store`() throws {
    let whole = try AppendWorld()
    try whole.build("a.sqlite")
    try whole.build("b.sqlite", customers: 5, firstKey: 3)
    try whole.run(whole.job("a.sqlite"))
    let pieces = try AppendWorld()
    for name in ["a.sqlite", "b.sqlite"] {
      try FileManager.default.copyItem(atPath: whole.folder.file(name), toPath: pieces.folder.file(name))
    }
    try FileManager.default.createDirectory(atPath: pieces.folder.file("out"), withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: whole.destinationPath, toPath: pieces.destinationPath)
    try whole.run(whole.job("b.sqlite"))

    let before = try Data(contentsOf: URL(filePath: pieces.destinationPath))
    var job = try pieces.job("b.sqlite")
    var runs = 0
    while runs < 1000, FileManager.default.fileExists(atPath: pieces.workFolder) || runs == 0 {
      runs += 1
      struct Killed: Error {}
      let step = runs % 6 + 1
      job.hooks.beforeAppendStep = { if $0 == step { throw Killed() } }
      let summary = try? MigrationManager(job).run(maximumSeconds: 0)
      if let summary, summary.outcome != .stopped { break }
      // The exchange comes between steps 5 and 6.
      if step < 6 { #expect(try Data(contentsOf: URL(filePath: pieces.destinationPath)) == before) }
    }
    #expect(runs > 20)
    job.hooks.beforeAppendStep = { _ in }
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
    #expect(try pieces.files() == ["shop.sqlite"])
    #expect(try StoreDump(pieces.destinationPath).firstDifference(from: StoreDump(whole.destinationPath)) == nil)
    try pieces.verify(job)
  }

  @Test func `a finished append that took the last key is audited, and no other job can append`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.alter("a.sqlite", "UPDATE ZTAG SET Z_PK = 9223372036854775807 WHERE Z_PK = 1")
    let job = try world.job("a.sqlite")
    try world.run(job)
    try world.alter("out/shop.sqlite", "UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807 WHERE Z_NAME = 'Tag'")
    let report = try MigrationManager(job).audit(samples: 1)
    #expect(!report.findings.contains { $0.kind == .expression }, "\(report)")
    try world.build("b.sqlite")
    #expect(try world.refusal(world.job("b.sqlite")).message.contains("no key is left for another 'Tag'"))
  }

  @Test func `the content of an append does not depend on the chunk size`() throws {
    let first = try AppendWorld()
    try first.build("a.sqlite", customers: 6)
    try first.buildDestination()
    let second = try AppendWorld()
    try FileManager.default.copyItem(atPath: first.folder.file("a.sqlite"), toPath: second.folder.file("a.sqlite"))
    try FileManager.default.copyItem(atPath: first.folder.file("out"), toPath: second.folder.file("out"))
    try first.run(first.job("a.sqlite", rows: 1))
    try second.run(second.job("a.sqlite", rows: 1000))
    #expect(try StoreDump(first.destinationPath).firstDifference(from: StoreDump(second.destinationPath)) == nil)
  }

  @Test func `another model, another kind of store and a store in use are refused`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try FileManager.default.createDirectory(atPath: world.folder.file("out"), withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: world.folder.file("a.sqlite"), toPath: world.destinationPath)
    let job = try world.job("a.sqlite")
    #expect(try world.refusal(job).code == .cannotCreate)
    #expect(try world.refusal(job).message.hasSuffix("it has no entity 'City', which model 'Shop 2' has"))
    try Data("no store".utf8).write(to: URL(filePath: world.destinationPath))
    #expect(try world.refusal(job).code == .cannotCreate)
    #expect(try world.refusal(job).message.contains("not a Core Data store"))
    try FileManager.default.removeItem(atPath: world.destinationPath)
    try world.buildDestination()
    let held = try StoreLock(store: world.destinationPath, action: "test")
    let busy = try world.refusal(job)
    #expect(busy.code == .stopped)
    #expect(busy.message.contains("cannot append to"))
    #expect(try world.files() == ["shop.sqlite"])
    withExtendedLifetime(held) {}
  }

  @Test func `a destination that changed, vanished or appeared between two runs stops the append`() throws {
    func stopped(withDestination: Bool = true) throws -> AppendWorld {
      let world = try AppendWorld()
      try world.build("a.sqlite")
      if withDestination { try world.buildDestination() }
      #expect(try MigrationManager(world.job("a.sqlite")).run(maximumSeconds: 0).outcome == .stopped)
      return world
    }
    let changed = try stopped()
    try changed.alter("out/shop.sqlite", "UPDATE ZCUSTOMER SET ZNAME = 'new'")
    #expect(try changed.refusal(changed.job("a.sqlite")).code == .cannotCreate)
    #expect(try changed.refusal(changed.job("a.sqlite")).message.contains("changed since the run began"))
    #expect(try MigrationManager.discard(destination: changed.destinationPath))
    try changed.run(changed.job("a.sqlite"))
    #expect(try changed.rows("SELECT ZNAME FROM source.ZCUSTOMER WHERE Z_PK = 7") == ["new"])

    let touched = try stopped()
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -1000)], ofItemAtPath: touched.destinationPath)
    #expect(try touched.run(touched.job("a.sqlite")).wasResumed)

    let gone = try stopped()
    try FileManager.default.removeItem(atPath: gone.destinationPath)
    #expect(try gone.refusal(gone.job("a.sqlite")).message.contains("no longer exists"))

    let came = try stopped(withDestination: false)
    try came.buildDestination()
    #expect(try came.refusal(came.job("a.sqlite")).message.contains("was created during the run"))
  }

  @Test func `a uniqueness constraint holds across old objects and new ones`() throws {
    let world = try AppendWorld { entities in
      for index in entities.indices where entities[index].name == "Tag" {
        entities[index].uniquenessConstraints = [["name"]]
      }
    }
    try world.build("a.sqlite")
    try world.build("b.sqlite")
    try world.buildDestination()
    try world.run(world.job("b.sqlite"))
    try world.alter("a.sqlite", "UPDATE ZTAG SET ZNAME = 'old tag' WHERE Z_PK = 2")
    let before = try Data(contentsOf: URL(filePath: world.destinationPath))
    let error = try world.refusal(world.job("a.sqlite"))
    #expect(error.code == .dataWrong)
    #expect(error.message.contains("uniqueness constraint"))
    #expect(error.remedy?.contains("in the destination before this job") == true)
    #expect(try Data(contentsOf: URL(filePath: world.destinationPath)) == before)
  }

  @Test func `verify finds what is wrong with new objects, and counts old ones`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.buildDestination()
    let job = try world.job("a.sqlite")
    try world.run(job)
    try world.alter("out/shop.sqlite", "UPDATE ZCUSTOMER SET ZNAME = 'x', Z_OPT = 5 WHERE Z_PK = 7")
    let report = try Verifier(job: job).run()
    #expect(report.isClean)
    #expect(report.checks.contains(.init(name: "objects of Customer that the job did not make", count: 1)))
    try world.alter("out/shop.sqlite", "UPDATE ZCUSTOMER SET ZNAME = 'x' WHERE Z_PK = 9")
    #expect(try Verifier(job: job).run().findings.map(\.kind) == [.value])
    try world.alter("out/shop.sqlite", "DELETE FROM ZCUSTOMER WHERE Z_PK = 9")
    #expect(try Verifier(job: job).run().findings.contains { $0.kind == .missingObject && $0.key == 9 })
    try world.alter("a.sqlite", "UPDATE ZCUSTOMER SET ZNAME = 'y'")
    let other = try #require(throws: GodwitError.self) { try Verifier(job: job).run() }
    #expect(other.code == .missingInput)
  }

  @Test func `derived attributes of new objects are computed, and the store's triggers stay`() throws {
    let world = try AppendWorld { entities in
      for index in entities.indices where entities[index].name == "Customer" {
        var count = AttributeDescription(name: "orderCount", type: .integer64)
        count.derivationExpression = "orders.@count"
        entities[index].attributes.append(count)
      }
    }
    try world.build("a.sqlite")
    try world.build("b.sqlite", customers: 2)
    try world.run(world.job("a.sqlite"))
    let triggers = "SELECT name, sql FROM source.sqlite_master WHERE type = 'trigger' ORDER BY 1"
    let before = try world.rows(triggers)
    #expect(!before.isEmpty)
    try world.run(world.job("b.sqlite"))
    #expect(try world.rows(triggers) == before)
    #expect(try world.rows("SELECT ZORDERCOUNT, COUNT(*) FROM source.ZCUSTOMER GROUP BY 1") == ["2|6"])
    try world.verify(world.job("a.sqlite"))
  }

  @Test func `keys that an offset would overflow are renumbered above those in use`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite", customers: 2, firstKey: 1 << 61)
    try world.build("b.sqlite", customers: 2, firstKey: 1 << 61)
    try world.build("c.sqlite", customers: 2, firstKey: 1 << 61)
    for name in ["a.sqlite", "b.sqlite", "c.sqlite"] { try world.run(world.job(name)) }
    for name in ["a.sqlite", "b.sqlite", "c.sqlite"] { try world.verify(world.job(name)) }
    #expect(try world.rows("SELECT COUNT(*), COUNT(DISTINCT ZHOME) FROM source.ZCUSTOMER") == ["6|2"])
  }

  @Test func `a job that made the store without 'existing: append' is recognised and not added again`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.build("b.sqlite")
    var first = try world.job("a.sqlite")
    first.existingDestination = .fail
    try world.run(first)
    try world.run(world.job("b.sqlite"))
    try world.verify(first)
    try world.verify(world.job("b.sqlite"))
    #expect(try world.run(world.job("a.sqlite")).outcome == .alreadyFinished)
    #expect(try world.rows("SELECT COUNT(*) FROM source.ZCUSTOMER") == ["8"])
    try world.alter("out/shop.sqlite", "UPDATE ZCUSTOMER SET ZNAME = 'x' WHERE Z_PK = 2 OR Z_PK = 6")
    #expect(try Verifier(job: first).run().findings.map(\.key) == [2])
    #expect(try Verifier(job: world.job("b.sqlite")).run().findings.map(\.key) == [6])
  }

  @Test func `in a job of several steps only the last step appends`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.build("b.sqlite")
    let between = MigrationStep(
      sourceModel: world.source, destinationModel: world.source,
      mappingModels: [
        MappingModel(entityMappings: try AppendWorld.sourceEntities.map { try .make($0.name, $0.name, kind: .copy) })
      ])
    func job(_ name: String) throws -> MigrationJob {
      var job = try world.job(name)
      job.steps = [between] + job.steps
      return job
    }
    for name in ["a.sqlite", "b.sqlite"] {
      var runs = 0
      while try MigrationManager(job(name)).run(maximumSeconds: 0).outcome != .finished, runs < 500 { runs += 1 }
      #expect(runs > 5)
    }
    for name in ["a.sqlite", "b.sqlite"] { try world.verify(job(name)) }
    #expect(try world.rows("SELECT COUNT(*), MAX(Z_PK) FROM source.ZCUSTOMER") == ["8|8"])
    #expect(try world.run(job("a.sqlite")).outcome == .alreadyFinished)
  }

  @Test func `unique-by of a step before the last is said not to meet objects of the destination`() throws {
    let world = try AppendWorld()
    var job = try world.job("a.sqlite")
    let unique = try EntityMapping.make("Customer", "Customer", name: "Merging", uniqueBy: ["name"], attributes: [:])
    job.steps.insert(
      MigrationStep(
        sourceModel: world.source, destinationModel: world.source,
        mappingModels: [MappingModel(entityMappings: [unique])]), at: 0)
    #expect(job.inputNotes.contains { $0.code == .met && $0.text.contains("mapping Merging already") })
    job.existingDestination = .fail
    #expect(!job.inputNotes.contains { $0.code == .met })
  }

  @Test func `an unfinished copy of the destination is made again`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.buildDestination()
    let whole = try Data(contentsOf: URL(filePath: world.destinationPath))
    for (name, bytes) in [("store.sqlite", whole), ("store.sqlite.part", whole.prefix(5000))] {
      try FileManager.default.createDirectory(atPath: world.workFolder, withIntermediateDirectories: true)
      try WorkFolder.mark(world.workFolder, isSynced: true)
      try bytes.write(to: URL(filePath: world.workFolder + "/" + name))
      #expect(try MigrationManager(world.job("a.sqlite")).run(maximumSeconds: 0).outcome == .stopped)
      #expect(try MigrationManager.discard(destination: world.destinationPath))
      #expect(try Data(contentsOf: URL(filePath: world.destinationPath)) == whole)
    }
    try world.run(world.job("a.sqlite"))
    #expect(try world.files() == ["shop.sqlite"])
  }

  @Test func `appending to a mirrored store or to one with an R-tree index is refused`() throws {
    for (sql, code, what) in [
      ("CREATE TABLE ANSCKRECORDMETADATA (Z_PK INTEGER)", GodwitError.Code.dataWrong, "CloudKit"),
      ("CREATE VIRTUAL TABLE ZPLACES USING rtree(id, low, high)", .configuration, "'ZPLACES' would not find"),
    ] {
      let world = try AppendWorld()
      try world.build("a.sqlite")
      try world.buildDestination()
      try world.alter("out/shop.sqlite", sql)
      let error = try world.refusal(world.job("a.sqlite"))
      #expect(error.code == code)
      #expect(error.message.contains(what))
      #expect(try world.files() == ["shop.sqlite"])
    }
  }

  @Test func `a destination with other numbering, triggers and indexes keeps them`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.buildDestination()
    for sql in [
      "UPDATE Z_PRIMARYKEY SET Z_ENT = 101 WHERE Z_NAME = 'Card'",
      "CREATE TRIGGER own AFTER INSERT ON ZCUSTOMER BEGIN SELECT NSCoreDataOnly(); END",
      "CREATE UNIQUE INDEX own_name ON ZCUSTOMER (ZNAME)",
    ] { try world.alter("out/shop.sqlite", sql) }
    let job = try world.job("a.sqlite")
    try world.run(job)
    #expect(try world.rows("SELECT DISTINCT Z_ENT FROM source.ZCARD") == ["101"])
    #expect(
      try world.rows("SELECT name FROM source.sqlite_master WHERE name LIKE 'own%' ORDER BY 1") == ["own", "own_name"])
    try world.build("b.sqlite")
    try world.alter("b.sqlite", "UPDATE ZCUSTOMER SET ZNAME = 'old' WHERE Z_PK = 1")
    let error = try world.refusal(world.job("b.sqlite"))
    #expect(error.code == .dataWrong)
    #expect(error.message.contains("two objects share a value of a uniqueness constraint"))
  }

  @Test func `the plan of an append names its destination and writes nothing`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.buildDestination()
    let plan = try MigrationManager(world.job("a.sqlite")).plan()
    #expect(plan.notes.first?.hasPrefix("appends to 3 objects in") == true)
    #expect(plan.steps[0].passes.flatMap(\.mappings).contains { $0.keys == "+7" })
    #expect(try world.files() == ["shop.sqlite"])
    #expect(try !MigrationManager(world.job("a.sqlite")).isFinished())
    #expect(try MigrationManager(world.job("a.sqlite")).status().state == .notStarted)
  }

  @Test func `running a finished append again leaves another job's unfinished run unchanged`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.build("b.sqlite")
    try world.run(world.job("a.sqlite"))
    #expect(try MigrationManager(world.job("b.sqlite")).run(maximumSeconds: 0).outcome == .stopped)
    #expect(try world.run(world.job("a.sqlite")).outcome == .alreadyFinished)
    #expect(try world.run(world.job("b.sqlite")).wasResumed)
  }

  @Test func `a run of a finished append removes its work folder, as a power cut may bring it back`() throws {
    let world = try AppendWorld()
    for name in ["a.sqlite", "b.sqlite", "c.sqlite"] { try world.build(name) }
    try world.run(world.job("a.sqlite"))
    var job = try world.job("b.sqlite")
    // The folder with the finished store, before the store is renamed over the destination.
    let (work, kept) = (world.workFolder, world.folder.file("kept"))
    job.hooks.beforeAppendStep = { step in
      if step == 1 { try FileManager.default.copyItem(atPath: work, toPath: kept) }
    }
    #expect(try MigrationManager(job).run().outcome == .finished)
    try FileManager.default.moveItem(atPath: kept, toPath: work)
    let store = try Data(contentsOf: URL(filePath: world.destinationPath))
    #expect(try MigrationManager(world.job("b.sqlite")).run().outcome == .alreadyFinished)
    #expect(!FileManager.default.fileExists(atPath: work))
    #expect(try Data(contentsOf: URL(filePath: world.destinationPath)) == store)
    #expect(try world.run(world.job("c.sqlite")).outcome == .finished)
  }

  @Test(arguments: [1, 5]) func `a finished append that waits for its exchange has no chunk left`(step: Int) throws {
    struct Died: Error {}
    let world = try AppendWorld()
    for name in ["a.sqlite", "b.sqlite"] { try world.build(name) }
    try world.run(world.job("a.sqlite"))
    let before = try Data(contentsOf: URL(filePath: world.destinationPath))
    var job = try world.job("b.sqlite")
    job.hooks.beforeAppendStep = { if $0 == step { throw Died() } }
    #expect(throws: Died.self) { try MigrationManager(job).run() }
    let status = try MigrationManager(job).status()
    #expect(status.state == .unfinished && status.percent == 100 && status.run?.startsAgain == false, "\(status)")
    #expect(try MigrationManager.discard(destination: job.destinationPath))
    #expect(try Data(contentsOf: URL(filePath: world.destinationPath)) == before)
  }
}

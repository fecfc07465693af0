import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitDisk
@testable import GodwitEngine
@testable import GodwitJob
@testable import GodwitStore
@testable import GodwitVerifier

/// Objects that were repaired in a quarantine and come into the destination.
@Suite struct FromQuarantineTests {
  @Test(arguments: testSeeds(TestTier.choose(1, long: 4)))
  func `the destination is that of a source which was repaired by hand, also the second time`(seed: UInt64) throws {
    let world = try RepairWorld(seed: seed)
    let source = try Data(contentsOf: URL(filePath: world.world.sourcePath))
    #expect(try world.run().quarantinedObjects > 4)
    try world.edit(seed: seed &+ 1, percent: 50)
    let first = try world.take()
    #expect(first.outcome == .finished)
    try world.expectEqual(first, "seed \(seed), first")
    let again = try world.take()
    #expect(again.outcome == .alreadyFinished)
    #expect(again.quarantined == first.quarantined)

    // From a copy elsewhere, of which nothing changes.
    guard first.quarantinedObjects > 0 else { return }
    let copy = world.folder.file("edited/people.sqlite")
    try FileManager.default.createDirectory(atPath: world.folder.file("edited"), withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: world.quarantine, toPath: copy)
    let files = SupportFolder(ofStoreAt: world.quarantine)
    if files.exists {
      try FileManager.default.copyItem(atPath: files.path, toPath: SupportFolder(ofStoreAt: copy).path)
    }
    try world.edit(copy, seed: seed &+ 2, percent: 100)
    let bytes = try Data(contentsOf: URL(filePath: copy))
    let second = try world.take(copy)
    try world.expectEqual(second, "seed \(seed), second")
    #expect(try world.take(copy).outcome == .alreadyFinished)
    #expect(try world.run().outcome == .alreadyFinished)
    #expect(try Data(contentsOf: URL(filePath: copy)) == bytes)
    #expect(try Data(contentsOf: URL(filePath: world.world.sourcePath)) == source)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: world.folder.file("out")).contains { $0.contains("repairs") })
  }

  @Test func `everything can be repaired, and the same command is done then`() throws {
    let world = try RepairWorld(seed: 7)
    try world.run()
    let both = try world.open()
    for store in both.stores {
      for key in both.addresses { try store.set(key, "ZSTREET", .text("s"), table: "ZADDRESS") }
      for key in both.people {
        try store.set(key, "ZNAME", .text("n"))
        try store.set(key, "ZAGE", .integer(1))
        try store.connection.execute(
          "UPDATE ZPERSON SET ZBADGE = 'A1' WHERE Z_PK = ?1 AND ZBADGE IS NOT NULL", [.integer(key)])
      }
    }
    let homeless = try both.whole.keys("SELECT Z_PK FROM ZPERSON WHERE ZADDRESS IS NULL")
    if let home = both.addresses.first {
      for key in homeless {
        for store in both.stores { try store.link(key, "address", to: ("Address", home), place: 900 + key) }
      }
    }
    try both.close()
    let summary = try world.take()
    try world.expectEqual(summary, "all")
    #expect(homeless.isEmpty || !both.addresses.isEmpty)
    #expect(summary.quarantinedObjects == 0)
    #expect(!FileManager.default.fileExists(atPath: world.quarantine))
    #expect(try world.take().outcome == .alreadyFinished)
    // The repairs are the destination's: nothing undoes them.
    let manager = try MigrationManager(world.job())
    #expect(try manager.status().state == .finished)
    #expect(try manager.isFinished())
    let receipt = try Receipt.read(world.destination + Receipt.suffix)
    #expect(receipt.repairs?.objects == Int64(both.people.count + both.addresses.count))
    #expect(receipt.source.path == world.world.sourcePath)
  }

  @Test func `an object that was deleted from the quarantine is taken as the source has it`() throws {
    let world = try RepairWorld(seed: 9, broken: 60)
    try world.run()
    let both = try world.open()
    let (gone, kept) = (try #require(both.people.first), try #require(both.people.last))
    try both.held.connection.execute("DELETE FROM ZPERSON WHERE Z_PK = ?1", [.integer(gone)])
    for store in both.stores { try store.set(kept, "ZNAME", .text("changed")) }
    try both.close()
    let summary = try world.take()
    try world.expectEqual(summary, "deleted")
    let told = try #require(summary.codedNotes.first { $0.code == .repaired }?.text)
    #expect(told.contains("1 object of the quarantine was edited") && told.contains("1 object deleted"), "\(told)")
  }

  @Test func `a new file of binary data comes with its object, and a missing one is refused`() throws {
    let world = try RepairWorld(seed: 21)
    try world.run()
    let both = try world.open()
    let key = try #require(both.people.first)
    let name = "00000000-0000-0000-7000-000000000001"
    for store in both.stores { try store.set(key, "ZPHOTO", .blob(StoredBinary.external(name: name).bytes)) }
    try both.close()
    try world.expectRefusal(.dataWrong, name)
    for path in [world.quarantine, world.repairedPath] {
      let support = SupportFolder(ofStoreAt: path)
      try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
      try Data(repeating: 9, count: 700).write(to: URL(filePath: support.path(of: name)))
    }
    try world.edit(seed: 22, percent: 100)
    try world.expectEqual(world.take(), "new file")
    #expect(try SupportFolder(ofStoreAt: world.repairs).size(of: name) == 700)
    try FileManager.default.removeItem(atPath: SupportFolder(ofStoreAt: world.repairs).path(of: name))
    let report = try Verifier(job: world.job()).run()
    #expect(report.findings.contains { $0.message.contains(name) }, "\(report)")
  }

  @Test func `edits that are only in a write-ahead log count`() throws {
    let world = try RepairWorld(seed: 23)
    try world.run()
    let both = try world.open()
    try both.held.connection.execute("PRAGMA journal_mode = WAL")
    for store in both.stores {
      for key in both.people { try store.set(key, "ZNAME", .text("in the log")) }
    }
    // The log goes when the last application closes the store.
    let copy = world.folder.file("copy.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: world.quarantine + suffix, toPath: copy + suffix)
    }
    try both.close()
    let files = SupportFolder(ofStoreAt: world.quarantine)
    if files.exists {
      try FileManager.default.copyItem(atPath: files.path, toPath: SupportFolder(ofStoreAt: copy).path)
    }
    #expect(try StoreFiles(path: copy).hasWAL())
    // Beside the destination lie the same edits, without a log.
    let summary = try world.take(copy)
    #expect(summary.outcome == .finished)
    try world.expectEqual(summary, "log")
    #expect(try world.take(copy).outcome == .alreadyFinished)
    #expect(try StoreFiles(path: copy).hasWAL())
  }

  @Test func `an XML store is replaced by one with the repairs`() throws {
    let world = try RepairWorld(seed: 25)
    var job = try world.job()
    (job.destinationType, job.destinationPath) = (.xml, world.folder.file("out/people.xml"))
    #expect(try MigrationManager(job).run().quarantinedObjects > 0)
    let before = try Data(contentsOf: URL(filePath: job.destinationPath))
    let file = job.destinationPath + Quarantine.suffix
    try world.edit(file, seed: 26, percent: 100)
    #expect(try MigrationManager(job).run(fromQuarantine: URL(filePath: file)).outcome == .finished)
    #expect(try Data(contentsOf: URL(filePath: job.destinationPath)) != before)
    let report = try Verifier(job: job).run()
    #expect(report.isClean && report.checks.contains { $0.name == "repaired objects" }, "\(report)")
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
  }

  // MARK: What is found

  @Test func `a proof finds what is wrong after repairs`() throws {
    let world = try RepairWorld(seed: 3)
    try world.run()
    try world.edit(seed: 4, percent: 60)
    try world.take()
    func findings() throws -> [VerificationReport.Finding] { try Verifier(job: world.job()).run().findings }
    #expect(try findings().isEmpty)
    let repaired = try StoreConnection(path: world.repairs)
    let key = try #require(
      try repaired.integer("SELECT Z_PK FROM ZPERSON WHERE ZNAME LIKE 'repaired %' ORDER BY 1 LIMIT 1"))
    try repaired.close()
    let connection = try StoreConnection(path: world.destination)
    try connection.execute("UPDATE ZPERSON SET ZNAME = 'other' WHERE Z_PK = ?1", [.integer(key)])
    try connection.close()
    #expect(try findings().contains { $0.kind == .value && $0.key == key })
  }

  @Test func `repairs that are lost are found`() throws {
    let world = try RepairWorld(seed: 5)
    try world.run()
    try world.edit(seed: 6, percent: 50)
    #expect(try world.take().quarantinedObjects > 0)
    let away = world.folder.file("away.sqlite")
    try FileManager.default.moveItem(atPath: world.repairs, toPath: away)
    #expect(try Verifier(job: world.job()).run().findings.contains { $0.message.contains("repairs") })
    let receipt = URL(filePath: world.destination + Receipt.suffix)
    #expect(try ReceiptCheck(receipt: receipt).run().findings.contains { $0.message.contains("repairs") })
    #expect(try world.run().codedNotes.contains { $0.code == .repairsMissing })
    let both = try world.open()
    for store in both.stores { try store.set(both.people[0], "ZNAME", .text("edited")) }
    try both.close()
    try world.expectRefusal(.cannotCreate, "repairs")
    // Other repairs than those that the destination names are no better.
    try FileManager.default.copyItem(atPath: away, toPath: world.repairs)
    let connection = try StoreConnection(path: world.repairs)
    try connection.execute("DELETE FROM \(RepairsFile.objects)")
    try connection.close()
    #expect(try !Verifier(job: world.job()).run().isClean)
    try world.expectRefusal(.cannotCreate, "repairs")
  }

  // MARK: What is refused

  @Test func `a file that is no quarantine of the destination is refused, each kind with its status`() throws {
    let world = try RepairWorld(seed: 13)
    try world.expectRefusal(.cannotCreate, "no such destination")
    try world.run()
    try world.expectRefusal(.missingInput, "nowhere.sqlite", file: world.folder.file("nowhere.sqlite"))
    try world.expectRefusal(.dataWrong, "no quarantine", file: world.world.sourcePath)
    try Data("text".utf8).write(to: URL(filePath: world.folder.file("text.sqlite")))
    try world.expectRefusal(.dataWrong, "text.sqlite", file: world.folder.file("text.sqlite"))
    // Of another source.
    let other = try RepairWorld(seed: 14)
    try other.run()
    try other.edit(seed: 15, percent: 50)
    try world.expectRefusal(.cannotCreate, "not the quarantine of", file: other.quarantine)
    // Nothing was edited.
    #expect(try world.take().outcome == .alreadyFinished)
    try world.edit(seed: 16, percent: 50)
    var job = try world.job()
    job.quarantine = nil
    #expect(try world.error(job)?.code == .configuration)
    job = try world.job()
    job.receipt = nil
    #expect(try world.error(job)?.code == .configuration)
    job = try world.job()
    job.appends = true
    #expect(try world.error(job)?.code == .configuration)
    let source = try StoreConnection(path: world.world.sourcePath)
    try source.execute("UPDATE ZGROUP SET ZTITLE = 'changed'")
    try source.close()
    try world.expectRefusal(.cannotCreate, "source store")
  }

  @Test func `edits that are no repairs are refused`() throws {
    let world = try RepairWorld(seed: 17, broken: 60)
    try world.run()
    let key = try #require(world.open().people.first)
    let edits: [(String, String)] = [
      ("INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT 5000, Z_ENT, 1, 'new' FROM ZPERSON LIMIT 1", "p5000"),
      (
        "UPDATE ZPERSON SET Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME <> 'Person' AND Z_NAME LIKE 'Employee') WHERE Z_PK = (SELECT Z_PK FROM ZPERSON WHERE Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Person') LIMIT 1)",
        "set"
      ),
      ("DELETE FROM ZGODWITQUARANTINEREASON WHERE ZKEY = \(key)", "reasons"),
      ("UPDATE ZPERSON SET ZBOSS = 6000 WHERE Z_PK = \(key)", "p6000"),
    ]
    for (sql, text) in edits {
      let file = world.folder.file("copy.sqlite")
      try? FileManager.default.removeItem(atPath: file)
      try FileManager.default.copyItem(atPath: world.quarantine, toPath: file)
      let connection = try StoreConnection(path: file)
      try connection.execute(sql)
      #expect(connection.changes > 0, "\(sql)")
      try connection.close()
      try world.expectRefusal(.dataWrong, text, file: file)
    }
  }

  @Test func `nothing that somebody has written is lost`() throws {
    let world = try RepairWorld(seed: 19)
    try world.run()
    let copy = world.folder.file("copy.sqlite")
    try FileManager.default.copyItem(atPath: world.quarantine, toPath: copy)
    try world.edit(copy, seed: 20, percent: 50)
    // The quarantine beside the destination has edits of its own.
    let both = try world.open()
    try both.held.set(both.people[0], "ZNAME", .text("only here"))
    try both.close()
    try world.expectRefusal(.cannotCreate, "was edited", file: copy)
    try FileManager.default.removeItem(atPath: world.quarantine)
    try SupportFolder(ofStoreAt: world.quarantine).remove()
    let connection = try StoreConnection(path: world.destination)
    try connection.execute("UPDATE ZGROUP SET ZTITLE = 'written by the application'")
    try connection.close()
    try world.expectRefusal(.cannotCreate, "was written to", file: copy)
  }
}

extension RepairWorld {
  func error(_ job: MigrationJob, file: String? = nil) throws -> GodwitError? {
    do {
      _ = try MigrationManager(job).run(fromQuarantine: URL(filePath: file ?? quarantine))
      return nil
    } catch let error as GodwitError { return error }
  }

  /// Checks that repairs are refused, and that nothing beside the destination changes.
  func expectRefusal(
    _ code: GodwitError.Code, _ text: String, file: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let out = folder.file("out")
    let before = FileManager.default.fileExists(atPath: out) ? try FolderContents(out) : nil
    let error = try error(job(), file: file)
    #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
    #expect(error?.description.contains(text) == true, "\(String(describing: error))", sourceLocation: sourceLocation)
    #expect(error?.remedy != nil || code == .missingInput || code == .dataWrong, sourceLocation: sourceLocation)
    guard let before else { return }
    #expect(try FolderContents(out) == before, "\(code)", sourceLocation: sourceLocation)
  }
}

import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Edited objects of a quarantine that are written into a copy of the source.
@Suite struct QuarantineApplyTests {
  @Test(arguments: testSeeds(TestTier.choose(1, long: 8)))
  func `the copy is the source that was edited by hand, also the second time`(seed: UInt64) throws {
    let world = try RepairWorld(seed: seed)
    let source = try Data(contentsOf: URL(filePath: world.world.sourcePath))
    #expect(try world.run().quarantinedObjects > 4)
    try world.edit(seed: seed &+ 1, percent: 50)
    let first = try world.apply()
    let migrated = try world.expectMigrated(first, "seed \(seed), first")
    #expect(try Data(contentsOf: URL(filePath: world.world.sourcePath)) == source)

    // The next quarantine is that of the copy.
    guard FileManager.default.fileExists(atPath: migrated + Quarantine.suffix) else { return }
    try world.edit(migrated + Quarantine.suffix, seed: seed &+ 2, percent: 100)
    let bytes = try Data(contentsOf: URL(filePath: migrated + Quarantine.suffix))
    let second = try world.apply(migrated + Quarantine.suffix, to: first, copy: "second.sqlite")
    try world.expectMigrated(second, "seed \(seed), second")
    #expect(try Data(contentsOf: URL(filePath: migrated + Quarantine.suffix)) == bytes)
  }

  @Test func `a copy in which all is valid replaces the destination of its source`() throws {
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
    let home = try #require(both.addresses.first)
    for key in try both.whole.keys("SELECT Z_PK FROM ZPERSON WHERE ZADDRESS IS NULL") {
      for store in both.stores { try store.link(key, "address", to: ("Address", home), place: 900 + key) }
    }
    try both.close()
    var edits: QuarantineEdits?
    let copy = try world.apply { edits = $0 }
    #expect(edits == .init(edited: Int64(both.people.count + both.addresses.count), unchanged: 0, deleted: 0))
    for path in [world.quarantine, SupportFolder(ofStoreAt: world.quarantine).path] {
      guard FileManager.default.fileExists(atPath: path) else { continue }
      try FileManager.default.moveItem(atPath: path, toPath: world.folder.file("away-\(path.hash)"))
    }
    var job = try world.job()
    (job.sourcePath, job.quarantine, job.existingDestination) = (copy, nil, .replace(keepsOld: false))
    #expect(try MigrationManager(job).run().outcome == .finished)
    try world.expectContent(world.destination, "all")
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
  }

  @Test func `large texts and data of edited objects are written beside small values`() throws {
    let world = try RepairWorld(seed: 27, broken: 50)
    try world.run()
    let both = try world.open()
    try #require(both.people.count > 2)
    let text = SQLValue.text(String(repeating: "large \u{E9} ", count: 200_000))
    for store in both.stores {
      try store.set(both.people[0], "ZNAME", text)
      try store.set(both.people[0], "ZAGE", .integer(7))
      try store.set(both.people[1], "ZAGE", .integer(8))
      if let home = both.addresses.first { try store.set(home, "ZSTREET", text, table: "ZADDRESS") }
    }
    try both.close()
    let copy = try world.apply()
    try world.expectMigrated(copy, "large")
    let made = try StoreConnection(path: copy)
    #expect(try made.value("SELECT ZNAME FROM ZPERSON WHERE Z_PK = \(both.people[0])") == text)
    #expect(try made.value("PRAGMA integrity_check") == .text("ok"))
    try made.close()
  }

  @Test func `a run that was killed after the copy has its name is ended by the same command`() throws {
    let world = try RepairWorld(seed: 19)
    try world.run()
    try world.edit(seed: 20, percent: 50)
    var edits: [QuarantineEdits] = []
    let copy = try world.apply { edits.append($0) }
    let (bytes, work) = (try Data(contentsOf: URL(filePath: copy)), copy + ".godwit")
    // Before the work folder was removed, while it was, and after.
    for left in ["edited.sqlite", nil] {
      let folder = try WorkFolder(forDestination: copy)
      if let left { try FileManager.default.linkItem(atPath: copy, toPath: folder.path + "/" + left) }
      _ = consume folder
      _ = try world.apply { edits.append($0) }
      #expect(!FileManager.default.fileExists(atPath: work))
    }
    _ = try world.apply { edits.append($0) }
    #expect(edits.count == 4 && Set(edits).count == 1)
    #expect(try Data(contentsOf: URL(filePath: copy)) == bytes && !FileManager.default.fileExists(atPath: work))
    try world.expectMigrated(copy, "killed")
  }

  @Test func `an object that was deleted from the quarantine is deleted with all links to it`() throws {
    let world = try RepairWorld(seed: 9, broken: 60)
    try world.run()
    let both = try world.open()
    let (gone, kept) = (try #require(both.people.first), try #require(both.people.last))
    for store in both.stores { try store.connection.execute("DELETE FROM ZPERSON WHERE Z_PK = ?1", [.integer(gone)]) }
    for (name, entity) in try QuarantineWorld.source.linksToPeople {
      switch both.whole.schema.storage(of: name, in: entity) {
      case .foreignKey(let table, let column, let number, let order):
        for (clear, at) in [(number, column), (order, column), (.some(column), column)] {
          guard let clear else { continue }
          try both.whole.connection.execute(
            "UPDATE \(quoted(table)) SET \(quoted(clear)) = NULL WHERE \(quoted(at)) = ?1", [.integer(gone)])
        }
      // A group may have the same key.
      case .join(let join, _, let other, _):
        try both.whole.connection.execute(
          "DELETE FROM \(quoted(join.name)) WHERE \(quoted(other)) = ?1", [.integer(gone)])
      default: break
      }
    }
    for store in both.stores { try store.set(kept, "ZNAME", .text("changed")) }
    try both.close()
    var edits: QuarantineEdits?
    try world.expectMigrated(world.apply { edits = $0 }, "deleted")
    #expect(edits?.edited == 1 && edits?.deleted == 1, "\(String(describing: edits))")
  }

  @Test func `NULL, Unicode and links to objects that were migrated are written`() throws {
    let world = try RepairWorld(seed: 27, broken: 50)
    try world.run()
    let both = try world.open()
    try #require(both.people.count > 3)
    let outside = try #require(world.world.people.map(\.key).first { !both.people.contains($0) })
    let streets = try both.whole.keys("SELECT Z_PK FROM ZADDRESS ORDER BY 1").filter { !both.addresses.contains($0) }
    let home = try #require(streets.first)
    for store in both.stores {
      try store.set(both.people[0], "ZNAME", .null)
      try store.set(both.people[1], "ZNAME", .text("Zoë 👩‍👩‍👧 ‮abc"))
      try store.link(both.people[1], "address", to: ("Address", home), place: 7)
      try store.link(both.people[2], "boss", to: (world.entity(outside), outside))
      try store.pair(both.people[3], outside, isThere: true)
      try store.pair(both.people[3], both.people[2], isThere: true)
    }
    try both.close()
    try world.expectMigrated(world.apply(), "links")
  }

  @Test func `a free object of the source becomes a partner, and ends that disagree are refused`() throws {
    let world = try RepairWorld(seed: 61)
    try world.run()
    let both = try world.open()
    func single(_ keys: [Int64]) throws -> [Int64] {
      try keys.filter { try both.whole.link(of: $0, "spouse") == nil && both.whole.link(of: $0, "spouseOf") == nil }
    }
    let keys = try single(both.people)
    try #require(keys.count > 1)
    let key = keys[0]
    let free = try #require(single(world.world.people.map(\.key).filter { !both.people.contains($0) }).first)
    // A partner in quarantine has to say so itself.
    try both.held.link(key, "spouse", to: (world.entity(keys[1]), keys[1]))
    try world.expectRefusal(of: world.quarantine, .dataWrong, "'spouse'")
    for store in both.stores { try store.link(key, "spouse", to: (world.entity(free), free)) }
    try both.whole.link(free, "spouseOf", to: (world.entity(key), key))
    try both.close()
    try world.expectMigrated(world.apply(), "free")
  }

  @Test func `a new external file comes with its object, and a missing or another one is refused`() throws {
    let world = try RepairWorld(seed: 21)
    try world.run()
    let both = try world.open()
    let key = try #require(both.people.first)
    let name = "00000000-0000-0000-7000-000000000001"
    for store in both.stores { try store.set(key, "ZPHOTO", .blob(StoredBinary.external(name: name).bytes)) }
    try both.close()
    try world.expectRefusal(of: world.quarantine, .dataWrong, name)
    func write(_ byte: UInt8, _ store: String) throws {
      let support = SupportFolder(ofStoreAt: store)
      try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
      try Data(repeating: byte, count: 700).write(to: URL(filePath: support.path(of: name)), options: .atomic)
    }
    for path in [world.quarantine, world.repairedPath] { try write(9, path) }
    let copy = try world.apply()
    #expect(try SupportFolder(ofStoreAt: copy).size(of: name) == 700)
    try world.expectMigrated(copy, "new file")
    try write(8, world.world.sourcePath)
    try world.expectRefusal(of: world.quarantine, .dataWrong, "other bytes", copy: "other.sqlite")
  }

  @Test func `a file that was restored under its name is an edit`() throws {
    let world = try RepairWorld(seed: 29)
    let key = try #require(world.world.rejected().people.min())
    let name = "00000000-0000-0000-7000-000000000003"
    for path in [world.world.sourcePath, world.repairedPath] {
      let connection = try StoreConnection(path: path)
      try connection.execute(
        "UPDATE ZPERSON SET ZPHOTO = ?1 WHERE Z_PK = ?2",
        [.blob(StoredBinary.external(name: name).bytes), .integer(key)])
      try connection.close()
    }
    try world.run()
    for path in [world.quarantine, world.repairedPath] {
      let support = SupportFolder(ofStoreAt: path)
      try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
      try Data(repeating: 9, count: 700).write(to: URL(filePath: support.path(of: name)))
    }
    try world.expectMigrated(world.apply(), "restored")
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
    let files = SupportFolder(ofStoreAt: world.quarantine)
    if try files.exists {
      try FileManager.default.copyItem(atPath: files.path, toPath: SupportFolder(ofStoreAt: copy).path)
    }
    try both.close()
    #expect(try StoreFiles(path: copy).hasWAL())
    try world.expectMigrated(world.apply(copy), "log")
    #expect(try StoreFiles(path: copy).hasWAL())
  }

  @Test func `the copy of an XML store is a SQLite store that migrates like it`() throws {
    var pet = EntityDescription.make("Pet", ["name": .string], [.toOne("friend", "Pet", inverse: "friendOf")])
    pet.relationships.append(.toMany("friendOf", "Pet", inverse: "friend"))
    let cat = pet
    pet.attributes[0].isOptional = false
    let fixture = try MigrationFixture([cat], to: [pet])
    try fixture.build { store in
      for key in 1...4 as ClosedRange<Int64> {
        let name: AttributeValue = key == 3 ? .null : .init("pet \(key)")
        try store.insert("Pet", key: key, attributes: ["name": name], relationships: ["friend": [key % 4 + 1]])
      }
    }
    fixture.mappings = [try .make("Pet", "Pet", kind: .copy)]
    func job(_ source: String) throws -> MigrationJob {
      var job = try fixture.job
      (job.sourcePath, job.destinationPath) = (source, source + ".migrated.sqlite")
      return job
    }
    func write(_ name: String) throws -> String {
      let path = fixture.folder.file(name)
      try AtomicStoreWriter(readingStoreAt: fixture.sourcePath, model: fixture.source, name: path).write(to: path)
      return path
    }
    let source = try write("source.xml")
    let edit = "UPDATE ZPET SET ZNAME = 'Zoë', ZFRIEND = 2 WHERE Z_PK = 3"
    var first = try job(source)
    first.quarantine = Quarantine(maximumRows: 1)
    #expect(try MigrationManager(first).run().quarantinedObjects == 1)
    for path in [first.quarantinePath, fixture.sourcePath] {
      let store = try StoreConnection(path: path)
      try store.execute(edit)
      #expect(store.changes == 1)
      try store.close()
    }
    let byHand = try job(write("by-hand.xml"))
    let copy = fixture.folder.file("copy.sqlite")
    _ = try QuarantineEdits.apply(
      URL(filePath: first.quarantinePath), to: URL(filePath: source), writing: URL(filePath: copy))
    #expect(try StoreFiles(path: copy).type == .sqlite)
    let migrated = try job(copy)
    for job in [byHand, migrated] { #expect(try MigrationManager(job).run().outcome == .finished) }
    #expect(
      try QuarantineWorld.content(migrated.destinationPath) == QuarantineWorld.content(byHand.destinationPath))
    #expect(try Verifier(job: migrated).run().isClean)
  }

  // MARK: Refusals

  @Test func `a file that is not a quarantine of the source is refused, each kind with its status`() throws {
    let world = try RepairWorld(seed: 13)
    try world.run()
    try world.expectRefusal(of: world.quarantine, .dataWrong, "no object in it was edited")
    try world.expectRefusal(of: world.folder.file("nowhere.sqlite"), .missingInput, "nowhere.sqlite")
    try world.expectRefusal(of: world.world.sourcePath, .dataWrong, "not a quarantine")
    try Data("text".utf8).write(to: URL(filePath: world.folder.file("text.sqlite")))
    try world.expectRefusal(of: world.folder.file("text.sqlite"), .dataWrong, "text.sqlite")
    let other = try RepairWorld(seed: 14)
    try other.run()
    try other.edit(seed: 15, percent: 50)
    try world.expectRefusal(of: other.quarantine, .dataWrong, "is not the quarantine of")
    try world.edit(seed: 16, percent: 50)
    let old = world.folder.file("old.sqlite")
    try FileManager.default.copyItem(atPath: world.quarantine, toPath: old)
    let connection = try StoreConnection(path: old, create: true)
    var metadata = try StoreMetadata(readingStoreAt: old)
    metadata.values[QuarantineModel.modelKey] = nil
    try connection.transaction { try metadata.write(to: connection) }
    try connection.close()
    try world.expectRefusal(of: old, .cannotCreate, "earlier version")
    let source = try StoreConnection(path: world.world.sourcePath)
    try source.execute("UPDATE ZGROUP SET ZTITLE = 'changed'")
    try source.close()
    try world.expectRefusal(of: world.quarantine, .dataWrong, "is not the quarantine of")
  }

  @Test func `edits that cannot be applied are named`() throws {
    let world = try RepairWorld(seed: 17, broken: 60)
    let source = try StoreConnection(path: world.world.sourcePath, create: true)
    try source.execute("UPDATE ZPERSON SET ZBADGE = 'a' || Z_PK WHERE ZBADGE IS NOT NULL")
    try source.execute("CREATE UNIQUE INDEX Z_Person_UNIQUE_badge ON ZPERSON (ZBADGE COLLATE BINARY ASC)")
    try source.execute("CREATE UNIQUE INDEX by_small_badge ON ZPERSON (lower(ZBADGE))")
    try source.close()
    try world.run()
    let both = try world.open()
    let key = try #require(both.people.first)
    try both.close()
    let edits: [(String, String)] = [
      ("INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT 5000, Z_ENT, 1, 'new' FROM ZPERSON LIMIT 1", "p5000"),
      (
        "UPDATE ZPERSON SET Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Employee') WHERE Z_PK = (SELECT Z_PK FROM ZPERSON WHERE Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Person') LIMIT 1)",
        "set"
      ),
      ("DELETE FROM ZGODWITQUARANTINEREASON WHERE ZKEY = \(key)", "reasons"),
      ("UPDATE ZPERSON SET ZBOSS = 6000 WHERE Z_PK = \(key)", "p6000"),
      ("UPDATE ZPERSON SET ZBADGE = 'A1' WHERE ZBADGE IS NOT NULL", "the same values after the edits"),
      (
        "UPDATE ZPERSON SET ZBADGE = iif(Z_PK % 2, 'B1', 'b1') WHERE Z_PK IN (SELECT min(Z_PK) FROM ZPERSON WHERE ZBADGE IS NOT NULL GROUP BY Z_PK % 2)",
        "by_small_badge"
      ),
    ]
    for (sql, text) in edits {
      let file = world.folder.file("copy.sqlite")
      try? FileManager.default.removeItem(atPath: file)
      try FileManager.default.copyItem(atPath: world.quarantine, toPath: file)
      let connection = try StoreConnection(path: file)
      try connection.execute(sql)
      #expect(connection.changes > 0, "\(sql)")
      try connection.close()
      try world.expectRefusal(of: file, .dataWrong, text)
    }
  }

  @Test func `nothing that lies at the place of the copy is touched`() throws {
    let world = try RepairWorld(seed: 19)
    try world.run()
    try world.edit(seed: 20, percent: 50)
    try FileManager.default.createDirectory(atPath: world.folder.file("copies"), withIntermediateDirectories: true)
    let taken = world.folder.file("copies/taken.sqlite")
    try Data("mine".utf8).write(to: URL(filePath: taken))
    try world.expectRefusal(of: world.quarantine, .cannotCreate, "not a copy of the source", copy: "taken.sqlite")
    try FileManager.default.createSymbolicLink(
      atPath: world.folder.file("copies/link.sqlite"), withDestinationPath: "nowhere")
    try world.expectRefusal(of: world.quarantine, .cannotCreate, "not a copy of the source", copy: "link.sqlite")
    // Another store stays too.
    try FileManager.default.copyItem(atPath: world.world.sourcePath, toPath: world.folder.file("copies/other.sqlite"))
    try world.expectRefusal(of: world.quarantine, .cannotCreate, "already exists", copy: "other.sqlite")
    try world.expectRefusal(of: world.quarantine, .usage, "-wal", copy: "taken.sqlite-wal")
    try Data("log".utf8).write(to: URL(filePath: world.folder.file("copies/free.sqlite-wal")))
    try world.expectRefusal(of: world.quarantine, .cannotCreate, "log of another store", copy: "free.sqlite")
    let foreign = SupportFolder(ofStoreAt: world.folder.file("copies/files.sqlite"))
    try FileManager.default.createDirectory(atPath: foreign.dataPath, withIntermediateDirectories: true)
    try world.expectRefusal(of: world.quarantine, .cannotCreate, "support folder", copy: "files.sqlite")
    // The unfinished work of a job stays.
    let folder = try WorkFolder(forDestination: world.folder.file("copies/job.sqlite"))
    try WorkJournal(owner: .init(job: "other", appends: false)).write(in: folder.path)
    _ = consume folder
    try world.expectRefusal(of: world.quarantine, .cannotCreate, "unfinished work", copy: "job.sqlite")
    for path in [world.world.sourcePath, world.quarantine] {
      let error = try world.refusal(of: world.quarantine, copy: path)
      #expect(error?.code == .usage, "\(String(describing: error))")
    }
  }

  @Test(.enabled(if: geteuid() != 0, "root may write to every folder"))
  func `a folder that cannot be written is an error`() throws {
    let world = try RepairWorld(seed: 19)
    try world.run()
    try world.edit(seed: 20, percent: 50)
    let copies = world.folder.file("copies")
    try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
    chmod(copies, 0o500)
    defer { chmod(copies, 0o700) }
    try world.expectRefusal(of: world.quarantine, .permission, "copies")
  }

  @Test func `the copy has the mode of the source, and no byte of the sources changes`() throws {
    let world = try RepairWorld(seed: 33)
    try world.run()
    try world.edit(seed: 34, percent: 50)
    chmod(world.world.sourcePath, 0o640)
    let copy = try world.apply()
    #expect(FileStatus(following: copy)?.mode == 0o640)
  }

  // MARK: Faults

  @Test func `after a death or a fault at any operation the same command writes the same copy`() throws {
    let world = try RepairWorld(seed: 31, people: 16)
    try world.run()
    try world.edit(seed: 33, percent: 50)
    let layer = try FaultLayer(.none)
    let whole = try layer.run { try world.apply() }
    let expected = try InPlaceContent(whole)
    let count = layer.operations.count
    #expect(count > 10)
    let copies = world.folder.file("copies")
    let step = TestTier.choose(9, long: 1)
    for position in stride(from: 1 + Int(testSeeds(1)[0] % UInt64(step)), through: count, by: step) {
      for fault in [FaultLayer.Fault.death(at: position), .fail(EIO, at: position), .powerCut(at: position)] {
        try FileManager.default.removeItem(atPath: copies)
        let layer = try FaultLayer(fault, root: world.folder.path)
        do { _ = try layer.run { try world.apply() } } catch {
          #expect((error as? GodwitError)?.code != .internalBug, "\(fault): \(error)")
        }
        try layer.survive(.syncedOnly)
        let copy = copies + "/copy.sqlite"
        if !FileManager.default.fileExists(atPath: copy) {
          do { _ = try world.apply() } catch { Issue.record("\(fault): again: \(error)") }
        }
        // A copy is whole whenever it is there.
        let found = try InPlaceContent(copy)
        #expect(found.dump == expected.dump && found.files == expected.files, "\(fault)")
      }
    }
  }

  @Test func `after a look that fails the same command writes the same copy`() throws {
    let world = try RepairWorld(seed: 31, people: 16)
    try world.run()
    try world.edit(seed: 33, percent: 50)
    let looks = FaultLayer(.none, looksAt: world.folder.path)
    let expected = try InPlaceContent(looks.run { try world.apply() })
    let copies = world.folder.file("copies")
    for (count, position) in ReadFaultSweep.positions(looks.operations, atMost: 6).enumerated() {
      try FileManager.default.removeItem(atPath: copies)
      let layer = FaultLayer(.fail(ReadFaultSweep.code(count), at: position), looksAt: world.folder.path)
      let place = "\(layer.fault) (\(looks.operations[position - 1]))"
      do { _ = try layer.run { try world.apply() } } catch {
        ReadFaultSweep.check(error, ReadFaultSweep.code(count), place)
        do { _ = try world.apply() } catch { Issue.record("\(place): again: \(error)") }
      }
      let found = try InPlaceContent(copies + "/copy.sqlite")
      #expect(found.dump == expected.dump && found.files == expected.files, "\(place)")
    }
  }
}

/// Destinations and work folders that earlier versions made with `--from-quarantine`.
@Suite struct RemovedRepairsTests {
  private func expectRefusal(_ text: String, _ body: () throws -> Void) {
    let error = #expect(throws: GodwitError.self) { try body() }
    #expect(error?.code == .cannotCreate && error?.message.contains(text) == true, "\(String(describing: error))")
    #expect(error?.remedy?.contains("godwit quarantine apply") == true, "\(String(describing: error))")
  }

  @Test func `a destination with repairs is named`() throws {
    let world = try RepairWorld(seed: 51, people: 12)
    try world.run()
    let connection = try StoreConnection(path: world.destination, create: true)
    var metadata = try StoreMetadata(readingStoreAt: world.destination)
    metadata.values[RemovedRepairs.key] = .dictionary(["digest": .string("0"), "objects": .integer(1)])
    try connection.transaction { try metadata.write(to: connection) }
    try connection.close()
    expectRefusal("made it with repairs") { _ = try MigrationManager(world.job()).run() }
    expectRefusal("made it with repairs") { _ = try Verifier(job: world.job()).run() }
    expectRefusal("made it with repairs") { _ = try MigrationManager(world.job()).trace("Group/p1") }
  }

  @Test func `unfinished work of an earlier version is refused, and stays`() throws {
    let world = try RepairWorld(seed: 51, people: 12)
    for (number, text) in ["godwit work folder 1\n", "godwit work folder, not synced, boot 1\n"].enumerated() {
      var job = try world.job()
      job.destinationPath = world.folder.file("other-\(number).sqlite")
      _ = try WorkFolder(forDestination: job.destinationPath).path
      try Data(text.utf8).write(to: URL(filePath: job.workPath + "/made-by-godwit"))
      try Data("{}".utf8).write(to: URL(filePath: job.workPath + "/job.json"))
      let before = try FolderContents(job.workPath)
      let runs: [() throws -> Void] = [
        { [job] in _ = try MigrationManager(job).run() },
        { [job] in _ = try MigrationManager.discard(destination: job.destinationPath) },
      ]
      for run in runs {
        let error = #expect(throws: GodwitError.self) { try run() }
        #expect(error?.code == .cannotCreate)
        #expect(error?.message.contains("another version of Godwit left unfinished work") == true)
      }
      #expect(try FolderContents(job.workPath) == before)
    }
  }
}

extension RepairWorld {
  /// Applies a quarantine to a source.
  ///
  /// - Returns: the copy.
  @discardableResult
  func apply(
    _ file: String? = nil, to source: String? = nil, copy: String = "copy.sqlite",
    _ edits: (QuarantineEdits) -> Void = { _ in }
  ) throws -> String {
    let path = folder.file("copies/" + copy)
    edits(
      try QuarantineEdits.apply(
        URL(filePath: file ?? quarantine), to: URL(filePath: source ?? world.sourcePath), writing: URL(filePath: path)))
    return path
  }

  func refusal(of file: String, copy: String) throws -> GodwitError? {
    do {
      _ = try QuarantineEdits.apply(
        URL(filePath: file), to: URL(filePath: world.sourcePath), writing: URL(filePath: copy))
      return nil
    } catch let error as GodwitError { return error }
  }

  /// Checks that edits are refused, and that nothing is written.
  func expectRefusal(
    of file: String, _ code: GodwitError.Code, _ text: String, copy: String = "refused.sqlite",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let copies = folder.file("copies")
    let before = FileManager.default.fileExists(atPath: copies) ? try FolderContents(copies) : nil
    let error = try refusal(of: file, copy: copies + "/" + copy)
    #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
    #expect(error?.description.contains(text) == true, "\(String(describing: error))", sourceLocation: sourceLocation)
    #expect(
      error?.remedy != nil || code == .missingInput || code == .permission, "\(String(describing: error))",
      sourceLocation: sourceLocation)
    guard let before else {
      #expect(!FileManager.default.fileExists(atPath: copies), sourceLocation: sourceLocation)
      return
    }
    #expect(try FolderContents(copies) == before, "\(code)", sourceLocation: sourceLocation)
  }

  /// Checks that a copy is the source that was edited by hand, and that its migration is that of an ordinary run of the
  /// latter and is proved.
  ///
  /// - Returns: the destination.
  @discardableResult
  func expectMigrated(
    _ copy: String, _ place: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let (found, wanted) = (try InPlaceContent(copy), try InPlaceContent(repairedPath))
    #expect(
      found.dump == wanted.dump, "\(place): \(found.dump.firstDifference(from: wanted.dump) ?? "")",
      sourceLocation: sourceLocation)
    #expect(found.files == wanted.files, "\(place)", sourceLocation: sourceLocation)
    #expect(!FileManager.default.fileExists(atPath: copy + ".godwit"), "\(place)", sourceLocation: sourceLocation)
    var job = try job()
    (job.sourcePath, job.destinationPath) = (copy, copy + ".migrated.sqlite")
    let summary = try MigrationManager(job).run()
    let quarantined = try expectContent(job.destinationPath, place, sourceLocation: sourceLocation)
    #expect(summary.quarantined == quarantined, "\(place)", sourceLocation: sourceLocation)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(place): \(report)", sourceLocation: sourceLocation)
    return job.destinationPath
  }

  /// Checks that a destination is what an ordinary run makes of the source that was edited by hand.
  @discardableResult
  func expectContent(
    _ destination: String, _ place: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [QuarantineCount] {
    let expected = try expected()
    let found = try QuarantineWorld.content(destination)
    let line = zip(found, expected.content).first { $0 != $1 }
    #expect(
      found == expected.content, "\(place): \(line.map { "'\($0)' against '\($1)'" } ?? "the number of lines")",
      sourceLocation: sourceLocation)
    #expect(try InPlaceContent(destination).files == expected.files, "\(place)", sourceLocation: sourceLocation)
    return expected.quarantined
  }
}

extension ManagedObjectModel {
  /// The relationships whose objects are people.
  fileprivate var linksToPeople: [(name: String, entity: String)] {
    entities.flatMap { entity in
      entity.relationships.filter { ["Person", "Employee"].contains($0.destinationEntityName) }
        .map { ($0.name, entity.name) }
    }
  }
}

import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Quarantines of jobs with what mappings and stores can have beside plain copies.
@Suite struct QuarantineMappingTests {
  /// People with a company, which becomes an object of its own with a name of at most five characters.
  private static func companies(_ people: [(name: String?, company: String?, age: Int64)]) throws -> MigrationFixture {
    var name = AttributeDescription(name: "name", type: .string)
    name.maximumLength = 5
    name.isOptional = false
    var company = EntityDescription.make("Company", [:], [.toMany("staff", "Person", inverse: "company")])
    company.attributes.append(name)
    let fixture = try MigrationFixture(
      [.make("Person", ["name": .string, "company": .string, "age": .integer16])],
      to: [
        .make("Person", ["name": .string, "age": .integer16], [.toOne("company", "Company", inverse: "staff")]),
        company,
      ])
    fixture.mappings = [
      try .make(
        "Person", "Person", kind: .copy, attributes: ["age": "$source.age + 1"],
        relationships: ["company": .mapping("Companies", keyPath: [])]),
      try .make(
        "Person", "Company", name: "Companies", filter: "company != nil", uniqueBy: ["name"],
        attributes: ["name": "$source.company"]),
    ]
    try fixture.build { store in
      for (index, one) in people.enumerated() {
        try store.insert(
          "Person", key: Int64(index + 1),
          attributes: [
            "name": one.name.map { .init($0) } ?? .null, "company": one.company.map { .init($0) } ?? .null,
            "age": .integer(one.age),
          ])
      }
    }
    return fixture
  }

  private func keys(_ job: MigrationJob) throws -> [Int64] {
    let connection = try StoreConnection.openStore(readingAt: job.quarantinePath)
    return try connection.rows("SELECT Z_PK FROM source.ZPERSON ORDER BY 1").compactMap {
      if case .integer(let key) = $0[0] { key } else { nil }
    }
  }

  /// Pets with owners, which they need. Owners with a garden then take the strays of the garden for their pets, and so
  /// lose those that had them.
  private static func owners(later isLater: Bool) throws -> MigrationFixture {
    var owner = RelationshipDescription.toOne("owner", "Owner", inverse: "pets")
    owner.isOptional = false
    let fixture = try MigrationFixture(
      [
        .make(
          "Owner", ["hasGarden": .boolean],
          [.toMany("pets", "Pet", inverse: "owner"), .toMany("strays", "Stray", inverse: "feeder")]),
        .make("Pet", ["name": .string], [.toOne("owner", "Owner", inverse: "pets")]),
        .make("Stray", ["name": .string], [.toOne("feeder", "Owner", inverse: "strays")]),
      ],
      to: [
        .make("Owner", ["hasGarden": .boolean], [.toMany("pets", "Pet", inverse: "owner")]),
        .make("Pet", ["name": .string], [owner]),
      ])
    try fixture.build { store in
      for key in Int64(1)...4 { try store.insert("Owner", key: key, attributes: ["hasGarden": .boolean(key > 2)]) }
      for key in Int64(1)...8 {
        try store.insert(
          "Pet", key: key, attributes: ["name": .init("pet \(key)")], relationships: ["owner": [(key - 1) / 2 + 1]])
      }
      for key in Int64(1)...4 {
        try store.insert(
          "Stray", key: key, attributes: ["name": .init("stray \(key)")], relationships: ["feeder": [(key + 5) / 2]])
      }
    }
    let pets = try EntityMapping.make(
      "Pet", "Pet", attributes: ["name": "$source.name"], relationships: ["owner": .sourceRelationship("owner")])
    let owners = [
      try EntityMapping.make("Owner", "Owner", filter: "hasGarden == NO", attributes: ["hasGarden": "NO"]),
      try EntityMapping.make(
        "Owner", "Owner", name: "Gardens", filter: "hasGarden == YES", attributes: ["hasGarden": "YES"],
        relationships: ["pets": .mapping("Strays", keyPath: ["strays"])]),
    ]
    fixture.mappings =
      (isLater ? [pets] + owners : owners + [pets])
      + [try .make("Stray", "Pet", name: "Strays", attributes: ["name": "$source.name"])]
    return fixture
  }

  @Test(arguments: [1, 3, nil])
  func `objects whose required link a later mapping takes away by filling the other side are proved`(rows: Int?) throws
  {
    let fixture = try Self.owners(later: true)
    let job = try job(fixture, rows: rows)
    #expect(try MigrationManager(job).run().quarantinedObjects == 4)
    let held = try StoreConnection.openStore(readingAt: job.quarantinePath)
    #expect(try held.rows("SELECT Z_PK FROM source.ZPET ORDER BY 1").map { $0[0] } == (5...8).map { .integer($0) })
    try held.close()
    let report = try Verifier(job: job).run()
    #expect(report.isClean && !"\(report)".contains("not proved"), "\(report)")
    #expect(report.checks.contains { $0.name.hasPrefix("objects in quarantine that a rule rejects") && $0.count == 4 })
    // A pet of an owner without a garden keeps its owner, whatever the quarantine says.
    try SecondNight.edit(job.quarantinePath, "UPDATE ZPET SET Z_PK = 2, ZNAME = 'pet 2' WHERE Z_PK = 5")
    try SecondNight.edit(job.quarantinePath, "UPDATE ZGODWITQUARANTINEREASON SET ZKEY = 2 WHERE ZKEY = 5")
    try SecondNight.edit(job.destinationPath, "DELETE FROM ZPET WHERE ZNAME = 'pet 2'")
    let wrong = try Verifier(job: job).run()
    #expect(wrong.findings.contains { $0.key == 2 && $0.message.contains("no rule rejects") }, "\(wrong)")
  }

  @Test func `an object whose required link an earlier mapping takes away has it, and is not rejected`() throws {
    let fixture = try Self.owners(later: false)
    let job = try job(fixture, rows: 3)
    #expect(try MigrationManager(job).run().quarantinedObjects == 0)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
  }

  private func job(_ fixture: MigrationFixture, rows: Int?) throws -> MigrationJob {
    fixture.chunkRows = rows
    var job = try fixture.job
    job.quarantine = Quarantine(maximumPercent: 100)
    return job
  }

  @Test(arguments: [1, 3, nil])
  func `all objects that become one invalid object are set aside`(rows: Int?) throws {
    let fixture = try Self.companies([
      ("a", "short", 1), ("b", "too long", 2), ("c", "short", 3), ("d", "too long", 4), ("e", nil, 5),
    ])
    let job = try job(fixture, rows: rows)
    #expect(try MigrationManager(job).run().quarantinedObjects == 2)
    #expect(try keys(job) == [2, 4])
    #expect(try fixture.rows("SELECT Z_PK, ZNAME FROM source.ZPERSON ORDER BY 1") == ["1|a", "3|c", "5|e"])
    #expect(try fixture.rows("SELECT ZNAME FROM source.ZCOMPANY") == ["short"])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(report.checks.contains { $0.name.hasPrefix("objects in quarantine that a rule rejects") && $0.count == 2 })
  }

  @Test(arguments: [1, nil])
  func `a value of unique-by that cannot be computed sets its object aside, and another one gives the values`(
    rows: Int?
  ) throws {
    let fixture = try Self.companies([("a", "x", 1), ("b", "x", 2), ("c", "y", 3)])
    try fixture.alter("UPDATE ZPERSON SET ZCOMPANY = 12.5 WHERE Z_PK = 3")
    try fixture.alter("UPDATE ZPERSON SET ZCOMPANY = x'00' WHERE Z_PK = 3")
    // The object that gave the company its key and values is rejected for another reason.
    try fixture.alter("UPDATE ZPERSON SET ZAGE = 32767 WHERE Z_PK = 1")
    let job = try job(fixture, rows: rows)
    _ = try MigrationManager(job).run()
    #expect(try keys(job) == [1, 3])
    #expect(try fixture.rows("SELECT Z_PK, ZNAME FROM source.ZCOMPANY") == ["2|x"])
    #expect(try Verifier(job: job).run().isClean)
  }

  @Test func `chunks by predicates find the same`() throws {
    let people = (1...12).map { (name: String?.some("n\($0)"), company: String?.none, age: Int64($0)) }
    var contents: [[String]] = []
    for predicates in [[], ["age < 5", "age >= 5 OR age == nil"]] {
      let fixture = try Self.companies(people)
      try fixture.alter("UPDATE ZPERSON SET ZNAME = 7.5 WHERE Z_PK IN (2, 9)")
      try fixture.alter("UPDATE ZPERSON SET ZNAME = x'07' WHERE Z_PK IN (2, 9)")
      if !predicates.isEmpty { fixture.chunkPredicates = ["PersonToPerson": predicates] }
      let job = try job(fixture, rows: 4)
      _ = try MigrationManager(job).run()
      #expect(try keys(job) == [2, 9])
      contents.append(try QuarantineWorld.content(job.destinationPath).filter { !$0.hasPrefix("uuid") })
    }
    #expect(contents[0] == contents[1])
  }

  @Test func `a job of every stage gives what a source without the rejected objects gives`() throws {
    let whole = try FaultJob(.quarantine, people: 30, chunkRows: 4)
    let summary = try whole.run()
    #expect(summary.quarantinedObjects == 2)
    let clean = try FaultJob(again: whole)
    let connection = try StoreConnection(path: clean.sourcePath)
    // People 1 and 7, as an application would delete them.
    for column in ["ZSPOUSE", "ZSPOUSEOF"] {
      try connection.execute("UPDATE ZPERSON SET \(column) = NULL WHERE \(column) IN (1, 7)")
    }
    let schema = StoreSchema(model: try FaultJob.source)
    let join = try #require(schema.joinTables.first)
    for column in [join.ownerColumn, join.destinationColumn] {
      try connection.execute("DELETE FROM \(quoted(join.name)) WHERE \(quoted(column)) IN (1, 7)")
    }
    try connection.execute("DELETE FROM ZPERSON WHERE Z_PK IN (1, 7)")
    try connection.close()
    _ = try clean.run()
    let found = try QuarantineWorld.content(whole.destinationPath)
    let expected = try QuarantineWorld.content(clean.destinationPath)
    for (one, other) in zip(found, expected) { #expect(one == other) }
    #expect(found.count == expected.count)
    #expect(!FileManager.default.fileExists(atPath: clean.destinationPath + Quarantine.suffix))
    let report = try Verifier(job: try whole.job).run()
    #expect(report.isClean, "\(report)")
  }

  @Test func `a quarantine has the source's names of join tables`() throws {
    var name = AttributeDescription(name: "name", type: .string)
    name.maximumLength = 5
    func person(_ name: AttributeDescription) -> EntityDescription {
      var person = EntityDescription.make(
        "Person", [:],
        [.toMany("sources", "Person", inverse: "targets"), .toMany("targets", "Person", inverse: "sources")])
      person.attributes.append(name)
      return person
    }
    let fixture = try MigrationFixture(
      [person(AttributeDescription(name: "name", type: .string))], to: [person(name)])
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    try fixture.build { store in
      try store.insert("Person", key: 1, attributes: ["name": .init("too long")])
      try store.insert("Person", key: 2, attributes: ["name": .init("long too")], relationships: ["targets": [1]])
      try store.insert("Person", key: 3, attributes: ["name": .init("fine")], relationships: ["targets": [1, 2]])
    }
    let ruled = try #require(StoreSchema(model: fixture.source).joinTables.first)
    let other = "Z_1" + (try #require(ruled.inverseRelationshipName)).uppercased()
    try fixture.alter("ALTER TABLE \(ruled.name) RENAME TO \(other)")
    let job = try job(fixture, rows: nil)
    _ = try MigrationManager(job).run()
    let connection = try StoreConnection.openStore(readingAt: job.quarantinePath)
    let model = try QuarantineModel.model(for: fixture.source)
    let held = try StoreSchema(model: model, probing: connection)
    // The entity of reasons has number 1.
    #expect(held.joinTables.map(\.name) == [other.replacing("Z_1", with: "Z_2")])
    let join = try #require(held.joinTables.first)
    #expect(
      try connection.rows("SELECT Z_2SOURCES, Z_2TARGETS FROM source.\(join.name)").map { $0.map(\.plain) }
        == [["2", "1"]])
    try connection.close()
    #expect(try Verifier(job: job).run().isClean)
  }

  @Test func `a source with a write-ahead log is read with it, and left as it is`() throws {
    let fixture = try Self.companies([("a", "x", 1), ("b", "too long", 2), ("c", "y", 3)])
    let writer = try StoreConnection(path: fixture.sourcePath)
    try writer.execute("PRAGMA journal_mode = WAL")
    try writer.execute("PRAGMA wal_autocheckpoint = 0")
    try writer.execute("UPDATE ZPERSON SET ZNAME = 'new' WHERE Z_PK = 3")
    let copy = fixture.folder.file("copy/source.sqlite")
    try FileManager.default.createDirectory(atPath: fixture.folder.file("copy"), withIntermediateDirectories: true)
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: fixture.sourcePath + suffix, toPath: copy + suffix)
    }
    try writer.close()
    let before = try ["", "-wal"].map { try Data(contentsOf: URL(filePath: copy + $0)) }
    #expect(!before[1].isEmpty)
    var job = try job(fixture, rows: 2)
    job.sourcePath = copy
    _ = try MigrationManager(job).run()
    #expect(try keys(job) == [2])
    #expect(try fixture.rows("SELECT ZNAME FROM source.ZPERSON ORDER BY Z_PK") == ["a", "new"])
    #expect(try Verifier(job: job).run().isClean)
    #expect(try ["", "-wal"].map { try Data(contentsOf: URL(filePath: copy + $0)) } == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("copy")).count == 2)
  }

  @Test func `an XML destination has its quarantine in SQLite beside it`() throws {
    let fixture = try Self.companies([("a", "x", 1), ("b", "too long", 2)])
    var job = try job(fixture, rows: 2)
    job.destinationType = .xml
    job.destinationPath = fixture.folder.file("out/destination.xml")
    _ = try MigrationManager(job).run()
    #expect(try keys(job) == [2])
    #expect(try !String(contentsOfFile: job.destinationPath, encoding: .utf8).contains("too long"))
    #expect(try Verifier(job: job).run().isClean)
  }

  @Test func `objects that require each other are set aside in rounds`() throws {
    func entities(_ isRequired: Bool) -> [EntityDescription] {
      var next = RelationshipDescription.toOne("next", "Node", inverse: "previous")
      next.isOptional = !isRequired
      var name = AttributeDescription(name: "name", type: .string)
      name.isOptional = !isRequired
      var node = EntityDescription.make("Node", [:], [next, .toOne("previous", "Node", inverse: "next")])
      node.attributes.append(name)
      return [node]
    }
    let fixture = try MigrationFixture(entities(false), to: entities(true))
    fixture.mappings = [try .make("Node", "Node", kind: .copy)]
    try fixture.build { store in
      // A ring of three, and a chain of four into which one has no name.
      for key in Int64(1)...7 {
        let next: [Int64] = key == 3 ? [1] : key == 7 ? [] : [key + 1]
        let previous: [Int64] = key == 1 ? [3] : key == 4 ? [] : [key - 1]
        try store.insert(
          "Node", key: key, attributes: ["name": key == 6 ? .null : .init("n")],
          relationships: ["next": next, "previous": previous])
      }
    }
    let job = try job(fixture, rows: 2)
    #expect(try MigrationManager(job).run().quarantinedObjects == 4)
    let connection = try StoreConnection.openStore(readingAt: job.quarantinePath)
    let rounds = try connection.rows("SELECT ZKEY, ZROUND FROM source.ZGODWITQUARANTINEREASON ORDER BY 1")
    // 7 leads nowhere and 6 has no name; 5 required 6, and 4 required 5.
    #expect(rounds.map { $0.map(\.plain) } == [["4", "2"], ["5", "1"], ["6", "0"], ["7", "0"]])
    #expect(try fixture.rows("SELECT Z_PK FROM source.ZNODE ORDER BY 1") == ["1", "2", "3"])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
  }
}

/// Quarantines of jobs of more than one hop, of XML stores, and of runs that end between two files.
@Suite struct QuarantineStoreTests {
  private static func item(_ name: String, maximum: Int?, extra: [String]) throws -> ManagedObjectModel {
    var title = AttributeDescription(name: "title", type: .string)
    title.maximumLength = maximum
    var item = EntityDescription.make(
      "Item", Dictionary(uniqueKeysWithValues: extra.map { ($0, AttributeType.string) }),
      [.toOne("next", "Item", inverse: "previous"), .toMany("previous", "Item", inverse: "next")])
    item.attributes.append(title)
    return try ManagedObjectModel(name: name, entities: [item])
  }

  private static func job(in folder: TemporaryFolder) throws -> MigrationJob {
    let models = [
      try item("1", maximum: nil, extra: []), try item("2", maximum: nil, extra: ["a"]),
      try item("3", maximum: 5, extra: ["a", "b"]),
    ]
    let store = try StoreBuilder(path: folder.file("source.sqlite"), model: models[0])
    for key in Int64(1)...6 {
      try store.insert(
        "Item", key: key, attributes: ["title": .init(key == 4 ? "too long" : "ok")],
        relationships: ["next": [key % 6 + 1]])
    }
    try store.finish()
    let steps = try zip(models, models.dropFirst()).map { before, after in
      MigrationStep(
        sourceModel: before, destinationModel: after,
        mappingModels: [try MappingModel(inferredFrom: before, to: after)], origin: MigrationStep.inferredOrigin)
    }
    var job = MigrationJob(
      name: "items", sourcePath: folder.file("source.sqlite"), destinationPath: folder.file("out/items.sqlite"),
      first: steps[0], later: Array(steps.dropFirst()), chunkRows: 2)
    job.quarantine = Quarantine(maximumRows: 1)
    return job
  }

  private func expectOneHeld(_ job: MigrationJob) throws {
    #expect(try MigrationManager(job).run().quarantinedObjects == 1)
    let held = try StoreConnection.openStore(readingAt: job.quarantinePath)
    #expect(try held.rows("SELECT Z_PK, ZTITLE, ZNEXT FROM source.ZITEM") == [[.integer(4), .text("too long"), .null]])
    let made = try StoreConnection.openStore(readingAt: job.destinationPath)
    #expect(
      try made.rows("SELECT Z_PK, ZNEXT FROM source.ZITEM ORDER BY 1").map { $0.map(\.plain) }
        == [["1", "2"], ["2", "3"], ["3", "nil"], ["5", "6"], ["6", "1"]])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
  }

  @Test func `steps that run as one have a quarantine of the first model, and others are refused`() throws {
    let folder = try TemporaryFolder()
    var job = try Self.job(in: folder)
    try expectOneHeld(job)
    job.hooks.fusesSteps = false
    job.destinationPath = folder.file("out/other.sqlite")
    do {
      _ = try MigrationManager(job).run()
      Issue.record("a job of two steps ran")
    } catch let error as GodwitError {
      #expect(error.code == .configuration && error.message.contains("2 steps"), "\(error)")
    }
    #expect(!FileManager.default.fileExists(atPath: job.destinationPath + ".godwit"))
  }

  @Test func `an XML source has its quarantine in SQLite`() throws {
    let folder = try TemporaryFolder()
    var job = try Self.job(in: folder)
    try AtomicStoreWriter(readingStoreAt: job.sourcePath, model: job.sourceModel, name: "source.xml")
      .write(to: folder.file("source.xml")) { _, _ in }
    job.sourcePath = folder.file("source.xml")
    let before = try Data(contentsOf: URL(filePath: job.sourcePath))
    #expect(try MigrationManager(job).run().quarantinedObjects == 1)
    let held = try StoreConnection.openStore(readingAt: job.quarantinePath)
    #expect(try held.rows("SELECT ZTITLE FROM source.ZITEM") == [[.text("too long")]])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(try Data(contentsOf: URL(filePath: job.sourcePath)) == before)
  }

  @Test(arguments: [true, false])
  func `a run that ends between quarantine and destination resumes, or is discarded with both`(
    isDiscarded: Bool
  ) throws {
    let whole = try FaultJob(.quarantine)
    let manager = FileManager.default
    let folder = (whole.destinationPath as NSString).deletingLastPathComponent
    let other = Data("another".utf8)
    do {
      // Something takes the destination's name at the last moment: the quarantine has its own by then.
      _ = try MigrationManager(whole.job).run { progress in
        if progress.percent > 60 { try? other.write(to: URL(filePath: whole.destinationPath)) }
      }
      Issue.record("the run ended")
    } catch let error as GodwitError { #expect(error.code == .cannotCreate, "\(error)") }
    #expect(manager.fileExists(atPath: whole.destinationPath + Quarantine.suffix))
    #expect(try Data(contentsOf: URL(filePath: whole.destinationPath)) == other)
    try manager.removeItem(atPath: whole.destinationPath)
    if isDiscarded {
      #expect(try MigrationManager.discard(destination: whole.destinationPath))
      #expect(try manager.contentsOfDirectory(atPath: folder) == [])
    } else {
      #expect(try whole.run().quarantinedObjects == 2)
      #expect(try whole.namesLeft() == whole.leftNames)
      let again = try FaultJob(again: whole)
      try again.run()
      #expect(try again.content() == whole.content())
    }
  }
}

import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// What a plan says of objects that its run stops at or sets aside.
struct RunForecastTests {
  private static func note(_ change: (inout AttributeDescription) -> Void = { _ in }) -> EntityDescription {
    var note = EntityDescription.make(
      "Note", ["text": .string, "size": .integer64, "data": .binary],
      [.toOne("tag", "Tag", inverse: "notes")])
    for place in note.attributes.indices { change(&note.attributes[place]) }
    return note
  }

  private static func tag() -> EntityDescription {
    EntityDescription.make("Tag", ["name": .string], [.toMany("notes", "Note", inverse: "tag")])
  }

  /// Notes 1 to 10 with texts of as many characters, each with its own tag.
  private func fixture(
    _ from: EntityDescription = RunForecastTests.note(), to note: EntityDescription,
    tag: EntityDescription = RunForecastTests.tag()
  ) throws -> MigrationFixture {
    let fixture = try MigrationFixture([from, Self.tag()], to: [note, tag])
    try fixture.build { store in
      for key in Int64(1)...10 {
        try store.insert("Tag", key: key, attributes: ["name": .init("t\(key)")])
        try store.insert(
          "Note", key: key,
          attributes: ["text": .init(String(repeating: "x", count: Int(key))), "size": .integer(key * 10_000)],
          relationships: ["tag": [key]])
      }
    }
    fixture.mappings = [try .make("Tag", "Tag", kind: .copy), try .make("Note", "Note", kind: .copy)]
    return fixture
  }

  private func expect(
    _ text: String?, _ fixture: MigrationFixture, sourceLocation: SourceLocation = #_sourceLocation,
    _ change: (inout MigrationJob) -> Void = { _ in }
  ) throws {
    var job = try fixture.job
    change(&job)
    let obstacles = try MigrationManager(job).plan().obstacles.map(\.message)
    #expect(obstacles == [text].compactMap(\.self), sourceLocation: sourceLocation)
    _ = try? MigrationManager(job).runAsPlanned(sourceLocation: sourceLocation)
  }

  @Test func `the plan names the objects that break a rule`() throws {
    let fixture = try fixture(to: Self.note { if $0.name == "text" { $0.maximumLength = 7 } })
    try expect("3 objects of Note: attribute 'text' is longer than 7", fixture)
  }

  @Test func `the plan says that only the run can count what the other end of a required relationship sets`() throws {
    var note = Self.note()
    note.relationships[0].isOptional = false
    let fixture = try fixture(to: note)
    for (place, name) in ["t1", "t2"].enumerated() {
      let tags: EntityMapping = try .make(
        "Tag", "Tag", name: "Tag \(name)", filter: "name == '\(name)'",
        relationships: ["notes": .mapping("NoteToNote", keyPath: ["notes"])])
      if place == 0 { fixture.mappings[0] = tags } else { fixture.mappings.append(tags) }
    }
    fixture.mappings[1] = try .make("Note", "Note", attributes: ["text": "$source.text"])
    let plan = try MigrationManager(fixture.job).plan()
    let notes = plan.codedNotes.filter { $0.code == .notLookedAt }.map(\.text)
    #expect(
      notes == [
        "not looked at: how many objects 'Note.tag' leads to in mapping 'NoteToNote' (a rule limits them): only its inverse is mapped"
      ])
    // The plan cannot know it, so its status is not compared.
    let error = #expect(throws: GodwitError.self) { _ = try MigrationManager(fixture.job).run() }
    #expect(error?.code == .dataWrong)
  }

  @Test(arguments: [["tag"], ["size", "tag"]])
  func `the plan counts objects that a constraint over a to-one refuses`(constraint: [String]) throws {
    var note = Self.note()
    note.uniquenessConstraints = [constraint]
    let fixture = try fixture(to: note)
    try fixture.alter("UPDATE ZNOTE SET ZTAG = 1, ZSIZE = 7 WHERE Z_PK < 4")
    try expect(
      "3 objects of Note: equal values of \(constraint.joined(separator: ", ")), which must be unique", fixture)
    // Without its tag, no object shares it.
    let other = try self.fixture(to: note)
    try other.alter("UPDATE ZNOTE SET ZTAG = 1, ZSIZE = 7 WHERE Z_PK < 4")
    other.mappings[0] = try .make("Tag", "Tag", kind: .copy, filter: "name != 't1'")
    try expect(nil, other)
  }

  @Test func `the plan counts numbers that the new type cannot hold, and values of another type`() throws {
    let fixture = try fixture(to: Self.note { if $0.name == "size" { $0.type = .integer16 } })
    try expect("7 objects of Note: attribute 'size' of type Integer 16 cannot hold the number", fixture)
    let other = try self.fixture(to: Self.note())
    try other.alter("UPDATE ZNOTE SET ZSIZE = 'many' WHERE Z_PK = 3")
    try expect("1 object of Note: attribute 'size' has a value of another type", other)
  }

  @Test func `the plan counts values that cannot be computed, but not those that a filter leaves out`() throws {
    let fixture = try fixture(to: Self.note { if $0.name == "size" { $0.type = .integer16 } })
    fixture.mappings[1] = try .make(
      "Note", "Note", kind: .copy, filter: "size < 40000", attributes: ["size": "$source.size + 0"])
    try expect(nil, fixture)
    let all = try self.fixture(to: Self.note { if $0.name == "size" { $0.type = .integer16 } })
    all.mappings[1] = try .make("Note", "Note", kind: .copy, attributes: ["size": "$source.size + 0"])
    let obstacles = try MigrationManager(all.job).plan().obstacles.map(\.message)
    #expect(obstacles.count == 1 && obstacles[0].hasPrefix("7 objects of Note: the value of 'size' cannot be computed"))
    _ = try? MigrationManager(all.job).runAsPlanned()
  }

  @Test func `the plan finds duplicates under a new constraint`() throws {
    var note = Self.note()
    note.uniquenessConstraints = [["text"]]
    let fixture = try fixture(to: note)
    try fixture.alter("UPDATE ZNOTE SET ZTEXT = 'same' WHERE Z_PK < 4")
    try expect("3 objects of Note: equal values of text, which must be unique", fixture)
    // A quarantine does not help: none of them is the wrong one.
    try expect("3 objects of Note: equal values of text, which must be unique", fixture) {
      $0.destinationPath += "q"
      $0.quarantine = Quarantine(maximumRows: 5)
    }
  }

  @Test(arguments: [StoreType.sqlite, .xml, .binary])
  func `the plan finds values that the destination's type of store cannot hold`(type: StoreType) throws {
    let plain = EntityDescription.make("Note", ["text": .string, "site": .uri, "shape": .transformable])
    let values = [
      ("ZTEXT = CAST(x'41FF' AS TEXT)", "a text has bytes that are not UTF-8", [StoreType.xml, .binary]),
      ("ZSITE = CAST(x'C3' AS TEXT)", "a text has bytes that are not UTF-8", [.xml, .binary]),
      ("ZSHAPE = x'0102'", "a transformable value is not a keyed archive of one object", [.binary]),
      ("ZTEXT = CAST(x'410042EFBFBF' AS TEXT)", "", []),
    ]
    for (value, fault, refused) in values {
      let fixture = try MigrationFixture([plain], to: [plain])
      try fixture.build { store in
        for key in Int64(1)...3 { try store.insert("Note", key: key, attributes: ["text": .init("n\(key)")]) }
      }
      fixture.mappings = [try .make("Note", "Note", kind: .copy)]
      try fixture.alter("UPDATE ZNOTE SET \(value) WHERE Z_PK > 1")
      let kind = type == .xml ? "an XML" : "a binary"
      let text = refused.contains(type) ? "2 objects of Note: \(fault), which \(kind) store cannot hold" : nil
      try expect(text, fixture) { $0.destinationType = type }
      // No object is set aside: the finished store as a whole cannot be written.
      try expect(text, fixture) {
        ($0.destinationType, $0.quarantine) = (type, Quarantine(maximumRows: 3))
        $0.destinationPath += "q"
      }
    }
  }

  @Test func `the plan finds empty bytes where external storage wants a mark`() throws {
    let note = Self.note { if $0.name == "data" { $0.allowsExternalBinaryDataStorage = true } }
    let fixture = try fixture(note, to: Self.note())
    try fixture.alter("UPDATE ZNOTE SET ZDATA = x'' WHERE Z_PK = 2")
    try expect(
      "1 object of Note: attribute 'data' holds neither bytes nor the name of an external file", fixture)
  }

  @Test func `the plan finds duplicates among values that a mapping computes`() throws {
    var note = Self.note()
    note.uniquenessConstraints = [["text", "size"]]
    let fixture = try fixture(to: note)
    try fixture.alter("UPDATE ZNOTE SET ZSIZE = 1, ZTEXT = CASE Z_PK WHEN 1 THEN 'A' ELSE 'a' END WHERE Z_PK < 4")
    fixture.mappings[1] = try .make("Note", "Note", kind: .copy, attributes: ["text": "lowercase:($source.text)"])
    try expect("3 objects of Note: equal values of text, size, which must be unique", fixture)
    // Values that cannot be computed are another finding.
    try fixture.alter("UPDATE ZNOTE SET ZSIZE = 'x' WHERE Z_PK = 1")
    fixture.mappings[1] = try .make(
      "Note", "Note", kind: .copy, attributes: ["text": "lowercase:($source.text)", "size": "$source.size + 0"])
    let obstacles = try MigrationManager(fixture.job).plan().obstacles.map(\.message)
    #expect(obstacles.contains("2 objects of Note: equal values of text, size, which must be unique"), "\(obstacles)")
  }

  @Test func `the plan finds links that are missing where one is required`() throws {
    var note = Self.note()
    note.relationships[0].isOptional = false
    let fixture = try fixture(to: note)
    try fixture.alter("UPDATE ZNOTE SET ZTAG = NULL WHERE Z_PK = 2")
    try expect("1 object of Note: relationship 'tag' is required and is nil", fixture)
  }

  @Test func `the plan checks what unique-by makes, by the object that gives the values`() throws {
    func merged(_ quarantine: Quarantine? = nil, _ name: String) throws -> (MigrationFixture, MigrationJob) {
      let fixture = try self.fixture(to: Self.note { if $0.name == "text" { $0.maximumLength = 7 } })
      // Notes 8 to 10 are too long. Note 8 gives its text to those of note 9, and note 2 its own to note 10.
      try fixture.alter("UPDATE ZNOTE SET ZSIZE = 1 WHERE Z_PK IN (8, 9)")
      try fixture.alter("UPDATE ZNOTE SET ZSIZE = 2 WHERE Z_PK IN (2, 10)")
      fixture.mappings[1] = try .make(
        "Note", "Note", uniqueBy: ["size"], attributes: ["size": "$source.size", "text": "$source.text"])
      var job = try fixture.job
      job.destinationPath += name
      job.quarantine = quarantine
      return (fixture, job)
    }
    for (quarantine, status) in [(nil, Int32(65)), (Quarantine(maximumRows: 2), 3), (Quarantine(maximumRows: 1), 65)] {
      let (fixture, job) = try merged(quarantine, "\(status)")
      #expect(MigrationManager(job).plannedStatus() == status)
      _ = try? MigrationManager(job).runAsPlanned()
      withExtendedLifetime(fixture) {}
    }
  }

  @Test func `the plan follows several relationships to a required object`() throws {
    let entity: (Bool) -> [EntityDescription] = { isOptional in
      var entity = EntityDescription.make(
        "P", ["n": .integer64], [.toOne("boss", "P", inverse: "team"), .toMany("team", "P", inverse: "boss")])
      for place in entity.relationships.indices where entity.relationships[place].name == "boss" {
        entity.relationships[place].isOptional = isOptional
      }
      return [entity]
    }
    let fixture = try MigrationFixture(entity(true), to: entity(false))
    try fixture.build { store in
      for key in Int64(1)...4 { try store.insert("P", key: key, relationships: ["boss": [max(1, key - 1)]]) }
    }
    try fixture.alter("UPDATE ZP SET ZBOSS = NULL WHERE Z_PK = 1")
    fixture.mappings = [try .make("P", "P", relationships: ["boss": .mapping("PToP", keyPath: ["boss", "boss"])])]
    try expect("2 objects of P: relationship 'boss' is required and is nil", fixture)
  }

  @Test func `a plan says so when every object is set aside`() throws {
    let fixture = try fixture(to: Self.note { if $0.name == "text" { $0.minimumLength = 99 } })
    fixture.mappings.removeFirst()
    try expect("all 10 objects are rejected, which leaves none", fixture) {
      $0.quarantine = Quarantine(maximumRows: 99)
      $0.onLoss = .report
    }
  }

  @Test func `a source from which every object is set aside is migrated as an empty one`() throws {
    let fixture = try fixture(to: Self.note { if $0.name == "text" { $0.minimumLength = 99 } })
    try fixture.alter("DELETE FROM ZTAG")
    try fixture.alter("UPDATE ZNOTE SET ZTAG = NULL")
    var job = try fixture.job
    job.quarantine = Quarantine(maximumRows: 99)
    #expect(try MigrationManager(job).plan().setAside == 10)
    let summary = try MigrationManager(job).runAsPlanned()
    #expect(summary.quarantinedObjects == 10 && summary.objects == 0)
  }

  @Test(arguments: [StoreType.sqlite, .xml])
  func `a missing external file stops a run that reads it`(type: StoreType) throws {
    let external = Self.note { if $0.name == "data" { $0.allowsExternalBinaryDataStorage = true } }
    let fixture = try fixture(external, to: type == .sqlite ? Self.note() : external)
    let name = "6F3D0FBA-5E9A-43FC-B2E2-000000000001".utf8.map { String($0, radix: 16) }.joined()
    let reference = "X'02\(name)00'"
    try fixture.alter("UPDATE ZNOTE SET ZDATA = \(reference) WHERE Z_PK = 1")
    try expect("1 object of Note: the external file of 'data' is missing", fixture) { $0.destinationType = type }
    // Nothing reads it where it stays a file, or where the object is left out.
    if type == .sqlite {
      let kept = try self.fixture(external, to: external)
      try kept.alter("UPDATE ZNOTE SET ZDATA = \(reference) WHERE Z_PK = 1")
      try expect(nil, kept)
      fixture.mappings[1] = try .make("Note", "Note", kind: .copy, filter: "size > 10000")
      try expect(nil, fixture) { $0.destinationPath += "f" }
    }
  }

  @Test(arguments: [StoreType.sqlite, .xml], [false, true])
  func `an external file that may not be read stops the plan as it stops the run`(
    type: StoreType, keepsInvalid: Bool
  ) throws {
    let external = Self.note { if $0.name == "data" { $0.allowsExternalBinaryDataStorage = true } }
    let fixture = try fixture(external, to: type == .sqlite ? Self.note() : external)
    let name = "6F3D0FBA-5E9A-43FC-B2E2-000000000001"
    let reference = StoredBinary.external(name: name).bytes.map { String(format: "%02X", $0) }.joined()
    try fixture.alter("UPDATE ZNOTE SET ZDATA = X'\(reference)' WHERE Z_PK = 1")
    var job = try fixture.job
    (job.destinationType, job.keepsInvalid) = (type, keepsInvalid)
    let folder = SupportFolder(ofStoreAt: job.sourcePath)
    try FileManager.default.createDirectory(atPath: folder.dataPath, withIntermediateDirectories: true)
    try Data([7]).write(to: URL(filePath: folder.path(of: name)))
    for work in [{ _ = try MigrationManager(job).plan() }, { _ = try MigrationManager(job).run() }]
      as [() throws -> Void]
    {
      let whole = FaultLayer(.none, looksAt: folder.dataPath)
      try whole.run(work)
      try? FileManager.default.removeItem(atPath: job.destinationPath)
      let opening = try #require(whole.operations.firstIndex { $0.kind == .open })
      let layer = FaultLayer(.fail(EACCES, at: opening + 1), looksAt: folder.dataPath)
      let error = #expect(throws: GodwitError.self) { try layer.run(work) }
      #expect(error?.code == .permission, "\(error as Any)")
      #expect(error?.message.contains("'\(folder.path(of: name))'") == true, "\(error as Any)")
    }
  }

  @Test func `a quarantine within its limits ends the plan as the run, and beyond them stops both`() throws {
    let fixture = try fixture(to: Self.note { if $0.name == "text" { $0.maximumLength = 7 } })
    for (limit, status) in [(Quarantine(maximumRows: 3), Int32(3)), (Quarantine(maximumRows: 2), 65)] {
      var job = try fixture.job
      job.destinationPath += "\(status)"
      job.quarantine = limit
      #expect(MigrationManager(job).plannedStatus() == status)
      _ = try? MigrationManager(job).runAsPlanned()
    }
    var job = try fixture.job
    job.quarantine = Quarantine(maximumPercent: 15)
    let plan = try MigrationManager(job).plan()
    #expect(plan.setAside == 3)
    #expect(plan.verdict.hasPrefix("SETS ASIDE (3): 3 objects are set aside, 3 objects of Note: attribute 'text'"))
    _ = try MigrationManager(job).runAsPlanned()
    // What is set aside is not in the destination.
    job.destinationPath += "loss"
    job.onLoss = .fail
    #expect(try MigrationManager(job).plan().obstacles.map(\.code) == [.losses])
    _ = try? MigrationManager(job).runAsPlanned()
  }

  @Test func `the plan counts what is set aside because another object is`() throws {
    var note = Self.note()
    note.relationships[0].isOptional = false
    var tag = Self.tag()
    tag.attributes[0].maximumLength = 2
    let fixture = try fixture(to: note, tag: tag)
    var job = try fixture.job
    job.quarantine = Quarantine(maximumRows: 2)
    #expect(try MigrationManager(job).plan().setAside == 2)
    #expect(try MigrationManager(job).runAsPlanned().quarantinedObjects == 2)
    job.destinationPath += "1"
    job.quarantine = Quarantine(maximumRows: 1)
    #expect(MigrationManager(job).plannedStatus() == 65)
    _ = try? MigrationManager(job).runAsPlanned()
  }

  @Test(arguments: [Quarantine(maximumRows: 2), Quarantine(maximumRows: 1), Quarantine(maximumPercent: 20), nil])
  func `objects whose filter cannot be computed are set aside in the plan too`(limit: Quarantine?) throws {
    let fixture = try fixture(to: Self.note())
    try fixture.alter("UPDATE ZNOTE SET ZSIZE = 'many' WHERE Z_PK IN (3, 10)")
    fixture.mappings[1] = try .make("Note", "Note", kind: .copy, filter: "size > 0")
    var job = try fixture.job
    job.quarantine = limit
    let isAllowed = limit.map { $0.limit(of: 20) >= 2 } ?? false
    #expect(MigrationManager(job).plannedStatus() == (isAllowed ? 3 : 65))
    guard isAllowed else {
      _ = try? MigrationManager(job).runAsPlanned()
      return
    }
    let plan = try MigrationManager(job).plan()
    #expect(plan.setAside == 2 && plan.facts.mappings[1].rows == 8)
    #expect(try MigrationManager(job).runAsPlanned().quarantinedObjects == 2)
  }

  @Test func `an object whose filter fails in two mappings is one object`() throws {
    let fixture = try fixture(to: Self.note())
    try fixture.alter("UPDATE ZNOTE SET ZSIZE = 'many' WHERE Z_PK IN (3, 10)")
    fixture.mappings = [
      try .make("Note", "Note", name: "Large", kind: .copy, filter: "size > 50000"),
      try .make("Note", "Note", name: "Small", kind: .copy, filter: "size <= 50000"),
    ]
    // Two of ten objects are 20 %.
    for (percent, status) in [(19.0, Int32(65)), (20, 3)] {
      var job = try fixture.job
      job.onLoss = .allowEmpty
      job.destinationPath += "\(status)"
      job.quarantine = Quarantine(maximumPercent: percent)
      #expect(MigrationManager(job).plannedStatus() == status)
      _ = try? MigrationManager(job).runAsPlanned()
    }
  }

  @Test func `each of many objects whose filter fails is counted`() throws {
    let note = EntityDescription.make("Note", ["size": .integer64])
    let fixture = try MigrationFixture([note], to: [note])
    try fixture.build { store in
      for key in Int64(1)...700 { try store.insert("Note", key: key, attributes: ["size": .integer(key)]) }
    }
    try fixture.alter("UPDATE ZNOTE SET ZSIZE = 'many' WHERE Z_PK > 100")
    fixture.mappings = [try .make("Note", "Note", kind: .copy, filter: "size > 0")]
    var job = try fixture.job
    job.quarantine = Quarantine(maximumRows: 600)
    #expect(try MigrationManager(job).plan().setAside == 600)
    #expect(try MigrationManager(job).runAsPlanned().quarantinedObjects == 600)
  }

  @Test(arguments: [false, true])
  func `a constraint of a subentity holds for the whole table`(appends: Bool) throws {
    func entities(_ constraints: [[String]]) -> [EntityDescription] {
      var tool = EntityDescription.make("Tool", parent: "Thing", ["size": .integer32])
      tool.uniquenessConstraints = constraints
      return [.make("Thing", ["name": .string]), tool]
    }
    let fixture = try MigrationFixture(entities([]), to: entities([["name"]]))
    try fixture.build { store in
      try store.insert("Thing", key: 1, attributes: ["name": .init("a")])
      try store.insert("Tool", key: 2, attributes: ["name": .init(appends ? "b" : "a")])
    }
    fixture.mappings = try ["Thing", "Tool"].map { try .make($0, $0, kind: .copy) }
    var job = try fixture.job
    if appends {
      try MigrationManager(job).run()
      try fixture.alter("UPDATE ZTHING SET ZNAME = 'c' WHERE Z_PK = 2")
      job.existingDestination = .append
    }
    #expect(MigrationManager(job).plannedStatus() == 65)
    #expect(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
  }

  @Test func `keys of an entity that is gone do not matter to an atomic store`() throws {
    let fixture = try MigrationFixture([Self.note(), Self.tag(), .make("Gone")], to: [Self.note(), Self.tag()])
    try fixture.build { store in
      try store.insert("Note", key: 1)
      try store.insert("Gone", key: .max)
    }
    fixture.mappings = try ["Note", "Tag"].map { try .make($0, $0, kind: .copy) }
    var job = try fixture.job
    job.destinationType = .xml
    #expect(try MigrationManager(job).runAsPlanned().objects == 1)
  }

  @Test func `an appending job is told of values that are in the destination already`() throws {
    var note = Self.note()
    note.uniquenessConstraints = [["text", "size"]]
    let fixture = try fixture(to: note)
    try MigrationManager(fixture.job).run()
    // Note 4 has the values of an object that is there, note 5 one of the two.
    try fixture.alter("UPDATE ZNOTE SET ZSIZE = ZSIZE + 1 WHERE Z_PK <> 4")
    var job = try fixture.job
    job.existingDestination = .append
    let message = "1 object of Note: values of text, size, which must be unique, are in the destination already"
    #expect(try MigrationManager(job).plan().obstacles.map(\.message) == [message])
    #expect(try MigrationManager(job).audit().findings.map(\.kind) == [.duplicate])
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
    #expect(error.code == .dataWrong)
    #expect(try MigrationManager.discard(destination: job.destinationPath))
    try fixture.alter("UPDATE ZNOTE SET ZSIZE = 1 WHERE Z_PK = 4")
    #expect(try MigrationManager(job).plan().obstacles.isEmpty)
    #expect(try MigrationManager(job).runAsPlanned().objects == 20)
  }

  @Test(arguments: [StoreType.xml, .binary])
  func `keys of either sign fit an atomic store unless they are too far apart`(type: StoreType) throws {
    let fixture = try fixture(to: Self.note())
    try fixture.alter("UPDATE ZNOTE SET Z_PK = -3 WHERE Z_PK = 3")
    try fixture.alter("UPDATE ZNOTE SET Z_PK = 0 WHERE Z_PK = 4")
    var job = try fixture.job
    job.destinationType = type
    #expect(try MigrationManager(job).runAsPlanned().objects == 20)
    #expect(try Verifier(job: job).run().isClean)
    try fixture.alter("UPDATE ZNOTE SET Z_PK = -9223372036854775808 WHERE Z_PK = -3")
    job.destinationPath += "2"
    #expect(try MigrationManager(job).plan().obstacles.map(\.code) == [.keys])
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
    #expect(error.code == .dataWrong && error.message.contains("'Note'"), "\(error)")
  }

  @Test(arguments: ["NULL", "99", "'x'", "1.5", "X'02'"])
  func `a change of definitions leaves rows of an unknown entity as they are, and the plan says so`(
    number: String
  ) throws {
    func entities(_ more: [String: AttributeType]) -> [EntityDescription] {
      [.make("Thing", ["name": .string].merging(more) { $1 }), .make("Tool", parent: "Thing", ["size": .integer32])]
    }
    let fixture = try MigrationFixture(entities([:]), to: entities(["note": .string]))
    try fixture.build { store in
      for key in Int64(1)...4 { try store.insert(key % 2 == 0 ? "Tool" : "Thing", key: key) }
    }
    try fixture.infer()
    try fixture.alter("UPDATE ZTHING SET Z_ENT = \(number) WHERE Z_PK = 3")
    let job = fixture.jobInPlace(fixture.sourcePath)
    let note = "1 row of table 'ZTHING' with an unknown entity number (known: 1, 2) stays unchanged"
    let plan = try MigrationManager(job).plan()
    #expect(plan.notes.contains(note), "\(plan.notes)")
    #expect(plan.steps[0].strategy == .definitions)
    _ = try MigrationManager(job).runAsPlanned()
    let store = try StoreConnection.openStore(readingAt: fixture.sourcePath)
    #expect(try store.integer("SELECT COUNT(*) FROM source.ZTHING") == 4)
    // A new store has no place for the row.
    let other = try fixture.job
    #expect(MigrationManager(other).plannedStatus() == 65)
  }

  @Test func `a sample finds rows that break a rule`() throws {
    let fixture = try fixture(to: Self.note { if $0.name == "text" { $0.maximumLength = 7 } })
    var job = try fixture.job
    job.hooks.samplesPlans = true
    #expect(MigrationManager(job).plannedStatus() == 65)
  }
}

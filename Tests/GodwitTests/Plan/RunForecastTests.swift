import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
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

  @Test func `a sample finds rows that break a rule`() throws {
    let fixture = try fixture(to: Self.note { if $0.name == "text" { $0.maximumLength = 7 } })
    var job = try fixture.job
    job.hooks.samplesPlans = true
    #expect(MigrationManager(job).plannedStatus() == 65)
  }
}

import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Objects that hooks insert wait and are written together. No hook can tell, and the store is that of objects written
/// one by one.
@Suite struct PolicyBatchTests {
  /// Runs a policy of the contacts with objects written in batches and one by one.
  ///
  /// - Returns: The common content of both stores, or the message of the common error.
  @discardableResult
  private func compare(
    people: Int64 = 12, _ policies: PolicyRegistry, prepare: (MigrationFixture) throws -> Void = { _ in }
  ) throws -> [String] {
    var contents: [[String]] = []
    for rows in [128, 3, 0] {
      let fixture = try policyFixture(people: people, rows: nil)
      fixture.setPolicy("P", of: "PersonToContact")
      try prepare(fixture)
      try EngineTuning.with(\.policyRowsPerBatch, rows) {
        do {
          let (summary, report) = try fixture.run(policies)
          #expect(summary.outcome == .finished)
          #expect(report.isClean, "\(report)")
          contents.append(try fixture.content())
        } catch let error as GodwitError where error.code != .internalBug {
          contents.append([error.message, error.cause ?? ""])
        }
      }
    }
    for other in contents.dropFirst() {
      let difference = zip(contents[0], other).first { $0 != $1 }
      #expect(contents[0] == other, "in batches \(difference?.0 ?? ""), otherwise \(difference?.1 ?? "")")
    }
    return contents[0]
  }

  private func policy(_ create: @escaping ClosurePolicy.ObjectHook) -> PolicyRegistry {
    var policy = ClosurePolicy()
    policy.create = create
    let made = policy
    return ["P": { made }]
  }

  // MARK: Reading

  /// The ways to look for objects of the destination.
  enum Look: CaseIterable {
    case key, value, list, associated, sources, relationship
  }

  @Test(arguments: Look.allCases) func `every way to look finds the objects inserted before`(look: Look) throws {
    let log = HookLog()
    let content = try compare(
      policy { person, mapping, manager in
        var contact = try manager.createDestinationInstance(forSource: person, in: mapping)
        contact["given"] = AttributeValue("number \(person.key)")
        try manager.insert(contact)
        manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
        // Some objects wait by then.
        guard person.key % 8 == 5 else { return }
        let before = person.key - 2
        let found: [ManagedObject]
        switch look {
        case .key: found = try [manager.destinationInstance(ofEntityNamed: "Contact", key: before)].compactMap(\.self)
        case .value:
          found = try [
            manager.destinationInstance(ofEntityNamed: "Contact", where: "given", equals: .init("number \(before)"))
          ].compactMap(\.self)
        case .list: found = try Array(manager.destinationInstances(ofEntityNamed: "Contact", limit: 100).suffix(2))
        case .associated:
          let people = try manager.sourceInstances(ofEntityNamed: "Person", limit: 100).filter { $0.key == before }
          found = try manager.destinationInstances(forEntityMappingNamed: mapping.name, sourceInstances: people)
        case .sources:
          let sources = try manager.sourceInstances(
            forEntityMappingNamed: mapping.name, destinationInstances: [contact])
          log.note("\(sources)")
          found = []
        case .relationship:
          let place = try manager.destinationInstances(ofEntityNamed: "Place", limit: 1)
          try manager.setRelationship("place", of: contact, to: place.first)
          found = try place[0].objects("contacts")
        }
        for object in found { log.note("\(object) \(try object.string("given") ?? "nil")") }
      })
    #expect(content.contains { $0.contains("number 23") }, "\(content)")
    // Three times the people 5, 13 and 21.
    let expected: [String]
    switch look {
    case .key, .value, .associated: expected = [3, 11, 19].map { "Contact p\($0) number \($0)" }
    case .list: expected = [3, 5, 11, 13, 19, 21].map { "Contact p\($0) number \($0)" }
    case .sources: expected = [5, 13, 21].map { "[Person p\($0)]" }
    case .relationship:
      expected = [[5], [5, 13], [5, 13, 21]].flatMap { $0.map { "Contact p\($0) number \($0)" } }
    }
    #expect(log.all == expected + expected + expected)
  }

  @Test func `an object is written as it was at its last insert or save`() throws {
    let content = try compare(
      policy { person, mapping, manager in
        var contact = try manager.createDestinationInstance(forSource: person, in: mapping)
        contact["given"] = AttributeValue("first")
        try manager.insert(contact)
        // A copy of its own, which is never written.
        var copy = contact
        copy["given"] = AttributeValue("lost")
        if person.key % 3 > 0 {
          contact["given"] = AttributeValue("second \(person.key)")
          try person.key % 3 == 1 ? manager.insert(contact) : manager.save(contact)
        }
        if person.key % 5 == 0, var stored = try manager.destinationInstance(ofEntityNamed: "Contact", key: person.key)
        {
          stored["family"] = AttributeValue("third \(person.key) after \(try stored.string("given") ?? "nil")")
          try manager.save(stored)
        }
        #expect(try contact.string("given") != "lost")
        manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
      })
    let lines = content.filter { $0.hasPrefix("ZCONTACT ") }
    #expect(lines.count == 12)
    #expect(lines.contains { $0.contains("|third 5 after second 5|") }, "\(lines)")
    #expect(lines.contains { $0.contains("|third 15 after first|") }, "\(lines)")
    #expect(!lines.contains { $0.contains("lost") })
  }

  /// Keeps a draft of each object, and inserts it in the hook for the next one.
  private final class Late: EntityMigrationPolicy {
    private var kept: ManagedObject?

    func createDestinationInstances(
      forSource person: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
    ) throws {
      if let kept { try manager.insert(kept) }
      kept = try manager.createDestinationInstance(forSource: person, in: mapping)
      kept?["given"] = AttributeValue("kept \(person.key)")
    }

    func endInstanceCreation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {
      guard let last = kept else { return }
      kept = nil
      for _ in 0..<2 { try manager.insert(last) }
    }
  }

  @Test func `a draft may be inserted in a later hook`() throws {
    let content = try compare(["P": { Late() }])
    #expect(content.filter { $0.contains("kept") }.count == 12, "\(content)")
  }

  @Test func `several objects of one source object all have the values of the mapping`() throws {
    let content = try compare(
      policy { person, mapping, manager in
        for number in 0..<3 {
          var contact = try manager.createDestinationInstance(forSource: person, in: mapping)
          contact["given"] = AttributeValue("\(number) of \(person.key)")
          try manager.insert(contact)
          manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
        }
      })
    // The age of person 23, and one year more.
    #expect(content.filter { $0.hasPrefix("ZCONTACT ") && $0.contains("24|") && $0.contains(" of 23") }.count == 3)
  }

  // MARK: Values

  @Test func `large values among small ones, empty ones and nil are written in their rows`() throws {
    let fixture = try MigrationFixture(
      [.make("Item", ["title": .string])],
      to: [.make("Thing", ["title": .string, "bytes": .binary, "number": .double])])
    try fixture.build { store in
      for key in Int64(1)...20 { try store.insert("Item", key: key, attributes: ["title": .init("item \(key)")]) }
    }
    fixture.chunkRows = nil
    fixture.mappings = [try .make("Item", "Thing", attributes: ["title": "$source.title"])]
    fixture.setPolicy("Fill", of: "ItemToThing")
    var fill = ClosurePolicy()
    fill.create = { item, mapping, manager in
      var thing = try manager.createDestinationInstance(forSource: item, in: mapping)
      switch item.key % 5 {
      case 0: thing["title"] = .null
      case 1: thing["bytes"] = .data([UInt8](repeating: UInt8(item.key), count: 300_000))
      case 2: thing["bytes"] = .data([])
      case 3: thing["title"] = AttributeValue("")
      default: thing["number"] = .double(-0.25)
      }
      try manager.insert(thing)
      manager.associate(sourceInstance: item, withDestinationInstance: thing, for: mapping)
    }
    let registered = fill
    let (summary, report) = try fixture.run(["Fill": { registered }])
    #expect(report.isClean, "\(report)")
    #expect(summary.objects == 20)
    let rows = try fixture.rows(
      "SELECT Z_PK, ZTITLE, length(ZBYTES), hex(substr(ZBYTES, -1)), ZNUMBER FROM source.ZTHING ORDER BY Z_PK")
    #expect(rows.count == 20)
    #expect(
      Array(rows[10..<15]) == [
        "11|item 11|300000|0B|nil", "12|item 12|0||nil", "13||nil||nil", "14|item 14|nil||-0.25", "15|nil|nil||nil",
      ])
  }

  // MARK: Errors

  @Test func `a value that does not fit names its object, not another of its batch`() throws {
    let found = try compare(
      policy { person, mapping, manager in
        var contact = try manager.createDestinationInstance(forSource: person, in: mapping)
        contact["age"] = .integer(person.key == 13 ? 1 << 40 : 1)
        try manager.insert(contact)
        manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
      })
    #expect(found.count == 2 && found[0].contains("Contact p13"), "\(found)")
    #expect(found.last?.contains("createDestinationInstances for Person p13") == true, "\(found)")
  }

  @Test func `two objects of one batch with one value of a uniqueness constraint are refused`()
    throws
  {
    var messages: [String] = []
    for rows in [128, 0] {
      var tag = EntityDescription.make("Tag", ["name": .string])
      tag.uniquenessConstraints = [["name"]]
      let fixture = try MigrationFixture([.make("Item", ["title": .string])], to: [tag])
      try fixture.build { store in
        for key in Int64(1)...20 { try store.insert("Item", key: key, attributes: ["title": .init("item \(key)")]) }
      }
      fixture.chunkRows = nil
      fixture.mappings = [try .make("Item", "Tag", attributes: ["name": "$source.title"])]
      fixture.setPolicy("Same", of: "ItemToTag")
      var same = ClosurePolicy()
      same.create = { item, mapping, manager in
        var tag = try manager.createDestinationInstance(forSource: item, in: mapping)
        if item.key == 14 { tag["name"] = AttributeValue("item 9") }
        try manager.insert(tag)
        manager.associate(sourceInstance: item, withDestinationInstance: tag, for: mapping)
      }
      let registered = same
      let error = try #require(throws: GodwitError.self) {
        try EngineTuning.with(\.policyRowsPerBatch, rows) { try fixture.run(["Same": { registered }]) }
      }
      #expect(error.code == .dataWrong)
      messages.append("\(error.message) \(error.cause ?? "")")
    }
    #expect(messages[0] == messages[1])
    #expect(messages[0].contains("two objects in ZTAG share a value of uniqueness constraint"), "\(messages)")
  }

  @Test func `an object that is associated and never inserted is found in the middle of a batch`() throws {
    let found = try compare(
      policy { person, mapping, manager in
        let contact = try manager.createDestinationInstance(forSource: person, in: mapping)
        manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
        if person.key != 13 { try manager.insert(contact) }
      })
    #expect(found[0] == "Contact p13 was associated but never inserted", "\(found)")
  }

  @Test func `a run whose hook fails while objects wait resumes to the same store`() throws {
    let whole = try policyFixture()
    whole.setPolicy("P", of: "PersonToContact")
    try whole.run(["P": { ClosurePolicy() }])
    let fixture = try policyFixture()
    try FileManager.default.removeItem(atPath: fixture.sourcePath)
    try FileManager.default.copyItem(atPath: whole.sourcePath, toPath: fixture.sourcePath)
    fixture.setPolicy("P", of: "PersonToContact")
    let failing = policy { person, mapping, manager in
      try manager.createDestinationInstances(forSource: person, in: mapping)
      if person.key == 15 { throw GodwitError(.inputOutput, "the test stops here") }
    }
    #expect(throws: GodwitError.self) { try MigrationManager(fixture.job(failing)).run() }
    try fixture.run(["P": { ClosurePolicy() }])
    #expect(try fixture.content() == whole.content())
  }
}

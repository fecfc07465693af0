import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@Suite struct PolicyTests {
  // MARK: Hooks

  @Test func `hooks run in Core Data's order, one instance for each mapping`() throws {
    let fixture = try policyFixture(people: 2)
    fixture.setPolicy("Recording", of: "HomeToPlace")
    fixture.setPolicy("Recording", of: "PersonToContact")
    fixture.mappings[0].filter = try FilterPredicate("street == 'street 1'")
    let log = HookLog()
    let (summary, report) = try fixture.run(["Recording": { RecordingPolicy(log) }])
    #expect(report.isClean, "\(report)")
    #expect(summary.objects == 4)
    #expect(
      log.all == [
        "HomeToPlace begin", "HomeToPlace create Home p1", "HomeToPlace create Home p4",
        "HomeToPlace endInstanceCreation",
        "PersonToContact begin", "PersonToContact create Person p1", "PersonToContact create Person p3",
        "PersonToContact endInstanceCreation",
        "HomeToPlace relate Place p1", "HomeToPlace relate Place p4", "HomeToPlace endRelationshipCreation",
        "PersonToContact relate Contact p1", "PersonToContact relate Contact p3",
        "PersonToContact endRelationshipCreation",
        "HomeToPlace validate", "PersonToContact validate",
        "HomeToPlace end", "HomeToPlace calls 9", "PersonToContact end", "PersonToContact calls 9",
      ])
  }

  @Test func `a policy that changes nothing gives the store that the mapping gives without it`() throws {
    let plain = try policyFixture()
    try plain.run()
    for policies in [["HomeToPlace"], ["PersonToContact"], ["HomeToPlace", "PersonToContact"]] {
      let fixture = try policyFixture()
      try FileManager.default.removeItem(atPath: fixture.sourcePath)
      try FileManager.default.copyItem(atPath: plain.sourcePath, toPath: fixture.sourcePath)
      for name in policies { fixture.setPolicy("Plain", of: name) }
      let (_, report) = try fixture.run(["Plain": { PlainPolicy() }])
      #expect(report.isClean, "\(report)")
      #expect(try fixture.content() == plain.content(), "\(policies)")
    }
  }

  @Test(arguments: 0..<4) func `a policy that changes nothing gives the mapping's store for random models and mappings`(
    part: UInt64
  ) throws {
    for number in 0..<TestTier.choose(4, long: 15) {
      let seed = 77_000 + part * 100 + UInt64(number)
      var random = SeededGenerator(seed: seed)
      let world = try RandomWorld(&random)
      let plain = try MigrationFixture(world.source, to: world.destination)
      plain.mappings = world.mappings
      try world.write(to: plain)
      try plain.run()
      let fixture = try MigrationFixture(world.source, to: world.destination)
      try FileManager.default.copyItem(atPath: plain.sourcePath, toPath: fixture.sourcePath)
      fixture.mappings = world.mappings
      fixture.chunkRows = [1, 2, 3, 1000][random.below(4)]
      for index in fixture.mappings.indices where fixture.mappings[index].uniqueBy.isEmpty && random.chance(60) {
        fixture.mappings[index].policyName = "Plain"
      }
      do {
        let (summary, report) = try fixture.run(["Plain": { PlainPolicy() }])
        #expect(report.isClean, "seed \(seed): \(report)")
        #expect(summary.outcome == .finished)
        let (made, expected) = (try fixture.content(), try plain.content())
        let difference = zip(made, expected).first { $0 != $1 }
        #expect(
          made == expected,
          "seed \(seed): made \(difference?.0 ?? ""), expected \(difference?.1 ?? "")\n\(world.description)")
      } catch { Issue.record("seed \(seed): \(error)\n\(world.description)") }
    }
  }

  @Test(arguments: 0..<4) func `relationships set together equal those set object by object`(part: UInt64) throws {
    for number in 0..<TestTier.choose(3, long: 10) {
      let seed = 78_000 + part * 100 + UInt64(number)
      var random = SeededGenerator(seed: seed)
      let world = try RandomWorld(&random)
      let chosen = world.mappings.indices.filter { world.mappings[$0].uniqueBy.isEmpty && random.chance(60) }
      var contents: [[String]] = []
      let source = try MigrationFixture(world.source, to: world.destination)
      try world.write(to: source)
      for isReassociating in [false, true] {
        let fixture = try MigrationFixture(world.source, to: world.destination)
        try FileManager.default.copyItem(atPath: source.sourcePath, toPath: fixture.sourcePath)
        fixture.mappings = world.mappings
        fixture.chunkRows = [1, 3, 1000][random.below(3)]
        for index in chosen { fixture.mappings[index].policyName = "Several" }
        do {
          // The other time links are resolved by SQL too.
          try EngineTuning.with(\.limitEdges, isReassociating ? 1 : 100_000) {
            _ = try MigrationManager(fixture.job(["Several": { severalOfOne(isReassociating: isReassociating) }])).run()
          }
          contents.append(try fixture.content())
        } catch { contents.append(["\((error as? GodwitError)?.message ?? "\(error)")"]) }
      }
      let difference = zip(contents[0], contents[1]).first { $0 != $1 }
      #expect(
        contents[0] == contents[1],
        "seed \(seed): together \(difference?.0 ?? ""), alone \(difference?.1 ?? "")\n\(world.description)")
    }
  }

  @Test func `a policy reads what it has just associated, and associating twice has no effect`() throws {
    let fixture = try policyFixture(people: 5000, rows: nil)
    fixture.setPolicy("Look", of: "PersonToContact")
    var look = ClosurePolicy()
    look.create = { person, mapping, manager in
      let contact = try manager.createDestinationInstance(forSource: person, in: mapping)
      try manager.insert(contact)
      for _ in 0..<2 { manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping) }
      guard person.key % 7 == 1 else { return }
      let found = try manager.destinationInstances(forEntityMappingNamed: mapping.name, sourceInstances: [person])
      guard found == [contact] else { throw GodwitError(.dataWrong, "found \(found)") }
      manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
      let back = try manager.sourceInstances(forEntityMappingNamed: mapping.name, destinationInstances: found)
      guard back == [person] else { throw GodwitError(.dataWrong, "came from \(back)") }
    }
    let (summary, report) = try fixture.run(["Look": { [look] in look }])
    #expect(report.isClean, "\(report)")
    #expect(summary.objects == 5000 + 6)
    let plain = try policyFixture(people: 5000, rows: nil)
    try plain.run()
    #expect(try fixture.rows("SELECT * FROM ZCONTACT ORDER BY 1") == plain.rows("SELECT * FROM ZCONTACT ORDER BY 1"))
  }

  @Test func `one source object becomes thousands through its own hook and another one`() throws {
    for isOwn in [true, false] {
      let fixture = try policyFixture(people: 2, rows: nil)
      fixture.setPolicy("Many", of: "PersonToContact")
      let count = 6000
      @Sendable func make(_ person: ManagedObject, _ mapping: EntityMapping, _ manager: inout PolicyContext) throws {
        for number in 0..<count {
          var contact = try manager.createInstance(ofEntityNamed: "Contact")
          contact["age"] = .integer(Int64(number))
          try manager.insert(contact)
          for _ in 0..<2 { manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping) }
        }
      }
      var many = ClosurePolicy()
      many.create = { person, mapping, manager in if isOwn, person.key == 1 { try make(person, mapping, &manager) } }
      many.endCreate = { mapping, manager in
        guard !isOwn, let person = try manager.sourceInstances(ofEntityNamed: "Person", limit: 1).first else { return }
        try make(person, mapping, &manager)
      }
      let (summary, report) = try fixture.run(["Many": { [many] in many }])
      #expect(report.isClean, "\(report)")
      #expect(summary.objects == 6 + Int64(count))
      #expect(
        try fixture.rows("SELECT COUNT(*), COUNT(DISTINCT ZAGE), COUNT(ZPLACE) FROM ZCONTACT") == ["6000|6000|6000"])
    }
  }

  @Test func `a value that does not fit is an error only when a policy asks for it`() throws {
    for isAsked in [false, true] {
      let fixture = try policyFixture(people: 4)
      try fixture.alter("UPDATE ZPERSON SET ZAGE = 3000000000 WHERE Z_PK = 3")
      fixture.setPolicy("Fresh", of: "PersonToContact")
      var fresh = ClosurePolicy()
      fresh.create = { person, mapping, manager in
        if isAsked { return try manager.createDestinationInstances(forSource: person, in: mapping) }
        try manager.insert(try manager.createInstance(ofEntityNamed: "Contact"))
      }
      let registry: PolicyRegistry = ["Fresh": { [fresh] in fresh }]
      guard isAsked else {
        #expect(try MigrationManager(fixture.job(registry)).run().objects == 6 + 4)
        continue
      }
      let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job(registry)).run() }
      #expect(error?.code == .dataWrong && error?.message.contains("Person p3") == true, "\(String(describing: error))")
    }
  }

  // MARK: Numbers of objects

  @Test func `one source object becomes several, and lookups by other mappings find them all`() throws {
    let fixture = try policyFixture(people: 3)
    fixture.setPolicy("Split", of: "PersonToContact")
    fixture.mappings[0].relationshipMappings = [
      RelationshipMapping(name: "contacts", value: .mapping("PersonToContact", keyPath: ["people"]))
    ]
    fixture.mappings[1].relationshipMappings = []
    var split = ClosurePolicy()
    split.create = { person, mapping, manager in
      for word in try person.string("fullName")?.split(separator: " ") ?? [] {
        var contact = try manager.createDestinationInstance(forSource: person, in: mapping)
        contact["given"] = AttributeValue(word)
        try manager.insert(contact)
        manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
      }
    }
    let registry: PolicyRegistry = ["Split": { [split] in split }]
    let (summary, report) = try fixture.run(registry)
    #expect(report.isClean, "\(report)")
    #expect(summary.objects == 6 + 6)
    // The first object of a source object keeps its key, the others come after every key in use.
    #expect(
      try fixture.rows("SELECT Z_PK, ZGIVEN, ZAGE, ZPLACE FROM ZCONTACT ORDER BY Z_PK") == [
        "1|Ada|2|2", "3|Alan|4|4", "5|Grace|6|6", "6|Lovelace|2|2", "7|Brewster|6|6", "8|Hopper|6|6",
      ])
  }

  @Test func `an object made by name keeps the key of its source object, its companions get new ones`() throws {
    let fixture = try policyFixture(people: 6)
    fixture.setPolicy("Named", of: "PersonToContact")
    var named = ClosurePolicy()
    named.create = { person, mapping, manager in
      // Objects of another entity, and those after the first, get new keys.
      try manager.insert(manager.createInstance(ofEntityNamed: "Tag"))
      for number in 0..<(person.key % 4 == 1 ? 2 : 1) {
        var contact = try manager.createInstance(ofEntityNamed: "Contact")
        contact["age"] = .integer(Int64(number))
        try manager.insert(contact)
        manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
      }
    }
    for rows in [1, 100] {
      try? FileManager.default.removeItem(atPath: fixture.folder.file("out"))
      fixture.chunkRows = rows
      let (_, report) = try fixture.run(["Named": { [named] in named }])
      #expect(report.isClean, "\(report)")
      #expect(
        try fixture.rows("SELECT Z_PK, ZAGE FROM ZCONTACT ORDER BY Z_PK") == [
          "1|0", "3|0", "5|0", "7|0", "9|0", "11|0", "12|1", "13|1", "14|1",
        ])
      #expect(try fixture.rows("SELECT Z_PK FROM ZTAG ORDER BY Z_PK") == ["1", "2", "3", "4", "5", "6"])
    }
  }

  @Test func `several source objects become one, and a lookup of any of them finds it`() throws {
    let fixture = try policyFixture(people: 6)
    fixture.setPolicy("Merge", of: "HomeToPlace")
    let (summary, report) = try fixture.run(["Merge": { mergeByStreet() }])
    #expect(report.isClean, "\(report)")
    #expect(summary.objects == 3 + 6)
    #expect(
      try fixture.rows("SELECT Z_PK, ZSTREET FROM ZPLACE ORDER BY Z_PK")
        == ["1|street 1", "2|street 2", "3|street 0"])
    let places = try fixture.rows("SELECT ZPLACE FROM ZCONTACT ORDER BY Z_PK")
    #expect(places == ["2", "1", "3", "2", "1", "3"])
    #expect(
      report.checks.map(\.name).contains(
        "not proved: what the policy of mapping 'HomeToPlace' made of its source objects")
    )
    #expect(report.checks.map(\.name).contains("values in ZCONTACT"))
  }

  @Test func `a policy may make no object of a source object`() throws {
    let fixture = try policyFixture(people: 6)
    fixture.setPolicy("Drop", of: "PersonToContact")
    var drop = ClosurePolicy()
    drop.create = { person, mapping, manager in
      guard try person.integer("age") ?? 0 > 5 else { return }
      try manager.createDestinationInstances(forSource: person, in: mapping)
    }
    let (summary, report) = try fixture.run(["Drop": { [drop] in drop }])
    #expect(report.isClean, "\(report)")
    #expect(summary.objects == 6 + 3)
    #expect(try fixture.rows("SELECT Z_PK FROM ZCONTACT ORDER BY 1") == ["7", "9", "11"])
  }

  @Test func `a mapping of type add makes objects in its hooks, which later mappings lead to`() throws {
    let fixture = try policyFixture(people: 4)
    fixture.setPolicy("Tagged", of: "PersonToContact")
    fixture.mappings.insert(try addTags(), at: 0)
    let (summary, report) = try fixture.run(taggingPolicies())
    #expect(report.isClean, "\(report)")
    #expect(summary.objects == 6 + 4 + 2)
    let tags = try fixture.rows(
      "SELECT t.ZNAME, j.Z_1CONTACTS FROM ZTAG AS t JOIN Z_1TAGS AS j ON j.Z_3TAGS = t.Z_PK ORDER BY 1, 2")
    #expect(tags == ["everyone|1", "everyone|3", "everyone|5", "everyone|7", "old|5", "old|7"])
  }

  // MARK: Look-ups

  @Test func `lookups work both ways through mappings with and without a policy`() throws {
    let fixture = try policyFixture(people: 4)
    fixture.setPolicy("Look", of: "PersonToContact")
    fixture.mappings.append(
      try .make("Home", "Tag", name: "Streets", uniqueBy: ["name"], attributes: ["name": "$source.street"]))
    let log = HookLog()
    var look = ClosurePolicy()
    look.relate = { contact, mapping, manager in
      try manager.createRelationships(forDestination: contact, in: mapping)
      let people = try manager.sourceInstances(forEntityMappingNamed: mapping.name, destinationInstances: [contact])
      let homes = try people.flatMap { try $0.objects("home") }
      let places = try manager.destinationInstances(forEntityMappingNamed: "HomeToPlace", sourceInstances: homes)
      let back = try manager.sourceInstances(forEntityMappingNamed: "HomeToPlace", destinationInstances: places)
      let tags = try manager.destinationInstances(forEntityMappingNamed: "Streets", sourceInstances: homes)
      let sharing = try manager.sourceInstances(forEntityMappingNamed: "Streets", destinationInstances: tags)
      let through = try manager.destinationInstances(forSourceRelationshipNamed: "home", sourceInstances: people)
      log.note(
        "\(contact) \(people) \(homes) \(places) \(back) \(tags) \(sharing) \(through) \(try contact.objects("place"))")
    }
    let (_, report) = try fixture.run(["Look": { [look] in look }])
    #expect(report.isClean, "\(report)")
    #expect(
      log.all.first
        == "Contact p1 [Person p1] [Home p2] [Place p2] [Home p2] [Tag p2] [Home p2, Home p5] [Place p2, Tag p2] [Place p2]"
    )
    #expect(log.all.count == 4)
  }

  @Test func `an expression asks the policy, for a value and for a relationship`() throws {
    let fixture = try policyFixture(people: 3)
    fixture.setPolicy("Answer", of: "PersonToContact")
    fixture.mappings[1].attributeMappings.append(
      AttributeMapping(
        name: "given", value: try ValueExpression("FUNCTION($entityPolicy, 'word:of:', 1, $source)")))
    fixture.mappings[1].relationshipMappings = [
      RelationshipMapping(
        name: "place",
        value: .expression(try ValueExpression("FUNCTION($entityPolicy, 'placeOf:', $source.home)")))
    ]
    var answer = ClosurePolicy()
    answer.answer = { call, mapping, manager in
      if call.selector == "placeOf:" {
        guard case .object(let home as ManagedObject)? = call.arguments.first else { return .value(.null) }
        return .objects(
          try manager.destinationInstances(forEntityMappingNamed: "HomeToPlace", sourceInstances: [home]),
          ordered: false)
      }
      guard case .value(.integer(let number)) = call.arguments[0],
        case .object(let person as ManagedObject) = call.arguments[1],
        let words = try person.string("fullName")?.split(separator: " "), words.count > number
      else { return .value(.null) }
      return .value(AttributeValue(words[Int(number)]))
    }
    try fixture.run(["Answer": { [answer] in answer }])
    let rows = try fixture.rows("SELECT Z_PK, ZGIVEN, ZPLACE FROM ZCONTACT ORDER BY 1")
    #expect(rows == ["1|Lovelace|2", "3|nil|4", "5|Brewster|6"])
  }

  // MARK: Several steps, in place

  @Test func `policies run in every step, and in place`() throws {
    let first = try policyFixture(people: 4)
    first.setPolicy("Merge", of: "HomeToPlace")
    let last = try MigrationFixture(
      first.destination,
      to: try ManagedObjectModel(name: "3", entities: [.make("Entry", ["name": .string, "age": .integer32])]))
    var second = try EntityMapping.make("Contact", "Entry", attributes: ["age": "$source.age"])
    second.policyName = "Twice"
    var twice = ClosurePolicy()
    twice.create = { contact, mapping, manager in
      for _ in 0..<2 {
        let entry = try manager.createDestinationInstance(forSource: contact, in: mapping)
        try manager.insert(entry)
      }
    }
    var job = try first.job(["Merge": { mergeByStreet() }, "Twice": { [twice] in twice }])
    job.steps.append(
      MigrationStep(
        sourceModel: first.destination, destinationModel: last.destination,
        mappingModels: [MappingModel(entityMappings: [second])]))
    var runs = 0
    while try MigrationManager(job).run(maximumSeconds: 0).outcome != .finished {
      runs += 1
      try #require(runs < 500)
    }
    #expect(try first.rows("SELECT Z_PK, ZAGE FROM ZENTRY ORDER BY 1").count == 8)
    #expect(try Verifier(job: job).run().isClean)

    let inPlace = try policyFixture(people: 4)
    inPlace.setPolicy("Merge", of: "HomeToPlace")
    var own = try inPlace.job(["Merge": { mergeByStreet() }])
    own.destinationPath = own.sourcePath
    own.existingDestination = .inPlace(keepsOld: true)
    #expect(try MigrationManager(own).run().outcome == .finished)
    let made = try StoreConnection.openStore(readingAt: inPlace.sourcePath)
    #expect(try made.integer("SELECT COUNT(*) FROM source.ZPLACE") == 3)
  }
}

/// One place for each street, found again by its street.
func mergeByStreet() -> ClosurePolicy {
  var merge = ClosurePolicy()
  merge.create = { home, mapping, manager in
    let known = try manager.destinationInstance(ofEntityNamed: "Place", where: "street", equals: home["street"])
    if let known {
      manager.associate(sourceInstance: home, withDestinationInstance: known, for: mapping)
    } else {
      try manager.createDestinationInstances(forSource: home, in: mapping)
    }
  }
  return merge
}

func addTags() throws -> EntityMapping {
  var tags = EntityMapping(name: "Tags", kind: .add, source: nil, destination: "Tag")
  tags.policyName = "AddTags"
  return tags
}

/// `everyone` exists from the start; `old` is made on demand.
func taggingPolicies() -> PolicyRegistry {
  var add = ClosurePolicy()
  add.begin = { _, manager in
    var tag = try manager.createInstance(ofEntityNamed: "Tag")
    tag["name"] = .init("everyone")
    try manager.insert(tag)
    manager.userInfo["everyone"] = .integer(tag.key)
  }
  var tagged = ClosurePolicy()
  tagged.create = { person, mapping, manager in
    let contact = try manager.createDestinationInstance(forSource: person, in: mapping)
    try manager.insert(contact)
    manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
    let key = try #require(manager.userInfo["everyone"]?.integer)
    let everyone = try #require(try manager.destinationInstance(ofEntityNamed: "Tag", key: key))
    try manager.add(contact, toRelationship: "contacts", of: everyone)
    guard try person.integer("age") ?? 0 > 4 else { return }
    var old = try manager.destinationInstance(ofEntityNamed: "Tag", where: "name", equals: .init("old"))
    if old == nil {
      var tag = try manager.createInstance(ofEntityNamed: "Tag")
      tag["name"] = .init("old")
      try manager.insert(tag)
      old = tag
    }
    try manager.add(try #require(old), toRelationship: "tags", of: contact)
    manager.userInfo["count"] = .integer((manager.userInfo["count"]?.integer ?? 0) + 1)
  }
  return ["AddTags": { [add] in add }, "Tagged": { [tagged] in tagged }]
}

import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitVerifier
import TestSupport
import Testing

/// A job with every kind of policy: an add mapping, one to several, several to one, links by hand, user info.
private func everything() throws -> (MigrationFixture, PolicyRegistry) {
  let fixture = try policyFixture()
  fixture.mappings.insert(try addTags(), at: 0)
  fixture.setPolicy("Merge", of: "HomeToPlace")
  fixture.setPolicy("Tagged", of: "PersonToContact")
  // A mapping without a policy among them, into a table that policies fill too.
  fixture.mappings.append(
    try .make(
      "Person", "Contact", name: "Doubles", filter: "age > 10", attributes: ["given": "$source.fullName"],
      relationships: ["place": .mapping("HomeToPlace", keyPath: ["home"])]))
  var policies = taggingPolicies()
  policies.register("Merge", mergeByStreet())
  return (fixture, policies)
}

private struct Failure: Error, CustomStringConvertible {
  var description: String
}

@Suite struct PolicyResumeTests {
  @Test func `a run with policies stopped after every chunk resumes to the same store`() throws {
    let (whole, policies) = try everything()
    let (_, report) = try whole.run(policies)
    #expect(report.isClean, "\(report)")
    let (pieces, _) = try everything()
    try FileManager.default.removeItem(atPath: pieces.sourcePath)
    try FileManager.default.copyItem(atPath: whole.sourcePath, toPath: pieces.sourcePath)
    var runs = 0
    while try MigrationManager(pieces.job(policies)).run(maximumSeconds: 0).outcome != .finished {
      runs += 1
      try #require(runs < 500)
    }
    #expect(runs > 40)
    #expect(try pieces.content() == whole.content())
    #expect(try whole.rows("SELECT ZNAME FROM ZTAG ORDER BY Z_PK") == ["everyone", "old"])
  }

  @Test(arguments: [1, 2, 5, 1000]) func `the content that policies make does not depend on the chunk size`(rows: Int)
    throws
  {
    let (first, policies) = try everything()
    try first.run(policies)
    let (second, _) = try everything()
    try FileManager.default.removeItem(atPath: second.sourcePath)
    try FileManager.default.copyItem(atPath: first.sourcePath, toPath: second.sourcePath)
    second.chunkRows = rows
    try second.run(policies)
    #expect(try second.content() == first.content())
  }

  @Test func `after a resume 'begin' runs again, its objects are dropped, and the user info is the committed one`()
    throws
  {
    let fixture = try policyFixture(people: 6, rows: 2)
    fixture.setPolicy("Count", of: "PersonToContact")
    let log = HookLog()
    var count = ClosurePolicy()
    count.begin = { _, manager in
      manager.userInfo["seen"] = .integer(0)
      var tag = try manager.createInstance(ofEntityNamed: "Tag")
      tag["name"] = .init("from begin")
      try manager.insert(tag)
      log.note("begin \(manager.isResuming) \(tag) \(manager.userInfo["seen"]?.integer ?? -1)")
    }
    count.create = { person, mapping, manager in
      try manager.createDestinationInstances(forSource: person, in: mapping)
      manager.userInfo["seen"] = .integer((manager.userInfo["seen"]?.integer ?? 0) + 1)
      manager.userInfo["last"] = .array([.string("\(person)"), .date(1.5), .data([0, 255])])
    }
    count.end = { _, manager in
      log.note("end \(manager.isResuming) \(manager.userInfo["seen"]?.integer ?? -1)")
      #expect(manager.userInfo["last"] == .array([.string("Person p11"), .date(1.5), .data([0, 255])]))
      #expect(manager.userInfo["given"] == .boolean(true))
    }
    var job = try fixture.job(["Count": { [count] in count }])
    job.userInfo = ["given": .boolean(true)]
    var runs = 0
    while try MigrationManager(job).run(maximumSeconds: 0).outcome != .finished {
      runs += 1
      try #require(runs < 200)
    }
    let begins = log.all.filter { $0.hasPrefix("begin") }
    #expect(begins.first == "begin false Tag p1 0")
    // Once in each process that has a chunk of the mapping left: what it makes has the key of the first time.
    #expect(begins.count > 8)
    #expect(begins.dropFirst().allSatisfy { $0.hasPrefix("begin true Tag p1 ") })
    #expect(begins.contains("begin true Tag p1 4"))
    #expect(log.all.last == "end true 6")
    #expect(try fixture.rows("SELECT Z_PK, ZNAME FROM ZTAG") == ["1|from begin"])
  }

  @Test func `a policy of another version does not resume a half-finished run`() throws {
    struct Versioned: EntityMigrationPolicy { let version: String }
    let fixture = try policyFixture()
    fixture.setPolicy("Versioned", of: "PersonToContact")
    let first = try fixture.job(["Versioned": { Versioned(version: "1") }])
    #expect(try MigrationManager(first).run(maximumSeconds: 0).outcome == .stopped)
    let second = try fixture.job(["Versioned": { Versioned(version: "2") }])
    let error = try #require(throws: GodwitError.self) { try MigrationManager(second).run() }
    #expect(error.code == .cannotCreate)
    #expect(try MigrationManager(first).run().outcome == .finished)
  }

  // MARK: Errors

  @Test func `an error of a policy names hook, object and chunk, and what is durable resumes`() throws {
    let fixture = try policyFixture()
    fixture.setPolicy("Fail", of: "PersonToContact")
    var fail = ClosurePolicy()
    fail.create = { person, mapping, manager in
      if person.key == 9 { throw Failure(description: "no name") }
      try manager.createDestinationInstances(forSource: person, in: mapping)
    }
    let error = try #require(throws: GodwitError.self) {
      try MigrationManager(fixture.job(["Fail": { [fail] in fail }])).run()
    }
    #expect(error.code == .dataWrong)
    #expect(error.message == "policy 'Fail' failed in createDestinationInstances for Person p9: no name")
    #expect(
      error.context
        == "step 1 of 1, pass 2 of 2, instance creation, PersonToContact, chunk 2 (Person p7 to p12)")
    fail.create = nil
    let repaired = try fixture.job(["Fail": { [fail] in fail }])
    #expect(try MigrationManager(repaired).run().outcome == .finished)
    #expect(try fixture.rows("SELECT COUNT(*) FROM ZCONTACT") == ["12"])
  }

  @Test func `custom validation stops the run, and a GodwitError keeps its code`() throws {
    let fixture = try policyFixture(people: 4)
    fixture.setPolicy("Check", of: "PersonToContact")
    var check = ClosurePolicy()
    check.validate = { _, manager in
      var last: ManagedObject?
      while true {
        let page = try manager.destinationInstances(ofEntityNamed: "Contact", after: last, limit: 3)
        guard !page.isEmpty else { return }
        for contact in page where try contact.integer("age") == 6 {
          throw Failure(description: "\(contact) at \(try contact.objects("place")) is six")
        }
        last = page.last
      }
    }
    let error = try #require(throws: GodwitError.self) {
      try MigrationManager(fixture.job(["Check": { [check] in check }])).run()
    }
    #expect(
      error.message == "policy 'Check' failed in performCustomValidation: Contact p5 at [Place p6] is six")
    #expect(error.context?.contains("performCustomValidation, PersonToContact") == true)
    #expect(error.code == .dataWrong)

    check.validate = { _, _ in throw GodwitError(.noPath, "told so") }
    let own = try #require(throws: GodwitError.self) {
      try MigrationManager(fixture.job(["Check": { [check] in check }])).run()
    }
    #expect(own.code == .noPath)
    #expect(own.message == "told so")
    #expect(own.cause == "policy 'Check' failed in performCustomValidation")
  }

  @Test func `the model's own rules are checked for what a policy made`() throws {
    let fixture = try policyFixture(people: 2)
    var model = fixture.destination.entities
    let tag = try #require(model.firstIndex { $0.name == "Tag" })
    model[tag].attributes[0].isOptional = false
    let strict = try MigrationFixture(fixture.source, to: ManagedObjectModel(name: "2", entities: model))
    try FileManager.default.copyItem(atPath: fixture.sourcePath, toPath: strict.sourcePath)
    strict.mappings = fixture.mappings
    strict.setPolicy("Nameless", of: "PersonToContact")
    var nameless = ClosurePolicy()
    nameless.end = { _, manager in try manager.insert(try manager.createInstance(ofEntityNamed: "Tag")) }
    let error = try #require(throws: GodwitError.self) {
      try MigrationManager(strict.job(["Nameless": { [nameless] in nameless }])).run()
    }
    #expect(error.message == "validation failed for Tag p1: attribute 'name' is required and is nil")
  }

  private static let misuses: [(String, ClosurePolicy.ObjectHook, String)] = [
    ("unknown attribute", { person, _, _ in _ = person["nmae"] }, "'Person' has no attribute 'nmae'"),
    (
      "value that does not fit",
      { person, mapping, manager in
        var contact = try manager.createDestinationInstance(forSource: person, in: mapping)
        contact["age"] = .init("old")
        try manager.insert(contact)
      }, "cannot store attribute 'age': expected Integer 32"
    ),
    (
      "source object that is changed",
      { person, _, _ in
        var person = person
        person["age"] = .integer(1)
      }, "objects of the source are read only"
    ),
    (
      "associated and not inserted",
      { person, mapping, manager in
        let contact = try manager.createDestinationInstance(forSource: person, in: mapping)
        manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
      }, "Contact p1 was associated but never inserted"
    ),
    (
      "object of a mapping without a policy",
      { _, _, manager in
        if var place = try manager.destinationInstance(ofEntityNamed: "Place", key: 1) {
          place["street"] = .init("other")
          try manager.save(place)
        }
      }, "cannot save Place p1: a mapping without a policy made it"
    ),
    (
      "association of a mapping without a policy",
      { person, mapping, manager in
        var other = mapping
        (other.name, other.sourceEntityName, other.destinationEntityName) = ("HomeToPlace", "Home", "Place")
        let contact = try manager.createDestinationInstance(forSource: person, in: mapping)
        manager.associate(sourceInstance: person, withDestinationInstance: contact, for: other)
      }, "it has no policy, its associations are computed"
    ),
    (
      "target of another entity",
      { person, mapping, manager in
        let contact = try manager.createDestinationInstance(forSource: person, in: mapping)
        try manager.insert(contact)
        try manager.setRelationship("place", of: contact, to: contact)
      }, "expected a destination object of 'Place', found Contact p1"
    ),
    (
      "unknown relationship",
      { person, mapping, manager in
        let contact = try manager.createDestinationInstance(forSource: person, in: mapping)
        try manager.setRelationship("palce", of: contact, to: [])
      }, "has no relationship 'palce' (did you mean 'place'?)"
    ),
    (
      "unknown mapping",
      { person, _, manager in
        _ = try manager.destinationInstances(forEntityMappingNamed: "HomeToPlaces", sourceInstances: [person])
      }, "the step has no mapping 'HomeToPlaces' (did you mean 'HomeToPlace'?)"
    ),
    ("unknown entity", { _, _, manager in _ = try manager.createInstance(ofEntityNamed: "Tagg") }, "no entity 'Tagg'"),
    (
      "user info without end",
      { _, _, manager in manager.userInfo["all"] = .data(Array(repeating: 1, count: 9 << 20)) },
      "the user info of the policies takes"
    ),
  ]

  @Test(arguments: 0..<11) func `forbidden calls of a policy are refused with 65 and the object`(number: Int) throws {
    let (what, hook, message) = Self.misuses[number]
    let fixture = try policyFixture(people: 2)
    fixture.setPolicy("Wrong", of: "PersonToContact")
    var wrong = ClosurePolicy()
    wrong.create = hook
    let error = try #require(throws: GodwitError.self, "\(what)") {
      try MigrationManager(fixture.job(["Wrong": { [wrong] in wrong }])).run()
    }
    #expect(error.code == .dataWrong, "\(what): \(error)")
    #expect(error.message.contains(message), "\(what): \(error)")
    #expect(error.context?.contains("PersonToContact") == true, "\(what): \(error)")
  }

  // MARK: Registration

  @Test
  func `an unregistered policy is an error with the nearest name, or the default policy if the manifest allows it`()
    throws
  {
    let plain = try policyFixture()
    try plain.run()
    let fixture = try policyFixture()
    try FileManager.default.removeItem(atPath: fixture.sourcePath)
    try FileManager.default.copyItem(atPath: plain.sourcePath, toPath: fixture.sourcePath)
    fixture.setPolicy("SplitNmae", of: "PersonToContact")
    let error = try #require(throws: GodwitError.self) {
      try MigrationManager(fixture.job(["SplitName": { PlainPolicy() }])).run()
    }
    #expect(error.code == .configuration)
    #expect(
      error.message
        == "mapping 'PersonToContact': no policy 'SplitNmae' is registered (did you mean 'SplitName'?)")
    let known = try MigrationManager(fixture.job(["SplitName": { PlainPolicy() }])).plan()
    #expect(known.missingPolicies.map(\.policy) == ["SplitNmae"])

    var job = try fixture.job([:])
    job.unregisteredPolicies = .default
    let plan = try MigrationManager(job).plan()
    #expect(plan.notes == [])
    #expect(
      plan.losses.losses.filter { $0.kind == .policy }.map(\.description) == [
        "SplitNmae (mapping PersonToContact: not registered; Core Data's default policy runs instead)"
      ])
    #expect(plan.steps[0].passes.flatMap(\.mappings).map(\.lane) == [.sql, .sql])
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(try Verifier(job: job).run().isClean)
    #expect(try fixture.content() == plain.content())
  }

  @Test func `the plan shows the object lane and the policy's name`() throws {
    let (fixture, policies) = try everything()
    let plan = try MigrationManager(fixture.job(policies)).plan()
    let mappings = plan.steps[0].passes.flatMap(\.mappings)
    #expect(mappings.map(\.name) == ["Tags", "HomeToPlace", "PersonToContact", "Doubles"])
    #expect(mappings.map(\.lane) == [.object, .object, .object, .sql])
    #expect(mappings.map(\.reasons) == [["policy AddTags"], ["policy Merge"], ["policy Tagged"], []])
    #expect(plan.description.contains("    Tags: new Tag\n"))
    #expect(plan.description.contains("      lane       object (policy Merge)\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["source.sqlite"])
  }

  @Test func `a class name of Xcode finds its policy with or without the module`() {
    var policies: PolicyRegistry = ["Split": { PlainPolicy() }]
    func isKnown(_ name: String) -> Bool { policies[name] != nil }
    #expect(["Split", "App.Split", "App.Splt", "Split.", ""].map(isKnown) == [true, true, false, false, false])
    policies.register("App.Split", RecordingPolicy(HookLog()))
    let (exact, other) = (policies["App.Split"].map { $0() }, policies["Other.Split"].map { $0() })
    #expect(exact is RecordingPolicy)
    #expect(other is PlainPolicy)
  }

  @Test(arguments: 0..<3) func `keys that exclude a policy are refused with 78`(number: Int) throws {
    let message = [
      "unique-by and policy 'Plain' exclude each other",
      "chunks.by cannot cut mapping 'PersonToContact': it has a policy", "so policy 'Plain' has nothing to do",
    ][number]
    func change(_ fixture: MigrationFixture) {
      switch number {
      case 0: fixture.mappings[1].uniqueBy = ["given"]
      case 1: fixture.chunkPredicates = ["PersonToContact": ["age > 5", "NOT age > 5 OR age == nil"]]
      default:
        fixture.mappings[1].kind = .remove
        fixture.mappings[1].destinationEntityName = nil
        fixture.mappings[1].attributeMappings = []
        fixture.mappings[1].relationshipMappings = []
      }
    }
    let fixture = try policyFixture()
    fixture.setPolicy("Plain", of: "PersonToContact")
    change(fixture)
    let error = try #require(throws: GodwitError.self) {
      try MigrationManager(fixture.job(["Plain": { PlainPolicy() }])).plan()
    }
    #expect(error.code == .configuration)
    #expect(error.message.contains(message), "\(error)")
  }
}

import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// `on-invalid: keep`: rows that broke a rule of their own model stay, and others stop the run.
struct KeptInvalidTests {
  private static func person(
    _ more: [String: AttributeType] = [:], ageMaximum: Int64? = nil, isNoteOptional: Bool = true
  ) -> EntityDescription {
    var person = EntityDescription.make(
      "Person", ["name": .string, "age": .integer64, "note": .string].merging(more) { a, _ in a },
      [.toOne("home", "House", inverse: "people")])
    for place in person.attributes.indices {
      switch person.attributes[place].name {
      case "name":
        person.attributes[place].isOptional = false
        person.attributes[place].regularExpression = "[a-z0-9]+"
      case "age": person.attributes[place].maximumValue = ageMaximum.map { .integer($0) }
      case "note": person.attributes[place].isOptional = isNoteOptional
      default: break
      }
    }
    for place in person.relationships.indices { person.relationships[place].isOptional = false }
    return person
  }

  private static let house = EntityDescription.make(
    "House", ["street": .string], [.toMany("people", "Person", inverse: "home")])

  /// p1 is sound; p2 has no name, p3 a name that does not match, p4 no home, p5 a home that is gone.
  private func fixture(to person: EntityDescription) throws -> MigrationFixture {
    let fixture = try MigrationFixture([Self.person(), Self.house], to: [person, Self.house])
    try fixture.build { store in
      try store.insert("House", key: 1)
      for key in Int64(1)...5 {
        try store.insert(
          "Person", key: key, attributes: ["name": .init("p\(key)"), "age": .integer(key * 10), "note": .init("n")],
          relationships: ["home": [1]])
      }
    }
    try fixture.alter("UPDATE ZPERSON SET ZNAME = NULL WHERE Z_PK = 2")
    try fixture.alter("UPDATE ZPERSON SET ZNAME = 'P 3' WHERE Z_PK = 3")
    try fixture.alter("UPDATE ZPERSON SET ZHOME = NULL WHERE Z_PK = 4")
    try fixture.alter("UPDATE ZPERSON SET ZHOME = 9 WHERE Z_PK = 5")
    return fixture
  }

  private static let notes = [
    "2 objects of Person break a rule of 'home': kept",
    "2 objects of Person break a rule of 'name': kept",
  ]

  @Test(arguments: ["inferred", "copy", "stored"])
  func `rows that broke their own model's rules stay, and are counted`(way: String) throws {
    let fixture = try fixture(to: Self.person(["more": .string]))
    switch way {
    case "inferred": try fixture.infer()
    case "copy":
      fixture.mappings = [
        try .make("Person", "Person", kind: .copy), try .make("House", "House", kind: .copy),
      ]
    default:
      // A numbering without gaps, so that keys are looked up.
      fixture.mappings = [
        try .make("House", "House", kind: .copy),
        try .make("Person", "Person", kind: .copy, filter: "age > 0"),
      ]
    }
    var job = try fixture.job
    job.receipt = .besideDestination
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error.code == .dataWrong && error.remedy?.contains("`on-invalid: keep`") == true, "\(error)")

    job.keepsInvalid = true
    let plan = try MigrationManager(job).plan()
    #expect(plan.notes.filter { $0.contains("kept") } == Self.notes)
    let summary = try MigrationManager(job).run()
    #expect(summary.outcome == .finished)
    #expect(summary.notes.filter { $0.contains("kept") } == Self.notes)
    #expect(
      summary.keptInvalid == [
        .init(entity: "Person", property: "home", objects: 2), .init(entity: "Person", property: "name", objects: 2),
      ])
    #expect(
      try fixture.rows("SELECT Z_PK, ZNAME, ZHOME FROM source.ZPERSON ORDER BY 1") == [
        "1|p1|1", "2|nil|1", "3|P 3|1", "4|p4|nil", "5|p5|nil",
      ])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    let receipt = try String(contentsOfFile: fixture.destinationPath + ".receipt.json", encoding: .utf8)
    let document = try JSONDecoder().decode(Receipt.self, from: Data(receipt.utf8))
    #expect(document.steps.map(\.keptInvalid) == [summary.keptInvalid])

    // Without the word the verifier finds them.
    job.keepsInvalid = false
    #expect(try Verifier(job: job).run().findings.filter { $0.kind == .invalid }.count == 4)
  }

  @Test func `a row that breaks only a rule of the destination stops the run all the same`() throws {
    for (person, message) in [
      (Self.person(ageMaximum: 45), "Person p5: attribute 'age' is above its maximum 45"),
      (Self.person(isNoteOptional: false), "Person p2: attribute 'note' is required and is nil"),
    ] {
      let fixture = try fixture(to: person)
      // p2 breaks a rule that it broke before, and this one.
      try fixture.alter("UPDATE ZPERSON SET ZNOTE = NULL WHERE Z_PK = 2")
      fixture.mappings = [
        try .make("Person", "Person", kind: .copy), try .make("House", "House", kind: .copy),
      ]
      var job = try fixture.job
      job.keepsInvalid = true
      let error = try #require(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(error.code == .dataWrong && error.message.contains(message), "\(error)")
      #expect(!FileManager.default.fileExists(atPath: fixture.destinationPath))
    }
  }

  @Test func `a value that the mapping computes is not excused`() throws {
    let fixture = try fixture(to: Self.person())
    fixture.mappings = [
      try .make("House", "House", kind: .copy),
      try .make("Person", "Person", kind: .copy, attributes: ["name": "uppercase:($source.name)"]),
    ]
    var job = try fixture.job
    job.keepsInvalid = true
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error.message.contains("Person p1: attribute 'name' does not match"), "\(error)")
  }

  @Test func `a run in place keeps them too`() throws {
    let fixture = try fixture(to: Self.person(["more": .string], ageMaximum: 100))
    try fixture.infer()
    var job = try fixture.job
    job.destinationPath = job.sourcePath
    job.existingDestination = .inPlace(keepsOld: true)
    job.keepsInvalid = true
    let summary = try MigrationManager(job).run()
    #expect(summary.outcome == .finished)
    let store = try StoreConnection(path: fixture.sourcePath)
    #expect(try store.integer("SELECT COUNT(*) FROM ZPERSON WHERE ZNAME IS NULL OR ZHOME IS NULL") == 3)
    try store.close()
  }

  @Test func `an audit lists only what would stop the run`() throws {
    let fixture = try fixture(to: Self.person(ageMaximum: 45))
    fixture.mappings = [
      try .make("Person", "Person", kind: .copy), try .make("House", "House", kind: .copy),
    ]
    var job = try fixture.job
    func invalid() throws -> [String] {
      try MigrationManager(job).audit().findings.filter { $0.kind == .invalid }.compactMap(\.property).sorted()
    }
    #expect(try invalid() == ["age", "home", "name", "name"])
    job.keepsInvalid = true
    #expect(try invalid() == ["age"])
    try fixture.infer()
    job = try fixture.job
    job.steps[0].origin = MigrationStep.inferredOrigin
    #expect(try invalid() == ["age", "home", "name", "name"])
    job.keepsInvalid = true
    #expect(try invalid() == [])
  }

  @Test func `an inferred step keeps rows that break a stricter rule, as Core Data does`() throws {
    let fixture = try fixture(to: Self.person(["more": .string], ageMaximum: 25))
    try fixture.infer()
    var job = try fixture.job
    job.steps[0].origin = MigrationStep.inferredOrigin
    job.receipt = .besideDestination
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
    #expect(error.remedy?.contains("`on-invalid: keep` keeps such objects, as Core Data's") == true, "\(error)")
    job.keepsInvalid = true
    let kept: [KeptInvalid] = [
      .init(entity: "Person", property: "age", objects: 3), .init(entity: "Person", property: "home", objects: 2),
      .init(entity: "Person", property: "name", objects: 2),
    ]
    #expect(try MigrationManager(job).plan().forecast?.kept == kept)
    let summary = try MigrationManager(job).runAsPlanned()
    #expect(summary.keptInvalid == kept)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    job.keepsInvalid = false
    #expect(try Verifier(job: job).run().findings.filter { $0.kind == .invalid }.count == 7)
  }

  @Test func `a broken old rule does not excuse a new one, and an object counts once for a property`() throws {
    func text(_ shortest: Int, _ pattern: String, longest: Int? = nil) -> EntityDescription {
      var entity = EntityDescription.make("Word", ["text": .string, "size": .integer64], [])
      for place in entity.attributes.indices where entity.attributes[place].name == "text" {
        entity.attributes[place].minimumLength = shortest
        entity.attributes[place].regularExpression = pattern
        entity.attributes[place].maximumLength = longest
      }
      return entity
    }
    var fixtures: [MigrationFixture] = []
    func run(_ destination: EntityDescription, inferred: Bool = false) throws -> (
      MigrationJob, Result<[KeptInvalid], any Error>
    ) {
      let fixture = try MigrationFixture([text(3, "[0-9]*")], to: [destination])
      fixtures.append(fixture)
      try fixture.build { try $0.insert("Word", key: 1, attributes: ["text": .init("xy")]) }
      fixture.mappings = [try .make("Word", "Word", kind: .copy)]
      if inferred { try fixture.infer() }
      var job = try fixture.job
      if inferred { job.steps[0].origin = MigrationStep.inferredOrigin }
      job.keepsInvalid = true
      let result = Result { try MigrationManager(job).runAsPlanned().keptInvalid }
      #expect(try MigrationManager(job).audit().isClean == ((try? result.get()) != nil))
      return (job, result)
    }
    let once = [KeptInvalid(entity: "Word", property: "text", objects: 1)]
    #expect(try run(text(3, "[0-9]*")).1.get() == once)
    #expect(try run(text(4, "[0-9]*")).1.get() == once)
    // A longer minimum is the rule that it broke before, another expression or a limit that was met before is not.
    for destination in [text(3, "[0-9]+"), text(3, "[0-9]*", longest: 1)] {
      let error = try #require(throws: GodwitError.self) { try run(destination).1.get() }
      #expect(error.message.contains("Word p1: attribute 'text'"), "\(error)")
      let (job, kept) = try run(destination, inferred: true)
      #expect(try kept.get() == once)
      // The verifier excuses the same: only the rule that was not broken before is found.
      var explicit = job
      explicit.steps[0].origin = "m.mapping.yaml"
      #expect(try Verifier(job: explicit).run().findings.filter { $0.kind == .invalid }.count == 1)
    }
  }

  /// Pizza p2 has no name, topping t2 no grams, and topping t3 no maker.
  private func pizzas() throws -> MigrationFixture {
    func entity(_ name: String, _ attribute: String, _ type: AttributeType, _ links: [RelationshipDescription])
      -> EntityDescription
    {
      var entity = EntityDescription.make(name, [attribute: type], links)
      entity.attributes[0].isOptional = false
      for place in links.indices where !links[place].isToMany { entity.relationships[place].isOptional = false }
      return entity
    }
    var portion = entity("Portion", "grams", .integer64, [.toOne("maker", "Maker", inverse: "portions")])
    var name = AttributeDescription(name: "pizza", type: .string)
    name.isOptional = false
    portion.attributes.append(name)
    let fixture = try MigrationFixture(
      [
        entity("Pizza", "name", .string, [.toMany("toppings", "Topping", inverse: "pizzas")]),
        entity(
          "Topping", "grams", .integer64,
          [.toOne("maker", "Maker", inverse: "toppings"), .toMany("pizzas", "Pizza", inverse: "toppings")]),
        entity("Maker", "name", .string, [.toMany("toppings", "Topping", inverse: "maker")]),
      ], to: [portion, entity("Maker", "name", .string, [.toMany("portions", "Portion", inverse: "maker")])])
    try fixture.build { store in
      try store.insert("Maker", key: 1, attributes: ["name": .init("m")])
      for key in Int64(1)...3 {
        try store.insert("Topping", key: key, attributes: ["grams": .integer(key)], relationships: ["maker": [1]])
      }
      for key in Int64(1)...2 {
        try store.insert(
          "Pizza", key: key, attributes: ["name": .init("p\(key)")], relationships: ["toppings": [1, 2, 3]])
      }
    }
    try fixture.alter("UPDATE ZPIZZA SET ZNAME = NULL WHERE Z_PK = 2")
    try fixture.alter("UPDATE ZTOPPING SET ZGRAMS = NULL WHERE Z_PK = 2")
    try fixture.alter("UPDATE ZTOPPING SET ZMAKER = NULL WHERE Z_PK = 3")
    return fixture
  }

  private func portions(grams: String) throws -> [EntityMapping] {
    var portions = try EntityMapping.make(
      "Pizza", "Portion", name: "Portions", attributes: ["grams": grams, "pizza": "$source.name"],
      relationships: ["maker": .mapping("Makers", keyPath: ["$element", "maker"])])
    portions.forEach = "toppings"
    return [portions, try .make("Maker", "Maker", name: "Makers", attributes: ["name": "$source.name"])]
  }

  @Test(arguments: ["$element.grams", "$element.grams + 0"])
  func `what a mapping of links copies from an end stays if it broke the rule there`(grams: String) throws {
    let fixture = try pizzas()
    fixture.mappings = try portions(grams: grams)
    var job = try fixture.job
    job.keepsInvalid = true
    guard grams == "$element.grams" else {
      let error = try #require(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(error.message.contains("attribute 'grams' is required and is nil"), "\(error)")
      return
    }
    let kept: [KeptInvalid] = [
      .init(entity: "Portion", property: "grams", objects: 2), .init(entity: "Portion", property: "maker", objects: 2),
      .init(entity: "Portion", property: "pizza", objects: 3),
    ]
    #expect(try MigrationManager(job).audit().findings.filter { $0.kind == .invalid } == [])
    #expect(try MigrationManager(job).plan().forecast?.kept == kept)
    #expect(try MigrationManager(job).runAsPlanned().keptInvalid == kept)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    job.keepsInvalid = false
    #expect(try Verifier(job: job).run().findings.filter { $0.kind == .invalid }.count == 7)
  }
}

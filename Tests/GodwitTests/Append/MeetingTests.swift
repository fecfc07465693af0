import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// `existing: append` with `unique-by`: objects of the destination with the same values are the same objects.
@Suite struct MeetingTests {
  private typealias Person = MeetWorld.Person

  private static func person(
    _ email: String?, _ name: String?, _ stamp: Int64?, city: String? = nil, team: String? = nil,
    tags: Set<String> = [],
    notes: [String] = []
  ) -> MeetWorld.Person {
    .init(email: email, name: name, city: city, stamp: stamp, team: team, tags: tags, notes: notes)
  }

  private static let first = MeetWorld.Source(
    people: [
      person("a", "Ann", 5, city: "Rome", team: "red", tags: ["x", "y"], notes: ["a1", "a2"]),
      person("b", "Bob", 5, team: "red", tags: ["x"], notes: ["b1"]),
      person("c", nil, 5, city: "Oslo", notes: ["c1"]), person(nil, "Nil", 1),
    ], ranks: ["red": 1])
  private static let second = MeetWorld.Source(
    people: [
      person("b", "Rob", 9, city: "Bonn", team: "blue", tags: ["x", "z"], notes: ["b2", "b3"]),
      person("a", "Old Ann", 1, city: "Lima", team: "blue", tags: ["z"], notes: ["a3"]),
      person("d", "Dan", 3, team: "red", tags: ["y"]), person(nil, "None", 2), person("c", "Cid", 9, notes: ["c2"]),
    ], ranks: ["red": 7, "blue": 2])

  static func world() throws -> MeetWorld {
    let world = try MeetWorld()
    try world.build("a.sqlite", first)
    try world.build("b.sqlite", second)
    return world
  }

  @Test func `the object that comes first by order-by stays, links of both lead to it, and others are new`() throws {
    let world = try Self.world()
    try world.run("a.sqlite")
    let keys = try world.rows("SELECT ZEMAIL, Z_PK FROM source.ZPERSON WHERE ZEMAIL NOT NULL ORDER BY 1")
    let summary = try world.run("b.sqlite")
    #expect(
      try world.people(sortingNotes: false) == [
        "a|Ann|Rome|5|red|x+y+z|a1+a2+a3", "b|Rob|Bonn|9|blue|x+z|b1+b2+b3", "c|Cid|nil|9|nil||c1+c2",
        "d|Dan|nil|3|red|y|", "nil|Nil|nil|1|nil||", "nil|None|nil|2|nil||",
      ])
    // The old objects keep their keys, and their counters of edits say which have changed.
    #expect(
      try world.rows("SELECT ZEMAIL, Z_PK FROM source.ZPERSON WHERE ZEMAIL IN ('a', 'b', 'c') ORDER BY 1") == keys)
    #expect(
      try world.rows("SELECT ZEMAIL, Z_OPT FROM source.ZPERSON WHERE ZEMAIL NOT NULL ORDER BY 1")
        == ["a|1", "b|2", "c|2", "d|1"])
    #expect(try world.rows("SELECT ZNAME, ZRANK FROM source.ZTEAM ORDER BY 1") == ["blue|2", "red|1"])
    #expect(try world.rows("SELECT COUNT(*) FROM source.ZTAG") == ["3"])
    // 2 people, 1 team, 1 tag and 5 notes are new.
    #expect(summary.objects == 2 + 1 + 1 + 4)
    let notes = summary.codedNotes.filter { $0.code == .met }.map(\.text)
    #expect(
      notes == [
        "1 object of Team was in the destination already (mapping TeamToTeam): 0 changed, 1 as before",
        "2 objects of Tag were in the destination already (mapping TagToTag): 0 changed, 2 as before",
        "3 objects of Person were in the destination already (mapping PersonToPerson): 2 changed, 1 as before",
      ])
    let report = try Verifier(job: world.job("b.sqlite")).run()
    #expect(report.checks.contains(.init(name: "objects of Person that were in the destination already", count: 3)))
    #expect(try MigrationManager(world.job("b.sqlite")).run().outcome == .alreadyFinished)
  }

  @Test func `what differs from the object that stays is lost, and the plan counts objects and values`() throws {
    let world = try Self.world()
    try world.run("a.sqlite")
    let plan = try MigrationManager(world.job("b.sqlite")).plan()
    func told(_ report: LossReport) -> [String] {
      report.losses.filter { $0.cause == .merged }.map { "\($0.kind.rawValue) \($0.subject) \($0.count ?? -1)" }
        .sorted()
    }
    let values = ["values Person.city 2", "values Person.name 2", "values Person.stamp 3", "values Team.rank 1"]
    #expect(told(plan.losses) == values)
    #expect(
      plan.codedNotes.filter { $0.code == .met }.map(\.text).last
        == "3 objects of Person are in the destination already (mapping PersonToPerson); the run counts the links that differ"
    )
    var strict = try world.job("b.sqlite")
    strict.onLoss = .fail
    #expect(try MigrationManager(strict).plan().stopError?.code == .dataWrong)
    let audit = try MigrationManager(world.job("b.sqlite")).audit().findings.filter { $0.kind == .merged }
    #expect(
      audit.map { "values \($0.mapping == "TeamToTeam" ? "Team" : "Person").\($0.property ?? "") \($0.count)" }.sorted()
        == values)
    let summary = try world.run("b.sqlite")
    #expect(told(summary.losses) == ["links Person.team 2"] + values)
    let reason = summary.losses.losses.first { $0.subject == "Person.name" }?.reason
    #expect(
      reason
        == "mapping PersonToPerson meets objects of the destination with the same email, and keeps the first by stamp DESC"
    )
  }

  @Test func `without order-by the object of the destination stays`() throws {
    let world = try Self.world()
    world.order = []
    try world.run("a.sqlite")
    try world.run("b.sqlite")
    #expect(
      try world.people().prefix(3) == [
        "a|Ann|Rome|5|red|x+y+z|a1+a2+a3", "b|Bob|nil|5|red|x+z|b1+b2+b3", "c|nil|Oslo|5|nil||c1+c2",
      ])
  }

  @Test func `with fill-nil a value takes the place of nil in either direction`() throws {
    let world = try Self.world()
    world.fillsNil = true
    try world.run("a.sqlite")
    try world.run("b.sqlite")
    #expect(try world.people()[2] == "c|Cid|Oslo|9|nil||c1+c2")
    for edit in ["ZCITY = NULL", "ZCITY = 'Rome'"] {
      try world.alter("UPDATE ZPERSON SET \(edit) WHERE ZEMAIL = 'b'")
      #expect(try Verifier(job: world.job("b.sqlite")).run().findings.contains { $0.kind == .value })
    }
  }

  @Test func `a default in place of nil is a value between jobs, in any order of them, and fills last within one`()
    throws
  {
    func world() throws -> MeetWorld {
      let world = try MeetWorld { entities in
        for place in entities[0].attributes.indices where entities[0].attributes[place].name == "city" {
          entities[0].attributes[place].defaultValue = .init("?")
        }
      }
      (world.fillsNil, world.usesDefault) = (true, true)
      try world.build("a.sqlite", .init(people: [Self.person("a", "Ann", 1, city: "Rome")], ranks: [:]))
      try world.build("b.sqlite", .init(people: [Self.person("a", "Bo", 2)], ranks: [:]))
      return world
    }
    for names in [["a.sqlite", "b.sqlite"], ["b.sqlite", "a.sqlite"]] {
      let (apart, merged) = (try world(), try world())
      for name in names { try apart.run(name) }
      #expect(try apart.people() == ["a|Bo|?|2|nil||"])
      try MigrationManager(merged.merging(names)).run()
      #expect(try merged.people() == ["a|Bo|Rome|2|nil||"])
    }
  }

  @Test func `objects without a key stay apart, or are one with nil-keys merge`() throws {
    let world = try Self.world()
    world.mergesNil = true
    try world.run("a.sqlite")
    try world.run("b.sqlite")
    #expect(try world.people().filter { $0.hasPrefix("nil") } == ["nil|None|nil|2|nil||"])
  }

  @Test(arguments: testSeeds(6), [false, true])
  func `random stores give what the rules say, in both lanes, and their order does not matter where order-by decides`(
    seed: UInt64, inSwift: Bool
  ) throws {
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      var random = SeededGenerator(seed: seed)
      let (fills, merges) = (random.chance(50), random.chance(30))
      let order = [["stamp DESC"], ["stamp"], []][random.below(3)]
      let isOnce = random.chance(50)
      var stamps = Array(Int64(1)...60).shuffled(using: &random)
      let sources = (0..<3).map { _ in Self.source(&random, isOnce: isOnce) { isOnce ? stamps.removeLast() : nil } }
      let orders = isOnce && !order.isEmpty && !merges ? [[0, 1], [1, 0]] : [[0, 1, 2]]
      var results: [[String]] = []
      for order1 in orders {
        let world = try MeetWorld()
        (world.order, world.fillsNil, world.mergesNil) = (order, fills, merges)
        world.chunkRows = random.below(5) + 1
        var expected = MeetWorld.Expected()
        for number in order1 {
          try world.build("\(number).sqlite", sources[number])
          expected = world.adding(sources[number], to: expected)
          let plan = try MigrationManager(world.job("\(number).sqlite")).plan()
          let summary = try world.run("\(number).sqlite")
          #expect(try world.people() == expected.lines, "seed \(seed)")
          try Self.compare(expected, summary, plan, isFirst: number == order1[0], "seed \(seed)")
        }
        results.append(expected.lines)
      }
      #expect(Set(results).count == 1, "seed \(seed)")
    }
  }

  private static func source(
    _ random: inout SeededGenerator, isOnce: Bool, stamp: () -> Int64?
  ) -> MeetWorld.Source {
    var emails = ["a", "b", "c", "d", "e", "f", "g"].shuffled(using: &random)[...]
    let people = (0..<random.below(7) + 1).map { _ in
      func text(_ texts: [String]) -> String? { random.chance(25) ? nil : texts[random.below(texts.count)] }
      let email = isOnce ? emails.popFirst() : text(["a", "b", "c", "d"])
      return person(
        email, text(["Ann", "Bob", "Cid"]), stamp() ?? (random.chance(20) ? nil : Int64(random.below(5))),
        city: text(["Rome", "Oslo"]), team: text(["red", "blue", "green"]),
        tags: Set(["x", "y", "z"].filter { _ in random.chance(40) }),
        notes: (0..<random.below(3)).map { _ in "n\(random.below(1000))" })
    }
    return .init(
      people: people, ranks: ["red": Int64(random.below(9)), "blue": 2, "green": 3],
      firstKey: random.chance(20) ? -3 : random.chance(20) ? 1 << 61 : 1)
  }

  private static func compare(
    _ expected: MeetWorld.Expected, _ summary: MigrationSummary, _ plan: MigrationPlan, isFirst: Bool, _ place: String
  ) throws {
    func count(_ notes: [MigrationNote]) -> Int {
      notes.first { $0.code == .met && $0.text.contains("of Person") }
        .flatMap { Int($0.text.prefix { $0 != " " }) } ?? 0
    }
    #expect(count(summary.codedNotes) == expected.met && count(plan.codedNotes) == expected.met, "\(place)")
    guard !isFirst else { return }
    func lost(_ report: LossReport, _ kind: LossReport.Kind) -> [String: Int] {
      let those = report.losses.filter { $0.reason.contains("PersonToPerson meets") && $0.kind == kind }
      return Dictionary(uniqueKeysWithValues: those.map { (String($0.subject.dropFirst(7)), Int($0.count ?? 0)) })
    }
    let values = expected.lost.filter { $0.key != "team" }
    #expect(lost(summary.losses, .values) == values && lost(plan.losses, .values) == values, "\(place)")
    #expect(lost(summary.losses, .links)["team"] == expected.lost["team"], "\(place)")
  }

  @Test func `an append stopped after every chunk, and killed at every step of its end, makes the same store`() throws {
    let whole = try Self.world()
    try whole.run("a.sqlite")
    try whole.run("b.sqlite")
    let pieces = try Self.world()
    pieces.chunkRows = 1
    try pieces.run("a.sqlite")
    struct Killed: Error {}
    var runs = 0
    while runs < 500 {
      var job = try pieces.job("b.sqlite")
      let step = runs % 6 + 1
      job.hooks.beforeAppendStep = { if $0 == step { throw Killed() } }
      if let summary = try? MigrationManager(job).run(maximumSeconds: 0), summary.outcome != .stopped { break }
      runs += 1
    }
    #expect(runs > 20 && runs < 500)
    #expect(try pieces.people(sortingNotes: false) == whole.people(sortingNotes: false))
    try pieces.verify("b.sqlite")
  }

  @Test
  func `a fault at any change of the disk while objects meet leaves the destination whole, and the next run completes`()
    throws
  {
    let whole = try Self.world()
    try whole.run("a.sqlite")
    let before = try Data(contentsOf: URL(filePath: whole.destinationPath))
    try whole.run("b.sqlite")
    let expected = try whole.people(sortingNotes: false)
    for number in stride(from: 1, through: 400, by: TestTier.choose(23, long: 3)) {
      let world = try Self.world()
      try FileManager.default.createDirectory(atPath: world.folder.file("out"), withIntermediateDirectories: true)
      try before.write(to: URL(filePath: world.destinationPath))
      let layer = try FaultLayer(.powerCut(at: number), root: world.folder.path)
      try? layer.run { _ = try MigrationManager(world.job("b.sqlite")).run() }
      guard layer.hasStruck else { break }
      try layer.survive(.syncedOnly)
      _ = try MigrationManager(world.job("b.sqlite")).run()
      #expect(try world.people(sortingNotes: false) == expected, "operation \(number)")
      try world.verify("b.sqlite")
    }
  }

  @Test func `verify finds what is wrong with objects that were there before`() throws {
    let world = try Self.world()
    try world.run("a.sqlite")
    try world.run("b.sqlite")
    let kept = try Data(contentsOf: URL(filePath: world.destinationPath))
    let schema = StoreSchema(model: world.destination)
    guard case .join(let join, let person, let tag, _) = schema.storage(of: "tags", in: "Person") else { return }
    guard case .foreignKey(_, _, _, let place?) = schema.storage(of: "owner", in: "Note") else { return }
    func key(_ table: String, _ condition: String) -> String { "(SELECT Z_PK FROM \(table) WHERE \(condition))" }
    let edits: [(String, VerificationReport.Finding.Kind)] = [
      // The new one came first: its values, its links, its place in the order.
      ("UPDATE ZPERSON SET ZNAME = 'Bob' WHERE ZEMAIL = 'b'", .value),
      ("UPDATE ZPERSON SET ZTEAM = \(key("ZTEAM", "ZNAME = 'red'")) WHERE ZEMAIL = 'b'", .value),
      ("UPDATE ZPERSON SET ZSTAMP = 2 WHERE ZEMAIL = 'b'", .value),
      // As if the old one had come first, whatever its values.
      ("UPDATE ZPERSON SET ZSTAMP = 99, ZNAME = 'garbage' WHERE ZEMAIL = 'b'", .value),
      // The note and the tag of an object that is not new any more.
      ("UPDATE ZNOTE SET ZOWNER = NULL WHERE ZTEXT = 'a3'", .missingLink),
      (
        "DELETE FROM \(join.name) WHERE \(person) = \(key("ZPERSON", "ZEMAIL = 'a'")) AND \(tag) = \(key("ZTAG", "ZLABEL = 'z'"))",
        .missingLink
      ),
      // A new note before the old ones of the same person, and two new ones at one place.
      ("UPDATE ZNOTE SET \(place) = -1 WHERE ZTEXT = 'b2'", .order),
      ("UPDATE ZNOTE SET \(place) = 99999 WHERE ZTEXT IN ('b2', 'b3')", .order),
      ("UPDATE ZNOTE SET \(place) = NULL WHERE ZTEXT = 'a3'", .order),
      // A second object of one key.
      ("UPDATE ZPERSON SET ZEMAIL = 'q' WHERE ZEMAIL = 'b'", .missingObject),
    ]
    for (edit, kind) in edits {
      try kept.write(to: URL(filePath: world.destinationPath))
      try world.alter(edit)
      let found = try Verifier(job: world.job("b.sqlite")).run().findings
      #expect(found.contains { $0.kind == kind }, "\(edit): \(found)")
    }
    try kept.write(to: URL(filePath: world.destinationPath))
    try world.verify("b.sqlite")
    // The objects of the first job have changed, so only the second job proves them.
    let error = try #require(throws: GodwitError.self) { try Verifier(job: world.job("a.sqlite")).run() }
    #expect(error.code == .missingInput && error.message.contains("a later job with unique-by has changed"))
  }

  @Test func `a link that the mapping of an object does not set stays as it was`() throws {
    let world = try Self.world()
    try world.run("a.sqlite")
    var job = try world.job("b.sqlite")
    var mappings = try world.mappings()
    let place = try #require(mappings.firstIndex { $0.destinationEntityName == "Person" })
    mappings[place].relationshipMappings.removeAll { $0.name == "team" }
    mappings.append(
      try .make(
        "Person", "Person", name: "Strangers", filter: "email == 'nobody'", attributes: ["name": "$source.name"],
        relationships: ["team": .sourceRelationship("team")]))
    job.steps[0].mappingModels = [MappingModel(entityMappings: mappings)]
    let lost = try MigrationManager(job).run().losses.losses
    #expect(!lost.contains { $0.subject == "Person.team" && $0.reason.contains("meets objects") }, "\(lost)")
    #expect(try Verifier(job: job).run().isClean)
    let found = try world.rows(
      """
      SELECT p.ZNAME, t.ZNAME FROM source.ZPERSON AS p JOIN source.ZTEAM AS t ON t.Z_PK = p.ZTEAM \
      WHERE p.ZEMAIL = 'b'
      """)
    #expect(found == ["Rob|red"])
  }

  @Test(arguments: [["price DESC"], ["price"]])
  func `a decimal that is not a number is as nil in the order of old and new objects`(order: [String]) throws {
    let entities: [EntityDescription] = [.make("Thing", ["name": .string, "price": .decimal])]
    let fixture = try MigrationFixture(entities, to: entities)
    let prices: [[AttributeValue]] = [[.decimal(5), .decimal(.nan)], [.decimal(.nan), .decimal(5)]]
    for (number, list) in prices.enumerated() {
      let path = fixture.folder.file("\(number).sqlite")
      let store = try StoreBuilder(path: path, model: fixture.source)
      for (place, price) in list.enumerated() {
        try store.insert("Thing", key: Int64(place + 1), attributes: ["name": .init("t\(place)"), "price": price])
      }
      try store.finish()
      var thing = try EntityMapping.make(
        "Thing", "Thing", uniqueBy: ["name"], attributes: ["name": "$source.name", "price": "$source.price"])
      thing.uniqueOrder = try order.map { try #require(EntityMapping.SortDescriptor(text: $0)) }
      var job = MigrationJob(
        name: "\(number)", sourcePath: path, destinationPath: fixture.destinationPath, sourceModel: fixture.source,
        destinationModel: fixture.destination, mappingModels: [MappingModel(entityMappings: [thing])])
      job.existingDestination = .append
      try MigrationManager(job).run()
      #expect(try Verifier(job: job).run().isClean)
    }
    let found = try fixture.rows("SELECT ZPRICE FROM source.ZTHING ORDER BY ZNAME")
    #expect(found == (order == ["price"] ? ["NaN", "NaN"] : ["5", "5"]))
  }

  @Test func `an append that changes nothing of the old objects leaves the earlier job's proof`() throws {
    let world = try Self.world()
    world.order = []
    try world.run("a.sqlite")
    try world.run("b.sqlite")
    try world.verify("a.sqlite")
  }

  @Test func `of several old objects with one key the first by order-by is met`() throws {
    let world = try Self.world()
    try FileManager.default.createDirectory(atPath: world.folder.file("out"), withIntermediateDirectories: true)
    let store = try StoreBuilder(path: world.destinationPath, model: world.destination)
    for (key, stamp) in [(1, 3), (2, 8), (3, 8)] as [(Int64, Int64)] {
      try store.insert("Person", key: key, attributes: ["email": .init("b"), "stamp": .integer(stamp)])
    }
    try store.finish()
    try world.run("b.sqlite")
    #expect(
      try world.rows("SELECT Z_PK, ZSTAMP, ZNAME FROM source.ZPERSON WHERE ZEMAIL = 'b' ORDER BY 1")
        == ["1|3|nil", "2|9|Rob", "3|8|nil"])
  }

  @Test func `a uniqueness constraint holds where the old object and the new one are one`() throws {
    let world = try MeetWorld { $0[0].uniquenessConstraints = [["email"]] }
    try world.build("a.sqlite", Self.first)
    try world.build("b.sqlite", Self.second)
    try world.run("a.sqlite")
    try world.run("b.sqlite")
    #expect(try world.people().count == 6)
  }

  @Test func `what cannot meet is refused with what to do`() throws {
    func refusal(
      _ change: (inout [EntityDescription]) -> Void = { _ in }, _ edit: (MeetWorld) throws -> Void = { _ in },
      mappings: ([EntityMapping]) throws -> [EntityMapping] = { $0 }
    ) throws -> GodwitError {
      let world = try MeetWorld(changing: change)
      try world.build("a.sqlite", Self.first)
      try world.build("b.sqlite", Self.second)
      try MigrationManager(world.job("a.sqlite")).run()
      try edit(world)
      var job = try world.job("b.sqlite")
      job.steps[0].mappingModels = [MappingModel(entityMappings: try mappings(world.mappings()))]
      let error = try #require(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(error.code == .configuration && error.remedy != nil, "\(error)")
      return error
    }
    let twice = try refusal(mappings: {
      $0 + [try .make("Team", "Team", name: "Again", uniqueBy: ["name"], attributes: ["name": "$source.name"])]
    })
    #expect(twice.message.contains("mapping 'TeamToTeam' makes objects of 'Team' by unique-by too"))
    let order = try refusal(mappings: { mappings in
      var mappings = mappings
      mappings[2].attributeMappings.removeAll { $0.name == "stamp" }
      return mappings
    })
    #expect(order.message.contains("no attribute of 'Person' takes 'stamp'"))
    let file = try refusal({
      var photo = AttributeDescription(name: "photo", type: .binary)
      photo.allowsExternalBinaryDataStorage = true
      $0[0].attributes.append(photo)
    })
    #expect(file.message.contains("'Person.photo' may lie in files"))
    let derived = try refusal({
      var count = AttributeDescription(name: "size", type: .integer64)
      count.derivationExpression = "people.@count"
      $0[1].attributes.append(count)
    })
    #expect(derived.message.contains("'Team.size' would have to be computed again"))
    let most = try refusal({
      for place in $0[0].relationships.indices where $0[0].relationships[place].name == "tags" {
        $0[0].relationships[place].maxCount = 3
      }
    })
    #expect(most.message.contains("'Person.tags' has a maximum"))
  }
}

import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// `order-by` of an ordered relationship, and `$index`, the place of an object among those of its owner.
@Suite struct SortedLinksTests {
  @Test(arguments: testSeeds(10)) func `random lists come in the order that a sort by hand gives`(seed: UInt64) throws {
    for inSwift in [false, true] {
      let world = try SortedWorld(seed: seed)
      try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try world.fixture.run() }
      #expect(try world.made() == world.expected(), "seed \(seed): \(world.what)")
    }
  }

  @Test(arguments: [StoreType.xml, .binary]) func `an atomic store has the same order`(type: StoreType) throws {
    for seed in testSeeds(3) {
      let world = try SortedWorld(seed: seed)
      var job = try world.fixture.job
      job.destinationType = type
      try MigrationManager(job).run()
      #expect(try Verifier(job: job).run().isClean, "seed \(seed)")
      #expect(try world.made() == world.expected(), "seed \(seed): \(world.what)")
    }
  }

  @Test func `a run that is stopped after any chunk goes on to the same order`() throws {
    let world = try SortedWorld(seed: 3)
    world.fixture.chunkRows = 2
    let job = try world.fixture.job
    #expect(try world.fixture.runStoppingAfterChunks() > 3)
    #expect(try world.made() == world.expected())
    #expect(try Verifier(job: job).run().isClean)
  }

  @Test func `the objects that a job appends have the order, and those before keep theirs`() throws {
    let world = try SortedWorld(seed: 5, isPlain: true)
    try MigrationManager(world.fixture.job).run()
    var again = try world.fixture.job
    (again.name, again.existingDestination) = ("again", .append)
    again.steps[0].mappingModels = [MappingModel(entityMappings: world.fixture.mappings(renamed: "Again"))]
    try MigrationManager(again).run()
    #expect(try Verifier(job: again).run().isClean)
    let expected = world.expected()
    let made = try world.lists()
    #expect(made.count == 2 * expected.count)
    for (name, order) in expected { #expect(made.filter { $0.name == name }.map(\.order) == [order, order]) }
  }

  @Test func `two neighbours that change places are found`() throws {
    let world = try SortedWorld(seed: 5, isPlain: true)
    try world.fixture.run()
    let connection = try StoreConnection(path: world.fixture.destinationPath)
    let rows =
      try connection.rows(
        "SELECT a.Z_PK, b.Z_PK, a.Z_FOK_LIST, b.Z_FOK_LIST FROM ZITEM AS a JOIN ZITEM AS b ON a.ZLIST = b.ZLIST AND a.Z_FOK_LIST < b.Z_FOK_LIST AND a.ZRANK IS NOT b.ZRANK LIMIT 1"
      ).first ?? []
    try #require(rows.count == 4)
    try connection.execute("UPDATE ZITEM SET Z_FOK_LIST = ?1 WHERE Z_PK = ?2", [rows[3], rows[0]])
    try connection.execute("UPDATE ZITEM SET Z_FOK_LIST = ?1 WHERE Z_PK = ?2", [rows[2], rows[1]])
    try connection.close()
    let report = try Verifier(job: world.fixture.job).run()
    #expect(report.findings.contains { "\($0)".contains("order-by") }, "\(report)")
  }

  @Test(arguments: [false, true]) func `an ordered relationship becomes a number, and the number an ordered one`(
    inSwift: Bool
  ) throws {
    func list(ordered: Bool) -> EntityDescription {
      .make("List", ["name": .string], [.toMany("items", "Item", inverse: "list", ordered: ordered)])
    }
    func item(_ attributes: [String: AttributeType]) -> EntityDescription {
      .make("Item", attributes, [.toOne("list", "List", inverse: "items")])
    }
    let models = [
      try ManagedObjectModel(name: "1", entities: [list(ordered: true), item(["name": .string])]),
      try ManagedObjectModel(
        name: "2", entities: [list(ordered: false), item(["name": .string, "place": .integer32])]),
      try ManagedObjectModel(name: "3", entities: [list(ordered: true), item(["name": .string])]),
    ]
    let folder = try TemporaryFolder()
    let builder = try StoreBuilder(path: folder.file("lists.sqlite"), model: models[0])
    let orders: [[Int64]] = [[3, 1, 2], [4], [9, 5, 8, 6, 7], []]
    for (place, order) in orders.enumerated() {
      try builder.insert("List", key: Int64(place + 1), relationships: ["items": order])
    }
    for key in Int64(1)...10 { try builder.insert("Item", key: key, attributes: ["name": .init("i\(key)")]) }
    try builder.finish()
    var sorted = RelationshipMapping(name: "items", value: .mapping("ItemToItem", keyPath: ["items"]))
    sorted.order = [.init("place")]
    var lists = try EntityMapping.make("List", "List", kind: .copy)
    lists.relationshipMappings = [sorted]
    let steps = [
      MigrationStep(
        sourceModel: models[0], destinationModel: models[1],
        mappingModels: [
          MappingModel(entityMappings: [
            try .make("List", "List", kind: .copy),
            try .make("Item", "Item", kind: .copy, attributes: ["place": "$index"]),
          ])
        ]),
      MigrationStep(
        sourceModel: models[1], destinationModel: models[2],
        mappingModels: [MappingModel(entityMappings: [lists, try .make("Item", "Item", kind: .copy)])]),
    ]
    func job(_ steps: [MigrationStep], to name: String) -> MigrationJob {
      MigrationJob(
        name: "lists", sourcePath: folder.file("lists.sqlite"), destinationPath: folder.file(name), first: steps[0],
        later: Array(steps.dropFirst()), chunkRows: 2)
    }
    let first = job([steps[0]], to: "numbers.sqlite")
    let both = job(steps, to: "lists-3.sqlite")
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      #expect(try MigrationManager(first).runAsPlanned().losses.isEmpty)
      _ = try MigrationManager(both).run()
    }
    #expect(try Verifier(job: first).run().isClean && Verifier(job: both).run().isClean)
    let numbers = try StoreConnection.openStore(readingAt: first.destinationPath)
    let places = try numbers.rows("SELECT ZPLACE FROM source.ZITEM ORDER BY Z_PK").map { $0[0] }
    let expected: [SQLValue] = (Int64(1)...10).map { key in
      orders.compactMap { $0.firstIndex(of: key) }.first.map { .integer(Int64($0)) } ?? .null
    }
    #expect(places == expected)
    let reader = try ObjectReader(path: both.destinationPath, model: models[2])
    var made: [[Int64]] = []
    try reader.forEachObject(of: ["List"]) { object in
      if case .toMany(let items)? = object.properties.first(where: { $0.name == "items" })?.value {
        made.append(items.map(\.key))
      }
      return true
    }
    #expect(made == orders)
    let traced = try MigrationManager(first).trace("Item/p8", in: .source)
    #expect(traced.associations.first?.destination?.attributes["place"] == .integer(2))
  }

  @Test func `an order that order-by replaces is a loss, which may be meant`() throws {
    let world = try SortedWorld(seed: 5, isPlain: true, isOrdered: true)
    let plan = try MigrationManager(world.fixture.job).plan()
    let lost = plan.losses.losses.filter { $0.kind == .order }
    #expect(lost.map(\.subject) == ["List.items"] && lost[0].reason == "order-by sorts them", "\(lost)")
    #expect(
      plan.steps[0].passes.flatMap(\.mappings).contains {
        $0.relationships["items"]?.contains("sorted by rank") == true
      })
    var job = try world.fixture.job
    (job.onLoss, job.acceptedLosses) = (.fail, plan.losses.losses.map { .init($0.subject) })
    #expect(try MigrationManager(job).runAsPlanned().losses.accepted.count == plan.losses.losses.count)
  }
}

/// Relationships that cannot be sorted, and objects without a place.
@Suite struct SortedLinksRefusalTests {
  private static func fixture(ordered: Bool = true) throws -> MigrationFixture {
    let source: [EntityDescription] = [
      .make("List", ["name": .string], [.toMany("items", "Item", inverse: "list", ordered: true)]),
      .make(
        "Item", ["rank": .integer16, "blob": .binary],
        [.toOne("list", "List", inverse: "items"), .toOne("other", "List", inverse: nil)]),
    ]
    let fixture = try MigrationFixture(
      source,
      to: [
        .make("List", ["name": .string], [.toMany("items", "Item", inverse: "list", ordered: ordered)]),
        .make("Item", ["rank": .integer16, "place": .integer16], [.toOne("list", "List", inverse: "items")]),
      ])
    try fixture.build { try $0.insert("List", key: 1) }
    fixture.mappings = [
      try .make("List", "List", relationships: ["items": .mapping("ItemToItem", keyPath: ["items"])]),
      try .make("Item", "Item", attributes: ["rank": "$source.rank"]),
    ]
    return fixture
  }

  private func refusal(_ fixture: MigrationFixture, policies: PolicyRegistry = [:]) throws -> String {
    var job = try fixture.job
    job.policies = policies
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).plan() }
    #expect(error?.code == .configuration && error?.remedy != nil)
    return error?.message ?? ""
  }

  @Test(arguments: [
    ("rank", "is not ordered", false), ("rang", "has no attribute 'rang' (did you mean 'rank'?)", true),
    ("list.items.rank", "is a to-many", true), ("blob", "whose values have no order", true),
    ("lists.name", "has no relationship 'lists'", true),
  ])
  func `an order that cannot be is 78`(path: String, message: String, ordered: Bool) throws {
    let fixture = try Self.fixture(ordered: ordered)
    fixture.mappings[0].relationshipMappings[0].order = [.init(path)]
    let told = try refusal(fixture)
    #expect(told.contains(message), "\(told)")
  }

  @Test func `a to-one, and objects of policies, have no order`() throws {
    let toOne = try Self.fixture()
    toOne.mappings[1].relationshipMappings = [
      RelationshipMapping(name: "list", value: .mapping("ListToList", keyPath: ["list"]))
    ]
    toOne.mappings[1].relationshipMappings[0].order = [.init("name")]
    #expect(try refusal(toOne).contains("which is a to-one"))
    for place in [0, 1] {
      let fixture = try Self.fixture()
      fixture.mappings[0].relationshipMappings[0].order = [.init("rank")]
      fixture.mappings[place].policyName = "Plain"
      let told = try refusal(fixture, policies: ["Plain": { PlainPolicy() }])
      #expect(
        told.contains(place == 0 ? "would do nothing" : "cannot order objects that policy 'Plain' makes"), "\(told)")
    }
  }

  @Test(arguments: [
    ("$index.lists", "'lists' is not a to-one"), ("$index.list.name", "which has no 'name'"),
    ("$indexes", "unknown variable"),
    ("$index.other", "write '$index.list'"),
  ])
  func `a place that no object has is 78`(value: String, message: String) throws {
    let fixture = try Self.fixture()
    fixture.mappings[1].attributeMappings = [AttributeMapping(name: "place", value: try ValueExpression(value))]
    let told = try refusal(fixture)
    #expect(told.contains(message), "\(told)")
    fixture.mappings[1].attributeMappings = []
    fixture.mappings[0].attributeMappings = [AttributeMapping(name: "name", value: try ValueExpression("$index"))]
    #expect(try refusal(fixture).contains("there is none"))
  }

  @Test func `a mapping file has the order, and is written with it`() throws {
    let text = """
      godwit-mapping: 1
      entity-mappings:
        - name: ListToList
          source: List
          destination: List
          relationships:
            items: { mapping: ItemToItem, key-path: items, order-by: [place, "name DESC"] }
            others: { source-relationship: others, order-by: place }

      """
    let model = try MappingModel(bytes: Array(text.utf8), path: "a.yaml")
    let mapping = try #require(model.entityMappings.first)
    #expect(mapping.relationshipMappings[0].order == [.init("place"), .init("name", ascending: false)])
    #expect(mapping.relationshipMappings[1].order == [.init("place")])
    let again = try MappingModel(bytes: Array(model.yaml.utf8), path: "b.yaml")
    #expect(again.entityMappings[0].relationshipMappings.map(\.order) == mapping.relationshipMappings.map(\.order))
    #expect(
      MigrationJob.canonicalText(of: [model]).contains(
        "relationship items mapping ItemToItem items, by place, by name DESC"))
  }
}

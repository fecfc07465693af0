import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitVerifier

/// `for-each`: one object for each link of a relationship.
@Suite struct PairTests {
  @Test(arguments: testSeeds(20)) func `random links become the objects that an oracle makes`(seed: UInt64) throws {
    for inSwift in [false, true] {
      let world = try PairWorld(seed: seed)
      try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try world.fixture.run() }
      #expect(try world.made() == world.expected(), "seed \(seed): \(world.what)")
    }
  }

  @Test(arguments: PairWorld.Shape.allCases) func `each shape of a relationship has its links, in their order`(
    shape: PairWorld.Shape
  ) throws {
    for seed in testSeeds(2) {
      let world = try PairWorld(seed: seed, shape: shape, isPlain: true)
      try world.fixture.run()
      #expect(try !world.made().isEmpty && world.made() == world.expected(), "seed \(seed): \(world.what)")
      if world.isOrdered {
        #expect(try world.orders() == world.expectedOrders().filter { !$0.value.isEmpty }, "seed \(seed)")
      }
    }
  }

  @Test func `links that are stored in one direction are links in both`() throws {
    let world = try PairWorld(seed: 4, shape: .ownInverse, isPlain: true)
    try world.fixture.alter("DELETE FROM Z_1PARTS WHERE REFLEXIVE > Z_1PARTS")
    try world.fixture.run()
    #expect(try world.made() == world.expected())
  }

  @Test(arguments: [StoreType.xml, .binary]) func `an atomic store has the same objects`(type: StoreType) throws {
    for seed in testSeeds(3) {
      let world = try PairWorld(seed: seed)
      var job = try world.fixture.job
      job.destinationType = type
      try MigrationManager(job).run()
      #expect(try Verifier(job: job).run().isClean, "seed \(seed)")
      #expect(try world.made() == world.expected(), "seed \(seed): \(world.what)")
      // The atomic store is the source of another job.
      var again = MigrationJob(
        name: "again", sourcePath: job.destinationPath, destinationPath: world.fixture.folder.file("again.sqlite"),
        sourceModel: world.fixture.destination, destinationModel: world.fixture.destination,
        mappingModels: [MappingModel(entityMappings: try Self.ranked())])
      again.onLoss = .report
      try MigrationManager(again).run()
      #expect(try Verifier(job: again).run().isClean)
      let linked = world.expected().count { !$0.hasSuffix("|nil") || !$0.dropLast(4).hasSuffix("|nil") }
      #expect(try world.made(at: again.destinationPath).count <= linked)
    }
  }

  /// A part for each part of a pizza.
  private static func ranked() throws -> [EntityMapping] {
    var links = try EntityMapping.make(
      "Pizza", "Part", name: "Again", attributes: ["whole": "$source.name", "part": "$element.part"])
    links.forEach = "items"
    return [links, try .make("Pizza", "Pizza", attributes: ["name": "$source.name"])]
  }

  @Test func `a run that is stopped after any chunk goes on to the same objects`() throws {
    let world = try PairWorld(seed: 3, shape: .manyToMany, isPlain: true)
    world.fixture.chunkRows = 2
    let job = try world.fixture.job
    #expect(try world.fixture.runStoppingAfterChunks() > 3)
    #expect(try world.made() == world.expected())
    #expect(try Verifier(job: job).run().isClean)
  }

  @Test func `a job appends its objects, and none becomes one of an earlier job`() throws {
    let world = try PairWorld(seed: 5, shape: .manyToMany, isPlain: true)
    var first = try world.fixture.job
    first.existingDestination = .append
    try MigrationManager(first).run()
    var again = first
    again.name = "again"
    again.steps[0].mappingModels = [
      MappingModel(
        entityMappings: world.fixture.mappings(renamed: "Again").map { mapping in
          var mapping = mapping
          for place in mapping.relationshipMappings.indices {
            if case .sourceRelationship = mapping.relationshipMappings[place].value {
              mapping.relationshipMappings[place].value = .mapping("ToppingToToppingAgain", keyPath: ["$element"])
            }
          }
          return mapping
        })
    ]
    try MigrationManager(again).run()
    #expect(try Verifier(job: again).run().isClean)
    let made = try world.made()
    #expect(made.count == 2 * world.expected().count)
    var late = again
    late.name = "late"
    late.steps[0].mappingModels = [
      MappingModel(entityMappings: [
        try .make("Pizza", "Pizza", name: "Late", relationships: ["items": .mapping("Links", keyPath: ["parts"])])
      ])
    ]
    let error = #expect(throws: GodwitError.self) { try MigrationManager(late).plan() }
    #expect(error?.code == .configuration, "\(String(describing: error))")
  }

  @Test func `a store in place gets the objects`() throws {
    let world = try PairWorld(seed: 6, shape: .oneToMany, isPlain: true)
    var job = try world.fixture.job
    let copy = world.fixture.folder.file("copy.sqlite")
    try FileManager.default.copyItem(atPath: world.fixture.sourcePath, toPath: copy)
    (job.sourcePath, job.destinationPath, job.existingDestination) = (copy, copy, .inPlace(keepsOld: false))
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(try world.made(at: copy) == world.expected())
  }

  @Test func `chunks are cut by links, however many a single object has`() throws {
    let fixture = try Self.wide()
    try fixture.run()
    let plan = try fixture.planned().1
    let mapping = try #require(plan.steps[0].passes.flatMap(\.mappings).first { $0.name == "Links" })
    #expect(mapping.rows == 40 && mapping.chunks == 4 && mapping.source == "Pizza.parts" && mapping.lane == .sql)
    #expect(mapping.association == "computed")
  }

  /// A pizza with 40 parts, in chunks of ten.
  private static func wide() throws -> MigrationFixture {
    let models: [EntityDescription] = [
      .make("Pizza", ["name": .string], [.toMany("parts", "Topping", inverse: "wholes")]),
      .make("Topping", ["name": .string], [.toMany("wholes", "Pizza", inverse: "parts")]),
    ]
    let fixture = try MigrationFixture(
      models,
      to: [
        .make("Pizza", ["name": .string], [.toMany("items", "Part", inverse: "pizza")]),
        .make("Topping", ["name": .string], [.toMany("uses", "Part", inverse: "topping")]),
        .make(
          "Part", ["name": .string, "rank": .integer16],
          [.toOne("pizza", "Pizza", inverse: "items"), .toOne("topping", "Topping", inverse: "uses")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...40 { try store.insert("Topping", key: key, attributes: ["name": .init("t\(key)")]) }
      try store.insert(
        "Pizza", key: 1, attributes: ["name": .init("p1")], relationships: ["parts": Array(1...40)])
    }
    var links = try EntityMapping.make("Pizza", "Part", name: "Links", attributes: ["name": "$element.name"])
    links.forEach = "parts"
    var (pizza, topping) = (
      RelationshipMapping(name: "pizza", value: .mapping("PizzaToPizza", keyPath: [])),
      RelationshipMapping(name: "topping", value: .mapping("ToppingToTopping", keyPath: ["$element"]))
    )
    (pizza.end, topping.end) = (.source, nil)
    links.relationshipMappings = [pizza, topping]
    fixture.mappings = [
      try .make("Pizza", "Pizza", attributes: ["name": "$source.name"]),
      try .make("Topping", "Topping", attributes: ["name": "$source.name"]), links,
    ]
    fixture.chunkRows = 10
    return fixture
  }

  @Test func `nothing is lost where every link becomes an object, and what a filter leaves out is counted`() throws {
    let fixture = try Self.wide()
    #expect(try MigrationManager(fixture.job).plan().losses.losses.isEmpty)
    fixture.mappings[2].filter = try FilterPredicate("$element.name != 't7' AND $element.name != 't9'")
    let losses = try MigrationManager(fixture.job).runAsPlanned().losses.losses
    #expect(losses.map { "\($0.kind) \($0.subject) \($0.count ?? -1)" } == ["objects Pizza.parts 2"], "\(losses)")
    fixture.mappings[2].filter = nil
    fixture.mappings[2].relationshipMappings.removeFirst()
    let links = try MigrationManager(fixture.job).plan().losses.losses
    #expect(links.map { "\($0.kind) \($0.subject) \($0.count ?? -1)" } == ["links Pizza.parts.$source 40"], "\(links)")
  }

  @Test func `a link to an object that is gone makes no object, and is counted`() throws {
    let fixture = try Self.wide()
    try fixture.alter("DELETE FROM ZTOPPING WHERE Z_PK IN (3, 4)")
    let summary = try fixture.run()
    #expect(
      summary.losses.losses.contains {
        $0.kind == .linksToNothing && $0.count == 2 && $0.subject.hasSuffix("Pizza.parts")
          || $0.subject.hasSuffix("Topping.wholes")
      },
      "\(summary.losses)")
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZPART") == ["38"])
  }

  @Test func `a missing object, a wrong value and a wrong end are found`() throws {
    for sql in [
      "DELETE FROM ZPART WHERE Z_PK = 5", "UPDATE ZPART SET ZNAME = 't1' WHERE Z_PK = 5",
      "UPDATE ZPART SET ZTOPPING = 1 WHERE Z_PK = 5",
    ] {
      let fixture = try Self.wide()
      try fixture.run()
      let connection = try StoreConnection(path: fixture.destinationPath)
      try connection.execute(sql)
      try connection.close()
      #expect(try !Verifier(job: fixture.job).run().isClean, "\(sql)")
    }
  }

  @Test(arguments: [
    ("SELECT * FROM godwit_kept WHERE Z_PK <> 5", "is not among those that become objects"),
    ("SELECT Z_PK, Z_ENT, Z_OPT, ZSOURCE, ZELEMENT + (Z_PK = 40) AS ZELEMENT FROM godwit_kept", "is not in the source"),
  ])
  func `a link that the rows lack or invent is found from the other side`(rows: String, message: String) throws {
    let fixture = try Self.wide()
    try fixture.run()
    let stores = try ComparedStores(fixture.job, moment: JobClock(now: 0))
    let verification = Verification(stores)
    let proof = PairProof(stores, verification.findings, verification.progress)
    try proof.provePairs()
    #expect(verification.findings.report.isClean)
    let store = stores.source
    let view = "\"godwit pairs Pizza.parts\""
    try store.execute("CREATE TEMP TABLE godwit_kept AS SELECT * FROM source.\(view)")
    try store.execute("DROP VIEW temp.\(view)")
    try store.execute("CREATE TEMP VIEW \(view) AS \(rows)")
    try proof.provePairs()
    let report = verification.findings.report
    #expect(report.findings.contains { $0.message.contains(message) }, "\(report)")
  }

  @Test func `a trace leads from an object to the link and its ends, and back`() throws {
    let fixture = try Self.wide()
    try fixture.run()
    let manager = try MigrationManager(fixture.job)
    let back = try manager.trace("Part/p5", in: .destination)
    let link = try #require(back.associations.first?.source)
    #expect(link.entityName == "Pizza.parts")
    #expect(link.relationships["$source"]?.first?.hasSuffix("/Pizza/p1") == true)
    #expect(link.relationships["$element"]?.first?.hasSuffix("/Topping/p5") == true)
    let forward = try manager.trace("Topping/p5", in: .source)
    #expect(
      forward.associations.map { $0.destinationURI.split(separator: "/").suffix(2).joined(separator: "/") }
        == ["Topping/p5", "Part/p5"])
    let all = try manager.trace("Pizza/p1", in: .source)
    #expect(all.associations.count == 41 && all.remarks.isEmpty)
  }

  @Test func `audit finds the links whose objects would be rejected`() throws {
    let models = try Self.wide()
    var entities = models.destination.entities
    let place = try #require(entities.firstIndex { $0.name == "Part" })
    entities[place].attributes[0].maximumLength = 2
    let fixture = try MigrationFixture(models.source, to: ManagedObjectModel(name: "2", entities: entities))
    try FileManager.default.copyItem(atPath: models.sourcePath, toPath: fixture.sourcePath)
    fixture.mappings = models.mappings
    let report = try MigrationManager(fixture.job).audit()
    let finding = try #require(report.findings.first { $0.mapping == "Links" })
    #expect(finding.count == 31 && finding.entity == "Pizza.parts", "\(report.findings)")
    let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    #expect(error?.code == .dataWrong, "\(String(describing: error))")
  }

  @Test(arguments: [false, true]) func `links become objects, and the objects a relationship again`(inSwift: Bool)
    throws
  {
    let fixture = try Self.wide()
    var last = try ManagedObjectModel(
      name: "3",
      entities: [
        .make("Pizza", ["name": .string], [.toMany("parts", "Topping", inverse: "wholes")]),
        .make("Topping", ["name": .string], [.toMany("wholes", "Pizza", inverse: "parts")]),
      ])
    last.remarks = []
    var job = try fixture.job
    job.steps.append(
      MigrationStep(
        sourceModel: fixture.destination, destinationModel: last,
        mappingModels: [
          MappingModel(entityMappings: [
            try .make(
              "Pizza", "Pizza", attributes: ["name": "$source.name"],
              relationships: ["parts": .mapping("ToppingToTopping", keyPath: ["items", "topping"])]),
            try .make("Topping", "Topping", attributes: ["name": "$source.name"]),
          ])
        ]))
    try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try MigrationManager(job).run() }
    #expect(try Verifier(job: job).run().isClean)
    let connection = try StoreConnection.openStore(readingAt: job.destinationPath)
    let join = try #require(StoreSchema(model: last, probing: connection).joinTables.first)
    #expect(try connection.integer("SELECT COUNT(*) FROM source.\(join.name)") == 40)
  }

  @Test(arguments: [false, true]) func `a link keeps its new UUID when another row holds it`(inSwift: Bool) throws {
    let world = try PairWorld(seed: 5, shape: .manyToMany, isPlain: true)
    let fixture = world.fixture
    let mapping = try #require(fixture.mappings.firstIndex { $0.name == "Links" })
    let part = try #require(fixture.mappings[mapping].attributeMappings.firstIndex { $0.name == "part" })
    fixture.mappings[mapping].attributeMappings[part].value = try ValueExpression(parsing: "newUUID().UUIDString")
    try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
    let made = try world.made()
    #expect(Set(made.map { $0.split(separator: "|")[1] }).count == made.count)
    let connection = try StoreConnection.openStore(readingAt: fixture.sourcePath)
    let join = try #require(StoreSchema(model: fixture.source, probing: connection).joinTables.first?.name)
    try connection.close()
    for sql in [
      "CREATE TABLE links AS SELECT * FROM \(join) ORDER BY rowid DESC", "DELETE FROM \(join)",
      "INSERT INTO \(join) SELECT * FROM links ORDER BY rowid", "DROP TABLE links",
    ] { try fixture.alter(sql) }
    try FileManager.default.removeItem(atPath: fixture.folder.file("out"))
    try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
    #expect(try world.made() == made)
    #expect(try Verifier(job: fixture.job).run().isClean)
  }

  @Test func `order-by sorts the objects of links by their ends`() throws {
    let world = try PairWorld(seed: 9, shape: .manyToMany, isPlain: true, ordered: true)
    let place = try #require(world.fixture.mappings[0].relationshipMappings.firstIndex { $0.name == "items" })
    world.fixture.mappings[0].relationshipMappings[place].order = [.init("$element.name", ascending: false)]
    try world.fixture.run()
    #expect(
      try world.orders() == world.expectedOrders().filter { !$0.value.isEmpty }.mapValues { $0.sorted().reversed() })
  }
}

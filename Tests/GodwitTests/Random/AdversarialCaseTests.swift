import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

@Suite struct AdversarialCaseTests {
  // A to-one fed from a to-many was taken for the mirror of its inverse: the first object stayed, though the
  // inverse's later assignments say otherwise.
  @Test func `a to-one fed from a to-many yields to the later assignments of its inverse`() throws {
    let fixture = try MigrationFixture(
      [
        .make("Address", [:], [.toMany("people", "Person", inverse: "addresses")]),
        .make("Person", [:], [.toMany("addresses", "Address", inverse: "people")]),
      ],
      to: [
        .make("Address", [:], [.toMany("people", "Person", inverse: "address")]),
        .make("Person", [:], [.toOne("address", "Address", inverse: "people")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Address", key: key) }
      try store.insert("Person", key: 1, relationships: ["addresses": [1, 2, 3]])
    }
    fixture.mappings = [
      try .make("Person", "Person", relationships: ["address": .sourceRelationship("addresses")]),
      try .make("Address", "Address", relationships: ["people": .sourceRelationship("people")]),
    ]
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZADDRESS FROM source.ZPERSON") == ["1|3"])
  }

  // The verifier set one property of a `unique-by` object between two sources of another: the second source's turn
  // seemed to revert the value of the property that sorts last.
  @Test(arguments: [1, 2, 100])
  func `an object of several sources is assigned once for each property`(rows: Int) throws {
    let fixture = try MigrationFixture(
      [.make("Part", ["n": .integer64])],
      to: [
        .make("Other", ["n": .integer64], [.toMany("dx", "Part", inverse: "dy")]),
        .make("Part", parent: "Other", [:], [.toOne("dy", "Other", inverse: "dx")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Part", key: key, attributes: ["n": .integer(key / 3)]) }
    }
    var unique = try EntityMapping.make(
      "Part", "Part", name: "Kind", uniqueBy: ["n"], attributes: ["n": "$source.n"],
      // Each of the two sources finds the object itself, for `dx`, then another one, for `dy`.
      relationships: ["dx": .mapping("Kind", keyPath: []), "dy": .mapping("One", keyPath: [])])
    unique.relationshipMappings.sort { $0.name < $1.name }
    fixture.mappings = [unique, try .make("Part", "Other", name: "One", attributes: ["n": "$source.n + 10"])]
    fixture.chunkRows = rows
    try fixture.run()
    #expect(
      try fixture.rows(
        "SELECT a.ZN, b.ZN FROM source.ZOTHER AS a JOIN source.ZOTHER AS b ON b.Z_PK = a.ZDY ORDER BY 1, 2")
        == ["0|10", "1|11"])
  }

  // Subtracting one from the lowest key there is trapped in the planner.
  @Test func `a mapping whose source has the lowest possible key gets keys`() throws {
    let fixture = try MigrationFixture(
      [.make("Cat", ["name": .string]), .make("Dog", ["name": .string])],
      to: [
        .make("Pet", isAbstract: true, ["name": .string]), .make("PetCat", parent: "Pet"),
        .make("PetDog", parent: "Pet"),
      ])
    try fixture.build { store in
      try store.insert("Cat", key: 4, attributes: ["name": .init("cat")])
      for key in [Int64.min, 7] { try store.insert("Dog", key: key, attributes: ["name": .init("dog \(key)")]) }
    }
    fixture.mappings = [try .make("Cat", "PetCat", kind: .copy), try .make("Dog", "PetDog", kind: .copy)]
    // A chunk larger than any store must not overflow where ranges of dense keys are laid out.
    fixture.chunkRows = .max
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZNAME FROM source.ZPET ORDER BY Z_PK") == [
        "4|cat", "5|dog \(Int64.min)", "6|dog 7",
      ])
  }

  // Rows per chunk of zero never ended, as each range was empty.
  @Test func `zero rows per chunk are treated as one`() throws {
    let entities: [EntityDescription] = [.make("Item", ["size": .integer32])]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in for key in Int64(1)...3 { try store.insert("Item", key: key) } }
    fixture.mappings = [try .make("Item", "Item", kind: .copy)]
    fixture.chunkRows = 0
    #expect(try fixture.run().objects == 3)
  }

  // Two halves of one couple that say the same were counted as one displacing the other.
  @Test(arguments: [1, 2, 100])
  func `a relationship that is its own inverse displaces nothing when both sides agree`(
    rows: Int
  ) throws {
    let entities: [EntityDescription] = [.make("Person", [:], [.toOne("spouse", "Person", inverse: "spouse")])]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      for (key, other) in [(1, 4), (2, 3), (3, 2), (4, 1)] as [(Int64, Int64)] {
        try store.insert("Person", key: key, relationships: ["spouse": [other]])
      }
    }
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    fixture.chunkRows = rows
    #expect(try fixture.run().overridden == 0)
    #expect(try fixture.rows("SELECT Z_PK, ZSPOUSE FROM source.ZPERSON ORDER BY 1") == ["1|4", "2|3", "3|2", "4|1"])
  }

  // A run that died after it had linked the destination, but before its work folder was gone, could not be run
  // again: it was refused with 73 although all was done.
  @Test(arguments: [true, false]) func `a run that died between link and removal is finished by the next`(
    isUnlinked: Bool
  ) throws {
    let entities: [EntityDescription] = [.make("Item", ["size": .integer32])]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in try store.insert("Item", key: 1) }
    fixture.mappings = [try .make("Item", "Item", kind: .copy)]
    try fixture.run()
    let path = WorkFolder.path(forDestination: fixture.destinationPath)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try WorkFolder.mark(path, isSynced: true)
    try Data().write(to: URL(filePath: path + "/lock"))
    if !isUnlinked {
      try FileManager.default.linkItem(atPath: fixture.destinationPath, toPath: path + "/store.sqlite")
    }
    #expect(try MigrationManager(fixture.job).isFinished())
    #expect(try MigrationManager(fixture.job).status().state == .finished)
    #expect(try fixture.run().outcome == .alreadyFinished)
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("out")) == ["destination.sqlite"])
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZITEM") == ["1"])
  }

  @Test func `a work folder beside a destination of another job is refused`() throws {
    let entities: [EntityDescription] = [.make("Item", ["size": .integer32])]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in for key in Int64(1)...9 { try store.insert("Item", key: key) } }
    fixture.mappings = [try .make("Item", "Item", kind: .copy)]
    try MigrationManager(fixture.job).run(maximumSeconds: 0)
    try FileManager.default.copyItem(atPath: fixture.sourcePath, toPath: fixture.destinationPath)
    let error = try #require(throws: GodwitError.self) { try fixture.run() }
    #expect(error.code == .cannotCreate)
    #expect(try WorkFolder.exists(forDestination: fixture.destinationPath))
  }

  @Test func `every statement of a chunk reads only its key range`() throws {
    let entities: [EntityDescription] = [
      .make("Address", ["street": .string], [.toMany("people", "Person", inverse: "address")]),
      .make(
        "Person", ["name": .string, "n": .integer32],
        [
          .toOne("address", "Address", inverse: "people"), .toMany("friends", "Person", inverse: "friendOf"),
          .toMany("friendOf", "Person", inverse: "friends"),
        ]),
    ]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      for key in Int64(1)...50 { try store.insert("Address", key: key) }
      for key in Int64(1)...2000 {
        try store.insert(
          "Person", key: key, attributes: ["n": .integer(key)],
          relationships: ["address": [key % 50 + 1], "friends": [key % 40 + 1]])
      }
    }
    fixture.mappings = [
      try .make("Address", "Address", kind: .copy),
      try .make("Person", "Person", name: "Old", kind: .copy, filter: "n > 500"),
      try .make(
        "Person", "Person", name: "Young", filter: "n < 600", attributes: ["n": "$source.n"],
        relationships: [
          "address": .sourceRelationship("address"), "friends": .sourceRelationship("friends"),
          "friendOf": .mapping("Old", keyPath: ["friends"]),
        ]),
    ]
    let connection = try StoreConnection(path: fixture.folder.file("plan.sqlite"), create: true)
    try connection.attachSource(StoreFiles(path: fixture.sourcePath))
    let job = try fixture.job
    let attached = try AttachedSource(connection, job: job, files: StoreFiles(path: fixture.sourcePath))
    let (_, program) = try attached.planner(job).plan(now: 0)
    for sql in attached.destinationSchema.createStatements { try connection.execute(sql) }
    for sql in program.scratchStatements { try connection.execute(sql) }
    try connection.execute("CREATE TEMP TABLE godwit_edge (d INTEGER, x INTEGER, dx INTEGER, xd INTEGER)")
    var explained = 0
    for index in program.mappings.ids { try explain(try program.creation.statement(index, predicate: nil).sql) }
    for (index, link) in program.links.numbered {
      for job in try program.relationships.scans(index) { try explain(try program.relationships.statement(job).sql) }
      guard link.strategy == .resolved else { continue }
      for sql in program.resolution.preparation(index) { try connection.execute(sql) }
      let walk = AssignmentResolver.queries(link, table: StepProgram.linkTable(index))
      for sql in [walk.assigned, walk.reverse, walk.own, walk.leading] { if let sql { try explain(sql) } }
      for sql in program.resolution.indexesForSQL(index) { try connection.execute(sql) }
      let resolve = try program.resolution.statements(index)
      for sql in [resolve.asserted, resolve.collect, walk.assigned, walk.reverse, walk.own] { try explain(sql) }
    }
    #expect(explained > 12)

    func explain(_ sql: String) throws {
      explained += 1
      var plan: [String] = []
      try connection.query("EXPLAIN QUERY PLAN \(sql)") { row in
        plan.append(row.string(3) ?? "")
        return true
      }
      for line in plan where line.hasPrefix("SCAN") && !line.contains("SUBQUERY") && !line.contains("(subquery") {
        // A statement scans as a whole only the rows that a subquery inside it has made.
        let isMade = plan.contains("CO-ROUTINE \(line.dropFirst(5))")
        #expect(
          isMade || ["SCAN e", "SCAN (", "SCAN CONSTANT ROW"].contains { line.hasPrefix($0) },
          "\(line)\n\(sql)\n\(plan)")
      }
    }
  }
}

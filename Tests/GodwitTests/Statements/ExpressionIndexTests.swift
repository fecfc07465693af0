import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The plans of SQLite for lowered statements: key ranges and indexes are used, and rows remain checked.
@Suite struct ExpressionIndexTests {
  private func steps(_ bench: ExpressionCaseSQLTests.Bench, _ sql: String, _ builder: StatementBuilder) throws
    -> [String]
  {
    try bench.connection.rows("EXPLAIN QUERY PLAN \(sql)", builder.arguments()).map { $0.last?.plain ?? "" }
  }

  private func fixture(filter: String?, predicates: [String] = []) throws -> MigrationFixture {
    let world = try ExpressionWorld.model()
    let fixture = try MigrationFixture(world, to: world)
    try fixture.build { store in
      for row in ExpressionWorld.rows {
        try store.insert(row.entity, key: row.key, attributes: row.attributes, relationships: row.links)
      }
    }
    try fixture.alter("CREATE INDEX Z_Person_byName ON ZPERSON (ZNAME COLLATE BINARY ASC)")
    try fixture.alter("CREATE INDEX Z_Person_byAge ON ZPERSON (ZAGE COLLATE BINARY ASC)")
    fixture.mappings = [
      try .make(
        "Person", "Person", name: "P", filter: filter, attributes: ["name": "$source.name", "age": "$source.age"])
    ]
    if !predicates.isEmpty { fixture.chunkPredicates = ["P": predicates] }
    return fixture
  }

  /// The steps of the create statement of the mapping, with or without a chunk predicate.
  private func create(_ fixture: MigrationFixture, predicate: String?) throws -> [String] {
    let resolved = try ResolvedMapping(
      [MappingModel(entityMappings: fixture.mappings)], from: fixture.source, to: fixture.destination)
    let connection = try StoreConnection(path: nil)
    try connection.attachSource(StoreFiles(path: fixture.sourcePath))
    let schema = try StoreSchema(model: fixture.source, probing: connection, schema: StoreConnection.sourceSchema)
    _ = try SQLFunctions(connection: connection, sourceSchema: schema, now: 0)
    let facts = PlanFacts(
      mappings: fixture.mappings.map { _ in
        .init(rows: 3, minimumKey: 1, maximumKey: 3, keys: .offset(0), chunkRows: 10)
      }, entities: [], overlaps: [], highestKeys: [:], now: 0, sourceBytes: 0)
    let program = try StepProgram(
      resolved: resolved, sourceSchema: schema, destinationSchema: schema, facts: facts)
    let statement = try program.creation.statement(0, predicate: try predicate.map { try FilterPredicate($0) })
    let from = try #require(statement.sql.range(of: " SELECT ")).lowerBound
    return try connection.rows("EXPLAIN QUERY PLAN \(statement.sql[from...])", statement.builder.arguments())
      .map { $0.last?.plain ?? "" }
  }

  @Test func `a chunk scans its key range, whatever the filter`() throws {
    let steps = try create(try fixture(filter: "age > 18 AND name BEGINSWITH 'Z'"), predicate: nil)
    #expect(steps.first == "SEARCH s USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "\(steps)")
  }

  @Test(arguments: [
    ("name == 'Zoë'", "SEARCH s USING INDEX Z_Person_byName (ZNAME=?)"),
    ("name BEGINSWITH 'Z'", "SEARCH s USING INDEX Z_Person_byName (ZNAME>? AND ZNAME<?)"),
    ("name IN {'Bob', 'Zoë'}", "SEARCH s USING INDEX Z_Person_byName (ZNAME=?)"),
    ("name == nil", "SEARCH s USING INDEX Z_Person_byName (ZNAME=?)"),
    ("age BETWEEN {18, 65} AND height > 1", "SEARCH s USING INDEX Z_Person_byAge (ZAGE>? AND ZAGE<?)"),
  ]) func `a chunk predicate uses an index of the source`(predicate: String, step: String) throws {
    let steps = try create(try fixture(filter: nil), predicate: predicate)
    #expect(steps.first == step, "\(steps)")
  }

  @Test(arguments: [
    "isMember == YES", "name ==[c] 'zoë'", "name != 'Bob'", "age > rating", "NOT age > 18", "age > 18 OR name == 'x'",
  ]) func `a chunk predicate without a bare column reads every row`(predicate: String) throws {
    let steps = try create(try fixture(filter: nil), predicate: predicate)
    #expect(steps.first?.contains("INDEX") == false, "\(steps)")
  }

  @Test func `chunk predicates match the same rows with and without an index`() throws {
    let predicates = ["name BEGINSWITH 'Z'", "NOT name BEGINSWITH 'Z' AND age < 18", "name == nil"]
    let fixture = try fixture(filter: nil, predicates: predicates)
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZNAME, ZAGE FROM ZPERSON ORDER BY Z_PK") == ["1|Zoë|40", "2|Bob|17", "3|nil|nil"])
  }

  @Test func `a value of the wrong type is found even if an index would skip it`() throws {
    let fixture = try fixture(filter: nil, predicates: ["age < 18", "age >= 18 OR age == nil"])
    try fixture.alter("UPDATE ZPERSON SET ZAGE = 'abc' WHERE Z_PK = 1")
    let error = #expect(throws: GodwitError.self) { try fixture.run() }
    #expect(error?.code == .dataWrong)
    #expect(error?.message.contains("Person p1") == true)
  }

  @Test func `the members of a to-many are found through an index on their key`() throws {
    let bench = try ExpressionCaseSQLTests.Bench()
    for (text, table) in [
      ("ANY pets.weight > 4", "t"), ("pets.@sum.weight > 4", "t"),
      ("SUBQUERY(pets, $p, $p.weight > 4).@count > 0", "t"),
    ] {
      let builder = StatementBuilder()
      let lowered = ExpressionLowering.condition(
        try FilterPredicate(text), schema: bench.schema, row: .init(alias: "s", entityName: "Person"), builder: builder)
      #expect(lowered.reason == nil)
      let steps = try steps(bench, "SELECT 1 FROM source.ZPERSON AS s WHERE s.Z_PK = 1 AND \(lowered.sql)", builder)
      let scans = steps.filter { $0.hasPrefix("SCAN \(table)") }
      #expect(scans.isEmpty, "\(text): \(steps)")
      #expect(steps.contains { $0.contains("USING INDEX ZPET_ZOWNER_INDEX (ZOWNER=?)") }, "\(text): \(steps)")
    }
  }

  /// SQLite's parser has a stack of 100 entries; the filter stands in look-ups too, deep in the statement.
  private static let nestings = [
    ("(age + ", "1", ")"), ("TERNARY(age == 1, 2, ", "1", ")"), ("TERNARY(", "age == 1", ", 1, 2) == 1"),
    ("abs(", "age", ")"),
    ("max(1, 2, ", "age", ")"), ("-(", "age", ")"), ("(age IN {1, ", "2", "} OR age == 1)"), ("NOT (", "age == 1", ")"),
    ("(age == 1 AND ", "age == 2", ")"), ("SUBQUERY(pets, $p, ", "age == 1", ").@count == 1"),
    ("(ANY pets.weight == 1 OR ", "age == 2", ")"), ("uppercase(", "name", ")"),
  ]

  @Test(arguments: TestTier.sample(nestings, each: 2))
  func `a filter of any depth fits SQLite's parser`(open: String, core: String, close: String) throws {
    let fixture = try fixture(filter: nil)
    for depth in 1...24 {
      var text = core
      for _ in 0..<depth {
        // A text that ends with a comparison is a condition, and one that opens may want one.
        text = open + text + close
      }
      guard let predicate = (try? FilterPredicate(parsing: text)) ?? (try? FilterPredicate(parsing: "\(text) != nil")),
        (try? ExpressionChecker(model: fixture.source, entityName: "Person", role: .filter).check(predicate)) != nil
      else { continue }
      fixture.mappings = [
        try .make(
          "Person", "Person", name: "P", filter: predicate.description, attributes: ["name": "$source.name"],
          relationships: [
            "manager": .mapping("P", keyPath: ["manager"]), "clubs": .sourceRelationship("clubs"),
            "pets": .sourceRelationship("pets"),
          ]),
        try .make("Pet", "Pet", relationships: ["owner": .sourceRelationship("owner")]),
        try .make("Club", "Club", relationships: ["members": .sourceRelationship("members")]),
      ]
      _ = try create(fixture, predicate: nil)
      _ = try create(fixture, predicate: predicate.description)
    }
  }

  @Test func `the upper bound of a prefix search is its successor by byte`() {
    #expect(SearchTerm.successor(of: [0x61]) == [0x62])
    #expect(SearchTerm.successor(of: [0x61, 0xFF]) == [0x62])
    #expect(SearchTerm.successor(of: [0xFF, 0xFF]) == nil)
  }
}

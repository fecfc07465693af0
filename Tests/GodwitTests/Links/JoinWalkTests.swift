import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Cats and dogs, both pets, in clubs.
private func pets(club: String = "Club") -> [EntityDescription] {
  [
    .make(club, ["name": .string], [.toMany("members", "Pet", inverse: "clubs")]),
    .make("Pet", isAbstract: true, ["name": .string], [.toMany("clubs", club, inverse: "members")]),
    .make("Cat", parent: "Pet"), .make("Dog", parent: "Pet"),
  ]
}

/// - Parameter club: The name of a club in the destination: the names decide which end a join table's key begins with.
private func fixture(club: String = "Club", overlapping: Bool = false) throws -> MigrationFixture {
  let fixture = try MigrationFixture(pets(), to: pets(club: club))
  try fixture.build { store in
    for key in Int64(1)...6 { try store.insert("Club", key: key, attributes: ["name": .init("club \(key)")]) }
    for key in Int64(1)...20 {
      // All are in club 3, and the rows come in no order of clubs.
      let clubs = Set([3, (21 - key) % 6 + 1, key * 5 % 6 + 1]).sorted { ($0 + key) % 7 < ($1 + key) % 7 }
      try store.insert(
        key % 3 == 0 ? "Cat" : "Dog", key: key, attributes: ["name": .init("pet \(key)")],
        relationships: ["clubs": clubs])
    }
  }
  func pet(_ name: String, _ entity: String, _ filter: String? = nil) throws -> EntityMapping {
    try .make(
      entity, entity, name: name, filter: filter, attributes: ["name": "$source.name"],
      relationships: ["clubs": .mapping("Clubs", keyPath: ["clubs"])])
  }
  fixture.mappings =
    try [.make("Club", club, name: "Clubs", attributes: ["name": "$source.name"])]
    + (overlapping
      ? [pet("Cats", "Cat"), pet("Dogs", "Dog", "name < 'pet 5'"), pet("More", "Dog", "name > 'pet 2'")]
      : [pet("Cats", "Cat"), pet("Dogs", "Dog")])
  return fixture
}

private func join(_ fixture: MigrationFixture) throws -> StoreSchema.JoinTable {
  try #require(StoreSchema(model: fixture.destination).joinTables.first)
}

@Suite struct JoinWalkTests {
  /// The walks of the statements that make join rows, and how often each statement occurs.
  private func walks(_ fixture: MigrationFixture) throws -> [[String]] {
    let connection = try StoreConnection(path: fixture.folder.file("walk.sqlite"), create: true)
    let (job, files) = (try fixture.job, try StoreFiles(path: fixture.sourcePath))
    try connection.attachSource(files)
    let attached = try AttachedSource(connection, job: job, files: files)
    let (_, program) = try attached.planner(job).plan(now: 0)
    for sql in attached.destinationSchema.createStatements { try connection.execute(sql) }
    return try program.links.ids.flatMap { link in
      try program.relationships.scans(link).map { job in
        try connection.rows("EXPLAIN QUERY PLAN \(program.relationships.statement(job).sql)").map { $0[3].plain }
      }
    }
  }

  @Test(arguments: ["Club", "Album"])
  func `join rows come in the order of their key, by one walk of an index`(club: String) throws {
    let fixture = try fixture(club: club)
    let walks = try walks(fixture)
    #expect(walks.count == 1)
    #expect(walks.joined().contains { $0.contains("SEARCH d USING COVERING INDEX") }, "\(walks)")
    #expect(!walks.joined().contains { $0.contains("TEMP B-TREE") }, "\(walks)")
    try fixture.run()
    let join = try join(fixture)
    let rows = "SELECT \(join.ownerColumn), \(join.destinationColumn) FROM source.\(join.name) ORDER BY"
    let made = try fixture.rows("\(rows) rowid")
    #expect(made.count > 40)
    #expect(try made == fixture.rows("\(rows) 1, 2"))
  }

  @Test func `without an index in key order the join table is read in row order`() throws {
    let fixture = try fixture(club: "Album")
    let old = try #require(StoreSchema(model: fixture.source).joinTables.first)
    try fixture.alter("DROP INDEX \(old.name)_\(old.destinationColumn)_INDEX")
    let walks = try walks(fixture)
    #expect(walks.count == 2)
    #expect(walks.joined().contains { $0.contains("SEARCH d USING INTEGER PRIMARY KEY") }, "\(walks)")
    try fixture.run()
    let join = try join(fixture)
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.\(join.name)") != ["0"])
  }

  @Test(arguments: [nil, 1, 2, 4, 100] as [Int?])
  func `a key with more join rows than a chunk is one chunk`(rows: Int?) throws {
    let fixture = try fixture()
    fixture.chunkRows = rows
    try fixture.run()
    let join = try join(fixture)
    let members = try fixture.rows(
      "SELECT COUNT(*) FROM source.\(join.name) WHERE \(join.destinationColumn) = 3")
    #expect(members == ["20"])
  }

  @Test func `mappings that share objects scan the join table separately`() throws {
    let fixture = try fixture(overlapping: true)
    #expect(try walks(fixture).count == 2)
    // The verifier proves each pair.
    let summary = try fixture.run()
    #expect(summary.objects > 26)
  }

  /// The statements that make join rows, after rows of the source were deleted.
  private func statements(without deleted: [String]) throws -> (statements: [String], fixture: MigrationFixture) {
    let fixture = try fixture()
    for sql in deleted { try fixture.alter("DELETE FROM \(sql)") }
    let connection = try StoreConnection(path: nil)
    let (job, files) = (try fixture.job, try StoreFiles(path: fixture.sourcePath))
    try connection.attachSource(files)
    let (_, program) = try AttachedSource(connection, job: job, files: files).planner(job).plan(now: 0)
    let statements = try program.links.ids.flatMap { link in
      try program.relationships.scans(link).map { try program.relationships.statement($0).sql }
    }
    return (statements, fixture)
  }

  @Test(arguments: [
    [], ["ZPET WHERE Z_PK = 20", "ZCLUB WHERE Z_PK = 1"], ["ZPET WHERE Z_PK = 7"], ["ZCLUB WHERE Z_PK IN (2, 4)"],
    ["ZPET WHERE Z_ENT = (SELECT MAX(Z_ENT) FROM ZPET)"], ["ZPET WHERE Z_PK IN (3, 4)", "ZCLUB WHERE Z_PK = 3"],
  ])
  func `links to missing objects make no join row`(deleted: [String]) throws {
    let (statements, fixture) = try statements(without: deleted)
    // Where keys have no gap their ends tell, for cats and dogs together.
    let hasHoles = deleted.contains { !$0.contains("= 20") && !$0.contains("= 1") }
    #expect(statements.contains { $0.contains("godwit_counterpart") } == hasHoles, "\(statements)")
    #expect(!statements.contains { $0.contains("LIMIT") } || hasHoles)
    try fixture.run()
    let (made, old) = (try join(fixture), try #require(StoreSchema(model: fixture.source).joinTables.first))
    let connection = try StoreConnection.openStore(readingAt: fixture.sourcePath)
    let expected = try connection.rows(
      "SELECT \(old.ownerColumn), \(old.destinationColumn) FROM source.\(old.name) WHERE \(old.ownerColumn) IN (SELECT Z_PK FROM source.\(old.ownerColumn.contains("CLUBS") ? "ZCLUB" : "ZPET")) AND \(old.destinationColumn) IN (SELECT Z_PK FROM source.\(old.ownerColumn.contains("CLUBS") ? "ZPET" : "ZCLUB")) ORDER BY 1, 2"
    ).map { $0.map(\.plain).joined(separator: "|") }
    #expect(expected.count > 10)
    #expect(
      try fixture.rows("SELECT \(made.ownerColumn), \(made.destinationColumn) FROM source.\(made.name) ORDER BY 1, 2")
        == expected)
  }

  @Test func `a join row takes few instructions if keys are contiguous`() throws {
    let (statements, fixture) = try statements(without: [])
    let connection = try StoreConnection(path: fixture.folder.file("cost.sqlite"), create: true)
    try connection.attachSource(try StoreFiles(path: fixture.sourcePath))
    for sql in StoreSchema(model: fixture.destination).createStatements { try connection.execute(sql) }
    let count = try connection.instructions(of: try #require(statements.first), [.integer(.min), .integer(.max)])
    let rows = try #require(try connection.integer("SELECT COUNT(*) FROM main.\(join(fixture).name)"))
    let perRow = Double(count) / Double(rows)
    // Measured with SQLite 3.40: about 33.
    #expect(rows > 40 && perRow > 20 && perRow < 40, "\(perRow) instructions a row")
  }

  @Test(arguments: [true, false]) func `a run with join rows resumes with another memory budget`(less: Bool) throws {
    let whole = try fixture()
    try whole.run()
    let pieces = try fixture()
    try FileManager.default.removeItem(atPath: pieces.sourcePath)
    try FileManager.default.copyItem(atPath: whole.sourcePath, toPath: pieces.sourcePath)
    func run(_ memory: ByteCount, stopsAt stage: String?) throws -> MigrationSummary {
      var job = try pieces.job
      job.memory = memory
      let control = MigrationControl()
      return try MigrationManager(job).run(control: control) { progress in
        if progress.stage == stage { control.stop(reason: "the test resumes") }
      }
    }
    // The keys of cats and of dogs, which have gaps, fit into the one and not into the other.
    let budgets: [ByteCount] = less ? [.mebibytes(64), .init(bytes: 600)] : [.init(bytes: 600), .mebibytes(64)]
    #expect(try run(budgets[0], stopsAt: "create").outcome == .stopped)
    #expect(try run(budgets[1], stopsAt: nil).outcome == .finished)
    let table = try join(whole).name
    let rows = "SELECT * FROM source.\(quoted(table)) ORDER BY 1, 2"
    #expect(try pieces.rows(rows) == whole.rows(rows))
    #expect(try whole.rows(rows).count > 20)
  }
}

import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Names that the model leaves open: taken from a store of the destination version, from the source, from a rule.
struct LayoutTests {
  private static func client(_ attributes: [String: AttributeType] = ["name": .string]) -> EntityDescription {
    .make(
      "Client", attributes,
      [
        .toMany("sources", "Client", inverse: "targets"),
        .toMany("targets", "Client", inverse: "sources"),
      ])
  }

  private static let note = EntityDescription.make("Note", ["text": .string])
  /// The table that the rule does not name.
  private static func other(_ model: ManagedObjectModel) throws -> (name: String, ruled: String) {
    let join = try #require(StoreSchema(model: model).joinTables.first)
    let number = try #require(StoreSchema(model: model).number(of: "Client"))
    return ("Z_\(number)\(try #require(join.inverseRelationshipName).uppercased())", join.name)
  }

  private func fixture(to entities: [EntityDescription]) throws -> MigrationFixture {
    let fixture = try MigrationFixture([Self.client()], to: entities)
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Client", key: key, attributes: ["name": .init("c\(key)")]) }
      try store.insert("Client", key: 4, relationships: ["targets": [1, 2]])
    }
    return fixture
  }

  /// Gives the table of a store the name of its other end, as Core Data may have.
  private func turn(_ path: String, _ model: ManagedObjectModel) throws {
    let (name, ruled) = try Self.other(model)
    let connection = try StoreConnection(path: path)
    try connection.execute("ALTER TABLE \(ruled) RENAME TO \(name)")
    try connection.execute("DROP INDEX IF EXISTS \(ruled)_Z_1TARGETS_INDEX")
    try connection.execute("DROP INDEX IF EXISTS \(ruled)_Z_1SOURCES_INDEX")
    try connection.close()
  }

  private func joinTables(_ path: String) throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: path)
    return try connection.rows("SELECT name FROM source.sqlite_master WHERE type = 'table' AND name GLOB 'Z_[0-9]*'")
      .map { $0[0].plain }
  }

  private let links = "SELECT Z_PK FROM source.ZCLIENT ORDER BY 1"

  @Test func `plan and summary name guessed table names and their alternatives`() throws {
    let fixture = try fixture(to: [Self.client(["name": .string, "mark": .string])])
    try fixture.infer()
    let (other, ruled) = try Self.other(fixture.destination)
    let notes = try MigrationManager(fixture.job).plan().notes
    #expect(notes.count == 1 && notes[0].contains(ruled) && notes[0].contains("Core Data may expect \(other)"))
    #expect(try fixture.run().notes == notes)
    #expect(try joinTables(fixture.destinationPath) == [ruled])
  }

  @Test func `a store of the destination version decides guessed names, and verify compares the layouts`() throws {
    let fixture = try fixture(to: [Self.client(["name": .string, "mark": .string]), Self.note])
    fixture.mappings = [try .make("Client", "Client", kind: .copy)]
    let layout = fixture.folder.file("layout.sqlite")
    try StoreBuilder(path: layout, model: fixture.destination).finish()
    try turn(layout, fixture.destination)
    var job = try fixture.job
    job.layoutStore = try LayoutStore(path: layout, model: fixture.destination)
    #expect(try MigrationManager(job).plan().notes == [])
    #expect(try MigrationManager(job).run().notes == [])
    #expect(try joinTables(fixture.destinationPath) == [try Self.other(fixture.destination).name])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    // Without the store the job is another one.
    #expect {
      try MigrationManager(fixture.job).run()
    } throws: { ($0 as? GodwitError)?.code == .cannotCreate }

    let connection = try StoreConnection(path: layout)
    try connection.execute("ALTER TABLE ZNOTE RENAME COLUMN ZTEXT TO ZTEXT1")
    try connection.execute("ALTER TABLE ZNOTE RENAME TO ZNOTES")
    try connection.execute("ALTER TABLE ZCLIENT ADD COLUMN ZMORE INTEGER")
    try connection.close()
    let messages = try Verifier(job: job).run().findings.map(\.message)
    #expect(messages.count == 3, "\(messages)")
    for part in ["table 'ZCLIENT' lacks column 'ZMORE'", "table 'ZNOTE' is not in", "table 'ZNOTES' is missing"] {
      #expect(messages.contains { $0.hasPrefix(part) }, "\(messages)")
    }
  }

  @Test func `a name that the user gives decides a guess, and a wrong one is refused`() throws {
    let fixture = try fixture(to: [Self.client(["name": .string, "mark": .string])])
    try fixture.infer()
    let (other, ruled) = try Self.other(fixture.destination)
    let schema = StoreSchema(model: fixture.destination)
    struct Refused: Error { var why: String }
    func names(_ end: String, _ name: String) throws -> JoinNames {
      try JoinNames(naming: [(end, name)], in: schema) { Refused(why: "\($0) \($1)") }
    }
    for end in ["Client.sources", "Client.targets"] {
      var job = try fixture.job
      job.layoutNames = try names(end, other)
      job.refusesGuessedNames = true
      #expect(try MigrationManager(job).plan().notes == [])
      let first = try MigrationManager(job).run()
      #expect(first.notes == [])
      #expect(try joinTables(fixture.destinationPath) == [other])
      #expect(try Verifier(job: job).run().isClean)
      // The name decides content.
      job.layoutNames = try names(end, ruled)
      #expect { try MigrationManager(job).run() } throws: { ($0 as? GodwitError)?.code == .cannotCreate }
      try FileManager.default.removeItem(atPath: fixture.destinationPath)
    }
    for (end, name, why) in [
      ("Client.sources", "Z_2SOURCES", "Core Data never uses 'Z_2SOURCES' for 'Client.sources': it is Z_1"),
      ("Clint.sources", "Z_1SOURCES", "the unknown entity 'Clint' (did you mean 'Client'?)"),
      ("Client.source", "Z_1SOURCES", "no relationship 'source' (did you mean 'sources'?)"),
      ("Client", "Z_1SOURCES", "expected Entity.relationship of '2', found 'Client'"),
    ] {
      #expect { try names(end, name) } throws: { ($0 as? Refused)?.why.contains(why) == true }
    }
  }

  @Test func `a guess is 78 before anything is written where the job is strict`() throws {
    let fixture = try fixture(to: [Self.client(["name": .string, "mark": .string])])
    try fixture.infer()
    var job = try fixture.job
    job.refusesGuessedNames = true
    let (other, _) = try Self.other(fixture.destination)
    for attempt in [{ _ = try MigrationManager(job).plan() }, { try MigrationManager(job).run() }]
      as [() throws -> Void]
    {
      #expect(throws: GodwitError.self) { try attempt() }
      do { try attempt() } catch let error as GodwitError {
        #expect(error.code == .configuration && error.message.contains("Core Data may expect \(other)"))
      }
    }
    #expect(!FileManager.default.fileExists(atPath: fixture.folder.file("out")))
    // Without a guess it runs.
    let plain = try MigrationFixture([Self.note], to: [Self.note, Self.client()].dropLast())
    try plain.build { try $0.insert("Note", key: 1) }
    try plain.infer()
    var sure = try plain.job
    sure.refusesGuessedNames = true
    try MigrationManager(sure).run()
  }

  @Test func `names decide the suffixes of join columns of one owner`() throws {
    func entity(_ name: String, _ relationships: [RelationshipDescription]) -> EntityDescription {
      .make(name, ["name": .string], relationships)
    }
    let model = try ManagedObjectModel(
      name: "M",
      entities: [
        entity("Album", [.toMany("covers", "Photo", inverse: "albums"), .toMany("extras", "Song", inverse: "albums")]),
        entity("Photo", [.toMany("albums", "Album", inverse: "covers")]),
        entity("Song", [.toMany("albums", "Album", inverse: "extras")]),
      ])
    let schema = StoreSchema(model: model)
    let columns = schema.joinTables.map(\.ownerColumn)
    #expect(Set(columns) == ["Z_1ALBUMS", "Z_1ALBUMS1"])
    #expect(schema.guesses.count == 1)
    struct Refused: Error { var why: String }
    let refuse = { (place: Int, why: String) in Refused(why: why) }
    let turned = try JoinNames(
      naming: [("Photo.albums", columns[1]), ("Song.albums", columns[0])], in: schema, refuse: refuse)
    let settled = StoreSchema(model: model, names: turned)
    #expect(settled.guesses == [])
    #expect(settled.joinTables.map(\.ownerColumn) == columns.reversed())
    #expect { try JoinNames(naming: [("Photo.albums", columns[1])], in: schema, refuse: refuse) } throws: {
      ($0 as? Refused)?.why.hasSuffix("name those of Song.albums too") == true
    }
    #expect {
      try JoinNames(
        naming: [("Photo.albums", columns[1]), ("Song.albums", columns[1])], in: schema, refuse: refuse)
    } throws: { ($0 as? Refused)?.why.hasSuffix("give each another name") == true }
  }

  @Test(arguments: [false, true]) func `the source's table names stay while the entity is unchanged`(steps: Bool) throws
  {
    let fixture = try fixture(to: [Self.client(), Self.note])
    let (other, ruled) = try Self.other(fixture.destination)
    try turn(fixture.sourcePath, fixture.source)
    try fixture.infer()
    var job = try fixture.job
    if steps {
      let between = try ManagedObjectModel(
        name: "between", entities: [Self.client(["name": .string, "mark": .string])])
      job = MigrationJob(
        name: "test", sourcePath: fixture.sourcePath, destinationPath: fixture.destinationPath,
        first: MigrationStep(
          sourceModel: fixture.source, destinationModel: between,
          mappingModels: [try MappingModel(inferredFrom: fixture.source, to: between)]),
        later: [
          MigrationStep(
            sourceModel: between, destinationModel: fixture.destination,
            mappingModels: [try MappingModel(inferredFrom: between, to: fixture.destination)])
        ])
    }
    #expect(try MigrationManager(job).plan().notes == [])
    #expect(try MigrationManager(job).run().notes == [])
    #expect(try joinTables(fixture.destinationPath) == [other])
    #expect(other != ruled)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    // In place too.
    guard !steps else { return }
    let path = try fixture.copyOfSource("place")
    #expect(try MigrationManager(fixture.jobInPlace(path)).run().notes == [])
    #expect(try joinTables(path) == [other])
    #expect(try fixture.verifyInPlace(path).isClean)
  }

  @Test func `if the entity changes, the rule names its join table, also in place`() throws {
    let fixture = try fixture(to: [Self.client(["name": .string, "mark": .string])])
    try turn(fixture.sourcePath, fixture.source)
    try fixture.infer()
    let summary = try fixture.run()
    #expect(summary.notes.count == 1)
    #expect(try joinTables(fixture.destinationPath) == [try Self.other(fixture.destination).ruled])
  }

  @Test(arguments: [true, false]) func `the source's choice stays where a rule is certain of another`(same: Bool) throws
  {
    func person(_ attributes: [String: AttributeType] = ["name": .string]) -> EntityDescription {
      .make(
        "Client", attributes,
        [
          .toMany("trustedByClients", "Client", inverse: "trustedClients"),
          .toMany("trustedClients", "Client", inverse: "trustedByClients"),
        ])
    }
    let fixture = try MigrationFixture(
      [person()], to: [person(same ? ["name": .string] : ["name": .string, "mark": .string]), Self.note])
    #expect(StoreSchema(model: fixture.source).guesses.isEmpty)
    try fixture.build { store in try store.insert("Client", key: 1, attributes: ["name": .init("c")]) }
    let other = try Self.other(fixture.source).name
    let connection = try StoreConnection(path: fixture.sourcePath)
    try connection.execute("ALTER TABLE \(try Self.other(fixture.source).ruled) RENAME TO \(other)")
    try connection.close()
    try fixture.infer()
    try fixture.run()
    #expect(try joinTables(fixture.destinationPath).contains(other) == same)
    let report = try Verifier(job: fixture.job).run()
    #expect(report.isClean, "\(report)")
  }

  @Test func `links between an entity and its subentity are migrated, and the name of their table is a guess`() throws {
    func entities(_ attributes: [String: AttributeType]) throws -> [EntityDescription] {
      var member = EntityDescription.make("Member", [:], [.toMany("hosts", "Person", inverse: "guests")])
      member.superentityName = "Person"
      return [.make("Person", attributes, [.toMany("guests", "Member", inverse: "hosts")]), member]
    }
    let fixture = try MigrationFixture(
      try entities(["name": .string]), to: try entities(["name": .string, "mark": .string]))
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Person", key: key, attributes: ["name": .init("p\(key)")]) }
      try store.insert("Member", key: 4, relationships: ["hosts": [1, 2]])
      try store.insert("Member", key: 5, relationships: ["hosts": [2, 4]])
    }
    try fixture.infer()
    let notes = try fixture.run().notes
    #expect(notes.count == 1 && notes.allSatisfy { $0.contains("Core Data may expect Z_2HOSTS") }, "\(notes)")
    #expect(
      try fixture.rows("SELECT Z_1HOSTS || ' ' || Z_2GUESTS FROM source.Z_1GUESTS ORDER BY 1")
        == ["1 4", "2 4", "2 5", "4 5"])
    #expect(try Verifier(job: fixture.job).run().isClean)
  }
}

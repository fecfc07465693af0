import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A many-to-many that is its own inverse: friends of friends.
struct OwnInverseTests {
  private static func person(ordered: Bool = false) -> EntityDescription {
    .make("Person", ["name": .string], [.toMany("friends", "Person", inverse: "friends", ordered: ordered)])
  }

  private func fixture(_ to: EntityDescription = person()) throws -> MigrationFixture {
    let fixture = try MigrationFixture([Self.person()], to: [to])
    try fixture.build { store in
      for key in Int64(1)...7 {
        try store.insert(
          "Person", key: key, attributes: ["name": .init("p\(key)")],
          relationships: key == 1 ? [:] : ["friends": [key - 1, key / 2 + key % 2]])
      }
      try store.insert("Person", key: 8, relationships: ["friends": [8]])
    }
    return fixture
  }

  private static let pairs = "SELECT Z_1FRIENDS, REFLEXIVE FROM source.Z_1FRIENDS ORDER BY 1, 2"

  @Test(arguments: [false, true]) func `a many-to-many that is its own inverse stores both directions`(once: Bool)
    throws
  {
    let fixture = try fixture()
    let source = try StoreConnection.openStore(readingAt: fixture.sourcePath)
    let expected = try source.rows(Self.pairs).map { $0.map(\.plain).joined(separator: "|") }
    try source.close()
    #expect(expected.count > 12)
    if once { try fixture.alter("DELETE FROM Z_1FRIENDS WHERE REFLEXIVE < Z_1FRIENDS") }
    fixture.chunkRows = 2
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    try fixture.run()
    #expect(try fixture.rows(Self.pairs) == expected)
  }

  @Test func `an expression over a relationship that is its own inverse counts both directions`() throws {
    for once in [false, true] {
      let to = EntityDescription.make("Person", ["count": .integer64, "names": .string])
      let fixture = try fixture(to)
      if once { try fixture.alter("DELETE FROM Z_1FRIENDS WHERE REFLEXIVE > Z_1FRIENDS") }
      fixture.mappings = [
        try .make(
          "Person", "Person", filter: "ANY friends.name != nil OR name == nil",
          attributes: ["count": "$source.friends.@count"])
      ]
      try fixture.run()
      #expect(
        try fixture.rows("SELECT group_concat(ZCOUNT) FROM (SELECT ZCOUNT FROM source.ZPERSON ORDER BY Z_PK)")
          == ["1,3,4,4,3,3,2,1"], "\(once)")
    }
  }

  @Test func `in a relationship that is its own inverse the later assignment wins`() throws {
    // The second mapping gives no friends to its objects, after the first one's were given theirs.
    let fixture = try fixture()
    fixture.mappings = [
      try .make(
        "Person", "Person", name: "Low", filter: "name <= 'p4'", attributes: ["name": "$source.name"],
        relationships: ["friends": .sourceRelationship("friends")]),
      try .make(
        "Person", "Person", name: "High", filter: "name > 'p4' OR name == nil", attributes: ["name": "$source.name"],
        relationships: ["friends": .mapping("High", keyPath: ["friends"])]),
    ]
    try fixture.run()
    #expect(
      try fixture.rows("\(Self.pairs)") == [
        "1|2", "2|1", "2|3", "2|4", "3|2", "3|4", "4|2", "4|3", "5|6", "6|5", "6|7", "7|6", "8|8",
      ])
  }

  // MARK: Ordered

  /// Each person with its friends in order, none of them that of the keys.
  private static let friends: [Int64: [Int64]] = [1: [3, 2, 4], 2: [4, 1], 3: [5, 1], 4: [2, 1, 4], 5: [3]]

  private func ordered(_ to: EntityDescription = person(ordered: true)) throws -> MigrationFixture {
    let fixture = try MigrationFixture([Self.person(ordered: true)], to: [to])
    try fixture.build { store in
      for (key, friends) in Self.friends.sorted(by: { $0.key < $1.key }) {
        try store.insert(
          "Person", key: key, attributes: ["name": .init("p\(key)")], relationships: ["friends": friends])
      }
    }
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    return fixture
  }

  /// The friends of each person in the order of the store, as its readers see them.
  private func lists(_ path: String, _ model: ManagedObjectModel) throws -> [Int64: [Int64]] {
    let reader = try ObjectReader(path: path, model: model)
    var lists: [Int64: [Int64]] = [:]
    try reader.forEachObject(of: ["Person"]) { object in
      guard case .toMany(let found)? = object.properties.first(where: { $0.name == "friends" })?.value else {
        return true
      }
      lists[object.reference.key] = found.map(\.key)
      return true
    }
    return lists
  }

  @Test func `a path of two links that are their own inverse leads to friends of friends`() throws {
    let led = EntityDescription.make(
      "Person", ["name": .string],
      [.toMany("led", "Person", inverse: "leader"), .toOne("leader", "Person", inverse: "led")])
    let fixture = try ordered(led)
    // The last assigned of several leads a person.
    let pairs = Self.friends.flatMap { key, friends in friends.flatMap { [[key, $0], [$0, key]] } }
    var leaders: [Int64: Int64] = [:]
    for one in pairs {
      for other in pairs where other[0] == one[1] { leaders[other[1]] = max(leaders[other[1]] ?? 0, one[0]) }
    }
    fixture.chunkRows = 2
    fixture.mappings = [
      try .make(
        "Person", "Person", attributes: ["name": "$source.name"],
        relationships: ["led": .mapping("PersonToPerson", keyPath: ["friends", "friends"])])
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZLEADER FROM source.ZPERSON ORDER BY Z_PK")
        == (Int64(1)...5).map { "\($0)|\(leaders[$0] ?? 0)" })
  }

  @Test(arguments: [1, 2, 100]) func `an ordered many-to-many that is its own inverse keeps the order of each end`(
    chunkRows: Int
  ) throws {
    let fixture = try ordered()
    fixture.chunkRows = chunkRows
    try fixture.run()
    #expect(
      try fixture.rows("SELECT sql FROM source.sqlite_master WHERE name = 'Z_1FRIENDS'") == [
        "CREATE TABLE Z_1FRIENDS ( Z_1FRIENDS INTEGER, REFLEXIVE INTEGER, Z_FOK_REFLEXIVE INTEGER, PRIMARY KEY (Z_1FRIENDS, REFLEXIVE) )"
      ])
    #expect(try lists(fixture.destinationPath, fixture.destination) == Self.friends)
    #expect(
      try fixture.rows("SELECT REFLEXIVE, Z_FOK_REFLEXIVE FROM source.Z_1FRIENDS WHERE Z_1FRIENDS = 1 ORDER BY 2")
        == ["3|2048", "2|3072", "4|4096"])
  }

  @Test func `the order stays where assignments are resolved, in place and through a policy`() throws {
    let fixture = try ordered()
    fixture.mappings = [
      try .make(
        "Person", "Person", name: "All", attributes: ["name": "$source.name"],
        relationships: ["friends": .mapping("All", keyPath: ["friends"])]),
      try .make(
        "Person", "Person", name: "None", filter: "name == 'none'",
        relationships: ["friends": .sourceRelationship("friends")]),
    ]
    try fixture.run()
    #expect(try lists(fixture.destinationPath, fixture.destination) == Self.friends)

    struct Plain: EntityMigrationPolicy {}
    let policy = try ordered()
    policy.mappings[0].policyName = "Plain"
    var job = try policy.job
    job.policies = ["Plain": { Plain() }]
    _ = try MigrationManager(job).run()
    #expect(try lists(policy.destinationPath, policy.destination) == Self.friends)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")

    var more = Self.person(ordered: true)
    more.attributes.append(AttributeDescription(name: "more", type: .string))
    let inferred = try ordered(more)
    try inferred.infer()
    try inferred.run()
    #expect(try lists(inferred.destinationPath, inferred.destination) == Self.friends)
  }

  @Test func `friends get the order of keys where there was none, and lose theirs in a set`() throws {
    let fixture = try fixture(Self.person(ordered: true))
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    try fixture.run()
    #expect(try lists(fixture.destinationPath, fixture.destination)[3] == [2, 4, 5, 6])
    let back = try ordered(Self.person())
    try back.run()
    #expect(try lists(back.destinationPath, back.destination)[1] == [2, 3, 4])
    let losses = try MigrationManager(back.job).plan().losses.losses.map(\.description)
    #expect(losses.contains { $0.contains("Person.friends") && $0.contains("ordered") }, "\(losses)")
  }

  @Test func `a pair that the source has once has a place in one direction and comes last in the other`() throws {
    let fixture = try ordered()
    try fixture.alter("DELETE FROM Z_1FRIENDS WHERE REFLEXIVE > Z_1FRIENDS")
    try fixture.run()
    #expect(
      try lists(fixture.destinationPath, fixture.destination)
        == [1: [2, 3, 4], 2: [1, 4], 3: [1, 5], 4: [2, 1, 4], 5: [3]])
  }

  @Test func `a source may have the order under the relationship's name, or not at all`() throws {
    let named = try ordered()
    try named.alter("ALTER TABLE Z_1FRIENDS RENAME COLUMN Z_FOK_REFLEXIVE TO Z_FOK_1FRIENDS")
    #expect(try lists(named.sourcePath, named.source) == Self.friends)
    try named.run()
    // The source shows the name.
    #expect(try lists(named.destinationPath, named.destination) == Self.friends)
    #expect(try named.rows("SELECT COUNT(Z_FOK_1FRIENDS) FROM source.Z_1FRIENDS") == ["11"])
    #expect(try MigrationManager(named.job).plan().codedNotes.isEmpty)
    let none = try ordered()
    try none.alter("ALTER TABLE Z_1FRIENDS DROP COLUMN Z_FOK_REFLEXIVE")
    try none.run()
    #expect(try lists(none.destinationPath, none.destination)[1] == [2, 3, 4])
  }

  @Test func `the name of the order's column is a guess that strict refuses and a name settles`() throws {
    let fixture = try fixture(Self.person(ordered: true))
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    var job = try fixture.job
    let guess =
      "order column of Person.friends: Z_FOK_REFLEXIVE is a guess; Core Data may expect Z_FOK_1FRIENDS"
    let note = try #require(MigrationManager(job).plan().codedNotes.first { $0.code == .guessedName })
    #expect(note.text.hasPrefix(guess))
    job.refusesGuessedNames = true
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).plan() }
    #expect(error.code == .configuration && error.message.contains(guess), "\(error)")
    func refuse(_ place: Int, _ why: String) -> any Error { GodwitError(.configuration, why) }
    let schema = StoreSchema(model: fixture.destination)
    for name in ["Z_FOK_REFLEXIVE", "Z_FOK_1FRIENDS"] {
      try? FileManager.default.removeItem(atPath: fixture.destinationPath)
      job.layoutNames = try JoinNames(naming: [("Person.friends", name)], in: schema, refuse: refuse)
      #expect(try MigrationManager(job).plan().codedNotes.isEmpty)
      try MigrationManager(job).run()
      #expect(try fixture.rows("SELECT COUNT(\(name)) FROM source.Z_1FRIENDS") == ["21"])
      let report = try Verifier(job: job).run()
      #expect(report.isClean, "\(report)")
    }
    let wrong = #expect(throws: GodwitError.self) {
      try JoinNames(naming: [("Person.friends", "Z_FOK_FRIENDS")], in: schema, refuse: refuse)
    }
    #expect(wrong?.message.contains("it is Z_FOK_REFLEXIVE or Z_FOK_1FRIENDS") == true)
  }

  @Test func `verify finds a place that is not the source's`() throws {
    let fixture = try ordered()
    try fixture.run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute(
      "UPDATE Z_1FRIENDS SET Z_FOK_REFLEXIVE = 9000 WHERE Z_1FRIENDS = 4 AND REFLEXIVE = 2")
    try connection.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(report.findings.contains { $0.kind == .order && $0.key == 4 }, "\(report)")
  }

  @Test(arguments: [StoreType.xml, .binary]) func `the order goes through an atomic store`(type: StoreType) throws {
    let fixture = try ordered()
    var job = try fixture.job
    (job.destinationType, job.destinationPath) = (type, fixture.folder.file("friends.atomic"))
    try MigrationManager(job).run()
    #expect(try lists(job.destinationPath, fixture.destination) == Self.friends)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
  }
}

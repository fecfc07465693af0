import Foundation
import Godwit
import GodwitModel
import GodwitStore
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

  @Test func `an ordered many-to-many that is its own inverse is 78`() throws {
    let fixture = try fixture(Self.person(ordered: true))
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    let error = try #require(throws: GodwitError.self) { try MigrationManager(fixture.job).plan() }
    #expect(error.code == .configuration)
    #expect(error.message.contains("how Core Data stores the order of a many-to-many that is its own inverse"))
  }
}

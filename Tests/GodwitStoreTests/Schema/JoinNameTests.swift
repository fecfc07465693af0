import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

private func toMany(_ name: String, _ destination: String, inverse: String?) -> RelationshipDescription {
  RelationshipDescription(name: name, destinationEntityName: destination, inverseName: inverse, isToMany: true)
}

/// Two clients that trust and ignore each other, with so many attributes beside.
private func clients(attributes: Int) throws -> ManagedObjectModel {
  try ManagedObjectModel(
    name: "\(attributes)",
    entities: [
      EntityDescription(
        name: "Client",
        attributes: (0..<attributes).map { AttributeDescription(name: "attribute\($0)", type: .string) },
        relationships: [
          toMany("ignoredByClients", "Client", inverse: "ignoredClients"),
          toMany("ignoredClients", "Client", inverse: "ignoredByClients"),
          toMany("trustedByClients", "Client", inverse: "trustedClients"),
          toMany("trustedClients", "Client", inverse: "trustedByClients"),
        ])
    ])
}

/// Three entities whose columns into a fourth would have the same name.
private func galleries(_ further: [AttributeDescription] = []) throws -> ManagedObjectModel {
  let owners = ["Album", "Location", "Show"].map { name in
    EntityDescription(
      name: name, attributes: further, relationships: [toMany("works", "Work", inverse: "\(name.lowercased())s")])
  }
  let work = EntityDescription(
    name: "Work", relationships: owners.map { toMany("\($0.name.lowercased())s", $0.name, inverse: "works") })
  return try ManagedObjectModel(name: "\(further.count)", entities: owners + [work])
}

private func entity(
  _ name: String, of parent: String? = nil, _ attributes: [String] = [], _ relationships: [RelationshipDescription] = []
) -> EntityDescription {
  EntityDescription(
    name: name, superentityName: parent, attributes: attributes.map { AttributeDescription(name: $0, type: .string) },
    relationships: relationships)
}

struct `Names of join tables` {
  @Test func `the hash of a key is CFString's, in 32 and in 64 bits`() {
    // Worked out by hand: n, then n * 257 + each unit, then the sum with itself shifted by n.
    #expect(PropertyHashTable<UInt64>.hash("") == 0)
    #expect(PropertyHashTable<UInt64>.hash("a") == (257 + 97) * 3)
    #expect(PropertyHashTable<UInt64>.hash("ab") == ((2 * 257 + 97) * 257 + 98) * 5)
    #expect(PropertyHashTable<UInt32>.hash("ab") == ((2 * 257 + 97) * 257 + 98) * 5)
    // Reckoned apart: from 24 units on, six groups of four count.
    #expect(PropertyHashTable<UInt32>.hash("favorites") == 2_162_238_172)
    #expect(PropertyHashTable<UInt32>.hash("abcdefghijklmnopqrstuvw") == 54_911_691)
    #expect(PropertyHashTable<UInt32>.hash("abcdefghijklmnopqrstuvwx") == 2_428_290_628)
    #expect(PropertyHashTable<UInt32>.hash("abcdefghijklmnopqrstuvwxyz") == 4_081_444_454)
  }

  @Test func `of two entities the one that is visited first owns the table`() throws {
    // As in an application's store: an entity that sorts first brings its superentity, which sorts last.
    let task = entity("TaskBase", ["text"], [toMany("tags", "Tag", inverse: "tasks")])
    let tag = entity("Tag", ["name"], [toMany("tasks", "TaskBase", inverse: "tags")])
    func names(_ entities: [EntityDescription]) throws -> [String] {
      let schema = StoreSchema(model: try ManagedObjectModel(name: "1", entities: entities))
      #expect(schema.guesses.isEmpty)
      return schema.joinTables.map(\.createStatement)
    }
    #expect(
      try names([task, tag])
        == ["CREATE TABLE Z_1TASKS ( Z_1TAGS INTEGER, Z_2TASKS INTEGER, PRIMARY KEY (Z_1TAGS, Z_2TASKS) )"])
    #expect(
      try names([task, tag, entity("HealthTask", of: "TaskBase")])
        == ["CREATE TABLE Z_2TAGS ( Z_2TASKS INTEGER, Z_1TAGS INTEGER, PRIMARY KEY (Z_2TASKS, Z_1TAGS) )"])
    // By bytes: a capital comes before a small letter.
    #expect(
      try names([
        entity("apple", [], [toMany("Tags", "Zoo", inverse: "apples")]),
        entity("Zoo", [], [toMany("apples", "apple", inverse: "Tags")]),
      ]) == ["CREATE TABLE Z_2APPLES ( Z_2TAGS INTEGER, Z_1APPLES INTEGER, PRIMARY KEY (Z_2TAGS, Z_1APPLES) )"])
  }

  @Test func `a pair in one entity is named after the end that comes first in the hash table`() throws {
    // Three entities of published applications.
    func name(_ entities: [EntityDescription], certain: Bool) throws -> String? {
      let schema = StoreSchema(model: try ManagedObjectModel(name: "1", entities: entities))
      #expect(schema.guesses.map(\.isLikely) == (certain ? [] : [true]), "\(schema.guesses)")
      return schema.joinTables.first?.ownerRelationshipName
    }
    func toOne(_ name: String, _ destination: String, inverse: String? = nil) -> RelationshipDescription {
      RelationshipDescription(name: name, destinationEntityName: destination, inverseName: inverse, isToMany: false)
    }
    var children = toMany("children", "Bookmark", inverse: "parent")
    var favorites = toMany("favorites", "Bookmark", inverse: "favoriteFolders")
    (children.isOrdered, favorites.isOrdered) = (true, true)
    #expect(
      try name(
        [
          entity(
            "Bookmark", ["modifiedAt", "title", "uuid", "isFolder", "isPendingDeletion", "url"],
            [
              toOne("parent", "Bookmark", inverse: "children"), children, favorites,
              toMany("favoriteFolders", "Bookmark", inverse: "favorites"),
            ])
        ], certain: true) == "favorites")
    #expect(
      try name(
        [
          entity(
            "TodoItem", ["notes", "date", "repeats", "done", "name"],
            [
              toOne("project", "Project"), toMany("blockedBy", "TodoItem", inverse: "blocking"),
              toMany("blocking", "TodoItem", inverse: "blockedBy"),
            ]), entity("Project"),
        ], certain: false) == "blocking")
    #expect(
      try name(
        [
          entity(
            "Collection", ["identifier", "flags", "type", "name"],
            [
              toOne("metadata", "Root"), toOne("catalog", "Root"),
              toMany("parentCollections", "Collection", inverse: "childCollections"),
              toMany("childCollections", "Collection", inverse: "parentCollections"),
            ]), entity("Root"),
        ], certain: true) == "childCollections")
  }

  @Test func `a pair in one entity is a guess that names the other end, if the share is below 0.995`() throws {
    let schema = StoreSchema(model: try clients(attributes: 1))
    #expect(schema.joinTables.count == 2 && schema.guesses.count == 2)
    for join in schema.joinTables {
      let inverse = try #require(join.inverseRelationshipName)
      let own = try #require(schema.guesses.first { $0.name == join.name })
      #expect(own.alternative == "Z_1" + inverse.uppercased() && !own.isLikely)
    }
    #expect(StoreSchema(model: try clients(attributes: 26)).guesses.isEmpty)
    // Likely: the file of one guess says the same every time.
    let likely = try ManagedObjectModel(
      name: "1",
      entities: [
        entity(
          "Person", ["name"],
          [toMany("friends", "Person", inverse: "friendOf"), toMany("friendOf", "Person", inverse: "friends")])
      ])
    #expect(
      StoreSchema(model: likely).guesses.map(\.description) == [
        "join table of Person.friends and Person.friendOf: Z_1FRIENDS is a likely guess; "
          + "Core Data may expect Z_1FRIENDOF"
      ])
    let shares = likely.shares(of: [("friends", "friendOf"), ("friendOf", "friends")], in: "Person")
    #expect(shares == likely.shares(of: [("friends", "friendOf"), ("friendOf", "friends")], in: "Person"))
    #expect(shares.reduce(0, +) == 1 && shares[0] > 0.9 && shares[0] < 0.98)
  }

  @Test func `suffixes follow the order of visits, and are a guess inside one owner`() throws {
    let different = StoreSchema(model: try galleries())
    #expect(different.guesses.isEmpty)
    #expect(different.joinTables.map(\.ownerColumn) == ["Z_1ALBUMS", "Z_2LOCATIONS", "Z_3SHOWS"])
    #expect(different.joinTables.map(\.destinationColumn) == ["Z_4WORKS", "Z_4WORKS1", "Z_4WORKS2"])
    let one = StoreSchema(
      model: try ManagedObjectModel(
        name: "1",
        entities: [
          entity(
            "Asset", [],
            [toMany("memories", "Memory", inverse: "assets"), toMany("moments", "Moment", inverse: "assets")]),
          entity("Memory", [], [toMany("assets", "Asset", inverse: "memories")]),
          entity("Moment", [], [toMany("assets", "Asset", inverse: "moments")]),
        ]))
    #expect(one.guesses.count == 1)
    #expect(one.guesses.first?.name.hasSuffix("Z_1ASSETS, Z_1ASSETS1 in this order") == true, "\(one.guesses)")
  }

  @Test func `a relationship that is its own inverse has a column REFLEXIVE, whose partner may have any suffix`() throws
  {
    let model = try ManagedObjectModel(
      name: "1", entities: [entity("Person", [], [toMany("twins", "Person", inverse: "twins")])])
    let schema = StoreSchema(model: model)
    #expect(schema.guesses.isEmpty)
    #expect(
      schema.joinTables.map(\.createStatement)
        == ["CREATE TABLE Z_1TWINS ( Z_1TWINS INTEGER, REFLEXIVE INTEGER, PRIMARY KEY (Z_1TWINS, REFLEXIVE) )"])
    #expect(
      schema.indexStatements == ["CREATE INDEX Z_1TWINS_REFLEXIVE_INDEX ON Z_1TWINS (REFLEXIVE, Z_1TWINS)"])
    let folder = try TemporaryFolder()
    try StoreBuilder(path: folder.file("store.sqlite"), model: model).finish()
    let connection = try StoreConnection(path: folder.file("store.sqlite"))
    try connection.execute("ALTER TABLE Z_1TWINS RENAME COLUMN Z_1TWINS TO Z_1TWINS1")
    try connection.close()
    let reader = try StoreConnection.openStore(readingAt: folder.file("store.sqlite"))
    let probed = try StoreSchema(model: model, probing: reader).joinTables
    #expect(probed.map(\.ownerColumn) == ["Z_1TWINS1"] && probed.map(\.destinationColumn) == ["REFLEXIVE"])
  }

  @Test func `the names in a store win over the rules`() throws {
    for model in try [clients(attributes: 1), clients(attributes: 26), galleries()] {
      let schema = StoreSchema(model: model)
      let other = try turned(schema)
      #expect(other.schema.joinTables.map(\.name) != schema.joinTables.map(\.name) || other.isSuffixed)
      let names = JoinNames(of: other.schema)
      let made = StoreSchema(model: model, names: names)
      #expect(Set(made.joinTables) == Set(other.schema.joinTables))
      #expect(made.guesses.isEmpty)
    }
  }

  @Test func `a join table is read under either name, in any column order`() throws {
    // As an application's store had it after a migration in place.
    let folder = try TemporaryFolder()
    let model = try clients(attributes: 3)
    try StoreBuilder(path: folder.file("store.sqlite"), model: model).finish()
    let connection = try StoreConnection(path: folder.file("store.sqlite"))
    for join in StoreSchema(model: model).joinTables { try connection.execute("DROP TABLE \(join.name)") }
    try connection.execute("CREATE TABLE Z_1TRUSTEDBYCLIENTS (Z_1TRUSTEDBYCLIENTS INTEGER, Z_1TRUSTEDCLIENTS INTEGER)")
    try connection.execute("CREATE TABLE Z_1IGNOREDCLIENTS (Z_1IGNOREDCLIENTS2 INTEGER, Z_1IGNOREDBYCLIENTS INTEGER)")
    try connection.close()
    let reader = try StoreConnection.openStore(readingAt: folder.file("store.sqlite"))
    let schema = try StoreSchema(model: model, probing: reader)
    for (relationship, subject, object) in [
      ("trustedClients", "Z_1TRUSTEDBYCLIENTS", "Z_1TRUSTEDCLIENTS"),
      ("trustedByClients", "Z_1TRUSTEDCLIENTS", "Z_1TRUSTEDBYCLIENTS"),
      ("ignoredClients", "Z_1IGNOREDBYCLIENTS", "Z_1IGNOREDCLIENTS2"),
      ("ignoredByClients", "Z_1IGNOREDCLIENTS2", "Z_1IGNOREDBYCLIENTS"),
    ] {
      guard case .join(let join, subject, object, _) = schema.storage(of: relationship, in: "Client") else {
        Issue.record("\(relationship): \(schema.storage(of: relationship, in: "Client"))")
        continue
      }
      #expect(join.name == (relationship.hasPrefix("trusted") ? "Z_1TRUSTEDBYCLIENTS" : "Z_1IGNOREDCLIENTS"))
    }
    #expect(schema.guesses.isEmpty)
  }

  @Test func `a column name that ends in a digit is not mistaken for a suffix`() throws {
    let folder = try TemporaryFolder()
    let model = try ManagedObjectModel(
      name: "1",
      entities: [
        EntityDescription(
          name: "A",
          relationships: [toMany("friend", "A", inverse: "friend1"), toMany("friend1", "A", inverse: "friend")])
      ])
    try StoreBuilder(path: folder.file("store.sqlite"), model: model).finish()
    let reader = try StoreConnection.openStore(readingAt: folder.file("store.sqlite"))
    let schema = try StoreSchema(model: model, probing: reader)
    guard case .join(_, "Z_1FRIEND1", "Z_1FRIEND", _) = schema.storage(of: "friend", in: "A") else {
      Issue.record("\(schema.storage(of: "friend", in: "A"))")
      return
    }
  }

  @Test func `the source's names stay while everything that decides them stays`() throws {
    let before = try clients(attributes: 3)
    let names = JoinNames(of: try turned(StoreSchema(model: before)).schema)
    #expect(Set(names.kept(from: before, to: before).owners) == names.owners)
    let after = try clients(attributes: 4)
    #expect(names.kept(from: before, to: after) == JoinNames())
    // The same properties in other pairs.
    var entities = before.entities
    for (place, inverse) in ["trustedClients", "trustedByClients", "ignoredClients", "ignoredByClients"].enumerated() {
      entities[0].relationships[place].inverseName = inverse
    }
    let crossed = try ManagedObjectModel(name: "crossed", entities: entities)
    #expect(names.kept(from: before, to: crossed) == JoinNames())

    let gallery = try galleries()
    let suffixes = JoinNames(of: try turned(StoreSchema(model: gallery)).schema)
    let kept = suffixes.kept(from: gallery, to: gallery)
    #expect(kept.suffixes.count == 3 && kept.suffixes.allSatisfy { suffixes.suffixes[$0.key] == $0.value })
    // A subentity that brings its superentity forward changes the order of visits, not the properties.
    let shows = try ManagedObjectModel(name: "shows", entities: gallery.entities + [entity("Aaa", of: "Show")])
    let works = try ManagedObjectModel(name: "works", entities: gallery.entities + [entity("Aaa", of: "Work")])
    #expect(suffixes.kept(from: gallery, to: shows).suffixes.isEmpty)
    #expect(suffixes.kept(from: gallery, to: shows).owners == suffixes.owners)
    #expect(suffixes.kept(from: gallery, to: works) == JoinNames())
    let more = try galleries([AttributeDescription(name: "more", type: .string)])
    #expect(suffixes.kept(from: gallery, to: more).suffixes.isEmpty)
  }

  /// The layout with the other choice everywhere.
  private func turned(_ schema: StoreSchema) throws -> (schema: StoreSchema, isSuffixed: Bool) {
    let folder = try TemporaryFolder()
    try StoreBuilder(path: folder.file("store.sqlite"), model: schema.model).finish()
    let connection = try StoreConnection(path: folder.file("store.sqlite"))
    let isSuffixed = schema.joinTables.count == 3
    for (place, join) in schema.joinTables.enumerated() {
      if isSuffixed {
        // Into Work: none, 1 and 2, the other way round.
        let column = [join.ownerColumn, join.destinationColumn].first { $0.contains("WORKS") } ?? ""
        try connection.execute("ALTER TABLE \(join.name) RENAME COLUMN \(column) TO moved\(place)")
      } else {
        try connection.execute(
          "ALTER TABLE \(join.name) RENAME TO Z_1\(try #require(join.inverseRelationshipName).uppercased())")
      }
    }
    if isSuffixed {
      for (place, join) in schema.joinTables.enumerated() {
        let suffix = ["2", "1", ""][place]
        try connection.execute("ALTER TABLE \(join.name) RENAME COLUMN moved\(place) TO Z_4WORKS\(suffix)")
      }
    }
    try connection.close()
    let reader = try StoreConnection.openStore(readingAt: folder.file("store.sqlite"))
    return (try StoreSchema(model: schema.model, probing: reader), isSuffixed)
  }
}

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

struct `Names of join tables` {
  @Test func `the computed string hash equals CFString's`() {
    // Worked out by hand: n, then n * 257 + each unit, then the sum with itself shifted by n.
    #expect(PropertyHashTable.hash("") == 0)
    #expect(PropertyHashTable.hash("a") == (257 + 97) * 3)
    #expect(PropertyHashTable.hash("ab") == ((2 * 257 + 97) * 257 + 98) * 5)
  }

  @Test func `a pair in one entity is a guess that names the other end`() throws {
    let model = try clients(attributes: 20)
    let schema = StoreSchema(model: model)
    #expect(schema.joinTables.count == 2 && schema.guesses.count == 2)
    for (join, guess) in zip(schema.joinTables, schema.guesses.sorted { $0.name < $1.name }) {
      #expect([join.name, guess.name].allSatisfy { $0.hasPrefix("Z_1") })
      let inverse = try #require(join.inverseRelationshipName)
      let own = try #require(schema.guesses.first { $0.name == join.name })
      #expect(own.alternative == "Z_1" + inverse.uppercased())
    }
  }

  @Test func `nothing is a guess where ends lie in different entities and names differ`() throws {
    let model = try ManagedObjectModel(
      name: "1",
      entities: [
        EntityDescription(name: "Book", relationships: [toMany("tags", "Tag", inverse: "books")]),
        EntityDescription(
          name: "Tag", relationships: [toMany("books", "Book", inverse: "tags"), toMany("own", "Tag", inverse: "own")]),
      ])
    #expect(StoreSchema(model: model).guesses.isEmpty)
  }

  @Test func `the names in a store win over the rules`() throws {
    for model in try [clients(attributes: 3), clients(attributes: 26), galleries()] {
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
    #expect(StoreSchema(model: after, names: names.kept(from: before, to: after)).guesses.count == 2)

    let gallery = try galleries()
    let suffixes = JoinNames(of: try turned(StoreSchema(model: gallery)).schema)
    let kept = suffixes.kept(from: gallery, to: gallery)
    #expect(kept.suffixes.count == 3 && kept.suffixes.allSatisfy { suffixes.suffixes[$0.key] == $0.value })
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

/// Facts read off stores that Apple's software wrote.
private struct Case: Decodable {
  struct Entity: Decodable {
    var number: Int
    var properties: [String: String]
    var `super`: String?
  }
  struct OwnPair: Decodable {
    var entity: String
    var pair: [String]
    var named: String
  }
  struct Order: Decodable {
    var entity: String
    var order: [[String]]
  }
  struct Sequence: Decodable {
    var entity: String
    var order: [String]
  }
  var id: String
  var entities: [String: Entity]
  var `self`: [OwnPair]?
  var suffix: [Order]?
  var sequence: [Sequence]?
  var archive: [String: [String]]

  /// The model as far as names go: what the file does not say leads to an entity that nothing depends on.
  func model() throws -> ManagedObjectModel {
    var described: [EntityDescription] = []
    for (name, entity) in entities {
      var made = EntityDescription(name: name, superentityName: entity.super.flatMap { entities[$0] == nil ? nil : $0 })
      let inherited = entity.super.flatMap { entities[$0]?.properties } ?? [:]
      for (property, kind) in entity.properties where inherited[property] == nil {
        switch kind.first {
        case "a":
          var attribute = AttributeDescription(name: property, type: .string)
          attribute.isTransient = kind.hasSuffix("t")
          made.attributes.append(attribute)
        case "f":
          made.fetchedProperties.append(
            FetchedPropertyDescription(name: property, isOptional: true, fetchRequest: nil))
        default:
          var relationship = RelationshipDescription(
            name: property, destinationEntityName: "Zzz", isToMany: !kind.hasPrefix("1"))
          relationship.isOrdered = kind.hasPrefix("O")
          relationship.isTransient = kind.hasSuffix("t")
          made.relationships.append(relationship)
        }
      }
      described.append(made)
    }
    func join(_ entity: String, _ name: String, to destination: String, inverse: String) {
      guard let place = described.firstIndex(where: { $0.name == entity }),
        let found = described[place].relationships.firstIndex(where: { $0.name == name })
      else { return }
      described[place].relationships[found].destinationEntityName = destination
      described[place].relationships[found].inverseName = inverse
      described[place].relationships[found].inverseEntityName = destination
    }
    for pair in self.`self` ?? [] {
      join(pair.entity, pair.pair[0], to: pair.entity, inverse: pair.pair[1])
      join(pair.entity, pair.pair[1], to: pair.entity, inverse: pair.pair[0])
    }
    for order in suffix ?? [] {
      for end in order.order {
        join(end[0], end[1], to: order.entity, inverse: end[2])
        join(order.entity, end[2], to: end[0], inverse: end[1])
      }
    }
    described.append(EntityDescription(name: "Zzz"))
    return try ManagedObjectModel(name: id, entities: described)
  }
}

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Known names of join tables` {
  private struct File: Decodable { var cases: [Case] }

  private func cases() throws -> [Case] {
    let url = URL(filePath: Corpus.formats("join-table-cases.json"))
    return try JSONDecoder().decode(File.self, from: Data(contentsOf: url)).cases
  }

  @Test func `archived properties are in the order of the hash table`() throws {
    var checked = 0
    for known in try cases() {
      let model = try known.model()
      for (entity, order) in known.archive {
        #expect(
          PropertyHashTable.order(of: model.propertyLines(of: entity).map(\.name)) == order, "\(known.id) \(entity)")
        checked += 1
      }
    }
    #expect(checked == 121)
  }

  @Test func `join tables inside one entity are named as in every known store`() throws {
    var checked = 0
    for known in try cases() {
      let schema = StoreSchema(model: try known.model())
      for pair in known.`self` ?? [] {
        let join = schema.joinTables.first {
          $0.ownerEntityName == pair.entity && pair.pair.contains($0.ownerRelationshipName)
        }
        #expect(join?.ownerRelationshipName == pair.named, "\(known.id) \(pair.pair)")
        let other = try #require(pair.pair.first { $0 != pair.named })
        #expect(schema.guesses.contains { $0.alternative.hasSuffix(other.uppercased()) })
        checked += 1
      }
    }
    #expect(checked == 49)
  }

  @Test func `join columns of one name are numbered as in every known store`() throws {
    var checked = 0
    for known in try cases() {
      let schema = StoreSchema(model: try known.model())
      for group in known.suffix ?? [] {
        let number = try #require(schema.number(of: group.entity))
        for (place, end) in group.order.enumerated() {
          guard case .join(_, _, let object, _) = schema.storage(of: end[1], in: end[0]) else {
            Issue.record("\(known.id) \(end)")
            continue
          }
          #expect(object == "Z_\(number)\(end[1].uppercased())" + (place == 0 ? "" : "\(place)"), "\(known.id) \(end)")
        }
        checked += 1
      }
    }
    #expect(checked == 23)
  }

  /// Sequences of CREATE TABLE that no rule gives. They have no meaning for Core Data.
  private static let otherSequences: Set<String> = [
    "wireapp_wire-ios-data-model/store24.wiredatabase UserClient",
    "wireapp_wire-ios-data-model/store24.wiredatabase SystemMessage",
    "wireapp_wire-ios-data-model/store26.wiredatabase UserClient",
    "wireapp_wire-ios-data-model/store26.wiredatabase SystemMessage",
    "wireapp_wire-ios-sync-engine/store128.wiredatabase SystemMessage",
  ]

  @Test func `join tables of an entity are in the order of stores made at once`() throws {
    var others: Set<String> = []
    var checked = 0
    for known in try cases() {
      let model = try known.model()
      for sequence in known.sequence ?? [] {
        let places = model.propertyPlaces(of: sequence.entity)
        let order = sequence.order.sorted { (places[$0] ?? 0) < (places[$1] ?? 0) }
        if order != sequence.order { others.insert("\(known.id) \(sequence.entity)") }
        checked += 1
      }
    }
    #expect(checked == 13)
    #expect(others == Self.otherSequences)
  }
}

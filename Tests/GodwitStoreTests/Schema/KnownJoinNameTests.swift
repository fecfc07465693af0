import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

/// Facts read off stores that Apple's software wrote.
private struct Case: Decodable {
  struct Entity: Decodable {
    struct Relationship: Decodable {
      var destination: String
      var inverse: String?
    }
    var number: Int
    var properties: [String: String]
    var relationships: [String: Relationship]?
    var `super`: String?
  }
  struct Owner: Decodable {
    var entity: String
    var relationship: String
    var inverse: String
    var columns: [String]
  }
  struct OwnPair: Decodable {
    var entity: String
    var pair: [String]
    var named: String
    var columns: [String]
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
  var fresh: Bool
  var entities: [String: Entity]
  var owner: [Owner]?
  var `self`: [OwnPair]?
  var suffix: [Order]?
  var sequence: [Sequence]?
  var archive: [String: [String]]

  /// The ends of a relationship that the file names in a pair only.
  private func implied(_ entity: String, _ property: String) -> Entity.Relationship? {
    for pair in self.`self` ?? [] where pair.entity == entity && pair.pair.contains(property) {
      return .init(destination: entity, inverse: pair.pair.first { $0 != property })
    }
    for end in (suffix ?? []).flatMap(\.order) {
      if end[..<2] == [entity, property] { return .init(destination: end[2], inverse: end[3]) }
      if end[2...] == [entity, property] { return .init(destination: end[0], inverse: end[1]) }
    }
    return nil
  }

  /// Whether the file has the properties of all superentities of an entity.
  func hasLineage(of entity: String) -> Bool {
    guard let parent = entities[entity]?.super else { return true }
    return entities[parent]?.properties.isEmpty == false && hasLineage(of: parent)
  }

  /// The model as far as names go: what the file does not say leads to an entity that nothing depends on.
  func model() throws -> ManagedObjectModel {
    var described: [EntityDescription] = [EntityDescription(name: "Zzz")]
    for (name, entity) in entities {
      var made = EntityDescription(name: name, superentityName: entity.super)
      let inherited = entity.super.flatMap { entities[$0]?.properties } ?? [:]
      for (property, kind) in entity.properties where inherited[property] == nil {
        guard kind.first != "a" else {
          var attribute = AttributeDescription(name: property, type: .string)
          attribute.isTransient = kind.hasSuffix("t")
          made.attributes.append(attribute)
          continue
        }
        let known = entity.relationships?[property] ?? implied(name, property)
        var relationship = RelationshipDescription(
          name: property, destinationEntityName: known?.destination ?? "Zzz", isToMany: !kind.hasPrefix("1"))
        relationship.isOrdered = kind.hasPrefix("O")
        relationship.isTransient = kind.hasSuffix("t")
        if let known, let inverse = known.inverse, entities[known.destination]?.properties[inverse] != nil {
          relationship.inverseName = inverse
          relationship.inverseEntityName = known.destination
        }
        made.relationships.append(relationship)
      }
      described.append(made)
    }
    return try ManagedObjectModel(name: id, entities: described)
  }
}

@Suite(
  .enabled(
    if: FileManager.default.fileExists(atPath: Corpus.formats("join-names.json")),
    "join-names.json is not beside this checkout"))
struct `Known names of join tables` {
  private struct File: Decodable { var cases: [Case] }

  /// Made once: there are hundreds of models.
  private static let cases = Result {
    let url = URL(filePath: Corpus.formats("join-names.json"))
    return try JSONDecoder().decode(File.self, from: Data(contentsOf: url)).cases.map {
      ($0, StoreSchema(model: try $0.model()))
    }
  }

  /// A name without the suffix, which a test of its own has.
  private func bare(_ column: String) -> String { column.replacing(#/[0-9]+$/#, with: "") }

  /// Columns as the file has them, without entity numbers.
  private func columns(_ join: StoreSchema.JoinTable) -> [String] {
    [join.ownerColumn, join.destinationColumn, join.destinationOrderColumn, join.ownerOrderColumn].compactMap(\.self)
      .map { bare($0.replacing(#/^(Z_FOK_|Z_)[0-9]+/#) { $0.output.1 == "Z_" ? "" : "Z_FOK_" }) }
  }

  @Test func `tables between entities are named as in every known store`() throws {
    var (named, reflexive) = (0, 0)
    for (known, schema) in try Self.cases.get() {
      for owner in known.owner ?? [] {
        let end = JoinNames.End(entity: owner.entity, relationship: owner.relationship)
        let join = schema.joinTables.first { $0.endSet.contains(end) }
        let found = try #require(join, "\(known.id) \(end)")
        #expect(found.ownerEntityName == owner.entity && found.ownerRelationshipName == owner.relationship)
        #expect(found.isReflexive == (owner.relationship == owner.inverse))
        #expect(!schema.guesses.contains { $0.name == found.name }, "\(known.id) \(end)")
        named += 1
        if found.isReflexive { reflexive += 1 }
        if known.fresh { #expect(columns(found) == owner.columns.map(bare), "\(known.id) \(end)") }
      }
    }
    #expect(named == 593 && reflexive == 27)
  }

  @Test func `tables inside one entity are named as in every known store, and most are certain`() throws {
    var checked = 0
    var certain: [[String: String]: Bool] = [:]
    for (known, schema) in try Self.cases.get() {
      for pair in known.`self` ?? [] {
        let join = schema.joinTables.first {
          $0.ownerEntityName == pair.entity && pair.pair.contains($0.ownerRelationshipName)
        }
        let found = try #require(join, "\(known.id) \(pair.pair)")
        #expect(found.ownerRelationshipName == pair.named, "\(known.id) \(pair.pair)")
        // A table that Core Data renamed in place keeps its columns where they were.
        #expect(columns(found).sorted() == pair.columns.map(bare).sorted(), "\(known.id)")
        var key = known.entities[pair.entity]?.properties ?? [:]
        key["named"] = pair.named
        certain[key] = !schema.guesses.contains { $0.name == found.name }
        checked += 1
      }
    }
    #expect(checked == 113)
    #expect(certain.count == 27 && certain.values.count { $0 } == 16, "\(certain.values.count { $0 })")
  }

  /// Two columns inside one owner, where the rule is a guess: the same columns are the other way round in earlier
  /// versions of the application.
  private static let otherSuffixes: Set<String> = [
    "tkanarsky_osxphotos/Test-15.4.1.photoslibrary Asset",
    "tkanarsky_osxphotos/Test-Media-Types-15.7.2.photoslibrary Asset",
  ]

  @Test func `join columns of one name are numbered as in every known store but two, whose order is a guess`() throws {
    var checked = 0
    var others: Set<String> = []
    for (known, schema) in try Self.cases.get() {
      for group in known.suffix ?? [] {
        let number = try #require(schema.number(of: group.entity))
        let ends = group.order.map { JoinNames.End(entity: $0[0], relationship: $0[1]) }
        let found = try #require(schema.suffixGroups.first { Set($0) == Set(ends) }, "\(known.id) \(ends)")
        checked += 1
        let isGuess = schema.guesses.contains { $0.name.hasPrefix("Z_\(number)\(group.order[0][1].uppercased()), ") }
        let owners = Set(schema.joinTables.filter { !$0.endSet.isDisjoint(with: ends) }.map(\.ownerEntityName))
        #expect(isGuess == (owners.count < ends.count), "\(known.id) \(ends)")
        guard found == ends else {
          #expect(isGuess)
          others.insert("\(known.id) \(group.entity)")
          continue
        }
        for (place, end) in ends.enumerated() {
          guard case .join(_, _, let object, _) = schema.storage(of: end.relationship, in: end.entity) else {
            Issue.record("\(known.id) \(end)")
            continue
          }
          #expect(object == "Z_\(number)\(end.relationship.uppercased())" + (place == 0 ? "" : "\(place)"))
        }
      }
    }
    #expect(checked == 70)
    #expect(others == Self.otherSuffixes)
  }

  @Test(
    .enabled(if: Corpus.kinds != nil, "the stores of further kinds are not beside this checkout"),
    arguments: [
      ("Test-10.15.1", "Test-Lock-10_15_1"), ("Test-13.5.1-compare-1", "Test-Empty-Library-Ventura-13-5"),
    ])
  func `join tables of a Photos library are declared as in its file`(facts: String, library: String) throws {
    let (_, schema) = try #require(
      try Self.cases.get().first { $0.0.id == "tkanarsky_osxphotos/\(facts).photoslibrary" })
    let folder = try #require(Corpus.kinds).appending(path: "tkanarsky_osxphotos/tests/\(library).photoslibrary")
    let connection = try StoreConnection.openStore(readingAt: folder.appending(path: "database/Photos.sqlite").path)
    let actual = try connection.rows(
      "SELECT sql FROM source.sqlite_master WHERE type = 'table' AND name GLOB 'Z_[0-9]*'"
    ).map { row in if case .text(let bytes) = row[0] { String(decoding: bytes, as: UTF8.self) } else { "" } }
    #expect(actual.count >= 14 && actual.contains { $0.contains(" REFLEXIVE ") })
    #expect(actual.sorted() == schema.joinTables.map(\.createStatement).sorted())
  }

  @Test func `archived properties are in the order of the 64-bit table`() throws {
    var checked = 0
    for (known, schema) in try Self.cases.get() {
      let model = schema.model
      for (entity, order) in known.archive where known.hasLineage(of: entity) {
        let names = model.propertyLines(of: entity).map(\.name)
        var table = PropertyHashTable<UInt64>(capacity: names.count)
        for (key, name) in names.enumerated() { table.insert(key, hash: PropertyHashTable<UInt64>.hash(name)) }
        #expect(table.keys.map { names[$0] } == order, "\(known.id) \(entity)")
        checked += 1
      }
    }
    #expect(checked == 428)
  }

  @Test func `join tables of an entity are mostly in the order of stores made at once`() throws {
    // Without meaning for Core Data: no rule is known that gives all.
    var (same, checked) = (0, 0)
    for (known, schema) in try Self.cases.get() {
      let model = schema.model
      for sequence in known.sequence ?? [] where known.hasLineage(of: sequence.entity) {
        let places = model.filePlaces(of: sequence.entity)
        if sequence.order.sorted(by: { (places[$0] ?? 0) < (places[$1] ?? 0) }) == sequence.order { same += 1 }
        checked += 1
      }
    }
    #expect(checked == 113)
    #expect(same == 82)
  }
}

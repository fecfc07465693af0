import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The limits of `for-each` and `of`: 78, with the reason and the remedy.
@Suite struct PairRefusalTests {
  private static func fixture() throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [
        .make(
          "Pizza", ["name": .string, "rank": .integer16],
          [
            .toMany("parts", "Topping", inverse: "wholes"), .toOne("owner", "Person", inverse: "pizzas"),
            .toMany("sliced", "Topping", inverse: "slices", ordered: true),
          ]),
        .make("Calzone", parent: "Pizza"),
        .make(
          "Topping", ["name": .string],
          [.toMany("wholes", "Pizza", inverse: "parts"), .toMany("slices", "Pizza", inverse: "sliced")]),
        .make("Person", ["name": .string], [.toMany("pizzas", "Pizza", inverse: "owner")]),
      ],
      to: [
        .make("Pizza", ["name": .string], [.toMany("items", "Part", inverse: "pizza")]),
        .make("Topping", ["name": .string], [.toMany("uses", "Part", inverse: "topping")]),
        .make("Person", ["name": .string], [.toMany("parts", "Part", inverse: "person")]),
        .make(
          "Part", ["name": .string, "rank": .integer16],
          [
            .toOne("pizza", "Pizza", inverse: "items"), .toOne("topping", "Topping", inverse: "uses"),
            .toOne("person", "Person", inverse: "parts"),
          ]),
      ])
    try fixture.build { try $0.insert("Pizza", key: 1) }
    var links = try EntityMapping.make("Pizza", "Part", name: "Links", attributes: ["name": "$element.name"])
    links.forEach = "parts"
    fixture.mappings = [
      links, try .make("Pizza", "Pizza", attributes: ["name": "$source.name"]),
      try .make("Topping", "Topping", attributes: ["name": "$source.name"]),
      try .make("Person", "Person", attributes: ["name": "$source.name"]),
    ]
    return fixture
  }

  private func refusal(_ job: MigrationJob) -> String {
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).plan() }
    #expect(error?.code == .configuration && error?.remedy != nil, "\(String(describing: error))")
    return error?.message ?? ""
  }

  @Test(arguments: [
    ("part", "has no relationship 'part' (did you mean 'parts'?)"), ("owner", "'Pizza.owner' is a to-one"),
    ("name", "it is an attribute"),
  ])
  func `a relationship without links is 78`(name: String, message: String) throws {
    let fixture = try Self.fixture()
    fixture.mappings[0].forEach = name
    let told = refusal(try fixture.job)
    #expect(told.contains(message), "\(told)")
  }

  @Test(arguments: [
    ("$source.nam", "'Pizza' has no property 'nam'"), ("$element.rank", "'Topping' has no property 'rank'"),
    ("name", "write '$source.name' or '$element.name'"), ("$index", "'Pizza.parts' is not ordered"),
    ("SELF.name", "may be either end"),
  ])
  func `a value that neither end has is 78`(value: String, message: String) throws {
    let fixture = try Self.fixture()
    fixture.mappings[0].attributeMappings[0].value = try ValueExpression(value)
    let told = refusal(try fixture.job)
    #expect(told.contains(message), "\(told)")
  }

  @Test func `a place in an ordered relationship is a number`() throws {
    let fixture = try Self.fixture()
    fixture.mappings[0].forEach = "sliced"
    fixture.mappings[0].attributeMappings[0] = AttributeMapping(name: "rank", value: try ValueExpression("$index"))
    _ = try MigrationManager(fixture.job).plan()
  }

  @Test func `a filter names an end, and an element has a value only in for-each`() throws {
    let fixture = try Self.fixture()
    fixture.mappings[0].filter = try FilterPredicate("rank > 2")
    #expect(refusal(try fixture.job).contains("write '$source.rank' or '$element.rank'"))
    fixture.mappings[0].filter = nil
    fixture.mappings[1].attributeMappings[0].value = try ValueExpression("$element.name")
    let told = refusal(try fixture.job)
    #expect(told.contains("only in a mapping with 'for-each'"), "\(told)")
  }

  @Test(arguments: [EntityMapping.Kind.copy, .add, .remove]) func `a mapping of another type has no links`(
    kind: EntityMapping.Kind
  ) throws {
    let fixture = try Self.fixture()
    fixture.mappings[0].kind = kind
    let told = refusal(try fixture.job)
    #expect(told.contains("'for-each' has no meaning for a mapping of type '\(kind.rawValue)'"), "\(told)")
  }

  @Test func `a policy, a quarantine and predicates of chunks exclude for-each`() throws {
    let fixture = try Self.fixture()
    fixture.mappings[0].policyName = "Plain"
    var job = try fixture.job
    job.policies = ["Plain": { PlainPolicy() }]
    #expect(refusal(job).contains("'for-each' and policy 'Plain' exclude each other"))
    fixture.mappings[0].policyName = nil
    job = try fixture.job
    job.quarantine = Quarantine(maximumRows: 5)
    #expect(refusal(job).contains("'for-each' and a quarantine exclude each other"))
    fixture.chunkPredicates = ["Links": ["$source.rank > 2", "NOT ($source.rank > 2)"]]
    #expect(refusal(try fixture.job).contains("'for-each' and 'chunks.by' exclude each other"))
  }

  private func lookUp(
    _ fixture: MigrationFixture, _ mapping: Int, _ name: String, _ target: String, _ path: [String] = [],
    of end: RelationshipMapping.End? = nil
  ) {
    var entry = RelationshipMapping(name: name, value: .mapping(target, keyPath: path))
    entry.end = end
    fixture.mappings[mapping].relationshipMappings = [entry]
  }

  @Test func `a look-up of links names the end that its objects have`() throws {
    for (mapping, name, end, message) in [
      (1, "items", nil, "at which end?"), (1, "items", .element, "needs objects of 'Topping'"),
      (2, "uses", .source, "needs objects of 'Pizza'"),
    ] as [(Int, String, RelationshipMapping.End?, String)] {
      let fixture = try Self.fixture()
      lookUp(fixture, mapping, name, "Links", of: end)
      let told = refusal(try fixture.job)
      #expect(told.contains(message), "\(told)")
    }
    let fixture = try Self.fixture()
    lookUp(fixture, 1, "items", "Links", of: .source)
    _ = try MigrationManager(fixture.job).plan()
    lookUp(fixture, 3, "parts", "Links", ["pizzas"], of: .source)
    _ = try MigrationManager(fixture.job).plan()
  }

  @Test func `of has no meaning without links`() throws {
    let fixture = try Self.fixture()
    fixture.mappings.removeFirst()
    lookUp(fixture, 0, "items", "ToppingToTopping", of: .source)
    #expect(refusal(try fixture.job).contains("has no 'for-each'"))
    let other = try Self.fixture()
    lookUp(other, 0, "topping", "ToppingToTopping", ["$element"], of: .source)
    #expect(refusal(try other.job).contains("name different ends of the link"))
    other.mappings[0].relationshipMappings = []
    lookUp(other, 1, "items", "ToppingToTopping", ["$element"])
    #expect(refusal(try other.job).contains("only in a mapping with 'for-each'"))
    other.mappings[1].relationshipMappings = []
    lookUp(other, 0, "topping", "ToppingToTopping", ["owner"], of: .element)
    #expect(refusal(try other.job).contains("'Topping' has no relationship 'owner'"))
    other.mappings[0].relationshipMappings = [
      RelationshipMapping(name: "person", value: .sourceRelationship("owner"))
    ]
    #expect(refusal(try other.job).contains("a link has only '$source' and '$element'"))
    lookUp(other, 0, "person", "PersonToPerson", ["owner"])
    _ = try MigrationManager(other.job).plan()
  }

  @Test func `the order of links names an end`() throws {
    let fixture = try Self.fixture()
    fixture.mappings[0].uniqueBy = ["name"]
    fixture.mappings[0].uniqueOrder = [.init("name")]
    #expect(refusal(try fixture.job).contains("cannot order links by 'name'"))
    fixture.mappings[0].uniqueOrder = [.init("$element.name")]
    _ = try MigrationManager(fixture.job).plan()
  }

  @Test func `a mapping file has for-each and of, and is written with them`() throws {
    let text = """
      godwit-mapping: 1
      entity-mappings:
        - name: Links
          source: Pizza
          for-each: parts
          destination: Part
          filter: $element.rank > 2
          attributes:
            name: $element.name
          relationships:
            pizza: { mapping: PizzaToPizza, of: $source }
            topping: { mapping: ToppingToTopping, key-path: $element.base }
        - name: PizzaToPizza
          source: Pizza
          destination: Pizza
          relationships:
            items: { mapping: Links, of: $source, order-by: [$element.name] }

      """
    let model = try MappingModel(bytes: Array(text.utf8), path: "a.yaml")
    #expect(model.entityMappings[0].forEach == "parts")
    #expect(model.entityMappings[0].relationshipMappings.map(\.end) == [.source, nil])
    #expect(
      model.entityMappings[0].relationshipMappings[1].value
        == .mapping("ToppingToTopping", keyPath: ["$element", "base"]))
    let again = try MappingModel(bytes: Array(model.yaml.utf8), path: "b.yaml")
    #expect(again.yaml == model.yaml && again.entityMappings[0].forEach == "parts")
    #expect(again.entityMappings.map { $0.relationshipMappings.map(\.end) } == [[.source, nil], [.source]])
    let digest = MigrationJob.canonicalText(of: [model])
    #expect(digest.contains("for-each parts\n") && digest.contains("mapping Links , by $element.name, of source"))
    let wrong = text.replacing("of: $source }", with: "of: $sauce }")
    let error = #expect(throws: GodwitError.self) { try MappingModel(bytes: Array(wrong.utf8), path: "c.yaml") }
    #expect(error?.message.contains("expected $source or $element") == true && error?.location?.line == 11)
  }
}

import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A job with something for every stage, whose statements tests read as SQL.
///
/// Mappings: 0 Town, 1 Person (filtered, with expressions), 2 Company (`unique-by`). Three towns and eight people.
enum StatementWorld {
  static let town: MappingID = 0
  static let person: MappingID = 1
  static let company: MappingID = 2

  static func program() throws -> StepProgram { try fixture().planned().0 }

  static func fixture() throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [
        .make("Town", ["name": .string], [.toMany("people", "Person", inverse: "town")]),
        .make("Person", ["age": .integer16, "firm": .string, "name": .string], links),
      ],
      to: [
        .make("Company", ["name": .string], [.toMany("staff", "Person", inverse: "company")]),
        .make("Town", ["name": .string], [.toMany("people", "Person", inverse: "town", ordered: true)]), newPerson,
      ])
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Town", key: key) }
      for key in Int64(1)...8 {
        var links: [String: [Int64]] = ["town": [key % 3 + 1], "friends": [key % 8 + 1]]
        if key % 2 == 0 { links["spouse"] = [key - 1] }
        try store.insert(
          "Person", key: key, attributes: ["age": .integer(20 + key), "firm": .init("f\(key % 2)")],
          relationships: links)
      }
    }
    fixture.mappings = [
      try .make("Town", "Town", kind: .copy),
      try .make(
        "Person", "Person", filter: "age > 17",
        attributes: ["name": "$source.name", "age": "$source.age + 1", "half": "10 / $source.age"],
        relationships: [
          "town": .sourceRelationship("town"), "friends": .sourceRelationship("friends"),
          "spouse": .sourceRelationship("spouse"), "company": .mapping("Companies", keyPath: []),
        ]),
      try .make("Person", "Company", name: "Companies", uniqueBy: ["name"], attributes: ["name": "$source.firm"]),
    ]
    return fixture
  }

  private static let links: [RelationshipDescription] = [
    .toOne("town", "Town", inverse: "people"), .toMany("friends", "Person", inverse: "friendOf"),
    .toMany("friendOf", "Person", inverse: "friends"), .toOne("spouse", "Person", inverse: "spouseOf"),
    .toOne("spouseOf", "Person", inverse: "spouse"),
  ]

  private static var newPerson: EntityDescription {
    var person = EntityDescription.make(
      "Person", ["half": .double], links + [.toOne("company", "Company", inverse: "staff")])
    var age = AttributeDescription(name: "age", type: .integer16)
    age.minimumValue = .integer(0)
    var name = AttributeDescription(name: "name", type: .string)
    name.regularExpression = "[a-z]+"
    var sorted = AttributeDescription(name: "sorted", type: .string)
    sorted.derivationExpression = "canonical:(name)"
    person.attributes += [age, name, sorted]
    return person
  }
}

extension StepProgram {
  /// The link of a relationship.
  func link(_ entity: String, _ relationship: String) throws -> LinkID {
    try #require(
      links.numbered.first { _, link in
        [InversePair.End.first, .second].contains { end in
          link.side(end).map { $0.entityName == entity && $0.relationship.name == relationship } ?? false
        }
      }
    ).0
  }
}

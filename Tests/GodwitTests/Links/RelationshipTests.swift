import GodwitJob
import GodwitModel
import GodwitStore
import Testing

/// People at addresses: a to-one whose inverse is a to-many.
private func peopleAndAddresses(ordered: Bool = false) -> [EntityDescription] {
  [
    .make("Address", ["street": .string], [.toMany("people", "Person", inverse: "address", ordered: ordered)]),
    .make("Person", ["name": .string, "age": .integer16], [.toOne("address", "Address", inverse: "people")]),
  ]
}

private func peopleFixture(ordered: Bool = false) throws -> MigrationFixture {
  let fixture = try MigrationFixture(peopleAndAddresses(), to: peopleAndAddresses(ordered: ordered))
  try fixture.build { store in
    for key in Int64(1)...4 {
      _ = try store.insert("Address", key: key * 10, attributes: ["street": .init("street \(key)")], relationships: [:])
    }
    for key in Int64(1)...10 {
      _ = try store.insert(
        "Person", key: key * 3, attributes: ["name": .init("person \(key)"), "age": .integer(key * 10)],
        relationships: key == 5 ? [:] : ["address": [(key % 4 + 1) * 10]])
    }
  }
  return fixture
}

private let everyLink = [
  "3|20", "6|30", "9|40", "12|10", "15|nil", "18|30", "21|40", "24|10", "27|20", "30|30",
]

@Suite struct RelationshipTests {
  @Test func `copy mappings carry attributes and links in both directions`() throws {
    let fixture = try peopleFixture()
    fixture.mappings = [
      try .make("Person", "Person", kind: .copy), try .make("Address", "Address", kind: .copy),
    ]
    let summary = try fixture.run()
    #expect(summary.outcome == .finished)
    #expect(try fixture.rows("SELECT Z_PK, ZADDRESS FROM source.ZPERSON ORDER BY Z_PK") == everyLink)
    #expect(try fixture.rows("SELECT ZNAME, ZAGE FROM source.ZPERSON WHERE Z_PK = 9") == ["person 3|30"])
    #expect(summary.overridden == 0 && summary.ambiguousToOne == 0)
  }

  @Test func `mapping either side of an inverse pair is enough`() throws {
    let fixture = try peopleFixture()
    fixture.mappings = [
      try .make("Address", "Address", relationships: ["people": .sourceRelationship("people")]),
      try .make("Person", "Person"),
    ]
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZADDRESS FROM source.ZPERSON ORDER BY Z_PK") == everyLink)
  }

  @Test func `a lookup in a mapping that takes other objects finds nothing, and the inverse sets the links`() throws {
    let fixture = try peopleFixture()
    fixture.mappings = [
      try .make("Address", "Address", relationships: ["people": .mapping("AddressToAddress", keyPath: ["people"])]),
      try .make("Person", "Person", relationships: ["address": .sourceRelationship("address")]),
    ]
    let summary = try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZADDRESS FROM source.ZPERSON ORDER BY Z_PK") == everyLink)
    #expect(
      summary.notes.contains(
        "relationship 'people' of mapping 'AddressToAddress' looks for objects of 'Person' in mapping "
          + "'AddressToAddress', which takes 'Address': it finds none"))

    let alone = try peopleFixture()
    alone.mappings = [
      try .make("Address", "Address", relationships: ["people": .mapping("AddressToAddress", keyPath: ["people"])]),
      try .make("Person", "Person"),
    ]
    try alone.run()
    #expect(try alone.rows("SELECT count(*), count(ZADDRESS) FROM source.ZPERSON") == ["10|0"])
  }

  @Test func `a later assignment displaces an earlier one and is counted`() throws {
    let fixture = try peopleFixture()
    // Addresses come later and claim only the people of the first mapping: those of the second lose theirs.
    fixture.mappings = [
      try .make(
        "Person", "Person", name: "Young", filter: "age < 50",
        relationships: ["address": .sourceRelationship("address")]),
      try .make(
        "Person", "Person", name: "Old", filter: "age >= 50", relationships: ["address": .sourceRelationship("address")]
      ),
      try .make("Address", "Address", relationships: ["people": .mapping("Young", keyPath: ["people"])]),
    ]
    let summary = try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZADDRESS FROM source.ZPERSON ORDER BY Z_PK") == [
        "3|20", "6|30", "9|40", "12|10", "15|nil", "18|nil", "21|nil", "24|nil", "27|nil", "30|nil",
      ])
    #expect(summary.overridden == 5)
  }

  @Test func `only a later assignment displaces an earlier one`() throws {
    let fixture = try peopleFixture()
    fixture.mappings = [
      try .make("Address", "Address", relationships: ["people": .mapping("Young", keyPath: ["people"])]),
      try .make(
        "Person", "Person", name: "Young", filter: "age < 50",
        relationships: ["address": .sourceRelationship("address")]),
      try .make(
        "Person", "Person", name: "Old", filter: "age >= 50", relationships: ["address": .sourceRelationship("address")]
      ),
    ]
    let summary = try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZADDRESS FROM source.ZPERSON ORDER BY Z_PK") == everyLink)
    #expect(summary.overridden == 0)
  }
}

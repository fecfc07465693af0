import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import Testing

/// The meaning of a mapping where two readers could differ: one test a rule.
@Suite struct MeaningTests {
  private static let shapes: [EntityDescription] = [
    .make("Shape", ["name": .string, "size": .integer32]), .make("Circle", parent: "Shape"),
    .make("Square", parent: "Shape"),
  ]

  private func shapes(_ rows: [(String, Int64, Int64?)]) throws -> MigrationFixture {
    let fixture = try MigrationFixture(Self.shapes, to: Self.shapes)
    try fixture.build { store in
      for (entity, key, size) in rows {
        try store.insert(
          entity, key: key,
          attributes: ["name": .init("\(entity) \(key)"), "size": size.map { .integer($0) } ?? .null],
          relationships: [:])
      }
    }
    return fixture
  }

  @Test func `a mapping takes the objects of exactly its source entity, not of subentities`() throws {
    let fixture = try shapes([("Shape", 1, 1), ("Circle", 2, 2), ("Square", 3, 3)])
    fixture.mappings = [try .make("Shape", "Shape", kind: .copy), try .make("Circle", "Square", kind: .copy)]
    let summary = try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, Z_ENT, ZNAME FROM source.ZSHAPE ORDER BY Z_PK") == ["1|1|Shape 1", "2|3|Circle 2"])
    #expect(summary.dropped == [.init(entity: "Square", rows: 1, reason: "no mapping")])
  }

  @Test(arguments: [
    ("#size > 1", ["2", "3"]), ("NOT #size > 1", ["1"]), ("#size == nil", ["4"]), ("#size != nil", ["1", "2", "3"]),
    ("NOT #size == nil", ["1", "2", "3"]), ("#size != 1", ["2", "3"]), ("NOT (#size > 1 OR #size == nil)", ["1"]),
    ("#size IN {1, 3}", ["1", "3"]), ("NOT #size IN {1, 3}", ["2"]), ("#size BETWEEN {2, 3}", ["2", "3"]),
    ("TRUEPREDICATE", ["1", "2", "3", "4"]), ("name BEGINSWITH 'Sh'", ["1", "2", "3", "4"]),
    ("name ENDSWITH '3' OR name CONTAINS 'e 2'", ["2", "3"]), ("name LIKE '*1'", ["1"]),
    ("name ==[c] 'SHAPE 2'", ["2"]),
  ]) func `in a filter a comparison with nil is unknown, also under NOT`(filter: String, keys: [String]) throws {
    let fixture = try shapes([("Shape", 1, 1), ("Shape", 2, 2), ("Shape", 3, 3), ("Shape", 4, nil)])
    fixture.mappings = [try .make("Shape", "Shape", kind: .copy, filter: filter)]
    let summary = try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK FROM source.ZSHAPE ORDER BY Z_PK") == keys)
    let dropped = Int64(4 - keys.count)
    #expect(summary.dropped == (dropped == 0 ? [] : [.init(entity: "Shape", rows: dropped, reason: "filtered out")]))
  }

  @Test func `remove mappings drop their objects, add mappings make none`() throws {
    let fixture = try shapes([("Shape", 1, 1), ("Circle", 2, 2)])
    fixture.mappings = [
      try .make("Shape", "Shape", kind: .copy),
      EntityMapping(name: "NoCircle", kind: .remove, source: "Circle", destination: nil),
      EntityMapping(name: "Square", kind: .add, source: nil, destination: "Square"),
    ]
    let summary = try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, Z_OPT FROM source.ZSHAPE") == ["1|1"])
    #expect(summary.dropped == [.init(entity: "Circle", rows: 1, reason: "remove mapping")])
    #expect(summary.objects == 1)
  }

  @Test(arguments: [
    ("TERNARY($source.size == nil, 1, 2)", ["2", "1"]), ("TERNARY($source.size < 5, 1, 2)", ["1", "2"]),
    ("TERNARY(NOT $source.size < 5, 1, 2)", ["2", "1"]), ("TERNARY($source.size != 3, 1, 2)", ["2", "1"]),
    ("$source.size + 1", ["4", "nil"]), ("$source.size / 2", ["1", "nil"]), ("$source.size / 0", ["nil", "nil"]),
    ("-$source.size", ["-3", "nil"]), ("$source.size * 2 - 1", ["5", "nil"]),
  ]) func `in a value expression nil equals nil and a comparison with it is known`(
    expression: String, values: [String]
  ) throws {
    let fixture = try shapes([("Shape", 1, 3), ("Shape", 2, nil)])
    fixture.mappings = [
      try .make("Shape", "Shape", attributes: ["size": expression.replacing(".size", with: ".#size")])
    ]
    try fixture.run()
    #expect(try fixture.rows("SELECT ZSIZE FROM source.ZSHAPE ORDER BY Z_PK") == values)
  }

  // MARK: Relationships

  /// Countries on continents; moods in countries.
  private static let world: [EntityDescription] = [
    .make(
      "Continent", ["name": .string],
      [
        .toMany("countries", "Country", inverse: "continent"), .toMany("moods", "Mood", inverse: "continent"),
      ]),
    .make(
      "Country", ["name": .string],
      [
        .toOne("continent", "Continent", inverse: "countries"), .toMany("moods", "Mood", inverse: "country"),
      ]),
    .make(
      "Mood", ["name": .string],
      [
        .toOne("country", "Country", inverse: "moods"), .toOne("continent", "Continent", inverse: "moods"),
      ]),
  ]

  private func world() throws -> MigrationFixture {
    let fixture = try MigrationFixture(Self.world, to: Self.world)
    try fixture.build { store in
      for key in Int64(1)...2 { try store.insert("Continent", key: key, attributes: [:], relationships: [:]) }
      for key in Int64(1)...4 {
        try store.insert(
          "Country", key: key, attributes: [:], relationships: key == 4 ? [:] : ["continent": [(key + 1) / 2]])
      }
      for key in Int64(1)...6 {
        try store.insert("Mood", key: key, attributes: [:], relationships: ["country": [(key + 1) / 2 + key / 6]])
      }
    }
    return fixture
  }

  @Test func `a key path may have several segments`() throws {
    let fixture = try world()
    fixture.mappings = [
      try .make("Continent", "Continent"), try .make("Country", "Country"),
      try .make(
        "Mood", "Mood",
        relationships: ["continent": .mapping("ContinentToContinent", keyPath: ["country", "continent"])]),
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZCONTINENT FROM source.ZMOOD ORDER BY Z_PK") == [
        "1|1", "2|1", "3|1", "4|1", "5|2", "6|nil",
      ])
  }

  @Test func `a key path may pass through to-many relationships`() throws {
    let fixture = try world()
    fixture.mappings = [
      try .make(
        "Continent", "Continent",
        relationships: ["moods": .mapping("MoodToMood", keyPath: ["countries", "@distinctUnionOfSets", "moods"])]),
      try .make("Country", "Country"), try .make("Mood", "Mood"),
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZCONTINENT FROM source.ZMOOD ORDER BY Z_PK") == [
        "1|1", "2|1", "3|1", "4|1", "5|2", "6|nil",
      ])
  }

  @Test func `a to-one that finds several takes the first in mapping order, then by key, and counts`() throws {
    let fixture = try world()
    fixture.mappings = [
      try .make("Continent", "Continent"), try .make("Mood", "Mood"),
      // Each country takes its continent from its moods' countries: the same one, found once a mood.
      try .make(
        "Country", "Country",
        relationships: ["continent": .mapping("ContinentToContinent", keyPath: ["moods", "country", "continent"])]),
    ]
    let summary = try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZCONTINENT FROM source.ZCOUNTRY ORDER BY Z_PK") == ["1|1", "2|1", "3|2", "4|nil"])
    // The same continent found twice is one object.
    #expect(summary.ambiguousToOne == 0)
  }

  @Test func `of several counterparts of one object the first mapping's is taken and counted`() throws {
    let fixture = try world()
    fixture.mappings = [
      try .make("Mood", "Mood", relationships: ["country": .sourceRelationship("country")]),
      try .make("Country", "Country", name: "First"), try .make("Country", "Country", name: "Second"),
    ]
    let summary = try fixture.run()
    #expect(try fixture.rows("SELECT MAX(ZCOUNTRY), COUNT(ZCOUNTRY) FROM source.ZMOOD") == ["4|6"])
    #expect(summary.ambiguousToOne == 6)
  }

  @Test func `a lookup keeps only objects of the relationship's destination entity and its subentities`() throws {
    let destination: [EntityDescription] = [
      .make("Owner", [:], [.toOne("pet", "Cat", inverse: "owner")]),
      .make("Animal"), .make("Cat", parent: "Animal", [:], [.toOne("owner", "Owner", inverse: "pet")]),
      .make("Dog", parent: "Animal"),
    ]
    let source: [EntityDescription] = [
      .make("Owner", [:], [.toOne("pet", "Beast", inverse: "owner")]),
      .make("Beast", ["kind": .string], [.toOne("owner", "Owner", inverse: "pet")]),
    ]
    let fixture = try MigrationFixture(source, to: destination)
    try fixture.build { store in
      for key in Int64(1)...2 {
        try store.insert("Owner", key: key, attributes: [:], relationships: [:])
        try store.insert(
          "Beast", key: key, attributes: ["kind": .init(key == 1 ? "cat" : "dog")], relationships: ["owner": [key]])
      }
    }
    try fixture.alter("UPDATE ZOWNER SET ZPET = Z_PK")
    fixture.mappings = [
      try .make("Owner", "Owner", relationships: ["pet": .sourceRelationship("pet")]),
      try .make("Beast", "Cat", filter: "kind == 'cat'"), try .make("Beast", "Dog", filter: "kind == 'dog'"),
    ]
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZPET FROM source.ZOWNER ORDER BY Z_PK") == ["1|1", "2|nil"])
    #expect(try fixture.rows("SELECT Z_PK, ZOWNER FROM source.ZANIMAL ORDER BY Z_PK") == ["1|1", "2|nil"])
  }

  @Test func `the same name for the same entities in two listed files is one association`() throws {
    let fixture = try world()
    var job = try fixture.job
    job.steps[0].mappingModels = [
      MappingModel(entityMappings: [try .make("Country", "Country", name: "C", filter: "SELF.continent != nil")]),
      MappingModel(entityMappings: [
        try .make("Country", "Country", name: "C", filter: "SELF.continent == nil"),
        try .make("Mood", "Mood", relationships: ["country": .mapping("C", keyPath: ["country"])]),
      ]),
    ]
    try MigrationManager(job).run()
    #expect(try fixture.rows("SELECT COUNT(*), COUNT(ZCOUNTRY) FROM source.ZMOOD") == ["6|6"])
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZCOUNTRY") == ["4"])
  }

  @Test func `a one-to-one follows the last assignment of both ends`() throws {
    let entities: [EntityDescription] = [
      .make("Key", [:], [.toOne("lock", "Lock", inverse: "key")]),
      .make("Lock", [:], [.toOne("key", "Key", inverse: "lock")]),
    ]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Lock", key: key, attributes: [:], relationships: [:]) }
      for key in Int64(1)...3 { try store.insert("Key", key: key, attributes: [:], relationships: [:]) }
    }
    // Half-linked, as crashes and bugs leave it: two keys claim lock 1, and no lock says which.
    try fixture.alter("UPDATE ZKEY SET ZLOCK = CASE Z_PK WHEN 3 THEN 2 ELSE 1 END")
    fixture.mappings = [
      try .make("Key", "Key", relationships: ["lock": .sourceRelationship("lock")]), try .make("Lock", "Lock"),
    ]
    let summary = try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZLOCK FROM source.ZKEY ORDER BY Z_PK") == ["1|nil", "2|1", "3|2"])
    #expect(try fixture.rows("SELECT Z_PK, ZKEY FROM source.ZLOCK ORDER BY Z_PK") == ["1|2", "2|3", "3|nil"])
    #expect(summary.overridden == 1)
  }

  @Test func `a dangling link becomes nil`() throws {
    let fixture = try world()
    try fixture.alter("UPDATE ZMOOD SET ZCOUNTRY = 999 WHERE Z_PK = 1")
    fixture.mappings = [try .make("Country", "Country", kind: .copy), try .make("Mood", "Mood", kind: .copy)]
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK FROM source.ZMOOD WHERE ZCOUNTRY IS NULL") == ["1"])
  }
}

import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

extension EntityDescription {
  /// The entity with some of its parts changed.
  fileprivate func with(_ change: (inout EntityDescription) -> Void) -> EntityDescription {
    var entity = self
    change(&entity)
    return entity
  }
}

/// The effect of each change that can be inferred on values and links, in a store that is migrated by it.
struct `Inferred migrations` {
  @Test func `an inferred migration adds and removes properties and entities`() throws {
    let fixture = try MigrationFixture(
      [
        .make("Person", ["age": .integer32, "name": .string], [.toMany("cars", "Car", inverse: "owner")]),
        .make("Car", ["plate": .string], [.toOne("owner", "Person", inverse: "cars")]),
        .make("Note", ["text": .string]),
      ],
      to: [
        EntityDescription(
          name: "Person",
          attributes: [
            .make("name"), .make("rank", .integer16, isOptional: false, default: .integer(7)),
            .make("motto"),
          ], relationships: [.toMany("pets", "Pet", inverse: "owner")]),
        .make("Car", ["plate": .string]), .make("Pet", [:], [.toOne("owner", "Person", inverse: "pets")]),
      ])
    try fixture.build { store in
      try store.insert("Person", key: 1, attributes: ["name": .init("Ada"), "age": .integer(36)])
      try store.insert("Person", key: 2)
      try store.insert("Car", key: 1, attributes: ["plate": .init("A 1")], relationships: ["owner": [1]])
      try store.insert("Note", key: 1, attributes: ["text": .init("x")])
    }
    let model = try fixture.infer()
    #expect(
      model.entityMappings.map(\.name)
        == ["IEM_Transform_Car", "IEM_Remove_Note", "IEM_Transform_Person", "IEM_Add_Pet"])
    #expect(model.entityMappings.map(\.kind) == [.transform, .remove, .transform, .add])
    let summary = try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZNAME, ZRANK, ZMOTTO FROM source.ZPERSON ORDER BY Z_PK") == [
        "1|Ada|7|nil", "2|nil|7|nil",
      ])
    #expect(try fixture.rows("SELECT Z_PK, ZPLATE FROM source.ZCAR") == ["1|A 1"])
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZPET") == ["0"])
    #expect(summary.dropped.map(\.entity) == ["Note"])
  }

  @Test func `an inferred mapping copies an unchanged entity, with every expression written out`() throws {
    let shapes: [EntityDescription] = [
      .make("A", ["n": .integer16], [.toOne("b", "B", inverse: "a")]),
      .make("B", [:], [.toOne("a", "A", inverse: "b")]),
    ]
    let fixture = try MigrationFixture(shapes, to: shapes)
    let model = try fixture.infer()
    #expect(model.entityMappings.map(\.name) == ["IEM_Copy_A", "IEM_Copy_B"])
    #expect(model.entityMappings.map(\.kind) == [.copy, .copy])
    #expect(model["IEM_Copy_A"]?.attributeMappings.map(\.value.source.text) == ["$source.n"])
    #expect(model["IEM_Copy_A"]?.relationshipMappings.map(\.value) == [.sourceRelationship("b")])
  }

  @Test(arguments: [
    (AttributeType.string, AttributeValue.init("none"), AttributeValue.init("a"), ["a", "none"]),
    (.integer64, .integer(-3), .integer(5), ["5", "-3"]), (.boolean, .boolean(true), .boolean(false), ["0", "1"]),
    (.double, .double(0.5), .double(2.5), ["2.5", "0.5"]), (.date, .date(10), .date(20), ["20.0", "10.0"]),
    (.decimal, .decimal(3), .decimal(4), ["4", "3"]),
  ])
  func `an inferred change from optional to required turns only nil into the default`(
    type: AttributeType, standard: AttributeValue, value: AttributeValue, expected: [String]
  ) throws {
    let fixture = try MigrationFixture(
      [EntityDescription(name: "A", attributes: [.make("v", type)])],
      to: [EntityDescription(name: "A", attributes: [.make("v", type, isOptional: false, default: standard)])])
    try fixture.build { store in
      try store.insert("A", key: 1, attributes: ["v": value])
      try store.insert("A", key: 2)
    }
    let model = try fixture.infer()
    #expect(model["IEM_Transform_A"]?.attributeMappings.map(\.usesDefaultForNil) == [true])
    try fixture.run()
    let rows = try fixture.rows("SELECT ZV FROM source.ZA ORDER BY Z_PK")
    #expect(rows == expected || rows.map { Double($0) } == expected.map { Double($0) } && Double(expected[0]) != nil)
  }

  typealias NumericChange = (
    was: AttributeType, now: AttributeType, values: [AttributeValue], expected: [String], misfit: AttributeValue?
  )

  /// The results, or the value that stops the run.
  private static let numericChanges: [NumericChange] = [
    (
      .integer16, .integer64, [.integer(-7), .integer(300)], ["-7", "300"], nil
    ),
    (
      .integer64, .integer16, [.integer(-32_768), .integer(32_767)], ["-32768", "32767"], .integer(32_768)
    ),
    (.integer64, .integer32, [.integer(5)], ["5"], .integer(-2_147_483_649)),
    (.integer64, .double, [.integer(1), .integer((1 << 53) + 1)], ["1.0", "9007199254740992.0"], nil),
    (.integer64, .decimal, [.integer((1 << 53) + 1)], ["9007199254740993"], nil),
    (.float, .double, [.double(0.5)], ["0.5"], nil), (.double, .float, [.double(0.1)], ["0.1"], nil),
    (.decimal, .double, [.decimal(3), .decimal(Decimal(string: "2.5") ?? 0)], ["3.0", "2.5"], nil),
    (.double, .integer32, [.double(4), .double(-1)], ["4", "-1"], .double(1.5)),
    (.decimal, .integer64, [.decimal(9)], ["9"], .decimal(Decimal(string: "0.25") ?? 0)),
    (.double, .decimal, [.double(1.25)], ["1.25"], nil),
    (.boolean, .integer16, [.boolean(true), .boolean(false)], ["1", "0"], nil),
  ]

  @Test(arguments: numericChanges)
  func `an inferred change of numeric type keeps values, and stops at one that does not fit`(
    was: AttributeType, now: AttributeType, values: [AttributeValue], expected: [String], misfit: AttributeValue?
  ) throws {
    for wrong in misfit == nil ? [nil] : [nil, misfit] {
      let fixture = try MigrationFixture(
        [EntityDescription(name: "A", attributes: [.make("s"), .make("v", was)])],
        to: [EntityDescription(name: "A", attributes: [.make("s"), .make("v", now)])])
      let all = values + [.null] + (wrong.map { [$0] } ?? [])
      try fixture.build { store in
        for value in all { try store.insert("A", attributes: ["v": value]) }
      }
      try fixture.infer()
      let plan = try MigrationManager(fixture.job).plan()
      guard wrong != nil else {
        try fixture.run()
        #expect(try fixture.rows("SELECT ZV FROM source.ZA ORDER BY Z_PK") == expected + ["nil"])
        let changes = values == [.integer(1), .integer((1 << 53) + 1)] || now == .float
        #expect(plan.notes == [])
        #expect(
          plan.losses.losses.map(\.description)
            == (changes ? ["1 value of A.v (\(was.xcodeName) to \(now.xcodeName))"] : []))
        continue
      }
      #expect(plan.notes == ["the run will stop: 1 value of A.v does not fit, \(was.xcodeName) to \(now.xcodeName)"])
      let error = #expect(throws: GodwitError.self) { try fixture.run() }
      #expect(error?.code == .dataWrong)
      #expect(error?.message.contains("A p\(all.count)") == true, "\(error?.message ?? "")")
    }
  }

  @Test func `links to a replaced entity are dropped and counted`() throws {
    let fixture = try MigrationFixture(
      [
        .make("A", [:], [.toOne("one", "Old", inverse: "back"), .toMany("many", "Old", inverse: "others")]),
        .make("Old", [:], [.toMany("back", "A", inverse: "one"), .toMany("others", "A", inverse: "many")]),
      ],
      to: [
        .make("A", [:], [.toOne("one", "New", inverse: "back"), .toMany("many", "New", inverse: "others")]),
        .make("New", [:], [.toMany("back", "A", inverse: "one"), .toMany("others", "A", inverse: "many")]),
      ])
    try fixture.build { store in
      try store.insert("Old", key: 1)
      try store.insert("Old", key: 2)
      try store.insert("A", key: 1, relationships: ["one": [1], "many": [1, 2]])
      try store.insert("A", key: 2)
    }
    try fixture.infer()
    let summary = try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZONE FROM source.ZA ORDER BY 1") == ["1|nil", "2|nil"])
    #expect(summary.dropped.map(\.entity) == ["Old"])
    let join = try #require(StoreSchema(model: fixture.destination).joinTables.first)
    #expect(try fixture.rows("SELECT count(*) FROM source.\(join.name)") == ["0"])
    var job = try fixture.job
    job.steps[0].origin = MigrationStep.inferredOrigin
    #expect(
      try MigrationManager(job).plan().losses.losses.filter { $0.kind == .links }.map(\.description).sorted() == [
        "1 link of A.one (to 'Old', which the destination's relationship does not accept)",
        "2 links of A.many (to 'Old', which the destination's relationship does not accept)",
      ])
  }

  @Test func `an inferred change from required to optional keeps the values`() throws {
    let fixture = try MigrationFixture(
      [EntityDescription(name: "A", attributes: [.make("v", isOptional: false, default: .init("d"))])],
      to: [EntityDescription(name: "A", attributes: [.make("v")])])
    try fixture.build { store in
      try store.insert("A", key: 1, attributes: ["v": .init("x")])
    }
    try fixture.infer()
    try fixture.run()
    #expect(try fixture.rows("SELECT ZV FROM source.ZA") == ["x"])
  }

  @Test func `renaming identifiers are followed on entity, attribute and relationship`() throws {
    var owner = RelationshipDescription.toOne("keeper", "Human", inverse: "autos")
    owner.renamingIdentifier = "owner"
    var cars = RelationshipDescription.toMany("autos", "Auto", inverse: "keeper")
    cars.renamingIdentifier = "cars"
    let fixture = try MigrationFixture(
      [
        .make("Person", ["name": .string], [.toMany("cars", "Car", inverse: "owner")]),
        .make("Car", ["color": .string], [.toOne("owner", "Person", inverse: "cars")]),
      ],
      to: [
        EntityDescription(name: "Human", attributes: [.make("title", was: "name")], relationships: [cars])
          .with { $0.renamingIdentifier = "Person" },
        EntityDescription(name: "Auto", attributes: [.make("paint", was: "color")], relationships: [owner])
          .with { $0.renamingIdentifier = "Car" },
      ])
    try fixture.build { store in
      for key in 1...2 as ClosedRange<Int64> {
        try store.insert("Person", key: key, attributes: ["name": .init("P\(key)")])
      }
      for key in 1...4 as ClosedRange<Int64> {
        try store.insert(
          "Car", key: key, attributes: ["color": .init("c\(key)")], relationships: ["owner": [1 + key % 2]])
      }
    }
    let model = try fixture.infer()
    #expect(model.entityMappings.map(\.name) == ["IEM_Transform_Car", "IEM_Transform_Person"])
    try fixture.run()
    #expect(
      try fixture.rows(
        "SELECT a.Z_PK, ZPAINT, ZTITLE FROM source.ZAUTO a JOIN source.ZHUMAN h ON h.Z_PK = ZKEEPER ORDER BY 1")
        == ["1|c1|P2", "2|c2|P1", "3|c3|P2", "4|c4|P1"])
  }

  @Test func `exchanged names keep their own values`() throws {
    let before = EntityDescription(name: "A", attributes: [.make("x"), .make("y")])
    let swapped = EntityDescription(
      name: "A", attributes: [.make("x", was: "y"), .make("y", was: "x"), .make("z")])
    let fixture = try MigrationFixture([before], to: [swapped])
    try fixture.build { store in
      try store.insert("A", key: 1, attributes: ["x": .init("X"), "y": .init("Y")])
    }
    try fixture.infer()
    try fixture.run()
    #expect(try fixture.rows("SELECT ZX, ZY, ZZ FROM source.ZA") == ["Y|X|nil"])
  }

  @Test func `a name freed by a rename can be used again, and a rename is followed once`() throws {
    let first = EntityDescription(name: "A", attributes: [.make("x")])
    let second = EntityDescription(name: "A", attributes: [.make("x"), .make("y", was: "x")])
    let third = EntityDescription(name: "A", attributes: [.make("x"), .make("y", was: "x"), .make("z")])
    for (before, after, values, expected) in [
      (first, second, ["x": "X"], "nil|X"), (second, third, ["x": "X", "y": "Y"], "X|Y"),
    ] {
      let fixture = try MigrationFixture([before], to: [after])
      try fixture.build { store in
        try store.insert("A", key: 1, attributes: values.mapValues { AttributeValue($0) })
      }
      try fixture.infer()
      try fixture.run()
      #expect(try fixture.rows("SELECT ZX, ZY FROM source.ZA") == [expected])
    }
  }

  @Test func `an inferred migration turns a to-one into a to-many`() throws {
    let fixture = try MigrationFixture(
      [
        .make("A", [:], [.toOne("b", "B", inverse: "a")]),
        .make("B", ["n": .integer16], [.toOne("a", "A", inverse: "b")]),
      ],
      to: [
        .make("A", [:], [.toMany("b", "B", inverse: "a")]),
        .make("B", ["n": .integer16], [.toOne("a", "A", inverse: "b")]),
      ])
    try fixture.build { store in
      for key in 1...3 as ClosedRange<Int64> {
        try store.insert("A", key: key, relationships: key == 1 ? ["b": [2]] : key == 3 ? ["b": [1]] : [:])
        try store.insert(
          "B", key: key, attributes: ["n": .integer(key)],
          relationships: key == 1 ? ["a": [3]] : key == 2 ? ["a": [1]] : [:])
      }
    }
    try fixture.infer()
    try fixture.run()
    let rows = try fixture.rows("SELECT Z_PK, ZA FROM source.ZB ORDER BY 1")
    #expect(rows == ["1|3", "2|1", "3|nil"])
  }

  @Test(arguments: [true, false]) func `an inferred migration turns unordered into ordered, and the reverse`(
    isOrdered: Bool
  ) throws {
    func shapes(_ isOrdered: Bool) -> [EntityDescription] {
      [
        .make("A", [:], [.toMany("bs", "B", inverse: "a", ordered: isOrdered)]),
        .make("B", [:], [.toOne("a", "A", inverse: "bs")]),
      ]
    }
    let fixture = try MigrationFixture(shapes(!isOrdered), to: shapes(isOrdered))
    try fixture.build { store in
      try store.insert("A", key: 1)
      for key in 1...3 as ClosedRange<Int64> {
        try store.insert("B", key: key, relationships: ["a": [1]])
      }
    }
    try fixture.infer()
    try fixture.run()
    let order = isOrdered ? ", Z_FOK_A" : ""
    #expect(
      try fixture.rows("SELECT Z_PK, ZA\(order) FROM source.ZB ORDER BY 1")
        == (isOrdered ? ["1|1|2048", "2|1|3072", "3|1|4096"] : ["1|1", "2|1", "3|1"]))
  }

  /// `Dog` and `Cat` with links between them, in every shape of hierarchy that can be inferred.
  private func pets(
    _ before: [EntityDescription], _ after: [EntityDescription], _ sql: String, _ expected: [String]
  ) throws {
    let fixture = try MigrationFixture(before, to: after)
    try fixture.build { store in
      for key in 1...2 as ClosedRange<Int64> {
        try store.insert(
          "Dog", key: key, attributes: ["name": .init("D\(key)")], relationships: key == 1 ? ["foe": [4]] : [:])
        try store.insert("Cat", key: key + 2, attributes: ["name": .init("C\(key + 2)")])
      }
    }
    try fixture.infer()
    try fixture.run()
    #expect(try fixture.rows(sql) == expected)
  }

  private static let name: [String: AttributeType] = ["name": .string]
  private static let foe = RelationshipDescription.toOne("foe", "Cat", inverse: "dog")
  private static let dog = RelationshipDescription.toOne("dog", "Dog", inverse: "foe")
  private static let hierarchy: [EntityDescription] = [
    .make("Pet", name), .make("Dog", parent: "Pet", [:], [foe]), .make("Cat", parent: "Pet", [:], [dog]),
  ]
  private static let together = """
    SELECT p.Z_PK, Z_NAME, ZNAME, ZFOE FROM source.ZPET p JOIN source.Z_PRIMARYKEY k ON k.Z_ENT = p.Z_ENT ORDER BY 1
    """
  private static let same = ["1|Dog|D1|4", "2|Dog|D2|nil", "3|Cat|C3|nil", "4|Cat|C4|nil"]

  @Test func `an inferred migration moves properties down a hierarchy`() throws {
    try pets(
      Self.hierarchy,
      [
        .make("Pet"), .make("Dog", parent: "Pet", Self.name, [Self.foe]),
        .make("Cat", parent: "Pet", Self.name, [Self.dog]),
      ],
      "SELECT p.Z_PK, Z_NAME, COALESCE(ZNAME, ZNAME1), ZFOE FROM source.ZPET p JOIN source.Z_PRIMARYKEY k ON k.Z_ENT = p.Z_ENT ORDER BY 1",
      Self.same)
  }

  @Test func `an inferred migration moves properties up a hierarchy`() throws {
    try pets(
      [
        .make("Pet"), .make("Dog", parent: "Pet", Self.name, [Self.foe]),
        .make("Cat", parent: "Pet", Self.name, [Self.dog]),
      ],
      Self.hierarchy, Self.together, Self.same)
  }

  @Test func `an inferred migration adds a child, and a parent in between`() throws {
    try pets(
      Self.hierarchy,
      Self.hierarchy.filter { $0.name != "Dog" } + [
        .make("Hunter", parent: "Pet", isAbstract: true, ["prey": .string]),
        .make("Dog", parent: "Hunter", [:], [Self.foe]), .make("Kitten", parent: "Cat"),
      ], Self.together, Self.same)
  }

  @Test func `an inferred migration takes entities out of a hierarchy`() throws {
    try pets(
      Self.hierarchy, [.make("Dog", Self.name, [Self.foe]), .make("Cat", Self.name, [Self.dog])],
      """
      SELECT Z_PK, 'Dog', ZNAME, ZFOE FROM source.ZDOG UNION ALL SELECT Z_PK, 'Cat', ZNAME, NULL FROM source.ZCAT
      ORDER BY 1
      """, Self.same)
  }

  @Test func `an inferred migration gives an entity a new parent`() throws {
    let fixture = try MigrationFixture(
      [.make("Dog", ["age": .integer16, "name": .string])],
      to: [.make("Pet", isAbstract: true, ["name": .string]), .make("Dog", parent: "Pet", ["age": .integer16])])
    try fixture.build { store in
      try store.insert("Dog", key: 5, attributes: ["name": .init("D"), "age": .integer(3)])
    }
    try fixture.infer()
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZNAME, ZAGE FROM source.ZPET") == ["5|D|3"])
  }

  @Test func `to-manys of the same name without an inverse stay separate`() throws {
    func shapes(_ attribute: String) -> [EntityDescription] {
      [
        .make("A", [attribute: .string], [.toMany("bs", "B", inverse: nil)]), .make("B"),
        .make("C", [:], [.toMany("bs", "B", inverse: nil)]),
      ]
    }
    let fixture = try MigrationFixture(shapes("x"), to: shapes("y"))
    try fixture.build { store in
      for entity in ["A", "B", "C"] { try store.insert(entity, key: 1) }
    }
    let model = try fixture.infer()
    #expect(model.entityMappings.map(\.name) == ["IEM_Transform_A", "IEM_Copy_B", "IEM_Copy_C"])
    #expect(model.entityMappings.flatMap(\.relationshipMappings).map(\.name) == ["bs", "bs"])
    #expect(try fixture.run().objects == 3)
  }

  @Test func `a renamed many-to-many keeps its links`() throws {
    var tags = RelationshipDescription.toMany("labels", "Tag", inverse: "notes", ordered: true)
    tags.renamingIdentifier = "tags"
    let fixture = try MigrationFixture(
      [
        .make("Note", [:], [.toMany("tags", "Tag", inverse: "notes")]),
        .make("Tag", [:], [.toMany("notes", "Note", inverse: "tags")]),
      ],
      to: [.make("Note", [:], [tags]), .make("Tag", [:], [.toMany("notes", "Note", inverse: "labels")])])
    try fixture.build { store in
      for key in 1...3 as ClosedRange<Int64> {
        let tags: [Int64] = key == 1 ? [2, 3] : key == 2 ? [1] : []
        try store.insert("Note", key: key, relationships: ["tags": tags])
        try store.insert("Tag", key: key)
      }
    }
    try fixture.infer()
    try fixture.run()
    let rows = try fixture.rows("SELECT Z_1NOTES, Z_2LABELS, Z_FOK_2LABELS FROM source.Z_1LABELS ORDER BY 1, 3")
    #expect(rows == ["1|2|2048", "1|3|3072", "2|1|2048"])
  }
}

import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import Testing

private func animals() -> [EntityDescription] {
  [
    .make("Cat", ["name": .string], [.toOne("friend", "Dog", inverse: "friends")]),
    .make("Dog", ["name": .string], [.toMany("friends", "Cat", inverse: "friend")]),
  ]
}

private func pets() -> [EntityDescription] {
  [
    .make(
      "Pet", isAbstract: true, ["name": .string],
      [
        .toOne("leader", "Pet", inverse: "followers"),
        .toMany("followers", "Pet", inverse: "leader"),
      ]),
    .make("PetCat", parent: "Pet"), .make("PetDog", parent: "Pet"),
  ]
}

private func fixture(cats: [Int64], dogs: [Int64]) throws -> MigrationFixture {
  let fixture = try MigrationFixture(animals(), to: pets())
  try fixture.build { store in
    for key in dogs {
      try store.insert(
        "Dog", key: key, attributes: ["name": .init("dog \(key)")], relationships: [:])
    }
    for key in cats {
      try store.insert(
        "Cat", key: key, attributes: ["name": .init("cat \(key)")],
        relationships: dogs.first.map { ["friend": [$0]] } ?? [:])
    }
  }
  fixture.mappings = [
    try .make(
      "Cat", "PetCat", attributes: ["name": "$source.name"],
      relationships: ["leader": .sourceRelationship("friend")]),
    try .make("Dog", "PetDog", attributes: ["name": "$source.name"]),
  ]
  return fixture
}

@Suite struct KeyTests {
  @Test func `keys of a second source table move above the first, and links follow`() throws {
    let fixture = try fixture(cats: [2, 5, 9], dogs: [1, 5])
    try fixture.run()
    // PetCat is entity 2, PetDog 3, and the leader's entity is beside its key.
    #expect(
      try fixture.rows(
        "SELECT Z_PK, Z_ENT, ZNAME, ZLEADER, Z1_LEADER FROM source.ZPET ORDER BY Z_PK") == [
          "2|2|cat 2|10|3", "5|2|cat 5|10|3", "9|2|cat 9|10|3", "10|3|dog 1|nil|nil",
          "14|3|dog 5|nil|nil",
        ])
    #expect(
      try fixture.rows("SELECT Z_NAME, Z_MAX FROM source.Z_PRIMARYKEY ORDER BY Z_ENT") == [
        "Pet|14", "PetCat|0", "PetDog|0",
      ])
  }

  @Test func `negative and huge keys are kept`() throws {
    let fixture = try fixture(cats: [.min, -5, 0, 7, .max - 1], dogs: [])
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK FROM source.ZPET ORDER BY Z_PK") == [
        "\(Int64.min)", "-5", "0", "7", "\(Int64.max - 1)",
      ])
  }

  @Test func `keys that an offset would overflow are numbered densely`() throws {
    let fixture = try fixture(cats: [1, 2], dogs: [.max - 3, .max - 1])
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZNAME, ZLEADER FROM source.ZPET ORDER BY Z_PK") == [
        "1|cat 1|3", "2|cat 2|3", "3|dog \(Int64.max - 3)|nil", "4|dog \(Int64.max - 1)|nil",
      ])
  }

  @Test
  func `keys near the largest are numbered densely, and verify finds where each mapping begins`()
    throws
  {
    let high: Int64 = 1 << 62
    let (low, far) = ([Int64](1...40), (0..<40).map { (place: Int64) -> Int64 in high + place * 7 })
    let dogsFar = (0..<30).map { (place: Int64) -> Int64 in high + place * 3 }
    let cases: [(cats: [Int64], dogs: [Int64])] = [
      (low, dogsFar), (far, [Int64](1...30)), (far, dogsFar), ([1, .max - 1], dogsFar),
    ]
    for (cats, dogs) in cases {
      let fixture = try fixture(cats: cats, dogs: dogs)
      // Two mappings of one group, and a group after it.
      fixture.mappings = [
        fixture.mappings[0],
        try .make(
          "Dog", "PetDog", filter: "name < 'dog 46116860184273879'",
          attributes: ["name": "$source.name"]),
        try .make(
          "Dog", "PetDog", name: "Rest", filter: "NOT name < 'dog 46116860184273879'",
          attributes: ["name": "$source.name"]),
        try .make("Cat", "PetCat", name: "Twin", attributes: ["name": "uppercase($source.name)"]),
      ]
      try fixture.run()
    }
  }

  /// Dogs of which the first are neighbours, and that are numbered densely for the sake of the last ones.
  private func dense(_ dogs: [Int64]) throws -> MigrationFixture {
    let fixture = try fixture(cats: [1, 2], dogs: dogs)
    fixture.mappings = [
      fixture.mappings[0],
      try .make("Dog", "PetDog", filter: "name < 'dog 92'", attributes: ["name": "$source.name"]),
      try .make("Dog", "PetDog", name: "Far", filter: "NOT name < 'dog 92'", attributes: ["name": "$source.name"]),
    ]
    return fixture
  }

  @Test(arguments: [7, 8, 12, 63, 64, 65, 80])
  func `verify tells dense keys from moved ones that agree in all objects of a first mapping`(count: Int64) throws {
    let fixture = try dense([Int64](10..<(10 + count)) + [.max - 2, .max - 1])
    try fixture.run()
    let last = 2 + count + 2
    #expect(
      try fixture.rows("SELECT Z_PK, ZNAME FROM source.ZPET WHERE Z_PK > \(last - 3) ORDER BY 1") == [
        "\(last - 2)|dog \(9 + count)", "\(last - 1)|dog \(Int64.max - 2)", "\(last)|dog \(Int64.max - 1)",
      ])
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("DELETE FROM ZPET WHERE Z_PK = \(last)")
    try connection.execute("UPDATE ZPET SET ZNAME = 'x' WHERE Z_PK = 5")
    try connection.close()
    let report = try Verifier(job: fixture.job).runBothWays()
    #expect(report.findings.map(\.kind) == [.value, .missingObject], "\(report)")
    #expect(report.findings.map(\.key) == [5, last], "\(report)")
  }

  @Test func `verify tells dense keys from moved ones that agree in the first objects of one mapping`() throws {
    let fixture = try fixture(cats: [1, 2], dogs: [Int64](10..<80) + [.max - 1])
    try fixture.run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("DELETE FROM ZPET WHERE Z_PK = 40")
    try connection.close()
    #expect(try Verifier(job: fixture.job).runBothWays().findings.map(\.key) == [40])
  }

  @Test func `keys below those in use are assigned when none are left above`() throws {
    let fixture = try fixture(cats: [1, .max - 1], dogs: [.max - 7, .max - 5])
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZLEADER FROM source.ZPET ORDER BY Z_PK") == [
        "-1|nil", "0|nil", "1|-1", "\(Int64.max - 1)|-1",
      ])
  }

  @Test func `an object that two mappings take keeps its key only in the first`() throws {
    let entities: [EntityDescription] = [.make("Item", ["size": .integer32])]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      for key in Int64(1)...4 {
        try store.insert("Item", key: key, attributes: ["size": .integer(key)], relationships: [:])
      }
    }
    fixture.mappings = [
      try .make("Item", "Item", name: "All", attributes: ["size": "$source.size"]),
      try .make(
        "Item", "Item", name: "Big", filter: "#size > 2", attributes: ["size": "$source.size * 100"]
      ),
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZSIZE FROM source.ZITEM ORDER BY Z_PK") == [
        "1|1", "2|2", "3|3", "4|4", "7|300", "8|400",
      ])
  }

  @Test
  func
    `as many mappings with a filter as can be counted together are taken, and one more is refused`()
    throws
  {
    for count in [126, 127] {
      let fixture = try fixture(cats: Array(1...130), dogs: [])
      fixture.mappings = try (1...count).map { number in
        try .make(
          "Cat", "PetCat", name: "Cat\(number)", filter: "name == 'cat \(number)'",
          attributes: ["name": "$source.name"]
        )
      }
      guard count > 126 else {
        #expect(try MigrationManager(fixture.job).run().objects == 126)
        continue
      }
      let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
      #expect(
        error?.code == .configuration && error?.message.contains("'Cat'") == true,
        "\(String(describing: error))")
    }
  }

  @Test func `the key of a deleted object is not assigned again`() throws {
    let fixture = try fixture(cats: [1, 2], dogs: [])
    try fixture.alter("UPDATE Z_PRIMARYKEY SET Z_MAX = 77 WHERE Z_NAME = 'Cat'")
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_NAME = 'Pet'") == ["77"])
  }
}

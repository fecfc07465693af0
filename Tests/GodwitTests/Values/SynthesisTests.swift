import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitSynthesis
import GodwitXcode
import TestSupport
import Testing

/// Models that between them use every feature a synthetic store has to honour.
private enum SampleModel: String, CaseIterable, Sendable {
  case values, inheritance, relationships, demanding, mutual

  var entities: [EntityDescription] {
    switch self {
    case .values: Self.valuesEntities
    case .inheritance: Self.inheritanceEntities
    case .relationships: Self.relationshipsEntities
    case .demanding: Self.demandingEntities
    case .mutual:
      [.make("Person", [:], [.toMany("friends", "Person", inverse: "friends", ordered: true)])]
    }
  }

  func model() throws -> ManagedObjectModel { try ManagedObjectModel(name: rawValue, entities: entities) }

  private static func attribute(
    _ name: String, _ type: AttributeType, optional: Bool = false,
    _ change: (inout AttributeDescription) -> Void = { _ in }
  ) -> AttributeDescription {
    var attribute = AttributeDescription(name: name, type: type, isOptional: optional)
    change(&attribute)
    return attribute
  }

  private static var valuesEntities: [EntityDescription] {
    let types = AttributeType.allCases.filter { ![.undefined, .objectID, .composite].contains($0) }
    var attributes = types.flatMap { type in
      [attribute("r\(type.rawValue)", type), attribute("o\(type.rawValue)", type, optional: true)]
    }
    attributes += [
      attribute("percent", .integer16) { ($0.minimumValue, $0.maximumValue) = (.integer(-5), .integer(100)) },
      attribute("ratio", .double) { ($0.minimumValue, $0.maximumValue) = (.double(0.25), .double(0.75)) },
      attribute("price", .decimal) { ($0.minimumValue, $0.maximumValue) = (.decimal(1), .decimal(99)) },
      attribute("born", .date) { $0.minimumValue = .date(0) },
      attribute("code", .string) { $0.regularExpression = "[A-Z]{2}-\\d{3,5}(x|yz)?" },
      attribute("short", .string) { ($0.minimumLength, $0.maximumLength) = (2, 6) },
      attribute("long", .string) { $0.minimumLength = 300 },
      attribute("strange", .string, optional: true) { $0.regularExpression = "(?=never)always" },
      attribute("status", .string) { $0.defaultValue = AttributeValue("draft") },
      attribute("media", .binary) { $0.allowsExternalBinaryDataStorage = true },
      attribute("scratch", .undefined, optional: true) { $0.isTransient = true },
      attribute("serial", .integer32), attribute("label", .string) { $0.maximumLength = 5 },
    ]
    var item = EntityDescription(name: "Item", attributes: attributes)
    item.uniquenessConstraints = [["serial"], ["label", "percent"], ["r1100"]]
    return [item]
  }

  private static var inheritanceEntities: [EntityDescription] {
    var list: [EntityDescription] = [.make("L0", isAbstract: true, ["a0": .string])]
    for level in 1...6 {
      list.append(.make("L\(level)", parent: "L\(level - 1)", isAbstract: level == 3, ["a\(level)": .integer32]))
    }
    list.append(.make("Side", parent: "L1", ["a2": .date], [.toOne("other", "L2", inverse: "sides")]))
    list[2].relationships = [.toMany("sides", "Side", inverse: "other", ordered: true)]
    list[5].uniquenessConstraints = [["a0"]]
    return list
  }

  private static var relationshipsEntities: [EntityDescription] {
    [
      .make(
        "Node", ["name": .string],
        [
          .toOne("parent", "Node", inverse: "children"), .toMany("children", "Node", inverse: "parent", ordered: true),
          .toMany("likes", "Node", inverse: "likedBy", ordered: true), .toMany("likedBy", "Node", inverse: "likes"),
          .toOne("partner", "Node", inverse: "partner"),
          .toOne("next", "Node", inverse: "previous"), .toOne("previous", "Node", inverse: "next"),
          .toMany("tags", "Tag", inverse: "nodes", ordered: true), .toOne("origin", "Thing", inverse: nil),
        ]),
      .make("Special", parent: "Node", ["rank": .integer16], [.toOne("badge", "Badge", inverse: "holder")]),
      .make("Badge", [:], [.toOne("holder", "Special", inverse: "badge")]),
      .make("Tag", ["text": .string], [.toMany("nodes", "Node", inverse: "tags", ordered: true)]),
      .make("Thing", isAbstract: true, ["t": .string]), .make("Book", parent: "Thing"), .make("Pen", parent: "Thing"),
    ]
  }

  private static var demandingEntities: [EntityDescription] {
    func required(_ relationship: RelationshipDescription, _ least: Int = 0, _ most: Int? = nil)
      -> RelationshipDescription
    {
      var relationship = relationship
      relationship.isOptional = false
      relationship.minCount = least
      if let most { relationship.maxCount = most }
      return relationship
    }
    var badge = EntityDescription.make("Badge", [:], [required(.toOne("holder", "Player", inverse: "badge"), 1)])
    badge.attributes = [AttributeDescription(name: "number", type: .integer16, isOptional: false)]
    badge.uniquenessConstraints = [["number"]]
    return [
      .make("Club", [:], [required(.toMany("teams", "Team", inverse: "club"), 2)]),
      .make(
        "Team", [:],
        [
          required(.toOne("club", "Club", inverse: "teams"), 1),
          required(.toMany("players", "Player", inverse: "team", ordered: true), 3, 11),
        ]),
      .make(
        "Player", [:],
        [
          required(.toOne("team", "Team", inverse: "players"), 1),
          required(.toOne("badge", "Badge", inverse: "holder"), 1),
          required(.toMany("sports", "Sport", inverse: "players"), 1, 3),
        ]),
      badge, .make("Sport", [:], [required(.toMany("players", "Player", inverse: "sports", ordered: true), 2)]),
    ]
  }
}

/// Makes a store in a fresh folder and hands its path on.
private func withStore(_ synthesis: StoreSynthesis, _ body: (String) throws -> Void) throws {
  let folder = try TemporaryFolder()
  let path = folder.file("made.sqlite")
  try synthesis.write(to: path)
  #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["made.sqlite"])
  try body(path)
}

struct `Synthetic stores` {
  @Test(arguments: SampleModel.allCases, [false, true])
  fileprivate func `a synthetic store has all its objects and migrates without findings`(
    sample: SampleModel, isNasty: Bool
  ) throws {
    let model = try sample.model()
    let fixture = try MigrationFixture(model, to: model)
    fixture.chunkRows = 37
    try StoreSynthesis(model: model, rows: 600, seed: 11, isNasty: isNasty).write(to: fixture.sourcePath)
    let summary = try StoreSummary(readingStoreAt: fixture.sourcePath)
    #expect(summary.entities.compactMap(\.rows).reduce(0, +) == 600)
    #expect(summary.strayRows.isEmpty)
    for entity in model.entities {
      let rows = try #require(summary.entities.first { $0.name == entity.name }?.rows)
      #expect((rows > 0) == !entity.isAbstract, "\(entity.name) has \(rows) objects")
    }
    fixture.mappings = try model.entities.filter { !$0.isAbstract }.map { try .make($0.name, $0.name, kind: .copy) }
    #expect(try fixture.run().outcome == .finished)
  }

  @Test(arguments: SampleModel.allCases)
  fileprivate func `every relationship and every optional attribute is used`(sample: SampleModel) throws {
    let model = try sample.model()
    try withStore(StoreSynthesis(model: model, rows: 400, seed: 2, isNasty: true)) { path in
      let connection = try StoreConnection.openStore(readingAt: path)
      let schema = try StoreSchema(model: model, probing: connection)
      #expect(schema == StoreSchema(model: model))
      #expect(try connection.value("PRAGMA source.integrity_check") == .text("ok"))
      for table in schema.tables {
        for column in table.columns {
          let name = StoreSchema.identifier(column.name)
          let filled = try connection.integer("SELECT count(\(name)) FROM source.\(StoreSchema.identifier(table.name))")
          let isImpossible = column.name == "ZSTRANGE"
          #expect((filled ?? 0 > 0) == !isImpossible, "\(table.name).\(column.name)")
        }
      }
      for join in schema.joinTables {
        let rows = try connection.integer("SELECT count(*) FROM source.\(StoreSchema.identifier(join.name))")
        #expect(rows ?? 0 > 10, "\(join.name)")
      }
      let counters = try connection.rows("SELECT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_SUPER = 0")
      #expect(!counters.contains([.int(0)]))
    }
  }

  @Test func `a store made with --nasty has the promised keys and values`() throws {
    let model = try SampleModel.values.model()
    try withStore(StoreSynthesis(model: model, rows: 2000, seed: 1, isNasty: true)) { path in
      let connection = try StoreConnection.openStore(readingAt: path)
      func number(_ sql: String) throws -> Int64 { try connection.integer(sql) ?? -1 }
      #expect(try number("SELECT min(Z_PK) FROM source.ZITEM") == .min)
      #expect(try number("SELECT max(Z_PK) FROM source.ZITEM") == .max)
      #expect(try number("SELECT count(*) FROM source.ZITEM WHERE ZO700 IS NULL") > 300)
      #expect(try number("SELECT count(*) FROM source.ZITEM WHERE ZR700 = ''") > 10)
      #expect(try number("SELECT count(*) FROM source.ZITEM WHERE typeof(ZR900) = 'integer'") > 100)
      #expect(try number("SELECT count(*) FROM source.ZITEM WHERE typeof(ZR900) = 'real'") > 100)
      #expect(try number("SELECT max(length(ZR1000)) FROM source.ZITEM") > 100_000)
      #expect(try number("SELECT max(length(ZR1000)) FROM source.ZITEM") <= 1 << 20)
      #expect(try number("SELECT count(*) FROM source.ZITEM WHERE ZR300 = -9223372036854775808") > 10)
      #expect(try number("SELECT count(*) FROM source.ZITEM WHERE ZR700 LIKE 'A' || char(778) || '%'") > 10)
    }
  }

  @Test func `a required to-many without a minimum is empty for some`() throws {
    func many(_ name: String, _ entity: String, _ inverse: String, least: Int) -> RelationshipDescription {
      var many = RelationshipDescription.toMany(name, entity, inverse: inverse)
      (many.isOptional, many.minCount) = (false, least)
      return many
    }
    for least in [0, 1] {
      let model = try ManagedObjectModel(
        name: "required",
        entities: [
          .make("A", [:], [many("ones", "B", "a", least: least), many("many", "B", "others", least: least)]),
          .make("B", [:], [.toOne("a", "A", inverse: "ones"), .toMany("others", "A", inverse: "many")]),
        ])
      try withStore(StoreSynthesis(model: model, rows: 100, seed: 3)) { path in
        let store = try StoreConnection(path: path)
        let join = try #require(StoreSchema(model: model).joinTables.first)
        let column = join.ownerEntityName == "A" ? join.ownerColumn : join.destinationColumn
        for links in ["SELECT ZA FROM ZB WHERE ZA NOT NULL", "SELECT \(column) FROM \(join.name)"] {
          let empty = try store.integer("SELECT count(*) FROM ZA WHERE Z_PK NOT IN (\(links))") ?? -1
          #expect(least == 0 ? empty > 0 : empty == 0, "\(links): \(empty)")
        }
        try store.close()
      }
    }
  }

  @Test func `required relationships can be satisfied for every number of rows`() throws {
    let model = try SampleModel.demanding.model()
    for rows in stride(from: 60, through: 400, by: 17) {
      try withStore(StoreSynthesis(model: model, rows: rows, seed: 1)) { path in
        let connection = try StoreConnection.openStore(readingAt: path)
        func number(_ sql: String) throws -> Int64 { try connection.integer(sql) ?? -1 }
        let few = try number(
          "SELECT count(*) FROM (SELECT count(*) AS n FROM source.ZPLAYER GROUP BY ZTEAM HAVING n NOT BETWEEN 3 AND 11)"
        )
        #expect(few == 0)
        let lone = try number(
          "SELECT count(*) FROM source.ZPLAYER AS p LEFT JOIN source.ZBADGE AS b "
            + "ON b.ZHOLDER = p.Z_PK AND b.Z_PK = p.ZBADGE WHERE b.Z_PK IS NULL")
        #expect(lone == 0)
      }
    }
  }

  @Test(arguments: [false, true]) func `equal seeds give equal stores, and different seeds different ones`(
    isNasty: Bool
  ) throws {
    for sample in SampleModel.allCases {
      let model = try sample.model()
      var dumps: [StoreDump] = []
      for seed: UInt64 in [7, 7, 8] {
        try withStore(StoreSynthesis(model: model, rows: 150, seed: seed, isNasty: isNasty)) {
          dumps.append(try StoreDump($0))
        }
      }
      #expect(dumps[1].firstDifference(from: dumps[0]) == nil)
      #expect(dumps[2].firstDifference(from: dumps[0]) != nil)
    }
  }

  @Test func `synthetic stores of few rows have exactly that number`() throws {
    let model = try SampleModel.relationships.model()
    for rows in 0...12 {
      try withStore(StoreSynthesis(model: model, rows: rows, seed: 1, isNasty: rows % 2 == 1)) { path in
        let summary = try StoreSummary(readingStoreAt: path)
        #expect(summary.entities.compactMap(\.rows).reduce(0, +) == Int64(rows))
      }
    }
  }

  @Test func `rules that cannot be satisfied are named, and no file is left`() throws {
    let folder = try TemporaryFolder()
    var code = AttributeDescription(name: "code", type: .string, isOptional: false)
    code.regularExpression = "(?=never)always"
    var flag = EntityDescription.make("Flag")
    flag.attributes = [AttributeDescription(name: "isOn", type: .boolean, isOptional: false)]
    flag.uniquenessConstraints = [["isOn"]]
    let cases: [([EntityDescription], Int, String)] = [
      ([EntityDescription(name: "Item", attributes: [code])], 5, "Item.code"), ([flag], 3, "Flag.isOn"),
      ([.make("Ghost", isAbstract: true)], 1, "no concrete entity"), (SampleModel.demanding.entities, 1, "1 object "),
    ]
    for (entities, rows, word) in cases {
      let model = try ManagedObjectModel(name: "m", entities: entities)
      let error = try #require(throws: GodwitError.self) {
        try StoreSynthesis(model: model, rows: rows, seed: 1).write(to: folder.file("out.sqlite"))
      }
      #expect(error.code == .usage)
      #expect(error.message.contains(word))
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test func `fifty thousand rows are made`() throws {
    let model = try SampleModel.relationships.model()
    try withStore(StoreSynthesis(model: model, rows: 50_000, seed: 4)) { path in
      let rows = try StoreSummary(readingStoreAt: path).entities.compactMap(\.rows)
      #expect(rows.reduce(0, +) == 50_000)
    }
  }

  @Test func `the order of an inverse relationship is completed by key`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("s.sqlite")
    let model = try ManagedObjectModel(
      name: "m",
      entities: [
        .make("Box", [:], [.toMany("things", "Item", inverse: "box", ordered: true)]),
        .make("Item", [:], [.toOne("box", "Box", inverse: "things")]),
      ])
    let builder = try StoreBuilder(path: path, model: model)
    // One owner of many: quadratic work would show.
    for _ in 0..<20_000 { try builder.insert("Item", relationships: ["box": [1]]) }
    try builder.insert("Box", relationships: ["things": [20_000, 5]])
    try builder.finish()
    let connection = try StoreConnection.openStore(readingAt: path)
    let first = try connection.rows("SELECT Z_PK, Z_FOK_BOX FROM source.ZITEM ORDER BY 2 LIMIT 4")
    #expect(
      first == [[.int(20_000), .int(2048)], [.int(5), .int(3072)], [.int(1), .int(4096)], [.int(2), .int(5120)]])
    #expect(try connection.integer("SELECT count(DISTINCT Z_FOK_BOX) FROM source.ZITEM") == 20_000)
  }

  /// Current versions that cannot be read, each with the reason.
  private static let unreadable: [(name: String, reason: String)] = [
    ("RestKitCoreData.xcdatamodeld", "holds no version"),
    ("_history/DuckDuckGo/NetworkLeaderboard.xcdatamodeld", "names no current version"),
    ("Advanced.EvolutionDemo.xcdatamodeld", "names no current version"),
  ]

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `a synthetic store can be made for every current version of the corpus`() throws {
    let root = try #require(Corpus.folder).path
    let walk = try #require(FileManager.default.enumerator(atPath: root))
    var made = 0
    for case let name as String in walk where name.hasSuffix(".xcdatamodeld") {
      let model: ManagedObjectModel
      do { model = try ModelBundle(contentsOf: root + "/" + name).currentModel() } catch {
        #expect(Self.unreadable.contains { name.hasSuffix($0.name) }, "\(name): \(error)")
        continue
      }
      let rowsWanted = model.entities.contains { !$0.isAbstract } ? 120 : 0
      for isNasty in [false, true] {
        try withStore(StoreSynthesis(model: model, rows: rowsWanted, seed: 3, isNasty: isNasty)) { path in
          let connection = try StoreConnection.openStore(readingAt: path)
          #expect(try StoreSchema(model: model, probing: connection) == StoreSchema(model: model), "\(name)")
          let metadata = try StoreMetadata(reading: connection, path: path)
          #expect(model.isCompatible(with: metadata.entityVersionHashes))
          let rows = try StoreSummary(readingStoreAt: path).entities.compactMap(\.rows).reduce(0, +)
          #expect(rows == rowsWanted, "\(name)")
        }
      }
      made += 1
    }
    #expect(made >= 60)
  }
}

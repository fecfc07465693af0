import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// The findings of an audit of a source before its job runs.
struct AuditTests {
  private static let source: [EntityDescription] = {
    var photo = AttributeDescription(name: "photo", type: .binary)
    photo.allowsExternalBinaryDataStorage = true
    var person = EntityDescription.make(
      "Person", ["name": .string, "age": .integer32, "code": .string, "token": .uuid],
      [
        .toOne("home", "Place", inverse: "people"), .toOne("card", "Card", inverse: "person"),
        .toMany("friends", "Person", inverse: "friendOf"), .toMany("friendOf", "Person", inverse: "friends"),
      ])
    person.attributes.append(photo)
    return [
      person, .make("Place", ["street": .string], [.toMany("people", "Person", inverse: "home")]),
      .make("House", parent: "Place"),
      .make("Card", ["number": .string], [.toOne("person", "Person", inverse: "card")]),
    ]
  }()

  /// The version of the destination, with stricter rules.
  private static let destination: [EntityDescription] = source.map { entity in
    var entity = entity
    guard entity.name == "Person" else { return entity }
    entity.attributes = entity.attributes.map { attribute in
      var attribute = attribute
      switch attribute.name {
      case "name": attribute.isOptional = false
      case "age": (attribute.type, attribute.minimumValue) = (.integer16, .integer(0))
      case "code": (attribute.maximumLength, attribute.regularExpression) = (4, "[a-z]*")
      default: break
      }
      return attribute
    }
    entity.relationships = entity.relationships.map { relationship in
      var relationship = relationship
      if relationship.name == "home" { relationship.isOptional = false }
      return relationship
    }
    entity.uniquenessConstraints = [["code"]]
    return entity
  }

  private static func fixture(unique: Bool = false, requiresCard: Bool = false) throws -> MigrationFixture {
    var entities = source
    if unique { entities[0].uniquenessConstraints = [["name"]] }
    var stricter = destination
    if requiresCard {
      stricter[0].relationships = stricter[0].relationships.map { relationship in
        var relationship = relationship
        if relationship.name == "card" { relationship.isOptional = false }
        return relationship
      }
    }
    let fixture = try MigrationFixture(entities, to: stricter)
    fixture.mappings = try ["Person", "Place", "House", "Card"].map { try .make($0, $0, kind: .copy) }
    try fixture.build { store in
      try store.insert("Place", key: 1)
      try store.insert("House", key: 2)
      for key in Int64(1)...6 {
        try store.insert(
          "Card", key: key, attributes: ["number": .init("n\(key)")], relationships: ["person": [key]])
        try store.insert(
          "Person", key: key,
          attributes: [
            "name": .init("p\(key)"), "age": .integer(key),
            "code": .init(["a", "b", "c", "d", "e", "f"][Int(key) - 1]),
            "photo": .data([1, 2]),
          ], relationships: ["home": [key % 2 + 1], "card": [key], "friends": key > 1 ? [1] : []])
      }
    }
    return fixture
  }

  /// Audits with one thread, and with ranges of each table on three, which must find the same.
  private static func audit(_ fixture: MigrationFixture, values: Bool = false) throws -> AuditReport {
    func audit(leastKeys: Int64) throws -> AuditReport {
      try EngineTuning.with(\.leastCountedKeys, leastKeys) {
        try EngineTuning.with(\.readers, 3) {
          try MigrationManager(fixture.job).audit(samples: 2, showingValues: values)
        }
      }
    }
    let report = try audit(leastKeys: .max)
    let parallel = try audit(leastKeys: 0)
    #expect(parallel.findings == report.findings && parallel.notLookedAt == report.notLookedAt)
    #expect(parallel.objects == report.objects && parallel.checks == report.checks)
    return report
  }

  /// `invalid Person.age 3 1,2`: kind, place, count, and the keys of the samples.
  private static func text(_ finding: AuditReport.Finding) -> String {
    let keys = finding.samples.map { $0.uri.split(separator: "/p").last.map(String.init) ?? "" }
    return "\(finding.kind.rawValue) \(finding.entity)\(finding.property.map { ".\($0)" } ?? "") "
      + "\(finding.isLowerBound ? "at least " : "")\(finding.count) \(keys.joined(separator: ","))"
  }

  @Test func `nothing is found in a sound source, and nothing is written`() throws {
    let fixture = try Self.fixture(unique: true)
    let before = try FileManager.default.subpathsOfDirectory(atPath: fixture.folder.path)
    let report = try Self.audit(fixture)
    #expect(report.isClean, "\(report)")
    #expect(report.objects == 14 && report.checks > 20)
    #expect(try FileManager.default.subpathsOfDirectory(atPath: fixture.folder.path) == before)
    // The run agrees.
    try fixture.run()
  }

  @Test(arguments: [
    ("UPDATE ZPERSON SET ZNAME = x'07' WHERE Z_PK IN (2, 3, 4)", ["wrong type Person.name 3 2,3"]),
    ("UPDATE ZPERSON SET ZAGE = 'x' WHERE Z_PK = 2", ["wrong type Person.age 1 2"]),
    ("UPDATE ZPERSON SET ZTOKEN = x'00' WHERE Z_PK = 2", ["wrong type Person.token 1 2"]),
    ("UPDATE ZPERSON SET ZNAME = CAST(x'C328' AS TEXT) WHERE Z_PK IN (2, 3)", ["malformed Person.name 2 2,3"]),
    ("UPDATE ZPERSON SET ZPHOTO = x'0900' WHERE Z_PK = 4", ["malformed Person.photo 1 4"]),
    ("UPDATE ZPLACE SET Z_ENT = 77 WHERE Z_PK = 2", ["unknown entity Place 1 2"]),
    ("UPDATE ZPERSON SET ZHOME = 99 WHERE Z_PK = 2", ["dangling link Person.home 1 2", "invalid Person.home 1 2"]),
    ("INSERT INTO FRIENDS VALUES (1, 99)", ["dangling link Person.friend"]),
    ("UPDATE ZCARD SET ZPERSON = 1 WHERE Z_PK = 2", ["half link Card.person 1 2", "half link Person.card 1 2"]),
    (
      "UPDATE ZPERSON SET ZPHOTO = x'0231313131313131312D323232322D333333332D343434342D35353535353535353535353500' WHERE Z_PK = 2",
      ["missing file Person.photo 1 2"]
    ),
    ("UPDATE ZPERSON SET ZNAME = 'p1' WHERE Z_PK = 2", ["duplicate Person.name 2 1,2"]),
    ("UPDATE ZPERSON SET ZCODE = 'a' WHERE Z_PK IN (2, 3)", ["duplicate Person.code 3 1,2"]),
    ("UPDATE ZPERSON SET ZNAME = NULL WHERE Z_PK = 2", ["invalid Person.name 1 2"]),
    ("UPDATE ZPERSON SET ZAGE = -1 WHERE Z_PK = 2", ["invalid Person.age 1 2"]),
    ("UPDATE ZPERSON SET ZAGE = 40000 WHERE Z_PK IN (2, 4, 6)", ["invalid Person.age 3 2,4"]),
    ("UPDATE ZPERSON SET ZCODE = 'abcde' WHERE Z_PK = 2", ["invalid Person.code 1 2"]),
    ("UPDATE ZPERSON SET ZCODE = 'A' WHERE Z_PK = 2", ["invalid Person.code 1 2"]),
    ("UPDATE ZPERSON SET ZHOME = NULL WHERE Z_PK = 2", ["invalid Person.home 1 2"]),
  ])
  func `each kind of fault is found, counted and named`(sql: String, expected: [String]) throws {
    let fixture = try Self.fixture(unique: true)
    let join = try #require(StoreSchema(model: fixture.source).joinTables.first).name
    // The application's index would refuse a duplicate.
    let connection = try StoreConnection(path: fixture.sourcePath)
    for row in try connection.rows("SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%UNIQUE%'") {
      try connection.execute("DROP INDEX \(row[0].plain)")
    }
    try connection.execute(sql.replacing("FRIENDS", with: join))
    try connection.close()
    let report = try Self.audit(fixture)
    for sample in report.findings.flatMap(\.samples) {
      #expect(sample.uri.hasPrefix("x-coredata://") && sample.value == nil)
    }
    let found = report.findings.map(Self.text)
    // One fault may break several rules: those that are named here come, in this order.
    var rest = found[...]
    for part in expected {
      let place = rest.firstIndex { $0.hasPrefix(part) }
      #expect(place != nil, "\(part) in \(found)")
      rest = place.map { rest[($0 + 1)...] } ?? []
    }
  }

  @Test func `expressions are computed, and what cannot be computed is told`() throws {
    let fixture = try Self.fixture()
    fixture.mappings[0] = try .make(
      "Person", "Person", kind: .copy, filter: "age < 6",
      attributes: ["age": "$source.age - 2", "code": "uppercase:($source.code)"])
    let report = try Self.audit(fixture, values: true)
    let found = report.findings.map { "\($0.kind.rawValue) \($0.property ?? "") \($0.count) \($0.mapping ?? "")" }
    #expect(found == ["invalid age 1 PersonToPerson", "invalid code 5 PersonToPerson"])
    #expect(report.findings[0].samples.map(\.value) == ["-1"])
    #expect(report.findings[1].samples.map(\.value) == ["\"A\"", "\"B\""])
    #expect(!report.notLookedAt.contains { $0.contains("uniqueness of Person.code") })
    // One statement serves computed and plain attributes, until a value cannot be computed.
    fixture.mappings[0].filter = nil
    fixture.mappings[0].attributeMappings = fixture.mappings[0].attributeMappings.filter { $0.name == "age" }
    try fixture.alter("UPDATE ZPERSON SET ZAGE = 'text' WHERE Z_PK IN (3, 4, 5)")
    try fixture.alter("UPDATE ZPERSON SET ZAGE = 40000 WHERE Z_PK = 6")
    try fixture.alter("UPDATE ZPERSON SET ZCODE = 'A' WHERE Z_PK = 4")
    #expect(
      try Self.audit(fixture).findings.map(Self.text) == [
        "wrong type Person.age 3 3,4", "expression Person.age 4 3,4", "invalid Person.age 1 1",
        "invalid Person.code 1 4",
      ])
    #expect(throws: GodwitError.self) { try fixture.run() }
  }

  @Test func `a filter that cannot be computed is one finding, and the other objects are audited`() throws {
    let fixture = try Self.fixture(unique: true)
    fixture.mappings[0] = try .make(
      "Person", "Person", kind: .copy, filter: "age >= 2", attributes: ["code": "uppercase:($source.code)"])
    try fixture.alter("UPDATE ZPERSON SET ZAGE = 'text' WHERE Z_PK IN (3, 4, 5)")
    let report = try Self.audit(fixture)
    #expect(
      report.findings.map(Self.text) == [
        "wrong type Person.age 3 3,4", "expression Person 3 3,4", "invalid Person.code 2 2,6",
      ])
    #expect(report.findings.filter { $0.kind == .expression }.allSatisfy { $0.message.contains("filter") })
    #expect(throws: GodwitError.self) { try fixture.run() }
  }

  @Test func `where too many values cannot be computed the count is a lower bound`() throws {
    let fixture = try Self.fixture()
    fixture.mappings[0] = try .make("Person", "Person", kind: .copy, attributes: ["age": "$source.age - 2"])
    try fixture.alter(
      "WITH RECURSIVE n(k) AS (SELECT 7 UNION ALL SELECT k + 1 FROM n WHERE k < 700) INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, ZHOME) SELECT k, (SELECT Z_ENT FROM ZPERSON WHERE Z_PK = 1), 1, 'n' || k, 'text', 1 FROM n"
    )
    let report = try Self.audit(fixture)
    let limit = SourceAudit.Failures.limit
    let found = report.findings.map(Self.text)
    #expect(found.contains("expression Person.age at least \(limit) 7,8"), "\(found)")
    #expect(found.contains("invalid Person.age at least 1 1"), "\(found)")
    #expect(report.notLookedAt.contains { $0.contains("too many values") })
    #expect("\(report)".contains("at least \(limit)"))
  }

  // MARK: Relationships

  @Test func `a required object that no mapping takes is missing`() throws {
    let filtered = try Self.fixture()
    filtered.mappings[1] = try .make("Place", "Place", kind: .copy, filter: "street != nil")
    let unmapped = try Self.fixture()
    unmapped.mappings.remove(at: 2)
    let unset = try Self.fixture()
    for index in 0...2 {
      unset.mappings[index].relationshipMappings = [
        .init(name: index == 0 ? "home" : "people", value: .expression(try ValueExpression("nil")))
      ]
    }
    for (fixture, expected) in [
      (filtered, "invalid Person.home 3 2,4"), (unmapped, "invalid Person.home 3 1,3"),
      (unset, "invalid Person.home 6 1,2"),
    ] {
      let report = try Self.audit(fixture)
      #expect(report.findings.map(Self.text) == [expected])
      #expect(report.notLookedAt == [])
      #expect(throws: GodwitError.self) { try fixture.run() }
    }
  }

  @Test func `a required object that only its inverse sets is looked at`() throws {
    let fixture = try Self.fixture()
    fixture.mappings[0].relationshipMappings = [
      .init(name: "home", value: .expression(try ValueExpression("nil")))
    ]
    let report = try Self.audit(fixture)
    #expect(report.isClean, "\(report)")
    #expect(report.notLookedAt == [])
    try fixture.run()
  }

  @Test func `a required end of a one-to-one may be set by the other end, or displaced`() throws {
    let fixture = try Self.fixture(requiresCard: true)
    let sound = try Self.audit(fixture)
    #expect(sound.isClean && sound.notLookedAt == [], "\(sound)")
    try fixture.alter("UPDATE ZCARD SET ZPERSON = NULL WHERE Z_PK = 3")
    try fixture.alter("UPDATE ZPERSON SET ZCARD = NULL WHERE Z_PK = 3")
    #expect(try Self.audit(fixture).findings.map(Self.text) == ["invalid Person.card 1 3"])
    let halfLinked = try Self.fixture(requiresCard: true)
    try halfLinked.alter("UPDATE ZPERSON SET ZCARD = 1 WHERE Z_PK = 2")
    let report = try Self.audit(halfLinked)
    #expect(report.findings.map(\.kind).contains(.halfLink), "\(report)")
    #expect(report.notLookedAt.contains { $0.contains("displaces") }, "\(report)")
  }

  @Test func `an object is named by its own entity`() throws {
    let entities: [EntityDescription] = [
      .make(
        "Place", [:],
        [
          .toOne("next", "Place", inverse: nil), .toMany("near", "Place", inverse: "nearOf"),
          .toMany("nearOf", "Place", inverse: "near"),
        ]), .make("House", parent: "Place"),
    ]
    let fixture = try MigrationFixture(entities, to: entities)
    fixture.mappings = try ["Place", "House"].map { try .make($0, $0, kind: .copy) }
    try fixture.build { store in
      try store.insert("Place", key: 1)
      try store.insert("House", key: 2)
    }
    let join = try #require(StoreSchema(model: fixture.source).joinTables.first)
    try fixture.alter("UPDATE ZPLACE SET ZNEXT = 99 WHERE Z_PK = 2")
    try fixture.alter("INSERT INTO \(join.name) (\(join.ownerColumn), \(join.destinationColumn)) VALUES (2, 99)")
    let report = try Self.audit(fixture)
    #expect(report.findings.map(\.kind) == [.danglingLink, .danglingLink], "\(report)")
    #expect(report.findings.flatMap(\.samples).allSatisfy { $0.uri.hasSuffix("/House/p2") }, "\(report)")
  }

  @Test func `values that a destination has already are found`() throws {
    let fixture = try Self.fixture()
    try fixture.run()
    // Another content makes it another job: one that has finished looks at its source alone.
    try fixture.alter("UPDATE ZPERSON SET Z_OPT = Z_OPT + 1")
    var job = try fixture.job
    job.existingDestination = .append
    let report = try MigrationManager(job).audit()
    let codes = try fixture.rows("SELECT ZCODE FROM source.ZPERSON WHERE ZCODE IS NOT NULL")
    let message = "values of code, which must be unique, are in the destination already"
    #expect(report.findings.first { $0.message == message }?.count == Int64(codes.count), "\(report)")
    #expect(!codes.isEmpty && !report.notLookedAt.contains { $0.contains("Person.code") })
  }

  // MARK: Random stores

  @Test(arguments: testSeeds(16))
  func `what is found in a random store is what plain Swift finds, and a run stops at it`(seed: UInt64) throws {
    let world = AuditWorld(seed: seed)
    let fixture = try world.fixture()
    let report = try MigrationManager(fixture.job).audit(samples: 1000)
    let found = report.findings.map { finding in
      #expect(finding.count == Int64(finding.samples.count) && !finding.isLowerBound)
      let keys = finding.samples.compactMap { $0.uri.split(separator: "/p").last.flatMap { Int64(String($0)) } }
      return AuditWorld.text(
        finding.kind.rawValue, finding.entity + (finding.property.map { ".\($0)" } ?? ""), keys)
    }
    #expect(found.sorted() == world.expected().sorted())
    #expect(report.notLookedAt == [])
    if report.isClean {
      try fixture.run()
    } else {
      let error = try #require(throws: GodwitError.self) { try fixture.run() }
      #expect(error.code == .dataWrong)
    }
  }

  @Test func `what unique-by makes is looked at`() throws {
    let fixture = try Self.fixture()
    fixture.mappings[3] = try .make("Card", "Card", uniqueBy: ["number"], attributes: ["number": "$source.number"])
    #expect(try Self.audit(fixture).notLookedAt == [])
  }
}

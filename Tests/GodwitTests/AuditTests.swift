import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitJob
@testable import GodwitStore

/// What an audit finds in a source before its job runs.
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

  private static func fixture(unique: Bool = false) throws -> MigrationFixture {
    var entities = source
    if unique { entities[0].uniquenessConstraints = [["name"]] }
    let fixture = try MigrationFixture(entities, to: destination)
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

  private static func audit(_ fixture: MigrationFixture, values: Bool = false) throws -> AuditReport {
    try MigrationManager(fixture.job).audit(samples: 2, showingValues: values)
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
    ("UPDATE ZPERSON SET ZAGE = 40000 WHERE Z_PK = 2", ["expression Person.age ? "]),
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
    let found = try Self.audit(fixture).findings.map { finding in
      let keys = finding.samples.map { $0.uri.split(separator: "/p").last.map(String.init) ?? "" }
      #expect(finding.samples.allSatisfy { $0.uri.hasPrefix("x-coredata://") && $0.value == nil })
      return "\(finding.kind.rawValue) \(finding.entity)\(finding.property.map { ".\($0)" } ?? "") "
        + "\(finding.count.map { "\($0)" } ?? "?") \(keys.joined(separator: ","))"
    }
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
    let found = report.findings.map { "\($0.kind.rawValue) \($0.property ?? "") \($0.count ?? -1) \($0.mapping ?? "")" }
    #expect(found == ["invalid age 1 PersonToPerson", "invalid code 5 PersonToPerson"])
    #expect(report.findings[0].samples.map(\.value) == ["-1"])
    #expect(report.findings[1].samples.map(\.value) == ["\"A\"", "\"B\""])
    #expect(report.notLookedAt.contains { $0.contains("uniqueness of Person.code") })
    fixture.mappings[0].filter = nil
    try fixture.alter("UPDATE ZPERSON SET ZAGE = 'text' WHERE Z_PK = 3")
    let kinds = try Self.audit(fixture).findings.map(\.kind)
    #expect(kinds.contains(.wrongType) && kinds.contains(.expression), "\(kinds)")
  }

  @Test func `what only a run can tell is listed`() throws {
    let fixture = try Self.fixture()
    fixture.mappings[3] = try .make("Card", "Card", uniqueBy: ["number"], attributes: ["number": "$source.number"])
    #expect(
      try Self.audit(fixture).notLookedAt == [
        "what mapping 'CardToCard' makes, since it makes one object of several (unique-by)"
      ])
  }
}

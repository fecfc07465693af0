import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Rows whose `Z_ENT` is not the number of an entity of their table.
///
/// Notes and tags have their tables to themselves; persons share theirs with writers. Entity numbers: Note 1, Person 2,
/// Tag 4, Writer 3.
struct ForeignNumberTests {
  private static func entities(
    note: [AttributeDescription] = [], more: [EntityDescription] = []
  ) -> [EntityDescription] {
    var entities: [EntityDescription] = [
      .make(
        "Note", ["text": .string, "pages": .integer32],
        [.toOne("author", "Person", inverse: "notes"), .toMany("tags", "Tag", inverse: "notes")]),
      .make("Person", ["name": .string], [.toMany("notes", "Note", inverse: "author")]),
      .make("Writer", parent: "Person", ["style": .string]),
      .make("Tag", ["word": .string], [.toMany("notes", "Note", inverse: "tags")]),
    ]
    entities[0].attributes += note
    return entities + more
  }

  /// Updates that make rows foreign: the number of another table's entity, an unknown number, a missing one, a text.
  private static let strays = [
    "UPDATE ZNOTE SET Z_ENT = 3 WHERE Z_PK = 1", "UPDATE ZNOTE SET Z_ENT = 99 WHERE Z_PK = 2",
    "UPDATE ZNOTE SET Z_ENT = NULL WHERE Z_PK = 3", "UPDATE ZNOTE SET Z_ENT = 'x' WHERE Z_PK = 4",
    "UPDATE ZTAG SET Z_ENT = 1 WHERE Z_PK = 1",
  ]

  private static let notes = [
    "3 rows of ZNOTE have another entity's number; they are read as Note, as Core Data does",
    "1 row of ZNOTE has no number; it is read as Note, as Core Data does",
    "1 row of ZTAG has another entity's number; it is read as Tag, as Core Data does",
  ]

  private static func fixture(_ destination: [EntityDescription], isStray: Bool) throws -> MigrationFixture {
    let fixture = try MigrationFixture(entities(), to: destination)
    try fixture.build { store in
      for key in Int64(1)...3 {
        try store.insert(key == 1 ? "Person" : "Writer", key: key, attributes: ["name": .init("p\(key)")])
      }
      for key in Int64(1)...2 { try store.insert("Tag", key: key, attributes: ["word": .init("t\(key)")]) }
      for key in Int64(1)...7 {
        try store.insert(
          "Note", key: key, attributes: ["text": .init("n\(key % 5)"), "pages": .integer(key)],
          relationships: ["author": [key % 3 + 1], "tags": key == 5 ? [] : [key % 2 + 1]])
      }
    }
    if isStray { for sql in strays { try fixture.alter(sql) } }
    return fixture
  }

  /// Rows of the destination.
  private static func content(_ fixture: MigrationFixture) throws -> [String] {
    let schema = StoreSchema(model: fixture.destination)
    return try (["ZNOTE", "ZPERSON", "ZTAG", "Z_PRIMARYKEY"] + schema.joinTables.map(\.name)).flatMap { table in
      try fixture.rows("SELECT '\(table)', * FROM source.\(table) ORDER BY 1, 2, 3")
    }
  }

  // MARK: Alone in the table

  static let changes: [(String, [EntityDescription])] = {
    var zeta = AttributeDescription(name: "zeta", type: .string)
    let plain = zeta
    zeta.isOptional = false
    zeta.defaultValue = .init("z")
    return [
      ("a default for every note", entities(note: [zeta])),
      ("tables that stay as they are", entities(more: [.make("Zoo")])),
      ("tables that stay, and new numbers", entities(note: [plain], more: [.make("Aaa")])),
      (
        "tables that are made anew", entities(note: [AttributeDescription(name: "alpha", type: .integer64)])
      ),
    ]
  }()

  @Test(arguments: changes.map(\.0)) func `every row of a table of one entity is its object, run and in place`(
    change: String
  ) throws {
    let destination = try #require(Self.changes.first { $0.0 == change }?.1)
    let clean = try Self.fixture(destination, isStray: false)
    try clean.infer()
    let summary = try clean.run()
    #expect(summary.notes == [])
    let stray = try Self.fixture(destination, isStray: true)
    try stray.infer()
    // This runs in place by SQL too, and verifies.
    let found = try stray.run()
    #expect(found.objects == summary.objects && found.dropped == summary.dropped)
    #expect(found.notes == Self.notes)
    #expect(try MigrationManager(stray.jobInPlace(stray.sourcePath)).plan().notes == Self.notes)
    let content = try Self.content(stray)
    #expect(content == (try Self.content(clean)))
    #expect(content.count > 12)
    #expect(
      try stray.rows("SELECT DISTINCT z.Z_NAME FROM source.ZNOTE JOIN source.Z_PRIMARYKEY AS z USING (Z_ENT)")
        == ["Note"])
  }

  @Test func `a link that changes after a migration in place is found beside a number that stays as it was`() throws {
    let unchanged = try #require(Self.changes.first { $0.0 == "tables that stay as they are" }?.1)
    let fixture = try Self.fixture(unchanged, isStray: true)
    try fixture.infer()
    let path = try fixture.copyOfSource("kept")
    try MigrationManager(fixture.jobInPlace(path)).run()
    #expect(try fixture.verifyInPlace(path).isClean)
    let connection = try StoreConnection(path: path)
    #expect(try connection.integer("SELECT Z_ENT FROM ZNOTE WHERE Z_PK = 2") == 99)
    try connection.execute("UPDATE ZNOTE SET ZAUTHOR = 1 WHERE Z_PK = 2")
    try connection.close()
    let report = try fixture.verifyInPlace(path)
    #expect(report.findings.contains { $0.property == "author" && $0.key == 2 }, "\(report)")
  }

  @Test(arguments: [false, true])
  func `filters, lookups, fetches and unique-by see rows with another entity's number in both lanes`(
    inSwift: Bool
  ) throws {
    let destination =
      Self.entities(note: [AttributeDescription(name: "count", type: .integer32)]) + [
        .make("Extract", ["text": .string])
      ]
    let contents = try [false, true].map { isStray in
      let fixture = try Self.fixture(destination, isStray: isStray)
      fixture.mappings = try [
        .make("Person", "Person", kind: .copy), .make("Writer", "Writer", kind: .copy),
        .make("Tag", "Tag", kind: .copy),
        .make(
          "Note", "Note", filter: "pages != 6",
          attributes: [
            "text": "uppercase:($source.text)", "pages": "$source.tags.@count + $source.author.notes.@count",
            "count":
              "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Note', 'pages > 2'), $manager.sourceContext, YES)",
          ], relationships: ["author": .sourceRelationship("author"), "tags": .sourceRelationship("tags")]),
        .make("Note", "Extract", uniqueBy: ["text"], attributes: ["text": "$source.text"]),
      ]
      let summary = try EngineTuning.with(\.runsAllInSwift, inSwift) { try fixture.run() }
      #expect(summary.notes == (isStray ? Self.notes : []))
      return try Self.content(fixture) + fixture.rows("SELECT ZTEXT FROM source.ZEXTRACT ORDER BY Z_PK")
    }
    #expect(contents[0] == contents[1])
    #expect(contents[0].contains { $0.hasPrefix("ZNOTE|1|") })
  }

  @Test func `an export names objects with another entity's number by their table's entity`() throws {
    let fixture = try Self.fixture(Self.entities(), isStray: true)
    // A number of another hierarchy beside a to-one, and one of this hierarchy that is not the object's.
    try fixture.alter("UPDATE ZNOTE SET Z2_AUTHOR = 4 WHERE Z_PK = 1")
    let reader = try ObjectReader(path: fixture.sourcePath, model: fixture.source)
    var notes: [String] = []
    try reader.forEachObject(of: ["Note"]) { note in
      let author = note.properties.first { $0.name == "author" }?.value
      guard case .toOne(let found)? = author else { return true }
      notes.append("\(note.reference.entity) \(note.reference.key) by \(found?.entity ?? "-") \(found?.key ?? 0)")
      return true
    }
    #expect(notes.count == 7)
    #expect(notes.prefix(3) == ["Note 1 by Writer 2", "Note 2 by Writer 3", "Note 3 by Person 1"])
    for (entities, count) in [(["Tag"], 6), (["Person", "Writer"], 7)] {
      var led: [ObjectReader.Reference] = []
      try reader.forEachObject(of: entities) { object in
        if case .toMany(let found)? = object.properties.first(where: { $0.name == "notes" })?.value { led += found }
        return true
      }
      #expect(led.count == count && led.allSatisfy { $0.entity == "Note" }, "\(led)")
    }
  }

  @Test func `loss counts include rows with another entity's number`() throws {
    let fixture = try Self.fixture(Self.entities(), isStray: true)
    let counts = try StoreCounts(readingStoreAt: fixture.sourcePath, model: fixture.source)
    #expect(try counts.rows(of: ["Note"]) == 7)
    #expect(try counts.rows(of: ["Note"], with: "text", isNull: false) == 7)
    #expect(try counts.rows(of: ["Note"], leadingOn: "tags", isEmpty: false) == 6)
    #expect(try counts.duplicates(in: ["Note"], of: ["text"]) == 2)
    #expect(try counts.rows(of: ["Person"]) == 1)
    #expect(try counts.rows(of: ["Person", "Writer"]) == 3)
  }

  @Test func `the verifier wants the right number in the destination, and counts the wrong ones in the source`() throws
  {
    let fixture = try Self.fixture(Self.entities(more: [.make("Zoo")]), isStray: true)
    try fixture.infer()
    try fixture.run()
    let report = try Verifier(job: fixture.job).run()
    #expect(
      report.checks.filter { $0.name.contains("another entity's number") }.map { "\($0.name): \($0.count)" } == [
        "source objects of Note that have another entity's number: 4",
        "source objects of Tag that have another entity's number: 1",
      ])
    let made = try StoreConnection(path: fixture.destinationPath)
    try made.execute("UPDATE ZNOTE SET Z_ENT = 99 WHERE Z_PK = 5")
    try made.execute("UPDATE ZTAG SET Z_ENT = NULL WHERE Z_PK = 2")
    try made.close()
    let found = try Verifier(job: fixture.job).run().findings
    #expect(found.contains { $0.kind == .entity && $0.key == 5 })
    #expect(found.contains { $0.kind == .entity && $0.key == 2 })
  }

  @Test func `an append links to rows with another entity's number and leaves them unchanged`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.alter("a.sqlite", "UPDATE ZCUSTOMER SET Z_ENT = 77 WHERE Z_PK < 3")
    try world.alter("a.sqlite", "UPDATE ZORDER SET Z_ENT = NULL WHERE Z_PK < 6")
    try world.buildDestination()
    try world.alter("out/shop.sqlite", "UPDATE ZCUSTOMER SET Z_ENT = 99")
    try world.alter("out/shop.sqlite", "UPDATE ZORDER SET Z_ENT = NULL")
    var customers = Array(try AppendWorld.all().prefix(2))
    for name in ["orders", "tags", "card"] {
      customers[0].relationshipMappings.append(.init(name: name, value: .expression(try ValueExpression("nil"))))
    }
    try world.run(world.job("a.sqlite", customers))
    #expect(try world.rows("SELECT Z_PK, Z_ENT FROM source.ZCUSTOMER ORDER BY 1").prefix(2) == ["7|99", "8|3"])
    let order = try EntityMapping.make(
      "Order", "Order", attributes: ["number": "$source.number"],
      relationships: ["customer": .sourceRelationship("customer")])
    try world.run(world.job("a.sqlite", [order]))
    #expect(try world.rows("SELECT COUNT(*), COUNT(ZCUSTOMER) FROM source.ZORDER WHERE Z_PK > 3") == ["8|8"])
    #expect(try world.rows("SELECT Z_PK FROM source.ZORDER WHERE Z_ENT IS NULL") == ["3"])
  }

  // MARK: Hierarchies

  @Test(arguments: [("99", "99"), ("4", "4"), ("NULL", "no number")])
  func `a row of no known entity in the table of a hierarchy stops the job`(number: String, found: String) throws {
    let fixture = try Self.fixture(Self.entities(), isStray: true)
    try fixture.alter("UPDATE ZPERSON SET Z_ENT = \(number) WHERE Z_PK = 2")
    try fixture.infer()
    for plans in [true, false] {
      let error = try #require(throws: GodwitError.self) {
        let manager = try MigrationManager(fixture.job)
        if plans { _ = try manager.plan() } else { _ = try manager.run() }
      }
      #expect(error.code == .dataWrong)
      #expect(error.message == "cannot read row 2 of ZPERSON: expected one of the entity numbers 2,3, found \(found)")
    }
  }

  @Test func `the entity column of a to-one is that of its target, whatever the source holds`() throws {
    let fixture = try Self.fixture(Self.entities(more: [.make("Aaa")]), isStray: true)
    try fixture.alter("UPDATE ZNOTE SET Z2_AUTHOR = CASE Z_PK % 3 WHEN 0 THEN 99 WHEN 1 THEN NULL ELSE 2 END")
    try fixture.infer()
    try fixture.run()
    #expect(
      try fixture.rows(
        "SELECT COUNT(*), SUM(n.Z3_AUTHOR = p.Z_ENT) FROM source.ZNOTE AS n JOIN source.ZPERSON AS p ON p.Z_PK = n.ZAUTHOR"
      ) == ["7|7"])
  }
}

import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitSynthesis
import GodwitVerifier
import GodwitXcode
import TestSupport
import Testing

/// A to-many without an inverse: its links are in a column of what it leads to.
struct `To-many without an inverse` {
  private static func entities(pages: String = "pages", extra: Bool = false) -> [EntityDescription] {
    let more: [String: AttributeType] = extra ? ["mark": .string] : [:]
    return [
      .make(
        "Book", ["title": .string],
        [.toMany(pages, "Page", inverse: nil), .toMany("loose", "Page", inverse: nil)]),
      .make("Magazine", [:], [.toMany("pages", "Page", inverse: nil)]),
      .make("Page", ["text": .string].merging(more) { first, _ in first }),
    ]
  }

  private func fixture(to destination: [EntityDescription] = entities()) throws -> MigrationFixture {
    let fixture = try MigrationFixture(Self.entities(), to: destination)
    try fixture.build(Self.fill)
    return fixture
  }

  private static func fill(_ store: StoreBuilder) throws {
    for key in Int64(1)...9 { try store.insert("Page", key: key, attributes: ["text": .init("page \(key)")]) }
    for key in Int64(1)...3 {
      try store.insert(
        "Book", key: key, attributes: ["title": .init("book \(key)")],
        relationships: ["pages": [key, key + 3], "loose": key == 2 ? [7, 1] : []])
    }
    try store.insert("Magazine", key: 1, relationships: ["pages": [9, 1]])
  }

  private static let pages = "SELECT Z_PK, Z1PAGES, Z1LOOSE, Z2PAGES FROM source.ZPAGE ORDER BY 1"
  private static let links = [
    "1|1|2|1", "2|2|nil|nil", "3|3|nil|nil", "4|1|nil|nil", "5|2|nil|nil", "6|3|nil|nil", "7|nil|2|nil",
    "8|nil|nil|nil", "9|nil|nil|1",
  ]

  @Test func `a to-many without an inverse has a column and an index`() throws {
    let schema = StoreSchema(model: try ManagedObjectModel(name: "1", entities: Self.entities()))
    #expect(
      schema.tables.last?.createStatement
        == "CREATE TABLE ZPAGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, Z1LOOSE INTEGER, Z1PAGES INTEGER, Z2PAGES INTEGER, ZTEXT VARCHAR )"
    )
    #expect(schema.indexStatements.contains("CREATE INDEX ZPAGE_Z1PAGES_INDEX ON ZPAGE (Z1PAGES)"))
    #expect(schema.indexStatements.count == 3)
    #expect(
      schema.storage(of: "loose", in: "Book")
        == .inverse(table: "ZPAGE", column: "Z1LOOSE", entityColumn: nil, orderColumn: nil))
  }

  @Test func `the hidden to-one is not a property and not part of a hash`() throws {
    let model = try ManagedObjectModel(name: "1", entities: Self.entities())
    #expect(model.relationships(of: "Page").isEmpty && model.propertyNames(of: "Page") == ["text"])
    #expect(!model.xcodeContents.contains("inverse of"))
    var entities = Self.entities()
    entities[2].relationships = []
    let hash = try ManagedObjectModel(name: "2", entities: [entities[2]]).versionHashes["Page"]
    #expect(model.versionHashes["Page"] == hash)
  }

  @Test func `copied links of a to-many without an inverse stay`() throws {
    let fixture = try fixture()
    fixture.mappings = try ["Book", "Magazine", "Page"].map { try .make($0, $0, kind: .copy) }
    try fixture.run()
    #expect(try fixture.rows(Self.pages) == Self.links)
  }

  @Test func `links of a to-many without an inverse survive inferred migrations and renames`() throws {
    let extended = try self.fixture(to: Self.entities(extra: true))
    try extended.infer()
    try extended.run()
    #expect(try extended.rows(Self.pages) == Self.links)
    var renamed = Self.entities(pages: "leaves")
    renamed[0].relationships[0].renamingIdentifier = "pages"
    renamed[0].name = "Work"
    renamed[0].renamingIdentifier = "Book"
    let fixture = try fixture(to: renamed)
    try fixture.infer()
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, Z3LEAVES, Z3LOOSE, Z1PAGES FROM source.ZPAGE ORDER BY 1") == Self.links)
  }

  @Test func `an explicit mapping carries a to-many without an inverse, and a later owner takes the object`() throws {
    let fixture = try fixture()
    fixture.mappings = [
      try .make("Page", "Page", attributes: ["text": "$source.text"]),
      try .make(
        "Book", "Book", attributes: ["title": "$source.title"],
        relationships: ["pages": .mapping("PageToPage", keyPath: ["pages"]), "loose": .sourceRelationship("pages")]),
      try .make(
        "Magazine", "Book", name: "Bound", attributes: [:], relationships: ["pages": .sourceRelationship("pages")]),
    ]
    try fixture.run()
    // The magazine's book has the key 4, and takes page 1 from book 1.
    #expect(
      try fixture.rows("SELECT Z_PK, Z1PAGES, Z1LOOSE FROM source.ZPAGE WHERE Z_PK IN (1, 2, 4, 9) ORDER BY 1") == [
        "1|4|1", "2|2|2", "4|1|1", "9|4|nil",
      ])
  }

  @Test func `expressions and filters follow a to-many without an inverse`() throws {
    let counted = [
      EntityDescription.make("Book", ["pages": .integer32]), .make("Magazine"), .make("Page", ["text": .string]),
    ]
    let fixture = try fixture(to: counted)
    fixture.mappings = [
      try .make("Book", "Book", filter: "ANY pages.text != 'page 3'", attributes: ["pages": "$source.pages.@count"])
    ]
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZPAGES FROM source.ZBOOK ORDER BY 1") == ["1|2", "2|2", "3|2"])
  }

  @Test func `a to-many without an inverse can become a to-one, and the reverse`() throws {
    let inverse = [
      EntityDescription.make("Book", ["title": .string], [.toMany("pages", "Page", inverse: "book")]),
      .make("Page", ["text": .string], [.toOne("book", "Book", inverse: "pages")]),
    ]
    let fixture = try fixture(to: inverse)
    fixture.mappings = try ["Book", "Page"].map { try .make($0, $0, kind: .copy) }
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZBOOK FROM source.ZPAGE WHERE Z_PK < 5 ORDER BY 1") == [
        "1|1", "2|2", "3|3", "4|1",
      ])

    let back = try MigrationFixture(inverse, to: Self.entities())
    try back.build { store in
      for key in Int64(1)...4 { try store.insert("Page", key: key, attributes: ["text": .init("page \(key)")]) }
      try store.insert("Book", key: 1, attributes: ["title": .init("book")], relationships: ["pages": [2, 3]])
    }
    back.mappings = try ["Book", "Page"].map { try .make($0, $0, kind: .copy) }
    try back.run()
    #expect(try back.rows("SELECT Z_PK, Z1PAGES FROM source.ZPAGE ORDER BY 1") == ["1|nil", "2|1", "3|1", "4|nil"])
  }

  @Test func `owners of several entities are distinguished by number`() throws {
    let entities: [EntityDescription] = [
      .make("Page", ["text": .string]), .make("Work", [:], [.toMany("pages", "Page", inverse: nil)]),
      .make("Novel", parent: "Work", ["title": .string], [.toMany("drafts", "Page", inverse: nil)]),
    ]
    var marked = entities
    marked[0].attributes.append(AttributeDescription(name: "mark", type: .string))
    let fixture = try MigrationFixture(entities, to: marked)
    try fixture.build { store in
      for key in Int64(1)...4 { try store.insert("Page", key: key, attributes: ["text": .init("page \(key)")]) }
      try store.insert("Work", key: 1, relationships: ["pages": [1]])
      try store.insert("Novel", key: 2, relationships: ["pages": [2, 3], "drafts": [4]])
    }
    try fixture.infer()
    try fixture.run()
    let columns = "Z_PK, Z2PAGES, Z2_2PAGES, Z3DRAFTS"
    let rows = ["1|1|2|nil", "2|2|3|nil", "3|2|3|nil", "4|nil|nil|2"]
    #expect(try fixture.rows("SELECT \(columns) FROM source.ZPAGE ORDER BY 1") == rows)
    // Core Data may have no such column: a store without it is read all the same.
    try fixture.alter("ALTER TABLE ZPAGE DROP COLUMN Z2_2PAGES")
    try FileManager.default.removeItem(atPath: fixture.destinationPath)
    _ = try MigrationManager(fixture.job).run()
    #expect(try fixture.rows("SELECT \(columns) FROM source.ZPAGE ORDER BY 1") == rows)
  }

  @Test func `verify finds a missing link and one of another owner`() throws {
    for (change, kinds) in [
      ("Z1PAGES = NULL", [VerificationReport.Finding.Kind.missingLink]), ("Z1PAGES = 3", [.missingLink, .extraLink]),
    ] {
      let fixture = try fixture()
      fixture.mappings = try ["Book", "Magazine", "Page"].map { try .make($0, $0, kind: .copy) }
      try fixture.run()
      let connection = try StoreConnection(path: fixture.destinationPath)
      try connection.execute("UPDATE ZPAGE SET \(change) WHERE Z_PK = 1")
      try connection.close()
      let report = try Verifier(job: fixture.job).run()
      #expect(Set(report.findings.map(\.kind)) == Set(kinds), "\(report)")
    }
  }

  @Test func `the count of a to-many without an inverse is validated`() throws {
    var entities = Self.entities()
    entities[0].relationships[0].maxCount = 1
    let fixture = try fixture(to: entities)
    fixture.mappings = try ["Book", "Magazine", "Page"].map { try .make($0, $0, kind: .copy) }
    #expect {
      try fixture.run()
    } throws: { error in
      (error as? GodwitError)?.message.contains("relationship 'pages' must lead to") == true
    }
  }

  @Test func `policies set a to-many without an inverse, and add to it`() throws {
    let fixture = try fixture()
    fixture.mappings = try ["Book", "Magazine", "Page"].map { try .make($0, $0, kind: .copy) }
    fixture.mappings[0].policyName = "Plain"
    var job = try fixture.job
    job.policies = ["Plain": { PlainPolicy() }]
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(try fixture.rows(Self.pages) == Self.links)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")

    var policy = ClosurePolicy()
    policy.relate = { destination, mapping, manager in
      try manager.createRelationships(forDestination: destination, in: mapping)
      guard let last = try manager.destinationInstance(ofEntityNamed: "Page", key: 9) else { return }
      try manager.add(last, toRelationship: "pages", of: destination)
    }
    let added = policy
    job.policies = ["Plain": { added }]
    try FileManager.default.removeItem(atPath: fixture.destinationPath)
    #expect(try MigrationManager(job).run().outcome == .finished)
    // An object has one owner: the last book has it.
    #expect(
      try fixture.rows("SELECT Z_PK, Z1PAGES FROM source.ZPAGE WHERE Z_PK IN (1, 9) ORDER BY 1") == ["1|1", "9|3"])
  }

  @Test func `an XML store holds a to-many without an inverse`() throws {
    let fixture = try fixture()
    fixture.mappings = try ["Book", "Magazine", "Page"].map { try .make($0, $0, kind: .copy) }
    var job = try fixture.job
    job.destinationType = .xml
    job.destinationPath = fixture.folder.file("out/store.xml")
    #expect(try MigrationManager(job).run().outcome == .finished)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    var back = try fixture.job
    (back.sourcePath, back.name) = (job.destinationPath, "back")
    #expect(try MigrationManager(back).run().outcome == .finished)
    #expect(try fixture.rows("SELECT COUNT(Z1PAGES), COUNT(Z1LOOSE), COUNT(Z2PAGES) FROM source.ZPAGE") == ["6|2|2"])
    #expect(try Verifier(job: back).run().isClean)
  }

  @Test func `an append carries to-manys without an inverse of new objects`() throws {
    let fixture = try fixture()
    fixture.mappings = try ["Book", "Magazine", "Page"].map { try .make($0, $0, kind: .copy) }
    var job = try fixture.job
    job.existingDestination = .append
    #expect(try MigrationManager(job).run().outcome == .finished)
    let other = fixture.folder.file("other.sqlite")
    let builder = try StoreBuilder(path: other, model: fixture.source)
    try Self.fill(builder)
    try builder.finish()
    (job.name, job.sourcePath) = ("second", other)
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(
      try fixture.rows("SELECT Z_PK, Z1PAGES, Z1LOOSE, Z2PAGES FROM source.ZPAGE WHERE Z_PK IN (10, 14, 16) ORDER BY 1")
        == ["10|4|5|2", "14|5|nil|nil", "16|nil|5|nil"])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
  }

  @Test func `an export shows a to-many without an inverse`() throws {
    let fixture = try fixture()
    let reader = try ObjectReader(path: fixture.sourcePath, model: fixture.source)
    var found: [String] = []
    try reader.forEachObject(of: ["Book"]) { object in
      for (name, value) in object.properties {
        if case .toMany(let pages) = value { found.append("\(object.reference.key) \(name) \(pages.map(\.key))") }
      }
      return true
    }
    #expect(found.prefix(4) == ["1 loose []", "1 pages [1, 4]", "2 loose [1, 7]", "2 pages [2, 5]"])
    #expect(reader.propertyNames(of: "Page") == ["text"])
  }

  @Test func `a synthetic store fills a to-many without an inverse and keeps its rules`() throws {
    var entities = Self.entities()
    entities[0].relationships[0].isOptional = false
    entities[0].relationships[0].minCount = 2
    let model = try ManagedObjectModel(name: "1", entities: entities)
    let folder = try TemporaryFolder()
    try StoreSynthesis(model: model, rows: 400, seed: 7).write(to: folder.file("made.sqlite"))
    let connection = try StoreConnection.openStore(readingAt: folder.file("made.sqlite"))
    let books = try #require(try connection.integer("SELECT COUNT(*) FROM source.ZBOOK"))
    let full = try connection.integer(
      "SELECT COUNT(*) FROM (SELECT Z1PAGES FROM source.ZPAGE WHERE Z1PAGES > 0 GROUP BY 1 HAVING COUNT(*) >= 2)")
    #expect(full == books && books > 10)
    #expect(try connection.integer("SELECT COUNT(Z1LOOSE) FROM source.ZPAGE") ?? 0 > 0)
  }

  @Test func `an ordered to-many without an inverse is refused unless a layout store shows its order column`() throws {
    let entities: [EntityDescription] = [
      .make("Book", ["title": .string], [.toMany("pages", "Page", inverse: nil, ordered: true)]),
      .make("Page", ["text": .string]),
    ]
    let plain: [EntityDescription] = [.make("Book", ["title": .string]), .make("Page", ["text": .string])]
    let fixture = try MigrationFixture(plain, to: entities)
    try fixture.build { try $0.insert("Book", key: 1) }
    fixture.mappings = [try .make("Book", "Book", kind: .copy)]
    #expect {
      try fixture.run()
    } throws: { error in
      let error = error as? GodwitError
      return error?.code == .configuration
        && error?.message.contains("the order of 'Book.pages', an ordered to-many without an inverse, is not known")
          == true
        && error?.remedy?.contains("`layout: {from: STORE}`") == true
    }
    let layout = fixture.folder.file("layout.sqlite")
    try StoreBuilder(path: layout, model: fixture.destination).finish()
    var job = try fixture.job
    job.layoutStore = try LayoutStore(path: layout, model: fixture.destination)
    #expect(try MigrationManager(job).run().outcome == .finished)
  }
}

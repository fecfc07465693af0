import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Composite attributes from end to end: a store has their leaves, and a mapping names them by path.
struct `Composite attributes` {
  private static func author(_ more: [AttributeDescription] = []) -> AttributeDescription {
    .composite("author", [.make("id", .integer64), .make("name")] + more)
  }

  private static func books(_ attributes: [AttributeDescription], byShelf: Bool = false) -> [EntityDescription] {
    var book = EntityDescription(name: "Book", attributes: [.make("id", .integer64)] + attributes)
    guard byShelf else { return [book] }
    book.relationships = [.toOne("shelf", "Shelf", inverse: "books")]
    let shelf = EntityDescription(
      name: "Shelf", attributes: [.make("n", .integer64), .make("text"), .composite("place", [.make("room")])],
      relationships: [.toMany("books", "Book", inverse: "shelf")])
    return [book, shelf]
  }

  /// Four books: two authors, one without a name, one nil.
  private static func fixture(
    to destination: [EntityDescription], from source: [EntityDescription] = books([author()])
  ) throws -> MigrationFixture {
    let fixture = try MigrationFixture(source, to: destination)
    try fixture.build { store in
      for key in Int64(1)...4 {
        var values: [String: AttributeValue] = ["id": .integer(key * 10)]
        guard fixture.source.composite("author", of: "Book") != nil else {
          try store.insert("Book", key: key, attributes: values)
          continue
        }
        if key < 4 { values["author.id"] = .integer(key) }
        if key < 3 { values["author.name"] = .init("n\(key)") }
        try store.insert(
          "Book", key: key, attributes: values,
          relationships: fixture.source.entity("Shelf") == nil ? [:] : ["shelf": [key % 2 + 1]])
      }
      guard fixture.source.entity("Shelf") != nil else { return }
      try store.insert("Shelf", key: 1, attributes: ["place.room": .init("hall")])
      try store.insert("Shelf", key: 2)
    }
    return fixture
  }

  private func losses(_ fixture: MigrationFixture) throws -> [String] {
    try MigrationManager(fixture.job).plan().losses.losses.map(\.description)
  }

  private func refusal(_ fixture: MigrationFixture) throws -> GodwitError {
    let error = try #require(throws: GodwitError.self) { try MigrationManager(fixture.job).plan() }
    #expect(error.code == .configuration)
    return error
  }

  // MARK: Inference

  @Test func `an equal composite is copied leaf by leaf, nil with all its leaves`() throws {
    let fixture = try Self.fixture(to: Self.books([Self.author(), .make("more")]))
    try fixture.infer()
    try fixture.run()
    #expect(try losses(fixture) == [])
    #expect(
      try fixture.rows("SELECT Z_PK, ZID1, ZID, ZNAME FROM source.ZBOOK ORDER BY 1")
        == ["1|10|1|n1", "2|20|2|n2", "3|30|3|nil", "4|40|nil|nil"])
  }

  @Test func `leaves are added, removed, renamed and retyped like attributes`() throws {
    let writer = AttributeDescription.composite(
      "writer", was: "author",
      [.make("number", .integer32, was: "id"), .make("rank", .integer16, isOptional: true, default: .integer(7))])
    let fixture = try Self.fixture(to: Self.books([writer]))
    let model = try fixture.infer()
    #expect(
      model.entityMappings[0].attributeMappings.map { "\($0.name): \($0.value.source.text)" }
        == ["id: $source.id", "writer.number: $source.author.id"])
    try fixture.run()
    #expect(try losses(fixture) == ["2 values of Book.author.name (no destination attribute takes them)"])
    #expect(
      try fixture.rows("SELECT Z_PK, ZNUMBER, ZRANK FROM source.ZBOOK ORDER BY 1")
        == ["1|1|7", "2|2|7", "3|3|7", "4|nil|7"])
    let compared = ModelComparison(from: fixture.source, to: fixture.destination).entities.flatMap(\.properties)
    #expect(
      compared.map { "\($0.kind) \($0.oldName ?? "") \($0.name)" } == [
        "removed  author.name", "renamed author.id writer.number", "added  writer.rank",
      ])
  }

  @Test func `a leaf that nothing fills is refused by its path`() throws {
    func refusals(_ elements: [AttributeDescription], isOptional: Bool = false) throws -> [String] {
      let now = AttributeDescription.composite("author", isOptional: isOptional, elements)
      let (a, b) = (
        try ManagedObjectModel(name: "1", entities: Self.books([Self.author()])),
        try ManagedObjectModel(name: "2", entities: Self.books([now]))
      )
      return MappingInference(from: a, to: b).refusals.map(\.description)
    }
    #expect(
      try refusals([.make("id", .integer64), .make("x", isOptional: false)])
        == ["Book.author.x: new, required and without a default"])
    #expect(try refusals([.make("id", .integer64), .make("x", isOptional: false)], isOptional: true) == [])
    #expect(try refusals([.make("id"), .make("name")]) == ["Book.author.id: type Integer 64 to String"])
  }

  @Test func `a composite that takes the plain name of a column leaves its values where they belong`() throws {
    let fixture = try Self.fixture(to: Self.books([Self.author(), .make("name")]), from: Self.books([.make("name")]))
    let connection = try StoreConnection(path: fixture.sourcePath)
    try connection.execute("UPDATE ZBOOK SET ZNAME = 'book ' || Z_PK")
    try connection.close()
    try fixture.infer()
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZID, ZID1, ZNAME, ZNAME1 FROM source.ZBOOK ORDER BY 1")
        == (1...4).map { "\($0)|nil|\($0 * 10)|nil|book \($0)" })
  }

  @Test func `why names the element that keeps a store from fitting`() throws {
    func model(_ element: AttributeDescription) throws -> ManagedObjectModel {
      try ManagedObjectModel(name: "M", entities: Self.books([.composite("author", [.make("id"), element])]))
    }
    let stored = try model(.make("name", isOptional: false))
    let explanation = HashExplanation(
      model: try model(.make("name")), storeHashes: stored.versionHashes)
    #expect(explanation.reason(forEntity: "Book")?.contains("Book.author: ") == true)
    #expect(explanation.reason(forEntity: "Book")?.contains("element 'name': it says required") == true)
  }

  @Test func `a composite with two elements of one name is refused`() throws {
    for attributes in [
      [AttributeDescription.composite("c", [.make("x"), .make("x", .date)])],
      [.composite("c", [.make("x")]), .make("c.x")], [.composite("c", [.make("x")]), .make("c")],
    ] {
      let error = try #require(throws: GodwitError.self) {
        try ManagedObjectModel(name: "M", entities: [EntityDescription(name: "A", attributes: attributes)])
      }
      #expect(error.message.contains("is defined twice"))
    }
  }

  @Test func `paths of leaves with reserved names are written so that they can be read`() throws {
    let size = AttributeDescription.composite("size", [.make("first", .integer64), .make("in", .integer64)])
    let model = try ManagedObjectModel(name: "M", entities: Self.books([size]))
    let mapping = try MappingModel(inferredFrom: model, to: model)
    let texts = mapping.entityMappings[0].attributeMappings.map(\.value.source.text)
    #expect(texts == ["$source.id", "$source.#size.#first", "$source.#size.#in"])
    for text in texts { #expect(try "\(ValueExpression(parsing: text))" == text) }
  }

  // MARK: Mappings

  @Test(arguments: [false, true])
  func `key paths read leaves, also through relationships`(inSwift: Bool) throws {
    let source = Self.books([Self.author()], byShelf: true)
    let destination = [
      EntityDescription(
        name: "Book",
        attributes: [
          .make("id", .integer64), .make("text"), .make("room"), .composite("by", [.make("name"), .make("long")]),
        ]),
      EntityDescription(name: "Shelf", attributes: [.make("n", .integer64), .make("text")]),
    ]
    let fixture = try Self.fixture(to: destination, from: source)
    fixture.mappings = [
      try .make(
        "Book", "Book", filter: "author.id < 4 AND shelf.books.author.id >= 0",
        attributes: [
          "id": "$source.author.id * 2", "text": "$source.author.name", "room": "$source.shelf.place.room",
          "by.name": "uppercase:($source.author.name)",
          "by.long": "TERNARY($source.author.name == nil, 'none', 'some')",
        ]),
      try .make(
        "Shelf", "Shelf",
        attributes: [
          "n": "$source.books.@max.author.id",
          "text": "SUBQUERY($source.books, $b, $b.author.name != nil).@max.author.name",
        ]),
    ]
    fixture.mappings[0].filter = try FilterPredicate("author.id < 4 AND ANY shelf.books.author.id >= 0")
    fixture.chunkPredicates = ["BookToBook": ["author.id == 1", "NOT author.id == 1 OR author.id == nil"]]
    try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
    #expect(
      try fixture.rows("SELECT Z_PK, ZID, ZTEXT, ZROOM, ZNAME, ZLONG FROM source.ZBOOK ORDER BY 1")
        == ["1|2|n1|nil|N1|some", "2|4|n2|hall|N2|some", "3|6|nil|nil|nil|none"])
    #expect(try fixture.rows("SELECT Z_PK, ZN, ZTEXT FROM source.ZSHELF ORDER BY 1") == ["1|2|n2", "2|3|n1"])
    #expect(try losses(fixture).filter { $0.contains("Book.author") || $0.contains("place") } == [])
  }

  @Test func `a composite takes another with equal leaves as a whole`() throws {
    let now = AttributeDescription.composite("writer", [.make("name"), .make("id", .integer64)])
    let fixture = try Self.fixture(to: Self.books([now, .make("text")]))
    fixture.mappings = [
      try .make("Book", "Book", attributes: ["writer": "$source.author", "text": "$source.author.name"])
    ]
    #expect(
      try fixture.job.steps[0].mappingModels[0].entityMappings[0].attributeMappings
        .map { "\($0.name): \($0.value.source.text)" }.sorted() == [
          "text: $source.author.name", "writer.id: $source.author.id", "writer.name: $source.author.name",
        ])
    try fixture.run()
    #expect(
      try fixture.rows("SELECT ZID1, ZNAME, ZTEXT FROM source.ZBOOK ORDER BY Z_PK")
        == ["1|n1|n1", "2|n2|n2", "3|nil|nil", "nil|nil|nil"])
  }

  @Test func `a composite that takes anything else is 78 and names an element`() throws {
    let fixture = try Self.fixture(to: Self.books([.composite("writer", [.make("name")]), .make("text")]))
    func message(_ name: String, _ value: String) throws -> String {
      fixture.mappings = [try .make("Book", "Book", attributes: [name: value])]
      let error = try refusal(fixture)
      return "\(error.message) | \(error.remedy ?? "")"
    }
    #expect(try message("writer", "$source.author").contains("'writer' of 'Book' is a composite attribute"))
    #expect(try message("writer", "'x'").contains("such as 'writer.name'"))
    #expect(
      try message("text", "$source.author")
        .contains("found the composite attribute 'author': name one of its elements, such as 'author.id'"))
    #expect(try message("text", "$source.author.nmae").contains("'Book' has no property 'author.nmae'"))
    #expect(try message("writer.nam", "$source.author.name").contains("(did you mean 'writer.name'?)"))
  }

  @Test func `a unique-by of a leaf merges objects`() throws {
    let now = AttributeDescription.composite("author", [.make("id", .integer64), .make("name")])
    let fixture = try Self.fixture(to: [EntityDescription(name: "Person", attributes: [now])])
    fixture.mappings = [
      try .make(
        "Book", "Person", uniqueBy: ["author.id"],
        attributes: ["author.id": "TERNARY($source.author.id > 1, 2, 1)", "author.name": "$source.author.name"])
    ]
    try fixture.run()
    #expect(try fixture.rows("SELECT ZID, ZNAME FROM source.ZPERSON ORDER BY Z_PK") == ["1|n1", "2|n2"])
  }

  @Test func `a store with another clash number has the leaf in that column`() throws {
    let fixture = try Self.fixture(to: Self.books([Self.author()]))
    try fixture.alter("ALTER TABLE ZBOOK RENAME COLUMN ZNAME TO ZNAME7")
    let schema = try StoreSchema(model: fixture.source, probing: .openStore(readingAt: fixture.sourcePath))
    #expect(schema.column(of: "author.name", in: "Book") == "ZNAME7")
  }

  // MARK: Rules and files

  @Test func `a required leaf of an optional composite may be nil, that of a required one not`() throws {
    func destination(isOptional: Bool) -> [EntityDescription] {
      Self.books([
        .composite("author", isOptional: isOptional, [.make("id", .integer64, isOptional: false), .make("name")])
      ])
    }
    let loose = try Self.fixture(to: destination(isOptional: true))
    loose.mappings = [try .make("Book", "Book", kind: .copy)]
    try loose.run()
    let strict = try Self.fixture(to: destination(isOptional: false))
    strict.mappings = loose.mappings
    let error = try #require(throws: GodwitError.self) { try MigrationManager(strict.job).run() }
    #expect(error.code == .dataWrong)
    #expect("\(error)".contains("author.id"))
    #expect("\(try MigrationManager(strict.job).audit())".contains("author.id"))
  }

  @Test func `constraints may name a leaf, and a composite whose index is not known`() throws {
    var entities = Self.books([Self.author(), .make("more")])
    entities[0].uniquenessConstraints = [["author.id"], ["author"]]
    let fixture = try Self.fixture(to: entities)
    fixture.mappings = [try .make("Book", "Book", kind: .copy)]
    try fixture.run()
    let names = try fixture.rows("SELECT name FROM source.sqlite_master WHERE sql LIKE 'CREATE UNIQUE%'")
    #expect(names == ["Z_Book_UNIQUE_author.id"])
    #expect(
      StoreSchema(model: fixture.destination).omittedIndexes
        == ["uniqueness constraint of 'Book' on author: not all are stored"])
    let equal = try Self.fixture(to: entities)
    equal.mappings = [
      try .make("Book", "Book", attributes: ["author.id": "1", "author.name": "$source.author.name"])
    ]
    let error = try #require(throws: GodwitError.self) { try MigrationManager(equal.job).run() }
    #expect("\(error)".contains("author.id"))
  }

  @Test func `a policy reads and writes leaves by path`() throws {
    struct Shout: EntityMigrationPolicy {
      func createDestinationInstances(
        forSource source: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
      ) throws {
        var book = try manager.createDestinationInstance(forSource: source, in: mapping)
        book["author.name"] = try source.string("author.name").map { AttributeValue($0 + "!") } ?? .null
        try manager.insert(book)
        manager.associate(sourceInstance: source, withDestinationInstance: book, for: mapping)
      }
    }
    let fixture = try Self.fixture(to: Self.books([Self.author()]))
    var mapping = try EntityMapping.make("Book", "Book", kind: .copy, attributes: ["author": "$source.author"])
    mapping.policyName = "Shout"
    fixture.mappings = [mapping]
    var job = try fixture.job
    job.policies = ["Shout": { Shout() }]
    _ = try MigrationManager(job).run()
    #expect(
      try fixture.rows("SELECT ZID, ZNAME FROM source.ZBOOK ORDER BY Z_PK") == ["1|n1!", "2|n2!", "3|nil", "nil|nil"])
  }

  @Test func `the elements of a rejected object come out in the quarantine, and an edited one goes in`() throws {
    var id = AttributeDescription.make("id", .integer64)
    id.maximumValue = .integer(2)
    let fixture = try Self.fixture(to: Self.books([.composite("author", [id, .make("name")])]))
    fixture.mappings = [try .make("Book", "Book", kind: .copy)]
    var job = try fixture.job
    job.quarantine = Quarantine(maximumRows: 1)
    #expect(try MigrationManager(job).run().quarantinedObjects == 1)
    let found = "SELECT Z_PK, ZID1, ZID, ZNAME FROM source.ZBOOK ORDER BY 1"
    #expect(try fixture.rows(found) == ["1|10|1|n1", "2|20|2|n2", "4|40|nil|nil"])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")

    let reader = try ObjectReader(
      path: job.quarantinePath, model: try QuarantineModel.model(for: fixture.source))
    let held = try #require(try reader.object(.init(entity: "Book", key: 3)))
    let values = Dictionary(uniqueKeysWithValues: held.properties.map { ($0.name, $0.value) })
    for (name, value) in [
      ("id", AttributeValue.integer(30)), ("author.id", .integer(3)), ("author.name", .null),
    ] {
      guard case .attribute(let stored, _)? = values[name] else {
        Issue.record("\(name) is missing")
        continue
      }
      #expect(stored == value, "\(name)")
    }
    let reasons = try StoreConnection.openStore(readingAt: job.quarantinePath)
    #expect(
      try reasons.rows("SELECT ZPROPERTY FROM source.ZGODWITQUARANTINEREASON") == [[.text(Array("author.id".utf8))]])

    let connection = try StoreConnection(path: job.quarantinePath)
    try connection.execute("UPDATE ZBOOK SET ZID = 2, ZNAME = 'n3' WHERE Z_PK = 3")
    #expect(connection.changes == 1)
    try connection.close()
    let copy = fixture.folder.file("copy.sqlite")
    let edits = try QuarantineEdits.apply(
      URL(filePath: job.quarantinePath), to: URL(filePath: fixture.sourcePath), writing: URL(filePath: copy))
    #expect(edits == .init(edited: 1, unchanged: 0, deleted: 0))
    var next = job
    (next.sourcePath, next.quarantine) = (copy, nil)
    for path in [job.destinationPath, job.quarantinePath] { try FileManager.default.removeItem(atPath: path) }
    #expect(try MigrationManager(next).run().outcome == .finished)
    #expect(try fixture.rows(found) == ["1|10|1|n1", "2|20|2|n2", "3|30|2|n3", "4|40|nil|nil"])
    let after = try Verifier(job: next).run()
    #expect(after.isClean, "\(after)")
  }

  @Test(arguments: [StoreType.xml, .binary]) func `a store of another type cannot hold one`(type: StoreType) throws {
    let fixture = try Self.fixture(to: Self.books([Self.author()]))
    fixture.mappings = [try .make("Book", "Book", kind: .copy)]
    var job = try fixture.job
    job.destinationType = type
    job.destinationPath = fixture.folder.file("out/books.atomic")
    let message =
      "cannot use model '2' with \(type.nounWithArticle): 'Book.author' is a composite attribute, which Core Data has in SQLite stores only"
    for run in [{ _ = try MigrationManager(job).plan() }, { _ = try MigrationManager(job).run() }] {
      let error = try #require(throws: GodwitError.self) { try run() }
      #expect(error.code == .configuration && error.message == message, "\(error)")
      #expect(error.remedy?.contains("`destination-type: sqlite`") == true)
    }
    #expect(!FileManager.default.fileExists(atPath: fixture.folder.file("out")))
  }
}

import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitDisk
@testable import GodwitInference
@testable import GodwitJob
@testable import GodwitStore
@testable import GodwitVerifier

/// Migration in place by definition alone: `MigrationFixture.run` compares it with the ordinary run of the same
/// inferred mapping, and every row with what it was.
struct SchemaOnlyTests {
  private static func photo(isExternal: Bool = true) -> AttributeDescription {
    var photo = AttributeDescription.make("photo", .binary)
    photo.allowsExternalBinaryDataStorage = isExternal
    return photo
  }

  /// What a version of the library differs in, entity by entity.
  struct Library {
    var entities: [EntityDescription]

    init() {
      let spouse = RelationshipDescription.toOne("spouse", "Author", inverse: "partner")
      let partner = RelationshipDescription.toOne("partner", "Author", inverse: "spouse")
      var name = AttributeDescription.make("name")
      name.isIndexed = true
      var author = EntityDescription(
        name: "Author", attributes: [name, photo()],
        relationships: [.toMany("books", "Book", inverse: "author", ordered: true), spouse, partner])
      author.uniquenessConstraints = [["name"]]
      entities = [
        author,
        EntityDescription(
          name: "Book",
          attributes: [AttributeDescription.make("title"), AttributeDescription.make("pages", .integer32)],
          relationships: [.toOne("author", "Author", inverse: "books"), .toMany("tags", "Tag", inverse: "books")]),
        EntityDescription(
          name: "Tag", attributes: [AttributeDescription.make("word")],
          relationships: [.toMany("books", "Book", inverse: "tags", ordered: true)]),
        EntityDescription(name: "Work", isAbstract: true, attributes: [AttributeDescription.make("size", .integer32)]),
        EntityDescription(
          name: "Ballet", superentityName: "Work", attributes: [AttributeDescription.make("dancers", .integer16)]),
        EntityDescription(
          name: "Opera", superentityName: "Work", attributes: [AttributeDescription.make("acts", .integer16)]),
      ]
    }

    func with(_ changes: (inout Library) -> Void) -> Library {
      var library = self
      changes(&library)
      return library
    }

    subscript(_ name: String) -> EntityDescription {
      get { entities.first { $0.name == name } ?? EntityDescription(name: name) }
      set {
        if let place = entities.firstIndex(where: { $0.name == name }) {
          entities[place] = newValue
        } else {
          entities.append(newValue)
        }
      }
    }
  }

  private func fixture(_ later: Library, from earlier: Library = Library()) throws -> MigrationFixture {
    let fixture = try MigrationFixture(earlier.entities, to: later.entities)
    try fixture.build { store in
      for key in Int64(1)...4 {
        try store.insert(
          "Author", key: key, attributes: ["name": .init("a\(key)")],
          relationships: ["spouse": [5 - key], "partner": [5 - key]])
        try store.insert("Tag", key: key, attributes: ["word": .init("t\(key)")])
      }
      for key in Int64(1)...9 {
        try store.insert(
          "Book", key: key, attributes: ["title": .init("b\(key)"), "pages": .integer(key * 100)],
          relationships: ["author": [key % 4 + 1], "tags": [key % 4 + 1, (key + 1) % 4 + 1]])
      }
      for key in Int64(1)...6 {
        try store.insert(
          key % 2 == 0 ? "Opera" : "Ballet", key: key,
          attributes: ["size": .integer(key), key % 2 == 0 ? "acts" : "dancers": .integer(key)])
      }
    }
    try fixture.alter("UPDATE ZBOOK SET Z_OPT = Z_PK")
    try fixture.infer()
    return fixture
  }

  private func plan(_ fixture: MigrationFixture, keepsOld: Bool = false) throws -> MigrationPlan {
    try MigrationManager(fixture.jobInPlace(fixture.sourcePath, keepsOld: keepsOld)).plan()
  }

  private func expectByDefinition(
    _ fixture: MigrationFixture, costs: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let step = try #require(try plan(fixture).steps.first, sourceLocation: sourceLocation)
    #expect(step.way == MigrationPlan.wayOfDefinitions, sourceLocation: sourceLocation)
    #expect(step.costs == costs, sourceLocation: sourceLocation)
    try fixture.run()
  }

  /// The store migrated in place, with the old one beside it.
  private func migrated(_ fixture: MigrationFixture, _ name: String = "migrated") throws -> String {
    let path = try fixture.copyOfSource(name)
    #expect(try MigrationManager(fixture.jobInPlace(path)).run().outcome == .finished)
    return path
  }

  // MARK: Taken

  @Test func `by definition alone, a new attribute's column is added at the end of its table`() throws {
    let fixture = try fixture(
      Library().with {
        $0["Book"].attributes += [
          AttributeDescription.make("alpha"), AttributeDescription.make("editions", .integer64),
        ]
      })
    try expectByDefinition(fixture)
    let plan = try plan(fixture, keepsOld: true)
    #expect("\(plan)".contains("strategy     in place by definition alone: no row is read or written, so"))
    #expect(plan.steps.first?.costs?.count == 1)
    #expect(plan.steps.first?.costs?.first?.contains("are copied where the file system cannot share them") == true)
    let store = try StoreConnection.openStore(readingAt: migrated(fixture))
    #expect(
      try store.rows("SELECT sql FROM source.sqlite_master WHERE name = 'ZBOOK'").first?.first?.plain
        == "CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPAGES INTEGER, ZAUTHOR INTEGER, Z_FOK_AUTHOR INTEGER, ZTITLE VARCHAR, ZEDITIONS INTEGER, ZALPHA VARCHAR )"
    )
    #expect(try store.rows("SELECT DISTINCT ZALPHA, ZEDITIONS FROM source.ZBOOK") == [[.null, .null]])
  }

  @Test func `by definition alone, new attributes of a hierarchy are added to its one table`() throws {
    try expectByDefinition(
      fixture(
        Library().with {
          $0["Work"].attributes.append(AttributeDescription.make("age", .integer16))
          $0["Ballet"].attributes.append(AttributeDescription.make("alpha"))
          $0["Opera"].attributes.append(AttributeDescription.make("alpha"))
        }))
  }

  @Test func `by definition alone, a renamed attribute keeps its values`() throws {
    // The later Ballet.word takes the plain name of the column that was Opera's.
    let earlier = Library().with { $0["Opera"].attributes.append(AttributeDescription.make("word")) }
    let fixture = try fixture(
      earlier.with { $0["Ballet"].attributes.append(AttributeDescription.make("word")) }, from: earlier)
    try fixture.alter("UPDATE ZWORK SET ZWORD = 'w' || Z_PK WHERE ZACTS NOT NULL")
    try expectByDefinition(fixture)
    #expect(
      try fixture.rows("SELECT ZWORD, ZWORD1 FROM source.ZWORK WHERE Z_PK < 3 ORDER BY Z_PK") == ["nil|nil", "nil|w2"])
  }

  @Test func `by definition alone, renames change only names, including those of indexes and join tables`() throws {
    let later = Library().with { library in
      library.entities = library.entities.map { entity in
        var entity = entity
        for place in entity.relationships.indices {
          if entity.relationships[place].destinationEntityName == "Book" {
            entity.relationships[place].destinationEntityName = "Brick"
          }
          switch entity.relationships[place].inverseName {
          case "author": entity.relationships[place].inverseName = "writer"
          case "tags": entity.relationships[place].inverseName = "labels"
          default: break
          }
        }
        return entity
      }
      library["Author"].attributes[0] = AttributeDescription.make("title", was: "name")
      library["Author"].attributes[0].isIndexed = true
      library["Author"].uniquenessConstraints = [["title"]]
      var book = library["Book"]
      book.renamingIdentifier = book.name
      book.name = "Brick"
      for (place, name) in ["writer", "labels"].enumerated() {
        book.relationships[place].renamingIdentifier = book.relationships[place].name
        book.relationships[place].name = name
      }
      // Two names change places, where their types allow.
      book.attributes = [
        AttributeDescription.make("heading", was: "title"), AttributeDescription.make("pages", .integer32),
        AttributeDescription.make("blurb"),
      ]
      library.entities[1] = book
    }
    let fixture = try fixture(later)
    try expectByDefinition(fixture)
    let store = try StoreConnection.openStore(readingAt: migrated(fixture))
    let names = try store.rows("SELECT name FROM source.sqlite_master WHERE type = 'index' AND sql NOT NULL ORDER BY 1")
    #expect(
      names.map(\.[0].plain) == [
        "ZAUTHOR_ZPARTNER_INDEX", "ZAUTHOR_ZSPOUSE_INDEX", "ZBRICK_ZWRITER_INDEX", "ZWORK_Z_ENT_INDEX",
        "Z_2LABELS_Z_3LABELS_INDEX", "Z_Author_UNIQUE_title", "Z_Author_title",
      ])
  }

  @Test func `by definition alone, exchanged names keep their indexes`() throws {
    func shape(_ isLater: Bool) -> Library {
      Library().with {
        $0["Tag"].attributes = [
          AttributeDescription.make("word", was: isLater ? "root" : nil),
          AttributeDescription.make("root", was: isLater ? "word" : nil),
        ]
        // The names are those of before, so the version hash needs another difference.
        if isLater { $0["Book"].attributes.append(AttributeDescription.make("alpha")) }
        for place in 0...1 { $0["Tag"].attributes[place].isIndexed = true }
      }
    }
    let fixture = try fixture(shape(true), from: shape(false))
    try fixture.alter("UPDATE ZTAG SET ZROOT = 'r' || Z_PK")
    try expectByDefinition(fixture)
    #expect(try fixture.rows("SELECT ZWORD, ZROOT FROM source.ZTAG WHERE Z_PK = 1") == ["r1|t1"])
    let store = try StoreConnection(path: migrated(fixture))
    #expect(try store.rows("PRAGMA integrity_check") == [[.text(Array("ok".utf8))]])
    #expect(
      try store.rows("EXPLAIN QUERY PLAN SELECT Z_PK FROM ZTAG WHERE ZWORD = 'r1'").first?.last?.plain
        .contains("Z_Tag_word") == true)
  }

  @Test func `by definition alone, a column named like its renamed table keeps its index`() throws {
    func models(_ name: String, was: String?) -> EntityDescription {
      var entity = EntityDescription(
        name: name, attributes: [AttributeDescription.make("word")],
        relationships: [
          .toOne("category", name, inverse: "parts"), .toMany("parts", name, inverse: "category"),
        ])
      entity.renamingIdentifier = was
      return entity
    }
    let fixture = try MigrationFixture(
      [models("Category", was: nil)], to: [models("Group", was: "Category")])
    try fixture.build { store in
      for key in Int64(1)...4 {
        try store.insert(
          "Category", key: key, attributes: ["word": .init("w\(key)")],
          relationships: key > 1 ? ["category": [key - 1]] : [:])
      }
    }
    try fixture.infer()
    try expectByDefinition(fixture)
  }

  @Test func `by definition alone, looser rules, new entities and new links leave rows unchanged`() throws {
    let earlier = Library().with {
      $0["Tag"].attributes[0].maximumLength = 9
      $0["Book"].attributes[0].isOptional = false
      $0["Book"].attributes[0].defaultValue = .init("none")
      $0["Book"].relationships[0].isOptional = false
      $0["Book"].relationships[1].minCount = 1
    }
    let later = Library().with {
      $0["Author"].uniquenessConstraints = []
      $0["Tag"].attributes[0].maximumLength = 10
      $0["Tag"].attributes.append(AttributeDescription.make("passing"))
      $0["Tag"].attributes[1].isTransient = true
      $0["Zoo"] = EntityDescription(
        name: "Zoo", attributes: [AttributeDescription.make("place")],
        relationships: [.toMany("tags", "Tag", inverse: "zoos")])
      $0["Tag"].relationships += [
        .toMany("zoos", "Zoo", inverse: "tags"), .toOne("mother", "Tag", inverse: "daughters"),
        .toMany("daughters", "Tag", inverse: "mother"),
      ]
    }
    try expectByDefinition(
      fixture(later, from: earlier),
      costs: [
        "index ZTAG_ZMOTHER_INDEX is created: every row of ZTAG is read",
        "index Z_Author_UNIQUE_name is dropped: all its pages are freed",
      ])
  }

  @Test func `by definition alone, tables, views, triggers and indexes that no model names are dropped`() throws {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    for sql in [
      "CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTRANSACTIONID INTEGER )",
      "INSERT INTO ACHANGE VALUES (40, 16001, 1, 7)", "INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 50)",
      "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)", "INSERT INTO Z_MODELCACHE VALUES (x'00')",
      "CREATE TABLE mine (x)", "CREATE VIEW seen AS SELECT * FROM ZBOOK", "CREATE INDEX own ON ZBOOK (ZTITLE)",
      "CREATE TRIGGER told AFTER UPDATE ON ZBOOK BEGIN SELECT NSCoreDataFunction(1); END",
      "PRAGMA user_version = 7", "PRAGMA application_id = 9", "ANALYZE", "DROP INDEX ZBOOK_ZAUTHOR_INDEX",
      "UPDATE Z_PRIMARYKEY SET Z_MAX = 50 WHERE Z_NAME = 'Book'",
    ] { try fixture.alter(sql) }
    try expectByDefinition(
      fixture,
      costs: [
        "index ZBOOK_ZAUTHOR_INDEX is created: every row of ZBOOK is read",
        "index own is dropped: all its pages are freed", "table ACHANGE is dropped: all its pages are freed",
        "table mine is dropped: all its pages are freed",
      ])
    let store = try StoreConnection.openStore(readingAt: migrated(fixture))
    #expect(
      try store.rows("SELECT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_NAME = 'Book'") == [[.integer(50)]])
  }

  @Test func `by definition alone, external files stay with both stores`() throws {
    let fixture = try fixture(Library().with { $0["Author"].attributes.append(AttributeDescription.make("alpha")) })
    let support = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    let connection = try StoreConnection(path: fixture.sourcePath)
    for key in 1...3 {
      let name = "0000000\(key)-1111-2222-3333-444444444444"
      try Data("photo \(key)".utf8).write(to: URL(filePath: support.path(of: name)))
      try connection.execute(
        "UPDATE ZAUTHOR SET ZPHOTO = ?1 WHERE Z_PK = ?2", [.blob(StoredBinary.external(name: name).bytes), .int(key)])
    }
    try connection.close()
    try expectByDefinition(fixture)
    #expect(try InPlaceContent(migrated(fixture)).files.count == 3)
  }

  // MARK: Not taken

  static let otherChanges: [(reason: String, earlier: Library, later: Library)] = {
    func derived(_ expression: String) -> AttributeDescription {
      var count = AttributeDescription.make("count", .integer64)
      count.derivationExpression = expression
      return count
    }
    var cases: [(String, Library, Library)] = []
    func add(
      _ reason: String, _ change: (inout Library) -> Void, from earlier: (inout Library) -> Void = { _ in }
    ) {
      let earlier = Library().with(earlier)
      // Rules are no part of a version hash, so a new attribute makes another version.
      cases.append(
        (
          reason, earlier,
          earlier.with(change).with { $0["Tag"].attributes.append(AttributeDescription.make("passage")) }
        ))
    }
    add("Book.zeta is new and has a default") {
      $0["Book"].attributes.append(AttributeDescription.make("zeta", default: .init("z")))
    }
    add("Book.zeta is new and has a default") {
      $0["Book"].attributes.append(
        AttributeDescription.make("zeta", .boolean, isOptional: false, default: .boolean(false)))
    }
    add("Book.title becomes required") {
      $0["Book"].attributes[0].isOptional = false
      $0["Book"].attributes[0].defaultValue = .init("none")
    }
    add("Book.title has a stricter rule") { $0["Book"].attributes[0].maximumLength = 100 }
    add("Book.title has a stricter rule") { $0["Book"].attributes[0].regularExpression = "b[0-9]+" }
    add("Book.pages has a stricter rule") { $0["Book"].attributes[1].minimumValue = .integer(1) }
    add("Book.pages goes") { $0["Book"].attributes.remove(at: 1) }
    add("Opera.acts goes") { $0["Opera"].attributes = [] }
    add("Author.count is new and derived") { $0["Author"].attributes.append(derived("books.@count")) }
    add(
      "Author.count changes its derivation", { $0["Author"].attributes[2] = derived("books.pages.@sum") },
      from: { $0["Author"].attributes.append(derived("books.@count")) })
    add(
      "Tag.text is renamed, and the derived attribute 'count' may read it",
      { $0["Tag"].attributes[0] = AttributeDescription.make("text", was: "word") },
      from: { $0["Author"].attributes.append(derived("books.@count")) })
    add("Author.photo changes its external storage") { $0["Author"].attributes[1] = photo(isExternal: false) }
    add("entity Opera goes") { $0.entities.removeLast() }
    add("the entity number of Author changes, 1 to 2") { $0["Aaa"] = EntityDescription(name: "Aaa") }
    add("entity Suite moves into the table of Work") {
      $0["Suite"] = EntityDescription(name: "Suite", superentityName: "Work")
    }
    add("Book.author becomes required") { $0["Book"].relationships[0].isOptional = false }
    add("Book.tags has a stricter rule") { $0["Book"].relationships[1].maxCount = 5 }
    add("Author.books changes its storage") { $0["Author"].relationships[0].isOrdered = false }
    add("Author.books goes") { library in
      library["Book"].relationships.remove(at: 0)
      library["Author"].relationships.remove(at: 0)
    }
    add("Tag has a new uniqueness constraint, word") { $0["Tag"].uniquenessConstraints = [["word"]] }
    return cases
  }()

  @Test(arguments: otherChanges.indices) func `a change that concerns rows uses another strategy, with the same result`(
    number: Int
  ) throws {
    let (reason, earlier, later) = Self.otherChanges[number]
    let fixture = try fixture(later, from: earlier)
    let step = try #require(try plan(fixture).steps.first)
    let isByExecutor = reason.contains("external storage")
    if isByExecutor {
      #expect(step.way?.hasPrefix("through the executor: ") == true)
      return
    }
    #expect(step.way == "in place by SQL, loading no rows")
    #expect(
      step.costs?.last?.hasSuffix(" rows compared with what the destination requires, and the file checked: \(reason)")
        == true, "\(step.costs ?? []), expected \(reason)")
    try fixture.run()
  }

  @Test(arguments: [
    ("ALTER TABLE ZTAG ADD COLUMN ZMINE VARCHAR", "column ZMINE of table ZTAG goes"),
    (
      "ALTER TABLE ZTAG ADD COLUMN ZMINE VARCHAR DEFAULT 'x'",
      "the definition of table ZTAG is not spelt as Core Data spells it"
    ),
    ("DROP INDEX Z_Author_UNIQUE_name", "index Z_Author_UNIQUE_name is missing, so two rows may have the same values"),
  ])
  func `a table that is not the model's needs another strategy`(sql: String, reason: String) throws {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    try fixture.alter(sql)
    let step = try #require(try plan(fixture).steps.first)
    #expect(step.way == "in place by SQL, loading no rows")
    #expect(step.costs?.last?.hasSuffix(": \(reason)") == true, "\(step.costs ?? [])")
    try fixture.run()
  }

  // MARK: Rows

  @Test func `by definition alone, rows stay unchanged, and verify accepts them as the old store's rows`()
    throws
  {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    for sql in [
      "UPDATE ZBOOK SET ZAUTHOR = 77 WHERE Z_PK = 2", "INSERT INTO Z_2TAGS SELECT 1, 99, 5",
      "UPDATE ZWORK SET Z_OPT = NULL WHERE Z_PK = 4",
    ] { try fixture.alter(sql) }
    for keepsOld in [true, false] {
      let path = try fixture.copyOfSource("rows-\(keepsOld)")
      try MigrationManager(fixture.jobInPlace(path, keepsOld: keepsOld)).run()
      try fixture.expectSameRows(path)
      let store = try StoreConnection.openStore(readingAt: path)
      #expect(try store.rows("SELECT ZAUTHOR FROM source.ZBOOK WHERE Z_PK = 2") == [[.integer(77)]])
      #expect(try store.rows("SELECT COUNT(*) FROM source.Z_2TAGS WHERE Z_3TAGS = 99") == [[.integer(1)]])
      guard keepsOld else { continue }
      let report = try fixture.verifyInPlace(path)
      #expect(report.isClean, "\(report)")
      for line in ["9 rows with their old Z_OPT", "1 links of Book.author to nothing"] {
        #expect("\(report)".contains(line.dropFirst(2)), "\(report)")
      }
    }
  }

  @Test(arguments: [
    ("UPDATE ZBOOK SET Z_OPT = 70 WHERE Z_PK = 7", "Z_OPT is neither 1 nor what it was"),
    ("UPDATE ZWORK SET Z_OPT = 2 WHERE Z_PK = 1", "Z_OPT is neither 1 nor what it was"),
    ("UPDATE ZBOOK SET Z_OPT = NULL WHERE Z_PK = 7", "Z_OPT is neither 1 nor what it was"),
    ("UPDATE ZBOOK SET ZAUTHOR = 78 WHERE Z_PK = 2", "the link to p78 comes from no assignment"),
    ("UPDATE ZBOOK SET ZAUTHOR = 77 WHERE Z_PK = 3", "the link to p77 comes from no assignment"),
    ("UPDATE ZBOOK SET ZAUTHOR = 77 WHERE Z_PK = 3", "it leads to p77, which is not an object of 'Author'"),
    ("UPDATE Z_2TAGS SET Z_2BOOKS1 = 2 WHERE Z_3TAGS = 99", "comes from no assignment"),
    ("UPDATE ZBOOK SET ZTITLE = 'other' WHERE Z_PK = 1", "the value is not what mapping"),
    ("UPDATE ZBOOK SET ZALPHA = 'more' WHERE Z_PK = 1", "gives nothing"),
    ("UPDATE ZTAG SET Z_ENT = 4 WHERE Z_PK = 1", "Z_ENT names no entity of this table"),
    ("DELETE FROM ZBOOK WHERE Z_PK = 1", "its object is missing"),
    ("ALTER TABLE ZBOOK ADD COLUMN ZMORE VARCHAR", "table 'ZBOOK' differs"),
  ])
  func `verify finds a row that was changed after a migration by definition alone`(sql: String, message: String) throws
  {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    try fixture.alter("UPDATE ZBOOK SET ZAUTHOR = 77 WHERE Z_PK = 2")
    try fixture.alter("INSERT INTO Z_2TAGS SELECT 1, 99, 5")
    let path = try migrated(fixture)
    let connection = try StoreConnection(path: path)
    let column = try connection.rows("SELECT name FROM pragma_table_info('Z_2TAGS')").first?.first?.plain ?? ""
    try connection.execute(sql.replacing("Z_2BOOKS1", with: column))
    try connection.close()
    let report = try fixture.verifyInPlace(path)
    #expect(!report.isClean)
    #expect(
      report.findings.contains { $0.message.contains(message) }
        || message == "gives nothing" && report.findings.contains { $0.property == "alpha" }, "\(report)")
  }

  @Test func `without the old store, verify does not accept old rows`() throws {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("zeta")) })
    let path = try migrated(fixture)
    var job = try fixture.job
    job.destinationPath = path
    let report = try Verifier(job: job).run()
    #expect(report.findings.filter { $0.message == "Z_OPT is not 1" }.count == 8, "\(report)")
  }

  // MARK: Afterwards

  @Test func `a store migrated by definition alone is a good source for every strategy`() throws {
    let first = try fixture(
      Library().with {
        $0["Book"].attributes += [AttributeDescription.make("alpha"), AttributeDescription.make("blurb")]
      })
    try first.run()
    for (added, way) in [
      (AttributeDescription.make("colour"), MigrationPlan.wayOfDefinitions),
      (AttributeDescription.make("colour", default: .init("red")), "in place by SQL, loading no rows"),
    ] {
      let later = Library().with {
        $0["Book"].attributes += [
          AttributeDescription.make("alpha"), AttributeDescription.make("text", was: "blurb"), added,
        ]
      }
      let second = try MigrationFixture(
        first.destination, to: try ManagedObjectModel(name: "3", entities: later.entities))
      let name = UUID().uuidString
      try FileManager.default.copyItem(atPath: migrated(first, name), toPath: second.sourcePath)
      let store = try StoreConnection(path: second.sourcePath)
      for sql in ["UPDATE ZBOOK SET ZALPHA = 'a' || Z_PK", "UPDATE ZBOOK SET ZBLURB = 'b' || Z_PK"] {
        try store.execute(sql)
      }
      try store.close()
      try second.infer()
      #expect(try plan(second).steps.first?.way == way)
      try second.run()
      #expect(try second.rows("SELECT ZALPHA, ZTEXT FROM source.ZBOOK WHERE Z_PK = 3") == ["a3|b3"])
    }
  }

  @Test func `a fused chain is migrated by definition alone and verified hop by hop`() throws {
    let folder = try TemporaryFolder()
    func library(_ title: AttributeDescription, _ more: [AttributeDescription] = []) -> [EntityDescription] {
      [
        EntityDescription(name: "Author", relationships: [.toMany("books", "Book", inverse: "author")]),
        EntityDescription(
          name: "Book", attributes: [title] + more, relationships: [.toOne("author", "Author", inverse: "books")]),
      ]
    }
    let models = try [
      library(AttributeDescription.make("title")),
      library(AttributeDescription.make("heading", was: "title"), [AttributeDescription.make("alpha")]),
      library(
        AttributeDescription.make("label", was: "title"),
        [AttributeDescription.make("alpha"), AttributeDescription.make("beta")]),
    ].enumerated().map { try ManagedObjectModel(name: "\($0 + 1)", entities: $1) }
    let path = folder.file("people.sqlite")
    let builder = try StoreBuilder(path: path, model: models[0])
    for key in Int64(1)...3 { try builder.insert("Book", key: key, attributes: ["title": .init("b\(key)")]) }
    try builder.finish()
    let connection = try StoreConnection(path: path)
    try connection.execute("UPDATE ZBOOK SET Z_OPT = 5, ZAUTHOR = 8 WHERE Z_PK = 2")
    try connection.close()
    let steps = try zip(models, models.dropFirst()).map { source, destination in
      MigrationStep(
        sourceModel: source, destinationModel: destination,
        mappingModels: [try MappingModel(inferredFrom: source, to: destination)], origin: MigrationStep.inferredOrigin)
    }
    var job = MigrationJob(
      name: "chain", sourcePath: path, destinationPath: path, first: steps[0], later: Array(steps.dropFirst()))
    job.inPlace = .init()
    let manager = MigrationManager(job)
    #expect(try manager.plan().steps.map(\.way) == [MigrationPlan.wayOfDefinitions])
    try manager.run()
    (job.sourcePath, job.inPlace) = (MigrationJob.InPlace.oldPath(of: path), nil)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    let made = try StoreConnection(path: path)
    #expect(
      try made.rows("SELECT ZLABEL, Z_OPT, ZAUTHOR FROM ZBOOK WHERE Z_PK = 2").first?.map(\.plain) == ["b2", "5", "8"])
    try made.execute("UPDATE ZBOOK SET Z_OPT = 6 WHERE Z_PK = 2")
    try made.close()
    #expect(try !Verifier(job: job).run().isClean)
  }

  // MARK: Interruptions

  @Test func `by definition alone, a stop leaves the store unchanged and no trace`() throws {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    for keepsOld in [true, false] {
      let path = try fixture.copyOfSource("stopped-\(keepsOld)")
      let before = try InPlaceContent(path)
      let manager = MigrationManager(fixture.jobInPlace(path, keepsOld: keepsOld))
      #expect(try manager.run(maximumSeconds: 0).outcome == .stopped)
      var stages = 0
      for limit in 0...50 {
        let control = MigrationControl()
        var count = 0
        let summary = try manager.run(control: control) { _ in
          if count == limit { control.stop(reason: "test") }
          count += 1
        }
        guard summary.outcome == .stopped else { break }
        stages += 1
        #expect(try InPlaceContent(path) == before)
        #expect(!WorkFolder.exists(forDestination: path))
      }
      #expect(stages >= 4)
      #expect(try manager.isFinished())
    }
  }

  enum Accident: CaseIterable, Sendable {
    case error, death, powerCut, powerCutWithNames, powerCutWithSomePages

    func fault(at position: Int) -> FaultLayer.Fault {
      switch self {
      case .error: .fail(EIO, at: position)
      case .death: .death(at: position)
      default: .powerCut(at: position)
      }
    }

    func survival(at position: Int) -> DurableDisk.Survival {
      switch self {
      case .powerCutWithNames: .names
      case .powerCutWithSomePages: .some(seed: UInt64(position))
      default: .syncedOnly
      }
    }
  }

  @Test(arguments: [true, false], Accident.allCases)
  func `by definition alone, a fault at any operation leaves a whole store, and the next run completes`(
    keepsOld: Bool, accident: Accident
  ) throws {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    // One file that a value names, and one that none does: both stay.
    let support = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    let names = ["00000001-1111-2222-3333-444444444444", "00000002-1111-2222-3333-444444444444"]
    for name in names { try Data(name.utf8).write(to: URL(filePath: support.path(of: name))) }
    let connection = try StoreConnection(path: fixture.sourcePath)
    try connection.execute(
      "UPDATE ZAUTHOR SET ZPHOTO = ?1 WHERE Z_PK = 1", [.blob(StoredBinary.external(name: names[0]).bytes)])
    try connection.close()
    let before = try StoreDump(fixture.sourcePath)
    let whole = try fixture.copyOfSource("whole")
    try MigrationManager(fixture.jobInPlace(whole, keepsOld: keepsOld)).run()
    let expected = try StoreDump(whole)
    var struck = 0
    // Each third operation on every change.
    for position in stride(from: 1, through: 2000, by: TestTier.choose(7, long: 1)) {
      let path = try fixture.copyOfSource("fault-\(position)")
      let manager = MigrationManager(fixture.jobInPlace(path, keepsOld: keepsOld))
      let layer = try FaultLayer(
        accident.fault(at: position), root: (path as NSString).deletingLastPathComponent)
      var failure: (any Error)?
      do { try layer.run { _ = try manager.run() } } catch { failure = error }
      guard layer.hasStruck else {
        #expect(failure == nil, "\(String(describing: failure))")
        break
      }
      struck += 1
      try layer.survive(accident.survival(at: position))
      // A reader rolls back what was begun, as SQLite would.
      let found = try StoreDump(path)
      #expect(found == before || found == expected, "at \(position)")
      try FaultLayer(.none).run { _ = try manager.run() }
      #expect(try StoreDump(path) == expected, "at \(position)")
      #expect(!WorkFolder.exists(forDestination: path))
      if keepsOld { #expect(try StoreDump(MigrationJob.InPlace.oldPath(of: path)) == before, "at \(position)") }
      let left = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("fault-\(position)"))
      #expect(
        left.sorted()
          == (keepsOld
            ? [".source_SUPPORT", ".source~_SUPPORT", "source.sqlite", "source~.sqlite"]
            : [".source_SUPPORT", "source.sqlite"]),
        "at \(position)")
      #expect(try InPlaceContent(path).files.count == 2, "at \(position)")
      try FileManager.default.removeItem(atPath: fixture.folder.file("fault-\(position)"))
    }
    #expect(struck > TestTier.choose(2, long: 20), "\(struck) operations")
  }

  // MARK: Cost

  /// The whole run of a store of so many rows that is edited itself.
  private func cost(rows: Int64) throws -> (cost: ThreadCost, pages: Int64) {
    let fixture = try MigrationFixture(
      Library().entities,
      to: Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) }.entities)
    try fixture.build { store in
      for key in Int64(1)...4 { try store.insert("Author", key: key, attributes: ["name": .init("a\(key)")]) }
      for key in 1...rows {
        try store.insert(
          "Book", key: key, attributes: ["title": .init("the book of number \(key)")],
          relationships: ["author": [key % 4 + 1]])
      }
    }
    try fixture.infer()
    let manager = MigrationManager(fixture.jobInPlace(fixture.sourcePath, keepsOld: false))
    let cost = try ThreadCost { _ = try manager.run() }
    #expect(try manager.isFinished())
    let connection = try StoreConnection(path: fixture.sourcePath)
    return (cost, try connection.integer("PRAGMA page_count") ?? 0)
  }

  @Test func `a migration by definition alone costs the same for a hundred rows and for twenty thousand`() throws {
    let (few, fewPages) = try cost(rows: 100)
    let (many, manyPages) = try cost(rows: 20_000)
    #expect(manyPages > fewPages + 200)
    #expect(few.instructions > 1000)
    #expect(many.instructions == few.instructions, "\(few) for few rows, \(many) for many")
    // A deeper tree has a page or two more on the way to its last row.
    let pageBytes = 4096
    #expect(abs(many.readBytes - few.readBytes) <= 40 * pageBytes, "\(few) for few rows, \(many) for many")
    #expect(abs(many.writtenBytes - few.writtenBytes) <= 20 * pageBytes, "\(few) for few rows, \(many) for many")
  }
}

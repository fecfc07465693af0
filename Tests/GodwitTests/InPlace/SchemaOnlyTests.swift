import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Migration in place by definition alone: what it takes, and what becomes of the store.
struct SchemaOnlyTests: SchemaOnlyFixture {
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
}

import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Migration in place by SQL: `MigrationFixture.run` compares it with the ordinary run of the same inferred mapping.
struct InPlaceSQLTests {
  private static func entity(
    _ name: String, parent: String? = nil, _ attributes: [AttributeDescription] = [],
    _ relationships: [RelationshipDescription] = [], was: String? = nil
  ) -> EntityDescription {
    var entity = EntityDescription(
      name: name, superentityName: parent, attributes: attributes, relationships: relationships)
    entity.renamingIdentifier = was
    return entity
  }

  // MARK: Library

  private static let books = RelationshipDescription.toMany("books", "Book", inverse: "author", ordered: true)
  private static let author = RelationshipDescription.toOne("author", "Author", inverse: "books")
  private static let tags = RelationshipDescription.toMany("tags", "Tag", inverse: "books")
  private static let tagged = RelationshipDescription.toMany("books", "Book", inverse: "tags", ordered: true)

  /// An attribute whose default has to go into every row, which no change of definitions does.
  private static let zeta = AttributeDescription.make("zeta", default: .init("z"))

  /// Authors, books in order, tags; a hierarchy of two.
  private static func library(
    book: [AttributeDescription] = [], more: [EntityDescription] = []
  ) -> [EntityDescription] {
    [
      entity("Author", [AttributeDescription.make("name")], [books]),
      entity("Book", [AttributeDescription.make("title")] + book, [author, tags]),
      entity("Tag", [AttributeDescription.make("word")], [tagged]),
      entity("Work", [AttributeDescription.make("size", .integer32)]),
      entity("Opera", parent: "Work", [AttributeDescription.make("acts", .integer16)]),
    ] + more
  }

  private func fill(_ fixture: MigrationFixture) throws {
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Author", key: key, attributes: ["name": .init("a\(key)")]) }
      for key in Int64(1)...4 { try store.insert("Tag", key: key, attributes: ["word": .init("t\(key)")]) }
      for key in Int64(1)...9 {
        try store.insert(
          "Book", key: key, attributes: ["title": .init("b\(key)")],
          relationships: ["author": key == 9 ? [] : [key % 3 + 1], "tags": [key % 4 + 1, key % 3 + 1]])
      }
      for key in Int64(1)...4 {
        try store.insert(key < 3 ? "Work" : "Opera", key: key, attributes: ["size": .integer(key)])
      }
    }
  }

  @Test func `in place by SQL, an attribute at the end leaves every table in place`() throws {
    let fixture = try MigrationFixture(
      Self.library(),
      to: Self.library(book: [AttributeDescription.make("zeta", isOptional: false, default: .init("z"))]))
    try fill(fixture)
    try fixture.infer()
    let plan = try MigrationManager(fixture.jobInPlace(fixture.sourcePath)).plan()
    #expect(
      plan.steps.first?.costs == [
        "default of Book.zeta: 9 rows",
        "20 rows compared with what the destination requires, and the file checked: Book.zeta is new and has a default",
      ])
    #expect("\(plan)".contains("strategy     in place by SQL, loading no rows\n  takes time   default of Book.zeta"))
    try fixture.run()
    #expect(try fixture.rows("SELECT COUNT(*), MIN(ZZETA), MAX(ZZETA) FROM source.ZBOOK") == ["9|z|z"])
  }

  @Test func `in place by SQL, a new attribute before others rebuilds its table, and the plan says so`() throws {
    let fixture = try MigrationFixture(
      Self.library(),
      to: Self.library(book: [
        AttributeDescription.make("alpha"), AttributeDescription.make("pages", .integer64, default: .integer(1)),
      ]))
    try fill(fixture)
    try fixture.infer()
    let plan = try MigrationManager(fixture.jobInPlace(fixture.sourcePath)).plan()
    #expect(
      plan.steps.first?.costs?.first == "table ZBOOK is rebuilt, 9 rows: column ZPAGES is added before others")
    try fixture.run()
  }

  @Test func `in place by SQL, entity numbers change with new and renamed entities`() throws {
    let fixture = try MigrationFixture(
      Self.library(), to: Self.library(more: [Self.entity("Aaa", [AttributeDescription.make("x")])]))
    try fill(fixture)
    try fixture.infer()
    #expect(
      try MigrationManager(fixture.jobInPlace(fixture.sourcePath)).plan().steps.first?.costs?.first
        == "entity number of Author, 1 to 2: 3 rows")
    try fixture.run()
    let swapped = try MigrationFixture(
      [
        Self.entity("A", [AttributeDescription.make("v")], [.toOne("b", "B", inverse: "a")]),
        Self.entity("B", [AttributeDescription.make("v")], [.toMany("a", "A", inverse: "b")]),
      ],
      to: [
        Self.entity("A", [AttributeDescription.make("v")], [.toMany("a", "B", inverse: "b")], was: "B"),
        Self.entity("B", [AttributeDescription.make("v")], [.toOne("b", "A", inverse: "a")], was: "A"),
      ])
    try swapped.build { store in
      for key in Int64(1)...2 { try store.insert("B", key: key, attributes: ["v": .init("b\(key)")]) }
      for key in Int64(1)...4 {
        try store.insert("A", key: key, attributes: ["v": .init("a\(key)")], relationships: ["b": [key % 2 + 1]])
      }
    }
    try swapped.infer()
    try swapped.run()
    #expect(
      try swapped.rows("SELECT Z_PK, ZV, ZB FROM source.ZB ORDER BY 1") == ["1|a1|2", "2|a2|1", "3|a3|2", "4|a4|1"])
  }

  @Test func `in place by SQL, tables that stay get the same repairs as in an ordinary run`() throws {
    let fixture = try MigrationFixture(Self.library(), to: Self.library(book: [Self.zeta]))
    try fill(fixture)
    for sql in [
      // Links to nothing, an order with gaps and doubles, counters of edits, values of an attribute of another entity.
      "UPDATE ZBOOK SET ZAUTHOR = 77 WHERE Z_PK = 2", "UPDATE ZBOOK SET Z_FOK_AUTHOR = 5 WHERE Z_PK IN (4, 7)",
      "UPDATE ZBOOK SET Z_FOK_AUTHOR = NULL WHERE Z_PK = 1", "UPDATE ZBOOK SET Z_OPT = Z_PK",
      "INSERT INTO Z_2TAGS SELECT 1, 99, 5", "UPDATE ZWORK SET ZACTS = 3 WHERE Z_PK = 1",
      "UPDATE Z_PRIMARYKEY SET Z_MAX = 50 WHERE Z_NAME = 'Book'", "UPDATE ZWORK SET Z_OPT = NULL WHERE Z_PK = 4",
    ] { try fixture.alter(sql) }
    try fixture.infer()
    try fixture.run()
    #expect(try fixture.rows("SELECT ZAUTHOR, Z_FOK_AUTHOR FROM source.ZBOOK WHERE Z_PK = 2") == ["nil|nil"])
    #expect(try fixture.rows("SELECT DISTINCT Z_OPT FROM source.ZBOOK") == ["1"])
    #expect(try fixture.rows("SELECT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_NAME = 'Book'") == ["50"])
  }

  @Test(arguments: [[], ["UPDATE ZPERSON SET ZSPOUSE = 3 WHERE Z_PK = 1"], ["UPDATE ZPERSON SET ZPARTNER = NULL"]])
  func `in place by SQL, one-to-one links are resolved as in an ordinary run`(edits: [String]) throws {
    func person(_ more: [AttributeDescription]) -> EntityDescription {
      Self.entity(
        "Person", [AttributeDescription.make("name")] + more,
        [.toOne("spouse", "Person", inverse: "partner"), .toOne("partner", "Person", inverse: "spouse")])
    }
    let fixture = try MigrationFixture([person([])], to: [person([Self.zeta])])
    try fixture.build { store in
      for key in Int64(1)...6 {
        try store.insert(
          "Person", key: key, attributes: ["name": .init("p\(key)")],
          relationships: ["spouse": [7 - key], "partner": [7 - key]])
      }
    }
    for sql in edits { try fixture.alter(sql) }
    try fixture.infer()
    try fixture.run()
  }

  @Test func `indexes, constraints and derived attributes are those of the destination`() throws {
    func shapes(_ isLater: Bool) -> [EntityDescription] {
      var name = AttributeDescription.make("name")
      name.isIndexed = !isLater
      var count = AttributeDescription.make("count", .integer64)
      count.derivationExpression = "books.@count"
      var author = Self.entity("Author", [name] + (isLater ? [count] : []), [Self.books])
      author.uniquenessConstraints = isLater ? [["name"]] : []
      var tag = Self.entity("Tag", [AttributeDescription.make("word")], [Self.tagged])
      tag.uniquenessConstraints = [["word"]]
      return [author, Self.entity("Book", [AttributeDescription.make("title")], [Self.author, Self.tags]), tag]
    }
    let fixture = try MigrationFixture(shapes(false), to: shapes(true))
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Author", key: key, attributes: ["name": .init("a\(key)")]) }
      for key in Int64(1)...5 { try store.insert("Book", key: key, relationships: ["author": [key % 2 + 1]]) }
      for key in Int64(1)...2 { try store.insert("Tag", key: key, attributes: ["word": .init("t\(key)")]) }
    }
    try fixture.infer()
    try fixture.run()
    #expect(try fixture.rows("SELECT ZCOUNT FROM source.ZAUTHOR ORDER BY Z_PK") == ["2", "3", "0"])
  }

  @Test func `in place by SQL, tables that no model names go or stay as in an ordinary run`() throws {
    let fixture = try MigrationFixture(Self.library(), to: Self.library(book: [Self.zeta]))
    try fill(fixture)
    for sql in [
      "CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTRANSACTIONID INTEGER )",
      "CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID)",
      "INSERT INTO ACHANGE VALUES (40, 16001, 1, 7)", "INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 50)",
      "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)", "INSERT INTO Z_MODELCACHE VALUES (x'00')",
      "CREATE TABLE mine (x)", "CREATE VIEW seen AS SELECT * FROM ZBOOK", "CREATE INDEX own ON ZBOOK (ZTITLE)",
      "CREATE TRIGGER told AFTER UPDATE ON ZBOOK BEGIN SELECT NSCoreDataFunction(1); END",
      "CREATE TABLE ZNEWCOMER (x)", "PRAGMA user_version = 7", "PRAGMA application_id = 9", "ANALYZE",
    ] { try fixture.alter(sql) }
    try fixture.infer()
    #expect(
      try fixture.run().notes == [
        "persistent history is dropped: 1 row of ACHANGE",
        "the new store has no views and triggers but those of Core Data; left out: view seen, trigger told",
      ])
    #expect(
      try fixture.rows("SELECT name FROM source.sqlite_master WHERE name IN ('mine', 'seen', 'own', 'told')") == [])
  }

  @Test func `definitions that ALTER TABLE changed get Core Data's spelling`() throws {
    let fixture = try MigrationFixture(
      [Self.entity("A", [AttributeDescription.make("a"), AttributeDescription.make("b")])],
      to: [
        Self.entity(
          "A",
          [
            AttributeDescription.make("a"), AttributeDescription.make("b"),
            AttributeDescription.make("c", default: .init("z")),
          ])
      ])
    try fixture.build { try $0.insert("A", key: 1, attributes: ["a": .init("x"), "b": .init("y")]) }
    for sql in ["ALTER TABLE ZA DROP COLUMN ZB", "ALTER TABLE ZA ADD COLUMN ZB VARCHAR", "UPDATE ZA SET ZB = 'y'"] {
      try fixture.alter(sql)
    }
    try fixture.infer()
    try fixture.run()
    #expect(try fixture.rows("SELECT ZA, ZB, ZC FROM source.ZA") == ["x|y|z"])
  }

  @Test func `in place by SQL, entities are added to and removed from a hierarchy with their rows`() throws {
    let before = Self.library(more: [
      Self.entity("Ballet", parent: "Work", [AttributeDescription.make("dancers", .integer16)])
    ])
    let fixture = try MigrationFixture(
      before, to: Self.library(more: [Self.entity("Mass", parent: "Work", [AttributeDescription.make("zone")])]))
    try fixture.build { store in
      for (key, entity) in ["Work", "Opera", "Ballet", "Opera", "Ballet"].enumerated() {
        try store.insert(entity, key: Int64(key + 1), attributes: ["size": .integer(Int64(key))])
      }
    }
    try fixture.infer()
    #expect(try fixture.run().dropped.map(\.entity) == ["Ballet"])
    #expect(try fixture.rows("SELECT Z_PK FROM source.ZWORK ORDER BY 1") == ["1", "2", "4"])
  }

  // MARK: Refusals

  /// Runs in place both ways, expects the error, and that nothing has changed.
  private func expectFailure(
    _ fixture: MigrationFixture, _ code: GodwitError.Code, _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for keepsOld in [true, false] {
      let path = try fixture.copyOfSource("failed-\(keepsOld)")
      let before = try InPlaceContent(path)
      do {
        try MigrationManager(fixture.jobInPlace(path, keepsOld: keepsOld)).run()
        Issue.record("it ran", sourceLocation: sourceLocation)
      } catch let error as GodwitError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
        #expect(error.message.contains(text), "\(error)", sourceLocation: sourceLocation)
      }
      #expect(try InPlaceContent(path) == before, sourceLocation: sourceLocation)
      #expect(try !WorkFolder.exists(forDestination: path), sourceLocation: sourceLocation)
      #expect(
        !FileManager.default.fileExists(atPath: MigrationJob.oldPath(of: path)), sourceLocation: sourceLocation)
    }
  }

  @Test func `in place by SQL, an invalid row stops the run and leaves the store unchanged`() throws {
    var word = AttributeDescription.make("word")
    word.maximumLength = 1
    let limited = try MigrationFixture(
      [Self.entity("Tag", [AttributeDescription.make("word")])],
      to: [Self.entity("Tag", [word, AttributeDescription.make("zeta")])])
    try limited.build { try $0.insert("Tag", key: 3, attributes: ["word": .init("long")]) }
    try limited.infer()
    try expectFailure(limited, .dataWrong, "validation failed for Tag p3")

    // The rows of the old table are gone by then, and a look-up in them would be another error.
    for more in [["zeta"], []] {
      let several = try MigrationFixture(
        [Self.entity("Tag", ["word", "old"].map { AttributeDescription.make($0) })],
        to: [Self.entity("Tag", [word] + more.map { AttributeDescription.make($0) })])
      try several.build { store in
        for key in Int64(1)...3 { try store.insert("Tag", key: key, attributes: ["word": .init("long")]) }
      }
      try several.infer()
      try expectFailure(several, .dataWrong, "validation failed for Tag p1")
    }

    var unique = Self.entity("Tag", [AttributeDescription.make("word", isOptional: false, default: .init("none"))])
    unique.uniquenessConstraints = [["word"]]
    let twice = try MigrationFixture([Self.entity("Tag", [AttributeDescription.make("word")])], to: [unique])
    try twice.build { store in for key in Int64(1)...2 { try store.insert("Tag", key: key) } }
    try twice.infer()
    try expectFailure(twice, .dataWrong, "share a value of uniqueness constraint")

    let odd = try MigrationFixture(
      [Self.entity("Tag", [AttributeDescription.make("rank", .integer16)])],
      to: [Self.entity("Tag", [AttributeDescription.make("rank", .integer16), Self.zeta])])
    try odd.build { try $0.insert("Tag", key: 5, attributes: ["rank": .integer(1)]) }
    try odd.alter("UPDATE ZTAG SET ZRANK = 'first'")
    try odd.infer()
    try expectFailure(odd, .dataWrong, "cannot evaluate 'rank' for Tag p5: expected an integer of 16 bits, found text")
  }

  @Test func `a job in place that SQL cannot do runs through the executor, and the plan says why`() throws {
    func way(_ fixture: MigrationFixture, _ change: (inout MigrationJob) -> Void = { _ in }) throws -> String? {
      var job = fixture.jobInPlace(try fixture.copyOfSource(UUID().uuidString))
      change(&job)
      let plan = try MigrationManager(job).plan()
      #expect(plan.steps.first?.costs == nil)
      #expect(try MigrationManager(job).run().outcome == .finished)
      return plan.steps.first?.way
    }
    let fixture = try MigrationFixture(Self.library(), to: Self.library(book: [Self.zeta]))
    try fill(fixture)
    try fixture.infer()
    #expect(try way(fixture) { $0.steps[0].origin = nil } == "through the executor: the mapping is not inferred")
    #expect(
      try way(fixture) { job in
        job.chunkPredicates = [
          "IEM_Copy_Author": [FilterPredicate(FilterPredicate(.constant(true)), source: SourceText("1"))]
        ]
      } == "through the executor: 'chunks.by' is set")
    try fixture.alter("PRAGMA page_size = 8192")
    try fixture.alter("VACUUM")
    let large = try MigrationFixture(Self.library(), to: Self.library(book: [Self.zeta]))
    try fill(large)
    let connection = try StoreConnection(path: large.sourcePath)
    try connection.execute("PRAGMA page_size = 8192")
    try connection.execute("VACUUM")
    try connection.close()
    try large.infer()
    #expect(
      try way(large) == "through the executor: the store's page_size is 8192, and that of a new store is 4096")
  }

  @Test func `a stop or the time limit leaves the store in place unchanged, without a trace`() throws {
    let fixture = try MigrationFixture(
      Self.library(), to: Self.library(book: [AttributeDescription.make("alpha", default: .init("a"))]))
    try fill(fixture)
    try fixture.infer()
    for keepsOld in [true, false] {
      let path = try fixture.copyOfSource("stopped-\(keepsOld)")
      let before = try InPlaceContent(path)
      let manager = MigrationManager(fixture.jobInPlace(path, keepsOld: keepsOld))
      let summary = try manager.run(maximumSeconds: 0)
      #expect(summary.outcome == .stopped && summary.reason == "time limit reached")
      var stages = 0
      // Stopped after each of its parts in turn, until it is not stopped any more.
      for limit in 0...200 {
        let control = MigrationControl()
        var count = 0
        let summary = try manager.run(control: control) { _ in
          if count == limit { control.stop(reason: "test") }
          count += 1
        }
        guard summary.outcome == .stopped else { break }
        stages += 1
        #expect(summary.reason == "test")
        #expect(try InPlaceContent(path) == before)
        #expect(try !WorkFolder.exists(forDestination: path))
      }
      #expect(stages > 15)
      #expect(try manager.isFinished())
    }
  }
}

import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A model with every shape of storage.
func libraryModel() throws -> ManagedObjectModel {
  func attribute(_ name: String, _ type: AttributeType) -> AttributeDescription {
    AttributeDescription(name: name, type: type)
  }
  var book = EntityDescription(
    name: "Book",
    attributes: [
      attribute("title", .string), attribute("price", .decimal), attribute("publishedAt", .date),
      attribute("pages", .integer32), attribute("score", .float), attribute("id", .uuid),
      attribute("site", .uri), attribute("cover", .binary), attribute("tint", .transformable),
    ],
    relationships: [
      RelationshipDescription(name: "author", destinationEntityName: "Writer", inverseName: "books"),
      RelationshipDescription(name: "shelf", destinationEntityName: "shelf", inverseName: "books"),
      RelationshipDescription(name: "tags", destinationEntityName: "Tag", inverseName: "books", isToMany: true),
      RelationshipDescription(name: "topTags", destinationEntityName: "Tag", inverseName: "Books", isToMany: true),
    ])
  book.uniquenessConstraints = [["id"], ["title", "author"]]
  book.attributes[0].isIndexed = true
  book.fetchIndexes = [
    FetchIndexDescription(
      name: "byDate",
      elements: [
        .init(propertyName: "publishedAt", expressionText: nil, isRTree: false, isAscending: false),
        .init(propertyName: "title", expressionText: nil, isRTree: false, isAscending: true),
      ]),
    FetchIndexDescription(
      name: "byAuthor",
      elements: [.init(propertyName: "author", expressionText: nil, isRTree: false, isAscending: true)]),
    FetchIndexDescription(
      name: "place", elements: [.init(propertyName: "score", expressionText: nil, isRTree: true, isAscending: true)]),
    FetchIndexDescription(
      name: "some", elements: [.init(propertyName: "pages", expressionText: nil, isRTree: false, isAscending: true)],
      partialPredicateText: "pages > 3"),
  ]
  var transient = attribute("seen", .boolean)
  transient.isTransient = true
  book.attributes.append(transient)
  let comic = EntityDescription(
    name: "Comic", superentityName: "Book",
    attributes: [attribute("isColoured", .boolean), attribute("note", .string), attribute("title", .string)])
  let atlas = EntityDescription(
    name: "Atlas", superentityName: "Book", attributes: [attribute("note", .binary), attribute("Zoom", .double)])
  var writer = EntityDescription(
    name: "Writer", attributes: [attribute("name", .string)],
    relationships: [
      RelationshipDescription(name: "books", destinationEntityName: "Book", inverseName: "author", isToMany: true),
      RelationshipDescription(
        name: "follows", destinationEntityName: "Writer", inverseName: "followers", isToMany: true),
      RelationshipDescription(
        name: "followers", destinationEntityName: "Writer", inverseName: "follows", isToMany: true),
      RelationshipDescription(name: "friends", destinationEntityName: "Writer", inverseName: "friends", isToMany: true),
      RelationshipDescription(name: "favourite", destinationEntityName: "Book"),
    ])
  writer.relationships[1].isOrdered = true
  let poet = EntityDescription(name: "Poet", superentityName: "Writer")
  var shelf = EntityDescription(
    name: "shelf",
    relationships: [
      RelationshipDescription(name: "books", destinationEntityName: "Book", inverseName: "shelf", isToMany: true)
    ])
  shelf.relationships[0].isOrdered = true
  let tag = EntityDescription(
    name: "Tag",
    relationships: [
      RelationshipDescription(name: "books", destinationEntityName: "Book", inverseName: "tags", isToMany: true),
      RelationshipDescription(name: "Books", destinationEntityName: "Book", inverseName: "topTags", isToMany: true),
    ])
  return try ManagedObjectModel(name: "Library", entities: [book, comic, atlas, writer, poet, shelf, tag])
}

@Suite struct `Store schema` {
  @Test func `tables are declared as Core Data declares them`() throws {
    let schema = StoreSchema(model: try libraryModel())
    #expect(
      schema.createStatements == [
        "CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPAGES INTEGER, ZAUTHOR INTEGER, "
          + "Z6_AUTHOR INTEGER, ZSHELF INTEGER, ZISCOLOURED INTEGER, Z_FOK_SHELF INTEGER, ZPUBLISHEDAT TIMESTAMP, "
          + "ZSCORE FLOAT, ZZOOM FLOAT, ZPRICE DECIMAL, ZTITLE VARCHAR, ZNOTE1 VARCHAR, ZSITE VARCHAR, ZID BLOB, "
          + "ZTINT BLOB, ZCOVER BLOB, ZNOTE BLOB )",
        "CREATE TABLE Z_1TOPTAGS ( Z_1BOOKS INTEGER, Z_5TOPTAGS INTEGER, PRIMARY KEY (Z_1BOOKS, Z_5TOPTAGS) )",
        "CREATE TABLE Z_1TAGS ( Z_1BOOKS1 INTEGER, Z_5TAGS INTEGER, PRIMARY KEY (Z_1BOOKS1, Z_5TAGS) )",
        "CREATE TABLE ZSHELF ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER )",
        "CREATE TABLE ZTAG ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER )",
        "CREATE TABLE ZWRITER ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFAVOURITE INTEGER, "
          + "Z1_FAVOURITE INTEGER, ZNAME VARCHAR )",
        "CREATE TABLE Z_6FRIENDS ( Z_6FRIENDS INTEGER, REFLEXIVE INTEGER, PRIMARY KEY (Z_6FRIENDS, REFLEXIVE) )",
        "CREATE TABLE Z_6FOLLOWS ( Z_6FOLLOWERS INTEGER, Z_6FOLLOWS INTEGER, Z_FOK_6FOLLOWS INTEGER, "
          + "PRIMARY KEY (Z_6FOLLOWERS, Z_6FOLLOWS) )",
        "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
        "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
      ])
  }

  @Test func `indexes are named and spelt as Core Data's`() throws {
    let schema = StoreSchema(model: try libraryModel())
    #expect(
      schema.indexStatements == [
        "CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)",
        "CREATE INDEX ZBOOK_ZSHELF_INDEX ON ZBOOK (ZSHELF)",
        "CREATE INDEX ZBOOK_Z_ENT_INDEX ON ZBOOK (Z_ENT)",
        "CREATE INDEX Z_1TOPTAGS_Z_5TOPTAGS_INDEX ON Z_1TOPTAGS (Z_5TOPTAGS, Z_1BOOKS)",
        "CREATE INDEX Z_1TAGS_Z_5TAGS_INDEX ON Z_1TAGS (Z_5TAGS, Z_1BOOKS1)",
        "CREATE INDEX Z_Book_title ON ZBOOK (ZTITLE COLLATE BINARY ASC)",
        "CREATE INDEX Z_Book_byDate ON ZBOOK (ZPUBLISHEDAT COLLATE BINARY DESC, ZTITLE COLLATE BINARY ASC)",
        "CREATE INDEX Z_Book_some ON ZBOOK (ZPAGES COLLATE BINARY ASC) WHERE ZPAGES > 3",
        "CREATE UNIQUE INDEX Z_Book_UNIQUE_id ON ZBOOK (ZID COLLATE BINARY ASC)",
        "CREATE UNIQUE INDEX Z_Book_UNIQUE_title_author ON ZBOOK (ZTITLE COLLATE BINARY ASC, ZAUTHOR COLLATE BINARY ASC)",
        "CREATE INDEX ZWRITER_ZFAVOURITE_INDEX ON ZWRITER (ZFAVOURITE)",
        "CREATE INDEX ZWRITER_Z_ENT_INDEX ON ZWRITER (Z_ENT)",
        "CREATE INDEX Z_6FRIENDS_REFLEXIVE_INDEX ON Z_6FRIENDS (REFLEXIVE, Z_6FRIENDS)",
        "CREATE INDEX Z_6FOLLOWS_Z_6FOLLOWS_INDEX ON Z_6FOLLOWS (Z_6FOLLOWS, Z_6FOLLOWERS)",
      ])
    #expect(schema.omittedIndexes == ["fetch index 'Book.place': it is an R-tree, and a fetch that names it fails"])
  }

  @Test func `entity numbers go depth first, names without case`() throws {
    let schema = StoreSchema(model: try libraryModel())
    #expect(
      schema.entityNumbers == ["Book": 1, "Atlas": 2, "Comic": 3, "shelf": 4, "Tag": 5, "Writer": 6, "Poet": 7])
    #expect(schema.entityName(7) == "Poet")
    #expect(schema.entityName(8) == nil)
    #expect(schema.number(of: "Nobody") == nil)
  }

  @Test func `schema queries answer for inherited, overridden and unknown names`() throws {
    let schema = StoreSchema(model: try libraryModel())
    #expect(schema.column(of: "title", in: "Comic") == "ZTITLE")
    #expect(schema.column(of: "note", in: "Comic") == "ZNOTE1")
    #expect(schema.column(of: "note", in: "Atlas") == "ZNOTE")
    #expect(schema.column(of: "note", in: "Book") == nil)
    #expect(schema.column(of: "seen", in: "Book") == nil)
    #expect(schema.column(of: "title", in: "Nobody") == nil)
    #expect(schema.columns(of: "Nobody").isEmpty)
    #expect(schema.columns(of: "Atlas").map(\.name).contains("ZNOTE"))
    #expect(!schema.columns(of: "Atlas").map(\.name).contains("ZNOTE1"))
    #expect(
      schema.storage(of: "author", in: "Comic")
        == .foreignKey(table: "ZBOOK", column: "ZAUTHOR", entityColumn: "Z6_AUTHOR", orderColumn: nil))
    #expect(
      schema.storage(of: "books", in: "Poet")
        == .inverse(table: "ZBOOK", column: "ZAUTHOR", entityColumn: "Z6_AUTHOR", orderColumn: nil))
    #expect(
      schema.storage(of: "books", in: "shelf")
        == .inverse(table: "ZBOOK", column: "ZSHELF", entityColumn: nil, orderColumn: "Z_FOK_SHELF"))
    guard
      case .join(let join, "Z_6FOLLOWERS", "Z_6FOLLOWS", "Z_FOK_6FOLLOWS") = schema.storage(of: "follows", in: "Poet")
    else {
      Issue.record("follows is stored otherwise")
      return
    }
    #expect(
      schema.storage(of: "followers", in: "Writer")
        == .join(join, subjectColumn: "Z_6FOLLOWS", objectColumn: "Z_6FOLLOWERS", orderColumn: nil))
    guard case .join(_, "Z_5TAGS", "Z_1BOOKS1", nil) = schema.storage(of: "books", in: "Tag") else {
      Issue.record("books is stored otherwise")
      return
    }
    #expect(schema.storage(of: "nothing", in: "Tag") == .none)
  }

  @Test func `an unusual name is quoted`() {
    #expect(StoreSchema.identifier("ZA_1") == "ZA_1")
    #expect(StoreSchema.identifier("Z a\"b") == "\"Z a\"\"b\"")
    #expect(StoreSchema.identifier("") == "\"\"")
    #expect(StoreSchema.identifier("1A") == "\"1A\"")
  }

  @Test func `probing finds renumbered, renamed, suffixed and appended names`() throws {
    let model = try libraryModel()
    let connection = try StoreConnection(path: nil)
    for statement in StoreSchema(model: model).createStatements {
      let old =
        statement.replacing("Z_1", with: "Z_11").replacing("Z1_", with: "Z11_").replacing(
          "Z_6FOLLOWERS (", with: "Z_6FOLLOWS ("
        )
        .replacing("Z_1BOOKS1", with: "Z_1BOOKS3").replacing("ZNOTE1", with: "ZNOTE2")
        .replacing("ZTITLE VARCHAR, ", with: "").replacing("ZNOTE BLOB", with: "ZNOTE BLOB, ZFOREIGN, ZTITLE VARCHAR")
      try connection.execute(old)
    }
    let names = ["Book": 11, "Atlas": 2, "Cartoon": 3, "shelf": 4, "Tag": 5, "Writer": 6, "Poet": 7]
    for (name, number) in names {
      try connection.execute("INSERT INTO Z_PRIMARYKEY VALUES (?1, ?2, 0, 0)", [.int(number), .text(name)])
    }
    let schema = try StoreSchema(model: model, probing: connection, schema: "main")
    #expect(schema.number(of: "Book") == 11)
    #expect(schema.number(of: "Comic") == 3, "the row with the former name is found by number")
    #expect(schema.column(of: "note", in: "Comic") == "ZNOTE2")
    #expect(schema.table(of: "Book")?.columns.last?.name == "ZTITLE")
    #expect(
      schema.storage(of: "favourite", in: "Writer")
        == .foreignKey(table: "ZWRITER", column: "ZFAVOURITE", entityColumn: "Z11_FAVOURITE", orderColumn: nil))
    guard
      case .join(let join, "Z_6FOLLOWERS", "Z_6FOLLOWS", "Z_FOK_6FOLLOWS") = schema.storage(of: "follows", in: "Poet")
    else {
      Issue.record("follows is stored otherwise")
      return
    }
    #expect(join.name == "Z_6FOLLOWS")
    guard case .join(let tags, let subject, "Z_5TAGS", nil) = schema.storage(of: "tags", in: "Book") else {
      Issue.record("tags is stored otherwise")
      return
    }
    #expect((tags.name, subject) == ("Z_11TAGS", "Z_11BOOKS1"))
  }

  @Test func `probing names what is missing`() throws {
    let model = try libraryModel()
    func message(_ change: String?) throws -> String? {
      let connection = try StoreConnection(path: nil)
      let schema = StoreSchema(model: model)
      for statement in schema.createStatements { try connection.execute(statement) }
      for (name, number) in schema.entityNumbers {
        try connection.execute("INSERT INTO Z_PRIMARYKEY VALUES (?1, ?2, 0, 0)", [.int(number), .text(name)])
      }
      if let change { try connection.execute(change) }
      do {
        _ = try StoreSchema(model: model, probing: connection, schema: "main")
        return nil
      } catch let error as GodwitError {
        #expect(error.code == .dataWrong)
        return error.message
      }
    }
    let start = "cannot read ':memory:' with this model: "
    #expect(try message(nil) == nil)
    #expect(
      try message("DROP TABLE Z_PRIMARYKEY") == start + "table 'Z_PRIMARYKEY' is missing: it is not a Core Data store")
    #expect(try message("DROP TABLE ZTAG") == start + "table 'ZTAG' of entity 'Tag' is missing")
    #expect(try message("DROP TABLE Z_1TAGS") == start + "join table 'Z_1TAGS' of relationship 'Book.tags' is missing")
    #expect(
      try message("ALTER TABLE ZBOOK DROP COLUMN ZTITLE")
        == start + "column 'ZTITLE' of table 'ZBOOK' is missing, which holds 'Book.title'")
    #expect(
      try message("ALTER TABLE Z_1TAGS RENAME COLUMN Z_5TAGS TO X")
        == start + "column 'Z_5TAGS' of join table 'Z_1TAGS' is missing")
    #expect(
      try message("DELETE FROM Z_PRIMARYKEY WHERE Z_ENT = 7")
        == start + "entity 'Poet' is not listed in Z_PRIMARYKEY")
  }
}

@Test func `leaves of composites stand in the place of the composite, with clash numbers in that order`() throws {
  func columns(_ attributes: [AttributeDescription]) throws -> [String] {
    let model = try ManagedObjectModel(name: "M", entities: [EntityDescription(name: "A", attributes: attributes)])
    let schema = StoreSchema(model: model)
    for leaf in model.attributes(of: "A") where !leaf.isTransient {
      #expect(schema.column(of: leaf.name, in: "A") != nil)
    }
    return try #require(schema.table(of: "A")).columns.dropFirst(3).map(\.name)
  }
  let author = AttributeDescription.composite("author", [.make("id"), .make("name")])
  #expect(try columns([.make("id"), author]) == ["ZID", "ZNAME", "ZID1"])
  // The declared order of the leaves, not that of their names.
  let prep = AttributeDescription.composite(
    "prep", [.make("steps"), .make("id"), .composite("place", [.make("id", .date), .make("steps")])])
  #expect(try columns([.make("id"), prep]) == ["ZID2", "ZID", "ZSTEPS", "ZID1", "ZSTEPS1"])
  var gone = AttributeDescription.composite("gone", [.make("x")])
  gone.isTransient = true
  #expect(try columns([gone, .make("x")]) == ["ZX"])
}

@Test func `an override of a composite replaces its leaves, and an inherited one has no second columns`() throws {
  let parent = EntityDescription(name: "P", attributes: [.composite("c", [.make("x"), .make("y")])])
  let model = try ManagedObjectModel(
    name: "M",
    entities: [
      parent, EntityDescription(name: "A", superentityName: "P"),
      EntityDescription(name: "B", superentityName: "P", attributes: [.composite("c", [.make("y"), .make("z")])]),
    ])
  #expect(model.attributes(of: "A").map(\.name) == ["c.x", "c.y"])
  #expect(model.attributes(of: "B").map(\.name) == ["c.y", "c.z"])
  #expect(model.declaringEntity(of: "c.x", in: "A")?.name == "P")
  #expect(StoreSchema(model: model).tables.map { $0.columns.dropFirst(3).map(\.name) } == [["ZX", "ZY", "ZZ"]])
}

import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

/// Schemas that were described before.
struct SchemaCacheTests {
  private let folder: TemporaryFolder
  private let model: ManagedObjectModel

  init() throws {
    folder = try TemporaryFolder()
    model = try ManagedObjectModel(
      name: "1", entities: [Self.entity("A", "name"), Self.entity("B", "size")])
  }

  private static func entity(_ name: String, _ attribute: String) -> EntityDescription {
    var entity = EntityDescription(name: name)
    entity.attributes = [AttributeDescription(name: attribute, type: .string)]
    return entity
  }

  private func store(_ name: String, _ statements: String...) throws -> StoreConnection {
    let connection = try StoreConnection(path: folder.file(name), create: true)
    for sql in StoreSchema(model: model).createStatements { try connection.execute(sql) }
    for (number, entity) in [(1, "A"), (2, "B")] {
      try connection.execute("INSERT INTO Z_PRIMARYKEY VALUES (\(number), '\(entity)', 0, 0)")
    }
    for sql in statements { try connection.execute(sql) }
    return connection
  }

  private func schema(_ connection: StoreConnection) throws -> StoreSchema {
    try StoreSchema(model: model, probing: connection, schema: "main")
  }

  @Test func `stores of one version and other definitions keep their own`() throws {
    let plain = try store("a.sqlite")
    let renamed = try store("b.sqlite", "ALTER TABLE ZA RENAME COLUMN ZNAME TO ZNAME1")
    let numbered = try store(
      "c.sqlite", "UPDATE Z_PRIMARYKEY SET Z_ENT = 7 WHERE Z_NAME = 'A'",
      "UPDATE Z_PRIMARYKEY SET Z_ENT = 1 WHERE Z_ENT = 2")
    for _ in 0..<2 {
      #expect(try schema(plain).column(of: "name", in: "A") == "ZNAME")
      #expect(try schema(renamed).column(of: "name", in: "A") == "ZNAME1")
      #expect(try schema(numbered).number(of: "A") == 7 && schema(numbered).number(of: "B") == 1)
    }
    // An earlier description says nothing of later changes to the file.
    try plain.execute("DROP TABLE ZB")
    #expect(throws: GodwitError.self) { try schema(plain) }
    try renamed.execute("ALTER TABLE ZA RENAME COLUMN ZNAME1 TO ZNAME2")
    #expect(try schema(renamed).column(of: "name", in: "A") == "ZNAME2")
  }

  @Test func `models that are read again have schemas of their own`() throws {
    let connection = try store("a.sqlite")
    let known = try schema(connection)
    let other = try ManagedObjectModel(name: "other", entities: [Self.entity("A", "name")])
    let found = try StoreSchema(model: other, probing: connection, schema: "main")
    #expect(found.model.name == "other" && found.tables.count == 1 && known.tables.count == 2)
    #expect(StoreSchema(model: other).tables.count == 1 && StoreSchema(model: model).tables.count == 2)
  }

  @Test func `a listing tells names that hold each other's texts apart`() throws {
    let texts = try [
      ["CREATE TABLE Z_1 (a)", "CREATE TABLE Z_2 (b)"], ["CREATE TABLE \"Z_1 (a)\" (b)"],
    ].enumerated().map { number, statements in
      let connection = try store("\(number).sqlite")
      for sql in statements { try connection.execute(sql) }
      return try StoreListing(connection, schema: "main").text
    }
    #expect(texts[0] != texts[1])
  }
}

import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

/// The place of an object in its ordered inverse, `$index`.
struct ObjectIndexTests {
  @Test func `an object whose key comes twice in a damaged table has the first of its places`() throws {
    var items = RelationshipDescription(
      name: "items", destinationEntityName: "Item", inverseName: "list", isToMany: true)
    items.isOrdered = true
    let toOne = RelationshipDescription(
      name: "list", destinationEntityName: "List", inverseName: "items", isToMany: false)
    let model = try ManagedObjectModel(
      name: "Lists",
      entities: [
        EntityDescription(name: "List", relationships: [items]),
        EntityDescription(name: "Item", relationships: [toOne]),
      ])
    let folder = try TemporaryFolder()
    let builder = try StoreBuilder(path: folder.file("lists.sqlite"), model: model)
    try builder.insert("List", key: 1, relationships: ["items": [3, 1, 2]])
    for key in Int64(1)...3 { try builder.insert("Item", key: key) }
    try builder.finish()
    let connection = try StoreConnection(path: folder.file("lists.sqlite"))
    for sql in [
      "CREATE TABLE copy AS SELECT * FROM ZITEM", "DROP TABLE ZITEM", "ALTER TABLE copy RENAME TO ZITEM",
      "INSERT INTO ZITEM SELECT * FROM ZITEM WHERE Z_PK = 3",
    ] {
      try connection.execute(sql)
    }
    let context = ObjectContext(connection: connection, schema: StoreSchema(model: model), database: "main")
    #expect(try context.index(of: 3, of: "Item", along: toOne) == 0)
    #expect(try context.index(of: 9, of: "Item", along: toOne) == nil)
    context.reset()
    try connection.close()
  }
}

import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

/// The place of an object in its ordered inverse, `$index`.
struct ObjectIndexTests {
  private static let toOne = RelationshipDescription(
    name: "list", destinationEntityName: "List", inverseName: "items", isToMany: false)

  private let folder: TemporaryFolder
  private let model: ManagedObjectModel

  init() throws {
    var items = RelationshipDescription(
      name: "items", destinationEntityName: "Item", inverseName: "list", isToMany: true)
    items.isOrdered = true
    model = try ManagedObjectModel(
      name: "Lists",
      entities: [
        EntityDescription(name: "List", relationships: [items]),
        EntityDescription(name: "Item", relationships: [Self.toOne]),
      ])
    folder = try TemporaryFolder()
  }

  /// A store with one list.
  private func store(_ items: [Int64]) throws -> String {
    let path = folder.file("lists.sqlite")
    let builder = try StoreBuilder(path: path, model: model)
    try builder.insert("List", key: 1, relationships: ["items": items])
    for key in items.sorted() { try builder.insert("Item", key: key) }
    try builder.finish()
    return path
  }

  @Test func `an object whose key comes twice in a damaged table has the first of its places`() throws {
    let connection = try StoreConnection(path: store([3, 1, 2]))
    for sql in [
      "CREATE TABLE copy AS SELECT * FROM ZITEM", "DROP TABLE ZITEM", "ALTER TABLE copy RENAME TO ZITEM",
      "INSERT INTO ZITEM SELECT * FROM ZITEM WHERE Z_PK = 3",
    ] {
      try connection.execute(sql)
    }
    let context = ObjectContext(connection: connection, schema: StoreSchema(model: model), database: "main")
    #expect(try context.index(of: 3, of: "Item", along: Self.toOne) == 0)
    #expect(try context.index(of: 9, of: "Item", along: Self.toOne) == nil)
    context.reset()
    try connection.close()
  }

  @Test func `the members of an owner are read once, also when a run forgets its rows`() throws {
    let connection = try StoreConnection.openStore(readingAt: store((1...500).reversed()))
    let context = ObjectContext(
      connection: connection, schema: StoreSchema(model: model), database: StoreConnection.sourceSchema)
    let cost = ConnectionCost(connection)
    #expect(try context.index(of: 1, of: "Item", along: Self.toOne) == 499)
    let first = cost.instructions
    context.reset()
    #expect(try context.index(of: 500, of: "Item", along: Self.toOne) == 0)
    #expect(first > 500 && cost.instructions - first < 500, "\(first), then \(cost.instructions - first)")
    context.reset()
    try connection.close()
  }
}

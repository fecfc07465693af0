import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Entities, relationships and indexes for which a store would need one name.
struct SharedNameTests {
  private func model(_ entities: EntityDescription...) throws -> ManagedObjectModel {
    try ManagedObjectModel(name: "M", entities: entities)
  }

  private static func entity(_ name: String) -> EntityDescription {
    EntityDescription(name: name, attributes: [AttributeDescription(name: "s", type: .string)])
  }

  @Test(arguments: [
    (["Pa", "pA"], "entity 'Pa' and entity 'pA' would share the name 'ZPA'"),
    (["Pa", "_PRIMARYKEY"], "a table of Core Data's own and entity '_PRIMARYKEY' would share the name 'Z_PRIMARYKEY'"),
    (["_metaData"], "a table of Core Data's own and entity '_metaData' would share the name 'Z_METADATA'"),
    (["_ModelCache"], "a table of Core Data's own and entity '_ModelCache' would share the name 'Z_MODELCACHE'"),
  ])
  func `a model whose entities need one table is refused by name before a table is made`(
    names: [String], told: String
  ) throws {
    let model = try ManagedObjectModel(name: "M", entities: names.map(Self.entity))
    #expect(StoreSchema(model: model).sharedNames.map(\.description) == [told])
    let folder = try TemporaryFolder()
    do {
      _ = try StoreBuilder(path: folder.file("s.sqlite"), model: model)
      Issue.record("a store was made")
    } catch let error as GodwitError {
      #expect(error.code == .missingInput && error.message.contains(told), "\(error)")
    }
  }

  @Test func `a join table takes a name too`() throws {
    func toMany(_ name: String, _ destination: String, _ inverse: String) -> RelationshipDescription {
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, isToMany: true)
    }
    let joined = try model(
      EntityDescription(name: "A", relationships: [toMany("bs", "B", "as")]),
      EntityDescription(name: "B", relationships: [toMany("as", "A", "bs")]), Self.entity("_2BS"))
    #expect(StoreSchema(model: joined).sharedNames.map(\.name) == ["Z_2BS"])
  }

  @Test(arguments: [[["a", "b"], ["a_b"]], [["a_b"], ["a", "b"]], [["s"], ["S"]]])
  func `every uniqueness constraint has an index, whatever the names`(constraints: [[String]]) throws {
    var entity = EntityDescription(
      name: "P", attributes: ["a", "b", "a_b", "s", "S"].map { AttributeDescription(name: $0, type: .string) })
    entity.uniquenessConstraints = constraints
    let folder = try TemporaryFolder()
    let path = folder.file("s.sqlite")
    try StoreBuilder(path: path, model: model(entity, Self.entity("_P_UNIQUE_S"))).finish()
    let made = try StoreConnection.openStore(readingAt: path).strings(
      "SELECT lower(name) FROM source.sqlite_master WHERE sql LIKE 'CREATE UNIQUE INDEX%'")
    #expect(made.count == 2 && Set(made).count == 2, "\(made)")
  }

  @Test func `names that differ by an accent or a letter are not shared`() throws {
    let model = try model(Self.entity("Pa"), Self.entity("P\u{E1}"), Self.entity("Pab"))
    #expect(StoreSchema(model: model).sharedNames.isEmpty)
  }
}

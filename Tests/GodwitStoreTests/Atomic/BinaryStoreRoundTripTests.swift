import Foundation
import GodwitModel
import GodwitSynthesis
import TestSupport
import Testing

@testable import GodwitStore

@Suite struct BinaryStoreRoundTripTests {
  /// A model of a few entities with every type, inheritance, and relationships of every kind.
  private static func randomModel(_ random: inout SeededGenerator) throws -> ManagedObjectModel {
    let types: [AttributeType] = [
      .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binary, .uuid, .uri,
      .transformable,
    ]
    var entities: [EntityDescription] = []
    for number in 0..<(2 + random.below(3)) {
      var entity = EntityDescription(name: "E\(number)")
      if number > 0, random.chance(40) { entity.superentityName = "E\(random.below(number))" }
      for place in 0..<(1 + random.below(5)) {
        let name = "\(["b", "a", "Z", "é"][random.below(4)])\(number)\(place)"
        var attribute = AttributeDescription(name: name, type: types[random.below(types.count)])
        if attribute.type == .binary { attribute.allowsExternalBinaryDataStorage = random.chance(50) }
        entity.attributes.append(attribute)
      }
      entities.append(entity)
    }
    for number in 0..<(1 + random.below(4)) {
      let (a, b) = (random.below(entities.count), random.below(entities.count))
      func side(_ name: String, _ to: Int, _ inverse: String) -> RelationshipDescription {
        var side = RelationshipDescription(
          name: name, destinationEntityName: "E\(to)", inverseName: inverse, isToMany: random.chance(60))
        if side.isToMany { side.isOrdered = random.chance(40) }
        return side
      }
      entities[a].relationships.append(side("r\(number)", b, "s\(number)"))
      entities[b].relationships.append(side("s\(number)", a, "r\(number)"))
    }
    return try ManagedObjectModel(name: "Random", entities: entities)
  }

  @Test func `a random store comes back from its binary form with every row`() throws {
    var seen = 0
    for seed in testSeeds(6) {
      var random = SeededGenerator(seed: seed)
      let folder = try TemporaryFolder()
      let model = try Self.randomModel(&random)
      let store = folder.file("a.sqlite")
      do {
        try StoreSynthesis(model: model, rows: 1 + random.below(300), seed: seed).write(to: store)
      } catch let error as GodwitError where error.code == .usage { continue }
      try AtomicStoreWriter(readingStoreAt: store, model: model, as: .binary, name: "b").write(to: folder.file("b"))
      let (a, b) = try (
        StoreConnection.openStore(readingAt: store),
        StoreConnection.openStore(readingAt: folder.file("b"), model: model, purpose: .comparison)
      )
      for table in try a.rows("SELECT name FROM source.sqlite_master WHERE type = 'table' ORDER BY 1") {
        guard case .text(let bytes) = table[0], table[0] != .text("Z_METADATA"), table[0] != .text("Z_MODELCACHE"),
          table[0] != .text("Z_PRIMARYKEY")
        else { continue }
        let name = StoreSchema.identifier(String(decoding: bytes, as: UTF8.self))
        let columns = try b.rows("SELECT name FROM pragma_table_info(?1, 'source') ORDER BY cid", [table[0]])
          .compactMap { row in if case .text(let name) = row[0] { String(decoding: name, as: UTF8.self) } else { nil } }
        let plain = columns.filter { !$0.contains("FOK") && $0 != "Z_OPT" }.map(StoreSchema.identifier)
          .joined(separator: ", ")
        let sql = "SELECT \(plain) FROM source.\(name) ORDER BY 1, 2"
        let (before, after) = (try a.rows(sql), try b.rows(sql))
        seen += before.count
        #expect(before == after, "seed \(seed), \(name)")
      }
      // Order keys may differ; the order does not.
      let (x, y) = try (
        ObjectReader(path: store, model: model), ObjectReader(path: folder.file("b"), model: model)
      )
      let keys = AtomicStoreKeys.offsets(in: try StoreMetadata(readingStoreAt: folder.file("b")))
      func related(_ reader: ObjectReader, offsets: [String: Int64]) throws -> [String: [[Int64]]] {
        var found: [String: [[Int64]]] = [:]
        for entity in model.entities.map(\.name) {
          try reader.forEachObject(of: [entity]) { object in
            found["\(entity) \(object.reference.key - (offsets[model.root(of: entity)?.name ?? ""] ?? 0))"] =
              object.properties.compactMap { name, value in
                guard case .toMany(let others) = value else { return nil }
                let numbers = others.map {
                  $0.key - (offsets[model.root(of: $0.entity)?.name ?? ""] ?? 0)
                }
                return model.relationship(name, of: entity)?.isOrdered == true ? numbers : numbers.sorted()
              }
            return true
          }
        }
        return found
      }
      #expect(try related(x, offsets: [:]) == related(y, offsets: keys), "seed \(seed)")
    }
    #expect(seen > 500 / fewest(1))
  }
}

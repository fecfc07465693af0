import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Facts of two stores that SwiftData wrote, with composite attributes: what Core Data stored for each entity.
private struct CompositeCases: Decodable {
  struct Property: Decodable {
    var kind: String
    var name: String
    var type: Int?
    var optional: Bool
    var external: Bool?
    var elements: [Property]?
    var destination: String?
    var inverse: String?
    var maxCount: Int?
    var minCount: Int?
    var ordered: Bool?

    var attribute: AttributeDescription? {
      guard let type = type.flatMap(AttributeType.init) else { return nil }
      var attribute = AttributeDescription(name: name, type: type, isOptional: optional)
      attribute.allowsExternalBinaryDataStorage = external ?? false
      attribute.elements = (elements ?? []).compactMap(\.attribute)
      return attribute
    }

    var relationship: RelationshipDescription? {
      guard let destination else { return nil }
      var relationship = RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, isToMany: maxCount != 1,
        isOptional: optional)
      relationship.maxCount = maxCount ?? 0
      relationship.minCount = minCount ?? 0
      relationship.isOrdered = ordered ?? false
      return relationship
    }
  }

  struct Entity: Decodable {
    var entity: String
    var properties: [Property]
    var unique: [[String]]
    var hash: String
    var columns: [[String]]
  }

  struct Store: Decodable {
    var framework: Int
    var entities: [Entity]

    func model() throws -> ManagedObjectModel {
      let described = entities.map { entity in
        var description = EntityDescription(
          name: entity.entity, attributes: entity.properties.compactMap(\.attribute),
          relationships: entity.properties.compactMap(\.relationship))
        description.uniquenessConstraints = entity.unique
        return description
      }
      return try ManagedObjectModel(name: "\(framework)", entities: described)
    }
  }

  var stores: [Store]

  static func read() throws -> CompositeCases {
    let file = try #require(Corpus.kinds?.appending(path: "composite-cases.json"))
    return try JSONDecoder().decode(CompositeCases.self, from: Data(contentsOf: file))
  }
}

@Suite(.enabled(if: Corpus.kinds != nil, "the stores of further kinds are not beside this checkout"))
struct `Composite attributes of real stores` {
  @Test func `every entity has the version hash that Core Data stored`() throws {
    var composites = 0
    for store in try CompositeCases.read().stores {
      let model = try store.model()
      for entity in store.entities {
        #expect(model.versionHash(of: entity.entity)?.base64 == entity.hash, "\(store.framework) \(entity.entity)")
        composites += model.entity(entity.entity)?.attributes.count { $0.type == .composite } ?? 0
      }
    }
    #expect(composites >= 15)
  }

  @Test func `every table has the columns that Core Data made, in its order`() throws {
    for store in try CompositeCases.read().stores {
      let schema = StoreSchema(model: try store.model())
      for entity in store.entities {
        let columns = try #require(schema.table(of: entity.entity)).columns.map { [$0.name, $0.declaredType] }
        #expect(columns == entity.columns, "\(store.framework) \(entity.entity)")
      }
    }
  }
}

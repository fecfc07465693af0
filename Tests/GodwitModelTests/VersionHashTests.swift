import Foundation
import TestSupport
import Testing

@testable import GodwitModel

/// The published pairs of a definition and the hash that Apple's software stored for it.
private struct PublishedPairs: Decodable {
  struct Property: Decodable {
    var kind: String
    var name: String
    var type: Int?
    var optional: Bool?
    var transient: Bool?
    var modifier: String?
    var derivation: String?
    var preserveAfterDeletion: Bool?
    var externalBinary: Bool?
    var destination: String?
    var inverse: String?
    var maxCount: Int?
    var minCount: Int?
    var ordered: Bool?
  }

  struct Entity: Decodable {
    var name: String
    var parentHash: String?
    var abstract: Bool?
    var modifier: String?
    var unique: [[String]]?
    var properties: [Property]
    var hash: String
  }

  var entities: [Entity]

  static func load() throws -> PublishedPairs {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(
      PublishedPairs.self,
      from: Data(contentsOf: URL(filePath: Corpus.formats("version-hash-pairs.json"))))
  }
}

private func computedHash(of entity: PublishedPairs.Entity) throws -> VersionHash {
  var digests: [String: VersionHash] = [:]
  for property in entity.properties where property.transient != true {
    if property.kind == "attribute" {
      var attribute = AttributeDescription(
        name: property.name, type: try #require(AttributeType(rawValue: try #require(property.type))),
        isOptional: property.optional ?? false)
      attribute.versionHashModifier = property.modifier
      attribute.derivationExpression = property.derivation
      attribute.preservesValueInHistoryOnDeletion = property.preserveAfterDeletion ?? false
      attribute.allowsExternalBinaryDataStorage = property.externalBinary ?? false
      digests[property.name] = VersionHash(attribute, composites: [:])
    } else {
      var relationship = RelationshipDescription(
        name: property.name, destinationEntityName: try #require(property.destination),
        inverseName: property.inverse, isOptional: property.optional ?? false)
      relationship.maxCount = property.maxCount ?? 0
      relationship.minCount = property.minCount ?? 0
      relationship.isOrdered = property.ordered ?? false
      relationship.versionHashModifier = property.modifier
      digests[property.name] = VersionHash(relationship, isOwnInverse: false)
    }
  }
  return VersionHash(
    entityName: entity.name, isAbstract: entity.abstract ?? false,
    parent: entity.parentHash.flatMap(VersionHash.init(base64:)), digests: digests,
    versionHashModifier: entity.modifier, uniquenessConstraints: entity.unique ?? [])
}

@Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
func `every published pair of definition and hash is reproduced`() throws {
  let pairs = try PublishedPairs.load()
  #expect(pairs.entities.count >= 132)
  for entity in pairs.entities {
    #expect(try computedHash(of: entity).base64 == entity.hash, "\(entity.name)")
  }
}

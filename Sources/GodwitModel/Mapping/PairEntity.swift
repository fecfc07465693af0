/// The links of a to-many relationship as objects of an entity: a pair for each link, of the object that has the
/// relationship and of the element that it leads to.
///
/// No model file has such an entity, and no store a table for it. `for-each` in an entity mapping names the
/// relationship, and `ManagedObjectModel.adding(_:)` gives a version the entity. From there on a pair is an object like
/// any other: it has a key, and a to-one to each end.
package struct PairEntity: Sendable, Hashable {
  package typealias End = RelationshipMapping.End

  /// The entity whose objects have the relationship. Objects of its subentities make no pairs.
  package let sourceEntityName: String
  package let relationshipName: String
  /// The entity that the relationship leads to. Its subentities count.
  package let elementEntityName: String
  /// Whether the elements of a source have an order.
  package let isOrdered: Bool
  /// Whether the inverse is an ordered to-many.
  let isInverseOrdered: Bool

  /// `Pizza.toppings`. No entity of a model has a full stop in its name.
  package var name: String { "\(sourceEntityName).\(relationshipName)" }

  /// The to-many from an end to its pairs. No property of a model has a space in its name.
  package func toMany(from end: End) -> String {
    end == .source ? "pairs of \(relationshipName)" : "pairs of \(name)"
  }

  package func entityName(of end: End) -> String { end == .source ? sourceEntityName : elementEntityName }

  /// Whether a name is that of such an entity.
  package static func isName(_ name: String) -> Bool { name.utf8.contains(UInt8(ascii: ".")) }

  fileprivate var description: EntityDescription {
    EntityDescription(
      name: name,
      relationships: End.allCases.map {
        RelationshipDescription(
          name: $0.toOne, destinationEntityName: entityName(of: $0), inverseName: toMany(from: $0))
      })
  }

  fileprivate func relationship(from end: End) -> RelationshipDescription {
    var relationship = RelationshipDescription(
      name: toMany(from: end), destinationEntityName: name, inverseName: end.toOne, isToMany: true)
    relationship.isOrdered = end == .source ? isOrdered : isInverseOrdered
    return relationship
  }
}

extension RelationshipMapping.End {
  /// The name of the to-one from a pair to this end. No property of a model has such a name.
  package var toOne: String { "$" + rawValue }
}

extension ManagedObjectModel {
  /// The entity of the links of a to-many relationship, which is not yet in the model; nil if the entity has no such
  /// relationship, or a store does not hold its links.
  func pairs(along relationship: String, of entity: String) -> PairEntity? {
    guard let described = self.relationship(relationship, of: entity), described.isToMany, isStored(described) else {
      return nil
    }
    // One that is its own inverse has the places of both ends in one column, each in a row of its own.
    let inverse = inverse(of: described).flatMap { $0.name == relationship && $0 == described ? nil : $0 }
    return PairEntity(
      sourceEntityName: entity, relationshipName: relationship, elementEntityName: described.destinationEntityName,
      isOrdered: described.isOrdered, isInverseOrdered: inverse?.isToMany == true && inverse?.isOrdered == true)
  }

  /// The same version with entities of pairs. Its hashes are not those of the version.
  func adding(_ pairs: [PairEntity]) throws -> ManagedObjectModel {
    guard !pairs.isEmpty else { return self }
    var entities = entities
    for pair in pairs {
      for end in PairEntity.End.allCases {
        guard let place = entities.firstIndex(where: { $0.name == pair.entityName(of: end) }) else { continue }
        entities[place].relationships.append(pair.relationship(from: end))
      }
      entities.append(pair.description)
    }
    var model = try ManagedObjectModel(
      name: name, entities: entities, versionIdentifiers: versionIdentifiers, configurations: configurations,
      fetchRequestTemplates: fetchRequestTemplates)
    model.publishedVersionHashes = publishedVersionHashes
    model.remarks = remarks
    model.cloudKitEntities = cloudKitEntities
    model.setPairs(pairs, besides: self)
    return model
  }

  /// The entity of pairs with a name; nil for any other entity.
  package func pairEntity(_ name: String) -> PairEntity? { pairEntities.first { $0.name == name } }

  /// The entity of pairs that a to-many leads to, of those that ``adding(_:)`` made; nil for a relationship of the
  /// version itself.
  package func pairEntity(along relationship: RelationshipDescription) -> PairEntity? {
    relationship.isToMany ? pairEntity(relationship.destinationEntityName) : nil
  }
}

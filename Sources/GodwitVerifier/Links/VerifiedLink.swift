import GodwitModel

/// A relationship of the destination model with its inverse: one fact that two properties describe.
struct VerifiedLink {
  struct End: Hashable {
    /// The entity that declares the relationship.
    var entity: String
    var relationship: RelationshipDescription
    var name: String { "\(entity).\(relationship.name)" }
  }

  var ends: [End]
  var isOwnInverse: Bool

  /// The relationship that leads back to an end; nil without an inverse.
  func inverse(ofEnd end: Int) -> RelationshipDescription? {
    isOwnInverse ? ends[end].relationship : ends.count == 2 ? ends[1 - end].relationship : nil
  }

  /// The end of a link at which an assignment sets it; nil for an assignment of another relationship.
  func end(
    of assignment: VerifiedMapping.Assignment, in mapping: VerifiedMapping, model: ManagedObjectModel
  ) -> Int? {
    let name = assignment.relationship.name
    let declaring = model.declaringEntity(of: name, in: mapping.destinationEntity)?.name
    return ends.firstIndex { $0.entity == declaring && $0.relationship.name == name }
  }

  /// Every stored relationship of a model, each with its inverse once, in name order.
  static func all(of model: ManagedObjectModel) -> [VerifiedLink] {
    var links: [VerifiedLink] = []
    var seen: Set<String> = []
    for entity in model.entities {
      for relationship in entity.relationships.sorted(by: { Text($0.name) < Text($1.name) }) {
        guard !relationship.isTransient,
          model.declaringEntity(of: relationship.name, in: entity.name)?.name == entity.name
        else { continue }
        let end = End(entity: entity.name, relationship: relationship)
        guard !seen.contains(end.name) else { continue }
        seen.insert(end.name)
        guard let inverse = model.inverse(of: relationship), !inverse.isTransient,
          let owner = owner(of: inverse.name, for: relationship, in: model)
        else {
          links.append(VerifiedLink(ends: [end], isOwnInverse: false))
          continue
        }
        let other = End(entity: owner, relationship: inverse)
        if other.name == end.name {
          links.append(VerifiedLink(ends: [end], isOwnInverse: true))
        } else if seen.insert(other.name).inserted {
          links.append(VerifiedLink(ends: [end, other], isOwnInverse: false))
        }
      }
    }
    return links
  }

  private static func owner(
    of inverse: String, for relationship: RelationshipDescription, in model: ManagedObjectModel
  ) -> String? {
    let named = relationship.inverseEntityName ?? relationship.destinationEntityName
    return model.declaringEntity(of: inverse, in: named)?.name
      ?? model.declaringEntity(of: inverse, in: relationship.destinationEntityName)?.name
  }
}

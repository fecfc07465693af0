import GodwitModel

extension InversePair {
  /// Refuses an assignment to objects of earlier jobs that would have to change them. A job that appends leaves every
  /// existing row unchanged.
  ///
  /// - Throws: `.configuration` (78).
  func checkEarlier(_ resolved: ResolvedMapping) throws {
    let mappings = resolved.entityMappings
    for assignment in assignments {
      let mapping = mappings[assignment.mapping]
      let source = mapping.relationships[assignment.part]
      guard let earlier = source.lookups.first(where: { mappings[$0].earlier != nil }),
        let why = obstacle(to: assignment.end, model: resolved.destinationModel)
      else { continue }
      throw GodwitError(
        .configuration,
        "mapping '\(mapping.name)': relationship '\(source.relationship.name)' leads to objects that the earlier job's mapping '\(mappings[earlier].name)' made, and \(why)",
        location: source.location ?? mapping.mapping.location,
        remedy:
          "combine both jobs into one, or run them in the other order, or map the relationship to nil (`\(source.relationship.name): nil`)"
      )
    }
  }

  /// Why links set at an end cannot lead to objects that were there before; nil when they can.
  private func obstacle(to end: End, model: ManagedObjectModel) -> String? {
    switch storage {
    case .oneToOne: return "a one-to-one is stored with both objects"
    case .foreignKey(let holder) where holder != end: return "the link is stored with those objects"
    case .foreignKey, .join: break
    }
    guard let inverse = isOwnInverse ? first : side(end == .first ? .second : .first) else { return nil }
    let name = inverse.relationship.name
    if inverse.relationship.isOrdered { return "the inverse '\(name)' is ordered, and gives them new positions" }
    if inverse.relationship.isToMany, inverse.relationship.maxCount > 0 {
      return "the inverse '\(name)' has a maximum that they may exceed"
    }
    for entity in model.entities {
      for attribute in model.attributes(of: entity.name) where attribute.isDerived {
        guard let derivation = try? Derivation(of: attribute, in: entity.name, model: model),
          derivation.path.contains(where: { $0.name == name })
        else { continue }
        return "their derived attribute '\(entity.name).\(attribute.name)' would change"
      }
    }
    return nil
  }
}

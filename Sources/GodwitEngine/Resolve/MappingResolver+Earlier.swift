import GodwitJob
import GodwitModel

extension MappingResolver {
  func resolve(_ mapping: EarlierMapping, index: MappingID) throws -> ResolvedEntityMapping? {
    guard let from = source.entity(mapping.sourceEntity), let to = destination.entity(mapping.destinationEntity) else {
      return nil
    }
    try check(mapping.filter, of: from, "filter of the earlier mapping '\(mapping.name)'")
    return ResolvedEntityMapping(
      index: index, mapping: mapping.entityMapping, source: from, destination: to, filter: mapping.filter,
      attributes: [], relationships: [], earlier: mapping)
  }

  /// The results of an earlier job's mapping of that name; nil without one.
  func lookUpEarlier(
    named name: String, along keyPath: [String], for relationship: RelationshipDescription, in mapping: EntityMapping,
    from: EntityDescription, at location: GodwitError.Location?, text: String
  ) throws -> ResolvedEntityMapping.RelationshipSource? {
    let named = earlier.filter { $0.name == name }
    guard !named.isEmpty else { return nil }
    let path = try resolvePath(keyPath, from: from, in: mapping, at: location)
    let reached = path.last?.relationship.destinationEntityName ?? from.name
    let fitting = named.filter {
      serves($0.entityMapping, reached: reached, exactly: path.isEmpty)
        && makes($0.entityMapping, relationship.destinationEntityName)
    }
    guard !fitting.isEmpty else {
      throw error(
        "relationship '\(relationship.name)' leads from '\(reached)' to '\(relationship.destinationEntityName)', but the "
          + "earlier job's mapping '\(name)' leads from '\(named[0].sourceEntity)' to '\(named[0].destinationEntity)'",
        in: mapping, at: location)
    }
    for one in fitting {
      if case .lost(let reason) = one.access {
        throw cannotLookUp(relationship, one, reason, in: mapping, at: location)
      }
    }
    let lookups = usable.indices.map { MappingID($0) }.filter { index in
      let one = usable[index.number]
      return one.name == name && serves(one.entityMapping, reached: reached, exactly: path.isEmpty)
        && makes(one.entityMapping, relationship.destinationEntityName)
    }
    if lookups.isEmpty, let one = fitting.last { throw otherSource(relationship, one, in: mapping, at: location) }
    return .init(relationship: relationship, lookups: lookups, path: path, location: location, text: text)
  }

  /// The mappings of earlier jobs that carried such objects.
  ///
  /// - Parameter isAlone: Whether no mapping of the job itself carries them.
  func earlierLookups(
    reached: String, exactly: Bool, for relationship: RelationshipDescription, in mapping: EntityMapping,
    at location: GodwitError.Location?, isAlone: Bool
  ) throws -> [MappingID] {
    func fits(_ one: EarlierMapping) -> Bool {
      serves(one.entityMapping, reached: reached, exactly: exactly)
        && makes(one.entityMapping, relationship.destinationEntityName)
    }
    let lookups = usable.indices.filter { fits(usable[$0]) }.map { MappingID($0) }
    for one in earlier where fits(one) {
      switch one.access {
      case .offset: continue
      case .lost(let reason): throw cannotLookUp(relationship, one, reason, in: mapping, at: location)
      case .otherSource(let isSameStore):
        if isSameStore, isAlone, lookups.isEmpty { throw otherSource(relationship, one, in: mapping, at: location) }
      }
    }
    return lookups
  }

  private func cannotLookUp(
    _ relationship: RelationshipDescription, _ earlier: EarlierMapping, _ reason: String, in mapping: EntityMapping,
    at location: GodwitError.Location?
  ) -> GodwitError {
    error(
      "relationship '\(relationship.name)' needs the associations of the earlier job's mapping '\(earlier.name)': \(reason)",
      in: mapping, at: location, try: Self.earlierRemedy(relationship))
  }

  private func otherSource(
    _ relationship: RelationshipDescription, _ earlier: EarlierMapping, in mapping: EntityMapping,
    at location: GodwitError.Location?
  ) -> GodwitError {
    var why = "which read another source store"
    if case .otherSource(isSameStore: true) = earlier.access {
      why = "which read the source store before it changed"
    }
    return error(
      "relationship '\(relationship.name)' needs what the earlier job's mapping '\(earlier.name)' associated, \(why)",
      in: mapping, at: location, try: Self.earlierRemedy(relationship))
  }
}

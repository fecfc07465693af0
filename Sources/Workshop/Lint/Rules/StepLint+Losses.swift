import GodwitEngine
import GodwitModel

/// The entities and properties of the earlier version that a step loses.
extension StepLint {
  private enum Lost {
    case entity(EntityDescription)
    case property(ModelPairing.Property, of: EntityDescription)
  }

  /// The entities and properties that an inferred step drops, with those that are probably renamed.
  func losses() -> [LintFinding] {
    var renames = Renames(self)
    return lost().map { lost in
      switch lost {
      case .entity(let entity): renames.entity(entity) ?? dropped(entity)
      case .property(let property, let entity): renames.property(property, of: entity) ?? dropped(property, entity)
      }
    }
  }

  private func lost() -> [Lost] {
    pairing.entities.flatMap { pair -> [Lost] in
      guard let before = pair.old else { return [] }
      guard let after = pair.new else { return before.isAbstract ? [] : [.entity(before)] }
      // Losses of subentities are found with the subentities.
      if pairing.isSame(before, after), old.family(of: before.name).count == 1 { return [] }
      let lost =
        lostAttributes(of: before).map(ModelPairing.Property.attribute)
        + lostRelationships(of: before).map(ModelPairing.Property.relationship)
      return lost.map { .property($0, of: before) }
    }
  }

  /// The entities whose objects are kept, among an entity and its subentities.
  private func survivors(_ entity: EntityDescription) -> [String] {
    old.family(of: entity.name).filter { !$0.isAbstract && pairing.newName(of: $0.name) != nil }.map(\.name)
  }

  func isCarried(_ name: String, of entity: String) -> Bool {
    carried[.init(entity: entity, property: name)] != nil
  }

  private func lostAttributes(of before: EntityDescription) -> [AttributeDescription] {
    before.leaves.filter { attribute in
      guard !attribute.isTransient, !attribute.isDerived else { return false }
      return survivors(before).contains { !isCarried(attribute.name, of: $0) }
    }
  }

  /// Relationships that neither side carries over. A relationship to dropped objects is dropped with them.
  private func lostRelationships(of before: EntityDescription) -> [RelationshipDescription] {
    before.relationships.filter { relationship in
      guard old.isStored(relationship) else { return false }
      let targets = old.entity(relationship.destinationEntityName).map(survivors) ?? []
      guard !targets.isEmpty,
        survivors(before).contains(where: { !isCarried(relationship.name, of: $0) })
      else { return false }
      guard let inverse = old.inverse(of: relationship) else { return true }
      if targets.contains(where: { isCarried(inverse.name, of: $0) }) { return false }
      // One finding for both sides.
      let other = old.declaringEntity(of: inverse.name, in: relationship.destinationEntityName)?.name ?? ""
      return (Text(before.name), Text(relationship.name)) <= (Text(other), Text(inverse.name))
        || pairing.newName(of: other) == nil
    }
  }

  // MARK: Findings

  private var keeping: String {
    "keep it, set the Renaming ID of what takes its place, or carry it over with a mapping model; accept the finding if it is no longer needed"
  }

  private func dropped(_ entity: EntityDescription) -> LintFinding {
    finding(
      .entityDropped, entity.name, at: newIndex.start,
      "\(title) drops the entity \(entity.name): its objects are lost", try: keeping,
      related: former(oldIndex.place(of: entity.name)))
  }

  private func dropped(_ property: ModelPairing.Property, _ entity: EntityDescription) -> LintFinding {
    let (rule, content): (LintRule, String) =
      switch property {
      case .attribute: (.attributeDropped, "values")
      case .relationship: (.relationshipDropped, "links")
      }
    let subject = "\(entity.name).\(property.name)"
    return finding(
      rule, subject, at: placeNow(of: entity),
      "\(title) drops \(subject) (\(property.kind)): its \(content) are lost", try: keeping,
      related: former(oldIndex.place(of: property.name, in: entity.name, of: old)))
  }

  /// The later version's place of an entity of the earlier one.
  func placeNow(of entity: EntityDescription) -> LintFinding.Location {
    newIndex.place(of: pairing.newName(of: entity.name) ?? entity.name)
  }

  // MARK: Under a mapping model

  /// Properties that a mapping model does not read although the later version still has them, and entities that it
  /// leaves out.
  ///
  /// Properties that the later version no longer has are not reported: the author of the mapping model removed them on
  /// purpose.
  func losses(
    in models: [MappingModel], _ resolved: ResolvedMapping, _ place: LintFinding.Location?
  ) -> [LintFinding] {
    let mappings = models.flatMap(\.entityMappings)
    // A policy may read anything.
    guard !mappings.contains(where: { $0.policyName != nil }) else { return [] }
    let reads = PropertyReads(resolved)
    let taken = Dictionary(grouping: resolved.entityMappings) { $0.source.name }
    var findings: [LintFinding] = []
    for case (let before?, let after?) in pairing.entities where !before.isAbstract && !after.isAbstract {
      guard let own = taken[before.name] else {
        guard !mappings.contains(where: { $0.kind == .remove && $0.sourceEntityName == before.name }) else { continue }
        findings.append(
          finding(
            .entityDropped, before.name, at: place ?? placeNow(of: before),
            "\(title): no entity mapping takes \(before.name), which both versions have: its objects are lost",
            try: "add an entity mapping from \(before.name) to \(after.name), or accept the finding",
            related: former(oldIndex.place(of: before.name))))
        continue
      }
      for attribute in old.attributes(of: before.name) where !attribute.isTransient && !attribute.isDerived {
        guard !reads.isRead(attribute.name, of: before.name),
          isCarried(attribute.name, of: before.name)
        else { continue }
        let subject = "\(before.name).\(attribute.name)"
        findings.append(
          finding(
            .attributeDropped, subject, at: place ?? placeNow(of: before),
            "\(title): the mapping model does not read \(subject), which both versions have: its values are lost",
            try: "map the attribute in '\(own[0].name)', or accept the finding",
            related: former(oldIndex.place(of: attribute.name, in: before.name, of: old))))
      }
    }
    return findings
  }
}

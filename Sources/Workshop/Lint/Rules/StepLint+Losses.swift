import GodwitEngine
import GodwitJob
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

  // MARK: Properties that stay

  /// The losses of an inferred step in properties that both versions have, as a plan counts them.
  func changes() -> [LintFinding] {
    guard case .forecast(let forecast) = expectation() else { return [] }
    var told = Set(lost().flatMap(names))
    return forecast.losses.compactMap { loss in
      let parts = loss.subject.split(separator: ".", maxSplits: 1).map(String.init)
      guard parts.count == 2, survives(loss, of: parts[1], in: parts[0]) else { return nil }
      // A property that subentities inherit is one finding.
      let entity = old.declaringEntity(of: parts[1], in: parts[0])?.name ?? parts[0]
      guard !told.contains("\(entity).\(parts[1])"), told.insert("\(loss.kind) \(entity).\(parts[1])").inserted else {
        return nil
      }
      return changed(loss, of: parts[1], in: entity, seenFrom: parts[0])
    }
  }

  /// The names of something lost: of both ends of a relationship.
  private func names(_ lost: Lost) -> [String] {
    guard case .property(let property, let entity) = lost else { return [] }
    var names = ["\(entity.name).\(property.name)"]
    guard case .relationship(let relationship) = property, let inverse = old.inverse(of: relationship) else {
      return names
    }
    let other = old.declaringEntity(of: inverse.name, in: relationship.destinationEntityName)
    names.append("\(other?.name ?? relationship.destinationEntityName).\(inverse.name)")
    return names
  }

  /// Whether the models alone tell of a loss, whatever a store holds, and it is more than the loss of an entity.
  private func survives(_ loss: LossReport.Loss, of property: String, in entity: String) -> Bool {
    switch (loss.kind, loss.cause) {
    case (.values, .notTaken): return true
    case (.links, .notTaken), (.links, .entityNotAccepted):
      guard let relationship = old.relationship(property, of: entity) else { return false }
      return old.entity(relationship.destinationEntityName).map(survivors)?.isEmpty == false
    case (.order, .notOrdered): return true
    case (.rounded, .numericType):
      guard let was = old.attribute(property, of: entity), let now = successor(of: property, in: entity),
        let attribute = new.attribute(now.property, of: now.entity)
      else { return false }
      return NumericChange(from: was.type, to: attribute.type)?.mayRound == true
    default: return false
    }
  }

  private func successor(of property: String, in entity: String) -> InferredLoss.Name? {
    carried[.init(entity: entity, property: property)]
  }

  private func isDerived(_ property: String, in entity: String) -> Bool {
    successor(of: property, in: entity).flatMap { new.attribute($0.property, of: $0.entity) }?.isDerived == true
  }

  /// - Parameters:
  ///   - entity: The entity that declares the property in the earlier version.
  ///   - heir: The entity whose objects lose something.
  private func changed(
    _ loss: LossReport.Loss, of property: String, in entity: String, seenFrom heir: String
  ) -> LintFinding {
    let path = "\(entity).\(property)"
    func tell(_ rule: LintRule, _ text: String, try remedy: String? = nil) -> LintFinding {
      let now = successor(of: property, in: heir)
      return finding(
        rule, path,
        at: now.map { newIndex.place(of: $0.property, in: $0.entity, of: new) }
          ?? newIndex.place(of: pairing.newName(of: entity) ?? entity),
        "\(title) \(text)", try: remedy, related: former(oldIndex.place(of: property, in: entity, of: old)))
    }
    switch loss.kind {
    case .order: return tell(.orderDropped, "makes \(path) unordered: the order of its links is lost")
    case .rounded:
      return tell(
        .numberRounded,
        "changes the type of \(path) (\(loss.reason)): values that the new type cannot hold are rounded")
    case .links: return tell(.relationshipDropped, "keeps \(path) without its links \(loss.reason)", try: keeping)
    default:
      let text =
        isDerived(property, in: heir)
        ? "makes \(path) derived: the values that it has are lost" : "loses values of \(path) (\(loss.reason))"
      return tell(.attributeDropped, text, try: keeping)
    }
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

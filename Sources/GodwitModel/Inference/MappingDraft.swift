/// A new mapping model for two models, as Xcode would make it, for a person to complete.
///
/// One mapping for each destination entity, called `<Source>To<Destination>`, with a value for each property that has
/// one in the source. Entities that are gone have no mapping. A placeholder marks each decision that only a person can
/// make.
package struct MappingDraft: Sendable {
  /// The mapping model. Where a person has to choose, a property has no value.
  package private(set) var model: MappingModel
  /// Remarks, and the placeholders among them.
  package private(set) var remarks: [MappingRemark] = []

  private let source, destination: ManagedObjectModel
  private let pairing: ModelPairing

  /// Drafts a mapping model between two versions. Reads no data.
  package init(from source: ManagedObjectModel, to destination: ManagedObjectModel) {
    self.source = source
    self.destination = destination
    pairing = ModelPairing(from: source, to: destination)
    model = MappingModel(
      sourceModelName: source.name, destinationModelName: destination.name, entityMappings: [])
    for (before, after) in pairing.entities {
      switch (before, after) {
      case (let before?, let after?): add(before, after)
      case (nil, let after?):
        model.entityMappings.append(EntityMapping(name: after.name, kind: .add, source: nil, destination: after.name))
        remark(after.name, .entity, "new: no objects, unless a mapping with a source makes them")
      case (let before?, nil):
        guard !before.isAbstract else { continue }
        remarks.append(MappingRemark(mapping: nil, "'\(before.name)' was removed: no mapping takes its objects"))
      case (nil, nil): continue
      }
    }
  }

  private mutating func remark(
    _ mapping: String, _ subject: MappingRemark.Subject, _ text: String, isPlaceholder: Bool = false
  ) {
    remarks.append(MappingRemark(mapping: mapping, subject: subject, text, isPlaceholder: isPlaceholder))
  }

  private mutating func remarkDoubt(
    _ mapping: String, _ subject: MappingRemark.Subject, _ entity: EntityDescription
  ) {
    guard let doubt = subject.property.flatMap({ pairing.doubt(of: $0, in: entity.name) }) else { return }
    remark(mapping, subject, doubt.remark)
  }

  private mutating func add(_ before: EntityDescription, _ after: EntityDescription) {
    guard !after.isAbstract else {
      let text = before.isAbstract ? "it has no objects" : "objects of '\(before.name)' need another destination"
      remarks.append(MappingRemark(mapping: nil, "'\(after.name)' is abstract: \(text)"))
      return
    }
    var mapping = EntityMapping(name: "\(before.name)To\(after.name)", source: before.name, destination: after.name)
    for attribute in destination.attributes(of: after.name) where !attribute.isTransient && !attribute.isDerived {
      add(attribute, to: &mapping, before, after)
    }
    for relationship in destination.relationships(of: after.name) where destination.isStored(relationship) {
      add(relationship, to: &mapping, before, after)
    }
    remarkUniqueness(of: mapping, before, after)
    model.entityMappings.append(mapping)
    remarks += pairing.dropped(from: before.name, to: after.name).map { $0.remark(mapping.name) }
  }

  /// Proposes `unique-by` for a uniqueness constraint that is new.
  private mutating func remarkUniqueness(
    of mapping: EntityMapping, _ before: EntityDescription, _ after: EntityDescription
  ) {
    let known = source.uniquenessConstraints(of: before.name).map(\.properties)
    for constraint in destination.uniquenessConstraints(of: after.name).map(\.properties)
    where !known.contains(constraint) {
      let dates = source.attributes(of: before.name).filter { $0.type == .date && !$0.isTransient }.map(\.name)
      let newest = dates.first { $0.lowercased().contains("modif") || $0.lowercased().contains("updat") } ?? dates.last
      let order = newest.map { ", order-by: [\"\($0) DESC\"]" } ?? ""
      let names = constraint.joined(separator: ", ")
      remark(
        mapping.name, .entity,
        "unique now: \(names). Equal objects become one with `unique-by: {attributes: [\(names)]\(order)}`")
    }
  }

  // MARK: Properties

  private mutating func add(
    _ now: AttributeDescription, to mapping: inout EntityMapping, _ before: EntityDescription,
    _ after: EntityDescription
  ) {
    let subject = MappingRemark.Subject.attribute(now.name)
    guard case .attribute(let was)? = pairing.origin(of: .attribute(now), in: after.name, from: before.name),
      !was.isTransient
    else {
      let isOpen = !now.isOptional && now.defaultValue.isNull
      let text = isOpen ? "required, no default" : now.defaultValue.isNull ? "stays nil" : "takes the default"
      remarkDoubt(mapping.name, subject, after)
      return remark(mapping.name, subject, "new \(PropertyFacts(now).kind): \(text)", isPlaceholder: isOpen)
    }
    var value = ValueExpression.sourceProperty(was.name)
    let change = NumericChange(from: was.type, to: now.type)
    let types = "\(PropertyFacts(was).kind) '\(was.name)' to \(PropertyFacts(now).kind)"
    if was.type != now.type, change?.matchesCoreData != true {
      guard let conversion = TypeConversion.between(was.type, now.type),
        let converted = try? ValueExpression(parsing: SourceText(conversion.expression(of: value.description)))
      else {
        let way = was.type.way(to: now.type, of: value.description)
        return remark(mapping.name, subject, "\(types): \(way)", isPlaceholder: true)
      }
      value = converted
      let isRequired = !now.isOptional && now.defaultValue.isNull && conversion.misfit.contains("becomes nil")
      let required = isRequired ? "; the attribute is required, and an object without a value stops the run" : ""
      remark(mapping.name, subject, types + (conversion.misfit.isEmpty ? "" : ": \(conversion.misfit)") + required)
    }
    let isTightened = was.isOptional && !now.isOptional
    if let change, change.matchesCoreData {
      let rounded = change.mayRound ? ": a whole number beyond 2^53 becomes the nearest Double" : ""
      remark(mapping.name, subject, "\(PropertyFacts(was).kind) to \(PropertyFacts(now).kind)\(rounded)")
    }
    if was.name != now.name { remark(mapping.name, subject, "renamed") }
    remarkDoubt(mapping.name, subject, after)
    if isTightened, now.defaultValue.isNull {
      remark(mapping.name, subject, "now required, without a default: an object without a value stops the run")
    }
    mapping.attributeMappings.append(
      AttributeMapping(
        name: now.name, value: value, usesDefaultForNil: isTightened && !now.defaultValue.isNull))
  }

  private mutating func add(
    _ now: RelationshipDescription, to mapping: inout EntityMapping, _ before: EntityDescription,
    _ after: EntityDescription
  ) {
    let subject = MappingRemark.Subject.relationship(now.name)
    guard case .relationship(let was)? = pairing.origin(of: .relationship(now), in: after.name, from: before.name),
      source.isStored(was)
    else {
      remarkDoubt(mapping.name, subject, after)
      return remark(
        mapping.name, subject, now.requiresObject ? "new and required" : "new: leads nowhere",
        isPlaceholder: now.requiresObject)
    }
    let carried = source.family(of: was.destinationEntityName).compactMap { pairing.newName(of: $0.name) }
    guard carried.contains(where: { destination.isKind($0, of: now.destinationEntityName) }) else {
      return remark(
        mapping.name, subject, "led to '\(was.destinationEntityName)', now leads to '\(now.destinationEntityName)'",
        isPlaceholder: true)
    }
    if was.name != now.name { remark(mapping.name, subject, "renamed") }
    remarkDoubt(mapping.name, subject, after)
    if was.isToMany, !now.isToMany { remark(mapping.name, subject, "to-many to to-one: the first is taken") }
    let value: RelationshipMapping.Value =
      if let other = onlyMapping(from: was.destinationEntityName, to: now.destinationEntityName) {
        .mapping(other, keyPath: [was.name])
      } else {
        .sourceRelationship(was.name)
      }
    mapping.relationshipMappings.append(RelationshipMapping(name: now.name, value: value))
  }

  /// The mapping of the entity that a relationship leads to, when no subentity has another.
  private func onlyMapping(from old: String, to new: String) -> String? {
    guard pairing.newName(of: old) == new, !source.hasSubentities(old), !destination.hasSubentities(new),
      destination.entity(new)?.isAbstract == false
    else { return nil }
    return "\(old)To\(new)"
  }
}

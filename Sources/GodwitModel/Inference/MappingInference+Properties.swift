extension MappingInference {
  // MARK: Attributes

  mutating func addAttributes(
    to mapping: inout EntityMapping, _ before: EntityDescription, _ after: EntityDescription
  ) {
    for now in destination.attributes(of: after.name) where !now.isTransient {
      let subject = MappingRemark.Subject.attribute(now.name)
      guard !now.isDerived else {
        remark(mapping.name, subject, "derived from what is there")
        continue
      }
      let was: AttributeDescription
      switch pairing.origin(of: .attribute(now), in: after.name, from: before.name) {
      case .attribute(let attribute)? where !attribute.isTransient: was = attribute
      case .relationship?:
        refuse(.relationshipToAttribute, after.name, now.name, "a relationship becomes an attribute")
        continue
      case .attribute?:
        addNew(now, to: mapping.name, after, "was transient")
        continue
      case nil:
        addNew(now, to: mapping.name, after, "new")
        continue
      }
      let change = NumericChange(from: was.type, to: now.type)
      guard was.type == now.type || change != nil else {
        let doubt = NumericChange.doubt(from: was.type, to: now.type).map { ": " + $0 } ?? ""
        refuse(
          .typeChange, after.name, now.name, "type \(PropertyFacts(was).kind) to \(PropertyFacts(now).kind)\(doubt)",
          expression: TypeConversion.between(was.type, now.type)?.expression(
            of: ValueExpression.sourceProperty(was.name).description))
        continue
      }
      var reasons: [String] = []
      if was.name != now.name { reasons.append("renamed from \(was.name)") }
      if let change { reasons.append(Self.reason(change)) }
      var usesDefault = false
      if was.isOptional, !now.isOptional {
        guard !now.defaultValue.isNull else {
          refuse(
            .optionalToRequired, after.name, now.name,
            "optional to required without a default: no value can replace nil")
          continue
        }
        usesDefault = true
        reasons.append("optional to required: nil becomes the default")
      } else if !was.isOptional, now.isOptional {
        reasons.append("required to optional")
      }
      let reason = reasons.isEmpty ? "as it was" : reasons.joined(separator: ", ")
      remark(mapping.name, subject, doubted(reason, after.name, now.name))
      mapping.attributeMappings.append(
        AttributeMapping(name: now.name, value: .sourceProperty(was.name), usesDefaultForNil: usesDefault))
    }
  }

  private static func reason(_ change: NumericChange) -> String {
    var reason = "\(change.source.xcodeName) to \(change.destination.xcodeName)"
    if change.mayNotFit {
      reason +=
        change.destination.isInteger
        ? ": a value that does not fit stops the run, and the plan counts them"
        : ": the plan counts the values that are too large or too near to 0"
    }
    if change.mayRound { reason += ": the plan counts the values that it rounds" }
    return reason
  }

  private mutating func addNew(
    _ attribute: AttributeDescription, to mapping: String, _ entity: EntityDescription, _ reason: String
  ) {
    let subject = MappingRemark.Subject.attribute(attribute.name)
    if !attribute.defaultValue.isNull {
      remark(mapping, subject, doubted("\(reason): takes the default", entity.name, attribute.name))
    } else if attribute.isOptional {
      remark(mapping, subject, doubted("\(reason): stays nil", entity.name, attribute.name))
    } else {
      refuse(.requiredAttributeAdded, entity.name, attribute.name, "\(reason), required and without a default")
    }
  }

  // MARK: Relationships

  mutating func addRelationships(
    to mapping: inout EntityMapping, _ before: EntityDescription, _ after: EntityDescription
  ) {
    for now in destination.relationships(of: after.name) where !now.isTransient {
      let subject = MappingRemark.Subject.relationship(now.name)
      guard destination.isStored(now) else { continue }
      let was: RelationshipDescription
      switch pairing.origin(of: .relationship(now), in: after.name, from: before.name) {
      case .relationship(let relationship)? where source.isStored(relationship): was = relationship
      case .attribute?:
        refuse(.attributeToRelationship, after.name, now.name, "an attribute becomes a relationship")
        continue
      case .relationship?, nil:
        if !now.requiresObject || isSetByInverse(now) {
          let text = now.requiresObject ? "new: set by its inverse" : "new: leads nowhere"
          remark(mapping.name, subject, doubted(text, after.name, now.name))
        } else {
          refuse(
            .requiredRelationshipAdded, after.name, now.name, "new and required, so every object would break its rule")
        }
        continue
      }
      guard !was.isToMany || now.isToMany else {
        refuse(.toManyToOne, after.name, now.name, "to-many to to-one: nothing tells which of several objects to keep")
        continue
      }
      let isReplaced = isReplaced(was)
      if isReplaced, now.requiresObject, !isSetByInverse(now) {
        refuse(
          .destinationGone, after.name, now.name,
          "it leads to '\(now.destinationEntityName)' and is required, and '\(was.destinationEntityName)' is gone")
        continue
      }
      let left = leftBehind(was, now)
      var losses = left.isEmpty ? "" : ", without links to \(Self.list(left)): the plan counts them"
      if isReplaced {
        losses = ", without links, since '\(was.destinationEntityName)' is gone: the plan counts them"
      }
      remark(mapping.name, subject, doubted(reasons(was, now) + losses, after.name, now.name))
      mapping.relationshipMappings.append(RelationshipMapping(name: now.name, value: .sourceRelationship(was.name)))
    }
  }

  private func reasons(_ was: RelationshipDescription, _ now: RelationshipDescription) -> String {
    var reasons: [String] = []
    if was.name != now.name { reasons.append("renamed from \(was.name)") }
    if was.isToMany != now.isToMany { reasons.append("to-one to to-many") }
    if was.isOrdered != now.isOrdered {
      reasons.append(now.isOrdered ? "unordered to ordered" : "ordered to unordered")
    }
    if was.isOptional, !now.isOptional {
      reasons.append("optional to required" + (now.requiresObject ? ": an object without one stops the run" : ""))
    }
    if !was.isOptional, now.isOptional { reasons.append("required to optional") }
    return reasons.isEmpty ? "as it was" : reasons.joined(separator: ", ")
  }

  /// Whether the other side has data, and so sets this one.
  private func isSetByInverse(_ relationship: RelationshipDescription) -> Bool {
    guard let inverse = destination.inverse(of: relationship), destination.isStored(inverse) else { return false }
    return destination.family(of: relationship.destinationEntityName).contains { owner in
      guard let before = pairing.oldName(of: owner.name), destination.relationship(inverse.name, of: owner.name) != nil
      else { return false }
      if case .relationship(let found)? = pairing.origin(of: .relationship(inverse), in: owner.name, from: before) {
        return source.isStored(found)
      }
      return false
    }
  }

  /// The entities of objects that a relationship leads to and its destination no longer takes in.
  private func leftBehind(_ was: RelationshipDescription, _ now: RelationshipDescription) -> [String] {
    source.family(of: was.destinationEntityName).filter { !$0.isAbstract }.compactMap { pairing.newName(of: $0.name) }
      .filter { !destination.isKind($0, of: now.destinationEntityName) }.sorted(by: ManagedObjectModel.precedes)
  }

  private static func list(_ names: [String]) -> String { names.map { "'\($0)'" }.joined(separator: " and ") }

  /// Whether everything that the relationship led to is gone, so that it leads to entities that have no objects yet.
  private func isReplaced(_ was: RelationshipDescription) -> Bool {
    let members = source.family(of: was.destinationEntityName).filter { !$0.isAbstract }
    let kept = members.compactMap { pairing.newName(of: $0.name) }
    return kept.isEmpty && !members.isEmpty && pairing.newName(of: was.destinationEntityName) == nil
  }
}

extension ValueExpression {
  /// `$source.name`.
  static func sourceProperty(_ name: String) -> ValueExpression {
    let expression = ValueExpression(.keyPath(base: ValueExpression(.variable("source")), segments: [name]))
    return ValueExpression(expression, source: SourceText(expression.description))
  }
}

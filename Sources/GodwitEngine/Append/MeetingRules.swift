import GodwitJob
import GodwitModel
import GodwitStore

/// Which new objects may be the same as objects of the destination that a job appends to, and what is refused for them.
///
/// A run makes all objects as new ones first, with keys, values and links. The last stage but the unique indexes makes
/// them one with the old objects (`Executor.meet`).
extension ResolvedEntityMapping {
  /// Whether its objects are one with those of a destination that have the same values of `unique-by`.
  var meets: Bool { earlier == nil && !mapping.uniqueBy.isEmpty }

  /// An attribute by which old and new objects are compared.
  struct MetOrder {
    var attribute: AttributeDescription
    var isAscending: Bool
  }

  /// The attributes that take the values of the sort descriptors; nil in the place of one whose value no attribute
  /// takes unchanged.
  var metOrder: [MetOrder?] {
    mapping.uniqueOrder.map { descriptor in
      attributes.first { $0.source.withoutDefault.isPath(descriptor.keyPath) }
        .map { MetOrder(attribute: $0.attribute, isAscending: descriptor.isAscending) }
    }
  }
}

extension ResolvedEntityMapping.AttributeSource {
  /// Whether it is the value at a key path from the source object.
  fileprivate func isPath(_ keyPath: String) -> Bool {
    switch self {
    case .copy(let name): return name == keyPath
    case .expression(let expression):
      guard case .keyPath(let base, let segments) = expression.node else { return false }
      if let base { guard case .variable("source") = base.node else { return false } }
      return segments.joined(separator: ".") == keyPath
    case .modelDefault, .defaultForNil: return false
    }
  }
}

extension ResolvedMapping {
  /// Refuses mappings with `unique-by` whose objects cannot become one with those of a destination.
  ///
  /// - Throws: `.configuration` (78).
  func checkMeeting() throws {
    var makers: [String: String] = [:]
    for mapping in entityMappings where mapping.meets {
      func cannot(_ why: String, try remedy: String) -> GodwitError {
        GodwitError(
          .configuration, "cannot append with mapping '\(mapping.name)' and its unique-by: \(why)",
          location: mapping.mapping.locations["unique-by"] ?? mapping.mapping.location, remedy: remedy,
          safe: "nothing was written")
      }
      let entity = mapping.destination.name
      if let other = makers.updateValue(mapping.name, forKey: entity) {
        throw cannot(
          "mapping '\(other)' makes objects of '\(entity)' by unique-by too",
          try: "append with one of the two mappings, and with the other in a job after it")
      }
      if let attribute = mapping.attributes.first(where: { $0.attribute.allowsExternalBinaryDataStorage })?.attribute {
        throw cannot(
          "'\(entity).\(attribute.name)' may lie in files beside the store",
          try: "append without unique-by, or clear 'Allows External Storage' in the destination model")
      }
      for (descriptor, attribute) in zip(mapping.mapping.uniqueOrder, mapping.metOrder) where attribute == nil {
        throw cannot(
          "no attribute of '\(entity)' takes '\(descriptor.keyPath)', so that old and new objects cannot be compared",
          try:
            "map an attribute to `$source.\(descriptor.keyPath)`, or leave `order-by` out: then the objects of the destination stay"
        )
      }
      if let derived = try derivation(readingThrough: entity) {
        throw cannot(
          "the derived attribute '\(derived)' would have to be computed again for old objects",
          try: "append without unique-by, or make the attribute one that is not derived")
      }
    }
  }

  /// A derived attribute of an entity's objects, or one whose path comes by them; nil without one.
  private func derivation(readingThrough entity: String) throws -> String? {
    func isKin(_ other: String) -> Bool {
      destinationModel.isKind(entity, of: other) || destinationModel.isKind(other, of: entity)
    }
    for owner in destinationModel.entities {
      for attribute in destinationModel.attributes(of: owner.name) where attribute.isDerived {
        let isOwn = destinationModel.isKind(entity, of: owner.name)
        guard !isOwn else { return "\(owner.name).\(attribute.name)" }
        let derivation = try Derivation(of: attribute, in: owner.name, model: destinationModel)
        if derivation.path.contains(where: { isKin($0.destinationEntityName) }) {
          return "\(owner.name).\(attribute.name)"
        }
      }
    }
    return nil
  }
}

extension InversePair {
  /// Refuses links of objects that may become one with those of a destination, where that would change other objects
  /// or break a rule of the model.
  ///
  /// - Throws: `.configuration` (78).
  func checkMeeting(_ resolved: ResolvedMapping) throws {
    for mapping in resolved.entityMappings where mapping.meets {
      for end in [End.first, .second] {
        guard let side = side(end), resolved.destinationModel.isKind(mapping.destination.name, of: side.entityName),
          let why = obstacleToMeeting(at: end, side.relationship)
        else { continue }
        let name = "\(side.entityName).\(side.relationship.name)"
        throw GodwitError(
          .configuration, "cannot append with mapping '\(mapping.name)' and its unique-by: '\(name)' \(why)",
          location: mapping.mapping.locations["unique-by"] ?? mapping.mapping.location,
          remedy:
            "append without unique-by, or map the relationship to nil (`\(side.relationship.name): nil`) at both ends",
          safe: "nothing was written")
      }
    }
  }

  private func obstacleToMeeting(at end: End, _ relationship: RelationshipDescription) -> String? {
    if case .oneToOne = storage { return "is one-to-one, and another object would lose its partner" }
    if relationship.isToMany, relationship.maxCount > 0 {
      return "has a maximum that the old links and new ones may exceed"
    }
    if isOwnInverse { return relationship.isOrdered ? "is ordered and its own inverse" : nil }
    guard let inverse = side(end == .first ? .second : .first)?.relationship, !relationship.isToMany, inverse.isToMany,
      inverse.minCount > 0
    else { return nil }
    return "has an inverse with a minimum, below which it may fall"
  }
}

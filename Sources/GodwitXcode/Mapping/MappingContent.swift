import GodwitModel

/// The content of one of Xcode's mapping models, before defaults are filled in from the models.
struct MappingContent: Sendable {
  /// The value of a property, as far as the file states it.
  enum Value: Sendable {
    /// The file stores no value, so the rule of Xcode's compiler applies.
    case standard
    /// Compiled to no expression: the property keeps the default of the model.
    case none
    case expression(ValueExpression)
    /// Xcode's fields "Key Path" (segments after `$source`) and "Mapping Name"; nil for one that is empty.
    case keyPath([String]?, mapping: String?)
  }

  struct Property: Sendable {
    var name: String
    var value: Value
    var userInfo: [String: String] = [:]
    var location: GodwitError.Location?
  }

  struct Entity: Sendable {
    var name: String
    var source, destination: String?
    var filter: FilterPredicate?
    var policyName: String?
    var userInfo: [String: String] = [:]
    var attributes: [Property] = []
    var relationships: [Property] = []
    var location: GodwitError.Location?

    /// Core Data distinguishes copying and transforming only by name: both evaluate the expressions. Godwit's `copy`
    /// would fill properties without an expression.
    var kind: EntityMapping.Kind {
      if source == nil { return .add }
      if destination == nil { return .remove }
      return policyName == nil ? .transform : .custom
    }

    /// The mapping without its properties.
    var outline: EntityMapping {
      var mapping = EntityMapping(name: name, kind: kind, source: source, destination: destination)
      mapping.filter = filter
      mapping.policyName = policyName
      mapping.userInfo = userInfo
      return mapping
    }
  }

  let file: String
  /// In mapping order.
  let entities: [Entity]
  /// The mappings that make objects, by destination entity.
  private let makers: [String: [Entity]]

  init(file: String, entities: [Entity]) {
    self.file = file
    self.entities = entities
    makers = Dictionary(grouping: entities.filter { $0.source != nil }) { $0.destination ?? "" }
  }

  // MARK: The mapping model

  /// - Parameters:
  ///   - source: Needed for properties without an expression in the file; nil where every property has one.
  ///   - destination: As `source`.
  /// - Throws: code `.configuration`.
  func mappingModel(from source: ManagedObjectModel?, to destination: ManagedObjectModel?) throws -> MappingModel {
    var names: Set<String> = []
    var mappings: [EntityMapping] = []
    for entity in entities {
      guard names.insert(entity.name).inserted else {
        throw GodwitError(
          .configuration, "cannot use mapping model '\(file)': two of its mappings are named '\(entity.name)'",
          location: entity.location, remedy: "rename one of the two in Xcode")
      }
      var mapping = entity.outline
      mapping.location = entity.location
      for property in (entity.attributes + entity.relationships) where !property.userInfo.isEmpty {
        mapping.propertyUserInfo[property.name] = property.userInfo
      }
      for property in entity.attributes.sorted(by: { Text($0.name) < Text($1.name) }) {
        guard let value = try attributeValue(property, in: entity, source: source, destination: destination) else {
          continue
        }
        mapping.attributeMappings.append(
          AttributeMapping(name: property.name, value: value, location: property.location))
      }
      for property in entity.relationships.sorted(by: { Text($0.name) < Text($1.name) }) {
        guard let value = try relationshipValue(property, in: entity, source: source, destination: destination) else {
          continue
        }
        mapping.relationshipMappings.append(
          RelationshipMapping(
            name: property.name, value: value, location: property.location, valueLocation: property.location))
      }
      mappings.append(mapping)
    }
    return MappingModel(
      sourceModelName: source?.name, destinationModelName: destination?.name, entityMappings: mappings, file: file)
  }

  private func problem(_ text: String, _ property: Property, in entity: Entity, try remedy: String) -> GodwitError {
    GodwitError(
      .configuration, "cannot use property '\(property.name)' of mapping '\(entity.name)': \(text)",
      location: property.location, context: property.location == nil ? "mapping model '\(file)'" : nil, remedy: remedy)
  }

  // MARK: Defaults

  /// `$source.name` for an attribute that the source entity has and its store holds; nil for any other.
  private func attributeValue(
    _ property: Property, in entity: Entity, source: ManagedObjectModel?, destination: ManagedObjectModel?
  ) throws -> ValueExpression? {
    switch property.value {
    case .none: return nil
    case .expression(let expression): return expression
    case .keyPath:
      throw problem(
        "an attribute cannot have a key path and a mapping name", property, in: entity, try: "correct it in Xcode")
    case .standard:
      guard let name = entity.source else { return nil }
      let source = try needed(source, property, in: entity)
      guard let attribute = source.attribute(property.name, of: name), !attribute.isTransient else { return nil }
      if let made = entity.destination, destination?.attribute(property.name, of: made)?.isDerived == true {
        return nil
      }
      return try ArchivedExpression.parsed(
        ValueExpression(.keyPath(base: ValueExpression(.variable("source")), segments: [property.name])), file: file)
    }
  }

  /// The one mapping that makes the objects of the relationship's destination, or whichever carried the source objects.
  private func relationshipValue(
    _ property: Property, in entity: Entity, source: ManagedObjectModel?, destination: ManagedObjectModel?
  ) throws -> RelationshipMapping.Value? {
    let path: [String]
    switch property.value {
    case .none: return nil
    case .expression(let expression): return ArchivedExpression.relationshipValue(expression)
    case .keyPath(let segments?, let name?): return .mapping(name, keyPath: segments)
    case .keyPath(nil, let name):
      guard let name else { return nil }
      return .mapping(name, keyPath: [property.name])
    case .keyPath(let segments?, nil): path = segments
    case .standard: path = [property.name]
    }
    guard let sourceName = entity.source, let destinationName = entity.destination else { return nil }
    let source = try needed(source, property, in: entity)
    let destination = try needed(destination, property, in: entity)
    let wanted = destination.relationship(property.name, of: destinationName)
    if case .standard = property.value, let wanted, !destination.isStored(wanted) { return nil }
    var reached = sourceName
    for segment in path where !segment.hasPrefix("@") {
      guard let relationship = source.relationship(segment, of: reached), source.isStored(relationship) else {
        if case .standard = property.value { return nil }
        throw problem(
          "'\(reached)' has no relationship '\(segment)'", property, in: entity, try: "correct the key path in Xcode")
      }
      reached = relationship.destinationEntityName
    }
    if let wanted = wanted?.destinationEntityName,
      let only = onlyMapping(making: wanted, in: destination), let taken = only.source,
      source.isKind(taken, of: reached)
    {
      return .mapping(only.name, keyPath: path)
    }
    guard path.count == 1, let name = path.first else {
      throw problem(
        "the key path has no mapping name, and not one mapping alone makes the objects", property, in: entity,
        try: "enter the mapping name in Xcode")
    }
    return .sourceRelationship(name)
  }

  /// The mapping that makes objects of the entity or its subentities; nil if several do.
  private func onlyMapping(making entity: String, in destination: ManagedObjectModel) -> Entity? {
    guard !destination.hasSubentities(entity) else { return nil }
    guard let makers = makers[entity], makers.count == 1 else { return nil }
    return makers.first
  }

  private func needed(
    _ model: ManagedObjectModel?, _ property: Property, in entity: Entity
  ) throws -> ManagedObjectModel {
    guard let model else {
      throw problem(
        "what the file leaves open needs the models, and those in the file cannot be read", property, in: entity,
        try: "give the models")
    }
    return model
  }
}

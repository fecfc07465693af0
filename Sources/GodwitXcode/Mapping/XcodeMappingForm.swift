import GodwitModel

/// A mapping model with nothing but what an `.xcmappingmodel` can say: properties in the order of their names, `copy`
/// spelled out, kinds as Core Data derives them. The rest is listed.
struct XcodeMappingForm {
  private(set) var entityMappings: [EntityMapping] = []
  /// One line each.
  private(set) var problems: [String] = []

  private let source, destination: ManagedObjectModel?

  /// - Parameters:
  ///   - source: Needed for mappings of the type `copy`.
  ///   - destination: As `source`.
  init(_ model: MappingModel, from source: ManagedObjectModel?, to destination: ManagedObjectModel?) {
    (self.source, self.destination) = (source, destination)
    for mapping in model.entityMappings { entityMappings.append(made(of: mapping)) }
    if model.entityMappings.count > SourceMappingReader.mappingsMaximum {
      problems.append("more than \(SourceMappingReader.mappingsMaximum) entity mappings")
    }
  }

  private mutating func refuse(_ what: String, of mapping: EntityMapping) {
    problems.append("mapping '\(mapping.name)': \(what)")
  }

  private mutating func made(of mapping: EntityMapping) -> EntityMapping {
    if mapping.forEach != nil { refuse("for-each", of: mapping) }
    if !mapping.uniqueBy.isEmpty { refuse("unique-by", of: mapping) }
    var content = MappingContent.Entity(
      name: mapping.name, source: mapping.sourceEntityName, destination: mapping.destinationEntityName)
    content.policyName = mapping.policyName
    content.userInfo = mapping.userInfo
    if let filter = mapping.filter, filter.node != .constant(true) {
      content.filter = filter
      if let problem = ExpressionArchive.problem(in: filter) { refuse("filter: \(problem)", of: mapping) }
    }
    var made = content.outline
    let copied = copied(mapping)
    made.attributeMappings = attributes(of: mapping, copied)
    made.relationshipMappings = relationships(of: mapping, copied)
    made.propertyUserInfo = mapping.propertyUserInfo.filter { !$0.value.isEmpty }
    let set = Set(made.attributeMappings.map(\.name) + made.relationshipMappings.map(\.name))
    for name in made.propertyUserInfo.keys.sorted() where !set.contains(name) {
      refuse("user info of '\(name)', to which it gives no value", of: mapping)
    }
    return made
  }

  // MARK: Properties

  private mutating func attributes(of mapping: EntityMapping, _ copied: Copied?) -> [AttributeMapping] {
    var made: [AttributeMapping] = []
    for attribute in mapping.attributeMappings {
      if attribute.usesDefaultForNil { refuse("if-nil of '\(attribute.name)'", of: mapping) }
      made.append(.init(name: attribute.name, value: plain(attribute.value, attribute.name, of: mapping)))
    }
    if let copied {
      for attribute in copied.to.attributes(of: copied.made)
      where !made.contains(where: { $0.name == attribute.name }) {
        guard !attribute.isTransient, !attribute.isDerived,
          copied.from.attribute(attribute.name, of: copied.taken)?.isTransient == false
        else { continue }
        let path = ValueExpression(
          .keyPath(base: ValueExpression(.variable("source")), segments: [attribute.name]))
        made.append(.init(name: attribute.name, value: path))
      }
    }
    for part in made where part.name.contains(".") {
      refuse("'\(part.name)', a part of a composite attribute", of: mapping)
    }
    return made.sorted { Text($0.name) < Text($1.name) }
  }

  private mutating func relationships(of mapping: EntityMapping, _ copied: Copied?) -> [RelationshipMapping] {
    var made: [RelationshipMapping] = []
    for relationship in mapping.relationshipMappings {
      if !relationship.order.isEmpty { refuse("order-by of '\(relationship.name)'", of: mapping) }
      if let end = relationship.end { refuse("'of: $\(end.rawValue)' of '\(relationship.name)'", of: mapping) }
      var value = relationship.value
      if case .expression(let expression) = value {
        value = ArchivedExpression.relationshipValue(plain(expression, relationship.name, of: mapping))
      }
      made.append(.init(name: relationship.name, value: value))
    }
    if let copied {
      for relationship in copied.to.relationships(of: copied.made)
      where copied.to.isStored(relationship) && !made.contains(where: { $0.name == relationship.name }) {
        guard copied.from.relationship(relationship.name, of: copied.taken).map(copied.from.isStored) == true else {
          continue
        }
        made.append(.init(name: relationship.name, value: .sourceRelationship(relationship.name)))
      }
    }
    return made.sorted { Text($0.name) < Text($1.name) }
  }

  /// The expression as its archive is read again.
  private mutating func plain(
    _ expression: ValueExpression, _ property: String, of mapping: EntityMapping
  ) -> ValueExpression {
    do throws(ExpressionArchive.Inexpressible) { _ = try ExpressionArchive.bytes(of: expression) } catch {
      refuse("'\(property)': \(error.text)", of: mapping)
    }
    return (try? ArchivedExpression.parsed(ExpressionArchive.plain(expression), file: "")) ?? expression
  }

  /// The entities and models of a mapping that fills properties of the same name.
  private struct Copied {
    var taken, made: String
    var from, to: ManagedObjectModel
  }

  /// - Returns: nil for other kinds, and where the models are missing.
  private mutating func copied(_ mapping: EntityMapping) -> Copied? {
    guard mapping.kind == .copy, let from = mapping.sourceEntityName, let to = mapping.destinationEntityName else {
      return nil
    }
    guard let source, let destination, source.entity(from) != nil, destination.entity(to) != nil else {
      refuse(
        source == nil
          ? "type copy, which needs the models: give --source and --destination"
          : "type copy of entities that the models lack", of: mapping)
      return nil
    }
    return Copied(taken: from, made: to, from: source, to: destination)
  }
}

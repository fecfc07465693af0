import GodwitModel

/// Which properties of the source the mappings of a step read, by entity and name.
///
/// Every expression of an attribute that reads a value counts as taking it. A condition takes nothing: that of a filter,
/// of a `TERNARY` or of a `SUBQUERY`, and the order of `unique-by`. A path to a value
/// passes links without carrying them: links are carried by relationships of the destination alone (`PropertyLosses`).
package struct PropertyReads {
  /// A property, named from an entity that has it.
  struct Property: Hashable {
    var entity: String
    var name: String
  }

  /// A path along relationships, from the objects that a mapping takes.
  struct Path: Hashable {
    /// The mapping's index.
    var mapping: MappingID
    var relationships: [String]
  }

  /// The mappings that read an attribute of their own objects.
  private(set) var readers: [Property: Set<MappingID>] = [:]
  /// The longer paths that end at an attribute, by the entity that they lead to.
  private(set) var paths: [Property: [Path]] = [:]
  /// Attributes of objects that an expression selects (SUBQUERY, an element, a fetch), by the entity of the objects.
  /// Which of them it selects is not known.
  private(set) var selected: Set<Property> = []
  /// Names that are read of objects whose entity is not known.
  private(set) var names: Set<String> = []
  /// The conditions that test an attribute without taking it, in words.
  private(set) var tests: [Property: [String]] = [:]
  /// The attributes that a condition of a value tests.
  private(set) var weighed: Set<Property> = []
  /// The mappings that take the place of their objects among those of an owner, by the to-one that leads to the owner.
  private var indexed: [Property: Set<MappingID>] = [:]
  /// Relationships that a path follows to a value, or to another relationship.
  private(set) var followed: Set<Property> = []
  /// Relationships of its objects that a mapping hands to its policy.
  private(set) var answered: Set<Property> = []

  private let model: ManagedObjectModel

  package init(_ resolved: ResolvedMapping) {
    model = resolved.sourceModel
    for mapping in resolved.entityMappings where mapping.earlier == nil {
      let reader = Reader(
        mapping: mapping.index, name: mapping.name, entity: mapping.source.name, isPolicyCall: false)
      if let filter = mapping.filter {
        for operand in filter.operands { note(operand, reader.testing("the filter"), [:]) }
      }
      for descriptor in mapping.mapping.uniqueOrder {
        note(
          descriptor.keyPath.split(separator: ".").map(String.init), from: .own,
          reader.testing("the order of unique-by"))
      }
      for (_, source) in mapping.attributes {
        switch source.withoutDefault {
        case .copy(let name): take(name, of: mapping.source.name, along: [], reader)
        case .expression(let parsed): note(parsed, reader, [:])
        case .modelDefault, .defaultForNil: break
        }
      }
      for source in mapping.relationships {
        let start = source.path.last?.relationship.destinationEntityName ?? mapping.source.name
        for descriptor in source.order {
          note(
            descriptor.keyPath.split(separator: ".").map(String.init), from: .objects(of: start),
            reader.testing("the order of '\(source.relationship.name)'"))
        }
        if source.path.count > 1 {
          for hop in source.path { followed.insert(Property(entity: hop.entityName, name: hop.relationship.name)) }
        }
        guard let call = source.policyCall else { continue }
        let caller = Reader(
          mapping: mapping.index, name: mapping.name, entity: mapping.source.name, isPolicyCall: true)
        note(call, caller, [:])
      }
    }
  }

  /// Whether some value of a mapping reads an attribute of objects of an entity, of all or of some.
  package func isRead(_ attribute: String, of entity: String) -> Bool {
    readers[Property(entity: entity, name: attribute)] != nil || isSelected(attribute, of: entity)
      || !paths(to: attribute, of: entity).isEmpty
      || model.lineage(of: entity).contains { weighed.contains(Property(entity: $0.name, name: attribute)) }
  }

  /// The end of a message about an attribute that is not taken: what tests it all the same.
  func tests(of attribute: String, of entity: String) -> String {
    let found = testers(of: attribute, of: entity)
    guard !found.isEmpty else { return "" }
    let more = found.count > 2 ? " and \(found.count - 2) more" : ""
    let named = found.prefix(2).joined(separator: more.isEmpty ? " and " : ", ")
    return "; \(named)\(more) \(found.count == 1 ? "reads" : "read") them"
  }

  private func testers(of attribute: String, of entity: String) -> [String] {
    model.lineage(of: entity).flatMap { tests[Property(entity: $0.name, name: attribute)] ?? [] }
  }

  /// The paths to an attribute that lead to objects of an entity.
  func paths(to attribute: String, of entity: String) -> [Path] {
    model.lineage(of: entity).flatMap { paths[Property(entity: $0.name, name: attribute)] ?? [] }
  }

  /// Whether an attribute is read of objects of an entity, and it is not known of which.
  func isSelected(_ attribute: String, of entity: String) -> Bool {
    names.contains(attribute)
      || model.lineage(of: entity).contains { selected.contains(Property(entity: $0.name, name: attribute)) }
  }

  /// Whether a longer path goes through a relationship of an entity's objects.
  func isFollowed(_ relationship: String, of entity: String) -> Bool {
    model.lineage(of: entity).contains { followed.contains(Property(entity: $0.name, name: relationship)) }
  }

  // MARK: Expressions

  private struct Reader {
    var mapping: MappingID
    var name: String
    /// The entity of `$source`.
    var entity: String
    var isPolicyCall: Bool
    /// The condition that reads, in words; nil for a value.
    var condition: String?
    /// Whether the condition is a part of a value.
    var isOfValue = false

    /// The reader of a condition. A condition inside of another one is a part of it.
    func testing(_ condition: String, ofValue: Bool = false) -> Reader {
      guard self.condition == nil else { return self }
      var reader = self
      reader.isOfValue = ofValue
      reader.condition = "\(condition) of mapping '\(name)'"
      return reader
    }
  }

  /// The start of a key path.
  private enum Start {
    /// The object that the mapping takes.
    case own
    /// Unknown objects of an entity.
    case objects(of: String)
    /// At something that is not an object of the source.
    case nothing
    case unknown
  }

  private mutating func note(_ expression: ValueExpression, _ reader: Reader, _ variables: [String: Start]) {
    switch expression.node {
    case .variable("index") where variables["index"] == nil: noteIndex(nil, reader)
    case .keyPath(let base?, let segments) where base.node == .variable("index") && variables["index"] == nil:
      noteIndex(segments.first, reader)
    case .keyPath(let base, let segments):
      if let base { note(base, reader, variables) }
      note(segments, from: start(at: base, reader, variables), reader)
    case .subquery(let collection, let variable, let predicate):
      note(collection, reader, variables)
      var inner = variables
      inner[variable] = entity(of: collection, reader, variables).map { .objects(of: $0) } ?? .unknown
      for operand in predicate.operands { note(operand, reader.testing("a condition", ofValue: true), inner) }
    case .ternary(let predicate, let then, let other):
      for operand in predicate.operands { note(operand, reader.testing("a condition", ofValue: true), variables) }
      note(then, reader, variables)
      note(other, reader, variables)
    default:
      for child in expression.children { note(child, reader, variables) }
    }
  }

  private mutating func noteIndex(_ toOne: String?, _ reader: Reader) {
    guard reader.condition == nil, let found = model.indexable(toOne, of: reader.entity) else { return }
    indexed[Property(entity: reader.entity, name: found.name), default: []].insert(reader.mapping)
  }

  /// The mappings that take the place of the objects of an entity, along a to-one.
  func indexers(of entity: String, along toOne: String) -> Set<MappingID> {
    indexed[Property(entity: entity, name: toOne)] ?? []
  }

  private mutating func note(_ segments: [String], from start: Start, _ reader: Reader) {
    var entity: String
    var hops: [String]?
    switch start {
    case .own: (entity, hops) = (reader.entity, [])
    case .objects(let other): (entity, hops) = (other, nil)
    case .nothing: return
    case .unknown:
      if reader.condition == nil { names.formUnion(segments) }
      return
    }
    // Operators such as `@sum` collect the values at the end of the names after them.
    for segment in model.joiningComposites(segments, from: entity) where !segment.hasPrefix("@") {
      if let relationship = model.relationship(segment, of: entity) {
        let property = Property(entity: entity, name: segment)
        if reader.condition == nil { followed.insert(property) }
        if reader.isPolicyCall, hops == [] { answered.insert(property) }
        hops?.append(segment)
        entity = relationship.destinationEntityName
      } else {
        take(segment, of: entity, along: hops, reader)
        return
      }
    }
  }

  private mutating func take(_ attribute: String, of entity: String, along hops: [String]?, _ reader: Reader) {
    let property = Property(entity: entity, name: attribute)
    if let condition = reader.condition {
      if tests[property]?.contains(condition) != true { tests[property, default: []].append(condition) }
      if reader.isOfValue { weighed.insert(property) }
      return
    }
    guard let hops else {
      selected.insert(property)
      return
    }
    guard !hops.isEmpty else {
      readers[property, default: []].insert(reader.mapping)
      return
    }
    let path = Path(mapping: reader.mapping, relationships: hops)
    guard paths[property]?.contains(path) != true else { return }
    paths[property, default: []].append(path)
  }

  private func start(at base: ValueExpression?, _ reader: Reader, _ variables: [String: Start]) -> Start {
    guard let base else { return .own }
    switch base.node {
    case .evaluatedObject: return .own
    case .variable(let name):
      if let known = variables[name] { return known }
      return name == "source" ? .own : .nothing
    default: break
    }
    if let entity = entity(of: base, reader, variables) { return .objects(of: entity) }
    switch type(of: base, reader) {
    case .manager?, .facts?, .policy?, .fetchRequest?, .sourceContext?, .value?, .values?, .null?, .other?:
      return .nothing
    default: return .unknown
    }
  }

  private func type(of expression: ValueExpression, _ reader: Reader) -> ExpressionType? {
    try? ExpressionChecker(model: model, entityName: reader.entity, role: .value).type(of: expression)
  }

  /// The entity of the objects that an expression gives; nil where that is not known.
  private func entity(
    of expression: ValueExpression, _ reader: Reader, _ variables: [String: Start]
  ) -> String? {
    switch type(of: expression, reader) {
    case .object(let entity)?, .objects(let entity, _)?: return entity
    default: break
    }
    // The checker knows no variable of a SUBQUERY around the expression.
    guard case .keyPath(let base, let segments) = expression.node else { return nil }
    var entity: String
    switch start(at: base, reader, variables) {
    case .own: entity = reader.entity
    case .objects(let other): entity = other
    case .nothing, .unknown: return nil
    }
    for segment in segments where !segment.hasPrefix("@") {
      guard let relationship = model.relationship(segment, of: entity) else { return nil }
      entity = relationship.destinationEntityName
    }
    return entity
  }
}

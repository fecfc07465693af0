import GodwitJob
import GodwitModel

/// Resolves entity mappings one by one; see `ResolvedMapping`.
struct MappingResolver {
  let source: ManagedObjectModel
  let destination: ManagedObjectModel
  let mappings: [EntityMapping]
  let registry: PolicyRegistry
  let unregistered: UnregisteredPolicies

  /// The mappings that make objects, by position among themselves.
  let makers: [EntityMapping]
  /// Their positions, by name and by source entity: a model of thousands of entities has as many lookups.
  let makersByName, makersBySource: [String: [Int]]
  let names: Set<String>
  /// Mappings of earlier jobs whose entities both models have.
  let earlier: [EarlierMapping]
  /// The earlier mappings that come before the makers in the result.
  let usable: [EarlierMapping]

  init(
    source: ManagedObjectModel, destination: ManagedObjectModel, mappings: [EntityMapping], registry: PolicyRegistry,
    unregistered: UnregisteredPolicies, earlier: [EarlierMapping]
  ) {
    self.registry = registry
    self.unregistered = unregistered
    self.source = source
    self.destination = destination
    self.mappings = mappings
    self.earlier = earlier.filter {
      source.entity($0.sourceEntity) != nil && destination.entity($0.destinationEntity) != nil
    }
    usable = self.earlier.filter(\.isUsable)
    let makers = mappings.filter { $0.kind != .add && $0.kind != .remove }
    self.makers = makers
    makersByName = Dictionary(grouping: makers.indices) { makers[$0].name }
    makersBySource = Dictionary(grouping: makers.indices.filter { makers[$0].sourceEntityName != nil }) {
      makers[$0].sourceEntityName ?? ""
    }
    names = Set(mappings.map(\.name))
  }

  func resolve() throws -> [ResolvedEntityMapping] {
    for mapping in mappings { try checkShape(mapping) }
    return try usable.enumerated().compactMap { try resolve($1, index: MappingID($0)) }
      + makers.enumerated().map { try resolve($1, index: makerID($0)) }
  }

  /// The number of the mapping at a place among the makers.
  func makerID(_ place: Int) -> MappingID { MappingID(usable.count + place) }

  func policy(of mapping: EntityMapping) -> PolicyRegistry.Make? { mapping.policyName.flatMap { registry[$0] } }

  /// The checker of a mapping's values.
  func checker(of mapping: EntityMapping, from: EntityDescription) -> ExpressionChecker {
    let policy = ExpressionPolicy(name: mapping.policyName, isRegistered: policy(of: mapping) != nil)
    return ExpressionChecker(model: source, entityName: from.name, role: .value, policy: policy)
  }

  var policies: [ResolvedPolicy] {
    var found: [ResolvedPolicy] = []
    var position = 0
    for mapping in mappings where mapping.kind != .remove {
      if let name = mapping.policyName, let make = policy(of: mapping) {
        found.append(
          ResolvedPolicy(
            mapping: mapping, name: name, index: mapping.kind == .add ? nil : makerID(position), position: position,
            make: make))
      }
      if mapping.kind != .add { position += 1 }
    }
    return found
  }

  func error(
    _ message: String, in mapping: EntityMapping, at location: GodwitError.Location? = nil, try remedy: String? = nil
  ) -> GodwitError {
    GodwitError(
      .configuration, "mapping '\(mapping.name)': \(message)", location: location ?? mapping.location,
      remedy: remedy ?? "correct the mapping file and run the same command")
  }

  private func checkShape(_ mapping: EntityMapping) throws {
    switch mapping.kind {
    case .add:
      guard mapping.sourceEntityName == nil else {
        throw error(
          "an 'add' mapping has no source, found '\(mapping.sourceEntityName ?? "")'", in: mapping,
          at: mapping.locations["source"])
      }
      _ = try entity(mapping.destinationEntityName, "destination", of: destination, in: mapping)
    case .remove:
      guard mapping.destinationEntityName == nil else {
        throw error(
          "a 'remove' mapping has no destination, found '\(mapping.destinationEntityName ?? "")'", in: mapping,
          at: mapping.locations["destination"])
      }
      _ = try entity(mapping.sourceEntityName, "source", of: source, in: mapping)
    case .copy, .transform, .custom:
      _ = try entity(mapping.sourceEntityName, "source", of: source, in: mapping)
      let made = try entity(mapping.destinationEntityName, "destination", of: destination, in: mapping)
      guard !made.isAbstract else {
        throw error(
          "cannot make objects of '\(made.name)': the entity is abstract", in: mapping,
          at: mapping.locations["destination"])
      }
    }
    try checkPolicy(mapping)
  }

  private func checkPolicy(_ mapping: EntityMapping) throws {
    guard let name = mapping.policyName else { return }
    guard policy(of: mapping) != nil else {
      guard unregistered == .fail else { return }
      throw error(
        "no policy '\(name)' is registered" + Spelling.suggestion(for: name, among: registry.names), in: mapping,
        at: mapping.locations["policy"],
        try:
          "register it in your own executable (`godwit policy stub` drafts it), replace it by expressions, or write "
          + "'unregistered-policies: default'"
      )
    }
    guard mapping.kind != .remove else {
      throw error(
        "a 'remove' mapping makes no objects, so policy '\(name)' has nothing to do", in: mapping,
        at: mapping.locations["policy"], try: "make the mapping of type custom, or remove the policy")
    }
    guard mapping.uniqueBy.isEmpty else {
      throw error(
        "unique-by and policy '\(name)' exclude each other", in: mapping, at: mapping.locations["unique-by"],
        try: "remove one of the two: a policy finds its objects with destinationInstance(ofEntityNamed:where:equals:)")
    }
  }

  func entity(
    _ name: String?, _ key: String, of model: ManagedObjectModel, in mapping: EntityMapping
  ) throws -> EntityDescription {
    guard let name else {
      throw error("'\(key)' is missing for a mapping of type '\(mapping.kind.rawValue)'", in: mapping)
    }
    guard let entity = model.entity(name) else {
      throw error(
        "\(key) entity '\(name)' is not in model '\(model.name)'"
          + Spelling.suggestion(for: name, among: model.entityNames), in: mapping, at: mapping.locations[key])
    }
    return entity
  }

  private func resolve(_ mapping: EntityMapping, index: MappingID) throws -> ResolvedEntityMapping {
    let from = try entity(mapping.sourceEntityName, "source", of: source, in: mapping)
    let to = try entity(mapping.destinationEntityName, "destination", of: destination, in: mapping)
    try check(mapping.filter, of: from, "filter of mapping '\(mapping.name)'")
    return ResolvedEntityMapping(
      index: index, mapping: mapping, source: from, destination: to, filter: mapping.filter,
      attributes: try attributes(of: mapping, from: from, to: to),
      relationships: try relationships(of: mapping, from: from, to: to))
  }

  func check(_ filter: FilterPredicate?, of entity: EntityDescription, _ what: String) throws {
    guard let filter else { return }
    try checking(filter.source, what) { () throws(ExpressionError) in
      try ExpressionChecker(model: source, entityName: entity.name, role: .filter).check(filter)
    }
  }

  func checking<T>(
    _ text: SourceText, _ what: String, _ body: () throws(ExpressionError) -> T
  ) throws -> T {
    do throws(ExpressionError) { return try body() } catch { throw GodwitError(error, in: text, what: what) }
  }

  // MARK: Attributes

  func attributes(
    of mapping: EntityMapping, from: EntityDescription, to: EntityDescription
  ) throws -> [(attribute: AttributeDescription, source: ResolvedEntityMapping.AttributeSource)] {
    let checker = checker(of: mapping, from: from)
    let known = destination.attributes(of: to.name)
    var explicit: [String: AttributeMapping] = [:]
    for entry in mapping.attributeMappings {
      guard let attribute = known.first(where: { $0.name == entry.name }) else {
        if let composite = destination.composite(entry.name, of: to.name) {
          throw error(
            "'\(entry.name)' of '\(to.name)' is a composite attribute: expected a composite of the source with the same elements, found '\(entry.value.source.text)'",
            in: mapping, at: entry.location,
            try: "map its elements one by one, such as '\(entry.name).\(composite.elementLeaves.first?.name ?? "")'")
        }
        let hint =
          destination.relationship(entry.name, of: to.name) != nil
          ? "; it is a relationship: map it under 'relationships'"
          : Spelling.suggestion(for: entry.name, among: known.map(\.name))
        throw error("'\(to.name)' has no attribute '\(entry.name)'\(hint)", in: mapping, at: entry.location)
      }
      guard explicit.updateValue(entry, forKey: entry.name) == nil else {
        throw error("attribute '\(entry.name)' is mapped twice", in: mapping, at: entry.location)
      }
      guard !attribute.isDerived else {
        throw error(
          "'\(entry.name)' is derived: its value is computed from '\(attribute.derivationExpression ?? "")'",
          in: mapping,
          at: entry.location, try: "leave the attribute out of the mapping")
      }
      try checking(entry.value.source, "attribute '\(entry.name)' of mapping '\(mapping.name)'") {
        () throws(ExpressionError) in
        try checker.check(entry.value, assignableTo: attribute)
      }
    }
    var keys: Set<Text> = []
    for name in mapping.uniqueBy {
      guard keys.insert(Text(name)).inserted else {
        throw error(
          "unique-by names '\(name)' twice", in: mapping, at: mapping.locations["unique-by"],
          try: "remove one of the two, or name the attribute that is missing")
      }
      guard known.contains(where: { $0.name == name && !$0.isTransient && !$0.isDerived }) else {
        throw error(
          "unique-by names '\(name)', which is not a stored attribute of '\(to.name)'"
            + Spelling.suggestion(for: name, among: known.map(\.name)), in: mapping, at: mapping.locations["unique-by"])
      }
    }
    try checkUniqueOrder(of: mapping, from: from)
    return try known.filter { !$0.isTransient && !$0.isDerived }.map { attribute in
      if let entry = explicit[attribute.name] {
        var value = ResolvedEntityMapping.AttributeSource.expression(entry.value)
        if case .keyPath(let base?, let segments) = entry.value.node,
          case .variable("source") = base.node, segments.count == 1,
          source.attribute(segments[0], of: from.name)?.type == attribute.type
        {
          value = .copy(segments[0])
        }
        guard entry.usesDefaultForNil else { return (attribute, value) }
        guard !attribute.defaultValue.isNull else {
          throw error(
            "nil of '\(entry.name)' is to become the default, and model '\(destination.name)' gives it none",
            in: mapping,
            at: entry.location, try: "give the attribute a default, or remove 'if-nil'")
        }
        return (attribute, .defaultForNil(value))
      }
      if mapping.kind == .copy, let same = source.attribute(attribute.name, of: from.name), !same.isTransient {
        return (attribute, try copy(same, to: attribute, in: mapping, checker: checker))
      }
      return (attribute, .modelDefault)
    }
  }

  /// The value of an attribute that the mapping does not name: the source's attribute of the same name.
  private func copy(
    _ same: AttributeDescription, to attribute: AttributeDescription, in mapping: EntityMapping,
    checker: ExpressionChecker
  ) throws -> ResolvedEntityMapping.AttributeSource {
    guard same.type != attribute.type else { return .copy(same.name) }
    let text = SourceText("$source.\(same.name)", location: mapping.location)
    let expression = ValueExpression(.keyPath(base: ValueExpression(.variable("source")), segments: [same.name]))
    do throws(ExpressionError) {
      try checker.check(expression, assignableTo: attribute)
    } catch {
      throw self.error(
        "cannot copy attribute '\(attribute.name)': \(same.type.xcodeName) to \(attribute.type.xcodeName)", in: mapping,
        try: "map the attribute: \(same.type.way(to: attribute.type, of: text.text))")
    }
    return .expression(ValueExpression(expression, source: text))
  }
}

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
  /// Mappings of earlier jobs whose entities both models have.
  let earlier: [EarlierMapping]
  /// Those of them that stand before the makers in the result.
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
    makers = mappings.filter { $0.kind != .add && $0.kind != .remove }
  }

  func resolve() throws -> [ResolvedEntityMapping] {
    for mapping in mappings { try checkShape(mapping) }
    return try usable.enumerated().compactMap { try resolve($1, index: $0) }
      + makers.enumerated().map { try resolve($1, index: usable.count + $0) }
  }

  private func policy(of mapping: EntityMapping) -> PolicyRegistry.Make? { mapping.policyName.flatMap { registry[$0] } }

  private func expressionPolicy(of mapping: EntityMapping) -> ExpressionPolicy {
    ExpressionPolicy(name: mapping.policyName, isRegistered: policy(of: mapping) != nil)
  }

  var policies: [ResolvedPolicy] {
    var found: [ResolvedPolicy] = []
    var position = 0
    for mapping in mappings where mapping.kind != .remove {
      if let name = mapping.policyName, let make = policy(of: mapping) {
        found.append(
          ResolvedPolicy(
            mapping: mapping, name: name, index: mapping.kind == .add ? nil : position, position: position, make: make))
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
          "register it in an executable of yours, say what it does in expressions, or write 'unregistered-policies: default'"
      )
    }
    guard mapping.kind != .remove else {
      throw error(
        "a 'remove' mapping makes nothing, so policy '\(name)' has nothing to do", in: mapping,
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

  private func resolve(_ mapping: EntityMapping, index: Int) throws -> ResolvedEntityMapping {
    let from = try entity(mapping.sourceEntityName, "source", of: source, in: mapping)
    let to = try entity(mapping.destinationEntityName, "destination", of: destination, in: mapping)
    if let filter = mapping.filter {
      try checking(filter.source, "filter of mapping '\(mapping.name)'") { () throws(ExpressionError) in
        try ExpressionChecker(model: source, entityName: from.name, role: .filter).check(filter.predicate)
      }
    }
    return ResolvedEntityMapping(
      index: index, mapping: mapping, source: from, destination: to, filter: mapping.filter,
      attributes: try attributes(of: mapping, from: from, to: to),
      relationships: try relationships(of: mapping, from: from, to: to))
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
    let checker = ExpressionChecker(
      model: source, entityName: from.name, role: .value, policy: expressionPolicy(of: mapping))
    let known = destination.attributes(of: to.name)
    var explicit: [String: AttributeMapping] = [:]
    for entry in mapping.attributeMappings {
      guard let attribute = known.first(where: { $0.name == entry.name }) else {
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
      guard attribute.type != .composite else {
        throw error("composite attributes such as '\(entry.name)' are not supported", in: mapping, at: entry.location)
      }
      try checking(entry.value.source, "attribute '\(entry.name)' of mapping '\(mapping.name)'") {
        () throws(ExpressionError) in
        try checker.check(entry.value.expression, assignableTo: attribute)
      }
    }
    for name in mapping.uniqueBy {
      guard known.contains(where: { $0.name == name && !$0.isTransient && !$0.isDerived }) else {
        throw error(
          "unique-by names '\(name)', which is no stored attribute of '\(to.name)'"
            + Spelling.suggestion(for: name, among: known.map(\.name)), in: mapping, at: mapping.locations["unique-by"])
      }
    }
    return try known.filter { !$0.isTransient && !$0.isDerived }.map { attribute in
      if let entry = explicit[attribute.name] {
        var value = ResolvedEntityMapping.AttributeSource.expression(entry.value)
        if case .keyPath(let base?, let segments) = entry.value.expression.node,
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
        guard same.type != attribute.type else { return (attribute, .copy(same.name)) }
        let text = SourceText("$source.\(same.name)", location: mapping.location)
        let expression = Expression(
          .keyPath(base: Expression(.variable("source")), segments: [same.name]))
        do throws(ExpressionError) {
          try checker.check(expression, assignableTo: attribute)
        } catch {
          throw self.error(
            "cannot copy attribute '\(attribute.name)': \(same.type.xcodeName) to \(attribute.type.xcodeName)",
            in: mapping,
            try: "map the attribute with an expression that converts it")
        }
        return (attribute, .expression(ParsedExpression(expression, source: text)))
      }
      return (attribute, .modelDefault)
    }
  }

  // MARK: Relationships

  func relationships(
    of mapping: EntityMapping, from: EntityDescription, to: EntityDescription
  ) throws -> [ResolvedEntityMapping.RelationshipSource] {
    let known = destination.relationships(of: to.name)
    var explicit: Set<String> = []
    var found: [ResolvedEntityMapping.RelationshipSource] = []
    for entry in mapping.relationshipMappings {
      guard let relationship = known.first(where: { $0.name == entry.name }) else {
        let hint =
          destination.attribute(entry.name, of: to.name) != nil
          ? "; it is an attribute: map it under 'attributes'"
          : Spelling.suggestion(for: entry.name, among: known.map(\.name))
        throw error("'\(to.name)' has no relationship '\(entry.name)'\(hint)", in: mapping, at: entry.location)
      }
      guard explicit.insert(entry.name).inserted else {
        throw error("relationship '\(entry.name)' is mapped twice", in: mapping, at: entry.location)
      }
      guard !relationship.isTransient else { continue }
      if let resolved = try resolve(entry, relationship, in: mapping, from: from) { found.append(resolved) }
    }
    if mapping.kind == .copy {
      for relationship in known where !explicit.contains(relationship.name) && destination.isStored(relationship) {
        guard let same = source.relationship(relationship.name, of: from.name), source.isStored(same) else { continue }
        let entry = RelationshipMapping(name: relationship.name, value: .sourceRelationship(same.name))
        if let resolved = try resolve(entry, relationship, in: mapping, from: from) { found.append(resolved) }
      }
    }
    return found.sorted { Text($0.relationship.name) < Text($1.relationship.name) }
  }

  private func resolve(
    _ entry: RelationshipMapping, _ relationship: RelationshipDescription, in mapping: EntityMapping,
    from: EntityDescription
  ) throws -> ResolvedEntityMapping.RelationshipSource? {
    let at = entry.valueLocation ?? entry.location
    switch entry.value {
    case .mapping(let name, let keyPath):
      return try lookUp(
        named: name, along: keyPath, for: relationship, in: mapping, from: from, at: at,
        text: keyPath.isEmpty ? name : "\(name) of \(keyPath.joined(separator: "."))")
    case .sourceRelationship(let name):
      let path = try resolvePath([name], from: from, in: mapping, at: at)
      return try lookUp(along: path, for: relationship, in: mapping, at: at, text: "source relationship \(name)")
    case .expression(let parsed):
      return try resolve(parsed, relationship, in: mapping, from: from)
    }
  }

  func resolve(
    _ parsed: ParsedExpression, _ relationship: RelationshipDescription, in mapping: EntityMapping,
    from: EntityDescription
  ) throws -> ResolvedEntityMapping.RelationshipSource? {
    let what = "relationship '\(relationship.name)' of mapping '\(mapping.name)'"
    let unsupported = ExpressionError(
      "cannot set a relationship from this expression: expected FUNCTION($manager, "
        + "\"destinationInstancesForEntityMappingNamed:sourceInstances:\", \"<mapping>\", $source.<relationship>) or nil",
      range: parsed.expression.range)
    func fail(_ error: ExpressionError) -> GodwitError { GodwitError(error, in: parsed.source, what: what) }
    switch parsed.expression.node {
    case .constant(.null): return nil
    case .call(let operand, _, _) where operand.node == .variable("entityPolicy"):
      _ = try checking(parsed.source, what) { () throws(ExpressionError) in
        try ExpressionChecker(
          model: source, entityName: from.name, role: .value, policy: expressionPolicy(of: mapping)
        ).type(of: parsed.expression)
      }
      return .init(
        relationship: relationship, lookups: [], path: [], location: parsed.source.location, text: parsed.source.text,
        policyCall: parsed)
    case .call(let operand, let selector, let arguments):
      guard case .variable("manager") = operand.node, arguments.count == 2,
        case .constant(.string(let name)) = arguments[0].node
      else { throw fail(unsupported) }
      let keyPath: [String]
      switch arguments[1].node {
      case .variable("source"): keyPath = []
      case .keyPath(let base?, let segments):
        guard case .variable("source") = base.node else { throw fail(unsupported) }
        keyPath = segments
      default: throw fail(unsupported)
      }
      try checking(parsed.source, what) { () throws(ExpressionError) in
        let checker = ExpressionChecker(
          model: source, entityName: from.name, role: .value, policy: expressionPolicy(of: mapping))
        _ = try checker.type(of: arguments[1])
      }
      switch selector {
      case "destinationInstancesForEntityMappingNamed:sourceInstances:":
        return try lookUp(
          named: name.string, along: keyPath, for: relationship, in: mapping, from: from,
          at: parsed.source.location, text: parsed.source.text)
      case "destinationInstancesForSourceRelationshipNamed:sourceInstances:":
        guard source.relationship(name.string, of: from.name) != nil else {
          throw fail(
            ExpressionError(
              "'\(from.name)' has no relationship '\(name.string)'"
                + Spelling.suggestion(for: name.string, among: source.relationships(of: from.name).map(\.name)),
              range: arguments[0].range))
        }
        let path = try resolvePath(keyPath, from: from, in: mapping, at: parsed.source.location)
        return try lookUp(
          along: path, for: relationship, in: mapping, at: parsed.source.location, text: parsed.source.text)
      default:
        throw fail(
          ExpressionError("the manager has no function '\(selector)' that a relationship can use", range: operand.range)
        )
      }
    default: throw fail(unsupported)
    }
  }

  /// The results of one named mapping for the objects along a key path.
  private func lookUp(
    named name: String, along keyPath: [String], for relationship: RelationshipDescription, in mapping: EntityMapping,
    from: EntityDescription, at location: GodwitError.Location?, text: String
  ) throws -> ResolvedEntityMapping.RelationshipSource {
    guard mappings.contains(where: { $0.name == name }) else {
      if let found = try lookUpEarlier(
        named: name, along: keyPath, for: relationship, in: mapping, from: from, at: location, text: text)
      {
        return found
      }
      throw error(
        "relationship '\(relationship.name)' names the unknown mapping '\(name)'"
          + Spelling.suggestion(for: name, among: mappings.map(\.name)), in: mapping, at: location)
    }
    let path = try resolvePath(keyPath, from: from, in: mapping, at: location)
    let reached = path.last?.relationship.destinationEntityName ?? from.name
    let named = makers.enumerated().filter { $1.name == name }
    let lookups = named.filter { serves($1, reached: reached, exactly: path.isEmpty) }
    if lookups.isEmpty, let (_, one) = named.first {
      // Core Data looks, finds nothing, and goes on; the inverse may still set the relationship.
      var source = ResolvedEntityMapping.RelationshipSource(
        relationship: relationship, lookups: [], path: path, location: location, text: text)
      source.remark =
        "relationship '\(relationship.name)' of mapping '\(mapping.name)' looks for objects of '\(reached)' in mapping "
        + "'\(name)', which takes '\(one.sourceEntityName ?? "nothing")': it finds none"
      return source
    }
    let fitting = lookups.filter { makes($1, relationship.destinationEntityName) }
    if fitting.isEmpty, let (_, one) = lookups.first {
      throw error(
        "relationship '\(relationship.name)' leads to '\(relationship.destinationEntityName)', but mapping '\(name)' makes "
          + "'\(one.destinationEntityName ?? "nothing")'", in: mapping, at: location)
    }
    return .init(
      relationship: relationship, lookups: fitting.map { usable.count + $0.offset }, path: path, location: location,
      text: text)
  }

  /// The results of every mapping that carries the objects along a path.
  private func lookUp(
    along path: [ResolvedEntityMapping.SourceRelationship], for relationship: RelationshipDescription,
    in mapping: EntityMapping, at location: GodwitError.Location?, text: String
  ) throws -> ResolvedEntityMapping.RelationshipSource {
    let reached = path.last?.relationship.destinationEntityName ?? mapping.sourceEntityName ?? ""
    let lookups = makers.enumerated().filter {
      serves($1, reached: reached, exactly: path.isEmpty) && makes($1, relationship.destinationEntityName)
    }
    let before = try earlierLookups(
      reached: reached, exactly: path.isEmpty, for: relationship, in: mapping, at: location, isAlone: lookups.isEmpty)
    return .init(
      relationship: relationship, lookups: before + lookups.map { usable.count + $0.offset }, path: path,
      location: location, text: text)
  }

  static func earlierRemedy(_ relationship: RelationshipDescription) -> String {
    "do the work of both jobs in one, or map the relationship to nil (`\(relationship.name): nil`)"
  }

  func serves(_ mapping: EntityMapping, reached: String, exactly: Bool) -> Bool {
    guard let from = mapping.sourceEntityName else { return false }
    return exactly ? from == reached : source.isKind(from, of: reached)
  }

  func makes(_ mapping: EntityMapping, _ wanted: String) -> Bool {
    // A policy makes what it likes; what is of another entity is left out when it is looked up.
    if policy(of: mapping) != nil { return true }
    return mapping.destinationEntityName.map { destination.isKind($0, of: wanted) } ?? false
  }

  /// The source relationships along a key path. Operators that only gather objects are passed over.
  func resolvePath(
    _ segments: [String], from: EntityDescription, in mapping: EntityMapping, at location: GodwitError.Location?
  ) throws -> [ResolvedEntityMapping.SourceRelationship] {
    var path: [ResolvedEntityMapping.SourceRelationship] = []
    var entity = from.name
    for segment in segments {
      if segment.hasPrefix("@") {
        let gathering = [
          "@distinctUnionOfObjects", "@unionOfObjects", "@distinctUnionOfSets", "@unionOfSets",
          "@distinctUnionOfArrays", "@unionOfArrays",
        ]
        guard gathering.contains(segment) else {
          throw error(
            "the key path of a relationship cannot use '\(segment)'"
              + Spelling.suggestion(for: segment, among: gathering), in: mapping, at: location)
        }
        continue
      }
      guard let relationship = source.relationship(segment, of: entity) else {
        let hint =
          source.attribute(segment, of: entity) != nil
          ? "; it is an attribute"
          : Spelling.suggestion(for: segment, among: source.relationships(of: entity).map(\.name))
        throw error("'\(entity)' has no relationship '\(segment)'\(hint)", in: mapping, at: location)
      }
      guard !relationship.isTransient else {
        throw error(
          "relationship '\(entity).\(segment)' is transient: the store does not hold it", in: mapping, at: location)
      }
      path.append(.init(entityName: entity, relationship: relationship))
      entity = relationship.destinationEntityName
    }
    return path
  }
}

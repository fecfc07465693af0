/// Makes mappings with `for-each` mappings of the entity of their pairs, and look-ups by an end of a pair look-ups along a
/// key path. The readers of mappings behind it know nothing of pairs.
///
/// 1. Each mapping with `for-each` names a relationship, whose `PairEntity` joins the source version.
/// 2. Their expressions become expressions on a pair (`PairExpressions`).
/// 3. `{mapping: PizzaTopping, of: $source}` looks up the pairs of the objects at the end of its key path, and
///    `{mapping: PizzaToPizza, of: $source}` in a mapping of pairs the object at that end.
package struct PairLowering {
  /// The mapping models on the version with pairs.
  package private(set) var models: [MappingModel]
  /// The source version with the entities of pairs; the version itself where no mapping has `for-each`.
  package private(set) var source: ManagedObjectModel

  /// The pairs of a mapping, by its name.
  private var pairs: [String: PairEntity] = [:]

  /// - Parameters:
  ///   - models: The mapping models of a step.
  ///   - source: The version that the step reads.
  /// - Throws: code `.configuration` (78) naming file, line and column of the first thing that is wrong.
  package init(_ models: [MappingModel], from source: ManagedObjectModel) throws {
    (self.models, self.source) = (models, source)
    guard source.pairEntities.isEmpty else { return }
    let mappings = models.flatMap(\.entityMappings)
    guard mappings.contains(where: \.concernsPairs) else { return }
    var found: [PairEntity] = []
    for mapping in mappings {
      guard let pair = try Self.pairs(of: mapping, in: source) else { continue }
      pairs[mapping.name] = pair
      if !found.contains(where: { $0.name == pair.name }) { found.append(pair) }
    }
    self.source = try source.adding(found)
    for model in models.indices {
      for index in models[model].entityMappings.indices {
        self.models[model].entityMappings[index] = try lowered(models[model].entityMappings[index])
      }
    }
  }

  private static func error(
    _ message: String, in mapping: EntityMapping, at location: GodwitError.Location?, try remedy: String
  ) -> GodwitError {
    GodwitError(
      .configuration, "mapping '\(mapping.name)': \(message)", location: location ?? mapping.location, remedy: remedy)
  }

  /// The pairs for which a mapping makes objects; nil for a mapping without `for-each`.
  private static func pairs(of mapping: EntityMapping, in source: ManagedObjectModel) throws -> PairEntity? {
    guard let name = mapping.forEach else { return nil }
    let at = mapping.locations["for-each"]
    func wrong(_ message: String, at location: GodwitError.Location? = nil, try remedy: String) -> GodwitError {
      error(message, in: mapping, at: location ?? at, try: remedy)
    }
    guard mapping.kind == .transform || mapping.kind == .custom else {
      throw wrong(
        "'for-each' has no meaning for a mapping of type '\(mapping.kind.rawValue)'", at: mapping.locations["type"],
        try: mapping.kind == .copy
          ? "remove the type, and map each attribute: a link has no properties to copy" : "remove 'for-each'")
    }
    if let policy = mapping.policyName {
      throw wrong(
        "'for-each' and policy '\(policy)' exclude each other: a policy gets source objects, and a link is not one",
        at: mapping.locations["policy"],
        try:
          "replace the policy by expressions, or remove 'for-each' and have the policy make the objects of a source object"
      )
    }
    guard let entity = mapping.sourceEntityName else {
      throw wrong("'source' is missing", try: "name the entity that has the relationship '\(name)'")
    }
    guard source.entity(entity) != nil else {
      throw wrong(
        "source entity '\(entity)' is not in model '\(source.name)'"
          + Spelling.suggestion(for: entity, among: source.entityNames), at: mapping.locations["source"],
        try: "correct the mapping file and run the same command")
    }
    guard let relationship = source.relationship(name, of: entity) else {
      let toMany = source.relationships(of: entity).filter(\.isToMany).map(\.name)
      let hint =
        source.attribute(name, of: entity) != nil
        ? "; it is an attribute" : Spelling.suggestion(for: name, among: toMany)
      throw wrong("'\(entity)' has no relationship '\(name)'\(hint)", try: "name a to-many relationship of '\(entity)'")
    }
    guard relationship.isToMany else {
      throw wrong(
        "'for-each' needs a to-many relationship, and '\(entity).\(name)' is a to-one",
        try: "remove 'for-each', and write '$source.\(name)' for the object that it leads to")
    }
    guard let pair = source.pairs(along: name, of: entity) else {
      throw wrong("a store does not hold the links of '\(entity).\(name)'", try: "name a relationship that is stored")
    }
    return pair
  }

  private func lowered(_ mapping: EntityMapping) throws -> EntityMapping {
    var lowered = mapping
    let pair = pairs[mapping.name]
    if let pair {
      lowered.sourceEntityName = pair.name
      lowered.filter = try mapping.filter.map {
        try Self.checking($0.source, "filter of mapping '\(mapping.name)'", $0) {
          filter throws(ExpressionError) in
          try PairExpressions(pair: pair, isFilter: true).lowered(filter)
        }
      }
      for index in mapping.attributeMappings.indices {
        let entry = mapping.attributeMappings[index]
        let what = "attribute '\(entry.name)' of mapping '\(mapping.name)'"
        lowered.attributeMappings[index].value = try value(entry.value, of: pair, what)
      }
      lowered.uniqueOrder = try mapping.uniqueOrder.map {
        try descriptor($0, of: mapping, at: mapping.locations["unique-by"])
      }
    }
    for index in mapping.relationshipMappings.indices {
      lowered.relationshipMappings[index] = try relationship(mapping.relationshipMappings[index], of: mapping, pair)
    }
    return lowered
  }

  private static func checking<T>(
    _ text: SourceText, _ what: String, _ value: T, _ body: (T) throws(ExpressionError) -> T
  ) throws -> T {
    do throws(ExpressionError) { return try body(value) } catch { throw GodwitError(error, in: text, what: what) }
  }

  private func value(_ expression: ValueExpression, of pair: PairEntity, _ what: String) throws -> ValueExpression {
    try Self.checking(expression.source, what, expression) { expression throws(ExpressionError) in
      try PairExpressions(pair: pair, isFilter: false).lowered(expression)
    }
  }

  /// A sort descriptor of pairs, which names an end first.
  private func descriptor(
    _ descriptor: EntityMapping.SortDescriptor, of mapping: EntityMapping, at location: GodwitError.Location?
  ) throws -> EntityMapping.SortDescriptor {
    let start = descriptor.keyPath.prefix { $0 != "." }
    guard PairEntity.End.allCases.contains(where: { $0.toOne == start }) else {
      throw Self.error(
        "cannot order links by '\(descriptor.keyPath)': it may be a name of either end", in: mapping, at: location,
        try: "write '$source.\(descriptor.keyPath)' or '$element.\(descriptor.keyPath)'")
    }
    return descriptor
  }

  // MARK: Look-ups

  private func relationship(
    _ entry: RelationshipMapping, of mapping: EntityMapping, _ own: PairEntity?
  ) throws -> RelationshipMapping {
    var lowered = entry
    let at = entry.endLocation ?? entry.valueLocation ?? entry.location
    lowered.end = nil
    switch entry.value {
    case .expression(let parsed):
      guard let own else { return lowered }
      let what = "relationship '\(entry.name)' of mapping '\(mapping.name)'"
      lowered.value = .expression(try value(parsed, of: own, what))
    case .sourceRelationship(let name):
      // `$element` is the to-one from a pair, through whichever mappings carried its objects.
      guard own == nil || PairEntity.End.allCases.contains(where: { $0.toOne == name }) else {
        throw Self.error(
          "'source-relationship' of '\(entry.name)' names '\(name)', and a link has only '$source' and '$element'",
          in: mapping, at: at, try: "name a mapping: `\(entry.name): {mapping: NAME, key-path: $source.\(name)}`")
      }
    case .mapping(let name, let keyPath):
      let target = pairs[name]
      if target != nil {
        lowered.order = try entry.order.map { try descriptor($0, of: mapping, at: entry.orderLocation ?? at) }
      }
      lowered.value = .mapping(name, keyPath: try path(keyPath, of: entry, in: mapping, from: own, to: target, at))
    }
    return lowered
  }

  /// The key path from an object of the mapping to the objects that a mapping by name takes.
  ///
  /// - Parameters:
  ///   - own: The pairs of the mapping itself; nil for objects of its source entity.
  ///   - target: The pairs of the mapping that is looked up.
  private func path(
    _ keyPath: [String], of entry: RelationshipMapping, in mapping: EntityMapping, from own: PairEntity?,
    to target: PairEntity?, _ at: GodwitError.Location?
  ) throws -> [String] {
    let starts = PairEntity.End.allCases.map(\.toOne)
    var path = keyPath
    if let own {
      // A link has one object for each mapping of the same links.
      if target == own, keyPath.isEmpty, entry.end == nil { return [] }
      if let first = keyPath.first, starts.contains(first) {
        guard target != nil || entry.end == nil || entry.end?.toOne == first else {
          throw Self.error(
            "'key-path' and 'of' of '\(entry.name)' name different ends of the link", in: mapping, at: at,
            try: "remove 'of'")
        }
      } else {
        let end = target == nil || keyPath.isEmpty ? entry.end ?? .source : .source
        path = [end.toOne] + keyPath
      }
    } else if let first = keyPath.first, starts.contains(first) {
      throw Self.error(
        "'\(first)' in the key path of '\(entry.name)' has a meaning only in a mapping with 'for-each'", in: mapping,
        at: at, try: "write the key path from the source object")
    }
    guard let target else {
      guard own != nil || entry.end == nil else {
        throw Self.error(
          "'of' of '\(entry.name)' has no meaning: mapping '\(Self.name(of: entry))' has no 'for-each'",
          in: mapping, at: at, try: "remove 'of', or write a 'key-path'")
      }
      return path
    }
    guard let end = entry.end else {
      throw Self.error(
        "'\(entry.name)' looks up objects of '\(target.name)', which has an object for each link: at which end?",
        in: mapping, at: at,
        try:
          "write `of: $source` for the links of a \(target.sourceEntityName), or `of: $element` for the links to a \(target.elementEntityName)"
      )
    }
    let reached = source.reached(from: own?.name ?? mapping.sourceEntityName ?? "", along: path)
    let wanted = target.entityName(of: end)
    if let reached, !source.isKind(reached, of: wanted) || end == .source && path.isEmpty && reached != wanted {
      throw Self.error(
        "'of: \(end.toOne)' of '\(entry.name)' needs objects of '\(wanted)', and its key path leads to '\(reached)'",
        in: mapping, at: at, try: "write the other end, or a key path to objects of '\(wanted)'")
    }
    return path + [target.toMany(from: end)]
  }

  private static func name(of entry: RelationshipMapping) -> String {
    if case .mapping(let name, _) = entry.value { name } else { "" }
  }
}

extension EntityMapping {
  /// The source entity as the mapping file names it, also after `PairLowering`.
  var declaredSource: String? {
    guard forEach != nil, let sourceEntityName else { return sourceEntityName }
    return sourceEntityName.split(separator: ".").first.map(String.init)
  }

  /// Whether it makes objects of pairs, or looks objects up by an end of a pair.
  fileprivate var concernsPairs: Bool { forEach != nil || relationshipMappings.contains { $0.end != nil } }
}

extension ManagedObjectModel {
  /// The entity at the end of a key path; nil if a name in it is wrong.
  fileprivate func reached(from entity: String, along path: [String]) -> String? {
    var reached = entity
    for segment in path where !segment.hasPrefix("@") {
      guard let relationship = relationship(segment, of: reached) else { return nil }
      reached = relationship.destinationEntityName
    }
    return self.entity(reached) == nil ? nil : reached
  }
}

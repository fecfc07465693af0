import GodwitJob
import GodwitModel

extension MappingResolver {
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
      if let resolved = try resolve(entry, relationship, in: mapping, from: from) {
        found.append(try ordering(resolved, by: entry, in: mapping, from: from))
      }
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
    _ parsed: ValueExpression, _ relationship: RelationshipDescription, in mapping: EntityMapping,
    from: EntityDescription
  ) throws -> ResolvedEntityMapping.RelationshipSource? {
    let what = "relationship '\(relationship.name)' of mapping '\(mapping.name)'"
    let unsupported = ExpressionError(
      "cannot set a relationship from this expression: \(advice(for: parsed, relationship, from: from))",
      range: parsed.range)
    func fail(_ error: ExpressionError) -> GodwitError { GodwitError(error, in: parsed.source, what: what) }
    switch parsed.node {
    case .constant(.null): return nil
    case .call(let operand, _, _) where operand.node == .variable("entityPolicy"):
      _ = try checking(parsed.source, what) { () throws(ExpressionError) in
        try checker(of: mapping, from: from).type(of: parsed)
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
        _ = try checker(of: mapping, from: from).type(of: arguments[1])
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

  /// The remedy for an expression that sets no relationship, with the mapping that makes the objects.
  private func advice(
    for parsed: ValueExpression, _ relationship: RelationshipDescription, from: EntityDescription
  ) -> String {
    var (segments, isPath) = ([String](), false)
    if case .keyPath(let base, let names) = parsed.node, base == nil || base?.node == .variable("source") {
      (segments, isPath) = (names, true)
    }
    var reached: String? = from.name
    for segment in segments {
      reached = reached.flatMap { source.relationship(segment, of: $0) }?.destinationEntityName
    }
    var (name, path) = (isPath ? "NAME" : "<mapping>", segments.joined(separator: "."))
    if isPath, let reached {
      let fitting = makers.filter {
        serves($0, reached: reached, exactly: false) && makes($0, relationship.destinationEntityName)
      }
      if fitting.count == 1 { name = fitting[0].name }
    } else if isPath, segments.count == 1, names.contains(segments[0]) {
      (name, path) = (segments[0], "PATH")
    } else {
      path = isPath ? "PATH" : "<relationship>"
    }
    let isFile = parsed.source.location.map { !$0.file.contains(".xcmappingmodel") } ?? false
    if isFile { return "write `\(relationship.name): { mapping: \(name), key-path: \(path) }`, or nil" }
    return "expected FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", "
      + "\"\(name)\", $source.\(path)) or nil"
  }

  /// The results of one named mapping for the objects along a key path.
  private func lookUp(
    named name: String, along keyPath: [String], for relationship: RelationshipDescription, in mapping: EntityMapping,
    from: EntityDescription, at location: GodwitError.Location?, text: String
  ) throws -> ResolvedEntityMapping.RelationshipSource {
    guard names.contains(name) else {
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
    let named = makersByName[name] ?? []
    let lookups = named.filter { serves(makers[$0], reached: reached, exactly: path.isEmpty) }
    if lookups.isEmpty, let one = named.first.map({ makers[$0] }) {
      // Core Data looks, finds nothing, and continues; the inverse may still set the relationship.
      var source = ResolvedEntityMapping.RelationshipSource(
        relationship: relationship, lookups: [], path: path, location: location, text: text)
      source.remark =
        "relationship '\(relationship.name)' of mapping '\(mapping.name)' looks for objects of '\(reached)' in mapping "
        + "'\(name)', which takes '\(one.sourceEntityName ?? "nothing")': it finds none"
      return source
    }
    let fitting = lookups.filter { makes(makers[$0], relationship.destinationEntityName) }
    if fitting.isEmpty, let one = lookups.first.map({ makers[$0] }) {
      throw error(
        "relationship '\(relationship.name)' leads to '\(relationship.destinationEntityName)', but mapping '\(name)' makes "
          + "'\(one.destinationEntityName ?? "nothing")'", in: mapping, at: location)
    }
    return .init(
      relationship: relationship, lookups: fitting.map { makerID($0) }, path: path, location: location, text: text
    )
  }

  /// The results of every mapping that carries the objects along a path.
  private func lookUp(
    along path: [ResolvedEntityMapping.SourceRelationship], for relationship: RelationshipDescription,
    in mapping: EntityMapping, at location: GodwitError.Location?, text: String
  ) throws -> ResolvedEntityMapping.RelationshipSource {
    let reached = path.last?.relationship.destinationEntityName ?? mapping.sourceEntityName ?? ""
    let served = path.isEmpty ? [reached] : source.family(of: reached).map(\.name)
    let lookups = served.flatMap { makersBySource[$0] ?? [] }.sorted()
      .filter { makes(makers[$0], relationship.destinationEntityName) }
    let before = try earlierLookups(
      reached: reached, exactly: path.isEmpty, for: relationship, in: mapping, at: location, isAlone: lookups.isEmpty)
    return .init(
      relationship: relationship, lookups: before + lookups.map { makerID($0) }, path: path, location: location,
      text: text)
  }

  static func earlierRemedy(_ relationship: RelationshipDescription) -> String {
    "combine both jobs into one, or map the relationship to nil (`\(relationship.name): nil`)"
  }

  func serves(_ mapping: EntityMapping, reached: String, exactly: Bool) -> Bool {
    guard let from = mapping.sourceEntityName else { return false }
    return exactly ? from == reached : source.isKind(from, of: reached)
  }

  func makes(_ mapping: EntityMapping, _ wanted: String) -> Bool {
    // A policy may make any object. Objects of another entity are left out when they are looked up.
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

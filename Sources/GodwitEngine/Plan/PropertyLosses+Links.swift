import GodwitJob
import GodwitModel
import GodwitStore

/// The links that are not carried over.
///
/// A link is carried over if a relationship of the destination is set along the source's relationship alone, from
/// either end, and looks the other end up in a mapping that takes it. Each link is counted at one end.
extension PropertyLosses {
  /// A mapping's relationship that is set along one relationship of the source.
  struct Assignment {
    /// The mapping's index.
    var mapping: MappingID
    var lookups: [MappingID]
    /// The destination's relationship.
    var relationship: RelationshipDescription
    /// Whether the mapping gives the objects an order of its own.
    var isSorted: Bool
  }

  /// The mappings that carry over the links of a relationship, seen from the objects of one entity.
  struct LinkEnds {
    var entity: String
    var relationship: RelationshipDescription
    /// Source entities of the other end that some mapping takes.
    var mapped: [String]
    /// The entities that no mapping takes.
    var unmapped: [String]
    /// Set from this end.
    var forward: [Assignment]
    /// Set from the other end, by its entity; only those that look this end up.
    var backward: [String: [Assignment]]

    /// Whether some of the links are objects of their own, whose links are counted in their place.
    var hasPairs = false

    /// Whether some relationship of the destination is set along the links.
    var isTaken: Bool { !forward.isEmpty || !backward.isEmpty }

    /// Leaves out the entities of the other end from which some links are objects of their own.
    mutating func withoutPairs(_ isPaired: (String) -> Bool) {
      let others = mapped.count + unmapped.count
      mapped.removeAll(where: isPaired)
      unmapped.removeAll(where: isPaired)
      hasPairs = hasPairs || mapped.count + unmapped.count < others
    }
  }

  func linkEnds(of relationship: RelationshipDescription, from entity: String) -> LinkEnds {
    let others = model.family(of: relationship.destinationEntityName).filter { !$0.isAbstract }.map(\.name)
    var ends = LinkEnds(
      entity: entity, relationship: relationship, mapped: others.filter { takers[$0] != nil },
      unmapped: others.filter { takers[$0] == nil }, forward: assignments(along: relationship.name, from: entity),
      backward: [:])
    if hasPairs(along: relationship.name, from: entity) {
      (ends.mapped, ends.unmapped, ends.hasPairs) = ([], [], true)
    }
    guard let inverse = model.inverse(of: relationship) else { return ends }
    ends.withoutPairs { hasPairs(along: inverse.name, from: $0) }
    for other in ends.mapped {
      let found = assignments(along: inverse.name, from: other).filter { hits($0, entity) }
      if !found.isEmpty { ends.backward[other] = found }
    }
    return ends
  }

  private func hasPairs(along relationship: String, from entity: String) -> Bool {
    model.pairEntities.contains { $0.relationshipName == relationship && $0.sourceEntityName == entity }
  }

  private func assignments(along relationship: String, from entity: String) -> [Assignment] {
    (takers[entity] ?? []).flatMap { index in
      mappings[index].relationships
        .filter { $0.path.count == 1 && $0.path[0].relationship.name == relationship }
        .map {
          Assignment(
            mapping: index, lookups: $0.lookups, relationship: $0.relationship, isSorted: !$0.order.isEmpty)
        }
    }
  }

  /// Whether an assignment finds some objects of an entity. The objects that an earlier job made are not known.
  private func hits(_ assignment: Assignment, _ entity: String) -> Bool {
    assignment.lookups.contains { mappings[$0].earlier != nil || mappings[$0].source.name == entity }
  }

  /// Whether some assignments carry over all links from the objects of an entity to those of another one, if both ends
  /// are carried over.
  private func carryAll(_ assignments: [Assignment], from entity: String, to other: String) -> Bool {
    let full = assignments.filter { assignment in
      assignment.lookups.contains { mappings[$0].earlier != nil }
        || takesAll(assignment.lookups.filter { mappings[$0].source.name == other }, of: other)
    }
    return takesAll(Set(full.map(\.mapping)), of: entity)
  }

  func links(of entity: String, in table: String) throws -> [Part] {
    var found: [Part] = []
    for relationship in model.relationships(of: entity)
    where model.isStored(relationship) && model.pairEntity(along: relationship) == nil {
      let ends = linkEnds(of: relationship, from: entity)
      if ends.hasPairs, ends.mapped.isEmpty, ends.unmapped.isEmpty { continue }
      let inverse = model.inverse(of: relationship)?.name
      // A policy decides about links that its mapping hands to it.
      let isAnswered =
        reads.answered.contains(.init(entity: entity, name: relationship.name))
        || ends.mapped.contains { other in
          inverse.map { reads.answered.contains(.init(entity: other, name: $0)) } == true
        }
      if isAnswered { continue }
      found += try ends.isTaken ? leftLinks(ends, in: table) : droppedLinks(ends, in: table)
    }
    return found
  }

  // MARK: Links that nothing takes

  private func droppedLinks(_ ends: LinkEnds, in table: String) throws -> [Part] {
    guard isCounter(ends) else { return [] }
    // A longer path that goes through objects which no mapping takes carries the link over to the object before them.
    if ends.mapped.isEmpty, reads.isFollowed(ends.relationship.name, of: ends.entity) { return [] }
    var walk: SourceWalk?
    if isCounted {
      let counter =
        try ends.hasPairs ? self.walk(ends, to: ends.mapped + ends.unmapped, in: table) : allLinks(ends, in: table)
      guard let counter else { return [] }
      walk = counter
    }
    return [
      part(
        .links, "\(ends.entity).\(ends.relationship.name)", walk, "no destination relationship takes them", .notTaken)
    ]
  }

  /// Whether the links are counted at this end, which stores them. Both ends store a one-to-one: then the end whose
  /// name comes first counts it, unless no mapping takes its objects.
  private func isCounter(_ ends: LinkEnds) -> Bool {
    let relationship = ends.relationship
    switch schema.storage(of: relationship.name, in: ends.entity) {
    case .foreignKey:
      guard let inverse = model.inverse(of: relationship), !inverse.isToMany, !ends.mapped.isEmpty else { return true }
      let own = model.declaringEntity(of: relationship.name, in: ends.entity)?.name ?? ends.entity
      let other =
        model.declaringEntity(of: inverse.name, in: relationship.destinationEntityName)?.name
        ?? relationship.destinationEntityName
      return (relationship.name, own) <= (inverse.name, other)
    case .join(let join, let subject, _, _):
      return subject == join.ownerColumn && join.ownerRelationshipName == relationship.name
    // The to-one that stores a to-many without an inverse is not a property, so it is counted only here.
    case .inverse: return relationship.inverseName == nil
    case .none: return false
    }
  }

  /// Every link of the entity's objects, whatever its target; nil if links are impossible.
  private func allLinks(_ ends: LinkEnds, in table: String) throws -> SourceWalk? {
    switch schema.storage(of: ends.relationship.name, in: ends.entity) {
    case .foreignKey(let table, let column, _, _):
      let condition = schema.isObject(of: [ends.entity])
      return SourceWalk(table, key: "Z_PK", isCut: false) {
        "SELECT COUNT(\(quoted(column))) FROM source.\(quoted(table))\(whereClause([condition.sql, $0]))"
      }
    case .join(let join, let subject, _, _):
      let kind = schema.isObject(of: [ends.entity], row: "s").further
      return SourceWalk(join.name, key: "j.rowid") {
        "SELECT COUNT(*) FROM source.\(quoted(join.name)) AS j CROSS JOIN source.\(quoted(table)) AS s "
          + "ON s.Z_PK = j.\(quoted(subject))\(kind)\(whereClause([$0]))"
      }
    case .inverse: return try walk(ends, to: ends.mapped + ends.unmapped, in: table)
    case .none: return nil
    }
  }

  // MARK: Links of which a part is taken

  private func leftLinks(_ ends: LinkEnds, in table: String) throws -> [Part] {
    guard isCounted || namesAll else { return [] }
    let isInferred = planner.job.steps[0].isInferred
    var refused: [String] = []
    var found: [Part] = []
    let path = "\(ends.entity).\(ends.relationship.name)"
    if isCounter(ends) {
      for other in ends.mapped where !policyEntities.contains(other) {
        let backward = ends.backward[other] ?? []
        let forward = ends.forward.filter { hits($0, other) }
        if forward.isEmpty, backward.isEmpty {
          refused.append(other)
        } else if !carryAll(forward, from: ends.entity, to: other), !carryAll(backward, from: other, to: ends.entity) {
          let walk = isCounted ? try walk(ends, to: [other], in: table, without: (forward, backward)) : nil
          let reason = "to '\(other)', between objects whose mappings do not set them"
          found.append(part(.links, path, walk, reason, .notTaken))
        }
      }
    }
    // An inferred relationship without lookups leads to another entity than before. Links to objects that a mapping
    // leaves out are lost with those objects and not counted elsewhere.
    if isInferred, !ends.forward.isEmpty, ends.forward.allSatisfy({ $0.lookups.isEmpty }) { refused += ends.unmapped }
    guard !refused.isEmpty else { return found }
    let names = refused.map { "'\($0)'" }.joined(separator: " and ")
    found.append(
      part(
        .links, path, isCounted ? try walk(ends, to: refused, in: table) : nil,
        "to \(names), which "
          + (isInferred ? "the destination's relationship does not accept" : "no mapping of the relationship looks up"),
        isInferred ? .entityNotAccepted : .notTaken))
    return found
  }

  /// The links from the objects of an entity to those of others.
  ///
  /// - Parameter assignments: The assignments from this end and from the other one. Only links between objects that are
  ///   carried over are counted, and only those that none of these assignments carries over. nil counts all.
  private func walk(
    _ ends: LinkEnds, to others: [String], in table: String,
    without assignments: (forward: [Assignment], backward: [Assignment])? = nil
  ) throws -> SourceWalk {
    let builder = StatementBuilder()
    let (chain, target) = try join(along: ends, builder)
    var conditions = [schema.isObject(of: others, row: target.alias).term]
    if let assignments {
      let (source, other) = (takers[ends.entity] ?? [], others.flatMap { takers[$0] ?? [] })
      conditions += [taken(by: source, row: "s", builder), taken(by: other, row: target.alias, builder)]
      func pairs(_ list: [Assignment], from one: String, to two: String, _ seconds: [MappingID]) -> [String] {
        list.map { assignment in
          let lookups = assignment.lookups.filter { seconds.contains($0) }
          // The objects that an earlier job took are not known.
          if assignment.lookups.contains(where: { mappings[$0].earlier != nil }) {
            return taken(by: [assignment.mapping], row: one, builder)
          }
          return "(\(taken(by: [assignment.mapping], row: one, builder)) AND \(taken(by: lookups, row: two, builder)))"
        }
      }
      let carried =
        pairs(assignments.forward, from: "s", to: target.alias, other)
        + pairs(assignments.backward, from: target.alias, to: "s", source)
      conditions.append("NOT (\(carried.joinedEvenly(by: " OR ")))")
    }
    let objects = schema.isObject(of: [ends.entity], row: "s")
    let links = "(SELECT COUNT(*)\(chain.from) AND \(conditions.joinedEvenly(by: " AND ")))"
    return walk(table, builder, ends.entity) {
      "SELECT COALESCE(SUM(\(links)), 0) FROM source.\(quoted(table)) AS s\(whereClause([objects.sql, $0]))"
    }
  }

  private func join(
    along ends: LinkEnds, _ builder: StatementBuilder
  ) throws -> (chain: RelationshipJoinPath, target: ExpressionLowering.Row) {
    let name = ends.relationship.name
    return try join(
      from: .init(alias: "s", entityName: ends.entity), along: [name], named: "\(ends.entity).\(name)", builder)
  }

  // MARK: Order

  /// Links of ordered relationships that are carried over into an unordered one. One link alone has no order.
  func orders(of entity: String, in table: String) throws -> [Part] {
    var found: [Part] = []
    for relationship in model.relationships(of: entity)
    where relationship.isToMany && relationship.isOrdered && model.isStored(relationship) {
      switch schema.storage(of: relationship.name, in: entity) {
      case .inverse(_, _, _, _?), .join(_, _, _, _?): break
      default: continue
      }
      let ends = linkEnds(of: relationship, from: entity)
      let reached = ends.mapped.filter { other in
        ends.backward[other] != nil || ends.forward.contains { hits($0, other) }
      }
      // A number that is the place of each object keeps the order too.
      if let inverse = model.inverse(of: relationship)?.name, reached.allSatisfy({ takesIndex(inverse, of: $0) }) {
        continue
      }
      let isSorted = ends.forward.contains(where: \.isSorted)
      // A link that the other end carries over keeps its place in the inverse.
      let isKept =
        !isSorted
        && ends.backward.values.joined().contains { assignment in
          planner.resolved.destinationModel.inverse(of: assignment.relationship)?.isOrdered == true
        }
      let keepers = Set(
        ends.forward.filter { $0.relationship.isToMany && $0.relationship.isOrdered && !$0.isSorted }.map(\.mapping))
      let carriers = ends.backward.isEmpty ? Set(ends.forward.map(\.mapping)) : Set(takers[entity] ?? [])
      let others = carriers.subtracting(keepers)
      guard !reached.isEmpty, !others.isEmpty, !isKept, !takesAll(keepers, of: entity),
        isCounted || namesAll || keepers.isEmpty
      else { continue }
      found.append(
        part(
          .order, model.pairEntity(along: relationship)?.name ?? "\(entity).\(relationship.name)",
          isCounted ? try orderedLinks(ends, to: reached, keepers: keepers, others: others, in: table) : nil,
          isSorted ? "order-by sorts them" : "no ordered relationship of the destination takes them", .notOrdered))
    }
    return found
  }

  /// Whether every object of an entity takes its place along a to-one into an attribute.
  private func takesIndex(_ toOne: String, of entity: String) -> Bool {
    takesAll(reads.indexers(of: entity, along: toOne), of: entity)
  }

  private func orderedLinks(
    _ ends: LinkEnds, to reached: [String], keepers: Set<MappingID>, others: Set<MappingID>, in table: String
  ) throws -> SourceWalk {
    let builder = StatementBuilder()
    let (chain, target) = try join(along: ends, builder)
    let accepted = schema.isObject(of: reached, row: target.alias).term
    var terms = [schema.isObject(of: [ends.entity], row: "s").term]
    if !takesAll(others, of: ends.entity) { terms.append(taken(by: others, row: "s", builder)) }
    if !keepers.isEmpty { terms.append("NOT \(taken(by: keepers, row: "s", builder))") }
    // The limit keeps SQLite from counting the links of an object twice.
    let links = "(SELECT COUNT(*)\(chain.from) AND \(accepted))"
    return walk(table, builder, ends.entity) { [terms] in
      """
      SELECT COALESCE(SUM(n), 0) FROM (SELECT \(links) AS n FROM source.\(quoted(table)) AS s\
      \(whereClause((terms as [String?]) + [$0])) LIMIT -1 OFFSET 0) WHERE n > 1
      """
    }
  }
}

package import GodwitJob
package import GodwitModel
import GodwitStore

/// Relationships that a policy sets. An assignment is recorded and resolved with all others when links are resolved.
/// The result is the same as setting one after the other.
extension PolicyRun {
  // MARK: Order of assignments

  /// The position of an assignment. Assignments of instance creation come before those of all mappings, and assignments
  /// of the last hooks after them.
  private func place() -> PolicyAssignments.Place {
    state.sequence += 1
    let sequence = state.sequence
    let policy = program.resolved.policies[step.current]
    let far: Int64 = 1 << 32
    let current = Int64(step.current)
    switch hook.kind {
    case .begin, .createDestinationInstances, .endInstanceCreation: return (current - far, sequence)
    case .createRelationships, .endRelationshipCreation:
      if let index = policy.index { return (Int64(index.number), sequence) }
      // After all that the mapping before it assigns, whose sequence numbers are keys.
      return (Int64(policy.position) - 1, (1 << 62) + sequence)
    case .performCustomValidation: return (current + far, sequence)
    case .end: return (current + far * 2, sequence)
    }
  }

  /// Writes out everything that a read of the link's assignments needs while more assignments follow.
  private func flushAssignments(_ link: LinkID) throws {
    try resolveInOrder([link], isReading: true)
    try writeAsked()
    try assignments.write()
    try writer.flush()
    for index in program.resolution.linkIndexes(link) { try step.makeIndex(index.name, on: index.columns) }
  }

  // MARK: Reading

  package func related(_ object: ManagedObject, _ name: String) throws -> [ManagedObject] {
    guard let side = try? assignments.end(of: name, in: object.entityName) else { return [] }
    let (link, end, relationship) = (side.link, side.end, side.relationship)
    try flushAssignments(link)
    let keys = try step.rows(program.policy.related(link, from: end), [.integer(object.key)])
    return try keys.compactMap { row in
      guard case .integer(let key)? = row.first else { return nil }
      return try destinationObject(relationship.destinationEntityName, key: key)
    }
  }

  // MARK: Setting

  package func setRelationship(_ name: String, of object: ManagedObject, to targets: [ManagedObject]) throws {
    guard !object.isSource else {
      throw step.failure("cannot set '\(name)' of \(object): objects of the source are read only")
    }
    let side = try assignments.end(of: name, in: object.entityName)
    let (link, end, relationship) = (side.link, side.end, side.relationship)
    guard targets.count < 2 || relationship.isToMany else {
      throw step.failure("cannot set '\(name)' of \(object): it is a to-one, found \(targets.count) objects")
    }
    try check(targets, relationship, of: object)
    let isOwn = try isMade(object)
    guard try isReplaying || isOwn || (!targets.isEmpty && targets.allSatisfy { try isMade($0) }) else {
      throw step.failure(
        "cannot set '\(name)' of \(object): no policy made one of the ends",
        try: "give the object's mapping a policy too, or set the relationship in its mapping; insert new objects first")
    }
    guard !isReplaying else { return }
    try resolveInOrder([link])
    let position = Int64(program.resolved.policies[step.current].position)
    let place = place()
    try assignments.assign(
      link, end, object.key, targets.enumerated().map { .init(key: $1.key, place: Int64($0), inversePlace: position) },
      isToMany: relationship.isToMany, at: place)
  }

  private func check(
    _ targets: [ManagedObject], _ relationship: RelationshipDescription, of object: ManagedObject
  ) throws {
    for target in targets {
      let isKind = destinationModel.isKind(target.entityName, of: relationship.destinationEntityName)
      guard !target.isSource, isKind else {
        throw step.failure(
          "cannot set '\(relationship.name)' of \(object): expected a destination object of '\(relationship.destinationEntityName)', found \(target)\(target.isSource ? " of the source" : "")"
        )
      }
      if !isReplaying { mustBeInserted(target) }
    }
    if !isReplaying { mustBeInserted(object) }
  }

  package func add(_ target: ManagedObject, toRelationship name: String, of object: ManagedObject) throws {
    guard !object.isSource else {
      throw step.failure("cannot add to '\(name)' of \(object): objects of the source are read only")
    }
    let side = try assignments.end(of: name, in: object.entityName)
    let (link, end, relationship) = (side.link, side.end, side.relationship)
    guard relationship.isToMany else { throw step.failure("cannot add to '\(name)' of \(object): it is a to-one") }
    try check([target], relationship, of: object)
    if let inverse = destinationModel.inverse(of: relationship), !inverse.isToMany {
      return try setRelationship(inverse.name, of: target, to: [object])
    }
    guard try isReplaying || isMade(object) || isMade(target) else {
      throw step.failure("cannot add to '\(name)' of \(object): no policy made one of the ends")
    }
    guard !isReplaying, try !related(object, name).contains(target) else { return }
    try flushAssignments(link)
    try assignments.join(target.key, to: object.key, link, end)
  }

  // MARK: As the mapping says

  package func setMappedRelationships(of object: ManagedObject, in mapping: EntityMapping) throws {
    let index = try step.index(of: mapping)
    if isRelated(object, index) {
      hook.isLeftToMapping = true
      if shortcuts.isAllInline[index.number] { return }
    } else {
      try resolveInOrder(shortcuts.linksOfMapping[index.number])
    }
    // A policy may have made objects of other entities, of which the mapping says nothing.
    guard !object.isSource, !program.mappings[index].relationships.isEmpty, step.isKind(object, of: index) else {
      return
    }
    if try isAskedTogether(object, index) { return }
    guard !isReplaying else { return }
    let sources = try self.sources(of: [object], mappings: [index])
    for source in sources.isEmpty ? [] : program.mappings[index].relationships {
      try setMapped(source, of: object, from: sources, index)
    }
  }

  /// Sets one relationship of an object as its mapping says.
  ///
  /// - Parameter sources: At least one.
  private func setMapped(
    _ source: ResolvedEntityMapping.RelationshipSource, of object: ManagedObject, from sources: [ManagedObject],
    _ index: MappingID
  ) throws {
    let side = try assignments.end(of: source.relationship.name, in: object.entityName)
    let (link, end, relationship) = (side.link, side.end, side.relationship)
    guard !shortcuts.inlineLinks.contains(link) else { return }
    if let call = source.policyCall {
      let answered = try evaluated(
        call, for: sources[0], mapping: program.mappings[index].mapping, property: relationship.name)
      let targets = relationship.isToMany ? answered : Array(answered.prefix(1))
      if targets.count < answered.count { losses.ambiguousToOne += 1 }
      return try setRelationship(relationship.name, of: object, to: targets)
    }
    var targets: [PolicyAssignments.Target] = []
    for from in relationship.isToMany ? sources : [sources[0]] {
      let found = try self.targets(of: source, from: from, index: index)
      targets += relationship.isToMany ? found : Array(found.prefix(1))
      if !relationship.isToMany, Set(found.map(\.key)).count > 1 { losses.ambiguousToOne += 1 }
    }
    let place = place()
    try assignments.assign(link, end, object.key, targets, isToMany: relationship.isToMany, at: place)
  }

  /// Leaves the relationships of an object to one statement for many, where that gives the same.
  private func isAskedTogether(_ object: ManagedObject, _ index: MappingID) throws -> Bool {
    guard isRelated(object, index), var pair = hook.related?.pair, !state.hasForeignSources(index) else {
      return false
    }
    let requests = try assignments.requests(
      index, hasManySources: state.hasManySources(index), shortcuts.program)
    guard requests.isPossible else { return false }
    guard !isReplaying else { return true }
    if requests.statements.isEmpty { return true }
    pair.sequence = state.sequence
    let isFull = assignments.ask(pair, index)
    state.sequence += Int64(requests.relationships)
    if isFull { try writeAsked() }
    return true
  }

  /// Whether the running `createRelationships` is for that object and mapping.
  private func isRelated(_ object: ManagedObject, _ index: MappingID) -> Bool {
    guard let (mapping, pair) = hook.related else { return false }
    return mapping == index && pair.destination == object.key && pair.entity == Int64(object.entityNumber)
  }

  /// Sets the relationships that were left to one statement for many objects.
  func writeAsked() throws {
    guard assignments.hasAsked else { return }
    try writer.flush()
    let ambiguous = try assignments.writeAsked(state, shortcuts.program)
    losses.ambiguousToOne += ambiguous
  }

  /// The objects that a relationship source finds from one source object, in the order of lookups and then keys.
  private func targets(
    of source: ResolvedEntityMapping.RelationshipSource, from object: ManagedObject, index: MappingID
  ) throws -> [PolicyAssignments.Target] {
    var reached = [object]
    for hop in source.path { reached = try reached.flatMap { try $0.objects(hop.relationship.name) } }
    let isOrdered = source.path.last?.relationship.isOrdered == true
    let wanted = source.relationship.destinationEntityName
    // Both directions of a relationship that is its own inverse need places that compare: the order keys.
    let isOwnInverse = program.sourceSchema.isOwnInverse(source.path.map(\.relationship.name), of: object.entityName)
    var found: [PolicyAssignments.Target] = []
    for lookup in source.lookups {
      var those: [PolicyAssignments.Target] = []
      for (number, other) in reached.enumerated() {
        let key = isOwnInverse ? try inversePlace(of: other, among: source, at: object) : nil
        let place = key ?? Int64(number)
        for made in try destinations(of: [other], mappings: [lookup])
        where destinationModel.isKind(made.entityName, of: wanted) {
          let inverse = try inversePlace(of: object, among: source, at: other) ?? Int64(index.number)
          those.append(.init(key: made.key, place: isOrdered ? place : Int64(lookup.number), inversePlace: inverse))
        }
      }
      found += those.sorted { $0.key < $1.key }
    }
    return found
  }

  /// The source's order key of an object among those of the object it leads to by one hop; nil without an order.
  private func inversePlace(
    of object: ManagedObject, among source: ResolvedEntityMapping.RelationshipSource, at other: ManagedObject
  ) throws -> Int64? {
    guard source.path.count == 1, let hop = source.path.first else { return nil }
    let found: SQLValue?
    switch program.sourceSchema.storage(of: hop.relationship.name, in: object.entityName) {
    case .foreignKey(_, _, _, let order?): found = try object.layout.places[order].map { try object.row()[$0] }
    case .join(let join, let subject, let far, _):
      guard let order = join.inverseOrderColumn(from: subject) else { return nil }
      found = try step.rows(
        "SELECT \(quoted(order)) FROM \(join.rows(in: StoreConnection.sourceSchema)) WHERE \(quoted(subject)) = ?1 AND \(quoted(far)) = ?2",
        [.integer(object.key), .integer(other.key)]
      ).first?.first
    default: return nil
    }
    guard case .integer(let place)? = found else { return nil }
    return place
  }
}

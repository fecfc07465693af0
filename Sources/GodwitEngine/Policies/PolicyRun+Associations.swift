package import GodwitJob
package import GodwitModel
import GodwitStore

/// Explicit associations, and lookups both ways through every mapping of the step.
extension PolicyRun {
  package func associate(_ source: ManagedObject, _ destination: ManagedObject, _ mapping: EntityMapping) throws {
    guard source.isSource, !destination.isSource else {
      throw step.failure(
        "cannot associate \(source) with \(destination): expected a source and a destination object")
    }
    let index = try step.index(of: mapping)
    guard step.currentMapping == index || program.isPolicy(index) else {
      throw step.failure(
        "cannot associate for mapping '\(mapping.name)': it has no policy, its associations are computed")
    }
    guard !isReplaying else { return }
    // Waiting relationships use the associations that existed when they were requested.
    if assignments.hasAsked { try writeAsked() }
    let pair = PolicyPair(
      sequence: state.sequence + 1, root: Int64(source.rootNumber), source: source.key,
      entity: Int64(destination.entityNumber), destination: destination.key)
    // The earlier associations of this source object are known if only its own hook can have made them.
    let isOwn =
      hook.kind == .createDestinationInstances && step.currentMapping == index
      && hook.prepared?.source == PolicyObjectKey(source)
      && !state.hasForeignSources(index) && hook.own.count < Self.limitOwn
    if isOwn {
      let own = PolicyOwnPair(mapping: index, entity: pair.entity, destination: pair.destination)
      guard hook.own.insert(own) else { return }
    } else {
      if !state.hasForeignSources(index) {
        try resolveInOrder(shortcuts.linksOfMapping[index.number])
        state.foreign = (state.foreign ?? []).union([index])
      }
      try writeExplicitly(index)
      guard try !associations.isWritten(pair, index) else { return }
    }
    if !isOwn || destination.call != hook.number, !state.hasManySources(index) {
      try resolveInOrder(shortcuts.linksOfMapping[index.number])
      try writeExplicitly(index)
      state.manySources = (state.manySources ?? []).union([index])
    }
    // Any object may be associated, but only an object of the mapping's entity has the key of the link in its row.
    if isOwn, shortcuts.hasInlineLinks[index.number], destination.entityNumber != hook.keyNumber,
      !step.isKind(destination, of: index)
    {
      try resolveInOrder(shortcuts.linksOfMapping[index.number])
    }
    state.sequence += 1
    mustBeInserted(destination)
    if shortcuts.isComputed[index.number] {
      if isOwn, hook.ownPairs.isEmpty, associations.isComputed(pair, index) { return hook.ownPairs.append(pair) }
      try writeExplicitly(index)
    }
    try associations.add(pair, to: index)
  }

  private static let limitOwn = 50_000

  package func mappings(named name: String) throws -> [MappingID] {
    let found = program.mappings.filter { $0.name == name }.map(\.index)
    // A mapping of kind add makes nothing of a source object.
    guard found.isEmpty, !program.resolved.policies.contains(where: { $0.mapping.name == name }) else { return found }
    let hint = Spelling.suggestion(for: name, among: program.mappings.map(\.name))
    throw step.failure("the step has no mapping '\(name)'\(hint)")
  }

  package func destinations(of sources: [ManagedObject], mappings: [MappingID]) throws -> [ManagedObject] {
    try distinct(sources, mappings) { try destinations(of: $0, $1) }
  }

  package func sources(of destinations: [ManagedObject], mappings: [MappingID]) throws -> [ManagedObject] {
    try distinct(destinations, mappings) { try sources(of: $0, $1) }
  }

  private func distinct(
    _ objects: [ManagedObject], _ mappings: [MappingID], _ find: (ManagedObject, MappingID) throws -> [ManagedObject]
  ) rethrows -> [ManagedObject] {
    var found: [ManagedObject] = []
    var seen: Set<PolicyIdentity> = []
    for object in objects {
      for index in mappings {
        for other in try find(object, index) where seen.insert(PolicyIdentity(other)).inserted { found.append(other) }
      }
    }
    return found
  }

  private func destinations(of source: ManagedObject, _ index: MappingID) throws -> [ManagedObject] {
    let mapping = program.mappings[index]
    if isExplicit(index) {
      return try associations.explicitDestinations(of: source, index).compactMap {
        try destinationObject($0.entity, key: $0.key)
      }
    }
    guard source.entityName == mapping.source.name, !program.isPolicy(index) || isComputed(source.key, index),
      let key = try associations.ruleDestination(of: source.key, index, shortcuts.program)
    else { return [] }
    return try destinationObject(mapping.destination.name, key: key).map { [$0] } ?? []
  }

  func sources(of destination: ManagedObject, _ index: MappingID) throws -> [ManagedObject] {
    let mapping = program.mappings[index]
    if isExplicit(index) {
      return try associations.explicitSources(of: destination, index).compactMap {
        try sourceObject($0.entity, key: $0.key)
      }
    }
    guard destination.entityName == mapping.destination.name else { return [] }
    if program.isStored(index) {
      return try associations.storedSources(of: destination.key, index).compactMap {
        try sourceObject(mapping.source.name, key: $0)
      }
    }
    guard case .offset(let offset) = program.facts.mappings[index].keys else { return [] }
    let (key, overflow) = destination.key.subtractingReportingOverflow(offset)
    guard !overflow, !program.isPolicy(index) || isComputed(key, index),
      try associations.matches(key, index, shortcuts.program)
    else { return [] }
    return try sourceObject(mapping.source.name, key: key).map { [$0] } ?? []
  }

  private func isExplicit(_ index: MappingID) -> Bool {
    program.isPolicy(index) && !shortcuts.isComputed[index.number]
  }

  private func sourceObject(_ entity: String, key: Int64) throws -> ManagedObject? {
    try sourceContext.object(entityName: entity, key: key).map { ManagedObject($0, run: self) }
  }

  // MARK: Associations that are computed

  /// Stores the associations of a mapping in its table, including those made so far.
  ///
  /// Call it before a policy makes one that its mapping would not make.
  func writeExplicitly(_ index: MappingID) throws {
    guard shortcuts.isComputed[index.number], !isReplaying else { return }
    try step.checkChunk()
    try writeAsked()
    setShortcuts(
      inlineLinks: shortcuts.inlineLinks,
      computedAssociations: shortcuts.computedAssociations.subtracting([index]))
    if let last = shortcuts.computedThrough[index.number] {
      _ = try step.rows(try program.associationStage.pairsWritten(index), from: .min, through: last)
    }
    if step.currentMapping == index {
      for pair in hook.ownPairs { try associations.add(pair, to: index) }
      hook.ownPairs = []
    }
    try resolveInOrder(shortcuts.program.inlineLinks(lookingUp: index))
  }

  /// Whether a source object has been associated by a mapping whose associations are computed, if the mapping matches it.
  private func isComputed(_ key: Int64, _ index: MappingID) -> Bool {
    if let last = shortcuts.computedThrough[index.number], key <= last { return true }
    return step.currentMapping == index && hook.ownPairs.contains { $0.source == key }
  }

  /// Called at the end of a `createDestinationInstances`. Stores the associations of the mapping explicitly if the hook
  /// did not make exactly the object that the mapping would.
  func checkDefaultPair() throws {
    guard let index = step.currentMapping, shortcuts.isComputed[index.number], let prepared = hook.prepared else {
      return
    }
    if hook.ownPairs.count == 1 {
      shortcuts.computedThrough[index.number] = prepared.source.key
      hook.ownPairs.removeAll(keepingCapacity: true)
    } else {
      try writeExplicitly(index)
    }
  }

  // MARK: Pages of associations

  /// The associations that `createRelationships` is called for, after one of them.
  func associationPage(
    _ index: MappingID, after place: PolicyState.Place, through last: Int64, limit: Int
  ) throws -> [PolicyPair] {
    if shortcuts.isComputed[index.number] {
      return try associations.computedPairs(index, after: place, through: last, limit: limit)
    }
    return try associations.explicitPairs(
      index, after: place, through: last, isFirstOnly: state.hasManySources(index), limit: limit)
  }
}

package import GodwitJob
import GodwitModel
import GodwitStore

/// Links that are written with their objects as long as no policy sets them.
///
/// The objects' rows hold such a link from the beginning, and no assignment is recorded. When the result of a policy's
/// action depends on the order of assignments, `resolveInOrder` records the assignments that mappings have made up to
/// then. From there on the link is handled like the others.
extension PolicyRun {
  /// Has links resolved in the order of assignments.
  ///
  /// Call it before the action that needs it: a policy sets or reads a link, makes another association than the
  /// default, or does not leave an object's relationships to its mapping.
  ///
  /// - Parameter isReading: Whether a hook reads. While `begin` runs again, only reads need the order.
  func resolveInOrder(_ links: Set<LinkID>, isReading: Bool = false) throws {
    var wanted = links.intersection(shortcuts.inlineLinks)
    guard !wanted.isEmpty, !isReplaying || isReading else { return }
    if hook.kind == .createDestinationInstances, let index = step.currentMapping {
      let own = shortcuts.linksOfMapping[index.number]
      if !own.isDisjoint(with: wanted) {
        // The rows in memory were read with the keys of all of them.
        wanted.formUnion(own)
        (hook.keyColumns, hook.keyLayout) = ([], nil)
      }
    }
    try writeAsked()
    setShortcuts(
      inlineLinks: shortcuts.inlineLinks.subtracting(wanted), computedAssociations: shortcuts.computedAssociations)
    try writer.endStatements()
    try associations.write()
    try assignments.write()
    for link in wanted.sorted() {
      if let clearing = program.policy.clearing(link) { try step.connection.execute(clearing) }
      try relateAgain(link)
      for assignment in program.links[link].assignments where program.isPolicy(assignment.mapping) {
        try assignLeft(assignment, of: link)
      }
    }
  }

  /// The rows of `temp.godwit_asked` at a time.
  private static let limitLeft = 50_000

  /// Records the assignments of a mapping to the objects that were left to it.
  private func assignLeft(_ assignment: InversePair.Assignment, of link: LinkID) throws {
    let index = assignment.mapping
    var last = shortcuts.leftToMapping[index.number]
    if hook.isLeftToMapping, let related = hook.related, related.mapping == index {
      last = PolicyState.Place(source: related.pair.source, sequence: related.pair.sequence)
    }
    guard let last else { return }
    // Later assignments get higher sequence numbers.
    state.sequence += Int64(program.mappings[index].relationships.count)
    let statement = try shortcuts.program.policy.request(assignment, of: link)
    try associations.write()
    try assignments.makeAskedTable()
    var place = PolicyState.Place(source: .min, sequence: -1)
    while let end = try noteLeft(index, after: place, through: last) {
      _ = try step.rows(statement, from: Int64(index.number), through: 0)
      try assignments.emptyAskedTable()
      place = end
    }
  }

  /// Puts associations of a mapping with objects of its entity into `temp.godwit_asked`.
  ///
  /// - Returns: The last of them; nil at the end.
  private func noteLeft(
    _ index: MappingID, after place: PolicyState.Place, through last: PolicyState.Place
  ) throws -> PolicyState.Place? {
    guard !shortcuts.isComputed[index.number] else {
      let pairs = try associations.computedPairs(index, after: place, through: last.source, limit: Self.limitLeft)
      for pair in pairs { try assignments.writeAsked(pair) }
      return pairs.last.map { .init(source: $0.source, sequence: $0.sequence) }
    }
    let numbers = destinationModel.family(of: program.mappings[index].destination.name).compactMap {
      program.destinationSchema.number(of: $0.name).map(String.init)
    }
    try step.connection.execute(
      """
      INSERT INTO temp.godwit_asked (turn, source, entity, destination) \
      SELECT turn, source, entity, destination FROM main.\(StepProgram.pairTable(index)) \
      WHERE (source, turn) > (?1, ?2) AND (source, turn) <= (?3, ?4) AND entity IN (\(numbers.joined(separator: ", "))) \
      ORDER BY source, turn LIMIT \(Self.limitLeft)
      """, [place.source, place.sequence, last.source, last.sequence].map { .integer($0) })
    let end = try step.rows(
      "SELECT source, turn FROM temp.godwit_asked ORDER BY source DESC, turn DESC LIMIT 1", []
    ).first
    guard let end, case (.integer(let source), .integer(let sequence)) = (end[0], end[1]) else { return nil }
    return .init(source: source, sequence: sequence)
  }

  /// Called at the end of a `createRelationships`. If the object was not left to its mapping, links are no longer
  /// written with objects.
  func finishRelating() throws {
    guard let (mapping, pair) = hook.related, shortcuts.hasInlineLinks[mapping.number] else { return }
    if hook.isLeftToMapping {
      shortcuts.leftToMapping[mapping.number] = PolicyState.Place(source: pair.source, sequence: pair.sequence)
    } else {
      try resolveInOrder(shortcuts.linksOfMapping[mapping.number])
    }
  }

  package func noteDefaultRelationships(of type: any EntityMigrationPolicy.Type) {
    // A policy may call the methods of another one.
    if type == Swift.type(of: instances[step.current]) { withDefaultRelationships.insert(step.current) }
  }

  /// Leaves the rest of a chunk's objects to their mapping, if their policy would do nothing else with any of them.
  ///
  /// - Parameter last: The last source key of the chunk.
  /// - Returns: Whether that is all that there is to do.
  func leavesRestToMapping(_ policy: Int, _ index: MappingID, through last: Int64) -> Bool {
    let isNothingToSet = shortcuts.isAllInline[index.number] || program.mappings[index].relationships.isEmpty
    guard isNothingToSet, withDefaultRelationships.contains(policy) else { return false }
    if shortcuts.hasInlineLinks[index.number] {
      shortcuts.leftToMapping[index.number] = PolicyState.Place(source: last, sequence: .max)
    }
    hook.related = nil
    return true
  }

  /// Called at the end of a `createDestinationInstances`. Gives the keys to the objects that their own hook has
  /// associated, and removes them from others.
  func writeKeys() throws {
    if hook.areAllKeyedOwn { return }
    try writer.flush()
    let (own, written, keyColumns) = (hook.own.elements, Set(hook.keyed), hook.keyColumns)
    guard let layout = hook.keyLayout, let prepared = hook.prepared,
      let table = program.destinationSchema.table(of: layout.entityName)?.name
    else { return }
    let places = keyColumns.indices.map { "\(quoted(keyColumns[$0])) = ?\($0 + 2)" }.joined(separator: ", ")
    let update = try step.cached("UPDATE main.\(quoted(table)) SET \(places) WHERE Z_PK = ?1")
    func set(_ pairs: Set<PolicyOwnPair>, _ keys: [SQLValue]) throws {
      for pair in pairs.sorted(by: { $0.destination < $1.destination }) {
        guard let entity = program.destinationSchema.entityName(Int(truncatingIfNeeded: pair.entity)),
          destinationModel.isKind(entity, of: layout.entityName)
        else { continue }
        try update.run([.integer(pair.destination)] + keys)
      }
    }
    try set(written.subtracting(own), keyColumns.map { _ in .null })
    try set(own.subtracting(written), prepared.keys)
  }
}

import GodwitModel
import GodwitSpill
import GodwitStore

/// Associations by hand, and look-ups both ways through every mapping of the step.
extension PolicyRun {
  func associate(_ source: ManagedObject, _ destination: ManagedObject, _ mapping: EntityMapping) throws {
    guard source.isSource, !destination.isSource else {
      throw failure("cannot associate \(source) with \(destination): expected a source and a destination object")
    }
    let index = try index(of: mapping)
    guard program.isPolicy(index) else {
      throw failure("cannot associate for mapping '\(mapping.name)': it has no policy, its associations are computed")
    }
    guard !isReplaying else { return }
    let table = StepProgram.pairTable(index)
    let root = program.resolved.sourceModel.root(of: source.entityName)?.name ?? source.entityName
    let values: [SQLValue] = [
      .int(program.sourceSchema.number(of: root) ?? -1), .integer(source.key),
      .int(program.destinationSchema.number(of: destination.entityName) ?? -1), .integer(destination.key),
    ]
    let known = try rows(
      "SELECT 1 FROM main.\(table) WHERE root = ?1 AND source = ?2 AND entity = ?3 AND destination = ?4", values)
    guard known.isEmpty else { return }
    state.turn += 1
    try cached(
      "INSERT INTO main.\(table) (turn, root, source, entity, destination) VALUES (?5, ?1, ?2, ?3, ?4)"
    ).run(values + [.integer(state.turn)])
    if !unproved.contains(destination) { unproved.append(destination) }
  }

  func mappings(named name: String) throws -> [Int] {
    let found = program.mappings.filter { $0.name == name }.map(\.index)
    // A mapping of kind add makes nothing of a source object.
    guard found.isEmpty, !program.resolved.policies.contains(where: { $0.mapping.name == name }) else { return found }
    let hint = Spelling.suggestion(for: name, among: program.mappings.map(\.name))
    throw failure("the step has no mapping '\(name)'\(hint)")
  }

  func destinations(of sources: [ManagedObject], mappings: [Int]) throws -> [ManagedObject] {
    var found: [ManagedObject] = []
    var seen: Set<Identity> = []
    for source in sources {
      for index in mappings {
        for object in try destinations(of: source, index) where seen.insert(Identity(object)).inserted {
          found.append(object)
        }
      }
    }
    return found
  }

  func sources(of destinations: [ManagedObject], mappings: [Int]) throws -> [ManagedObject] {
    var found: [ManagedObject] = []
    var seen: Set<Identity> = []
    for destination in destinations {
      for index in mappings {
        for object in try sources(of: destination, index) where seen.insert(Identity(object)).inserted {
          found.append(object)
        }
      }
    }
    return found
  }

  private struct Identity: Hashable {
    var entity: String
    var key: Int64

    init(_ object: ManagedObject) { (entity, key) = (object.entityName, object.key) }
  }

  private func destinations(of source: ManagedObject, _ index: Int) throws -> [ManagedObject] {
    let mapping = program.mappings[index]
    guard program.isPolicy(index) else {
      guard source.entityName == mapping.source.name,
        case .integer(let key)? = try rows(
          try program.computedDestination(index), from: source.key, through: source.key
        ).first?.first
      else { return [] }
      return try destinationObject(mapping.destination.name, key: key).map { [$0] } ?? []
    }
    let root = program.resolved.sourceModel.root(of: source.entityName)?.name ?? source.entityName
    return try rows(
      "SELECT entity, destination FROM main.\(StepProgram.pairTable(index)) WHERE source = ?1 AND root = ?2 ORDER BY turn",
      [.integer(source.key), .int(program.sourceSchema.number(of: root) ?? -1)]
    ).compactMap { row in
      guard case .integer(let number) = row[0], case .integer(let key) = row[1],
        let entity = program.destinationSchema.entityName(Int(truncatingIfNeeded: number))
      else { return nil }
      return try destinationObject(entity, key: key)
    }
  }

  private func sources(of destination: ManagedObject, _ index: Int) throws -> [ManagedObject] {
    let mapping = program.mappings[index]
    if program.isPolicy(index) {
      return try rows(
        "SELECT root, source FROM main.\(StepProgram.pairTable(index)) WHERE destination = ?1 AND entity = ?2 ORDER BY source, turn",
        [.integer(destination.key), .int(program.destinationSchema.number(of: destination.entityName) ?? -1)]
      ).compactMap { row in
        guard case .integer(let number) = row[0], case .integer(let key) = row[1],
          let root = program.sourceSchema.entityName(Int(truncatingIfNeeded: number))
        else { return nil }
        return try sourceObject(root, key: key)
      }
    }
    guard destination.entityName == mapping.destination.name else { return [] }
    if program.isStored(index) {
      return try inverse(index)?.destinations(of: destination.key).compactMap {
        try sourceObject(mapping.source.name, key: $0)
      } ?? []
    }
    guard case .offset(let offset) = program.facts.mappings[index].keys else { return [] }
    let (key, overflow) = destination.key.subtractingReportingOverflow(offset)
    guard !overflow, try !rows(try program.takenKeys(index, limit: 1), from: key, through: key).isEmpty else {
      return []
    }
    return try sourceObject(mapping.source.name, key: key).map { [$0] } ?? []
  }

  private func sourceObject(_ entity: String, key: Int64) throws -> ManagedObject? {
    try sourceContext.object(entityName: entity, key: key).map { ManagedObject($0, isSource: true, run: self) }
  }

  /// The pairs of a stored association by destination key: made once in a run, beside the spill file.
  private func inverse(_ index: Int) throws -> SpillReader? {
    if let known = inverses[index] { return known }
    guard let reader = functions.readers[index] else { return nil }
    let path = folder.spillPath(mapping: index) + ".inverse"
    let mark = try reader.inverted(into: path, memory: Int(clamping: max(1 << 20, memory.bytes / 16)))
    let inverse = try SpillReader(path: path, mark: mark, cacheBytes: 1 << 20)
    inverses[index] = inverse
    return inverse
  }
}

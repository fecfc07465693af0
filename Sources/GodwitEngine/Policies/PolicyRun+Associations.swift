import GodwitDisk
package import GodwitJob
import GodwitLowering
package import GodwitModel
import GodwitSpill
import GodwitStore

/// Explicit associations, and lookups both ways through every mapping of the step.
extension PolicyRun {
  package func associate(_ source: ManagedObject, _ destination: ManagedObject, _ mapping: EntityMapping) throws {
    guard source.isSource, !destination.isSource else {
      throw failure("cannot associate \(source) with \(destination): expected a source and a destination object")
    }
    let index = try index(of: mapping)
    guard program.isPolicy(index) else {
      throw failure("cannot associate for mapping '\(mapping.name)': it has no policy, its associations are computed")
    }
    guard !isReplaying else { return }
    // Relationships that wait are set by the associations that were there when they were asked for.
    if !asked.isEmpty { try writeAsked() }
    let pair = Pair(
      turn: state.turn + 1, root: Int64(source.layout.rootNumber), source: source.key,
      entity: Int64(destination.layout.number), destination: destination.key)
    // What was associated with this source object is known when nothing but its own hook can have done it.
    let isOwn =
      hook == .createDestinationInstances && policyIndexes[current] == index && prepared?.object == source
      && state.foreign?.contains(index) != true && own.count < Self.limitOwn
    if isOwn {
      guard own.insert(OwnPair(mapping: index, entity: pair.entity, destination: pair.destination)) else { return }
    } else {
      if state.foreign?.contains(index) != true {
        try gather(directOf[index])
        state.foreign = (state.foreign ?? []).union([index])
      }
      guard try !isWritten(pair, index) else { return }
    }
    if !isOwn || destination.call != calls, state.several?.contains(index) != true {
      try gather(directOf[index])
      try writeByHand(index)
      state.several = (state.several ?? []).union([index])
    }
    // The other end of a link is told of any object that is associated; only those of the mapping's entity take a key
    // along.
    if isOwn, !directOf[index].isEmpty, destination.layout !== keyLayout, !isKind(destination, of: index) {
      try gather(directOf[index])
    }
    state.turn += 1
    mustBeInserted(destination)
    if plain.contains(index) {
      if isOwn, ownPairs.isEmpty, try isComputed(pair, index) { return ownPairs.append(pair) }
      try writeByHand(index)
    }
    pairs[index, default: []].append(pair)
    if pairs[index]?.count == Self.limitWaiting { try writePairs() }
  }

  private func isKind(_ object: ManagedObject, of index: Int) -> Bool {
    program.resolved.destinationModel.isKind(object.entityName, of: program.mappings[index].destination.name)
  }

  private static let limitOwn = 50_000

  private func isWritten(_ pair: Pair, _ index: Int) throws -> Bool {
    try writeByHand(index)
    try writePairs()
    try makePairIndex(index)
    // Without figures SQLite would walk all that a source object has become.
    let table = "main.\(StepProgram.pairTable(index)) INDEXED BY \(StepProgram.pairIndex(index).name)"
    return try !rows(
      "SELECT 1 FROM \(table) WHERE destination = ?1 AND entity = ?2 AND source = ?3 AND root = ?4",
      [pair.destination, pair.entity, pair.source, pair.root].map { .integer($0) }
    ).isEmpty
  }

  /// Has the hook fail at its end when the object is in no store by then.
  func mustBeInserted(_ object: ManagedObject) {
    if object.context === draftContext, !isNew(object) { unproved.insert(Identity(object)) }
  }

  /// Writes the associations that wait; before anything reads them.
  func writePairs() throws {
    for index in pairs.keys.sorted() {
      guard let waiting = pairs[index], !waiting.isEmpty else { continue }
      let insert = try cached(
        "INSERT INTO main.\(StepProgram.pairTable(index)) (turn, root, source, entity, destination) VALUES (?1, ?2, ?3, ?4, ?5)"
      )
      for pair in waiting {
        insert.bind(pair.turn, at: 1)
        insert.bind(pair.root, at: 2)
        insert.bind(pair.source, at: 3)
        insert.bind(pair.entity, at: 4)
        insert.bind(pair.destination, at: 5)
        try insert.runBound()
      }
      pairs[index]?.removeAll(keepingCapacity: true)
    }
  }

  /// What a lookup from the destination needs.
  func makePairIndex(_ index: Int) throws {
    let wanted = StepProgram.pairIndex(index)
    try makeIndex(wanted.name, on: wanted.columns)
  }

  func pairs(_ sql: String, _ arguments: [SQLValue]) throws -> [Pair] {
    try writePairs()
    let statement = try cached(sql)
    try statement.bind(arguments)
    defer { statement.reset() }
    var pairs: [Pair] = []
    while try statement.step() {
      let row = statement.row
      pairs.append(
        Pair(
          turn: row.int64(0), root: row.int64(1), source: row.int64(2), entity: row.int64(3),
          destination: row.int64(4)))
    }
    return pairs
  }

  package func mappings(named name: String) throws -> [Int] {
    let found = program.mappings.filter { $0.name == name }.map(\.index)
    // A mapping of kind add makes nothing of a source object.
    guard found.isEmpty, !program.resolved.policies.contains(where: { $0.mapping.name == name }) else { return found }
    let hint = Spelling.suggestion(for: name, among: program.mappings.map(\.name))
    throw failure("the step has no mapping '\(name)'\(hint)")
  }

  package func destinations(of sources: [ManagedObject], mappings: [Int]) throws -> [ManagedObject] {
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

  package func sources(of destinations: [ManagedObject], mappings: [Int]) throws -> [ManagedObject] {
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

  private func destinations(of source: ManagedObject, _ index: Int) throws -> [ManagedObject] {
    let mapping = program.mappings[index]
    guard isByHand(index) else {
      guard source.entityName == mapping.source.name, !program.isPolicy(index) || isComputed(source.key, index),
        case .integer(let key)? = try rows(
          try lookUp(\.destination, index), from: source.key, through: source.key
        ).first?.first
      else { return [] }
      return try destinationObject(mapping.destination.name, key: key).map { [$0] } ?? []
    }
    try writePairs()
    return try rows(
      "SELECT entity, destination FROM main.\(StepProgram.pairTable(index)) WHERE source = ?1 AND root = ?2 ORDER BY turn",
      [.integer(source.key), .int(source.layout.rootNumber)]
    ).compactMap { row in
      guard case .integer(let number) = row[0], case .integer(let key) = row[1],
        let entity = program.destinationSchema.entityName(Int(truncatingIfNeeded: number))
      else { return nil }
      return try destinationObject(entity, key: key)
    }
  }

  func sources(of destination: ManagedObject, _ index: Int) throws -> [ManagedObject] {
    let mapping = program.mappings[index]
    if isByHand(index) {
      try writePairs()
      try makePairIndex(index)
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
    guard !overflow, !program.isPolicy(index) || isComputed(key, index),
      try !rows(try lookUp(\.taken, index), from: key, through: key).isEmpty
    else { return [] }
    return try sourceObject(mapping.source.name, key: key).map { [$0] } ?? []
  }

  private func isByHand(_ index: Int) -> Bool { program.isPolicy(index) && !plain.contains(index) }

  private func lookUp(_ statement: KeyPath<LookUp, ChunkStatement>, _ index: Int) throws -> ChunkStatement {
    if let known = lookUps[index] { return known[keyPath: statement] }
    let made = LookUp(
      destination: try programNow.associationStage.computedDestination(index),
      taken: try program.associationStage.takenKeys(index, limit: 1))
    lookUps[index] = made
    return made[keyPath: statement]
  }

  private func sourceObject(_ entity: String, key: Int64) throws -> ManagedObject? {
    try sourceContext.object(entityName: entity, key: key).map { ManagedObject($0, run: self) }
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

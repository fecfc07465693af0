import GodwitJob
import GodwitModel
import GodwitStore

/// The tables of explicit associations, and lookups in both directions in stored or computed associations.
///
/// Random lookups take 1 to 1.7 s in tables, and 34 to 64 s in spill files.
final class PolicyAssociations {
  private let step: PolicyRunState
  private var program: StepProgram { step.program }
  /// Associations of this chunk that wait to be written, by mapping, in the order of their sequence.
  private var batches: [RowBatch?]
  /// How a computed association is looked up, by mapping: the destination key of source key `?1`, and that key if the
  /// mapping matches it.
  private var computedLookups: [MappingID: (destination: ChunkStatement, taken: ChunkStatement)] = [:]
  /// The statements that give the source keys of a computed association, by mapping.
  private var takenKeys: [MappingID: (limit: Int, statement: ChunkStatement)] = [:]
  private var inverses: [MappingID: SpillReader] = [:]

  init(_ step: PolicyRunState) {
    self.step = step
    batches = step.program.mappings.map { _ in nil }
  }

  /// Drops the associations of a chunk that was rolled back.
  func rollBack() { batches = batches.map { _ in nil } }

  /// Drops the prepared lookups, because other associations are computed now.
  func forgetLookups() { (computedLookups, takenKeys) = ([:], [:]) }

  // MARK: Writing

  func add(_ pair: PolicyPair, to index: MappingID) throws {
    let batch = batch(index)
    batch.add(pair.sequence)
    batch.add(pair.root)
    batch.add(pair.source)
    batch.add(pair.entity)
    batch.add(pair.destination)
    if batch.endRow() { try step.write(batch) }
  }

  private func batch(_ index: MappingID) -> RowBatch {
    if let known = batches[index.number] { return known }
    let made = RowBatch(
      step.connection, into: "main.\(StepProgram.pairTable(index))",
      columns: ["turn", "root", "source", "entity", "destination"], limits: step.batchLimits)
    batches[index.number] = made
    return made
  }

  /// Writes the associations that wait; before anything reads them.
  func write() throws { for case let batch? in batches { try step.write(batch) } }

  /// Writes the associations that wait, and ends the statements that do.
  func finishChunk() throws {
    try write()
    for batch in batches { batch?.endStatements() }
  }

  /// Makes the index that a lookup from the destination needs.
  func makeIndex(_ index: MappingID) throws {
    let wanted = StepProgram.pairIndex(index)
    try step.makeIndex(wanted.name, on: wanted.columns)
  }

  // MARK: Explicit associations

  func isWritten(_ pair: PolicyPair, _ index: MappingID) throws -> Bool {
    try write()
    try makeIndex(index)
    // Without statistics SQLite would walk all associations of a source object.
    let table = "main.\(StepProgram.pairTable(index)) INDEXED BY \(StepProgram.pairIndex(index).name)"
    return try !step.rows(
      "SELECT 1 FROM \(table) WHERE destination = ?1 AND entity = ?2 AND source = ?3 AND root = ?4",
      [pair.destination, pair.entity, pair.source, pair.root].map { .integer($0) }
    ).isEmpty
  }

  /// The associations after one of them, by source key and sequence.
  ///
  /// - Parameter isFirstOnly: Whether an object with several source objects is paired only with the first of them.
  func explicitPairs(
    _ index: MappingID, after place: PolicyState.Place, through last: Int64, isFirstOnly: Bool, limit: Int
  ) throws -> [PolicyPair] {
    let table = StepProgram.pairTable(index)
    var isFirst = ""
    if isFirstOnly {
      try makeIndex(index)
      isFirst =
        " AND NOT EXISTS (SELECT 1 FROM main.\(table) AS e WHERE e.destination = p.destination AND e.entity = p.entity AND (e.source, e.turn) < (p.source, p.turn))"
    }
    try write()
    let statement = try step.cached(
      """
      SELECT p.turn, p.root, p.source, p.entity, p.destination FROM main.\(table) AS p \
      WHERE (p.source, p.turn) > (?1, ?2) AND p.source <= ?3\(isFirst) ORDER BY p.source, p.turn LIMIT \(limit)
      """)
    try statement.bind([place.source, place.sequence, last].map { .integer($0) })
    defer { statement.reset() }
    var pairs: [PolicyPair] = []
    while try statement.step() {
      let row = statement.row
      pairs.append(
        PolicyPair(
          sequence: row.int64(0), root: row.int64(1), source: row.int64(2), entity: row.int64(3),
          destination: row.int64(4)))
    }
    return pairs
  }

  /// The entity and key of each object that a source object was associated with, in order.
  func explicitDestinations(of source: ManagedObject, _ index: MappingID) throws -> [(entity: String, key: Int64)] {
    try write()
    return try step.rows(
      "SELECT entity, destination FROM main.\(StepProgram.pairTable(index)) WHERE source = ?1 AND root = ?2 ORDER BY turn",
      [.integer(source.key), .int(source.layout.rootNumber)]
    ).compactMap { Self.object($0, in: program.destinationSchema) }
  }

  /// The root entity and key of each source object that an object was associated with, by key.
  func explicitSources(of destination: ManagedObject, _ index: MappingID) throws -> [(entity: String, key: Int64)] {
    try write()
    try makeIndex(index)
    return try step.rows(
      "SELECT root, source FROM main.\(StepProgram.pairTable(index)) WHERE destination = ?1 AND entity = ?2 ORDER BY source, turn",
      [.integer(destination.key), .int(program.destinationSchema.number(of: destination.entityName) ?? -1)]
    ).compactMap { Self.object($0, in: program.sourceSchema) }
  }

  private static func object(_ row: [SQLValue], in schema: StoreSchema) -> (entity: String, key: Int64)? {
    guard case .integer(let number) = row[0], case .integer(let key) = row[1],
      let entity = schema.entityName(Int(truncatingIfNeeded: number))
    else { return nil }
    return (entity, key)
  }

  // MARK: Computed and stored associations

  /// The destination key of a source key by the mapping's rule; nil where the mapping does not match it.
  ///
  /// - Parameter program: As it stands.
  func ruleDestination(of source: Int64, _ index: MappingID, _ program: StepProgram) throws -> Int64? {
    let lookup = try computedLookup(index, program)
    guard case .integer(let key)? = try step.rows(lookup.destination, from: source, through: source).first?.first
    else { return nil }
    return key
  }

  /// Whether the mapping matches a source key.
  func matches(_ source: Int64, _ index: MappingID, _ program: StepProgram) throws -> Bool {
    try !step.rows(computedLookup(index, program).taken, from: source, through: source).isEmpty
  }

  private func computedLookup(
    _ index: MappingID, _ now: StepProgram
  ) throws -> (destination: ChunkStatement, taken: ChunkStatement) {
    if let known = computedLookups[index] { return known }
    let made = (
      destination: try now.associationStage.computedDestination(index),
      taken: try program.associationStage.takenKeys(index, limit: 1)
    )
    computedLookups[index] = made
    return made
  }

  /// Whether an association is the one that its mapping computes.
  func isComputed(_ pair: PolicyPair, _ index: MappingID) -> Bool {
    guard let offset = step.keyOffsets[index.number] else { return false }
    return pair.destination == pair.source &+ offset && Int(pair.entity) == step.entityNumbers[index.number]
  }

  /// The associations of a mapping that are computed, after one of them.
  func computedPairs(
    _ index: MappingID, after place: PolicyState.Place, through last: Int64, limit: Int
  ) throws -> [PolicyPair] {
    let mapping = program.mappings[index]
    guard case .offset(let offset) = program.facts.mappings[index].keys,
      let root = step.sourceContext.layout(of: mapping.source.name)?.rootNumber,
      place.sequence < 0 || place.source < .max
    else { return [] }
    let entity = Int64(try step.mappedRow(index).layout.number)
    let statement = try takenKeys(index, limit: limit)
    return try step.functions.running(statement, context: step.errorContext) {
      let prepared = try step.cached(statement.sql)
      defer { prepared.reset() }
      try prepared.bind(
        statement.builder.arguments(from: place.sequence < 0 ? place.source : place.source + 1, through: last))
      var pairs: [PolicyPair] = []
      while try prepared.step() {
        let key = prepared.row.int64(0)
        pairs.append(
          PolicyPair(sequence: 0, root: Int64(root), source: key, entity: entity, destination: key &+ offset))
      }
      return pairs
    }
  }

  private func takenKeys(_ index: MappingID, limit: Int) throws -> ChunkStatement {
    if let known = takenKeys[index], known.limit == limit { return known.statement }
    let made = try program.associationStage.takenKeys(index, limit: limit)
    takenKeys[index] = (limit, made)
    return made
  }

  /// The source keys of an object of a mapping whose associations lie in a spill file.
  func storedSources(of destination: Int64, _ index: MappingID) throws -> [Int64] {
    try inverse(index)?.destinations(of: destination) ?? []
  }

  /// The pairs of a stored association by destination key: made once in a run, beside the spill file.
  private func inverse(_ index: MappingID) throws -> SpillReader? {
    if let known = inverses[index] { return known }
    guard let reader = step.functions.readers[index] else { return nil }
    let path = step.folder.spillPath(mapping: index) + ".inverse"
    let mark = try reader.inverted(into: path, memory: Int(clamping: max(1 << 20, step.memory.bytes / 16)))
    let inverse = try SpillReader(path: path, mark: mark, cacheBytes: 1 << 20)
    inverses[index] = inverse
    return inverse
  }
}

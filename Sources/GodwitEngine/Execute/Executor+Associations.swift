import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Associations that cannot be computed: their spill files are written before anything is created, read by lookups,
/// and rebuilt when they are damaged.
extension Executor {
  // MARK: Writing

  func associate(_ chunk: Chunk, _ index: MappingID) throws -> Ledger.Outcome {
    let writer = try writers[index] ?? openWriter(index)
    writers[index] = writer
    // Read after the file was opened: rebuilding the file may change the mark.
    let known = try ledger.spillMark(mapping: index)
    var given = known?.pairs ?? 0
    if program.isOrdered(index) {
      try makeSurvivors(index, chunk)
    } else if program.isUnique(index), case .dense(let first) = program.facts.mappings[index].keys {
      // Keys ascend with sources, so the last one says how many there are; counting would be quadratic.
      let last = try connection.integer(
        "SELECT destination FROM \(StepProgram.uniqueTable(index)) ORDER BY source DESC LIMIT 1")
      given = last.map { $0 - first + 1 } ?? 0
    }
    if program.isUnique(index), !program.isOrdered(index), identities?.mapping != index {
      identities = (index, UniqueKeyMap(limitBytes: identityBytes, isWhole: known?.pairs ?? 0 == 0))
    }
    let pairs = try writePairs(of: chunk, index, to: writer, given: &given, isRepeated: false)
    let mark = try writer.flushChunk()
    try ledger.setSpillMark(mark, pairs: (known?.pairs ?? 0) + pairs, mapping: index)
    return .init(rows: pairs)
  }

  /// Finds which objects become one, and their order, before the first chunk of a mapping. The table is part of the
  /// first chunk's transaction.
  private func makeSurvivors(_ index: MappingID, _ chunk: Chunk) throws {
    guard !survivors.contains(index) else { return }
    let table = "main.\(StepProgram.survivorTable(index))"
    if try connection.integer("SELECT 1 FROM \(table) LIMIT 1") == nil {
      let statement = try program.associationStage.survivors(index)
      try functions.running(statement, context: context(chunk)) {
        try connection.execute(statement.sql, statement.builder.arguments())
      }
    }
    survivors.insert(index)
  }

  private var identityBytes: Int { Int(job.memory.bytes / 16) }

  private func openWriter(_ index: MappingID) throws -> SpillWriter {
    try opening(index) {
      try SpillWriter(path: spillPath(index), resumingAt: $0, isSynced: durability == .resumable)
    }
  }

  /// Opens a file up to the mark of the ledger. Rebuilds a damaged file first.
  private func opening<T>(_ index: MappingID, _ open: (SpillMark?) throws -> T) throws -> T {
    do { return try open(try ledger.spillMark(mapping: index)?.mark) } catch let error as SpillError {
      guard error.isDamage else { throw error }
      try rebuildSpill(index, because: error)
    }
    return try open(try ledger.spillMark(mapping: index)?.mark)
  }

  /// Writes the pairs of a chunk.
  ///
  /// - Parameters:
  ///   - given: How many keys were given out so far.
  ///   - isRepeated: Whether the chunk was done before: then the keys of `unique-by` are those it gave.
  /// - Returns: how many.
  private func writePairs(
    of chunk: Chunk, _ index: MappingID, to writer: SpillWriter, given: inout Int64, isRepeated: Bool
  ) throws -> Int64 {
    let keys = program.facts.mappings[index].keys
    func newKey(_ source: Int64) -> Int64 {
      switch keys {
      case .offset(let offset): return source + offset
      case .dense(let first): return first + given
      }
    }
    let statement = try program.associationStage.pairs(index)
    var pairs: Int64 = 0
    guard program.isUnique(index) else {
      try functions.running(statement, context: context(chunk)) {
        try connection.query(
          statement.sql, statement.builder.arguments(from: chunk.range.first, through: chunk.range.last)
        ) { row in
          let source = row.int64(0)
          try writer.append(source: source, destination: newKey(source))
          given += 1
          pairs += 1
          return true
        }
      }
      return pairs
    }
    if program.isOrdered(index) {
      return try writeOrderedPairs(of: chunk, index, statement, to: writer, isRepeated: isRepeated)
    }
    let store = try UniqueKeys(index, connection: connection)
    defer { store.finalize() }
    let known = (isRepeated ? nil : identities?.map) ?? UniqueKeyMap(limitBytes: identityBytes, isWhole: false)
    try forEachIdentity(of: chunk, index, statement) { source, identity in
      var destination = known.key(of: identity)
      if destination == nil, !known.isWhole, let found = try store.key(of: identity) {
        known.add(identity, key: found, isNew: false)
        destination = found
      }
      if destination == nil {
        guard !isRepeated else { throw Self.cannotRebuild(program.mappings[index].name) }
        let key = newKey(source)
        given += 1
        try store.add(source: source, key: key)
        if !known.add(identity, key: key, isNew: true) { try store.add(Array(identity), key: key) }
        destination = key
      }
      try writer.append(source: source, destination: destination ?? 0)
      pairs += 1
    }
    try known.takeNew { try store.add($0, key: $1) }
    return pairs
  }

  /// Writes the pairs of a chunk of a mapping whose objects that become one have an order.
  private func writeOrderedPairs(
    of chunk: Chunk, _ index: MappingID, _ statement: ChunkStatement, to writer: SpillWriter, isRepeated: Bool
  ) throws -> Int64 {
    let addition = try connection.prepare(
      "INSERT INTO main.\(StepProgram.uniqueTable(index)) (source, destination) VALUES (?1, ?2)")
    defer { addition.finalize() }
    let keys = program.facts.mappings[index].keys
    var pairs: Int64 = 0
    try functions.running(statement, context: context(chunk)) {
      try connection.query(
        statement.sql, statement.builder.arguments(from: chunk.range.first, through: chunk.range.last)
      ) { row in
        let source = row.int64(0)
        let survivor = row.isNull(1) ? source : row.int64(1)
        let destination =
          switch keys {
          case .offset(let offset): survivor + offset
          case .dense(let first): first + row.int64(2)
          }
        if survivor == source, !isRepeated {
          addition.bind(source, at: 1)
          addition.bind(destination, at: 2)
          try addition.runBound()
        }
        try writer.append(source: source, destination: destination)
        pairs += 1
        return true
      }
    }
    return pairs
  }

  /// Drops the writers of a chunk that was rolled back, or of a stage that is over.
  func forgetWriters() {
    writers = [:]
    identities = nil
    (survivors, ranked) = ([], [])
  }

  // MARK: Reading

  func openReaders() throws {
    let stored = program.mappings.ids.filter {
      program.isStored($0) && !program.isPolicy($0) && functions.readers[$0] == nil
    }
    guard !stored.isEmpty else { return }
    for writer in writers.values { try writer.close() }
    forgetWriters()
    let share = max(256 << 10, Int(job.memory.bytes / 8) / stored.count)
    for index in stored where try ledger.spillMark(mapping: index) != nil {
      functions.readers[index] = try opening(index) {
        try SpillReader(path: spillPath(index), mark: $0, cacheBytes: share)
      }
    }
  }

  // MARK: Damage

  /// Rebuilds the spill file that the failed chunk found damaged.
  ///
  /// - Returns: false when the chunk found no damage, or the same file was rebuilt before.
  func replaceDamagedSpill() throws -> Bool {
    guard let (index, error) = functions.findings.damagedSpill, !rebuiltSpills.contains(index) else { return false }
    functions.findings.damagedSpill = nil
    functions.readers[index] = nil
    try connection.transaction { try rebuildSpill(index, because: error) }
    return true
  }

  /// Rebuilds a damaged or missing file from its inputs. These are the source, which must be unchanged, and the keys
  /// that `unique-by` gave, which lie in the store under construction. Call inside a transaction.
  ///
  /// The pairs are the same, and with the same LZ4 library the bytes too; otherwise the ledger gets their mark.
  private func rebuildSpill(_ index: MappingID, because damage: SpillError) throws {
    let name = program.mappings[index].name
    guard let known = try ledger.spillMark(mapping: index) else { throw damage }
    let done = try ledger.done()
    let path = spillPath(index)
    let part = path + ".new"
    let writer = try SpillWriter(path: part)
    var mark = writer.mark
    var (pairs, given): (Int64, Int64) = (0, 0)
    for chunk in plan.chunks where chunk.work == .associate(mapping: index) && done.contains(chunk.id) {
      pairs += try writePairs(of: chunk, index, to: writer, given: &given, isRepeated: true)
      mark = try writer.flushChunk()
    }
    try writer.close()
    guard pairs == known.pairs else { throw Self.cannotRebuild(name) }
    guard rename(part, path) == 0 else {
      throw GodwitError.disk("cannot replace the spill file '\(path)'", errno: errno)
    }
    try WorkFolder.sync(path.parentPath)
    if mark != known.mark { try ledger.setSpillMark(mark, pairs: pairs, mapping: index) }
    rebuiltSpills.insert(index)
    notes.append(
      MigrationNote(
        .spillRebuilt, "the spill file of mapping '\(name)' was damaged and rebuilt: \(damage.message)"))
  }

  private static func cannotRebuild(_ mapping: String) -> GodwitError {
    GodwitError(
      .inputOutput,
      "cannot rebuild the damaged spill file of mapping '\(mapping)': the store under construction is damaged too",
      remedy: "check the disk, `godwit discard` the job and run again")
  }
}

/// The objects of a `unique-by` mapping in the store under construction.
private final class UniqueKeys {
  private let find, addSource, addIdentity: SQLStatement

  init(_ mapping: MappingID, connection: StoreConnection) throws {
    let (unique, identity) = (StepProgram.uniqueTable(mapping), StepProgram.identityTable(mapping))
    find = try connection.prepare("SELECT destination FROM main.\(identity) WHERE identity = ?1")
    addSource = try connection.prepare("INSERT INTO main.\(unique) (source, destination) VALUES (?1, ?2)")
    addIdentity = try connection.prepare("INSERT INTO main.\(identity) (identity, destination) VALUES (?1, ?2)")
  }

  func finalize() {
    for statement in [find, addSource, addIdentity] { statement.finalize() }
  }

  func key(of identity: UnsafeRawBufferPointer) throws -> Int64? {
    try find.bind(.blob(Array(identity)))
    defer { find.reset() }
    return try find.step() ? find.row.int64(0) : nil
  }

  func add(source: Int64, key: Int64) throws {
    addSource.bind(source, at: 1)
    addSource.bind(key, at: 2)
    try addSource.runBound()
  }

  func add(_ identity: [UInt8], key: Int64) throws { try addIdentity.run([.blob(identity), .integer(key)]) }
}

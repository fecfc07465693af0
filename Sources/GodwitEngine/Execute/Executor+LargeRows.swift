import GodwitJob
import GodwitModel
import GodwitStore

/// Chunks with rows that are too large to be held several times.
///
/// 1. The chunk's statement runs while SQLite refuses large values, which costs nothing where there are none.
/// 2. If a value was refused, the statement is rolled back, and the source's rows are divided by size.
/// 3. The rows between large ones are made as usual. Each large one is made without the values that it only copies, and
///    then completed with them (`LargeRowWriter`).
///
/// A file that becomes a value waits until its row is made, and completes it in the same way.
///
/// A value that is large because an expression made it is not refused a second time. Resolving a link later changes the
/// finished row while its large values are stored in a temporary table.
extension Executor {
  /// Makes the objects of a chunk.
  func makeObjects(
    _ statement: ChunkStatement, _ chunk: Chunk, _ index: MappingID, predicate: FilterPredicate?
  ) throws -> Int64 {
    // In place, tables are dropped and made.
    guard !connection.isOwnSource else { return try executeCreation(statement, [chunk]) }
    let copies = program.creation.plainCopies(index)
    guard !copies.isEmpty else { return try executeCreation(statement, [chunk]) }
    if !chunksWithLargeRows.contains(chunk.id),
      let made = try withLengthLimit({ try executeCreation(statement, [chunk]) })
    {
      return made
    }
    let mapping = program.mappings[index]
    let columns = Set(copies.map(\.sourceColumn)).sorted()
    let destination = try program.destinationTable(of: mapping.destination.name).name
    guard let writer = try largeRowWriter(), try writer.supports(destination) else {
      return try executeCreation(statement, [chunk])
    }
    let source = try program.sourceTable(mapping.source.name)
    let part =
      try predicate.map { try currentProgram.creation.statement(index, predicate: $0, isPart: true) } ?? statement
    var lean: [Set<String>: ChunkStatement] = [:]
    var made: Int64 = 0
    for span in try connection.spans(
      database: StoreConnection.sourceSchema, table: source, columns: columns, from: chunk.range.first,
      through: chunk.range.last, limit: .init(bytes: limits.rowBytes))
    {
      switch span {
      case .small(let keys):
        func run() throws -> Int64 {
          try execute(part, chunk, from: keys.lowerBound, through: keys.upperBound)
        }
        made += try withLengthLimit(run) ?? run()
      case .large(let key):
        let values = try connection.openValues(
          above: .init(bytes: limits.valueBytes), database: StoreConnection.sourceSchema, table: source, key: key,
          columns: columns)
        var large: [String: any LargeBytes] = [:]
        var names: Set<String> = []
        for copy in copies {
          guard let value = values[copy.sourceColumn], let bytes = try copy.bytes(of: value) else { continue }
          large[copy.column] = bytes
          names.insert(copy.attribute)
        }
        let statement =
          try lean[names]
          ?? currentProgram.creation.statement(index, predicate: predicate, leavingOut: names, isPart: true)
        lean[names] = statement
        let waiting = functions.mover?.pendingCount ?? 0
        let count = try execute(statement, chunk, from: key, through: key)
        made += count
        if let files = try functions.mover?.takePending(after: waiting) { large.merge(files) { $1 } }
        guard count > 0, !large.isEmpty else { continue }
        let way = try writer.complete(
          connection.lastInsertedKey, in: destination, with: large, holding: .init(bytes: limits.recordBytes))
        limits.onRow?(way)
      }
    }
    return made
  }

  /// Gives rows the large files that become their values, and syncs the files that were carried over.
  func finishFiles(of entity: String) throws {
    let table = try program.destinationTable(of: entity).name
    try functions.mover?.finishChunk { key, files in
      guard !connection.isOwnSource, let writer = try largeRowWriter(), try writer.supports(table) else {
        return try connection.store(files, in: table, key: key)
      }
      let way = try writer.complete(key, in: table, with: files, holding: .init(bytes: limits.recordBytes))
      limits.onRow?(way)
    }
  }

  var limits: LargeRowLimits { EngineTuning.current.largeRows ?? LargeRowLimits(memory: job.memory) }

  /// Runs a statement that makes objects unless a value is too large; then nothing of it is left, and nil returned.
  private func withLengthLimit(_ body: () throws -> Int64) throws -> Int64? {
    let pending = functions.mover?.pendingCount ?? 0
    try connection.execute("SAVEPOINT godwit_part")
    let made = try connection.withLengthLimit(.init(bytes: limits.statementBytes), body)
    if made == nil {
      try connection.execute("ROLLBACK TO godwit_part")
      functions.mover?.forgetPending(after: pending)
    }
    try connection.execute("RELEASE godwit_part")
    return made
  }

  /// Stores edges in rows that are too large to be changed as they are.
  func storeInLargeRows(_ edges: [AssignmentResolver.Refused]) throws {
    for edge in edges {
      let writer = try largeRowWriter()
      let way = try writer?.change(
        edge.key, in: edge.table, lengthLimit: .init(bytes: limits.valueBytes),
        holding: .init(bytes: limits.recordBytes)
      ) { try connection.execute(edge.sql, edge.arguments) }
      if let way { limits.onRow?(way) } else { try connection.execute(edge.sql, edge.arguments) }
    }
  }

  private func largeRowWriter() throws -> LargeRowWriter? {
    if let known = knownLargeRowWriter { return known }
    let tables = try program.mappings.filter { $0.earlier == nil }.map {
      try program.destinationTable(of: $0.destination.name).name
    }
    let writer = try LargeRowWriter(connection, tables: Set(tables))
    knownLargeRowWriter = .some(writer)
    return writer
  }
}

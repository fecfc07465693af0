import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

extension Executor {
  /// Runs the statement that makes a chunk's objects, with its expressions evaluated ahead where that is worth a
  /// thread.
  ///
  /// - Parameter chunks: One, or several of one key range that the statement carries out together.
  func executeCreation(_ statement: ChunkStatement, _ chunks: some Collection<Chunk>) throws -> Int64 {
    guard let chunk = chunks.first else { return 0 }
    guard let ahead = try evaluateAhead(statement, chunks) else { return try execute(statement, chunk) }
    if EngineTuning.current.expressions.fills { ahead.fill() }
    defer { ahead.stop() }
    return try execute(statement, chunk, with: StatementInputs(knownValues: ahead))
  }

  private func evaluateAhead(_ statement: ChunkStatement, _ chunks: some Collection<Chunk>) throws
    -> ExpressionPrefetcher?
  {
    let rows = chunks.reduce(0) { $0 + $1.rows }
    let members = Self.createdMappings(chunks)
    guard let chunk = chunks.first, chunk.predicate == nil, rows >= EngineTuning.current.expressions.leastRows,
      let (query, numbers) = try currentProgram.creation.evaluations(of: members, in: statement)
    else { return nil }
    let table = try program.sourceTable(program.mappings[members[0]].source.name)
    let ends = try connection.rows(
      "SELECT (SELECT MIN(Z_PK) \(table.inRange)), (SELECT MAX(Z_PK) \(table.inRange))",
      [.integer(chunk.range.first), .integer(chunk.range.last)]
    ).first
    guard let ends, case (.integer(let low), .integer(let high)) = (ends[0], ends[1]),
      let reader = try connection.anotherReader(cache: .init(bytes: job.memory.bytes / 32))
    else { return nil }
    let own = try SQLFunctions(connection: reader, sourceSchema: program.sourceSchema, now: functions.now)
    own.setSupportFolder(SupportFolder(ofStoreAt: job.sourcePath))
    return ExpressionPrefetcher(
      query: query, numbers: numbers, keys: low...high, rows: rows, reader: reader, functions: own)
  }
}

extension String {
  /// The rows of this source table between the keys of a chunk, as SQL.
  fileprivate var inRange: String { "FROM source.\(quoted(self)) WHERE Z_PK BETWEEN ?1 AND ?2" }
}

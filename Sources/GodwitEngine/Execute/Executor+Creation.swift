import GodwitJob
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
    guard let beside = try readerBeside(chunk, members[0]) else { return nil }
    return ExpressionPrefetcher(
      query: query, numbers: numbers, keys: beside.keys, rows: rows, reader: beside.connection,
      functions: beside.functions)
  }

  /// A second connection that reads the source, with functions of its own, and the lowest to the highest key of a
  /// chunk's rows in the table of a mapping; nil without rows, or if only this connection can read them.
  func readerBeside(_ chunk: Chunk, _ mapping: MappingID) throws -> (
    keys: ClosedRange<Int64>, connection: StoreConnection, functions: SQLFunctions
  )? {
    let table = try program.sourceTable(program.mappings[mapping].source.name)
    guard let (low, high) = try connection.sourceKeys(of: table, from: chunk.range.first, through: chunk.range.last),
      let reader = try connection.anotherReader(cache: .init(bytes: job.memory.bytes / 32))
    else { return nil }
    let own = try SQLFunctions(connection: reader, sourceSchema: program.sourceSchema, now: functions.now)
    own.setSupportFolder(ofSourceOf: job)
    return (low...high, reader, own)
  }
}

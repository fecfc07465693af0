import GodwitJob
import GodwitModel
import GodwitStore

/// Reads the source objects that a mapping with a policy takes, page by page, with the values that the mapping gives
/// them.
struct PolicySourceReader {
  let step: PolicyRunState

  /// The next rows by key, with their query.
  ///
  /// - Parameter ahead: The prefetcher on a second core; nil afterwards when it cannot continue.
  func page(
    of index: MappingID, from first: Int64, through last: Int64, _ shortcuts: PolicyShortcuts,
    ahead: inout SourcePagePrefetcher?
  ) throws -> (page: SourcePage, query: SourcePageQuery) {
    if let known = ahead {
      if known.generation == shortcuts.generation, let page = known.page(from: first) { return (page, known.query) }
      known.stop()
      ahead = nil
    }
    func read(isPrepared: Bool) throws -> (page: SourcePage, query: SourcePageQuery) {
      let query = try query(index, shortcuts, isPrepared: isPrepared)
      let statement = query.statement
      let page = try step.functions.running(statement, context: step.errorContext) {
        try query.page(step.cached(statement.sql), from: first, through: last)
      }
      return (page, query)
    }
    guard try step.mappedRow(index).isComputableAhead else { return try read(isPrepared: false) }
    do { return try read(isPrepared: true) } catch let error as GodwitError where error.code == .dataWrong {
      // A value that does not fit is an error only when the policy reads it.
      return try read(isPrepared: false)
    }
  }

  /// Has a second core read the pages from a key on; nil where only this connection can.
  func readAhead(
    of index: MappingID, from first: Int64, through last: Int64, _ shortcuts: PolicyShortcuts
  ) throws -> SourcePagePrefetcher? {
    let query = try query(index, shortcuts, isPrepared: try step.mappedRow(index).isComputableAhead)
    guard query.statement.builder.functions.evaluations.isEmpty, !query.statement.builder.readsSpill,
      let reader = try step.connection.anotherReader(cache: .init(bytes: step.memory.bytes / 32))
    else { return nil }
    let own = try SQLFunctions(connection: reader, sourceSchema: step.program.sourceSchema, now: step.now)
    // They are complete and no longer change.
    for index in query.statement.builder.functions.keySets {
      own.rows.setKeySet(step.functions.rows.keySet(index), for: index)
    }
    return SourcePagePrefetcher(
      query, generation: shortcuts.generation, from: first, through: last, reader: reader, functions: own)
  }

  private func query(_ index: MappingID, _ shortcuts: PolicyShortcuts, isPrepared: Bool) throws -> SourcePageQuery {
    let entity = step.program.mappings[index].source.name
    guard let table = step.sourceContext.table(of: entity),
      let keyPlace = table.table.columns.firstIndex(where: { $0.role == .primaryKey })
    else { throw GodwitError(.internalBug, "cannot find the table of '\(entity)'") }
    let (statement, keyColumns) = try shortcuts.program.policy.policyPage(
      index, columns: table.columns.aliased, isPrepared: isPrepared, limit: EngineTuning.current.pages.rowsPerPage)
    return SourcePageQuery(
      statement: statement, keyColumns: keyColumns, width: table.table.columns.count, keyPlace: keyPlace,
      mapped: isPrepared ? try step.mappedRow(index) : nil,
      limitBytes: Int(clamping: max(64 << 10, step.memory.bytes / 32)))
  }
}

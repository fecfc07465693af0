import GodwitJob
import GodwitModel
import GodwitStore

/// Chunks of several mappings over one key range of one table, made by one statement.
///
/// The mappings keep chunks of their own, so ledger and messages do not change.
extension Executor {
  /// The first chunks that one statement can carry out together; one chunk if it cannot share its statement.
  func together(_ chunks: ArraySlice<Chunk>) -> ArraySlice<Chunk> {
    guard let first = chunks.first, case .create(let mapping, nil) = first.work else { return chunks.prefix(1) }
    let rest = chunks.dropFirst().prefix { chunk in
      guard case .create(let other, nil) = chunk.work else { return false }
      return chunk.pass == first.pass && chunk.range == first.range && program.creation.canShare(mapping, other)
    }
    return chunks.prefix(1 + rest.count)
  }

  /// The mappings whose objects chunks make.
  static func createdMappings(_ chunks: some Collection<Chunk>) -> [MappingID] {
    chunks.compactMap { if case .create(let mapping, _) = $0.work { mapping } else { nil } }
  }

  private struct LargeRowMet: Error {}

  /// Carries out several chunks in one transaction.
  ///
  /// - Returns: false when each chunk must run by itself: a value needs a join, a row is too large, or a row failed and
  ///   only its own chunk can name it. The transaction is then rolled back.
  func carryOutTogether(_ chunks: ArraySlice<Chunk>) throws -> Bool {
    let mappings = Self.createdMappings(chunks)
    guard let first = mappings.first, let statement = try currentProgram.creation.statement(sharing: mappings) else {
      return false
    }
    do {
      try connection.transaction {
        try openReaders()
        functions.mover?.beginChunk()
        functions.findings.hasFittedNil = false
        functions.rows.memberRows = Array(repeating: 0, count: chunks.count)
        guard
          let made = try connection.withLengthLimit(
            .init(bytes: limits.statementBytes), { try executeCreation(statement, chunks) })
        else { throw LargeRowMet() }
        guard functions.rows.memberRows.reduce(0, +) == made else {
          throw GodwitError(.internalBug, "cannot tell apart the rows of mappings that share a table scan")
        }
        let entity = program.mappings[first].destination.name
        try finishFiles(of: entity)
        try raiseCounter(of: entity)
        for (member, (chunk, mapping)) in zip(chunks, mappings).enumerated() {
          try ledger.finish(
            chunk,
            .init(
              rows: functions.rows.memberRows[member],
              ambiguousToOne: try count(program.losses.ambiguousToOne(mapping, predicate: nil), chunk),
              nils: try countNils(chunk, mapping, of: statement, predicate: nil)))
        }
        try recordDigest()
        try checkSourceOfChunk()
      }
      return true
    } catch is LargeRowMet {
      chunksWithLargeRows.formUnion(chunks.map(\.id))
      return false
    } catch let error as GodwitError where error.code == .dataWrong || functions.findings.damagedSpill != nil {
      functions.findings.damagedSpill = nil
      return false
    }
  }

  /// The source keys that each mapping takes, read in one walk of each table.
  func keySets(_ mappings: [MappingID]) throws -> [KeySet] {
    let sets = mappings.map { _ in KeySet() }
    let byTable = Dictionary(grouping: mappings.indices) {
      program.sourceSchema.table(of: program.mappings[mappings[$0]].source.name)?.name
    }
    for places in byTable.values {
      let statement = try program.associationStage.takenKeys(together: places.map { mappings[$0] })
      let names = places.map { program.mappings[mappings[$0]].name }.joined(separator: ", ")
      let known = places.map { program.facts.mappings[mappings[$0]] }
      let range = statement.builder.arguments(
        from: known.map(\.minimumKey).min() ?? 0, through: known.map(\.maximumKey).max() ?? 0)
      try functions.running(statement, context: "\(job.position.context), reading the keys of \(names)") {
        try connection.query(statement.sql, range) { row in
          let key = row.int64(0)
          for (column, place) in places.enumerated() where row.int64(column + 1) != 0 { sets[place].append(key) }
          return true
        }
      }
    }
    for set in sets { set.finish() }
    return sets
  }
}

import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// Chunks of several mappings over one key range of one table, made by one statement.
extension Executor {
  /// The chunks at the front that one statement can carry out; one chunk where there are none.
  func together(_ chunks: ArraySlice<Chunk>) -> ArraySlice<Chunk> {
    guard let first = chunks.first, case .create(let mapping, nil) = first.work else { return chunks.prefix(1) }
    let rest = chunks.dropFirst().prefix { chunk in
      guard case .create(let other, nil) = chunk.work else { return false }
      return chunk.pass == first.pass && chunk.range == first.range && program.creation.canShare(mapping, other)
    }
    return chunks.prefix(1 + rest.count)
  }

  /// The mappings whose objects chunks make.
  static func createdMappings(_ chunks: some Collection<Chunk>) -> [Int] {
    chunks.compactMap { if case .create(let mapping, _) = $0.work { mapping } else { nil } }
  }

  private struct LargeRowMet: Error {}

  /// Carries them out in one transaction.
  ///
  /// - Returns: false when each must run by itself: a value needs a join, a row failed, whose place only its own
  ///   chunk can tell, or one is too large. Nothing was kept then.
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
              ambiguousToOne: try countAmbiguousToOne(chunk, mapping, predicate: nil),
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

  /// The source keys that a mapping takes.
  func keySet(_ index: Int) throws -> KeySet {
    let statement = try program.associationStage.takenKeys(index)
    let keys = KeySet()
    try functions.running(
      statement, context: "\(job.position.context), reading the keys of \(program.mappings[index].name)"
    ) {
      try connection.query(statement.sql, statement.builder.arguments()) { row in
        keys.append(row.int64(0))
        return true
      }
    }
    keys.finish()
    return keys
  }
}

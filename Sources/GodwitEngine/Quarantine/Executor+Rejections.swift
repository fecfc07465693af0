import GodwitJob
import GodwitModel
import GodwitStore

/// Finding all objects that a stage rejects, once it has rejected one.
extension Executor {
  /// Finds and records the objects that the stage of a chunk rejects.
  ///
  /// - Parameter error: The failure of the chunk.
  /// - Throws: `RejectedObjectsFound` when the run must begin again without them. Returns when the caller must report
  ///   the error: it belongs to no row, or no single row has it.
  func searchRejected(after error: any Error, in chunk: Chunk) throws {
    guard let rejections, let known = error as? GodwitError, known.isOfObject else { return }
    switch chunk.work {
    case .associate, .create: try searchMaking(chunk.phase, rejections)
    case .validate, .validateEntity: try searchInvalid(rejections)
    default: return
    }
    if try rejections.record.countOfRound > 0 { throw RejectedObjectsFound() }
  }

  // MARK: Making objects

  /// Finds the rows that cannot be made: tries each unfinished chunk of the stage, and rolls it back.
  private func searchMaking(_ phase: ChunkPhase, _ rejections: RejectionSearch) throws {
    let done = try ledger.done()
    for chunk in plan.chunks where chunk.phase == phase && !done.contains(chunk.id) {
      let part = "\(phase.rawValue) \(chunk.id)"
      guard try !rejections.record.hasSearched(part), let index = Self.mapping(of: chunk) else { continue }
      let mapping = program.mappings[index]
      let table = try program.sourceTable(mapping.source.name)
      let rows = RowSearch(
        enough: try rejections.enough,
        ends: { [connection] in try connection.sourceKeys(of: table, from: $0, through: $1) },
        attempt: { [unowned self] in try self.attempt(chunk, from: $0, through: $1) })
      try rejections.search(part, of: mapping, from: chunk.range.first, through: chunk.range.last, rows)
    }
  }

  private static func mapping(of chunk: Chunk) -> MappingID? {
    switch chunk.work {
    case .associate(let mapping), .create(let mapping, _): mapping
    default: nil
    }
  }

  /// Carries out a part of a chunk, and rolls it back.
  private func attempt(_ chunk: Chunk, from first: Int64, through last: Int64) throws {
    var part = chunk
    part.range = .init(lower: first, upper: last == .max ? nil : last + 1)
    // Prefetching does not pay for a few rows.
    part.rows = 0
    try connection.execute("BEGIN IMMEDIATE")
    defer {
      forgetWriters()
      functions.mover?.beginChunk()
      try? connection.execute("ROLLBACK")
    }
    _ = try run(part)
  }

  // MARK: Validation

  /// The objects that break a rule, with the source objects that they were made of.
  private func searchInvalid(_ rejections: RejectionSearch) throws {
    var seen: Set<String> = []
    for chunk in plan.chunks {
      guard let entity = validatedEntity(chunk), seen.insert(entity).inserted else { continue }
      let part = "validate \(entity)"
      guard try !rejections.record.hasSearched(part) else { continue }
      let enough = try rejections.enough
      try rejections.search(part) { try findInvalid(entity, enough: enough, context: context(chunk), note: $0) }
    }
  }

  /// The entity that a chunk validates.
  func validatedEntity(_ chunk: Chunk) -> String? {
    switch chunk.work {
    case .validate(let mapping): program.mappings[mapping].destination.name
    case .validateEntity(let number): program.destinationSchema.entityName(number) ?? chunk.name
    default: nil
    }
  }

  private func findInvalid(
    _ entity: String, enough: Int64, context: String, note: (RejectionRecord.Rejection) throws -> Void
  ) throws {
    let validation = try program.validation.entity(entity)
    let makers = program.mappings.filter { $0.destination.name == entity && $0.earlier == nil }
    // A source object becomes at most one object of each mapping: so many are of enough source objects.
    let (most, isUnbounded) = enough.multipliedReportingOverflow(by: Int64(max(1, makers.count)))
    let count = try collectInvalid(
      validation, of: entity, from: .min, through: .max, atMost: isUnbounded ? .max : most, context: context)
    for mapping in makers where count > 0 {
      let builder = StatementBuilder()
      // Several source objects may make one object, so all of them are rejected for its values.
      let makers = try program.associations(builder).makers(mapping.index, of: "godwit_broken", as: "b")
      let statement = ChunkStatement(sql: "SELECT s.Z_PK, b.rule \(makers) ORDER BY s.Z_PK", builder: builder)
      try functions.running(statement, context: context) {
        try connection.query(statement.sql, statement.builder.arguments()) { row in
          guard validation.rules.indices.contains(row.int(1)) else { return true }
          let rule = validation.rules[row.int(1)]
          try note(
            .init(
              entity: mapping.source.name, key: row.int64(0), mapping: mapping.name, destination: entity,
              property: rule.property.isEmpty ? nil : rule.property, message: rule.message))
          return true
        }
      }
    }
  }

  /// Puts the objects of an entity that break a rule into `temp.godwit_broken`, with the first rule that each breaks.
  ///
  /// - Returns: how many.
  func collectInvalid(
    _ validation: EntityValidation, of entity: String, from first: Int64, through last: Int64,
    atMost most: Int64 = .max, context: String
  ) throws -> Int64 {
    try connection.execute("CREATE TEMP TABLE IF NOT EXISTS godwit_broken (d INTEGER PRIMARY KEY, rule INTEGER)")
    try connection.execute("DELETE FROM temp.godwit_broken")
    let add = try connection.prepare("INSERT INTO temp.godwit_broken (d, rule) VALUES (?1, ?2)")
    defer { add.finalize() }
    var count: Int64 = 0
    try forEachInvalid(validation, of: entity, from: first, through: last, context: context) { key, rule in
      try add.run([.integer(key), .int(rule)])
      count += 1
      return count < most
    }
    return count
  }

  /// Hands the objects of an entity that break a rule to `body`, in the order of keys, with the number of the first rule
  /// that each breaks, until it returns false.
  func forEachInvalid(
    _ validation: EntityValidation, of entity: String, from first: Int64, through last: Int64, context: String,
    _ body: (Int64, Int) throws -> Bool
  ) throws {
    let patterns = try validation.patterns.map { try $0.compiled() }
    let statement = ChunkStatement(sql: validation.sql, builder: StatementBuilder())
    try functions.running(statement, context: context, with: StatementInputs(patterns: patterns)) {
      try connection.query(statement.sql, [.integer(first), .integer(last)]) { row in
        try body(row.int64(0), row.int(1))
      }
    }
  }
}

extension StoreConnection {
  /// The lowest and the highest key of a table of the source between two keys; nil without rows.
  func sourceKeys(of table: String, from first: Int64, through last: Int64) throws -> (Int64, Int64)? {
    try ends(of: "FROM source.\(quoted(table)) AS s WHERE s.Z_PK BETWEEN ?1 AND ?2", from: first, through: last)
  }

  /// The lowest and the highest key of rows `s` between the keys `?1` and `?2`; nil without rows.
  func ends(of rows: String, from first: Int64, through last: Int64) throws -> (Int64, Int64)? {
    let row = try self.rows(
      "SELECT (SELECT MIN(s.Z_PK) \(rows)), (SELECT MAX(s.Z_PK) \(rows))", [.integer(first), .integer(last)]
    ).first
    guard let row, case (.integer(let low), .integer(let high)) = (row[0], row[1]) else { return nil }
    return (low, high)
  }
}

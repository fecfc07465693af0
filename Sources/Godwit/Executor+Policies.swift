import GodwitModel
import GodwitStore

/// The chunks of mappings with a policy.
extension Executor {
  private static let pageRows = 500

  private func running() throws -> PolicyRun {
    guard let policies else { throw GodwitError(.internalBug, "no policy is at work") }
    return policies
  }

  /// Instance creation: the hook for each source object that the mapping takes, in key order.
  func createByPolicy(_ chunk: Chunk) throws -> Ledger.Outcome {
    let run = try running()
    guard let policy = program.resolved.policies.firstIndex(where: { $0.index == chunk.subject }) else {
      throw GodwitError(.internalBug, "cannot find the policy of \(chunk.name)")
    }
    let mapping = program.mappings[chunk.subject]
    try run.prepare(policy, for: .createDestinationInstances)
    let statement = try program.takenKeys(chunk.subject, limit: Self.pageRows)
    var next: Int64? = chunk.range.first
    while let first = next, first <= chunk.range.last {
      let keys = try run.rows(statement, from: first, through: chunk.range.last).compactMap { row -> Int64? in
        if case .integer(let key)? = row.first { key } else { nil }
      }
      for key in keys {
        guard let stored = try run.sourceContext.object(entityName: mapping.source.name, key: key) else { continue }
        let object = ManagedObject(stored, isSource: true, run: run)
        try run.call(.createDestinationInstances, of: policy, on: object) { instance, mapping, pass in
          try instance.createDestinationInstances(forSource: object, in: mapping, manager: &pass)
        }
      }
      next = keys.count == Self.pageRows ? keys.last.flatMap { $0 < .max ? $0 + 1 : nil } : nil
    }
    return try finish(run)
  }

  /// A hook, or the relationships of the objects that came of a range of source keys.
  func runPolicy(_ chunk: Chunk) throws -> Ledger.Outcome {
    let run = try running()
    guard let hook = PolicyRun.Hook(rawValue: chunk.part), program.resolved.policies.indices.contains(chunk.subject)
    else { throw GodwitError(.internalBug, "cannot find hook \(chunk.part) of \(chunk.name)") }
    try run.prepare(chunk.subject, for: hook)
    if hook == .createRelationships {
      try relateByPolicy(chunk, run)
    } else {
      try run.call(hook, of: chunk.subject, on: nil) { instance, mapping, pass in
        switch hook {
        case .begin: try instance.begin(mapping, with: &pass)
        case .endInstanceCreation: try instance.endInstanceCreation(forMapping: mapping, manager: &pass)
        case .endRelationshipCreation: try instance.endRelationshipCreation(forMapping: mapping, manager: &pass)
        case .performCustomValidation: try instance.performCustomValidation(forMapping: mapping, manager: &pass)
        case .end: try instance.end(mapping, manager: &pass)
        case .createRelationships, .createDestinationInstances: break
        }
      }
    }
    return try finish(run)
  }

  private func relateByPolicy(_ chunk: Chunk, _ run: PolicyRun) throws {
    guard let index = program.resolved.policies[chunk.subject].index else { return }
    let table = StepProgram.pairTable(index)
    // An object of several source objects has its turn with the first of them.
    let sql = """
      SELECT p.source, p.turn, p.entity, p.destination FROM main.\(table) AS p \
      WHERE (p.source, p.turn) > (?1, ?2) AND p.source BETWEEN ?3 AND ?4 AND NOT EXISTS (SELECT 1 FROM main.\(table) AS e \
      WHERE e.destination = p.destination AND e.entity = p.entity AND (e.source, e.turn) < (p.source, p.turn)) \
      ORDER BY p.source, p.turn LIMIT \(Self.pageRows)
      """
    let range: [SQLValue] = [.integer(chunk.range.first), .integer(chunk.range.last)]
    var last: [SQLValue] = [.integer(chunk.range.first), .integer(-1)]
    while true {
      let rows = try run.rows(sql, last + range)
      for row in rows {
        guard case .integer(let number) = row[2], case .integer(let key) = row[3],
          let entity = program.destinationSchema.entityName(Int(truncatingIfNeeded: number)),
          let object = try run.destinationObject(entity, key: key)
        else { continue }
        try run.call(.createRelationships, of: chunk.subject, on: object) { instance, mapping, pass in
          try instance.createRelationships(forDestination: object, in: mapping, manager: &pass)
        }
      }
      guard rows.count == Self.pageRows, let end = rows.last else { return }
      last = Array(end.prefix(2))
    }
  }

  private func finish(_ run: PolicyRun) throws -> Ledger.Outcome {
    let made = run.inserted
    for entity in made.keys.sorted() {
      try functions.mover?.finishChunk(table: try program.destinationTable(of: entity).name, on: connection)
      try raiseCounter(of: entity)
    }
    try run.finishChunk()
    return .init(rows: made.values.reduce(0, +))
  }
}

package import GodwitJob
import GodwitModel
import GodwitStore

extension Planner {
  /// Finds the objects for which a filter cannot be computed, so that the mapping that takes them is unknown.
  ///
  /// - Parameter error: The failure of the plan.
  /// - Throws: `RejectedObjectsFound` when the run must begin again without them. Returns when the caller must report
  ///   the error.
  package func searchRejected(after error: any Error, _ rejections: RejectionSearch) throws {
    guard let known = error as? GodwitError, known.isOfObject else { return }
    var objects: Int64 = 0
    for entity in Set(resolved.entityMappings.map(\.source.name)).sorted(by: { $0 < $1 }) {
      guard let table = sourceSchema.table(of: entity) else { continue }
      objects +=
        try connection.integer(
          "SELECT COUNT(*) FROM source.\(quoted(table.name))\(sourceSchema.isObject(of: [entity]).clause)") ?? 0
    }
    try rejections.setTaken(atMost: objects)
    for mapping in resolved.entityMappings where mapping.earlier == nil && mapping.filter != nil {
      let part = "filter \(mapping.name)"
      guard try !rejections.record.hasSearched(part), let table = sourceSchema.table(of: mapping.source.name) else {
        continue
      }
      let rows = try filterSearch(mapping, table: table.name, enough: try rejections.enough)
      try rejections.search(part, of: mapping, from: .min, through: .max, rows)
    }
    if try rejections.record.countOfRound > 0 { throw RejectedObjectsFound() }
  }

  /// The most objects that a plan leaves out: each statement lists them.
  private static let limitUncomputable: Int64 = 20_000

  /// The plan of a job that may set objects aside. It leaves out the objects for which a filter cannot be computed.
  ///
  /// - Throws: as `plan`; also when there are more such objects than the job may set aside.
  package func planLeavingOutUncomputable(now: Double) throws -> (MigrationPlan, StepProgram) {
    do { return try plan(now: now) } catch let error as GodwitError
      where error.isOfObject && job.quarantine != nil
    {
      let found = try uncomputable()
      let keys = Dictionary(grouping: found) { resolved.entityMappings[$0.mapping].source.name }
        .mapValues { Set($0.flatMap(\.keys)).sorted() }
      let limit = min(job.quarantine?.limit(of: .max) ?? 0, Self.limitUncomputable)
      guard !keys.isEmpty, keys.values.reduce(0, { $0 + Int64($1.count) }) <= limit else { throw error }
      var rest = self
      for index in resolved.entityMappings.ids {
        rest.resolved.entityMappings[index].uncomputable = keys[resolved.entityMappings[index].source.name] ?? []
      }
      var (plan, program) = try rest.plan(now: now)
      plan.uncomputable = found
      return (plan, program)
    }
  }

  /// The objects for which a filter cannot be computed; of each filter a few more at most than a plan may leave out.
  private func uncomputable() throws -> [MigrationPlan.Uncomputable] {
    try resolved.entityMappings.compactMap { mapping in
      guard mapping.earlier == nil, mapping.filter != nil, let table = sourceSchema.table(of: mapping.source.name)
      else {
        return nil
      }
      var found = MigrationPlan.Uncomputable(mapping: mapping.index, keys: [], message: "")
      var rows = try filterSearch(mapping, table: table.name, enough: Self.limitUncomputable + 1)
      try rows.search(from: .min, through: .max) { key, error in
        if found.keys.isEmpty { found.message = error.message }
        found.keys.append(key)
      }
      return found.keys.isEmpty ? nil : found
    }
  }

  /// Finds the rows for which the filter of a mapping cannot be computed.
  private func filterSearch(_ mapping: ResolvedEntityMapping, table: String, enough: Int64) throws -> RowSearch {
    let statement = try filterTest(mapping, table: table)
    return RowSearch(
      enough: enough, ends: { try connection.sourceKeys(of: table, from: $0, through: $1) },
      attempt: { first, last in
        _ = try functions.running(statement, context: "planning, the filter of \(mapping.name)") {
          try connection.rows(statement.sql, statement.builder.arguments(from: first, through: last))
        }
      })
  }

  /// Computes a filter for the rows between two keys, as the plan does when it counts them.
  private func filterTest(_ mapping: ResolvedEntityMapping, table: String) throws -> ChunkStatement {
    let builder = StatementBuilder()
    builder.rowChecks = RowChecks()
    var association = AssociationLowering(
      mappings: resolved.entityMappings,
      facts: PlanFacts(
        mappings: resolved.entityMappings.map { _ in
          .init(rows: 0, minimumKey: 0, maximumKey: 0, keys: .offset(0), chunkRows: 1)
        }, entities: [], overlaps: [], highestKeys: [:], now: functions.now, sourceBytes: sourceBytes),
      schema: sourceSchema, builder: builder)
    association.checks = .byRow
    let test = association.matches(mapping.index, alias: "s").sql
    var key = "s.Z_PK"
    if let checks = builder.rowChecks, !checks.fields.isEmpty {
      key = checks.guarding(key, member: "-1", builder: builder)
    }
    let kind = sourceSchema.isObject(of: [mapping.source.name], row: "s").further
    return ChunkStatement(
      sql:
        "SELECT COUNT(\(key)), SUM((\(test)) IS TRUE) FROM source.\(quoted(table)) AS s WHERE s.Z_PK BETWEEN ?1 AND ?2\(kind)",
      builder: builder)
  }
}

import GodwitJob
import GodwitModel
import GodwitStore

/// Several mappings of one table, carried out in one walk over it.
extension CreationStatements {
  /// Whether one statement can make the objects of two mappings: of one source table, into one destination table, with
  /// keys computed from the source's in the same way. No object may go through both, or their keys would collide.
  func canShare(_ a: MappingID, _ b: MappingID) -> Bool {
    func isPlain(_ index: MappingID) -> Bool {
      !isStored(index) && !isPolicy(index) && mappings[index].earlier == nil && !facts.mappings[index].isEmpty
    }
    return a != b && isPlain(a) && isPlain(b) && facts.mappings[a].keys == facts.mappings[b].keys
      && !facts.overlap(a, b)
      && sourceSchema.table(of: mappings[a].source.name)?.name == sourceSchema.table(of: mappings[b].source.name)?.name
      && destinationSchema.table(of: mappings[a].destination.name)?.name
        == destinationSchema.table(of: mappings[b].destination.name)?.name
  }

  /// One statement for the objects of several mappings that can share one; nil when a value needs a join.
  ///
  /// Which mapping takes a row is computed in place where that is short. Otherwise an inner query reads each row once
  /// and says so as `godwit_member`; its `LIMIT` keeps SQLite from putting the question into every column. `godwit_row`
  /// counts each mapping's rows by position.
  func statement(sharing indices: [MappingID]) throws -> ChunkStatement? {
    try step.kept.sharedCreations(indices) { try lower(sharing: indices) }
  }

  private func lower(sharing indices: [MappingID]) throws -> ChunkStatement? {
    let builder = StatementBuilder()
    let association = associations(builder)
    var reasons: [String] = []
    var columns: [String] = []
    var values: [[String: String]] = []
    var checks: [RowChecks] = []
    for index in indices {
      builder.rowChecks = RowChecks()
      let rows = try rows(of: index, builder: builder)
      guard rows.joins.isEmpty, let own = builder.rowChecks else { return nil }
      reasons += rows.reasons
      columns += rows.columns.filter { !columns.contains($0) }
      values.append(Dictionary(zip(rows.columns, rows.values)) { first, _ in first })
      checks.append(own)
    }
    let parts = columns.map { column in values.map { $0[column] ?? "NULL" } }
    // If every row goes through one of the mappings, the last one needs no test.
    let matchesAll = matchesAll(indices)
    func choose(_ parts: [String], by conditions: [String]) -> String {
      if Set(parts).count == 1 { return parts[0] }
      let asked = matchesAll ? conditions.dropLast() : conditions[...]
      let cases = zip(asked, parts).map { "WHEN \($0) THEN \($1)" }
      return "(CASE \(cases.joined(separator: " "))\(matchesAll ? " ELSE \(parts[parts.count - 1])" : "") END)"
    }
    let numbers = indices.indices.map(String.init)
    func member(of alias: String) -> String {
      choose(numbers, by: indices.map { association.matches($0, alias: alias).sql })
    }
    let short = member(of: "s")
    let uses = parts.count { Set($0).count > 1 } + 2
    let isInPlace =
      uses * short.utf8.count <= Self.limitInPlace && !short.contains("godwit_") && !short.contains("SELECT")
    let chosen = isInPlace ? short : "s.godwit_member"
    let conditions =
      isInPlace ? indices.map { association.matches($0, alias: "s").sql } : numbers.map { "\(chosen) = \($0)" }
    func choose(_ parts: [String]) -> String { choose(parts, by: conditions) }
    var selected = parts.map(choose)
    // Mappings that test the same have one call between them; which place failed is found out by each one's own chunk.
    let keys = zip(checks, parts[0])
    if Set(parts[0]).count == 1, checks.allSatisfy({ $0.isAlike(checks[0]) }) {
      selected[0] = checks[0].guarding(parts[0][0], member: chosen, builder: builder)
    } else {
      selected[0] = choose(
        keys.enumerated().map { number, own in own.0.guarding(own.1, member: "\(number)", builder: builder) })
    }
    let table = try association.table(indices[0])
    let from: String
    if isInPlace {
      let isTaken = matchesAll ? "" : " AND \(chosen) IS NOT NULL"
      from = "\(table) AS s WHERE s.Z_PK BETWEEN ?1 AND ?2\(isTaken) ORDER BY s.Z_PK"
    } else {
      let read = ["Z_PK"] + sourceColumns(of: indices[0]).filter { $0 != "Z_PK" && Self.names($0, in: selected) }
      let inner = read.map { "t.\(quoted($0)) AS \(quoted($0))" } + ["\(member(of: "t")) AS godwit_member"]
      from =
        "(SELECT \(inner.joined(separator: ", ")) FROM \(table) AS t WHERE t.Z_PK BETWEEN ?1 AND ?2 ORDER BY t.Z_PK LIMIT -1) AS s WHERE \(chosen) IS NOT NULL"
    }
    return ChunkStatement(
      sql: "\(try insertion(indices[0], columns: columns)) SELECT \(selected.joined(separator: ", ")) FROM \(from)",
      builder: builder, reasons: reasons)
  }

  /// Whether every row of the mappings' table goes through one of them.
  private func matchesAll(_ indices: [MappingID]) -> Bool {
    let table = sourceSchema.table(of: mappings[indices[0]].source.name)?.name
    let rows = facts.entities.filter { sourceSchema.table(of: $0.name)?.name == table }.reduce(0) { $0 + $1.rows }
    return indices.reduce(0) { $0 + facts.mappings[$1].rows } == rows
  }

  /// Bytes of SQL that the question which mapping takes a row may take in all its places.
  private static let limitInPlace = 1000

  private func sourceColumns(of index: MappingID) -> [String] {
    sourceSchema.table(of: mappings[index].source.name)?.columns.map(\.name) ?? []
  }

  private static func names(_ column: String, in values: [String]) -> Bool {
    values.contains { $0.contains("s.\(quoted(column))") || $0.contains("s.\(column)") }
  }
}

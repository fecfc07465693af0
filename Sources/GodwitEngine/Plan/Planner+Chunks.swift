import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

extension Planner {
  /// The mappings of a pass, those together that one statement can serve, in the order of the first of each.
  func creationGroups(of pass: [MappingID], program: StepProgram) -> [[MappingID]] {
    /// Mappings that can share a statement have the tables in common.
    struct Tables: Hashable { let source, destination: String? }
    var groups: [[MappingID]] = []
    var known: [Tables: [Int]] = [:]
    for index in pass {
      let mapping = program.mappings[index]
      let tables = Tables(
        source: sourceSchema.table(of: mapping.source.name)?.name,
        destination: destinationSchema.table(of: mapping.destination.name)?.name)
      // Hooks stand around the chunks of their own mapping.
      let isWhole = !resolved.hasPolicies && job.chunkPredicates[mapping.name] == nil
      if isWhole,
        let fitting = known[tables]?.first(where: { group in
          groups[group].allSatisfy {
            program.creation.canShare($0, index) && job.chunkPredicates[program.mappings[$0].name] == nil
          }
        })
      {
        groups[fitting].append(index)
      } else {
        known[tables, default: []].append(groups.count)
        groups.append([index])
      }
    }
    return groups
  }

  /// Key ranges of a table for all mappings that are served together.
  func keyRanges(of members: [MappingID], program: StepProgram) throws -> [(Chunk.KeyRange, Int64)] {
    let entities = Set(members.map { program.mappings[$0].source.name })
    let total = program.facts.entities.filter { entities.contains($0.name) }.reduce(0) { $0 + $1.rows }
    let only = entities.count == 1 ? entities.first : nil
    return try keyRanges(
      table: program.sourceTable(entities.first ?? ""), key: "Z_PK", entity: only, total: total,
      rows: members.map { program.facts.mappings[$0].chunkRows }.min() ?? Self.maximumChunkRows)
  }

  /// Half-open key ranges of about `rows` rows each that together cover every key, from minus infinity. They are cut by
  /// rows, not by keys, so that a table with a billion holes has few.
  ///
  /// - Parameter total: The rows there are.
  func keyRanges(
    table: String, key: String, entity: String?, total: Int64, rows: Int64
  ) throws -> [(Chunk.KeyRange, Int64)] {
    let condition = entity.map { sourceSchema.isObject(of: [$0]).further } ?? ""
    let name = quoted(table)
    guard total > 0 else { return [] }
    if scan.isSample { return try evenRanges(table: table, key: key, total: total, rows: rows) }
    if key == "Z_PK", let known = try rangesWithoutGaps(table: name, total: total, rows: rows) { return known }
    var ranges: [(Chunk.KeyRange, Int64)] = []
    var lower: Int64?
    var left = total
    let next = try connection.prepare(
      "SELECT \(key) FROM source.\(name) WHERE \(key) >= ?1\(condition) ORDER BY \(key) LIMIT 1 OFFSET ?2")
    defer { next.finalize() }
    while left > rows {
      try next.bind([.integer(lower ?? .min), .integer(rows)])
      guard try next.step() else { break }
      var upper = next.row.int64(0)
      if upper == lower {
        // More rows than a chunk's have one key, which cannot be cut.
        guard
          let above = try connection.integer(
            "SELECT MIN(\(key)) FROM source.\(name) WHERE \(key) > ?1", [.integer(upper)])
        else { break }
        upper = above
      }
      ranges.append((.init(lower: lower, upper: upper), rows))
      lower = upper
      left -= rows
    }
    ranges.append((.init(lower: lower, upper: nil), left))
    return ranges
  }

  /// The same ranges, computed; nil for keys with a gap. If there are as many objects as keys between the ends, all rows
  /// of the table are objects, and none is missing.
  ///
  /// - Parameter table: As SQL.
  private func rangesWithoutGaps(table: String, total: Int64, rows: Int64) throws -> [(Chunk.KeyRange, Int64)]? {
    guard total > rows else { return [(.init(lower: nil, upper: nil), total)] }
    guard let ends = try connection.keys(of: "source.\(table)"),
      case (let span, false) = ends.upperBound.subtractingReportingOverflow(ends.lowerBound), span == total - 1
    else { return nil }
    var ranges: [(Chunk.KeyRange, Int64)] = []
    var lower: Int64?
    var left = total
    while left > rows {
      let upper = (lower ?? ends.lowerBound) + rows
      ranges.append((.init(lower: lower, upper: upper), rows))
      lower = upper
      left -= rows
    }
    return ranges + [(.init(lower: lower, upper: nil), left)]
  }

  /// Ranges with equal numbers of keys, for a plan that does not read every key.
  private func evenRanges(
    table: String, key: String, total: Int64, rows: Int64
  ) throws -> [(Chunk.KeyRange, Int64)] {
    guard let ends = try connection.keys(of: "source.\(quoted(table))", column: key) else { return [] }
    let keys = UInt64(bitPattern: ends.upperBound &- ends.lowerBound)
    let count = max(1, (total + rows - 1) / max(1, rows))
    let shares = Self.shares(of: total, by: (0..<count).map { _ in 1 })
    var lower: Int64?
    return shares.enumerated().map { number, share in
      let upper =
        number + 1 < count
        ? ends.lowerBound &+ Int64(bitPattern: keys / UInt64(count) * UInt64(number + 1)) &+ 1 : nil
      defer { lower = upper }
      return (.init(lower: lower, upper: upper), share)
    }
  }

  /// Parts of `total` in the proportion of weights, which add up to it.
  static func shares(of total: Int64, by weights: [Int64]) -> [Int64] {
    let whole = weights.reduce(0, +)
    guard whole > 0 else { return weights.map { _ in 0 } }
    var (weight, given): (Int64, Int64) = (0, 0)
    return weights.map { part in
      weight += part
      let product = total.multipliedFullWidth(by: weight)
      let share = whole.dividingFullWidth(product).quotient - given
      given += share
      return share
    }
  }

  /// Rows per predicate; a row that none or two of them take is an error.
  func countPredicates(
    _ predicates: [FilterPredicate], of mapping: ResolvedEntityMapping, facts: PlanFacts
  ) throws -> [Int64] {
    let builder = StatementBuilder()
    let association = AssociationLowering(
      mappings: resolved.entityMappings, facts: facts, schema: sourceSchema, builder: builder)
    let tests = predicates.enumerated().map { number, predicate in
      let sql = ExpressionLowering.condition(
        predicate, schema: sourceSchema, row: .init(alias: "s", entityName: mapping.source.name), builder: builder
      ).sql
      return "\(sql) IS TRUE AS p\(number)"
    }
    let sum = predicates.indices.map { "p\($0)" }.joinedEvenly(by: " + ")
    let columns =
      predicates.indices.map { "SUM(p\($0))" } + ["SUM((\(sum)) = 0)", "SUM((\(sum)) > 1)"]
    let table = try association.table(mapping.index)
    let takes = association.matches(mapping.index, alias: "s").sql
    guard let name = sourceSchema.table(of: mapping.source.name)?.name else { return predicates.map { _ in 0 } }
    let walk = SourceWalk(
      name, key: "s.Z_PK", builder: builder, context: "planning, counting the chunks of \(mapping.name)"
    ) {
      "SELECT \(columns.joined(separator: ", ")) FROM (SELECT \(tests.joined(separator: ", ")) FROM \(table) AS s"
        + whereClause(["(\(takes))", $0]) + " LIMIT -1)"
    }
    let counts = try scan.counts([walk])[0].sums(columns.count)
    let (none, several) = (counts[predicates.count], counts[predicates.count + 1])
    for (count, what) in [(none, "no predicate matches"), (several, "more than one predicate matches")] where count > 0
    {
      throw GodwitError(
        .configuration,
        "cannot chunk mapping '\(mapping.name)': \(what) \(count) of its \(facts.mappings[mapping.index].rows) objects",
        location: predicates.first?.source.location,
        remedy:
          "make the predicates under chunks.by match every object exactly once; a nil value needs '== nil', and 'rest' as the last one takes what no other takes"
      )
    }
    return Array(counts.prefix(predicates.count))
  }
}

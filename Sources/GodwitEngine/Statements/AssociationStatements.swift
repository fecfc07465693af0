import GodwitJob
import GodwitModel
import GodwitStore

/// The statements that say which source objects a mapping takes.
struct AssociationStatements: StageStatements {
  let step: StepProgram

  /// The source key of each object that a mapping takes, in key order; for `unique-by` it calls `godwit_identity` for
  /// each.
  func pairs(_ index: MappingID) throws -> ChunkStatement { try step.kept.pairs(index) { try lowerPairs(index) } }

  private func lowerPairs(_ index: MappingID) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let mapping = mappings[index]
    let association = associations(builder)
    let taken = association.matches(index, alias: "s")
    var reasons = taken.reason.map { [$0] } ?? []
    var columns = "s.Z_PK"
    var survivors = ""
    if step.isOrdered(index) {
      // The table of survivors takes what cannot be computed for nil: the row itself fails here.
      builder.rowChecks = RowChecks()
      let checked = try orderedValues(of: mapping, builder, &reasons)
      if let checks = builder.rowChecks, !checks.fields.isEmpty {
        columns = checks.guarding(columns, member: "-1", builder: builder)
      }
      columns += ", v.survivor, v.place, \(checked.joined(separator: ", "))"
      survivors = " LEFT JOIN main.\(StepProgram.survivorTable(index)) AS v ON v.source = s.Z_PK"
    } else if !mapping.mapping.uniqueBy.isEmpty {
      builder.rowChecks = RowChecks()
      let values = try identity(of: mapping, builder, &reasons)
      if let checks = builder.rowChecks, !checks.fields.isEmpty {
        columns = checks.guarding(columns, member: "-1", builder: builder)
      }
      columns += ", godwit_identity(\(values))"
    }
    // In the order of the table, because a sort would test all rows before it returns the first one.
    let sql =
      "SELECT \(columns) FROM \(try association.table(index)) AS s NOT INDEXED\(survivors) WHERE s.Z_PK BETWEEN ?1 AND ?2 AND \(taken.sql) ORDER BY s.Z_PK"
    return ChunkStatement(sql: sql, builder: builder, reasons: reasons)
  }

  /// The arguments that `godwit_identity` takes for a row `s`.
  private func identity(
    of mapping: ResolvedEntityMapping, _ builder: StatementBuilder, _ reasons: inout [String]
  ) throws -> String {
    let values = try keyValues(of: mapping, builder, &reasons)
    return (["\(mapping.mapping.mergesNil ? 1 : 0)", "s.Z_PK"] + values).joined(separator: ", ")
  }

  func keyValues(of mapping: ResolvedEntityMapping, _ builder: StatementBuilder) throws -> [String] {
    var reasons: [String] = []
    return try keyValues(of: mapping, builder, &reasons)
  }

  /// The values of `unique-by` for a row `s`.
  private func keyValues(
    of mapping: ResolvedEntityMapping, _ builder: StatementBuilder, _ reasons: inout [String]
  ) throws -> [String] {
    try mapping.mapping.uniqueBy.map { name in
      guard let (attribute, source) = mapping.attributes.first(where: { $0.attribute.name == name }) else {
        throw GodwitError(.internalBug, "cannot find unique-by attribute '\(name)'")
      }
      return try step.creation.storedValue(
        of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons)
    }
  }

  /// The rows that a `unique-by` mapping takes, as a query of `k`, the key, `id`, which equal objects share, and `o0`,
  /// `o1`, …, the values that the mapping orders by.
  ///
  /// - Parameter matches: The condition of the rows `s` that are taken, if it is not the filter's.
  func merging(_ index: MappingID, _ association: AssociationLowering, matching matches: String? = nil) throws -> String
  {
    var reasons: [String] = []
    let mapping = mappings[index]
    let arguments = try identity(of: mapping, association.builder, &reasons)
    let order = mapping.mapping.uniqueOrder.enumerated().map { number, descriptor in
      ", \(orderValue(descriptor, of: mapping, association.builder)) AS o\(number)"
    }
    return """
      SELECT s.Z_PK AS k, godwit_merging(\(arguments)) AS id\(order.joined()) \
      FROM \(try association.table(index)) AS s NOT INDEXED \
      WHERE \(matches ?? association.matches(index, alias: "s").sql)
      """
  }

  /// The values that decide about a row `s` of a mapping with an order of objects that become one: the values of
  /// `unique-by`, the values of the order, and the values that may fill others.
  private func orderedValues(
    of mapping: ResolvedEntityMapping, _ builder: StatementBuilder, _ reasons: inout [String]
  ) throws -> [String] {
    var values = ["godwit_identity(\(try identity(of: mapping, builder, &reasons)))"]
    values += mapping.mapping.uniqueOrder.map { orderValue($0, of: mapping, builder) }
    for (attribute, source) in mapping.attributes where mapping.fills(attribute, from: source) {
      let plain = source.withoutDefault
      // Reading a value in a file would carry it over.
      guard !hasExternalValue(attribute, plain, in: mapping) else { continue }
      let value = try step.creation.value(of: attribute, from: plain, in: mapping, builder: builder, reasons: &reasons)
      values.append("CASE WHEN v.survivor IS NOT NULL THEN typeof(\(value)) END")
    }
    return values
  }

  /// Whether a value may lie in a file.
  func hasExternalValue(
    _ attribute: AttributeDescription, _ source: ResolvedEntityMapping.AttributeSource,
    in mapping: ResolvedEntityMapping
  ) -> Bool {
    if attribute.allowsExternalBinaryDataStorage { return true }
    guard case .copy(let name) = source else { return false }
    return resolved.sourceModel.attribute(name, of: mapping.source.name)?.allowsExternalBinaryDataStorage == true
  }

  /// The value of a sort descriptor for a row `s`.
  func orderValue(
    _ descriptor: EntityMapping.SortDescriptor, of mapping: ResolvedEntityMapping, _ builder: StatementBuilder
  ) -> String {
    let lowered = ExpressionLowering.value(
      descriptor.expression, schema: sourceSchema, row: .init(alias: "s", entityName: mapping.source.name),
      builder: builder)
    // Stored as integers and as floating point, decimals compare as numbers.
    return lowered.type == .decimal ? "CAST(\(lowered.sql) AS REAL)" : lowered.sql
  }

  /// The objects that a `unique-by` mapping makes one with others, as a query of `k`, the key, and `f`, the key of the
  /// first of the same objects, which gives it its values. Where objects have an order, `t` is the number of each among
  /// them, from 1.
  func merged(_ index: MappingID, _ association: AssociationLowering, matching matches: String? = nil) throws -> String
  {
    guard step.isOrdered(index) else {
      return """
        SELECT k, f FROM (SELECT k, MIN(k) OVER same AS f, COUNT(*) OVER same AS n FROM \
        (\(try merging(index, association, matching: matches))) WINDOW same AS (PARTITION BY id)) WHERE n > 1
        """
    }
    return "SELECT k, f, t FROM (\(try ranked(index, association, matching: matches))) WHERE n > 1"
  }

  /// All rows that an ordered `unique-by` mapping takes, as `merged`, with `n`, which is 1 for a row that stays alone.
  ///
  /// One window gives all of it: SQLite sorts the rows again for each. Its frame ends with the next row, so that each row
  /// counts one more than its place, but the last of its group.
  private func ranked(
    _ index: MappingID, _ association: AssociationLowering, matching matches: String? = nil
  ) throws -> String {
    let order = mappings[index].mapping.uniqueOrder.enumerated().map { "o\($0)\($1.isAscending ? "" : " DESC")" }
    return """
      SELECT k, f, n - (next <> k) AS t, n FROM (\
      SELECT k, FIRST_VALUE(k) OVER ranked AS f, COUNT(*) OVER ranked AS n, LAST_VALUE(k) OVER ranked AS next FROM \
      (\(try merging(index, association, matching: matches))) WINDOW ranked AS (PARTITION BY id \
      ORDER BY \((order + ["k"]).joined(separator: ", ")) ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING))
      """
  }

  /// Stores the order of the objects that become one. Dense keys follow the order of the first of them, so with dense
  /// keys every object is stored.
  func survivors(_ index: MappingID) throws -> ChunkStatement {
    let builder = StatementBuilder()
    // A row whose values cannot be computed fails in its own chunk.
    builder.tolerateMisfits()
    let association = associations(builder)
    let isDense = if case .dense = facts.mappings[index].keys { true } else { false }
    let place = isDense ? "DENSE_RANK() OVER (ORDER BY f) - 1" : "NULL"
    let rows = try isDense ? ranked(index, association) : merged(index, association)
    let table = "main.\(StepProgram.survivorTable(index))"
    return ChunkStatement(
      sql: "INSERT INTO \(table) (source, survivor, turn, place) SELECT k, f, t, \(place) FROM (\(rows)) ORDER BY k",
      builder: builder)
  }

  /// Stores the associations that a mapping would compute for source keys from `?1` through `?2`.
  func pairsWritten(_ index: MappingID) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let association = associations(builder)
    let mapping = mappings[index]
    let root = sourceSchema.model.root(of: mapping.source.name)?.name ?? mapping.source.name
    return ChunkStatement(
      sql: """
        INSERT INTO main.\(StepProgram.pairTable(index)) (turn, root, source, entity, destination) \
        SELECT 0, \(sourceSchema.number(of: root) ?? -1), s.Z_PK, \(destinationSchema.number(of: mapping.destination.name) ?? -1), \
        \(association.counterpart(index, ofRow: "s")) FROM \(try association.table(index)) AS s \
        WHERE s.Z_PK BETWEEN ?1 AND ?2 AND \(association.matches(index, alias: "s").sql) ORDER BY s.Z_PK
        """, builder: builder)
  }

  /// The source keys that a mapping takes, from `?1` through `?2`, up to a limit.
  func takenKeys(_ index: MappingID, limit: Int = -1) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let association = associations(builder)
    let taken = association.matches(index, alias: "s")
    return ChunkStatement(
      sql:
        "SELECT s.Z_PK FROM \(try association.table(index)) AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 AND \(taken.sql) ORDER BY s.Z_PK LIMIT \(limit)",
      builder: builder)
  }

  /// Each source key that some of these mappings of one table take, from `?1` through `?2`, and for each mapping whether
  /// it does.
  func takenKeys(together indices: [MappingID]) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let association = associations(builder)
    let columns = indices.enumerated().map { "(\(association.matches($1, alias: "s").sql)) IS TRUE AS t\($0)" }
    return ChunkStatement(
      sql: """
        SELECT s.Z_PK, \(columns.joined(separator: ", ")) FROM \(try association.table(indices[0])) AS s NOT INDEXED \
        WHERE s.Z_PK BETWEEN ?1 AND ?2 ORDER BY s.Z_PK
        """, builder: builder)
  }

  /// The destination key that a mapping without a policy gives source row `?1`.
  func computedDestination(_ index: MappingID) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let sql = try associations(builder).lookup(index, key: "?1")
    return ChunkStatement(sql: "SELECT \(sql)", builder: builder)
  }
}

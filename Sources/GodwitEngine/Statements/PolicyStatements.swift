import GodwitJob
import GodwitModel
import GodwitStore

/// The statements that a policy's hooks run on objects of their mapping.
struct PolicyStatements: StageStatements {
  let step: StepProgram

  /// The attributes that a mapping with a policy gives its objects: see `MappedRow`.
  func mappedRow(_ index: MappingID, layout: ObjectLayout) throws -> MappedRow {
    let mapping = mappings[index]
    let single = try mappedValues(mapping)
    let list = single.values.isEmpty ? "1" : single.values.joined(separator: ", ")
    let table = try associations(single.builder).table(index)
    let statement = ChunkStatement(
      sql: "SELECT \(list) FROM \(table) AS s WHERE s.Z_PK = ?1", builder: single.builder)
    return MappedRow(
      mapping, sourceNumber: sourceSchema.number(of: mapping.source.name) ?? -1, columns: single.columns,
      statement: statement,
      isComputableAhead: isComputableAhead(mapping, single.builder),
      watches: step.losses.nilWatches(index), layout: layout)
  }

  /// Rows of a mapping with a policy: the source's own, `columns` in SQL, then with `isPrepared` the values that the
  /// mapping gives, then the keys of links that are written with the objects.
  func policyPage(
    _ index: MappingID, columns: String, isPrepared: Bool, limit: Int
  ) throws -> (statement: ChunkStatement, keyColumns: [String]) {
    let mapped =
      isPrepared
      ? try mappedValues(mappings[index]) : MappedValues(columns: [], values: [], builder: StatementBuilder())
    let association = associations(mapped.builder)
    var joins: [String] = []
    let keys = try step.creation.foreignKeys(of: mappings[index], association: association, joins: &joins)
    let list = ([columns] + mapped.values + keys.map(\.sql)).joined(separator: ", ")
    let from = (["\(try association.table(index)) AS s"] + joins).joined(separator: " ")
    let statement = ChunkStatement(
      sql:
        "SELECT \(list) FROM \(from) WHERE s.Z_PK BETWEEN ?1 AND ?2 AND \(association.matches(index, alias: "s").sql) ORDER BY s.Z_PK LIMIT \(limit)",
      builder: mapped.builder)
    return (statement, keys.map(\.name))
  }

  private struct MappedValues {
    var columns, values: [String]
    var builder: StatementBuilder
  }

  private func mappedValues(_ mapping: ResolvedEntityMapping) throws -> MappedValues {
    let builder = StatementBuilder()
    var reasons: [String] = []
    var columns: [String] = []
    var values: [String] = []
    for (attribute, source) in mapping.attributes {
      guard let column = destinationSchema.column(of: attribute.name, in: mapping.destination.name) else { continue }
      columns.append(column)
      values.append(
        try step.creation.value(of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons))
    }
    return MappedValues(columns: columns, values: values, builder: builder)
  }

  /// Whether the values of a mapping may be computed before its policy reads them. This requires that nothing is
  /// evaluated in Swift, where the policy may be called, and that no file is carried over.
  private func isComputableAhead(_ mapping: ResolvedEntityMapping, _ builder: StatementBuilder) -> Bool {
    let source = resolved.sourceModel.attributes(of: mapping.source.name)
    return builder.functions.evaluations.isEmpty
      && !(source + mapping.attributes.map(\.attribute)).contains(where: \.allowsExternalBinaryDataStorage)
  }

  /// The keys that object `?1` at one end of a link leads to by the assignments so far, in order.
  func related(_ index: LinkID, from end: InversePair.End) -> String {
    let link = links[index]
    let place = link.isOwnInverse ? "CASE WHEN d = ?1 THEN dx ELSE xd END" : end == .first ? "dx" : "xd"
    let other = link.isOwnInverse ? "CASE WHEN d = ?1 THEN x ELSE d END" : end == .first ? "x" : "d"
    let edges: String
    if link.isOwnInverse {
      edges = step.resolution.edgeQuery(
        index, subject: "(subject = ?1 OR target = ?1)", target: "(subject = ?1 OR target = ?1)")
    } else if end == .first {
      edges = step.resolution.edgeQuery(index, subject: "target IS NOT NULL AND subject = ?1", target: "target = ?1")
    } else {
      edges = step.resolution.edgeQuery(index, subject: "target = ?1", target: "target IS NOT NULL AND subject = ?1")
    }
    return
      "SELECT \(other) AS other, MIN(\(place)) FROM (\(edges)) AS e WHERE \(step.resolution.survives(index)) GROUP BY 1 ORDER BY 2, 1"
  }
}

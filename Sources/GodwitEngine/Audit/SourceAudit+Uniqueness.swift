import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

extension SourceAudit {
  /// The constraints of the source version.
  func auditUniqueness() throws {
    for entity in model.entities {
      for properties in entity.uniquenessConstraints {
        guard let table = schema.table(of: entity.name), let columns = columns(properties, of: entity.name) else {
          skip("uniqueness of \(entity.name).\(properties.joined(separator: ", ")), version '\(model.name)'")
          continue
        }
        let values = columns.map { "s.\(quoted($0))" }
        let filled = values.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        let name = entityName(inTableOf: entity.name, row: "s")
        let kind = schema.isKind(of: entity.name, row: "s").further
        try findDuplicates(
          in:
            "SELECT s.Z_PK AS k, \(name) AS e, \(Self.named(values)) FROM source.\(quoted(table.name)) AS s WHERE \(filled)\(kind)",
          columns: values.count, model: model.name, entity.name, properties)
      }
    }
  }

  /// The columns of attributes and to-ones; nil when one of them has no column.
  private func columns(_ properties: [String], of entity: String) -> [String]? {
    let columns = properties.compactMap { property -> String? in
      if let column = schema.column(of: property, in: entity) { return column }
      guard case .foreignKey(_, let column, _, _) = schema.storage(of: property, in: entity) else { return nil }
      return column
    }
    return columns.count == properties.count && !columns.isEmpty ? columns : nil
  }

  /// The constraints of the destination version, over all mappings that do not compute the values concerned.
  func auditDestinationUniqueness(_ program: StepProgram) throws {
    let destination = resolved.destinationModel
    for entity in destination.entities {
      for properties in entity.uniquenessConstraints {
        let what = "uniqueness of \(entity.name).\(properties.joined(separator: ", ")), version '\(destination.name)'"
        if attached.existing != nil { skip("\(what), against the objects that are in the destination already") }
        let builder = StatementBuilder()
        let association = inlineAssociations(program, builder)
        var parts: [String] = []
        var isPartial = false
        for mapping in resolved.mappings(to: entity.name) where mapping.earlier == nil {
          guard mapping.mapping.uniqueBy.isEmpty, !program.isPolicy(mapping.index),
            let values = try values(properties, of: mapping, program, builder)
          else {
            skip("\(what), for the objects of mapping '\(mapping.name)'")
            continue
          }
          let filled = values.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
          let taken = taken(mapping.index, alias: "s", association)
          if filterFailures[mapping.index]?.isComplete == false { isPartial = true }
          parts.append(
            "SELECT s.Z_PK AS k, \(textLiteral(mapping.source.name)) AS e, \(Self.named(values)) FROM \(try association.table(mapping.index)) AS s WHERE (\(taken)) AND \(filled)"
          )
        }
        guard !parts.isEmpty else { continue }
        try findDuplicates(
          in: parts.joined(separator: " UNION ALL "), columns: properties.count, model: destination.name,
          resolved.mappings(to: entity.name)[0].source.name, properties, builder: builder, isPartial: isPartial)
      }
    }
  }

  /// The values that a mapping gives the attributes of a constraint, as SQL; nil when one of them is computed or not an
  /// attribute.
  private func values(
    _ properties: [String], of mapping: ResolvedEntityMapping, _ program: StepProgram, _ builder: StatementBuilder
  ) throws -> [String]? {
    var values: [String] = []
    for property in properties {
      guard let (attribute, source) = mapping.attributes.first(where: { $0.attribute.name == property }) else {
        return nil
      }
      if case .expression = source.withoutDefault,
        plainColumn(of: source.withoutDefault, for: attribute, in: mapping) == nil
      {
        return nil
      }
      let sql = try sql(of: attribute, from: source, in: mapping, program, builder)
      // Core Data reads any number but 0 as true, and writes 1.
      values.append(attribute.type == .boolean ? "(\(sql) <> 0)" : sql)
    }
    return values.isEmpty ? nil : values
  }

  private static func named(_ values: [String]) -> String {
    values.enumerated().map { "\($1) AS v\($0)" }.joined(separator: ", ")
  }

  /// - Parameters:
  ///   - rows: A query of keys `k`, names of entities `e` and values `v0`, `v1`…, none of which is NULL.
  ///   - isPartial: Whether there are rows beside these.
  private func findDuplicates(
    in rows: String, columns: Int, model: String, _ entity: String, _ properties: [String],
    builder: StatementBuilder = StatementBuilder(), isPartial: Bool = false
  ) throws {
    countChecks(1)
    let names = (0..<columns).map { "v\($0)" }
    let list = names.joined(separator: ", ")
    let groups = "FROM (\(rows)) GROUP BY \(list) HAVING COUNT(*) > 1"
    let counted = try self.rows("SELECT SUM(n) FROM (SELECT COUNT(*) AS n \(groups))", builder).first?.first
    guard case .integer(let count)? = counted, count > 0 else { return }
    if isForecast { return addDuplicates(count, of: entity, properties, isPartial: isPartial) }
    let own = names.map { "r.\($0)" }.joined(separator: ", ")
    let isSame = names.map { "r.\($0) = g.\($0)" }.joined(separator: " AND ")
    let found = try self.rows(
      "SELECT r.k, r.e\(showsValues ? ", \(own)" : "") FROM (\(rows)) AS r JOIN (SELECT \(list) \(groups) ORDER BY \(list) LIMIT \(sampleCount)) AS g ON \(isSame) ORDER BY \(own), r.k LIMIT \(sampleCount)",
      builder)
    add(
      AuditReport.Finding(
        .duplicate, model: model, entity: entity, property: properties.joined(separator: ", "), count: count,
        isLowerBound: isPartial, message: "objects share values that must be unique in version '\(model)'",
        samples: found.map { sample($0, of: entity) }))
  }
}

import GodwitJob
import GodwitModel
import GodwitStore

extension SourceAudit {
  /// The constraints of the source version.
  func auditUniqueness() throws {
    for entity in model.entities {
      for properties in entity.uniquenessConstraints {
        guard let table = schema.table(of: entity.name), let columns = columns(properties, of: entity.name, in: schema)
        else {
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
  private func columns(_ properties: [String], of entity: String, in schema: StoreSchema) -> [String]? {
    let columns = properties.compactMap { property -> String? in
      if let column = schema.column(of: property, in: entity) { return column }
      guard case .foreignKey(_, let column, _, _) = schema.storage(of: property, in: entity) else { return nil }
      return column
    }
    return columns.count == properties.count && !columns.isEmpty ? columns : nil
  }

  /// The constraints of the destination version, over all mappings that give the values concerned.
  func auditDestinationUniqueness(_ program: StepProgram) throws {
    let destination = resolved.destinationModel
    for entity in destination.entities {
      for properties in entity.uniquenessConstraints {
        let what = "uniqueness of \(entity.name).\(properties.joined(separator: ", ")), version '\(destination.name)'"
        let builder = StatementBuilder()
        let association = inlineAssociations(program, builder)
        var parts: [String] = []
        var isPartial = false
        // The index is on the whole table: an object of another entity counts, if it has the attributes.
        let root = destination.root(of: entity.name)?.name ?? entity.name
        let makers = resolved.mappings(to: root).filter { mapping in
          mapping.earlier == nil
            && properties.allSatisfy { property in
              destination.attribute(property, of: mapping.destination.name) != nil
                || destination.relationship(property, of: mapping.destination.name) != nil
            }
        }
        for mapping in makers {
          guard mapping.mapping.uniqueBy.isEmpty, !program.isPolicy(mapping.index),
            let values = try values(properties, of: mapping, program, association)
          else {
            skip("\(what), for the objects of mapping '\(mapping.name)'")
            continue
          }
          var taken = taken(mapping.index, alias: "s", association)
          if filterFailures[mapping.index]?.isComplete == false { isPartial = true }
          for failed in properties.compactMap({ valueFailures[mapping.index]?[$0] }) {
            taken = failed.excluded(from: taken, alias: "s")
            isPartial = isPartial || !failed.isComplete
          }
          let rows =
            "SELECT s.Z_PK AS k, \(textLiteral(mapping.source.name)) AS e, \(Self.named(values)) FROM \(try association.table(mapping.index)) AS s WHERE (\(taken))"
          if properties.contains(where: { isComputed($0, by: mapping) }) {
            // The limit keeps SQLite from computing a value several times.
            let filled = values.indices.map { "v\($0) IS NOT NULL" }.joined(separator: " AND ")
            parts.append("SELECT * FROM (\(rows) LIMIT -1 OFFSET 0) WHERE \(filled)")
          } else {
            // An index of the source may group the values.
            parts.append("\(rows) AND " + values.map { "\($0) IS NOT NULL" }.joined(separator: " AND "))
          }
        }
        guard !parts.isEmpty else { continue }
        do {
          try findDuplicates(
            parts.joined(separator: " UNION ALL "), makers[0].source.name, entity.name, properties, builder: builder,
            isPartial: isPartial)
        } catch let error as GodwitError where Self.isOfRow(error) { skip(what) }
      }
    }
  }

  /// - Parameters:
  ///   - rows: As for the other functions.
  ///   - source: The entity of the source, for the finding.
  private func findDuplicates(
    _ rows: String, _ source: String, _ entity: String, _ properties: [String], builder: StatementBuilder,
    isPartial: Bool
  ) throws {
    let model = resolved.destinationModel.name
    try findDuplicates(
      in: rows, columns: properties.count, model: model, source, properties, builder: builder, isPartial: isPartial)
    if attached.existing?.hasOwnObjects == true {
      skip(Self.ownObjects)
    } else if attached.existing != nil, properties.contains(where: { isRelationship($0, of: entity) }) {
      skip("whether the destination has the values of \(entity).\(properties.joined(separator: ", ")) already")
    } else if let existing = attached.existing {
      try findTaken(in: existing, rows, model: model, entity, properties, builder: builder, isPartial: isPartial)
    }
  }

  static let ownObjects = "the objects of the destination: the job has finished, and its own are among them"

  /// The objects whose values an object has that is in the destination already.
  ///
  /// - Parameter rows: As for `findDuplicates`.
  private func findTaken(
    in existing: ExistingDestination, _ rows: String, model: String, _ entity: String, _ properties: [String],
    builder: StatementBuilder, isPartial: Bool
  ) throws {
    guard let table = existing.schema.table(of: entity),
      let columns = columns(properties, of: entity, in: existing.schema)
    else { return }
    countChecks(1)
    let store = try StoreConnection.openStore(readingAt: existing.path)
    defer { try? store.close() }
    let isSame = columns.enumerated().map { "t.\(quoted($1)) = ?\($0 + 1)" }.joined(separator: " AND ")
    let lookUp = try store.prepare("SELECT 1 FROM source.\(quoted(table.name)) AS t WHERE \(isSame) LIMIT 1")
    defer { lookUp.finalize() }
    let own = columns.indices.map { "v\($0)" }.joined(separator: ", ")
    var count: Int64 = 0
    var samples: [AuditReport.Sample] = []
    let sql = "SELECT k, e, \(own) FROM (\(rows))"
    try attached.functions.running(ChunkStatement(sql: sql, builder: builder), context: "audit") {
      try connection.query(sql, builder.arguments()) { row in
        guard try lookUp.firstRow((0..<columns.count).map { row.value($0 + 2) }) != nil else { return true }
        count += 1
        if samples.count < sampleCount { samples.append(sample((0..<columns.count + 2).map(row.value), of: entity)) }
        return true
      }
    }
    guard count > 0 else { return }
    let list = properties.joined(separator: ", ")
    add(
      AuditReport.Finding(
        .duplicate, model: model, entity: entity, property: list, count: count, isLowerBound: isPartial,
        message: "values of \(list), which must be unique, are in the destination already", samples: samples))
  }

  private func isRelationship(_ property: String, of entity: String) -> Bool {
    resolved.destinationModel.relationship(property, of: entity) != nil
  }

  /// The values that a mapping gives the properties of a constraint, as SQL; nil when only the run knows one of them.
  private func values(
    _ properties: [String], of mapping: ResolvedEntityMapping, _ program: StepProgram,
    _ association: AssociationLowering
  ) throws -> [String]? {
    var values: [String] = []
    let builder = association.builder
    for property in properties {
      if let relationship = resolved.destinationModel.relationship(property, of: mapping.destination.name) {
        guard let value = try link(relationship, of: mapping, program, association) else { return nil }
        values.append(value)
        continue
      }
      guard let (attribute, source) = mapping.attributes.first(where: { $0.attribute.name == property }) else {
        return nil
      }
      let sql = try sql(of: attribute, from: source, in: mapping, program, builder)
      // Core Data reads any number but 0 as true, and writes 1.
      values.append(attribute.type == .boolean ? "(\(sql) <> 0)" : sql)
    }
    return values.isEmpty ? nil : values
  }

  /// The key of the source object behind the object that a to-one will lead to. It stands for that object while each
  /// source object becomes one object at most.
  private func link(
    _ relationship: RelationshipDescription, of mapping: ResolvedEntityMapping, _ program: StepProgram,
    _ association: AssociationLowering
  ) throws -> String? {
    // One of several objects keeps the link of a one-to-one.
    guard !relationship.isToMany, resolved.destinationModel.inverse(of: relationship)?.isToMany != false,
      let own = mapping.relationships.first(where: { $0.relationship.name == relationship.name }),
      own.path.count == 1, !own.lookups.contains(where: program.isUnique),
      case .foreignKey(_, let column, _, _) = schema.storage(of: own.path[0].relationship.name, in: mapping.source.name),
      case .count(let found) = try reach(of: relationship, mapping, program, association)
    else { return nil }
    return "CASE WHEN (\(found)) > 0 THEN s.\(quoted(column)) END"
  }

  /// Whether an attribute gets another value than that of a column.
  private func isComputed(_ property: String, by mapping: ResolvedEntityMapping) -> Bool {
    guard let (attribute, source) = mapping.attributes.first(where: { $0.attribute.name == property }),
      case .expression = source.withoutDefault
    else { return false }
    return plainColumn(of: source.withoutDefault, for: attribute, in: mapping) == nil
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

import Foundation
import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

extension SourceAudit {
  private var resolved: ResolvedMapping { attached.resolved }

  /// What the mappings make of the rows that they take, tested by the rules that validation has.
  func auditMappings() throws {
    let facts = PlanFacts(
      mappings: resolved.entityMappings.map { _ in
        .init(rows: 0, minimumKey: 0, maximumKey: 0, keys: .offset(0), chunkRows: 1)
      }, entities: [], overlaps: [], highestKeys: [:], now: attached.functions.now, sourceBytes: 0)
    let program = try StepProgram(
      resolved: resolved, sourceSchema: schema, destinationSchema: attached.destinationSchema, facts: facts)
    for mapping in resolved.entityMappings where mapping.earlier == nil {
      guard !program.isPolicy(mapping.index) else {
        skip("what the policy of mapping '\(mapping.name)' makes")
        continue
      }
      guard mapping.mapping.uniqueBy.isEmpty else {
        skip("what mapping '\(mapping.name)' makes, since it makes one object of several (unique-by)")
        continue
      }
      try audit(mapping, program)
    }
    if job.position.count > 1 {
      skip("the steps after the first, whose source is not made yet")
    }
    try auditDestinationUniqueness(program)
  }

  /// What is found to be wrong with a row ends the statement that reads it. So each expression has one of its own.
  private func audit(_ mapping: ResolvedEntityMapping, _ program: StepProgram) throws {
    var patterns: [String] = []
    let rules = program.validation.attributeRules(of: mapping.destination.name, patterns: &patterns)
    let compiled = try patterns.map { pattern in
      do { return try SQLFunctions.validationPattern(pattern) } catch {
        throw GodwitError(
          .missingInput, "cannot use a regular expression of '\(mapping.destination.name)': it does not compile",
          remedy: "correct the expression in the destination model")
      }
    }
    var plain: [(AttributeDescription, ResolvedEntityMapping.AttributeSource)] = []
    for (attribute, source) in mapping.attributes {
      if case .expression = source.withoutDefault {
        try audit([(attribute, source)], of: mapping, program, rules, compiled)
      } else {
        plain.append((attribute, source))
      }
    }
    try audit(plain, of: mapping, program, rules, compiled)
    try auditCounts(mapping, program)
  }

  private func audit(
    _ attributes: [(AttributeDescription, ResolvedEntityMapping.AttributeSource)], of mapping: ResolvedEntityMapping,
    _ program: StepProgram, _ rules: [ValidationRule], _ patterns: [NSRegularExpression]
  ) throws {
    let builder = StatementBuilder()
    var columns: [String] = []
    var checks: [Check] = []
    for (attribute, source) in attributes {
      guard let column = attached.destinationSchema.column(of: attribute.name, in: mapping.destination.name) else {
        continue
      }
      func add(_ message: String, _ condition: String) {
        checks.append(
          Check(
            kind: .invalid, model: resolved.destinationModel.name, entity: mapping.source.name,
            property: attribute.name, mapping: mapping.name, message: message, condition: condition,
            value: "t.\(quoted(column))", key: "t.Z_PK"))
      }
      let own = rules.filter { $0.property == attribute.name }
      for rule in own { add(rule.message, rule.condition) }
      if case .copy = source.withoutDefault, let range = attribute.type.integerRange, attribute.type != .integer64 {
        add(
          "attribute '\(attribute.name)' of type \(attribute.type.xcodeName) cannot hold the number",
          "t.\(quoted(column)) NOT BETWEEN \(range.lowerBound) AND \(range.upperBound)")
      }
      if case .expression = source.withoutDefault {
        // It is computed, whether it has rules or not.
        add("", "t.\(quoted(column)) IS NULL AND t.\(quoted(column)) IS NOT NULL")
      }
      guard checks.last?.property == attribute.name else { continue }
      columns.append("\(try sql(attribute, source, mapping, program, builder)) AS \(quoted(column))")
    }
    guard !checks.isEmpty else { return }
    let taken = program.associations(builder).matches(mapping.index, alias: "s").sql
    let table = try program.sourceTable(mapping.source.name)
    // The limit keeps SQLite from computing a value once for each rule.
    let from =
      "FROM (SELECT s.Z_PK AS Z_PK, \(columns.joined(separator: ", ")) FROM source.\(quoted(table)) AS s WHERE \(taken) LIMIT -1 OFFSET 0) AS t"
    do {
      try run(checks, from: from, hasCondition: false, builder: builder, patterns: patterns)
    } catch let error as GodwitError where error.code == .dataWrong {
      add(
        .expression, model: resolved.destinationModel.name, mapping.source.name,
        attributes.count == 1 ? attributes[0].0.name : nil, mapping: mapping.name, count: nil, error.message, [])
    }
  }

  private func sql(
    _ attribute: AttributeDescription, _ source: ResolvedEntityMapping.AttributeSource,
    _ mapping: ResolvedEntityMapping, _ program: StepProgram, _ builder: StatementBuilder
  ) throws -> String {
    switch source {
    case .copy(let name): return schema.column(of: name, in: mapping.source.name).map { "s.\(quoted($0))" } ?? "NULL"
    case .defaultForNil(let inner):
      let value = try sql(attribute, inner, mapping, program, builder)
      return "COALESCE(\(value), \(builder.bind(try SQLValue(encoding: attribute.defaultValue, as: attribute))))"
    case .modelDefault, .expression:
      var reasons: [String] = []
      return try program.creation.value(
        of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons)
    }
  }

  // MARK: Relationships

  /// Required to-ones and limits of to-many relationships, where the links of one source relationship come over.
  private func auditCounts(_ mapping: ResolvedEntityMapping, _ program: StepProgram) throws {
    var checks: [Check] = []
    for relationship in resolved.destinationModel.relationships(of: mapping.destination.name)
    where !relationship.isTransient {
      let isLimited = relationship.minCount > 0 || relationship.maxCount > 0
      guard relationship.isToMany ? isLimited : !relationship.isOptional else { continue }
      let mapped = mapping.relationships.filter { $0.relationship.name == relationship.name }
      guard mapped.count == 1, let hop = mapped[0].path.first, mapped[0].path.count == 1, mapped[0].policyCall == nil
      else {
        skip(
          "how many objects '\(mapping.destination.name).\(relationship.name)' leads to in mapping '\(mapping.name)'")
        continue
      }
      let storage = schema.storage(of: hop.relationship.name, in: mapping.source.name)
      guard
        var rule = program.validation.countRule(relationship, storage: storage, database: "source", row: "s")
      else { continue }
      if case .foreignKey(_, let column, _, _) = storage,
        let isNowhere = planner.isNowhere("s.\(quoted(column))", hop.relationship.destinationEntityName)
      {
        rule.condition = "(\(rule.condition) OR \(isNowhere))"
      }
      checks.append(
        Check(
          kind: .invalid, model: resolved.destinationModel.name, entity: mapping.source.name,
          property: relationship.name, mapping: mapping.name, message: rule.message, condition: rule.condition))
    }
    guard !checks.isEmpty else { return }
    let builder = StatementBuilder()
    let taken = program.associations(builder).matches(mapping.index, alias: "s").sql
    let table = try program.sourceTable(mapping.source.name)
    try run(
      checks, from: "FROM source.\(quoted(table)) AS s WHERE \(taken)", hasCondition: true, builder: builder)
  }

  // MARK: Uniqueness

  /// The constraints of the destination version, over all mappings that copy the values concerned.
  private func auditDestinationUniqueness(_ program: StepProgram) throws {
    let destination = resolved.destinationModel
    for entity in destination.entities {
      for properties in entity.uniquenessConstraints {
        let builder = StatementBuilder()
        var parts: [String] = []
        for mapping in resolved.mappings(to: entity.name) where mapping.earlier == nil {
          let columns = properties.compactMap { property -> String? in
            guard let source = mapping.attributes.first(where: { $0.attribute.name == property })?.source,
              case .copy(let name) = source
            else { return nil }
            return schema.column(of: name, in: mapping.source.name).map { "s.\(quoted($0))" }
          }
          guard columns.count == properties.count, mapping.mapping.uniqueBy.isEmpty, !program.isPolicy(mapping.index)
          else {
            skip(
              "uniqueness of \(entity.name).\(properties.joined(separator: ", ")), version '\(destination.name)', for the objects of mapping '\(mapping.name)'"
            )
            continue
          }
          let filled = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
          let taken = program.associations(builder).matches(mapping.index, alias: "s").sql
          parts.append(
            "SELECT s.Z_PK AS k, \(Self.literal(mapping.source.name)) AS e, \(Self.named(columns)) FROM source.\(quoted(try program.sourceTable(mapping.source.name))) AS s WHERE \(taken) AND \(filled)"
          )
        }
        guard !parts.isEmpty else { continue }
        try findDuplicates(
          in: parts.joined(separator: " UNION ALL "), columns: properties.count, model: destination.name,
          resolved.mappings(to: entity.name)[0].source.name, properties, builder: builder)
      }
    }
  }

  /// - Parameter rows: A query of keys `k`, entities `e` and values `v0`, `v1`…
  func findDuplicates(
    in rows: String, columns: Int, model: String, _ entity: String, _ properties: [String],
    builder: StatementBuilder = StatementBuilder()
  ) throws {
    countChecks(1)
    let list = (0..<columns).map { "v\($0)" }.joined(separator: ", ")
    let groups = "SELECT k, e, \(list), COUNT(*) OVER (PARTITION BY \(list)) AS n FROM (\(rows))"
    let counted = try self.rows("SELECT COUNT(*) FROM (\(groups)) WHERE n > 1", builder).first?.first
    guard case .integer(let count)? = counted, count > 0 else { return }
    let found = try self.rows(
      "SELECT k, e\(showsValues ? ", \(list)" : "") FROM (\(groups)) WHERE n > 1 ORDER BY \(list), k LIMIT \(sampleCount)",
      builder)
    add(
      .duplicate, model: model, entity, properties.joined(separator: ", "), count: count,
      "objects share values that must be unique in version '\(model)'",
      found.map { row in
        var name = entity
        if row.count > 1, case .text(let bytes) = row[1] { name = String(decoding: bytes, as: UTF8.self) }
        return sample(Array(row.prefix(1) + row.dropFirst(2)), of: name)
      })
  }
}

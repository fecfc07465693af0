import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

extension SourceAudit {
  /// The value that a mapping gives one property, and the rules that it must keep.
  struct Part {
    var property: String
    /// The column of `t` that the checks read.
    var column: String
    /// The value of the column for a source row `s`, as SQL.
    var sql: String
    var checks: [Check]
  }

  /// The rows that a mapping takes.
  struct TakenRows {
    var mapping: ResolvedEntityMapping
    /// The table of the rows `s`, and the same as SQL.
    var name, table: String
    /// Which of its rows are objects of the mapping's entity.
    var kind: StoreSchema.RowCondition
    /// The condition of the rows that the mapping takes.
    var taken: String
    /// Whether the mapping may take others beside these.
    var isPartial: Bool
    var builder: StatementBuilder
    /// The regular expressions of the rules.
    var patterns: [NSRegularExpression] = []
    /// Whether parts of the table are read on several threads.
    var isCut = true
    /// A query of objects `k` that become one with the object `f`; nil where none does.
    var merged: String?

    /// Leaves out some of the objects that become one.
    ///
    /// - Parameter others: A query of their keys.
    mutating func take(_ merged: String, without others: String) {
      taken = "(\(taken)) AND s.Z_PK NOT IN (\(others))"
      (isCut, self.merged) = (false, merged)
    }

    /// Rows `t` with the columns of some parts.
    ///
    /// The limit keeps SQLite from computing a value once for each rule.
    func rows(_ parts: ArraySlice<Part>) -> Rows {
      let columns = (["s.Z_PK AS Z_PK"] + parts.map { "\($0.sql) AS \(quoted($0.column))" }).joined(separator: ", ")
      return Rows(
        table: name,
        from: { [table, taken] keys, result in
          "FROM (SELECT \(columns) FROM \(table) AS s\(whereClause(["(\(taken))", keys])) LIMIT -1 OFFSET 0) AS t\(whereClause([result]))"
        }, builder: builder, patterns: patterns, isPartial: isPartial, isCut: isCut, merged: merged)
    }
  }

  /// Tests the results of the mappings by the rules of validation.
  func auditMappings() throws {
    let facts = PlanFacts(
      mappings: resolved.entityMappings.map { _ in
        .init(rows: 0, minimumKey: 0, maximumKey: 0, keys: .offset(0), chunkRows: 1)
      }, entities: [], overlaps: [], highestKeys: [:], now: attached.functions.now, sourceBytes: 0)
    let program = try StepProgram(
      resolved: resolved, sourceSchema: schema, destinationSchema: attached.destinationSchema, facts: facts)
    for policy in resolved.policies { skip("what the policy of mapping '\(policy.mapping.name)' makes") }
    if let uncomputable { take(uncomputable) } else { try auditFilters(program) }
    for mapping in resolved.entityMappings where mapping.earlier == nil && !program.isPolicy(mapping.index) {
      // A part of the rows does not say which of them become one.
      guard mapping.mapping.uniqueBy.isEmpty || !planner.scan.isSample else {
        skip("what mapping '\(mapping.name)' makes, since it makes one object of several (unique-by)")
        continue
      }
      try audit(mapping, program)
    }
    if job.position.count > 1 {
      skip("the steps after the first, whose source is not made yet")
    }
    if !planner.scan.isSample { try auditDestinationUniqueness(program) }
    // A plan counts these losses itself.
    if !isForecast { try auditMerged(program) }
  }

  /// Finds the values and links that `unique-by` drops.
  private func auditMerged(_ program: StepProgram) throws {
    var facts = program.facts
    // A mapping without rows would find nothing.
    for index in facts.mappings.ids { facts.mappings[index].rows = 2 }
    facts.highestDestinationKeys = attached.existing?.highestKeys
    if attached.existing?.hasOwnObjects == true {
      facts.highestDestinationKeys = nil
      if resolved.entityMappings.contains(where: \.meets) { skip(Self.ownObjects) }
    }
    var counting = try StepProgram(
      resolved: resolved, sourceSchema: schema, destinationSchema: attached.destinationSchema, facts: facts)
    counting.isBeforeRun = true
    let parts = try MergeLosses(planner, counting).parts(isCounted: true)
    countChecks(parts.reduce(0) { $0 + $1.part.wanted.count })
    for (part, count) in zip(parts, try planner.scan.counts(parts.compactMap(\.part.walk))) {
      let wanted = part.part.wanted
      for (place, number) in count.sums(wanted.count).enumerated() where number > 0 {
        var loss = wanted[place]
        loss.count = number
        let examples = part.examples(of: place, limit: sampleCount)
        let found = sampleCount == 0 ? [] : try rows(examples.sql, examples.builder)
        addMerged(loss, of: part.mapping, "that unique-by drops: the object that stays has others", found)
      }
    }
    for part in try MeetForecast(planner, counting).find().parts {
      for loss in part.losses {
        addMerged(
          loss, of: part.mapping, "that unique-by drops: an object of the destination is the same, and has others", [])
      }
    }
  }

  /// - Parameter found: Some of the objects, as `sample` takes them.
  private func addMerged(
    _ loss: LossReport.Loss, of mapping: ResolvedEntityMapping, _ what: String, _ found: [[SQLValue]]
  ) {
    let isOfLinks = loss.kind == .links
    add(
      AuditReport.Finding(
        .merged, model: resolved.destinationModel.name, entity: mapping.source.name,
        property: loss.subject.split(separator: ".", maxSplits: 1).last.map(String.init),
        mapping: mapping.name, count: loss.count ?? 0, message: (isOfLinks ? "links" : "values") + " " + what,
        // A link's value is a key of the destination to be.
        samples: found.map { sample(isOfLinks ? Array($0.prefix(2)) : $0, of: mapping.source.name) }))
  }

  /// Associations of a step without a plan: its filters have not been tested on the rows yet.
  func inlineAssociations(_ program: StepProgram, _ builder: StatementBuilder) -> AssociationLowering {
    var association = program.associations(builder)
    association.checks = .inline
    return association
  }

  /// The condition that a mapping takes the row `alias`. It is computed for every row, once the filters are audited.
  func taken(_ index: MappingID, alias: String, _ association: AssociationLowering) -> String {
    let sql = association.matches(index, alias: alias).sql
    let computable = filterFailures[index]?.excluded(from: sql, alias: alias) ?? sql
    return isForecast ? leavingOutRejected(from: computable, of: resolved.entityMappings[index], alias) : computable
  }

  /// Takes over the rows for which a plan could not compute a filter.
  private func take(_ uncomputable: [MigrationPlan.Uncomputable]) {
    for one in uncomputable {
      var failed = Failures()
      (failed.keys, failed.message) = (one.keys, one.message)
      filterFailures[one.mapping] = failed
      add(failed, of: resolved.entityMappings[one.mapping], property: nil, "the filter")
    }
  }

  /// Finds the rows for which a filter cannot be computed. All that follows leaves them out.
  private func auditFilters(_ program: StepProgram) throws {
    for mapping in resolved.entityMappings where mapping.earlier == nil && mapping.filter != nil {
      let builder = StatementBuilder()
      let association = inlineAssociations(program, builder)
      let condition = association.matches(mapping.index, alias: "s").sql
      let table = try association.table(mapping.index)
      countChecks(1)
      do {
        _ = try rows("SELECT COUNT(*) FROM \(table) AS s WHERE (\(condition))", builder)
      } catch let error as GodwitError where Self.isOfRow(error) {
        let kind = schema.isObject(of: [mapping.source.name], row: "s")
        var failed = try failures(in: table, kind, computing: "typeof((\(condition)))", builder)
        if failed.keys.isEmpty {
          failed.take(error, setsAside: job.quarantine != nil)
          failed.isComplete = false
        }
        filterFailures[mapping.index] = failed
        add(failed, of: mapping, property: nil, "the filter")
      }
    }
  }

  private func audit(_ mapping: ResolvedEntityMapping, _ program: StepProgram) throws {
    var patterns: [ValidationPattern] = []
    let rules = program.validation.attributeRules(of: mapping.destination.name, patterns: &patterns)
    let builder = StatementBuilder()
    let association = inlineAssociations(program, builder)
    var parts = try attributeParts(mapping, program, builder, rules, &patterns)
    parts += try relationshipParts(mapping, program, association)
    let compiled = try patterns.map { try $0.compiled() }
    var rows = TakenRows(
      mapping: mapping, name: try program.sourceTable(mapping.source.name),
      table: try association.table(mapping.index), kind: schema.isObject(of: [mapping.source.name], row: "s"),
      taken: taken(mapping.index, alias: "s", association),
      isPartial: filterFailures[mapping.index]?.isComplete == false, builder: builder)
    if !mapping.mapping.uniqueBy.isEmpty {
      try leaveOutFailing(&rows, program)
      parts = try checkFilled(parts, in: rows, association, program, compiled)
      let merged = try program.associationStage.merged(mapping.index, association, matching: "(\(rows.taken))")
      // The first of the same objects gives its values.
      rows.take(merged, without: "SELECT k FROM (\(merged)) WHERE k <> f")
    }
    rows.patterns = compiled
    try check(parts[...], in: rows)
  }

  /// Checks all parts in one walk. Where a value cannot be computed, it checks the halves, so that few walks find which
  /// part it is.
  ///
  /// - Returns: The rows of each part that cannot be computed.
  @discardableResult
  func check(_ parts: ArraySlice<Part>, in rows: TakenRows) throws -> [Failures] {
    guard let first = parts.first else { return [] }
    do {
      try run(parts.flatMap(\.checks), on: rows.rows(parts))
      return []
    } catch let error as GodwitError where Self.isOfRow(error) {
      guard parts.count == 1 else {
        let middle = parts.startIndex + parts.count / 2
        return try check(parts[..<middle], in: rows) + check(parts[middle...], in: rows)
      }
      return [try isolate(first, in: rows, error)]
    }
  }

  /// Finds the rows for which the value of a part cannot be computed, and checks the others.
  private func isolate(_ part: Part, in rows: TakenRows, _ error: GodwitError) throws -> Failures {
    var failed = try failures(
      in: rows.table, rows.kind, computing: "CASE WHEN (\(rows.taken)) THEN typeof(\(part.sql)) END", rows.builder)
    if failed.keys.isEmpty {
      failed.take(error, setsAside: job.quarantine != nil)
      failed.isComplete = false
    }
    add(failed, of: rows.mapping, property: part.property, "the value")
    valueFailures[rows.mapping.index, default: [:]][part.property] = failed
    guard !failed.keys.isEmpty else { return failed }
    var rest = rows
    rest.taken = failed.excluded(from: rows.taken, alias: "s")
    rest.isPartial = rows.isPartial || !failed.isComplete
    do {
      try run(part.checks, on: rest.rows([part]))
    } catch let error as GodwitError where Self.isOfRow(error) {
      skip("the rules of '\(rows.mapping.destination.name).\(part.property)' in mapping '\(rows.mapping.name)'")
    }
    return failed
  }

  // MARK: Attributes

  func attributeParts(
    _ mapping: ResolvedEntityMapping, _ program: StepProgram, _ builder: StatementBuilder, _ rules: [ValidationRule],
    _ patterns: inout [ValidationPattern]
  ) throws -> [Part] {
    var parts: [Part] = []
    for (attribute, source) in mapping.attributes {
      guard let column = attached.destinationSchema.column(of: attribute.name, in: mapping.destination.name) else {
        continue
      }
      let value = "t.\(quoted(column))"
      func check(_ message: String, _ condition: String) -> Check {
        Check(
          kind: .invalid, model: resolved.destinationModel.name, entity: mapping.source.name,
          property: attribute.name, mapping: mapping.name, message: message, condition: condition, value: value,
          key: "t.Z_PK")
      }
      let excuses =
        job.keepsInvalid && !job.keepsAllInvalid
        ? program.keptInvalid.excuses(attribute, from: source, in: mapping, value: value, patterns: &patterns) : []
      var checks: [Check] = []
      var kept: [String] = []
      for rule in rules where rule.property == attribute.name {
        if job.keepsAllInvalid {
          kept.append(rule.condition)
        } else if let excuse = excuses.first(where: { $0.excuses(rule) })?.condition {
          checks.append(check(rule.message, "(\(rule.condition)) AND (\(excuse)) IS NOT TRUE"))
          kept.append("(\(rule.condition)) AND (\(excuse))")
        } else {
          checks.append(check(rule.message, rule.condition))
        }
      }
      if isForecast, !kept.isEmpty {
        checks.append(
          keptCheck(mapping, attribute.name, kept.map { "(\($0))" }.joinedEvenly(by: " OR ")))
      }
      if plainColumn(of: source.withoutDefault, for: attribute, in: mapping) != nil {
        if isForecast, let wrong = Self.isWrong(value, attribute.type) {
          checks.append(check("attribute '\(attribute.name)' has a value of another type", wrong).ofEach)
        }
        if let range = attribute.type.integerRange, attribute.type != .integer64 {
          checks.append(
            check(
              "attribute '\(attribute.name)' of type \(attribute.type.xcodeName) cannot hold the number",
              "typeof(\(value)) = 'integer' AND \(value) NOT BETWEEN \(range.lowerBound) AND \(range.upperBound)"
            ).ofEach)
        }
      } else if case .expression = source.withoutDefault {
        // It is computed, whether it has rules or not.
        checks.append(check("", "\(value) IS NULL AND \(value) IS NOT NULL").ofEach)
      }
      checks += fileChecks(attribute, from: source, in: mapping, value: value)
      if let unwritable = storeTypeCheck(attribute, in: mapping, value: value) { checks.append(unwritable) }
      guard !checks.isEmpty else { continue }
      parts.append(
        Part(
          property: attribute.name, column: column,
          sql: try sql(of: attribute, from: source, in: mapping, program, builder), checks: checks))
    }
    return parts
  }

  /// Counts the objects of a mapping that the job keeps although they break rules of a property.
  func keptCheck(_ mapping: ResolvedEntityMapping, _ property: String, _ condition: String) -> Check {
    Check(
      kind: .invalid, model: resolved.destinationModel.name, entity: mapping.destination.name, property: property,
      mapping: mapping.name, message: "", condition: condition, key: "t.Z_PK", isKept: true)
  }

  /// The source column whose value an attribute takes unchanged; nil where it is computed. A change of integer size is
  /// not computed either, and a number that does not fit breaks a rule.
  func plainColumn(
    of source: ResolvedEntityMapping.AttributeSource, for attribute: AttributeDescription,
    in mapping: ResolvedEntityMapping
  ) -> String? {
    switch source {
    case .copy(let name):
      return schema.column(of: name, in: mapping.source.name).map {
        readable("s.\(quoted($0))", attribute, name, mapping)
      }
        ?? "NULL"
    case .expression(let parsed):
      guard attribute.type.integerRange != nil,
        case .keyPath(let base?, let segments) = parsed.node, segments.count == 1,
        case .variable("source") = base.node,
        let copied = model.attribute(segments[0], of: mapping.source.name), copied.type.integerRange != nil
      else { return nil }
      return schema.column(of: copied.name, in: mapping.source.name).map { "s.\(quoted($0))" }
    case .modelDefault, .defaultForNil: return nil
    }
  }

  /// The value of an attribute of the destination for the source row `s`.
  func sql(
    of attribute: AttributeDescription, from source: ResolvedEntityMapping.AttributeSource,
    in mapping: ResolvedEntityMapping, _ program: StepProgram, _ builder: StatementBuilder
  ) throws -> String {
    if let plain = plainColumn(of: source, for: attribute, in: mapping) { return plain }
    if case .defaultForNil(let inner) = source {
      let value = try sql(of: attribute, from: inner, in: mapping, program, builder)
      return "COALESCE(\(value), \(builder.bind(try SQLValue(encoding: attribute.defaultValue, as: attribute))))"
    }
    var reasons: [String] = []
    return try program.creation.value(of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons)
  }
}

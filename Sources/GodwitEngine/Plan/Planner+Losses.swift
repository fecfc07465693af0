import GodwitInference
import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

extension Planner {
  /// Everything that counting the source tells of losses.
  func lossCount(_ facts: PlanFacts, dropped: [MigrationPlan.Dropped]) throws -> LossCount {
    let numbers = try numericCounts()
    return LossCount(
      losses: try losses(facts, dropped: dropped, numbers: numbers),
      notes: try numberNotes(facts) + misfitNotes(numbers) + KeptInvalid.notes(keptInvalid(facts)),
      misfits: misfits(numbers))
  }

  private func losses(
    _ facts: PlanFacts, dropped: [MigrationPlan.Dropped], numbers: [NumericCount]
  ) throws -> LossReport {
    let step = job.position.index + 1
    var found = dropped.map {
      LossReport.Loss(
        step: step, kind: .objects, subject: $0.entity, count: $0.rows,
        reason: $0.cause == .removeMapping ? "no mapping carries them over" : $0.reason, cause: $0.cause)
    }
    found += uncounted(step)
    found += try PropertyLosses(self, facts: facts, step: step, isCounted: isCounted).find()
    if isCounted { found += try sourceSchema.foreignContent.losses(step: step, on: connection) }
    found += resolved.defaulted.map {
      LossReport.Loss(
        step: step, kind: .policy, subject: $0.policy, count: nil,
        reason: "mapping \($0.mapping): not registered; Core Data's default policy runs instead",
        cause: .policyNotRegistered)
    }
    found += numbers.filter { $0.rounded > 0 }.map {
      LossReport.Loss(
        step: step, kind: .rounded, subject: $0.path, count: $0.rounded, reason: $0.types, cause: .numericType)
    }
    found += numbers.filter { $0.valueless > 0 }.map {
      LossReport.Loss(
        step: step, kind: .nils, subject: $0.target, count: $0.valueless, reason: "mapping \($0.mapping)",
        cause: .expression)
    }
    found += try linksToNothing(facts).map {
      LossReport.Loss(
        step: step, kind: .linksToNothing, subject: $0.relationship, count: $0.count,
        reason: "they lead to no object that the relationship can hold", cause: .leadsNowhere)
    }
    return LossReport(found)
  }

  /// Objects that broke a rule of their own model, and that the job keeps: one walk over the rows of each mapping that
  /// copies a property with rules.
  private func keptInvalid(_ facts: PlanFacts) throws -> [KeptInvalid] {
    guard isCounted, job.keepsInvalid else { return [] }
    let program = try StepProgram(
      resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema, facts: facts)
    var kept: [KeptInvalid] = []
    for mapping in resolved.entityMappings where mapping.earlier == nil {
      var patterns: [String] = []
      guard let (statement, properties) = try program.keptInvalid.counts(of: mapping, patterns: &patterns) else {
        continue
      }
      let inputs = StatementInputs(patterns: try patterns.map { try SQLFunctions.validationPattern($0) })
      let rows = try functions.running(statement, context: "mapping '\(mapping.name)'", with: inputs) {
        try connection.rows(statement.sql, statement.builder.arguments())
      }
      for (property, value) in zip(properties, rows.first ?? []) {
        guard case .integer(let count) = value, count > 0 else { continue }
        kept.append(KeptInvalid(entity: mapping.destination.name, property: property, objects: count))
      }
    }
    return KeptInvalid.sums(kept)
  }

  /// Values whose attribute has another numeric type in the destination.
  private struct NumericCount {
    var path: String
    /// The destination's attribute.
    var target: String
    var mapping: String
    var types: String
    var isInteger: Bool
    /// How many become another number.
    var rounded: Int64
    /// How many become none.
    var misfits: Int64
    /// How many are decimals without a value, and become nil.
    var valueless: Int64
  }

  /// One or two walks over the table for each attribute that changes its type.
  private func numericCounts() throws -> [NumericCount] {
    guard isCounted else { return [] }
    var found: [NumericCount] = []
    for mapping in resolved.entityMappings where mapping.filter == nil && mapping.earlier == nil {
      guard let table = sourceSchema.table(of: mapping.source.name) else { continue }
      for (attribute, value) in mapping.attributes {
        guard let (from, change) = resolved.numericChange(of: value, to: attribute, in: mapping),
          let column = sourceSchema.column(of: from.name, in: mapping.source.name)
        else { continue }
        let counts = try change.counts(
          of: quoted(column), in: "source.\(quoted(table.name))",
          where: sourceSchema.isObject(of: [mapping.source.name]).term, on: connection)
        found.append(
          NumericCount(
            path: "\(mapping.source.name).\(from.name)", target: "\(mapping.destination.name).\(attribute.name)",
            mapping: mapping.name,
            types: "\(from.type.xcodeName) to \(attribute.type.xcodeName)", isInteger: attribute.type.isInteger,
            rounded: counts.rounded, misfits: counts.misfits,
            valueless: resolved.plansNils(of: value, in: mapping) ? counts.valueless : 0))
      }
    }
    return found
  }

  /// Rows of an entity that has its table to itself are its objects whatever number they bear.
  private func numberNotes(_ facts: PlanFacts) throws -> [MigrationNote] {
    try facts.entities.flatMap { entity -> [MigrationNote] in
      guard sourceSchema.fillsTable(entity.name), let number = sourceSchema.number(of: entity.name),
        let table = sourceSchema.table(of: entity.name)?.name
      else { return [] }
      let row = try reading(table) {
        try connection.rows(
          """
          SELECT COUNT(s.Z_ENT), COUNT(*) - COUNT(s.Z_ENT) FROM source.\(quoted(table)) AS s \
          WHERE s.Z_ENT IS NOT \(number)
          """
        ).first
      }
      guard let row, case (.integer(let foreign), .integer(let missing)) = (row[0], row[1]) else { return [] }
      return [(foreign, "another entity's number"), (missing, "no number")].filter { $0.0 > 0 }.map { rows, what in
        let (verb, subject) = rows == 1 ? ("row of \(table) has", "it is") : ("rows of \(table) have", "they are")
        return MigrationNote(
          .entityNumbers, "\(rows) \(verb) \(what); \(subject) read as \(entity.name), as Core Data does")
      }
    }
  }

  /// Values that a change of numeric types cannot carry.
  private func misfitNotes(_ numbers: [NumericCount]) -> [MigrationNote] {
    numbers.filter { $0.misfits > 0 }.map { found in
      found.isInteger
        ? MigrationNote(.valuesDoNotFit, "the run will stop: \(Self.misfit(found))")
        : MigrationNote(
          .valuesTooLarge,
          "\(found.misfits) values of \(found.path) are too large, \(found.types): they stay, and are read as NaN")
    }
  }

  /// Those that stop the run.
  private func misfits(_ numbers: [NumericCount]) -> [String] {
    numbers.filter { $0.misfits > 0 && $0.isInteger }.map(Self.misfit)
  }

  /// Required attributes that a mapping gives nil for all of its objects: validation rejects the first one.
  func certainNils(_ facts: PlanFacts) -> [String] {
    guard job.quarantine == nil else { return [] }
    let policies = Set(resolved.policies.compactMap(\.index))
    let makers = resolved.entityMappings.filter {
      $0.earlier == nil && !policies.contains($0.index) && facts.mappings[$0.index].rows > 0
    }
    return makers.flatMap { mapping in
      mapping.attributes.compactMap { attribute, source -> String? in
        guard !attribute.isOptional, Self.isNil(source, of: attribute) else { return nil }
        let path = "\(mapping.destination.name).\(attribute.name)"
        return "mapping '\(mapping.name)' gives nil to '\(path)', which must have a value; "
          + "`godwit audit` lists all that validation would reject"
      }
    }
  }

  private static func isNil(
    _ source: ResolvedEntityMapping.AttributeSource, of attribute: AttributeDescription
  ) -> Bool {
    switch source {
    case .expression(let parsed):
      if case .constant(.null) = parsed.expression.node { return true }
      return false
    case .modelDefault: return attribute.defaultValue.isNull
    case .copy, .defaultForNil: return false
    }
  }

  private static func misfit(_ found: NumericCount) -> String {
    "\(found.misfits) values of \(found.path) do not fit, \(found.types)"
  }

  /// A step whose source is not there yet is planned on a store without rows: what it may lose is named, not counted.
  private var isCounted: Bool { sourceBytes > 0 }

  /// Entities that no mapping takes, where there are no rows to count yet.
  private func uncounted(_ step: Int) -> [LossReport.Loss] {
    guard !isCounted else { return [] }
    let taken = Set(resolved.entityMappings.map(\.source.name))
    return resolved.sourceModel.entities.filter { !$0.isAbstract && !taken.contains($0.name) }.map {
      .init(step: step, kind: .objects, subject: $0.name, count: nil, reason: "no mapping", cause: .noMapping)
    }
  }
}

extension ResolvedMapping {
  /// The attribute of the source whose values become those of another numeric type, and the change; nil for any other
  /// value.
  func numericChange(
    of value: ResolvedEntityMapping.AttributeSource, to attribute: AttributeDescription,
    in mapping: ResolvedEntityMapping
  ) -> (from: AttributeDescription, change: NumericChange)? {
    guard case .expression(let parsed) = value.withoutDefault,
      case .keyPath(_, let segments) = parsed.expression.node, segments.count == 1,
      let from = sourceModel.attribute(segments[0], of: mapping.source.name),
      let change = NumericChange(from: from.type, to: attribute.type)
    else { return nil }
    return (from, change)
  }

  /// Whether the plan counts the decimals without a value that a mapping copies to another numeric type: it makes one
  /// object of each of its entity, by expressions alone. Elsewhere a run counts them. A default in place of nil is no
  /// loss.
  func plansNils(of value: ResolvedEntityMapping.AttributeSource, in mapping: ResolvedEntityMapping) -> Bool {
    guard case .expression = value else { return false }
    return mapping.filter == nil && mapping.earlier == nil && mapping.mapping.uniqueBy.isEmpty
      && !policies.contains { $0.index == mapping.index }
  }
}

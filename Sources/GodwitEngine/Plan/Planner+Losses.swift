import GodwitInference
import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

extension Planner {
  /// The losses found by counting the source.
  func lossCount(_ facts: PlanFacts, dropped: [MigrationPlan.Dropped]) throws -> LossCount {
    let step = job.position.index + 1
    let numeric = numericWalks()
    let foreignNumbers = isCounted ? foreignNumberWalks(facts) : []
    let properties = try PropertyLosses(self, facts: facts, step: step, isCounted: isCounted).find()
    let strays = try strayWalks(facts)
    let foreign = isCounted ? sourceSchema.foreignContent.counted.map { (counted: $0, walk: walk($0)) } : []
    var walks = numeric.map(\.walk) + foreignNumbers.map(\.walk)
    walks += properties.compactMap(\.walk) + foreign.map(\.walk) + strays.map(\.walk)
    var counts = try telling("losses", 30...100) { try scan.counts(walks) }[...]
    func loss(
      _ kind: LossReport.Kind, of subject: String, _ count: Int64?, _ reason: String, _ cause: LossReport.Cause,
      isEstimate: Bool = false
    ) -> LossReport.Loss {
      LossReport.Loss(step: step, kind: kind, subject: subject, count: count, reason: reason, cause: cause)
        .estimated(isEstimate)
    }
    let numbers = numeric.map { $0.counted(counts.removeFirst()) }
    let notes = foreignNumbers.flatMap { numberNotes($0, counts.removeFirst()) }
    var found = dropped.map {
      loss(
        .objects, of: $0.entity, $0.rows, $0.cause == .removeMapping ? "no mapping carries them over" : $0.reason,
        $0.cause, isEstimate: scan.isSample)
    }
    found += uncounted(step)
    found += properties.flatMap { $0.losses(of: $0.walk == nil ? nil : counts.removeFirst()) }
    found += foreign.flatMap { part in
      let count = counts.removeFirst()
      return part.counted.findings(count.sums(max(1, part.counted.columns.count)))
        .map { LossReport.Loss($0, step: step).estimated(count.isEstimate) }
    }
    found += resolved.defaulted.map {
      loss(
        .policy, of: $0.policy, nil, "mapping \($0.mapping): not registered; Core Data's default policy runs instead",
        .policyNotRegistered)
    }
    found += numbers.filter { $0.rounded > 0 }.map {
      loss(.rounded, of: $0.path, $0.rounded, $0.types, .numericType, isEstimate: $0.isEstimate)
    }
    found += numbers.filter { $0.valueless > 0 }.map {
      loss(.nils, of: $0.target, $0.valueless, "mapping \($0.mapping)", .expression, isEstimate: $0.isEstimate)
    }
    for stray in strays {
      let count = counts.removeFirst()
      guard count.sum > 0 else { continue }
      found.append(
        loss(
          .linksToNothing, of: stray.relationship, count.sum,
          "they lead to no object that the relationship can hold", .leadsNowhere, isEstimate: count.isEstimate))
    }
    return LossCount(
      losses: LossReport(found), notes: try notes + misfitNotes(numbers) + KeptInvalid.notes(keptInvalid(facts)),
      misfits: misfits(numbers))
  }

  private func walk(_ counted: ForeignContent.Counted) -> SourceWalk {
    SourceWalk(counted.table, key: "rowid", isCut: !counted.columns.isEmpty) {
      let columns = counted.columns.map { "COUNT(\(quoted($0)))" }.joined(separator: ", ")
      let table = "source.\(quoted(counted.table))\(counted.columns.isEmpty ? " NOT INDEXED" : "")"
      return "SELECT \(columns.isEmpty ? "COUNT(*)" : columns) FROM \(table)\(whereClause([$0]))"
    }
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
    var plansNils: Bool
    /// Counts them.
    var walk: SourceWalk
    /// How many become another number.
    var rounded: Int64 = 0
    /// How many the new type cannot hold.
    var misfits: Int64 = 0
    /// How many are decimals without a value, and become nil.
    var valueless: Int64 = 0
    var isEstimate = false

    func counted(_ count: SourceWalk.Count) -> NumericCount {
      let sums = count.sums(3)
      var number = self
      (number.rounded, number.misfits) = (sums[0], sums[1])
      number.valueless = plansNils ? sums[2] : 0
      number.isEstimate = count.isEstimate
      return number
    }
  }

  /// A walk over the table for each attribute that changes its type.
  private func numericWalks() -> [NumericCount] {
    guard isCounted else { return [] }
    var found: [NumericCount] = []
    for mapping in resolved.entityMappings where mapping.filter == nil && mapping.earlier == nil {
      guard let table = sourceSchema.table(of: mapping.source.name)?.name else { continue }
      for (attribute, value) in mapping.attributes {
        guard let (from, change) = resolved.numericChange(of: value, to: attribute, in: mapping),
          let column = sourceSchema.column(of: from.name, in: mapping.source.name)
        else { continue }
        let objects = sourceSchema.isObject(of: [mapping.source.name]).term
        found.append(
          NumericCount(
            path: "\(mapping.source.name).\(from.name)", target: "\(mapping.destination.name).\(attribute.name)",
            mapping: mapping.name, types: "\(from.type.xcodeName) to \(attribute.type.xcodeName)",
            isInteger: attribute.type.isInteger, plansNils: resolved.plansNils(of: value, in: mapping),
            walk: SourceWalk(table, column: "Z_PK") { functions, keys in
              let range = keys.map { " AND Z_PK BETWEEN \($0.lowerBound) AND \($0.upperBound)" } ?? ""
              let counts = try change.counts(
                of: quoted(column), in: "source.\(quoted(table))", where: objects + range, on: functions.connection)
              return [counts.rounded, counts.misfits, counts.valueless].map(SQLValue.integer)
            }))
      }
    }
    return found
  }

  private typealias ForeignNumbers = (entity: String, table: String, walk: SourceWalk)

  /// Rows of an entity that has its table to itself are its objects whatever number they bear.
  private func foreignNumberWalks(_ facts: PlanFacts) -> [ForeignNumbers] {
    facts.entities.compactMap { entity in
      guard sourceSchema.fillsTable(entity.name), let number = sourceSchema.number(of: entity.name),
        let table = sourceSchema.table(of: entity.name)?.name
      else { return nil }
      let walk = SourceWalk(table, key: "s.Z_PK") {
        """
        SELECT COUNT(s.Z_ENT), COUNT(*) - COUNT(s.Z_ENT) FROM source.\(quoted(table)) AS s\
        \(whereClause(["s.Z_ENT IS NOT \(number)", $0]))
        """
      }
      return (entity.name, table, walk)
    }
  }

  private func numberNotes(_ part: ForeignNumbers, _ count: SourceWalk.Count) -> [MigrationNote] {
    let sums = count.sums(2)
    return [(sums[0], "another entity's number"), (sums[1], "no number")].filter { $0.0 > 0 }.map { rows, what in
      let (verb, subject) =
        rows == 1 ? ("row of \(part.table) has", "it is") : ("rows of \(part.table) have", "they are")
      let about = count.isEstimate ? "about " : ""
      return MigrationNote(
        .entityNumbers, "\(about)\(rows) \(verb) \(what); \(subject) read as \(part.entity), as Core Data does")
    }
  }

  /// Values that a change of numeric types cannot carry.
  private func misfitNotes(_ numbers: [NumericCount]) -> [MigrationNote] {
    numbers.filter { $0.misfits > 0 }.map { found in
      found.isInteger
        ? MigrationNote(.valuesDoNotFit, "the run will stop: \(Self.misfit(found))")
        : MigrationNote(
          .valuesTooLarge,
          "\(found.isEstimate ? "about " : "")\(found.misfits.counted("value")) of \(found.path) "
            + (found.misfits == 1
              ? "is too large, \(found.types): it stays, and is read as NaN"
              : "are too large, \(found.types): they stay, and are read as NaN")
        )
    }
  }

  /// The changes that stop the run.
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
      if case .constant(.null) = parsed.node { return true }
      return false
    case .modelDefault: return attribute.defaultValue.isNull
    case .copy, .defaultForNil: return false
    }
  }

  private static func misfit(_ found: NumericCount) -> String {
    "\(found.isEstimate ? "about " : "")\(found.misfits.counted("value")) of \(found.path) \(found.misfits == 1 ? "does" : "do") not fit, \(found.types)"
  }

  /// A step whose source does not exist yet is planned on a store without rows: its possible losses are named, not
  /// counted.
  private var isCounted: Bool { sourceBytes > 0 }

  /// Entities that no mapping takes, if the rows have not been counted yet.
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
      case .keyPath(_, let segments) = parsed.node, segments.count == 1,
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

import GodwitJob
import GodwitModel
import GodwitStore

extension Planner {
  /// The losses found by counting the source.
  ///
  /// - Parameter isWhole: Whether to count those too that a run counts while it makes objects.
  func lossCount(_ facts: PlanFacts, dropped: [MigrationPlan.Dropped], isWhole: Bool) throws -> LossCount {
    let step = job.position.step
    var program = try StepProgram(
      resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema, facts: facts)
    program.isBeforeRun = true
    let numbers = NumberLosses(self, program, isWhole: isWhole)
    let numeric = isCounted ? try numbers.parts(leavingOutSafe: true) : []
    let merged = try MergeLosses(self, program).parts(isCounted: isCounted && !scan.isSample).map(\.part)
    let nilKeys = isCounted ? try MergeLosses(self, program).nilParts() : []
    let ambiguous = isCounted && isWhole ? try ambiguousWalks(program) : []
    let foreignNumbers = isCounted ? foreignNumberWalks(facts) : []
    let properties = try PropertyLosses(self, facts: facts, step: step, isCounted: isCounted).find()
    let strays = try strayWalks(facts)
    let foreign = isCounted ? sourceSchema.foreignContent.counted.map { (counted: $0, walk: walk($0)) } : []
    var walks = numeric.map(\.walk) + foreignNumbers.map(\.walk)
    walks += properties.compactMap(\.walk) + foreign.map(\.walk) + strays.map(\.walk)
    walks += merged.compactMap(\.walk) + nilKeys.map(\.walk) + ambiguous
    var counts = try telling("losses", 30...100) { try scan.counts(walks) }[...]
    func loss(
      _ kind: LossReport.Kind, of subject: String, _ count: Int64?, _ reason: String, _ cause: LossReport.Cause,
      isEstimate: Bool = false
    ) -> LossReport.Loss {
      LossReport.Loss(step: step, kind: kind, subject: subject, count: count, reason: reason, cause: cause)
        .estimated(isEstimate)
    }
    let counted = numeric.flatMap { $0.counted(counts.removeFirst()) }
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
      loss(.policy, of: $0.policy, nil, $0.reason, .policyNotRegistered)
    }
    found += counted.filter { $0.tally.rounded > 0 }.map {
      loss(.rounded, of: $0.subject, $0.tally.rounded, $0.types, .numericType, isEstimate: $0.isEstimate)
    }
    if isCounted { found += try decimalLosses(step) }
    found += counted.filter { $0.nils > 0 }.map {
      loss(.nils, of: $0.target, $0.nils, "mapping \($0.mapping)", .expression, isEstimate: $0.isEstimate)
    }
    for stray in strays {
      let count = counts.removeFirst()
      guard count.sum > 0 else { continue }
      found.append(
        loss(
          .linksToNothing, of: stray.relationship, count.sum,
          "they lead to no object that the relationship can hold", .leadsNowhere, isEstimate: count.isEstimate))
    }
    found += merged.flatMap { $0.losses(of: $0.walk == nil ? nil : counts.removeFirst()) }
    let nils = nilKeys.compactMap { $0.note(counts.removeFirst()) }
    // A run counts it when it meets the objects.
    let met =
      isCounted && isWhole && !scan.isSample
      ? try MeetForecast(self, program).find() : MeetForecast.Found()
    found += met.losses
    let several = counts.reduce(0) { $0 + $1.sum }
    if several > 0 {
      found.append(.several(step: step, several).estimated(counts.contains(where: \.isEstimate)))
    }
    return LossCount(
      losses: LossReport(job.marking(found)),
      notes: notes + counted.flatMap(\.notes) + nils + met.notes,
      misfits: counted.flatMap(\.misfits))
  }

  /// To-one relationships that will find several objects, except those that a policy sets.
  private func ambiguousWalks(_ program: StepProgram) throws -> [SourceWalk] {
    var statements: [(mapping: ResolvedEntityMapping, statement: ChunkStatement?)] = []
    for mapping in resolved.entityMappings where mapping.earlier == nil && !program.isPolicy(mapping.index) {
      statements.append((mapping, try program.losses.ambiguousToOne(mapping.index, predicate: nil)))
    }
    for link in program.links.ids {
      for scan in try program.relationships.scans(link) {
        statements.append((program.mappings[scan.mapping], try program.losses.ambiguousToOne(scan)))
      }
    }
    return try statements.compactMap { mapping, statement in
      guard let statement else { return nil }
      let isCut = !program.isUnique(mapping.index)
      return SourceWalk(try program.sourceTable(mapping.source.name), column: "Z_PK", isCut: isCut) { functions, keys in
        let arguments = statement.builder.arguments(from: keys?.lowerBound ?? .min, through: keys?.upperBound ?? .max)
        return try functions.running(statement, context: "planning, mapping '\(mapping.name)'") {
          try functions.connection.rows(statement.sql, arguments).first ?? []
        }
      }
    }
  }

  /// The decimals of an XML or binary source that lost digits when it was read, of attributes that some mapping reads.
  private func decimalLosses(_ step: StepID) throws -> [LossReport.Loss] {
    let reads = PropertyReads(resolved)
    return try RoundedDecimals(readingSourceOf: connection).counts.sorted { Text($0.key) < Text($1.key) }.compactMap {
      subject, count in
      let parts = subject.split(separator: ".", maxSplits: 1).map(String.init)
      guard parts.count == 2, reads.isRead(parts[1], of: parts[0]) else { return nil }
      return LossReport.Loss(
        step: step, kind: .rounded, subject: subject, count: count, reason: Self.decimalReason, cause: .numericType)
    }
  }

  static let decimalReason = "Godwit reads a decimal as a double"

  private func walk(_ counted: UnmodelledContent.Counted) -> SourceWalk {
    SourceWalk(counted.table, key: "rowid", isCut: !counted.columns.isEmpty) {
      let columns = counted.columns.map { "COUNT(\(quoted($0)))" }.joined(separator: ", ")
      let table = "source.\(quoted(counted.table))\(counted.columns.isEmpty ? " NOT INDEXED" : "")"
      return "SELECT \(columns.isEmpty ? "COUNT(*)" : columns) FROM \(table)\(whereClause([$0]))"
    }
  }

  private struct ForeignNumbers {
    var entity, table: String
    var walk: SourceWalk
  }

  /// Rows of an entity that has its table to itself are its objects whatever number they bear.
  private func foreignNumberWalks(_ facts: PlanFacts) -> [ForeignNumbers] {
    facts.entities.compactMap { entity in
      guard sourceSchema.fillsTable(entity.name), !PairEntity.isName(entity.name),
        let number = sourceSchema.number(of: entity.name),
        let table = sourceSchema.table(of: entity.name)?.name
      else { return nil }
      let figures = SourceWalk.Figures(
        columns: [.init(sql: "COUNT(s.Z_ENT)"), .init(sql: "COUNT(*)", condition: "s.Z_ENT IS NULL")],
        terms: ["s.Z_ENT IS NOT \(number)"])
      let walk = SourceWalk(table, counting: figures)
      return ForeignNumbers(entity: entity.name, table: table, walk: walk)
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

  /// A step whose source does not exist yet is planned on a store without rows: its possible losses are named, not
  /// counted.
  private var isCounted: Bool { sourceBytes > 0 }

  /// Entities that no mapping takes, or that every mapping filters, if the rows have not been counted yet.
  private func uncounted(_ step: StepID) -> [LossReport.Loss] {
    guard !isCounted else { return [] }
    let taken = Set(resolved.entityMappings.map(\.source.name))
    let filtered = droppedEntities.filter { $0.cause == .filteredOut }
    return resolved.sourceModel.entities.filter { !$0.isAbstract && !taken.contains($0.name) }.map {
      .init(step: step, kind: .objects, subject: $0.name, count: nil, reason: "no mapping", cause: .noMapping)
    }
      + filtered.map {
        .init(step: step, kind: .objects, subject: $0.entity, count: nil, reason: $0.reason, cause: $0.cause)
      }
  }
}

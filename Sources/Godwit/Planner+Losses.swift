import GodwitModel
import GodwitStore

extension Planner {
  /// Everything that counting the source tells.
  func losses(_ program: StepProgram, dropped: [MigrationPlan.Dropped]) throws -> LossReport {
    let step = job.position.index + 1
    var found = dropped.map {
      LossReport.Loss(step: step, kind: .objects, subject: $0.entity, count: $0.rows, reason: $0.reason)
    }
    found += try inferredLosses(step)
    found += resolved.defaulted.map {
      LossReport.Loss(
        step: step, kind: .policy, subject: $0.policy, count: nil,
        reason: "mapping \($0.mapping): not registered, Core Data's default policy takes its place")
    }
    found += (program.facts.linksToNothing ?? []).map {
      LossReport.Loss(
        step: step, kind: .linksToNothing, subject: $0.relationship, count: $0.count,
        reason: "they lead to no object that the relationship can hold")
    }
    return LossReport(found)
  }

  /// What an inferred mapping leaves behind, counted: values of attributes that are gone, and links to objects that the
  /// destination's relationship does not take in. Objects of dropped entities are counted with the step.
  private func inferredLosses(_ step: Int) throws -> [LossReport.Loss] {
    guard job.steps[0].isInferred else { return [] }
    var losses: [LossReport.Loss] = []
    for mapping in resolved.entityMappings {
      guard let table = sourceSchema.table(of: mapping.source.name) else { continue }
      let dropped = droppedAttributes(of: mapping).compactMap { name in
        sourceSchema.column(of: name, in: mapping.source.name).map { (name: name, column: quoted($0)) }
      }
      if !dropped.isEmpty {
        // One walk over the table, however many there are.
        let counts = dropped.map { "COUNT(\($0.column))" }.joined(separator: ", ")
        let row =
          try connection.rows(
            "SELECT \(counts) FROM source.\(quoted(table.name))\(sourceSchema.isObject(of: [mapping.source.name]).clause)"
          ).first ?? []
        for (attribute, count) in zip(dropped, row) {
          guard case .integer(let count) = count, count > 0 else { continue }
          losses.append(
            .init(
              step: step, kind: .values, subject: "\(mapping.source.name).\(attribute.name)", count: count,
              reason: "no destination attribute takes them"))
        }
      }
      for source in mapping.relationships {
        guard let lost = try lostLinks(source, of: mapping, table: table.name) else { continue }
        losses.append(
          .init(
            step: step, kind: .links, subject: "\(mapping.source.name).\(lost.name)", count: lost.count,
            reason: lost.reason))
      }
    }
    return losses
  }

  private func droppedAttributes(of mapping: ResolvedEntityMapping) -> [String] {
    var read: Set<String> = []
    for (_, source) in mapping.attributes {
      switch source.withoutDefault {
      case .copy(let name): read.insert(name)
      case .expression(let parsed):
        // An inferred mapping reads an attribute by its name alone.
        if case .keyPath(_, let segments) = parsed.expression.node, let name = segments.first { read.insert(name) }
      default: break
      }
    }
    return resolved.sourceModel.attributes(of: mapping.source.name)
      .filter { !$0.isTransient && !$0.isDerived && !read.contains($0.name) }.map(\.name)
  }

  private func lostLinks(
    _ source: ResolvedEntityMapping.RelationshipSource, of mapping: ResolvedEntityMapping, table: String
  ) throws -> (name: String, count: Int64, reason: String)? {
    guard let before = source.path.first?.relationship, source.path.count == 1 else { return nil }
    let name = before.name
    let carried = Set(source.lookups.map { resolved.entityMappings[$0].source.name })
    // Objects whose entity is dropped are counted there.
    let mapped = Set(resolved.entityMappings.map(\.source.name))
    let lost = resolved.sourceModel.family(of: before.destinationEntityName).map(\.name)
      .filter { mapped.contains($0) && !carried.contains($0) }
    guard !lost.isEmpty else { return nil }
    var chain = ObjectChain(
      row: .init(alias: "s", entityName: mapping.source.name), schema: sourceSchema, database: "source",
      builder: StatementBuilder())
    try chain.follow(name)
    let target = try chain.loadedRow()
    let sql = """
      SELECT SUM((SELECT COUNT(*)\(chain.from) AND \(sourceSchema.isObject(of: lost, row: target.alias).term))) \
      FROM source.\(quoted(table)) AS s\(sourceSchema.isObject(of: [mapping.source.name], row: "s").clause)
      """
    guard let count = try connection.integer(sql), count > 0 else { return nil }
    let names = lost.map { "'\($0)'" }.joined(separator: " and ")
    return (name, count, "to \(names), which the destination's relationship does not take in")
  }
}

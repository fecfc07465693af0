import GodwitModel
import GodwitStore

extension Planner {
  /// What an inferred mapping leaves behind, counted: values of attributes that are gone, and links to objects that the
  /// destination's relationship does not take in. Objects of dropped entities are counted with the step.
  func inferredLosses(_ program: StepProgram) throws -> [String] {
    guard job.steps[0].isInferred else { return [] }
    var notes: [String] = []
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
          notes.append(
            "dropped: \(count) values of \(mapping.source.name).\(attribute.name), which the destination lacks")
        }
      }
      for source in mapping.relationships {
        if let note = try lostLinks(source, of: mapping, table: table.name) { notes.append(note) }
      }
    }
    return notes
  }

  /// Values whose attribute has another numeric type in the destination, where some become another number or none.
  func numericNotes() throws -> [String] {
    var notes: [String] = []
    for mapping in resolved.entityMappings where mapping.filter == nil && mapping.earlier == nil {
      guard let table = sourceSchema.table(of: mapping.source.name) else { continue }
      for (attribute, value) in mapping.attributes {
        guard case .expression(let parsed) = value.withoutDefault,
          case .keyPath(_, let segments) = parsed.expression.node, segments.count == 1,
          let from = resolved.sourceModel.attribute(segments[0], of: mapping.source.name),
          let change = NumericChange(from: from.type, to: attribute.type),
          let column = sourceSchema.column(of: from.name, in: mapping.source.name)
        else { continue }
        let counts = try change.counts(
          of: quoted(column), in: "source.\(quoted(table.name))",
          where: sourceSchema.isObject(of: [mapping.source.name]).term, on: connection)
        let path = "\(mapping.source.name).\(from.name)"
        let types = "\(from.type.xcodeName) to \(attribute.type.xcodeName)"
        if counts.rounded > 0 { notes.append("rounded: \(counts.rounded) values of \(path), \(types)") }
        if counts.misfits > 0 {
          notes.append(
            attribute.type.isInteger
              ? "the run will stop: \(counts.misfits) values of \(path) do not fit, \(types)"
              : "\(counts.misfits) values of \(path) are too large, \(types): they stay, and are read as no number")
        }
      }
    }
    return notes
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
  ) throws -> String? {
    guard let before = source.path.first?.relationship, source.path.count == 1 else { return nil }
    let name = before.name
    let carried = Set(source.lookups.map { resolved.entityMappings[$0].source.name })
    // Objects whose entity is dropped are counted there.
    let mapped = Set(resolved.entityMappings.map(\.source.name))
    let lost = resolved.sourceModel.family(of: before.destinationEntityName).map(\.name)
      .filter { (mapped.contains($0) || carried.isEmpty) && !carried.contains($0) }
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
    return
      "dropped: \(count) links of \(mapping.source.name).\(name) to \(names), which the destination's does not take in"
  }
}

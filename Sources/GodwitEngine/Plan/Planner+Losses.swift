import GodwitInference
import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

extension Planner {
  /// Everything that counting the source tells.
  func losses(
    _ program: StepProgram, dropped: [MigrationPlan.Dropped], numbers: [NumericCount]
  ) throws -> LossReport {
    let step = job.position.index + 1
    var found = dropped.map {
      LossReport.Loss(
        step: step, kind: .objects, subject: $0.entity, count: $0.rows, reason: $0.reason, cause: $0.cause)
    }
    found += try uncounted(step) + propertyLosses(step)
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
    found += (program.facts.linksToNothing ?? []).map {
      LossReport.Loss(
        step: step, kind: .linksToNothing, subject: $0.relationship, count: $0.count,
        reason: "they lead to no object that the relationship can hold", cause: .leadsNowhere)
    }
    return LossReport(found)
  }

  /// Values whose attribute has another numeric type in the destination.
  struct NumericCount {
    var path: String
    var types: String
    var isInteger: Bool
    /// How many become another number.
    var rounded: Int64
    /// How many become none.
    var misfits: Int64
  }

  /// One or two walks over the table for each attribute that changes its type.
  func numericCounts() throws -> [NumericCount] {
    guard isCounted else { return [] }
    var found: [NumericCount] = []
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
        found.append(
          NumericCount(
            path: "\(mapping.source.name).\(from.name)",
            types: "\(from.type.xcodeName) to \(attribute.type.xcodeName)", isInteger: attribute.type.isInteger,
            rounded: counts.rounded, misfits: counts.misfits))
      }
    }
    return found
  }

  /// Values that a change of numeric types cannot carry.
  func misfitNotes(_ numbers: [NumericCount]) -> [MigrationNote] {
    numbers.filter { $0.misfits > 0 }.map { found in
      found.isInteger
        ? MigrationNote(.valuesDoNotFit, "the run will stop: \(Self.misfit(found))")
        : MigrationNote(
          .valuesTooLarge,
          "\(found.misfits) values of \(found.path) are too large, \(found.types): they stay, and are read as NaN")
    }
  }

  /// Those that stop the run.
  func misfits(_ numbers: [NumericCount]) -> [String] {
    numbers.filter { $0.misfits > 0 && $0.isInteger }.map(Self.misfit)
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

  /// What mappings leave behind of the objects that they take: values of attributes that none of them reads, links of
  /// relationships that none follows, and links to objects that the destination's relationship does not take in.
  /// Objects of dropped entities are counted as such. What a policy reads of its objects is not known, so nothing is
  /// said of them.
  private func propertyLosses(_ step: Int) throws -> [LossReport.Loss] {
    let read = ReadProperties(resolved)
    var losses: [LossReport.Loss] = []
    func add(
      _ kind: LossReport.Kind, _ subject: String, _ count: Int64?, _ reason: String, _ cause: LossReport.Cause
    ) {
      if let count, count <= 0 { return }
      losses.append(.init(step: step, kind: kind, subject: subject, count: count, reason: reason, cause: cause))
    }
    let policies = Set(resolved.policies.compactMap(\.index))
    var seen: Set<String> = []
    for mapping in resolved.entityMappings where mapping.earlier == nil {
      let entity = mapping.source.name
      let isPolicys = resolved.entityMappings.contains { $0.source.name == entity && policies.contains($0.index) }
      guard !isPolicys, let table = sourceSchema.table(of: entity) else { continue }
      if seen.insert(entity).inserted {
        let dropped = resolved.sourceModel.attributes(of: entity)
          .filter { !$0.isTransient && !$0.isDerived && !read.contains($0.name, of: entity) }
          .compactMap { attribute in
            sourceSchema.column(of: attribute.name, in: entity).map { (name: attribute.name, column: quoted($0)) }
          }
        // One walk over the table, however many there are.
        let counts =
          !isCounted || dropped.isEmpty
          ? []
          : try connection.rows(
            "SELECT \(dropped.map { "COUNT(\($0.column))" }.joined(separator: ", ")) FROM source.\(quoted(table.name))\(sourceSchema.isObject(of: [entity]).clause)"
          ).first ?? []
        for (index, attribute) in dropped.enumerated() {
          var count: Int64?
          if index < counts.count, case .integer(let number) = counts[index] { count = number }
          add(.values, "\(entity).\(attribute.name)", count, "no destination attribute takes them", .notTaken)
        }
        for relationship in resolved.sourceModel.relationships(of: entity)
        where resolved.sourceModel.isStored(relationship)
          && !read.contains(relationship, of: entity, in: resolved.sourceModel)
        {
          guard let count = try links(relationship, of: entity) else { continue }
          add(
            .links, "\(entity).\(relationship.name)", isCounted ? count : nil, "no destination relationship takes them",
            .notTaken)
        }
      }
      guard job.steps[0].isInferred, isCounted else { continue }
      for source in mapping.relationships {
        guard let lost = try lostLinks(source, of: mapping, table: table.name) else { continue }
        add(.links, "\(entity).\(lost.name)", lost.count, lost.reason, .entityNotAccepted)
      }
    }
    return losses
  }

  /// The links of a relationship that the rows of an entity hold, or a join table whose owner it is; nil where the
  /// other end holds them, and counts them.
  private func links(_ relationship: RelationshipDescription, of entity: String) throws -> Int64? {
    switch sourceSchema.storage(of: relationship.name, in: entity) {
    case .foreignKey(let table, let column, _, _):
      if let inverse = resolved.sourceModel.inverse(of: relationship), !inverse.isToMany {
        // Both ends hold a one-to-one: the one whose name comes first counts it.
        guard (relationship.name, entity) <= (inverse.name, relationship.destinationEntityName) else { return nil }
      }
      return try connection.integer(
        "SELECT COUNT(\(quoted(column))) FROM source.\(quoted(table))\(sourceSchema.isObject(of: [entity]).clause)")
    case .join(let join, let subject, _, _):
      guard subject == join.ownerColumn, join.ownerRelationshipName == relationship.name,
        let table = sourceSchema.table(of: entity)
      else { return nil }
      let kind = sourceSchema.isObject(of: [entity], row: "s").further
      return try connection.integer(
        "SELECT COUNT(*) FROM source.\(quoted(join.name)) AS j CROSS JOIN source.\(quoted(table.name)) AS s ON s.Z_PK = j.\(quoted(subject))\(kind)"
      )
    case .inverse, .none: return nil
    }
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
      .filter { (mapped.contains($0) || carried.isEmpty) && !carried.contains($0) }
    guard !lost.isEmpty else { return nil }
    var chain = RelationshipJoinPath(
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
    return (name, count, "to \(names), which the destination's relationship does not accept")
  }
}

/// The source properties that the mappings of a step read to make values and links. A filter takes nothing over.
private struct ReadProperties {
  /// `Entity.property`, of the entity whose mapping reads it from its own object.
  private var own: Set<String> = []
  /// Names that are read along longer paths, and from objects that a name alone does not tell.
  private var anywhere: Set<String> = []

  init(_ resolved: ResolvedMapping) {
    for mapping in resolved.entityMappings where mapping.earlier == nil {
      for (_, source) in mapping.attributes {
        switch source.withoutDefault {
        case .copy(let name): own.insert("\(mapping.source.name).\(name)")
        case .expression(let parsed): note(parsed.expression, of: mapping.source.name)
        default: break
        }
      }
      for source in mapping.relationships {
        for hop in source.path {
          own.insert("\(mapping.source.name).\(hop.relationship.name)")
          anywhere.insert(hop.relationship.name)
        }
        if let call = source.policyCall { note(call.expression, of: mapping.source.name) }
      }
      // A relationship that is set without a path comes of the objects themselves.
    }
  }

  private mutating func note(_ expression: ValueExpression, of entity: String) {
    var (paths, fetches) = ([(isOwn: Bool, segments: [String])](), [String]())
    _ = expression.contains { part in
      switch part.node {
      case .keyPath(let base, let segments):
        let isOwn =
          switch base?.node {
          case nil, .evaluatedObject, .variable("source"): segments.count == 1
          default: false
          }
        paths.append((isOwn, segments))
      case .subquery(_, _, let predicate):
        // Its members are objects of any entity.
        for operand in predicate.operands {
          _ = operand.contains {
            if case .keyPath(_, let segments) = $0.node { fetches += segments }
            return false
          }
        }
      default: break
      }
      return false
    }
    for (isOwn, segments) in paths {
      if isOwn { own.insert("\(entity).\(segments[0])") } else { anywhere.formUnion(segments) }
    }
    anywhere.formUnion(fetches)
  }

  func contains(_ attribute: String, of entity: String) -> Bool {
    own.contains("\(entity).\(attribute)") || anywhere.contains(attribute)
  }

  /// A relationship is taken from either end.
  func contains(_ relationship: RelationshipDescription, of entity: String, in model: ManagedObjectModel) -> Bool {
    contains(relationship.name, of: entity) || relationship.inverseName.map { anywhere.contains($0) } == true
  }
}

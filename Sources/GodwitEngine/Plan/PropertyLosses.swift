import GodwitJob
import GodwitModel
import GodwitStore

/// The data that mappings lose of the objects that they take: values that none of them reads, links that no
/// relationship of the destination takes, and the order of links.
///
/// Everything is decided by entity and property. If the mappings of one entity differ, or a value is reached along a
/// path, the rows decide: a value counts if no mapping that reads it takes its object, and no path leads to it. Objects
/// that no mapping takes are counted separately (`MigrationPlan.Dropped`). The reads of a policy are not known, so its
/// objects are left out.
struct PropertyLosses {
  let planner: Planner
  let facts: PlanFacts
  let reads: PropertyReads
  /// The step, from 1.
  let step: Int
  /// False for a step whose source does not exist yet: its possible losses are named, not counted.
  let isCounted: Bool
  /// Whether the losses are named that rows decide about too: all that the step may have.
  let namesAll: Bool
  /// The job's own mappings by source entity, by index.
  let takers: [String: [MappingID]]
  /// Source entities of mappings with a policy.
  let policyEntities: Set<String>

  var mappings: [ResolvedEntityMapping] { planner.resolved.entityMappings }
  var model: ManagedObjectModel { planner.resolved.sourceModel }
  var schema: StoreSchema { planner.sourceSchema }

  init(_ planner: Planner, facts: PlanFacts, step: Int, isCounted: Bool, namesAll: Bool = false) {
    (self.planner, self.facts, self.step, self.isCounted) = (planner, facts, step, isCounted)
    self.namesAll = namesAll
    let resolved = planner.resolved
    reads = PropertyReads(resolved)
    let own = resolved.entityMappings.filter { $0.earlier == nil }
    takers = Dictionary(grouping: own, by: \.source.name).mapValues { $0.map(\.index) }
    let policies = Set(resolved.policies.compactMap(\.index))
    policyEntities = Set(own.filter { policies.contains($0.index) }.map(\.source.name))
  }

  /// Losses that are known, or that a walk counts.
  struct Part {
    /// nil for a loss that is not counted.
    var walk: SourceWalk?
    /// One for each figure of the walk.
    var wanted: [LossReport.Loss]

    /// - Parameter count: The result of the walk.
    func losses(of count: SourceWalk.Count?) -> [LossReport.Loss] {
      guard let count else { return wanted }
      return zip(wanted, count.sums(wanted.count)).filter { $0.1 > 0 }.map { loss, number in
        var loss = loss.estimated(count.isEstimate)
        loss.count = number
        return loss
      }
    }
  }

  /// All of them, entity by entity in the order of the mappings.
  func find() throws -> [Part] {
    var found: [Part] = []
    var seen: Set<String> = []
    for mapping in mappings where mapping.earlier == nil {
      let entity = mapping.source.name
      guard !policyEntities.contains(entity), seen.insert(entity).inserted,
        let table = schema.table(of: entity)?.name
      else { continue }
      found += try planner.scan.reading(table) {
        try values(of: entity, in: table) + links(of: entity, in: table) + orders(of: entity, in: table)
      }
    }
    return try found + files()
  }

  /// A loss.
  ///
  /// - Parameter walk: The walk that counts it; nil where it is not counted.
  func part(
    _ kind: LossReport.Kind, _ subject: String, _ walk: SourceWalk?, _ reason: String, _ cause: LossReport.Cause
  ) -> Part {
    Part(
      walk: walk,
      wanted: [.init(step: step, kind: kind, subject: subject, count: nil, reason: reason, cause: cause)])
  }

  // MARK: Values

  private static let notTaken = "no destination attribute takes them"

  private func values(of entity: String, in table: String) throws -> [Part] {
    var found: [Part] = []
    var whole: [(name: String, column: String)] = []
    for attribute in model.attributes(of: entity) where !attribute.isTransient && !attribute.isDerived {
      guard let column = schema.column(of: attribute.name, in: entity),
        !reads.isSelected(attribute.name, of: entity)
      else { continue }
      let readers = reads.readers[.init(entity: entity, name: attribute.name)] ?? []
      let paths = reads.paths(to: attribute.name, of: entity)
      if takesAll(readers, of: entity) { continue }
      guard !readers.isEmpty || !paths.isEmpty else {
        whole.append((attribute.name, column))
        continue
      }
      guard isCounted || namesAll else { continue }
      let builder = StatementBuilder()
      var terms = ["s.\(quoted(column)) IS NOT NULL", schema.isObject(of: [entity], row: "s").term]
      if !readers.isEmpty { terms += left(by: readers, of: entity, row: "s", builder) }
      terms += try paths.map { "s.Z_PK NOT IN (\(try reached(along: $0, builder)))" }
      let walk = walk(table, builder, entity) { [terms] in
        "SELECT COUNT(*) FROM source.\(quoted(table)) AS s\(whereClause((terms as [String?]) + [$0]))"
      }
      found.append(
        part(
          .values, "\(entity).\(attribute.name)", isCounted ? walk : nil,
          (readers.isEmpty
            ? "no destination attribute takes them, and no path leads to them"
            : "the mappings of these objects do not read them") + reads.tests(of: attribute.name, of: entity),
          .notTaken))
    }
    return wholeAttributes(whole, of: entity, in: table) + found
  }

  /// Attributes that no mapping reads. One walk over the table counts all of them.
  private func wholeAttributes(
    _ attributes: [(name: String, column: String)], of entity: String, in table: String
  ) -> [Part] {
    guard !attributes.isEmpty else { return [] }
    let columns = attributes.map { "COUNT(\(quoted($0.column)))" }.joined(separator: ", ")
    let condition = schema.isObject(of: [entity])
    let walk = SourceWalk(table, key: "Z_PK") {
      "SELECT \(columns) FROM source.\(quoted(table))\(whereClause([condition.sql, $0]))"
    }
    return [
      Part(
        walk: isCounted ? walk : nil,
        wanted: attributes.map {
          .init(
            step: step, kind: .values, subject: "\(entity).\($0.name)", count: nil,
            reason: Self.notTaken + reads.tests(of: $0.name, of: entity), cause: .notTaken)
        })
    ]
  }

  /// The keys of the objects at the end of a path.
  private func reached(along path: PropertyReads.Path, _ builder: StatementBuilder) throws -> String {
    let mapping = mappings[path.mapping]
    let alias = builder.alias("x")
    let (chain, row) = try join(
      from: .init(alias: alias, entityName: mapping.source.name), along: path.relationships,
      named: path.relationships.joined(separator: "."), builder)
    let association = associations(builder)
    let parts = chain.parts
    let tables = ["\(try association.table(path.mapping)) AS \(alias)"] + parts.tables
    let conditions = parts.conditions + ["(\(association.matches(path.mapping, alias: alias).sql))"]
    return "SELECT \(row.alias).Z_PK FROM \(tables.joined(separator: " CROSS JOIN ")) "
      + "WHERE \(conditions.joinedEvenly(by: " AND "))"
  }

  /// The join along relationships of the source, and the row at its end.
  ///
  /// - Parameter title: The name of the path in errors.
  func join(
    from row: ExpressionLowering.Row, along relationships: [String], named title: String, _ builder: StatementBuilder
  ) throws -> (chain: RelationshipJoinPath, target: ExpressionLowering.Row) {
    var chain = RelationshipJoinPath(
      row: row, schema: schema, database: StoreConnection.sourceSchema, builder: builder)
    do {
      for name in relationships { try chain.follow(name) }
      let target = try chain.loadedRow()
      return (chain, target)
    } catch let error as NotLowerable {
      throw GodwitError(.internalBug, "cannot follow '\(title)': \(error.reason)")
    }
  }

  // MARK: Which rows

  /// Whether some mappings take every carried-over object of an entity.
  func takesAll(_ chosen: some Collection<MappingID>, of entity: String) -> Bool {
    let all = takers[entity] ?? []
    guard !chosen.isEmpty, !all.isEmpty else { return false }
    if chosen.contains(where: { mappings[$0].filter == nil }) || all.allSatisfy({ chosen.contains($0) }) { return true }
    // Mappings that share no object take all of them if they take as many as there are.
    return facts.areExclusive(chosen)
      && chosen.reduce(0) { $0 + facts.mappings[$1].rows } == facts.entities.first { $0.name == entity }?.taken
  }

  /// The conditions for a row that is carried over, but by none of some mappings.
  func left(
    by chosen: some Collection<MappingID>, of entity: String, row alias: String, _ builder: StatementBuilder
  ) -> [String] {
    let others = (takers[entity] ?? []).filter { !chosen.contains($0) }
    return [taken(by: others, row: alias, builder), "NOT \(taken(by: chosen, row: alias, builder))"]
  }

  /// The condition that a row goes through one of some mappings: 1 or 0.
  func taken(by chosen: some Collection<MappingID>, row alias: String, _ builder: StatementBuilder) -> String {
    guard !chosen.isEmpty else { return "FALSE" }
    let association = associations(builder)
    let terms = chosen.sorted().map { "((\(association.matches($0, alias: alias).sql)) IS TRUE)" }
    return "(\(terms.joinedEvenly(by: " OR ")))"
  }

  private func associations(_ builder: StatementBuilder) -> AssociationLowering {
    AssociationLowering(mappings: mappings, facts: facts, schema: schema, builder: builder)
  }

  /// A walk over the rows `s`, whose statement may test filters.
  func walk(
    _ table: String, _ builder: StatementBuilder, _ entity: String, sql: @escaping (String?) -> String
  ) -> SourceWalk {
    SourceWalk(
      table, key: "s.Z_PK", builder: builder, context: "planning, counting what \(entity) loses", sql: sql)
  }
}

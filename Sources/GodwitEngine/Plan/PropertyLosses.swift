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
  let step: StepID
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

  init(_ planner: Planner, facts: PlanFacts, step: StepID, isCounted: Bool, namesAll: Bool = false) {
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
    var whole: [(name: String, column: String)] = []
    // Attributes that the same mappings read are counted together: what a path leads to is found once.
    var partial: [(ways: Ways, attributes: [(name: String, column: String)])] = []
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
      let ways = Ways(readers: readers, paths: paths)
      let known = partial.firstIndex { $0.ways == ways } ?? partial.count
      if known == partial.count { partial.append((ways, [])) }
      partial[known].attributes.append((attribute.name, column))
    }
    return try wholeAttributes(whole, of: entity, in: table)
      + partial.map { try partAttributes($0.attributes, readBy: $0.ways, of: entity, in: table) }
  }

  /// The mappings that read an attribute of their own objects, and the paths that lead to it.
  private struct Ways: Equatable {
    var readers: Set<MappingID>
    var paths: [PropertyReads.Path]
  }

  /// Attributes that are read of some objects. One walk over the table counts all of them.
  private func partAttributes(
    _ attributes: [(name: String, column: String)], readBy ways: Ways, of entity: String, in table: String
  ) throws -> Part {
    let builder = StatementBuilder()
    var terms = [schema.isObject(of: [entity], row: "s").term]
    if !ways.readers.isEmpty { terms += left(by: ways.readers, of: entity, row: "s", builder) }
    var isCut = true
    for path in ways.paths {
      if let found = try reaching(along: path, builder) {
        terms.append("NOT EXISTS (\(found))")
      } else {
        // SQLite would find the keys again for each part of the table.
        isCut = false
        terms.append("s.Z_PK NOT IN (\(try reached(along: path, builder)))")
      }
    }
    let figures = SourceWalk.Figures(
      columns: attributes.map { .init(sql: "COUNT(s.\(quoted($0.column)))") }, terms: terms, builder: builder,
      context: Self.context(entity))
    // Only walks that are cut are read together.
    let walk =
      isCut
      ? SourceWalk(table, counting: figures)
      : walk(table, builder, entity, isCut: false) { [terms] in
        "SELECT \(figures.columns.map(\.sql).joined(separator: ", ")) FROM source.\(quoted(table)) AS s\(whereClause((terms as [String?]) + [$0]))"
      }
    let reason =
      ways.readers.isEmpty
      ? "no destination attribute takes them, and no path leads to them"
      : "the mappings of these objects do not read them"
    return Part(
      walk: isCounted ? walk : nil,
      wanted: attributes.map {
        .init(
          step: step, kind: .values, subject: "\(entity).\($0.name)", count: nil,
          reason: reason + reads.tests(of: $0.name, of: entity), cause: .notTaken)
      })
  }

  /// Attributes that no mapping reads. One walk over the table counts all of them.
  private func wholeAttributes(
    _ attributes: [(name: String, column: String)], of entity: String, in table: String
  ) -> [Part] {
    guard !attributes.isEmpty else { return [] }
    let walk = SourceWalk(
      table,
      counting: .init(
        columns: attributes.map { .init(sql: "COUNT(s.\(quoted($0.column)))") },
        terms: [schema.isObject(of: [entity], row: "s").sql]))
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

  /// The objects from which a path of one relationship leads to a row `s`, where an index finds them; nil else.
  private func reaching(along path: PropertyReads.Path, _ builder: StatementBuilder) throws -> String? {
    let entity = mappings[path.mapping].source.name
    guard path.relationships.count == 1,
      case .foreignKey(_, let column, _, _) = schema.storage(of: path.relationships[0], in: entity),
      try isIndexed(column, at: path.relationships[0], of: entity)
    else { return nil }
    let alias = builder.alias("x")
    let association = associations(builder)
    return "SELECT 1 FROM \(try association.table(path.mapping)) AS \(alias) WHERE \(alias).\(quoted(column)) = s.Z_PK "
      + "AND (\(association.matches(path.mapping, alias: alias).sql))"
  }

  /// Whether the source has an index by the column of a to-one; for an end of links by the column that holds the link.
  private func isIndexed(_ column: String, at relationship: String, of entity: String) throws -> Bool {
    var (table, column) = (schema.table(of: entity)?.name ?? "", column)
    if let pair = model.pairEntities.first(where: { $0.name == entity }) {
      let isSource = relationship == PairEntity.End.source.toOne
      switch schema.storage(of: pair.relationshipName, in: pair.sourceEntityName) {
      // A link that is stored once is turned by the view.
      case .join(let join, let subject, let object, _) where !join.isReflexive:
        (table, column) = (join.name, isSource ? subject : object)
      case .inverse(let elements, let link, _, _):
        guard isSource else { return true }
        (table, column) = (elements, link)
      default: return false
      }
    }
    return try planner.isIndexed(column, of: table)
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
    _ table: String, _ builder: StatementBuilder, _ entity: String, isCut: Bool = true,
    sql: @escaping (String?) -> String
  ) -> SourceWalk {
    SourceWalk(table, key: "s.Z_PK", isCut: isCut, builder: builder, context: Self.context(entity), sql: sql)
  }

  private static func context(_ entity: String) -> String { "planning, counting what \(entity) loses" }
}

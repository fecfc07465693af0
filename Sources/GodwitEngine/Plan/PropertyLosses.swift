import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// What mappings leave behind of the objects that they take: values that none of them reads, links that no relationship
/// of the destination takes, and the order of links.
///
/// Everything is asked by entity and property. Where the mappings of one entity differ, or a value is reached along a
/// path, the rows decide: a value counts if no mapping that reads it takes its object, and no path leads to it. Objects
/// that no mapping takes are counted as such (`MigrationPlan.Dropped`). What a policy reads of its objects is not known,
/// so nothing is said of them.
struct PropertyLosses {
  let planner: Planner
  let facts: PlanFacts
  let reads: PropertyReads
  /// The step, from 1.
  let step: Int
  /// False for a step whose source is not there yet: what it may lose is named, not counted.
  let isCounted: Bool
  /// The job's own mappings by source entity, by index.
  let takers: [String: [Int]]
  /// Source entities of mappings with a policy.
  let policyEntities: Set<String>

  var mappings: [ResolvedEntityMapping] { planner.resolved.entityMappings }
  var model: ManagedObjectModel { planner.resolved.sourceModel }
  var schema: StoreSchema { planner.sourceSchema }

  init(_ planner: Planner, facts: PlanFacts, step: Int, isCounted: Bool) {
    (self.planner, self.facts, self.step, self.isCounted) = (planner, facts, step, isCounted)
    let resolved = planner.resolved
    reads = PropertyReads(resolved)
    let own = resolved.entityMappings.filter { $0.earlier == nil }
    takers = Dictionary(grouping: own, by: \.source.name).mapValues { $0.map(\.index) }
    let policies = Set(resolved.policies.compactMap(\.index))
    policyEntities = Set(own.filter { policies.contains($0.index) }.map(\.source.name))
  }

  /// All of them, entity by entity in the order of the mappings.
  func find() throws -> [LossReport.Loss] {
    var found: [LossReport.Loss] = []
    var seen: Set<String> = []
    for mapping in mappings where mapping.earlier == nil {
      let entity = mapping.source.name
      guard !policyEntities.contains(entity), seen.insert(entity).inserted,
        let table = schema.table(of: entity)?.name
      else { continue }
      found += try planner.reading(table) {
        try values(of: entity, in: table) + links(of: entity, in: table) + orders(of: entity, in: table)
      }
    }
    return found
  }

  /// One loss, or none where nothing is lost.
  ///
  /// - Parameter count: nil where it is not counted.
  func loss(
    _ kind: LossReport.Kind, _ subject: String, _ count: Int64?, _ reason: String, _ cause: LossReport.Cause
  ) -> [LossReport.Loss] {
    if let count, count <= 0 { return [] }
    return [.init(step: step, kind: kind, subject: subject, count: count, reason: reason, cause: cause)]
  }

  // MARK: Values

  private static let notTaken = "no destination attribute takes them"

  private func values(of entity: String, in table: String) throws -> [LossReport.Loss] {
    var found: [LossReport.Loss] = []
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
      guard isCounted else { continue }
      let builder = StatementBuilder()
      var terms = ["s.\(quoted(column)) IS NOT NULL", schema.isObject(of: [entity], row: "s").term]
      if !readers.isEmpty { terms += left(by: readers, of: entity, row: "s", builder) }
      terms += try paths.map { "s.Z_PK NOT IN (\(try reached(along: $0, builder)))" }
      let sql = "SELECT COUNT(*) FROM source.\(quoted(table)) AS s WHERE \(terms.joinedEvenly(by: " AND "))"
      found += loss(
        .values, "\(entity).\(attribute.name)", try count(sql, builder, entity),
        readers.isEmpty
          ? "no destination attribute takes them, and no path leads to them"
          : "the mappings of these objects do not read them",
        .notTaken)
    }
    return try wholeAttributes(whole, of: entity, in: table) + found
  }

  /// Attributes that nobody reads. One walk over the table, however many there are.
  private func wholeAttributes(
    _ attributes: [(name: String, column: String)], of entity: String, in table: String
  ) throws -> [LossReport.Loss] {
    guard !attributes.isEmpty else { return [] }
    let columns = attributes.map { "COUNT(\(quoted($0.column)))" }.joined(separator: ", ")
    let counts =
      isCounted
      ? try planner.connection.rows(
        "SELECT \(columns) FROM source.\(quoted(table))\(schema.isObject(of: [entity]).clause)"
      ).first ?? [] : []
    return attributes.enumerated().flatMap { index, attribute -> [LossReport.Loss] in
      var number: Int64?
      if index < counts.count, case .integer(let found) = counts[index] { number = found }
      return loss(.values, "\(entity).\(attribute.name)", number, Self.notTaken, .notTaken)
    }
  }

  /// The keys of the objects at the end of a path.
  private func reached(along path: PropertyReads.Path, _ builder: StatementBuilder) throws -> String {
    let mapping = mappings[path.mapping]
    let alias = builder.alias("x")
    var chain = RelationshipJoinPath(
      row: .init(alias: alias, entityName: mapping.source.name), schema: schema,
      database: StoreConnection.sourceSchema, builder: builder)
    let row: ExpressionLowering.Row
    do {
      for name in path.relationships { try chain.follow(name) }
      row = try chain.loadedRow()
    } catch let error as NotLowerable {
      throw GodwitError(
        .internalBug, "cannot follow '\(path.relationships.joined(separator: "."))': \(error.reason)")
    }
    let association = associations(builder)
    let parts = chain.parts
    let tables = ["\(try association.table(path.mapping)) AS \(alias)"] + parts.tables
    let conditions = parts.conditions + ["(\(association.matches(path.mapping, alias: alias).sql))"]
    return "SELECT \(row.alias).Z_PK FROM \(tables.joined(separator: " CROSS JOIN ")) "
      + "WHERE \(conditions.joinedEvenly(by: " AND "))"
  }

  // MARK: Which rows

  /// Whether some mappings take every object of an entity that comes over.
  func takesAll(_ chosen: some Collection<Int>, of entity: String) -> Bool {
    let all = takers[entity] ?? []
    guard !chosen.isEmpty, !all.isEmpty else { return false }
    if chosen.contains(where: { mappings[$0].filter == nil }) || all.allSatisfy({ chosen.contains($0) }) { return true }
    // Mappings that share no object take all of them if they take as many as there are.
    return facts.areExclusive(chosen)
      && chosen.reduce(0) { $0 + facts.mappings[$1].rows } == facts.entities.first { $0.name == entity }?.taken
  }

  /// The conditions that a row comes over, but through none of some mappings.
  func left(
    by chosen: some Collection<Int>, of entity: String, row alias: String, _ builder: StatementBuilder
  ) -> [String] {
    let others = (takers[entity] ?? []).filter { !chosen.contains($0) }
    return [taken(by: others, row: alias, builder), "NOT \(taken(by: chosen, row: alias, builder))"]
  }

  /// The condition that a row goes through one of some mappings: 1 or 0.
  func taken(by chosen: some Collection<Int>, row alias: String, _ builder: StatementBuilder) -> String {
    guard !chosen.isEmpty else { return "FALSE" }
    let association = associations(builder)
    let terms = chosen.sorted().map { "((\(association.matches($0, alias: alias).sql)) IS TRUE)" }
    return "(\(terms.joinedEvenly(by: " OR ")))"
  }

  private func associations(_ builder: StatementBuilder) -> AssociationLowering {
    AssociationLowering(mappings: mappings, facts: facts, schema: schema, builder: builder)
  }

  /// A count whose statement may test filters.
  func count(_ sql: String, _ builder: StatementBuilder, _ entity: String) throws -> Int64 {
    let statement = ChunkStatement(sql: sql, builder: builder)
    return try planner.functions.running(statement, context: "planning, counting what \(entity) loses") {
      let row = try planner.connection.rows(sql, builder.arguments()).first ?? []
      guard case .integer(let number)? = row.first else { return 0 }
      return number
    }
  }
}

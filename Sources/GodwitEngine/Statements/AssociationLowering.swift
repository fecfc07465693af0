import GodwitJob
package import GodwitModel
import GodwitStore

/// The destination object of a source object, as SQL.
///
/// A computed association needs no table. The destination object exists if the source row exists and passes the
/// mapping's filter, and its key is the source key plus the mapping's offset. `godwit_lookup` reads the other
/// associations from their spill file.
package struct AssociationLowering {
  let mappings: [ResolvedEntityMapping]
  let facts: PlanFacts
  let schema: StoreSchema
  let builder: StatementBuilder
  /// nil in a step without policies.
  var policies: PolicyLookups?
  /// How filters are tested: the planner runs each on every row, so that later statements need not look again.
  var checks = ExpressionLowering.Checks.inline
  /// Before a run, what tells the objects of a stored association apart, by the mapping's index and the source key.
  var standIn: ((MappingID, String) throws -> String)?
  /// Mappings whose source keys are kept in memory.
  var keySets: Set<MappingID> = []

  static func isStored(_ mapping: ResolvedEntityMapping, facts: PlanFacts) -> Bool {
    if !mapping.mapping.uniqueBy.isEmpty { return true }
    if case .dense = facts.mappings[mapping.index].keys { return true }
    return false
  }

  func isStored(_ index: MappingID) -> Bool { Self.isStored(mappings[index], facts: facts) }

  /// The condition that a source row goes through a mapping.
  func matches(_ index: MappingID, alias: String) -> (sql: String, reason: String?) {
    let mapping = mappings[index]
    var terms = [schema.isObject(of: [mapping.source.name], row: alias).sql].compactMap(\.self)
    if let earlier = mapping.earlier, case .offset(let offset) = facts.mappings[index].keys {
      // An object of an earlier job may have been deleted since.
      terms.append(earlier.isThere(offset: builder.bind(.integer(offset)), alias: alias, builder: builder))
    }
    let isComputable = mapping.isComputable(row: alias)
    if let isComputable { terms.append(isComputable) }
    guard let filter = mapping.filter else { return (terms.isEmpty ? "TRUE" : terms.joinedEvenly(by: " AND "), nil) }
    let lowered = ExpressionLowering.condition(
      filter, schema: schema, row: .init(alias: alias, entityName: mapping.source.name), builder: builder,
      checks: mapping.earlier == nil ? checks : .inline)
    // SQLite may test the terms in another order.
    let condition = isComputable.map { "(CASE WHEN \($0) THEN (\(lowered.sql)) ELSE 0 END)" }
    return (
      (terms + [condition ?? lowered.sql]).joinedEvenly(by: " AND "),
      lowered.reason.map { "filter '\(filter.source.text)': \($0)" }
    )
  }

  /// The table of a mapping's source objects.
  func table(_ index: MappingID) throws -> String {
    let name = mappings[index].source.name
    guard let table = schema.table(of: name) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(name)'")
    }
    return "\(StoreConnection.sourceSchema).\(quoted(table.name))"
  }

  /// The destination key of the row `alias`, which is known to go through the mapping.
  func counterpart(_ index: MappingID, ofRow alias: String) -> String {
    guard !isStored(index), case .offset(let offset) = facts.mappings[index].keys else {
      return spillLookup(index, key: "\(alias).Z_PK")
    }
    return offset == 0 ? "\(alias).Z_PK" : "(\(alias).Z_PK + \(builder.bind(.integer(offset))))"
  }

  /// The entries of a temporary table of destination keys `d`, with the source rows `s` that a mapping made those objects
  /// of, as FROM and WHERE.
  func makers(_ index: MappingID, of entries: String, as alias: String) throws -> String {
    let rows = "\(try table(index)) AS s"
    let taken = matches(index, alias: "s").sql
    guard !isStored(index), case .offset(let offset) = facts.mappings[index].keys else {
      let key = counterpart(index, ofRow: "s")
      return "FROM \(rows) CROSS JOIN temp.\(entries) AS \(alias) ON \(alias).d = \(key) WHERE \(taken)"
    }
    let key = "\(alias).d - \(builder.bind(.integer(offset)))"
    return "FROM temp.\(entries) AS \(alias) CROSS JOIN \(rows) ON s.Z_PK = \(key) WHERE \(taken)"
  }

  private func spillLookup(_ index: MappingID, key: String) -> String {
    builder.readsSpill = true
    return "godwit_lookup(\(index), \(key))"
  }

  /// The destination key of the object whose source key is `key`; NULL when it was not migrated.
  ///
  /// - Parameter entity: The destination entity wanted; of several objects that a policy made of one, the lowest key.
  package func lookup(_ index: MappingID, key: String, entity: String? = nil) throws -> String {
    guard !isPolicy(index) else { return policyLookup(index, key: key, entity: entity) }
    // Objects of a mapping with a policy may be of any entity, so those look it up to whom it has nothing to give.
    if let policies, let entity, policies.computed.contains(index),
      !policies.isKind(mappings[index].destination.name, entity)
    {
      return "NULL"
    }
    guard !isStored(index) else { return try standIn?(index, key) ?? spillLookup(index, key: key) }
    if let known = quickLookup(index, key: key) { return known }
    let alias = builder.alias("a")
    return
      "(SELECT \(counterpart(index, ofRow: alias)) FROM \(try table(index)) AS \(alias) WHERE \(alias).Z_PK = \(key) AND \(matches(index, alias: alias).sql))"
  }

  /// The same as an expression on a LEFT JOIN that is added to `joins`: SQLite seeks in a joined table, where
  /// it would open a cursor for each run of a sub-select.
  func lookup(_ index: MappingID, key: String, joins: inout [String]) throws -> String {
    guard !isStored(index), !isPolicy(index), joins.count < Self.limitJoins else { return try lookup(index, key: key) }
    if let known = quickLookup(index, key: key) { return known }
    let alias = builder.alias("a")
    joins.append(
      "LEFT JOIN \(try table(index)) AS \(alias) ON \(alias).Z_PK = \(key) AND \(matches(index, alias: alias).sql)")
    return counterpart(index, ofRow: alias)
  }

  /// The same for the row `alias` itself, which goes through `mapping`, by the row's own values. nil if they do not
  /// suffice, or if the association is not computed.
  func ownLookup(_ index: MappingID, alias: String, in mapping: ResolvedEntityMapping) -> String? {
    let wanted = mappings[index]
    guard wanted.earlier == nil, !isStored(index), !isPolicy(index), wanted.source.name == mapping.source.name else {
      return nil
    }
    let counterpart = counterpart(index, ofRow: alias)
    guard wanted.filter != nil, index != mapping.index else { return counterpart }
    return "(CASE WHEN \(matches(index, alias: alias).sql) THEN \(counterpart) END)"
  }

  /// The same for an end of a link whose row is joined in: the object is there, and a mapping of all objects of its entity
  /// takes it. nil for any other key.
  func endLookup(_ index: MappingID, at chain: RelationshipJoinPath) -> String? {
    let wanted = mappings[index]
    guard let alias = builder.joinedEnds.values.first(where: { chain.key == "\($0).Z_PK" }), wanted.earlier == nil,
      !isStored(index), !isPolicy(index), wanted.filter == nil, wanted.isComputable(row: alias) == nil,
      wanted.source.name == chain.entityName, schema.fillsTable(chain.entityName)
    else { return nil }
    return counterpart(index, ofRow: alias)
  }

  /// The same without reading the source; nil if that is not possible, or if the association is not computed.
  func quickLookup(_ index: MappingID, key: String) -> String? {
    let known = facts.mappings[index]
    guard mappings[index].earlier == nil, !isStored(index), !isPolicy(index), case .offset(let offset) = known.keys
    else { return nil }
    if known.rows == 0 { return "NULL" }
    if let run = run(of: [index], key: key) { return "(CASE WHEN \(run.holds) THEN \(run.counterpart) END)" }
    guard keySets.contains(index) else { return nil }
    builder.needsKeySet(index)
    return "godwit_counterpart(\(index), \(key), \(builder.bind(.integer(offset))))"
  }

  /// The same in several mappings that no object goes through two of.
  func quickLookup(firstOf indices: [MappingID], key: String) -> String? {
    if let run = run(of: indices, key: key) { return "(CASE WHEN \(run.holds) THEN \(run.counterpart) END)" }
    let found = indices.compactMap { quickLookup($0, key: key) }
    guard found.count == indices.count else { return nil }
    return found.count == 1 ? found[0] : "COALESCE(\(found.joined(separator: ", ")))"
  }

  /// The lookup of a key in several mappings of one table, where the keys that they take have no gap between their ends:
  /// whether an object is found, and its key; nil where that is not known, or the key is more than a column.
  func run(of indices: [MappingID], key: String) -> (holds: String, counterpart: String)? {
    guard !key.contains("("), facts.areExclusive(indices),
      indices.allSatisfy({ mappings[$0].earlier == nil && !isStored($0) && !isPolicy($0) })
    else { return nil }
    let members = indices.filter { facts.mappings[$0].rows > 0 }
    let known = members.map { facts.mappings[$0] }
    guard let first = members.first, case .offset(let offset) = known[0].keys,
      members.allSatisfy({
        schema.table(of: mappings[$0].source.name)?.name == schema.table(of: mappings[first].source.name)?.name
      }),
      known.allSatisfy({ $0.keys == known[0].keys }), let low = known.map(\.minimumKey).min(),
      let high = known.map(\.maximumKey).max()
    else { return nil }
    let (span, overflow) = high.subtractingReportingOverflow(low)
    guard !overflow, span == known.reduce(0, { $0 + $1.rows }) - 1 else { return nil }
    let counterpart = offset == 0 ? key : "\(key) + \(builder.bind(.integer(offset)))"
    return (
      "\(key) BETWEEN \(builder.bind(.integer(low))) AND \(builder.bind(.integer(high))) AND \(key) = CAST(\(key) AS INTEGER)",
      counterpart
    )
  }

  /// SQLite joins at most 64 tables.
  private static let limitJoins = 40

  /// The first of several lookups that finds something.
  func first(of indices: [MappingID], key: String, entity: String? = nil) throws -> String {
    switch indices.count {
    case 0: "NULL"
    case 1: try lookup(indices[0], key: key, entity: entity)
    default: "COALESCE(\(try indices.map { try lookup($0, key: key, entity: entity) }.joined(separator: ", ")))"
    }
  }
}

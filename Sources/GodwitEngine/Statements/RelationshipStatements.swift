import Foundation
package import GodwitJob
package import GodwitModel
import GodwitStore

/// One scan of the relationship stage: the table that it walks, and the rows that it writes.
package struct RelationshipScan: Hashable {
  enum Work: Hashable {
    /// Join rows of assignments through lookups. With several of either, a walk serves all of them: one at most finds
    /// something for a row of the source.
    case pairs(assignments: [Int], lookups: [MappingID])
    /// The assigned targets of one to-many assignment through one lookup.
    case targets(assignment: Int, lookup: MappingID)
    /// A marker for each to-many assignment, with or without targets.
    case markers(assignment: Int)
    /// The single target of a to-one assignment, or none.
    case single(assignment: Int)
  }

  var link: LinkID
  var work: Work
  package var mapping: MappingID
  /// The source table whose keys the chunks range over, and the SQL of that key.
  var driverTable: String
  var driverKey: String
}

/// The statements of the relationship stage: join rows, and assignments that may displace each other.
package struct RelationshipStatements: StageStatements {
  package let step: StepProgram

  /// The scans of a link in the relationship stage, in order.
  package func scans(_ link: LinkID) throws -> [RelationshipScan] { try step.kept.scans(link) { try list(link) } }

  private func list(_ linkIndex: LinkID) throws -> [RelationshipScan] {
    let link = links[linkIndex]
    var jobs: [RelationshipScan] = []
    var shared: Set<Int> = []
    // A policy sets its mapping's relationships itself.
    for (number, assignment) in link.assignments.enumerated() where !isPolicy(assignment.mapping) {
      let mapping = mappings[assignment.mapping]
      let source = mapping.relationships[assignment.part]
      func job(_ work: RelationshipScan.Work, driver: (table: String, key: String)) -> RelationshipScan {
        RelationshipScan(
          link: linkIndex, work: work, mapping: mapping.index, driverTable: driver.table, driverKey: driver.key)
      }
      switch link.strategy {
      case .atCreation, .fromInverse: continue
      case .pairs:
        guard assignment.end == link.carriedEnd else { continue }
        guard !shared.contains(number), !source.lookups.isEmpty else { continue }
        let driver = try pairDriver(of: source, in: mapping)
        let together = try [number] + sharingWalk(with: number, of: link)
        shared.formUnion(together)
        let isOneWalk = try sharesWalk(source.lookups, of: assignment)
        jobs += (isOneWalk ? [source.lookups] : source.lookups.map { [$0] }).map {
          job(.pairs(assignments: together, lookups: $0), driver: driver)
        }
      case .resolved:
        let own = (table: try sourceTable(mapping.source.name), key: "Z_PK")
        if link.isToMany(assignment.end) {
          jobs.append(job(.markers(assignment: number), driver: own))
          let driver = try self.driver(of: source, in: mapping)
          jobs += source.lookups.map { job(.targets(assignment: number, lookup: $0), driver: driver) }
        } else {
          jobs.append(job(.single(assignment: number), driver: own))
        }
      }
    }
    return jobs
  }

  /// The table that a scan of source-to-target pairs walks. For a path of one hop it is the table that stores the link,
  /// so that no index of the source is needed; otherwise the mapping's own table.
  private func driver(
    of source: ResolvedEntityMapping.RelationshipSource, in mapping: ResolvedEntityMapping
  ) throws -> (table: String, key: String) {
    if source.path.count == 1 {
      switch sourceSchema.storage(of: source.path[0].relationship.name, in: mapping.source.name) {
      case .join(let join, _, _, _): return (join.name, "rowid")
      case .inverse(let table, _, _, _): return (table, "Z_PK")
      case .foreignKey, .none: break
      }
    }
    return (try sourceTable(mapping.source.name), "Z_PK")
  }

  /// The same if the pairs become join rows. A join table is walked in the order of the destination's key, so that
  /// every row is appended to its table and its index. In the stored order, rows would be inserted at random places.
  private func pairDriver(
    of source: ResolvedEntityMapping.RelationshipSource, in mapping: ResolvedEntityMapping
  ) throws -> (table: String, key: String) {
    if let walk = joinWalk(of: source, in: mapping) { return (walk.table, quoted(walk.first)) }
    return try driver(of: source, in: mapping)
  }

  /// A join table of the source and the columns to walk it by.
  struct JoinWalk: Equatable {
    var table, first, second: String
  }

  /// The source's join table with its columns in the order of those of the destination's key; nil where none stores the
  /// relationship, or no index of the source has that order.
  private func joinWalk(
    of source: ResolvedEntityMapping.RelationshipSource, in mapping: ResolvedEntityMapping
  ) -> JoinWalk? {
    guard source.path.count == 1,
      case .join(let join, let subject, let object, _) = sourceSchema.storage(
        of: source.path[0].relationship.name, in: mapping.source.name),
      case .join(let made, let madeSubject, _, _) = destinationSchema.storage(
        of: source.relationship.name, in: mapping.destination.name), !join.isReflexive
    else { return nil }
    let (first, second) = madeSubject == made.ownerColumn ? (subject, object) : (object, subject)
    guard sourceSchema.walksJoin(join.name, from: first) else { return nil }
    return JoinWalk(table: join.name, first: first, second: second)
  }

  /// Whether the join rows of an assignment may be made in one walk through all of some lookups.
  private func sharesWalk(_ lookups: [MappingID], of assignment: InversePair.Assignment) throws -> Bool {
    let mapping = mappings[assignment.mapping]
    let source = mapping.relationships[assignment.part]
    guard joinWalk(of: source, in: mapping) != nil, facts.areExclusive(lookups), !lookups.contains(where: isPolicy),
      case .join(let made, _, _, _) = destinationSchema.storage(
        of: source.relationship.name, in: mapping.destination.name)
    else { return false }
    // The place shows which lookup found the object.
    return made.ownerOrderColumn == nil && made.destinationOrderColumn == nil
  }

  /// Later assignments whose join rows can be made in the walk of another one, because the key of a source object shows
  /// which of their mappings takes it.
  ///
  /// The numbers of chunks depend on the result, so it must not depend on the budget, which may change on a resume.
  private func sharingWalk(with number: Int, of link: InversePair) throws -> [Int] {
    let assignment = link.assignments[number]
    let mapping = mappings[assignment.mapping]
    let source = mapping.relationships[assignment.part]
    func isComputed(_ index: MappingID) -> Bool {
      mappings[index].earlier == nil && !isStored(index) && !isPolicy(index)
    }
    guard try sharesWalk([], of: assignment), isComputed(mapping.index) else { return [] }
    var members = [assignment.mapping]
    var found: [Int] = []
    for (other, later) in link.assignments.enumerated().dropFirst(number + 1)
    where later.end == assignment.end && !isPolicy(later.mapping) && !members.contains(later.mapping) {
      let candidate = mappings[later.mapping]
      let part = candidate.relationships[later.part]
      guard part.lookups == source.lookups, joinWalk(of: part, in: candidate) == joinWalk(of: source, in: mapping),
        isComputed(candidate.index), facts.areExclusive(members + [candidate.index]),
        try sharesWalk([], of: later)
      else { continue }
      members.append(candidate.index)
      found.append(other)
    }
    return found
  }

  package func statement(_ scan: RelationshipScan) throws -> ChunkStatement {
    try step.kept.relationships(scan) {
      switch scan.work {
      case .pairs(let numbers, let lookups): try joinRows(scan, numbers, lookups: lookups)
      case .targets(let number, let lookup): try targets(scan, number, lookup: lookup)
      case .markers(let number): try assignment(scan, number, isSingle: false)
      case .single(let number): try assignment(scan, number, isSingle: true)
      }
    }
  }

  private func joinRows(_ job: RelationshipScan, _ numbers: [Int], lookups: [MappingID]) throws -> ChunkStatement {
    let link = links[job.link]
    let builder = StatementBuilder()
    let association = associations(builder)
    let mapping = mappings[job.mapping]
    let source = mapping.relationships[link.assignments[numbers[0]].part]
    let walk = joinWalk(of: source, in: mapping)
    let assignments = numbers.map { link.assignments[$0] }
    guard
      case .join(let join, let subject, let object, let order) = destinationSchema.storage(
        of: source.relationship.name, in: mapping.destination.name)
    else { throw GodwitError(.internalBug, "cannot find the join table of '\(source.relationship.name)'") }
    let inverseOrder = subject == join.ownerColumn ? join.destinationOrderColumn : join.ownerOrderColumn
    var columns = [subject, object]
    var values = ["subject", "target"]
    var updates: [String] = []
    for (column, value) in [(order, "position"), (inverseOrder, "inverse_position")] {
      guard let column else { continue }
      columns.append(column)
      values.append(value)
      updates.append("\(quoted(column)) = MIN(\(quoted(column)), excluded.\(quoted(column)))")
    }
    let into = "INSERT INTO main.\(quoted(join.name)) (\(columns.map(quoted).joined(separator: ", ")))"
    if updates.isEmpty, !join.isReflexive, let walk,
      let plain = try plainPairs(assignments, lookups: lookups, association: association, walk: walk)
    {
      return ChunkStatement(
        sql: "\(into) \(plain.sql) ON CONFLICT DO NOTHING", builder: builder, reasons: plain.reasons)
    }
    let pairs = try self.pairs(assignments, lookups: lookups, association: association, walk: walk)
    let conflict = updates.isEmpty ? "DO NOTHING" : "DO UPDATE SET \(updates.joined(separator: ", "))"
    if join.isReflexive {
      // Each pair is stored in both directions, in any direction of the source.
      let (forward, back) = order == nil ? ("", "") : (", position", ", inverse_position")
      return ChunkStatement(
        sql: """
          WITH p AS MATERIALIZED (SELECT * FROM (\(pairs.sql)) WHERE subject IS NOT NULL AND target IS NOT NULL) \
          \(into) SELECT subject, target\(forward) FROM p WHERE 1 \
          UNION SELECT target, subject\(back) FROM p WHERE 1 ON CONFLICT \(conflict)
          """, builder: builder, reasons: pairs.reasons)
    }
    return ChunkStatement(
      sql: """
        \(into) SELECT \(values.joined(separator: ", ")) FROM (\(pairs.sql)) \
        WHERE subject IS NOT NULL AND target IS NOT NULL ON CONFLICT \(conflict)
        """, builder: builder, reasons: pairs.reasons)
  }

  private func targets(_ job: RelationshipScan, _ number: Int, lookup: MappingID) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let association = associations(builder)
    let assignment = links[job.link].assignments[number]
    let pairs = try self.pairs([assignment], lookups: [lookup], association: association)
    var (from, target) = ("(\(pairs.sql)) AS p", "target")
    if isExplicit(lookup) {
      // The target is a source key here, from which a policy may have made several objects.
      let wanted = mappings[job.mapping].relationships[assignment.part].relationship.destinationEntityName
      from +=
        " CROSS JOIN main.\(StepProgram.pairTable(lookup)) AS q ON \(association.pairCondition(lookup, key: "p.target", entity: wanted))"
      target = "q.destination"
    }
    return ChunkStatement(
      sql: """
        INSERT INTO main.\(StepProgram.linkTable(job.link)) (side, mapping, turn, subject, target, position, inverse_position) \
        SELECT \(assignment.end.rawValue), \(job.mapping), p.subject, p.subject, \(target), p.position, p.inverse_position FROM \(from) \
        WHERE p.subject IS NOT NULL AND \(target) IS NOT NULL
        """, builder: builder, reasons: pairs.reasons)
  }

  /// The rows that record an assignment; for a to-one with its target.
  private func assignment(_ job: RelationshipScan, _ number: Int, isSingle: Bool) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let association = associations(builder)
    let mapping = mappings[job.mapping]
    let assignment = links[job.link].assignments[number]
    let source = mapping.relationships[assignment.part]
    let target = isSingle ? try singleTarget(of: source, in: mapping, association) : "NULL"
    let rows = try assigningRows(of: job.mapping, association)
    let subject = isUnique(job.mapping) ? "u.destination" : association.counterpart(job.mapping, ofRow: "s")
    return ChunkStatement(
      sql: """
        INSERT INTO main.\(StepProgram.linkTable(job.link)) (side, mapping, turn, subject, target, inverse_position) \
        SELECT \(assignment.end.rawValue), \(job.mapping), \(subject), \(subject), \(target), \
        \(try inverseOrder(of: source, in: mapping, target: target, association)) FROM \(rows)
        """, builder: builder)
  }

  /// The object that a to-one of row `s` leads to: of several, the first lookup's, and of its objects the lowest key.
  func singleTarget(
    of source: ResolvedEntityMapping.RelationshipSource, in mapping: ResolvedEntityMapping,
    _ association: AssociationLowering
  ) throws -> String {
    let wanted = source.relationship.destinationEntityName
    let chain = try step.chain(source.path, in: mapping, association)
    guard chain.isToMany else {
      return try association.first(of: source.lookups, key: chain.scalar(chain.key), entity: wanted)
    }
    let lowest = try source.lookups.map {
      chain.scalar("MIN(\(try association.lookup($0, key: chain.key, entity: wanted)))")
    }
    return "COALESCE(\((lowest + ["NULL", "NULL"]).joined(separator: ", ")))"
  }

  /// The sort key of the object made of row `s` among the objects of its `target`: the source's order key if the source
  /// is ordered, otherwise the mapping's position.
  func inverseOrder(
    of source: ResolvedEntityMapping.RelationshipSource, in mapping: ResolvedEntityMapping, target: String,
    _ association: AssociationLowering
  ) throws -> String {
    guard source.path.count == 1, let hop = source.path.first else { return "\(mapping.index)" }
    switch sourceSchema.storage(of: hop.relationship.name, in: mapping.source.name) {
    case .foreignKey(_, _, _, let order?): return "s.\(quoted(order))"
    case .join(let join, let subject, let object, _):
      // The join row that led to the target has the place.
      guard let order = join.inverseOrderColumn(from: subject), !source.lookups.isEmpty else {
        return "\(mapping.index)"
      }
      let alias = association.builder.alias("o")
      let wanted = source.relationship.destinationEntityName
      let found = try source.lookups.map {
        try association.lookup($0, key: "\(alias).\(quoted(object))", entity: wanted)
      }
      return
        "(SELECT MIN(\(alias).\(quoted(order))) FROM \(join.rows(in: StoreConnection.sourceSchema)) AS \(alias) WHERE \(alias).\(quoted(subject)) = s.Z_PK AND \(target) IN (\(found.joined(separator: ", "))))"
    default: return "\(mapping.index)"
    }
  }

  /// A SELECT of subject, target, position and inverse position: the destination keys that assignments
  /// join through lookups, NULL where an end was not migrated.
  ///
  /// - Parameters:
  ///   - assignments: One, or several that share a walk.
  ///   - lookups: One, or several that share a walk.
  ///   - walk: How to walk the join table.
  private func pairs(
    _ assignments: [InversePair.Assignment], lookups: [MappingID], association: AssociationLowering,
    walk: JoinWalk? = nil
  ) throws -> (sql: String, reasons: [String]) {
    let (assignment, lookup) = (assignments[0], lookups[0])
    let mapping = mappings[assignment.mapping]
    let source = mapping.relationships[assignment.part]
    let taken = association.matches(mapping.index, alias: "s")
    var subject = association.counterpart(mapping.index, ofRow: "s")
    let table = try association.table(mapping.index)
    let target: String
    let from: String
    let position: String?
    let inversePosition: String?
    let hop = source.path.count == 1 ? source.path[0].relationship.name : nil
    /// The key of the object found. For explicit associations it is the source key, which the caller looks up.
    func found(_ key: String) throws -> String {
      let wanted = source.relationship.destinationEntityName
      return isExplicit(lookup) ? key : try association.first(of: lookups, key: key, entity: wanted)
    }
    switch hop.map({ sourceSchema.storage(of: $0, in: mapping.source.name) }) {
    case .join(let join, let subjectColumn, let objectColumn, let order):
      target = try found("d.\(quoted(objectColumn))")
      let inChunk = "\(walk.map { quoted($0.first) } ?? "rowid") BETWEEN ?1 AND ?2"
      let key = "d.\(quoted(subjectColumn))"
      let members = assignments.map(\.mapping)
      var quick = join.isReflexive ? nil : association.quickLookup(firstOf: members, key: key)
      // Several have no row `s` in common.
      if quick == nil, members.count > 1 { quick = try association.first(of: members, key: key) }
      if let quick { subject = quick }
      from =
        quick != nil
        ? "\(StoreConnection.sourceSchema).\(quoted(join.name)) AS d WHERE d.\(inChunk)"
        : "\(join.rows(in: StoreConnection.sourceSchema, where: inChunk)) AS d CROSS JOIN \(table) AS s ON s.Z_PK = d.\(quoted(subjectColumn)) WHERE \(join.isReflexive ? "" : "d.\(inChunk) AND ")\(taken.sql)"
      position = order.map { "d.\(quoted($0))" }
      inversePosition = join.inverseOrderColumn(from: subjectColumn).map { "d.\(quoted($0))" }
    case .inverse(let childTable, let column, _, let order):
      target = try found("d.Z_PK")
      let quick = association.quickLookup(mapping.index, key: "d.\(quoted(column))")
      if let quick { subject = quick }
      from =
        quick != nil
        ? "\(StoreConnection.sourceSchema).\(quoted(childTable)) AS d WHERE d.Z_PK BETWEEN ?1 AND ?2"
        : "\(StoreConnection.sourceSchema).\(quoted(childTable)) AS d CROSS JOIN \(table) AS s ON s.Z_PK = d.\(quoted(column)) WHERE d.Z_PK BETWEEN ?1 AND ?2 AND \(taken.sql)"
      (position, inversePosition) = (order.map { "d.\(quoted($0))" }, nil)
    case .foreignKey, .some(.none), nil:
      let chain = try step.chain(source.path, in: mapping, association)
      let key = chain.isToMany ? chain.key : chain.scalar(chain.key)
      target = try found(key)
      // The chain joins on the row `s`: one FROM clause holds both.
      let parts: (tables: [String], conditions: [String]) = chain.isToMany ? chain.parts : ([], [])
      let tables = ["\(table) AS s"] + parts.tables
      let conditions = ["s.Z_PK BETWEEN ?1 AND ?2", taken.sql] + parts.conditions
      from = "\(tables.joined(separator: " CROSS JOIN ")) WHERE \(conditions.joined(separator: " AND "))"
      position = chain.isToMany ? chain.order : nil
      let counterpart = try association.lookup(lookup, key: key, entity: source.relationship.destinationEntityName)
      inversePosition = try inverseOrder(
        of: source, in: mapping, target: isExplicit(lookup) ? counterpart : target, association)
    }
    let order = walk.map { " ORDER BY d.\(quoted($0.first)), d.\(quoted($0.second))" } ?? ""
    // The limit keeps SQLite from computing a lookup once for its value and once more for the question whether it is
    // NULL.
    let sql =
      "SELECT \(subject) AS subject, \(target) AS target, \(position ?? "\(lookup)") AS position, \(inversePosition ?? "\(mapping.index)") AS inverse_position FROM \(from)\(order) LIMIT -1"
    return (sql, taken.reason.map { [$0] } ?? [])
  }

  /// The same for a walk where the ends of the keys show which objects were migrated: no lookup is computed, so none
  /// has to be protected from being computed twice. nil elsewhere.
  private func plainPairs(
    _ assignments: [InversePair.Assignment], lookups: [MappingID], association: AssociationLowering, walk: JoinWalk
  ) throws -> (sql: String, reasons: [String])? {
    let mapping = mappings[assignments[0].mapping]
    let source = mapping.relationships[assignments[0].part]
    guard
      case .join(let join, let subject, let object, _) = sourceSchema.storage(
        of: source.path[0].relationship.name, in: mapping.source.name),
      // The plus keeps SQLite from walking by the other column.
      let own = association.run(of: assignments.map(\.mapping), key: "+d.\(quoted(subject))"),
      let found = association.run(of: lookups, key: "+d.\(quoted(object))")
    else { return nil }
    let (first, second) = (quoted(walk.first), quoted(walk.second))
    let sql = """
      SELECT \(own.counterpart), \(found.counterpart) FROM \(StoreConnection.sourceSchema).\(quoted(join.name)) AS d \
      WHERE d.\(first) BETWEEN ?1 AND ?2 AND \(own.holds) AND \(found.holds) ORDER BY d.\(first), d.\(second)
      """
    return (sql, association.matches(mapping.index, alias: "s").reason.map { [$0] } ?? [])
  }
}

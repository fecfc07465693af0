import GodwitJob
import GodwitModel
import GodwitStore

extension Verification {
  /// Finds out which relationships need no replay.
  func planLinks() throws {
    // Only the replay can leave out links that other jobs and policies made.
    guard usesShortcuts, appended == nil, !hasPolicies else { return }
    for link in VerifiedLink.all(of: job.destinationModel) where !link.isOwnInverse {
      linkPlans[link.ends[0].name] = try plan(link)
    }
  }

  private func plan(_ link: VerifiedLink) throws -> LinkPlan? {
    var assignments: [[Int: VerifiedMapping.Assignment]] = [[:], [:]]
    for mapping in mappings {
      for assignment in mapping.assignments {
        if let end = end(of: assignment, in: mapping, link) { assignments[end][mapping.index] = assignment }
      }
    }
    // Two assignments of one link must not contradict each other.
    for (first, assignment) in assignments[0] {
      for (second, inverse) in assignments[1]
      where assignment.lookups.contains(second) != inverse.lookups.contains(first) {
        return nil
      }
    }
    let storages = link.ends.map { destinationSchema.storage(of: $0.relationship.name, in: $0.entity) }
    if case .join(let join, let subject, let object, nil) = storages[0], !join.isReflexive {
      if storages.count == 2 { guard case .join(_, _, _, nil) = storages[1] else { return nil } }
      return try joinPlan(assignments, .init(name: join.name, columns: (subject, object)))
    }
    for (end, storage) in storages.enumerated() {
      guard case .foreignKey(let table, let column, let entityColumn, nil) = storage else { continue }
      if link.ends.count == 2 {
        guard link.ends[1 - end].relationship.isToMany, case .inverse = storages[1 - end] else { return nil }
      }
      return try toOnePlan(
        assignments, end: end,
        .toOne(end: end, table: table, column: column, entityColumn: entityColumn, proof: ToOneProof()))
    }
    return nil
  }

  /// The end of a link at which an assignment sets it; nil for an assignment of another relationship.
  func end(
    of assignment: VerifiedMapping.Assignment, in mapping: VerifiedMapping, _ link: VerifiedLink
  ) -> Int? {
    let name = assignment.relationship.name
    let declaring = job.destinationModel.declaringEntity(of: name, in: mapping.destinationEntity)?.name
    return link.ends.firstIndex { $0.entity == declaring && $0.relationship.name == name }
  }

  private func toOnePlan(
    _ assignments: [[Int: VerifiedMapping.Assignment]], end: Int, _ kind: LinkPlan.Kind
  ) throws -> LinkPlan? {
    var plan = LinkPlan(kind: kind, assignments: assignments)
    for (mapping, assignment) in assignments[end] where !assignment.path.isEmpty {
      guard assignment.path.count == 1,
        case .foreignKey = sourceSchema.storage(of: assignment.path[0], in: mappings[mapping].sourceEntity)
      else { return nil }
    }
    guard !assignments[1 - end].isEmpty else { return plan }
    // Set from both sides, or from the other one: all must follow the same keys of the source.
    for (mapping, assignment) in assignments[end] {
      guard assignment.path.count == 1,
        case .foreignKey(let table, let column, _, _) = sourceSchema.storage(
          of: assignment.path[0], in: mappings[mapping].sourceEntity),
        plan.column.map({ $0 == (table, column) }) ?? true
      else { return nil }
      plan.column = (table, column)
    }
    for (mapping, assignment) in assignments[1 - end] {
      guard assignment.path.count == 1,
        case .inverse(let table, let column, _, _) = sourceSchema.storage(
          of: assignment.path[0], in: mappings[mapping].sourceEntity),
        plan.column.map({ $0 == (table, column) }) ?? true
      else { return nil }
      plan.column = (table, column)
    }
    let involved = assignments.flatMap { $0.flatMap { [$0.key] + $0.value.lookups } }
    guard !involved.contains(where: { counterparts[$0].isUnique }) else { return nil }
    // A to-one has room for one object: each source object it leads to must have become one.
    let targets = Set(assignments[1 - end].keys).union(assignments[end].values.flatMap(\.lookups)).sorted()
    for (place, first) in targets.enumerated() {
      for second in targets[(place + 1)...] {
        let roots = [first, second].map { job.sourceModel.root(of: mappings[$0].sourceEntity)?.name }
        if roots[0] == roots[1], try counterparts[first].taken.intersects(counterparts[second].taken) { return nil }
      }
    }
    return plan
  }

  private func joinPlan(
    _ assignments: [[Int: VerifiedMapping.Assignment]], _ join: LinkPlan.Join
  ) throws -> LinkPlan? {
    var join = join
    for end in 0...1 {
      for (mapping, assignment) in assignments[end] {
        guard assignment.path.count == 1,
          case .join(let from, let subject, let object, _) = sourceSchema.storage(
            of: assignment.path[0], in: mappings[mapping].sourceEntity), !from.isReflexive
        else { return nil }
        let columns = end == 0 ? (subject, object) : (object, subject)
        if let known = join.source {
          guard known.name == from.name, known.columns == columns else { return nil }
        }
        join.source = (from.name, columns)
        guard !([mapping] + assignment.lookups).contains(where: { counterparts[$0].isUnique }) else { return nil }
      }
    }
    return LinkPlan(kind: .join(join), assignments: assignments)
  }

  // MARK: To-ones

  /// The expected content of the key columns of a mapping's rows.
  func references(of mapping: VerifiedMapping) throws -> [RowProof.Reference] {
    let table = try destinationTable(mapping.destinationEntity)
    var references: [RowProof.Reference] = []
    for (_, plan) in linkPlans {
      guard case .toOne(let end, table.name, let column, let entityColumn, let proof) = plan.kind else { continue }
      guard let place = table.columns.firstIndex(where: { $0.name == column }) else {
        proof.doubt()
        continue
      }
      var reference = RowProof.Reference(
        relation: proof, place: place,
        entityPlace: entityColumn.flatMap { name in table.columns.firstIndex { $0.name == name } }, origin: .none,
        targets: [])
      var targets: [Int] = []
      var origin = plan.column
      if let assignment = plan.assignments[end][mapping.index] {
        targets = assignment.lookups
        if assignment.path.isEmpty {
          reference.origin = .own
        } else if case .foreignKey(let table, let name, _, _) = sourceSchema.storage(
          of: assignment.path[0], in: mapping.sourceEntity)
        {
          origin = (table, name)
        }
      } else {
        targets = plan.assignments[1 - end].filter { $0.value.lookups.contains(mapping.index) }.map(\.key).sorted()
      }
      if case .none = reference.origin, !targets.isEmpty, let origin,
        let from = sourceSchema.table(of: mapping.sourceEntity), from.name == origin.table,
        let place = from.columns.firstIndex(where: { $0.name == origin.name })
      {
        reference.origin = .column(place)
      }
      reference.targets = targets.map {
        (counterparts[$0], Int64(destinationSchema.number(of: mappings[$0].destinationEntity) ?? -1))
      }
      references.append(reference)
    }
    return references
  }

  // MARK: Proof

  /// The number of links when all are as the mappings give them; nil when that is not known without a replay.
  func provenLinks(_ link: VerifiedLink) throws -> (side: VerifiedLink.End, count: Int64)? {
    guard let plan = linkPlans[link.ends[0].name] else { return nil }
    for side in link.ends {
      for entity in [side.entity, side.relationship.destinationEntityName] {
        guard let root = job.destinationModel.root(of: entity)?.name, !unsound.contains(root) else { return nil }
      }
    }
    switch plan.kind {
    case .join where sample != nil: return nil
    case .toOne(let end, _, _, _, let proof): return proof.isDoubtful ? nil : (link.ends[end], proof.count)
    case .join(let join): return try pairs(plan, join).map { (link.ends[0], $0) }
    }
  }

  /// Whether a key of a to-one was found to differ.
  func isDoubtful(_ link: VerifiedLink) -> Bool { linkPlans[link.ends[0].name]?.proof?.isDoubtful == true }

  /// Two sets of pairs, compared by their number and a sum under keys of this run. Objects that both ends lead to
  /// are there: what should be in the tables has been compared with what is.
  private func pairs(_ plan: LinkPlan, _ join: LinkPlan.Join) throws -> Int64? {
    func columns(_ names: (String, String)) -> String {
      "\(StoreSchema.identifier(names.0)), \(StoreSchema.identifier(names.1))"
    }
    var expected = PairSum()
    var found = expected
    var isSound = true
    if let source = join.source {
      let nears = mappings.indices.compactMap { first -> (Counterparts, [Counterparts])? in
        let fars = mappings.indices.filter { plan.links(first, $0, from: 0) }
        return fars.isEmpty ? nil : (counterparts[first], fars.map { counterparts[$0] })
      }
      try self.source.query("SELECT \(columns(source.columns)) FROM \(table(source.name))") { row in
        guard !row.isNull(0), !row.isNull(1) else { return true }
        guard row.storage(0) == .integer, row.storage(1) == .integer else {
          isSound = false
          return false
        }
        for (near, fars) in nears {
          guard let first = try near.destination(of: row.int64(0)) else { continue }
          for far in fars {
            if let second = try far.destination(of: row.int64(1)) { expected.add(first, second) }
          }
        }
        return true
      }
    }
    guard isSound else { return nil }
    try destination.query("SELECT \(columns(join.columns)) FROM \(table(join.name))") { row in
      guard row.storage(0) == .integer, row.storage(1) == .integer else {
        isSound = false
        return false
      }
      found.add(row.int64(0), row.int64(1))
      return true
    }
    return isSound && expected == found ? found.count : nil
  }
}

import GodwitJob
import GodwitModel
import GodwitStore

/// The plans of relationships that need no replay.
final class LinkPlans {
  /// By the name of the first end.
  private var plans: [String: LinkPlan] = [:]
  private let stores: ComparedStores
  private let keys: KeyAssignment

  init(_ stores: ComparedStores, _ keys: KeyAssignment) { (self.stores, self.keys) = (stores, keys) }

  /// The same plans with counts of their own, for another thread.
  init(_ stores: ComparedStores, _ keys: KeyAssignment, as other: LinkPlans) {
    (self.stores, self.keys) = (stores, keys)
    plans = other.plans.mapValues(\.withoutCount)
  }

  /// The plan of a relationship; nil if it needs a replay.
  subscript(link: VerifiedLink) -> LinkPlan? { plans[link.ends[0].name] }

  /// Proofs of to-ones by the name of the first end.
  var proofs: [String: ToOneProof] { plans.compactMapValues(\.proof) }

  /// The results so far, for a checkpoint.
  var toOnes: [String: VerificationCheckpoint.ToOne] {
    proofs.mapValues { .init(count: $0.count, isDoubtful: $0.isDoubtful) }
  }

  /// Restores the results of an earlier verification.
  func resume(_ toOnes: [String: VerificationCheckpoint.ToOne]) {
    for (name, known) in toOnes { plans[name]?.proof?.resume(known) }
  }

  /// Adds keys of to-ones that another thread has proved, by the name of the first end.
  func add(_ references: [String: Int64]) {
    for (name, count) in references { plans[name]?.proof?.count += count }
  }

  // MARK: Planning

  /// Finds out which relationships need no replay.
  func planLinks() throws {
    // Only the replay can leave out links that other jobs and policies made.
    guard stores.usesShortcuts, stores.appended == nil, !stores.hasPolicies else { return }
    for link in VerifiedLink.all(of: stores.job.destinationModel) where !link.isOwnInverse {
      plans[link.ends[0].name] = try plan(link)
    }
  }

  private func plan(_ link: VerifiedLink) throws -> LinkPlan? {
    var assignments: [[MappingID: VerifiedMapping.Assignment]] = [[:], [:]]
    for mapping in stores.mappings {
      for assignment in mapping.assignments {
        if let end = link.end(of: assignment, in: mapping, model: stores.job.destinationModel) {
          assignments[end][mapping.index] = assignment
        }
      }
    }
    // Two assignments of one link must not contradict each other.
    for (first, assignment) in assignments[0] {
      for (second, inverse) in assignments[1]
      where assignment.lookups.contains(second) != inverse.lookups.contains(first) {
        return nil
      }
    }
    let storages = link.ends.map { stores.destinationSchema.storage(of: $0.relationship.name, in: $0.entity) }
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

  private func toOnePlan(
    _ assignments: [[MappingID: VerifiedMapping.Assignment]], end: Int, _ kind: LinkPlan.Kind
  ) throws -> LinkPlan? {
    var plan = LinkPlan(kind: kind, assignments: assignments)
    for (mapping, assignment) in assignments[end] where !assignment.path.isEmpty {
      guard assignment.path.count == 1,
        case .foreignKey = stores.sourceSchema.storage(
          of: assignment.path[0], in: stores.mappings[mapping].sourceEntity)
      else { return nil }
    }
    guard !assignments[1 - end].isEmpty else { return plan }
    // Set from both sides, or from the other one: all must follow the same keys of the source.
    for (mapping, assignment) in assignments[end] {
      guard assignment.path.count == 1,
        case .foreignKey(let table, let column, _, _) = stores.sourceSchema.storage(
          of: assignment.path[0], in: stores.mappings[mapping].sourceEntity),
        plan.column.map({ $0 == (table, column) }) ?? true
      else { return nil }
      plan.column = (table, column)
    }
    for (mapping, assignment) in assignments[1 - end] {
      guard assignment.path.count == 1,
        case .inverse(let table, let column, _, _) = stores.sourceSchema.storage(
          of: assignment.path[0], in: stores.mappings[mapping].sourceEntity),
        plan.column.map({ $0 == (table, column) }) ?? true
      else { return nil }
      plan.column = (table, column)
    }
    let involved = assignments.flatMap { $0.flatMap { [$0.key] + $0.value.lookups } }
    guard !involved.contains(where: { keys.counterparts[$0].isUnique }) else { return nil }
    // A to-one has room for one object: each source object it leads to must have become one.
    let targets = Set(assignments[1 - end].keys).union(assignments[end].values.flatMap(\.lookups)).sorted()
    for (place, first) in targets.enumerated() {
      for second in targets[(place + 1)...] {
        let roots = [first, second].map { stores.job.sourceModel.root(of: stores.mappings[$0].sourceEntity)?.name }
        if roots[0] == roots[1], try keys.counterparts[first].taken.intersects(keys.counterparts[second].taken) {
          return nil
        }
      }
    }
    return plan
  }

  private func joinPlan(
    _ assignments: [[MappingID: VerifiedMapping.Assignment]], _ join: LinkPlan.Join
  ) throws -> LinkPlan? {
    var join = join
    for end in 0...1 {
      for (mapping, assignment) in assignments[end] {
        guard assignment.path.count == 1,
          case .join(let from, let subject, let object, _) = stores.sourceSchema.storage(
            of: assignment.path[0], in: stores.mappings[mapping].sourceEntity), !from.isReflexive
        else { return nil }
        let columns = end == 0 ? (subject, object) : (object, subject)
        if let known = join.source {
          guard known.name == from.name, known.columns == columns else { return nil }
        }
        join.source = (from.name, columns)
        guard !([mapping] + assignment.lookups).contains(where: { keys.counterparts[$0].isUnique }) else { return nil }
      }
    }
    return LinkPlan(kind: .join(join), assignments: assignments)
  }

  // MARK: To-ones

  /// The expected content of the key columns of a mapping's rows.
  func references(of mapping: VerifiedMapping) throws -> [RowProof.Reference] {
    let table = try stores.destinationTable(mapping.destinationEntity)
    var references: [RowProof.Reference] = []
    for (_, plan) in plans {
      guard case .toOne(let end, table.name, let column, let entityColumn, let proof) = plan.kind else { continue }
      guard let place = table.columns.firstIndex(where: { $0.name == column }) else {
        proof.doubt()
        continue
      }
      var reference = RowProof.Reference(
        relation: proof, place: place,
        entityPlace: entityColumn.flatMap { name in table.columns.firstIndex { $0.name == name } }, origin: .none,
        targets: [])
      var targets: [MappingID] = []
      var origin = plan.column
      if let assignment = plan.assignments[end][mapping.index] {
        targets = assignment.lookups
        if assignment.path.isEmpty {
          reference.origin = .own
        } else if case .foreignKey(let table, let name, _, _) = stores.sourceSchema.storage(
          of: assignment.path[0], in: mapping.sourceEntity)
        {
          origin = (table, name)
        }
      } else {
        targets = plan.assignments[1 - end].filter { $0.value.lookups.contains(mapping.index) }.map(\.key).sorted()
      }
      if case .none = reference.origin, !targets.isEmpty, let origin,
        let from = stores.sourceSchema.table(of: mapping.sourceEntity), from.name == origin.table,
        let place = from.columns.firstIndex(where: { $0.name == origin.name })
      {
        reference.origin = .column(place)
      }
      reference.targets = targets.map {
        (keys.counterparts[$0], Int64(stores.destinationSchema.number(of: stores.mappings[$0].destinationEntity) ?? -1))
      }
      references.append(reference)
    }
    return references
  }
}

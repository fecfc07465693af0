import GodwitJob
import GodwitModel
import GodwitStore

/// The statements that count the losses while objects are made.
struct LossStatements: StageStatements {
  let step: StepProgram

  /// How many rows of a create chunk have a to-one that finds several objects; nil when none can.
  func ambiguousToOne(_ index: MappingID, predicate: FilterPredicate?) throws -> ChunkStatement? {
    let key = CreationKey(mapping: index, predicate: predicate)
    return try step.kept.ambiguousToOne(key) { try lowerAmbiguousToOne(index, predicate: predicate) }
  }

  private func lowerAmbiguousToOne(_ index: MappingID, predicate: FilterPredicate?) throws -> ChunkStatement? {
    let mapping = mappings[index]
    let builder = StatementBuilder()
    let association = associations(builder)
    var sums: [String] = []
    for link in links where link.strategy == .atCreation {
      guard let assignment = link.assignments.first(where: { $0.mapping == index && $0.end == link.carriedEnd })
      else { continue }
      if let count = try found(by: mapping.relationships[assignment.part], of: mapping, association) {
        sums.append(count)
      }
    }
    guard !sums.isEmpty else { return nil }
    let rows = try assigningRows(of: index, association) + further(predicate, of: mapping, builder)
    return ChunkStatement(
      sql: "SELECT COALESCE(SUM(\(sums.map { "(\($0) > 1)" }.joinedEvenly(by: " + "))), 0) FROM \(rows)",
      builder: builder)
  }

  func ambiguousToOne(_ scan: RelationshipScan) throws -> ChunkStatement? {
    try step.kept.ambiguousToOneOfScans(scan) { try lowerAmbiguousToOne(scan) }
  }

  private func lowerAmbiguousToOne(_ job: RelationshipScan) throws -> ChunkStatement? {
    guard case .single(let number) = job.work else { return nil }
    let mapping = mappings[job.mapping]
    let builder = StatementBuilder()
    let association = associations(builder)
    let source = mapping.relationships[links[job.link].assignments[number].part]
    guard let count = try found(by: source, of: mapping, association) else { return nil }
    let rows = try assigningRows(of: job.mapping, association)
    return ChunkStatement(sql: "SELECT COALESCE(SUM(\(count) > 1), 0) FROM \(rows)", builder: builder)
  }

  /// The same for the objects of `temp.godwit_asked`, whose relationships a policy leaves to its mapping.
  func ambiguousToOne(asked part: Int, of mapping: ResolvedEntityMapping) throws -> ChunkStatement? {
    let builder = StatementBuilder()
    let association = associations(builder)
    guard let count = try found(by: mapping.relationships[part], of: mapping, association) else { return nil }
    return ChunkStatement(
      sql: """
        SELECT COALESCE(SUM(\(count) > 1), 0) FROM temp.godwit_asked AS a \
        CROSS JOIN \(try association.table(mapping.index)) AS s ON s.Z_PK = a.source
        """, builder: builder)
  }

  /// The number of objects a to-one finds, as SQL; nil when it cannot exceed one.
  private func found(
    by source: ResolvedEntityMapping.RelationshipSource, of mapping: ResolvedEntityMapping,
    _ association: AssociationLowering
  ) throws -> String? {
    // Before a run, nobody knows what a policy makes.
    if step.isBeforeRun, source.policyCall != nil || source.lookups.contains(where: isPolicy) { return nil }
    let chain = try step.chain(source.path, in: mapping, association)
    guard !source.lookups.isEmpty,
      chain.isToMany || !facts.areExclusive(source.lookups) || source.lookups.contains(where: isExplicit)
    else { return nil }
    let wanted = source.relationship.destinationEntityName
    let counts = try source.lookups.map { index in
      if isExplicit(index) {
        return association.policyCount(index, key: chain.scalar(chain.key), isSubselect: chain.isToMany, entity: wanted)
      }
      return chain.isToMany
        ? chain.scalar("COUNT(DISTINCT \(try association.lookup(index, key: chain.key, entity: wanted)))")
        : "(\(try association.lookup(index, key: chain.scalar(chain.key), entity: wanted)) IS NOT NULL)"
    }
    return "(\(counts.joinedEvenly(by: " + ")))"
  }
}

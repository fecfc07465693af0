import GodwitJob
import GodwitModel
import GodwitStore

extension Planner {
  /// The plan as a value to print.
  func describe(_ program: StepProgram, passes indices: [[MappingID]], chunks: [Chunk]) throws -> MigrationPlan {
    let facts = program.facts
    var passes = try indices.enumerated().map { number, indices in
      MigrationPlan.Pass(
        number: number + 1, mappings: try indices.map { try describe($0, program: program, chunks: chunks) })
    }
    let added = resolved.policies.filter { $0.index == nil }.map(describe)
    if !added.isEmpty {
      if passes.isEmpty { passes = [MigrationPlan.Pass(number: 1, mappings: [])] }
      passes[0].mappings.insert(contentsOf: added, at: 0)
    }
    let dropped = facts.entities.filter { $0.rows > $0.taken }.map { entity in
      MigrationPlan.Dropped(
        entity: entity.name, rows: entity.rows - entity.taken,
        reason: reasonForDropping(entity.name, isMapped: entity.isMapped))
    }
    let hops = job.steps[0].passedVersions.isEmpty ? nil : job.steps[0].versions
    let step = MigrationPlan.Step(
      sourceModel: job.sourceModel.name, destinationModel: job.destinationModel.name, passes: passes,
      dropped: dropped, origin: job.steps[0].origin, hops: hops,
      reasonApart: job.steps[0].reasonApart)
    let stages = ChunkPhase.allCases.compactMap { stage -> MigrationPlan.StageCount? in
      let those = chunks.filter { $0.phase == stage }
      return those.isEmpty ? nil : .init(stage: stage, chunks: those.count, rows: those.reduce(0) { $0 + $1.rows })
    }
    let external = try externalCounts()
    var plan = MigrationPlan(
      job: job.name, source: job.sourceName, destination: job.destinationPath, steps: [step], stages: stages,
      disk: try diskNeed(program, external: external, chunks: chunks), sourceBytes: facts.sourceBytes, chunks: chunks,
      facts: facts)
    plan.sourceModelOrigin = job.sourceModelOrigin
    plan.limits = MigrationLimits(memory: job.memory, chunkRows: job.chunkRows)
    plan.codedNotes = try notes(external: external)
    plan.misfits = certainNils(facts)
    plan.refusesLosses = job.failsOnLoss
    return plan
  }

  /// Why objects of an entity are left out.
  func reasonForDropping(_ entity: String, isMapped: Bool) -> String {
    let isRemoved = job.mappingModels.flatMap(\.entityMappings).contains {
      $0.kind == .remove && $0.sourceEntityName == entity
    }
    return isRemoved ? "remove mapping" : isMapped ? "filtered out" : "no mapping"
  }

  /// The notes of the plan, beside steps and stages.
  private func notes(external: [ExternalCount]) throws -> [MigrationNote] {
    if let existing {
      let job = MigrationNote(.appends, "appends to \(existing.rows.counted("object")) in '\(existing.path)'")
      let history =
        existing.hasHistory
        ? [MigrationNote(.historyKept, "the destination's persistent history stays, without the new objects")] : []
      return [job] + history + patternNotes + external.map(\.note) + sourceSchema.foreignContent.notes
    }
    let triggers = try DerivedTriggers(source: sourceSchema, destination: destinationSchema, connection: connection)
    return try lookUpNotes + patternNotes + unknownEntityNotes() + triggers.notes + external.map(\.note) + leftOut.notes
      + sourceSchema.foreignContent.notes
  }

  /// The rows that a change of definitions leaves as they are.
  private func unknownEntityNotes() throws -> [MigrationNote] {
    guard takesUnknownEntities else { return [] }
    return try resolved.sourceModel.rootEntities.compactMap { root in
      guard let table = sourceSchema.table(of: root.name), !sourceSchema.fillsTable(root.name) else { return nil }
      let known = resolved.sourceModel.family(of: root.name).compactMap { sourceSchema.number(of: $0.name) }
      let list = known.map(String.init).joined(separator: ", ")
      let rows =
        try connection.integer(
          "SELECT COUNT(*) FROM source.\(quoted(table.name)) WHERE Z_ENT IS NULL OR Z_ENT NOT IN (\(list))") ?? 0
      guard rows > 0 else { return nil }
      return MigrationNote(
        .entityNumbers,
        "\(rows.counted("row")) of table '\(table.name)' with an unknown entity number (known: \(list)) stay\(rows == 1 ? "s" : "") unchanged"
      )
    }
  }

  /// Lookups that find nothing in the mapping they name.
  private var lookUpNotes: [MigrationNote] {
    resolved.entityMappings.flatMap { $0.relationships.compactMap(\.remark) }.map { MigrationNote(.emptyLookup, $0) }
  }

  /// Patterns of dates that are valid and probably meant otherwise.
  private var patternNotes: [MigrationNote] {
    resolved.entityMappings.filter { $0.earlier == nil }.flatMap { mapping in
      mapping.attributes.flatMap { attribute, source -> [MigrationNote] in
        guard case .expression(let parsed) = source.withoutDefault else { return [] }
        return parsed.patternDoubts.map {
          MigrationNote(.datePattern, "attribute '\(attribute.name)' of mapping '\(mapping.name)': \($0)")
        }
      }
    }
  }

  private func describe(_ index: MappingID, program: StepProgram, chunks: [Chunk]) throws -> MigrationPlan.Mapping {
    let mapping = program.mappings[index]
    let facts = program.facts.mappings[index]
    let policy = program.resolved.policies.first { $0.index == index }
    var reasons = try policy.map { ["policy \($0.name)"] } ?? program.creation.statement(index, predicate: nil).reasons
    if policy == nil, program.isStored(index) { reasons += try program.associationStage.pairs(index).reasons }
    let keys =
      switch facts.keys {
      case .offset(0): "kept"
      case .offset(let offset): "+\(offset)"
      case .dense(let first): "dense from \(first)"
      }
    var relationships: [String: String] = [:]
    for source in mapping.relationships {
      let link = program.links.first { link in
        link.assignments.contains {
          $0.mapping == index && mapping.relationships[$0.part].relationship.name == source.relationship.name
        }
      }
      let names = source.lookups.map { program.mappings[$0].name }
      if let policy {
        relationships[source.relationship.name] = "set by policy \(policy.name)"
        continue
      }
      relationships[source.relationship.name] =
        "\(link.map(Self.phrase) ?? "") (\(names.isEmpty ? "no mapping migrates its objects" : names.joined(separator: ", ")))"
        + (source.order.isEmpty ? "" : ", sorted by \(source.order.map(\.description).joined(separator: ", "))")
    }
    var seen: Set<String> = []
    let unique = reasons.filter { seen.insert($0).inserted }
    return MigrationPlan.Mapping(
      name: mapping.name, source: mapping.source.name, destination: mapping.destination.name,
      filter: mapping.filter?.source.text, lane: unique.isEmpty ? .sql : .object, reasons: unique, rows: facts.rows,
      chunks: chunks.count { if case .create(index, _) = $0.work { true } else { false } },
      keys: policy == nil ? keys : keys + ", then new ones",
      association: policy != nil ? "explicit" : program.isStored(index) ? "spill file" : "computed",
      relationships: relationships, policy: policy?.name,
      uniqueBy: mapping.mapping.uniqueBy.isEmpty ? nil : mapping.mapping.uniqueBy)
  }

  private static func phrase(_ link: InversePair) -> String {
    link.inlineEnd == nil
      ? link.strategy.rawValue : "\(InversePair.Strategy.atCreation.rawValue), until a policy sets it"
  }
}

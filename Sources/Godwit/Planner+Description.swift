import GodwitModel
import GodwitStore

extension Planner {
  /// The plan as a value to print.
  func describe(_ program: StepProgram, passes: [[Int]], chunks: [Chunk]) throws -> MigrationPlan {
    let facts = program.facts
    let passPlans = try passes.enumerated().map { number, indices in
      MigrationPlan.Pass(
        number: number + 1, mappings: try indices.map { try describe($0, program: program, chunks: chunks) })
    }
    let removed = Set(
      job.mappingModels.flatMap(\.entityMappings).filter { $0.kind == .remove }.compactMap(\.sourceEntityName))
    let dropped = facts.entities.filter { $0.rows > $0.taken }.map { entity in
      MigrationPlan.Dropped(
        entity: entity.name, rows: entity.rows - entity.taken,
        reason: removed.contains(entity.name) ? "remove mapping" : entity.isMapped ? "filtered out" : "no mapping")
    }
    let step = MigrationPlan.Step(
      sourceModel: job.sourceModel.name, destinationModel: job.destinationModel.name, passes: passPlans,
      dropped: dropped, origin: job.steps[0].origin)
    let stages = Chunk.Stage.allCases.compactMap { stage -> MigrationPlan.StageCount? in
      let those = chunks.filter { $0.stage == stage }
      return those.isEmpty ? nil : .init(stage: stage, chunks: those.count, rows: those.reduce(0) { $0 + $1.rows })
    }
    var plan = MigrationPlan(
      job: job.name, source: job.sourcePath, destination: job.destinationPath, steps: [step], stages: stages,
      diskBytes: diskBytes(program), sourceBytes: facts.sourceBytes, chunks: chunks, facts: facts,
      sourceModelOrigin: job.sourceModelOrigin)
    let external = try externalCounts()
    plan.diskBytes += external.reduce(0) { $0 + ($1.isInlined ? $1.bytes : 0) }
    plan.notes = try notes(program, external: external)
    return plan
  }

  /// What the plan says beside steps and stages.
  private func notes(_ program: StepProgram, external: [ExternalCount]) throws -> [String] {
    if let existing {
      let job = "appends to \(existing.rows) objects in '\(existing.path)'"
      let history =
        existing.hasHistory ? ["the destination's persistent history stays, and does not tell of the new objects"] : []
      return try [job] + history + external.map(\.note) + inferredLosses(program)
    }
    let triggers = try DerivedTriggers(source: sourceSchema, destination: destinationSchema, connection: connection)
    let derived = triggers.unknown.map {
      "derived attribute \($0.entityName).\($0.attributeName) is computed; how Core Data spells its triggers is not known, so none are made"
    }
    return try derived + external.map(\.note) + leftOut.notes + inferredLosses(program)
  }

  /// The source's size for each row taken, half as much again for journal, indexes and sorting; the store that an
  /// XML source is converted into, and the file that an XML destination is written to before it is moved.
  private func diskBytes(_ program: StepProgram) -> Int64 {
    let rows = max(1, program.facts.entities.reduce(0) { $0 + $1.rows })
    let taken = program.facts.mappings.reduce(0) { $0 + $1.rows }
    let share = Double(program.facts.sourceBytes) * max(0.1, Double(taken) / Double(rows))
    let isXMLSource = (try? StoreFiles(path: job.sourcePath))?.type == .xml
    return Int64(share * (job.destinationType == .xml ? 3 : 1.5))
      + (isXMLSource ? program.facts.sourceBytes : 0) + (existing?.bytes ?? 0)
  }

  private func describe(_ index: Int, program: StepProgram, chunks: [Chunk]) throws -> MigrationPlan.Mapping {
    let mapping = program.mappings[index]
    let facts = program.facts.mappings[index]
    var reasons = try program.create(index, predicate: nil).reasons
    if program.isStored(index) { reasons += try program.associate(index).reasons }
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
      relationships[source.relationship.name] =
        "\(link?.strategy.rawValue ?? "") (\(names.isEmpty ? "no mapping carries its objects" : names.joined(separator: ", ")))"
    }
    var seen: Set<String> = []
    let unique = reasons.filter { seen.insert($0).inserted }
    return MigrationPlan.Mapping(
      name: mapping.name, source: mapping.source.name, destination: mapping.destination.name,
      filter: mapping.filter?.source.text, lane: unique.isEmpty ? .sql : .object, reasons: unique, rows: facts.rows,
      chunks: chunks.count { $0.stage == .create && $0.subject == index }, keys: keys,
      association: program.isStored(index) ? "spill file" : "computed", relationships: relationships)
  }
}

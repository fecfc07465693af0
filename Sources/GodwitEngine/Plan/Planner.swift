import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// Counts the source, and decides keys, passes, strategies and chunks.
///
/// Works on the source alone and writes nothing, so that a dry run can be trusted to be one.
package struct Planner {
  let job: MigrationJob
  var resolved: ResolvedMapping
  let sourceSchema: StoreSchema
  let destinationSchema: StoreSchema
  let functions: SQLFunctions
  let sourceBytes: Int64
  let leftOut: UnmodelledTables
  /// The destination that the job appends to; nil for a new store.
  let existing: ExistingDestination?
  let scan: SourceScan
  /// Whether rows with an unknown entity number stay as they are, as under a change of definitions alone. Otherwise such a
  /// row ends the plan.
  package var takesUnknownEntities = false
  /// The durability of the run, which the plan of a run need not know.
  package var durability: MigrationJob.Durability
  /// A callback for the progress of counting.
  package var progress: ((MigrationProgress) -> Void)?

  var connection: StoreConnection { functions.connection }

  /// Chunks larger than this gain nothing and make an interrupted run lose more.
  static let maximumChunkRows: Int64 = 500_000

  /// - Parameter countsLosses: Whether losses are counted now, which reads most tables once more. See `LossCount`.
  package func plan(now: Double, countsLosses: Bool = true) throws -> (MigrationPlan, StepProgram) {
    try checkStorage()
    try refuseEmptyResult()
    let facts = try count(now: now)
    try refuseEmptyResult(facts)
    return try plan(facts: facts, chunks: nil, countsLosses: countsLosses)
  }

  /// The plan of a resumed run: facts and chunks come from its ledger.
  package func plan(
    facts: PlanFacts, chunks known: [Chunk]?, countsLosses: Bool = true
  ) throws -> (MigrationPlan, StepProgram) {
    try checkStorage()
    let program = try StepProgram(
      resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema, facts: facts,
      keySetBytes: EngineTuning.current.keySetBytes ?? job.memory.bytes / 8)
    let passes = Self.passes(of: resolved)
    if let known { try program.check(known) }
    var list = ChunkList(planner: self, program: program, passes: passes)
    let chunks = try known ?? list.chunks()
    var plan = try describe(program, passes: passes, chunks: chunks)
    if countsLosses { try addLosses(to: &plan, isWhole: true) }
    plan.sample = scan.sample
    return (plan, program)
  }

  // MARK: Counting

  func count(now: Double) throws -> PlanFacts {
    let mappings = resolved.entityMappings
    var facts = PlanFacts(
      mappings: mappings.map { _ in
        .init(rows: 0, minimumKey: 0, maximumKey: 0, keys: .offset(0), chunkRows: Self.maximumChunkRows)
      }, entities: [], overlaps: [], highestKeys: [:], now: now, sourceBytes: sourceBytes,
      highestDestinationKeys: existing?.highestKeys)
    for mapping in mappings {
      guard case .offset(let offset)? = mapping.earlier?.access else { continue }
      facts.mappings[mapping.index].keys = .offset(offset)
      // The rows that an earlier job took were not counted, and an object may be among them.
      for other in mappings where other.index != mapping.index && other.source.name == mapping.source.name {
        facts.overlaps.insert([min(mapping.index, other.index), max(mapping.index, other.index)])
      }
    }
    let own = Dictionary(grouping: mappings.filter { $0.earlier == nil }, by: \.source.name)
    let counted = try countEntities(served: own, facts)
    for root in resolved.sourceModel.rootEntities {
      guard let table = sourceSchema.table(of: root.name) else { continue }
      let family = resolved.sourceModel.family(of: root.name)
      let highest = try scan.reading(table.name) {
        try connection.integer("SELECT MAX(Z_PK) FROM source.\(quoted(table.name))") ?? 0
      }
      let counter = try connection.highestCounter(of: root.name, in: sourceSchema) ?? 0
      facts.highestKeys[root.name] = max(highest, counter, 0)
      var known: Int64 = 0
      for entity in family {
        guard let tally = counted[entity.name] else { continue }
        known += add(tally, of: entity, served: own[entity.name] ?? [], to: &facts)
      }
      guard !sourceSchema.fillsTable(root.name), !scan.isSample, !takesUnknownEntities else { continue }
      // Counting alone is cheap: SQLite walks the smallest index.
      let total = try connection.integer("SELECT COUNT(*) FROM source.\(quoted(table.name))") ?? 0
      if total != known { try sourceSchema.checkEntities(inTableOf: root.name, connection) }
    }
    try assignKeys(&facts)
    guard !hasFixedChunks else {
      for index in mappings.ids { facts.mappings[index].chunkRows = fixedChunkRows }
      return facts
    }
    let program = try StepProgram(
      resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema, facts: facts)
    for index in mappings.ids {
      let runsInSwift =
        try program.isPolicy(index) || !program.creation.statement(index, predicate: nil).reasons.isEmpty
      facts.mappings[index].chunkRows = try chunkRows(mappings[index], runsInSwift: runsInSwift)
    }
    return facts
  }

  /// SQLite passes 127 arguments at most, one of which is the key.
  private static let limitFilters = 126

  /// Counts the rows of each entity, each mapping's share of them, and the shares that overlap.
  ///
  /// - Parameter served: The mappings of each entity.
  private func countEntities(
    served: [String: [ResolvedEntityMapping]], _ facts: PlanFacts
  ) throws -> [String: RowTally] {
    struct Part {
      var entity: EntityDescription
      var table: String
      var flags: Int
      var walk: SourceWalk
    }
    let parts = try resolved.sourceModel.rootEntities.flatMap { root -> [Part] in
      guard let table = sourceSchema.table(of: root.name)?.name else { return [] }
      return try resolved.sourceModel.family(of: root.name).map { entity in
        // A mapping without a filter takes every row there is.
        let filtered = (served[entity.name] ?? []).filter { $0.filter != nil }
        return Part(
          entity: entity, table: table, flags: filtered.count,
          walk: try walk(counting: entity, in: table, filtered: filtered, facts))
      }
    }
    let counts = try telling("count", 0...30) { try scan.counts(parts.map(\.walk)) }
    var tallies: [String: RowTally] = [:]
    for (part, count) in zip(parts, counts) {
      var tally = RowTally(flags: part.flags)
      for row in count.rows { tally.add(row, flags: part.flags) }
      if count.isEstimate {
        tally.scale(by: count.scaled, keys: try connection.keys(of: "source.\(quoted(part.table))") ?? 0...0)
      }
      tallies[part.entity.name] = tally
    }
    return tallies
  }

  private func walk(
    counting entity: EntityDescription, in table: String, filtered: [ResolvedEntityMapping], _ facts: PlanFacts
  ) throws -> SourceWalk {
    let builder = StatementBuilder()
    builder.rowChecks = RowChecks()
    var association = AssociationLowering(
      mappings: resolved.entityMappings, facts: facts, schema: sourceSchema, builder: builder)
    association.checks = .byRow
    guard filtered.count <= Self.limitFilters else {
      throw GodwitError(
        .configuration,
        "cannot plan \(filtered.count) mappings with a filter for '\(entity.name)': expected \(Self.limitFilters) at most",
        location: filtered[Self.limitFilters].mapping.location,
        remedy: "split the work into two jobs, the second with existing: append")
    }
    let tests = filtered.map { "(\(association.matches($0.index, alias: "s").sql)) IS TRUE" }
    // Only filters need the rows themselves; a count alone may use the entity index.
    let condition = sourceSchema.isObject(of: [entity.name], row: "s", usesIndex: filtered.isEmpty && !scan.isSample)
    let computable = filtered.first?.isComputable(row: "s")
    var key = "s.Z_PK"
    if let checks = builder.rowChecks, !checks.fields.isEmpty {
      key = checks.guarding(key, member: "-1", builder: builder)
    }
    let arguments = ([key] + tests).joined(separator: ", ")
    let linked = try filtered.isEmpty ? countOfLinks(LinkRows(of: entity.name, in: sourceSchema)) : nil
    return SourceWalk(
      table, key: "s.Z_PK", isCut: !filtered.isEmpty, builder: builder, context: "planning, counting \(entity.name)"
    ) { keys in
      let (own, condition) = ("source.\(quoted(table)) AS s", whereClause([condition.sql, computable, keys]))
      let rows = "FROM \(own)\(condition)"
      // One figure a query, so that SQLite finds the ends by seeking. Joins count faster, and cannot seek.
      return filtered.isEmpty && keys == nil
        ? "SELECT \(linked ?? "(SELECT COUNT(*) \(rows))"), (SELECT MIN(s.Z_PK) \(rows)), (SELECT MAX(s.Z_PK) \(rows))"
        : "SELECT godwit_tally(\(arguments)) \(rows)"
    }
  }

  /// Reports the progress of a body that counts.
  ///
  /// - Parameter part: The percent of the planning that it is.
  func telling<T>(_ stage: String, _ part: ClosedRange<Double>, _ body: () throws -> T) rethrows -> T {
    guard let progress else { return try body() }
    let start = Date()
    var told = start
    scan.progress = { [job] rows, total in
      let now = Date()
      guard now.timeIntervalSince(told) >= EngineTuning.current.progressPulseSeconds else { return }
      told = now
      let (share, seconds) = (Double(rows) / Double(max(1, total)), now.timeIntervalSince(start))
      var update = MigrationProgress(
        percent: part.lowerBound + share * (part.upperBound - part.lowerBound), step: job.position.step,
        steps: job.position.count, pass: 0, passes: 0, name: "planning", stage: stage, chunk: 0, chunks: 0, rows: rows,
        totalRows: total, rowsPerSecond: seconds > 0 ? Double(rows) / seconds : 0,
        secondsLeft: share > 0.05 ? seconds / share * (1 - share) : nil, residentBytes: ProcessMemory.residentBytes)
      update.isPlanning = true
      progress(update)
    }
    defer { scan.progress = nil }
    return try body()
  }

  /// Adds the counts of an entity.
  ///
  /// - Returns: the rows of the entity.
  private func add(
    _ tally: RowTally, of entity: EntityDescription, served: [ResolvedEntityMapping], to facts: inout PlanFacts
  ) -> Int64 {
    let filtered = served.filter { $0.filter != nil }
    guard tally.all.rows > 0 else { return 0 }
    func flag(_ mapping: ResolvedEntityMapping) -> Int? { filtered.firstIndex { $0.index == mapping.index } }
    for (position, mapping) in served.enumerated() {
      let known = flag(mapping).map { tally.flags[$0] } ?? tally.all
      facts.mappings[mapping.index].rows = known.rows
      facts.mappings[mapping.index].minimumKey = known.minimumKey
      facts.mappings[mapping.index].maximumKey = known.maximumKey
      for other in served[(position + 1)...] {
        let both: Int64
        switch (flag(mapping), flag(other)) {
        case (let a?, let b?): both = tally.pairs[[a, b]] ?? 0
        case (let only?, nil), (nil, let only?): both = tally.flags[only].rows
        case (nil, nil): both = tally.all.rows
        }
        if both > 0 { facts.overlaps.insert([mapping.index, other.index]) }
      }
    }
    let taken = filtered.count < served.count ? tally.all.rows : tally.flagged
    facts.entities.append(.init(name: entity.name, rows: tally.all.rows, taken: taken, isMapped: !served.isEmpty))
    return tally.all.rows
  }

  // MARK: Keys

  /// The first mappings into a destination table keep their keys while no object would come twice; the
  /// others move above every key given so far, or count densely where that would overflow. In a store that exists all
  /// of them move above its keys.
  private func assignKeys(_ facts: inout PlanFacts) throws {
    struct Group {
      var sourceRoot: String
      var members: [MappingID]
    }
    let byRoot = Dictionary(grouping: resolved.entityMappings.filter { $0.earlier == nil }) {
      resolved.destinationModel.root(of: $0.destination.name)?.name ?? ""
    }
    for root in resolved.destinationModel.rootEntities {
      var groups: [Group] = []
      for mapping in byRoot[root.name] ?? [] {
        let sourceRoot = resolved.sourceModel.root(of: mapping.source.name)?.name ?? mapping.source.name
        if let fitting = groups.firstIndex(where: { group in
          group.sourceRoot == sourceRoot && group.members.allSatisfy { !facts.overlap($0, mapping.index) }
        }) {
          groups[fitting].members.append(mapping.index)
        } else {
          groups.append(Group(sourceRoot: sourceRoot, members: [mapping.index]))
        }
      }
      var lowest = Int64.max
      let inUse = facts.highestDestinationKeys?[root.name]
      var highest = inUse ?? 0
      for (position, group) in groups.enumerated() {
        let filled = group.members.filter { facts.mappings[$0].rows > 0 }
        let minimum = filled.map { facts.mappings[$0].minimumKey }.min() ?? 1
        let maximum = filled.map { facts.mappings[$0].maximumKey }.max() ?? 0
        if position == 0, inUse == nil {
          lowest = min(minimum, 1)
          highest = max(facts.highestKeys[group.sourceRoot] ?? 0, maximum)
          continue
        }
        // Not `minimum - 1`, which overflows for the lowest key.
        let (below, tooLow) = minimum < 1 ? minimum.subtractingReportingOverflow(1) : (0, false)
        let (shift, tooFar) = highest.subtractingReportingOverflow(below)
        let overflow = tooLow || tooFar
        let (top, tooHigh) = maximum.addingReportingOverflow(shift)
        if !overflow, !tooHigh, top < .max {
          for member in group.members { facts.mappings[member].keys = .offset(shift) }
          highest = max(highest, top)
        } else {
          for member in group.members {
            let rows = facts.mappings[member].rows
            let (end, noRoomAbove) = highest.addingReportingOverflow(rows)
            if !noRoomAbove, end < .max {
              facts.mappings[member].keys = .dense(first: highest + 1)
              highest = end
            } else {
              let (start, noRoomBelow) = lowest.subtractingReportingOverflow(rows)
              guard !noRoomBelow, start > .min, inUse == nil else {
                throw GodwitError(
                  .dataWrong,
                  "cannot number the objects of '\(root.name)': no keys are left above or below those in use")
              }
              facts.mappings[member].keys = .dense(first: start)
              lowest = start
            }
          }
        }
      }
      if resolved.hasPolicies {
        let (free, overflow) = highest.addingReportingOverflow(1)
        facts.freeKeys = (facts.freeKeys ?? [:]).merging([root.name: overflow ? .max : free]) { _, new in new }
      }
    }
  }

  /// Whether all mappings have chunks of as many rows: no chunk of a source that is so much smaller than the budget is
  /// cut.
  private var hasFixedChunks: Bool { job.chunkRows != nil || sourceBytes <= job.memory.bytes / 16 }
  private var fixedChunkRows: Int64 { job.chunkRows.map { Int64(max(1, $0)) } ?? Self.maximumChunkRows }

  /// Rows per chunk if they are not fixed: as many as fit the budget, or a quarter of that for objects that stream
  /// through Swift. SQLite holds a part of a chunk at a time, so the size of a chunk decides how much work an
  /// interruption loses.
  func chunkRows(_ mapping: ResolvedEntityMapping, runsInSwift: Bool) throws -> Int64 {
    guard let width = try sampledWidth(of: mapping.source.name) else { return Self.maximumChunkRows }
    return max(1, min(Self.maximumChunkRows, job.memory.bytes / (runsInSwift ? 4 : 1) / max(width, 16)))
  }

  // MARK: Passes

  /// Mapping indices by pass. A mapping comes in a later pass than the mappings it looks up, except in a circle, whose
  /// mappings share a pass.
  static func passes(of resolved: ResolvedMapping) -> [[MappingID]] {
    let needs = resolved.entityMappings.map { mapping in
      Set(mapping.relationships.flatMap(\.lookups)).subtracting([mapping.index])
        .filter { resolved.entityMappings[$0].earlier == nil }
    }
    let own = resolved.entityMappings.filter { $0.earlier == nil }.map(\.index)
    let level = inMappingOrder(PassLevels(needs: needs.map { Set($0.map(\.number)) }).levels, of: resolved)
    return Dictionary(grouping: own) { level[$0.number] }.sorted { $0.key < $1.key }.map(\.value)
  }

}

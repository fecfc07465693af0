import Foundation
package import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// Counts what the source holds, and decides keys, passes, strategies and chunks.
///
/// Works on the source alone and writes nothing, so that a dry run can be trusted to be one.
package struct Planner {
  let job: MigrationJob
  let resolved: ResolvedMapping
  let connection: StoreConnection
  let sourceSchema: StoreSchema
  let destinationSchema: StoreSchema
  let functions: SQLFunctions
  let sourceBytes: Int64
  let leftOut: LeftOutTables
  /// What the job appends to; nil for a new store.
  let existing: ExistingDestination?

  /// Chunks larger than this gain nothing and make an interrupted run lose more.
  private static let maximumChunkRows: Int64 = 500_000

  package func plan(now: Double) throws -> (MigrationPlan, StepProgram) {
    try checkStorage()
    try refuseEmptyResult()
    let facts = try count(now: now)
    try refuseEmptyResult(facts)
    return try plan(facts: facts, chunks: nil)
  }

  /// The plan of a run that is resumed: facts and chunks come from its ledger.
  package func plan(facts: PlanFacts, chunks known: [Chunk]?) throws -> (MigrationPlan, StepProgram) {
    try checkStorage()
    let program = try StepProgram(
      resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema, facts: facts,
      keySetBytes: job.memory.bytes / 8)
    let passes = Self.passes(of: resolved)
    let chunks = try known ?? self.chunks(program, passes: passes)
    return (try describe(program, passes: passes, chunks: chunks), program)
  }

  // MARK: Counting

  private func count(now: Double) throws -> PlanFacts {
    let mappings = resolved.entityMappings
    var facts = PlanFacts(
      mappings: mappings.map { _ in
        .init(rows: 0, minimumKey: 0, maximumKey: 0, keys: .offset(0), chunkRows: Self.maximumChunkRows)
      }, entities: [], overlaps: [], highestKeys: [:], now: now, sourceBytes: sourceBytes,
      highestDestinationKeys: existing?.highestKeys)
    for mapping in mappings {
      guard case .offset(let offset)? = mapping.earlier?.access else { continue }
      facts.mappings[mapping.index].keys = .offset(offset)
      // What an earlier job took was not counted: an object may be among them.
      for other in mappings where other.index != mapping.index && other.source.name == mapping.source.name {
        facts.overlaps.insert([min(mapping.index, other.index), max(mapping.index, other.index)])
      }
    }
    for root in resolved.sourceModel.rootEntities {
      guard let table = sourceSchema.table(of: root.name) else { continue }
      let family = resolved.sourceModel.family(of: root.name)
      let numbers = family.compactMap { sourceSchema.number(of: $0.name) }
      let highest = try reading(table.name) {
        try connection.integer("SELECT MAX(Z_PK) FROM source.\(quoted(table.name))") ?? 0
      }
      let counter =
        try connection.integer(
          "SELECT MAX(Z_MAX) FROM source.Z_PRIMARYKEY WHERE Z_ENT IN (\(numbers.map(String.init).joined(separator: ",")))"
        )
        ?? 0
      facts.highestKeys[root.name] = max(highest, counter, 0)
      var known: Int64 = 0
      for entity in family {
        let served = mappings.filter { $0.source.name == entity.name && $0.earlier == nil }
        known += try reading(table.name) { try count(entity, in: table.name, served: served, facts: &facts) }
      }
      guard !sourceSchema.fillsTable(root.name) else { continue }
      // Counting alone is cheap: SQLite walks the smallest index.
      let total = try connection.integer("SELECT COUNT(*) FROM source.\(quoted(table.name))") ?? 0
      if total != known { try refuseUnknownEntities(in: table.name, numbers: numbers) }
    }
    facts.linksToNothing = try linksToNothing(facts)
    try assignKeys(&facts)
    let program = try StepProgram(
      resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema, facts: facts)
    for index in mappings.indices {
      let runsInSwift = try program.isPolicy(index) || !program.create(index, predicate: nil).reasons.isEmpty
      facts.mappings[index].chunkRows = try chunkRows(mappings[index], runsInSwift: runsInSwift)
    }
    return facts
  }

  /// Names the table in errors that have no place, such as those of a damaged page.
  func reading<T>(_ table: String, _ body: () throws -> T) throws -> T {
    do { return try body() } catch var error as GodwitError {
      error.site = error.site ?? "planning, reading table \(table)"
      throw error
    }
  }

  private func refuseUnknownEntities(in table: String, numbers: [Int]) throws {
    let known = numbers.map(String.init).joined(separator: ",")
    let row = try connection.rows(
      "SELECT Z_PK, Z_ENT FROM source.\(quoted(table)) WHERE Z_ENT IS NULL OR Z_ENT NOT IN (\(known)) LIMIT 1"
    ).first
    guard let row, case .integer(let key) = row[0] else { return }
    let found: String
    if case .integer(let number) = row[1] { found = "\(number)" } else { found = "no number" }
    throw GodwitError(
      .dataWrong, "cannot read row \(key) of \(table): expected one of the entity numbers \(known), found \(found)",
      remedy: "delete or repair the row in a copy of the store, and migrate the copy")
  }

  /// SQLite passes 127 arguments at most, one of which is the key.
  private static let limitFilters = 126

  /// Counts one entity's rows, each mapping's share, and the shares that overlap.
  ///
  /// - Returns: the rows of the entity.
  private func count(
    _ entity: EntityDescription, in table: String, served: [ResolvedEntityMapping], facts: inout PlanFacts
  ) throws -> Int64 {
    let builder = StatementBuilder()
    builder.rowChecks = RowChecks()
    var association = AssociationLowering(
      mappings: resolved.entityMappings, facts: facts, schema: sourceSchema, builder: builder)
    association.checks = .byRow
    // A mapping without a filter takes every row there is.
    let filtered = served.filter { $0.filter != nil }
    guard filtered.count <= Self.limitFilters else {
      throw GodwitError(
        .configuration,
        "cannot plan \(filtered.count) mappings with a filter for '\(entity.name)': expected \(Self.limitFilters) at most",
        location: filtered[Self.limitFilters].mapping.location,
        remedy: "split the work into two jobs, the second with append: true")
    }
    let tests = filtered.map { "(\(association.takes($0.index, alias: "s").sql)) IS TRUE" }
    // Only filters need the rows themselves; a count alone may use the entity index.
    let condition = sourceSchema.isObject(of: [entity.name], row: "s", usesIndex: filtered.isEmpty)
    var key = "s.Z_PK"
    if let checks = builder.rowChecks, !checks.fields.isEmpty {
      key = checks.guarding(key, member: "-1", builder: builder)
    }
    let rows = "FROM source.\(quoted(table)) AS s\(condition.clause)"
    // One figure a query, so that SQLite finds the ends by seeking.
    let query =
      filtered.isEmpty
      ? "SELECT (SELECT COUNT(*) \(rows)), (SELECT MIN(s.Z_PK) \(rows)), (SELECT MAX(s.Z_PK) \(rows))"
      : "SELECT godwit_tally(\(([key] + tests).joined(separator: ", "))) \(rows)"
    let site = "planning, counting \(entity.name)"
    var tally = RowTally(flags: filtered.count)
    if filtered.isEmpty {
      let row = try functions.running(ChunkStatement(sql: query, builder: builder), site: site) {
        try connection.rows(query, builder.arguments()).first ?? []
      }
      if row.count == 3, case (.integer(let rows), .integer(let low), .integer(let high)) = (row[0], row[1], row[2]) {
        tally.all = .init(rows: rows, minimumKey: low, maximumKey: high)
      }
    } else {
      let inRange = "\(condition.clause.isEmpty ? " WHERE" : " AND") s.Z_PK BETWEEN ?1 AND ?2"
      tally = try RowCounter(
        statement: ChunkStatement(sql: query + inRange, builder: builder), flags: filtered.count, table: table,
        site: site, planner: self
      ).count()
    }
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
    var found = PlanFacts.Entity(
      name: entity.name, rows: tally.all.rows, taken: taken, isMapped: !served.isEmpty)
    (found.foreignNumbers, found.missingNumbers) = try countOtherNumbers(entity, in: table)
    facts.entities.append(found)
    return tally.all.rows
  }

  /// Rows of a table of one entity that bear another number, and those that bear none.
  private func countOtherNumbers(_ entity: EntityDescription, in table: String) throws -> (Int64, Int64) {
    guard sourceSchema.fillsTable(entity.name), let number = sourceSchema.number(of: entity.name) else { return (0, 0) }
    let row = try connection.rows(
      "SELECT COUNT(s.Z_ENT), COUNT(*) - COUNT(s.Z_ENT) FROM source.\(quoted(table)) AS s WHERE s.Z_ENT IS NOT \(number)"
    ).first
    guard let row, case (.integer(let foreign), .integer(let missing)) = (row[0], row[1]) else { return (0, 0) }
    return (foreign, missing)
  }

  // MARK: Keys

  /// The first mappings into a destination table keep their keys while no object would come twice; the
  /// others move above every key given so far, or count densely where that would overflow. In a store that exists all
  /// of them move above its keys.
  private func assignKeys(_ facts: inout PlanFacts) throws {
    struct Group {
      var sourceRoot: String
      var members: [Int]
    }
    for root in resolved.destinationModel.rootEntities {
      var groups: [Group] = []
      for mapping in resolved.entityMappings
      where mapping.earlier == nil && resolved.destinationModel.isKind(mapping.destination.name, of: root.name) {
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
        // Not `minimum - 1`: the lowest key there is has none below it.
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
                  "cannot number the objects of '\(root.name)': no room is left above or below the keys in use")
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

  /// Rows per chunk: the job's figure, else so many as the budget would hold; of objects that stream through Swift a
  /// quarter. SQLite holds a part of a chunk at a time, so that its size decides what an interruption loses.
  private func chunkRows(_ mapping: ResolvedEntityMapping, runsInSwift: Bool) throws -> Int64 {
    if let rows = job.chunkRows { return Int64(max(1, rows)) }
    guard let width = try sampledWidth(of: mapping.source.name) else { return Self.maximumChunkRows }
    return max(1, min(Self.maximumChunkRows, job.memory.bytes / (runsInSwift ? 4 : 1) / max(width, 16)))
  }

  // MARK: Passes

  /// Mapping indices by pass: what is looked up comes in an earlier pass than what looks it up, except
  /// around a circle, whose mappings share a pass.
  static func passes(of resolved: ResolvedMapping) -> [[Int]] {
    let count = resolved.entityMappings.count
    let needs = resolved.entityMappings.map { mapping in
      Set(mapping.relationships.flatMap(\.lookups)).subtracting([mapping.index])
        .filter { resolved.entityMappings[$0].earlier == nil }
    }
    let own = resolved.entityMappings.filter { $0.earlier == nil }.map(\.index)
    // Reachability is small: a model has tens of mappings, not thousands.
    var reach = needs
    for _ in 0..<count {
      var changed = false
      for index in 0..<count {
        let wider = reach[index].reduce(into: reach[index]) { $0.formUnion(reach[$1]) }
        if wider.count > reach[index].count {
          reach[index] = wider
          changed = true
        }
      }
      if !changed { break }
    }
    var level = Array(repeating: 0, count: count)
    for _ in 0..<count {
      var changed = false
      for index in 0..<count {
        for other in needs[index] where !reach[other].contains(index) && level[index] <= level[other] {
          level[index] = level[other] + 1
          changed = true
        }
        for other in reach[index] where reach[other].contains(index) && level[other] < level[index] {
          level[other] = level[index]
          changed = true
        }
      }
      if !changed { break }
    }
    level = inMappingOrder(level, of: resolved)
    let used = Set(own.map { level[$0] }).sorted()
    return used.map { value in own.filter { level[$0] == value } }
  }

  // MARK: Chunks

  private func chunks(_ program: StepProgram, passes: [[Int]]) throws -> [Chunk] {
    var chunks: [Chunk] = []
    func passNumber(_ mapping: Int) -> Int { (passes.firstIndex { $0.contains(mapping) } ?? 0) + 1 }
    func add(
      _ stage: Chunk.Stage, _ name: String, pass: Int = 0, subject: Int, part: Int = 0, range: Chunk.KeyRange = .all,
      predicate: Int? = nil, rows: Int64
    ) {
      chunks.append(
        Chunk(
          id: chunks.count, pass: pass, stage: stage, name: name, subject: subject, part: part, range: range,
          predicate: predicate, rows: rows))
    }
    let mappings = program.mappings
    let facts = program.facts
    let order = passes.flatMap { $0 }
    var ranges: [Int: [(Chunk.KeyRange, Int64)]] = [:]
    let groups = passes.flatMap { creationGroups(of: $0, program: program) }
    for members in groups where members.count > 1 {
      let cut = try keyRanges(of: members, program: program)
      for index in members { ranges[index] = cut }
    }
    for index in order where ranges[index] == nil {
      let (entity, rows) = (mappings[index].source.name, facts.mappings[index].chunkRows)
      // Mappings of one entity are cut alike: the table is walked once for all of them.
      let twin = order.first {
        ranges[$0] != nil && mappings[$0].source.name == entity && facts.mappings[$0].chunkRows == rows
      }
      ranges[index] =
        try twin.flatMap { ranges[$0] }
        ?? keyRanges(
          table: program.sourceTable(entity), key: "Z_PK", entity: entity,
          total: facts.entities.first { $0.name == entity }?.rows ?? 0, rows: rows)
    }
    for index in order where program.isStored(index) && !program.isPolicy(index) {
      for (range, rows) in ranges[index] ?? [] {
        add(.associate, mappings[index].name, pass: passNumber(index), subject: index, range: range, rows: rows)
      }
    }
    func addHook(_ hook: PolicyRun.Hook, _ policy: Int) {
      let resolved = program.resolved.policies[policy]
      add(
        .policy, resolved.mapping.name, pass: resolved.index.map(passNumber) ?? 0, subject: policy, part: hook.rawValue,
        rows: 1)
    }
    let policies = program.resolved.policies
    func addNewObjects(before position: Int) {
      for (number, policy) in policies.enumerated() where policy.index == nil && policy.position == position {
        addHook(.begin, number)
        addHook(.endInstanceCreation, number)
      }
    }
    for members in groups {
      let index = members[0]
      let mapping = mappings[index]
      addNewObjects(before: index)
      guard members.count == 1 else {
        let ranges = ranges[index] ?? []
        // All ranges together have the rows of the mapping, none too few for a fraction.
        let shares = members.map { Self.shares(of: facts.mappings[$0].rows, by: ranges.map(\.1)) }
        for (number, (range, _)) in ranges.enumerated() {
          for (member, share) in zip(members, shares) {
            add(
              .create, mappings[member].name, pass: passNumber(member), subject: member, range: range,
              rows: share[number])
          }
        }
        continue
      }
      let policy = policies.firstIndex { $0.index == index }
      if let policy { addHook(.begin, policy) }
      defer { if let policy { addHook(.endInstanceCreation, policy) } }
      if let predicates = job.chunkPredicates[mapping.name] {
        let counts = try countPredicates(predicates, of: mapping, facts: facts)
        for (number, rows) in counts.enumerated() {
          add(.create, mapping.name, pass: passNumber(index), subject: index, predicate: number, rows: rows)
        }
      } else {
        for (range, rows) in ranges[index] ?? [] {
          add(.create, mapping.name, pass: passNumber(index), subject: index, range: range, rows: rows)
        }
      }
    }
    addNewObjects(before: mappings.count)
    for linkIndex in program.links.indices {
      for (part, job) in try program.relateJobs(linkIndex).enumerated() {
        for (range, rows) in try keyRanges(
          table: job.driverTable, key: job.driverKey, entity: nil,
          total: try connection.integer("SELECT COUNT(*) FROM source.\(quoted(job.driverTable))") ?? 0,
          rows: facts.mappings[job.mapping].chunkRows)
        {
          add(
            .relate, mappings[job.mapping].name, pass: passNumber(job.mapping), subject: linkIndex, part: part,
            range: range, rows: rows)
        }
      }
    }
    for (number, policy) in policies.enumerated() {
      if let index = policy.index {
        for (range, rows) in ranges[index] ?? [] {
          add(
            .policy, policy.mapping.name, pass: passNumber(index), subject: number,
            part: PolicyRun.Hook.createRelationships.rawValue, range: range, rows: rows)
        }
      }
      addHook(.endRelationshipCreation, number)
    }
    for hook in [PolicyRun.Hook.performCustomValidation, .end] {
      for number in policies.indices { addHook(hook, number) }
    }
    for (linkIndex, link) in program.links.enumerated() where link.strategy == .resolved {
      add(.resolve, "\(link.first.entityName).\(link.first.relationship.name)", subject: linkIndex, part: 0, rows: 1)
      // The first end may be an object that was there before, and its links are new all the same.
      let ends = destinationRanges(of: link.first.entityName, program: program, ranges: ranges, isWhole: true)
      for (range, rows) in ends.isEmpty ? [(.all, 1)] : ends {
        add(
          .resolve, "\(link.first.entityName).\(link.first.relationship.name)", subject: linkIndex, part: 1,
          range: range,
          rows: rows)
      }
    }
    for (number, index) in destinationSchema.indexes.enumerated() where !index.isUnique {
      add(.index, index.name, subject: number, rows: max(1, rows(inTable: index.table, program: program) / 4))
    }
    for (number, rule) in program.orderRules().enumerated() {
      for (range, rows) in destinationRanges(of: rule.ownerEntityName, program: program, ranges: ranges) {
        add(.order, "\(rule.entityName).\(rule.relationshipName)", subject: number, range: range, rows: rows)
      }
    }
    for (number, rule) in try program.derivationRules().enumerated() {
      for (range, rows) in destinationRanges(of: rule.entityName, program: program, ranges: ranges) {
        add(.derive, rule.entityName, subject: number, range: range, rows: rows)
      }
    }
    var validated: Set<String> = []
    for index in order where validated.insert(mappings[index].destination.name).inserted {
      let entity = mappings[index].destination.name
      var patterns: [String] = []
      guard !program.validationRules(of: entity, patterns: &patterns).isEmpty else { continue }
      for (range, rows) in destinationRanges(of: entity, program: program, ranges: ranges) {
        add(.validate, mappings[index].name, pass: passNumber(index), subject: index, range: range, rows: rows)
      }
    }
    // Objects that only a policy makes: the part is the entity's number.
    for entity in program.resolved.hasPolicies ? program.madeEntityNames : [] where validated.insert(entity).inserted {
      var patterns: [String] = []
      guard !program.validationRules(of: entity, patterns: &patterns).isEmpty else { continue }
      for (range, rows) in destinationRanges(of: entity, program: program, ranges: ranges) {
        add(.validate, entity, subject: -1, part: destinationSchema.number(of: entity) ?? 0, range: range, rows: rows)
      }
    }
    for (number, index) in destinationSchema.indexes.enumerated() where index.isUnique {
      add(.unique, index.name, subject: number, rows: max(1, rows(inTable: index.table, program: program) / 4))
    }
    return chunks
  }

  /// The mappings of a pass, those together that one statement can serve, in the order of the first of each.
  private func creationGroups(of pass: [Int], program: StepProgram) -> [[Int]] {
    var groups: [[Int]] = []
    for index in pass {
      // Hooks stand around the chunks of their own mapping.
      let isWhole = !resolved.hasPolicies && job.chunkPredicates[program.mappings[index].name] == nil
      if isWhole,
        let fitting = groups.firstIndex(where: { members in
          members.allSatisfy {
            program.canShare($0, index) && job.chunkPredicates[program.mappings[$0].name] == nil
          }
        })
      {
        groups[fitting].append(index)
      } else {
        groups.append([index])
      }
    }
    return groups
  }

  /// Key ranges of a table for all mappings that are served together.
  private func keyRanges(of members: [Int], program: StepProgram) throws -> [(Chunk.KeyRange, Int64)] {
    let entities = Set(members.map { program.mappings[$0].source.name })
    let total = program.facts.entities.filter { entities.contains($0.name) }.reduce(0) { $0 + $1.rows }
    let only = entities.count == 1 ? entities.first : nil
    return try keyRanges(
      table: program.sourceTable(entities.first ?? ""), key: "Z_PK", entity: only, total: total,
      rows: members.map { program.facts.mappings[$0].chunkRows }.min() ?? Self.maximumChunkRows)
  }

  private func rows(inTable table: String, program: StepProgram) -> Int64 {
    program.mappings.filter { destinationSchema.table(of: $0.destination.name)?.name == table }
      .reduce(0) { $0 + program.facts.mappings[$1.index].rows }
  }

  /// Half-open key ranges of about `rows` rows each that together cover every key, from minus infinity.
  ///
  /// - Parameter total: The rows there are.
  private func keyRanges(
    table: String, key: String, entity: String?, total: Int64, rows: Int64
  ) throws -> [(Chunk.KeyRange, Int64)] {
    let condition = entity.map { sourceSchema.isObject(of: [$0]).further } ?? ""
    let name = quoted(table)
    guard total > 0 else { return [] }
    var ranges: [(Chunk.KeyRange, Int64)] = []
    var lower: Int64?
    var left = total
    let next = try connection.prepare(
      "SELECT \(key) FROM source.\(name) WHERE \(key) >= ?1\(condition) ORDER BY \(key) LIMIT 1 OFFSET ?2")
    defer { next.finalize() }
    while left > rows {
      try next.bind([.integer(lower ?? .min), .integer(rows)])
      guard try next.step() else { break }
      var upper = next.row.int64(0)
      if upper == lower {
        // More rows than a chunk's have one key, which cannot be cut.
        guard
          let above = try connection.integer(
            "SELECT MIN(\(key)) FROM source.\(name) WHERE \(key) > ?1", [.integer(upper)])
        else { break }
        upper = above
      }
      ranges.append((.init(lower: lower, upper: upper), rows))
      lower = upper
      left -= rows
    }
    ranges.append((.init(lower: lower, upper: nil), left))
    return ranges
  }

  /// Destination key ranges that cover every object of an entity or its subentities, each key once; those of objects
  /// that were there before the job only when the range is to be whole.
  private func destinationRanges(
    of entity: String, program: StepProgram, ranges: [Int: [(Chunk.KeyRange, Int64)]], isWhole: Bool = false
  ) -> [(Chunk.KeyRange, Int64)] {
    let model = resolved.destinationModel
    let makers = program.mappings.filter { model.isKind($0.destination.name, of: entity) }
    var bounds: Set<Int64> = []
    var total: Int64 = 0
    for maker in makers {
      let facts = program.facts.mappings[maker.index]
      total += facts.rows
      switch facts.keys {
      case .offset(let offset):
        for (range, _) in ranges[maker.index] ?? [] {
          if let lower = range.lower, case (let sum, let overflow) = lower.addingReportingOverflow(offset), !overflow {
            bounds.insert(sum)
          }
        }
        if offset > 0, facts.rows > 0 { bounds.insert(facts.minimumKey &+ offset) }
      case .dense(let first):
        var given: Int64 = 0
        while given < facts.rows {
          bounds.insert(first + given)
          given += min(facts.chunkRows, facts.rows - given)
        }
      }
    }
    if let root = model.root(of: entity)?.name { bounds.formUnion(policyBounds(root: root, program: program)) }
    if total == 0, program.resolved.hasPolicies { total = 1 }
    guard total > 0 else { return [] }
    // Two mappings that share a table have bounds of their own: thin them to the chunk size.
    let limit = max(1, Int(total / max(1, makers.map { program.facts.mappings[$0.index].chunkRows }.min() ?? 1)))
    var sorted = bounds.sorted()
    if sorted.count > limit * 2 {
      let stride = sorted.count / limit
      sorted = sorted.enumerated().filter { $0.offset % stride == 0 }.map(\.element)
    }
    if makers.isEmpty { sorted = [] }
    var cut: [Chunk.KeyRange] = []
    let inUse = isWhole ? nil : model.root(of: entity).flatMap { program.facts.highestDestinationKeys?[$0.name] }
    var lower = inUse.map { $0 + 1 }
    for bound in sorted where lower.map({ $0 < bound }) ?? true {
      cut.append(.init(lower: lower, upper: bound))
      lower = bound
    }
    cut.append(.init(lower: lower, upper: nil))
    return Array(zip(cut, Self.shares(of: total, by: cut.map { _ in 1 })))
  }

  /// Parts of `total` in the proportion of weights, which add up to it.
  static func shares(of total: Int64, by weights: [Int64]) -> [Int64] {
    let whole = weights.reduce(0, +)
    guard whole > 0 else { return weights.map { _ in 0 } }
    var (weight, given): (Int64, Int64) = (0, 0)
    return weights.map { part in
      weight += part
      let product = total.multipliedFullWidth(by: weight)
      let share = whole.dividingFullWidth(product).quotient - given
      given += share
      return share
    }
  }

  /// Rows per predicate; a row that none or two of them take is an error.
  private func countPredicates(
    _ predicates: [ParsedPredicate], of mapping: ResolvedEntityMapping, facts: PlanFacts
  ) throws -> [Int64] {
    let builder = StatementBuilder()
    let association = AssociationLowering(
      mappings: resolved.entityMappings, facts: facts, schema: sourceSchema, builder: builder)
    let tests = predicates.enumerated().map { number, predicate in
      let sql = ExpressionLowering.condition(
        predicate, schema: sourceSchema, row: .init(alias: "s", entityName: mapping.source.name), builder: builder
      ).sql
      return "\(sql) IS TRUE AS p\(number)"
    }
    let sum = predicates.indices.map { "p\($0)" }.joinedEvenly(by: " + ")
    let columns =
      predicates.indices.map { "SUM(p\($0))" } + ["SUM((\(sum)) = 0)", "SUM((\(sum)) > 1)"]
    let statement = ChunkStatement(
      sql:
        "SELECT \(columns.joined(separator: ", ")) FROM (SELECT \(tests.joined(separator: ", ")) FROM \(try association.table(mapping.index)) AS s WHERE \(association.takes(mapping.index, alias: "s").sql) LIMIT -1)",
      builder: builder)
    let row = try functions.running(statement, site: "planning, counting the chunks of \(mapping.name)") {
      try connection.rows(statement.sql, builder.arguments()).first ?? []
    }
    func integer(_ index: Int) -> Int64 { if index < row.count, case .integer(let n) = row[index] { n } else { 0 } }
    let (none, several) = (integer(predicates.count), integer(predicates.count + 1))
    for (count, what) in [(none, "no predicate takes"), (several, "more than one predicate takes")] where count > 0 {
      throw GodwitError(
        .configuration,
        "cannot chunk mapping '\(mapping.name)': \(what) \(count) of its \(facts.mappings[mapping.index].rows) objects",
        location: predicates.first?.source.location,
        remedy: "make the predicates under chunks.by cover every object once; a nil value needs '== nil'")
    }
    return predicates.indices.map(integer)
  }
}

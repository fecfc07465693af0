import GodwitJob
import GodwitModel
import GodwitStore

/// The chunks of a step in the order in which they run, as they are listed.
struct ChunkList {
  let planner: Planner
  let program: StepProgram
  private let passes: [[MappingID]]
  /// The number of the pass of each mapping, from 1.
  private let passNumbers: [MappingID: Int]
  /// Mappings in the order in which they run.
  private let order: [MappingID]
  /// The mappings that one statement can serve together.
  private var groups: [[MappingID]] = []
  /// The key ranges of each mapping, with their rows.
  private var ranges: [MappingID: [(Chunk.KeyRange, Int64)]] = [:]
  /// The rows that the job puts into each table of the destination.
  private let tableRows: [String: Int64]
  private var list: [Chunk] = []

  init(planner: Planner, program: StepProgram, passes: [[MappingID]]) {
    (self.planner, self.program, self.passes) = (planner, program, passes)
    order = passes.flatMap { $0 }
    var numbers: [MappingID: Int] = [:]
    for (number, pass) in passes.enumerated() { for mapping in pass { numbers[mapping] = number + 1 } }
    passNumbers = numbers
    var tableRows: [String: Int64] = [:]
    for mapping in program.mappings {
      guard let table = planner.destinationSchema.table(of: mapping.destination.name)?.name else { continue }
      tableRows[table, default: 0] += program.facts.mappings[mapping.index].rows
    }
    self.tableRows = tableRows
  }

  private var mappings: [ResolvedEntityMapping] { program.mappings }
  private var facts: PlanFacts { program.facts }
  private var policies: [ResolvedPolicy] { program.resolved.policies }

  /// All chunks, counted in the source.
  mutating func chunks() throws -> [Chunk] {
    try cutSource()
    associate()
    try create()
    try relate()
    finishPolicies()
    resolve()
    index()
    try orderAndDerive()
    try validate()
    meet()
    makeUnique()
    return list
  }

  private func passNumber(_ mapping: MappingID) -> Int { passNumbers[mapping] ?? 1 }

  private mutating func add(
    _ work: ChunkWork, _ name: String, pass: Int = 0, range: Chunk.KeyRange = .all, rows: Int64
  ) {
    list.append(Chunk(id: list.count, pass: pass, work: work, name: name, range: range, rows: rows))
  }

  private mutating func add(
    _ work: ChunkWork, _ name: String, pass: Int = 0, over ranges: [(Chunk.KeyRange, Int64)]
  ) {
    for (range, rows) in ranges { add(work, name, pass: pass, range: range, rows: rows) }
  }

  private mutating func addHook(_ hook: PolicyHook, _ policy: Int) {
    let resolved = policies[policy]
    add(.callHook(hook, policy: policy), resolved.mapping.name, pass: resolved.index.map(passNumber) ?? 0, rows: 1)
  }

  private mutating func cutSource() throws {
    groups = passes.flatMap { planner.creationGroups(of: $0, program: program) }
    for members in groups where members.count > 1 {
      let cut = try planner.keyRanges(of: members, program: program)
      for index in members { ranges[index] = cut }
    }
    // Mappings of one entity are cut in the same way, so that one walk over the table serves all of them.
    struct Cut: Hashable { let entity: String, rows: Int64 }
    func cut(_ index: MappingID) -> Cut {
      Cut(entity: mappings[index].source.name, rows: facts.mappings[index].chunkRows)
    }
    var known: [Cut: [(Chunk.KeyRange, Int64)]] = [:]
    for index in order where known[cut(index)] == nil { known[cut(index)] = ranges[index] }
    let totals = Dictionary(facts.entities.map { ($0.name, $0.rows) }) { first, _ in first }
    for index in order where ranges[index] == nil {
      let cut = cut(index)
      let found =
        try known[cut]
        ?? planner.keyRanges(
          table: program.sourceTable(cut.entity), key: "Z_PK", entity: cut.entity, total: totals[cut.entity] ?? 0,
          rows: facts.mappings[index].chunkRows)
      (ranges[index], known[cut]) = (found, found)
    }
  }

  private mutating func associate() {
    for index in order where program.isStored(index) && !program.isPolicy(index) {
      add(.associate(mapping: index), mappings[index].name, pass: passNumber(index), over: ranges[index] ?? [])
    }
  }

  /// Policies that make objects without a source object run at their position in the mapping model.
  private mutating func addNewObjects(before position: Int) {
    for (number, policy) in policies.enumerated() where policy.index == nil && policy.position == position {
      addHook(.begin, number)
      addHook(.endInstanceCreation, number)
    }
  }

  private mutating func create() throws {
    for members in groups {
      addNewObjects(before: members[0].number)
      if members.count == 1 { try create(members[0]) } else { createTogether(members) }
    }
    addNewObjects(before: mappings.count)
  }

  private mutating func createTogether(_ members: [MappingID]) {
    let ranges = ranges[members[0]] ?? []
    // The shares of all ranges add up to the rows of the mapping; fractions are not lost.
    let shares = members.map { Planner.shares(of: facts.mappings[$0].rows, by: ranges.map(\.1)) }
    for (number, (range, _)) in ranges.enumerated() {
      for (member, share) in zip(members, shares) {
        add(
          .create(mapping: member, predicate: nil), mappings[member].name, pass: passNumber(member), range: range,
          rows: share[number])
      }
    }
  }

  private mutating func create(_ index: MappingID) throws {
    let mapping = mappings[index]
    let policy = policies.firstIndex { $0.index == index }
    if let policy { addHook(.begin, policy) }
    if let predicates = planner.job.chunkPredicates[mapping.name] {
      let counts = try planner.countPredicates(predicates, of: mapping, facts: facts)
      for (number, rows) in counts.enumerated() {
        add(.create(mapping: index, predicate: number), mapping.name, pass: passNumber(index), rows: rows)
      }
    } else {
      add(
        .create(mapping: index, predicate: nil), mapping.name, pass: passNumber(index), over: ranges[index] ?? [])
    }
    if let policy { addHook(.endInstanceCreation, policy) }
  }

  private mutating func relate() throws {
    for linkIndex in program.links.ids {
      for (scan, job) in try program.relationships.scans(linkIndex).enumerated() {
        let ranges = try planner.keyRanges(
          table: job.driverTable, key: job.driverKey, entity: nil,
          total: try planner.scan.rowCount(job.driverTable, key: job.driverKey),
          rows: facts.mappings[job.mapping].chunkRows)
        add(
          .relate(link: linkIndex, scan: scan), mappings[job.mapping].name, pass: passNumber(job.mapping), over: ranges)
      }
    }
  }

  private mutating func finishPolicies() {
    for (number, policy) in policies.enumerated() {
      if let index = policy.index {
        add(
          .callHook(.createRelationships, policy: number), policy.mapping.name, pass: passNumber(index),
          over: ranges[index] ?? [])
      }
      addHook(.endRelationshipCreation, number)
    }
    for hook in [PolicyHook.performCustomValidation, .end] {
      for number in policies.indices { addHook(hook, number) }
    }
  }

  private mutating func resolve() {
    for (linkIndex, link) in program.links.numbered where link.strategy == .resolved {
      let name = "\(link.first.entityName).\(link.first.relationship.name)"
      add(.prepareResolving(link: linkIndex), name, rows: 1)
      // The first end may be an object that existed before the job. Its links are new even so.
      let ends = destinationRanges(of: link.first.entityName, isWhole: true)
      add(.resolve(link: linkIndex), name, over: ends.isEmpty ? [(.all, 1)] : ends)
    }
  }

  private mutating func index() {
    for (number, index) in planner.destinationSchema.indexes.enumerated() where !index.isUnique {
      add(.buildIndex(number), index.name, rows: indexRows(index.table))
    }
  }

  /// The cost of an index in rows: a quarter of those of its table.
  private func indexRows(_ table: String) -> Int64 { max(1, (tableRows[table] ?? 0) / 4) }

  private mutating func orderAndDerive() throws {
    for (number, rule) in program.order.rules.numbered {
      let ranges = destinationRanges(of: rule.entityName)
      add(.order(rule: number), "\(rule.entityName).\(rule.relationshipName)", over: ranges)
    }
    for (number, rule) in try program.derivation.rules().numbered {
      add(.derive(rule: number), rule.entityName, over: destinationRanges(of: rule.entityName))
    }
  }

  private mutating func validate() throws {
    var validated: Set<String> = []
    for index in order where validated.insert(mappings[index].destination.name).inserted {
      let entity = mappings[index].destination.name
      guard try !program.validation.entity(entity).rules.isEmpty else { continue }
      add(
        .validate(mapping: index), mappings[index].name, pass: passNumber(index), over: destinationRanges(of: entity))
    }
    // Objects that only a policy makes.
    for entity in program.resolved.hasPolicies ? program.madeEntityNames : [] where validated.insert(entity).inserted {
      guard try !program.validation.entity(entity).rules.isEmpty else { continue }
      let number = planner.destinationSchema.number(of: entity) ?? 0
      add(.validateEntity(number: number), entity, over: destinationRanges(of: entity))
    }
  }

  /// New objects are validated before they become one with old ones, which takes their values.
  private mutating func meet() {
    let meeting = program.meeting
    guard !meeting.isEmpty else { return }
    let rows = meeting.reduce(0) { $0 + facts.mappings[$1].rows }
    add(.meet, meeting.map { mappings[$0].name }.joined(separator: ", "), rows: rows)
  }

  private mutating func makeUnique() {
    for (number, index) in planner.destinationSchema.indexes.enumerated() where index.isUnique {
      add(.buildUniqueIndex(number), index.name, rows: indexRows(index.table))
    }
  }

  // MARK: Ranges of the destination

  /// Destination key ranges that cover every object of an entity or its subentities, each key once. Objects that
  /// existed before the job are included only if `isWhole` is true.
  private func destinationRanges(of entity: String, isWhole: Bool = false) -> [(Chunk.KeyRange, Int64)] {
    let model = program.resolved.destinationModel
    let makers = program.resolved.mappings(to: entity)
    var bounds: Set<Int64> = []
    var total: Int64 = 0
    for maker in makers {
      let facts = facts.mappings[maker.index]
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
    if let root = model.root(of: entity)?.name { bounds.formUnion(policyBounds(root: root)) }
    if total == 0, program.resolved.hasPolicies { total = 1 }
    guard total > 0 else { return [] }
    // Two mappings that share a table have bounds of their own: thin them to the chunk size.
    let limit = max(1, Int(total / max(1, makers.map { facts.mappings[$0.index].chunkRows }.min() ?? 1)))
    var sorted = bounds.sorted()
    if sorted.count > limit * 2 {
      let stride = sorted.count / limit
      sorted = sorted.enumerated().filter { $0.offset % stride == 0 }.map(\.element)
    }
    if makers.isEmpty { sorted = [] }
    var cut: [Chunk.KeyRange] = []
    let inUse = isWhole ? nil : model.root(of: entity).flatMap { facts.highestDestinationKeys?[$0.name] }
    var lower = inUse.map { $0 + 1 }
    for bound in sorted where lower.map({ $0 < bound }) ?? true {
      cut.append(.init(lower: lower, upper: bound))
      lower = bound
    }
    cut.append(.init(lower: lower, upper: nil))
    return Array(zip(cut, Planner.shares(of: total, by: cut.map { _ in 1 })))
  }

  /// About where the new objects of policies begin and end in a table, for cutting later stages.
  private func policyBounds(root: String) -> [Int64] {
    guard let first = facts.freeKeys?[root] else { return [] }
    let makers = policies.compactMap(\.index).map { facts.mappings[$0] }
    let rows = makers.reduce(0) { $0 + $1.rows }
    let step = max(1, makers.map(\.chunkRows).min() ?? 1)
    var bounds: [Int64] = []
    var given: Int64 = 0
    while given < rows, case (let bound, false) = first.addingReportingOverflow(given) {
      bounds.append(bound)
      given += min(step, rows - given)
    }
    return bounds
  }
}

import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// The chunks of mappings with a policy.
extension Executor {
  private static let pageRows = 500

  private func running() throws -> PolicyRun {
    guard let policies else { throw GodwitError(.internalBug, "no policy is running") }
    return policies
  }

  /// Instance creation: the hook for each source object that the mapping takes, in key order.
  func createByPolicy(_ chunk: Chunk, _ mapping: Int) throws -> Ledger.Outcome {
    let run = try running()
    guard let policy = program.resolved.policies.firstIndex(where: { $0.index == mapping }) else {
      throw GodwitError(.internalBug, "cannot find the policy of \(chunk.name)")
    }
    try run.prepare(policy, for: .createDestinationInstances)
    var next: Int64? = chunk.range.first
    var ahead: SourcePagePrefetcher?
    defer { ahead?.stop() }
    while let first = next, first <= chunk.range.last {
      let page = try run.page(of: mapping, from: first, through: chunk.range.last, ahead: &ahead)
      if first == chunk.range.first, chunk.rows >= EngineTuning.current.pages.leastRows, let rest = page.next {
        ahead = try run.readAhead(of: mapping, from: rest, through: chunk.range.last)
      }
      for prepared in page.objects {
        run.prepared = prepared
        try run.call(.createDestinationInstances, of: policy, on: prepared.object) { instance, mapping, pass in
          try instance.createDestinationInstances(forSource: prepared.object, in: mapping, manager: &pass)
        }
      }
      run.prepared = nil
      next = page.next
    }
    return try finish(run)
  }

  /// A hook, or the relationships of the objects that came of a range of source keys.
  func call(_ hook: PolicyHook, of policy: Int, _ chunk: Chunk) throws -> Ledger.Outcome {
    let run = try running()
    try run.prepare(policy, for: hook)
    if hook == .createRelationships {
      try relateByPolicy(chunk, policy, run)
    } else {
      try run.call(hook, of: policy, on: nil) { instance, mapping, pass in
        switch hook {
        case .begin: try instance.begin(mapping, with: &pass)
        case .endInstanceCreation: try instance.endInstanceCreation(forMapping: mapping, manager: &pass)
        case .endRelationshipCreation: try instance.endRelationshipCreation(forMapping: mapping, manager: &pass)
        case .performCustomValidation: try instance.performCustomValidation(forMapping: mapping, manager: &pass)
        case .end: try instance.end(mapping, manager: &pass)
        case .createRelationships, .createDestinationInstances: break
        }
      }
    }
    return try finish(run)
  }

  private func relateByPolicy(_ chunk: Chunk, _ policy: Int, _ run: PolicyRun) throws {
    guard let index = program.resolved.policies[policy].index else { return }
    let table = StepProgram.pairTable(index)
    var place = PolicyState.Place(source: chunk.range.first, turn: -1)
    func page() throws -> [PolicyRun.Pair] {
      if run.plain.contains(index) {
        return try run.computedPairs(index, after: place, through: chunk.range.last, limit: Self.pageRows)
      }
      var isFirst = ""
      if run.state.several?.contains(index) == true {
        // An object of several source objects has its turn with the first of them.
        try run.makePairIndex(index)
        isFirst =
          " AND NOT EXISTS (SELECT 1 FROM main.\(table) AS e WHERE e.destination = p.destination AND e.entity = p.entity AND (e.source, e.turn) < (p.source, p.turn))"
      }
      let sql = """
        SELECT p.turn, p.root, p.source, p.entity, p.destination FROM main.\(table) AS p \
        WHERE (p.source, p.turn) > (?1, ?2) AND p.source <= ?3\(isFirst) ORDER BY p.source, p.turn LIMIT \(Self.pageRows)
        """
      return try run.pairs(sql, [place.source, place.turn, chunk.range.last].map { .integer($0) })
    }
    var known: ObjectLayout?
    while true {
      let pairs = try page()
      for pair in pairs {
        if known.map({ Int64($0.number) != pair.entity }) ?? true {
          known = run.destinationContext.layout(ofNumber: pair.entity)
        }
        guard let layout = known else { continue }
        let object = ManagedObject(
          layout, key: pair.destination, values: nil, context: run.destinationContext, run: run)
        run.related = (index, pair)
        run.isLeftToMapping = false
        try run.call(.createRelationships, of: policy, on: object) { instance, mapping, pass in
          try instance.createRelationships(forDestination: object, in: mapping, manager: &pass)
        }
        try run.finishRelating()
      }
      run.related = nil
      guard pairs.count == Self.pageRows, let end = pairs.last else { return }
      place = .init(source: end.source, turn: end.turn)
    }
  }

  private func finish(_ run: PolicyRun) throws -> Ledger.Outcome {
    run.dropWritings()
    let made = run.inserted
    for entity in made.keys.sorted() {
      try functions.mover?.finishChunk(table: try program.destinationTable(of: entity).name, on: connection)
      try raiseCounter(of: entity)
    }
    try run.finishChunk()
    let counted = run.takeCounts()
    return .init(rows: made.values.reduce(0, +), several: counted.several, nils: counted.nils)
  }
}

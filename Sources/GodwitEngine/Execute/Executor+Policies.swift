import GodwitJob
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
  func createByPolicy(_ chunk: Chunk, _ mapping: MappingID) throws -> Ledger.Outcome {
    let run = try running()
    guard let policy = program.resolved.policies.firstIndex(where: { $0.index == mapping }) else {
      throw GodwitError(.internalBug, "cannot find the policy of \(chunk.name)")
    }
    try run.prepare(policy, for: .createDestinationInstances)
    var next: Int64? = chunk.range.first
    var ahead: SourcePagePrefetcher?
    defer { ahead?.stop() }
    let (instance, described) = (run.instances[policy], run.step.mappings[policy])
    while let first = next, first <= chunk.range.last {
      let read = try run.page(of: mapping, from: first, through: chunk.range.last, ahead: &ahead)
      next = read.page.next
      if first == chunk.range.first, chunk.rows >= EngineTuning.current.pages.leastRows, let rest = next {
        ahead = try run.sourceReader.readAhead(of: mapping, from: rest, through: chunk.range.last, run.shortcuts)
      }
      try run.forEach(read.page, read.query, of: mapping) { object in
        try run.call(.createDestinationInstances, of: policy, on: object) {
          try instance.createDestinationInstances(forSource: object, in: described, manager: &$0)
        }
      }
    }
    return try finish(run)
  }

  /// A hook, or the relationships of the objects made of a range of source keys.
  func call(_ hook: PolicyHook, of policy: Int, _ chunk: Chunk) throws -> Ledger.Outcome {
    let run = try running()
    try run.prepare(policy, for: hook)
    if hook == .createRelationships {
      try relateByPolicy(chunk, policy, run)
    } else {
      let (instance, mapping) = (run.instances[policy], run.step.mappings[policy])
      try run.call(hook, of: policy, on: nil) { context in
        switch hook {
        case .begin: try instance.begin(mapping, with: &context)
        case .endInstanceCreation: try instance.endInstanceCreation(forMapping: mapping, manager: &context)
        case .endRelationshipCreation: try instance.endRelationshipCreation(forMapping: mapping, manager: &context)
        case .performCustomValidation: try instance.performCustomValidation(forMapping: mapping, manager: &context)
        case .end: try instance.end(mapping, manager: &context)
        case .createRelationships, .createDestinationInstances: break
        }
      }
    }
    return try finish(run)
  }

  private func relateByPolicy(_ chunk: Chunk, _ policy: Int, _ run: PolicyRun) throws {
    guard let index = program.resolved.policies[policy].index else { return }
    let (instance, mapping) = (run.instances[policy], run.step.mappings[policy])
    var place = PolicyState.Place(source: chunk.range.first, sequence: -1)
    var known: ObjectKind?
    while true {
      let pairs = try run.associationPage(
        index, after: place, through: chunk.range.last, limit: Self.pageRows)
      for pair in pairs {
        if known.map({ Int64($0.number) != pair.entity }) ?? true {
          let context = run.step.destinationContext
          known = context.layout(ofNumber: pair.entity).map { ObjectKind($0, context, run: run) }
        }
        guard let known else { continue }
        let object = ManagedObject(known, key: pair.destination, values: nil)
        run.hook.related = (index, pair)
        run.hook.isLeftToMapping = false
        try run.call(.createRelationships, of: policy, on: object) {
          try instance.createRelationships(forDestination: object, in: mapping, manager: &$0)
        }
        try run.finishRelating()
        // The first object shows whether the policy has the hook.
        if run.leavesRestToMapping(policy, index, through: chunk.range.last) { return }
      }
      run.hook.related = nil
      guard pairs.count == Self.pageRows, let end = pairs.last else { return }
      place = .init(source: end.source, sequence: end.sequence)
    }
  }

  private func finish(_ run: PolicyRun) throws -> Ledger.Outcome {
    let made = try run.writer.takeInserted()
    for entity in made.keys.sorted() {
      try finishFiles(of: entity)
      try raiseCounter(of: entity)
    }
    try run.finishChunk()
    let lost = run.losses.take()
    return .init(rows: made.values.reduce(0, +), ambiguousToOne: lost.ambiguousToOne, nils: lost.nils)
  }
}

/// How many stores of a fleet have failed, over all shards, as far as their results tell.
package struct FailureWatch: Sendable {
  private var shards: [ShardCount]
  private var total: Int64 = 0
  private var looked: ContinuousClock.Instant?
  /// Looking takes time on a network's file system: it may take a twentieth of all.
  private var pause: Duration = .seconds(1)

  /// A shard's failures, for which no set of all its stores is kept.
  private struct ShardCount: Sendable {
    var reader: ResultsReader
    var failed: Set<Int64> = []
  }

  /// The shard of this process, which it counts itself.
  package var own: Int? {
    didSet { looked = nil }
  }

  package init(_ folder: FleetFolder, plan: FleetPlan) {
    shards = (0..<plan.shards).map { ShardCount(reader: ResultsReader(folder, shard: $0, plan: plan)) }
  }

  /// The failed stores of the other shards. The files are looked at once a second at most.
  package mutating func failures() throws -> Int64 {
    let now = ContinuousClock.now
    guard looked.map({ now - $0 >= pause }) ?? true else { return total }
    for index in shards.indices where index != own { try update(index) }
    let end = ContinuousClock.now
    looked = end
    pause = max(.seconds(1), (end - now) * 20)
    total = shards.indices.reduce(0) { $0 + ($1 == own ? 0 : Int64(shards[$1].failed.count)) }
    return total
  }

  private mutating func update(_ index: Int) throws {
    var failed = shards[index].failed
    var reader = shards[index].reader
    let isNew = try reader.read { result, place, _, _ in
      if result.outcome == .failed { failed.insert(place) } else { failed.remove(place) }
    }
    if isNew { (shards[index].failed, shards[index].reader) = (failed, reader) }
  }
}

extension FleetPlan.Limits {
  /// Why so many failed stores are too many; nil when they are not.
  package func excess(_ failed: Int64, of stores: Int64) -> String? {
    if let maxStores, failed > Int64(maxStores) { return "more than 'max-stores: \(maxStores)'" }
    if let maxPercent, Double(failed) * 100 > maxPercent * Double(stores) {
      return "more than 'max-percent: \(maxPercent)' of \(stores)"
    }
    return nil
  }

  /// As above, for the canary: no failure is allowed where there is no limit.
  package func canaryExcess(_ failed: Int64, of stores: Int64) -> String? {
    if maxStores == nil, maxPercent == nil { return failed > 0 ? "and 'failures' sets no limit" : nil }
    return excess(failed, of: stores)
  }
}

import Foundation

/// How many stores of a fleet have failed, over all shards.
///
/// Each shard with failures has a small file with their number: see `ShardCount`. So neither the results nor the number
/// of shards without failures cost anything.
package struct FailureWatch: Sendable {
  private let folder: FleetFolder
  private let identity: String
  private let shards: Int
  /// Of the other shards, as far as they have failures.
  private var counts: [Int: Int64] = [:]
  private var looked: ContinuousClock.Instant?
  /// Looking takes time on a network's file system: it may take a twentieth of all.
  private var pause: Duration = .seconds(1)
  /// The shard of this process, which it counts itself.
  private var own: Int?

  package init(_ folder: FleetFolder, plan: FleetPlan) {
    (self.folder, identity, shards) = (folder, plan.identity, plan.shards)
  }

  /// This process begins a shard.
  package mutating func begin(_ shard: Int) { own = shard }

  /// This process is through with its shard, or stops: the shard counts as another one.
  ///
  /// - Parameter failed: Its failures. They are known before the files are looked at again.
  package mutating func end(failed: Int64) {
    if let own { counts[own] = failed }
    own = nil
  }

  /// The failed stores of the other shards. Files are looked at once a second at most.
  package mutating func failures() -> Int64 {
    let now = ContinuousClock.now
    if looked.map({ now - $0 >= pause }) ?? true {
      look()
      let end = ContinuousClock.now
      looked = end
      pause = max(.seconds(1), (end - now) * 20)
    }
    return counts.reduce(0) { $0 + ($1.key == own ? 0 : $1.value) }
  }

  private mutating func look() {
    // A folder that cannot be read now can be read the next time.
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/results") else { return }
    var found: [Int: Int64] = [:]
    for name in names where name.hasSuffix(FleetFolder.failedSuffix) {
      guard let shard = Int(name.dropLast(FleetFolder.failedSuffix.count)), (0..<shards).contains(shard), shard != own
      else { continue }
      let path = folder.failedPath(shard)
      // One that is just being written has about the number that it had.
      found[shard] = ShardCount(readingFrom: path, identity: identity)?.failed ?? counts[shard] ?? 0
    }
    counts = found
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

extension FleetTotals {
  /// Why nothing more is begun, by the limits of the fleet; nil to go on.
  package func excess(_ limits: FleetPlan.Limits, of plan: FleetPlan) -> String? {
    let canary = plan.canary ? shards.first : nil
    if let canary, let why = limits.canaryExcess(canary.failed, of: plan.canaryStores) {
      return "\(canary.failed) stores of the canary failed, \(why)"
    }
    return limits.excess(failed, of: plan.stores).map { "\(failed) stores failed, \($0)" }
  }
}

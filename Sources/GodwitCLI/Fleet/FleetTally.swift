import GodwitFleet
import GodwitJob
import GodwitModel
import Synchronization

/// What a fleet's run knows of its stores, for all of its threads.
final class FleetTally: Sendable {
  private struct State {
    var shard: ShardState?
    /// What is at work, by its place in the shard's list.
    var running: [Int: ShardStore] = [:]
    /// Of this process, over all shards.
    var finished = 0
    var alreadyFinished = 0
    var failed = 0
    var stopped = 0
    /// Of earlier runs.
    var passed = 0
    var failedBefore = 0
    var objects: Int64 = 0
    /// Of shards before this one.
    var hadQuarantine = false
    var hadFindings = false
  }

  /// What this process did.
  struct Counts: Sendable {
    var finished, alreadyFinished, failed, stopped, passed, failedBefore: Int

    /// Stores that ended, whenever that was.
    var ended: Int { finished + alreadyFinished + failed + passed + failedBefore }
    var objects: Int64
    var hasQuarantine, hasFindings: Bool
  }

  private let state = Mutex(State())

  /// Begins another shard.
  func begin(_ shard: ShardState) {
    state.withLock { state in
      state.hadQuarantine = state.hadQuarantine || state.shard?.hasQuarantine ?? false
      state.hadFindings = state.hadFindings || state.shard?.hasFindings ?? false
      state.shard = shard
    }
  }

  /// A store that an earlier run was through with.
  func pass(_ index: Int64) {
    state.withLock { state in
      if state.shard?.failed.contains(index) == true { state.failedBefore += 1 } else { state.passed += 1 }
    }
  }

  func begin(_ index: Int, _ store: ShardStore) { state.withLock { $0.running[index] = store } }

  /// What is known of a store at work.
  func store(_ index: Int) -> ShardStore? { state.withLock { $0.running[index] } }

  /// A store has ended, or was stopped.
  ///
  /// - Parameter isKept: Whether its result is in the shard's file.
  func end(_ index: Int, _ result: StoreResult, isKept: Bool) {
    state.withLock { state in
      state.running[index] = nil
      switch result.outcome {
      case .finished: state.finished += 1
      case .alreadyFinished: state.alreadyFinished += 1
      case .failed where isKept: state.failed += 1
      default: state.stopped += 1
      }
      state.objects = state.objects.addingReportingOverflow(result.objects ?? 0).partialValue
      guard isKept, let outcome = FleetResult.Outcome(rawValue: result.outcome.rawValue) else { return }
      state.shard?.note(Int64(index), outcome, status: result.status, isProved: result.findings != nil)
    }
  }

  /// Whether a store of the shard needs no run.
  ///
  /// - Parameters:
  ///   - retries: Whether one that failed is run again. One of which a proof found something only with another proof:
  ///     else its run would find a finished store, and the difference would be forgotten.
  ///   - verifies: Whether each store is proved. One that was finished without a proof is proved now.
  func isPassed(_ index: Int64, retries: Bool, verifies: Bool) -> Bool {
    state.withLock { $0.shard?.isPassed(index, retries: retries, verifies: verifies) ?? false }
  }

  /// Whether a store's last run failed.
  func hasFailed(_ index: Int64) -> Bool { state.withLock { $0.shard?.failed.contains(index) ?? false } }

  /// The stores of the shard of which a proof found something.
  var differingOfShard: Int64 { state.withLock { $0.shard?.differing.count ?? 0 } }

  /// The stores of the shard that have failed, in whatever run.
  var failedOfShard: Int64 { state.withLock { $0.shard?.failed.count ?? 0 } }

  /// How many stores of the shard have ended, and failed, in whatever run.
  var countOfShard: ShardCount {
    state.withLock { ShardCount(ended: $0.shard?.ended ?? 0, failed: $0.shard?.failed.count ?? 0) }
  }

  var counts: Counts {
    state.withLock {
      Counts(
        finished: $0.finished, alreadyFinished: $0.alreadyFinished, failed: $0.failed, stopped: $0.stopped,
        passed: $0.passed, failedBefore: $0.failedBefore, objects: $0.objects,
        hasQuarantine: $0.hadQuarantine || $0.shard?.hasQuarantine ?? false,
        hasFindings: $0.hadFindings || $0.shard?.hasFindings ?? false)
    }
  }
}

/// A line of a shard's results: what became of a store, and where it is in the fleet.
struct FleetResultLine: Encodable {
  let result: StoreResult
  let shard, index: Int
  let store: ShardStore?
  let identity: String

  private enum CodingKeys: String, CodingKey { case shard, index, store, bytes, pair, identity }

  func encode(to encoder: any Encoder) throws {
    try result.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(shard, forKey: .shard)
    try container.encode(index, forKey: .index)
    // As the shard's list has it: machines may open the store by different paths.
    if let store { try container.encode(store.store, forKey: .store) }
    try container.encodeIfPresent(store?.bytes, forKey: .bytes)
    try container.encodeIfPresent(store?.pair, forKey: .pair)
    try container.encode(identity, forKey: .identity)
  }

  /// One line, which says first what it is.
  func text() throws -> String {
    var line = self
    line = FleetResultLine(result: Self.untyped(result), shard: shard, index: index, store: store, identity: identity)
    return try JSONText.line(ofType: "store", line)
  }

  private static func untyped(_ result: StoreResult) -> StoreResult {
    var result = result
    result.type = nil
    return result
  }
}

import GodwitFleet
import GodwitManifest

/// A failed store in a document about a fleet.
struct FleetFailureRecord: Encodable {
  let store: String
  let time: String?
  let status: Int32
  let code, message: String?

  init(_ result: FleetResult) {
    (store, time, status) = (result.store, result.time, result.status)
    (code, message) = (result.code, result.message)
  }
}

/// How a fleet stands.
struct FleetStatusRecord: Encodable {
  struct Shards: Encodable {
    let count, done, running, waiting: Int
  }

  let fleet: String
  let stores, unreadable, current: Int64
  let finished, alreadyFinished, failed, stopped, waiting, quarantined: Int64
  let shards: Shards
  /// Of the stores in shards.
  let percent: Double
  /// Whether shard 0 has ended; left out without a canary.
  let canaryEnded: Bool?
  /// Left out while nothing is at work, or nothing has ended.
  let storesPerSecond, secondsLeft: Double?
  /// Why nothing more is begun; left out where that is not so.
  let limit: String?
  let lastFailures: [FleetFailureRecord]

  init(_ fleet: FleetManifest, _ plan: FleetPlan, _ totals: FleetTotals, running: Set<Int>) {
    self.fleet = plan.fleet
    (stores, unreadable, current) = (plan.stores, plan.unreadable, plan.current)
    (finished, alreadyFinished, failed) = (totals.finished, totals.alreadyFinished, totals.failed)
    (stopped, waiting, quarantined) = (totals.stopped, totals.waiting, totals.quarantined)
    let done = totals.shards.indices.count { totals.shards[$0].isComplete && !running.contains($0) }
    shards = Shards(
      count: plan.shards, done: done, running: running.count, waiting: max(0, plan.shards - done - running.count))
    percent = plan.stores > 0 ? min(100, Double(totals.ended) / Double(plan.stores) * 100) : 100
    canaryEnded = plan.canary ? totals.shards.first?.isComplete : nil
    storesPerSecond = running.isEmpty ? nil : totals.storesPerSecond
    secondsLeft = running.isEmpty ? nil : totals.secondsLeft
    limit = totals.excess(FleetPlan.Limits(fleet.failures), of: plan)
    lastFailures = totals.lastFailures.map { FleetFailureRecord($0) }
  }
}

/// What became of a fleet.
struct FleetMergeRecord: Encodable {
  struct Pair: Encodable {
    let version: String
    let path: [String]
    let stores, finished, failed, bytes, objects: Int64
    let seconds: Double
  }

  struct Failures: Encodable {
    let code: String
    let count: Int64
    let examples: [FleetFailureRecord]
  }

  struct Slow: Encodable {
    let store: String
    let seconds: Double
    let bytes, objects: Int64?
  }

  let fleet: String
  /// The exit status.
  let status: Int32
  let stores, unreadable, current: Int64
  let finished, alreadyFinished, failed, stopped, waiting, quarantined, differing: Int64
  let objects, bytes: Int64
  let seconds: Double
  let pairs: [Pair]
  let failures: [Failures]
  let slowest: [Slow]
  /// Lines that are no results of the plan, and were passed by.
  let foreignLines: Int

  /// - Parameter limits: Those that hold now.
  init(_ plan: FleetPlan, _ totals: FleetTotals, limits: FleetPlan.Limits) {
    fleet = plan.fleet
    status = totals.status(limits)
    (stores, unreadable, current) = (plan.stores, plan.unreadable, plan.current)
    (finished, alreadyFinished, failed) = (totals.finished, totals.alreadyFinished, totals.failed)
    (stopped, waiting) = (totals.stopped, totals.waiting)
    (quarantined, differing) = (totals.quarantined, totals.differing)
    (objects, bytes, seconds) = (totals.objects, totals.bytes, totals.seconds)
    pairs = zip(plan.pairs, totals.pairs).map { pair, sum in
      Pair(
        version: pair.version, path: pair.path, stores: pair.stores, finished: sum.finished, failed: sum.failed,
        bytes: sum.bytes, objects: sum.objects, seconds: sum.seconds)
    }
    failures = totals.failures.map {
      Failures(code: $0.code, count: $0.count, examples: $0.examples.map { FleetFailureRecord($0) })
    }
    slowest = totals.slowest.map {
      Slow(store: $0.store, seconds: $0.seconds, bytes: $0.bytes, objects: $0.objects)
    }
    foreignLines = totals.foreign
  }
}

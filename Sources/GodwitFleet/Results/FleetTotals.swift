import Foundation
import GodwitModel

/// What became of the stores of a fleet, by the last line of each.
///
/// Of each shard first the places of the last lines are read, then these lines. So memory grows with the largest shard,
/// by eight bytes a store, and with nothing else.
package struct FleetTotals: Sendable {
  /// Stores of one of the plan's pairs.
  package struct Pair: Sendable, Equatable {
    package var finished: Int64 = 0
    package var failed: Int64 = 0
    package var bytes: Int64 = 0
    package var objects: Int64 = 0
    package var seconds = 0.0
  }

  /// Failed stores of one kind.
  package struct Failures: Sendable, Equatable {
    package var code: String
    package var count: Int64
    package var examples: [FleetResult]
  }

  /// A shard over time.
  package struct Shard: Sendable, Equatable {
    package var done: Int64 = 0
    package var failed: Int64 = 0
    package var stopped: Int64 = 0
    package var stores: Int64 = 0
    /// Seconds since 1970: when its first store began, and when its last one ended.
    package var begin, end: Double?

    package var isComplete: Bool { done + failed == stores }
  }

  package private(set) var finished: Int64 = 0
  package private(set) var alreadyFinished: Int64 = 0
  package private(set) var failed: Int64 = 0
  package private(set) var stopped: Int64 = 0
  /// Stores whose objects are in quarantine in part, and stores of which a proof found something.
  package private(set) var quarantined: Int64 = 0
  package private(set) var differing: Int64 = 0
  package private(set) var objects: Int64 = 0
  package private(set) var bytes: Int64 = 0
  /// Of all stores together.
  package private(set) var seconds = 0.0
  package private(set) var pairs: [Pair]
  package private(set) var failures: [Failures] = []
  /// The longest first.
  package private(set) var slowest: [FleetResult] = []
  /// The latest first.
  package private(set) var lastFailures: [FleetResult] = []
  package private(set) var shards: [Shard]
  /// Lines that are no results of this plan.
  package private(set) var foreign = 0
  /// Stores and their estimated seconds that ended in the last minutes before the last one.
  private var recent: (stores: Int64, work: Double) = (0, 0)
  private var recentBegin: Double?

  private let plan: FleetPlan

  package static let examplesMaximum = 5
  package static let slowestMaximum = 20
  package static let lastMaximum = 10
  /// The minutes by which the speed goes.
  private static let recentSeconds = 600.0

  /// Reads the results of all shards.
  ///
  /// - Parameter body: Called with each store's last line.
  package init(
    _ folder: FleetFolder, plan: FleetPlan, _ body: (FleetResult, _ line: [UInt8]) throws -> Void = { _, _ in }
  ) throws {
    self.plan = plan
    pairs = Array(repeating: Pair(), count: plan.pairs.count)
    shards = plan.shardStores.map { Shard(stores: $0) }
    var ends: [Double] = []
    for shard in 0..<plan.shards {
      var places = Array(repeating: Int64(-1), count: Int(clamping: plan.shardStores[shard]))
      var reader = ResultsReader(folder, shard: shard, plan: plan)
      let isThere = try reader.read { _, index, offset, _ in places[Int(index)] = offset }
      guard isThere else { continue }
      foreign += reader.foreign
      // Lines that came meanwhile are of no place that is known.
      reader = ResultsReader(folder, shard: shard, plan: plan)
      try reader.read { result, index, offset, line in
        guard places[Int(index)] == offset else { return }
        add(result, shard)
        try body(result, line)
      }
      if let end = shards[shard].end { ends.append(end) }
    }
    failures.sort { ($1.count, $0.code) < ($0.count, $1.code) }
    try measure(folder, until: ends.max())
  }

  private mutating func add(_ result: FleetResult, _ shard: Int) {
    let end = FleetTime.seconds(result.time)
    if let end {
      shards[shard].begin = min(shards[shard].begin ?? .infinity, end - max(0, result.seconds))
      shards[shard].end = max(shards[shard].end ?? 0, end)
    }
    switch result.outcome {
    case .finished: finished += 1
    case .alreadyFinished: alreadyFinished += 1
    case .stopped: stopped += 1
    case .failed: failed += 1
    }
    let pair = result.pair.flatMap { pairs.indices.contains($0) ? $0 : nil }
    if result.isDone {
      shards[shard].done += 1
      objects = objects.addingReportingOverflow(result.objects ?? 0).partialValue
      bytes = bytes.addingReportingOverflow(result.bytes ?? 0).partialValue
      if result.status == 3 { quarantined += 1 }
      if let pair {
        pairs[pair].finished += 1
        pairs[pair].bytes &+= result.bytes ?? 0
        pairs[pair].objects &+= result.objects ?? 0
        pairs[pair].seconds += result.seconds
      }
    } else if result.outcome == .failed {
      shards[shard].failed += 1
      if result.status == 4 { differing += 1 }
      if let pair { pairs[pair].failed += 1 }
      addFailure(result)
    } else {
      shards[shard].stopped += 1
    }
    seconds += result.seconds
    addSlow(result)
  }

  private mutating func addFailure(_ result: FleetResult) {
    let code = result.code ?? (result.status == 4 ? "findings" : "status \(result.status)")
    if let place = failures.firstIndex(where: { $0.code == code }) {
      failures[place].count += 1
      if failures[place].examples.count < Self.examplesMaximum { failures[place].examples.append(result) }
    } else {
      failures.append(Failures(code: code, count: 1, examples: [result]))
    }
    let place = lastFailures.firstIndex { $0.time < result.time } ?? lastFailures.count
    guard place < Self.lastMaximum else { return }
    lastFailures.insert(result, at: place)
    if lastFailures.count > Self.lastMaximum { lastFailures.removeLast() }
  }

  private mutating func addSlow(_ result: FleetResult) {
    guard result.outcome == .finished else { return }
    let place = slowest.firstIndex { $0.seconds < result.seconds } ?? slowest.count
    guard place < Self.slowestMaximum else { return }
    slowest.insert(result, at: place)
    if slowest.count > Self.slowestMaximum { slowest.removeLast() }
  }

  // MARK: The speed

  /// Counts what ended in the minutes before the last end.
  private mutating func measure(_ folder: FleetFolder, until end: Double?) throws {
    guard let end else { return }
    let from = end - Self.recentSeconds
    for shard in shards.indices where shards[shard].end.map({ $0 >= from }) ?? false {
      var reader = ResultsReader(folder, shard: shard, plan: plan)
      try reader.read { result, _, _, _ in
        guard result.outcome == .finished, let time = FleetTime.seconds(result.time), time >= from, time <= end else {
          return
        }
        recent.stores += 1
        recent.work += WorkEstimate.seconds(bytes: result.bytes ?? 0)
        recentBegin = min(recentBegin ?? end, max(from, time - result.seconds))
      }
    }
  }

  /// Stores in a second, over the last minutes of the fleet's work; nil while none is known.
  package var storesPerSecond: Double? {
    guard let end = shards.compactMap(\.end).max(), let recentBegin, end > recentBegin, recent.stores > 0 else {
      return nil
    }
    return Double(recent.stores) / (end - recentBegin)
  }

  /// How long the rest takes at that speed.
  package var secondsLeft: Double? {
    guard let end = shards.compactMap(\.end).max(), let recentBegin, end > recentBegin, recent.work > 0 else {
      return nil
    }
    guard waiting > 0, plan.stores > 0 else { return 0 }
    let whole = Double(plan.stores) * WorkEstimate.secondsOfStore + Double(plan.bytes) / WorkEstimate.bytesInSecond
    let done =
      Double(finished + alreadyFinished) * WorkEstimate.secondsOfStore + Double(bytes) / WorkEstimate.bytesInSecond
    // What a failed store would have taken is not in what is done.
    let average = whole / Double(plan.stores)
    return max(average, whole - done - Double(failed) * average) * (end - recentBegin) / recent.work
  }

  // MARK: The whole

  /// Stores that ended, well or not.
  package var ended: Int64 { finished + alreadyFinished + failed }
  /// Stores of shards that have not ended.
  package var waiting: Int64 { max(0, plan.stores - ended) }
  /// Failed stores, and those that no shard has because they cannot be read or no model fits them.
  package var allFailed: Int64 { failed + plan.unreadable }

  /// The exit status of the whole: 65 when the limits of failures stop the fleet; else 75 while stores have not ended;
  /// else 65 when a store failed, 4 when a proof found something, 3 with objects in quarantine.
  ///
  /// - Parameter limits: Those that hold now.
  package func status(_ limits: FleetPlan.Limits) -> Int32 {
    // What no run goes on with is not unfinished.
    if excess(limits, of: plan) != nil { return GodwitError.Code.dataWrong.rawValue }
    if waiting > 0 { return GodwitError.Code.stopped.rawValue }
    // A difference that a proof found is a failed store of a kind of its own.
    if allFailed > differing { return GodwitError.Code.dataWrong.rawValue }
    if differing > 0 { return GodwitError.Code.findings.rawValue }
    return quarantined > 0 ? 3 : 0
  }
}

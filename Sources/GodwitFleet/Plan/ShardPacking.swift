/// Which store goes into which shard: longest processing time first.
///
/// Stores are offered by their length, the longest first. Each goes to the shard with the least work; among equals, to
/// the one with the lowest number. A store that is longer than a shard should be has a shard of its own. The shards hold
/// only their sums, so that a million stores need no memory.
package struct ShardPacking {
  /// What is in a shard.
  package struct Shard: Sendable, Equatable {
    package var stores: Int64 = 0
    package var seconds = 0.0
    package var longest = 0.0
  }

  package private(set) var shards: [Shard]
  /// The numbers of the shards that take more, as a heap with the least work at the top.
  private var heap: [Int]
  /// A store of so many seconds is alone.
  private let oversized: Double

  /// - Parameters:
  ///   - count: How many shards.
  ///   - oversized: A store of so many seconds has a shard of its own, as long as there is another one for the rest.
  package init(count: Int, oversized: Double) {
    let count = max(1, count)
    shards = Array(repeating: Shard(), count: count)
    heap = Array(0..<count)
    self.oversized = oversized
  }

  /// A shard is worth at least so much of a process: starting one, and reading the models, should not count.
  package static let secondsMinimum = 60.0

  /// How many shards make sense.
  ///
  /// - Parameters:
  ///   - alone: The stores that take as long as a shard should.
  ///   - seconds: Of all other stores on one thread.
  ///   - others: How many these are.
  ///   - shardSeconds: What a shard should take of a process.
  ///   - jobs: Stores at the same time in one process.
  package static func count(
    alone: Int64, seconds: Double, others: Int64, shardSeconds: Double, jobs: Int, maximum: Int
  ) -> Int {
    let wall = seconds.isFinite ? max(0, seconds) / Double(max(1, jobs)) : 0
    let wanted = (wall / max(secondsMinimum, shardSeconds)).rounded(.up)
    let most = (wall / secondsMinimum).rounded(.down)
    let rest = others > 0 ? max(1, min(wanted, most, Double(others), Double(maximum))) : 0
    return max(1, min(maximum, Int(clamping: min(alone, Int64(maximum))) + Int(rest)))
  }

  /// The shard of the next store, which is no longer than those before.
  package mutating func add(_ seconds: Double) -> Int {
    let top = heap[0]
    put(seconds, into: top)
    // A store that fills a shard is alone in it, as long as there is another one for the rest.
    if seconds >= oversized, shards[top].stores == 1, heap.count > 1 {
      heap[0] = heap[heap.count - 1]
      heap.removeLast()
    }
    sink()
    return top
  }

  private mutating func put(_ seconds: Double, into shard: Int) {
    shards[shard].stores += 1
    shards[shard].seconds += seconds
    shards[shard].longest = max(shards[shard].longest, seconds)
  }

  private func isBefore(_ a: Int, _ b: Int) -> Bool {
    (shards[a].seconds, a) < (shards[b].seconds, b)
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(heap[child], heap[least]) {
        least = child
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}

/// Which stores go first: a sample of all versions and sizes, the same every time.
package enum CanarySample {
  /// How many of so many stores.
  package static func count(percent: Double, of stores: Int64) -> Int64 {
    guard stores > 0 else { return 0 }
    return max(1, min(stores, Int64((Double(stores) * percent / 100).rounded(.up))))
  }

  /// Whether the store at a place is in the sample, for stores in the order of their versions and sizes: `wanted` places
  /// of `stores`, evenly apart.
  package static func takes(_ place: Int64, wanted: Int64, of stores: Int64) -> Bool {
    guard wanted > 0, stores > 0 else { return false }
    guard wanted < stores else { return true }
    // The places (i + 1/2) * stores / wanted, rounded down. Doubles are exact enough for less than 2^50 stores.
    let first = (Double(place) * Double(wanted) / Double(stores) - 0.5).rounded(.up)
    for index in [first - 1, first, first + 1] where index >= 0 && index < Double(wanted) {
      if Int64((index + 0.5) * Double(stores) / Double(wanted)) == place { return true }
    }
    return false
  }
}

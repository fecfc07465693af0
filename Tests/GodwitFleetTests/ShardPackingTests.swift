import GodwitFleet
import TestSupport
import Testing

@Suite struct ShardPackingTests {
  /// Stores of very different lengths, the longest first.
  private func lengths(_ random: inout SeededGenerator) -> [Double] {
    let count = 1 + random.below(400)
    return (0..<count).map { _ in
      let large = random.chance(5) ? 500.0 : 1
      return 0.03 + Double(random.below(1000)) / 100 * large
    }.sorted(by: >)
  }

  @Test(arguments: testSeeds(20)) func `every store is in one shard, and no shard is much longer than it must be`(
    seed: UInt64
  ) {
    var random = SeededGenerator(seed: seed)
    let lengths = lengths(&random)
    let count = min(lengths.count, 1 + random.below(30))
    let whole = lengths.reduce(0, +)
    var packing = ShardPacking(count: count, oversized: whole / Double(count))
    var shards = Array(repeating: [Double](), count: count)
    for length in lengths { shards[packing.add(length)].append(length) }
    #expect(shards.map(\.count).reduce(0, +) == lengths.count)
    #expect(shards.allSatisfy { !$0.isEmpty })
    for (shard, found) in zip(shards, packing.shards) {
      #expect(Int64(shard.count) == found.stores && shard.max() == found.longest)
      #expect(abs(shard.reduce(0, +) - found.seconds) < 1e-6)
      // One that is as long as a shard should be is alone, unless it is in the last shard that takes any.
      if shard[0] >= whole / Double(count), shard.count > 1 {
        #expect(shards.filter { $0[0] < whole / Double(count) || $0.count > 1 }.count == 1)
      }
    }
    // Longest first is never worse than 4/3 of the best, where no store is alone.
    if lengths[0] < whole / Double(count) {
      let best = max(whole / Double(count), lengths[0])
      #expect((packing.shards.map(\.seconds).max() ?? 0) <= best * 4 / 3 + 1e-6)
    }
  }

  @Test func `the same stores give the same shards`() {
    var random = SeededGenerator(seed: 7)
    let lengths = lengths(&random)
    func packed() -> [Int] {
      var packing = ShardPacking(count: 9, oversized: .infinity)
      return lengths.map { packing.add($0) }
    }
    #expect(packed() == packed())
  }

  @Test func `a shard is worth a minute, and a long store is a shard`() {
    func count(alone: Int64 = 0, _ seconds: Double, others: Int64 = 1000, minutes: Double = 10, jobs: Int = 1) -> Int {
      ShardPacking.count(
        alone: alone, seconds: seconds, others: others, shardSeconds: minutes * 60, jobs: jobs, maximum: 10_000)
    }
    #expect(count(5) == 1)
    #expect(count(6000) == 10)
    #expect(count(6001) == 11)
    #expect(count(6000, jobs: 2) == 5)
    // One minute each, not less, whatever the file says.
    #expect(count(119, minutes: 1) == 1)
    #expect(count(6000, minutes: 0.1) == 100)
    #expect(count(alone: 3, 5) == 4)
    #expect(count(alone: 3, 0, others: 0) == 3)
    #expect(count(1e12, others: .max) == 10_000)
    #expect(count(6000, others: 2) == 2)
    #expect(count(.nan) == 1)
  }

  @Test(arguments: testSeeds(20)) func `a sample has as many as were wanted, evenly apart`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let stores = Int64(1 + random.below(500))
    let wanted = Int64(random.below(Int(stores) + 3))
    let taken = (0..<stores).filter { CanarySample.takes($0, wanted: wanted, of: stores) }
    // The definition, place by place.
    let expected = Set(
      (0..<min(wanted, stores)).map { index in
        wanted >= stores ? index : Int64((Double(index) + 0.5) * Double(stores) / Double(wanted))
      })
    #expect(Set(taken) == expected && Int64(taken.count) == min(wanted, stores))
  }

  @Test func `a percent of a few stores is one of them`() {
    #expect(CanarySample.count(percent: 1, of: 0) == 0)
    #expect(CanarySample.count(percent: 1, of: 5) == 1)
    #expect(CanarySample.count(percent: 1, of: 1000) == 10)
    #expect(CanarySample.count(percent: 100, of: 7) == 7)
  }
}

import Foundation

/// Numbers that a seed decides (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  package init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678 }
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
  package mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
  package mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<max(1, limit), using: &self) }
}

/// The round of a campaign: each has other seeds and other samples. `GODWIT_ROUND` sets it.
package let testRound = ProcessInfo.processInfo.environment["GODWIT_ROUND"].flatMap(Int.init) ?? 0

/// The divisor of a lower bound on how many cases a random test must reach: one in `share` for the fixed seeds, a
/// sixth of that for the seeds of another round, which may have few such cases by chance.
package func fewest(_ share: Int) -> Int { testRound == 0 ? share : 6 * share }

/// The seeds of a random test: `count` of them, ten times as many in the long tier, others in each `GODWIT_ROUND`
/// (0 unless it is set). `GODWIT_SEED` runs one seed, `GODWIT_RUNS` sets how many.
package func testSeeds(_ count: Int) -> [UInt64] {
  let environment = ProcessInfo.processInfo.environment
  if let seed = environment["GODWIT_SEED"].flatMap(UInt64.init) { return [seed] }
  let runs = environment["GODWIT_RUNS"].flatMap(UInt64.init) ?? UInt64(TestTier.choose(count, long: 10 * count))
  return (0..<max(1, runs)).map { UInt64(testRound) &* max(1, runs) &+ $0 }
}

/// The seed of a test whose moments nobody can repeat exactly: another one in each run, unless `GODWIT_SEED` sets it.
package func momentSeed() -> UInt64 {
  ProcessInfo.processInfo.environment["GODWIT_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 1...99_999)
}

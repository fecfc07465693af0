import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// SplitMix64: the same numbers for the same seed on every machine.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678 }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<max(1, limit), using: &self) }
}

/// `GODWIT_SEED` runs one seed, `GODWIT_RUNS` so many.
func adversarialSeeds(_ count: Int) -> [UInt64] {
  let environment = ProcessInfo.processInfo.environment
  if let seed = environment["GODWIT_SEED"].flatMap(UInt64.init) { return [seed] }
  let runs = environment["GODWIT_RUNS"].flatMap(Int.init) ?? count
  return (0..<UInt64(max(1, runs))).map { $0 }
}

@Suite struct AdversarialTests {
  @Test func `links equal those of assigning them one by one`() throws {
    for seed in adversarialSeeds(60) {
      var random = SeededGenerator(seed: seed)
      let world = try RandomWorld(&random)
      let fixture = try MigrationFixture(world.source, to: world.destination)
      fixture.mappings = world.mappings
      fixture.chunkRows = [1, 2, 3, 5, 1000][random.below(5)]
      try world.write(to: fixture)
      let reference = world.reference()
      let summary: MigrationSummary
      do { summary = try MigrationManager(fixture.job).run() } catch {
        Issue.record("seed \(seed): \(error)\n\(world.description)")
        continue
      }
      #expect(summary.objects == Int64(reference.made.count), "seed \(seed)")
      let report = try Verifier(job: fixture.job).run()
      if !report.isClean { Issue.record("seed \(seed): the verifier reports \(report)\n\(world.description)") }
      let found = try world.links(fixture)
      var differs = false
      for pair in world.destinationPairs {
        let expected = reference.edges(pair.a.name)
        if found[pair.a.name] != expected {
          differs = true
          let missing = expected.subtracting(found[pair.a.name] ?? []).map { "\($0.a)-\($0.b)" }.sorted()
          let extra = (found[pair.a.name] ?? []).subtracting(expected).map { "\($0.a)-\($0.b)" }.sorted()
          Issue.record("seed \(seed): \(pair.a.name) misses \(missing), has \(extra)")
        }
      }
      let misplaced = world.misplaced(try world.lists(fixture), reference)
      for line in misplaced { Issue.record("seed \(seed): \(line)") }
      differs = differs || !misplaced.isEmpty
      if differs { Issue.record("seed \(seed):\n\(world.description)") }
    }
  }
}

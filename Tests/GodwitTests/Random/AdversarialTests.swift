import Foundation
import Godwit
import GodwitJob
import GodwitVerifier
import TestSupport
import Testing

@Suite struct AdversarialTests {
  /// With and without the sets of keys that tell which mapping takes an object.
  @Test(arguments: [nil, 0] as [Int64?])
  func `resolved links equal those of assigning them one by one`(keySetBytes: Int64?) throws {
    for seed in testSeeds(20) {
      var random = SeededGenerator(seed: seed)
      let world = try RandomWorld(&random)
      let fixture = try MigrationFixture(world.source, to: world.destination)
      fixture.mappings = world.mappings
      fixture.chunkRows = [1, 2, 3, 5, 1000][random.below(5)]
      try world.write(to: fixture)
      let reference = world.reference()
      let summary: MigrationSummary
      do {
        summary = try EngineTuning.with(\.keySetBytes, keySetBytes) { try MigrationManager(fixture.job).run() }
      } catch {
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

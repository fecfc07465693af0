import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitFleet
@testable import GodwitManifest

/// The counts of shards, which other processes read in place of results.
@Suite struct ShardCountTests {
  private let folder: TemporaryFolder
  private let place: FleetFolder
  private let plan: FleetPlan

  init() throws {
    folder = try TemporaryFolder()
    place = FleetFolder(path: folder.path)
    try FileManager.default.createDirectory(atPath: folder.file("results"), withIntermediateDirectories: true)
    var plan = FleetPlan(
      fleet: "f", jobManifest: "job.yaml", made: "1970-01-01T00:00:00.000Z", jobs: 1, memoryBytes: 1, failures: nil,
      inputs: "i")
    (plan.identity, plan.stores, plan.shards, plan.shardStores) = ("this", 30, 3, [10, 10, 10])
    self.plan = plan
  }

  private func note(_ shard: Int, failed: Int64) {
    ShardCounter(place, shard: shard, plan: plan).update { ShardCount(ended: 10, failed: failed) }
  }

  @Test func `failures of the other shards count, as the last of each wrote them`() {
    var watch = FailureWatch(place, plan: plan)
    let none = watch.failures()
    #expect(none == 0)
    note(0, failed: 2)
    note(1, failed: 123_456)
    note(1, failed: 1)
    note(7, failed: 5)
    watch = FailureWatch(place, plan: plan)
    let all = watch.failures()
    #expect(all == 3, "shard 7 is no shard of the plan")
    watch.begin(1)
    let others = watch.failures()
    #expect(others == 2)
    // Known at once, though the files are not looked at again yet.
    watch.end(failed: 5)
    let left = watch.failures()
    #expect(left == 7)
    note(0, failed: 0)
    #expect(!FileManager.default.fileExists(atPath: place.failedPath(0)))
    watch = FailureWatch(place, plan: plan)
    let mended = watch.failures()
    #expect(mended == 1)
    var other = plan
    other.identity = "other"
    watch = FailureWatch(place, plan: other)
    let foreign = watch.failures()
    #expect(foreign == 0)
  }

  @Test func `a count is whole, and of the plan, or none`() throws {
    let path = place.failedPath(1)
    note(1, failed: 4)
    #expect(ShardCount(readingFrom: path, identity: "this") == ShardCount(ended: 10, failed: 4))
    #expect(ShardCount(readingFrom: path, identity: "other") == nil)
    let line = try String(contentsOfFile: path, encoding: .utf8)
    for text in ["", "\n", String(line.dropLast()), "1 -1 this\n", "1 99999999999999999999 this\n", "1 this\n"] {
      try Data(text.utf8).write(to: URL(filePath: path))
      #expect(ShardCount(readingFrom: path, identity: "this") == nil, "\(text)")
    }
    #expect(ShardCount(readingFrom: folder.file("nosuch"), identity: "this") == nil)
  }

  @Test func `the end of the canary is written, and taken back when it runs again`() {
    var plan = plan
    plan.canary = true
    let counter = ShardCounter(place, shard: 0, plan: plan)
    counter.begin(ShardCount(ended: 0, failed: 0))
    #expect(ShardCount(readingFrom: place.canaryPath, identity: "this") == nil)
    counter.finish(ShardCount(ended: 10, failed: 1))
    #expect(ShardCount(readingFrom: place.canaryPath, identity: "this") == ShardCount(ended: 10, failed: 1))
    ShardCounter(place, shard: 1, plan: plan).finish(ShardCount(ended: 3, failed: 0))
    #expect(ShardCount(readingFrom: place.canaryPath, identity: "this")?.ended == 10)
    ShardCounter(place, shard: 0, plan: plan).begin(ShardCount(ended: 10, failed: 1))
    #expect(ShardCount(readingFrom: place.canaryPath, identity: "this") == nil)
    #expect(ShardCount(readingFrom: place.failedPath(0), identity: "this")?.failed == 1)
  }
}

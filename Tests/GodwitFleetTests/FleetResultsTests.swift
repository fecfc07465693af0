import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitFleet
@testable import GodwitManifest

/// What became of the stores of a fleet, as its results tell.
@Suite struct FleetResultsTests {
  private let folder: TemporaryFolder
  private let place: FleetFolder
  private let plan: FleetPlan

  init() throws {
    folder = try TemporaryFolder()
    place = FleetFolder(path: folder.path)
    try FileManager.default.createDirectory(
      atPath: folder.file("results"), withIntermediateDirectories: true)
    var plan = FleetPlan(
      fleet: "f", jobManifest: "job.yaml", made: "1970-01-01T00:00:00.000Z", jobs: 1,
      memoryBytes: 1, failures: nil,
      inputs: "i")
    (plan.identity, plan.stores, plan.bytes) = ("this", 7, 7000)
    (plan.shards, plan.shardStores) = (3, [4, 2, 1])
    plan.pairs = [
      .init(version: "V", stores: 7, bytes: 7000, outcome: .migrate, path: ["V", "W"], losses: [])
    ]
    self.plan = plan
  }

  private func line(
    _ shard: Int, _ index: Int64, _ outcome: FleetResult.Outcome, status: Int32 = 0,
    seconds: Double = 1,
    at second: Int = 10, identity: String = "this"
  ) throws -> String {
    var result = FleetResult(
      store: "s\(shard)-\(index)", outcome: outcome, status: status, seconds: seconds,
      time: FleetTime.text(Date(timeIntervalSince1970: Double(second))))
    (result.shard, result.index, result.bytes, result.pair, result.identity) = (
      shard, index, 1000, 0, identity
    )
    if outcome == .failed { (result.code, result.message) = ("data-wrong", "wrong") }
    if outcome == .finished { result.objects = 5 }
    return String(decoding: try JSONEncoder().encode(result), as: UTF8.self)
  }

  private func append(_ shard: Int, _ text: String) throws {
    let path = place.resultsPath(shard)
    let before = (try? Data(contentsOf: URL(filePath: path))) ?? Data()
    try (before + Data(text.utf8)).write(to: URL(filePath: path))
  }

  @Test func `a torn line is not read until it is whole, and nothing is read twice`() throws {
    let whole = try line(0, 1, .finished) + "\n"
    for cut in [1, whole.utf8.count / 2, whole.utf8.count - 1] {
      try? FileManager.default.removeItem(atPath: place.resultsPath(0))
      try append(0, try line(0, 0, .finished) + "\n" + String(whole.prefix(cut)))
      var reader = ResultsReader(place, shard: 0, plan: plan)
      var found: [Int64] = []
      try reader.read { _, index, _, _ in found.append(index) }
      #expect(found == [0])
      try append(0, String(whole.dropFirst(cut)))
      try reader.read { _, index, _, _ in found.append(index) }
      try reader.read { _, index, _, _ in found.append(index) }
      #expect(found == [0, 1] && reader.foreign == 0)
    }
  }

  @Test func `lines of another plan, of another shard, and of no kind are passed by and counted`()
    throws
  {
    try append(
      0,
      [
        try line(0, 0, .finished, identity: "other"), try line(1, 0, .finished),
        try line(0, 4, .finished),
        try line(0, -1, .finished), "{\"half", "", try line(0, 2, .finished),
      ].joined(separator: "\n") + "\n")
    var state = ShardState(place, shard: 0, plan: plan)
    try state.update()
    #expect(state.foreign == 5 && state.done.count == 1 && state.done.contains(2))
  }

  @Test func `the last line of a store counts`() throws {
    try append(
      0,
      [
        try line(0, 0, .failed, status: 65), try line(0, 1, .finished),
        try line(0, 0, .finished, at: 20),
        try line(0, 2, .stopped, status: 75), try line(0, 3, .failed, status: 65),
      ].joined(separator: "\n") + "\n")
    try append(1, try line(1, 0, .finished, status: 3, seconds: 7, at: 30) + "\n")
    var state = ShardState(place, shard: 0, plan: plan)
    try state.update()
    #expect(
      state.done.count == 2 && state.failed.count == 1 && state.stopped.count == 1
        && state.ended == 3)
    var lines: [String] = []
    let totals = try FleetTotals(place, plan: plan) { result, _ in lines.append(result.store) }
    #expect(lines == ["s0-1", "s0-0", "s0-2", "s0-3", "s1-0"])
    #expect(
      totals.finished == 3 && totals.failed == 1 && totals.stopped == 1 && totals.waiting == 3)
    #expect(totals.quarantined == 1 && totals.objects == 15 && totals.bytes == 3000)
    #expect(totals.pairs == [.init(finished: 3, failed: 1, bytes: 3000, objects: 15, seconds: 9)])
    #expect(totals.failures.map(\.code) == ["data-wrong"] && totals.failures[0].count == 1)
    #expect(
      totals.slowest.map(\.store).first == "s1-0" && totals.lastFailures.map(\.store) == ["s0-3"])
    #expect(
      totals.shards.map(\.isComplete) == [false, false, false] && totals.shards[1].begin == 23)
    #expect(totals.status(Self.noLimits) == 75)
    #expect(totals.storesPerSecond != nil && (totals.secondsLeft ?? 0) > 0)
  }

  private static let noLimits = FleetPlan.Limits(.init())

  @Test func `the status of the whole`() throws {
    func status(
      _ limits: FleetPlan.Limits = Self.noLimits, _ change: (inout FleetPlan) -> Void = { _ in }
    ) throws -> Int32 {
      var plan = plan
      change(&plan)
      return try FleetTotals(place, plan: plan).status(limits)
    }
    #expect(try status() == 75)
    for index in 0..<4 { try append(0, try line(0, Int64(index), .finished) + "\n") }
    for index in 0..<2 { try append(1, try line(1, Int64(index), .alreadyFinished) + "\n") }
    #expect(try status() == 75)
    try append(2, try line(2, 0, .finished, status: 3) + "\n")
    #expect(try status() == 3)
    try append(2, try line(2, 0, .failed, status: 4) + "\n")
    #expect(try status() == 4)
    try append(2, try line(2, 0, .finished) + "\n")
    #expect(try status() == 0 && status { $0.unreadable = 1 } == 65)
    try append(1, try line(1, 0, .failed, status: 70) + "\n")
    #expect(try status() == 65)
    // While stores are left the fleet is not over, unless its limits stop it.
    try append(2, try line(2, 0, .stopped, status: 75) + "\n")
    #expect(try status() == 75 && status { $0.unreadable = 1 } == 75)
    #expect(try status(.init(.init(maxStores: 0))) == 65 && status(.init(.init(maxStores: 1))) == 75)
    func canary(_ plan: inout FleetPlan) { (plan.canary, plan.canaryStores) = (true, 4) }
    #expect(try status(Self.noLimits, canary) == 75, "the failure is in another shard")
    try append(0, try line(0, 3, .failed, status: 65) + "\n")
    #expect(try status(Self.noLimits, canary) == 65 && status() == 75)
  }

  @Test func `limits hold together, and a canary without limits allows nothing`() {
    func limits(_ stores: Int?, _ percent: Double?) -> FleetPlan.Limits {
      .init(.init(maxStores: stores, maxPercent: percent))
    }
    #expect(limits(nil, nil).excess(1000, of: 1000) == nil)
    #expect(limits(2, nil).excess(2, of: 1000) == nil && limits(2, nil).excess(3, of: 1000) != nil)
    #expect(
      limits(nil, 0.5).excess(5, of: 1000) == nil && limits(nil, 0.5).excess(6, of: 1000) != nil)
    #expect(limits(100, 0.5).excess(6, of: 1000) != nil && limits(2, 50).excess(3, of: 1000) != nil)
    #expect(limits(0, nil).excess(1, of: 10) != nil && limits(0, nil).excess(0, of: 10) == nil)
    #expect(
      limits(nil, nil).canaryExcess(1, of: 10) != nil
        && limits(nil, nil).canaryExcess(0, of: 10) == nil)
    #expect(limits(3, nil).canaryExcess(1, of: 10) == nil)
  }

  @Test(arguments: testSeeds(10)) func `a set of bits is a set`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var bits = BitSet(size: 200)
    var set: Set<Int64> = []
    for _ in 0..<400 {
      let number = Int64(random.below(200))
      if random.chance(60) {
        bits.insert(number)
        set.insert(number)
      } else {
        bits.remove(number)
        set.remove(number)
      }
    }
    #expect(
      bits.count == Int64(set.count)
        && (0..<200).allSatisfy { bits.contains($0) == set.contains($0) })
    bits.insert(-1)
    bits.insert(1_000_000)
    #expect(bits.count == Int64(set.count) && !bits.contains(-1) && !bits.contains(1_000_000))
  }

  @Test func `a shard has one process at a time`() throws {
    #expect(!place.isLocked(0))
    do {
      let lock = try place.lock(shard: 0)
      defer { withExtendedLifetime(lock) {} }
      #expect(place.isLocked(0) && !place.isLocked(1))
      let error = #expect(throws: GodwitError.self) { try place.lock(shard: 0) }
      #expect(error?.code == .stopped && error?.stopReason == .locked)
      #expect(error?.cause?.contains("process \(getpid())") == true)
    }
    // The next run is told of the last one.
    var told = 0
    _ = try place.lock(shard: 0) { _ in told += 1 }
    #expect(told == 1)
    #expect(!place.isLocked(0))
  }
}

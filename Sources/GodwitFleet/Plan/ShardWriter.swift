import Foundation
import GodwitManifest
import GodwitModel
import GodwitPlatform

/// Packs the stores of a plan into shards, and writes a fleet's folder.
struct ShardWriter {
  let planner: FleetPlanner
  let table: SurveyTable
  /// The places of the plan's pairs, by the number of the version in the table.
  let pairs: [Int64: Int]

  /// - Parameter folder: Is made here.
  func write(to folder: String, _ plan: inout FleetPlan) throws {
    try pack(&plan)
    let place = FleetFolder(path: folder)
    for path in [folder, folder + "/shards", folder + "/results"] where mkdir(path, 0o777) != 0 {
      throw GodwitError.disk("cannot create '\(path)'", errno: errno)
    }
    var sum = SHA256()
    for text in [plan.inputs, plan.surveyed, plan.made] { sum.update(data: Array(text.utf8)) }
    try writeShards(place, &plan, &sum)
    try writeUnreadable(place, &plan)
    plan.identity = sum.finalize().hex
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let file = try OutputLines(path: place.planPath)
    try file.write(String(decoding: try encoder.encode(plan), as: UTF8.self))
    try file.finish()
  }

  // MARK: Packing

  private func pack(_ plan: inout FleetPlan) throws {
    let all = try table.work(atLeast: .infinity).short
    guard all.stores > 0 else { return }
    try takeCanary(of: all.stores)
    let canary = all.stores - (try table.work(atLeast: .infinity).short.stores)
    (plan.canary, plan.canaryStores) = (canary > 0, canary)
    let first = canary > 0 ? 1 : 0
    guard canary < all.stores else {
      plan.shards = first
      return
    }
    let maximum = FleetManifest.shardsMaximum - first
    var packing: ShardPacking
    switch planner.fleet.shards {
    case .count(let count):
      let rest = try table.work(atLeast: .infinity).short
      let shards = min(count, maximum, Int(clamping: rest.stores))
      packing = ShardPacking(count: shards, oversized: rest.seconds / Double(max(1, shards)))
    case .minutes(let minutes):
      let length = max(ShardPacking.secondsMinimum, minutes * 60)
      let (long, short) = try table.work(atLeast: length)
      packing = ShardPacking(
        count: ShardPacking.count(
          alone: long.stores, seconds: short.seconds, others: short.stores, shardSeconds: length, jobs: planner.jobs,
          maximum: maximum), oversized: length)
    }
    try table.packLongestFirst { packing.add($0) + first }
    plan.shards = packing.shards.count + first
  }

  private func takeCanary(of stores: Int64) throws {
    let wanted: Int64
    switch planner.fleet.canary {
    case nil: return
    case .percent(let percent)?: wanted = CanarySample.count(percent: percent, of: stores)
    case .stores(let count)?: wanted = min(stores, Int64(count))
    }
    try table.sample { CanarySample.takes($0, wanted: wanted, of: stores) }
    try table.sampleEachVersion()
  }

  // MARK: Files

  private func writeShards(_ folder: FleetFolder, _ plan: inout FleetPlan, _ sum: inout SHA256) throws {
    var work = Array(repeating: ShardPacking.Shard(), count: plan.shards)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var open: (shard: Int, file: OutputLines)?
    var next = 0
    let needsFolder = planner.loader.needsFolder
    func begin(_ shard: Int) throws -> OutputLines {
      // One without stores has a file all the same.
      while next < shard {
        try OutputLines(path: folder.shardPath(next)).finish()
        next += 1
      }
      next = shard + 1
      return try OutputLines(path: folder.shardPath(shard))
    }
    try table.forEachByShard { shard, path, bytes, version, seconds in
      if open?.shard != shard {
        try open?.file.finish()
        open = (shard, try begin(shard))
      }
      let folder = needsFolder ? planner.paths.match(path).match.folder : nil
      let line = try encoder.encode(ShardStore(store: path, bytes: bytes, pair: pairs[version], folder: folder))
      sum.update(data: Array(line) + [0x0A])
      try open?.file.write(String(decoding: line, as: UTF8.self))
      guard work.indices.contains(shard) else { return }
      work[shard].stores += 1
      work[shard].seconds += seconds
      work[shard].longest = max(work[shard].longest, seconds)
    }
    try open?.file.finish()
    if plan.shards > next { _ = try begin(plan.shards - 1).finish() }
    plan.shardStores = work.map(\.stores)
    let times = work.map { WorkEstimate.seconds(sum: $0.seconds, longest: $0.longest, jobs: plan.jobs) }
    func rounded(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 }
    plan.estimatedSeconds = rounded(times.reduce(0, +))
    plan.largestShardSeconds = rounded(times.max() ?? 0)
  }

  private func writeUnreadable(_ folder: FleetFolder, _ plan: inout FleetPlan) throws {
    let file = try OutputLines(path: folder.unreadablePath)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var first: [FleetPlan.Unreadable] = []
    let time = plan.made
    try table.forEachUnreadable { path, problem in
      var known =
        (try? JSONDecoder().decode(FleetPlan.Unreadable.self, from: Data(problem.utf8)))
        ?? FleetPlan.Unreadable(store: path, status: 65, code: "data-wrong", message: "the store cannot be read")
      known.store = path
      if first.count < FleetPlan.unreadableShown { first.append(known) }
      let line = FleetResult(unreadable: known, time: time)
      try file.write(String(decoding: try encoder.encode(line), as: UTF8.self))
    }
    try file.finish()
    plan.firstUnreadable = first
  }
}

/// A new file of lines, which is durable when it is finished.
final class OutputLines {
  private let path: String
  private var descriptor: Int32
  private var buffer: [UInt8] = []

  init(path: String) throws {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw GodwitError.disk("cannot create '\(path)'", errno: errno) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func write(_ line: String) throws {
    buffer += Array(line.utf8)
    buffer.append(0x0A)
    if buffer.count >= 1 << 16 { try flush() }
  }

  private func flush() throws {
    var rest = buffer[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { CLibrary.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw GodwitError.disk("cannot write '\(path)'", errno: errno) }
      rest = rest.dropFirst(count)
    }
    buffer = []
  }

  func finish() throws {
    try flush()
    guard CLibrary.sync(descriptor) == 0 else { throw GodwitError.disk("cannot write '\(path)'", errno: errno) }
    close(descriptor)
    descriptor = -1
  }
}

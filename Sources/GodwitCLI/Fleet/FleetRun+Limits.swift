import Foundation
import GodwitDisk
import GodwitFleet
import GodwitManifest
import GodwitModel
import GodwitPlatform

/// What is asked before a shard, and before each of its stores.
extension FleetRun {
  // MARK: The machine

  /// - Throws: 74 when this machine could read no store, or make no destination; 66, 73, 74 or 77 when the models and
  ///   mapping models are not what they were. Nothing is recorded then.
  func checkMachine(_ work: inout Work) throws {
    try checkMachine(again: !work.hasFreshInputs)
    work.hasFreshInputs = true
  }

  /// - Parameter again: Whether models and mapping models are compared too.
  func checkMachine(again: Bool) throws {
    try places.check()
    if again { try checkInputs() }
  }

  /// How new the results of a shard are when another machine may be writing them.
  private static let freshSeconds = 60.0

  /// Says so where two machines may have the lock of a shard: a network's file system may keep locks on each of them.
  func warnOfOtherHost(_ holder: LockHolder, _ shard: Int) {
    var info = stat()
    guard let host = holder.host, host != LockHolder.current().host, stat(folder.resultsPath(shard), &info) == 0 else {
      return
    }
    let time = CLibrary.modificationTime(info)
    guard Date().timeIntervalSince1970 - Double(time.tv_sec) < Self.freshSeconds else { return }
    session.warn(
      "shard \(shard): '\(host.onOneLine)' ran it less than a minute ago. If it still does, the file system has no locks that hold between machines"
    )
  }

  // MARK: Limits

  /// - Throws: 75 while the canary has not ended; 65 when too much of it failed.
  func checkCanary(before shard: Int, _ work: inout Work) throws {
    guard plan.canary, shard > 0, !work.isCanaryPassed else { return }
    let count = try canaryCount()
    if let excess = canaryExcess(count.failed) { throw excess }
    guard count.ended < plan.canaryStores else {
      work.isCanaryPassed = true
      return
    }
    throw GodwitError(
      .stopped, "cannot run shard \(shard) of fleet '\(fleet.name)': the canary, shard 0, comes first",
      cause: "\(count.ended) of its \(plan.canaryStores) stores have ended", remedy: "run shard 0 to its end",
      safe: "nothing of this shard was begun", stopReason: .canary)
  }

  /// Of a canary that has ended, its run has written it. The results have it always.
  private func canaryCount() throws -> ShardCount {
    if let count = ShardCount(readingFrom: folder.canaryPath, identity: plan.identity),
      count.ended >= plan.canaryStores
    {
      return count
    }
    var state = ShardState(folder, shard: 0, plan: plan)
    try state.update()
    return ShardCount(ended: state.ended, failed: state.failed.count)
  }

  private func canaryExcess(_ failed: Int64) -> GodwitError? {
    guard let why = FleetPlan.Limits(fleet.failures).canaryExcess(failed, of: plan.canaryStores) else { return nil }
    return GodwitError(
      .dataWrong,
      "stopped fleet '\(fleet.name)': \(failed) of \(plan.canaryStores) stores of the canary failed, \(why)",
      remedy:
        "see `godwit fleet status`; mend the stores and run shard 0 with --retry, or allow more failures in '\(fleet.file)'",
      safe: "no store beyond the canary was begun")
  }

  /// Why no other store is to be begun; nil to go on.
  ///
  /// - Parameter failedBefore: Of this process, before it came to the shard.
  func excess(_ shard: Int, _ work: inout Work, failedBefore: Int) -> GodwitError? {
    // Who runs failed stores again knows of the failures before: only new ones count.
    if retries, shard == 0, plan.canary { return canaryExcess(Int64(work.tally.counts.failed - failedBefore)) }
    if plan.canary, shard == 0 { return canaryExcess(work.tally.failedOfShard) }
    let limits = FleetPlan.Limits(fleet.failures)
    guard limits.maxStores != nil || limits.maxPercent != nil else { return nil }
    let failed = retries ? Int64(work.tally.counts.failed) : work.watch.failures() + work.tally.failedOfShard
    guard let why = limits.excess(failed, of: plan.stores) else { return nil }
    return GodwitError(
      .dataWrong, "stopped fleet '\(fleet.name)': \(failed) stores failed, \(why)",
      remedy:
        "see `godwit fleet status`; mend the stores and run with --retry, or allow more failures in '\(fleet.file)'",
      safe: "what is finished stays; nothing more was begun")
  }
}

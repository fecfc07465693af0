import GodwitFleet
import GodwitJob
import GodwitManifest
import GodwitModel

extension FleetRun {
  /// Prints what the run did, and gives its exit status.
  func finish(_ shards: [Int], _ work: Work, seconds: Double, _ signals: StopSignals) throws -> Int32 {
    let counts = work.tally.counts
    let stores = shards.reduce(0) { $0 + plan.shardStores[$1] }
    let left = try leftOver(shards, counts, stores, work)
    var statuses: [Int32] = []
    if counts.hasQuarantine { statuses.append(RunVerb.quarantinedStatus) }
    if counts.hasFindings { statuses.append(GodwitError.Code.findings.rawValue) }
    if left > 0, work.excess == nil { statuses.append(GodwitError.Code.stopped.rawValue) }
    for error in [work.excess, work.problem.error, work.shortage.error].compactMap(\.self) {
      session.write(error)
      statuses.append(error.code.rawValue)
    }
    var status = StoreTable.worst(of: statuses)
    // A signal that came too late stopped nothing.
    let isSignal = signals.stopSignal != nil && left > 0
    if isSignal, let stopped = signals.status { status = stopped }
    if status == GodwitError.Code.stopped.rawValue, !isQuiet { session.write(stop(left, work, signals)) }
    if !isQuiet {
      let record = BatchSummaryRecord(self, counts, stores: stores, left: left, status: status, seconds: seconds)
      if mode == .json {
        session.output.write(try JSONText.line(ofType: "summary", record) + "\n")
      } else {
        let isWhole = left == 0 && counts.failed == 0 && counts.failedBefore == 0
        session.output.write(
          "\(work.progress.percent(isWhole: isWhole)) \(text(record)), \(Clock.text(seconds)) s\n")
      }
    }
    if isSignal { signals.dieIfStopped() }
    return status
  }

  /// The stores that have not ended.
  private func leftOver(_ shards: [Int], _ counts: FleetTally.Counts, _ stores: Int64, _ work: Work) throws -> Int64 {
    var left = stores - Int64(counts.ended)
    // Another process may be through with its shard by now.
    for shard in work.locked {
      var state = ShardState(folder, shard: shard, plan: plan)
      try state.update()
      left -= state.ended
    }
    return max(0, left)
  }

  private func stop(_ left: Int64, _ work: Work, _ signals: StopSignals) -> GodwitError {
    let reason: GodwitError.StopReason =
      signals.stopSignal != nil
      ? .signal : work.control.reason == StopCondition.timeLimit ? .timeLimit : work.locked.isEmpty ? .inUse : .locked
    return GodwitError(
      .stopped, "stopped fleet '\(fleet.name)': \(FleetPlanText.count(left, "store")) left",
      cause: work.locked.isEmpty
        ? nil : "other processes work on shards \(work.locked.prefix(10).map(String.init).joined(separator: ", "))",
      remedy: "run the same command", stopReason: reason)
  }

  private func text(_ record: BatchSummaryRecord) -> String {
    let parts = [
      (record.finished, "finished"), (record.alreadyFinished, "already finished"), (record.failed, "failed"),
      (record.stopped, "stopped"), (record.notRun, "not run"),
    ]
    let told = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    return "\(FleetPlanText.count(Int64(record.stores), "store"))\(told.isEmpty ? "" : ": " + told)"
  }
}

extension BatchSummaryRecord {
  /// Of a fleet's run: an earlier run's stores count as already finished.
  init(
    _ run: FleetRun, _ counts: FleetTally.Counts, stores: Int64, left: Int64, status: Int32, seconds: Double
  ) {
    time = Clock.stamp
    self.status = status
    job = run.plan.fleet
    self.stores = Int(clamping: stores)
    (finished, alreadyFinished) = (counts.finished, counts.alreadyFinished + counts.passed)
    (failed, stopped) = (counts.failed + counts.failedBefore, counts.stopped)
    notRun = max(0, Int(clamping: left) - counts.stopped)
    objects = counts.objects
    outcome = Self.outcome(status)
    self.seconds = seconds
    peakBytes = ProcessMemory.peakBytes
    budgetBytes = run.loader.manifest.memory.bytes
  }
}

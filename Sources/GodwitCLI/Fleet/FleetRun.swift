import Foundation
import GodwitFleet
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitPlatform

/// `godwit fleet run`: works off one shard of a fleet, or all of them.
///
/// 1. The plan is read, and compared with what it was made from.
/// 2. A shard's lock is taken, and what earlier runs wrote of its stores is read.
/// 3. `StoreDispatch` runs the stores that are left. When one ends, a line is appended to the shard's results.
/// 4. Before each store the failures of the whole fleet are counted: above the limit nothing more is begun.
struct FleetRun {
  let session: CommandSession
  let fleet: FleetManifest
  let loader: JobLoader
  let folder: FleetFolder
  let plan: FleetPlan
  let paths: FleetPaths
  let jobs: Int
  let share: ByteCount
  var mode = ProgressMode.auto
  var isQuiet = false
  var isWorker = false
  /// Whether stores that failed are run again.
  var retries = false
  var verifies = false
  var maximumSeconds: Double?

  /// Why all stop when the disk is full, or results cannot be written.
  private static let trouble = "the disk is full, or fails"

  /// What lasts over all shards.
  struct Work {
    let control = BatchControl()
    let tally = FleetTally()
    let problem = FirstError()
    /// Of stores that need more room than there is; it stops nothing.
    let shortage = FirstError()
    let progress: FleetProgress
    let end: Date?
    let inputs = SharedInputs()
    var watch: FailureWatch
    /// Why nothing more is begun.
    var excess: GodwitError?
    /// Shards that another process works on.
    var locked: [Int] = []
  }

  /// - Parameter jobs: Stores at the same time; nil for what the fleet's file says.
  /// - Throws: 66 without a plan; 73 when something changed since it was made; 78 for a share of the memory that is too
  ///   small.
  init(session: CommandSession, fleet: FleetManifest, job: JobLoader, jobs: Int?) throws {
    (self.session, self.fleet) = (session, fleet)
    loader = try job.taking(fleet)
    folder = fleet.place
    plan = try folder.plan()
    paths = FleetPaths(fleet, job: loader)
    self.jobs = OpenFiles.jobs(upTo: jobs ?? fleet.jobs ?? loader.usualJobs) { session.warn($0) }
    share = try loader.memoryShare(self.jobs)
    guard try FleetPlanner.inputs(fleet, job: loader) == plan.inputs else {
      throw GodwitError(
        .cannotCreate, "cannot run fleet '\(fleet.name)': something changed since its plan was made",
        cause: "the fleet's file, the job's manifest, a model or a mapping model is not what it was",
        remedy:
          "plan again with `godwit fleet plan --force`: what is finished as it would be made now is passed by"
          + (loader.isInPlace ? "; in place, so are all that have the version, whatever mapping made them" : ""),
        safe: "nothing was written")
    }
  }

  /// Runs a shard; all of them, the canary first, where none is named.
  ///
  /// - Returns: The exit status.
  func run(shard: Int?) throws -> Int32 {
    do { return try runShards(shard) } catch let error as GodwitError {
      if mode == .json, !isQuiet {
        let record = FailureRecord(error, type: nil, time: Clock.stamp, job: plan.fleet)
        session.output.write(try JSONText.line(ofType: "summary", record) + "\n")
      }
      throw error
    }
  }

  private func runShards(_ shard: Int?) throws -> Int32 {
    try refuseLostProofs()
    if let shard, !(0..<plan.shards).contains(shard) {
      let range = plan.shards == 0 ? "the plan has no shards" : "expected a number from 0 to \(plan.shards - 1)"
      throw GodwitError(
        .usage, "cannot run shard \(shard) of fleet '\(fleet.name)': \(range)", remedy: "see `godwit fleet status`",
        safe: "nothing was written")
    }
    let shards = shard.map { [$0] } ?? Array(0..<plan.shards)
    let signals = StopSignals(isWorker: isWorker)
    let start = ContinuousClock.now
    var work = Work(
      progress: FleetProgress(
        stores: shards.reduce(0) { $0 + plan.shardStores[$1] }, bytes: try bytes(of: shards), mode: mode,
        isQuiet: isQuiet, stream: session.output),
      end: maximumSeconds.map { Date(timeIntervalSinceNow: $0) }, watch: FailureWatch(folder, plan: plan))
    let (control, progress) = (work.control, work.progress)
    signals.watch(
      stop: { control.stop(reason: $0) }, interrupt: { control.interrupt() }, report: { progress.printNow() })
    try progress.begin()
    for shard in shards {
      do { try workOff(shard, &work) } catch let error as GodwitError
        where error.stopReason == .locked && shards.count > 1
      { work.locked.append(shard) }
      guard control.reason == nil, work.excess == nil, work.problem.error == nil else { break }
    }
    signals.finish()
    return try finish(shards, work, seconds: Clock.seconds(since: start), signals)
  }

  private func refuseLostProofs() throws {
    guard verifies, case .inPlace(keepOld: false, _) = loader.manifest.destination else { return }
    throw GodwitError(
      .usage, "cannot verify the stores after they have run: they migrate in place and keep no old store",
      remedy: "write `keep-old: true`, or leave out --verify", safe: "nothing was written")
  }

  private func bytes(of shards: [Int]) throws -> Int64 {
    guard shards.count < plan.shards else { return plan.bytes }
    var bytes: Int64 = 0
    for shard in shards {
      let reader = try ShardReader(folder, shard: shard, expecting: plan.shardStores[shard])
      while let store = try reader.next() { bytes = bytes.addingReportingOverflow(store.bytes).partialValue }
    }
    return bytes
  }

  // MARK: A shard

  private func workOff(_ shard: Int, _ work: inout Work) throws {
    try checkCanary(before: shard)
    let lock = try ShardLock(folder, shard: shard)
    defer { withExtendedLifetime(lock) {} }
    guard try folder.plan().identity == plan.identity else {
      throw GodwitError(
        .cannotCreate, "stopped fleet '\(fleet.name)' before shard \(shard): it was planned again meanwhile",
        remedy: "run the same command again", safe: "nothing of this shard was begun")
    }
    let results = try ResultsFile(path: folder.resultsPath(shard), cuttingTornLine: true)
    var state = ShardState(folder, shard: shard, plan: plan)
    try state.update()
    if state.foreign > 0 {
      session.warn("\(folder.resultsPath(shard)): \(state.foreign) lines are of another plan, and were passed by")
    }
    work.tally.begin(state)
    work.watch.own = shard
    if retries, !verifies, work.tally.differingOfShard > 0 {
      let count = FleetPlanText.count(work.tally.differingOfShard, "store")
      session.warn("shard \(shard): \(count) that a proof found to differ run again only with --retry --verify")
    }
    let note = AttemptNote(folder, shard: shard, plan: plan, isEnded: state.isEnded)
    // Whatever is thrown, the stores at work have ended by then.
    defer { note.finish() }
    let failedBefore = work.tally.counts.failed
    let suspects = Set(note.suspects)
    var kept: [Int64: ShardStore] = [:]
    let reader = try ShardReader(folder, shard: shard, expecting: plan.shardStores[shard])
    var dispatch = self.dispatch(shard, work, results, note)
    try run(shard, &work, dispatch, note, failedBefore: failedBefore) {
      while let store = try reader.next() {
        guard suspects.contains(reader.count - 1) else { return (reader.count - 1, store) }
        kept[reader.count - 1] = store
      }
      return nil
    }
    // A store that may have killed a process comes when all others are through, and alone.
    var rest: ArraySlice<(place: Int64, store: ShardStore)> = []
    for place in note.suspects { if let store = kept[place] { rest.append((place: place, store: store)) } }
    if !rest.isEmpty, work.control.reason == nil, work.excess == nil, work.problem.error == nil {
      dispatch.jobs = 1
      try run(shard, &work, dispatch, note, failedBefore: failedBefore) { rest.popFirst() }
    }
    if work.excess == nil { work.excess = try excess(shard, &work, failedBefore: failedBefore) }
  }

  /// Runs stores of a shard, as places become free, and waits for all of them.
  private func run(
    _ shard: Int, _ work: inout Work, _ dispatch: StoreDispatch, _ note: AttemptNote, failedBefore: Int,
    _ next: () throws -> (place: Int64, store: ShardStore)?
  ) throws {
    do {
      try dispatch.run {
        while let (place, store) = try next() {
          guard !work.tally.isPassed(place, retries: retries, verifies: verifies) else {
            work.tally.pass(place)
            work.progress.pass(bytes: store.bytes)
            continue
          }
          guard work.problem.error == nil else { return nil }
          work.excess = try excess(shard, &work, failedBefore: failedBefore)
          guard work.excess == nil else { return nil }
          let index = Int(place)
          let match = try paths.match(store, needsFolder: loader.needsFolder)
          let made = loader.store(for: match, memory: share, work.inputs).store
          work.tally.begin(index, store)
          work.progress.begin(index, bytes: store.bytes)
          guard note.deaths(of: place) < AttemptNote.deathsMaximum else {
            let error = Self.deadly(store)
            session.write(error)
            dispatch.ended(index, StoreResult(StorePlace(made), failed: error, seconds: 0), error)
            continue
          }
          note.begin(place, isRepeated: work.tally.hasFailed(place))
          return (index, made)
        }
        return nil
      }
    } catch {
      work.control.waitForAll()
      throw error
    }
    work.control.waitForAll()
  }

  /// A store at which processes died, one after the other.
  private static func deadly(_ store: ShardStore) -> GodwitError {
    GodwitError(
      .internalBug,
      "passed by '\(store.store)': \(AttemptNote.deathsMaximum) processes died while it alone was at work",
      cause: "it may need more memory than the machine gives, or the program has a defect",
      remedy: "run it alone with `godwit run`, look at the system's log, and run the fleet with --retry",
      safe: "its source is as it was, unless the job migrates in place: then `godwit run` goes on")
  }

  private func dispatch(
    _ shard: Int, _ work: Work, _ results: ResultsFile, _ note: AttemptNote
  ) -> StoreDispatch {
    let (control, tally, progress, problem) = (work.control, work.tally, work.progress, work.problem)
    let shortage = work.shortage
    let tooLittleRoom = GodwitError(
      .inputOutput, "there is too little room for some stores of fleet '\(fleet.name)'",
      remedy: "free disk space and run the same command", safe: "they do not count as failed, and the others went on")
    let (identity, paths) = (plan.identity, paths)
    let diskFull = GodwitError(
      .inputOutput, "stopped fleet '\(fleet.name)': the disk is full",
      remedy: "free disk space and run the same command", safe: "no store counts as failed because of it")
    return StoreDispatch(
      session: session, control: control, jobs: jobs, isQuiet: isQuiet, verifies: verifies, end: work.end,
      isWorker: isWorker, isJSON: mode == .json && !isQuiet, update: { progress.update($0, percent: $1) },
      ended: { index, result, error in
        var isKept = Self.isKept(result, error)
        // By an estimate: a smaller one may fit.
        if error?.topic == .tooLittleRoom { shortage.set(tooLittleRoom) }
        if error?.topic == .diskFull {
          // It would fail every other store too.
          problem.set(diskFull)
          control.stop(reason: Self.trouble)
        }
        if isKept {
          var result = result
          result.destination = paths.kept(result.destination)
          let line = FleetResultLine(
            result: result, shard: shard, index: index, store: tally.store(index), identity: identity)
          do { try results.append(line.text()) } catch {
            // The store's own run finds that it is finished.
            isKept = false
            problem.set(GodwitCommand.known(error))
            control.stop(reason: Self.trouble)
          }
        }
        note.end(Int64(index), isRecorded: isKept && result.outcome != .stopped)
        tally.end(index, result, isKept: isKept)
        do { try progress.end(index, result, isKept: isKept) } catch { problem.set(GodwitCommand.known(error)) }
      })
  }

  /// Whether a result is of the store itself: not of a stop of the whole run, and not of a full disk.
  static func isKept(_ result: StoreResult, _ error: GodwitError?) -> Bool {
    if error?.topic == .diskFull || error?.topic == .tooLittleRoom { return false }
    guard result.outcome == .stopped else { return true }
    switch error?.stopReason {
    case .locked?, .inUse?, .sourceChanged?: return true
    default: return false
    }
  }

  // MARK: Limits

  /// - Throws: 75 while the canary has not ended; 65 when too much of it failed.
  private func checkCanary(before shard: Int) throws {
    guard plan.canary, shard > 0 else { return }
    var state = ShardState(folder, shard: 0, plan: plan)
    try state.update()
    if let excess = canaryExcess(state.failed.count) { throw excess }
    guard state.ended < plan.canaryStores else { return }
    throw GodwitError(
      .stopped, "cannot run shard \(shard) of fleet '\(fleet.name)': the canary, shard 0, comes first",
      cause: "\(state.ended) of its \(plan.canaryStores) stores have ended", remedy: "run shard 0 to its end",
      safe: "nothing of this shard was begun", stopReason: .canary)
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
  private func excess(_ shard: Int, _ work: inout Work, failedBefore: Int) throws -> GodwitError? {
    // Who runs failed stores again knows of the failures before: only new ones count.
    if retries, shard == 0, plan.canary { return canaryExcess(Int64(work.tally.counts.failed - failedBefore)) }
    if plan.canary, shard == 0 { return canaryExcess(work.tally.failedOfShard) }
    let limits = FleetPlan.Limits(fleet.failures)
    guard limits.maxStores != nil || limits.maxPercent != nil else { return nil }
    let failed = try retries ? Int64(work.tally.counts.failed) : work.watch.failures() + work.tally.failedOfShard
    guard let why = limits.excess(failed, of: plan.stores) else { return nil }
    return GodwitError(
      .dataWrong, "stopped fleet '\(fleet.name)': \(failed) stores failed, \(why)",
      remedy:
        "see `godwit fleet status`; mend the stores and run with --retry, or allow more failures in '\(fleet.file)'",
      safe: "what is finished stays; nothing more was begun")
  }
}

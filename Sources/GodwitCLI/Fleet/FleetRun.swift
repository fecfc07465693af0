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
  let places: FleetPlaces
  let jobs: Int
  let share: ByteCount
  var mode = ProgressMode.auto
  var isQuiet = false
  var isWorker = false
  /// Whether stores that failed are run again.
  var retries = false
  var verifies = false
  var maximumSeconds: Double?
  /// What takes signals since before the fleet was read; nil for what the run makes itself.
  var signals: StopSignals?

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
    let hold = FailureHold()
    var watch: FailureWatch
    /// Whether the models and mapping models were compared with the plan since the last shard.
    var hasFreshInputs = true
    /// Whether the canary has ended, with no more failures than are allowed. It stays so.
    var isCanaryPassed = false
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
    places = FleetPlaces(fleet, job: loader, folder: folder)
    self.jobs = OpenFiles.jobs(upTo: jobs ?? fleet.jobs ?? loader.usualJobs) { session.warn($0) }
    share = try loader.memoryShare(self.jobs)
    try checkInputs()
  }

  /// - Throws: 73 when what the plan was made from has changed; 66, 74 and 77 when it cannot be read.
  func checkInputs() throws {
    guard try FleetPlanner.inputs(fleet, job: loader) == plan.inputs else {
      throw GodwitError(
        .cannotCreate, "cannot run fleet '\(fleet.name)': something changed since its plan was made",
        cause:
          "the fleet's file, the job's manifest, a model or a mapping model is not what it was, or this is another version of godwit",
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
    let signals = signals ?? StopSignals(isWorker: isWorker)
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
    try checkCanary(before: shard, &work)
    let lock = try folder.lock(shard: shard) { warnOfOtherHost($0, shard) }
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
    if retries, !verifies, work.tally.differingOfShard > 0 {
      let count = FleetPlanText.count(work.tally.differingOfShard, "store")
      session.warn("shard \(shard): \(count) that a proof found to differ run again only with --retry --verify")
    }
    // A shard that is done needs nothing of the machine.
    if (0..<plan.shardStores[shard]).contains(where: { !state.isPassed($0, retries: retries, verifies: verifies) }) {
      do { try checkMachine(&work) } catch {
        work.problem.set(GodwitCommand.known(error))
        return
      }
    }
    let counter = ShardCounter(folder, shard: shard, plan: plan)
    counter.begin(work.tally.countOfShard)
    work.watch.begin(shard)
    let note = AttemptNote(folder, shard: shard, plan: plan, isEnded: state.isEnded)
    let recorder = ShardRecorder(
      fleet: fleet.name, shard: shard, identity: plan.identity, paths: paths, places: places, control: work.control,
      tally: work.tally, progress: work.progress, problem: work.problem, shortage: work.shortage, hold: work.hold,
      results: results, note: note, counter: counter)
    let failedBefore = work.tally.counts.failed
    let dispatch = self.dispatch(work, recorder)
    let outcome = Result { try run(shard, &work, dispatch, note, failedBefore: failedBefore) }
    // Whatever was thrown, the stores at work have ended by now.
    recorder.finish { try checkMachine(again: true) }
    if work.excess == nil { work.excess = excess(shard, &work, failedBefore: failedBefore) }
    note.finish()
    counter.finish(work.tally.countOfShard)
    work.watch.end(failed: work.tally.failedOfShard)
    work.hasFreshInputs = false
    places.noteDestinations()
    try outcome.get()
  }

  /// Runs the stores of a shard: first those that killed no process.
  private func run(
    _ shard: Int, _ work: inout Work, _ dispatch: StoreDispatch, _ note: AttemptNote, failedBefore: Int
  ) throws {
    let suspects = Set(note.suspects)
    var kept: [Int64: ShardStore] = [:]
    let reader = try ShardReader(folder, shard: shard, expecting: plan.shardStores[shard])
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
      var alone = dispatch
      alone.jobs = 1
      try run(shard, &work, alone, note, failedBefore: failedBefore) { rest.popFirst() }
    }
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
          work.excess = excess(shard, &work, failedBefore: failedBefore)
          guard work.excess == nil else { return nil }
          let index = Int(place)
          let match = try paths.match(store, needsFolder: loader.needsFolder)
          if let error = loader.obstacle(to: match) { throw error }
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

  private func dispatch(_ work: Work, _ recorder: ShardRecorder) -> StoreDispatch {
    let progress = work.progress
    return StoreDispatch(
      session: session, control: work.control, jobs: jobs, isQuiet: isQuiet, verifies: verifies, end: work.end,
      isWorker: isWorker, isJSON: mode == .json && !isQuiet, update: { progress.update($0, percent: $1) },
      ended: { recorder.ended($0, $1, $2) })
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
}

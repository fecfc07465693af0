import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import Synchronization

/// The stores of a shard: which of them run, and the record of what became of each.
///
/// 1. `init` takes the shard's lock and reads its results: the last line of a store says whether it needs a run.
/// 2. `begin` notes a store as at work, `record` appends a line when it ends.
/// 3. A fault of the machine stops the shard, and no store gets a result from it.
final class ShardRun: Sendable {
  private struct Item: Sendable {
    let key, stamp: String
    /// Whether it has a line of an earlier run.
    let isRepeated: Bool
    /// Whether it failed before its source, the manifest or a model changed: what that run left can never be finished.
    var isChanged = false
  }

  private struct State {
    var failed = 0
    var counts: [StoreResult.Outcome: Int] = [:]
    var objects: Int64 = 0
    var ended = 0
    var statuses: Set<Int32> = []

    mutating func add(_ outcome: StoreResult.Outcome, _ status: Int32) {
      counts[outcome, default: 0] += 1
      ended += 1
      statuses.insert(status)
      if outcome == .failed { failed += 1 }
    }
  }

  let shard: StoreShard
  /// The stores that need a run.
  let matches: [StorePattern.Match]
  /// The sizes of the stores that earlier runs have finished, in bytes.
  let passedSizes: [Int64]
  /// How many stores have failed in an earlier run, and do not run again.
  let failedBefore: Int
  /// Indices of `matches`: those at which a process died come last.
  let others, suspects: [Int]

  private let items: [Item]
  /// All stores of the shard.
  private let stores: Int
  private let identity: String
  private let isInPlace: Bool
  private let limit: JobManifest.Stores.FailureLimit?
  private let lock: FileLock
  private let results: ResultsFile
  private let note: AttemptNote
  private let machine: MachineCheck
  private let control: BatchControl
  private let problem = FirstError()
  /// The error of a store that needs more room than there is. It stops nothing, because a smaller one may fit.
  private let shortage = FirstError()
  private let state: Mutex<State>

  /// Checks folder and machine before the stores are looked for.
  ///
  /// - Throws: 73 for a results folder that is not ours; 74 for a machine that can read no store, or make none.
  static func check(_ loader: JobLoader, _ folder: ResultsFolder) throws {
    if folder.exists { try folder.check() }
    try MachineCheck(loader, identity: loader.resultsIdentity(), hasResults: false).check()
  }

  /// - Parameter unreadable: Places of the shard that cannot be looked at; those that are recorded already go.
  init(
    _ shard: StoreShard, _ folder: ResultsFolder, _ loader: JobLoader, _ selection: JobLoader.Selection,
    _ unreadable: inout [(path: String, error: GodwitError)], retries: Bool, verifies: Bool, control: BatchControl
  ) throws {
    (self.shard, self.control) = (shard, control)
    (limit, isInPlace) = (loader.manifest.stores?.maxFailed, loader.isInPlace)
    try folder.make(like: loader.storesRoot)
    lock = try folder.lock(shard)
    let path = folder.resultsPath(shard)
    results = try ResultsFile(path: path, like: selection.matches.map(\.path))
    var known = try KnownStores(loader)
    try KnownResult.read(path, into: &known.known)
    identity = known.identity
    machine = MachineCheck(loader, identity: identity, hasResults: known.known.values.contains(where: \.isDone))
    stores = selection.matches.count + unreadable.count
    var state = State()
    var (run, items): ([StorePattern.Match], [Item]) = ([], [])
    var sizes: [Int64] = []
    for match in selection.matches {
      let (store, key) = (selection.store(match), loader.storeKey(match.path))
      if let result = known.result(of: store),
        try known.isPassed(result, of: store, retries: retries, verifies: verifies)
      {
        state.add(result.isDone ? .alreadyFinished : .failed, result.status)
        if result.isDone { sizes.append(SourceStamp.size(result.stamp)) }
        continue
      }
      run.append(match)
      let (earlier, stamp) = (known.known[Text(key)], SourceStamp.of(match.path))
      let isChanged = earlier.map { $0.isFailed && ($0.stamp != stamp || $0.identity != known.identity) } ?? false
      items.append(Item(key: key, stamp: stamp, isRepeated: earlier != nil, isChanged: isChanged))
    }
    unreadable.removeAll { place in
      guard !retries, let result = known.known[Text(loader.storeKey(place.path))], result.isFailed,
        result.identity == known.identity
      else { return false }
      state.add(.failed, result.status)
      return true
    }
    items += unreadable.map {
      Item(key: loader.storeKey($0.path), stamp: SourceStamp.of($0.path), isRepeated: false)
    }
    (matches, self.items, passedSizes) = (run, items, sizes)
    failedBefore = state.failed
    let earlier = known.known
    note = AttemptNote(folder.attemptsPath(shard)) { key in earlier[key].map { $0.isDone || $0.isFailed } ?? false }
    let deaths = Set(note.suspects)
    others = run.indices.filter { !deaths.contains(Text(items[$0].key)) }
    let place = Dictionary(run.indices.map { (Text(items[$0].key), $0) }, uniquingKeysWith: { first, _ in first })
    suspects = note.suspects.compactMap { place[$0] }
    self.state = Mutex(state)
    // A shard that is done needs nothing of the machine.
    if !run.isEmpty { try machine.check() }
  }

  // MARK: One store

  /// Whether another store may begin.
  var mayGoOn: Bool { problem.error == nil && !isExceeded }

  private var isExceeded: Bool { limit?.isExceeded(by: state.withLock { $0.failed }, of: stores) ?? false }

  /// Whether the work that an earlier run of a store left is to be discarded. In place its exchange may have begun.
  func isOutdated(_ index: Int) -> Bool { items[index].isChanged && !isInPlace }

  /// Notes that a store is at work.
  ///
  /// - Returns: Why it is passed by: processes died at it, one after the other.
  func begin(_ index: Int) -> GodwitError? {
    let key = items[index].key
    guard note.deaths(of: key) >= AttemptNote.deathsMaximum else {
      note.begin(key, isRepeated: items[index].isRepeated)
      return nil
    }
    return GodwitError(
      .internalBug, "skipped '\(key)': \(AttemptNote.deathsMaximum) processes died while migrating only this store",
      cause: "it may need more memory than the machine gives, or the program has a defect",
      remedy: "run it alone with --source, look at the system's log, and run the shard with --retry",
      safe: "its source is as it was, unless the job migrates in place: then `godwit run` goes on")
  }

  /// Appends the line of a store that has ended. Safe from any thread.
  ///
  /// - Returns: The result to be told: that of a store that is not recorded is a stop.
  func record(_ index: Int, _ result: StoreResult, _ error: GodwitError?) -> StoreResult {
    var result = result
    let item = items[index]
    var isKept = true
    if error?.topic == .tooLittleRoom {
      shortage.set(
        GodwitError(
          .inputOutput, "there is too little room for some stores of shard \(shard)",
          remedy: "free disk space and run the same command",
          safe: "they do not count as failed, and the others went on"))
      isKept = false
    } else if result.outcome == .failed, let error, let trouble = machine.trouble(error) {
      stop(trouble)
      isKept = false
    } else if result.outcome == .stopped, ![.locked, .inUse, .sourceChanged].contains(error?.stopReason) {
      isKept = false
    }
    if isKept {
      (result.key, result.shard, result.identity) = (item.key, shard.description, identity)
      // In place a run makes another file of it.
      result.stamp = isInPlace ? SourceStamp.of(result.store) : item.stamp
      do { try results.append(BatchProgress.line(result)) } catch {
        // The store's own run finds that it is finished.
        stop(GodwitCommand.known(error))
        isKept = false
      }
    }
    if !isKept, result.outcome != .stopped {
      (result.outcome, result.status) = (.stopped, GodwitError.Code.stopped.rawValue)
    }
    note.end(item.key, isRecorded: isKept && result.outcome != .stopped)
    (result.key, result.shard, result.identity, result.stamp) = (nil, nil, nil, nil)
    state.withLock {
      $0.add(result.outcome, result.status)
      $0.objects &+= result.objects ?? 0
    }
    return result
  }

  private func stop(_ error: GodwitError) {
    problem.set(error)
    control.stop(reason: "something is wrong with the machine")
  }

  // MARK: The end

  /// Records that no store is at work any more.
  func finish() { note.finish() }

  /// Rows for what did not go well, and the counts of all stores of the shard.
  func table(_ rows: [Int: StoreResult]) -> StoreTable {
    var table = StoreTable(sorting: Array(rows.values))
    let state = state.withLock { $0 }
    for (outcome, count) in state.counts {
      let others = count - table.results.count { $0.outcome == outcome }
      if others > 0 { table.others[outcome] = others }
    }
    if state.ended < stores { table.others[.notRun] = stores - state.ended }
    table.otherObjects = state.objects - table.results.reduce(0) { $0 &+ ($1.objects ?? 0) }
    return table
  }

  /// The errors that stopped the shard, and the lack of room.
  var errors: [GodwitError] { [excess, problem.error, shortage.error, earlier].compactMap(\.self) }

  /// Tells of failures that this run passes by: nothing else would in a quiet one.
  private var earlier: GodwitError? {
    guard failedBefore > 0 else { return nil }
    return GodwitError(
      .dataWrong, "\(failedBefore.counted("store")) of shard \(shard) failed in earlier runs, and did not run again",
      remedy: "see `godwit status`; mend the stores or run with --retry",
      safe: "the destinations of the other stores stay")
  }

  private var excess: GodwitError? {
    guard let limit, isExceeded else { return nil }
    return GodwitError(
      .dataWrong,
      "stopped shard \(shard): \(state.withLock { $0.failed }) of its \(stores) stores failed, more than 'max-failed: \(limit.text)'",
      remedy: "see `godwit status`; mend the stores and run with --retry, or allow more failures",
      safe: "what is finished stays; nothing more was begun")
  }

  /// The exit status: 75 while the same command goes on with stores that are left, 65 if any has failed.
  func status(_ table: StoreTable) -> Int32 {
    if let error = problem.error { return error.code.rawValue }
    if excess != nil { return GodwitError.Code.dataWrong.rawValue }
    if let error = shortage.error { return error.code.rawValue }
    if table.count(.notRun) + table.count(.stopped) > 0 { return GodwitError.Code.stopped.rawValue }
    let statuses = state.withLock { $0.statuses }
    let findings = GodwitError.Code.findings.rawValue
    if statuses.contains(where: { ![0, RunVerb.quarantinedStatus, findings].contains($0) }) {
      return GodwitError.Code.dataWrong.rawValue
    }
    return StoreTable.worst(of: statuses)
  }
}

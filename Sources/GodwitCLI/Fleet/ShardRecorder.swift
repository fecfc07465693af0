import GodwitFleet
import GodwitModel
import GodwitPlatform

/// Records what became of the stores of a shard, as they end. Safe from any thread.
///
/// 1. What stops the whole run, such as a full disk, is no result of a store.
/// 2. A failure that may be of the machine is held back: see `FailureHold`.
/// 3. Everything else is a line of the shard's results.
struct ShardRecorder: Sendable {
  let fleet: String
  let shard: Int
  /// That of the plan.
  let identity: String
  let paths: FleetPaths
  let places: FleetPlaces
  let control: BatchControl
  let tally: FleetTally
  let progress: FleetProgress
  let problem, shortage: FirstError
  let hold: FailureHold
  let results: ResultsFile
  let note: AttemptNote
  let counter: ShardCounter

  /// Why all stop when the disk is full, results cannot be written, or the machine fails every store.
  static let trouble = "the machine fails every store"

  func ended(_ index: Int, _ result: StoreResult, _ error: GodwitError?) {
    // By an estimate: a smaller one may fit.
    if error?.topic == .tooLittleRoom { shortage.set(tooLittleRoom) }
    // It would fail every other store too.
    if error?.topic == .diskFull { stop(diskFull) }
    let ended = FailureHold.Ended(index: index, result: result, error: error)
    switch hold.add(ended, isSuspect: isSuspect(result, error)) {
    case .known(let known): for one in known { record(one) }
    case .held:
      // The process has outlived it, whatever becomes of its line.
      note.end(Int64(index), isRecorded: false)
    case .trouble(let all):
      stop(failsAll(error))
      for one in all { drop(one) }
    }
  }

  /// The run of the shard is over: what is still held back is of the stores, if the machine has what it needs.
  func finish(_ check: () throws -> Void) {
    let held = hold.take()
    guard !held.isEmpty else { return }
    if problem.error == nil {
      do { try check() } catch { problem.set(GodwitCommand.known(error)) }
    }
    for one in held { if problem.error == nil { record(one) } else { drop(one) } }
  }

  private func stop(_ error: GodwitError) {
    problem.set(error)
    control.stop(reason: Self.trouble)
  }

  // MARK: Whose failure it is

  /// Whether a store failed by something that is not in it, and that the plan, which has read the store, did not meet.
  func isSuspect(_ result: StoreResult, _ error: GodwitError?) -> Bool {
    guard result.outcome == .failed, let error, FleetRun.isKept(result, error), error.topic != .externalFile else {
      return false
    }
    switch error.code {
    case .inputOutput, .permission: return true
    case .missingInput:
      var info = stat()
      // A store that is there has lost its model or mapping. One that was removed says nothing, unless all were.
      return stat(result.store, &info) == 0 || (try? places.checkStores()) == nil
    case .cannotCreate: return (try? places.check()) == nil
    default: return false
    }
  }

  // MARK: Lines

  private func record(_ ended: FailureHold.Ended) {
    let (index, result) = (ended.index, ended.result)
    var isKept = FleetRun.isKept(result, ended.error)
    if isKept {
      var kept = result
      kept.destination = paths.kept(result.destination)
      let line = FleetResultLine(
        result: kept, shard: shard, index: index, store: tally.store(index), identity: identity)
      do { try results.append(line.text()) } catch {
        // The store's own run finds that it is finished.
        isKept = false
        stop(GodwitCommand.known(error))
      }
    }
    note.end(Int64(index), isRecorded: isKept && result.outcome != .stopped)
    end(ended, isKept: isKept)
  }

  /// A store that is as if it had not run.
  private func drop(_ ended: FailureHold.Ended) {
    note.end(Int64(ended.index), isRecorded: false)
    end(ended, isKept: false)
  }

  private func end(_ ended: FailureHold.Ended, isKept: Bool) {
    tally.end(ended.index, ended.result, isKept: isKept)
    counter.update { tally.countOfShard }
    do { try progress.end(ended.index, ended.result, isKept: isKept) } catch {
      problem.set(GodwitCommand.known(error))
    }
  }

  // MARK: Why all stop

  private var tooLittleRoom: GodwitError {
    GodwitError(
      .inputOutput, "there is too little room for some stores of fleet '\(fleet)'",
      remedy: "free disk space and run the same command", safe: "they do not count as failed, and the others went on")
  }

  private var diskFull: GodwitError {
    GodwitError(
      .inputOutput, "stopped fleet '\(fleet)': the disk is full", remedy: "free disk space and run the same command",
      safe: "no store counts as failed because of it")
  }

  private func failsAll(_ last: GodwitError?) -> GodwitError {
    GodwitError(
      .inputOutput,
      "stopped fleet '\(fleet)': \(FailureHold.maximum) stores in a row failed by something that is not in them",
      cause: last.map { "the last one: \($0.line)" },
      remedy: "check the mounts, the rights and the disks of this machine, and run the same command",
      safe: "these stores do not count as failed")
  }
}

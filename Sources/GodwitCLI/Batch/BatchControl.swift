import Foundation
import Godwit
import Synchronization

/// The jobs of many stores that are at work: how many, and how all of them are stopped.
final class BatchControl: Sendable {
  private struct State {
    var running: [Int: MigrationControl] = [:]
    var taken = 0
    /// The stores that are delivered, and have given up their places.
    var delivered: Set<Int> = []
    var reason: String?
    var results: [Int: StoreResult] = [:]
  }

  private let state = Mutex(State())
  private let change = NSCondition()

  /// Why all are to stop; nil to continue.
  var reason: String? { state.withLock { $0.reason } }

  /// The recorded results, by the number of the store.
  var results: [Int: StoreResult] { state.withLock { $0.results } }

  /// Stops all at their next checkpoint, and those that begin later at their first.
  func stop(reason: String) {
    let running = state.withLock { state in
      state.reason = state.reason ?? reason
      return Array(state.running.values)
    }
    for control in running { control.stop(reason: reason) }
    tell()
  }

  /// Rolls the running chunks back. Call `stop` first.
  func interrupt() { for control in state.withLock({ Array($0.running.values) }) { control.interrupt() } }

  /// Waits until fewer than so many are at work and fewer than so many are delivered, or all are to stop, and counts one
  /// more at work.
  func take(limit: Int, delivered: Int = 1) {
    wait { $0.taken < limit && $0.delivered.count < delivered || $0.reason != nil }
    state.withLock { $0.taken += 1 }
  }

  /// A store has nothing left to do but its delivery: its place is free.
  func deliver(_ index: Int) {
    state.withLock { state in
      state.delivered.insert(index)
      state.taken -= 1
    }
    tell()
  }

  /// Takes a place again for a store that was delivered.
  func resume(_ index: Int, limit: Int) {
    guard state.withLock({ $0.delivered.contains(index) }) else { return }
    wait { $0.taken < limit || $0.reason != nil }
    state.withLock { state in
      state.delivered.remove(index)
      state.taken += 1
    }
  }

  /// The control of a store whose place was taken.
  func begin(_ index: Int) -> MigrationControl {
    let control = MigrationControl()
    let reason = state.withLock { state in
      state.running[index] = control
      return state.reason
    }
    if let reason { control.stop(reason: reason) }
    return control
  }

  /// Keeps what became of a store, for the end.
  func keep(_ index: Int, _ result: StoreResult) { state.withLock { $0.results[index] = result } }

  /// A place is free again.
  ///
  /// - Parameter index: The store that had it; nil when none came to have it.
  func end(_ index: Int? = nil) {
    state.withLock { state in
      if let index { state.running[index] = nil }
      let isDelivered = index.map { state.delivered.remove($0) != nil } ?? false
      if !isDelivered { state.taken -= 1 }
    }
    tell()
  }

  /// Waits until none is at work or delivered.
  func waitForAll() { wait { $0.taken == 0 && $0.delivered.isEmpty } }

  private func wait(until isTrue: (State) -> Bool) {
    change.lock()
    while !state.withLock({ isTrue($0) }) { change.wait() }
    change.unlock()
  }

  private func tell() {
    change.lock()
    change.broadcast()
    change.unlock()
  }
}

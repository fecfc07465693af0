import GodwitModel
import Synchronization

/// Holds back failures that may be of the machine, until it is known whether they are of the stores.
///
/// A machine that has lost a mount, or a right, fails every store that it is given. Such failures follow each other. A
/// failure after which another store ends well is of its store.
final class FailureHold: Sendable {
  /// A store that has ended.
  struct Ended: Sendable {
    let index: Int
    let result: StoreResult
    let error: GodwitError?
  }

  /// What is to be done with a store that has ended.
  enum Verdict {
    /// These are of their stores, in the order in which they ended.
    case known([Ended])
    /// It is not known yet.
    case held
    /// So many failed in a row: these are of the machine.
    case trouble([Ended])
  }

  /// So many failures in a row are of the machine.
  static let maximum = 20

  private struct State {
    var held: [Ended] = []
    /// Suspect failures since a store ended well, those of earlier shards included.
    var row = 0
  }

  private let state = Mutex(State())

  /// - Parameter isSuspect: Whether it failed, and not by what is in its store.
  func add(_ ended: Ended, isSuspect: Bool) -> Verdict {
    state.withLock { state in
      guard isSuspect else {
        // That a store is broken says nothing about the machine.
        guard ended.result.outcome == .finished || ended.result.outcome == .alreadyFinished else {
          return .known([ended])
        }
        defer { state = State() }
        return .known(state.held + [ended])
      }
      state.row += 1
      state.held.append(ended)
      guard state.row >= Self.maximum else { return .held }
      defer { state.held = [] }
      return .trouble(state.held)
    }
  }

  /// Those that are held back. They still count for the row.
  func take() -> [Ended] {
    state.withLock { state in
      defer { state.held = [] }
      return state.held
    }
  }
}

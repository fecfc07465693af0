import Foundation

/// Runs a closure on a background thread; `value()` waits for the result.
///
/// If the system cannot create a thread, the first caller that waits does the work.
package final class BackgroundTask<Value: Sendable>: Sendable {
  /// The state that the thread and its owner share, so that the thread does not retain the owner.
  private final class State: @unchecked Sendable {
    let condition = NSCondition()
    var result: Result<Value, any Error>?
    var isAbandoned = false
    /// The work, where no thread does it.
    var rest: Body?
  }

  package typealias Body = @Sendable (_ isWanted: @escaping () -> Bool) throws -> Value

  private let state = State()

  /// - Parameters:
  ///   - isShort: Whether a thread costs more than it saves. Then the first caller that waits does the work.
  ///   - body: Checks now and then whether its result is still wanted, and throws when it is not.
  package init(isShort: Bool = false, _ body: @escaping Body) {
    guard !isShort else {
      state.rest = body
      return
    }
    let isStarted = WorkerThread.start { [state] in
      let result = Result { try body { state.condition.withLock { !state.isAbandoned } } }
      state.condition.withLock {
        state.result = result
        state.condition.broadcast()
      }
    }
    if !isStarted { state.rest = body }
  }

  /// Does the work that no thread does. It is done again after a wait that was given up.
  private func catchUp(while isWanted: @escaping () -> Bool) {
    guard let body = state.condition.withLock({ state.rest }) else { return }
    let result = Result { [state] in
      try body { isWanted() && state.condition.withLock { !state.isAbandoned } }
    }
    guard isWanted() else { return }
    state.condition.withLock { (state.result, state.rest) = (result, nil) }
  }

  deinit { abandon() }

  /// Waits for the result. It is kept for further calls.
  package func value() throws -> Value {
    catchUp { true }
    return try state.condition.withLock {
      while true {
        if let result = state.result { return try result.get() }
        state.condition.wait()
      }
    }
  }

  /// Waits while the result is wanted; nil when that ends before the result is there.
  package func value(while isWanted: @escaping () -> Bool) throws -> Value? {
    catchUp(while: isWanted)
    while true {
      let result = state.condition.withLock {
        if state.result == nil { _ = state.condition.wait(until: Date(timeIntervalSinceNow: 0.1)) }
        return state.result
      }
      if let result { return try result.get() }
      guard isWanted() else { return nil }
    }
  }

  /// Waits for the result for some seconds; nil if it is not there then.
  package func value(for seconds: Double) throws -> Value? {
    catchUp { true }
    return try state.condition.withLock {
      if state.result == nil { _ = state.condition.wait(until: Date(timeIntervalSinceNow: seconds)) }
      return try state.result?.get()
    }
  }

  /// The result if it is there.
  package func valueIfReady() throws -> Value? { try state.condition.withLock { state.result }?.get() }

  /// Declares that the result is not needed.
  package func abandon() { state.condition.withLock { state.isAbandoned = true } }
}

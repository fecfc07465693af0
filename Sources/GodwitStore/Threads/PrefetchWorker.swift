import Foundation
package import GodwitModel

/// Computes numbered items on a second thread, ahead of the owner's thread, which uses them.
///
/// 1. The second thread claims one item after the other, as long as there is room for the results.
/// 2. It computes each with a connection of its own. The owner repeats an item that fails, and reports its error in
///    order.
/// 3. The owner requests an item with `take` or `action(for:)`. It computes an item without a value itself.
///
/// If the system cannot create a thread, the second thread counts as ended: the owner computes everything.
package final class PrefetchWorker<Value>: @unchecked Sendable {
  /// Thrown by the closure that computes items when nothing more is worth computing ahead.
  package struct End: Error {
    package init() {}
  }

  /// How long `take` waits for an item that is not ready.
  package enum Wait {
    case never
    /// While the second thread computes it.
    case whileRunning
    /// Until the second thread has reached it.
    case untilEnd
  }

  /// The owner's next action for an item.
  package enum Action {
    case use(Value)
    case compute
    /// The second thread computes the item, so the owner can compute this one in the same time.
    case computeAhead(Int)
  }

  private enum State {
    case claimed
    case ready(Value)
    case owners

    var isClaimed: Bool { if case .claimed = self { true } else { false } }
  }

  /// The connection of the second thread.
  package let connection: StoreConnection
  private let count: Int
  private let room: Int
  private let cost: (Value) -> Int
  private let lead: Int?

  private let condition = NSCondition()
  private var states: [Int: State] = [:]
  /// The first unclaimed item.
  private var next: Int
  /// The second thread claims no more items.
  private var isEnded = false
  /// Statements of the second thread end.
  private var isStopped = false
  private var isAtEnd = false
  private var interruption: GodwitError?

  /// - Parameters:
  ///   - connection: The connection of the second thread. `stop` closes it.
  ///   - count: How many items there are at most.
  ///   - first: The first item that is computed ahead.
  ///   - lead: After the owner's request for an item, items less than this far behind it are not begun; the owner
  ///     requests items in ascending order. nil when the owner requests them in any order.
  ///   - room: The cost of the values that may wait for the owner.
  ///   - cost: The cost of one value.
  package init(
    _ connection: StoreConnection, count: Int = .max, first: Int = 0, lead: Int?, room: Int = .max,
    cost: @escaping (Value) -> Int = { _ in 1 }
  ) {
    self.connection = connection
    (self.count, self.lead, self.room, self.cost) = (count, lead, room, cost)
    next = first
  }

  // MARK: The owner's side

  /// - Parameter body: The work of the second thread: it prepares statements, calls `computeItems`, and finalizes them.
  package func start(_ body: @escaping (PrefetchWorker) throws -> Void) {
    let work = Handed(value: body)
    connection.addStopCondition { [weak self] in self?.hasStopped ?? true }
    let isStarted = WorkerThread.start { [self] in
      // Without a statement nothing is computed ahead.
      try? work.value(self)
      end()
    }
    if !isStarted { end() }
  }

  /// The value of an item, which is not kept; nil when the owner has to compute it.
  package func take(_ item: Int, waiting wait: Wait) -> Value? {
    condition.withLock {
      if wait != .untilEnd { pass(item) }
      while true {
        switch states[item] {
        case .ready(let value):
          pass(item)
          handOver(item)
          return value
        case .claimed where wait != .never, nil where wait == .untilEnd && !isAtEnd: condition.wait()
        case .claimed, .owners, nil:
          handOver(item)
          return nil
        }
      }
    }
  }

  /// The owner's action for the next item. While the second thread computes it, the owner may compute another one.
  package func action(for item: Int) -> Action {
    condition.withLock {
      while true {
        switch states[item] {
        case .ready(let value):
          handOver(item)
          return .use(value)
        case .owners, nil:
          pass(item)
          handOver(item)
          return .compute
        case .claimed:
          if let ahead = claim() { return .computeAhead(ahead) }
          condition.wait()
        }
      }
    }
  }

  /// The item is the owner's from now on. Call with the lock.
  private func handOver(_ item: Int) {
    states[item] = lead == nil ? .owners : nil
    condition.broadcast()
  }

  /// Drops the items that the owner has passed. Call with the lock.
  private func pass(_ item: Int) {
    guard let lead else { return }
    next = max(next, item + lead)
    for old in states.keys where old < item && states[old]?.isClaimed == false { states[old] = nil }
    condition.broadcast()
  }

  /// Waits until the second thread has computed all that it may.
  package func fill() {
    condition.withLock {
      while !isAtEnd, canClaim || states.values.contains(where: \.isClaimed) { condition.wait() }
    }
  }

  /// The error that interrupted the second thread, or the owner while it computed ahead outside a statement.
  package var interrupted: GodwitError? { condition.withLock { interruption } }

  /// Ends the thread, waits for it, and closes its connection.
  package func stop() {
    condition.withLock {
      (isEnded, isStopped) = (true, true)
      condition.broadcast()
      while !isAtEnd { condition.wait() }
    }
    connection.whileRunning(stopIf: nil)
    try? connection.close()
  }

  // MARK: Both threads

  /// Computes an item that was claimed.
  package func compute(_ item: Int, _ body: (Int) throws -> Value?) {
    let result = Result { try body(item) }
    condition.withLock {
      defer { condition.broadcast() }
      switch result {
      case .failure(let error):
        if error is End { isEnded = true }
        // An interrupt does not come again.
        if let known = error as? GodwitError, known.code == .stopped, !isStopped { interruption = known }
        fallthrough
      case .success(nil): if states[item]?.isClaimed == true { states[item] = .owners }
      case .success(let value?): if states[item]?.isClaimed == true { states[item] = .ready(value) }
      }
    }
  }

  /// Call with the lock.
  private var canClaim: Bool {
    guard !isEnded, next < count else { return false }
    guard room < .max else { return true }
    var used = 0
    for state in states.values {
      switch state {
      case .ready(let value): used += cost(value)
      case .claimed: used += 1
      case .owners: break
      }
    }
    return used < room
  }

  /// Call with the lock.
  private func claim() -> Int? {
    while next < count, states[next] != nil { next += 1 }
    guard canClaim else { return nil }
    states[next] = .claimed
    next += 1
    return next - 1
  }

  // MARK: The second thread

  /// Computes items until none are left, or the owner wants no more.
  ///
  /// - Parameter body: The value of an item; nil or an error leaves it to the owner.
  package func computeItems(_ body: (Int) throws -> Value?) {
    while let item = condition.withLock({ waitForItem() }) { compute(item, body) }
  }

  /// Call with the lock.
  private func waitForItem() -> Int? {
    while !isEnded, next < count {
      if let item = claim() { return item }
      if next < count { condition.wait() }
    }
    return nil
  }

  private var hasStopped: Bool { condition.withLock { isStopped } }

  private func end() {
    condition.withLock {
      isAtEnd = true
      condition.broadcast()
    }
  }
}

import Synchronization

/// A value that is made on its first use, and shared by all copies of its owner.
package final class MadeOnce<Value: Sendable>: Sendable {
  private let known = Mutex<Value?>(nil)

  package init() {}

  /// Two threads may make it at the same time: both make the same.
  package func value(_ make: () throws -> Value) rethrows -> Value {
    if let value = known.withLock(\.self) { return value }
    let made = try make()
    known.withLock { $0 = made }
    return made
  }
}

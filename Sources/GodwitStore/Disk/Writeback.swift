import Foundation
import GodwitModel

/// Has the system write a growing store to the disk while the next rows are made, so that the sync of a checkpoint waits
/// for less. Without it the disk is idle while rows are made, and the processor while they are synced.
///
/// A hint: it makes nothing durable, and no failure of it matters. It does nothing outside Linux.
package final class Writeback: Sendable {
  /// Seconds between two hints.
  private static let interval = 0.05

  private final class State: @unchecked Sendable {
    let condition = NSCondition()
    var isEnded = false
  }

  private let state = State()
  private let descriptor: Int32
  private let task: BackgroundTask<Void>

  /// - Parameter path: The store.
  /// - Returns: nil where the file cannot be opened.
  package init?(of path: String) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
    task = BackgroundTask { [state] _ in
      while true {
        let isEnded = state.condition.withLock {
          if !state.isEnded { _ = state.condition.wait(until: Date(timeIntervalSinceNow: Self.interval)) }
          return state.isEnded
        }
        if isEnded { return }
        CLibrary.beginWriting(descriptor)
      }
    }
  }

  /// Ends the hints. Call after SQLite has closed the store: a process that closes any descriptor of a file loses its
  /// locks on that file.
  package func end() {
    state.condition.withLock {
      state.isEnded = true
      state.condition.signal()
    }
    try? task.value()
    close(descriptor)
  }
}

package import Foundation

/// A thread that reads with a connection of its own, ahead of one that may stop it at any time.
///
/// What both share is guarded by `condition`. The thread closes the connection when it is done. Where the system makes
/// no thread, it is at its end at once: nothing is read ahead, and the other side reads all.
package final class ReaderThread: @unchecked Sendable {
  package let condition = NSCondition()
  package let connection: StoreConnection
  /// Whether the thread is to end; ask with the lock.
  private(set) package var isStopped = false
  /// Whether it has ended; ask with the lock.
  private(set) package var isAtEnd = false
  /// The connection is closed, or about to be.
  private var isClosed = false

  package init(_ connection: StoreConnection) { self.connection = connection }

  /// - Parameter body: What the thread does. It finalizes its statements, and broadcasts what the other side waits for.
  package func start(_ body: @escaping () -> Void) {
    let work = Handed(body: body)
    let isStarted = WorkerThread.start { [self] in
      work.body()
      end()
    }
    if !isStarted { end() }
  }

  private func end() {
    condition.withLock { isClosed = true }
    try? connection.close()
    condition.withLock {
      isAtEnd = true
      condition.broadcast()
    }
  }

  /// What one thread makes for another, and does not touch again.
  private struct Handed: @unchecked Sendable { var body: () -> Void }

  /// Ends the thread and waits for it.
  package func stop() {
    condition.withLock {
      isStopped = true
      condition.broadcast()
      // An interrupt between two statements is lost.
      while !isAtEnd {
        if !isClosed { connection.interrupt() }
        _ = condition.wait(until: Date(timeIntervalSinceNow: 0.05))
      }
    }
  }
}

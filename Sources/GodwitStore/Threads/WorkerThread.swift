import Foundation
package import GodwitModel

/// A value that one thread makes for another, and does not touch again.
struct Handed<Value>: @unchecked Sendable { var value: Value }

/// A thread that reports whether it could be created.
///
/// Foundation's `Thread.start` does not report that the system refuses one (`ulimit -u`, a limit on processes of a
/// control group), and a caller that waits for such a thread waits for ever.
package enum WorkerThread {
  /// As much as the main thread has: expressions nest.
  private static let stackBytes = 8 << 20

  private final class Body {
    let run: () -> Void

    init(_ run: @escaping () -> Void) { self.run = run }
  }

  /// Runs `body` on a new thread, which is never joined.
  ///
  /// - Returns: false when the system makes no thread: `body` was not and will not be called.
  package static func start(_ body: sending @escaping () -> Void) -> Bool {
    let context = Unmanaged.passRetained(Body(body))
    let code = CLibrary.startThread(
      stackBytes: stackBytes,
      { context in
        guard let context else { return nil }
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    guard code == 0 else {
      context.release()
      return false
    }
    return true
  }

  /// The error where the work needs a thread and the system cannot create one.
  package static func refusal(to action: String) -> GodwitError {
    GodwitError(
      .inputOutput, "cannot \(action): the system cannot create a thread",
      remedy: "raise the limit on processes and threads (`ulimit -u`, `pids.max`) and run the same command")
  }
}

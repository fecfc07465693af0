import Foundation

extension Process {
  /// A program that runs longer hangs.
  package static let longestSeconds = TestTier.choose(900.0, long: 7200)

  private struct Watched: @unchecked Sendable { weak var process: Process? }

  /// Starts the program with no signal blocked. One that hangs is killed, so that every wait for it has an end.
  ///
  /// A thread of the test runner blocks signals, and a child inherits the mask of the thread that starts it: SIGTERM would
  /// wait for ever, in the child and in all that it starts.
  package func start() throws {
    var (none, before) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    try run()
    let watched = Watched(process: self)
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.longestSeconds) {
      if let process = watched.process, process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }
  }

  /// Waits for the end.
  package func wait() {
    // Children of a killed program may hold the pipe that tells of its end.
    let end = Date(timeIntervalSinceNow: Self.longestSeconds + 10)
    while isRunning, Date() < end { usleep(1000) }
  }
}

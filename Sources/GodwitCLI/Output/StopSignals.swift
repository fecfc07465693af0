import Foundation
import Godwit
import GodwitModel
import Synchronization

/// SIGINT, SIGTERM and SIGUSR1 while a run lasts, taken by a thread of their own.
///
/// 1. `init` blocks the signals, before any other thread starts, so that all inherit the mask.
/// 2. `watch` starts the thread; where the system makes none, signals end the process at once. The first SIGINT or
///    SIGTERM calls `stop`, and `interrupt` when the run still goes on 1.5 s later; the second ends the process at
///    once.
/// 3. `dieIfStopped` ends the process by the signal that stopped it, so that its parent sees which.
///
/// A worker of a scheduler does not die by the signal: it ends with 75, and the scheduler puts its job back into the queue.
final class StopSignals: Sendable {
  private let received = Mutex<Int32?>(nil)
  private let isOver = Mutex(false)
  private let isWorker: Bool

  init(isWorker: Bool = false) {
    self.isWorker = isWorker
    var mask = Self.mask
    pthread_sigmask(SIG_BLOCK, &mask, nil)
  }

  private static var mask: sigset_t {
    var mask = sigset_t()
    sigemptyset(&mask)
    for number in [SIGINT, SIGTERM, SIGUSR1] { sigaddset(&mask, number) }
    return mask
  }

  static func name(of number: Int32) -> String {
    switch number {
    case SIGINT: "SIGINT"
    case SIGTERM: "SIGTERM"
    default: "signal \(number)"
    }
  }

  /// The signal that asked for a stop, if one did.
  var stopSignal: Int32? { received.withLock { $0 } }

  /// The run is over: nothing is interrupted any more.
  func finish() { isOver.withLock { $0 = true } }

  func watch(
    stop: @escaping @Sendable (String) -> Void, interrupt: @escaping @Sendable () -> Void,
    report: @escaping @Sendable () -> Void
  ) {
    let isStarted = WorkerThread.start { [self] in
      while true {
        switch next() {
        case SIGUSR1: report()
        case let number? where stopSignal != nil: die(by: number)
        case let number?:
          received.withLock { $0 = number }
          stop(Self.name(of: number))
        case nil: isOver.withLock { if !$0 { interrupt() } }
        }
      }
    }
    if !isStarted { letThrough() }
  }

  /// Lets signals end the process at once if no thread handles them. Durable work remains; the next run rolls back the
  /// rest.
  private func letThrough() {
    signal(SIGUSR1, SIG_IGN)
    if isWorker {
      // 75, in figures: a handler must call nothing else.
      for number in [SIGINT, SIGTERM] { signal(number) { _ in _exit(75) } }
    }
    var mask = Self.mask
    pthread_sigmask(SIG_UNBLOCK, &mask, nil)
  }

  /// The next signal; nil when a run that was asked to stop is still running after a while.
  private func next() -> Int32? {
    while true {
      let number = CLibrary.nextSignal(Self.mask, milliseconds: stopSignal == nil ? nil : 1500)
      if number > 0 { return number }
      if errno == EAGAIN { return nil }
    }
  }

  /// The exit status of a command that a signal stopped; nil if none did.
  var status: Int32? { stopSignal.map { isWorker ? GodwitError.Code.stopped.rawValue : 128 &+ $0 } }

  /// Gives an error the status of the signal that stopped the command, and says whether one did.
  func tell(in error: inout GodwitError) -> Bool {
    guard error.code == .stopped, let status else { return false }
    (error.code, error.stopReason) = (GodwitError.Code(rawValue: status) ?? .stopped, .signal)
    return true
  }

  /// Does not return if a signal stopped the command, unless it is a worker.
  func dieIfStopped() {
    if let number = stopSignal, !isWorker { die(by: number) }
  }

  private func die(by number: Int32) {
    if isWorker { _exit(GodwitError.Code.stopped.rawValue) }
    signal(number, SIG_DFL)
    var mask = sigset_t()
    sigemptyset(&mask)
    sigaddset(&mask, number)
    pthread_sigmask(SIG_UNBLOCK, &mask, nil)
    // To this thread, which takes it before the call returns.
    raise(number)
    _exit(128 &+ number)
  }
}

import Foundation
import Godwit
import GodwitModel
import Synchronization

/// One process of this executable, killed at some moment or left to finish.
struct TortureRun {
  struct Ended {
    var wasKilled: Bool
    /// The exit status; 128 and the signal's number when a signal ended it.
    var status: Int32
    var lines: Int
    var seconds: Double
    var diagnostics: String
  }

  /// The process that is running, for the thread that takes signals.
  final class Current: Sendable {
    private let state = Mutex<(process: pid_t?, isStopped: Bool)>((nil, false))

    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Kills the current process, and prevents further ones.
    func stop() {
      state.withLock { state in
        state.isStopped = true
        if let process = state.process { kill(process, SIGKILL) }
      }
    }

    fileprivate func killNow() { state.withLock { if let process = $0.process { kill(process, SIGKILL) } } }

    /// - Parameter process: nil before the process is reaped, so that no other one gets the signal.
    fileprivate func set(_ process: pid_t?) {
      state.withLock { state in
        state.process = process
        if state.isStopped, let process { kill(process, SIGKILL) }
      }
    }
  }

  let arguments: [String]
  /// A file for the diagnostics of the process.
  let output: String

  func untilEnd(killing moment: TortureChance.Moment?, current: Current) throws -> Ended {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw failure(errno) }
    defer { close(ends[0]) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let process: pid_t
    do {
      defer { close(ends[1]) }
      process = try spawn(standardOutput: ends[1])
    }
    let start = Date()
    current.set(process)
    let over = DispatchSemaphore(value: 0)
    if case .seconds(let seconds)? = moment {
      let isStarted = WorkerThread.start {
        if over.wait(timeout: .now() + seconds) == .timedOut { current.killNow() }
      }
      if !isStarted {
        current.killNow()
        throw WorkerThread.refusal(to: "kill the run at a time")
      }
    }
    var lines = 0
    var limit = Int.max
    if case .line(let number)? = moment { limit = number }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(ends[0], &bytes, bytes.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      lines += bytes[..<count].count { $0 == 0x0A }
      if lines >= limit { current.killNow() }
    }
    over.signal()
    // Waits without reaping: until the number is forgotten it must not become another process's.
    var info = siginfo_t()
    while waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    current.set(nil)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7f
    let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
    unlink(output)
    return Ended(
      wasKilled: signal == SIGKILL, status: signal == 0 ? (status >> 8) & 0xff : 128 + signal, lines: lines,
      seconds: Date().timeIntervalSince(start), diagnostics: text.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  private func spawn(standardOutput: Int32) throws -> pid_t {
    guard let executable = CLibrary.executablePath else { throw failure(ENOENT) }
    // Signals that are blocked here are not blocked in the process.
    let (process, code) = CLibrary.spawn(
      executable, ["godwit"] + arguments, output: standardOutput, errorPath: output)
    guard code == 0 else { throw failure(code) }
    return process
  }

  private func failure(_ code: Int32) -> GodwitError {
    GodwitError(
      .inputOutput, "cannot start a run", cause: String(cString: strerror(code)), remedy: "run the same command again")
  }
}

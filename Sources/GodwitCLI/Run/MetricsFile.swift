import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import Synchronization

/// The file of `run --metrics`.
///
/// 1. `init` finds out whether it can be written, before any work.
/// 2. `start` writes it every few seconds, from a thread of its own, once the run holds its lock.
/// 3. `change` tells what is new, and `finish` writes it for the last time.
/// Every writing makes a temporary file beside it, syncs it and renames it, so that a reader sees one whole file. One that
/// fails is a warning.
final class MetricsFile: Sendable {
  private struct State {
    var metrics: RunMetrics
    var isStarted = false
    var isFinished = false
    var hasWarned = false
  }

  let path: String
  private let warn: @Sendable (String) -> Void
  private let state: Mutex<State>
  /// Held while the file is written, which may take long. The run never waits for it but at its end.
  private let writing = Mutex(())
  /// Wakes the thread when the run is over.
  private let over = NSCondition()

  /// Seconds between two writings.
  private static let intervalSeconds = 5.0

  /// - Parameters:
  ///   - path: Where the file goes.
  ///   - job: The job's name as long as the manifest is not read.
  ///   - warn: Takes the warning that the file could not be written, once.
  /// - Throws: what `OutputFile` throws for the path; what `NewFile` throws when no file can be made there: `.permission` (77), `.cannotCreate` (73), `.inputOutput` (74).
  init(path: String, job: String, start: Date, warn: @escaping @Sendable (String) -> Void) throws {
    self.path = path
    self.warn = warn
    state = Mutex(State(metrics: RunMetrics(job: job, start: start)))
    try output.check()
    do { NewFile.discard(try NewFile.temporaryName(beside: path, replaces: true)) } catch var error as GodwitError {
      error.safe = "nothing was written"
      throw error
    }
  }

  /// An earlier run's file is replaced. Collectors run as other users: the file has counts and no values, and everybody
  /// may read it.
  var output: OutputFile {
    OutputFile(path, "metrics", option: "--metrics") { $0.isEmpty || $0.starts(with: RunMetrics.beginning.utf8) }
  }

  /// Sets the job, and takes over what the file says of its earlier runs.
  func setJob(_ job: String) {
    let text = earlier
    state.withLock { state in
      state.metrics.job = job
      state.metrics.history = RunMetrics.History(job: job, in: text)
    }
  }

  private var earlier: String {
    ReadableFile.text(of: path) ?? ""
  }

  /// Changes what the next writing says.
  func change(_ body: (inout RunMetrics) -> Void) { state.withLock { body(&$0.metrics) } }

  /// Writes the file now, and from now on every few seconds. Where the system makes no thread, only the end is written.
  func start() {
    let isNew = state.withLock { state in
      defer { state.isStarted = true }
      return !state.isStarted
    }
    guard isNew else { return }
    _ = WorkerThread.start { [self] in
      while !state.withLock({ $0.isFinished }) {
        write()
        over.lock()
        if !state.withLock({ $0.isFinished }) { _ = over.wait(until: Date(timeIntervalSinceNow: Self.intervalSeconds)) }
        over.unlock()
      }
    }
  }

  /// Writes the file for the last time.
  func finish(_ end: RunMetrics.End) {
    let last: RunMetrics? = state.withLock { state in
      guard !state.isFinished else { return nil }
      state.metrics.finish(end)
      state.isFinished = true
      return state.metrics
    }
    if let last { writing.withLock { _ in put(last) } }
    wake()
  }

  /// Ends the writing and leaves the file as it is: another run writes it.
  func abandon() {
    state.withLock { $0.isFinished = true }
    wake()
  }

  private func wake() {
    over.lock()
    over.broadcast()
    over.unlock()
  }

  private func write() {
    writing.withLock { _ in
      // The last writing has the last word.
      if let metrics = state.withLock({ $0.isFinished ? nil : $0.metrics }) { put(metrics) }
    }
  }

  private func put(_ metrics: RunMetrics) {
    let text = metrics.text(now: Date(), resident: ProcessMemory.residentBytes, peak: ProcessMemory.peakBytes)
    do { try ExportFile.write(text, to: output) } catch {
      let isFirst = state.withLock { state in
        defer { state.hasWarned = true }
        return !state.hasWarned
      }
      guard isFirst else { return }
      warn("cannot write metrics: \((error as? GodwitError)?.message ?? "\(error)")")
    }
  }
}

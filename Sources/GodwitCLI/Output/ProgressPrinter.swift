import ArgumentParser
import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import Synchronization

/// How `run` shows progress.
enum ProgressMode: String, ExpressibleByArgument, CaseIterable {
  case auto, bar, plain, json
}

/// Prints the progress of one run.
///
/// 1. `begin` writes the version line (JSON only).
/// 2. `update` takes every progress and prints few of them; `printNow` prints the last one at once.
/// 3. `end` writes the summary, which comes last.
///
/// Safe from any thread: the line that SIGUSR1 asks for comes from another one.
final class ProgressPrinter: Sendable {
  private struct State {
    var last: MigrationProgress?
    /// When it came; nil when it is not to be shown again.
    var since: Date?
    /// The last progress of the migration, while a verification follows it.
    var migrated: MigrationProgress?
    /// Which part of the whole is under way, from 0 to 1.
    var part = 0.0...1.0
    var printed: (percent: Int, time: Date)?
    var highest = 0.0
    var programBytes: Int64?
    var isWholeTold = false
  }

  /// nil shows nothing but what is asked for by a signal, not even the summary.
  private let mode: ProgressMode?
  private let stream: TextStream
  private let style: TerminalStyle
  private let clock: @Sendable () -> Date
  private let state = Mutex(State())

  /// Seconds after which a line is printed although the percent is the same.
  private static let lineSeconds = 10.0
  /// Seconds between two plain lines, at least.
  private static let leastLineSeconds = 1.0
  private static let barSeconds = 0.1

  /// - Parameters:
  ///   - terminal: The value of the environment variable `TERM`: a dumb terminal cannot redraw a bar.
  ///   - style: The colours of the bar.
  init(
    mode: ProgressMode, isQuiet: Bool = false, stream: TextStream, style: TerminalStyle? = nil,
    terminal: String? = ProcessInfo.processInfo.environment["TERM"], clock: @escaping @Sendable () -> Date = { Date() }
  ) {
    let canRedraw = terminal != "dumb"
    self.mode =
      switch mode {
      case _ where isQuiet: nil
      case .auto: stream.isTerminal && canRedraw ? .bar : .plain
      case .bar where !canRedraw: .plain
      default: mode
      }
    self.stream = stream
    self.style = style ?? stream.style
    self.clock = clock
  }

  /// Now, as JSON has it.
  private var time: String { DateText.text(clock().timeIntervalSinceReferenceDate) }

  func begin() throws {
    keepTelling()
    if mode == .bar { redraw([.init(text: "planning")]) }
    guard mode == .json else { return }
    stream.write(try JSONText.line(ofType: "version", VersionRecord(version: GodwitCommand.version, time: time)) + "\n")
  }

  /// Sets the resident memory before the run allocates anything, which the summary tells.
  func setProgramBytes(_ bytes: Int64) { state.withLock { $0.programBytes = bytes } }

  /// Says that what follows is a part of the whole, of which it makes the percent.
  func begin(part: ClosedRange<Double>) {
    state.withLock { state in
      if part.lowerBound > 0 { state.migrated = state.last }
      state.part = part
    }
  }

  func update(_ progress: MigrationProgress) {
    state.withLock { state in
      var progress = progress
      let part = state.part
      progress.percent = part.lowerBound * 100 + progress.percent * (part.upperBound - part.lowerBound)
      if progress.percent.isFinite { state.highest = max(state.highest, progress.percent) }
      progress.percent = state.highest
      (state.last, state.since) = (progress, clock())
      // The summary says it.
      guard progress.percent < 100 else { return }
      let whole = Int(min(max(progress.percent, 0), 100))
      let now = clock()
      if let printed = state.printed {
        let waited = now.timeIntervalSince(printed.time)
        let isDue =
          switch mode {
          case .bar: waited >= Self.barSeconds
          case .json: whole > printed.percent || waited >= Self.lineSeconds
          case .auto, .plain, .none:
            waited >= Self.leastLineSeconds && (whole > printed.percent || waited >= Self.lineSeconds)
          }
        guard isDue else { return }
      }
      state.printed = (whole, now)
      print(progress, &state)
    }
  }

  /// Shows every second that the run goes on: some work, such as the sorting for an index, tells nothing for minutes.
  private func keepTelling() {
    guard mode != nil else { return }
    _ = WorkerThread.start { [weak self] in
      repeat { Thread.sleep(forTimeInterval: 1) } while self?.pulse() == true
    }
  }

  /// Prints the last progress again when it is due, with less time left.
  ///
  /// - Returns: Always true.
  func pulse() -> Bool {
    state.withLock { state in
      let now = clock()
      guard var progress = state.last, let since = state.since, progress.percent < 100,
        now.timeIntervalSince(state.printed?.time ?? since) >= (mode == .bar ? 1 : Self.lineSeconds)
      else { return true }
      progress.residentBytes = ProcessMemory.residentBytes
      // An estimate that has run out says nothing any more.
      progress.secondsLeft = progress.secondsLeft.flatMap { left in
        let left = left - now.timeIntervalSince(since)
        return left > 0 ? left : nil
      }
      state.printed = (Int(min(max(progress.percent, 0), 100)), now)
      print(progress, &state)
      return true
    }
  }

  /// Prints the last progress now, whatever the mode.
  func printNow() {
    state.withLock { state in
      stream.clearLine()
      guard let last = state.last else {
        let line = "\(ProgressLine.percent(0)) planning \(ProgressLine.stamp(clock()))\n"
        return mode == .json ? () : stream.write(line)
      }
      mode == .json ? print(last, &state) : stream.write(ProgressLine.plain(last, at: clock()) + "\n")
    }
  }

  /// Writes what a verification found, as a JSON line before the summary; nothing in other modes.
  func tell(_ report: VerificationReport) throws {
    try state.withLock { state in
      closeBar(&state)
      guard mode == .json else { return }
      tellWhole(&state)
      stream.write(try JSONText.line(ofType: "verify", VerificationRecord(report: report, time: time)) + "\n")
    }
  }

  /// Writes what the run did. The summary of a finished run starts with `100.0%`.
  ///
  /// - Parameters:
  ///   - status: 75, 130 or 143 if a verification after the migration was stopped.
  ///   - broken: Why that verification could not be done.
  func end(
    _ summary: MigrationSummary, job: MigrationJob, status: Int32 = 0, broken: GodwitError? = nil
  ) throws {
    try state.withLock { state in
      closeBar(&state)
      switch mode {
      case nil: break
      case .json:
        if summary.stopReason == nil { tellWhole(&state) }
        let record = SummaryRecord(summary, job: job, time: time, status: status, verifyFailure: broken)
        stream.write(try JSONText.line(ofType: "summary", record) + "\n")
      case .auto, .bar, .plain:
        let isDone = summary.outcome != .stopped && summary.stopReason == nil
        let text = RunSummary.text(summary, job: job, programBytes: state.programBytes)
        stream.write((isDone ? "\(ProgressLine.percent(100)) " : "") + text + "\n")
      }
    }
  }

  /// Writes the progress of a run that is done, once, as a JSON line.
  private func tellWhole(_ state: inout State) {
    guard !state.isWholeTold, let last = whole(state), last.percent >= 100 else { return }
    state.isWholeTold = true
    print(last, &state)
  }

  /// The progress at the end, which tells of the migration's rows.
  private func whole(_ state: State) -> MigrationProgress? {
    guard var migrated = state.migrated else { return state.last }
    migrated.percent = 100
    return migrated
  }

  /// Ends the bar on a terminal, before something else is printed.
  func close() { state.withLock { closeBar(&$0) } }

  /// After a failed run: ends the bar on a terminal, and ends JSON lines with a summary.
  ///
  /// - Parameter job: The job's name; nil while it is not known.
  func end(failedWith error: GodwitError, job: String? = nil) throws {
    try state.withLock { state in
      closeBar(&state)
      guard mode == .json else { return }
      stream.write(try JSONText.line(ofType: "summary", FailureRecord(error, type: nil, time: time, job: job)) + "\n")
    }
  }

  private func print(_ progress: MigrationProgress, _ state: inout State) {
    switch mode {
    case nil: break
    case .json:
      let record = ProgressRecord(progress: progress, time: time)
      if let line = try? JSONText.line(ofType: "progress", record) { stream.write(line + "\n") }
    case .bar: redraw(ProgressLine.bar(progress, columns: stream.columns))
    case .auto, .plain: stream.write(ProgressLine.plain(progress, at: clock()) + "\n")
    }
  }

  private func redraw(_ spans: [TerminalStyle.Span]) { stream.redraw(style.text(spans)) }

  private func closeBar(_ state: inout State) {
    stream.clearLine()
    state.since = nil
  }
}

import Foundation
import GodwitJob
import GodwitModel
import Synchronization
import TestSupport
import Testing

@testable import GodwitCLI

private func progress(
  _ percent: Double, rows: Int64 = 1_250_000, secondsLeft: Double? = 21, residentBytes: Int64 = 58 << 20
) -> MigrationProgress {
  MigrationProgress(
    percent: percent, step: .first, steps: 1, pass: 2, passes: 3, name: "PersonToAdult", stage: "create", chunk: 40,
    chunks: 320, rows: rows, totalRows: 10_000_000, rowsPerSecond: 412_000, secondsLeft: secondsLeft,
    residentBytes: residentBytes)
}

/// A clock that stands still until it is moved.
private final class HandClock: Sendable {
  private let time = Mutex(Date(timeIntervalSinceReferenceDate: 0))
  var now: Date { time.withLock { $0 } }
  func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
}

private func emptyModel() throws -> ManagedObjectModel { try ManagedObjectModel(name: "M", entities: []) }

private func job() throws -> MigrationJob {
  MigrationJob(
    name: "j", sourcePath: "a", destinationPath: "b", sourceModel: try emptyModel(), destinationModel: try emptyModel(),
    mappingModels: [])
}

struct `Progress lines` {
  @Test func `a progress line has the documented format`() {
    #expect(
      ProgressLine.plain(progress(12.5))
        == "12.5% step 1/1 pass 2/3 PersonToAdult create chunk 40/320 rows 1250000/10000000 412000 rows/s eta 00:00:21 rss 58 MiB"
    )
    let time = Date(timeIntervalSince1970: 1_763_884_800.75)
    #expect(
      ProgressLine.plain(progress(12.5), at: time) == ProgressLine.plain(progress(12.5)) + " 2025-11-23T08:00:00Z")
  }

  @Test(arguments: [
    (0, "0.0%"), (99.99, "99.9%"), (100, "100.0%"), (100.4, "100.0%"), (-1, "0.0%"), (.nan, "0.0%"), (7.25, "7.2%"),
  ])
  func `the percent is rounded down`(value: Double, text: String) {
    #expect(ProgressLine.percent(value) == text)
  }

  @Test(
    arguments: [
      (nil, "--:--:--"), (0, "00:00:00"), (0.2, "00:00:01"), (3661, "01:01:01"), (360_000, "100:00:00"),
      (.infinity, "--:--:--"), (.nan, "--:--:--"), (1e300, "--:--:--"),
    ] as [(Double?, String)])
  func `the time left is hours, minutes and seconds, or dashes`(seconds: Double?, text: String) {
    #expect(ProgressLine.eta(seconds) == text)
  }

  private static func bar(_ columns: Int, _ percent: Double = 50, name: String = "PersonToAdult") -> String {
    var progress = progress(percent)
    progress.name = name
    return ProgressLine.bar(progress, columns: columns).map(\.text).joined()
  }

  @Test(arguments: 1...200)
  func `the progress bar fits the terminal`(columns: Int) {
    let bar = Self.bar(columns)
    #expect(bar.count < max(2, columns))
    #expect(columns < 10 || bar.contains("50.0%"))
    #expect(columns < 40 || bar.contains("eta 00:00:21"))
    #expect(Self.bar(columns, 100, name: String(repeating: "N", count: 300)).count < max(2, columns))
  }

  @Test func `the bar has rows, time and what runs in eighty columns`() {
    #expect(
      Self.bar(80) == "[#####.....] 50.0% eta 00:00:21 1.25M/10M rows PersonToAdult create 412k rows/s")
    #expect(Self.bar(120).hasSuffix(" PersonToAdult create 412k rows/s step 1/1 58 MiB"))
    #expect(Self.bar(80, name: "Z_LongEntityName_longPropertyName_INDEX").contains(" Z_LongEntit…Name_INDEX create"))
  }

  @Test func `a line feed in a name makes no line`() {
    var progress = progress(50)
    progress.name = "A\n::error title=x::B"
    #expect(ProgressLine.plain(progress).contains(" A\\n::error title=x::B create "))
    #expect(!ProgressLine.plain(progress).contains("\n"))
    #expect(!ProgressLine.bar(progress, columns: 200).map(\.text).joined().contains("\n"))
  }

  @Test(
    arguments: [
      (0, "0"), (999, "999"), (1000, "1k"), (1250, "1.25k"), (12_345, "12.3k"), (999_999, "999k"),
      (1_250_000, "1.25M"), (10_000_000, "10M"), (3.1e9, "3.1G"), (2e12, "2T"), (9e16, "90000T"), (.nan, "0"),
      (-1, "0"),
    ] as [(Double, String)])
  func `counts in the bar are short`(value: Double, text: String) {
    #expect(ProgressLine.short(value) == text)
  }

  @Test(
    arguments: [
      (true, ["TERM": "xterm"], true), (false, ["TERM": "xterm"], false), (true, [:], false),
      (true, ["TERM": "dumb"], false), (true, ["TERM": "xterm", "NO_COLOR": "1"], false),
      (true, ["TERM": "xterm", "NO_COLOR": ""], true),
    ] as [(Bool, [String: String], Bool)])
  func `colours need a terminal that has them, and a user who wants them`(
    isTerminal: Bool, environment: [String: String], isOn: Bool
  ) {
    let style = TerminalStyle(isTerminal: isTerminal, environment: environment)
    #expect(style.isOn == isOn)
    let stream = TextStream.memory()
    stream.write([.init(text: "a\u{1B}", role: .error), .init(text: "b")], style: style)
    #expect(stream.text == (isOn ? "\u{1B}[1;31ma\\u001B\u{1B}[0mb" : "a\\u001Bb"))
  }
}

struct `Printing progress` {
  @Test func `progress has at most one line per whole percent or per ten seconds`() {
    let stream = TextStream.memory()
    let clock = HandClock()
    let printer = ProgressPrinter(mode: .plain, stream: stream, clock: { clock.now })
    for tenth in 0..<1000 {
      printer.update(progress(Double(tenth) / 10))
      clock.advance(0.125)
    }
    let lines = stream.text.split(separator: "\n")
    #expect(lines.count == 100)
    clock.advance(8)
    printer.update(progress(99.95))
    #expect(stream.text.split(separator: "\n").count == 100)
    clock.advance(1)
    printer.update(progress(99.96))
    #expect(stream.text.split(separator: "\n").count == 101)
  }

  @Test func `progress has at most one plain line a second`() {
    let stream = TextStream.memory()
    let clock = HandClock()
    let printer = ProgressPrinter(mode: .plain, stream: stream, clock: { clock.now })
    for percent in 0..<100 {
      printer.update(progress(Double(percent)))
      clock.advance(0.125)
    }
    let percents = stream.text.split(separator: "\n").compactMap { Double($0.prefix { $0 != "%" }) }
    #expect(percents == stride(from: 0.0, to: 100, by: 8).map { $0 })
    // JSON lines are for programs.
    let lines = TextStream.memory()
    let other = ProgressPrinter(mode: .json, stream: lines, clock: { clock.now })
    for percent in 0..<100 { other.update(progress(Double(percent))) }
    #expect(lines.text.split(separator: "\n").count == 100)
  }

  @Test func `the percent never goes backwards`() {
    let stream = TextStream.memory()
    let clock = HandClock()
    let printer = ProgressPrinter(mode: .plain, stream: stream, clock: { clock.now })
    for value in [10, 50, 20, .nan, 60.0] {
      printer.update(progress(value))
      clock.advance(20)
    }
    let percents = stream.text.split(separator: "\n").compactMap { Double($0.prefix { $0 != "%" }) }
    #expect(percents == [10, 50, 50, 50, 60])
  }

  @Test func `a proof that was stopped leaves the summary of the run, and no hundred percent`() throws {
    for mode in [ProgressMode.plain, .json] {
      let stream = TextStream.memory()
      let clock = HandClock()
      let printer = ProgressPrinter(mode: mode, stream: stream, clock: { clock.now })
      printer.begin(part: 0...0.5)
      for value in [0, 40, 100.0] {
        clock.advance(20)
        printer.update(progress(value))
      }
      printer.begin(part: 0.5...1)
      for value in [0, 60.0] {
        clock.advance(20)
        printer.update(progress(value))
      }
      var summary = MigrationSummary(outcome: .finished)
      summary.reason = StopCondition.timeLimit
      try printer.end(summary, job: try job(), status: 75)
      #expect(!stream.text.contains("100.0%") && !stream.text.contains(#""percent":100"#), "\(stream.text)")
      if mode == .plain {
        let percents = stream.text.split(separator: "\n").compactMap { Double($0.prefix { $0 != "%" }) }
        #expect(percents == [0, 20, 50, 50, 80], "\(stream.text)")
        #expect(stream.text.contains("finished job"))
      } else {
        let last = try #require(stream.text.split(separator: "\n").last)
        #expect(last.contains(#""outcome":"finished""#) && last.contains(#""status":75"#), "\(last)")
      }
    }
  }

  @Test func `a finished run ends with its summary, whose first line alone says a hundred percent`() throws {
    let stream = TextStream.memory()
    let printer = ProgressPrinter(mode: .plain, stream: stream)
    printer.update(progress(0))
    printer.update(progress(100))
    try printer.end(MigrationSummary(outcome: .finished), job: try job())
    let lines = stream.text.split(separator: "\n")
    let first = try #require(lines.firstIndex { $0.hasPrefix("100.0%") })
    #expect(lines[first].hasPrefix("100.0% finished job 'j'"))
    #expect(lines[..<first].allSatisfy { $0.contains(" step ") })
    #expect(lines[(first + 1)...].allSatisfy { $0.hasPrefix("  ") && !$0.contains("100.0%") })
    #expect(lines.last?.hasPrefix("  memory ") == true)
  }

  @Test func `the summary has the memory beside the budget and the program`() throws {
    let stream = TextStream.memory()
    let printer = ProgressPrinter(mode: .plain, stream: stream)
    printer.setProgramBytes(ByteCount.mebibytes(20).bytes)
    var summary = MigrationSummary(outcome: .finished)
    summary.peakBytes = ByteCount.mebibytes(84).bytes
    try printer.end(summary, job: try job())
    #expect(
      stream.text.hasSuffix("\n  memory     84 MiB (budget 64 MiB + 20 MiB for the program)\n"), "\(stream.text)")
  }

  @Test func `a job that is already finished says so`() throws {
    let stream = TextStream.memory()
    let printer = ProgressPrinter(mode: .plain, stream: stream)
    try printer.end(MigrationSummary(outcome: .alreadyFinished), job: try job())
    #expect(stream.text == "100.0% job 'j' is already finished: 'b'\n")
    var summary = MigrationSummary(outcome: .alreadyFinished)
    summary.codedNotes = [MigrationNote(.receiptMissing, "no receipt")]
    try printer.end(summary, job: try job())
    #expect(stream.text.hasSuffix("already finished: 'b'\n  note       no receipt\n"))
  }

  @Test func `JSON progress starts with the version and ends with the summary`() throws {
    let stream = TextStream.memory()
    let printer = ProgressPrinter(mode: .json, stream: stream)
    try printer.begin()
    printer.update(progress(5))
    printer.update(progress(100))
    try printer.end(MigrationSummary(outcome: .finished), job: try job())
    let types = try stream.text.split(separator: "\n").map { line in
      try (JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["type"] as? String
    }
    #expect(types == ["version", "progress", "progress", "summary"])
    for (type, line) in zip(types, stream.text.split(separator: "\n")) {
      #expect(line.hasPrefix("{\"type\":\"\(type ?? "")\","))
    }
    let lastLine = String(stream.text.split(separator: "\n").last ?? "")
    let last = try JSONSerialization.jsonObject(with: Data(lastLine.utf8))
    let keys = try Set(#require(last as? [String: Any]).keys)
    #expect(keys.isSuperset(of: ["several", "displaced", "objects", "losses", "wasResumed"]), "\(keys.sorted())")
  }

  @Test func `JSON progress of a failed run ends with a summary too`() throws {
    let stream = TextStream.memory()
    let printer = ProgressPrinter(mode: .json, stream: stream)
    try printer.begin()
    try printer.end(failedWith: GodwitError(.dataWrong, "cannot"))
    let last = try #require(try JSONValue.lines(stream.text).last)
    #expect(last["status"] == .integer(65) && last["type"] == .string("summary"))
  }

  @Test(arguments: ProgressMode.allCases) func `a quiet run prints nothing`(mode: ProgressMode) throws {
    let stream = TextStream.memory()
    let printer = ProgressPrinter(mode: mode, isQuiet: true, stream: stream)
    try printer.begin()
    printer.update(progress(5))
    printer.update(progress(100))
    try printer.end(MigrationSummary(outcome: .finished), job: try job())
    #expect(stream.text.isEmpty)
  }

  @Test func `a dumb terminal gets plain progress lines`() throws {
    let stream = TextStream.memory()
    let printer = ProgressPrinter(mode: .bar, stream: stream, terminal: "dumb")
    printer.update(progress(5))
    try printer.end(MigrationSummary(outcome: .finished), job: try job())
    #expect(stream.text.contains("5.0% step 1/1") && !stream.text.contains("\u{1B}"))
  }

  @Test func `a run that tells nothing is shown again, with less time left`() {
    for (mode, wait) in [(ProgressMode.bar, 2.0), (.plain, 10), (.json, 10)] {
      let stream = TextStream.memory()
      let clock = HandClock()
      let printer = ProgressPrinter(mode: mode, stream: stream, terminal: "xterm", clock: { clock.now })
      printer.update(progress(50))
      _ = printer.pulse()
      let before = stream.text
      clock.advance(wait)
      _ = printer.pulse()
      let more = stream.text.dropFirst(before.count)
      let left = mode == .json ? #""secondsLeft":11"# : wait == 2 ? "eta 00:00:19" : "eta 00:00:11"
      #expect(more.contains(left) && more.contains("PersonToAdult"), "\(stream.text)")
      clock.advance(60)
      _ = printer.pulse()
      #expect(mode == .json || stream.text.contains("eta --:--:--"), "an estimate that ran out")
      printer.close()
      let closed = stream.text
      clock.advance(60)
      _ = printer.pulse()
      #expect(stream.text == closed, "after the end nothing is shown again")
    }
  }

  @Test func `a warning has a line of its own, whatever the bar shows`() throws {
    let terminal = TextStream.memory()
    let session = CommandSession(output: terminal, diagnostics: .memory())
    let printer = ProgressPrinter(mode: .bar, stream: terminal, terminal: "xterm")
    try printer.begin()
    session.warn("first")
    #expect(terminal.text == "planning\r\u{1B}[K")
    printer.update(progress(5))
    let bar = terminal.text
    session.diagnostics.write("second\n")
    #expect(terminal.text == bar + "\r\u{1B}[K")
    session.diagnostics.write("third\n")
    #expect(terminal.text == bar + "\r\u{1B}[K", "there is no bar any more")
    printer.printNow()
    #expect(terminal.text.dropFirst(bar.count + 4).hasPrefix("5.0% "))
  }

  @Test func `a requested progress line is printed at once`() {
    let stream = TextStream.memory()
    let printer = ProgressPrinter(mode: .plain, isQuiet: true, stream: stream)
    printer.printNow()
    printer.update(progress(5))
    printer.printNow()
    #expect(stream.text.split(separator: "\n").map { $0.prefix { $0 != "%" } } == ["0.0", "5.0"])
  }
}

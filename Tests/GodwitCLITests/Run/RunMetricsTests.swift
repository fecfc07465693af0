import Foundation
import GodwitJob
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI

/// A reader of Prometheus' text format, written by its description alone.
private struct Exposition {
  var types: [String: String] = [:]
  var helps: Set<String> = []
  /// `name{label="value",…}` with sorted labels, and the value.
  var samples: [String: Double] = [:]

  init(_ text: String) throws {
    #expect(text.hasSuffix("\n"))
    for line in text.split(separator: "\n") {
      if line.hasPrefix("#") {
        let words = line.split(separator: " ", maxSplits: 3)
        try #require(words.count == 4)
        #expect(words[1] == "HELP" || words[1] == "TYPE")
        let name = String(words[2])
        if words[1] == "HELP" { #expect(helps.insert(name).inserted, "\(name) twice") }
        if words[1] == "TYPE" { #expect(types.updateValue(String(words[3]), forKey: name) == nil, "\(name) twice") }
        continue
      }
      let match = try #require(
        line.wholeMatch(of: #/([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\[\\n"])*",?)*)\})? (\S+)/#), "\(line)")
      let name = String(match.1)
      #expect(types[name] != nil && helps.contains(name), "\(name) has no TYPE or HELP before it")
      let labels = (match.2 ?? "").matches(of: #/([a-z_]+)="((?:[^"\\]|\\[\\n"])*)"/#)
        .map { "\($0.1)=\($0.2)" }.sorted().joined(separator: ",")
      let value = try #require(Double(match.3), "\(line)")
      #expect(samples.updateValue(value, forKey: "\(name){\(labels)}") == nil, "\(line) twice")
    }
  }

  func value(_ name: String, job: String) -> Double? { samples["\(name){job=\(job)}"] }
}

struct RunMetricsTests {
  private static func metrics(job: String = "nightly") -> RunMetrics {
    RunMetrics(job: job, start: Date(timeIntervalSince1970: 1000))
  }

  private static func text(_ metrics: RunMetrics, at seconds: Double = 1060) -> String {
    metrics.text(now: Date(timeIntervalSince1970: seconds), resident: 60 << 20, peak: 70 << 20)
  }

  @Test func `names follow the conventions, and every metric has its help and type`() throws {
    var metrics = Self.metrics()
    metrics.progress = MigrationProgress(
      percent: 12.5, step: .first, steps: 2, pass: 1, passes: 1, name: "A", stage: "create", chunk: 0, chunks: 1,
      rows: 10,
      totalRows: 100, rowsPerSecond: 3, secondsLeft: 30, residentBytes: 1)
    (metrics.sourceBytes, metrics.budget) = (4096, .mebibytes(64))
    let running = try Exposition(Self.text(metrics))
    #expect(running.value("godwit_progress_ratio", job: "nightly") == 0.125)
    #expect(running.value("godwit_run_active", job: "nightly") == 1)
    #expect(running.value("godwit_rows_read_total", job: "nightly") == 10)
    #expect(running.value("godwit_run_duration_seconds", job: "nightly") == 60)
    #expect(running.value("godwit_remaining_seconds", job: "nightly") == 30)
    #expect(running.value("godwit_memory_budget_bytes", job: "nightly") == 67_108_864)
    #expect(running.value("godwit_last_run_exit_status", job: "nightly") == nil)
    for (name, type) in running.types {
      #expect(name.hasPrefix("godwit_"))
      #expect(name.hasSuffix("_total") == (type == "counter"), "\(name)")
      for unit in ["percent", "minutes", "hours", "kib", "mib", "milliseconds", "count"] {
        #expect(!name.split(separator: "_").contains(Substring(unit)), "\(name)")
      }
    }
  }

  @Test func `losses have a sample each, and equal ones are added`() throws {
    func loss(_ subject: String, _ count: Int64?) -> LossReport.Loss {
      .init(step: .first, kind: .objects, subject: subject, count: count, reason: "why", cause: .noMapping)
    }
    var metrics = Self.metrics()
    var summary = MigrationSummary(outcome: .finished)
    summary.objects = 7
    summary.losses = LossReport([loss("A", 3), loss("A", 4), loss("B", 0), loss("C", nil)])
    metrics.summary = summary
    metrics.finish(.init(time: Date(timeIntervalSince1970: 1090), status: 0, outcome: "finished"))
    let found = try Exposition(Self.text(metrics, at: 2000))
    let lost = found.samples.filter { $0.key.hasPrefix("godwit_lost_items{") }
    #expect(lost == ["godwit_lost_items{job=nightly,kind=objects,reason=no-mapping,step=1,subject=A}": 7])
    #expect(found.value("godwit_objects", job: "nightly") == 7)
    #expect(found.value("godwit_progress_ratio", job: "nightly") == 1)
    #expect(found.value("godwit_run_active", job: "nightly") == 0)
    #expect(found.value("godwit_run_duration_seconds", job: "nightly") == 90)
    #expect(found.value("godwit_last_success_timestamp_seconds", job: "nightly") == 1090)
    #expect(found.samples["godwit_last_run_info{job=nightly,outcome=finished,reason=}"] == 1)
  }

  @Test(arguments: ["a\"b", "back\\slash", "two\nlines", "Zürich 🦢", "{}=,", "\u{1B}[2K"])
  func `a name of any characters is one label, and is found again`(job: String) throws {
    var metrics = Self.metrics(job: job)
    metrics.finish(.init(time: Date(timeIntervalSince1970: 1090), status: 0, outcome: "finished"))
    let text = Self.text(metrics)
    _ = try Exposition(text)
    #expect(RunMetrics.History(job: job, in: text).success == 1090)
    #expect(RunMetrics.History(job: job + "x", in: text) == RunMetrics.History())
  }

  @Test func `a failing run keeps the time of the last success`() throws {
    var first = Self.metrics()
    first.finish(.init(time: Date(timeIntervalSince1970: 1090), status: 0, outcome: "finished"))
    var second = Self.metrics()
    second.history = .init(job: "nightly", in: Self.text(first))
    // While it runs, the last run is the first one.
    let running = try Exposition(Self.text(second))
    #expect(running.value("godwit_last_run_exit_status", job: "nightly") == 0)
    second.finish(.init(time: Date(timeIntervalSince1970: 5000), status: 65, outcome: "failed"))
    let found = try Exposition(Self.text(second))
    #expect(found.value("godwit_last_success_timestamp_seconds", job: "nightly") == 1090)
    #expect(found.value("godwit_last_run_exit_status", job: "nightly") == 65)
    #expect(found.value("godwit_last_run_end_timestamp_seconds", job: "nightly") == 5000)
  }

  @Test(arguments: [
    "", "garbage", "\u{0}\u{1}\u{2}", "godwit_last_success_timestamp_seconds{job=\"nightly\"}",
    "godwit_last_success_timestamp_seconds{job=\"nightly\"} ",
    "godwit_last_success_timestamp_seconds{job=\"nightly\"} soon\n",
    "godwit_last_success_timestamp_seconds{job=\"nightly\"} nan\n",
    "godwit_last_success_timestamp_seconds{job=\"nightly\"} -5\n",
    "godwit_last_success_timestamp_seconds{job=\"other\"} 5\n", "godwit_last_success_timestamp_seconds 5\n",
  ])
  func `an earlier file that is damaged or another job's gives no success`(text: String) {
    #expect(RunMetrics.History(job: "nightly", in: text).success == nil)
  }
}

/// `run --metrics`, as a user calls it.
struct `The metrics of a run` {
  private static func text(_ job: BreakableJob) throws -> String {
    try String(contentsOfFile: job.file("godwit.prom"), encoding: .utf8)
  }

  private static func run(_ job: BreakableJob, _ more: String...) throws -> BuiltCommand.Result {
    try BuiltCommand.run(["run", "job.yaml", "--metrics", "godwit.prom"] + more, in: job.path)
  }

  @Test func `a run that finishes, one with nothing to do and one that fails write it`() throws {
    let job = try BreakableJob()
    #expect(try Self.run(job).status == 0)
    let first = try Exposition(Self.text(job))
    let success = try #require(first.value("godwit_last_success_timestamp_seconds", job: "job"))
    #expect(abs(success - Date().timeIntervalSince1970) < 600)
    #expect(first.value("godwit_objects", job: "job").map { $0 > 0 } == true)
    #expect(first.value("godwit_destination_bytes", job: "job").map { $0 > 0 } == true)
    #expect(first.value("godwit_rows_read_total", job: "job") == first.value("godwit_planned_rows", job: "job"))
    #expect(try Self.run(job).status == 0)
    let second = try Exposition(Self.text(job))
    #expect(second.samples["godwit_last_run_info{job=job,outcome=already finished,reason=}"] == 1)
    _ = try ShellCommand.run("echo more >>library.sqlite", in: job.path)
    #expect(try Self.run(job).status == 73)
    let third = try Exposition(Self.text(job))
    #expect(third.value("godwit_last_run_exit_status", job: "job") == 73)
    #expect(third.samples["godwit_last_run_info{job=job,outcome=failed,reason=}"] == 1)
    let kept = try #require(third.value("godwit_last_success_timestamp_seconds", job: "job"))
    #expect(kept == second.value("godwit_last_success_timestamp_seconds", job: "job"))
    // A manifest that cannot be read names no job, and still its file says that the run failed.
    try job.edit("job.yaml", "godwit: 1", "godwit: none")
    #expect(try Self.run(job).status == 78)
    let fourth = try Exposition(Self.text(job))
    #expect(fourth.value("godwit_last_run_exit_status", job: "job") == 78)
    #expect(fourth.value("godwit_last_success_timestamp_seconds", job: "job") == kept)
    // No temporary file is left beside it.
    #expect(try FileManager.default.contentsOfDirectory(atPath: job.path).allSatisfy { !$0.hasSuffix(".tmp") })
  }

  /// The tool of Debian's package `prometheus`.
  private static let hasPromtool = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
    FileManager.default.isExecutableFile(atPath: "\($0)/promtool")
  }

  @Test(.enabled(if: hasPromtool, "promtool is not installed"))
  func `promtool finds nothing to complain about`() throws {
    let job = try BreakableJob()
    try job.append("job.yaml", "job: 'a\"b\\c'\n")
    #expect(try Self.run(job).status == 0)
    let result = try ShellCommand.run("promtool check metrics <godwit.prom", in: job.path)
    #expect(result.status == 0 && result.output.isEmpty && result.diagnostics.isEmpty, "\(result)")
    // It would say so.
    let wrong = try ShellCommand.run("sed 's/read_total/read/' godwit.prom | promtool check metrics", in: job.path)
    #expect(wrong.status != 0)
  }

  @Test func `a file that cannot be written is an error before any work, and later a warning`() throws {
    let job = try BreakableJob()
    try job.makeFolder("folder")
    for (path, status) in [("folder", 73), ("/dev/null", 73), ("nosuch/godwit.prom", 73)] as [(String, Int32)] {
      let result = try BuiltCommand.run("run", "job.yaml", "--metrics", path, in: job.path)
      #expect(result.status == status, "\(result.diagnostics)")
      #expect(!FileManager.default.fileExists(atPath: job.file("out")))
    }
    // The folder goes while the job runs.
    try job.append("job.yaml", "stages:\n  - step: Library 2\n    before: rm -r folder\n")
    let result = try BuiltCommand.run("run", "job.yaml", "--metrics", "folder/godwit.prom", in: job.path)
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(result.diagnostics.contains("godwit: warning: cannot write metrics: "), "\(result.diagnostics)")
    #expect(result.diagnostics.components(separatedBy: "cannot write metrics").count == 2)
  }

  @Test func `metrics replace no other file, and go to no place of the job`() throws {
    let job = try BreakableJob()
    let manifest = try Data(contentsOf: URL(filePath: job.file("job.yaml")))
    let source = try Data(contentsOf: URL(filePath: job.file("library.sqlite")))
    for (path, status) in [
      ("library.sqlite", 73), ("job.yaml", 73), ("out/library.sqlite", 73), ("library.sqlite-wal", 64),
    ] as [(String, Int32)] {
      let result = try BuiltCommand.run("run", "job.yaml", "--metrics", path, in: job.path)
      #expect(result.status == status, "\(path): \(result.diagnostics)")
      #expect(!FileManager.default.fileExists(atPath: job.file("out")), "\(path)")
      #expect(!FileManager.default.fileExists(atPath: job.file("library.sqlite-wal")))
    }
    try job.makeFolder("out")
    for suffix in ["", ".receipt.json", ".verification.json", ".quarantine.sqlite"] {
      let result = try BuiltCommand.run("run", "job.yaml", "--metrics", "out/library.sqlite\(suffix)", in: job.path)
      #expect(result.status == 64 && result.diagnostics.contains(": it is the job's "), "\(result)")
      #expect(!FileManager.default.fileExists(atPath: job.file("out/library.sqlite")))
    }
    #expect(try Data(contentsOf: URL(filePath: job.file("job.yaml"))) == manifest)
    #expect(try Data(contentsOf: URL(filePath: job.file("library.sqlite"))) == source)
    try Data().write(to: URL(filePath: job.file("godwit.prom")))
    #expect(try Self.run(job).status == 0)
    #expect(try Self.run(job).status == 0)
  }

  @Test func `a second run of a locked job leaves the file of the first`() throws {
    let job = try BreakableJob()
    try job.append("job.yaml", "stages:\n  - step: Library 2\n    before: exit 1\n")
    #expect(try Self.run(job).status == 74)
    let before = try Self.text(job)
    let lock = try #require(FileHandle(forUpdatingAtPath: job.file("out/library.sqlite.godwit/lock")))
    #expect(flock(lock.fileDescriptor, LOCK_EX) == 0)
    #expect(try Self.run(job).status == 75)
    #expect(try Self.text(job) == before)
    try lock.close()
  }
}

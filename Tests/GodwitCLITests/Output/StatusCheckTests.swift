import Foundation
import GodwitJob
import GodwitManifest
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI

/// The text of `godwit status --check` for a monitor.
struct StatusCheckTests {
  private static let now = Date(timeIntervalSince1970: 1_800_000_000)

  private static func status(
    _ state: MigrationStatus.State, _ run: MigrationStatus.Run? = nil, age: Double? = nil,
    changes: [MigrationStatus.Change] = []
  ) -> MigrationStatus {
    var status = MigrationStatus(state: state, job: "job", chunks: [], done: [])
    status.run = run
    status.lastSuccess = age.map { now.addingTimeInterval(-$0) }
    status.changes = changes
    return status
  }

  private static func run(
    _ state: MigrationStatus.Run.State, isResumable: Bool = true, since seconds: Double = 60
  ) -> MigrationStatus.Run {
    var run = MigrationStatus.Run(state, isResumable: isResumable)
    (run.pid, run.since, run.message) = (17, now.addingTimeInterval(-seconds), "it broke")
    return run
  }

  /// The level of a status, without a time limit and with one of an hour.
  private static func levels(_ status: MigrationStatus) -> [StatusCheck.Level] {
    [nil, TimeBox(argument: "1h")].map { StatusCheck(status, maximumAge: $0, now: now).level }
  }

  @Test func `every state has the level that the documentation gives it`() {
    let finished = Self.run(.finished, isResumable: false)
    #expect(Self.levels(Self.status(.finished, finished, age: 60)) == [.ok, .ok])
    #expect(Self.levels(Self.status(.finished, finished, age: 7200)) == [.ok, .critical])
    #expect(Self.levels(Self.status(.finished, finished)) == [.ok, .unknown])
    #expect(Self.levels(Self.status(.outdated, age: 60, changes: [.source])) == [.ok, .ok])
    #expect(Self.levels(Self.status(.outdated, age: 7200, changes: [.source])) == [.ok, .critical])
    #expect(Self.levels(Self.status(.notStarted)) == [.warning, .critical])
    #expect(Self.levels(Self.status(.foreign)) == [.critical, .critical])
    #expect(Self.levels(Self.status(.foreign, age: 60, changes: [.source])) == [.warning, .warning])
    #expect(Self.levels(Self.status(.unfinished, Self.run(.running))) == [.ok, .ok])
    #expect(Self.levels(Self.status(.unfinished, Self.run(.running, since: 7200))) == [.ok, .warning])
    #expect(Self.levels(Self.status(.unfinished, Self.run(.stopped))) == [.warning, .critical])
    #expect(Self.levels(Self.status(.unfinished, Self.run(.stopped), age: 60)) == [.warning, .warning])
    #expect(Self.levels(Self.status(.unfinished, Self.run(.stopped, isResumable: false))) == [.critical, .critical])
    #expect(Self.levels(Self.status(.unfinished, Self.run(.failed))) == [.critical, .critical])
    #expect(Self.levels(Self.status(.notStarted, Self.run(.stale))) == [.critical, .critical])
    func differing(_ run: MigrationStatus.Run, _ state: MigrationStatus.State = .finished) -> MigrationStatus {
      var status = Self.status(state, run)
      status.verifyFindings = 3
      return status
    }
    #expect(Self.levels(differing(finished)) == [.critical, .critical])
    #expect(Self.levels(differing(Self.run(.stopped), .unfinished)) == [.critical, .critical])
    #expect(Self.levels(differing(Self.run(.running), .unfinished)) == [.warning, .warning])
    #expect(
      StatusCheck(differing(finished), maximumAge: nil, now: Self.now).line.hasPrefix(
        "GODWIT CRITICAL - job 'job' finished; the last verification found 3 differences | "))
  }

  @Test func `the line is one line in the form of a plugin, whatever the job is called`() {
    var status = Self.status(.unfinished, Self.run(.running), age: 90)
    status.job = "a|b\nc"
    (status.rowsPerSecond, status.secondsLeft, status.percent) = (1234.56, 30, 12.34)
    let line = StatusCheck(status, maximumAge: TimeBox(argument: "26h"), now: Self.now).line
    #expect(line.hasPrefix("GODWIT OK - job 'a/b\\nc' running: process 17, since "), "\(line)")
    #expect(
      line.hasSuffix(", 12.3% | percent=12.3%;;;0;100 age=90s;;93600;0 rows_per_second=1234.5;;;0 seconds_left=30s;;;0")
    )
    #expect(!line.contains("\n") && line.count { $0 == "|" } == 1)
    status.rowsPerSecond = .infinity
    #expect(StatusCheck(status, maximumAge: nil, now: Self.now).line.contains("rows_per_second=0;"))
    #expect(StatusCheck(unknown: "no | file").line == "GODWIT UNKNOWN - no / file")
  }

  // MARK: Real processes

  private func check(_ job: CrashJob, _ more: String...) throws -> BuiltCommand.Result {
    try BuiltCommand.run(["status", job.manifest, "--check"] + more)
  }

  private func document(_ job: CrashJob) throws -> JSONValue {
    let result = try BuiltCommand.run("status", job.manifest, "--format", "json")
    #expect(result.status == 0, "\(result.diagnostics)")
    let value = try JSONValue(parsing: result.output)
    let schema = try #require(PublishedSchema.all.first { $0.name == "status" })
    #expect(try JSONSchema(text: schema.text).findings(value) == [])
    return value
  }

  /// A run that has finished some chunks.
  private func start(_ job: CrashJob) throws -> BuiltCommand.Running {
    let run = try BuiltCommand.startRun(job.manifest)
    run.waitForOutput("\"progress\"")
    return run
  }

  @Test func `a job in place whose run was killed is told as unfinished, and that it starts again`() throws {
    let job = try BreakableJob()
    try job.edit("job.yaml", "destination: out/library.sqlite", "destination: {existing: in-place, keep-old: false}")
    // A run that is killed as soon as it has the lock leaves this.
    let work = try WorkFolder(forDestination: job.file("library.sqlite")).path
    #expect(work.hasSuffix("library.sqlite.godwit"))
    let text = try BuiltCommand.run("status", "job.yaml", in: job.path)
    #expect(text.status == 0 && text.output.hasPrefix("job job: unfinished, 0.0%\n  stale: "), "\(text)")
    #expect(text.output.contains("the same command starts again"), "\(text)")
    let document = try BuiltCommand.run("status", "job.yaml", "--format", "json", in: job.path)
    let value = try JSONValue(parsing: document.output)
    let schema = try #require(PublishedSchema.all.first { $0.name == "status" })
    #expect(try JSONSchema(text: schema.text).findings(value) == [])
    #expect(value["state"] == .string("unfinished") && value["run"]?["state"] == .string("stale"))
    #expect(value["run"]?["startsAgain"] == .boolean(true))
    let monitor = try BuiltCommand.run("status", "job.yaml", "--check", in: job.path)
    #expect(monitor.status == 2 && monitor.output.contains("the same command starts again"), "\(monitor)")
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: job.path).status == 0)
    #expect(try BuiltCommand.run("status", "job.yaml", in: job.path).output == "job job: finished\n")
  }

  @Test(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
  func `a run is seen at work, killed, stopped by a signal, and finished`() throws {
    let job = try CrashJob(people: 3000, rows: 50)
    let none = try check(job)
    #expect(none.status == 1 && none.output.hasPrefix("GODWIT WARNING - job 'job' not started | "), "\(none)")
    #expect(try check(job, "--max-age", "26h").status == 2)

    let first = try start(job)
    first.send(SIGSTOP)
    let running = try check(job)
    let document = try document(job)
    let second = try BuiltCommand.run("run", job.manifest, "--progress", "json")
    first.send(SIGKILL)
    first.wait()
    #expect(running.status == 0, "\(running)")
    #expect(running.output.contains("running: process \(first.process.processIdentifier) on '"), "\(running)")
    #expect(running.output.split(separator: "\n").count == 1 && running.diagnostics.isEmpty)
    #expect(document["run"]?["state"] == .string("running"))
    #expect(document["run"]?["pid"] == .integer(Int64(first.process.processIdentifier)))
    #expect(document["run"]?["since"]?.string?.hasSuffix("Z") == true)
    #expect(second.status == 75)
    #expect(second.diagnostics.contains("cause   the lock is held by process \(first.process.processIdentifier) on '"))
    #expect(second.output.contains("\"reasonCode\":\"lock\""))

    let stale = try check(job)
    #expect(
      stale.status == 2 && stale.output.contains(" stale: the last run was killed (process "), "\(stale)")
    #expect(try self.document(job)["run"]?["state"] == .string("stale"))

    let third = try start(job)
    third.send(SIGTERM)
    third.wait()
    try #require(third.process.terminationReason == .uncaughtSignal)
    let stopped = try check(job)
    #expect(
      stopped.status == 1 && stopped.output.contains("SIGTERM (signal); the same command resumes"), "\(stopped)")
    let told = try self.document(job)
    #expect(told["run"]?["reasonCode"] == .string("signal") && told["run"]?["status"] == .integer(143))
    #expect(told["lastCommit"]?.string != nil)
    _ = try job.finish()
    let finished = try check(job, "--max-age", "26h")
    #expect(finished.status == 0 && finished.output.hasPrefix("GODWIT OK - job 'job' finished | percent=100%"))
    #expect(finished.output.contains("s;;93600;0\n"))
    #expect(try self.document(job)["lastSuccess"]?.string?.hasSuffix("Z") == true)
  }

  @Test(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
  func `what cannot be looked at is UNKNOWN, and a wrong option is wrong usage`() throws {
    let folder = try TemporaryFolder("godwit-check")
    let missing = try BuiltCommand.run("status", folder.file("job.yaml"), "--check")
    #expect(missing.status == 3 && missing.output.hasPrefix("GODWIT UNKNOWN - "), "\(missing)")
    let json = try BuiltCommand.run("status", folder.file("job.yaml"), "--check", "--format", "json")
    #expect(json.status == 3)
    #expect(try JSONValue(parsing: json.output)["code"] == .string("missing-input"))
    #expect(try BuiltCommand.run("status", folder.file("job.yaml"), "--max-age", "1h").status == 64)
  }
}

import Foundation
import GodwitModel
import Testing

@testable import GodwitCLI

/// The script is run with an `sbatch` that keeps what it is given, and the jobs are then run as Slurm would.
struct SlurmScriptTests {
  /// Submits a fleet: `job.1` is the canary, `job.2` the array, `job.3` the report.
  private static func submit(_ fixture: SubmitFixture) throws {
    try fixture.write(SlurmScript(fixture.fleet.checked()).text, to: "submit")
    let said = try fixture.run("bash submit")
    #expect(said.status == 0 && said.diagnostics.isEmpty, "\(said)")
  }

  private static func task(_ number: Int, of job: Int, restarts: Int = 0, in fixture: SubmitFixture) throws -> Int32 {
    try fixture.run(
      "SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=\(number) SLURM_RESTART_COUNT=\(restarts) bash job.\(job)"
    ).status
  }

  @Test func `every shard is in one task, also when the array is shorter than the fleet`() throws {
    let fixture = try SubmitFixture(shards: 13, hasCanary: true)
    try fixture.write("6", to: "size")
    try Self.submit(fixture)
    #expect(fixture.lines("args.1").contains("--array=1"))
    #expect(fixture.lines("args.2").contains("--array=1-5%32"))
    #expect(try Self.task(1, of: 1, in: fixture) == 0)
    #expect(try fixture.shardsRun() == [0])
    for number in 1...5 { #expect(try Self.task(number, of: 2, in: fixture) == 0) }
    #expect(try fixture.shardsRun() == [0, 1, 6, 11, 2, 7, 12, 3, 8, 4, 9, 5, 10])
    fixture.expectNoHarm()
  }

  @Test func `a fleet without a canary has an array and a report`() throws {
    let fixture = try SubmitFixture(shards: 3, hasCanary: false, options: SubmitOptions(throttle: 2))
    try Self.submit(fixture)
    #expect(fixture.lines("args.1").contains("--array=1-3%2"))
    #expect(!fixture.lines("args.1").contains { $0.hasPrefix("--dependency") })
    #expect(fixture.lines("args.2").contains("--dependency=afterany:1"))
    for number in 1...3 { #expect(try Self.task(number, of: 1, in: fixture) == 0) }
    #expect(try fixture.shardsRun() == [0, 1, 2])
    #expect(try fixture.run("bash job.2").status == 0)
    let folder = fixture.fleet.folder
    let merge =
      "<fleet><merge><\(fixture.fleet.manifest)><-o><\(folder)/report.html><--results><\(folder)/results.jsonl>"
    #expect(fixture.lines("calls").last == merge + "<--retry-list><\(folder)/retry.txt>")
  }

  @Test func `a canary alone has no array`() throws {
    let fixture = try SubmitFixture(shards: 1, hasCanary: true)
    try Self.submit(fixture)
    #expect(fixture.lines("args.2").contains("--dependency=afterany:1"))
    #expect(fixture.lines("job.3").isEmpty)
  }

  @Test func `the array waits for the canary, the report for the array, and each asks for what the plan says`() throws {
    let fixture = try SubmitFixture(shards: 3, hasCanary: true, options: SubmitOptions(seconds: 90_061))
    try Self.submit(fixture)
    let array = fixture.lines("args.2")
    #expect(array.contains("--dependency=afterok:1") && array.contains("--kill-on-invalid-dep=yes"))
    #expect(fixture.lines("args.3").contains("--dependency=afterany:2"))
    for number in 1...3 {
      let arguments = fixture.lines("args.\(number)")
      #expect(arguments.contains("--chdir=\(fixture.fleet.folder)"))
      let output = try #require(arguments.first { $0.hasPrefix("--output=") })
      #expect(output.hasPrefix("--output=" + fixture.fleet.folder.replacing("%", with: "%%") + "/logs/%"))
    }
    let directives = fixture.lines("job.2").filter { $0.hasPrefix("#SBATCH ") }
    // 128 MiB, a quarter of it, and 64 MiB, in steps of 32 MiB.
    for expected in [
      "--job-name=users", "--cpus-per-task=2", "--mem=224M", "--time=1-01:02:00", "--requeue", "--open-mode=append",
      "--signal=B:TERM@120",
    ] { #expect(directives.contains("#SBATCH " + expected), "\(expected)") }
    // Slurm reads directives only before the first command.
    let first = try #require(fixture.lines("job.2").firstIndex { !$0.hasPrefix("#") })
    #expect(!fixture.lines("job.2")[first...].contains { $0.hasPrefix("#SBATCH") })
  }

  @Test func `the scripts are clean`() throws {
    let fixture = try SubmitFixture(shards: 13, hasCanary: true)
    try Self.submit(fixture)
    try fixture.lint("submit", "job.1", "job.2", "job.3")
  }

  @Test func `a shard that stopped at a checkpoint puts its task back, so many times, and only while it runs`() throws {
    let fixture = try SubmitFixture(shards: 3, hasCanary: true)
    try Self.submit(fixture)
    try fixture.write("75", to: "status.2")
    #expect(try Self.task(2, of: 2, in: fixture) == 75)
    #expect(fixture.lines("asked") == ["requeue 7_2"])
    // Somebody cancels it.
    try fixture.write("COMPLETING", to: "state")
    #expect(try Self.task(2, of: 2, in: fixture) == 75)
    #expect(fixture.lines("asked").count == 1)
    try fixture.write("RUNNING", to: "state")
    #expect(try Self.task(2, of: 2, restarts: 9, in: fixture) == 75)
    #expect(fixture.lines("asked").count == 2)
    #expect(try Self.task(2, of: 2, restarts: 10, in: fixture) == 1)
    #expect(fixture.lines("asked").count == 2)
  }

  @Test func `quarantine is no failure, a finding fails its task only, and anything else ends it`() throws {
    let fixture = try SubmitFixture(shards: 4, hasCanary: false)
    try fixture.write("2", to: "size")
    try Self.submit(fixture)
    for (status, expected, shards) in [
      ("3", 0, [0, 1, 2, 3]), ("4", 4, [0, 1, 2, 3]), ("65", 65, [0, 1]), ("78", 78, [0, 1]), ("137", 137, [0, 1]),
    ] as [(String, Int32, [Int])] {
      fixture.remove("calls")
      try fixture.write(status, to: "status.1")
      #expect(try Self.task(1, of: 1, in: fixture) == expected, "\(status)")
      #expect(try fixture.shardsRun() == shards, "\(status)")
    }
    #expect(fixture.lines("asked").isEmpty)
  }

  @Test func `a signal stops the shard at a checkpoint, and the task goes back into the queue`() throws {
    let fixture = try SubmitFixture(shards: 2, hasCanary: false)
    try Self.submit(fixture)
    try fixture.write("", to: "slow")
    let ended = try fixture.run(
      """
      SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=1 bash job.1 & task=$!
      while [ ! -e started ]; do sleep 0.05; done
      kill -TERM "$task"
      wait "$task"
      """)
    #expect(ended.status == 75, "\(ended)")
    #expect(fixture.lines("asked") == ["requeue 7_1"])
    #expect(try fixture.shardsRun() == [0])
  }

  @Test func `the script of another plan submits nothing`() throws {
    let fixture = try SubmitFixture(shards: 2, hasCanary: false)
    try fixture.write(SlurmScript(fixture.fleet).text, to: "submit")
    try "{}".write(toFile: fixture.fleet.folder + "/plan.json", atomically: true, encoding: .utf8)
    let said = try fixture.run("bash submit")
    #expect(said.status == 73 && said.diagnostics.contains("run 'godwit fleet submit' again"), "\(said)")
    #expect(fixture.lines("job.1").isEmpty)
  }

  @Test func `a limit that is too short and a folder with a backslash are refused`() throws {
    var fleet = try SubmitFixture(shards: 2, hasCanary: false, options: SubmitOptions(seconds: 299)).fleet
    #expect { try SlurmScript(fleet) } throws: { ($0 as? GodwitError)?.code == .usage }
    fleet.options.seconds = 300
    #expect(try SlurmScript(fleet).text.contains("--time=00:05:00"))
    fleet.folder += "\\x"
    #expect { try SlurmScript(fleet) } throws: { ($0 as? GodwitError)?.code == .usage }
  }

  @Test func `without a limit, a task gets three times the planned time, from half an hour to a day`() throws {
    var fleet = try SubmitFixture(shards: 2, hasCanary: false).fleet
    for (seconds, limit) in [(0, 1800), (1000, 3600), (40_000, 86_400), (1e300, 86_400), (.nan, 1800)]
      as [(Double, Int)]
    {
      fleet.largestShardSeconds = seconds
      #expect(try SlurmScript(fleet).limit == limit, "\(seconds)")
    }
    #expect(SlurmScript.duration(3661) == "01:01:01" && SlurmScript.duration(864_000) == "10-00:00:00")
  }
}

import Foundation
import TestSupport
import Testing

@testable import GodwitCLI

/// The rights of a hook of the manifest, and the handling of its output.
struct HookTests {
  private func job(before: String? = nil, after: String? = nil) throws -> BreakableJob {
    let job = try BreakableJob()
    // JSON strings are YAML strings.
    func line(_ key: String, _ command: String?) throws -> String {
      try command.map { "    \(key): \(try JSONText.document($0))\n" } ?? ""
    }
    try job.append(
      "job.yaml", "stages:\n  - step: Library 2\n" + line("before", before) + line("after", after))
    return job
  }

  @Test func `verify runs no hook`() throws {
    let job = try job(after: "echo ran >> hooks.txt")
    #expect(try BuiltCommand.run("run", "job.yaml", in: job.path).status == 0)
    let result = try BuiltCommand.run("verify", "job.yaml", in: job.path)
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(result.output.contains("not proved: steps whose store a hook changed"), "\(result.output)")
    #expect(try String(contentsOfFile: job.file("hooks.txt"), encoding: .utf8) == "ran\n")
  }

  @Test(arguments: [true, false]) func `a hook that changes the source stops the run`(isBefore: Bool) throws {
    let change = "echo more >> library.sqlite"
    let job = try job(before: isBefore ? change : nil, after: isBefore ? nil : change)
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    #expect(result.status == 75, "\(result.diagnostics)")
    #expect(result.diagnostics.contains("changed while the hook"), "\(result.diagnostics)")
    #expect(!FileManager.default.fileExists(atPath: job.file("out/library.sqlite")))
    // It is another source now: a scheduler that tries again does not try for ever.
    #expect(try BuiltCommand.run("run", "job.yaml", in: job.path).status == 73)
  }

  @Test func `a background child of a hook does not delay the run`() throws {
    let job = try job(before: "sleep 60 & echo $! > child")
    let result = try ShellCommand.run(
      "start=$(date +%s); $GODWIT run job.yaml --quiet; s=$?; end=$(date +%s); kill $(cat child); "
        + "echo $((end - start)); exit $s", in: job.path)
    #expect(result.status == 0, "\(result.diagnostics)")
    let seconds = try #require(Int(result.output.trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect(seconds < 30)
  }

  @Test func `the output of a hook is escaped and complete`() throws {
    let job = try job(before: "printf 'a\\033[2Kb\\n'; seq 1 20000; printf 'no line end' >&2")
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(result.diagnostics.contains("a\\u001B[2Kb\n"))
    #expect(result.diagnostics.contains("\n19999\n20000\nno line end\n"))
  }

  @Test func `the remedy in the error of a failed hook works`() throws {
    func run(_ verb: String, _ job: BreakableJob) throws -> BuiltCommand.Result {
      try BuiltCommand.run(verb, "job.yaml", in: job.path)
    }
    for isRepaired in [true, false] {
      let job = try job(after: "test -e ready")
      let failed = try run("run", job)
      #expect(failed.status == 74)
      #expect(
        failed.diagnostics.contains(
          "run the same job; to change the command, `godwit discard` the job and run it again"),
        "\(failed.diagnostics)")
      if isRepaired {
        try job.write("ready", "")
      } else {
        try job.edit("job.yaml", "test -e ready", "true")
        #expect(try run("run", job).status == 73)
        #expect(try run("discard", job).status == 0)
      }
      let result = try run("run", job)
      #expect(result.status == 0, "\(result.diagnostics)")
    }
  }

  @Test func `status counts a step whose store is complete while its hook runs`() throws {
    let job = try BreakableJob()
    try job.append("job.yaml", "stages:\n  - step: Library 2\n    after: kill -9 $PPID\n")
    #expect(try BuiltCommand.run("run", "job.yaml", in: job.path).status != 0)
    let status = try BuiltCommand.run("status", "job.yaml", in: job.path)
    #expect(status.output.hasPrefix("job job: unfinished, 100.0%"), "\(status.output)")
  }

  @Test func `a hook receives signals that the run blocks, and its end is reported`() throws {
    let job = try job(before: "kill -TERM $$; sleep 5")
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    #expect(result.status == 74)
    #expect(result.diagnostics.contains("it was killed by signal 15"), "\(result.diagnostics)")
  }
}

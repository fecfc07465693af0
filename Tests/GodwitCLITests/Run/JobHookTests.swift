import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI

/// The commands `on-success` and `on-failure` of a manifest.
struct JobHookTests {
  private static func job(success: String? = nil, failure: String? = nil) throws -> BreakableJob {
    let job = try BreakableJob()
    // JSON strings are YAML strings.
    for (key, command) in [("on-success", success), ("on-failure", failure)] {
      if let command { try job.append("job.yaml", "\(key): \(try JSONText.document(command))\n") }
    }
    return job
  }

  private static func run(_ job: BreakableJob, _ more: String...) throws -> BuiltCommand.Result {
    try BuiltCommand.run(["run", "job.yaml"] + more, in: job.path)
  }

  /// The summaries that a command wrote down, each as the schema has it.
  private static func summaries(_ job: BreakableJob, _ name: String = "summaries") throws -> [JSONValue] {
    guard FileManager.default.fileExists(atPath: job.file(name)) else { return [] }
    let lines = try JSONValue.lines(String(contentsOfFile: job.file(name), encoding: .utf8))
    let text = try #require(PublishedSchema.all.first { $0.name == "progress" }?.text)
    for line in lines { #expect(try JSONSchema(text: text).findings(line) == []) }
    return lines
  }

  private static let keep = "cat >>summaries; echo \"$GODWIT_STATUS $GODWIT_OUTCOME $GODWIT_JOB\" >>variables"

  @Test func `on-success gets the summary of every run that ends with 0`() throws {
    let job = try Self.job(success: Self.keep, failure: "touch failed")
    let first = try Self.run(job)
    #expect(first.status == 0, "\(first.diagnostics)")
    #expect(first.output.contains("100.0% finished job"))
    #expect(try Self.run(job, "--progress", "json").status == 0)
    let found = try Self.summaries(job)
    #expect(found.map { $0["outcome"] } == [.string("finished"), .string("already finished")])
    #expect(found.allSatisfy { $0["status"] == .integer(0) && $0["job"] == .string("job") })
    #expect(found.first?["objects"] != nil)
    let variables = try String(contentsOfFile: job.file("variables"), encoding: .utf8)
    #expect(variables == "0 finished job\n0 already finished job\n")
    #expect(!FileManager.default.fileExists(atPath: job.file("failed")))
  }

  @Test func `a failing on-success ends the run with 74, and the same command calls it again`() throws {
    let job = try Self.job(success: "cat >>summaries; test -e ready", failure: "touch failed")
    let failed = try Self.run(job, "--progress", "json")
    #expect(failed.status == 74)
    #expect(failed.diagnostics.contains("the on-success command 'cat >>summaries; test -e ready' failed"))
    #expect(failed.diagnostics.contains("it exited with status 1"), "\(failed.diagnostics)")
    #expect(failed.diagnostics.contains("the destination is finished"), "\(failed.diagnostics)")
    let last = try #require(try JSONValue.lines(failed.output).last)
    #expect(last["status"] == .integer(74) && last["outcome"] == .string("finished"))
    try job.write("ready", "")
    #expect(try Self.run(job).status == 0)
    #expect(try Self.summaries(job).count == 2)
    #expect(!FileManager.default.fileExists(atPath: job.file("failed")))
  }

  @Test func `on-failure gets the error, after it was printed, and does not change the status`() throws {
    let job = try Self.job(success: "touch succeeded", failure: Self.keep + "; echo said; exit 9")
    try job.edit("job.yaml", "library.mapping.yaml", "nosuch.mapping.yaml")
    let result = try Self.run(job)
    #expect(result.status == 66, "\(result.diagnostics)")
    let found = try Self.summaries(job)
    #expect(found.count == 1 && found.first?["status"] == .integer(66))
    #expect(found.first?["outcome"] == .string("failed") && found.first?["job"] == .string("job"))
    #expect(found.first?["code"] == .string("missing-input") && found.first?["message"] != nil)
    let lines = result.diagnostics.split(separator: "\n")
    #expect(lines.first?.hasPrefix("godwit: job.yaml:6:11: cannot read") == true, "\(result.diagnostics)")
    #expect(lines.contains("said"))
    #expect(lines.last?.hasPrefix("godwit: warning: the on-failure command") == true, "\(result.diagnostics)")
    #expect(lines.count { $0.hasPrefix("godwit: job.yaml:6:11: cannot read") } == 1, "the error is printed once")
    #expect(!FileManager.default.fileExists(atPath: job.file("succeeded")))
  }

  @Test func `a difference that --verify finds is a failure`() throws {
    let job = try Self.job(success: "touch succeeded", failure: Self.keep)
    #expect(try Self.run(job).status == 0)
    try FileManager.default.removeItem(atPath: job.file("succeeded"))
    let store = try StoreConnection(path: job.file("out/library.sqlite"))
    try store.execute("UPDATE ZBOOK SET ZPAGES = ZPAGES + 1 WHERE Z_PK = 7")
    try store.close()
    let result = try Self.run(job, "--verify")
    #expect(result.status == 4, "\(result.diagnostics)")
    #expect(try Self.summaries(job).map { $0["status"] } == [.integer(4)])
    #expect(!FileManager.default.fileExists(atPath: job.file("succeeded")))
  }

  @Test func `a run that stops at a checkpoint calls nothing`() throws {
    let job = try Self.job(success: "touch called", failure: "touch called")
    try job.append("job.yaml", "stages:\n  - step: Library 2\n    before: sleep 1\n")
    let result = try Self.run(job, "--max-duration", "1s")
    #expect(result.status == 75, "\(result.diagnostics)")
    #expect(!FileManager.default.fileExists(atPath: job.file("called")))
  }

  @Test func `a list of commands runs in order, in the manifest's folder, until one fails`() throws {
    let job = try BreakableJob()
    try job.append("job.yaml", "on-success: [pwd >>order, 'echo two >>order; false', echo three >>order]\n")
    let result = try BuiltCommand.run("run", job.file("job.yaml"), "--quiet", in: "/")
    #expect(result.status == 74 && result.output.isEmpty)
    let lines = try String(contentsOfFile: job.file("order"), encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 2 && lines.last == "two")
    #expect(lines.first?.hasSuffix(URL(filePath: job.path).lastPathComponent) == true)
  }

  @Test func `a command need not read its input, and none of a long input is lost`() throws {
    // More than a pipe holds.
    let long = String(repeating: "0123456789abcdef", count: 20_000)
    var printed = ""
    for command in ["true", "exec <&-; sleep 0.1", "cat", "exec >/dev/null 2>&1; cat >copy", "sleep 0.1; wc -c"] {
      let folder = try TemporaryFolder()
      let manifest = folder.file("job.yaml")
      let text = "godwit: 1\nsource: a\ndestination: b\nmodels: c\non-success: \(try JSONText.document(command))\n"
      try Data(text.utf8).write(to: URL(filePath: manifest))
      signal(SIGPIPE, SIG_IGN)
      let output = TextStream.memory()
      let loader = try JobLoader(
        contentsOf: URL(filePath: manifest),
        hookOutput: { output.write($0) })
      try loader.hooks.run(.success, summary: long, variables: [:])
      printed += output.text
      if command.hasSuffix("cat >copy") {
        #expect(try String(contentsOfFile: folder.file("copy"), encoding: .utf8) == long)
      }
    }
    #expect(printed.contains(long) && printed.contains("\(long.utf8.count)"))
  }

  @Test func `no other verb calls them`() throws {
    let job = try Self.job(success: "touch called", failure: "touch called")
    for verb in ["plan", "status", "audit", "verify"] {
      _ = try BuiltCommand.run(verb, "job.yaml", in: job.path)
    }
    #expect(!FileManager.default.fileExists(atPath: job.file("called")))
  }
}

import Foundation
import GodwitCLI
import GodwitManifest
import GodwitModel
import TestSupport
import Testing

/// `run --log-format json`: what goes to standard error.
struct DiagnosticsLogTests {
  /// The lines of a run, each as the schema has it.
  private static func lines(_ arguments: [String], in folder: String, status: Int32) throws -> [JSONValue] {
    let result = try BuiltCommand.run(["run"] + arguments + ["--log-format", "json"], in: folder)
    #expect(result.status == status, "\(result.diagnostics)")
    let lines = try JSONValue.lines(result.diagnostics)
    let text = try #require(PublishedSchema.all.first { $0.name == "log" }?.text)
    let schema = try JSONSchema(text: text)
    for line in lines { #expect(schema.findings(line) == [], "\(result.diagnostics)") }
    return lines
  }

  @Test func `an error is one line with the job, the time and all that the text says`() throws {
    let job = try BreakableJob()
    try job.edit("job.yaml", "library.mapping.yaml", "nosuch.mapping.yaml")
    let lines = try Self.lines(["job.yaml"], in: job.path, status: 66)
    let line = try #require(lines.first)
    #expect(lines.count == 1 && line["level"] == .string("error") && line["job"] == .string("job"))
    #expect(line["status"] == .integer(66) && line["code"] == .string("missing-input"))
    #expect(line["message"]?.string?.hasPrefix("cannot read") == true && line["remedy"] != nil)
    let text = try BuiltCommand.run("run", "job.yaml", in: job.path).diagnostics
    let location = line["location"]?.string ?? "?"
    #expect(text.hasPrefix("godwit: \(location): \(line["message"]?.string ?? "?")\n"), "\(text)")
    #expect(location == "job.yaml:6:11")
  }

  @Test func `a wrong option and a manifest that is not there are lines without a job`() throws {
    let job = try BreakableJob()
    for (arguments, status) in [(["job.yaml", "--nosuch"], 64), ([], 64), (["nosuch.yaml"], 66)] as [([String], Int32)]
    {
      let lines = try Self.lines(arguments, in: job.path, status: status)
      #expect(lines.count == 1 && lines.first?["status"] == .integer(Int64(status)))
      #expect(lines.first?["job"] == nil)
    }
  }

  @Test func `debug messages, warnings and what hooks print are lines too`() throws {
    let job = try BreakableJob()
    try job.append("job.yaml", "on-success: echo first; echo; printf 'se\\033cond'\n")
    let lines = try Self.lines(["job.yaml", "-v"], in: job.path, status: 0)
    #expect(lines.contains { $0["level"] == .string("debug") && $0["values"]?["source"] == .string("Library") })
    let said = lines.filter { $0["level"] == .string("info") }.map { $0["message"]?.string }
    #expect(said == ["first", "se\u{1B}cond"])
    #expect(lines.allSatisfy { $0["time"]?.string?.hasSuffix("Z") == true })
    try job.append("job.yaml", "on-failure: exit 3\n")
    _ = try ShellCommand.run("echo more >>library.sqlite", in: job.path)
    let failed = try Self.lines(["job.yaml"], in: job.path, status: 73)
    #expect(failed.map { $0["level"] } == [.string("error"), .string("warning")])
  }

  @Test func `text stays as it is without the option`() throws {
    let job = try BreakableJob()
    let result = try BuiltCommand.run("run", "job.yaml", "-v", in: job.path)
    #expect(result.status == 0)
    #expect(result.diagnostics.contains("godwit: debug: models chosen destination=Library 2 source=Library\n"))
  }
}

/// The output that a person sees at a terminal. `script` makes the terminal.
struct `A run on a terminal` {
  private static func run(_ environment: String, _ arguments: String, in job: BreakableJob) throws -> String {
    // `swift test` sets NO_COLOR if its own output is not a terminal.
    let result = try ShellCommand.run(
      "unset NO_COLOR; \(environment) script -qec \"stty cols 80; $GODWIT run job.yaml \(arguments)\" /dev/null",
      in: job.path)
    #expect(result.diagnostics.isEmpty, "\(result.diagnostics)")
    return result.output
  }

  @Test func `the bar is redrawn in colour, and the summary comes last`() throws {
    let job = try BreakableJob()
    let shown = try Self.run("TERM=xterm", "", in: job)
    #expect(shown.contains("\r\u{1B}[K"))
    #expect(shown.contains("planning"))
    #expect(shown.contains("\u{1B}[1m0.0%\u{1B}[0m eta --:--:-- 0/"), "\(shown)")
    let lines = shown.replacing("\r\n", with: "\n").split(separator: "\n")
    // The rest of the bar is cleared.
    let first = try #require(lines.firstIndex { $0.contains("100.0% finished job 'job'") })
    #expect(lines[first].contains("\r\u{1B}[K100.0% finished"))
    #expect(lines[(first + 1)...].allSatisfy { !$0.contains("\u{1B}") })
    #expect(lines.last?.hasPrefix("  memory ") == true)
  }

  @Test func `NO_COLOR has a bar without colours, and a dumb terminal has lines`() throws {
    let job = try BreakableJob()
    let plain = try Self.run("TERM=xterm NO_COLOR=1", "", in: job)
    #expect(plain.contains("\r\u{1B}[K[") && !plain.contains("\u{1B}[1m") && !plain.contains("\u{1B}[32m"))
    try FileManager.default.removeItem(atPath: job.file("out"))
    let dumb = try Self.run("TERM=dumb", "", in: job)
    #expect(!dumb.contains("\u{1B}") && dumb.contains("0.0% step 1/1"))
  }

  @Test func `errors are red on a terminal only`() throws {
    let job = try BreakableJob()
    try job.edit("job.yaml", "library.mapping.yaml", "nosuch.mapping.yaml")
    #expect(try Self.run("TERM=xterm", "", in: job).contains("\u{1B}[1;31mgodwit:\u{1B}[0m job.yaml:6:11: cannot read"))
    #expect(try !Self.run("TERM=xterm NO_COLOR=1", "", in: job).contains("\u{1B}[1;31m"))
    let file = try BuiltCommand.run("run", "job.yaml", in: job.path)
    #expect(file.diagnostics.hasPrefix("godwit: job.yaml:6:11: cannot read"))
  }
}

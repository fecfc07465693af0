import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI

/// What `fleet submit` takes and refuses.
struct FleetSubmitTests {
  private static func run(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: ["fleet", "submit"] + arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }

  /// A folder with a fleet's file; without a plan.
  private static func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-submit")
    try "godwit: 1\njob: job.yaml\n".write(toFile: folder.file("users.yaml"), atomically: true, encoding: .utf8)
    return folder
  }

  @Test func `an unknown engine is wrong usage, and the message lists those that there are`() throws {
    let said = Self.run(try Self.folder().file("users.yaml"), "--engine", "cron")
    #expect(said.status == 64)
    for engine in FleetSubmitVerb.Engine.allCases { #expect(said.diagnostics.contains(engine.rawValue), "\(said)") }
    #expect(Self.run("users.yaml").status == 64)
  }

  @Test(arguments: [
    ["--engine", "slurm", "--image", "x"], ["--engine", "parallel", "--claim", "x"],
    ["--engine", "slurm", "--throttle", "0"], ["--engine", "slurm", "--throttle", "10001"],
    ["--engine", "slurm", "--time", "1d"],
  ])
  func `options that an engine does not take are wrong usage`(options: [String]) throws {
    let path = try Self.folder().file("users.yaml")
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    #expect(GodwitCommand.run(arguments: ["fleet", "submit", path] + options, in: session) == 64)
    #expect(session.output.text.isEmpty)
  }

  @Test func `without a plan the message says how to make one`() throws {
    let folder = try Self.folder()
    let said = Self.run(folder.file("users.yaml"), "--engine", "slurm")
    #expect(said.status == 66 && said.diagnostics.contains("godwit fleet plan"), "\(said)")
  }

  @Test func `a plan without stores, with a foreign name, or below a strange folder has no script`() throws {
    let fleet = try SubmitFixture(shards: 2, hasCanary: false).fleet
    func code(_ change: (inout SubmittedFleet) -> Void) -> GodwitError.Code? {
      var other = fleet
      change(&other)
      do { _ = try other.checked() } catch { return (error as? GodwitError)?.code }
      return nil
    }
    #expect(code { _ in } == nil)
    #expect(code { $0.shards = 0 } == .usage)
    for path in ["/a\nb", "/a\u{7}b", "/a\u{2028}b", "/a\u{85}b", "/a\tb", "relative"] {
      #expect(code { $0.manifest = path } == .usage)
      #expect(code { $0.folder = path } == .usage)
    }
    #expect(code { $0.name = "two words" } == .dataWrong)
    #expect(code { $0.identity = "" } == .dataWrong)
    #expect(code { $0.identity = "0123456789abcdef; touch harm" } == .dataWrong)
    #expect(code { $0.jobs = 0 } == .dataWrong)
  }

  @Test func `memory and turns stay in bounds, whatever a plan says`() throws {
    var fleet = try SubmitFixture(shards: 2, hasCanary: false).fleet
    for (bytes, mebibytes) in [(128 << 20, 224), (0, 64), (-1, 64), (1 << 30, 1344)] as [(Int64, Int)] {
      fleet.memoryBytes = bytes
      #expect(fleet.memoryMiB == mebibytes)
    }
    fleet.memoryBytes = .max
    #expect(fleet.memoryMiB > 1 << 20)
    for (seconds, limit, turns) in [(0, 100, 10), (1000, 100, 40), (1e300, 100, 1_261_440), (-5, 0, 10)]
      as [(Double, Int, Int)]
    {
      fleet.largestShardSeconds = seconds
      #expect(fleet.turns(ofSeconds: limit) == turns)
    }
  }

  @Test func `words for a shell and scalars for YAML keep what they quote`() throws {
    let text = "it's \"a\" $(x) \\ %a `y` ü #: {z}"
    let said = try ShellCommand.run("printf %s " + ScriptText.shell(text), in: "/")
    #expect(said.output == text)
    #expect(ScriptText.yaml("a\"\\\u{1}\u{2028}\u{FEFF}ü") == "\"a\\\"\\\\\\u0001\\u2028\\uFEFFü\"")
    #expect(ScriptText.kubernetes("$(x) $$") == "\"$$(x) $$$$\"")
  }
}

import Foundation
import GodwitCLI
import GodwitModel
import TestSupport
import Testing

/// The output of a run of many stores, and of the verbs that look at many stores.
struct BatchRunTests {
  private typealias Many = ManyStoresTests

  private static let held = "on-invalid: {quarantine: {max-rows: 9}}\n"

  private static func one(_ number: Int) -> [String] {
    let name = Many.name(number) + ".sqlite"
    return ["--source", "stores/" + name, "--destination", "out/" + name]
  }

  private static func run(_ job: BreakableJob, _ arguments: [String]) throws -> BuiltCommand.Result {
    try BuiltCommand.run(arguments, in: job.path)
  }

  private static func spoil(_ number: Int, of job: BreakableJob) throws {
    try job.sql("UPDATE ZBOOK SET ZISBN = x'00' WHERE Z_PK = 3", store: "stores/\(Many.name(number)).sqlite")
  }

  @Test func `objects in quarantine are a success to commands, and are told with the notes of a run`() throws {
    let commands =
      "on-success: echo $GODWIT_STATUS $GODWIT_OUTCOME >>called; test ! -e broken\non-failure: touch failed\n"
    let job = try Many.job(2, more: Self.held + commands)
    try Self.spoil(2, of: job)
    let first = try Many.run(job, "--progress", "json")
    #expect(first.status == 3, "\(first.output)")
    #expect(try String(contentsOfFile: job.file("called"), encoding: .utf8) == "3 finished\n")
    try job.remove("out/u02.sqlite.quarantine.sqlite")
    try job.write("broken", "")
    let second = try Many.run(job, "--progress", "json")
    #expect(second.status == 74 && second.diagnostics.contains("'on-success'") == false, "\(second.diagnostics)")
    #expect(second.diagnostics.contains("on-success") && !FileManager.default.fileExists(atPath: job.file("failed")))
    let lines = try Many.stores(first) + Many.stores(second)
    #expect(try Many.run(job).output.contains("1 object in quarantine"))
    #expect(lines.map { $0["quarantined"] } == [nil, .integer(1), nil, .integer(1)], "\(lines)")
    #expect(lines[3]["noteCodes"] == .array([.string("quarantine-missing")]), "\(lines[3])")
    #expect(lines[3]["notes"]?.array?.count == 1 && lines[0]["notes"] == nil)
  }

  @Test func `a store named by options and one that a pattern found are of one job`() throws {
    let job = try Many.job(2)
    try job.edit(
      "job.yaml", "destination: \"out/{name}.sqlite\"", "destination: {path: \"out/{name}.sqlite\", existing: replace}")
    #expect(try Many.run(job).status == 0)
    let check = ["status", "job.yaml", "--check"]
    let healthy = try Self.run(job, check + Self.one(1))
    #expect(healthy.status == 0 && healthy.output.hasPrefix("GODWIT OK - job 'job' finished"), "\(healthy.output)")
    for number in 1...2 {
      try job.sql("UPDATE ZBOOK SET ZPAGES = ZPAGES + 1", store: "stores/\(Many.name(number)).sqlite")
    }
    let status = try Self.run(job, ["status", "job.yaml", "--format", "json"])
    let document = try JSONValue(parsing: status.output)
    try Many.check([document], "stores")
    #expect((document["stores"]?.array ?? []).map { $0["outcome"]?.string } == ["outdated", "outdated"])
    // Each replaces what the other way has made.
    let alone = try Self.run(job, ["run", "job.yaml"] + Self.one(1))
    #expect(alone.status == 0, "\(alone.diagnostics)")
    try job.sql("UPDATE ZBOOK SET ZPAGES = ZPAGES + 1", store: "stores/u01.sqlite")
    let all = try Many.run(job)
    #expect(all.status == 0 && all.output.contains("2 stores: 2 finished"), "\(all.diagnostics)\(all.output)")
  }

  @Test func `a monitor is told the worst of all stores`() throws {
    let job = try Many.job(3)
    func check(_ more: String...) throws -> BuiltCommand.Result {
      try Self.run(job, ["status", "job.yaml", "--check"] + more)
    }
    let before = try check()
    #expect(before.status == 1 && before.output.hasPrefix("GODWIT WARNING - job 'job' 3 stores: 3 WARNING; "))
    #expect(try Many.run(job).status == 0)
    let good = try check("--max-age", "1h")
    #expect(good.status == 0 && good.output.hasPrefix("GODWIT OK - job 'job' 3 stores: 3 OK | stores=3;;;0 ok=3;;;0"))
    try job.remove("out/u02.sqlite")
    try Self.spoil(2, of: job)
    #expect(try Many.run(job).status == 65)
    try job.cut("stores/u03.sqlite") { $0 / 3 }
    let bad = try check()
    #expect(
      bad.status == 2 && bad.output.contains("1 CRITICAL, 1 UNKNOWN, 1 OK; 'stores/u02.sqlite' failed"), "\(bad.output)"
    )
    #expect(!bad.output.contains("u01") && bad.output.split(separator: "\n").count == 1)
    let document = try JSONValue(parsing: check("--format", "json").output)
    try Many.check([document], "stores")
    #expect(document["check"]?["status"] == .string("CRITICAL") && document["status"] == .integer(2))
    #expect((document["stores"]?.array ?? []).map { $0["check"]?["status"]?.string } == ["OK", "CRITICAL", "UNKNOWN"])
    #expect(document["stores"]?.array?[1]["run"] == .string("failed"))
  }

  @Test func `JSON lines stay JSON when a store differs`() throws {
    let job = try Many.job(2)
    #expect(try Many.run(job).status == 0)
    try job.sql("UPDATE ZBOOK SET ZPAGES = 0 WHERE Z_PK = 7", store: "out/u02.sqlite")
    let result = try Many.run(job, "--verify", "--progress", "json")
    #expect(result.status == 4)
    let lines = try JSONValue.lines(result.output)
    try Many.check(lines)
    #expect(lines.map { $0["type"]?.string } == ["version", "store", "verify", "store", "summary"])
    #expect(lines[2]["store"] == .string("stores/u02.sqlite") && lines[2]["isClean"] == .boolean(false))
  }

  @Test func `in place, a store without its old one is not proved, which is not a failure`() throws {
    let job = try Many.job(2)
    try job.edit("job.yaml", "destination: \"out/{name}.sqlite\"", "destination: {existing: in-place}")
    #expect(try Many.run(job).status == 0)
    try job.remove("stores/u01~.sqlite")
    let text = try Many.run(job, "--verify")
    #expect(text.status == 0 && text.output.contains("not proved: "), "\(text.diagnostics)\(text.output)")
    let result = try Many.run(job, "--verify", "--progress", "json")
    #expect(result.status == 0, "\(result.diagnostics)")
    let lines = try Many.stores(result)
    #expect(lines.map { $0["noteCodes"] } == [.array([.string("not-proved")]), nil])
    #expect(lines.map { $0["findings"] } == [nil, .integer(0)])
    let alone = try Self.run(job, ["run", "job.yaml", "--source", "stores/u01.sqlite", "--verify"])
    #expect(alone.status == 0 && alone.output.contains("not proved: "), "\(alone.diagnostics)\(alone.output)")
  }

  @Test func `an error before the first store comes after the version line`() throws {
    for more in ["on-failure: cat >>summary\n", ""] {
      let job = try Many.job(1, more: more)
      try job.remove("stores/u01.sqlite")
      let result = try Many.run(job, "--progress", "json")
      let lines = try JSONValue.lines(result.output)
      try Many.check(lines)
      #expect(result.status == 66 && lines.map { $0["type"]?.string } == ["version", "summary"])
      #expect(result.diagnostics.components(separatedBy: "godwit: ").count == 2, "\(result.diagnostics)")
      #expect(FileManager.default.fileExists(atPath: job.file("summary")) == !more.isEmpty)
    }
  }

  @Test func `what hooks print and why a store failed is told with the store`() throws {
    let job = try Many.job(3, more: "stages: [{step: Library 2, before: 'echo hello'}]\n")
    try job.cut("stores/u03.sqlite") { $0 / 3 }
    let planned = try Self.run(job, ["plan", "job.yaml"])
    #expect(planned.status == 65 && planned.diagnostics.contains("u03.sqlite"), "\(planned.diagnostics)")
    let result = try Many.run(job)
    let told = result.diagnostics.split(separator: "\n").filter { $0.hasSuffix("hello") }
    #expect(told == ["stores/u01.sqlite: hello", "stores/u02.sqlite: hello"], "\(result.diagnostics)")
  }
}

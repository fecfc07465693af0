import Foundation
import GodwitCLI
import GodwitManifest
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// `verify` with its options, and `run --verify`.
struct VerifyVerbTests {
  private func finished() throws -> BreakableJob {
    let job = try BreakableJob()
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: job.path).status == 0)
    return job
  }

  private func schema(_ name: String) throws -> JSONSchema {
    try JSONSchema(text: #require(PublishedSchema.all.first { $0.name == name }?.text))
  }

  private func damage(_ job: BreakableJob) throws {
    let store = try StoreConnection(path: job.file("out/library.sqlite"))
    try store.execute("UPDATE ZBOOK SET ZPAGES = ZPAGES + 1 WHERE Z_PK = 7")
    #expect(store.changes == 1)
    try store.close()
  }

  @Test func `run --verify proves what it made, and ends with 4 when something differs`() throws {
    let job = try BreakableJob()
    let made = try BuiltCommand.run("run", "job.yaml", "--verify", in: job.path)
    #expect(made.status == 0, "\(made.diagnostics)")
    #expect(made.output.contains("finished job") && made.output.contains("\nno difference found\n"), "\(made.output)")
    let lines = made.output.split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("100.0%") } == 1 && lines.last?.hasPrefix("  memory ") == true, "\(lines)")
    try damage(job)
    let found = try BuiltCommand.run("run", "job.yaml", "--verify", "--quiet", in: job.path)
    #expect(found.status == 4)
    #expect(found.output.hasPrefix("value: Book.pages p7:"), "\(found.output)")
    #expect(found.output.split(separator: "\n").count == 4, "\(found.output)")
    let told = try BuiltCommand.run("run", "job.yaml", "--verify", "--progress", "json", in: job.path)
    #expect(told.status == 4)
    let last = told.output.split(separator: "\n").suffix(2)
    #expect(last.first?.hasPrefix(#"{"type":"verify","#) == true, "\(told.output)")
    #expect(last.last?.contains(#""status":4"#) == true)
    for line in told.output.split(separator: "\n") {
      let value = try JSONValue(parsing: String(line))
      #expect(try schema("progress").findings(value) == [])
    }
  }

  @Test func `verify --receipt names the store that it read, in text and in JSON`() throws {
    let job = try finished()
    let receipt = job.file("out/library.sqlite.receipt.json")
    for (path, name) in [(job.file("out/library.sqlite"), "copy.sqlite"), (receipt, "copy.sqlite.receipt.json")] {
      try FileManager.default.copyItem(atPath: path, toPath: job.file("out/\(name)"))
    }
    let store = try StoreConnection(path: job.file("out/copy.sqlite"))
    try store.execute("UPDATE ZBOOK SET ZPAGES = ZPAGES + 1 WHERE Z_PK = 7")
    try store.close()
    for (name, status) in [("library", 0), ("copy", 4)] as [(String, Int32)] {
      let arguments = ["verify", "--receipt", "out/\(name).sqlite.receipt.json"]
      let told = try BuiltCommand.run(arguments, in: job.path)
      #expect(told.status == status, "\(told)")
      let line = try #require(told.output.split(separator: "\n").first { $0.hasPrefix("compared ") }, "\(told)")
      #expect(line.hasSuffix("/out/\(name).sqlite': it is named like the receipt file"))
      let document = try BuiltCommand.run(arguments + ["--format", "json"], in: job.path)
      let value = try JSONValue(parsing: document.output)
      #expect(try schema("verify").findings(value) == [])
      #expect(value["store"]?.string?.hasSuffix("/out/\(name).sqlite") == true)
      #expect(value["storeReason"] == .string("it is named like the receipt file"))
    }
  }

  @Test func `verify prints the findings and three lines, and every check with --details`() throws {
    let job = try finished()
    func lines(_ arguments: String...) throws -> [String] {
      try BuiltCommand.run(["verify", "job.yaml"] + arguments, in: job.path).output
        .split(separator: "\n").map(String.init)
    }
    let clean = try lines()
    #expect(clean.count == 3 && clean[2] == "no difference found", "\(clean)")
    #expect(clean[0].hasPrefix("compared 303 objects, ") && clean[0].hasSuffix(" values and 300 links"), "\(clean)")
    let details = try lines("--details")
    #expect(clean[1] == "all \(details.count - 1) checks were possible", "\(clean)")
    #expect(details.dropLast().allSatisfy { $0.hasPrefix("checked ") } && details.last == clean[2])
    #expect(details.contains("checked objects of Book: 300") && details.contains("checked objects of Author: 3"))
    let sample = try lines("--sample", "10")
    #expect(sample.count == 3 && sample[1].hasPrefix("not proved: "), "\(sample)")
    try damage(job)
    let found = try lines()
    #expect(found.count == 4 && found[0].hasPrefix("value: Book.pages p7:"), "\(found)")
    #expect(Array(found[1...]) == [clean[0], clean[1], "1 finding"], "\(found)")
    let refused = try BuiltCommand.run("verify", "job.yaml", "--details", "--format", "json", in: job.path)
    #expect(refused.status == 64, "\(refused)")
  }

  @Test func `what run --verify found is critical until a verification finds nothing`() throws {
    let job = try BreakableJob()
    try job.edit("job.yaml", "out/library.sqlite", "{path: out/library.sqlite, existing: replace}")
    #expect(try BuiltCommand.run("run", "job.yaml", "--verify", "--quiet", in: job.path).status == 0)
    let made = try Data(contentsOf: URL(filePath: job.file("out/library.sqlite")))
    try damage(job)
    let metrics = ["run", "job.yaml", "--verify", "--quiet", "--metrics", "godwit.prom"]
    #expect(try BuiltCommand.run(metrics, in: job.path).status == 4)
    let text = try String(contentsOfFile: job.file("godwit.prom"), encoding: .utf8)
    #expect(text.contains("exit_status{job=\"job\"} 4") && !text.contains("last_success"))
    let found = try BuiltCommand.run("status", "job.yaml", "--check", "--max-age", "26h", in: job.path)
    #expect(found.status == 2 && found.output.contains("finished; the last verification found 1 difference |"))
    let document = try BuiltCommand.run("status", "job.yaml", "--format", "json", in: job.path)
    let value = try JSONValue(parsing: document.output)
    #expect(try schema("status").findings(value) == [] && value["verifyFindings"] == .integer(1))
    #expect(value["lastSuccess"] == nil)
    try made.write(to: URL(filePath: job.file("out/library.sqlite")))
    #expect(try BuiltCommand.run("verify", "job.yaml", "--quiet", in: job.path).status == 0)
    #expect(try BuiltCommand.run("status", "job.yaml", "--check", "--max-age", "26h", in: job.path).status == 0)
  }

  @Test func `a verification that cannot be done leaves the summary of the migration`() throws {
    let job = try BreakableJob()
    let tell = #"if [ "$GODWIT_STATUS" = 66 ]; then cat >> told; fi"#
    try job.edit("job.yaml", "out/library.sqlite", "{path: out/library.sqlite, existing: replace}")
    try job.append("job.yaml", "on-failure: '\(tell)'\n")
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: job.path).status == 0)
    // The unfinished work of another job.
    let work = try WorkFolder(forDestination: job.file("out/library.sqlite")).path
    try WorkJournal(owner: .init(job: "other", appends: false)).write(in: work)
    try Data("x".utf8).write(to: URL(filePath: work + "/store.sqlite"))
    let run = try BuiltCommand.run("run", "job.yaml", "--verify", "--progress", "json", in: job.path)
    #expect(run.status == 66 && run.diagnostics.contains("the job is unfinished"), "\(run)")
    let line = try #require(run.output.split(separator: "\n").last)
    let summary = try JSONValue(parsing: String(line))
    #expect(try schema("progress").findings(summary) == [])
    #expect(summary["status"] == .integer(66) && summary["outcome"] == .string("already finished"))
    #expect(summary["losses"] != nil && summary["verifyFailure"]?.string?.contains("unfinished") == true)
    #expect(try String(contentsOfFile: job.file("told"), encoding: .utf8).contains("\"verifyFailure\""))
  }

  @Test func `a destination in a new folder with a name of one letter is made`() throws {
    let job = try BreakableJob()
    for destination in ["o/x.sqlite", "x", "a/b/c"] {
      let result = try BuiltCommand.run("run", "job.yaml", "--quiet", "--destination", destination, in: job.path)
      #expect(result.status == 0, "\(destination): \(result.diagnostics)")
      #expect(FileManager.default.fileExists(atPath: job.file(destination)))
    }
  }

  @Test func `the percent of run --verify is one for both, and never goes back`() throws {
    let job = try BreakableJob()
    // A short run has one plain line.
    let plain = try BuiltCommand.run("run", "job.yaml", "--verify", "--progress", "json", in: job.path)
    let percents = Self.percents(plain.output)
    #expect(percents.count > 5 && percents == percents.sorted() && percents.last == 100, "\(plain.output)")
    #expect(percents.contains { $0 < 50 } && percents.contains { $0 > 50 && $0 < 100 }, "\(plain.output)")
    #expect(plain.output.contains("\"name\":\"verify\""))
  }

  private static func percents(_ lines: String) -> [Double] {
    lines.matches(of: #/"percent":([0-9.]+)/#).compactMap { Double($0.1) }
  }

  @Test func `progress goes to standard error, and the report alone to standard output`() throws {
    let job = try finished()
    let silent = try BuiltCommand.run("verify", "job.yaml", in: job.path)
    #expect(silent.status == 0 && silent.diagnostics == "")
    let plain = try BuiltCommand.run("verify", "job.yaml", "--progress", "json", in: job.path)
    #expect(plain.output == silent.output)
    let percents = Self.percents(plain.diagnostics)
    #expect(percents.count > 3 && percents == percents.sorted(), "\(plain.diagnostics)")
    let json = try BuiltCommand.run("verify", "job.yaml", "--progress", "json", "--format", "json", in: job.path)
    for line in json.diagnostics.split(separator: "\n") {
      let value = try JSONValue(parsing: String(line))
      #expect(try schema("progress").findings(value) == [])
    }
    #expect(try schema("verify").findings(JSONValue(parsing: json.output)) == [])
  }

  @Test func `verify --quiet prints findings and nothing else`() throws {
    let job = try finished()
    let clean = try BuiltCommand.run("verify", "job.yaml", "--quiet", in: job.path)
    #expect(clean.status == 0 && clean.output + clean.diagnostics == "")
    try damage(job)
    let found = try BuiltCommand.run("verify", "job.yaml", "--quiet", in: job.path)
    #expect(found.status == 4 && found.output.contains("Book.pages p7"))
  }

  @Test func `a sample says what it did not look at`() throws {
    let job = try finished()
    let report = try BuiltCommand.run("verify", "job.yaml", "--sample", "0.001", "--details", in: job.path)
    #expect(report.status == 0)
    #expect(report.output.contains("not proved: objects of Book outside the sample"), "\(report.output)")
    try damage(job)
    #expect(try BuiltCommand.run("verify", "job.yaml", "--sample", "100", in: job.path).status == 4)
    let store = try StoreConnection(path: job.file("out/library.sqlite"))
    try store.execute("DELETE FROM ZBOOK WHERE Z_PK = 9")
    try store.execute("INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT) SELECT 4711, Z_ENT, 1 FROM ZBOOK LIMIT 1")
    try store.close()
    // Keys cost nothing to compare: all are looked at.
    let gone = try BuiltCommand.run("verify", "job.yaml", "--sample", "0.001", in: job.path)
    #expect(gone.status == 4 && gone.output.contains("missing object: Book p9"), "\(gone.output)")
    #expect(gone.output.contains("extra object: Book p4711"), "\(gone.output)")
    let refused = try BuiltCommand.run("verify", "job.yaml", "--sample", "0", in: job.path)
    #expect(refused.status == 64 && refused.diagnostics.contains("above 0"))
  }
}

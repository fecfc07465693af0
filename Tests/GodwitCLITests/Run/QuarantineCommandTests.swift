import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// A quarantine on the command line: the output, the exit status, and the text of the page Quarantine.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests")) struct QuarantineCommandTests {
  /// The job of the page, with two people whose age is not a number.
  private static func folder() throws -> TemporaryFolder {
    let folder = try GettingStartedTests.folder()
    let manifest = try #require(try DocumentationPage("Quarantine").blocks("yaml").first)
    try (manifest.replacing("max-percent: 0.1", with: "max-percent: 50") + "\n")
      .write(toFile: folder.file("job.yaml"), atomically: true, encoding: .utf8)
    let store = try StoreConnection(path: folder.file("people.sqlite"))
    try store.execute("UPDATE ZPERSON SET ZAGE = 'old' WHERE Z_PK IN (SELECT Z_PK FROM ZPERSON ORDER BY 1 LIMIT 2)")
    try store.close()
    return folder
  }

  @Test func `the commands of the page migrate what was edited`() throws {
    let folder = try Self.folder()
    let first = try BuiltCommand.run("run", "job.yaml", in: folder.path)
    #expect(first.status == 3, "\(first.diagnostics)")
    #expect(
      first.output.contains("quarantine 2 objects that validation rejects, in 'people-migrated.sqlite.quarantine"))
    #expect(first.output.contains("100.0% finished job"))
    let again = try BuiltCommand.run("run", "job.yaml", in: folder.path)
    #expect(again.status == 3 && again.output.contains("already finished"), "\(again.output)\(again.diagnostics)")
    #expect(try BuiltCommand.run("verify", "job.yaml", in: folder.path).status == 0)
    let source = try StoreConnection(path: folder.file("people.sqlite"))
    let key = try #require(try source.integer("SELECT MIN(Z_PK) FROM ZPERSON"))
    try source.close()
    let trace = ["trace", "job.yaml", "Person/p\(key)", "--side", "source"]
    let held = try BuiltCommand.run(trace, in: folder.path)
    #expect(held.status == 0 && held.output.contains("it is in the quarantine 'people-migrated"), "\(held)")
    let wrongType = "wrong type: Person.age: 2"
    #expect(try BuiltCommand.run("audit", "job.yaml", in: folder.path).output.contains(wrongType))

    let quarantine = "people-migrated.sqlite.quarantine.sqlite"
    let store = try StoreConnection(path: folder.file(quarantine))
    try store.execute("UPDATE ZPERSON SET ZAGE = 70 WHERE ZAGE = 'old'")
    try store.close()
    let script = try #require(try DocumentationPage("Quarantine").blocks("sh").first)
    let result = try GettingStartedTests.run(script, in: folder)
    #expect(result.status == 0, "\(result.diagnostics)")
    let told = "people-edited.sqlite: 2 objects edited, 0 not edited, 0 deleted"
    #expect(result.output.contains(told), "\(result.output)")
    let taken = ["quarantine", "apply", "old/" + quarantine, "people.sqlite", "-o", "people-edited.sqlite"]
    // The copy is what the command makes: nothing is left to do. A copy that was changed is refused.
    #expect(try BuiltCommand.run(taken, in: folder.path).status == 0)
    let edited = try StoreConnection(path: folder.file("people-edited.sqlite"))
    try edited.execute("UPDATE ZPERSON SET ZAGE = 71 WHERE ZAGE = 70")
    try edited.close()
    #expect(try BuiltCommand.run(taken, in: folder.path).status == 73)
    let wrong = try BuiltCommand.run(
      "quarantine", "apply", "people.sqlite", "people.sqlite", "-o", "other.sqlite", in: folder.path)
    #expect(wrong.status == 65 && wrong.diagnostics.contains("not a quarantine"), "\(wrong.diagnostics)")
  }

  @Test func `a copy is whole whenever it is there, also after the command was killed`() throws {
    let folder = try Self.folder()
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: folder.path).status == 3)
    let store = try StoreConnection(path: folder.file("people-migrated.sqlite.quarantine.sqlite"))
    try store.execute("UPDATE ZPERSON SET ZAGE = 70 WHERE ZAGE = 'old'")
    try store.close()
    let apply = "\"$GODWIT\" quarantine apply people-migrated.sqlite.quarantine.sqlite people.sqlite -o"
    #expect(try ShellCommand.run(apply + " whole.sqlite", in: folder.path).status == 0)
    let whole = try StoreDump(folder.file("whole.sqlite"))
    for round in 1...TestTier.choose(12, long: 60) {
      let copy = "copy-\(round).sqlite"
      for milliseconds in [round * 3, round * 5] {
        let seconds = "0.\(String(1000 + milliseconds).dropFirst())"
        _ = try ShellCommand.run("timeout -s KILL \(seconds) \(apply) \(copy)", in: folder.path)
        guard FileManager.default.fileExists(atPath: folder.file(copy)) else { continue }
        #expect(try StoreDump(folder.file(copy)) == whole, "\(round)")
      }
      if !FileManager.default.fileExists(atPath: folder.file(copy)) {
        let result = try ShellCommand.run("\(apply) \(copy)", in: folder.path)
        #expect(result.status == 0, "\(round): \(result.diagnostics)")
      }
      #expect(try StoreDump(folder.file(copy)) == whole, "\(round)")
    }
  }

  @Test func `the model of the page is that of the reasons`() throws {
    let page = try DocumentationPage("Quarantine")
    let text = try #require(page.blocks("xml").first)
    let model = try ManagedObjectModel(xcodeContents: text, name: "Quarantine", file: "contents")
    let source = try ManagedObjectModel(name: "1", entities: [EntityDescription(name: "Thing")])
    let known = try #require(try QuarantineModel.model(for: source).versionHashes[QuarantineModel.reasonEntity])
    #expect(model.versionHashes == [QuarantineModel.reasonEntity: known])
    // The table of the page explains each attribute.
    let rows = page.text.split(separator: "\n").filter { $0.hasPrefix("| `") }
    for attribute in try #require(model.entity(QuarantineModel.reasonEntity)).attributes {
      #expect(rows.contains { $0.contains("`\(attribute.name)`") }, "\(attribute.name)")
    }
  }

  @Test func `plan shows the limits and the file, also as JSON, and the summary has the counts`() throws {
    let folder = try Self.folder()
    let store = try StoreConnection(path: folder.file("people.sqlite"))
    // A filter that cannot be computed ends a plan.
    try store.execute("UPDATE ZPERSON SET ZAGE = 40 WHERE ZAGE = 'old'")
    try store.close()
    let limits =
      "at most 100 objects and 50.0 % of those that the job takes, in people-migrated.sqlite.quarantine.sqlite"
    for option in [[], ["--details"]] {
      let plan = try BuiltCommand.run(["plan", "job.yaml"] + option, in: folder.path)
      #expect(plan.status == 0 && plan.output.contains(limits), "\(plan.output)\(plan.diagnostics)")
    }
    let json = try BuiltCommand.run("plan", "job.yaml", "--format", "json", in: folder.path)
    let document = try JSONValue(parsing: json.output)
    #expect(try JSONSchema(named: "plan.schema.json").findings(document) == [])
    #expect(json.output.contains(limits))
  }

  @Test func `the last line of JSON progress has the status, the file and the counts`() throws {
    let folder = try Self.folder()
    let run = try BuiltCommand.run("run", "job.yaml", "--progress", "json", in: folder.path)
    #expect(run.status == 3)
    let line = try #require(run.output.split(separator: "\n").last)
    let schema = try JSONSchema(named: "progress.schema.json")
    #expect(try schema.findings(JSONValue(parsing: String(line))) == [])
    let summary = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(summary["status"] as? Int == 3)
    #expect(summary["quarantine"] as? String == "people-migrated.sqlite.quarantine.sqlite")
    let counts = try #require(summary["quarantined"] as? [[String: Any]])
    #expect(counts.count == 1 && counts[0]["entity"] as? String == "Person" && counts[0]["objects"] as? Int == 2)
    let receipt = try String(contentsOfFile: folder.file("people-migrated.sqlite.receipt.json"), encoding: .utf8)
    #expect(try JSONSchema(named: "receipt.schema.json").findings(JSONValue(parsing: receipt)) == [])
    #expect(receipt.contains("\"quarantined\" : 2"))
  }

  @Test func `a page shows a job whose filter cannot be computed, before and between its runs`() throws {
    let folder = try Self.folder()
    let page = folder.file("job.html")
    for setting in [nil, "on-invalid={quarantine: {max-rows: 1}}"] {
      if let setting {
        #expect(try BuiltCommand.run("run", "job.yaml", "--set", setting, in: folder.path).status == 65)
      }
      let report = try BuiltCommand.run("report", "job.yaml", "-o", page, in: folder.path)
      #expect(report.status == 0, "\(report)")
      #expect(try String(contentsOfFile: page, encoding: .utf8).contains("SETS ASIDE (3)"))
      let status = try BuiltCommand.run("status", "job.yaml", in: folder.path)
      #expect(status.output.hasPrefix("job job: \(setting == nil ? "not started" : "unfinished")"), "\(status)")
    }
  }

  @Test func `more rejected objects than allowed are status 65, and leave what resumes`() throws {
    let folder = try Self.folder()
    let setting = "on-invalid={quarantine: {max-rows: 1}}"
    let stopped = try BuiltCommand.run("run", "job.yaml", "--set", setting, in: folder.path)
    #expect(stopped.status == 65)
    #expect(stopped.diagnostics.contains("the job allows at most 1 object\n"), "\(stopped.diagnostics)")
    #expect(!FileManager.default.fileExists(atPath: folder.file("people-migrated.sqlite")))
    #expect(try BuiltCommand.run("run", "job.yaml", in: folder.path).status == 3)
  }
}

/// Runs with a quarantine that are killed.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests")) struct QuarantineCrashTests {
  private static func job(copying other: CrashJob? = nil) throws -> CrashJob {
    let job = try CrashJob(people: 60, rows: 20, copying: other)
    let manifest = try String(contentsOfFile: job.manifest, encoding: .utf8)
    try (manifest + "\non-invalid: {quarantine: {max-rows: 3}}\n")
      .write(toFile: job.manifest, atomically: true, encoding: .utf8)
    guard other == nil else { return job }
    let store = try StoreConnection(path: job.folder.file("people.sqlite"))
    // One cannot be computed, one is invalid then. The first has a file.
    try store.execute("UPDATE ZPERSON SET ZAGE = 32767 WHERE Z_PK = 11")
    try store.execute("UPDATE ZPERSON SET ZNAME = NULL WHERE Z_PK IN (5, 40)")
    try store.close()
    return job
  }

  private static func finish(_ job: CrashJob) throws -> [StoreDump] {
    let result = try BuiltCommand.run("run", job.manifest, "--progress", "plain")
    try #require(result.status == 3, "\(result.status) \(result.diagnostics)")
    let names = try FileManager.default.contentsOfDirectory(atPath: job.folder.file("out")).sorted()
    #expect(
      names == [
        ".people.sqlite.quarantine_SUPPORT", ".people_SUPPORT", "people.sqlite", "people.sqlite.quarantine.sqlite",
        "people.sqlite.receipt.json",
      ])
    return try [job.destination, job.destination + Quarantine.suffix].map { path in
      var dump = try StoreDump(path)
      var files: [String] = []
      try SupportFolder(ofStoreAt: path).forEachFile { files.append("file \($0) \($1)") }
      dump.lines += files.sorted()
      return dump
    }
  }

  @Test func `a run killed after any line resumes to the same destination and the same quarantine`() throws {
    let whole = try Self.job()
    let source = try Data(contentsOf: URL(filePath: whole.folder.file("people.sqlite")))
    let expected = try Self.finish(whole)
    var kills = 0
    for lines in stride(from: 2, through: .max, by: TestTier.choose(14, long: 1)) {
      let job = try Self.job(copying: whole)
      let ended = try BuiltCommand.runAndKill(job.manifest, afterLines: lines)
      let found = try Self.finish(job)
      for (one, other) in zip(found, expected) {
        #expect(one == other, "killed after \(lines) lines: \(one.firstDifference(from: other) ?? "")")
      }
      #expect(try Data(contentsOf: URL(filePath: job.folder.file("people.sqlite"))) == source)
      if ended { break }
      kills += 1
      try #require(lines < 400)
    }
    #expect(kills > TestTier.choose(2, long: 40))
  }

  @Test func `a run killed at random moments resumes, and a discarded one leaves nothing`() throws {
    let whole = try Self.job()
    let expected = try Self.finish(whole)
    let seed = momentSeed()
    var random = SeededGenerator(seed: seed)
    for round in 0..<TestTier.choose(2, long: 30) {
      let job = try Self.job(copying: whole)
      for _ in 0..<3 {
        if try BuiltCommand.runAndKill(job.manifest, seconds: 0.05 + Double.random(in: 0..<0.5, using: &random)) {
          break
        }
      }
      if round % 2 == 1, !FileManager.default.fileExists(atPath: job.destination) {
        let result = try BuiltCommand.run("discard", job.manifest)
        #expect(result.status == 0, "\(result.diagnostics)")
        let folder = job.folder.file("out")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        #expect(names == [], "seed \(seed)")
        continue
      }
      #expect(try Self.finish(job) == expected, "seed \(seed)")
    }
  }
}

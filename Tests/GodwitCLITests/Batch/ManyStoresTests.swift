import Foundation
import GodwitModel
import GodwitStore
import Logging
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitManifest

/// A manifest whose source is a pattern: each store is a job of its own.
struct ManyStoresTests {
  /// The job of a library for all stores of `stores`.
  static func job(_ count: Int, more: String = "") throws -> BreakableJob {
    let job = try BreakableJob()
    try job.edit("job.yaml", "source: library.sqlite", "source: \"stores/*.sqlite\"")
    try job.edit("job.yaml", "out/library.sqlite", "\"out/{name}.sqlite\"")
    if !more.isEmpty { try job.append("job.yaml", more) }
    try job.makeFolder("stores")
    for number in 1...max(1, count) { try Self.add(number, to: job) }
    try job.remove("library.sqlite")
    return job
  }

  static func name(_ number: Int) -> String { "u" + (number < 10 ? "0" : "") + "\(number)" }

  /// A store that differs from the others in its rows.
  private static func add(_ number: Int, to job: BreakableJob) throws {
    let store = "stores/\(name(number)).sqlite"
    try FileManager.default.copyItem(atPath: job.file("library.sqlite"), toPath: job.file(store))
    try job.sql("UPDATE ZBOOK SET ZPAGES = ZPAGES + \(number)", store: store)
  }

  static func run(_ job: BreakableJob, _ more: String...) throws -> BuiltCommand.Result {
    try BuiltCommand.run(["run", "job.yaml"] + more, in: job.path)
  }

  private static func dump(_ job: BreakableJob, _ number: Int) throws -> StoreDump {
    try StoreDump(job.file("out/\(name(number)).sqlite"))
  }

  static func lines(_ job: BreakableJob, _ name: String) throws -> [JSONValue] {
    let lines = try JSONValue.lines(String(contentsOfFile: job.file(name), encoding: .utf8))
    try check(lines)
    return lines
  }

  /// The lines of stores in the output of a run with `--progress json`.
  static func stores(_ result: BuiltCommand.Result) throws -> [JSONValue] {
    let lines = try JSONValue.lines(result.output)
    try check(lines)
    return lines.filter { $0["type"] == .string("store") }
  }

  static func check(_ lines: [JSONValue], _ schema: String = "progress") throws {
    let text = try #require(PublishedSchema.all.first { $0.name == schema }?.text)
    for line in lines { #expect(try JSONSchema(text: text).findings(line) == []) }
  }

  @Test func `stores of one size and version get the counts of others only while those agree`() throws {
    let job = try Self.job(4)
    let loader = try JobLoader(
      manifestPath: job.file("job.yaml"), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let stores = try loader.stores()
    /// The objects of each result, and whether it is a sample's.
    func results(_ objects: [Int64], least: Int) throws -> [String] {
      var samples = PlanSamples(least: least)
      return zip(stores, objects).map { store, count in
        let own = StoreResult(StorePlace(store), .planned)
        let result = try? samples.result(of: store.loader.job(), like: own) {
          guard count >= 0 else { throw GodwitError(.dataWrong, "a value is wrong") }
          var made = own
          made.objects = count
          return made
        }
        guard let result else { return "failed" }
        return "\(result.objects ?? -1)\(result.isSampled == true ? " sampled" : "")"
      } + [samples.text ?? ""]
    }
    #expect(
      try results([7, 7, 9, 9], least: 2)
        == ["7", "7", "7 sampled", "7 sampled", "2 of them counted from stores of the same size and version"])
    #expect(try results([7, 8, 9, 9], least: 2) == ["7", "8", "9", "9", ""])
    // Another store may fail as the first one did.
    #expect(try results([-1, 7, 7, 7], least: 2) == ["failed", "7", "7", "7", ""])
    // A store with a log, and one whose destination is there, are planned by themselves.
    try Data().write(to: URL(filePath: stores[2].path + "-wal"))
    try FileManager.default.createDirectory(atPath: job.file("out"), withIntermediateDirectories: true)
    try Data().write(to: URL(filePath: stores[3].destination))
    #expect(try results([7, 7, 9, 9], least: 2) == ["7", "7", "9", "9", ""])
  }

  @Test func `inspect of such a manifest shows its stores, with the versions that they have of its models`() throws {
    let job = try Self.job(2)
    let text = try BuiltCommand.run(["inspect", "job.yaml"], in: job.path)
    #expect(text.status == 0, "\(text.diagnostics)")
    let lines = text.output.split(separator: "\n")
    #expect(lines.count == 4 && lines[1].contains("job manifest"), "\(text.output)")
    #expect(lines[2].hasPrefix("stores/u01.sqlite") && lines[3].hasPrefix("stores/u02.sqlite"), "\(text.output)")
    #expect(lines[2].hasSuffix("Library"), "\(text.output)")
    let document = try BuiltCommand.run(["inspect", "job.yaml", "--format", "json"], in: job.path)
    #expect(try JSONValue(parsing: document.output).array?.count == 3)
  }

  @Test func `a store with objects in quarantine has status 3, and so has the whole`() throws {
    let job = try Self.job(3, more: "on-invalid: {quarantine: {max-rows: 9}}\n")
    try job.sql("UPDATE ZBOOK SET ZISBN = x'00' WHERE Z_PK = 3", store: "stores/u02.sqlite")
    for _ in 1...2 {
      let result = try Self.run(job, "--progress", "json")
      #expect(result.status == 3, "\(result.diagnostics)")
      #expect(try Self.stores(result).map { $0["status"] } == [.integer(0), .integer(3), .integer(0)])
    }
    #expect(FileManager.default.fileExists(atPath: job.file("out/u02.sqlite.quarantine.sqlite")))
  }

  @Test func `twelve stores, of which one is cut off, one of an unknown version, one finished`() throws {
    let job = try Self.job(12)
    let single = ["--source", "stores/u03.sqlite", "--destination", "out/u03.sqlite"]
    #expect(try BuiltCommand.run(["run", "job.yaml"] + single, in: job.path).status == 0)
    try job.cut("stores/u05.sqlite") { $0 / 2 }
    // A version hash that no model has.
    let store = "stores/u07.sqlite"
    try Self.forgetVersion(of: store, in: job)
    let before = try Data(contentsOf: URL(filePath: job.file(store)))
    let result = try Self.run(job, "--progress", "json")
    #expect(result.status == 69, "\(result.diagnostics)")
    let found = try Self.stores(result)
    #expect(found.map { $0["store"]?.string } == (1...12).map { "stores/\(Self.name($0)).sqlite" })
    let outcomes = found.compactMap { $0["outcome"]?.string }
    #expect(outcomes.count { $0 == "finished" } == 9 && outcomes[2] == "already finished")
    #expect(outcomes[4] == "failed" && outcomes[6] == "failed")
    #expect(found[4]["status"] == .integer(65) && found[6]["status"] == .integer(69))
    #expect(try Data(contentsOf: URL(filePath: job.file(store))) == before)
    let text = try Self.run(job)
    let rows = text.output.split(separator: "\n").filter { $0.hasPrefix("stores/") }
    #expect(rows.count == 12 && rows[4].contains(" 65  "))
    let last = try #require(text.output.split(separator: "\n").last)
    #expect(last.contains("12 stores: 10 already finished, 2 failed") && !last.hasPrefix("100.0%"))
    #expect(result.diagnostics.components(separatedBy: "godwit: ").count == 3, "\(result.diagnostics)")
    // The same command skips finished stores, and continues with mended ones.
    for (number, good) in [(5, 6), (7, 8)] {
      try job.remove("stores/\(Self.name(number)).sqlite")
      try FileManager.default.copyItem(
        atPath: job.file("stores/\(Self.name(good)).sqlite"), toPath: job.file("stores/\(Self.name(number)).sqlite"))
    }
    let second = try Self.run(job)
    #expect(second.status == 0, "\(second.diagnostics)")
    #expect(second.output.split(separator: "\n").last?.hasPrefix("100.0% 12 stores: ") == true)
    for number in 1...12 {
      #expect(FileManager.default.fileExists(atPath: job.file("out/\(Self.name(number)).sqlite.receipt.json")))
    }
  }

  /// Gives a store version hashes that belong to no model.
  private static func forgetVersion(of store: String, in job: BreakableJob) throws {
    let path = job.file(store)
    var bytes = try Data(contentsOf: URL(filePath: path))
    let hashes = try StoreMetadata(readingStoreAt: path).versionHashes.values.map { Data($0) }
    try #require(!hashes.isEmpty)
    for hash in hashes {
      let place = try #require(bytes.range(of: hash))
      bytes.replaceSubrange(place, with: Data(hash.map { $0 ^ 0xFF }))
    }
    try bytes.write(to: URL(filePath: path))
  }

  @Test func `three at a time, one at a time, and each alone make the same stores`() throws {
    let one = try Self.job(4)
    let three = try Self.job(4)
    try three.edit("job.yaml", "memory: 32 MiB", "memory: 48 MiB")
    let alone = try Self.job(4)
    // A store's own identity is that of its source.
    for number in 1...4 {
      for other in [three, alone] {
        try other.write(
          "stores/\(Self.name(number)).sqlite",
          Data(contentsOf: URL(filePath: one.file("stores/\(Self.name(number)).sqlite"))))
      }
    }
    #expect(try Self.run(one).status == 0)
    let result = try Self.run(three, "--jobs", "3", "--progress", "json")
    #expect(result.status == 0, "\(result.diagnostics)")
    let lines = try JSONValue.lines(result.output)
    try Self.check(lines)
    #expect(lines.map { $0["type"]?.string } == ["version", "store", "store", "store", "store", "summary"])
    #expect(lines.last?["finished"] == .integer(4) && lines.last?["objects"] == .integer(4 * 303))
    for number in 1...4 {
      let store = "\(Self.name(number)).sqlite"
      let run = try BuiltCommand.run(
        "run", "job.yaml", "--source", "stores/" + store, "--destination", "out/" + store, "--quiet", in: alone.path)
      #expect(run.status == 0, "\(run.diagnostics)")
      let expected = try Self.dump(alone, number)
      #expect(try Self.dump(one, number).firstDifference(from: expected) == nil)
      #expect(try Self.dump(three, number).firstDifference(from: expected) == nil)
    }
    #expect(try Self.dump(one, 1) != Self.dump(one, 2))
  }

  @Test func `a run that is killed in the middle goes on`() throws {
    // The third store waits for a file, so that the kill comes while it is at work.
    let hook = "case $GODWIT_STORE in *u03*) touch waiting; while ! test -e go; do sleep 0.02; done;; esac"
    let job = try Self.job(4, more: "stages: [{step: Library 2, before: '\(hook)'}]\n")
    let process = Process()
    process.executableURL = URL(filePath: try #require(BuiltCommand.path))
    process.arguments = ["run", "job.yaml", "--progress", "json"]
    process.currentDirectoryURL = URL(filePath: job.path)
    try job.write("lines", "")
    process.standardOutput = try FileHandle(forWritingTo: URL(filePath: job.file("lines")))
    try process.start()
    while process.isRunning, !FileManager.default.fileExists(atPath: job.file("waiting")) { usleep(5000) }
    kill(process.processIdentifier, SIGKILL)
    // The hook goes on for itself, and holds what `wait` waits for.
    try job.write("go", "")
    process.wait()
    #expect(process.terminationReason == .uncaughtSignal)
    #expect(
      try Self.lines(job, "lines").map { $0["type"] } == [.string("version"), .string("store"), .string("store")])
    #expect(!FileManager.default.fileExists(atPath: job.file("out/u03.sqlite")))
    let second = try Self.run(job, "--progress", "json")
    #expect(second.status == 0, "\(second.diagnostics)")
    let outcomes = try Self.stores(second).map { $0["outcome"]?.string }
    #expect(outcomes == ["already finished", "already finished", "finished", "finished"])
    #expect(try Self.run(job, "--quiet").output.isEmpty)
  }

  @Test func `a signal stops all jobs, and the process dies by it`() throws {
    let hook = "case $GODWIT_STORE in *u02*|*u03*) touch waiting; sleep 1;; esac"
    let job = try Self.job(4, more: "stages: [{step: Library 2, before: '\(hook)'}]\non-failure: touch called\n")
    let process = Process()
    process.executableURL = URL(filePath: try #require(BuiltCommand.path))
    process.arguments = ["run", "job.yaml", "--progress", "json", "--jobs", "2"]
    process.currentDirectoryURL = URL(filePath: job.path)
    try job.write("lines", "")
    process.standardOutput = try FileHandle(forWritingTo: URL(filePath: job.file("lines")))
    process.standardError = FileHandle.nullDevice
    try process.start()
    while process.isRunning, !FileManager.default.fileExists(atPath: job.file("waiting")) { usleep(5000) }
    kill(process.processIdentifier, SIGTERM)
    process.wait()
    #expect(process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGTERM)
    let stopped = try Self.lines(job, "lines").filter {
      $0["type"] == .string("store") && $0["outcome"] == .string("stopped")
    }
    #expect(!stopped.isEmpty && stopped.allSatisfy { $0["status"] == .integer(143) })
    #expect(!FileManager.default.fileExists(atPath: job.file("called")))
    #expect(try Self.run(job).status == 0)
  }

  @Test func `the commands for the end of a run are called once, with all stores`() throws {
    let keep = "cat >>summaries; echo $GODWIT_STATUS $GODWIT_OUTCOME $GODWIT_JOB >>variables"
    let job = try Self.job(3, more: "on-success: \(keep)\non-failure: \(keep)\n")
    try job.cut("stores/u02.sqlite") { $0 / 2 }
    #expect(try Self.run(job).status == 65)
    try job.remove("stores/u02.sqlite")
    #expect(try Self.run(job).status == 0)
    let summaries = try Self.lines(job, "summaries")
    #expect(summaries.map { $0["outcome"]?.string } == ["failed", "finished"])
    #expect(summaries.map { $0["results"]?.array?.count } == [3, 2])
    #expect(summaries.first?["failed"] == .integer(1) && summaries.last?["alreadyFinished"] == .integer(2))
    let variables = try String(contentsOfFile: job.file("variables"), encoding: .utf8)
    #expect(variables == "65 failed job\n0 finished job\n")
  }

  @Test func `plan, why, status and verify show all stores, and the other verbs ask for one`() throws {
    let job = try Self.job(2)
    func document(_ arguments: String..., status: Int32 = 0) throws -> [String?] {
      let result = try BuiltCommand.run(arguments + ["job.yaml", "--format", "json"], in: job.path)
      #expect(result.status == status, "\(result.diagnostics)")
      let value = try JSONValue(parsing: result.output)
      try Self.check([value], "stores")
      #expect(value["verb"]?.string == arguments[0])
      return (value["stores"]?.array ?? []).map { $0["outcome"]?.string }
    }
    #expect(try document("why", status: 2) == ["migration needed", "migration needed"])
    #expect(try document("plan") == ["planned", "planned"])
    #expect(try document("plan", "--detailed-exitcode", status: 2) == ["planned", "planned"])
    #expect(try document("status") == ["not started", "not started"])
    #expect(!FileManager.default.fileExists(atPath: job.file("out")))
    #expect(try Self.run(job, "--verify").status == 0)
    #expect(try document("status") == ["finished", "finished"])
    #expect(try document("plan") == ["already finished", "already finished"])
    #expect(try document("verify") == ["proved", "proved"])
    try job.sql("UPDATE ZBOOK SET ZPAGES = 0 WHERE Z_PK = 7", store: "out/u02.sqlite")
    #expect(try document("verify", status: 4) == ["proved", "differs"])
    #expect(try Self.run(job, "--verify").status == 4)
    for arguments in [
      ["audit", "job.yaml"], ["discard", "job.yaml"], ["report", "job.yaml", "-o", "page.html"],
      ["trace", "job.yaml", "Book/p1"], ["plan", "job.yaml", "--details"],
    ] {
      let result = try BuiltCommand.run(arguments, in: job.path)
      #expect(result.status == 78, "\(arguments)")
      #expect(result.diagnostics.contains("--source FILE --destination FILE"), "\(arguments): \(result.diagnostics)")
      let one = ["--source", "stores/u01.sqlite", "--destination", "out/u01.sqlite"]
      if arguments.last != "Book/p1" {
        #expect(try BuiltCommand.run(arguments + one, in: job.path).status == 0, "\(arguments)")
      }
    }
  }

  @Test func `a share of the memory that is too small, and options that do not go with it`() throws {
    let job = try Self.job(1)
    let small = try Self.run(job, "--jobs", "3")
    #expect(small.status == 78 && small.diagnostics.contains("cannot share 32 MiB among 3 jobs"))
    #expect(try Self.run(job, "--jobs", "0").status == 64)
    #expect(try Self.run(job, "--jobs", "65").status == 64)
    #expect(try Self.run(job, "--metrics", "m.prom").status == 64)
    let one = ["--source", "stores/u01.sqlite", "--destination", "out/one.sqlite", "--jobs", "2"]
    #expect(try BuiltCommand.run(["run", "job.yaml"] + one, in: job.path).status == 64)
    #expect(!FileManager.default.fileExists(atPath: job.file("out")))
  }

  @Test func `in place, the second run passes by every store and its old one`() throws {
    let job = try Self.job(2)
    try job.edit("job.yaml", "destination: \"out/{name}.sqlite\"", "destination: {existing: in-place}")
    #expect(try Self.run(job).status == 0)
    let second = try Self.run(job, "--verify")
    #expect(second.status == 0, "\(second.diagnostics)")
    #expect(second.output.contains("2 stores: 2 already finished"), "\(second.output)")
    let names = try FileManager.default.contentsOfDirectory(atPath: job.file("stores")).sorted()
    #expect(names == ["u01.sqlite", "u01~.sqlite", "u02.sqlite", "u02~.sqlite"])
  }

  @Test func `the worst status is the first of a fixed order`() {
    #expect(StoreTable.worst(of: [0, 75, 65, 69]) == 69)
    #expect(StoreTable.worst(of: [0, 75]) == 75 && StoreTable.worst(of: [75, 4]) == 4)
    #expect(StoreTable.worst(of: [70, 143]) == 143 && StoreTable.worst(of: [] as [Int32]) == 0)
    let known = Set((1...255).compactMap { GodwitError.Code(rawValue: $0)?.rawValue })
    #expect(known.subtracting(StoreTable.worstFirst) == [])
  }

  @Test func `the percent never goes backwards, and is 100 only when every store is finished`() throws {
    let stream = TextStream.memory()
    let progress = BatchProgress(mode: .plain, isQuiet: false, stream: stream)
    #expect(progress.percent == "0.0%", "no store is known")
    progress.setStores(sizes: [0, 4096, 1 << 20])
    let place = ManifestStore(
      path: "a", destination: "b",
      loader: JobLoader(
        manifest: JobManifest(askingFor: "a", to: "b", models: [], destinationModel: nil, folder: "/"),
        logger: Logger(label: "godwit"), policies: [:]))
    var shown: [String] = []
    for percent in [10.0, 60, 30, 100] {
      progress.update(2, percent: percent)
      shown.append(progress.percent)
    }
    #expect(shown[1] == shown[2] && shown[3] != "100.0%")
    try progress.ended(2, StoreResult(StorePlace(place), .finished))
    try progress.ended(1, StoreResult(StorePlace(place), .failed, status: 65))
    try progress.ended(0, StoreResult(StorePlace(place), .alreadyFinished))
    // One plain line a second, apart from those of stores that fail.
    let lines = stream.text.split(separator: "\n")
    #expect(progress.percent != "100.0%" && lines.count == 1 && lines[0].contains(" a failed, "), "\(lines)")
  }

  @Test func `a quiet run tells of a receipt that cannot be written, and of nothing else`() throws {
    let one = try BreakableJob()
    try one.makeFolder("out")
    try one.write("out/library.sqlite.receipt.json", "mine")
    let alone = try Self.run(one, "--quiet")
    #expect(alone.status == 0 && alone.output.isEmpty, "\(alone.output)")
    #expect(alone.diagnostics.hasPrefix("godwit: warning: no receipt was written: "), "\(alone.diagnostics)")
    #expect(alone.diagnostics.split(separator: "\n").count == 1)

    let many = try Self.job(2)
    try many.makeFolder("out")
    try many.write("out/u01.sqlite.receipt.json", "mine")
    let result = try Self.run(many, "--quiet")
    #expect(result.status == 0 && result.output.isEmpty, "\(result.output)")
    let lines = result.diagnostics.split(separator: "\n")
    #expect(lines.count == 1 && lines[0].contains("stores/u01.sqlite': no receipt was written"), "\(lines)")
    #expect(FileManager.default.fileExists(atPath: many.file("out/u02.sqlite.receipt.json")))
  }
}

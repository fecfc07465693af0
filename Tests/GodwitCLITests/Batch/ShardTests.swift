import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import Synchronization
import TestSupport
import Testing

@testable import GodwitCLI

/// Shards of many stores, with their results in a folder.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
struct ShardTests {
  private static func lines(_ fixture: ShardFixture) throws -> [String] {
    try fixture.results().map { "\($0["key"]?.string ?? "?") \($0["outcome"]?.string ?? "?")" }.sorted()
  }

  private static func key(_ number: Int) -> String { String(ShardFixture.name(number).dropFirst("stores/".count)) }

  @Test func `a store belongs to the shard that its key hashes to, on every machine`() {
    // By Python's hashlib: int.from_bytes(sha256(key).digest()[:8], "big") % N + 1.
    let expected: [(String, [Int])] = [
      ("a.sqlite", [2, 7, 4, 934, 407578]), ("a/u00.sqlite", [2, 1, 10, 50, 979556]),
      ("b/u01.sqlite", [2, 5, 2, 222, 91604]), ("ü/日.sqlite", [2, 2, 6, 326, 79733]), ("", [1, 2, 3, 653, 873907]),
    ]
    for (key, numbers) in expected {
      #expect([2, 7, 10, 1000, 999_983].map { StoreShard.number(of: key, count: $0) } == numbers, "\(key)")
    }
    #expect(StoreShard("3/10")?.description == "3/10")
    for text in ["0/3", "4/3", "1", "1/0", "-1/3", "1/2/3", "a/b", "1/1000001", " 1/2", "1/"] {
      #expect(StoreShard(text) == nil, "\(text)")
    }
  }

  @Test func `two stores whose names look alike are two stores`() throws {
    let fixture = try ShardFixture(stores: 1)
    for name in ["\u{E9}", "e\u{301}"] {
      try FileManager.default.copyItem(
        atPath: fixture.file(ShardFixture.name(0)), toPath: fixture.file("stores/a/\(name).sqlite"))
    }
    try fixture.run("1/1", status: 0)
    try fixture.run("1/1", status: 0)
    let status = try fixture.status()
    #expect(status["finished"] == .integer(3) && status["left"] == .integer(0), "\(status)")
    #expect(try fixture.results().count == 3)
  }

  @Test func `every store is migrated or recorded once, whatever the shards`() throws {
    let fixture = try ShardFixture(stores: 30, invalid: [7, 20])
    var statuses: [Int32] = []
    for number in 1...4 { statuses.append(try fixture.godwit("run", "job.yaml", "--shard", "\(number)/4").status) }
    let bad = Set([7, 20].map { StoreShard.number(of: Self.key($0), count: 4) })
    #expect(statuses == (1...4).map { bad.contains($0) ? 65 : 0 })
    let expected = (0..<30).map { "\(Self.key($0)) \([7, 20].contains($0) ? "failed" : "finished")" }.sorted()
    #expect(try Self.lines(fixture) == expected)
    for number in 0..<30 {
      let isThere = FileManager.default.fileExists(atPath: fixture.file(ShardFixture.destination(number)))
      #expect(isThere == ![7, 20].contains(number))
    }
    // A run of one store makes the same.
    for number in [0, 1, 2] {
      let run = try fixture.godwit(
        "run", "job.yaml", "--source", ShardFixture.name(number), "--destination", "alone/\(number).sqlite", "--quiet")
      #expect(run.status == 0, "\(run.diagnostics)")
      let (made, alone) = (fixture.file(ShardFixture.destination(number)), fixture.file("alone/\(number).sqlite"))
      #expect(try StoreDump(made).firstDifference(from: StoreDump(alone)) == nil)
    }
    let status = try fixture.status()
    #expect(status["finished"] == .integer(28) && status["failed"] == .integer(2) && status["left"] == .integer(0))
    #expect(status["objects"] == .integer(28 * 4) && status["failures"]?[0]?["count"] == .integer(2))
    // The next runs have nothing to do, and write nothing.
    for number in 1...4 { try fixture.run("\(number)/4", status: statuses[number - 1]) }
    #expect(try Self.lines(fixture) == expected)
    let report = try fixture.godwit("report", "job.yaml", "-o", "page.html")
    #expect(report.status == 0, "\(report.diagnostics)")
    #expect(try String(contentsOfFile: fixture.file("page.html"), encoding: .utf8).contains("u07.sqlite"))
  }

  @Test func `a store that has failed runs again with --retry, and a repaired one without it`() throws {
    let fixture = try ShardFixture(stores: 4, invalid: [1, 2])
    try fixture.run(status: 65)
    try fixture.run(status: 65)
    #expect(try fixture.results().count == 4)
    try fixture.run("1/1", "--retry", status: 65)
    #expect(try fixture.results().count == 6)
    try fixture.add(1)
    try fixture.run(status: 65)
    #expect(try Self.lines(fixture).filter { $0.hasSuffix("finished") }.count == 3)
    // A destination that went is made again.
    try FileManager.default.removeItem(atPath: fixture.file(ShardFixture.destination(0)))
    try fixture.run(status: 65)
    #expect(FileManager.default.fileExists(atPath: fixture.file(ShardFixture.destination(0))))
    #expect(try fixture.status()["failed"] == .integer(1))
  }

  @Test func `more failures than max-failed stop a shard`() throws {
    for (limit, count) in [("max-failed: 1", 2), ("max-failed: 20 %", 2), ("max-failed: 100 %", 5)] {
      let fixture = try ShardFixture(stores: 9, invalid: [0, 1, 2, 3, 4], limits: limit)
      let run = try fixture.run(status: 65)
      #expect(run.diagnostics.contains("max-failed") == (count == 2), "\(run.diagnostics)")
      #expect(try fixture.results().count { $0["outcome"] == .string("failed") } == count, "\(limit)")
      #expect(try fixture.results().count == (count == 2 ? 2 : 9), "\(limit)")
    }
  }

  @Test func `what is wrong with a machine stops a shard with 74, and nothing is recorded`() throws {
    let fixture = try ShardFixture(stores: 4)
    func move(_ old: String, _ new: String) throws {
      try FileManager.default.moveItem(atPath: fixture.file(old), toPath: fixture.file(new))
    }
    try move("stores", "away")
    #expect(try fixture.run(status: 74).diagnostics.contains("cannot read the folder of the stores"))
    try FileManager.default.createDirectory(atPath: fixture.file("stores"), withIntermediateDirectories: false)
    #expect(try fixture.run(status: 74).diagnostics.contains("there is nothing in the folder of the stores"))
    try FileManager.default.removeItem(atPath: fixture.file("stores"))
    try move("away", "stores")
    #expect(!FileManager.default.fileExists(atPath: fixture.file("results")))
    try fixture.run("1/2")
    try move("out", "away")
    #expect(try fixture.run("1/2", status: 74).diagnostics.contains("is away"))
    try move("away", "out")
    try move("Notes.xcdatamodeld", "models")
    #expect(try fixture.godwit("run", "job.yaml", "--shard", "2/2").status != 0)
    try move("models", "Notes.xcdatamodeld")
    try fixture.run("2/2")
    #expect(try Self.lines(fixture) == (0..<4).map { Self.key($0) + " finished" }.sorted())
  }

  @Test func `stores that go away while a shard runs are not recorded as missing`() throws {
    let hook = "stages: [{step: Notes 4, before: 'test -e moved || { touch moved; mv stores away; }'}]\n"
    let fixture = try ShardFixture(stores: 5, job: hook, limits: "jobs: 1")
    #expect(try fixture.run(status: 74).diagnostics.contains("cannot read the folder of the stores"))
    #expect(try fixture.results().allSatisfy { $0["outcome"] != .string("failed") })
    #expect(!FileManager.default.fileExists(atPath: fixture.file("results/1-of-1.begun")))
    try FileManager.default.moveItem(atPath: fixture.file("away"), toPath: fixture.file("stores"))
    try fixture.run()
    #expect(try fixture.status()["finished"] == .integer(5))
  }

  @Test func `failures that are recorded are told by every run, by the status, the page and a monitor`() throws {
    let fixture = try ShardFixture(stores: 9, invalid: [0, 1, 2, 3, 4, 5, 6, 7])
    try fixture.run(status: 65)
    // A quiet run that tries nothing again.
    let second = try fixture.godwit("run", "job.yaml", "--shard", "1/1", "--quiet")
    #expect(second.status == 65 && second.output.isEmpty)
    #expect(second.diagnostics.contains("8 stores of shard 1/1 failed in earlier runs"), "\(second.diagnostics)")
    let status = try fixture.godwit("status", "job.yaml").output
    #expect(status.contains("8 failed") && status.hasSuffix("  and 3 more\n"), "\(status)")
    #expect(try fixture.godwit("report", "job.yaml", "-o", "page.html").status == 0)
    #expect(try String(contentsOfFile: fixture.file("page.html"), encoding: .utf8).contains("and 3 more."))
    let check = try fixture.godwit("status", "job.yaml", "--check")
    #expect(check.status == 2 && check.output.contains("8 CRITICAL, 1 OK; "), "\(check.output)")
    #expect(check.output.contains("status 65: "), "\(check.output)")
    // A mended store is tried again.
    for number in 0..<8 { try fixture.add(number) }
    let third = try fixture.godwit("run", "job.yaml", "--shard", "1/1", "--quiet")
    #expect(third.status == 0 && third.diagnostics.isEmpty, "\(third.diagnostics)")
  }

  @Test func `numbers at the end of their range in the note of what has begun are no trap`() throws {
    let fixture = try ShardFixture(stores: 1)
    try fixture.run()
    let key = Self.key(0)
    for number in [Int64.max, .min, -1] {
      try fixture.write(
        "results/1-of-1.begun", "{\"running\":[\"\(key)\"],\"repeated\":[\"\(key)\"],\"deaths\":{\"\(key)\":\(number)}}"
      )
      try fixture.run()
    }
  }

  @Test func `a receipt that found no place is written by a later run`() throws {
    let fixture = try ShardFixture(stores: 2)
    let receipt = fixture.file("out/a/u00.sqlite.receipt.json")
    try FileManager.default.createDirectory(atPath: receipt, withIntermediateDirectories: true)
    for _ in 0..<2 {
      let run = try fixture.godwit("run", "job.yaml", "--shard", "1/1", "--quiet")
      #expect(run.status == 0 && run.diagnostics.contains("no receipt was written"), "\(run.diagnostics)")
    }
    #expect(try fixture.status()["objects"] == .integer(8))
    try FileManager.default.removeItem(atPath: receipt)
    for _ in 0..<2 {
      let run = try fixture.godwit("run", "job.yaml", "--shard", "1/1", "--quiet")
      #expect(run.status == 0 && run.diagnostics.isEmpty, "\(run.diagnostics)")
    }
    #expect(FileManager.default.fileExists(atPath: receipt))
    #expect(!FileManager.default.fileExists(atPath: fixture.file("out/a/u00.sqlite.godwit")))
    // No store runs again, and the objects of the first run are counted once.
    #expect(try fixture.results().count == 4 && fixture.status()["objects"] == .integer(8))
  }

  @Test(arguments: [
    "out/a/u00.sqlite", "out/a/u00.sqlite-wal", "out/a/u00.sqlite.receipt.json", "out/a/u00.sqlite.godwit",
    "out/a/.u00_SUPPORT", "stores/a/u00.sqlite-wal", "stores/a/u00.sqlite-journal", "stores/a/u00.sqlite-shm",
  ])
  func `the results folder takes no name of a job's file`(name: String) throws {
    let fixture = try ShardFixture(stores: 2)
    let job = try String(contentsOfFile: fixture.file("job.yaml"), encoding: .utf8)
    try fixture.write("job.yaml", job.replacing("results: results", with: "results: \(name)"))
    let run = try fixture.run(status: 64)
    #expect(run.diagnostics.contains("cannot write results to"), "\(run.diagnostics)")
    #expect(!FileManager.default.fileExists(atPath: fixture.file(name)))
    #expect(!FileManager.default.fileExists(atPath: fixture.file("out")))
  }

  /// The percents of the lines of a run, in their order.
  private static func percents(_ result: BuiltCommand.Result) -> [Double] {
    result.output.split(separator: "\n").compactMap { line in
      line.split(separator: " ").first.flatMap { $0.hasSuffix("%") ? Double($0.dropLast()) : nil }
    }
  }

  @Test func `the percent goes on where the earlier run ended`() throws {
    let fixture = try ShardFixture(stores: 5, invalid: [4], limits: "max-failed: 100 %")
    // Three of five stores are finished, and one has failed.
    try FileManager.default.moveItem(atPath: fixture.file(ShardFixture.name(3)), toPath: fixture.file("kept"))
    try fixture.run(status: 65)
    try FileManager.default.moveItem(atPath: fixture.file("kept"), toPath: fixture.file(ShardFixture.name(3)))
    let second = try fixture.run(status: 65)
    let percents = Self.percents(second)
    // The store that failed does not run, so not every store is finished.
    #expect(percents.allSatisfy { $0 >= 70 && $0 < 100 } && percents == percents.sorted(), "\(second.output)")
    let third = try fixture.run(status: 65)
    #expect(Self.percents(third).allSatisfy { $0 < 100 }, "\(third.output)")
    try fixture.add(4)
    let last = try fixture.run()
    #expect(Self.percents(last).last == 100, "\(last.output)")
    #expect(Self.percents(try fixture.run()) == [100])
  }

  @Test func `a list names the stores, and a missing one fails alone`() throws {
    let fixture = try ShardFixture(stores: 3)
    let job = try String(contentsOfFile: fixture.file("job.yaml"), encoding: .utf8)
    try fixture.write("job.yaml", job.replacing("source: \"stores/**/*.sqlite\"", with: "source: {list: stores/list}"))
    try fixture.write("stores/list", "a/u00.sqlite\r\n\nb/u01.sqlite\na/none.sqlite\nb/u01.sqlite\n")
    let listed = try fixture.run(status: 65)
    #expect(listed.diagnostics.contains("stores/list:4:1: cannot read store 'stores/a/none.sqlite'"), "\(listed)")
    #expect(listed.diagnostics.contains("correct the line of the list, or remove it"), "\(listed)")
    #expect(
      try Self.lines(fixture) == ["a/none.sqlite failed", "a/u00.sqlite finished", "b/u01.sqlite finished"])
    #expect(FileManager.default.fileExists(atPath: fixture.file("out/b/u01.sqlite")))
    try fixture.write("stores/list", "\n")
    try fixture.run(status: 66)
  }

  @Test(.enabled(if: TestTier.isLong && BuiltCommand.canMeasure))
  func `a process that works off a shard keeps no path of the others`() throws {
    let fixture = try ShardFixture(stores: 1)
    let job = try String(contentsOfFile: fixture.file("job.yaml"), encoding: .utf8)
    try fixture.write(
      "job.yaml",
      job.replacing("source: \"stores/**/*.sqlite\"", with: "source: {list: list}")
        .replacing("destination: \"out/{folder}/{name}.sqlite\"", with: "destination: \"out/{name}.sqlite\""))
    func peak(_ stores: Int) throws -> Int64 {
      try fixture.write("list", (0..<stores).map { "none/user-\(1_000_000 + $0).sqlite\n" }.joined())
      return try BuiltCommand.peakBytes(
        ["run", fixture.file("job.yaml"), "--quiet", "--shard", "1/1000"], statuses: [65, 66, 74])
    }
    let (few, many) = (try peak(1000), try peak(41_000))
    #expect((many - few) / 40_000 < 250, "\(few), \(many)")
  }

  @Test func `two processes do not run one shard, and a killed one is resumed`() throws {
    let hook =
      "stages: [{step: Notes 4, before: 'test -e begun || { touch begun; while ! test -e go; do sleep 0.02; done; }'}]\n"
    let fixture = try ShardFixture(stores: 6, job: hook)
    let process = try fixture.start("run", "job.yaml", "--shard", "1/1")
    fixture.wait(for: "begun", of: process)
    let second = try fixture.run(status: 75)
    #expect(second.diagnostics.contains("another process works on it"), "\(second.diagnostics)")
    #expect(try fixture.status()["running"] == .array([.string("1/1")]))
    kill(process.processIdentifier, SIGKILL)
    // The hook goes on for itself, and holds what `wait` waits for.
    try fixture.write("go", "")
    process.wait()
    try fixture.run()
    #expect(try Self.lines(fixture) == (0..<6).map { Self.key($0) + " finished" }.sorted())
  }

  @Test func `of two runs that make the results folder at once, the one without the lock ends with 75`() throws {
    let fixture = try ShardFixture(stores: 1)
    let folder = try ResultsFolder(JobManifest(contentsOf: fixture.file("job.yaml")))
    let shard = try #require(StoreShard("1/1"))
    let layer = try FaultLayer(.none)
    var first: FileLock?
    layer.beforeEach = { operation in
      // This run has looked for the marker, and found none. The other one is faster.
      guard operation.path.hasSuffix("/made-by-godwit"), first == nil else { return }
      #expect(throws: Never.self) {
        try folder.make(like: fixture.file("stores"))
        first = try folder.lock(shard)
      }
    }
    let error = #expect(throws: GodwitError.self) {
      try layer.run {
        try folder.make(like: fixture.file("stores"))
        _ = try folder.lock(shard)
      }
    }
    #expect(first != nil && error?.code == .stopped && error?.stopReason == .locked, "\(String(describing: error))")
    // The same as processes.
    #expect(try fixture.run(status: 75).diagnostics.contains("another process works on it"))
    withExtendedLifetime(first) {}
    first = nil
    try fixture.run()
  }

  @Test func `a file that another shard removes meanwhile does not make a results folder foreign`() throws {
    let fixture = try ShardFixture(stores: 1)
    let folder = try ResultsFolder(JobManifest(contentsOf: fixture.file("job.yaml")))
    try folder.make(like: fixture.file("stores"))
    let path = folder.attemptsPath(try #require(StoreShard("1/2")))
    let isOver = Mutex(false)
    let other = Thread {
      while !isOver.withLock({ $0 }) {
        close(open(path, O_WRONLY | O_CREAT, 0o600))
        unlink(path)
      }
    }
    other.start()
    defer { isOver.withLock { $0 = true } }
    for _ in 0..<5000 { try folder.check() }
  }

  @Test func `a store that kills its process three times is recorded as failed`() throws {
    let hook = "stages: [{step: Notes 4, before: 'case $GODWIT_STORE in *u01*) kill -9 $PPID;; esac'}]\n"
    let fixture = try ShardFixture(stores: 4, job: hook, limits: "jobs: 1")
    var ends: [Int32] = []
    for _ in 0..<6 {
      ends.append(try fixture.godwit("run", "job.yaml", "--shard", "1/1").status)
      if ends.last == 65 { break }
    }
    #expect(ends.last == 65 && ends.count == 4, "\(ends)")
    let failed = try fixture.results().filter { $0["outcome"] == .string("failed") }
    #expect(failed.map { $0["status"] } == [.integer(70)], "\(failed)")
    #expect(try fixture.status()["finished"] == .integer(3))
  }

  @Test func `a results folder that is not ours is left alone`() throws {
    let fixture = try ShardFixture(stores: 1)
    try FileManager.default.createDirectory(atPath: fixture.file("results"), withIntermediateDirectories: false)
    try fixture.write("results/mine", "x")
    #expect(try fixture.run(status: 73).diagnostics.contains("Godwit did not make it"))
    try FileManager.default.removeItem(atPath: fixture.file("results"))
    try FileManager.default.createSymbolicLink(atPath: fixture.file("results"), withDestinationPath: "stores")
    #expect(try fixture.run(status: 73).diagnostics.contains("it is a symbolic link"))
    try FileManager.default.removeItem(atPath: fixture.file("results"))
    try fixture.run()
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: fixture.file("results")).sorted()
        == ["1-of-1.jsonl", "1-of-1.lock", "made-by-godwit"])
    try fixture.write("results/mine", "x")
    try fixture.run(status: 73)
  }

  @Test func `the page does what it says`() throws {
    let page = try DocumentationPage("ManyStores")
    let fixture = try ShardFixture(stores: 3)
    let yaml = try #require(page.blocks.first { $0.language == "yaml" })
    try fixture.write("job.yaml", yaml.text.replacing("users/", with: "stores/") + "\n")
    let shells = page.blocks.filter { $0.language == "sh" }.map(\.text)
    for line in shells[0].split(separator: "\n") {
      let words = line.split(separator: " ").dropFirst().map(String.init)
      let result = try BuiltCommand.run(words, in: fixture.path)
      #expect(result.status == 0, "\(line): \(result.diagnostics)")
    }
    #expect(try fixture.status()["finished"] == .integer(3))
    let sum = try ShellCommand.run(shells[1], in: fixture.path).output.trimmingCharacters(in: .whitespacesAndNewlines)
    let value = try #require(UInt64(sum, radix: 16))
    #expect(StoreShard.number(of: "a/u00.sqlite", count: 10) == Int(value % 10) + 1)
  }

  @Test func `a store that another shard finds finished keeps its objects in the counts`() throws {
    let fixture = try ShardFixture(stores: 2)
    try fixture.run("1/1")
    for number in 1...3 { try fixture.run("\(number)/3") }
    #expect(try fixture.results().count == 4)
    #expect(try fixture.status()["objects"] == .integer(8))
    // The file of the later run may be the first one by its name.
    let other = try ShardFixture(stores: 2)
    for number in 1...3 { try other.run("\(number)/3") }
    sleep(1)
    try other.run("1/1")
    #expect(try other.status()["objects"] == .integer(8))
  }

  @Test func `a later proof keeps objects and losses, and known differences are proved again`() throws {
    let fixture = try ShardFixture(stores: 2)
    try fixture.run("1/1")
    let losses = try fixture.status()["losing"]
    #expect(try fixture.godwit("run", "job.yaml", "--shard", "1/1", "--verify").status == 0)
    #expect(try fixture.status()["objects"] == .integer(8))
    #expect(try fixture.status()["losing"] == losses && losses != nil)
    let connection = try StoreConnection(path: fixture.file(ShardFixture.destination(1)))
    try connection.execute("UPDATE ZNOTE SET ZPAGES = ZPAGES + 1")
    try connection.close()
    // A proved store is left out until somebody finds a difference.
    #expect(try fixture.godwit("run", "job.yaml", "--shard", "1/1", "--verify").status == 0)
    #expect(try fixture.godwit("verify", "job.yaml").status == 4)
    #expect(try fixture.godwit("run", "job.yaml", "--verify", "--shard", "1/1").status == 4)
    #expect(try fixture.godwit("run", "job.yaml", "--verify").status == 4)
  }

  @Test func `a fleet file is told what to write instead`() throws {
    let fixture = try ShardFixture(stores: 1)
    try fixture.write("fleet.yaml", "godwit: 1\nfleet: users\njob: job.yaml\nshards: 3\n")
    let run = try fixture.godwit("run", "fleet.yaml")
    #expect(run.status == 78 && run.diagnostics.contains("--shard I/N"), "\(run.diagnostics)")
    for (line, status) in [("stores: {max-failed: x}", 78), ("stores: {jobs: 0}", 78), ("source: {file: x}", 78)] {
      let manifest = ShardFixture.job.replacing("source: \"stores/**/*.sqlite\"\n", with: "") + line + "\n"
      try fixture.write("wrong.yaml", line.hasPrefix("source") ? manifest : ShardFixture.job + line + "\n")
      #expect(try fixture.godwit("run", "wrong.yaml").status == Int32(status), "\(line)")
    }
    #expect(try fixture.godwit("run", "job.yaml", "--shard", "2/1").status == 64)
  }
}

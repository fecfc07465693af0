import Foundation
import GodwitModel
import GodwitStore
import GodwitXML
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitFleet
@testable import GodwitManifest

/// `godwit fleet`, from the plan to the page.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
struct FleetCommandTests {
  /// A hook that waits at one store, so that a test has time.
  private static func hook(_ name: String) -> String {
    "stages: [{step: Notes 4, before: 'case $GODWIT_STORE in *\(name)*) touch waiting; while ! test -e go; do sleep 0.02; done;; esac'}]\n"
  }

  private func breakSome(_ fixture: FleetFixture) throws {
    try fixture.write(FleetFixture.name(10), "this is no store")
    let cut = URL(filePath: fixture.file(FleetFixture.name(20)))
    let whole = try Data(contentsOf: cut)
    try whole.prefix(whole.count / 2).write(to: cut)
    // Version hashes that no model has.
    let strange = URL(filePath: fixture.file(FleetFixture.name(30)))
    var bytes = try Data(contentsOf: strange)
    for hash in try StoreMetadata(readingStoreAt: strange.path).versionHashes.values {
      let place = try #require(bytes.range(of: Data(hash)))
      bytes.replaceSubrange(place, with: Data(hash.map { $0 ^ 0xFF }))
    }
    try bytes.write(to: strange)
  }

  @Test func `sixty stores of three versions, four of them broken`() throws {
    let count = 60
    let fixture = try FleetFixture(
      stores: count, invalid: [40],
      fleet: "shards: 3\ncanary: {stores: 5}\nfailures: {max-stores: 3}\n")
    try breakSome(fixture)
    let sources = try (0..<count).map {
      try Data(contentsOf: URL(filePath: fixture.file(FleetFixture.name($0))))
    }
    let plan = try fixture.document("plan")
    #expect(
      plan["stores"] == .integer(57) && plan["unreadable"] == .integer(3)
        && plan["shards"] == .integer(4))
    #expect(plan["canaryStores"] == .integer(5) && plan["current"] == .integer(0))
    let versions = plan["pairs"]?.array?.filter { $0["outcome"] == .string("migrate") } ?? []
    #expect(versions.compactMap { $0["version"]?.string } == ["Notes", "Notes 2", "Notes 3"])
    // `mood` of the third version goes.
    #expect(versions.map { $0["losses"]?.array?.isEmpty } == [true, true, false])
    let unreadable = plan["firstUnreadable"]?.array?.map { $0["status"] }
    #expect(unreadable == [.integer(65), .integer(65), .integer(69)])
    #expect(!FileManager.default.fileExists(atPath: fixture.file("out")))
    try fixture.fleet("run", "--shard", "1", status: 75)
    try fixture.fleet("run", "--quiet")
    // Every store is there once: migrated, or recorded.
    let results = try fixture.results()
    #expect(Set(results.compactMap { $0["store"]?.string }).count == 57 && results.count == 57)
    #expect(results.count { $0["outcome"] == .string("finished") } == 56)
    let wrong = results.filter { $0["outcome"] == .string("failed") }.map { $0["store"]?.string }
    #expect(wrong == [FleetFixture.name(40)])
    for number in 0..<count {
      let isThere = FileManager.default.fileExists(
        atPath: fixture.file(FleetFixture.destination(number)))
      #expect(isThere == ![10, 20, 30, 40].contains(number), "\(number)")
      #expect(
        try Data(contentsOf: URL(filePath: fixture.file(FleetFixture.name(number))))
          == sources[number])
    }
    // What a run of its own makes of a store is the same.
    for number in [0, 1, 2, 33, 59] {
      let run = try fixture.godwit(
        "run", "job.yaml", "--source", FleetFixture.name(number), "--destination",
        "alone/\(number).sqlite", "--quiet")
      #expect(run.status == 0, "\(run.diagnostics)")
      let (made, alone) = (
        fixture.file(FleetFixture.destination(number)), fixture.file("alone/\(number).sqlite")
      )
      #expect(try StoreDump(made).firstDifference(from: StoreDump(alone)) == nil)
    }
    #expect(
      try StoreDump(fixture.file(FleetFixture.destination(0)))
        != StoreDump(fixture.file(FleetFixture.destination(3))))
    // Again, nothing is to be done, and nothing is written.
    let again = try fixture.fleet("run")
    #expect(again.output.contains("57 stores: 56 already finished, 1 failed"), "\(again.output)")
    #expect(try fixture.results().count == 57)
    try merge(fixture)
  }

  private func merge(_ fixture: FleetFixture) throws {
    let status = try fixture.document("status")
    #expect(status["finished"] == .integer(56) && status["shards"]?["done"] == .integer(4))
    #expect(status["lastFailures"]?[0]?["code"] == .string("data-wrong") && status["limit"] == nil)
    let merged = try fixture.document(
      "merge", "-o", "page.html", "--results", "all.jsonl", "--retry-list", "retry.txt", status: 65)
    #expect(
      merged["finished"] == .integer(56) && merged["failed"] == .integer(1)
        && merged["waiting"] == .integer(0))
    #expect(
      merged["objects"] == .integer(56 * 4) && merged["failures"]?[0]?["count"] == .integer(1))
    #expect(merged["pairs"]?.array?.compactMap { $0["finished"]?.integer }.reduce(0, +) == 56)
    let all = try JSONValue.lines(
      String(contentsOfFile: fixture.file("all.jsonl"), encoding: .utf8))
    #expect(all.count == 60)
    for line in all { try FleetFixture.check(line, "fleet-result") }
    let retry = try String(contentsOfFile: fixture.file("retry.txt"), encoding: .utf8).split(
      separator: "\n")
    #expect(retry.map { $0.suffix(10) } == [40, 10, 20, 30].map { Substring("u\($0).sqlite") })
    let page = try String(contentsOfFile: fixture.file("page.html"), encoding: .utf8)
    #expect(page.contains("data-wrong") && page.contains("u40.sqlite") && page.contains("<svg"))
    _ = try MarkupReader.read(Array(page.utf8), file: "page.html")
    // An older page and older lists are replaced, and nothing else is.
    try fixture.fleet("merge", "-o", "page.html", "--retry-list", "retry.txt", status: 65)
    try fixture.fleet("merge", "-o", "job.yaml", status: 73)
    // A store that was mended is migrated with --retry.
    try fixture.add(40)
    try fixture.fleet("run")
    #expect(!FileManager.default.fileExists(atPath: fixture.file(FleetFixture.destination(40))))
    #expect(
      try fixture.godwit(
        "discard", "job.yaml", "--source", FleetFixture.name(40), "--destination",
        FleetFixture.destination(40)
      ).status == 0)
    try fixture.fleet("run", "--retry")
    #expect(FileManager.default.fileExists(atPath: fixture.file(FleetFixture.destination(40))))
    #expect(try fixture.document("merge", status: 65)["failed"] == .integer(0))
  }

  @Test func `a run that is killed goes on, and a torn line is no result`() throws {
    let fixture = try FleetFixture(stores: 12, job: Self.hook("u07"), fleet: "shards: 1\n")
    try fixture.fleet("plan")
    let process = try fixture.start("fleet", "run", "fleet.yaml", "--shard", "0")
    fixture.wait(for: "waiting", of: process)
    // Another run of the shard is refused while it lasts.
    let second = try fixture.fleet("run", "--shard", "0", "--progress", "json", status: 75)
    let last = try #require(try JSONValue.lines(second.output).last)
    #expect(last["reasonCode"] == .string("lock"))
    #expect(try fixture.document("status")["shards"]?["running"] == .integer(1))
    try fixture.fleet("plan", "--force", status: 75)
    kill(process.processIdentifier, SIGKILL)
    try fixture.write("go", "")
    process.waitUntilExit()
    let before = try fixture.results().compactMap { $0["store"]?.string }
    #expect(!before.contains(FleetFixture.name(7)))
    let results = fixture.place.resultsPath(0)
    let whole = try Data(contentsOf: URL(filePath: results))
    try (whole + Data("{\"type\":\"store\",\"sto".utf8)).write(to: URL(filePath: results))
    try fixture.fleet("run", "--shard", "0")
    let after = try fixture.results().compactMap { $0["store"]?.string }
    #expect(
      after.count == 12 && Set(after).count == 12 && Array(after.prefix(before.count)) == before)
    try fixture.fleet("merge")
  }

  @Test func `a store that was finished when the line was lost is finished`() throws {
    let fixture = try FleetFixture(stores: 3, fleet: "shards: 1\n")
    try fixture.fleet("plan")
    try fixture.fleet("run")
    try FileManager.default.removeItem(atPath: fixture.place.resultsPath(0))
    try fixture.fleet("run")
    #expect(
      try fixture.results().map { $0["outcome"] }
        == Array(repeating: .string("already finished"), count: 3))
  }

  @Test func `a canary that fails stops the fleet`() throws {
    let fixture = try FleetFixture(
      stores: 20, invalid: Set(0..<20), fleet: "shards: 1\ncanary: {stores: 4}\n")
    let plan = try fixture.document("plan")
    // One of each version at least.
    let canary = try String(contentsOfFile: fixture.place.shardPath(0), encoding: .utf8)
    #expect(Set(try JSONValue.lines(canary).compactMap { $0["pair"] }).count == 3)
    #expect(plan["canaryStores"] == .integer(4))
    let waiting = try fixture.fleet("run", "--shard", "1", status: 75)
    #expect(waiting.diagnostics.contains("reason  canary"), "\(waiting.diagnostics)")
    let stopped = try fixture.fleet("run", status: 65)
    #expect(
      stopped.diagnostics.contains("of 4 stores of the canary failed"), "\(stopped.diagnostics)")
    #expect(try fixture.results().allSatisfy { $0["shard"] == .integer(0) })
    try fixture.fleet("run", "--shard", "1", status: 65)
    #expect(try fixture.document("status")["limit"] != nil)
    // Limits may change without another plan.
    let text = try String(contentsOfFile: fixture.fleet, encoding: .utf8)
    try fixture.write("fleet.yaml", text + "failures: {max-stores: 100}\n")
    try fixture.fleet("run")
    #expect(try fixture.results().count == 20)
  }

  @Test func `a limit of failures stops the fleet, over all shards`() throws {
    let fixture = try FleetFixture(
      stores: 16, invalid: Set(0..<16), fleet: "shards: 2\nfailures: {max-stores: 2}\n")
    try fixture.fleet("plan")
    let stopped = try fixture.fleet("run", "--shard", "0", "--jobs", "1", status: 65)
    #expect(
      stopped.diagnostics.contains("3 stores failed, more than 'max-stores: 2'"),
      "\(stopped.diagnostics)")
    #expect(try fixture.results().count == 3)
    // The other shard knows of it, and begins nothing.
    try fixture.fleet("run", "--shard", "1", status: 65)
    #expect(try fixture.results().count == 3)
    try fixture.fleet("run", "--shard", "2", status: 64)
    // Failures are repeated: as many as the limit allows.
    try fixture.fleet("run", "--shard", "0", "--jobs", "1", "--retry", status: 65)
    #expect(try fixture.results().count == 6)
  }

  @Test func `two processes share the shards`() throws {
    let fixture = try FleetFixture(stores: 14, fleet: "shards: 2\n")
    try fixture.fleet("plan")
    let other = try fixture.start("fleet", "run", "fleet.yaml", "--shard", "1")
    try fixture.fleet("run", "--shard", "0")
    other.waitUntilExit()
    #expect(other.terminationStatus == 0)
    let stores = try fixture.results().compactMap { $0["store"]?.string }
    #expect(stores.count == 14 && Set(stores).count == 14)
    try fixture.fleet("merge")
  }

  @Test(arguments: [
    ["fleet", "run", "fleet.yaml", "--worker"], ["run", "job.yaml", "--worker"],
    ["run", "job.yaml", "--worker", "--source", "stores/a/u02.sqlite", "--destination", "one.sqlite"],
  ])
  func `a worker ends with 75 after a signal, and goes on`(arguments: [String]) throws {
    let fixture = try FleetFixture(stores: 4, job: Self.hook("u02"), fleet: "shards: 1\n")
    try fixture.fleet("plan")
    let process = Process()
    process.executableURL = URL(filePath: try #require(BuiltCommand.path))
    process.arguments = arguments + ["--progress", "json"]
    process.currentDirectoryURL = URL(filePath: fixture.path)
    let output = fixture.file("output")
    _ = FileManager.default.createFile(atPath: output, contents: nil)
    process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
    process.standardError = FileHandle.nullDevice
    try process.run()
    fixture.wait(for: "waiting", of: process)
    kill(process.processIdentifier, SIGTERM)
    // The stop reaches the run while its hook waits.
    usleep(100_000)
    try fixture.write("go", "")
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 75)
    let last = try #require(try JSONValue.lines(String(contentsOfFile: output, encoding: .utf8)).last)
    #expect(last["status"] == .integer(75), "\(last)")
    #expect(try BuiltCommand.run(arguments, in: fixture.path).status == 0)
  }
}

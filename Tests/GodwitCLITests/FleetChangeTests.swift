import Foundation
import GodwitDisk
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitFleet

/// What changes, dies or moves between a plan and its runs.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
struct FleetChangeTests {
  private func isThere(_ fixture: FleetFixture, _ name: String) -> Bool {
    FileManager.default.fileExists(atPath: fixture.file(name))
  }

  @Test func `destinations do not depend on the folder where a run is started`() throws {
    let fixture = try FleetFixture(stores: 3, fleet: "shards: 1\nstores: {list: '-'}\n")
    // The folder that {folder} begins at must not be the current one of whoever plans.
    let refused = try fixture.fleet("plan", status: 78)
    #expect(refused.diagnostics.contains("`root: FOLDER`"), "\(refused.diagnostics)")
    let text = try String(contentsOfFile: fixture.fleet, encoding: .utf8)
    try fixture.write("fleet.yaml", text + "root: stores\n")
    let piped = try ShellCommand.run(
      "cd stores && find . -name '*.sqlite' | \"$GODWIT\" fleet plan ../fleet.yaml", in: fixture.path)
    #expect(piped.status == 0, "\(piped.diagnostics)")
    try fixture.fleet("run")
    for number in 0..<3 { #expect(isThere(fixture, FleetFixture.destination(number)), "\(number)") }
    #expect(!isThere(fixture, "out/stores"))
  }

  @Test func `current is what this very job made of this very store`() throws {
    let fixture = try FleetFixture(stores: 4, fleet: "shards: 1\n")
    try fixture.fleet("plan")
    try fixture.fleet("run")
    // An older run was not through with one, and of one nothing says what made it.
    let folder = WorkFolder.path(forDestination: fixture.file(FleetFixture.destination(0)))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try FileManager.default.removeItem(
      atPath: fixture.file(FleetFixture.destination(1)) + ".receipt.json")
    let plan = try fixture.document("plan", "--force")
    #expect(plan["current"] == .integer(2) && plan["stores"] == .integer(2))
    // Another job: none of them is what it would make, and each run says so.
    try fixture.write("job.yaml", FleetFixture.job + "cloudkit: drop\n")
    let changed = try fixture.document("plan", "--force")
    #expect(changed["current"] == .integer(0) && changed["stores"] == .integer(4))
    try fixture.fleet("run")
    let found = try fixture.results()
    #expect(found.count == 4 && found.allSatisfy { $0["status"] == .integer(73) }, "\(found)")
    try fixture.fleet("merge", status: 65)
  }

  @Test func `in place, a run that was not through is no current store`() throws {
    let fixture = try FleetFixture(stores: 3, fleet: "shards: 1\n")
    let job = FleetFixture.job.replacing(
      "destination: \"out/{folder}/{name}.sqlite\"", with: "in-place: true")
    try fixture.write("job.yaml", job)
    try fixture.fleet("plan")
    try fixture.fleet("run")
    let folder = WorkFolder.path(forDestination: fixture.file(FleetFixture.name(1)))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let plan = try fixture.document("plan", "--force")
    #expect(plan["current"] == .integer(2) && plan["stores"] == .integer(1))
  }

  @Test func `a plan does not stand when stores were mended or written to`() throws {
    let fixture = try FleetFixture(stores: 4, fleet: "shards: 1\n")
    let store = URL(filePath: fixture.file(FleetFixture.name(3)))
    let whole = try Data(contentsOf: store)
    try Data("this is no store".utf8).write(to: store)
    #expect(try fixture.document("plan")["unreadable"] == .integer(1))
    try fixture.fleet("run")
    #expect(try fixture.fleet("plan").output.contains("the earlier plan stands"))
    try whole.write(to: store)
    let mended = try fixture.fleet("plan", status: 73)
    #expect(mended.diagnostics.contains("1 of the stores are in no shard"), "\(mended.diagnostics)")
    #expect(try fixture.document("plan", "--force")["stores"] == .integer(1))
    try fixture.fleet("run")
    try fixture.fleet("plan")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: 60)], ofItemAtPath: store.path)
    let written = try fixture.fleet("plan", status: 73)
    #expect(written.diagnostics.contains("have changed since"), "\(written.diagnostics)")
  }

  @Test func `a store that kills its process is passed by after three deaths alone`() throws {
    let hook = "stages: [{step: Notes 4, before: 'case $GODWIT_STORE in *u02*) kill -9 $PPID;; esac'}]\n"
    let fixture = try FleetFixture(stores: 7, job: hook, fleet: "shards: 1\n")
    try fixture.fleet("plan")
    var deaths = 0
    while deaths < 9 {
      let process = try fixture.start("fleet", "run", "fleet.yaml", "--shard", "0")
      process.waitUntilExit()
      guard process.terminationReason == .uncaughtSignal else {
        #expect(process.terminationStatus == 0)
        break
      }
      deaths += 1
    }
    // Once among others, unless it was alone by then.
    #expect(deaths == 3 || deaths == 4)
    let results = try fixture.results()
    #expect(results.count == 7)
    let failed = results.filter { $0["outcome"] == .string("failed") }
    #expect(failed.map { $0["store"] } == [.string(FleetFixture.name(2))])
    #expect(failed.first?["status"] == .integer(70))
    #expect(!isThere(fixture, "fleet.fleet/results/00000.begun"))
    try fixture.fleet("merge", status: 65)
  }

  @Test func `too little room for one store is no failure of it`() {
    let place = StorePlace(path: "a", destination: "b")
    for (topic, isKept) in [(ErrorTopic.tooLittleRoom, false), (.diskFull, false), (.database, true)] {
      let error = GodwitError(.inputOutput, "failed").about(topic)
      #expect(FleetRun.isKept(StoreResult(place, failed: error, seconds: 0), error) == isKept)
    }
  }

  @Test func `stores that were finished without a proof are proved by --verify`() throws {
    let fixture = try FleetFixture(stores: 2, fleet: "shards: 1\n")
    try fixture.fleet("plan")
    try fixture.fleet("run")
    #expect(try fixture.results().allSatisfy { $0["findings"] == nil })
    try fixture.fleet("run", "--verify")
    let proved = try fixture.results().suffix(2)
    #expect(proved.allSatisfy { $0["findings"] == .integer(0) && $0["outcome"] == .string("already finished") })
    try fixture.fleet("run", "--verify")
    #expect(try fixture.results().count == 4)
  }
}

import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitFleet

/// A fleet on a machine that lacks something: no store is to blame.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
struct FleetMachineTests {
  private func move(_ fixture: FleetFixture, _ old: String, _ new: String) throws {
    try FileManager.default.moveItem(atPath: fixture.file(old), toPath: fixture.file(new))
  }

  @Test func `a folder of stores or destinations that is away ends a run with 74, and nothing is recorded`() throws {
    let fixture = try FleetFixture(stores: 4, fleet: "shards: 2\n")
    try fixture.fleet("plan")
    try move(fixture, "stores", "away")
    let stores = try fixture.fleet("run", status: 74)
    #expect(stores.diagnostics.contains("cannot read the folder of the stores"), "\(stores.diagnostics)")
    try move(fixture, "away", "stores")
    try fixture.write("out", "a file")
    try fixture.fleet("run", status: 74)
    #expect(try fixture.results().isEmpty)
    try FileManager.default.removeItem(atPath: fixture.file("out"))
    try fixture.fleet("run", "--shard", "0")
    try move(fixture, "out", "away")
    let out = try fixture.fleet("run", status: 74)
    #expect(out.diagnostics.contains("was there before"), "\(out.diagnostics)")
    #expect(!FileManager.default.fileExists(atPath: fixture.file("out")))
    // A shard that is done asks for nothing.
    try fixture.fleet("run", "--shard", "0")
    try move(fixture, "away", "out")
    try fixture.fleet("run")
    #expect(try fixture.results().map { $0["outcome"] } == Array(repeating: .string("finished"), count: 4))
  }

  @Test func `stores that go away while a shard runs are not recorded as missing`() throws {
    let hook = "stages: [{step: Notes 4, before: 'test -e moved || { touch moved; mv stores away; }'}]\n"
    let fixture = try FleetFixture(stores: 5, job: hook, fleet: "shards: 1\n")
    try fixture.fleet("plan")
    let run = try fixture.fleet("run", "--jobs", "1", status: 74)
    #expect(run.diagnostics.contains("cannot read the folder of the stores"), "\(run.diagnostics)")
    #expect(try fixture.results().allSatisfy { $0["outcome"] != .string("failed") })
    #expect(!FileManager.default.fileExists(atPath: fixture.file("fleet.fleet/results/00000.begun")))
    try move(fixture, "away", "stores")
    try fixture.fleet("run")
    try fixture.fleet("merge")
  }
}

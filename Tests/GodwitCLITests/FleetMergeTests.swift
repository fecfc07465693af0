import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitFleet

/// `godwit fleet merge`: when a fleet is over, and what may be replaced.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
struct FleetMergeTests {
  @Test func `a fleet with stores left is unfinished, unless its limits stop it`() throws {
    let fixture = try FleetFixture(stores: 4, invalid: [0, 1, 2, 3], fleet: "shards: 2\n")
    try fixture.fleet("plan")
    try fixture.fleet("run", "--shard", "0")
    #expect(try fixture.document("merge", status: 75)["failed"] == .integer(2))
    let text = try String(contentsOfFile: fixture.fleet, encoding: .utf8)
    try fixture.write("fleet.yaml", text + "failures: {max-stores: 1}\n")
    #expect(try fixture.document("merge", status: 65)["status"] == .integer(65))
    #expect(try fixture.document("status")["limit"]?.string?.contains("2 stores failed") == true)
    try fixture.write("fleet.yaml", text)
    try fixture.fleet("run", "--shard", "1")
    try fixture.fleet("merge", status: 65)
  }

  @Test func `what another merge wrote is replaced, and nothing else`() throws {
    let fixture = try FleetFixture(
      stores: 2, invalid: [1], fleet: "shards: 1\nstores: {list: list.txt}\nroot: stores\n")
    let list = (0..<2).map { fixture.file(FleetFixture.name($0)) }.joined(separator: "\n") + "\n"
    try fixture.write("list.txt", list)
    try fixture.write("notes.txt", "mine\n")
    try fixture.fleet("plan")
    try fixture.fleet("run")
    let store = FleetFixture.name(0)
    for (option, files) in [
      "--results": ["job.yaml", "list.txt", "notes.txt", store, "fleet.fleet/results/00000.jsonl", "stores"],
      "--retry-list": ["fleet.yaml", "list.txt", "notes.txt", store, "fleet.fleet/plan.json", "stores"],
    ] {
      for file in files {
        let before = try? Data(contentsOf: URL(filePath: fixture.file(file)))
        try fixture.fleet("merge", option, file, status: 73)
        #expect(try before == nil || Data(contentsOf: URL(filePath: fixture.file(file))) == before, "\(file)")
      }
    }
    for options in [
      ["--results", "new.txt", "--retry-list", "./new.txt"], ["-o", "new.txt", "--results", "stores/../new.txt"],
    ] {
      #expect(try BuiltCommand.run(["fleet", "merge", "fleet.yaml"] + options, in: fixture.path).status == 64)
    }
    #expect(!FileManager.default.fileExists(atPath: fixture.file("new.txt")))
    for _ in 1...2 {
      try fixture.fleet("merge", "--results", "all.jsonl", "--retry-list", "fleet.fleet/retry.txt", status: 65)
      let retry = try String(contentsOfFile: fixture.file("fleet.fleet/retry.txt"), encoding: .utf8)
      #expect(retry.hasPrefix("/") && retry.hasSuffix("/\(FleetFixture.name(1))\n"))
    }
    // One without any failure is empty, and is replaced too.
    try fixture.write("fleet.fleet/retry.txt", "")
    try fixture.fleet("merge", "--retry-list", "fleet.fleet/retry.txt", status: 65)
  }
}

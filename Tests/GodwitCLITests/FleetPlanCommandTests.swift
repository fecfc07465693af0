import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitFleet

/// `godwit fleet plan`: which stores it finds, and what it refuses.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
struct FleetPlanCommandTests {
  private func lists(_ fixture: FleetFixture) throws -> [[String]] {
    let plan = try fixture.place.plan()
    return try (0..<plan.shards).map { shard in
      try JSONValue.lines(String(contentsOfFile: fixture.place.shardPath(shard), encoding: .utf8))
        .compactMap { $0["store"]?.string }
    }
  }

  @Test func `two paths to one file are one store, and the fleet's own files are none`() throws {
    let fixture = try FleetFixture(stores: 4, fleet: "folder: stores/fleet.sqlite\nshards: 2\n")
    let manager = FileManager.default
    try manager.createSymbolicLink(
      atPath: fixture.file("stores/b/link.sqlite"),
      withDestinationPath: fixture.file(FleetFixture.name(0)))
    try manager.linkItem(
      atPath: fixture.file(FleetFixture.name(1)), toPath: fixture.file("stores/z.sqlite"))
    try Data().write(to: URL(filePath: fixture.file(FleetFixture.name(2) + "-wal")))
    for _ in 1...2 {
      let plan = try fixture.document("plan")
      #expect(
        plan["stores"] == .integer(4) && plan["duplicates"] == .integer(2)
          && plan["unreadable"] == .integer(0))
    }
    let names = try manager.contentsOfDirectory(atPath: fixture.file("stores")).sorted()
    #expect(names == ["a", "b", "fleet.sqlite", "z.sqlite"], "nothing is left beside the folder")
  }

  @Test func `the same stores make the same plan, from a pattern, a list and standard input`()
    throws
  {
    let fixture = try FleetFixture(stores: 9, fleet: "shards: 2\ncanary: {percent: 20}\n")
    try fixture.fleet("plan")
    let expected = try lists(fixture)
    #expect(
      expected.map(\.count) == [3, 3, 3]
        && Set(expected.joined()) == Set((0..<9).map(FleetFixture.name)))
    let first = try fixture.place.plan().surveyed
    let names = (0..<9).map(FleetFixture.name)
    try fixture.write(
      "list.txt", (names.reversed() + [names[0], "stores/nosuch.sqlite"]).joined(separator: "\r\n"))
    let text = try String(contentsOfFile: fixture.fleet, encoding: .utf8)
    try fixture.write("fleet.yaml", text + "stores: {list: list.txt}\nroot: stores\n")
    let plan = try fixture.document("plan")
    #expect(plan["duplicates"] == .integer(1) && plan["unreadable"] == .integer(1))
    #expect(plan["firstUnreadable"]?[0]?["status"] == .integer(66))
    #expect(try lists(fixture) == expected && fixture.place.plan().surveyed != first)
    try fixture.write("fleet.yaml", text + "stores: {list: '-'}\nroot: stores\n")
    let piped = try ShellCommand.run(
      "\"$GODWIT\" fleet plan fleet.yaml <list.txt", in: fixture.path)
    #expect(piped.status == 0, "\(piped.diagnostics)")
    try fixture.fleet("run")
    #expect(FileManager.default.fileExists(atPath: fixture.file(FleetFixture.destination(5))))
    try fixture.write("fleet.yaml", text + "stores: {list: list.txt}\nroot: stores/a\n")
    let outside = try fixture.fleet("plan", "--force", status: 78)
    #expect(outside.diagnostics.contains("{folder}"), "\(outside.diagnostics)")
  }

  @Test func `destinations that collide are refused, and so are those that would be sources`()
    throws
  {
    let fixture = try FleetFixture(stores: 2)
    try FileManager.default.copyItem(
      atPath: fixture.file(FleetFixture.name(0)), toPath: fixture.file("stores/b/u00.sqlite"))
    let job = FleetFixture.job
    try fixture.write("job.yaml", job.replacing("{folder}/", with: ""))
    let collision = try fixture.fleet("plan", status: 78)
    #expect(collision.diagnostics.contains("two stores would write"), "\(collision.diagnostics)")
    try fixture.write("job.yaml", job.replacing("out/", with: "stores/new/"))
    let source = try fixture.fleet("plan", status: 78)
    #expect(
      source.diagnostics.contains("the next run would take it for a source"),
      "\(source.diagnostics)")
    // In a list, a store that another one's job writes.
    try fixture.write("job.yaml", job.replacing("out/{folder}/{name}", with: "stores/b/{name}"))
    try fixture.write("list.txt", "\(FleetFixture.name(0))\nstores/b/u00.sqlite\n")
    try fixture.write("fleet.yaml", "godwit: 1\njob: job.yaml\nstores: {list: list.txt}\n")
    try fixture.fleet("plan", status: 78)
    try fixture.write("list.txt", "\n")
    try fixture.fleet("plan", status: 66)
    try fixture.write(
      "job.yaml", job.replacing("\"stores/**/*.sqlite\"", with: "stores/a/u00.sqlite"))
    try fixture.fleet("plan", status: 78)
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.path).sorted()
    #expect(
      names == ["Notes.xcdatamodeld", "fleet.yaml", "job.yaml", "list.txt", "stores", "templates"])
  }

  @Test func `a plan with results stands unless something differs, and is replaced by force`()
    throws
  {
    let fixture = try FleetFixture(stores: 4, fleet: "shards: 1\n")
    try fixture.fleet("status", status: 66)
    try fixture.fleet("run", status: 66)
    try fixture.fleet("plan")
    try fixture.fleet("run")
    let kept = try fixture.fleet("plan")
    #expect(kept.output.contains("the earlier plan stands"), "\(kept.output)")
    #expect(try fixture.results().count == 4)
    try fixture.add(4)
    let refused = try fixture.fleet("plan", status: 73)
    #expect(refused.diagnostics.contains("other stores were found"), "\(refused.diagnostics)")
    // What is finished is current for the new plan.
    let plan = try fixture.document("plan", "--force")
    #expect(plan["stores"] == .integer(1) && plan["current"] == .integer(4))
    // A source that is newer than its destination is not.
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: 60)],
      ofItemAtPath: fixture.file(FleetFixture.name(1)))
    #expect(try fixture.document("plan")["stores"] == .integer(2))
    // What decides the result may not change.
    try fixture.write("job.yaml", FleetFixture.job + "on-loss: fail\n")
    let changed = try fixture.fleet("run", status: 73)
    #expect(changed.diagnostics.contains("plan again"), "\(changed.diagnostics)")
    try fixture.write("fleet.fleet/plan.json", "{}")
    try fixture.fleet("status", status: 65)
    try fixture.fleet("plan", status: 65)
    try fixture.fleet("plan", "--force")
    // Without its mark the folder may be anybody's.
    for path in [fixture.place.planPath, fixture.file("fleet.fleet/made-by-godwit")] {
      try FileManager.default.removeItem(atPath: path)
    }
    try fixture.fleet("plan", "--force", status: 73)
  }

  @Test func `in place, old stores are none, and what has the version is current`() throws {
    let fixture = try FleetFixture(stores: 5, fleet: "shards: 1\n")
    let job = FleetFixture.job.replacing(
      "destination: \"out/{folder}/{name}.sqlite\"", with: "in-place: true")
    try fixture.write("job.yaml", job)
    #expect(try fixture.document("plan")["stores"] == .integer(5))
    try fixture.fleet("run")
    let plan = try fixture.document("plan", "--force")
    #expect(
      plan["stores"] == .integer(0) && plan["current"] == .integer(5)
        && plan["shards"] == .integer(0))
    #expect(plan["pairs"]?[0]?["outcome"] == .string("current"))
    try fixture.fleet("run")
    try fixture.fleet("merge")
  }
}

import Foundation
import GodwitManifest
import TestSupport
import Testing

@testable import GodwitCLI

/// The page Fleets: its file is read, its commands are run, and its tables are complete.
struct FleetsPageTests {
  private static func page() throws -> DocumentationPage { try DocumentationPage("Fleets") }

  /// A folder with the stores of jobs/peoplizer, a job for all of them, and the page's `users.yaml`.
  private static func folder() throws -> TemporaryFolder {
    let folder = try GettingStartedTests.folder()
    let job = """
      godwit: 1
      source: "stores/*.sqlite"
      destination: "out/{name}.sqlite"
      models: Peoplizer.xcdatamodeld

      """
    try job.write(toFile: folder.file("job.yaml"), atomically: true, encoding: .utf8)
    let fleet = try #require(try page().blocks("yaml").first)
    try (fleet + "\n").write(toFile: folder.file("users.yaml"), atomically: true, encoding: .utf8)
    return folder
  }

  @Test func `the commands for one machine migrate every store`() throws {
    let folder = try Self.folder()
    let commands = try #require(try Self.page().blocks("sh").first)
    let said = try GettingStartedTests.run(commands, in: folder)
    #expect(said.status == 0, "\(said)")
    for number in 1...4 {
      #expect(FileManager.default.fileExists(atPath: folder.file("out/people-\(number).sqlite")))
    }
    #expect(FileManager.default.fileExists(atPath: folder.file("report.html")))
    #expect(FileManager.default.fileExists(atPath: folder.file("users.fleet/results/00000.jsonl")))
  }

  @Test func `the commands for schedulers print what bash and the API take, and never replace a file`() throws {
    let folder = try Self.folder()
    let blocks = try Self.page().blocks("sh").dropFirst()
    let submits = blocks.flatMap { $0.split(separator: "\n") }.filter { $0.contains(" fleet submit ") }
    try #require(submits.count == 3)
    let script = "godwit fleet plan users.yaml\n" + submits.joined(separator: "\n")
    let said = try GettingStartedTests.run(
      script + "\nbash -n users-parallel.sh\nbash -n users-slurm.sh\ngrep -c '^kind: Job' users-jobs.yaml", in: folder)
    // So few stores are all in the canary: beside it there is the report.
    #expect(said.status == 0 && said.output.hasSuffix("\n2\n"), "\(said)")
    for name in ["users-parallel.sh", "users-slurm.sh"] {
      #expect(blocks.contains { $0.contains("\nbash \(name)") }, "\(name)")
    }
    let again = try GettingStartedTests.run(String(submits[0]), in: folder)
    #expect(again.status == 73, "\(again)")
  }

  @Test func `the table of keys has each key of a fleet's file`() throws {
    let keys = try Self.page().text.matches(of: /\n\| `([a-z-]+)(?:: 1)?` \|/).map { String($0.1) }
    let known = Set(FleetManifest.keys[""] ?? [])
    #expect(Set(keys).intersection(known) == known)
  }
}

import Foundation
import GodwitCLI
import GodwitModel
import TestSupport
import Testing
import Yams

/// The schemas of plans describe what the command prints and writes.
struct `Schemas of plans` {
  @Test(arguments: ["plan.schema.json", "plan-diff.schema.json"])
  func `every key is described`(name: String) throws {
    #expect(try JSONSchema(named: name).undescribed() == [])
  }

  @Test(arguments: TestTier.sample(["v3-to-v4.yaml", "v1-to-v5.yaml", "v4-to-v5-xml.yaml", "v2-to-v3.yaml"], each: 2))
  func `plans and their differences conform`(job: String) throws {
    let folder = try TemporaryFolder()
    func run(_ arguments: [String]) -> String {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      let all = arguments + [PeoplizerStores.file(job), "--destination", folder.file("out.store")]
      #expect(GodwitCommand.run(arguments: all, in: session) == 0, "\(session.diagnostics.text)")
      return session.output.text
    }
    func godwit(_ arguments: String...) throws -> Node { try #require(try compose(yaml: run(arguments))) }
    let (plan, difference) = (try JSONSchema(named: "plan.schema.json"), try JSONSchema(named: "plan-diff.schema.json"))
    #expect(plan.findings(try godwit("plan", "--format", "json", "-o", folder.file("plan.json"))) == [])
    let written = try String(contentsOfFile: folder.file("plan.json"), encoding: .utf8)
    #expect(plan.findings(try #require(try compose(yaml: written))) == [])
    #expect(difference.findings(try godwit("plan", "--format", "json", "--diff", folder.file("plan.json"))) == [])
    let other = written.replacing("\"rows\" : 1", with: "\"rows\" : 2").replacing(
      "\"lane\" : \"sql\"", with: "\"lane\" : \"object\"")
    try Data(other.utf8).write(to: URL(filePath: folder.file("other.json")))
    let changes = try godwit("plan", "--format", "json", "--diff", folder.file("other.json"))
    #expect(difference.findings(changes) == [] && changes["isEqual"]?.bool == false)
    #expect(run(["run", "--quiet"]).isEmpty)
    #expect(plan.findings(try godwit("plan", "--format", "json")) == [])
  }

  @Test(arguments: [("travel/job.yaml", Int32(0), "losses"), ("todo/by-policy.yaml", 78, "missingPolicies")])
  func `plans that lose something or lack a policy conform`(job: String, status: Int32, key: String) throws {
    let folder = try TemporaryFolder()
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let path = PeoplizerStores.folder.deletingLastPathComponent().appending(path: job).path
    let arguments = ["plan", "--format", "json", path, "--destination", folder.file("out.sqlite")]
    #expect(GodwitCommand.run(arguments: arguments, in: session) == status, "\(session.diagnostics.text)")
    let node = try #require(try compose(yaml: session.output.text))
    #expect(node[key]?.sequence?.isEmpty == false)
    #expect(try JSONSchema(named: "plan.schema.json").findings(node) == [])
  }
}

import Foundation
import GodwitCLI
import GodwitManifest
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The output of `plan` for a job whose destination was changed.
struct ReplacementPlanTests {
  private static func run(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }

  @Test func `a plan says that the run will not replace it, as text and as JSON`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.copyItem(atPath: PeoplizerStores.path(version: 3), toPath: folder.file("people.sqlite"))
    let manifest = folder.file("job.yaml")
    let text = """
      godwit: 1
      source: people.sqlite
      destination: {path: out/people.sqlite, existing: replace}
      models: \(PeoplizerStores.file("Peoplizer.xcdatamodeld"))
      destination-model: Peoplizer 4
      mappings: \(PeoplizerStores.file("V3toV4.mapping.yaml"))

      """
    try text.write(toFile: manifest, atomically: true, encoding: .utf8)
    let first = Self.run("run", manifest, "--quiet")
    try #require(first.status == 0, "\(first)")
    for (path, name) in [("people.sqlite", "new"), ("out/people.sqlite", "edited")] {
      let connection = try StoreConnection(path: folder.file(path))
      try connection.execute("UPDATE ZPERSON SET ZNAME = ?1 WHERE Z_PK = 1", [.text(name)])
      try connection.close()
    }
    let printed = Self.run("plan", manifest)
    #expect(printed.status == 73 && printed.output.contains("  verdict      STOPS (73): cannot replace '"))
    let plan = try JSONValue(parsing: Self.run("plan", manifest, "--format", "json").output)
    let schema = try JSONSchema(text: #require(PublishedSchema.all.first { $0.name == "plan" }?.text))
    #expect(schema.findings(plan) == [])
    #expect(plan["obstacles"]?.array?.count == 1)
    #expect(plan["obstacles"]?[0]?["code"] == .string("destination-changed"))
    #expect(plan["obstacles"]?[0]?["status"] == .integer(73))
    #expect(plan["obstacles"]?[0]?["message"] == plan["summary"]?["obstacles"]?[0])
    // The page of the job says the same, and what a job that replaces nothing would do.
    let page = folder.file("page.html")
    func report(_ options: String...) throws -> String {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      #expect(GodwitCommand.run(arguments: ["report", manifest, "-o", page] + options, in: session) == 0)
      return try String(contentsOfFile: page, encoding: .utf8)
    }
    let replacing = try report()
    #expect(replacing.contains("the destination itself changed since. A run ends with status 73."))
    #expect(replacing.contains("was written to since the job made it"))
    let careful = try report("--set", "destination.existing=fail")
    #expect(careful.contains("and the source store changed since. A run ends with status 73."))
    #expect(!careful.contains("The job has not run yet"))
    let run = Self.run("run", manifest, "--quiet")
    #expect(run.status == 73 && run.diagnostics.contains("was written to since the job made it"))
  }
}

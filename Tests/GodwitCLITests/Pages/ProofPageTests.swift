import Foundation
import GodwitStore
import TestSupport
import Testing

/// The page Proof says what happens: its commands are run.
struct ProofPageTests {
  private static func folder() throws -> TemporaryFolder {
    let folder = try GettingStartedTests.folder()
    let made = try GettingStartedTests.run(
      "godwit init people.sqlite Peoplizer.xcdatamodeld --to 'Peoplizer 4'", in: folder)
    #expect(made.status == 0, "\(made.diagnostics)")
    return folder
  }

  @Test func `the commands of the page find nothing, and leave the receipt`() throws {
    let folder = try Self.folder()
    for line in try DocumentationPage("Proof").blocks("sh").flatMap({ $0.split(separator: "\n") }) {
      let result = try GettingStartedTests.run(String(line), in: folder)
      #expect(result.status == 0, "\(line): \(result.output)\(result.diagnostics)")
    }
    let path = folder.file("people-migrated.sqlite.receipt.json")
    let receipt = try JSONValue(parsing: String(contentsOfFile: path, encoding: .utf8))
    #expect(try JSONSchema(named: "receipt.schema.json").findings(receipt) == [])
  }

  @Test func `the kinds on the page are those of the schema`() throws {
    let page = try DocumentationPage("Proof").text
    let section = try #require(page.components(separatedBy: "\n## Audit\n").last?.components(separatedBy: "\n## ")[0])
    let kinds = Set(section.matches(of: /\n\| `([a-z ]+)` \|/).map { String($0.1) })
    let schema = try String(
      contentsOf: JSONSchema.folder.appending(path: "audit.schema.json"), encoding: .utf8)
    for kind in kinds { #expect(schema.contains("\"\(kind)\"")) }
    #expect(kinds.count == 11)
  }

  @Test func `an audit works in a read-only folder, prints its document, and has no values`() throws {
    let folder = try Self.folder()
    let sound = try GettingStartedTests.run("godwit audit job.yaml --format json", in: folder)
    #expect(sound.status == 0, "\(sound.output)\(sound.diagnostics)")
    let schema = try JSONSchema(named: "audit.schema.json")
    #expect(try schema.findings(JSONValue(parsing: sound.output)) == [])
    let changed = try BuiltCommand.run(
      arguments: ["audit", "job.yaml", "--format", "json", "--set", "on-loss=allow-empty"], in: folder.path)
    #expect(changed.status == 0)
    let manager = FileManager.default
    let before = try manager.subpathsOfDirectory(atPath: folder.path).sorted()
    try manager.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder.path)
    defer { try? manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path) }
    #expect(try BuiltCommand.run("audit", "job.yaml", in: folder.path).status == 0)
    #expect(try manager.subpathsOfDirectory(atPath: folder.path).sorted() == before)
  }

  @Test func `findings are status 4 and fit the schema, and have values only on request`() throws {
    let folder = try Self.folder()
    let store = try StoreConnection(path: folder.file("people.sqlite"))
    try store.execute("UPDATE ZPERSON SET ZAGE = 'seventy' WHERE Z_PK = (SELECT MIN(Z_PK) FROM ZPERSON)")
    try store.close()
    let found = try BuiltCommand.run("audit", "job.yaml", "--format", "json", in: folder.path)
    #expect(found.status == 4, "\(found.output)\(found.diagnostics)")
    let schema = try JSONSchema(named: "audit.schema.json")
    #expect(try schema.findings(JSONValue(parsing: found.output)) == [])
    #expect(!found.output.contains("seventy"))
    let shown = try BuiltCommand.run("audit", "job.yaml", "--values", in: folder.path)
    #expect(shown.status == 4)
    #expect(shown.output.contains("seventy"))
  }

  @Test(arguments: [
    ["verify"], ["verify", "--receipt", "r.json", "job.yaml"], ["verify", "--receipt", "r.json", "--set", "job=x"],
    ["audit", "job.yaml", "--samples", "-1"],
  ])
  func `options that do not go together are wrong usage`(arguments: [String]) throws {
    #expect(try BuiltCommand.run(arguments).status == 64)
  }
}

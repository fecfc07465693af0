import Foundation
import GodwitCLI
import TestSupport
import Testing

@testable import GodwitManifest

/// The files under `jobs/ci`, which app teams copy.
struct `Examples for CI` {
  private static let folder = Checkout.url("jobs/ci").path

  @Test func `the script checks a bundle, annotates and writes JUnit XML`() throws {
    let scratch = try TemporaryFolder()
    let model = PeoplizerStores.file("Peoplizer.xcdatamodeld")
    let result = try ShellCommand.run(
      "GITHUB_ACTIONS=true '\(Self.folder)/check-migrations' '\(model)'", in: scratch.path)
    #expect(result.status == 0, "\(result.output)\(result.diagnostics)")
    #expect(result.output.contains("8 tests: 8 passed, 0 failed"))
    // The page Lint shows the table of this bundle, by the same command.
    let page = try DocumentationPage("Lint")
    #expect(page.blocks("sh").contains("godwit test Peoplizer.xcdatamodeld"))
    // The first block is a finding.
    let tables = Array(page.blocks("none").dropFirst())
    try #require(tables.count == 2)
    func masked(_ text: String) -> String { text.replacing(#/ +[0-9.]+  passed/#, with: " passed") }
    #expect(masked(result.output).contains(masked(tables[0])), "\(result.output)")
    // `TestVerbTests` runs the line of the other block.
    #expect(tables[1].contains(#/^  repeat  godwit run \S+/job.yaml && godwit verify …$/#))
    let xml = try String(contentsOfFile: scratch.file("migrations.xml"), encoding: .utf8)
    #expect(xml.contains("tests=\"8\" failures=\"0\""))
  }

  @Test func `the script fails when a check fails`() throws {
    let scratch = try TemporaryFolder()
    let result = try ShellCommand.run(
      "'\(Self.folder)/check-migrations' '\(scratch.file("No.xcdatamodeld"))'", in: scratch.path)
    #expect(result.status == 66, "\(result.output)\(result.diagnostics)")
  }

  @Test(arguments: ["github-actions.yml", "gitlab-ci.yml"])
  func `a workflow is YAML and calls the script`(_ name: String) throws {
    // Throws what is not YAML.
    _ = try YAMLFile(contentsOf: Self.folder + "/" + name, what: "workflow")
    #expect(try String(contentsOfFile: Self.folder + "/" + name, encoding: .utf8).contains("jobs/ci/check-migrations "))
  }

  @Test func `the workflow for a Mac is YAML and runs the suite that the page names`() throws {
    let file = Self.folder + "/apple-truth.yml"
    _ = try YAMLFile(contentsOf: file, what: "workflow")
    let page = try Checkout.text("Sources/Godwit/Godwit.docc/ComparisonWithCoreData.md")
    let command = try #require(GettingStartedTests.blocks("text", of: page).first)
    #expect(try String(contentsOfFile: file, encoding: .utf8).contains(command))
    #expect(try Checkout.text("README.md").contains(command))
    let suite = Checkout.url("Tests/AppleTruthTests")
    for name in try FileManager.default.contentsOfDirectory(atPath: suite.path) where name != "SkippedTests.swift" {
      let code = try String(contentsOf: suite.appending(path: name), encoding: .utf8)
      #expect(code.hasPrefix("#if canImport(CoreData)\n") && code.hasSuffix("#endif\n"), "\(name)")
    }
  }
}

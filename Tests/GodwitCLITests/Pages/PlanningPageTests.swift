import Foundation
import TestSupport
import Testing

/// The page Planning says what happens: its commands are run, and the plan it shows is the one that is printed.
struct PlanningPageTests {
  /// The files of the reader: a store, a bundle, mapping models, and the manifest that `init` writes.
  private static func folder() throws -> TemporaryFolder {
    let folder = try GettingStartedTests.folder()
    let made = try GettingStartedTests.run(
      "godwit init people.sqlite Peoplizer.xcdatamodeld --to 'Peoplizer 4'", in: folder)
    #expect(made.status == 0, "\(made.diagnostics)")
    return folder
  }

  private static func scripts() throws -> [String] {
    GettingStartedTests.blocks("sh", of: try Checkout.text("Sources/Godwit/Godwit.docc/Planning.md"))
  }

  /// The lines without the figures of the machine.
  static func lines(_ text: String) -> [Substring] {
    text.split(separator: "\n").map { line in
      ["  time ", "  disk "].contains(where: line.hasPrefix) ? line.prefix(7) : line
    }
  }

  @Test func `the commands of the page do what it says, and the plan is the one that it shows`() throws {
    let folder = try Self.folder()
    let page = try Checkout.text("Sources/Godwit/Godwit.docc/Planning.md")
    let scripts = try Self.scripts()
    #expect(scripts.count == 5)
    for script in scripts where !script.contains("| dot ") {
      let result = try GettingStartedTests.run(script, in: folder)
      #expect(result.status == 0, "\(script): \(result.diagnostics)")
      if script == "godwit plan job.yaml" {
        #expect(Self.lines(result.output) == GettingStartedTests.blocks("text", of: page).flatMap(Self.lines))
      }
    }
    #expect(FileManager.default.fileExists(atPath: folder.file("people-migrated.sqlite")))
  }

  private static let hasDot = ["/usr/bin/dot", "/usr/local/bin/dot"].contains(
    where: FileManager.default.isExecutableFile)

  @Test(.enabled(if: hasDot, "Graphviz is not installed: its `dot` is not asked"))
  func `the commands that draw the mapping make pictures`() throws {
    let folder = try Self.folder()
    for script in try Self.scripts() where script.contains("| dot ") {
      let result = try GettingStartedTests.run(script, in: folder)
      #expect(result.status == 0, "\(script): \(result.diagnostics)")
    }
    let drawn = try String(contentsOfFile: folder.file("plan.svg"), encoding: .utf8)
    #expect(drawn.contains("PersonToAdult"))
    #expect(try String(contentsOfFile: folder.file("plan.mmd"), encoding: .utf8).hasPrefix("flowchart LR\n"))
  }
}

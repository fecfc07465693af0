import Foundation
import TestSupport
import Testing

/// No example comes into the documentation without a test.
struct DocumentationCoverageTests {
  /// Blocks of one language on one page, and what checks them.
  private struct Entry {
    let page, language: String
    let count: Int
    let check: Check
  }

  private enum Check {
    /// A suite that runs, parses or compares the blocks, and names the page.
    case suite(String)
    /// Why nothing does.
    case nothing(String)
  }

  private static func entry(_ page: String, _ language: String, _ count: Int, _ suite: String) -> Entry {
    Entry(page: page, language: language, count: count, check: .suite(suite))
  }

  private static func unchecked(_ page: String, _ language: String, _ count: Int, because reason: String) -> Entry {
    Entry(page: page, language: language, count: count, check: .nothing(reason))
  }

  private static let examples = "DocumentedExampleTests"
  private static let pages = "DocumentationPageTests"

  /// A new block is added here with the suite that checks it.
  private static let entries = [
    unchecked(".github/CONTRIBUTING.md", "sh", 1, because: "it builds Godwit, as CI does before the tests"),
    entry("README.md", "sh", 2, examples), entry("README.md", "yaml", 1, "GettingStartedTests"),
    entry("README.md", "swift", 1, examples),
    entry("Expressions", "yaml", 2, examples),
    entry("ManyStores", "sh", 2, "ShardTests"), entry("ManyStores", "yaml", 1, examples),
    unchecked("CoreDataFiles", "xml", 1, because: "a sketch that leaves out parts; XMLStoreTests has whole stores"),
    entry("Forensics", "sh", 11, "ExaminationPageTests"), entry("Forensics", "text", 1, "ExaminationPageTests"),
    entry("Forensics", "json", 1, "ExaminationPageTests"), entry("Forensics", "sql", 4, "ExaminationPageTests"),
    entry("DamagedStores", "sh", 1, "SalvageCommandTests"),
    entry("DamagedStores", "text", 1, "SalvageCommandTests"),
    entry("GettingStarted", "sh", 3, "GettingStartedTests"), entry("GettingStarted", "yaml", 1, "GettingStartedTests"),
    entry("InPlace", "yaml", 3, examples), entry("InPlace", "sh", 1, "CompactCommandTests"),
    unchecked("GettingStarted", "console", 3, because: "`.ci/release-test` installs the packages on a fresh system"),
    entry("Reference", "sh", 1, "OutputContractTests"), entry("Reference", "json", 5, "OutputContractTests"),
    entry("Lint", "sh", 5, pages), entry("Lint", "text", 1, pages), entry("Lint", "none", 3, "CIExampleTests"),
    entry("Lint", "json", 1, examples), entry("Lint", "yaml", 1, examples),
    entry("Manifest", "yaml", 2, examples),
    entry("ComparisonWithCoreData", "text", 1, "CIExampleTests"),
    entry("Planning", "sh", 5, "PlanningPageTests"), entry("Planning", "text", 1, "PlanningPageTests"),
    entry("Policies", "sh", 3, pages), entry("Policies", "swift", 3, pages), entry("Policies", "text", 3, pages),
    entry("Proof", "sh", 1, "ProofPageTests"),
    entry("RunningNightly", "sh", 3, "RunningNightlyPageTests"),
    entry("RunningNightly", "text", 7, "RunningNightlyPageTests"),
    unchecked("jobs/deploy/README.md", "mail", 6, because: "`.ci/nights` compares them with the mails of cron"),
    entry("Quarantine", "yaml", 1, "QuarantineCommandTests"), entry("Quarantine", "sh", 1, "QuarantineCommandTests"),
    entry("Quarantine", "xml", 1, "QuarantineCommandTests"),
    entry("RunningNightly", "crontab", 1, "RunningNightlyPageTests"),
    entry("RunningNightly", "json", 1, "RunningNightlyPageTests"),
    entry("SwiftData", "sh", 4, pages), entry("SwiftData", "yaml", 2, examples),
    entry("UsingTheLibrary", "swift", 3, pages),
    entry("WritingAMapping", "sh", 7, pages), entry("WritingAMapping", "yaml", 3, pages),
    entry("WritingAMapping", "text", 3, pages),
    entry("jobs/contacts/README.md", "indented", 1, examples),
    entry("jobs/many/README.md", "indented", 1, examples),
    entry("jobs/peoplizer/README.md", "indented", 2, examples),
    entry("jobs/pizzas/README.md", "indented", 1, examples),
    entry("jobs/playlists/README.md", "indented", 1, examples),
    entry("jobs/recipes/README.md", "indented", 1, examples),
    entry("jobs/cards/README.md", "indented", 3, examples),
    entry("jobs/todo/README.md", "indented", 1, examples),
    entry("jobs/travel/README.md", "indented", 1, examples),
  ]

  @Test func `every block of every page is in a test, or says why not`() throws {
    var found: [String: Int] = [:]
    for page in try DocumentationPage.all() {
      for block in page.blocks {
        found["\(page.path) \(block.language)", default: 0] += 1
        let known = Self.entries.contains { path($0) == page.path && $0.language == block.language }
        #expect(
          known,
          "\(page.path):\(block.line): a block of '\(block.language)' that no test reads: write one, and list it here")
      }
    }
    let names = FileManager.default.enumerator(atPath: Checkout.url("Tests/GodwitCLITests").path)
    let suites = names?.compactMap { $0 as? String } ?? []
    func path(_ entry: Entry) -> String {
      entry.page.hasSuffix(".md") ? entry.page : "Sources/Godwit/Godwit.docc/\(entry.page).md"
    }
    for entry in Self.entries {
      let count = found["\(path(entry)) \(entry.language)"] ?? 0
      #expect(
        count == entry.count,
        "\(path(entry)) has \(count) blocks of '\(entry.language)', the list says \(entry.count): is the new one tested?"
      )
      guard case .suite(let suite) = entry.check else { continue }
      let file = try #require(suites.first { $0.hasSuffix("/\(suite).swift") }, "\(suite)")
      let tests = try Checkout.text("Tests/GodwitCLITests/\(file)")
      #expect(tests.contains("\"\(entry.page)\"") || tests.contains("\(entry.page).md\""), "\(suite): \(entry.page)")
    }
  }

  /// The pages that `DocumentationPage.all` finds are those that there are.
  @Test func `every page of the catalogue is looked at`() throws {
    let pages = Set(try DocumentationPage.all().map(\.path))
    let catalog = "Sources/Godwit/Godwit.docc"
    for name in try FileManager.default.contentsOfDirectory(
      atPath: Checkout.url(catalog).path) where name.hasSuffix(".md")
    {
      #expect(pages.contains("\(catalog)/\(name)"))
    }
    #expect(pages.contains("README.md") && pages.contains("jobs/todo/README.md"))
  }
}

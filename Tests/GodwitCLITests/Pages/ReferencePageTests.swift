import Foundation
import GodwitModel
import Testing

@testable import GodwitManifest

/// The page Reference has everything of its kinds, and every page is found from the first.
struct ReferencePageTests {
  private static func section(_ title: String) throws -> String {
    let page = try DocumentationPage("Reference").text
    let section = try #require(page.components(separatedBy: "\n## \(title)\n").dropFirst().first)
    return section.components(separatedBy: "\n## ")[0]
  }

  /// The verbs that the help lists; nothing for a verb without verbs of its own.
  private static func verbs(of arguments: String...) throws -> [String] {
    let help = try BuiltCommand.run(arguments + ["--help"]).output
    guard let list = help.components(separatedBy: "\nSUBCOMMANDS:\n").dropFirst().first else { return [] }
    return list.matches(of: #/(?:^|\n)  ([a-z-]+) /#).map { String($0.1) }
  }

  @Test func `the page has every verb and nothing else`() throws {
    let section = try Self.section("Verbs")
    var verbs: Set<String> = []
    for name in try Self.verbs() {
      let inner = ["model", "mapping", "policy", "quarantine"].contains(name) ? try Self.verbs(of: name) : []
      verbs.formUnion(inner.isEmpty ? [name] : inner.map { "\(name) \($0)" })
    }
    #expect(verbs.count >= 21)
    let listed = section.matches(of: /\n\| `godwit ((?:[a-z-]+ ?)+)/)
      .map { $0.1.trimmingCharacters(in: .whitespaces) }
    #expect(Set(listed) == verbs)
    #expect(listed.count == verbs.count)
  }

  @Test func `every key of a manifest is on the page Manifest`() throws {
    let keys = Set(JobManifest.keys(in: ""))
    let manifest = try DocumentationPage("Manifest").text
    let rows = Set(manifest.matches(of: /\n\| `([a-z-]+)[:`]/).map { String($0.1) })
    #expect(keys.subtracting(rows) == [])
  }

  @Test func `every exit status is on the page`() throws {
    let listed = try Self.section("Exit statuses").matches(of: /\n\| ([0-9, ]+) \|/)
      .flatMap { $0.1.split(separator: ", ").compactMap { Int32($0) } }
    let known = (1...255).compactMap { GodwitError.Code(rawValue: $0)?.rawValue }
    #expect(listed == [0, 2, 3] + known)
    // The README has the same.
    let readme = try DocumentationPage("README.md").text
    let table = try #require(readme.components(separatedBy: "| exit status | meaning |\n").last)
    let rows = table.components(separatedBy: "\n\n")[0].matches(of: /\| ([0-9, ]+) \|/)
    #expect(rows.flatMap { $0.1.split(separator: ", ").compactMap { Int32($0) } }.sorted() == listed)
  }

  @Test func `every page is a topic of the first page, once, and of the README`() throws {
    let first = try DocumentationPage("Godwit").text
    let topics = try #require(first.components(separatedBy: "\n## Topics\n").last)
      .matches(of: /\n- <doc:([A-Za-z-]+)>/).map { String($0.1) }
    let pages = try DocumentationPage.all().map(\.path).filter { $0.contains(".docc/") }
      .map { URL(filePath: $0).deletingPathExtension().lastPathComponent }.filter { $0 != "Godwit" }
    #expect(topics.sorted() == pages.sorted())
    // DocC would not know whether a link means the page or the heading.
    let headings = first.matches(of: /\n##+ ([^\n]+)/).map { String($0.1).replacing(" ", with: "-") }
    #expect(Set(headings).isDisjoint(with: pages))
    let readme = try DocumentationPage("README.md").text
    for page in pages { #expect(readme.contains("Godwit.docc/\(page).md)"), "\(page)") }
  }

  @Test func `every link leads to a page, and to a heading of that page`() throws {
    func place(_ title: Substring) -> String {
      String(title.map { $0 == " " ? "-" : $0 }.filter { $0 == "-" || $0.isLetter || $0.isNumber })
    }
    let pages = try DocumentationPage.all().filter { $0.path.contains(".docc/") }
    var headings: [String: Set<String>] = [:]
    for page in pages {
      let name = URL(filePath: page.path).deletingPathExtension().lastPathComponent
      headings[name] = Set(page.text.matches(of: #/\n##+ ([^\n]+)/#).map { place($0.1) })
    }
    var count = 0
    for page in pages {
      for link in page.text.matches(of: #/<doc:([A-Za-z]+)(?:#([^>]+))?>/#) {
        let known = headings[String(link.1)]
        #expect(known != nil, "\(page.path): \(link.0)")
        if let title = link.2 { #expect(known?.contains(place(title)) == true, "\(page.path): \(link.0)") }
        count += 1
      }
    }
    #expect(count > 100)
  }

  /// Above that, nobody reads to the end.
  @Test func `the README has at most 120 lines`() throws {
    #expect(
      try DocumentationPage("README.md").text.split(separator: "\n", omittingEmptySubsequences: false).count <= 121)
  }

  @Test func `the README names every verb in four lines, and nothing that is not a verb`() throws {
    let readme = try DocumentationPage("README.md").text
    let table = try #require(readme.components(separatedBy: "\n| to | verbs |\n|---|---|\n").dropFirst().first)
    let rows = table.components(separatedBy: "\n\n")[0].split(separator: "\n")
    #expect(rows.count == 4)
    let named = rows.flatMap { $0.matches(of: /`([a-z-]+)/).map { String($0.1) } }
    let verbs = try Self.verbs()
    #expect(Set(named) == Set(verbs))
    // The verbs that have verbs of their own are written `model hash\|schema`.
    let listed = rows.flatMap { $0.matches(of: /`([a-z]+) ([a-z\\|]+)`/) }
    #expect(listed.map { String($0.1) }.sorted() == ["mapping", "model", "policy", "quarantine"])
    for match in listed {
      let inner = match.2.split(separator: "\\|").map { String($0) }
      let known = try Self.verbs(of: String(match.1))
      #expect(inner.sorted() == known.sorted(), "\(match.1)")
    }
  }
}

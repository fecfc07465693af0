import Foundation
import TestSupport
import Testing

/// The recipes of the page Your first change, and the READMEs of the targets, name only what exists.
struct FirstChangeTests {
  /// The words in backticks, in their order.
  private static func codes(in text: some StringProtocol) -> [String] {
    text.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
  }

  private static func isPath(_ code: String) -> Bool {
    !code.contains(" ") && (code.contains("/") || code.hasSuffix(".swift") || code.hasSuffix(".md"))
  }

  private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: Checkout.url(path).path) }

  /// Checks the paths and suites that a text names.
  ///
  /// - Parameter folder: Paths may count from it too.
  private static func check(_ text: String, of page: String, folder: String = "") throws {
    let suites = try TestSuite.names.get()
    for code in codes(in: text) {
      if isPath(code) {
        let isThere = exists(code) || exists(folder + "/" + code)
        #expect(isThere, "\(page) names '\(code)', which does not exist")
      } else if code.hasSuffix("Tests") {
        let isSuite = suites.contains(code.split(separator: " ").last.map(String.init) ?? "")
        #expect(isSuite, "\(page) names '\(code)', which is not a suite")
      }
    }
  }

  // MARK: The page

  private static let title = "FirstChange"

  @Test func `every file and suite on the page exists, and the page is short`() throws {
    let page = try DocumentationPage(Self.title)
    try Self.check(page.text, of: page.path)
    #expect(page.text.split { $0.isWhitespace }.count <= 1100)
  }

  @Test func `each of ten recipes names its files and the suite that fails first`() throws {
    let recipes = try DocumentationPage(Self.title).text.components(separatedBy: "\n## ").dropFirst()
    #expect(recipes.count == 10)
    for recipe in recipes {
      let title = recipe.prefix { $0 != "\n" }
      let steps = recipe.matches(of: #/\n(\d+)\. /#).compactMap { Int($0.1) }
      #expect(steps == Array(1...max(1, steps.count)), "\(title)")
      let parts = recipe.components(separatedBy: "\nFails first: ")
      try #require(parts.count == 2, "\(title)")
      #expect(Self.codes(in: parts[0]).contains(where: Self.isPath), "\(title) names no file")
      let first = Self.codes(in: parts[1])
      #expect(!first.isEmpty, "\(title) names no suite")
      for suite in first {
        let isSuite = try TestSuite.names.get().contains(suite)
        #expect(isSuite, "\(title): '\(suite)' is not a suite")
      }
    }
  }

  // MARK: The READMEs of targets

  /// The folders of all targets that have a README.
  private static let targets: [String] = {
    let walk = FileManager.default.enumerator(atPath: Checkout.url("Sources").path)
    return (walk?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix("/README.md") }
      .map { "Sources/" + ($0 as NSString).deletingLastPathComponent }.sorted()
  }()

  /// The words in backticks before the colon of each item of a list.
  private static func subjects(of section: String) -> [String] {
    section.components(separatedBy: "\n- ").dropFirst()
      .flatMap { item in codes(in: item.prefix { $0 != ":" }) }
  }

  private static func declares(_ name: String, _ files: [String]) throws -> Bool {
    let own = files.filter { $0.hasSuffix("/\(name).swift") }
    return try (own + files).contains { file in
      let text = try Checkout.text(file)
      return ["struct", "class", "enum", "protocol", "actor"].contains { kind in
        text.components(separatedBy: "\(kind) \(name)").dropFirst()
          .contains { $0.first.map { !$0.isLetter && !$0.isNumber } ?? true }
      }
    }
  }

  @Test func `every target has a README`() { #expect(Self.targets.count == 13, "\(Self.targets)") }

  @Test(arguments: targets) func `a README names the folders, types and suites of its target`(folder: String) throws {
    let text = try Checkout.text(folder + "/README.md")
    #expect((25...50).contains(text.split(separator: "\n", omittingEmptySubsequences: false).count - 1))
    let parts = text.components(separatedBy: "\n## ").dropFirst()
    let titles = parts.map { String($0.prefix { $0 != "\n" }) }
    try #require(titles == ["Folders", "Nouns", "Who calls it", "What must stay true", "Tests"])
    let sections = Dictionary(uniqueKeysWithValues: zip(titles, parts))
    try Self.check(text, of: folder + "/README.md", folder: folder)

    let files = try Checkout.swiftFiles(under: folder)
    let folders = Set(files.map { ($0 as NSString).deletingLastPathComponent }).subtracting([""])
    let named = Set(Self.subjects(of: sections["Folders"] ?? ""))
    #expect(folders.subtracting(named) == [], "\(folder): these folders are not named")
    #expect(named.subtracting(folders) == [], "\(folder): these folders have no Swift files")

    let nouns = Self.subjects(of: sections["Nouns"] ?? "")
    #expect(nouns.count >= 4)
    for noun in nouns {
      #expect(try Self.declares(noun, files.map { "\(folder)/\($0)" }), "\(folder) has no type '\(noun)'")
    }

    for rule in (sections["What must stay true"] ?? "").components(separatedBy: "\n- ").dropFirst() {
      let held = rule.components(separatedBy: "(").last ?? ""
      #expect(held.contains(")") && !Self.codes(in: held).isEmpty, "\(folder): no suite holds '\(rule)'")
      for suite in Self.codes(in: held) {
        let isSuite = try TestSuite.names.get().contains(suite)
        #expect(isSuite, "\(folder): '\(suite)' is not a suite")
      }
    }

    // A folder of tests is called by its whole path, or after the path of the folder that it lies in.
    let places = Self.codes(in: sections["Tests"] ?? "")
    let roots = places.filter { $0.hasPrefix("Tests/") }
    #expect(!roots.isEmpty)
    for place in places where !Self.isPath(place) {
      #expect(roots.contains { Self.exists("\($0)/\(place)") }, "\(folder): no tests in '\(place)'")
    }
  }
}

import Foundation
import TestSupport

/// A suite of the tests.
struct TestSuite {
  /// The name of its type, or of its file.
  let name: String
  /// Whether it is left out where the corpus is missing.
  var needsCorpus = false

  static let all = Result { try find() }
  static let names = Result { Set(try all.get().map(\.name)) }

  private static func find() throws -> [TestSuite] {
    let kinds: Set<Substring> = ["struct", "class", "enum", "actor"]
    var suites: [TestSuite] = []
    for file in try Checkout.swiftFiles(under: "Tests") {
      let text = try Checkout.text("Tests/\(file)")
      guard text.contains("@Test") else { continue }
      suites.append(TestSuite(name: URL(filePath: file).deletingPathExtension().lastPathComponent))
      var condition = ""
      for line in text.split(separator: "\n") where line.first?.isLetter == true || line.first == "@" {
        if line.hasPrefix("@Suite(") { condition = String(line) }
        let words = line.split(separator: " ")
        guard let kind = words.firstIndex(where: kinds.contains), kind + 1 < words.count else { continue }
        let quoted = line.split(separator: "`", omittingEmptySubsequences: false)
        let name =
          words[kind + 1].hasPrefix("`")
          ? quoted[1] : words[kind + 1].prefix { $0.isLetter || $0.isNumber }
        suites.append(TestSuite(name: String(name), needsCorpus: condition.contains("Corpus.")))
        condition = ""
      }
    }
    return suites
  }
}

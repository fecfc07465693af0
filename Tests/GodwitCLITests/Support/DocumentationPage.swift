import Foundation
import TestSupport
import Testing

/// A page of the documentation, or a README, with its code blocks.
struct DocumentationPage {
  struct Block {
    /// The word after the fence; `indented` for indented commands of Godwit.
    let language: String
    let text: String
    /// In the page, from 1.
    let line: Int
  }

  private static let catalog = "Sources/Godwit/Godwit.docc/"

  /// From the root of the repository.
  let path: String
  let text: String
  let blocks: [Block]

  /// - Parameter name: A page of the catalogue without its extension, or a path from the root of the repository.
  init(_ name: String) throws {
    path = name.hasSuffix(".md") ? name : Self.catalog + name + ".md"
    text = try Checkout.text(path)
    blocks = Self.blocks(of: text)
  }

  /// Every page of the catalogue and every README and page beside it.
  static func all() throws -> [DocumentationPage] {
    let manager = FileManager.default
    var paths = ["README.md", "Tests/README.md", "Benchmarks/README.md"]
    for folder in ["Sources/Godwit/Godwit.docc", ".github", "jobs"] {
      for name in try manager.contentsOfDirectory(atPath: Checkout.url(folder).path) {
        let readme = "\(folder)/\(name)/README.md"
        if name.hasSuffix(".md") {
          paths.append("\(folder)/\(name)")
        } else if manager.fileExists(atPath: Checkout.url(readme).path) {
          paths.append(readme)
        }
      }
    }
    return try paths.sorted().map(DocumentationPage.init)
  }

  func blocks(_ language: String) -> [String] { blocks.filter { $0.language == language }.map(\.text) }

  private static func blocks(of text: String) -> [Block] {
    var blocks: [Block] = []
    var open: (language: String, lines: [Substring], line: Int)?
    func close() {
      if let block = open {
        blocks.append(Block(language: block.language, text: block.lines.joined(separator: "\n"), line: block.line))
      }
      open = nil
    }
    var isAfterEmptyLine = true
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let isFence = line.drop { $0 == " " }.hasPrefix("```")
      defer { isAfterEmptyLine = line.isEmpty }
      if let block = open, block.language != "indented" {
        if isFence { close() } else { open?.lines.append(line) }
        continue
      }
      if isFence {
        close()
        let word = line.drop { $0 == " " }.dropFirst(3)
        open = (word.isEmpty ? "none" : String(word), [], index + 1)
      } else if line.hasPrefix("    "), open != nil || isAfterEmptyLine {
        if open == nil { open = ("indented", [], index + 1) }
        open?.lines.append(line.dropFirst(4))
      } else {
        close()
      }
    }
    close()
    // Other indented text is a drawing, a list of files or SQL.
    return blocks.filter {
      $0.language != "indented" || $0.text.contains(#/(^|\n)(swift run )?(godwit|todo-migration) /#)
    }
  }
}

import Foundation
import TestSupport
import Testing

/// The edits that `Benchmarks/mutants` tries: each fits the sources, and names a suite that runs everywhere.
struct MutantsTests {
  private static let table = "Benchmarks/mutants.txt"

  /// An edit of one file, and the suite that must notice it.
  fileprivate struct Mutant: Sendable, CustomTestStringConvertible {
    /// The lines of each key, in their order.
    private var lines: [String: [String]] = [:]

    var testDescription: String { self["name"] ?? "a mutant without a name" }
    var keys: Set<String> { Set(lines.keys) }

    /// The value of a key; nil where the key is missing.
    subscript(key: String) -> String? { lines[key]?.joined(separator: "\n") }

    mutating func add(_ line: Substring) {
      let key = line.prefix(7).filter { $0 != " " }
      lines[key, default: []].append(String(line.dropFirst(7)))
    }
  }

  private static let mutants: [Mutant] = {
    let text = (try? Checkout.text(table)) ?? ""
    var mutants = [Mutant()]
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) where !line.hasPrefix("#") {
      if !line.isEmpty {
        mutants[mutants.count - 1].add(line)
      } else if !mutants[mutants.count - 1].keys.isEmpty {
        mutants.append(Mutant())
      }
    }
    return mutants.filter { !$0.keys.isEmpty }
  }()

  @Test func `there are forty mutants, with names of their own, in every target`() throws {
    #expect(Self.mutants.count >= 40)
    #expect(Set(Self.mutants.map { $0["name"] }).count == Self.mutants.count)
    let readmes = try FileManager.default.subpathsOfDirectory(atPath: Checkout.url("Sources").path)
      .filter { $0.hasSuffix("/README.md") }
    #expect(readmes.count == 13)
    for readme in readmes {
      let target = "Sources/" + readme.dropLast("README.md".count)
      #expect(Self.mutants.contains { $0["file"]?.hasPrefix(target) == true }, "no mutant in \(target)")
    }
  }

  @Test(arguments: mutants) fileprivate func `a mutant fits its file once, and its suite runs everywhere`(
    mutant: Mutant
  ) throws {
    #expect(mutant.keys == ["name", "file", "old", "new", "suite", "lost"])
    let name = try #require(mutant["name"])
    #expect(name.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "-") })
    let (file, old) = (try #require(mutant["file"]), try #require(mutant["old"]))
    #expect(try Checkout.text(file).components(separatedBy: old).count == 2, "\(file) has '\(old)' not once")
    #expect(mutant["new"] != old)
    let suites = try TestSuite.all.get().filter { $0.name == mutant["suite"] }
    #expect(!suites.isEmpty && !suites.contains(where: \.needsCorpus), "\(mutant["suite"] ?? "")")
    let lost = try #require(mutant["lost"])
    #expect(lost.hasSuffix(".") && !lost.contains("\n"))
  }
}

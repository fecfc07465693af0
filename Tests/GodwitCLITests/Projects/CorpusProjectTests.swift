import Foundation
import TestSupport
import Testing

/// The outcome for every model, mapping model and store of the corpus, in `Golden/corpus-projects.txt`.
///
/// A line that says `refused`, `differs` or `no model` stands above a line `because:`, written by hand: why Core Data
/// would refuse the same, or what is not known. A changed line fails the test. When the change is wanted, run the tests
/// once with `GODWIT_RECORD=1`, which rewrites the lines, keeps the reasons, and asks for new ones.
@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct CorpusProjectTests {
  private static let table = Checkout.url("Tests/GodwitCLITests/Golden/corpus-projects.txt")
  private static let isRecording = ProcessInfo.processInfo.environment["GODWIT_RECORD"] != nil
  /// A sample of them on every change, all of them in the long tier.
  private static let compared = isRecording ? [] : TestTier.sample(CorpusProject.all, each: 12)

  private static func found(_ project: CorpusProject) throws -> [String] {
    let folder = try TemporaryFolder()
    return ["# \(project.name)"] + project.modelLines() + project.storeLines(folder) + project.mappingLines(folder)
  }

  private static func known() throws -> (lines: [String], reasons: [String: String]) {
    let text = (try? String(contentsOf: table, encoding: .utf8)) ?? ""
    return parted(text.split(separator: "\n").map(String.init))
  }

  @Test(arguments: compared) func `every corpus project is read and migrated as the table says`(project: CorpusProject)
    throws
  {
    let found = try Self.found(project)
    let rest = try Self.known().lines.drop { $0 != found[0] }
    let lines = rest.prefix(1) + rest.dropFirst().prefix { !$0.hasPrefix("# ") }
    for (line, expected) in zip(found, lines) where line != expected {
      Issue.record("\(line)\nbefore: \(expected)")
    }
    #expect(found.count == lines.count)
  }

  @Test func `the table of corpus projects is complete, with a reason for every refusal`() throws {
    let (lines, reasons) = try Self.known()
    if !Self.isRecording {
      #expect(lines.filter { $0.hasPrefix("# ") } == CorpusProject.all.map { "# \($0.name)" })
    }
    var project = ""
    for line in lines {
      if line.hasPrefix("# ") { project = line }
      guard Self.needsReason(line) else { continue }
      let reason = reasons[project + line] ?? ""
      #expect(reason.count > 10, "no reason is given for: \(line)")
    }
  }

  @Test(.enabled(if: isRecording)) func `the table of corpus projects can be regenerated`() throws {
    let reasons = try Self.known().reasons
    var project = ""
    let recorded = try CorpusProject.all.flatMap(Self.found).flatMap { line -> [String] in
      if line.hasPrefix("# ") { project = line }
      guard Self.needsReason(line) else { return [line] }
      return [line, "    because: " + (reasons[project + line] ?? "?")]
    }
    try Data((recorded.joined(separator: "\n") + "\n").utf8).write(to: Self.table)
  }

  private static func needsReason(_ line: String) -> Bool {
    ["refused", "differs", "no model", "no two versions", "verify says"].contains(where: line.contains)
  }

  /// The lines of the table, and by project and line the reasons that stand below.
  private static func parted(_ known: [String]) -> (lines: [String], reasons: [String: String]) {
    var lines: [String] = []
    var reasons: [String: String] = [:]
    var project = ""
    for line in known {
      if let range = line.range(of: "    because: ") {
        if let above = lines.last { reasons[project + above] = String(line[range.upperBound...]) }
        continue
      }
      if line.hasPrefix("# ") { project = line }
      lines.append(line)
    }
    return (lines, reasons)
  }
}

import Foundation
import GodwitJob
import GodwitModel

/// The results as one table, a line for each test.
struct TestTable {
  private let versionWidth: Int
  private let storeWidth: Int
  private static let shownLosses = 5

  init(_ tests: [MigrationTest]) {
    versionWidth = max(7, tests.map { ($0.version ?? "").onOneLine.count }.max() ?? 0)
    storeWidth = max(5, tests.map(\.name.onOneLine.count).max() ?? 0)
  }

  private func row(_ version: String, _ store: String, _ rest: [String]) -> String {
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    let numbers = zip(rest.dropLast(), [9, 7, 7, 7]).map(right).joined(separator: "  ")
    return "\(version.padded(to: versionWidth))  \(store.padded(to: storeWidth))  \(numbers)  \(rest.last ?? "")\n"
  }

  var head: String { row("version", "store", ["objects", "lost", "expect", "seconds", "result"]) }

  func line(_ result: MigrationTestResult) -> String {
    let seconds = String(format: "%.2f", result.seconds)
    let kinds = Set(result.problems.map(\.kind))
    var outcome = result.outcome.rawValue
    if let problem = result.problems.first(where: { $0.kind == .run }) { outcome += " (\(problem.code))" }
    if kinds.contains(.verification) { outcome += " (verify)" }
    if kinds.contains(.expectation) { outcome += " (expect)" }
    return row(
      result.version.onOneLine, result.store.onOneLine,
      [
        "\(result.objects)", "\(result.lost)", result.expectations > 0 ? "\(result.expectations)" : "-", seconds,
        outcome,
      ])
  }

  /// Notes, what was lost, failures and how to repeat them, then one line of totals.
  static func conclusion(_ results: [MigrationTestResult]) -> String {
    var text = ""
    let lossy = results.filter { !$0.losses.isEmpty }
    if !lossy.isEmpty { text += "\n" }
    for result in lossy {
      let shown = result.losses.prefix(shownLosses).joined(separator: "; ")
      let more = result.losses.count - shownLosses
      let line = "lost: \(result.version), \(result.store): \(shown)\(more > 0 ? "; and \(more) more" : "")"
      text += line.onOneLine + "\n"
    }
    for result in results {
      for note in result.notes ?? [] {
        text += "\n" + "note: \(result.version), \(result.store): \(note)".onOneLine + "\n"
      }
    }
    for group in groups(of: results.filter { $0.outcome == .failed }) {
      let result = group[0]
      text += "\n" + group.map { "\($0.version), \($0.store)" }.joined(separator: "; ").onOneLine + "\n"
      for problem in result.problems { text += indented(problem.message) }
      if let command = result.reproduce { text += "  repeat  \(command)\n" }
    }
    let failed = results.count { $0.outcome == .failed }
    let skipped = results.count { $0.outcome == .skipped }
    text += "\n\(results.count) tests: \(results.count - failed - skipped) passed, \(failed) failed"
    return text + (skipped > 0 ? ", \(skipped) skipped\n" : "\n")
  }

  /// The tests that failed alike, in the order of their firsts: the same problems, whatever the version, the object and
  /// the chunk.
  private static func groups(of failed: [MigrationTestResult]) -> [[MigrationTestResult]] {
    failed.grouped { result in
      result.problems.map { problem -> String in
        let first = problem.message.prefix { !$0.isNewline }
        let plain = first.replacing("'\(result.version)'", with: "''").replacing(#/\bp\d+\b/#, with: "p")
        return "\(problem.kind.rawValue) \(problem.code) \(plain)"
      }
    }.map(\.elements)
  }

  private static func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { "  \($0)\n" }.joined()
  }
}

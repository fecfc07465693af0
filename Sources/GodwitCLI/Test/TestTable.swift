import Foundation

/// The results as one table, a line for each test.
struct TestTable {
  private let versionWidth: Int
  private let storeWidth: Int

  init(_ tests: [MigrationTest]) {
    versionWidth = max(7, tests.map { ($0.version ?? "").count }.max() ?? 0)
    storeWidth = max(5, tests.map(\.name.count).max() ?? 0)
  }

  private func row(_ version: String, _ store: String, _ rest: [String]) -> String {
    func left(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(0, width - text.count))
    }
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    let numbers = zip(rest.dropLast(), [9, 7, 7, 7]).map(right).joined(separator: "  ")
    return "\(left(version, versionWidth))  \(left(store, storeWidth))  \(numbers)  \(rest.last ?? "")\n"
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
      result.version, result.store,
      [
        "\(result.objects)", "\(result.lost)", result.expectations > 0 ? "\(result.expectations)" : "-", seconds,
        outcome,
      ])
  }

  /// What to know, what failed and how to repeat it, then one line of totals.
  static func conclusion(_ results: [MigrationTestResult]) -> String {
    var text = ""
    for result in results {
      for note in result.notes ?? [] { text += "\nnote: \(result.version), \(result.store): \(note)\n" }
    }
    for result in results where result.outcome == .failed {
      text += "\n\(result.version), \(result.store)\n"
      for problem in result.problems { text += indented(problem.message) }
      if let command = result.reproduce { text += "  repeat  \(command)\n" }
    }
    let failed = results.count { $0.outcome == .failed }
    let skipped = results.count { $0.outcome == .skipped }
    text += "\n\(results.count) tests: \(results.count - failed - skipped) passed, \(failed) failed"
    return text + (skipped > 0 ? ", \(skipped) skipped\n" : "\n")
  }

  private static func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { "  \($0)\n" }.joined()
  }
}

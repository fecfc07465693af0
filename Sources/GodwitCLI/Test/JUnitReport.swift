import Foundation

/// The results as JUnit XML, as CI systems read it: one suite for each model version, one case for each store.
struct JUnitReport {
  let results: [MigrationTestResult]

  /// How every report begins, so that an older one is recognised.
  static let beginning = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"godwit\" "

  var text: String {
    var text = "\(Self.beginning)\(Self.counts(results))>\n"
    var versions: [String] = []
    for result in results where !versions.contains(result.version) { versions.append(result.version) }
    for version in versions {
      let cases = results.filter { $0.version == version }
      text += "  <testsuite name=\(Self.quoted(version)) \(Self.counts(cases))>\n"
      for result in cases { text += Self.element(result) }
      text += "  </testsuite>\n"
    }
    return text + "</testsuites>\n"
  }

  private static func counts(_ results: [MigrationTestResult]) -> String {
    let errors = results.count { $0.outcome == .failed && $0.problems.contains { $0.kind == .run } }
    let failures = results.count { $0.outcome == .failed } - errors
    let skipped = results.count { $0.outcome == .skipped }
    let seconds = results.reduce(0) { $0 + $1.seconds }
    return
      "tests=\"\(results.count)\" failures=\"\(failures)\" errors=\"\(errors)\" skipped=\"\(skipped)\" time=\"\(time(seconds))\""
  }

  private static func element(_ result: MigrationTestResult) -> String {
    var text =
      "    <testcase classname=\(quoted(result.version)) name=\(quoted(result.store)) time=\"\(time(result.seconds))\">\n"
    if result.outcome == .skipped { text += "      <skipped/>\n" }
    for problem in result.problems {
      let element = problem.kind == .run ? "error" : "failure"
      let first = problem.message.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
      text += "      <\(element) type=\(quoted(problem.kind.rawValue)) message=\(quoted(first))>"
      text += escaped(problem.message) + "</\(element)>\n"
    }
    var output = (result.notes ?? []).map { "note: \($0)" } + result.losses.map { "lost: \($0)" }
    if let command = result.reproduce { output.append("to repeat it: \(command)") }
    if !output.isEmpty { text += "      <system-out>\(escaped(output.joined(separator: "\n")))</system-out>\n" }
    return text + "    </testcase>\n"
  }

  private static func time(_ seconds: Double) -> String {
    String(format: "%.3f", locale: Locale(identifier: "en_US_POSIX"), seconds)
  }

  private static func quoted(_ text: String) -> String {
    "\"" + escaped(text, inAttribute: true) + "\""
  }

  /// XML 1.0 has no form for most control characters: they become U+FFFD.
  ///
  /// It goes by Unicode scalars: `"` and a combining mark are one character that is not `"`, and end the value all the
  /// same.
  private static func escaped(_ text: String, inAttribute: Bool = false) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"" where inAttribute: result += "&quot;"
      // A reader turns them into spaces, or into line feeds, unless they are written so.
      case "\t" where inAttribute, "\n" where inAttribute, "\r": result += "&#\(scalar.value);"
      case "\t", "\n": result.unicodeScalars.append(scalar)
      case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

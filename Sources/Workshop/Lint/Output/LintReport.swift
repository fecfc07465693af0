import Foundation

/// All that `godwit lint` found.
package struct LintReport: Sendable, Hashable {
  /// The findings by file, then by line.
  package let findings: [LintFinding]
  /// How many models and versions were looked at.
  package let bundles, versions: Int
  /// The lock file that was read, as findings show it; nil for none.
  package let lock: String?

  init(findings: [LintFinding], bundles: Int, versions: Int, lock: String?) {
    self.findings = findings.sorted { a, b in
      let (x, y) = (a.location, b.location)
      if x.file != y.file { return x.file.compare(y.file, options: [.numeric]) == .orderedAscending }
      return (x.line ?? 0, a.rule.code, a.key) < (y.line ?? 0, b.rule.code, b.key)
    }
    self.bundles = bundles
    self.versions = versions
    self.lock = lock
  }

  /// The findings that are neither accepted nor about a shipped step.
  package var open: [LintFinding] { findings.filter { $0.state == .open } }

  package func count(_ severity: LintRule.Severity) -> Int { open.count { $0.severity == severity } }
  package func count(_ state: LintFinding.State) -> Int { findings.count { $0.state == state } }

  /// Whether a check should fail.
  ///
  /// - Parameter isStrict: Whether a warning is enough.
  package func fails(isStrict: Bool) -> Bool { open.contains { $0.severity >= (isStrict ? .warning : .error) } }
}

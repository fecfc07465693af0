import GodwitModel

extension LintReport {
  /// The findings for a person: grouped by file, each with its place in the form that editors follow. A remedy that
  /// several findings share stands below the first of them.
  ///
  /// - Parameter showsAll: Whether accepted findings and those of shipped steps are listed.
  package func text(showsAll: Bool = false) -> String {
    let shown = showsAll ? findings : open
    var text = ""
    var file: String?
    var remedies: Set<String> = []
    for finding in shown {
      if let file, file != finding.location.file { text += "\n" }
      file = finding.location.file
      text += Self.lines(of: finding, showsRemedy: remedies.insert(finding.remedy).inserted)
    }
    return text + (shown.isEmpty ? "" : "\n") + total(showsAll: showsAll) + "\n"
  }

  private static func lines(of finding: LintFinding, showsRemedy: Bool) -> String {
    let place = finding.location.file + (finding.location.line.map { ":\($0)" } ?? "")
    let state = finding.state == .open ? "" : " (\(finding.state.rawValue))"
    var lines = ["\(place): \(finding.severity.rawValue): \(finding.rule.code) \(finding.message)\(state)"]
    for other in finding.related {
      lines.append("  see     \(other.location.file)\(other.location.line.map { ":\($0)" } ?? ""), \(other.text)")
    }
    if showsRemedy { lines.append("  try     \(finding.remedy)") }
    if finding.state == .open, finding.severity > .note { lines.append("  accept  \(finding.key)") }
    return lines.map { $0.split(whereSeparator: \.isNewline).joined(separator: " ") + "\n" }.joined()
  }

  /// The hint at the end of a report without a lock file.
  package var lockHint: String {
    let hidden = open.count { $0.step != nil && !$0.rule.isAboutMappingModels }
    return "no lock file: `--write-lock` records the shipped versions, so that an edit is noticed"
      + (hidden == 0
        ? "" : "; it would hide \(hidden.counted("finding")) about steps between them") + "\n"
  }

  private func total(showsAll: Bool) -> String {
    var parts: [String] = []
    for severity in [LintRule.Severity.error, .warning, .note] {
      let count = count(severity)
      if count > 0 { parts.append(count.counted(severity.rawValue)) }
    }
    var text = parts.isEmpty ? "no findings" : parts.joined(separator: ", ")
    text += " in \(versions.counted("version")) of \(bundles.counted("model"))"
    var hidden: [String] = []
    if count(.accepted) > 0 { hidden.append("\(count(.accepted)) accepted") }
    if count(.shipped) > 0 { hidden.append("\(count(.shipped)) about shipped steps") }
    if !hidden.isEmpty { text += "; \(hidden.joined(separator: ", "))" + (showsAll ? "" : " (`--all` lists them)") }
    return text
  }
}

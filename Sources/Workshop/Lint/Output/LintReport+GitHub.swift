import GodwitModel

extension LintReport {
  /// The open findings as workflow commands, which GitHub Actions shows beside the lines of a pull request.
  package func github() -> String {
    open.map { finding in
      let command =
        switch finding.severity {
        case .error: "error"
        case .warning: "warning"
        case .note: "notice"
        }
      var properties = ["file=" + Self.property(finding.location.file)]
      if let line = finding.location.line { properties.append("line=\(line)") }
      properties.append("title=" + Self.property("\(finding.rule.code) \(finding.rule.slug)"))
      let data = Self.data("\(finding.message)\ntry: \(finding.remedy)\nkey: \(finding.key)")
      return "::\(command) \(properties.joined(separator: ","))::\(data)\n"
    }.joined()
  }

  /// Escapes a text for the message of a workflow command.
  private static func data(_ text: String) -> String {
    text.replacing(scalar: "%", with: "%25").replacing(scalar: "\r", with: "%0D").replacing(scalar: "\n", with: "%0A")
  }

  private static func property(_ text: String) -> String {
    data(text).replacing(scalar: ":", with: "%3A").replacing(scalar: ",", with: "%2C")
  }
}

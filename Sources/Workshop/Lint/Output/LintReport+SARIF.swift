import Foundation

extension LintReport {
  /// The report in SARIF 2.1.0, which code scanning takes.
  ///
  /// - Parameters:
  ///   - version: The version of the command.
  ///   - showsAll: Whether accepted findings and those of shipped steps are results too, with a suppression. Several
  ///     readers count such results as open ones.
  package func sarif(version: String, showsAll: Bool) throws -> String {
    try LintJSON.document(SARIF(self, version: version, showsAll: showsAll))
  }
}

/// The part of SARIF 2.1.0 that a report needs.
private struct SARIF: Encodable {
  struct Text: Encodable { var text: String }
  struct Configuration: Encodable { var level: String }
  struct Rule: Encodable {
    var id, name: String
    var shortDescription, fullDescription, help: Text
    var defaultConfiguration: Configuration
  }
  struct Driver: Encodable {
    var name = "godwit"
    var semanticVersion: String
    var rules: [Rule]
  }
  struct Tool: Encodable { var driver: Driver }
  struct Artifact: Encodable {
    var uri: String
    /// The root of the checkout, for a relative path.
    var uriBaseId: String?
  }
  struct Region: Encodable { var startLine: Int }
  struct Physical: Encodable {
    var artifactLocation: Artifact
    var region: Region?
  }
  struct Location: Encodable {
    var id: Int?
    var physicalLocation: Physical
    var message: Text?
  }
  struct Suppression: Encodable {
    var kind = "external"
    var justification: String
  }
  struct Result: Encodable {
    var ruleId: String
    var ruleIndex: Int
    var level: String
    var message: Text
    var locations: [Location]
    var relatedLocations: [Location]?
    var partialFingerprints: [String: String]
    /// Empty for an open finding: a missing list says nothing about suppression.
    var suppressions: [Suppression]
  }
  struct Run: Encodable {
    var tool: Tool
    var columnKind = "utf16CodeUnits"
    var results: [Result]
  }

  var schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
  var version = "2.1.0"
  var runs: [Run]

  enum CodingKeys: String, CodingKey {
    case schema = "$schema"
    case version, runs
  }

  init(_ report: LintReport, version: String, showsAll: Bool) {
    let rules = LintRule.allCases
    let places = Dictionary(uniqueKeysWithValues: rules.enumerated().map { ($1, $0) })
    let driver = Driver(
      semanticVersion: version,
      rules: rules.map { rule in
        Rule(
          id: rule.code, name: rule.slug, shortDescription: Text(text: rule.summary),
          fullDescription: Text(text: rule.explanation), help: Text(text: rule.help),
          defaultConfiguration: Configuration(level: rule.severity.rawValue))
      })
    let results = report.findings.filter { showsAll || $0.state == .open }.map { finding in
      Result(
        ruleId: finding.rule.code, ruleIndex: places[finding.rule] ?? 0, level: finding.severity.rawValue,
        message: Text(text: "\(finding.message)\nTry: \(finding.remedy)"),
        locations: [Self.location(finding.location)],
        relatedLocations: finding.related.isEmpty
          ? nil
          : finding.related.enumerated().map { Self.location($1.location, id: $0, text: $1.text) },
        partialFingerprints: ["godwitFinding/v1": "\(finding.bundle ?? ""):\(finding.key)"],
        suppressions: Self.suppressions(finding.state))
    }
    runs = [Run(tool: Tool(driver: driver), results: results)]
  }

  private static func suppressions(_ state: LintFinding.State) -> [Suppression] {
    switch state {
    case .open: []
    case .accepted: [Suppression(justification: "accepted in the lock file")]
    case .shipped: [Suppression(justification: "both versions are in the lock file")]
    }
  }

  private static func location(_ location: LintFinding.Location, id: Int? = nil, text: String? = nil) -> Location {
    Location(
      id: id,
      physicalLocation: Physical(artifactLocation: artifact(location.file), region: location.line.map(Region.init)),
      message: text.map(Text.init))
  }

  private static func artifact(_ file: String) -> Artifact {
    let isAbsolute = file.hasPrefix("/")
    // The characters that a URI path may contain. The colon is left out: in the first segment it would begin a scheme.
    let allowed = CharacterSet(
      charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/!$&'()*+,=@")
    let escaped = file.addingPercentEncoding(withAllowedCharacters: allowed) ?? file
    return Artifact(uri: isAbsolute ? "file://" + escaped : escaped, uriBaseId: isAbsolute ? nil : "%SRCROOT%")
  }
}

/// One thing that `godwit lint` found.
package struct LintFinding: Sendable, Hashable {
  /// A place in a file; line 0 for a file without lines.
  package struct Location: Sendable, Hashable {
    package var file: String
    package var line: Int?
  }

  /// Two versions of a model.
  package struct Step: Sendable, Hashable {
    package var from, to: String
  }

  /// The state of a finding.
  package enum State: String, Sendable, Hashable, Codable {
    case open
    /// The lock file accepts it.
    case accepted
    /// It is about a step between two versions of the lock file: the release is out.
    case shipped
  }

  package var rule: LintRule
  package var severity: LintRule.Severity
  /// The subject: an entity, `Entity.property`, a version or a file.
  package var subject: String
  /// The subject's name in the earlier version of a step. A loss and the rename that explains it have the same one.
  let oldName: String
  package var step: Step?
  /// The path of the model; nil for a finding about none.
  package var bundle: String?
  package var location: Location
  /// Related places, each with a reason.
  package var related: [Related]
  package var message: String
  package var remedy: String
  package var state = State.open

  /// A second place that a finding concerns.
  package struct Related: Sendable, Hashable {
    package var location: Location
    package var text: String
  }

  package init(
    _ rule: LintRule, severity: LintRule.Severity? = nil, subject: String, oldName: String? = nil, step: Step? = nil,
    bundle: String?, at location: Location, _ message: String, try remedy: String? = nil, related: [Related] = []
  ) {
    self.rule = rule
    self.severity = severity ?? rule.severity
    self.subject = subject
    self.oldName = oldName ?? subject
    self.step = step
    self.bundle = bundle
    self.location = location
    self.message = message
    self.remedy = remedy ?? rule.remedy
    self.related = related
  }

  /// The finding's key in the lock file, for example `GW201:Person.nickname:App 2→App 3`. Unique among those of a
  /// model.
  package var key: String {
    ([rule.code, subject].filter { !$0.isEmpty } + (step.map { ["\($0.from)→\($0.to)"] } ?? []))
      .joined(separator: ":").onOneKeyLine
  }
}

extension String {
  /// The text without line breaks, which no key has.
  fileprivate var onOneKeyLine: String { split(whereSeparator: \.isNewline).joined(separator: " ") }
}

import GodwitJob
import GodwitModel

/// The findings of `Verifier`, and the checks it made.
///
/// A clean report means that every check named in `checks` held for everything it counts. Content that could not be
/// proved is counted too, under a name that starts with `not proved`.
public struct VerificationReport: Sendable, Codable, CustomStringConvertible {
  /// One difference between the destination and its expected content. No user data.
  public struct Finding: Sendable, Codable, Hashable, CustomStringConvertible {
    /// The kind of difference.
    public enum Kind: String, Sendable, Codable, Hashable {
      /// SQLite's own check failed.
      case file
      /// A table, column or index differs from what Core Data would make.
      case schema
      /// Hashes, identifiers or keys of `Z_METADATA`.
      case metadata
      /// A row of `Z_PRIMARYKEY`: an entity number or a counter.
      case counter
      /// A row of the wrong entity, or of none.
      case entity
      /// A source object that a mapping takes has no destination object under its key.
      case missingObject = "missing object"
      /// A destination object that no source object explains.
      case extraObject = "extra object"
      /// Two source objects have the same destination object.
      case sharedObject = "shared object"
      /// An attribute has another value than its mapping gives.
      case value
      /// A relationship lacks an object that its mapping gives.
      case missingLink = "missing link"
      /// A relationship leads to an object that its mapping does not give.
      case extraLink = "extra link"
      /// A key that leads to no object, or to one of another entity.
      case danglingLink = "dangling link"
      /// The objects of an ordered relationship have another order.
      case order
      /// A rule of the model is broken: required, limits, pattern, count, uniqueness.
      case invalid
      /// A source row that belongs to no entity of the source model.
      case source
    }

    /// The kind of difference.
    public var kind: Kind
    /// The destination entity; nil when the finding concerns the file as a whole.
    public var entity: String?
    /// The primary key in the destination.
    public var key: Int64?
    /// The property concerned; nil when it is the object as a whole.
    public var property: String?
    /// The content found and the content expected, without user data.
    public var message: String

    package init(_ kind: Kind, entity: String? = nil, key: Int64? = nil, property: String? = nil, message: String) {
      self.kind = kind
      self.entity = entity
      self.key = key
      self.property = property
      self.message = message
    }

    /// One line: the kind, the object, and the message.
    public var description: String {
      var place = entity ?? ""
      if let property { place += ".\(property)" }
      if let key { place += (place.isEmpty ? "" : " ") + "p\(key)" }
      return "\(kind.rawValue): " + (place.isEmpty ? "" : "\(place): ") + message
    }
  }

  /// One kind of thing that was checked, with its number.
  package struct Check: Sendable, Codable, Hashable {
    /// The name of the check, for example `attributes`.
    package var name: String
    /// How many were checked.
    package var count: Int64
    /// Whether it was checked. False for content that could not be proved, whose name starts with `not proved`.
    package var isProved: Bool { !name.hasPrefix("not proved") }

    private enum CodingKeys: String, CodingKey {
      case name, count, isProved
    }

    package init(name: String, count: Int64) {
      self.name = name
      self.count = count
    }

    /// A check from a report in JSON.
    package init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      count = try container.decode(Int64.self, forKey: .count)
    }

    /// Writes ``isProved`` too.
    package func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(count, forKey: .count)
      try container.encode(isProved, forKey: .isProved)
    }
  }

  /// How many findings are kept; later ones are only counted.
  package static let findingLimit = 100

  /// The first findings.
  public private(set) var findings: [Finding] = []
  /// The number of all findings, including those not kept.
  public private(set) var totalFindings: Int64 = 0
  /// The checks in their order.
  package private(set) var checks: [Check] = []
  /// The store that was read; nil in the report of a job, whose destination it is.
  package internal(set) var store: String?
  /// Why this store was read, as a text after its name.
  package internal(set) var storeReason: String?

  package init() {}

  /// Whether nothing was found.
  public var isClean: Bool { totalFindings == 0 }

  package mutating func add(_ finding: Finding) {
    totalFindings += 1
    if findings.count < Self.findingLimit { findings.append(finding) }
  }

  /// Puts findings before those that are there.
  mutating func prepend(_ first: [Finding]) {
    totalFindings += Int64(first.count)
    findings = Array((first + findings).prefix(Self.findingLimit))
  }

  package mutating func count(_ name: String, _ count: Int64) {
    if let index = checks.firstIndex(where: { $0.name == name }) {
      // Anybody can write any number into a receipt.
      let sum = checks[index].count.addingReportingOverflow(count)
      checks[index].count = sum.overflow ? .max : sum.partialValue
    } else {
      checks.append(Check(name: name, count: count))
    }
  }

  /// The report with the results of another verification of the same job.
  func adding(_ other: VerificationReport) -> VerificationReport {
    var sum = self
    sum.add(other)
    return sum
  }

  /// Adds the results of another verification of the same job.
  ///
  /// - Parameter position: The step that it proved, of a job of several; nil for the whole job.
  mutating func add(_ other: VerificationReport, of position: StepPosition? = nil) {
    totalFindings += other.totalFindings
    for var finding in other.findings where findings.count < Self.findingLimit {
      if let position { finding.message = "\(position.context): \(finding.message)" }
      findings.append(finding)
    }
    for check in other.checks { count(check.name + (position.map { ", \($0.context)" } ?? ""), check.count) }
  }

  /// The findings and the checks, one line each; the last line is the verdict.
  public var description: String {
    var lines = findingLines()
    lines += checks.map { "checked \($0.name): \($0.count)" }
    if let store {
      lines.append("read '\(store.onOneLine)'" + (storeReason.map { ": \($0.onOneLine)" } ?? ""))
    }
    lines.append(verdict)
    return lines.asLines
  }

  /// The first findings, and how many more there are.
  func findingLines(_ limit: Int = findingLimit) -> [String] {
    let lines = findings.prefix(limit).map(\.description)
    let more = totalFindings - Int64(lines.count)
    return lines + (more > 0 ? ["and \(more) more"] : [])
  }

  private var verdict: String {
    isClean ? "no difference found" : totalFindings.counted("finding")
  }
}

// MARK: In three lines

extension VerificationReport {
  /// The findings, then three lines: the objects compared, the checks that were not possible, and the verdict.
  package var overview: String { (findingLines() + [comparedLine, unprovedLine, verdict]).asLines }

  /// Names of checks start with these words. Text after the name of an entity, table or relationship makes it another check.
  private static let compared = [("objects", "object"), ("values in", "value"), ("links", "link")]

  private var comparedLine: String {
    let parts = Self.compared.compactMap { words, one -> String? in
      let those = checks.filter { Self.counts($0, words) }
      let count = those.reduce(Int64(0)) { $0 &+ $1.count }
      return count == 0 ? nil : count.counted(one)
    }
    let list =
      switch parts.count {
      case 0: checks.count.counted("check")
      case 1: parts[0]
      default: parts.dropLast().joined(separator: ", ") + " and " + parts[parts.count - 1]
      }
    let steps = Set(checks.compactMap { $0.name.split(separator: ", ").first { $0.hasPrefix("step ") } }).count
    guard let store else { return "compared \(list)" + (steps > 1 ? " in \(steps) steps" : "") }
    return "compared \(list) in '\(store.onOneLine)'" + (storeReason.map { ": \($0.onOneLine)" } ?? "")
  }

  /// Whether a check is `objects of Person` or `objects`, in a step or in the whole job.
  private static func counts(_ check: Check, _ words: String) -> Bool {
    let name = check.name.split(separator: ",").first.map(String.init) ?? check.name
    guard name != words else { return true }
    let lead = words.hasSuffix(" in") ? words + " " : words + " of "
    return name.hasPrefix(lead) && !name.dropFirst(lead.count).contains(" ")
  }

  private var unprovedLine: String {
    let unproved = checks.filter { !$0.isProved }
    guard !unproved.isEmpty else { return "all \(checks.count) checks were possible" }
    let listed = unproved.prefix(unproved.count > 3 ? 2 : 3)
      .map { "\($0.name.dropFirst("not proved: ".count)) (\($0.count))" }
    let more = unproved.count - listed.count
    return "not proved: " + (listed + (more > 0 ? ["and \(more) more, see --details"] : [])).joined(separator: "; ")
  }
}

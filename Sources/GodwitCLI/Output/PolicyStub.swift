import GodwitJob
import GodwitModel

/// A draft in Swift of the policies that a job names: an executable that registers them, with one type for each class.
struct PolicyStub {
  private let job: MigrationJob
  /// The type that is drafted for a policy.
  private struct Draft {
    var policy, type: String
    var uses: [PolicyUse]
  }

  private let types: [Draft]

  init(_ job: MigrationJob) {
    self.job = job
    var taken = Self.reserved
    types = job.policyUses.grouped(by: \.policy).map { policy, uses in
      Draft(policy: policy, type: Self.typeName(policy, taken: &taken), uses: uses)
    }
  }

  var isEmpty: Bool { types.isEmpty }

  /// The whole file.
  var text: String { ([head] + types.map(text) + [registration]).joined(separator: "\n") }

  private var head: String {
    """
    // The policies that job '\(Self.comment(job.name))' names, drafted by `godwit policy stub`. Each does what Core Data's
    // default policy does until you change its hooks.
    import Godwit
    import GodwitCLI
    import GodwitModel

    """
  }

  private var registration: String {
    let entries = types.map { "      \(Self.literal($0.policy)): { \($0.type)() },\n" }.joined()
    return """
      @main struct Migrate {
        static func main() {
          GodwitCommand.main(policies: [
      \(entries)    ])
        }
      }

      """
  }

  // MARK: One type

  private func text(_ draft: Draft) -> String {
    let (policy, type, uses) = (draft.policy, draft.type, draft.uses)
    var lines: [String] = ["/// '\(Self.comment(policy))'."]
    for use in uses {
      lines.append("///")
      let entities = [use.source, use.destination].map { $0.map(Self.comment) ?? "nothing" }
      lines.append(
        "/// Step \(use.step), mapping '\(Self.comment(use.mapping))': \(entities[0]) to \(entities[1]).")
      lines += describe("Source", use.source, in: step(use)?.sourceModel)
      lines += describe("Destination", use.destination, in: step(use)?.destinationModel)
    }
    lines.append("struct \(type): EntityMigrationPolicy {")
    var members: [[String]] = []
    if uses.contains(where: { $0.source == nil }) { members.append(Self.begin) }
    if uses.contains(where: { $0.source != nil }) { members.append(creation(uses.filter { $0.source != nil })) }
    if uses.contains(where: { !$0.functions.isEmpty }) { members.append(answers(uses)) }
    lines += members.joined(separator: [""])
    lines.append("}")
    return lines.joined(separator: "\n") + "\n"
  }

  private func step(_ use: PolicyUse) -> MigrationStep? {
    let id = StepID(count: use.step)
    return job.steps.has(id) ? job.steps[id] : nil
  }

  private func describe(_ role: String, _ entity: String?, in model: ManagedObjectModel?) -> [String] {
    guard let entity, let model else { return [] }
    let attributes = model.attributes(of: entity).map { attribute in
      "\(Self.comment(attribute.name)) \(attribute.type.xcodeName)\(attribute.isOptional ? "" : ", required")"
    }
    let relationships = model.relationships(of: entity).map { relationship in
      "\(Self.comment(relationship.name)) \(relationship.isToMany ? "to many" : "to one") \(Self.comment(relationship.destinationEntityName))"
    }
    return ["/// \(role) \(Self.comment(entity)):"] + (attributes + relationships).map { "/// - \($0)" }
  }

  private static let begin = [
    "  func begin(_ mapping: EntityMapping, with manager: inout PolicyContext) throws {",
    "    // A mapping without source objects: make its objects here, with `manager.createInstance(ofEntityNamed:)` and",
    "    // `manager.insert`.", "  }",
  ]

  private func creation(_ uses: [PolicyUse]) -> [String] {
    let head = [
      "  func createDestinationInstances(",
      "    forSource source: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext", "  ) throws {",
    ]
    let gaps = uses.filter { !$0.unfilled.isEmpty }
    guard !gaps.isEmpty else {
      return head + ["    try manager.createDestinationInstances(forSource: source, in: mapping)", "  }"]
    }
    var lines =
      head + [
        "    var object = try manager.createDestinationInstance(forSource: source, in: mapping)",
        "    switch mapping.name {",
      ]
    var seen: Set<String> = []
    for use in gaps where seen.insert(use.mapping).inserted {
      lines.append("    case \(Self.literal(use.mapping)):")
      lines.append("      // Required, and nothing else sets it.")
      lines += use.unfilled.map { "      object[\(Self.literal($0))] = .null" }
    }
    return lines + [
      "    default: break", "    }", "    try manager.insert(object)",
      "    manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)", "  }",
    ]
  }

  private func answers(_ uses: [PolicyUse]) -> [String] {
    var lines = [
      "  func value(", "    of call: ExpressionCall, in mapping: EntityMapping, manager: inout PolicyContext",
      "  ) throws -> EvaluatedValue {", "    switch call.selector {",
    ]
    let all = uses.flatMap { use in use.functions.map { (use, $0) } }
    var seen: Set<String> = []
    for (_, function) in all where seen.insert(function.selector).inserted {
      lines.append("    case \(Self.literal(function.selector)):")
      for (use, same) in all where same.selector == function.selector {
        lines.append(
          "      // '\(Self.comment(same.property))' of mapping '\(Self.comment(use.mapping))': \(Self.comment(same.expression))"
        )
      }
      lines.append(
        "      throw GodwitError(.configuration, \(Self.literal("'\(function.selector)' is not implemented yet")))")
    }
    return lines + [
      "    default:",
      "      throw GodwitError(.configuration, \"mapping '\\(mapping.name)' calls '\\(call.selector)', which is unknown\")",
      "    }", "  }",
    ]
  }

  // MARK: Names

  /// Words that cannot be the name of a type in the file.
  private static let reserved: Set<String> = [
    "Any", "Protocol", "Self", "Type", "Migrate", "Godwit", "GodwitCLI", "GodwitModel", "GodwitCommand", "GodwitError",
    "EntityMapping", "EntityMigrationPolicy", "EvaluatedValue", "ExpressionCall", "ManagedObject", "PolicyContext",
    "PolicyRegistry", "AttributeValue", "String", "Swift",
    "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
    "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in",
    "init", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
    "repeat", "rethrows", "return", "self", "static", "struct", "subscript", "super", "switch", "throw", "throws",
    "true", "try", "typealias", "var", "where", "while", "_",
  ]

  /// The class without its module, as a name that Swift takes and that no other type has.
  private static func typeName(_ policy: String, taken: inout Set<String>) -> String {
    let last = policy.split(separator: ".").last.map(String.init) ?? policy
    var name = String(
      last.unicodeScalars.map { scalar in
        let isWord = scalar.properties.isAlphabetic || scalar == "_" || ("0"..."9").contains(scalar)
        return isWord && (scalar.isASCII || scalar.properties.isXIDContinue) ? Character(scalar) : "_"
      })
    if name.isEmpty || name.first?.isNumber == true { name = "_" + name }
    if taken.contains(name) { name += "Policy" }
    var unique = name
    var number = 2
    while taken.contains(unique) {
      unique = "\(name)\(number)"
      number += 1
    }
    taken.insert(unique)
    return unique
  }

  /// Text in a comment of one line.
  private static func comment(_ text: String) -> String {
    String(
      text.unicodeScalars.map {
        $0.value < 0x20 || $0.value == 0x7F || $0.properties.isWhitespace && $0 != " " ? " " : Character($0)
      })
  }

  private static func literal(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": literal += "\\\(scalar)"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F || scalar.value == 0x2028 || scalar.value == 0x2029:
        literal += "\\u{\(String(scalar.value, radix: 16))}"
      default: literal.unicodeScalars.append(scalar)
      }
    }
    return literal + "\""
  }
}

public import GodwitModel

extension MappingModel {
  /// The model as a mapping file, the same text for the same model.
  ///
  /// Expressions and predicates stand as they were written, or as they print when they came from no
  /// text. Read again, the text gives an equal model but for locations.
  public var yaml: String {
    var text = "godwit-mapping: 1\n"
    if let sourceModelName { text += "source-model: \(YAMLText.scalar(sourceModelName))\n" }
    if let destinationModelName { text += "destination-model: \(YAMLText.scalar(destinationModelName))\n" }
    guard !entityMappings.isEmpty else { return text + "entity-mappings: []\n" }
    text += "entity-mappings:\n"
    for mapping in entityMappings { text += mapping.yaml }
    return text
  }
}

extension EntityMapping {
  /// The mapping as an item of `entity-mappings`.
  fileprivate var yaml: String {
    var lines = ["- name: \(YAMLText.scalar(name))"]
    func add(_ key: String, _ value: String?) {
      if let value { lines.append("  \(key): \(YAMLText.scalar(value))") }
    }
    if kind != .transform { lines.append("  type: \(kind.rawValue)") }
    add("source", sourceEntityName)
    add("destination", destinationEntityName)
    add("filter", filter.map { $0.source.text.isEmpty ? $0.predicate.description : $0.source.text })
    add("policy", policyName)
    if !uniqueBy.isEmpty { lines.append("  unique-by: [\(uniqueBy.map(YAMLText.scalar).joined(separator: ", "))]") }
    if !attributeMappings.isEmpty {
      lines.append("  attributes:")
      for attribute in attributeMappings {
        lines.append("    \(YAMLText.scalar(attribute.name)): \(YAMLText.scalar(attribute.value.text))")
      }
    }
    if !relationshipMappings.isEmpty {
      lines.append("  relationships:")
      for relationship in relationshipMappings {
        lines.append("    \(YAMLText.scalar(relationship.name)): \(relationship.value.yaml)")
      }
    }
    if !userInfo.isEmpty {
      lines.append("  user-info:")
      for (key, value) in userInfo.sorted(by: { $0.key < $1.key }) {
        lines.append("    \(YAMLText.scalar(key)): \(YAMLText.scalar(value))")
      }
    }
    return lines.map { "  \($0)\n" }.joined()
  }
}

extension ParsedExpression {
  /// The text as written, else as the expression prints.
  fileprivate var text: String { source.text.isEmpty ? expression.description : source.text }
}

extension RelationshipMapping.Value {
  fileprivate var yaml: String {
    switch self {
    case .mapping(let name, let keyPath):
      let path = keyPath.isEmpty ? "" : ", key-path: \(YAMLText.scalar(keyPath.joined(separator: ".")))"
      return "{ mapping: \(YAMLText.scalar(name))\(path) }"
    case .sourceRelationship(let name): return "{ source-relationship: \(YAMLText.scalar(name)) }"
    case .expression(let expression): return YAMLText.scalar(expression.text)
    }
  }
}

/// Writes one line scalars.
enum YAMLText {
  /// Plain where YAML takes the text plainly everywhere, also in `{}` and `[]`; single quotes where
  /// those do; else double quotes with escapes.
  static func scalar(_ text: String) -> String {
    if isPlain(text) { return text }
    let printable = text.unicodeScalars.allSatisfy { scalar in
      scalar.value >= 0x20 && scalar.value < 0x7F
        || scalar.value >= 0xA0 && ![0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF].contains(scalar.value)
    }
    if printable { return "'\(text.replacing("'", with: "''"))'" }
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default:
        if scalar.value >= 0x20 && scalar.value < 0x7F {
          result.unicodeScalars.append(scalar)
        } else {
          let hex = String(scalar.value, radix: 16, uppercase: true)
          result += "\\U" + String(repeating: "0", count: max(0, 8 - hex.count)) + hex
        }
      }
    }
    return result + "\""
  }

  private static func isPlain(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, let last = text.unicodeScalars.last else { return false }
    let isLetter = { (s: Unicode.Scalar) in s.isASCII && s.properties.isAlphabetic }
    let isDigit = { (s: Unicode.Scalar) in ("0"..."9").contains(s) }
    guard isLetter(first) || isDigit(first) || ["$", "_", "(", "/", "."].contains(first), last != " ", last != ":"
    else { return false }
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nil"]
    guard !words.dropLast().contains(text.lowercased()) else { return false }
    let quiet: Set<Unicode.Scalar> = [
      "$", "_", "(", ")", "/", ".", "-", "+", "*", "=", "<", ">", "!", ";", "@", "?", "\"", "'", " ", "%", "^", "~",
    ]
    return text.unicodeScalars.allSatisfy { isLetter($0) || isDigit($0) || quiet.contains($0) }
  }
}

public import GodwitModel

extension MappingModel {
  /// The model as a mapping file, the same text for the same model.
  ///
  /// Expressions and predicates are written as in their source text, or printed if they have none. Reading the text
  /// gives an equal model, except for locations.
  public var yaml: String { yaml(remarks: []) }

  /// The model as a mapping file with remarks at the ends of lines, and with placeholders that the reader refuses until
  /// someone has filled them.
  package func yaml(remarks: [MappingRemark]) -> String {
    var text = ""
    for remark in remarks where remark.mapping == nil { text += MappingComment.line(remark.text) + "\n" }
    text += "godwit-mapping: 1\n"
    if let sourceModelName { text += "source-model: \(YAMLText.scalar(sourceModelName))\n" }
    if let destinationModelName { text += "destination-model: \(YAMLText.scalar(destinationModelName))\n" }
    guard !entityMappings.isEmpty else { return text + "entity-mappings: []\n" }
    text += "entity-mappings:\n"
    for mapping in entityMappings { text += mapping.yaml(remarks: remarks.filter { $0.mapping == mapping.name }) }
    return text
  }
}

/// The mark in a drafted mapping file for a value that only a person knows.
package enum MappingPlaceholder {
  /// No expression, so a file that still has one is refused.
  package static let marker = "???"
}

/// Comments of a mapping file.
package enum MappingComment {
  /// One line for any text, in characters that YAML accepts.
  package static func line(_ text: String) -> String {
    let printable = text.unicodeScalars.map { scalar in
      scalar.value >= 0x20 && scalar.value < 0x7F
        || scalar.value >= 0xA0 && scalar.value < 0xFF00 && ![0x2028, 0x2029, 0xFEFF].contains(scalar.value)
        ? Character(scalar) : "?"
    }
    return "# " + String(printable)
  }
}

extension EntityMapping {
  /// `unique-by`, as a map where the objects that become one have an order of their own.
  fileprivate var uniqueLines: [String] {
    func list(_ texts: [String]) -> String { "[\(texts.map(YAMLText.scalar).joined(separator: ", "))]" }
    guard !uniqueOrder.isEmpty || fillsNil else {
      return ["  unique-by: \(list(uniqueBy))"] + (mergesNil ? ["  merge-nil: true"] : [])
    }
    var lines = ["  unique-by:", "    attributes: \(list(uniqueBy))"]
    if !uniqueOrder.isEmpty { lines.append("    order-by: \(list(uniqueOrder.map(\.description)))") }
    if fillsNil { lines.append("    fill-nil: true") }
    if mergesNil { lines.append("    nil-keys: merge") }
    return lines
  }

  /// The mapping as an item of `entity-mappings`.
  fileprivate func yaml(remarks: [MappingRemark]) -> String {
    func comment(_ subject: MappingRemark.Subject) -> String {
      let texts = remarks.filter { $0.subject == subject && !$0.isPlaceholder }.map(\.text)
      return texts.isEmpty ? "" : " " + MappingComment.line(texts.joined(separator: "; "))
    }
    var lines = ["- name: \(YAMLText.scalar(name))\(comment(.entity))"]
    func add(_ key: String, _ value: String?) {
      if let value { lines.append("  \(key): \(YAMLText.scalar(value))") }
    }
    if kind != .transform { lines.append("  type: \(kind.rawValue)") }
    add("source", sourceEntityName)
    add("for-each", forEach)
    add("destination", destinationEntityName)
    add("filter", filter.map { $0.source.text.isEmpty ? $0.description : $0.source.text })
    add("policy", policyName)
    if !uniqueBy.isEmpty { lines += uniqueLines }
    /// Lines by property: mapped properties, placeholders, and remarks on unmapped properties.
    func section(
      _ title: String, _ mapped: [(name: String, line: String)], _ subject: (String) -> MappingRemark.Subject
    ) {
      let gaps = remarks.filter { $0.isPlaceholder && $0.subject == subject($0.subject.property ?? "") }
      let loose = remarks.filter { remark in
        let property = remark.subject.property
        return !remark.isPlaceholder && remark.subject == property.map(subject)
          && !mapped.contains { $0.name == property }
      }
      if !mapped.isEmpty || !gaps.isEmpty { lines.append("  \(title):") }
      for (name, line) in mapped { lines.append("    \(YAMLText.scalar(name)): \(line)\(comment(subject(name)))") }
      for gap in gaps {
        lines.append(
          "    \(YAMLText.scalar(gap.subject.property ?? "")): \(YAMLText.scalar(MappingPlaceholder.marker)) "
            + MappingComment.line(gap.text))
      }
      for remark in loose {
        lines.append("    " + MappingComment.line("\(remark.subject.property ?? ""): \(remark.text)"))
      }
    }
    section("attributes", attributeMappings.map { ($0.name, $0.yaml) }, MappingRemark.Subject.attribute)
    section("relationships", relationshipMappings.map { ($0.name, $0.yaml) }, MappingRemark.Subject.relationship)
    func texts(_ texts: [String: String], indent: String) {
      for (key, value) in texts.sorted(by: { Text($0.key) < Text($1.key) }) {
        lines.append("\(indent)\(YAMLText.scalar(key)): \(YAMLText.scalar(value))")
      }
    }
    if !userInfo.isEmpty {
      lines.append("  user-info:")
      texts(userInfo, indent: "    ")
    }
    if !propertyUserInfo.isEmpty {
      lines.append("  property-user-info:")
      for (property, info) in propertyUserInfo.sorted(by: { Text($0.key) < Text($1.key) }) {
        lines.append("    \(YAMLText.scalar(property)):" + (info.isEmpty ? " {}" : ""))
        texts(info, indent: "      ")
      }
    }
    return lines.map { "  \($0)\n" }.joined()
  }
}

extension AttributeMapping {
  fileprivate var yaml: String {
    let text = YAMLText.scalar(value.text)
    return usesDefaultForNil ? "{ value: \(text), if-nil: default }" : text
  }
}

extension ValueExpression {
  /// The source text, or the printed expression if there is none.
  fileprivate var text: String { source.text.isEmpty ? description : source.text }
}

extension RelationshipMapping {
  fileprivate var yaml: String {
    let descriptors = order.map { YAMLText.scalar($0.description) }.joined(separator: ", ")
    let sorting =
      (end.map { ", of: $\($0.rawValue)" } ?? "") + (order.isEmpty ? "" : ", order-by: [\(descriptors)]")
    switch value {
    case .mapping(let name, let keyPath):
      let path = keyPath.isEmpty ? "" : ", key-path: \(YAMLText.scalar(keyPath.joined(separator: ".")))"
      return "{ mapping: \(YAMLText.scalar(name))\(path)\(sorting) }"
    case .sourceRelationship(let name): return "{ source-relationship: \(YAMLText.scalar(name))\(sorting) }"
    case .expression(let expression): return YAMLText.scalar(expression.text)
    }
  }
}

/// Writes one line scalars.
package enum YAMLText {
  /// Plain where YAML takes the text plainly everywhere, also in `{}` and `[]`; single quotes where
  /// those do; else double quotes with escapes.
  package static func scalar(_ text: String) -> String {
    if isPlain(text) { return text }
    let printable = text.unicodeScalars.allSatisfy { scalar in
      scalar.value >= 0x20 && scalar.value < 0x7F
        || scalar.value >= 0xA0 && ![0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF].contains(scalar.value)
    }
    if printable { return "'\(text.replacing(scalar: "'", with: "''"))'" }
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
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]
    guard !words.contains(text.lowercased()) else { return false }
    let quiet: Set<Unicode.Scalar> = [
      "$", "_", "(", ")", "/", ".", "-", "+", "*", "=", "<", ">", "!", ";", "@", "?", "\"", "'", " ", "%", "^", "~",
    ]
    return text.unicodeScalars.allSatisfy { isLetter($0) || isDigit($0) || quiet.contains($0) }
  }
}

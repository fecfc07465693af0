package import GodwitModel
package import Yams

/// Reads values of one kind out of nodes; every refusal names the key and the place.
package struct YAMLReader {
  package let file: YAMLFile

  package init(file: YAMLFile) { self.file = file }

  package func error(_ message: String, at location: GodwitError.Location, remedy: String) -> GodwitError {
    GodwitError(.configuration, "cannot read \(file.what): \(message)", location: location, remedy: remedy)
  }

  package func wrong(_ key: String, expected: String, _ node: Node) -> GodwitError {
    error(
      "expected \(expected)\(key.isEmpty ? "" : " for '\(key)'"), found \(Self.kind(of: node))",
      at: file.location(of: node),
      remedy: key.isEmpty ? "write `key: value` lines" : "write \(expected) after '\(key):'")
  }

  package static func kind(of node: Node) -> String {
    switch node {
    case .scalar(let scalar): isNull(scalar) ? "no value" : "'\(clipped(scalar.string))'"
    case .mapping: "keys and values"
    case .sequence: "a list"
    case .alias: "an alias"
    }
  }

  private static func clipped(_ text: String) -> String {
    let line = String(text.prefix { !$0.isNewline }.prefix(60))
    return line == text ? text : line + "…"
  }

  private static func place(_ key: String) -> String { key.isEmpty ? "" : " in '\(key)'" }

  package static func isNull(_ scalar: Node.Scalar) -> Bool {
    scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(scalar.string)
  }

  /// One key of a map, with its value.
  package struct Entry {
    package var key: String
    package var location: GodwitError.Location
    package var value: Node
  }

  package typealias Entries = [String: Entry]

  /// The entries of a map in file order. A key that is listed twice is refused.
  package func entries(_ node: Node, key: String, expected: String = "keys and values") throws -> [Entry] {
    guard case .mapping(let mapping) = node else { throw wrong(key, expected: expected, node) }
    var seen: Set<String> = []
    var entries: [Entry] = []
    for (keyNode, value) in mapping {
      guard case .scalar(let scalar) = keyNode else {
        throw error(
          "expected a name as key\(Self.place(key)), found \(Self.kind(of: keyNode))", at: file.location(of: keyNode),
          remedy: "write a plain name before the colon")
      }
      let location = file.textLocation(of: keyNode)
      guard !scalar.string.isEmpty else {
        throw error(
          "expected a name as key\(Self.place(key)), found none", at: location, remedy: "write a name before the colon")
      }
      guard scalar.string != "<<" || scalar.style != .plain else {
        throw error(
          "merge keys ('<<') are not supported", at: location, remedy: "write the keys out, or use aliases for values")
      }
      guard seen.insert(scalar.string).inserted else {
        throw error("the key '\(scalar.string)' is listed twice", at: location, remedy: "remove one of the two")
      }
      entries.append(Entry(key: scalar.string, location: location, value: value))
    }
    return entries
  }

  /// The entries of a map whose keys are all known.
  ///
  /// - Parameter elsewhere: The line to write for an unknown key that is a word of another place; nil for any other key.
  package func entries(
    _ node: Node, key: String, known: [String], expected: String = "keys and values",
    elsewhere: (String) -> String? = { _ in nil }
  ) throws -> Entries {
    var result: Entries = [:]
    for entry in try entries(node, key: key, expected: expected) {
      guard known.contains(entry.key) else {
        let place = elsewhere(entry.key)
        let suggestion = place == nil ? Spelling.suggestion(for: entry.key, among: known) : ""
        throw error(
          "unknown key '\(entry.key)'\(Self.place(key))\(suggestion)", at: entry.location,
          remedy: place.map { "write `\($0)`" } ?? "use one of: \(known.joined(separator: ", "))")
      }
      result[entry.key] = entry
    }
    return result
  }

  /// A scalar as text; null and an empty text are refused.
  package func text(_ node: Node, key: String, expected: String = "text") throws -> String {
    guard case .scalar(let scalar) = node, !Self.isNull(scalar) else { throw wrong(key, expected: expected, node) }
    guard scalar.string.contains(where: { !$0.isWhitespace }) else {
      throw error(
        "expected \(expected) for '\(key)', found an empty text", at: file.location(of: node),
        remedy: "write \(expected) after '\(key):', or remove the key")
    }
    return scalar.string
  }

  package func located(_ node: Node, key: String, expected: String = "text") throws -> Located<String> {
    Located(value: try text(node, key: key, expected: expected), location: file.textLocation(of: node))
  }

  /// A text to parse, which knows its place.
  package func source(_ node: Node, key: String, expected: String) throws -> SourceText {
    SourceText(try text(node, key: key, expected: expected), location: file.textLocation(of: node))
  }

  /// One text or a list of them.
  package func items(_ node: Node, key: String, expected: String) throws -> [Node] {
    switch node {
    case .scalar(let scalar) where !Self.isNull(scalar): return [node]
    case .sequence(let sequence):
      guard !sequence.isEmpty else {
        throw error(
          "expected \(expected) for '\(key)', found an empty list", at: file.location(of: node),
          remedy: "name at least one, or remove the key")
      }
      return Array(sequence)
    default: throw wrong(key, expected: "\(expected) or a list", node)
    }
  }

  package func list(_ node: Node, key: String) throws -> [Node] {
    guard case .sequence(let sequence) = node else { throw wrong(key, expected: "a list", node) }
    return Array(sequence)
  }

  package func flag(_ node: Node, key: String) throws -> Bool {
    if case .scalar(let scalar) = node, scalar.style == .plain {
      switch scalar.string {
      case "true", "True", "TRUE": return true
      case "false", "False", "FALSE": return false
      default: break
      }
    }
    throw wrong(key, expected: "true or false", node)
  }

  package func integer(_ node: Node, key: String, in range: ClosedRange<Int>) throws -> Int {
    let expected =
      range.upperBound == .max
      ? "a whole number of at least \(range.lowerBound)"
      : "a whole number from \(range.lowerBound) to \(range.upperBound)"
    guard case .scalar(let scalar) = node, scalar.style == .plain,
      let number = Int(scalar.string), range.contains(number)
    else { throw wrong(key, expected: expected, node) }
    return number
  }

  package func number(_ node: Node, key: String, in range: ClosedRange<Double>) throws -> Double {
    guard case .scalar(let scalar) = node, scalar.style == .plain, let number = Double(scalar.string),
      range.contains(number)
    else { throw wrong(key, expected: "a number from \(range.lowerBound) to \(range.upperBound)", node) }
    return number
  }

  package func choice<Value: RawRepresentable & CaseIterable>(_ node: Node, key: String) throws -> Value
  where Value.RawValue == String {
    let names = Value.allCases.map(\.rawValue)
    guard case .scalar(let scalar) = node, let value = Value(rawValue: scalar.string) else {
      var complaint = wrong(key, expected: names.joined(separator: " or "), node)
      if case .scalar(let scalar) = node { complaint.message += Spelling.suggestion(for: scalar.string, among: names) }
      throw complaint
    }
    return value
  }

  /// Checks that the first key says which format this is: `godwit: 1`, `godwit-mapping: 1`.
  package func checkVersion(_ entry: Entry?, key: String, among found: [Entry] = []) throws {
    guard let entry else {
      if key == "godwit", let other = found.first(where: { ["godwit-mapping", "entity-mappings"].contains($0.key) }) {
        throw error(
          "expected a job manifest, found a mapping file", at: other.location,
          remedy: "name it in a manifest: `mappings: \(file.path.split(separator: "/").last ?? "")`")
      }
      if key == "godwit-mapping", let other = found.first(where: { ["godwit", "source"].contains($0.key) }) {
        throw error(
          "expected a mapping file, found a job manifest", at: other.location,
          remedy: "a mapping file begins with `godwit-mapping: 1`; `godwit mapping new` drafts one")
      }
      throw error(
        "expected '\(key): 1', found no key '\(key)'", at: file.location(of: file.root),
        remedy: "add `\(key): 1` as the first line")
    }
    guard case .scalar(let scalar) = entry.value, scalar.style == .plain, scalar.string == "1" else {
      throw error(
        "expected format version 1 for '\(key)', found \(Self.kind(of: entry.value))",
        at: file.location(of: entry.value), remedy: "this Godwit reads version 1: write `\(key): 1`")
    }
  }
}

package import Foundation

/// A validator for the part of JSON Schema (draft 2020-12) that the published schemas use.
///
/// An unknown keyword is a finding, so that no rule of a schema goes unchecked.
package struct JSONSchema: Sendable {
  private let root: JSONValue

  package static let folder = Checkout.url("Sources/GodwitManifest/Schemas")

  /// A schema of the project, by the name of its file.
  package init(named name: String) throws {
    try self.init(text: String(contentsOf: Self.folder.appending(path: name), encoding: .utf8))
  }

  package init(text: String) throws { root = try JSONValue(parsing: text) }

  /// The faults of the value; empty when it conforms.
  package func findings(_ value: JSONValue) -> [String] { findings(value, root, at: "$") }

  // MARK: Questions about the schema itself

  /// The keys of `properties` along a path of property names; `[]` steps into items, `*` into other properties.
  package func keys(_ path: [String] = []) -> Set<String> {
    var schemas = [root]
    for step in path {
      schemas = schemas.flatMap(branches).compactMap { schema in
        switch step {
        case "[]": schema["items"]
        case "*": schema["additionalProperties"]
        default: schema["properties"]?[step]
        }
      }
    }
    return Set(schemas.flatMap(branches).flatMap { Array(($0["properties"]?.object ?? [:]).keys) })
  }

  /// Every schema without a description among the properties.
  package func undescribed() -> [String] {
    walk { schema, path in
      (schema["properties"]?.object ?? [:]).compactMap { key, part in
        // A branch of `oneOf` may name a key only to restrict it.
        part["description"] == nil && (schema["type"] != nil || part["type"] != nil) ? "\(path).\(key)" : nil
      }
    }
  }

  /// Every schema of an object that allows keys that it does not name, without a schema for them.
  package func open() -> [String] {
    walk { schema, path in
      guard schema["type"] == .string("object"), schema["properties"] != nil else { return [] }
      return schema["additionalProperties"] == nil || schema["additionalProperties"] == .boolean(true) ? [path] : []
    }
  }

  /// The value of `const` or the values of `enum` of a property at the top, over all branches.
  package func values(of property: String) -> Set<String> {
    var found: Set<String> = []
    for branch in branches(root) {
      guard let part = branch["properties"]?[property] else { continue }
      if let text = part["const"]?.string { found.insert(text) }
      for value in part["enum"]?.array ?? [] { if let text = value.string { found.insert(text) } }
    }
    return found
  }

  /// The schemas under `$defs`, by name.
  package var definitions: [String: JSONValue] { root["$defs"]?.object ?? [:] }

  /// Names under `$defs` that nothing refers to, and references to nothing.
  package func danglingReferences() -> [String] {
    var used: Set<String> = []
    _ = walk { schema, _ in
      if let name = schema["$ref"]?.string { used.insert(name.replacing("#/$defs/", with: "")) }
      return []
    }
    return used.symmetricDifference(definitions.keys).sorted()
  }

  private func walk(_ visit: (JSONValue, String) -> [String]) -> [String] {
    func step(_ schema: JSONValue, _ path: String) -> [String] {
      switch schema {
      case .array(let items): return items.flatMap { step($0, path) }
      case .object(let members):
        var found = visit(schema, path)
        for (key, part) in members {
          switch key {
          case "properties", "$defs":
            for (name, inner) in part.object ?? [:] { found += step(inner, "\(path).\(name)") }
          case "const", "enum", "required": break
          default: found += step(part, path)
          }
        }
        return found
      default: return []
      }
    }
    return step(root, "$").sorted()
  }

  private func branches(_ schema: JSONValue) -> [JSONValue] {
    let referred = schema["$ref"]?.string.map { branches(definition($0)) } ?? []
    let parts = ["oneOf", "anyOf"].flatMap { schema[$0]?.array ?? [] }
    return [schema] + referred + parts.flatMap(branches)
  }

  // MARK: Validation

  private func definition(_ reference: String) -> JSONValue {
    // An unknown one accepts nothing.
    definitions[reference.replacing("#/$defs/", with: "")] ?? .object(["not": .object([:])])
  }

  private func findings(_ value: JSONValue, _ schema: JSONValue, at path: String) -> [String] {
    guard case .object(let words) = schema else {
      return schema == .boolean(true) ? [] : ["\(path): nothing is allowed here"]
    }
    return words.flatMap { findings(value, $0, $1, of: words, at: path) }
  }

  private func findings(
    _ value: JSONValue, _ word: String, _ rule: JSONValue, of schema: [String: JSONValue], at path: String
  ) -> [String] {
    func complaint(_ isWrong: Bool, _ text: @autoclosure () -> String) -> [String] {
      isWrong ? ["\(path): \(text())"] : []
    }
    switch word {
    case "$schema", "title", "description", "$defs": return []
    case "$ref": return findings(value, definition(rule.string ?? ""), at: path)
    case "type":
      let types = rule.array?.compactMap(\.string) ?? [rule.string ?? ""]
      return complaint(!types.contains { Self.isType(value, $0) }, "\(value) is not of type \(types)")
    case "const": return complaint(!Self.equal(value, rule), "\(value) is not \(rule)")
    case "enum":
      return complaint(!(rule.array ?? []).contains { Self.equal(value, $0) }, "\(value) is not listed")
    case "required":
      guard let members = value.object else { return [] }
      return (rule.array ?? []).compactMap(\.string).flatMap { complaint(members[$0] == nil, "lacks \($0)") }
    case "properties":
      return (rule.object ?? [:]).flatMap { key, part in
        value[key].map { findings($0, part, at: "\(path).\(key)") } ?? []
      }
    case "additionalProperties":
      let known = Set((schema["properties"]?.object ?? [:]).keys)
      return (value.object ?? [:]).filter { !known.contains($0.key) }.flatMap { key, inner in
        rule == .boolean(false) ? ["\(path): unknown key \(key)"] : findings(inner, rule, at: "\(path).\(key)")
      }
    case "items":
      return (value.array ?? []).enumerated().flatMap { findings($1, rule, at: "\(path)[\($0)]") }
    case "minItems": return complaint(Double(value.array?.count ?? .max) < rule.double ?? 0, "too few items")
    case "oneOf", "anyOf":
      let tries = (rule.array ?? []).map { findings(value, $0, at: path) }
      let fitting = tries.count(where: \.isEmpty)
      guard fitting == 0 || word == "oneOf" && fitting > 1 else { return [] }
      // The branch that comes nearest says most.
      let nearest = fitting == 0 ? tries.min { $0.count < $1.count } ?? [] : []
      return ["\(path): \(fitting) of \(word) fit"] + nearest
    case "not": return complaint(findings(value, rule, at: path).isEmpty, "fits what it must not")
    case "pattern":
      guard let text = value.string else { return [] }
      let found = text.range(of: rule.string ?? "", options: .regularExpression)
      return complaint(found == nil, "'\(text)' does not match \(rule.string ?? "")")
    case "format":
      guard rule == .string("date-time") else { return ["\(path): the validator does not know the format \(rule)"] }
      guard let text = value.string else { return [] }
      return complaint(!Self.isTime(text), "'\(text)' is not a time of RFC 3339 in UTC")
    case "minimum": return complaint(value.double.map { $0 < rule.double ?? 0 } == true, "\(value) is too small")
    case "maximum": return complaint(value.double.map { $0 > rule.double ?? 0 } == true, "\(value) is too large")
    default: return ["\(path): the validator does not know the word \(word)"]
    }
  }

  private static func isType(_ value: JSONValue, _ type: String) -> Bool {
    switch (type, value) {
    case ("null", .null), ("boolean", .boolean), ("string", .string), ("array", .array), ("object", .object): true
    case ("integer", .integer), ("number", .integer), ("number", .number): true
    case ("integer", .number(let number)): number == number.rounded()
    default: false
    }
  }

  /// Numbers are equal whatever their form.
  private static func equal(_ value: JSONValue, _ other: JSONValue) -> Bool {
    if let a = value.double, let b = other.double { return a == b }
    return value == other
  }

  /// RFC 3339 in UTC: `Z`, no other offset.
  private static func isTime(_ text: String) -> Bool {
    let form = #"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}(\.[0-9]+)?Z$"#
    return text.range(of: form, options: .regularExpression) != nil
  }
}

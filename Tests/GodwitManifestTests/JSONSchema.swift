import Foundation
import Testing
import Yams

/// A checker for the part of JSON Schema (draft 2020-12) that the published schemas use.
///
/// An unknown keyword is a finding, so that no rule of a schema goes unchecked.
struct JSONSchema {
  private let root: [String: Any]

  init(named name: String) throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../Sources/GodwitManifest/Schemas")
    let data = try Data(contentsOf: folder.appending(path: name).standardizedFileURL)
    root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  /// What is wrong with the value; empty when it conforms.
  func findings(_ value: Node) -> [String] { findings(value, root, at: "$") }

  /// The keys of `properties` along a path of property names; `[]` steps into items.
  func keys(_ path: [String] = []) -> Set<String> {
    var schemas = [root]
    for step in path {
      schemas = schemas.flatMap(branches).flatMap { schema -> [[String: Any]] in
        switch step {
        case "[]": return [schema["items"] as? [String: Any]].compactMap(\.self)
        case "*": return [schema["additionalProperties"] as? [String: Any]].compactMap(\.self)
        default: return [(schema["properties"] as? [String: Any])?[step] as? [String: Any]].compactMap(\.self)
        }
      }
    }
    return Set(schemas.flatMap(branches).flatMap { (($0["properties"] as? [String: Any]) ?? [:]).keys })
  }

  /// Every schema without a description among the properties.
  func undescribed() -> [String] {
    func walk(_ schema: Any, _ path: String) -> [String] {
      if let list = schema as? [Any] { return list.flatMap { walk($0, path) } }
      guard let map = schema as? [String: Any] else { return [] }
      var found: [String] = []
      let properties = map["properties"] as? [String: Any] ?? [:]
      for (key, value) in properties {
        let part = value as? [String: Any] ?? [:]
        if part["description"] == nil, !(map["required"] != nil && map["type"] == nil) {
          found.append("\(path).\(key)")
        }
        found += walk(value, "\(path).\(key)")
      }
      for (key, value) in map where key != "properties" { found += walk(value, path) }
      return found
    }
    return walk(root, "$")
  }

  private func branches(_ schema: [String: Any]) -> [[String: Any]] {
    var result = [schema]
    for word in ["oneOf", "anyOf"] {
      for branch in schema[word] as? [[String: Any]] ?? [] { result += branches(branch) }
    }
    if let reference = schema["$ref"] as? String { result += branches(definition(reference)) }
    return result
  }

  private func definition(_ reference: String) -> [String: Any] {
    let name = reference.replacing("#/$defs/", with: "")
    return (root["$defs"] as? [String: Any])?[name] as? [String: Any] ?? ["not": [String: Any]()]
  }

  private func findings(_ value: Node, _ schema: [String: Any], at path: String) -> [String] {
    var found: [String] = []
    func add(_ text: String) { found.append("\(path): \(text)") }
    for (word, rule) in schema {
      switch word {
      case "$schema", "title", "description", "$defs": break
      case "$ref": found += findings(value, definition(rule as? String ?? ""), at: path)
      case "type":
        let types = rule as? [String] ?? [rule as? String ?? ""]
        if !types.contains(where: { Self.isType(value, $0) }) { add("not of type \(types)") }
      case "const": if !Self.equal(value, rule) { add("not \(rule)") }
      case "enum": if !(rule as? [Any] ?? []).contains(where: { Self.equal(value, $0) }) { add("none of \(rule)") }
      case "required":
        guard let mapping = value.mapping else { break }
        for key in rule as? [String] ?? [] where mapping[key] == nil { add("lacks \(key)") }
      case "properties":
        for (key, part) in rule as? [String: [String: Any]] ?? [:] {
          if let inner = value.mapping?[key] { found += findings(inner, part, at: "\(path).\(key)") }
        }
      case "additionalProperties":
        let known = Set((schema["properties"] as? [String: Any] ?? [:]).keys)
        for (key, inner) in value.mapping.map(Array.init) ?? [] {
          guard let name = key.string, !known.contains(name) else { continue }
          if let part = rule as? [String: Any] {
            found += findings(inner, part, at: "\(path).\(name)")
          } else {
            add("unknown key \(name)")
          }
        }
      case "items":
        for (index, inner) in (value.sequence.map(Array.init) ?? []).enumerated() {
          found += findings(inner, rule as? [String: Any] ?? [:], at: "\(path)[\(index)]")
        }
      case "minItems":
        if let sequence = value.sequence, sequence.count < rule as? Int ?? 0 { add("too few items") }
      case "oneOf", "anyOf":
        let fits = (rule as? [[String: Any]] ?? []).count { findings(value, $0, at: path).isEmpty }
        if fits == 0 || word == "oneOf" && fits > 1 { add("\(fits) of \(word) fit") }
      case "not": if findings(value, rule as? [String: Any] ?? [:], at: path).isEmpty { add("fits what it must not") }
      case "pattern":
        guard Self.isType(value, "string"), let text = value.string, let pattern = rule as? String else { break }
        if text.range(of: pattern, options: .regularExpression) == nil { add("does not match \(pattern)") }
      case "minimum":
        if Self.isType(value, "number"), let n = value.float, n < (rule as? NSNumber)?.doubleValue ?? 0 {
          add("too small")
        }
      case "maximum":
        if Self.isType(value, "number"), let n = value.float, n > (rule as? NSNumber)?.doubleValue ?? 0 {
          add("too large")
        }
      default: add("the checker does not know the word \(word)")
      }
    }
    return found
  }

  private static func isType(_ value: Node, _ type: String) -> Bool {
    switch (type, value) {
    case ("object", .mapping), ("array", .sequence): return true
    case (_, .scalar(let scalar)):
      let isPlain = scalar.style == .plain
      let isNull = isPlain && ["", "~", "null"].contains(scalar.string)
      let isFlag = isPlain && ["true", "false"].contains(scalar.string)
      let isInteger = isPlain && Int(scalar.string) != nil
      let isNumber =
        isPlain && scalar.string.first.map { $0.isNumber || $0 == "-" } == true && Double(scalar.string) != nil
      switch type {
      case "null": return isNull
      case "boolean": return isFlag
      case "integer": return isInteger
      case "number": return isNumber
      case "string": return !(isNull || isFlag || isNumber)
      default: return false
      }
    default: return false
    }
  }

  private static func equal(_ value: Node, _ other: Any) -> Bool {
    if let text = other as? String { return isType(value, "string") && value.string == text }
    if isType(value, "boolean"), let flag = other as? Bool { return value.string == "\(flag)" }
    if isType(value, "integer"), let number = other as? Int { return value.string == "\(number)" }
    return false
  }
}

import TestSupport
import Yams

extension JSONSchema {
  /// The faults of a value of YAML; empty when it conforms.
  func findings(_ value: Node) -> [String] { findings(JSONValue(value)) }
}

extension JSONValue {
  /// A value of YAML as its core schema reads it.
  fileprivate init(_ node: Node) {
    switch node {
    case .mapping(let mapping):
      self = .object(Dictionary(mapping.map { ($0.string ?? "", JSONValue($1)) }) { _, last in last })
    case .sequence(let sequence): self = .array(sequence.map { JSONValue($0) })
    case .scalar(let scalar): self = scalar.style == .plain ? JSONValue(plain: scalar.string) : .string(scalar.string)
    case .alias: self = .null
    }
  }

  private init(plain text: String) {
    let isNumber = text.first.map { $0.isNumber || $0 == "-" } == true
    switch text {
    case "", "~", "null": self = .null
    case "true": self = .boolean(true)
    case "false": self = .boolean(false)
    case _ where isNumber && Int64(text) != nil: self = .integer(Int64(text) ?? 0)
    case _ where isNumber && Double(text) != nil: self = .number(Double(text) ?? 0)
    default: self = .string(text)
    }
  }
}

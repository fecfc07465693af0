import Foundation

/// A value of JSON, with integers and other numbers told apart.
package enum JSONValue: Sendable, Hashable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Reads one document.
  package init(parsing text: String) throws { self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) }

  /// Reads JSON lines.
  package static func lines(_ text: String) throws -> [JSONValue] {
    try text.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
  }

  package subscript(key: String) -> JSONValue? { if case .object(let members) = self { members[key] } else { nil } }
  package subscript(index: Int) -> JSONValue? {
    if case .array(let items) = self, items.indices.contains(index) { items[index] } else { nil }
  }
  package var string: String? { if case .string(let text) = self { text } else { nil } }
  package var boolean: Bool? { if case .boolean(let flag) = self { flag } else { nil } }
  package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
  package var array: [JSONValue]? { if case .array(let items) = self { items } else { nil } }
  package var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }

  /// As a number of either kind.
  package var double: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .number(let number): number
    default: nil
    }
  }
}

extension JSONValue: Decodable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {
      self = .boolean(flag)
    } else if let number = try? container.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let items = try? container.decode([JSONValue].self) {
      self = .array(items)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }
}

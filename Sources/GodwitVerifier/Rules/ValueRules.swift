import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// The rules of the model for one value: required, type, limits, lengths and pattern.
final class ValueRules {
  /// A rule of an attribute that a value breaks.
  struct BrokenRule {
    enum Kind: Hashable {
      case type, required, minimum, maximum, shortest, longest
      case pattern(String)
    }

    let kind: Kind
    let text: String
  }

  private var patterns: [Text: NSRegularExpression] = [:]
  private let stores: ComparedStores
  private let findings: Findings

  init(_ stores: ComparedStores, _ findings: Findings) { (self.stores, self.findings) = (stores, findings) }

  /// The rules that a value breaks.
  func brokenRules(
    _ attribute: AttributeDescription, _ content: StoredContent, on connection: StoreConnection
  ) throws -> [BrokenRule] {
    switch content {
    case .value(let value): return try brokenRules(attribute, value)
    case .large(let large):
      // Only the rules of a text depend on its content.
      let hasRules =
        attribute.type == .string && large.isText
        && (attribute.minimumLength != nil || attribute.maximumLength != nil || attribute.regularExpression != nil)
      return try brokenRules(attribute, hasRules ? connection.whole(large) : large.isText ? .text([]) : .blob([]))
    }
  }

  func brokenRules(_ attribute: AttributeDescription, _ value: SQLValue) throws -> [BrokenRule] {
    if value == .null {
      return attribute.isOptional ? [] : [BrokenRule(kind: .required, text: "it is required and nil")]
    }
    // A step that changes only definitions leaves the row unchanged, and any number but 0 is true.
    if stores.original != nil, attribute.type == .boolean, case .integer = value { return [] }
    guard Self.isStorable(value, as: attribute.type) else {
      let text = "it is \(value.kind), which an attribute of type \(attribute.type.xcodeName) cannot hold"
      return [BrokenRule(kind: .type, text: text)]
    }
    var broken: [BrokenRule] = []
    switch value {
    case .integer, .real:
      if let low = attribute.minimumValue, Self.compare(value, low) == .orderedAscending {
        broken.append(BrokenRule(kind: .minimum, text: "it is below the minimum"))
      }
      if let high = attribute.maximumValue, Self.compare(value, high) == .orderedDescending {
        broken.append(BrokenRule(kind: .maximum, text: "it is above the maximum"))
      }
    case .text(let bytes) where attribute.type == .string:
      let text = String(decoding: bytes, as: UTF8.self)
      let count = text.utf16.count
      if let low = attribute.minimumLength, count < low {
        broken.append(BrokenRule(kind: .shortest, text: "it is shorter than \(low)"))
      }
      if let high = attribute.maximumLength, count > high {
        broken.append(BrokenRule(kind: .longest, text: "it is longer than \(high)"))
      }
      guard let pattern = attribute.regularExpression else { break }
      guard let expression = patterns[Text(pattern)] ?? (try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z"))
      else {
        findings.count("not proved: values of '\(attribute.name)', whose regular expression cannot be read", 1)
        break
      }
      patterns[Text(pattern)] = expression
      if expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) == nil {
        broken.append(BrokenRule(kind: .pattern(pattern), text: "it does not match the regular expression"))
      }
    default: break
    }
    return broken
  }

  private static func isStorable(_ value: SQLValue, as type: AttributeType) -> Bool {
    switch (type, value) {
    case (.integer16, .integer(let number)), (.integer32, .integer(let number)), (.integer64, .integer(let number)):
      type.integerRange?.contains(number) ?? true
    case (.boolean, .integer(let number)): number == 0 || number == 1
    case (.decimal, .integer), (.decimal, .real), (.double, .integer), (.double, .real), (.float, .integer),
      (.float, .real),
      (.date, .integer), (.date, .real):
      true
    case (.decimal, .text(let bytes)): bytes.elementsEqual("NaN".utf8)
    case (.string, .text), (.uri, .text), (.binary, .blob), (.transformable, .blob): true
    case (.uuid, .blob(let bytes)): bytes.count == 16
    case (.undefined, _), (.objectID, _), (.composite, _): true
    default: false
    }
  }

  private static func compare(_ value: SQLValue, _ limit: AttributeValue) -> ComparisonResult {
    func order<T: Comparable>(_ a: T, _ b: T) -> ComparisonResult {
      a < b ? .orderedAscending : a > b ? .orderedDescending : .orderedSame
    }
    let bound: Double
    switch (value, limit) {
    case (.integer(let a), .integer(let b)): return order(a, b)
    case (_, .integer(let number)): bound = Double(number)
    case (_, .double(let number)), (_, .date(let number)): bound = number
    case (_, .decimal(let number)): bound = Double(number.description) ?? .nan
    default: return .orderedSame
    }
    switch value {
    case .integer(let number): return order(Double(number), bound)
    case .real(let number): return order(number, bound)
    default: return .orderedSame
    }
  }
}

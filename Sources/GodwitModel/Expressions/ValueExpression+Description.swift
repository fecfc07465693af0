import Foundation

extension ValueExpression: CustomStringConvertible {
  /// The expression in NSExpression's format; a parsed expression reparses to an equal tree.
  public var description: String {
    switch node {
    case .constant(let value): Self.text(of: value)
    case .evaluatedObject: "SELF"
    case .variable(let name): "$\(name)"
    case .keyPath(let base, let segments):
      ((base.map { [$0.operand] } ?? []) + segments.map(Self.path)).joined(separator: ".")
    case .arithmetic(let op, let a, let b): "\(a.operand) \(op.rawValue) \(b.operand)"
    case .negation(let a): "-(\(a))"
    case .aggregate(let items): "{\(Self.list(items))}"
    case .function(let name, let arguments): "\(name)(\(Self.list(arguments)))"
    case .call(let operand, let selector, let arguments):
      "FUNCTION(\(Self.list([operand, ValueExpression(.constant(AttributeValue(selector)))] + arguments)))"
    case .ternary(let test, let yes, let no): "TERNARY(\(test), \(yes), \(no))"
    case .subquery(let collection, let variable, let predicate):
      "SUBQUERY(\(collection), $\(variable), \(predicate))"
    case .cast(let operand, let type): "CAST(\(operand), \(JSONString.quoted(type)))"
    case .element(let collection, let position): "\(collection.operand)[\(position)]"
    case .set(let op, let a, let b): "\(a.operand) \(op.rawValue) \(b.operand)"
    case .fetch(let request, let context, let countOnly):
      "FETCH(\(request), \(context), \(countOnly ? "YES" : "NO"))"
    }
  }

  /// The text as an operand: in parentheses unless it is one unit.
  var operand: String {
    switch node {
    case .arithmetic, .negation, .set: "(\(self))"
    case .constant(.integer(let n)) where n < 0: "(\(self))"
    case .constant(.double), .constant(.decimal): "(\(self))"
    default: description
    }
  }

  private static func list(_ items: [ValueExpression]) -> String { items.map(\.description).joined(separator: ", ") }

  /// A name, or the path of a leaf in a composite attribute.
  private static func path(_ name: String) -> String {
    name.split(separator: ".").map { word(String($0)) }.joined(separator: ".")
  }

  private static func word(_ name: String) -> String {
    let word = name.uppercased()
    return ExpressionParser.reserved.contains(word) || ExpressionParser.positions.contains(word) ? "#\(name)" : name
  }

  private static func text(of value: AttributeValue) -> String {
    switch value {
    case .null: "nil"
    case .boolean(let flag): flag ? "YES" : "NO"
    case .integer(let number): String(number)
    case .double(let number): number.description
    case .decimal(let number): "CAST(\(JSONString.quoted("\(number)")), \"NSDecimalNumber\")"
    case .string(let text): JSONString.quoted(text.string)
    case .date(let seconds): "CAST(\(seconds), \"NSDate\")"
    case .data(let bytes): "CAST(\(JSONString.quoted("\(bytes.count) bytes")), \"NSData\")"
    case .uuid(let uuid): "CAST(\(JSONString.quoted(uuid.uuidString)), \"NSUUID\")"
    case .uri(let text): "CAST(\(JSONString.quoted(text.string)), \"NSURL\")"
    }
  }
}

extension ValueExpression.ElementPosition: CustomStringConvertible {
  package var description: String {
    switch self {
    case .index(let index): index.description
    case .first: "FIRST"
    case .last: "LAST"
    case .size: "SIZE"
    }
  }
}

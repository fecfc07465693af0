import Foundation

extension ExpressionEvaluator {
  typealias Comparison = Predicate.Comparison

  /// Three-valued; in the value role never nil.
  func test(_ predicate: Predicate, _ outer: Scope) throws -> Bool? {
    let scope = try outer.inner(predicate.range)
    switch predicate.node {
    case .constant(let flag): return flag
    case .not(let part): return try test(part, scope).map { !$0 }
    case .and(let parts): return try all(parts) { try test($0, scope) }
    case .or(let parts): return try any(parts) { try test($0, scope) }
    case .comparison(let comparison): return try compare(comparison, scope, predicate.range)
    }
  }

  private func all<T>(_ items: [T], _ test: (T) throws -> Bool?) rethrows -> Bool? {
    var result: Bool? = true
    for item in items {
      switch try test(item) {
      case false: return false
      case nil: result = nil
      default: break
      }
    }
    return result
  }

  private func any<T>(_ items: [T], _ test: (T) throws -> Bool?) rethrows -> Bool? {
    var result: Bool? = false
    for item in items {
      switch try test(item) {
      case true: return true
      case nil: result = nil
      default: break
      }
    }
    return result
  }

  // MARK: Comparisons

  private func compare(_ c: Comparison, _ scope: Scope, _ range: Range<Int>) throws -> Bool? {
    let left = try value(of: c.left, scope)
    let right = try Right(c.right, self, scope)
    switch c.modifier {
    case .direct: return try compare(left, right, c, range)
    case .any: return try any(left.members) { try compare($0, right, c, range) }
    case .all: return try all(left.members) { try compare($0, right, c, range) }
    }
  }

  /// The right side; a written list keeps its elements, nils included.
  struct Right {
    var value: EvaluatedValue
    var elements: [EvaluatedValue]?
    var range: Range<Int>

    init(_ expression: Expression, _ evaluator: ExpressionEvaluator, _ scope: Scope) throws {
      range = expression.range
      if case .aggregate(let items) = expression.node {
        elements = try items.map { try evaluator.value(of: $0, scope) }
        value = .null
      } else {
        value = try evaluator.value(of: expression, scope)
        elements = value.elements
      }
    }
  }

  private func compare(
    _ left: EvaluatedValue, _ right: Right, _ c: Comparison, _ range: Range<Int>
  ) throws -> Bool? {
    switch c.operator {
    case .equal, .notEqual:
      let wanted = c.operator == .equal
      if c.right.isNil, right.elements == nil { return left.isNull == wanted }
      if c.left.isNil { return (right.elements == nil && right.value.isNull) == wanted }
      guard left.elements == nil, right.elements == nil else {
        throw ExpressionError("a collection is compared with ANY, ALL, IN or CONTAINS", range: range)
      }
      return equal(left, right.value, c.options).map { $0 == wanted }
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      let (a, b) = (try single(left, c.left.range), try single(right.one(), right.range))
      return ordered(a, c.operator, b, c.options)
    case .between:
      guard let bounds = right.elements, bounds.count == 2 else {
        throw ExpressionError("BETWEEN needs a list of two values", range: right.range)
      }
      let a = try single(left, c.left.range)
      let low = ordered(a, .greaterOrEqual, try single(bounds[0], right.range), c.options)
      let high = ordered(a, .lessOrEqual, try single(bounds[1], right.range), c.options)
      return all([low, high]) { $0 }
    case .in:
      if let elements = right.elements { return member(left, of: elements, c.options) }
      return try text(right.value, left, c.options, range, StringComparison.contains)
    case .contains:
      if let elements = left.elements { return member(try right.one(), of: elements, c.options) }
      return try text(left, try right.one(), c.options, range, StringComparison.contains)
    case .beginsWith: return try text(left, try right.one(), c.options, range, StringComparison.beginsWith)
    case .endsWith: return try text(left, try right.one(), c.options, range, StringComparison.endsWith)
    case .like: return try text(left, try right.one(), c.options, range, StringComparison.like)
    case .matches:
      return try text(left, try right.one(), c.options, range) { text, pattern, options in
        switch StringComparison.match(text, pattern, options) {
        case .fits: return true
        case .differs: return false
        case .noPattern: throw ExpressionError("the right side of MATCHES is no regular expression", range: right.range)
        case .tooLong:
          throw ExpressionError("the regular expression of MATCHES takes too long on this text", range: right.range)
        }
      }
    }
  }

  /// What a comparison with nil is.
  private var unknown: Bool? { role == .filter ? nil : false }

  private func equal(_ a: EvaluatedValue, _ b: EvaluatedValue, _ options: Comparison.Options) -> Bool? {
    if a.isNull || b.isNull { return role == .filter ? nil : a.isNull && b.isNull }
    switch (a, b) {
    case (.object(let a?), .object(let b?)): return a.isSame(as: b)
    case (.value(let a), .value(let b)): return a.isEqual(to: b, options)
    default: return false
    }
  }

  private func member(
    _ value: EvaluatedValue, of elements: [EvaluatedValue], _ options: Comparison.Options
  ) -> Bool? {
    any(elements) { equal(value, $0, options) }
  }

  private func ordered(
    _ a: AttributeValue, _ op: Comparison.Operator, _ b: AttributeValue, _ options: Comparison.Options
  ) -> Bool? {
    if a.isNull || b.isNull { return unknown }
    guard let order = a.order(to: b, options) else { return false }
    switch op {
    case .less: return order < 0
    case .lessOrEqual: return order <= 0
    case .greater: return order > 0
    default: return order >= 0
    }
  }

  private func text(
    _ text: EvaluatedValue, _ part: EvaluatedValue, _ options: Comparison.Options, _ range: Range<Int>,
    _ test: ([UInt8], [UInt8], Comparison.Options) throws -> Bool
  ) throws -> Bool? {
    if text.isNull || part.isNull { return unknown }
    guard case .value(let a) = text, case .value(let b) = part, let a = a.text, let b = b.text else {
      throw ExpressionError("expected strings, found \(text.phrase) and \(part.phrase)", range: range)
    }
    return try test(a.utf8, b.utf8, options)
  }
}

extension ExpressionEvaluator.Right {
  func one() throws(ExpressionError) -> EvaluatedValue {
    guard elements == nil else {
      throw ExpressionError("expected one value, found a collection", range: range)
    }
    return value
  }
}

extension EvaluatedValue {
  /// What ANY and ALL range over.
  fileprivate var members: [EvaluatedValue] { elements ?? (isNull ? [] : [self]) }
}

extension Expression {
  /// Whether it is the literal nil.
  var isNil: Bool { node == .constant(.null) }
}

extension AttributeValue {
  var text: Text? {
    switch self {
    case .string(let text), .uri(let text): text
    default: nil
    }
  }

  func isEqual(to other: AttributeValue, _ options: Predicate.Comparison.Options = []) -> Bool {
    if let a = text, let b = other.text { return StringComparison.equal(a.utf8, b.utf8, options) }
    return order(to: other) == 0
  }

  /// -1, 0 or 1; nil for values of kinds that have no common order, and for NaN.
  func order(to other: AttributeValue, _ options: Predicate.Comparison.Options = []) -> Int? {
    if let a = number, let b = other.number { return a.order(to: b) }
    switch (self, other) {
    case (.date(let a), .date(let b)): return Number.double(a).order(to: .double(b))
    case (.data(let a), .data(let b)): return Self.order(a, b)
    case (.uuid(let a), .uuid(let b)):
      return Self.order(withUnsafeBytes(of: a.uuid, Array.init), withUnsafeBytes(of: b.uuid, Array.init))
    default:
      guard let a = text, let b = other.text else { return nil }
      if StringComparison.less(a.utf8, b.utf8, options) { return -1 }
      return StringComparison.less(b.utf8, a.utf8, options) ? 1 : 0
    }
  }

  private static func order(_ a: [UInt8], _ b: [UInt8]) -> Int {
    a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
  }
}

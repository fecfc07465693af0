import Foundation

extension ExpressionCompiler {
  typealias Comparison = FilterPredicate.Comparison

  /// Compares a value, or a member of a collection, with the right side.
  private typealias Comparing = (EvaluatedValue, RightSide) throws -> Bool?

  /// The right side; a written list keeps its elements, nils included.
  struct RightSide {
    let value: EvaluatedValue
    let elements: [EvaluatedValue]?
    let range: Range<Int>

    init(_ value: EvaluatedValue, _ range: Range<Int>) {
      self.value = value
      self.range = range
      elements = value.elements
    }

    init(list elements: [EvaluatedValue], _ range: Range<Int>) {
      value = .null
      self.elements = elements
      self.range = range
    }

    func one() throws(ExpressionError) -> EvaluatedValue {
      guard elements == nil else {
        throw ExpressionError("expected one value, found a collection", range: range)
      }
      return value
    }
  }

  private struct RightRoutine {
    let run: (inout EvaluationFrame) throws -> RightSide
  }

  func comparison(_ c: Comparison, _ range: Range<Int>) -> TestRoutine {
    let left = value(of: c.left)
    let right = right(c.right)
    let compare = comparing(c, range)
    switch c.modifier {
    case .direct:
      return TestRoutine { frame in
        let left = try left.run(&frame)
        return try compare(left, try right.run(&frame))
      }
    case .any, .all:
      let decisive = c.modifier == .any
      return TestRoutine { frame in
        let left = try left.run(&frame)
        let right = try right.run(&frame)
        return try Self.first(decisive, in: left.members) { try compare($0, right) }
      }
    }
  }

  /// ALL or ANY of several truth values: a `decisive` one decides; otherwise the result is unknown if one of them is.
  fileprivate static func first<T>(_ decisive: Bool, in items: [T], _ test: (T) throws -> Bool?) rethrows -> Bool? {
    var result: Bool? = !decisive
    for item in items {
      guard let truth = try test(item) else {
        result = nil
        continue
      }
      if truth == decisive { return decisive }
    }
    return result
  }

  private func right(_ expression: ValueExpression) -> RightRoutine {
    let range = expression.range
    guard case .aggregate(let items) = expression.node else {
      if case .constant(let constant) = expression.node, canNest {
        let side = RightSide(.value(constant), range)
        return RightRoutine { _ in side }
      }
      let value = value(of: expression)
      return RightRoutine { RightSide(try value.run(&$0), range) }
    }
    let constants = items.compactMap {
      if case .constant(let value) = $0.node { EvaluatedValue.value(value) } else { nil }
    }
    if constants.count == items.count, canNest {
      let side = RightSide(list: constants, range)
      return RightRoutine { _ in side }
    }
    let values = items.map { value(of: $0) }
    return RightRoutine { frame in RightSide(list: try values.map { try $0.run(&frame) }, range) }
  }

  private func comparing(_ c: Comparison, _ range: Range<Int>) -> Comparing {
    let rules = ComparisonRules(options: c.options, isFilter: evaluator.role == .filter, range: range)
    let leftRange = c.left.range
    switch c.operator {
    case .equal, .notEqual:
      let wanted = c.operator == .equal
      if c.right.isNil { return { left, _ in left.isNull == wanted } }
      if c.left.isNil { return { _, right in (right.elements == nil && right.value.isNull) == wanted } }
      return { left, right in
        guard left.memberCount == nil, right.elements == nil else {
          throw ExpressionError("a collection is compared with ANY, ALL, IN or CONTAINS", range: range)
        }
        return rules.equal(left, right.value).map { $0 == wanted }
      }
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      let op = c.operator
      return { left, right in
        let (a, b) = (try left.single(leftRange), try right.one().single(right.range))
        return rules.ordered(a, op, b)
      }
    case .between:
      return { left, right in
        guard let bounds = right.elements, bounds.count == 2 else {
          throw ExpressionError("BETWEEN needs a list of two values", range: right.range)
        }
        let a = try left.single(leftRange)
        let low = rules.ordered(a, .greaterOrEqual, try bounds[0].single(right.range))
        let high = rules.ordered(a, .lessOrEqual, try bounds[1].single(right.range))
        return Self.first(false, in: [low, high]) { $0 }
      }
    case .in:
      return { left, right in
        if let elements = right.elements { return rules.member(left, of: elements) }
        return try rules.text(right.value, left) { StringComparison.contains($0, $1, rules.options) }
      }
    case .contains, .beginsWith, .endsWith, .like, .matches:
      return comparingText(c, rules)
    }
  }

  private func comparingText(_ c: Comparison, _ rules: ComparisonRules) -> Comparing {
    let options = c.options
    /// A literal on the right is folded once.
    let literal: [UInt8]? = if case .constant(.string(let text)) = c.right.node { text.utf8 } else { nil }
    let foldedLiteral = literal.map { StringComparison.folded($0, options) }
    func folded(
      _ test: @escaping ([UInt8], [UInt8], Comparison.Options) -> Bool
    ) -> ([UInt8], [UInt8]) -> Bool {
      { test(StringComparison.folded($0, options), foldedLiteral ?? StringComparison.folded($1, options), []) }
    }
    switch c.operator {
    case .contains:
      let contains = folded(StringComparison.contains)
      return { left, right in
        if let elements = left.elements { return rules.member(try right.one(), of: elements) }
        return try rules.text(left, try right.one(), contains)
      }
    case .beginsWith:
      let beginsWith = folded(StringComparison.beginsWith)
      return { left, right in try rules.text(left, try right.one(), beginsWith) }
    case .endsWith:
      let endsWith = folded(StringComparison.endsWith)
      return { left, right in try rules.text(left, try right.one(), endsWith) }
    case .like:
      let pattern = literal.map { LikePattern($0, options) }
      return { left, right in
        try rules.text(left, try right.one()) { text, part in (pattern ?? LikePattern(part, options)).fits(text) }
      }
    default:
      return { left, right in
        try rules.text(left, try right.one()) { text, pattern in
          switch StringComparison.match(text, pattern, options) {
          case .fits: return true
          case .differs: return false
          case .noPattern:
            throw ExpressionError("the right side of MATCHES is not a regular expression", range: right.range)
          case .tooLong:
            throw ExpressionError("the regular expression of MATCHES takes too long on this text", range: right.range)
          }
        }
      }
    }
  }

  // MARK: Logic

  func logic(_ parts: [FilterPredicate], decisive: Bool) -> TestRoutine {
    let tests = parts.map { test($0) }
    return TestRoutine { frame in try Self.first(decisive, in: tests) { try $0.run(&frame) } }
  }
}

extension EvaluatedValue {
  /// The members that ANY and ALL range over.
  fileprivate var members: [EvaluatedValue] { elements ?? (isNull ? [] : [self]) }
}

extension ValueExpression {
  /// Whether it is the literal nil.
  var isNil: Bool { if case .constant(.null) = node { true } else { false } }
}

extension AttributeValue {
  var text: Text? {
    switch self {
    case .string(let text), .uri(let text): text
    default: nil
    }
  }

  func isEqual(to other: AttributeValue, _ options: FilterPredicate.Comparison.Options = []) -> Bool {
    if let a = text, let b = other.text { return StringComparison.equal(a.utf8, b.utf8, options) }
    return order(to: other) == 0
  }

  /// -1, 0 or 1; nil for values of kinds that have no common order, and for NaN.
  func order(to other: AttributeValue, _ options: FilterPredicate.Comparison.Options = []) -> Int? {
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

/// How two values compare in a filter and elsewhere.
private struct ComparisonRules {
  let options: FilterPredicate.Comparison.Options
  let isFilter: Bool
  let range: Range<Int>

  /// The result of a comparison with nil.
  private var unknown: Bool? { isFilter ? nil : false }

  func equal(_ a: EvaluatedValue, _ b: EvaluatedValue) -> Bool? {
    if a.isNull || b.isNull { return isFilter ? nil : a.isNull && b.isNull }
    switch (a, b) {
    case (.object(let a?), .object(let b?)): return a.isSame(as: b)
    case (.value(let a), .value(let b)): return a.isEqual(to: b, options)
    default: return false
    }
  }

  func member(_ value: EvaluatedValue, of elements: [EvaluatedValue]) -> Bool? {
    ExpressionCompiler.first(true, in: elements) { equal(value, $0) }
  }

  func ordered(_ a: AttributeValue, _ op: FilterPredicate.Comparison.Operator, _ b: AttributeValue) -> Bool? {
    if a.isNull || b.isNull { return unknown }
    guard let order = a.order(to: b, options) else { return false }
    switch op {
    case .less: return order < 0
    case .lessOrEqual: return order <= 0
    case .greater: return order > 0
    default: return order >= 0
    }
  }

  func text(
    _ text: EvaluatedValue, _ part: EvaluatedValue, _ test: ([UInt8], [UInt8]) throws -> Bool
  ) throws -> Bool? {
    if text.isNull || part.isNull { return unknown }
    guard case .value(let a) = text, case .value(let b) = part, let a = a.text, let b = b.text else {
      throw ExpressionError("expected strings, found \(text.phrase) and \(part.phrase)", range: range)
    }
    return try test(a.utf8, b.utf8)
  }
}

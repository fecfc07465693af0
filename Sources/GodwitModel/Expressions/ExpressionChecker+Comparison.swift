extension ExpressionChecker {
  func check(_ predicate: FilterPredicate, _ outer: Scope) throws(ExpressionError) {
    let scope = try outer.inner(predicate.range)
    switch predicate.node {
    case .constant: return
    case .not(let part): try check(part, scope)
    case .and(let parts), .or(let parts), .untaken(let parts): for part in parts { try check(part, scope) }
    case .comparison(let comparison): try check(comparison, scope, predicate.range)
    }
  }

  private func check(
    _ c: FilterPredicate.Comparison, _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) {
    var left = try type(of: c.left, scope)
    let right = try rightType(c.right, scope)
    if c.modifier != .direct {
      switch left {
      case .values(let type): left = .value(type)
      case .objects(let entity, _): left = .object(entity: entity)
      case .list: left = .value(.undefined)
      default:
        throw ExpressionError(
          "\(c.modifier.rawValue) needs a collection, found \(left.phrase)", range: c.left.range)
      }
    }
    switch c.operator {
    case .equal, .notEqual:
      if c.left.isNil || c.right.isNil { return }
      try comparable(left, c.left, right, c.right, range)
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      try comparable(left, c.left, right, c.right, range)
      try orderable(left, c.left)
      try orderable(right, c.right)
    case .between:
      guard case .aggregate(let bounds) = c.right.node, bounds.count == 2 else {
        throw ExpressionError("BETWEEN needs a list of two values, found \(right.phrase)", range: c.right.range)
      }
      try orderable(left, c.left)
      for bound in bounds {
        let found = try type(of: bound, scope)
        try comparable(left, c.left, found, bound, range)
        try orderable(found, bound)
      }
    case .in:
      if case .value(let type) = right, type.expressionClass == .string {
        return try string(left, c.left, "IN a string")
      }
      try member(left, c.left, right, c.right, "IN", scope, range)
    case .contains where left.isCollection:
      try member(right, c.right, left, c.left, "CONTAINS", scope, range)
    case .contains, .beginsWith, .endsWith, .like, .matches:
      try string(left, c.left, c.operator.rawValue)
      try string(right, c.right, c.operator.rawValue)
      guard c.operator == .matches, case .constant(.string(let pattern)) = c.right.node else { return }
      guard StringComparison.isPattern(pattern.utf8) else {
        throw ExpressionError("the right side of MATCHES is not a regular expression", range: c.right.range)
      }
    }
  }

  /// The type of the right side. A bare word there, or in its list, may be meant as a text.
  private func rightType(_ right: ValueExpression, _ scope: Scope) throws(ExpressionError) -> ExpressionType {
    do throws(ExpressionError) { return try type(of: right, scope) } catch {
      var parts = [right]
      if case .aggregate(let items) = right.node { parts = items }
      guard role == .filter, let part = parts.first(where: { $0.range == error.range }),
        case .keyPath(nil, let segments) = part.node, segments.count == 1
      else { throw error }
      throw ExpressionError(error.message + ExpressionHints.text(segments[0], isWhole: false), range: error.range)
    }
  }

  private func comparable(
    _ a: ExpressionType, _ left: ValueExpression, _ b: ExpressionType, _ right: ValueExpression, _ range: Range<Int>
  ) throws(ExpressionError) {
    try one(a, left)
    try one(b, right)
    switch (a, b) {
    case (.null, _), (_, .null): return
    case (.value(let x), .value(let y)):
      let (x, y) = (x.expressionClass, y.expressionClass)
      if x == y || x == .any || y == .any { return }
    case (.object(let x), .object(let y)):
      if ancestor(x, y) != nil { return }
    default: break
    }
    throw ExpressionError("cannot compare \(a.phrase) with \(b.phrase)", range: range)
  }

  /// Complains when it is not a single value or object.
  private func one(_ type: ExpressionType, _ expression: ValueExpression) throws(ExpressionError) {
    switch type {
    case .null, .value, .object: return
    case .objects, .values, .list:
      throw ExpressionError(
        "expected one value, found \(type.phrase) (compare it with ANY, ALL, IN or CONTAINS)", range: expression.range)
    default: throw ExpressionError("cannot compare \(type.phrase)", range: expression.range)
    }
  }

  private func orderable(_ type: ExpressionType, _ expression: ValueExpression) throws(ExpressionError) {
    switch type {
    case .null: return
    case .value(let value):
      switch value.expressionClass {
      case .transformable, .objectID, .composite: break
      default: return
      }
    default: break
    }
    throw ExpressionError("\(type.phrase) has no order", range: expression.range)
  }

  private func string(
    _ type: ExpressionType, _ expression: ValueExpression, _ what: String
  ) throws(ExpressionError) {
    switch type {
    case .null: return
    case .value(let type) where type.expressionClass == .string || type.expressionClass == .any: return
    default: throw ExpressionError("\(what) needs strings, found \(type.phrase)", range: expression.range)
    }
  }

  private func member(
    _ type: ExpressionType, _ element: ValueExpression, _ collection: ExpressionType, _ container: ValueExpression,
    _ name: String, _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) {
    switch collection {
    case .values(let members): try comparable(type, element, .value(members), container, range)
    case .objects(let entity, _): try comparable(type, element, .object(entity: entity), container, range)
    case .list:
      guard case .aggregate(let items) = container.node else { return try one(type, element) }
      try one(type, element)
      for item in items { try comparable(type, element, try self.type(of: item, scope), item, item.range) }
    default:
      throw ExpressionError(
        "\(name) needs a list, a collection or a string, found \(collection.phrase)", range: container.range)
    }
  }
}

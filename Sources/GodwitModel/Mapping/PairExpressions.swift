/// Expressions of a mapping with `for-each` as expressions on a pair: `$source.name` becomes `$source.$source.name`,
/// where the second `$source` is the to-one from the pair, and `$element.name` becomes `$source.$element.name`.
///
/// The trees keep their text and their ranges, so that an error points at what the user wrote.
struct PairExpressions {
  let pair: PairEntity
  /// In a filter, a name without a variable starts at the object.
  let isFilter: Bool

  func lowered(_ predicate: FilterPredicate) throws(ExpressionError) -> FilterPredicate {
    try lowered(predicate, hiding: [])
  }

  func lowered(_ expression: ValueExpression) throws(ExpressionError) -> ValueExpression {
    try lowered(expression, hiding: [])
  }

  /// - Parameter hidden: The variables of SUBQUERYs around the predicate.
  private func lowered(
    _ predicate: FilterPredicate, hiding hidden: Set<String>
  ) throws(ExpressionError) -> FilterPredicate {
    func all(_ parts: [FilterPredicate]) throws(ExpressionError) -> [FilterPredicate] {
      var lowered: [FilterPredicate] = []
      for part in parts { lowered.append(try self.lowered(part, hiding: hidden)) }
      return lowered
    }
    var result = predicate
    switch predicate.node {
    case .constant: break
    case .comparison(var comparison):
      comparison.left = try lowered(comparison.left, hiding: hidden)
      comparison.right = try lowered(comparison.right, hiding: hidden)
      result.node = .comparison(comparison)
    case .and(let parts): result.node = .and(try all(parts))
    case .or(let parts): result.node = .or(try all(parts))
    case .untaken(let parts): result.node = .untaken(try all(parts))
    case .not(let part): result.node = .not(try lowered(part, hiding: hidden))
    }
    return result
  }

  private func lowered(
    _ expression: ValueExpression, hiding hidden: Set<String>
  ) throws(ExpressionError) -> ValueExpression {
    func part(_ other: ValueExpression) throws(ExpressionError) -> ValueExpression {
      try lowered(other, hiding: hidden)
    }
    func parts(_ others: [ValueExpression]) throws(ExpressionError) -> [ValueExpression] {
      var lowered: [ValueExpression] = []
      for other in others { lowered.append(try part(other)) }
      return lowered
    }
    var result = expression
    switch expression.node {
    case .constant: break
    case .evaluatedObject:
      throw ExpressionError("SELF may be either end of a link: write '$source' or '$element'", range: expression.range)
    case .variable(let name):
      if let end = end(name, hiding: hidden) { result = path(from: end, along: [], of: expression) }
      if isIndex(name, hidden) { result = try index(.source, of: expression) }
    case .keyPath(let base, let segments): result = try keyPath(base, segments, of: expression, hiding: hidden)
    case .arithmetic(let op, let a, let b): result.node = .arithmetic(op, try part(a), try part(b))
    case .negation(let operand): result.node = .negation(try part(operand))
    case .aggregate(let items): result.node = .aggregate(try parts(items))
    case .function(let name, let arguments): result.node = .function(name: name, arguments: try parts(arguments))
    case .call(let operand, let selector, let arguments):
      result.node = .call(operand: try part(operand), selector: selector, arguments: try parts(arguments))
    case .ternary(let test, let then, let other):
      result.node = .ternary(try lowered(test, hiding: hidden), try part(then), try part(other))
    case .subquery(let collection, let variable, let predicate):
      result.node = .subquery(
        collection: try part(collection), variable: variable,
        predicate: try lowered(predicate, hiding: hidden.union([variable])))
    case .cast(let operand, let type): result.node = .cast(try part(operand), type: type)
    case .element(let collection, .index(let index)):
      result.node = .element(of: try part(collection), at: .index(try part(index)))
    case .element(let collection, let position): result.node = .element(of: try part(collection), at: position)
    case .set(let op, let a, let b): result.node = .set(op, try part(a), try part(b))
    case .fetch(let request, let context, let countOnly):
      result.node = .fetch(request: try part(request), context: try part(context), countOnly: countOnly)
    }
    return result
  }

  private func keyPath(
    _ base: ValueExpression?, _ segments: [String], of expression: ValueExpression, hiding hidden: Set<String>
  ) throws(ExpressionError) -> ValueExpression {
    guard let base else {
      let name = segments.joined(separator: ".")
      if !isFilter, let hint = ExpressionHints.variable(segments, variables: ["source", "element", "index"]) {
        throw ExpressionError(hint, range: expression.range)
      }
      throw ExpressionError(
        "'\(name)' may be a name of either end of a link: write '$source.\(name)' or '$element.\(name)'",
        range: expression.range)
    }
    if case .variable(let name) = base.node {
      if let end = end(name, hiding: hidden) { return path(from: end, along: segments, of: expression) }
      if isIndex(name, hidden) {
        guard segments.count == 1, let end = PairEntity.End(rawValue: segments[0]) else {
          throw ExpressionError(
            "'$index.\(segments.joined(separator: "."))' has no value for a link: write '$index'",
            range: expression.range)
        }
        return try index(end, of: expression)
      }
    }
    var result = expression
    result.node = .keyPath(base: try lowered(base, hiding: hidden), segments: segments)
    return result
  }

  private func end(_ variable: String, hiding hidden: Set<String>) -> PairEntity.End? {
    hidden.contains(variable) ? nil : PairEntity.End(rawValue: variable)
  }

  private func isIndex(_ variable: String, _ hidden: Set<String>) -> Bool {
    variable == "index" && !isFilter && !hidden.contains(variable)
  }

  private func path(
    from end: PairEntity.End, along segments: [String], of expression: ValueExpression
  ) -> ValueExpression {
    let start: ValueExpression.TextRange
    if case .keyPath(let base?, _) = expression.node { start = base.range } else { start = expression.range }
    var result = expression
    result.node = .keyPath(
      base: isFilter ? nil : ValueExpression(.variable("source"), range: start), segments: [end.toOne] + segments)
    result.segmentRanges = expression.segmentRanges.count == segments.count ? [start] + expression.segmentRanges : []
    return result
  }

  /// The place of the element among those of the source, or the other way round.
  private func index(
    _ end: PairEntity.End, of expression: ValueExpression
  ) throws(ExpressionError) -> ValueExpression {
    guard end == .source ? pair.isOrdered : pair.isInverseOrdered else {
      throw ExpressionError(
        end == .source
          ? "'$index' needs an order, and '\(pair.name)' is not ordered"
          : "'$index.element' needs an order, and the inverse of '\(pair.name)' has none",
        range: expression.range)
    }
    var result = expression
    result.node = .keyPath(
      base: ValueExpression(.variable("index"), range: expression.range), segments: [end.toOne])
    result.segmentRanges = []
    return result
  }
}

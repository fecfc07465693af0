extension ValueExpression {
  /// The expressions that stand directly in this one, those of its predicates included, in reading order.
  package var children: [ValueExpression] {
    switch node {
    case .constant, .evaluatedObject, .variable: []
    case .keyPath(let base, _): base.map { [$0] } ?? []
    case .arithmetic(_, let a, let b), .set(_, let a, let b), .fetch(let a, let b, _): [a, b]
    case .negation(let a), .cast(let a, _): [a]
    case .aggregate(let items), .function(_, let items): items
    case .call(let operand, _, let arguments): [operand] + arguments
    case .ternary(let test, let yes, let no): test.operands + [yes, no]
    case .subquery(let collection, _, let test): [collection] + test.operands
    case .element(let collection, .index(let index)): [collection, index]
    case .element(let collection, _): [collection]
    }
  }

  /// Whether `test` holds for the expression or one within it.
  package func contains(where test: (ValueExpression) -> Bool) -> Bool {
    var pending = [self]
    while let next = pending.popLast() {
      if test(next) { return true }
      pending += next.children
    }
    return false
  }
}

extension FilterPredicate {
  /// The outermost expressions of the predicate, in reading order.
  package var operands: [ValueExpression] {
    switch node {
    case .constant: []
    case .comparison(let comparison): [comparison.left, comparison.right]
    case .and(let parts), .or(let parts), .untaken(let parts): parts.flatMap(\.operands)
    case .not(let part): part.operands
    }
  }
}

/// Evaluates expressions and predicates on objects in memory.
///
/// Meant for expressions that `ExpressionChecker` has accepted. A value that does not fit then throws an
/// `ExpressionError`, and nothing traps. The `Expressions` page has the rules.
package struct ExpressionEvaluator {
  static let maximumDepth = 500

  let bindings: [String: EvaluatedValue]
  let now: Double
  let role: ExpressionRole
  let mapping: MappingBindings
  let host: (any ExpressionHost)?
  /// Whether `$source` is the object, whatever the bindings are.
  let bindsSource: Bool

  /// - Parameters:
  ///   - bindings: the values of the variables, by name without the `$`.
  ///   - now: the value of `now()`, in seconds since 2001.
  ///   - mapping: the values of `$entityMapping` and `$propertyMapping`.
  ///   - host: the host that answers `FUNCTION` and `FETCH`; without one both are errors.
  ///   - bindsSource: whether `$source` is the object itself.
  package init(
    bindings: [String: EvaluatedValue] = [:], now: Double, role: ExpressionRole, mapping: MappingBindings = .init(),
    host: (any ExpressionHost)? = nil, bindsSource: Bool = false
  ) {
    self.bindsSource = bindsSource
    self.bindings = bindings
    self.now = now
    self.role = role
    self.mapping = mapping
    self.host = host
  }

  /// The expression made ready for many objects: takes the time of evaluating it a few times.
  package func compile(_ expression: ValueExpression) -> CompiledExpression {
    CompiledExpression(routine: ExpressionCompiler(self).value(of: expression))
  }

  /// The predicate made ready for many objects: takes the time of evaluating it a few times.
  package func compile(_ predicate: FilterPredicate) -> CompiledPredicate {
    CompiledPredicate(routine: ExpressionCompiler(self).test(predicate))
  }
}

/// An expression compiled by an evaluator. It must not be used on two threads at once.
package struct CompiledExpression {
  let routine: ValueRoutine

  /// The value with `object` as SELF.
  ///
  /// - Throws: `ExpressionError`, and the errors of the objects.
  package func evaluate(with object: any EvaluatedObject) throws -> EvaluatedValue {
    var frame = EvaluationFrame(object: object)
    return try routine.run(&frame)
  }
}

/// A predicate compiled by an evaluator. It must not be used on two threads at once.
package struct CompiledPredicate {
  let routine: TestRoutine

  /// Whether the object fulfils the predicate; nil is *unknown*, in the filter role only.
  ///
  /// - Throws: `ExpressionError`, and the errors of the objects.
  package func matches(_ object: any EvaluatedObject) throws -> Bool? {
    var frame = EvaluationFrame(object: object)
    return try routine.run(&frame)
  }
}

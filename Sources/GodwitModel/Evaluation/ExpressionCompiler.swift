import Foundation

/// The values for one evaluation.
struct EvaluationFrame {
  let object: any EvaluatedObject
  /// The members that the SUBQUERYs around are at, the outermost first.
  var members: [EvaluatedValue] = []
}

/// Yields an expression's value, or fails when it is reached: an error in an unused branch does not matter. Routines are structs, for an array of bare closures wraps each one it gives out.
struct ValueRoutine {
  let run: (inout EvaluationFrame) throws -> EvaluatedValue
}

/// Yields an expression's one value, or nil without one.
struct SingleRoutine {
  let run: (inout EvaluationFrame) throws -> AttributeValue
}

/// Yields the values of two operands.
struct PairRoutine {
  let run: (inout EvaluationFrame) throws -> (AttributeValue, AttributeValue)
}

/// Yields the decimal that a literal spells; nil where another value was taken.
struct WrittenRoutine {
  let run: (inout EvaluationFrame) throws -> Decimal?
}

/// Tests a predicate. Three-valued; in the value role never nil.
struct TestRoutine {
  let run: (inout EvaluationFrame) throws -> Bool?
}

/// Compiles an expression into a routine, so that names, functions and operators are resolved once and not for every
/// object.
///
/// An expression that can never work fails when it is evaluated, not before: a branch that is not taken does not
/// matter.
struct ExpressionCompiler {
  let evaluator: ExpressionEvaluator
  /// The index of the frame's member that each variable of an enclosing SUBQUERY names.
  private var variables: [String: Int] = [:]
  private var memberCount = 0
  private var depth = 0

  init(_ evaluator: ExpressionEvaluator) { self.evaluator = evaluator }

  /// The same, one level deeper; nil if that is too deep.
  private var inner: ExpressionCompiler? {
    guard depth < ExpressionEvaluator.maximumDepth else { return nil }
    var inner = self
    inner.depth += 1
    return inner
  }

  /// Whether a part of this may have a value.
  var canNest: Bool { inner != nil }

  private static func tooDeep(_ range: Range<Int>) -> ExpressionError {
    ExpressionError("the expression is nested too deeply", range: range)
  }

  // MARK: Values

  func value(of expression: ValueExpression) -> ValueRoutine {
    let range = expression.range
    guard let inner else { return ValueRoutine { _ in throw Self.tooDeep(range) } }
    return inner.routine(of: expression)
  }

  private func routine(of expression: ValueExpression) -> ValueRoutine {
    let range = expression.range
    switch expression.node {
    case .constant(let value): return ValueRoutine { _ in .value(value) }
    case .evaluatedObject: return ValueRoutine { .object($0.object) }
    case .variable("index") where isIndex: return index(nil)
    case .keyPath(let base?, let segments) where base.node == .variable("index") && segments.count == 1 && isIndex:
      return index(segments[0])
    case .variable(let name):
      return variable(name)
        ?? ValueRoutine { _ in throw ExpressionError("variable '$\(name)' has no value here", range: range) }
    case .keyPath(let base, let segments): return keyPath(base, segments, range)
    case .aggregate(let elements): return list(elements, range)
    case .call(let receiver, let selector, let arguments): return call(receiver, selector, arguments, range)
    case .ternary(let condition, let then, let otherwise):
      let (condition, then, otherwise) = (test(condition), value(of: then), value(of: otherwise))
      return ValueRoutine { try condition.run(&$0) == true ? try then.run(&$0) : try otherwise.run(&$0) }
    case .subquery(let collection, let variable, let predicate): return subquery(collection, variable, predicate)
    case .element(let collection, let position): return element(of: collection, at: position, range)
    case .set(let op, let left, let right):
      let (left, right) = (value(of: left), value(of: right))
      return ValueRoutine { try Self.combine(op, try left.run(&$0), try right.run(&$0), range) }
    case .fetch(let request, _, let countOnly): return fetch(request, countOnly: countOnly, range)
    case .arithmetic, .negation, .function, .cast:
      let single = one(expression, range)
      return ValueRoutine { .value(try single.run(&$0)) }
    }
  }

  /// The expression's one value.
  func single(_ expression: ValueExpression) -> SingleRoutine { single(expression, expression.range) }

  /// - Parameter wanted: The part of the text that wants one value.
  private func single(_ expression: ValueExpression, _ wanted: Range<Int>) -> SingleRoutine {
    let range = expression.range
    guard let inner else { return SingleRoutine { _ in throw Self.tooDeep(range) } }
    return inner.one(expression, wanted)
  }

  private func one(_ expression: ValueExpression, _ wanted: Range<Int>) -> SingleRoutine {
    let range = expression.range
    switch expression.node {
    case .constant(let value):
      let value = value.known
      return SingleRoutine { _ in value }
    case .arithmetic(let op, let left, let right): return arithmetic(op, left, right, range)
    case .negation(let operand):
      let operand = single(operand)
      return SingleRoutine { try Calculation.negative(try operand.run(&$0), range) }
    case .function(let name, let arguments): return function(name, arguments, range)
    case .cast(let operand, let type):
      let (operand, target) = (single(operand), CastType.named(type))
      return SingleRoutine { try Calculation.cast(try operand.run(&$0), to: target, named: type, range) }
    case .ternary(let condition, let then, let otherwise):
      let (condition, then, otherwise) = (test(condition), single(then, wanted), single(otherwise, wanted))
      return SingleRoutine { try condition.run(&$0) == true ? try then.run(&$0) : try otherwise.run(&$0) }
    case .evaluatedObject, .variable, .keyPath, .aggregate, .call, .subquery, .element, .set, .fetch:
      let value = routine(of: expression)
      return SingleRoutine { try value.run(&$0).single(wanted) }
    }
  }

  func arithmetic(
    _ op: ValueExpression.ArithmeticOperator, _ left: ValueExpression, _ right: ValueExpression, _ range: Range<Int>
  ) -> SingleRoutine {
    let operands = operands(left, right)
    return SingleRoutine {
      let (a, b) = try operands.run(&$0)
      return try Calculation.result(op, a, b, range)
    }
  }

  /// The values of two numbers that are calculated with each other.
  func operands(_ left: ValueExpression, _ right: ValueExpression) -> PairRoutine {
    let (a, b) = (single(left), single(right))
    let (x, y) = (written(left), written(right))
    guard x != nil || y != nil else { return PairRoutine { (try a.run(&$0), try b.run(&$0)) } }
    return PairRoutine { frame in
      let (a, b) = (try a.run(&frame), try b.run(&frame))
      if b.isDecimal, !a.isDecimal, let number = try x?.run(&frame) { return (.decimal(number), b) }
      if a.isDecimal, !b.isDecimal, let number = try y?.run(&frame) { return (a, .decimal(number)) }
      return (a, b)
    }
  }

  /// The decimal that a literal number is beside another decimal, with the digits of the text and not of its floating
  /// point value; nil for an expression that never is a literal.
  func written(_ expression: ValueExpression) -> WrittenRoutine? {
    switch expression.node {
    case .constant(.double(let number)):
      let decimal = Decimal(stored: number)
      return WrittenRoutine { _ in decimal }
    case .negation(let operand):
      return written(operand).map { operand in WrittenRoutine { try operand.run(&$0).map { -$0 } } }
    case .ternary(let condition, let then, let otherwise):
      let (yes, no) = (inner?.written(then), inner?.written(otherwise))
      guard yes != nil || no != nil else { return nil }
      let condition = test(condition)
      return WrittenRoutine { try condition.run(&$0) == true ? try yes?.run(&$0) : try no?.run(&$0) }
    default: return nil
    }
  }

  private func list(_ elements: [ValueExpression], _ range: Range<Int>) -> ValueRoutine {
    let elements = elements.map { value(of: $0) }
    return ValueRoutine { frame in
      var objects: [any EvaluatedObject] = []
      var values: [AttributeValue] = []
      values.reserveCapacity(elements.count)
      // Every element is evaluated before the first misfit is reported.
      var misfit: EvaluatedValue?
      for element in elements {
        switch try element.run(&frame) {
        case .value(let value): values.append(value.known)
        case .object(nil): values.append(.null)
        case .object(let object?): objects.append(object)
        case let other: misfit = misfit ?? other
        }
      }
      if let misfit { _ = try misfit.single(range) }
      if objects.isEmpty { return .values(values) }
      guard values.allSatisfy(\.isNull) else {
        throw ExpressionError("a list holds either objects or values", range: range)
      }
      return .objects(objects, ordered: true)
    }
  }

  private func subquery(_ collection: ValueExpression, _ variable: String, _ predicate: FilterPredicate) -> ValueRoutine
  {
    let range = collection.range
    let place = memberCount
    var inner = self
    inner.variables[variable] = place
    inner.memberCount += 1
    let (collection, test) = (value(of: collection), inner.test(predicate))
    return ValueRoutine { frame in
      let collection = try collection.run(&frame)
      if collection.isNull || collection.memberCount == 0 { return .objects([], ordered: false) }
      guard case .objects(let objects, let ordered) = collection else {
        throw ExpressionError("expected a collection of objects, found \(collection.phrase)", range: range)
      }
      frame.members.append(.null)
      let kept = try objects.filter { object in
        frame.members[place] = .object(object)
        return try test.run(&frame) == true
      }
      frame.members.removeLast()
      return .objects(kept, ordered: ordered)
    }
  }

  // MARK: Predicates

  func test(_ predicate: FilterPredicate) -> TestRoutine {
    let range = predicate.range
    guard let inner else { return TestRoutine { _ in throw Self.tooDeep(range) } }
    switch predicate.node {
    case .constant(let flag): return TestRoutine { _ in flag }
    case .not(let part):
      let test = inner.test(part)
      return TestRoutine { try test.run(&$0).map { !$0 } }
    case .and(let parts): return inner.logic(parts, decisive: false)
    case .or(let parts): return inner.logic(parts, decisive: true)
    case .untaken(let parts):
      let tests = parts.map { inner.test($0) }
      return TestRoutine { frame in try !tests.contains { try $0.run(&frame) == true } }
    case .comparison(let comparison): return inner.comparison(comparison, range)
    }
  }

  // MARK: Variables

  /// The value of a variable; nil if it is unknown here.
  func variable(_ name: String) -> ValueRoutine? {
    if let place = variables[name] { return ValueRoutine { $0.members[place] } }
    if let value = evaluator.bindings[name] { return ValueRoutine { _ in value } }
    return isSource(name) ? ValueRoutine { .object($0.object) } : nil
  }

  /// Whether `$index` is the place of the object, and no variable of a SUBQUERY or of the policy.
  private var isIndex: Bool {
    evaluator.role == .value && variables["index"] == nil && evaluator.bindings["index"] == nil
  }

  /// Whether a variable is the object by `bindsSource`.
  private func isSource(_ name: String) -> Bool {
    evaluator.bindsSource && name == "source" && variables[name] == nil && evaluator.bindings[name] == nil
  }

  /// Whether it is the object that the expression is evaluated with, written in any way.
  private func isObject(_ expression: ValueExpression?) -> Bool {
    guard let expression else { return true }
    // Reaching the limit of depth is an error.
    guard canNest else { return false }
    switch expression.node {
    case .evaluatedObject: return true
    case .variable(let name): return isSource(name)
    default: return false
    }
  }

  // MARK: Key paths

  private func keyPath(_ base: ValueExpression?, _ segments: [String], _ range: Range<Int>) -> ValueRoutine {
    if case .variable(let name)? = base?.node, variable(name) == nil,
      let known = evaluator.mapping.constant(name, segments)
    {
      return ValueRoutine { _ in .value(known) }
    }
    let steps = KeyPathStep.steps(segments[...])
    if isObject(base), let first = steps.first, case .property = first.kind {
      let name = first.name
      if steps.count == 1 { return ValueRoutine { try $0.object.value(name) } }
      let rest = Array(steps.dropFirst())
      return ValueRoutine { try KeyPathStep.follow(rest, from: try $0.object.value(name), range) }
    }
    let start = base.map { value(of: $0) } ?? ValueRoutine { .object($0.object) }
    return ValueRoutine { try KeyPathStep.follow(steps, from: try start.run(&$0), range) }
  }
}

extension EvaluatedValue {
  /// The one value; nil for a missing object and for a value that is not a number.
  func single(_ range: Range<Int>) throws(ExpressionError) -> AttributeValue {
    switch self {
    case .value(let value): return value.known
    case .object(nil): return .null
    default: throw ExpressionError("expected one value, found \(phrase)", range: range)
    }
  }

  var phrase: String {
    switch self {
    case .value(.null), .object(nil): "nil"
    case .value(let value): value.attributeType.map { ExpressionType.value($0).phrase } ?? "a value"
    case .object(let object?): "an object of '\(object.entityName)'"
    case .objects: "a collection of objects"
    case .values: "a collection of values"
    }
  }
}

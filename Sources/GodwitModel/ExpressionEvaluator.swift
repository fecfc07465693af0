import Foundation

/// Evaluates expressions and predicates on objects in memory.
///
/// Meant for expressions that `ExpressionChecker` has passed: what does not fit then throws an
/// `ExpressionError`, and nothing traps. The `Expressions` page has the rules.
public struct ExpressionEvaluator {
  static let maximumDepth = 500

  let bindings: [String: EvaluatedValue]
  let now: Double
  let role: ExpressionRole
  let mapping: MappingBindings
  let host: (any ExpressionHost)?
  /// Whether `$source` is the object, whatever the bindings are.
  let bindsSource: Bool

  /// What tells the random numbers of one property from those of another.
  var salt: String { mapping.propertyName ?? "" }

  /// - Parameters:
  ///   - bindings: what the variables stand for, by name without the `$`.
  ///   - now: the value of `now()`, in seconds since 2001.
  ///   - mapping: what `$entityMapping` and `$propertyMapping` stand for.
  ///   - host: who answers `FUNCTION` and `FETCH`; without one both are errors.
  ///   - bindsSource: whether `$source` stands for the object itself.
  public init(
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

  /// The value of an expression, with `object` as SELF.
  ///
  /// - Throws: `ExpressionError`, and what the objects throw.
  public func evaluate(_ expression: Expression, with object: any EvaluatedObject) throws -> EvaluatedValue {
    try value(of: expression, Scope(object: object, variables: bindings))
  }

  /// Whether the object fulfils the predicate; nil is *unknown*, in the filter role only.
  ///
  /// - Throws: `ExpressionError`, and what the objects throw.
  public func matches(_ predicate: Predicate, with object: any EvaluatedObject) throws -> Bool? {
    try test(predicate, Scope(object: object, variables: bindings))
  }

  /// What names mean at a place in the tree.
  struct Scope {
    var object: any EvaluatedObject
    var variables: [String: EvaluatedValue]
    var depth = 0

    func inner(_ range: Range<Int>) throws(ExpressionError) -> Scope {
      guard depth < ExpressionEvaluator.maximumDepth else {
        throw ExpressionError("the expression is nested too deeply", range: range)
      }
      var scope = self
      scope.depth += 1
      return scope
    }
  }

  /// What a variable stands for; nil when it has no value here.
  func binding(_ name: String, _ scope: Scope) -> EvaluatedValue? {
    scope.variables[name] ?? (bindsSource && name == "source" ? .object(scope.object) : nil)
  }

  // MARK: Values

  func value(of expression: Expression, _ outer: Scope) throws -> EvaluatedValue {
    let scope = try outer.inner(expression.range)
    switch expression.node {
    case .constant(let value): return .value(value)
    case .evaluatedObject: return .object(scope.object)
    case .variable(let name):
      guard let value = binding(name, scope) else {
        throw ExpressionError("variable '$\(name)' has no value here", range: expression.range)
      }
      return value
    case .keyPath(let base, let segments):
      if case .variable(let name)? = base?.node, binding(name, scope) == nil,
        let known = mapping.constant(name, segments)
      {
        return .value(known)
      }
      let start = try base.map { try value(of: $0, scope) } ?? .object(scope.object)
      return try follow(segments[...], from: start, expression.range)
    case .arithmetic(let op, let left, let right):
      return .value(
        try calculate(op, try single(left, scope), try single(right, scope), expression.range))
    case .negation(let operand):
      return .value(try negative(try single(operand, scope), expression.range))
    case .aggregate(let elements):
      return try collection(of: try elements.map { try value(of: $0, scope) }, expression.range)
    case .function(let name, let arguments):
      if let value = try random(name, arguments, scope, expression.range) { return value }
      return .value(try call(name, try arguments.map { try value(of: $0, scope) }, expression.range))
    case .call(let receiver, let selector, let arguments):
      return try answer(receiver, selector, arguments, scope, expression.range)
    case .ternary(let condition, let then, let otherwise):
      return try value(of: try test(condition, scope) == true ? then : otherwise, scope)
    case .subquery(let collection, let variable, let predicate):
      return try subquery(try value(of: collection, scope), variable, predicate, scope, collection.range)
    case .cast(let operand, let type):
      return .value(try cast(try single(operand, scope), to: type, expression.range))
    case .element(let collection, let position):
      return try element(of: try value(of: collection, scope), at: position, scope, expression.range)
    case .set(let op, let left, let right):
      return try combine(op, try value(of: left, scope), try value(of: right, scope), expression.range)
    case .fetch(let request, _, let countOnly):
      return try fetch(request, countOnly: countOnly, expression.range)
    }
  }

  /// The expression's one value.
  func single(_ expression: Expression, _ scope: Scope) throws -> AttributeValue {
    try single(try value(of: expression, scope), expression.range)
  }

  func single(_ value: EvaluatedValue, _ range: Range<Int>) throws(ExpressionError) -> AttributeValue {
    if value.isNull { return .null }
    guard case .value(let result) = value else {
      throw ExpressionError("expected one value, found \(value.phrase)", range: range)
    }
    return result
  }

  private func collection(of items: [EvaluatedValue], _ range: Range<Int>) throws -> EvaluatedValue {
    var objects: [any EvaluatedObject] = []
    var values: [AttributeValue] = []
    for item in items {
      switch item {
      case .object(let object?): objects.append(object)
      default: values.append(try single(item, range))
      }
    }
    if objects.isEmpty { return .values(values) }
    guard values.allSatisfy(\.isNull) else {
      throw ExpressionError("a list holds either objects or values", range: range)
    }
    return .objects(objects, ordered: true)
  }

  private func subquery(
    _ collection: EvaluatedValue, _ variable: String, _ predicate: Predicate, _ scope: Scope, _ range: Range<Int>
  ) throws -> EvaluatedValue {
    if collection.isNull || collection.elements?.isEmpty == true { return .objects([], ordered: false) }
    guard case .objects(let objects, let ordered) = collection else {
      throw ExpressionError("expected a collection of objects, found \(collection.phrase)", range: range)
    }
    var inner = scope
    return .objects(
      try objects.filter { object in
        inner.variables[variable] = .object(object)
        return try test(predicate, inner) == true
      }, ordered: ordered)
  }

  // MARK: Key paths

  func follow(
    _ segments: ArraySlice<String>, from start: EvaluatedValue, _ range: Range<Int>
  ) throws -> EvaluatedValue {
    var current = start
    var rest = segments
    while let segment = rest.popFirst() {
      if current.isNull { return .null }
      if segment.hasPrefix("@") {
        let argument = rest.prefix { !$0.hasPrefix("@") }
        rest = rest.dropFirst(argument.count)
        current = try collect(segment, argument, over: current, range)
        continue
      }
      switch current {
      case .object(let object?): current = try object.value(segment)
      case .objects(let objects, let ordered): current = try gather(segment, of: objects, ordered: ordered, range)
      // What no object was asked for has no kind; nothing is read from it either.
      case .values(let values) where values.isEmpty: continue
      default:
        throw ExpressionError("'\(segment)' is read from \(current.phrase)", range: range)
      }
    }
    return current
  }

  /// A property of each object: values with their nils, or objects without.
  private func gather(
    _ segment: String, of objects: [any EvaluatedObject], ordered: Bool, _ range: Range<Int>
  ) throws -> EvaluatedValue {
    var values: [AttributeValue] = []
    var found: [any EvaluatedObject] = []
    var isObjects = false
    for object in objects {
      switch try object.value(segment) {
      case .value(let value): values.append(value)
      case .values(let more): values += more
      case .object(let other):
        isObjects = true
        if let other { found.append(other) }
      case .objects(let others, _):
        isObjects = true
        found += others
      }
    }
    return isObjects ? .objects(found, ordered: ordered) : .values(values)
  }

  private func collect(
    _ name: String, _ argument: ArraySlice<String>, over collection: EvaluatedValue, _ range: Range<Int>
  ) throws -> EvaluatedValue {
    guard collection.elements != nil else {
      throw ExpressionError("'\(name)' needs a collection, found \(collection.phrase)", range: range)
    }
    let selected = try follow(argument, from: collection, range)
    switch name {
    case "@count": return .value(.integer(Int64(selected.elements?.count ?? 0)))
    case "@unionOfObjects", "@unionOfArrays", "@unionOfSets": return selected
    case "@distinctUnionOfObjects", "@distinctUnionOfArrays", "@distinctUnionOfSets": return selected.distinct
    default:
      guard let kind = Statistic.Kind(named: name) else {
        throw ExpressionError("unknown collection operator '\(name)'", range: range)
      }
      return .value(try statistic(kind, try known(selected, range), range))
    }
  }

  /// The values that are not nil, of a collection or of one value.
  func known(_ value: EvaluatedValue, _ range: Range<Int>) throws -> [AttributeValue] {
    try (value.elements ?? [value]).map { try single($0, range) }.filter { !$0.isNull }
  }
}

extension EvaluatedValue {
  var phrase: String {
    switch self {
    case .value(.null), .object(nil): "nil"
    case .value(let value): value.attributeType.map { ExpressionType.value($0).phrase } ?? "a value"
    case .object(let object?): "an object of '\(object.entityName)'"
    case .objects: "a collection of objects"
    case .values: "a collection of values"
    }
  }

  /// The collection with each member once, at its first place, without nils.
  var distinct: EvaluatedValue {
    switch self {
    case .value, .object: return self
    case .values(let values):
      var seen: Set<AttributeValue> = []
      return .values(values.filter { !$0.isNull && seen.insert($0).inserted })
    case .objects(let objects, let ordered):
      var seen: [Int64: [any EvaluatedObject]] = [:]
      let kept = objects.filter { object in
        if seen[object.key, default: []].contains(where: { $0.isSame(as: object) }) { return false }
        seen[object.key, default: []].append(object)
        return true
      }
      return .objects(kept, ordered: ordered)
    }
  }
}

import GodwitModel

/// A predicate or expression that is not understood.
struct UnknownExpression: Error {
  var text: String
}

extension ArchiveReader {
  /// Deeper than anyone writes; it ends an expression that contains itself.
  private static var depthMaximum: Int { 64 }
  private static var expressionsMaximum: Int { 100_000 }

  private mutating func count(_ depth: Int) throws {
    guard depth < Self.depthMaximum else { throw UnknownExpression(text: "nesting over \(Self.depthMaximum) levels") }
    expressionCount += 1
    guard expressionCount <= Self.expressionsMaximum else {
      throw problem("expected at most \(Self.expressionsMaximum) expressions, found more")
    }
  }

  // MARK: Predicates

  /// - Throws: `UnknownExpression` for a class or value that is not known.
  mutating func predicate(_ object: KeyedArchive.Object, depth: Int = 0) throws -> FilterPredicate {
    try count(depth)
    switch object.className {
    case "NSTruePredicate": return FilterPredicate(.constant(true))
    case "NSFalsePredicate": return FilterPredicate(.constant(false))
    case "NSCompoundPredicate":
      let parts = try objects("NSSubpredicates", of: object).map { try predicate($0, depth: depth + 1) }
      switch try integer("NSCompoundPredicateType", of: object) {
      case 0:
        guard let part = parts.first, parts.count == 1 else { break }
        return FilterPredicate(.not(part))
      case 1: return FilterPredicate(.and(parts))
      case 2: return FilterPredicate(.or(parts))
      default: break
      }
      throw Self.unknown("value of key 'NSCompoundPredicateType'", object)
    case "NSComparisonPredicate": return FilterPredicate(.comparison(try comparison(object, depth: depth)))
    default: throw UnknownExpression(text: "unknown class '\(object.className)'")
    }
  }

  private mutating func comparison(_ object: KeyedArchive.Object, depth: Int) throws -> FilterPredicate.Comparison {
    guard let left = try self.object("NSLeftExpression", of: object),
      let right = try self.object("NSRightExpression", of: object),
      let kind = try self.object("NSPredicateOperator", of: object)
    else { throw Self.unknown("operand", object) }
    let operators: [Int: FilterPredicate.Comparison.Operator] = [
      0: .less, 1: .lessOrEqual, 2: .greater, 3: .greaterOrEqual, 4: .equal, 5: .notEqual, 6: .matches, 7: .like,
      8: .beginsWith, 9: .endsWith, 10: .in, 99: .contains, 100: .between,
    ]
    let modifiers: [Int: FilterPredicate.Comparison.Modifier] = [0: .direct, 1: .all, 2: .any]
    guard kind.className.hasSuffix("PredicateOperator"),
      let type = try integer("NSOperatorType", of: kind).flatMap({ operators[$0] }),
      let modifier = modifiers[try integer("NSModifier", of: kind) ?? 0]
    else { throw Self.unknown("operator", kind) }
    // Operators on strings keep their options under the second key.
    let options = try (integer("NSOptions", of: kind) ?? 0) | (integer("NSFlags", of: kind) ?? 0)
    guard (0...15).contains(options) else { throw Self.unknown("options", kind) }
    return FilterPredicate.Comparison(
      try expression(left, depth: depth + 1), type, try expression(right, depth: depth + 1), modifier: modifier,
      options: .init(rawValue: options))
  }

  // MARK: Expressions

  /// - Throws: `UnknownExpression` for a class or value that is not known.
  mutating func expression(_ object: KeyedArchive.Object, depth: Int = 0) throws -> ValueExpression {
    try count(depth)
    switch object.className {
    case "NSSelfExpression": return ValueExpression(.evaluatedObject)
    case "NSVariableExpression": return ValueExpression(.variable(try required("NSVariable", of: object)))
    case "NSConstantValueExpression":
      if let name = try text("NSConstantValueClassName", of: object), ArchivedExpression.isName(name) {
        return ValueExpression(.cast(ValueExpression(.constant(AttributeValue(name))), type: "Class"))
      }
      return ValueExpression(.constant(try constant(object)))
    case "NSKeyPathExpression": return try keyPath(object, depth: depth)
    case "NSAggregateExpression":
      return ValueExpression(
        .aggregate(try objects("NSCollection", of: object).map { try expression($0, depth: depth + 1) }))
    case "NSFunctionExpression": return try function(object, depth: depth)
    default: throw UnknownExpression(text: "unknown class '\(object.className)'")
    }
  }

  private mutating func constant(_ object: KeyedArchive.Object) throws -> AttributeValue {
    guard try text("NSConstantValueClassName", of: object) == nil else { throw Self.unknown("constant", object) }
    let value = try archive.value("NSConstantValue", of: object)
    if let text = try archive.text(value) { return AttributeValue(text) }
    switch value {
    case .null: return .null
    case .plain(.boolean(let flag)): return .boolean(flag)
    case .plain(.integer(let number)): return .integer(number)
    case .plain(.real(let number)) where number.isFinite: return .double(number)
    default: break
    }
    if let number = try archive.number(value) { return .decimal(number.decimal) }
    for type in [AttributeType.date, .uuid, .uri, .binary] {
      if let found = try archive.attributeValue(value, type: type) { return found }
    }
    throw Self.unknown("constant", object)
  }

  private mutating func keyPath(_ object: KeyedArchive.Object, depth: Int) throws -> ValueExpression {
    guard let operand = try self.object("NSOperand", of: object),
      let specifier = try objects("NSArguments", of: object).first,
      specifier.className == "NSKeyPathSpecifierExpression"
    else { throw Self.unknown("operand", object) }
    let path = try required("NSKeyPath", of: specifier)
    let base = try expression(operand, depth: depth + 1)
    let segments = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard !segments.contains(where: \.isEmpty) else { throw Self.unknown("key path", object) }
    return ValueExpression(.keyPath(base: base.node == .evaluatedObject ? nil : base, segments: segments))
  }

  private mutating func function(_ object: KeyedArchive.Object, depth: Int) throws -> ValueExpression {
    let selector = try required("NSSelectorName", of: object)
    let arguments = try objects("NSArguments", of: object).map { try expression($0, depth: depth + 1) }
    guard let operand = try self.object("NSOperand", of: object) else { throw Self.unknown("operand", object) }
    guard operand.className == "NSConstantValueExpression",
      try text("NSConstantValueClassName", of: operand) == "_NSPredicateUtilities"
    else {
      return ValueExpression(
        .call(operand: try expression(operand, depth: depth + 1), selector: selector, arguments: arguments))
    }
    if let op = ValueExpression.ArithmeticOperator(function: selector), arguments.count == 2 {
      return ValueExpression(.arithmetic(op, arguments[0], arguments[1]))
    }
    if selector == "castObject:toType:", arguments.count == 2, case .constant(.string(let type)) = arguments[1].node {
      return ValueExpression(.cast(arguments[0], type: type.string))
    }
    return ValueExpression(.function(name: selector, arguments: arguments))
  }

  private static func unknown(_ what: String, _ object: KeyedArchive.Object) -> UnknownExpression {
    UnknownExpression(text: "unknown \(what) of class '\(object.className)'")
  }
}

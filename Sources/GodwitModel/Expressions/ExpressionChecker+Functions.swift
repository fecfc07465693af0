extension ExpressionChecker {
  // MARK: Arithmetic

  /// Whether it is a number; false for nil.
  func isNumber(_ type: ExpressionType, _ operand: ValueExpression) throws(ExpressionError) -> Bool {
    switch type {
    case .null: return false
    case .value(let type) where type.expressionClass == .number || type.expressionClass == .any: return true
    default:
      let hint = type.isCollection ? " (reduce it with an operator such as @sum or @max)" : ""
      throw ExpressionError("expected a number, found \(type.phrase)\(hint)", range: operand.range)
    }
  }

  func wider(_ a: ExpressionType, _ b: ExpressionType) -> ExpressionType {
    guard case .value(let x) = a, case .value(let y) = b else { return .null }
    if x.isWhole && y.isWhole { return .value(.integer64) }
    return .value([x, y].allSatisfy { $0.isWhole || $0 == .decimal } ? .decimal : .double)
  }

  func arithmetic(
    _ op: ValueExpression.ArithmeticOperator, _ left: ValueExpression, _ a: ExpressionType, _ right: ValueExpression,
    _ b: ExpressionType, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    switch (a, op, b) {
    case (.value(.date), .subtract, .value(.date)): return .value(.double)
    case (.value(.date), .add, _), (.value(.date), .subtract, _):
      return try isNumber(b, right) ? .value(.date) : .null
    case (_, .add, .value(.date)): return try isNumber(a, left) ? .value(.date) : .null
    default:
      let (isLeft, isRight) = (try isNumber(a, left), try isNumber(b, right))
      guard isLeft, isRight else { return .null }
      return op == .power ? .value(.double) : wider(a, b)
    }
  }

  /// The type of both branches of a TERNARY, or of the members of a list.
  func common(
    _ a: ExpressionType, _ b: ExpressionType, _ range: Range<Int>, in whole: String = "the branches of TERNARY"
  ) throws(ExpressionError) -> ExpressionType {
    switch (a, b) {
    case (.null, _): return b
    case (_, .null): return a
    case _ where a == b: return a
    case (.value(let x), .value(let y)):
      if x == .undefined || y == .undefined { return .value(.undefined) }
      if x.expressionClass == .number, y.expressionClass == .number { return wider(a, b) }
      if x.expressionClass == y.expressionClass { return .value(.string) }
    case (.object(let x), .object(let y)):
      if let shared = ancestor(x, y) { return .object(entity: shared) }
    case (.objects(let x, let xOrdered), .objects(let y, let yOrdered)):
      if let shared = ancestor(x, y) { return .objects(entity: shared, ordered: xOrdered && yOrdered) }
    default: break
    }
    throw ExpressionError("\(whole) differ: \(a.phrase) and \(b.phrase)", range: range)
  }

  /// The nearest entity that both are.
  func ancestor(_ a: String, _ b: String) -> String? {
    model.lineage(of: a).first { model.isKind(b, of: $0.name) }?.name
  }

  // MARK: Functions

  func function(
    _ name: String, _ arguments: [ValueExpression], _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    guard let function = ExpressionFunction.named(name) else {
      let hint = ExpressionHints.function(name, among: ExpressionFunction.all.map(\.name))
      throw ExpressionError("unknown function '\(name)'\(hint)", range: range)
    }
    if let complaint = function.complaint(about: arguments.count) {
      throw ExpressionError(complaint, range: range)
    }
    var types: [ExpressionType] = []
    for argument in arguments { types.append(try type(of: argument, scope)) }
    return try result(of: function, arguments, types, range, scope)
  }

  private func result(
    of function: ExpressionFunction, _ arguments: [ValueExpression], _ types: [ExpressionType], _ range: Range<Int>,
    _ scope: Scope
  ) throws(ExpressionError) -> ExpressionType {
    let name = function.name
    switch function.result {
    case .always(let type): return .value(type)
    case .argument: return types.first ?? .null
    case .refused(let reason): throw ExpressionError("'\(name)' \(reason)", range: range)
    case .element:
      guard arguments.count == 2 else { return .null }
      return try element(of: arguments[0], at: .index(arguments[1]), scope)
    case .countOfCollection:
      if let first = types.first, first != .null, !first.isCollection {
        throw ExpressionError("'\(name)' needs a collection, found \(first.phrase)", range: range)
      }
      return .value(.integer64)
    case .statistic: return try statistics(name, arguments, types, scope)
    case .texts(let result):
      for (argument, type) in zip(arguments, types) {
        switch type {
        case .null: continue
        case .value(let type) where type.expressionClass == .string || type.expressionClass == .any: continue
        default: throw ExpressionError("'\(name)' needs a string, found \(type.phrase)", range: argument.range)
        }
      }
      return .value(result)
    case .taking(let parameters, let result): return try taking(name, parameters, result, arguments, types)
    case .common:
      var shared = ExpressionType.null
      for (argument, type) in zip(arguments, types) {
        shared = try common(
          shared, try oneValue(type, argument, name), argument.range, in: "the arguments of '\(name)'")
      }
      return shared
    case .identifier:
      for (argument, type) in zip(arguments, types) { _ = try oneValue(type, argument, name) }
      return .value(.uuid)
    case .joined: return try joined(name, arguments, types, scope)
    case .archive: return try archive(name, arguments, types, range)
    case .decoded: return try decoded(name, arguments, types, range)
    case .encoded: return try encoded(name, arguments, types, range)
    case .cast:
      guard let last = arguments.last, case .constant(.string(let type)) = last.node, let first = types.first else {
        throw ExpressionError("'\(name)' needs the name of a type in quotes", range: range)
      }
      return try cast(
        first, type.string, arguments.first?.range ?? range, arguments.first?.typed ?? "x", last.range)
    case .arithmetic(let op):
      guard types.count == 2 else { return .null }
      return try arithmetic(op, arguments[0], types[0], arguments[1], types[1], range)
    case .numbers, .widerNumber:
      for (argument, type) in zip(arguments, types) { _ = try isNumber(type, argument) }
      guard !types.contains(.null), let first = types.first, let last = types.last else { return .null }
      if case .numbers(let type) = function.result { return .value(type) }
      return wider(first, last)
    }
  }

  /// A statistic over collections and single values.
  private func statistics(
    _ name: String, _ arguments: [ValueExpression], _ types: [ExpressionType], _ scope: Scope
  ) throws(ExpressionError) -> ExpressionType {
    var result = ExpressionType.null
    for (argument, type) in zip(arguments, types) {
      switch type {
      case .null: continue
      case .value(let type), .values(let type):
        result = try common(result, try statistic(name, type, argument.range), argument.range)
      case .list:
        guard case .aggregate(let elements) = argument.node else { continue }
        var inner: [ExpressionType] = []
        for element in elements { inner.append(try self.type(of: element, scope)) }
        result = try common(
          result, try statistics(name, elements, inner, try scope.inner(argument.range)), argument.range)
      default: throw ExpressionError("'\(name)' needs numbers, found \(type.phrase)", range: argument.range)
      }
    }
    if result == .null, name == "sum:" { return .value(.integer64) }
    return result
  }

  func cast(
    _ type: ExpressionType, _ name: String, _ operand: Range<Int>, _ text: String, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    guard let target = CastType.named(name) else {
      let single: AttributeType? = if case .value(let found) = type { found } else { nil }
      let way =
        switch name {
        case "NSUUID": "write 'uuid:(\(text))', or use a policy"
        case "NSURL": "write 'FUNCTION(CAST(\"NSURL\", \"Class\"), \"URLWithString:\", \(text))', or use a policy"
        default: ExpressionHints.cast(to: name, of: text, single)
        }
      throw ExpressionError(
        "cannot cast to '\(name)'" + Spelling.suggestion(for: name, among: CastType.names) + ": " + way, range: range)
    }
    switch type {
    case .null: return .null
    case .value(let source):
      switch (source.expressionClass, target) {
      case (.any, _), (.number, .double), (.number, .decimal), (.number, .string), (.number, .date), (.date, .double),
        (.date, .decimal), (.date, .date), (.string, .double),
        (.string, .decimal), (.string, .string), (.string, .binary), (.data, .binary), (.data, .string),
        (.transformable, .binary),
        (.uuid, .string), (.uuid, .binary):
        return .value(target)
      default:
        throw ExpressionError(
          "cannot cast \(type.phrase) to '\(name)': \(source.way(to: target, of: text))", range: operand)
      }
    default: throw ExpressionError("cannot cast \(type.phrase) to '\(name)'", range: operand)
    }
  }
}

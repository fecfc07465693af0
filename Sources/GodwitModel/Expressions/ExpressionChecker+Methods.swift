/// Methods that `FUNCTION` sends to values, lists and classes.
extension ExpressionChecker {
  func method(
    _ selector: String, of operand: ValueExpression, _ receiver: ExpressionType, _ arguments: [ValueExpression],
    _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    if receiver.isCollection {
      return try listMethod(selector, of: operand, receiver, arguments, scope, range)
    }
    if case .type(let name) = receiver { return try classMethod(selector, of: name, arguments, scope, range) }
    if receiver == .characterSet, selector == CharacterClass.inversion, arguments.isEmpty { return receiver }
    if arguments.isEmpty, let key = ValueKey(rawValue: selector) {
      if receiver == .null { return .null }
      if case .value(let type) = receiver, let result = key.result(on: type) { return .value(result) }
    }
    let candidates = ExpressionMethod.named(selector)
    let answering = candidates.filter { method in
      switch receiver {
      case .null, .value(.undefined): true
      case .value(let type): method.receiver.takes(type)
      default: false
      }
    }
    if receiver == .value(.undefined), arguments.isEmpty, !selector.hasSuffix(":"),
      ListMethod(rawValue: selector) == nil,
      ValueKey(rawValue: selector) != nil
    {
      return receiver
    }
    guard let method = answering.first else { throw unknown(selector, receiver, range) }
    try check(arguments, of: method, scope, range)
    if receiver == .null { return .null }
    return answering.allSatisfy { $0.result.type == method.result.type } ? method.result.type : .value(.undefined)
  }

  private func check(
    _ arguments: [ValueExpression], of method: ExpressionMethod, _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) {
    try checkCount(method.selector, arguments, range)
    for (argument, parameter) in zip(arguments, method.parameters) {
      let found = try type(of: argument, scope)
      guard parameter.takes(found) else {
        throw ExpressionError(
          "'\(method.selector)' needs \(parameter.phrase), found \(found.phrase)", range: argument.range)
      }
    }
  }

  /// The error for a selector that a receiver does not answer.
  private func unknown(_ selector: String, _ receiver: ExpressionType, _ range: Range<Int>) -> ExpressionError {
    if case .value = receiver, let way = ExpressionHints.way(of: selector) {
      return ExpressionError("\(receiver.phrase) does not answer '\(selector)': write '\(way)'", range: range)
    }
    let known = selectors(of: receiver)
    var hint = Spelling.suggestion(for: selector, among: known)
    if hint.isEmpty, !known.isEmpty { hint = " (it answers \(known.joined(separator: ", ")))" }
    return ExpressionError(
      "\(receiver.phrase) does not answer '\(selector)'\(hint): for other methods, register a policy", range: range)
  }

  private func selectors(of receiver: ExpressionType) -> [String] {
    switch receiver {
    case .values, .list, .objects: return ListMethod.allCases.map(\.rawValue)
    case .type(CharacterClass.className): return CharacterClass.selectors
    case .type(DecimalRounding.className): return [DecimalRounding.making]
    case .type(let name): return ["alloc"] + ExpressionMethod.all.filter { $0.receiver == .type(name) }.map(\.selector)
    case .characterSet: return [CharacterClass.inversion]
    case .value(.undefined), .null:
      return Set(ValueKey.allCases.map(\.rawValue) + ExpressionMethod.all.map(\.selector)).sorted()
    case .value(let type):
      let methods = ExpressionMethod.all.filter { $0.receiver.takes(type) }.map(\.selector)
      return ValueKey.all(on: type).map(\.rawValue) + methods
    default: return []
    }
  }

  // MARK: Classes

  /// The type of `CAST("NSUUID", "Class")`.
  func classType(_ name: String, _ range: Range<Int>) throws(ExpressionError) -> ExpressionType {
    let known = ExpressionMethod.classNames
    guard known.contains(name) else {
      throw ExpressionError(
        "no class '\(name)'\(Spelling.suggestion(for: name, among: known)): expressions know "
          + "\(known.joined(separator: ", ")), a policy does the rest", range: range)
    }
    return .type(name)
  }

  private func classMethod(
    _ selector: String, of name: String, _ arguments: [ValueExpression], _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    if selector == "alloc", arguments.isEmpty { return .type(name) }
    let call = ValueExpression(
      .call(
        operand: ValueExpression(.cast(ValueExpression(.constant(AttributeValue(name))), type: "Class")),
        selector: selector, arguments: arguments))
    if name == CharacterClass.className, CharacterClass.selectors.contains(selector) {
      try checkCount(selector, arguments, range)
      guard CharacterClass(call) != nil else {
        throw ExpressionError("'\(selector)' needs its characters in quotes", range: arguments.first?.range ?? range)
      }
      return .characterSet
    }
    if name == DecimalRounding.className, selector == DecimalRounding.making {
      try checkCount(selector, arguments, range)
      guard DecimalRounding(call) != nil else {
        throw ExpressionError(
          "'\(selector)' needs a mode from 0 to 3, a scale from -127 to 127 and YES or NO for each flag", range: range)
      }
      return .rounding
    }
    guard let method = ExpressionMethod.named(selector).first(where: { $0.receiver == .type(name) }) else {
      throw unknown(selector, .type(name), range)
    }
    try check(arguments, of: method, scope, range)
    return method.result.type
  }

  // MARK: Lists

  private func listMethod(
    _ selector: String, of operand: ValueExpression, _ receiver: ExpressionType, _ arguments: [ValueExpression],
    _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    guard let method = ListMethod(rawValue: selector) else { throw unknown(selector, receiver, range) }
    try checkCount(selector, arguments, range)
    switch method {
    case .count: return .value(.integer64)
    case .firstObject: return try element(of: operand, at: .first, scope)
    case .lastObject: return try element(of: operand, at: .last, scope)
    case .objectAtIndex: return try element(of: operand, at: .index(arguments[0]), scope)
    case .componentsJoinedByString:
      let separator = try type(of: arguments[0], scope)
      guard ExpressionMethod.Parameter.string.takes(separator) else {
        throw ExpressionError("'\(selector)' needs a string, found \(separator.phrase)", range: arguments[0].range)
      }
      guard try isOrdered(operand, receiver, scope) else {
        throw ExpressionError("\(receiver.phrase) has no order in which it could be joined", range: operand.range)
      }
      try joinable(operand, receiver, scope)
      return .value(.string)
    }
  }

  /// Complains when the members of a collection cannot be joined to a text.
  func joinable(
    _ collection: ValueExpression, _ type: ExpressionType, _ scope: Scope
  ) throws(ExpressionError) {
    switch type {
    case .list:
      guard case .aggregate(let items) = collection.node else { return }
      for item in items {
        let found = try self.type(of: item, scope)
        switch found {
        case .null: continue
        case .value(let type): try joinable(type, item)
        default: throw ExpressionError("only values can be joined, found \(found.phrase)", range: item.range)
        }
      }
    case .values(let type): try joinable(type, collection)
    default:
      throw ExpressionError(
        "only values can be joined, found \(type.phrase): name an attribute of the objects", range: collection.range)
    }
  }

  private func joinable(_ type: AttributeType, _ item: ValueExpression) throws(ExpressionError) {
    switch type.expressionClass {
    case .string, .number, .uuid, .any: return
    default:
      throw ExpressionError(
        "only strings, numbers, UUIDs and URIs can be joined, found \(ExpressionType.value(type).phrase)",
        range: item.range)
    }
  }
}

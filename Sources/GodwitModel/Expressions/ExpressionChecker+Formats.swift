/// Functions of dates as texts, of UUIDs and of lists.
extension ExpressionChecker {
  /// A function whose arguments are of given kinds; nil is one of each.
  func taking(
    _ name: String, _ parameters: [ExpressionMethod.Parameter], _ result: AttributeType,
    _ arguments: [ValueExpression], _ types: [ExpressionType]
  ) throws(ExpressionError) -> ExpressionType {
    for (place, parameter) in parameters.enumerated() where place < types.count && types[place] != .null {
      guard parameter.takes(types[place]) else {
        throw ExpressionError(
          "'\(name)' needs \(parameter.phrase), found \(types[place].phrase)", range: arguments[place].range)
      }
    }
    let labels = name.split(separator: ":")
    guard let format = labels.firstIndex(of: "format"), format < arguments.count else { return .value(result) }
    let zone = labels.firstIndex(of: "timeZone").flatMap { $0 < arguments.count ? arguments[$0] : nil }
    // A computed format is checked when it is evaluated.
    let pattern = arguments[format].writtenText
    if let fault = DateFormat.complaint(
      pattern: pattern ?? DateFormat.iso8601, zone: zone.flatMap(\.writtenText) ?? "UTC")
    {
      let place = fault.isZone ? zone : arguments[format]
      throw ExpressionError("'\(name)': \(fault.message)", range: place?.range ?? arguments[format].range)
    }
    return .value(result)
  }

  /// Complains about a collection or an object.
  func oneValue(
    _ type: ExpressionType, _ argument: ValueExpression, _ name: String
  ) throws(ExpressionError) -> ExpressionType {
    switch type {
    case .null, .value: return type
    default: throw ExpressionError("'\(name)' takes single values, found \(type.phrase)", range: argument.range)
    }
  }

  func joined(
    _ name: String, _ arguments: [ValueExpression], _ types: [ExpressionType], _ scope: Scope
  ) throws(ExpressionError) -> ExpressionType {
    guard types.count == 2 else { return .null }
    if types[1] != .null, !ExpressionMethod.Parameter.string.takes(types[1]) {
      throw ExpressionError("'\(name)' needs a string, found \(types[1].phrase)", range: arguments[1].range)
    }
    if types[0] == .null { return .null }
    guard types[0].isCollection else {
      throw ExpressionError(
        "'\(name)' needs a list such as {$source.a, $source.b}, found \(types[0].phrase)", range: arguments[0].range)
    }
    try joinable(arguments[0], types[0], scope)
    return .value(.string)
  }

  // MARK: Texts that a writer would add

  /// The error for `+` between texts, with the expression that works; the error itself for any other sum.
  func concatenation(_ sum: ValueExpression, _ scope: Scope, _ error: ExpressionError) -> ExpressionError {
    let parts = sum.summands
    var texts = 0
    for part in parts {
      switch try? type(of: part, scope) {
      case .null: continue
      case .value(let type) where [.string, .number, .uuid].contains(type.expressionClass):
        // One attribute that is a text may be meant as a number.
        if type.expressionClass == .string { texts += part.writtenText == nil ? 1 : 2 }
      default: return error
      }
    }
    guard texts > 1 else { return error }
    // Texts with one separator between each two are a list of their own.
    let between = parts.indices.filter { $0 % 2 == 1 }.map { parts[$0].writtenText }
    var (members, separator) = (parts, Text(utf8: []))
    if parts.count % 2 == 1, let first = between.first, let first, between.allSatisfy({ $0 == first }) {
      (members, separator) = (parts.indices.filter { $0 % 2 == 0 }.map { parts[$0] }, first)
    }
    let call = ValueExpression(
      .function(
        name: "join:with:",
        arguments: [ValueExpression(.aggregate(members)), ValueExpression(.constant(.string(separator)))]))
    return ExpressionError("'+' adds numbers, and these are texts: write '\(call)'", range: sum.range)
  }
}

extension ValueExpression {
  /// The text of a constant.
  fileprivate var writtenText: Text? { if case .constant(.string(let text)) = node { text } else { nil } }

  /// The parts of a chain of `+`, in reading order.
  fileprivate var summands: [ValueExpression] {
    if case .arithmetic(.add, let left, let right) = node { left.summands + right.summands } else { [self] }
  }
}

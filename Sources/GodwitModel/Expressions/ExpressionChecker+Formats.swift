import Foundation

/// Functions of dates as texts, of UUIDs and of lists.
extension ExpressionChecker {
  /// A function whose arguments are of given kinds; nil is one of each.
  func taking(
    _ name: String, _ parameters: [ExpressionMethod.Parameter], _ result: AttributeType,
    _ arguments: [ValueExpression], _ types: [ExpressionType]
  ) throws(ExpressionError) -> ExpressionType {
    for (place, parameter) in parameters.enumerated() where place < types.count && types[place] != .null {
      guard parameter.takes(types[place]) else {
        let isSwapped = place == 0 && name.hasPrefix("text:") && types.count > 1 && types[1] == .value(.date)
        throw ExpressionError(
          "'\(name)' needs \(parameter.phrase), found \(types[place].phrase)"
            + (isSwapped ? ": the date comes first, then the pattern" : ""), range: arguments[place].range)
      }
    }
    try refuseSwapped(name, arguments)
    let labels = name.split(separator: ":")
    guard let format = labels.firstIndex(of: "format"), format < arguments.count else { return .value(result) }
    let zone = labels.firstIndex(of: "timeZone").flatMap { $0 < arguments.count ? arguments[$0] : nil }
    // A computed format is checked when it is evaluated.
    let pattern = arguments[format].writtenText
    if let fault = DateFormat.complaint(
      pattern: pattern ?? DateFormat.iso8601, zone: zone.flatMap(\.writtenText) ?? "UTC")
    {
      let place = fault.isZone ? zone : arguments[format]
      let isSwapped = fault.isZone && pattern.map { TimeZone(identifier: $0.string) != nil } == true
      throw ExpressionError(
        "'\(name)': \(fault.message)" + (isSwapped ? ": the pattern comes before the time zone" : ""),
        range: place?.range ?? arguments[format].range)
    }
    return .value(result)
  }

  /// Complains about a pattern that stands where the text goes.
  private func refuseSwapped(_ name: String, _ arguments: [ValueExpression]) throws(ExpressionError) {
    guard name.hasPrefix("date:format:"), arguments.count > 1, arguments[0].writtenText != nil,
      arguments[1].writtenText == nil
    else { return }
    var turned = arguments
    turned.swapAt(0, 1)
    let call = ValueExpression(.function(name: name, arguments: turned)).typed
    throw ExpressionError(
      "'\(name)' takes the text first, then the pattern: write '\(call)'", range: arguments[0].range)
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
    let number = sumOfNumbers(parts, scope)
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
    if let number {
      return ExpressionError(
        "'+' adds numbers: write '\(number)', or for a text '\(call.typed)'", range: sum.range)
    }
    return ExpressionError("'+' adds numbers, and these are texts: write '\(call.typed)'", range: sum.range)
  }

  /// A sum of numbers of which some were written between quotes; nil for any other sum.
  private func sumOfNumbers(_ parts: [ValueExpression], _ scope: Scope) -> String? {
    var isDecimal = false
    var written: [String] = []
    for part in parts {
      if let text = part.writtenText?.string {
        guard Double(text)?.isFinite == true, text.first?.isNumber == true || text.first == "-" else { return nil }
        written.append(text)
      } else if case .value(let type)? = try? type(of: part, scope), type.expressionClass == .number {
        isDecimal = isDecimal || type == .decimal
        written.append(part.operand)
      } else {
        return nil
      }
    }
    guard parts.contains(where: { $0.writtenText == nil }) else { return nil }
    if isDecimal, written.contains(where: { $0.contains(".") && Double($0) != nil }) {
      written = written.map { $0.contains(".") && Double($0) != nil ? "CAST(\"\($0)\", \"NSDecimalNumber\")" : $0 }
    }
    return written.joined(separator: " + ")
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

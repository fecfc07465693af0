import Foundation

extension ExpressionEvaluator {
  // MARK: Arithmetic

  func calculate(
    _ op: Expression.ArithmeticOperator, _ a: AttributeValue, _ b: AttributeValue, _ range: Range<Int>
  ) throws(ExpressionError) -> AttributeValue {
    if a.isNull || b.isNull { return .null }
    func date(_ seconds: Double) -> AttributeValue { seconds.isNaN ? .null : .date(seconds) }
    switch (a, op, b) {
    case (.date(let x), .subtract, .date(let y)): return Number.double(x - y).value
    case (.date(let x), .add, _): if let y = b.number { return date(x + y.double) }
    case (.date(let x), .subtract, _): if let y = b.number { return date(x - y.double) }
    case (_, .add, .date(let y)): if let x = a.number { return date(x.double + y) }
    default:
      if let x = a.number, let y = b.number { return Number.calculate(op, x, y)?.value ?? .null }
    }
    throw misfit(op.rawValue, [a, b], range)
  }

  func negative(_ a: AttributeValue, _ range: Range<Int>) throws(ExpressionError) -> AttributeValue {
    if a.isNull { return .null }
    guard let number = a.number else { throw misfit("-", [a], range) }
    return (-number).value
  }

  private func misfit(_ name: String, _ values: [AttributeValue], _ range: Range<Int>) -> ExpressionError {
    let found = values.map { EvaluatedValue.value($0).phrase }.joined(separator: " and ")
    return ExpressionError("cannot calculate '\(name)' with \(found)", range: range)
  }

  // MARK: Functions

  func statistic(
    _ kind: Statistic.Kind, _ values: [AttributeValue], _ range: Range<Int>
  ) throws(ExpressionError) -> AttributeValue {
    var statistic = Statistic(kind)
    do throws(ExpressionError) {
      for value in values { try statistic.add(value) }
    } catch { throw ExpressionError(error.message, range: range) }
    return statistic.result
  }

  /// A function of single values, by its name: what a lowered expression calls from SQL.
  ///
  /// - Throws: `ExpressionError` when the values do not fit the function.
  public static func call(_ name: String, _ arguments: [AttributeValue]) throws -> AttributeValue {
    let evaluator = ExpressionEvaluator(bindings: [:], now: 0, role: .value)
    return try evaluator.call(name, arguments.map { .value($0) }, 0..<0)
  }

  func call(_ name: String, _ arguments: [EvaluatedValue], _ range: Range<Int>) throws -> AttributeValue {
    if let function = BuiltInFunction.named(name), function.counts.contains(arguments.count) {
      if let result = try statistic(function.name, arguments, range) { return result }
      if function.name == "now" { return .date(now) }
      let values = try arguments.map { try single($0, range) }
      if values.contains(where: \.isNull) { return .null }
      if let first = values.first, let result = try apply(function.name, first, values.dropFirst().first, range) {
        return result
      }
      throw misfit(function.name, values, range)
    }
    throw ExpressionError("cannot call '\(name)' with \(arguments.count) argument(s)", range: range)
  }

  /// Functions of a collection, or of several values.
  private func statistic(
    _ name: String, _ arguments: [EvaluatedValue], _ range: Range<Int>
  ) throws -> AttributeValue? {
    switch name {
    case "count:":
      guard let argument = arguments.first, !argument.isNull else { return .null }
      guard let elements = argument.elements else {
        throw ExpressionError("'count:' needs a collection, found \(argument.phrase)", range: range)
      }
      return .integer(Int64(elements.count))
    default:
      guard let kind = Statistic.Kind(named: name) else { return nil }
      return try self.statistic(kind, try arguments.flatMap { try known($0, range) }, range)
    }
  }

  /// Functions of one or two values; nil when the values do not fit.
  private func apply(
    _ name: String, _ a: AttributeValue, _ b: AttributeValue?, _ range: Range<Int>
  ) throws -> AttributeValue? {
    switch name {
    case "uppercase:": return a.text.map { AttributeValue($0.string.uppercased()) }
    case "lowercase:": return a.text.map { AttributeValue($0.string.lowercased()) }
    case "length:": return a.text.map { .integer(Int64($0.string.utf16.count)) }
    case "canonical:": return a.text.map { .string(StringComparison.canonical($0)) }
    case "noindex:": return a
    case "castObject:toType:":
      guard let type = b?.text else { return nil }
      return try cast(a, to: type.string, range)
    default: break
    }
    guard let b else { return a.number.flatMap { Self.unary(name, $0) }?.value }
    let arithmetic: [String: Expression.ArithmeticOperator] = [
      "add:to:": .add, "from:subtract:": .subtract, "multiply:by:": .multiply, "divide:by:": .divide,
      "raise:toPower:": .power,
    ]
    if let op = arithmetic[name] { return try calculate(op, a, b, range) }
    guard let x = a.number, let y = b.number else { return nil }
    if name == "modulus:by:" { return Number.remainder(x, y)?.value ?? .null }
    guard let x = x.whole, let y = y.whole else { return nil }
    switch name {
    case "bitwiseAnd:with:": return .integer(x & y)
    case "bitwiseOr:with:": return .integer(x | y)
    case "bitwiseXor:with:": return .integer(x ^ y)
    // Swift's shifts take any amount: beyond the width all bits leave, below 0 the direction turns.
    case "leftshift:by:": return .integer(x << y)
    case "rightshift:by:": return .integer(x >> y)
    default: return nil
    }
  }

  private static func unary(_ name: String, _ number: Number) -> Number? {
    func whole(_ round: (Double) -> Double) -> Number {
      if case .double(let value) = number { .double(round(value)) } else { number }
    }
    switch name {
    case "sqrt:": return .double(number.double.squareRoot())
    case "log:": return .double(log10(number.double))
    case "ln:": return .double(log(number.double))
    case "exp:": return .double(exp(number.double))
    case "ceiling:": return whole { $0.rounded(.up) }
    case "floor:": return whole { $0.rounded(.down) }
    case "trunc:": return whole { $0.rounded(.towardZero) }
    case "abs:": return number.order(to: .integer(0)) == -1 ? -number : number
    case "onesComplement:": return number.whole.map { .integer(~$0) }
    default: return nil
    }
  }

  // MARK: Casts

  /// A number that a string does not spell is nil.
  func cast(
    _ value: AttributeValue, to type: String, _ range: Range<Int>
  ) throws(ExpressionError) -> AttributeValue {
    guard let target = BuiltInFunction.castType(type) else {
      throw ExpressionError("cannot cast to '\(type)'", range: range)
    }
    if value.isNull { return .null }
    switch (value, target) {
    case (.date, .date), (.string, .string): return value
    case (.date(let seconds), .double): return .double(seconds)
    case (.uri(let text), .string): return .string(text)
    case (_, .date): if let number = value.number { return .date(number.double) }
    case (.string(let text), .double):
      if let whole = Int64(text.string) { return .integer(whole) }
      guard let number = Double(text.string), number.isFinite else { return .null }
      return .double(number)
    case (_, .double): if let number = value.number { return number.value }
    case (_, .string):
      switch value.number {
      case .integer(let number)?: return AttributeValue(String(number))
      case .double(let number)?:
        return AttributeValue(Int64(exactly: number).map { String($0) } ?? String(number))
      case nil: break
      }
    default: break
    }
    throw ExpressionError("cannot cast \(EvaluatedValue.value(value).phrase) to '\(type)'", range: range)
  }
}

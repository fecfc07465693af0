import Foundation

/// Arithmetic and casts of single values; nil gives nil.
enum Calculation {
  static func result(
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

  static func negative(_ a: AttributeValue, _ range: Range<Int>) throws(ExpressionError) -> AttributeValue {
    if a.isNull { return .null }
    guard let number = a.number else { throw misfit("-", [a], range) }
    return (-number).value
  }

  static func misfit(_ name: String, _ values: [AttributeValue], _ range: Range<Int>) -> ExpressionError {
    let found = values.map { EvaluatedValue.value($0).phrase }.joined(separator: " and ")
    return ExpressionError("cannot calculate '\(name)' with \(found)", range: range)
  }

  /// A number that a string does not spell is nil.
  static func cast(
    _ value: AttributeValue, to type: String, _ range: Range<Int>
  ) throws(ExpressionError) -> AttributeValue {
    try cast(value, to: BuiltInFunction.castType(type), named: type, range)
  }

  /// - Parameter target: What `BuiltInFunction.castType` makes of the name.
  static func cast(
    _ value: AttributeValue, to target: AttributeType?, named type: String, _ range: Range<Int>
  ) throws(ExpressionError) -> AttributeValue {
    guard let target else { throw ExpressionError("cannot cast to '\(type)'", range: range) }
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

import Foundation

/// Arithmetic and casts of single values; nil gives nil.
enum Calculation {
  static func result(
    _ op: ValueExpression.ArithmeticOperator, _ a: AttributeValue, _ b: AttributeValue, _ range: Range<Int>
  ) throws(ExpressionError) -> AttributeValue {
    if a.isNull || b.isNull { return .null }
    func date(_ seconds: Double) -> AttributeValue { seconds.isNaN ? .null : .date(seconds) }
    switch (a, op, b) {
    case (.date(let x), .subtract, .date(let y)): return Number.double(x - y).value
    case (.date(let x), .add, _): if let y = b.number { return date(x + y.double) }
    case (.date(let x), .subtract, _): if let y = b.number { return date(x - y.double) }
    case (_, .add, .date(let y)): if let x = a.number { return date(x.double + y) }
    default:
      if let (x, y) = decimals(a, b), let result = decimal(op, x, y) { return AttributeValue(calculated: result) }
      if let x = a.number, let y = b.number { return Number.calculate(op, x, y)?.value ?? .null }
    }
    throw misfit(op.rawValue, [a, b], range)
  }

  /// Both sides as decimals, where one is a decimal and neither is floating point.
  static func decimals(_ a: AttributeValue, _ b: AttributeValue) -> (Decimal, Decimal)? {
    guard a.isDecimal || b.isDecimal, let x = a.exactDecimal, let y = b.exactDecimal else { return nil }
    return (x, y)
  }

  /// NaN for a division by zero and for a result that is too large; nil for a power, which is floating point.
  private static func decimal(_ op: ValueExpression.ArithmeticOperator, _ a: Decimal, _ b: Decimal) -> Decimal? {
    switch op {
    case .add: a.sum(b)
    case .subtract: a.sum(-b)
    case .multiply: a.product(b)
    case .divide: a.quotient(b)
    case .power: nil
    }
  }

  static func negative(_ a: AttributeValue, _ range: Range<Int>) throws(ExpressionError) -> AttributeValue {
    if a.isNull { return .null }
    if case .decimal(let number) = a { return AttributeValue(calculated: -number) }
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
    try cast(value, to: CastType.named(type), named: type, range)
  }

  /// - Parameter target: The result of `CastType.named` for the name.
  static func cast(
    _ value: AttributeValue, to target: AttributeType?, named type: String, _ range: Range<Int>
  ) throws(ExpressionError) -> AttributeValue {
    guard let target else { throw ExpressionError("cannot cast to '\(type)'", range: range) }
    if value.isNull { return .null }
    switch (value, target) {
    case (.date, .date), (.string, .string), (.data, .binary): return value
    case (.string(let text), .binary), (.uri(let text), .binary): return .data(text.utf8)
    case (.data(let bytes), .string):
      guard String(validating: bytes, as: UTF8.self) != nil else {
        throw ExpressionError("cannot cast data to '\(type)': it is not UTF-8", range: range)
      }
      return .string(Text(utf8: bytes))
    // A decimal is a number; its text has all its digits.
    case (.decimal, .double), (.decimal, .decimal): return value
    case (.decimal(let number), .string): return AttributeValue(number.description)
    case (.boolean, .decimal), (.integer, .decimal): return value.exactDecimal.map { .init(calculated: $0) } ?? .null
    case (.double(let number), .decimal), (.date(let number), .decimal):
      return Decimal(stored: number).map { .init(calculated: $0) } ?? .null
    case (.string(let text), .decimal):
      guard text.spelledNumber != nil, let number = Decimal(string: text.string) else { return .null }
      return .init(calculated: number)
    case (.date(let seconds), .double): return .double(seconds)
    case (.uri(let text), .string): return .string(text)
    case (.uuid(let uuid), .string): return .string(Text(uuid))
    case (.uuid(let uuid), .binary): return .data(withUnsafeBytes(of: uuid.uuid) { Array($0) })
    case (_, .date): if let number = value.number { return .date(number.double) }
    case (.string(let text), .double):
      if let whole = Int64(text.string) { return .integer(whole) }
      guard let number = text.spelledNumber, number.isFinite else { return .null }
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

extension Text {
  /// The number that it spells in decimal digits, which `Double` also reads in others.
  fileprivate var spelledNumber: Double? {
    let marks = Array("+-.eE".utf8)
    guard utf8.allSatisfy({ (0x30...0x39).contains($0) || marks.contains($0) }) else { return nil }
    return Double(string)
  }
}

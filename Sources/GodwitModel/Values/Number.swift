import Foundation

/// A number in a calculation: SQLite's INTEGER or REAL.
enum Number {
  case integer(Int64)
  case double(Double)

  var double: Double {
    switch self {
    case .integer(let number): Double(number)
    case .double(let number): number
    }
  }

  /// The whole number it is, if any.
  var whole: Int64? {
    switch self {
    case .integer(let number): number
    case .double(let number): Int64(exactly: number)
    }
  }

  /// As a value; NaN is nil.
  var value: AttributeValue {
    switch self {
    case .integer(let number): .integer(number)
    case .double(let number): number.isNaN ? .null : .double(number)
    }
  }

  /// -1, 0 or 1 by exact value; nil for NaN.
  func order(to other: Number) -> Int? {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): return a < b ? -1 : a > b ? 1 : 0
    case (.double(let a), .double(let b)): return a < b ? -1 : a > b ? 1 : a == b ? 0 : nil
    case (.double, .integer): return other.order(to: self).map { -$0 }
    case (.integer(let a), .double(let b)):
      if b.isNaN { return nil }
      // Doubles of this size lie outside Int64; below it their whole part converts exactly.
      if b >= 0x1p63 { return -1 }
      if b < -0x1p63 { return 1 }
      guard let whole = Int64(exactly: b.rounded(.towardZero)) else { return nil }
      if a != whole { return a < whole ? -1 : 1 }
      let fraction = b - b.rounded(.towardZero)
      return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }
  }

  /// Nil means no result: division by zero.
  static func calculate(_ op: ValueExpression.ArithmeticOperator, _ a: Number, _ b: Number) -> Number? {
    if case .integer(let x) = a, case .integer(let y) = b {
      // A division by 0 overflows.
      let exact: (partialValue: Int64, overflow: Bool)? =
        switch op {
        case .add: x.addingReportingOverflow(y)
        case .subtract: x.subtractingReportingOverflow(y)
        case .multiply: x.multipliedReportingOverflow(by: y)
        case .divide: x.dividedReportingOverflow(by: y)
        case .power: nil
        }
      if let exact, !exact.overflow { return .integer(exact.partialValue) }
    }
    let (x, y) = (a.double, b.double)
    switch op {
    case .add: return .double(x + y)
    case .subtract: return .double(x - y)
    case .multiply: return .double(x * y)
    case .divide: return y == 0 ? nil : .double(x / y)
    case .power: return .double(pow(x, y))
    }
  }

  /// The remainder with the sign of `a`; nil when `b` is 0.
  static func remainder(_ a: Number, _ b: Number) -> Number? {
    if case .integer(let x) = a, case .integer(let y) = b {
      return y == 0 ? nil : .integer(x.remainderReportingOverflow(dividingBy: y).partialValue)
    }
    return b.double == 0 ? nil : .double(a.double.truncatingRemainder(dividingBy: b.double))
  }

  static prefix func - (number: Number) -> Number {
    switch number {
    case .double(let value): return .double(-value)
    case .integer(let value):
      let (result, overflow) = Int64(0).subtractingReportingOverflow(value)
      return overflow ? .double(-Double(value)) : .integer(result)
    }
  }
}

extension AttributeValue {
  /// The value as a number: booleans are 0 and 1, a decimal has its stored value.
  var number: Number? {
    switch self {
    case .boolean(let flag): .integer(flag ? 1 : 0)
    case .integer(let number): .integer(number)
    case .double(let number): .double(number)
    case .decimal(let number): number.wholeNumber.map { .integer($0) } ?? .double(number.nearestDouble)
    default: nil
    }
  }

  /// The value as a decimal, beside another one in a calculation; nil for floating point.
  var exactDecimal: Decimal? {
    switch self {
    case .boolean(let flag): Decimal(flag ? 1 : 0)
    case .integer(let number): Decimal(number)
    case .decimal(let number): number
    default: nil
    }
  }

  var isDecimal: Bool { if case .decimal = self { true } else { false } }

  /// A decimal as a value; one that is not a number is nil.
  init(calculated number: Decimal) { self = number.isNaN ? .null : .decimal(number) }
}

package import Foundation

/// Sums, products, quotients and remainders of decimals, rounded to 38 digits. On Linux, Foundation's own keep 34 digits
/// of a sum, cut products off, and keep as few as one digit of a quotient by a long divisor.
extension Decimal {
  /// An absolute value of up to 77 digits on the way to a decimal.
  private struct Wide {
    var high: UInt128 = 0
    var low: UInt128
    var exponent: Int
    /// The digit that was left out last.
    var last: UInt128 = 0

    /// Leaves out the lowest digit.
    mutating func shorten() {
      let (rest, digits) = (high % 10, high / 10)
      (low, last) = UInt128(10).dividingFullWidth((rest, low))
      high = digits
      exponent += 1
    }

    /// The nearest decimal of 38 digits; NaN beyond the range of exponents.
    func decimal(isNegative: Bool) -> Decimal {
      var wide = self
      while wide.high > 0 || wide.low >= Decimal.limit || wide.exponent < -128 {
        guard wide.high > 0 || wide.low > 0 else { return 0 }
        wide.shorten()
      }
      var (mantissa, exponent) = (wide.low + (wide.last >= 5 ? 1 : 0), wide.exponent)
      guard mantissa > 0 else { return 0 }
      while exponent > 127, mantissa < Decimal.limit / 10 { (mantissa, exponent) = (mantissa * 10, exponent - 1) }
      while exponent < 127, mantissa % 10 == 0 { (mantissa, exponent) = (mantissa / 10, exponent + 1) }
      guard exponent <= 127 else { return .nan }
      let significand = Decimal(string: mantissa.description) ?? .nan
      return Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: significand)
    }
  }

  /// 39 digits: no mantissa of a result has as many.
  private static let limit = power(38)

  private static func power(_ exponent: Int) -> UInt128 { (0..<exponent).reduce(1) { power, _ in power * 10 } }

  private var mantissa: UInt128 { UInt128(significand.magnitude.description) ?? 0 }

  /// Whether it has at most 18 digits, as amounts of money have: Foundation's sums and products of two such are exact.
  private var isShort: Bool { exponent >= -6 && magnitude < 1_000_000_000_000 }

  /// NaN if one of both is.
  package func sum(_ other: Decimal) -> Decimal {
    guard isFinite, other.isFinite else { return .nan }
    if isShort, other.isShort { return self + other }
    if isZero { return other }
    if other.isZero { return self }
    let (upper, lower) = exponent >= other.exponent ? (self, other) : (other, self)
    // Beyond 38 places the lower one only rounds the upper one.
    let places = min(upper.exponent - lower.exponent, 38)
    var small = Wide(low: lower.mantissa, exponent: lower.exponent)
    while small.exponent < upper.exponent - places, small.low > 0 { small.shorten() }
    if small.last >= 5, small.exponent == upper.exponent - places { small.low += 1 }
    let (high, low) = upper.mantissa.multipliedFullWidth(by: Self.power(places))
    var result = Wide(high: high, low: low, exponent: upper.exponent - places)
    guard upper.isSignMinus != lower.isSignMinus else {
      let (sum, carries) = low.addingReportingOverflow(small.low)
      (result.low, result.high) = (sum, high + (carries ? 1 : 0))
      return result.decimal(isNegative: upper.isSignMinus)
    }
    let isUpper = high > 0 || low >= small.low
    let (difference, borrows) = isUpper ? low.subtractingReportingOverflow(small.low) : (small.low - low, false)
    (result.low, result.high) = (difference, high - (borrows ? 1 : 0))
    return result.decimal(isNegative: isUpper ? upper.isSignMinus : lower.isSignMinus)
  }

  /// NaN if one of both is, or if the product is too large.
  package func product(_ other: Decimal) -> Decimal {
    guard isFinite, other.isFinite else { return .nan }
    if isShort, other.isShort { return self * other }
    let (high, low) = mantissa.multipliedFullWidth(by: other.mantissa)
    return Wide(high: high, low: low, exponent: exponent + other.exponent).decimal(
      isNegative: isSignMinus != other.isSignMinus)
  }

  /// NaN for a division by zero.
  package func quotient(_ other: Decimal) -> Decimal {
    guard isFinite, other.isFinite, !other.isZero else { return .nan }
    let divisor = other.mantissa
    var (digits, rest) = mantissa.quotientAndRemainder(dividingBy: divisor)
    var exponent = exponent - other.exponent
    func next() -> (quotient: UInt128, remainder: UInt128) {
      divisor.dividingFullWidth(rest.multipliedFullWidth(by: 10))
    }
    while rest > 0, digits < Self.limit / 10 {
      let digit = next()
      (digits, rest, exponent) = (digits * 10 + digit.quotient, digit.remainder, exponent - 1)
    }
    return Wide(low: digits, exponent: exponent, last: next().quotient).decimal(
      isNegative: isSignMinus != other.isSignMinus)
  }

  /// The remainder with the sign of the decimal itself; NaN when `other` is 0.
  package func remainder(_ other: Decimal) -> Decimal {
    guard isFinite, other.isFinite, !other.isZero else { return .nan }
    guard magnitude >= other.magnitude else { return self }
    var (divisor, rest, places) = (other.mantissa, mantissa, exponent - other.exponent)
    // The divisor is not larger, so that it fits with the same exponent.
    while places < 0 { (divisor, places) = (divisor * 10, places + 1) }
    rest %= divisor
    while places > 0, rest > 0 {
      let (high, low) = rest.multipliedFullWidth(by: 10)
      (rest, places) = (divisor.dividingFullWidth((high, low)).remainder, places - 1)
    }
    return Wide(low: rest, exponent: min(exponent, other.exponent)).decimal(isNegative: isSignMinus)
  }
}

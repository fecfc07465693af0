package import Foundation

/// Decimals and the floating point numbers that stores keep for them.
///
/// Foundation's own `doubleValue` is off by a last digit for every fourth amount of money on Linux.
extension Decimal {
  /// The decimal of a stored number: the shortest one that names it, so 10.11 stays 10.11.
  ///
  /// nil for a number that is infinite, not a number, or too large or small for a decimal.
  package init?(stored number: Double) {
    guard abs(number) < AttributeValue.decimalLimit, number == 0 || abs(number) >= AttributeValue.decimalFloor else {
      return nil
    }
    if let whole = Int64(exactly: number) {
      self = Decimal(whole)
      return
    }
    let text = number.description
    if let decimal = Self.plain(text) { self = decimal } else { self.init(string: text) }
  }

  /// Reads a number's description without Foundation's parser, which takes twenty times as long; nil when it cannot.
  private static func plain(_ text: String) -> Decimal? {
    var digits: UInt64 = 0
    var count = 0
    var fraction = 0
    var isFraction = false
    var isNegative = false
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "-"): isNegative = true
      case UInt8(ascii: "."): isFraction = true
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        guard count < 18 else { return nil }
        digits = digits * 10 + UInt64(byte - UInt8(ascii: "0"))
        if digits > 0 { count += 1 }
        if isFraction { fraction += 1 }
      default: return nil
      }
    }
    return Decimal(sign: isNegative ? .minus : .plus, exponent: -fraction, significand: Decimal(digits))
  }

  private static let powersOfTen: [Double] = (0...22).map { pow(10, Double($0)) }

  /// The nearest floating point number, as a store holds it. NaN for a decimal that is NaN.
  package var nearestDouble: Double {
    guard isFinite else { return .nan }
    // Both parts are exact, so the division rounds once.
    let (exponent, whole) = (exponent, NSDecimalNumber(decimal: significand).doubleValue)
    if whole < 0x1p53, exponent <= 0, exponent >= -22 {
      let size = whole / Self.powersOfTen[-exponent]
      return isSignMinus ? -size : size
    }
    return Double(description) ?? .nan
  }

  /// The whole number it is; nil for one with a fraction or beyond 64 bits.
  package var wholeNumber: Int64? {
    guard isFinite else { return nil }
    if exponent < 0 {
      // A fraction that is all zeros would have been left out.
      var (number, rounded) = (self, Decimal())
      NSDecimalRound(&rounded, &number, 0, .down)
      guard rounded == self else { return nil }
      return Int64(rounded.description)
    }
    return Int64(description)
  }

  /// The whole number next to it in the direction of the rule.
  package func rounded(_ rule: FloatingPointRoundingRule) -> Decimal {
    var (number, result) = (self, Decimal())
    let mode: RoundingMode =
      switch rule {
      case .up: .up
      case .towardZero: isSignMinus ? .up : .down
      default: .down
      }
    NSDecimalRound(&result, &number, 0, mode)
    return result
  }
}

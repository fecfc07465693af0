package import Foundation

/// A way to round decimals, which an expression makes with a class method of `NSDecimalNumberHandler`.
package struct DecimalRounding: Sendable, Hashable {
  /// Foundation's modes, with their numbers.
  package enum Mode: Int64, Sendable, CaseIterable {
    /// To the nearest; halves away from zero.
    case plain, down, up
    /// To the nearest; halves to the even digit.
    case bankers
  }

  let mode: Mode
  /// The number of digits after the point; a negative one rounds to tens, hundreds, ….
  let scale: Int

  static let className = "NSDecimalNumberHandler"
  static let making =
    "decimalNumberHandlerWithRoundingMode:scale:raiseOnExactness:raiseOnOverflow:raiseOnUnderflow:raiseOnDivideByZero:"

  package init(_ mode: Mode, scale: Int) { (self.mode, self.scale) = (mode, scale) }

  /// The way that an expression makes; nil when it makes none. The four flags do not matter, as no result is inexact
  /// without being rounded.
  init?(_ expression: ValueExpression) {
    guard case .call(let receiver, Self.making, let arguments) = expression.node,
      receiver.className == Self.className, arguments.count == 6
    else { return nil }
    let numbers = arguments.compactMap { argument -> Int64? in
      if case .constant(let value) = argument.node { value.number?.whole } else { nil }
    }
    guard numbers.count == 6, let mode = Mode(rawValue: numbers[0]), abs(numbers[1].clamped) <= 127 else { return nil }
    self.init(mode, scale: Int(numbers[1]))
  }

  /// The decimal rounded; NaN for NaN.
  package func round(_ number: Decimal) -> Decimal {
    let left = -number.exponent - scale
    guard number.isFinite, !number.isZero, left > 0 else { return number }
    let digits = Array(number.significand.magnitude.description.utf8).map { $0 - 0x30 }
    let kept = digits.dropLast(left)
    var lost = digits.suffix(left)[...]
    if left > digits.count { lost = [0] + lost }
    let isHalf = lost.first == 5 && lost.dropFirst().allSatisfy { $0 == 0 }
    let isAway: Bool =
      switch mode {
      case .plain: (lost.first ?? 0) >= 5
      case .bankers: isHalf ? (kept.last ?? 0) % 2 == 1 : (lost.first ?? 0) >= 5
      case .down: number.isSignMinus && lost.contains { $0 != 0 }
      case .up: !number.isSignMinus && lost.contains { $0 != 0 }
      }
    var mantissa = kept.reduce(UInt128(0)) { $0 * 10 + UInt128($1) }
    if isAway { mantissa += 1 }
    guard mantissa > 0 else { return 0 }
    var exponent = -scale
    while mantissa % 10 == 0, exponent < 127 { (mantissa, exponent) = (mantissa / 10, exponent + 1) }
    guard let significand = Decimal(string: mantissa.description) else { return .nan }
    return Decimal(sign: number.isSignMinus ? .minus : .plus, exponent: exponent, significand: significand)
  }
}

extension Int64 {
  /// Near enough to 0 that it has a magnitude.
  fileprivate var clamped: Int64 { Swift.max(-.max, self) }
}

import Foundation
import GodwitModel
import TestSupport
import Testing

@Suite struct DecimalTests {
  /// Expects the decimal to be the number that the C library reads.
  private func expect(_ text: String) {
    let number = Double(text) ?? .nan
    guard let decimal = Decimal(stored: number) else {
      Issue.record("no decimal for \(text)")
      return
    }
    if decimal.nearestDouble.bitPattern != number.bitPattern { Issue.record("\(text) became \(decimal.nearestDouble)") }
    if Decimal(string: text) != decimal { Issue.record("\(text) became the decimal \(decimal)") }
  }

  @Test func `amounts with two or three decimal digits survive a round trip`() {
    for cents in -10_009...10_009 {
      expect("\(cents < 0 ? "-" : "")\(abs(cents) / 100).\(String(format: "%02d", abs(cents) % 100))")
    }
    for mills in 0...99_999 { expect("\(mills / 1000).\(String(format: "%03d", mills % 1000))") }
  }

  @Test func `amounts of up to fifteen digits survive a round trip`() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<20_000 {
      let digits = Int.random(in: 0..<1_000_000_000_000_000, using: &random)
      let places = random.below(15)
      let text = String(format: "%0*d", places + 1, digits)
      expect(places == 0 ? text : "\(text.dropLast(places)).\(text.suffix(places))")
    }
  }

  @Test func `any stored decimal keeps its bits`() {
    var random = SeededGenerator(seed: 6)
    for _ in 0..<20_000 {
      let number = Double(bitPattern: UInt64.random(in: 0 ... .max, using: &random))
      guard number.isFinite, abs(number) < 1e120, abs(number) > 1e-100 else { continue }
      #expect(Decimal(stored: number)?.nearestDouble == number, "\(number)")
    }
    for number in [0, 1e127, 1e22, 1e23, 123_456_789_012_345_680, 0x1p53, 0x1p63, -0x1p63, 1e-7, 5e-100] {
      if number < 1e127 { #expect(Decimal(stored: number)?.nearestDouble == number, "\(number)") }
    }
    #expect(Decimal(stored: .infinity) == nil && Decimal(stored: .nan) == nil && Decimal(stored: 1e127) == nil)
    #expect(Decimal(stored: 1e-130) == nil && Decimal(stored: -9e-109) == nil && Decimal(stored: -0.0) == 0)
    #expect(Decimal(stored: -1.2345678901234567e-108)?.nearestDouble == -1.2345678901234567e-108)
    #expect(Decimal.nan.nearestDouble.isNaN)
  }

  @Test func `a decimal tells whether it is a whole number`() {
    #expect(Decimal(string: "5.00")?.wholeNumber == 5 && Decimal(string: "-7e3")?.wholeNumber == -7000)
    #expect(Decimal(Int64.min).wholeNumber == .min && Decimal(Int64.max).wholeNumber == .max)
    #expect((Decimal(Int64.max) + 1).wholeNumber == nil && Decimal(string: "0.5")?.wholeNumber == nil)
    #expect(Decimal.nan.wholeNumber == nil && (Decimal(3) / 2 * 2).wholeNumber == 3)
  }

  /// Expected results are those of Python's `decimal` with 38 digits and ROUND_HALF_UP.
  @Test(arguments: [
    ("/", "1", "3", "0.33333333333333333333333333333333333333"),
    ("/", "2", "3", "0.66666666666666666666666666666666666667"),
    ("/", "-3e-16", "-86175016385020771633830394075952539952e-27", "3.4812874146682146635783799228390980773e-27"),
    ("/", "5", "0", "NaN"),
    (
      "+", "84480670897940283612323483000226739090e-22", "-28995075866764613127e-1",
      "-2891059519586667284.3387676516999773261"
    ),
    ("+", "1e36", "-5e-50", "1e36"), ("+", "0.1", "0.2", "0.3"),
    ("+", "-5318234666062330252256356265389961568e-55", "5e-1", "0.49999999999999999946817653339376697477"),
    ("*", "-60268911510940473507056203823390198693e-2", "-5e-16", "301344557554702367535.28101911695099347"),
    ("*", "10.11", "3", "30.33"), ("%", "1e40", "3", "1"), ("%", "10.1", "0.2", "0.1"), ("%", "-7.5", "2", "-1.5"),
    ("%", "9007199254740993", "1e3", "993"), ("%", "1", "1e30", "1"), ("%", "1", "0", "NaN"),
  ]) func `decimals calculate with 38 digits`(operation: String, a: String, b: String, expected: String) throws {
    let (x, y) = (try #require(Decimal(string: a)), try #require(Decimal(string: b)))
    let result =
      switch operation {
      case "/": x.quotient(y)
      case "+": x.sum(y)
      case "*": x.product(y)
      default: x.remainder(y)
      }
    if expected == "NaN" { return #expect(result.isNaN) }
    #expect(result == Decimal(string: expected), "\(result)")
  }
}

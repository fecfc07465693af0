/// A span of time as the user writes it: `3h`, `90m`, `45s`, `1h30m`.
package struct TimeBox: Hashable {
  package let seconds: Int

  /// Nil unless the text is hours, minutes, seconds in that order, each at most once, more than 0 in all.
  package init?(argument: String) {
    guard let match = argument.wholeMatch(of: /(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?/) else { return nil }
    var total = 0
    for case (let digits?, let unit) in [(match.1, 3600), (match.2, 60), (match.3, 1)] {
      guard let number = Int(digits) else { return nil }
      let (part, tooLong) = number.multipliedReportingOverflow(by: unit)
      let (sum, overflow) = total.addingReportingOverflow(part)
      guard !tooLong, !overflow else { return nil }
      total = sum
    }
    guard total > 0 else { return nil }
    seconds = total
  }

  /// Why a text is not a time box; printed after the value and the option.
  package struct Refusal: Error, CustomStringConvertible {
    package let description: String
  }

  /// Reads the value of an option.
  ///
  /// - Throws: `Refusal`, which says what is accepted: the parser's own message does not.
  @Sendable package static func parse(_ text: String) throws -> TimeBox {
    if let box = TimeBox(argument: text) { return box }
    let isZero = text.contains("0") && text.allSatisfy { "0hms".contains($0) }
    throw Refusal(
      description: isZero
        ? "expected at least 1s" : "expected hours, minutes and whole seconds, such as 3h, 90m, 45s or 1h30m")
  }
}

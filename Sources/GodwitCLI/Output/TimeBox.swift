import ArgumentParser

/// A span of time as the user writes it: `3h`, `90m`, `45s`, `1h30m`.
package struct TimeBox: ExpressibleByArgument, Hashable {
  package let seconds: Int

  /// Nil unless the text is hours, minutes, seconds in that order, each at most once, more than 0 in all.
  package init?(argument: String) {
    let units: [(Character, Int)] = [("h", 3600), ("m", 60), ("s", 1)]
    var rest = argument[...]
    var total = 0
    var next = 0
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      rest = rest.dropFirst(digits.count)
      guard let number = Int(digits), let letter = rest.popFirst(),
        let index = units[next...].firstIndex(where: { $0.0 == letter })
      else { return nil }
      next = index + 1
      let (part, tooLong) = number.multipliedReportingOverflow(by: units[index].1)
      let (sum, overflow) = total.addingReportingOverflow(part)
      guard !tooLong, !overflow else { return nil }
      total = sum
    }
    guard total > 0 else { return nil }
    seconds = total
  }

  package var defaultValueDescription: String { "\(seconds)s" }

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

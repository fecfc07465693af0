package import Foundation

/// Times in a fleet's files: RFC 3339 in UTC.
package enum FleetTime {
  package static func text(_ date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  /// The seconds since 1970 of a time such as `2026-11-23T08:00:00.125000Z`; nil for a text that is none.
  ///
  /// A merge reads a million of them, and a general parser takes longer than the rest of a line.
  package static func seconds(_ text: String) -> Double? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z"), bytes[10] == UInt8(ascii: "T") else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      var value = 0
      for byte in bytes[range] {
        guard byte >= 0x30, byte <= 0x39 else { return nil }
        value = value * 10 + Int(byte - 0x30)
      }
      return value
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month), (1...31).contains(day)
    else { return nil }
    var fraction = 0.0
    if bytes[19] == UInt8(ascii: ".") {
      let digits = bytes.count - 21
      guard digits > 0, digits <= 9, let value = number(20..<(20 + digits)) else { return nil }
      fraction = Double(value)
      for _ in 0..<digits { fraction /= 10 }
    }
    // Days since 1970 of a date of the Gregorian calendar, whose years begin in March here.
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * 146_097 + dayOfEra - 719_468
    return Double(days * 86_400 + hour * 3600 + minute * 60 + second) + fraction
  }
}

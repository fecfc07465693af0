/// Dates as text for people and programs.
package enum DateText {
  /// ISO 8601 in UTC with microseconds, by the Gregorian calendar at all times; years beyond four digits carry a sign.
  ///
  /// A date too far for a calendar is given as seconds since 2001, as stored.
  package static func text(_ seconds: Double) -> String {
    guard seconds.isFinite, abs(seconds) < 1e14 else { return seconds.description }
    return String(decoding: bytes(seconds) + [UInt8(ascii: "Z")], as: UTF8.self)
  }

  /// The same without the `Z`.
  ///
  /// - Parameter seconds: Less than 1e14 in size.
  static func bytes(_ seconds: Double) -> [UInt8] {
    var whole = Int(seconds.rounded(.down))
    var microseconds = Int(((seconds - seconds.rounded(.down)) * 1_000_000).rounded())
    if microseconds == 1_000_000 { (whole, microseconds) = (whole + 1, 0) }
    let days = (whole >= 0 ? whole : whole - 86_399) / 86_400
    let (date, time) = (CivilDate(daysSince2001: days), whole - days * 86_400)
    var text: [UInt8] = []
    text.reserveCapacity(32)
    let isShort = (0...9999).contains(date.year)
    if !isShort { text.append(UInt8(ascii: date.year < 0 ? "-" : "+")) }
    text.append(abs(date.year), width: isShort ? 4 : 6)
    let parts: [(Unicode.Scalar, Int)] = [
      ("-", date.month), ("-", date.day), ("T", time / 3600), (":", time / 60 % 60), (":", time % 60),
    ]
    for (mark, number) in parts {
      text.append(UInt8(ascii: mark))
      text.append(number, width: 2)
    }
    text.append(UInt8(ascii: "."))
    text.append(microseconds, width: 6)
    return text
  }
}

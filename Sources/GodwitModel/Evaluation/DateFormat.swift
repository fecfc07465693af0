import Foundation

/// A form of dates as texts: a Unicode pattern, or `iso8601`, in a time zone.
///
/// Patterns are read as by a `DateFormatter` with the locale `en_US_POSIX`. `iso8601` is Godwit's own, by the Gregorian
/// calendar at all times. The result does not depend on the machine's time zone, locale or clock.
struct DateFormat: Sendable, Hashable {
  static let iso8601: Text = "iso8601"
  /// The most bytes of a pattern.
  private static let patternBytesMax = 256
  /// The largest offset of a place on Earth, in seconds.
  private static let offsetMax = 14 * 3600
  /// The letters that Unicode defines for dates and times.
  private static let letters = Set("GyYuUrQqMLlwWdDFgEecabBhHkKmsSAzZOvVXx")

  let pattern: Text
  let zone: String

  /// Whether some place on Earth has an offset today, in seconds. Foundation's formatter does not take every other one.
  static func isOffset(_ seconds: Int) -> Bool { abs(seconds) <= offsetMax }

  /// The fault of a pattern or of the name of a time zone; nil for valid ones.
  static func complaint(pattern: Text, zone: Text) -> (isZone: Bool, message: String)? {
    guard let found = TimeZone(identifier: zone.string) else {
      let names = TimeZone.knownTimeZoneIdentifiers
      return (true, "no time zone '\(zone)'\(Spelling.suggestion(for: zone.string, among: names))")
    }
    guard isOffset(found.secondsFromGMT()) else {
      return (true, "no time zone '\(zone)': no place has such an offset")
    }
    if pattern == iso8601 { return nil }
    if pattern.string.lowercased().filter({ $0.isLetter || $0.isNumber }) == iso8601.string {
      return (false, "write \"\(iso8601)\" in place of \"\(pattern)\"")
    }
    guard !pattern.utf8.isEmpty, pattern.utf8.count <= patternBytesMax else {
      return (false, "a pattern has from 1 to \(patternBytesMax) bytes")
    }
    var isQuoted = false
    for character in pattern.string {
      if character == "'" { isQuoted.toggle() }
      guard !isQuoted, character.isASCII, character.isLetter, !letters.contains(character) else { continue }
      return (false, "'\(character)' means nothing in a pattern of dates: put text between single quotes")
    }
    return isQuoted ? (false, "a quoted text of the pattern has no end") : nil
  }

  /// - Throws: `ExpressionError` without a place.
  init(_ pattern: Text, zone: Text) throws(ExpressionError) {
    if let complaint = Self.complaint(pattern: pattern, zone: zone) {
      throw ExpressionError(complaint.message, range: 0..<0)
    }
    (self.pattern, self.zone) = (pattern, zone.string)
  }

  /// The date as text; nil for one beyond any calendar.
  func text(_ seconds: Double) -> Text? {
    guard seconds.isFinite, abs(seconds) < 1e14 else { return nil }
    if pattern != Self.iso8601 { return DateFormatters.shared.text(seconds, self) }
    // Years have six digits at most.
    guard abs(seconds) < 3.1e13 else { return nil }
    let offset = TimeZone(identifier: zone)?.secondsFromGMT(for: Date(timeIntervalSinceReferenceDate: seconds)) ?? 0
    return Text(ISODate.text(seconds, offset: offset))
  }

  /// The seconds since 2001 of a text; nil for one that does not have the form.
  func seconds(_ text: Text) -> Double? {
    if pattern != Self.iso8601 { return DateFormatters.shared.seconds(text, self) }
    guard let (local, offset) = ISODate.read(text) else { return nil }
    if let offset { return local - Double(offset) }
    guard let zone = TimeZone(identifier: zone) else { return nil }
    func east(_ seconds: Double) -> Double {
      Double(zone.secondsFromGMT(for: Date(timeIntervalSinceReferenceDate: seconds)))
    }
    // An hour that is twice is the earlier one, and one that the clocks leave out follows them.
    let (before, after) = (east(local - 86_400), east(local + 86_400))
    if east(local - before) != before, east(local - after) == after { return local - after }
    return local - before
  }
}

/// The formatters used last. Making one loads the tables of Unicode, which no other expression needs.
private final class DateFormatters: @unchecked Sendable {
  static let shared = DateFormatters()
  private static let limit = 64

  /// The most texts of a format whose dates are kept, and the bytes of such a text.
  private static let datesMax = 8192, textBytesMax = 64

  private let lock = NSLock()
  private var known: [DateFormat: DateFormatter] = [:]
  /// The dates of the texts that were read last. Days repeat, and Foundation takes 70 µs to read one.
  private var dates: [DateFormat: [Text: Double?]] = [:]

  func text(_ seconds: Double, _ format: DateFormat) -> Text {
    lock.withLock { Text(formatter(format).string(from: Date(timeIntervalSinceReferenceDate: seconds))) }
  }

  func seconds(_ text: Text, _ format: DateFormat) -> Double? {
    guard String(validating: text.utf8, as: UTF8.self) != nil else { return nil }
    return lock.withLock {
      if let known = dates[format]?[text] { return known }
      let date = formatter(format).date(from: text.string)?.timeIntervalSinceReferenceDate
      guard text.utf8.count <= Self.textBytesMax else { return date }
      if let kept = dates[format]?.count, kept >= Self.datesMax { dates[format] = nil }
      dates[format, default: [:]][text] = .some(date)
      return date
    }
  }

  private func formatter(_ format: DateFormat) -> DateFormatter {
    if let found = known[format] { return found }
    if known.count >= Self.limit {
      known.removeAll()
      dates.removeAll()
    }
    let formatter = DateFormatter()
    let zone = TimeZone(identifier: format.zone) ?? .gmt
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    calendar.locale = Locale(identifier: "en_US_POSIX")
    formatter.calendar = calendar
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = zone
    formatter.isLenient = false
    // Foundation's own values, without the clock: 1949-12-31 for years of two digits, 2000-01-01 for what is missing.
    formatter.twoDigitStartDate = calendar.date(from: DateComponents(year: 1949, month: 12, day: 31))
    formatter.defaultDate = calendar.date(from: DateComponents(year: 2000, month: 1, day: 1))
    formatter.dateFormat = format.pattern.string
    known[format] = formatter
    return formatter
  }
}

/// ISO 8601 with a date, perhaps a time and perhaps an offset, as `2001-01-31T23:59:59.5+02:00`.
enum ISODate {
  /// A date; without a fraction where the second is whole, else with up to 6 digits.
  static func text(_ seconds: Double, offset: Int) -> String {
    var text = DateText.text(seconds + Double(offset))
    if text.hasSuffix("Z") { text.removeLast() }
    while text.contains("."), text.hasSuffix("0") || text.hasSuffix(".") {
      let isPoint = text.hasSuffix(".")
      text.removeLast()
      if isPoint { break }
    }
    guard offset != 0 else { return text + "Z" }
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let size = abs(offset)
    let rest = size % 60 == 0 ? "" : ":" + two(size % 60)
    return text + (offset < 0 ? "-" : "+") + two(size / 3600) + ":" + two(size / 60 % 60) + rest
  }

  /// The seconds since 2001 without an offset, and the offset if there is one; nil for a text of another form.
  static func read(_ text: Text) -> (local: Double, offset: Int?)? {
    var reader = Reader(rest: text.utf8[...])
    guard let year = reader.year(), reader.take("-"), let month = reader.number(2), reader.take("-"),
      let day = reader.number(2), (1...12).contains(month), (1...days(in: month, year)).contains(day)
    else { return nil }
    var seconds = Double(dayNumber(year, month, day) - 730_791) * 86_400
    var offset: Int?
    if reader.take("T") || reader.take(" ") {
      guard let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), hour < 24, minute < 60 else {
        return nil
      }
      seconds += Double(hour * 3600 + minute * 60)
      if reader.take(":") {
        guard let second = reader.number(2), second < 60 else { return nil }
        seconds += Double(second)
        if reader.take(".") || reader.take(",") {
          guard let fraction = reader.fraction() else { return nil }
          seconds += fraction
        }
      }
      guard reader.offset(&offset) else { return nil }
    }
    return reader.rest.isEmpty ? (seconds, offset) : nil
  }

  private static func days(in month: Int, _ year: Int) -> Int {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 0000-03-01, where a leap day ends the year.
  private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func take(_ byte: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: byte) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func number(_ digits: Int) -> Int? {
      let part = rest.prefix(digits)
      guard part.count == digits, part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      rest.removeFirst(digits)
      return part.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Four digits, or a sign and six.
    mutating func year() -> Int? {
      if take("-") { return number(6).map { -$0 } }
      return take("+") ? number(6) : number(4)
    }

    mutating func fraction() -> Double? {
      let part = rest.prefix { (0x30...0x39).contains($0) }
      guard !part.isEmpty, part.count <= 30 else { return nil }
      rest.removeFirst(part.count)
      return Double("0." + String(decoding: part, as: UTF8.self))
    }

    /// Whether `Z`, an offset or nothing follows.
    mutating func offset(_ offset: inout Int?) -> Bool {
      if take("Z") {
        offset = 0
        return true
      }
      let isWest = take("-")
      guard isWest || take("+") else { return true }
      guard let hours = number(2), hours < 24 else { return false }
      var size = hours * 3600
      if take(":") || !rest.isEmpty {
        guard let minutes = number(2), minutes < 60 else { return false }
        size += minutes * 60
      }
      offset = isWest ? -size : size
      return true
    }
  }
}

import Foundation

/// A form of dates as texts: a Unicode pattern, or `iso8601`, in a time zone.
///
/// Patterns are read as by a `DateFormatter` with the locale `en_US_POSIX`. `iso8601` is Godwit's own, by the Gregorian
/// calendar at all times. The result does not depend on the machine's time zone, locale or clock.
struct DateFormat: Sendable {
  static let iso8601: Text = "iso8601"
  /// The most bytes of a pattern.
  private static let patternBytesMax = 256
  /// The largest offset of a place on Earth, in seconds.
  private static let offsetMax = 14 * 3600
  /// The letters that Unicode defines for dates and times.
  private static let letters = Set("GyYuUrQqMLlwWdDFgEecabBhHkKmsSAzZOvVXx")

  private let zone: TimeZone
  /// The offset of a zone that has one at all times.
  private let offset: Int?
  /// nil for `iso8601`.
  private let formatter: PatternFormatter?
  /// The same pattern without the formatter, where that is possible.
  private let numbers: NumericDatePattern?

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

  /// The format, which is kept: most objects of a mapping have the same.
  ///
  /// - Throws: `ExpressionError` without a place.
  static func known(_ pattern: Text, zone: Text) throws(ExpressionError) -> DateFormat {
    let name = KnownFormats.Name(pattern: pattern, zone: zone)
    if let known = KnownFormats.shared[name] { return known }
    if let complaint = complaint(pattern: pattern, zone: zone) {
      throw ExpressionError(complaint.message, range: 0..<0)
    }
    let format = DateFormat(pattern, zone: zone.string)
    KnownFormats.shared[name] = format
    return format
  }

  private init(_ pattern: Text, zone name: String) {
    zone = TimeZone(identifier: name) ?? .gmt
    let isFixed = name == "UTC" || name == "GMT" || ["GMT+", "GMT-", "Etc/"].contains { name.hasPrefix($0) }
    offset = isFixed ? zone.secondsFromGMT() : nil
    let isPattern = pattern != Self.iso8601
    formatter = isPattern ? PatternFormatter(pattern.string, zone) : nil
    numbers = isPattern ? offset.flatMap { NumericDatePattern(pattern.utf8, offset: $0) } : nil
  }

  /// The date as text; nil for one beyond any calendar.
  func text(_ seconds: Double) -> Text? {
    guard seconds.isFinite, abs(seconds) < 1e14 else { return nil }
    if let formatter { return numbers?.text(seconds) ?? formatter.text(seconds) }
    // Years have six digits at most.
    guard abs(seconds) < 3.1e13 else { return nil }
    return ISODate.text(seconds, offset: east(seconds))
  }

  /// The seconds since 2001 of a text; nil for one that does not have the form.
  func seconds(_ text: Text) -> Double? {
    if let formatter { return numbers?.seconds(text) ?? formatter.seconds(text) }
    guard let (local, written) = ISODate.read(text) else { return nil }
    if let offset = written ?? offset { return local - Double(offset) }
    // An hour that is twice is the earlier one, and one that the clocks leave out follows them.
    let (before, after) = (Double(east(local - 86_400)), Double(east(local + 86_400)))
    if Double(east(local - before)) != before, Double(east(local - after)) == after { return local - after }
    return local - before
  }

  /// The offset of the zone at a date.
  private func east(_ seconds: Double) -> Int {
    offset ?? zone.secondsFromGMT(for: Date(timeIntervalSinceReferenceDate: seconds))
  }
}

/// The formats used last.
private final class KnownFormats: @unchecked Sendable {
  struct Name: Hashable {
    let pattern, zone: Text
  }

  static let shared = KnownFormats()
  private static let countMax = 64

  private let lock = NSLock()
  private var known: [Name: DateFormat] = [:]
  /// The one used last: comparing names costs less than hashing one.
  private var last: (name: Name, format: DateFormat)?

  subscript(name: Name) -> DateFormat? {
    get {
      lock.withLock {
        if let last, last.name == name { return last.format }
        guard let format = known[name] else { return nil }
        last = (name, format)
        return format
      }
    }
    set {
      lock.withLock {
        if known.count >= Self.countMax { known.removeAll() }
        known[name] = newValue
      }
    }
  }
}

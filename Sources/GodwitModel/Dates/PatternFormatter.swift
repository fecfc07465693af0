import Foundation

/// Foundation's formatter for one pattern, made when it is first used: that loads the tables of Unicode, which no other
/// expression needs.
final class PatternFormatter: @unchecked Sendable {
  /// The most texts whose dates are kept, and the bytes of such a text.
  private static let datesMax = 8192, textBytesMax = 64

  private let pattern: String
  private let zone: TimeZone
  private let lock = NSLock()
  private var formatter: DateFormatter?
  /// The dates of the texts that were read last. Days repeat, and Foundation takes 70 µs to read one.
  private var dates: [Text: Double?] = [:]

  init(_ pattern: String, _ zone: TimeZone) { (self.pattern, self.zone) = (pattern, zone) }

  func text(_ seconds: Double) -> Text {
    lock.withLock { Text(made().string(from: Date(timeIntervalSinceReferenceDate: seconds))) }
  }

  func seconds(_ text: Text) -> Double? {
    guard String(validating: text.utf8, as: UTF8.self) != nil else { return nil }
    return lock.withLock {
      if let known = dates[text] { return known }
      let date = made().date(from: text.string)?.timeIntervalSinceReferenceDate
      guard text.utf8.count <= Self.textBytesMax else { return date }
      if dates.count >= Self.datesMax { dates.removeAll() }
      dates[text] = .some(date)
      return date
    }
  }

  private func made() -> DateFormatter {
    if let formatter { return formatter }
    let made = DateFormatter()
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    calendar.locale = Locale(identifier: "en_US_POSIX")
    made.calendar = calendar
    made.locale = Locale(identifier: "en_US_POSIX")
    made.timeZone = zone
    made.isLenient = false
    // Foundation's own values, without the clock: 1949-12-31 for years of two digits, 2000-01-01 for what is missing.
    made.twoDigitStartDate = calendar.date(from: DateComponents(year: 1949, month: 12, day: 31))
    made.defaultDate = calendar.date(from: DateComponents(year: 2000, month: 1, day: 1))
    made.dateFormat = pattern
    formatter = made
    return made
  }
}

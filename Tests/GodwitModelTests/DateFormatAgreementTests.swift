import Foundation
import TestSupport
import Testing

@testable import GodwitModel

/// Patterns that are read and written without Foundation's formatter, beside a formatter.
@Suite struct DateFormatAgreementTests {
  private static let patterns = [
    "yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd HH:mm:ss.SSS", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss'Z'",
    "yyyy-MM-dd'T'HH:mm:ssZ", "yyyy-MM-dd'T'HH:mm:ssXXX", "yyyy-MM-dd'T'HH:mm:ss.SSSXX", "yyyy-MM-dd HH:mm:ss ZZZZZ",
    "dd.MM.yyyy", "d.M.y", "MM/dd/yyyy", "M/d/yyyy", "yyyyMMdd", "yyyyMMddHHmmss", "yyyyMMddHHmmssSSS", "HH:mm",
    "H:m:s.S",
    "d M yyyy, HH 'o''clock'", "yyyy", "MM-dd", "yyyy 'and' HH:mm:ss.SSSSSS",
  ]
  private static let zones = ["UTC", "GMT", "GMT+0200", "GMT-03:30", "Etc/GMT+5", "GMT+14", "GMT-0030"]

  private static func formatter(_ pattern: String, _ zone: TimeZone) -> DateFormatter {
    let formatter = DateFormatter()
    var calendar = Calendar(identifier: .gregorian)
    (calendar.timeZone, calendar.locale) = (zone, Locale(identifier: "en_US_POSIX"))
    (formatter.calendar, formatter.locale, formatter.timeZone) = (calendar, calendar.locale, zone)
    formatter.isLenient = false
    formatter.twoDigitStartDate = calendar.date(from: DateComponents(year: 1949, month: 12, day: 31))
    formatter.defaultDate = calendar.date(from: DateComponents(year: 2000, month: 1, day: 1))
    formatter.dateFormat = pattern
    return formatter
  }

  /// A date of any century, near the changes that the fast way must know, or with a fraction that is rounded.
  private static func date(_ random: inout SeededGenerator) -> Double {
    switch random.below(8) {
    case 0: Double.random(in: -1e14...1e14, using: &random)
    case 1: -13_190_000_000 + Double.random(in: -1e7...1e7, using: &random)
    case 2: 252_423_993_600 + Double.random(in: -1e6...1e6, using: &random)
    case 3:
      Double(random.below(200_000) - 100_000) * 86_400 + [0, -0.0001, 0.0004, -0.0005, 86_399.9995][random.below(5)]
    case 4: Double(random.below(6_000_000_000) - 3_000_000_000) + [0.5, 0.0005, 0.00049, 0.9995, 0.3][random.below(5)]
    case 5: Double(random.below(6_000_000_000_000) - 3_000_000_000_000) / 1000
    default: Double(random.below(12_000_000_000) - 6_000_000_000)
    }
  }

  /// The text, or one like it: other digits, or signs, blanks and digits of other scripts where none belong.
  private static func changed(_ text: String, _ random: inout SeededGenerator) -> String {
    guard random.chance(35) else { return text }
    if random.chance(40) {
      return String(text.map { $0.isNumber ? Character("\(random.below(10))") : $0 })
    }
    var scalars = Array(text.unicodeScalars)
    let others = Array(" 0123459-+.,:TZ/'\n\u{0}\u{A0}\u{662}\u{FF11}\u{2212}".unicodeScalars)
    for _ in 0...random.below(2) {
      let place = random.below(scalars.count + 1)
      if random.chance(60), place < scalars.count { scalars.remove(at: place) }
      if random.chance(70) { scalars.insert(others[random.below(others.count)], at: min(place, scalars.count)) }
    }
    return String(String.UnicodeScalarView(scalars))
  }

  /// How many dates and texts were answered, of all.
  private struct Answers {
    var texts = 0, dates = 0, count = 0
  }

  /// Compares both ways for a pattern.
  private static func compare(
    _ pattern: String, _ zone: String, count: Int, _ random: inout SeededGenerator, _ answers: inout Answers
  ) throws {
    let zone = try #require(TimeZone(identifier: zone))
    guard let numbers = NumericDatePattern(Array(pattern.utf8), offset: zone.secondsFromGMT()) else { return }
    let formatter = formatter(pattern, zone)
    for _ in 0..<count {
      let seconds = date(&random)
      let written = formatter.string(from: Date(timeIntervalSinceReferenceDate: seconds))
      answers.count += 1
      if let text = numbers.text(seconds) {
        answers.texts += 1
        guard text == Text(written) else {
          Issue.record("'\(pattern)' \(zone.identifier): \(seconds) is \(written), not \(text)")
          return
        }
      }
      let text = changed(written, &random)
      if let date = numbers.seconds(Text(text)) {
        answers.dates += 1
        let read = formatter.date(from: text)?.timeIntervalSinceReferenceDate
        guard read?.bitPattern == date.bitPattern else {
          Issue.record("'\(pattern)' \(zone.identifier): \(text.debugDescription) is \(read as Any), not \(date)")
          return
        }
      }
    }
  }

  @Test func `a zone has the offset of a place`() {
    for hours in [-12, 0, 14] { #expect(DateFormat.isOffset(hours * 3600)) }
    for seconds in [-60_000, 50_401] { #expect(!DateFormat.isOffset(seconds)) }
  }

  @Test(arguments: patterns) func `dates and texts of a pattern of numbers are those of Foundation's formatter`(
    pattern: String
  ) throws {
    var answers = Answers()
    for seed in testSeeds(4) {
      var random = SeededGenerator(seed: seed)
      try Self.compare(pattern, Self.zones[random.below(Self.zones.count)], count: 300, &random, &answers)
    }
    // Most are answered without the formatter.
    #expect(answers.texts > answers.count / 2)
    if !pattern.hasSuffix("SSSSSS") { #expect(answers.dates > answers.count / 3) }
  }

  @Test func `dates and texts of any pattern are those of Foundation's formatter`() throws {
    let parts = [
      "yyyy", "y", "yyy", "yy", "MM", "M", "dd", "d", "HH", "H", "mm", "m", "ss", "s", "SSS", "S", "SS", "SSSSSS", "Z",
      "ZZZZZ", "XXX", "XX", "X",
    ]
    let marks = [
      "", "", "-", "-", "/", ".", ",", " ", "  ", ":", "'T'", "'at'", "''", "_", "'Z'", "' o''clock '", "(", "+", "'1'",
      "%", "\"", "'a'-", "@", "*", ";", "!", "?", ", ", "\\", "'M'", "|",
    ]
    var answers = Answers()
    for seed in testSeeds(200) {
      var random = SeededGenerator(seed: seed)
      let pattern = (0...random.below(6)).map { _ in parts[random.below(parts.count)] + marks[random.below(marks.count)]
      }
      try Self.compare(
        pattern.joined(), Self.zones[random.below(Self.zones.count)], count: 30, &random, &answers)
    }
    #expect(answers.texts > answers.count / (2 * fewest(1)))
    #expect(answers.dates > answers.count / (6 * fewest(1)))
  }

  @Test(arguments: [
    "UTC", "GMT", "GMT+0545", "GMT-12", "Etc/GMT-14", "Etc/UCT", "Europe/Berlin", "Asia/Kolkata", "EST",
    "America/St_Johns",
  ]) func `a format in any zone is Foundation's`(zone: String) throws {
    let known = try #require(TimeZone(identifier: zone))
    for pattern in ["yyyy-MM-dd HH:mm:ss.SSS", "HH:mm XXX", "yy-MM-dd", "d MMM yyyy HH"] {
      let format = try DateFormat.known(Text(pattern), zone: Text(zone))
      let formatter = Self.formatter(pattern, known)
      for seed in testSeeds(25) {
        var random = SeededGenerator(seed: seed)
        let seconds = Self.date(&random)
        guard abs(seconds) < 1e12 else { continue }
        let text = formatter.string(from: Date(timeIntervalSinceReferenceDate: seconds))
        #expect(format.text(seconds) == Text(text), "\(pattern) \(seconds)")
        let read = formatter.date(from: text)?.timeIntervalSinceReferenceDate
        #expect(format.seconds(Text(text)) == read, "\(pattern) \(text)")
      }
    }
  }

  @Test(arguments: [
    ("2001-02-29", "yyyy-MM-dd"), ("1900-02-29", "yyyy-MM-dd"), ("2001-13-01", "yyyy-MM-dd"),
    ("1582-10-10", "yyyy-MM-dd"), ("0999-01-01", "yyyy-MM-dd"), ("10000-01-01", "yyyy-MM-dd"),
    ("01-01-01", "yyyy-MM-dd"), ("2001-1-1", "yyyy-MM-dd"), ("-2001-01-01", "yyyy-MM-dd"),
    ("\u{662}001-01-01", "yyyy-MM-dd"), ("2001-01-01 ", "yyyy-MM-dd"), ("", "yyyy-MM-dd"), ("24:00", "HH:mm"),
    ("23:60", "HH:mm"), ("12:00:60", "HH:mm:ss"), ("01.02.2001", "d.M.yyyy"), ("0.02.2001", "d.M.yyyy"),
    ("1.2.20010", "d.M.y"), ("0:0:0.25", "H:m:s.S"), ("200102031", "yyyyMMdd"), ("12:00 +1300", "HH:mm Z"),
    ("+0540", "Z"), ("195721", "yyyyH"),
  ]) func `a text that needs the formatter's judgement is left to it`(text: String, pattern: String) throws {
    let numbers = try #require(NumericDatePattern(Array(pattern.utf8), offset: 0))
    #expect(numbers.seconds(Text(text)) == nil)
    let formatter = Self.formatter(pattern, .gmt)
    let format = try DateFormat.known(Text(pattern), zone: "UTC")
    #expect(format.seconds(Text(text)) == formatter.date(from: text)?.timeIntervalSinceReferenceDate)
  }
}

/// A pattern whose parts are numbers and fixed text alone, such as `yyyy-MM-dd'T'HH:mm:ss`, read and written without
/// Foundation's formatter, which takes 70 µs to read a text.
///
/// It answers only where it surely agrees with the formatter: years from 1583 to 9999, after the change of the calendar,
/// in a zone with one offset, and ASCII texts whose numbers have the digits of the pattern. Any other date or text is
/// left to the formatter, also one that has no date. `DateFormatAgreementTests` compares the two.
struct NumericDatePattern: Sendable {
  private enum Field {
    case year, month, day, hour, minute, second, fraction

    /// nil for a letter that does not stand for a number, or not at this width.
    init?(_ letter: UInt8, width: Int) {
      switch (letter, width) {
      case (UInt8(ascii: "y"), 1), (UInt8(ascii: "y"), 4): self = .year
      case (UInt8(ascii: "M"), 1...2): self = .month
      case (UInt8(ascii: "d"), 1...2): self = .day
      case (UInt8(ascii: "H"), 1...2): self = .hour
      case (UInt8(ascii: "m"), 1...2): self = .minute
      case (UInt8(ascii: "s"), 1...2): self = .second
      case (UInt8(ascii: "S"), 1...9): self = .fraction
      default: return nil
      }
    }
  }

  private enum Part {
    case number(Field, width: Int)
    case fixed([UInt8])
    /// `+0100` or `+01:00`; for some letters `Z` in place of `+00:00`.
    case offset(hasColon: Bool, hasZ: Bool)

    /// A run of one letter; nil for one that does not stand for a number.
    init?(_ letter: UInt8, width: Int) {
      switch (letter, width) {
      case (UInt8(ascii: "Z"), 1...3): self = .offset(hasColon: false, hasZ: false)
      case (UInt8(ascii: "X"), 2): self = .offset(hasColon: false, hasZ: true)
      case (UInt8(ascii: "X"), 3), (UInt8(ascii: "Z"), 5): self = .offset(hasColon: true, hasZ: true)
      default:
        guard let field = Field(letter, width: width) else { return nil }
        self = .number(field, width: width)
      }
    }
  }

  private static let years = 1583...9999
  private static let millisecondsOfDay = 86_400_000
  /// Seconds from 1970 to 2001.
  private static let epoch = 978_307_200

  private let parts: [Part]
  /// Whether the end of each number of a text is plain.
  private let isReadable: Bool
  /// Seconds east of Greenwich.
  private let offset: Int

  /// nil for a pattern of another kind.
  init?(_ pattern: [UInt8], offset: Int) {
    guard offset % 60 == 0, let parts = Self.parts(pattern) else { return nil }
    (self.parts, self.offset) = (parts, offset)
    isReadable = Self.isReadable(parts)
  }

  // MARK: Patterns

  private static func parts(_ pattern: [UInt8]) -> [Part]? {
    let quote = UInt8(ascii: "'")
    var parts: [Part] = []
    func add(_ byte: UInt8) {
      guard case .fixed(let text)? = parts.last else { return parts.append(.fixed([byte])) }
      parts[parts.count - 1] = .fixed(text + [byte])
    }
    var (place, isQuoted) = (0, false)
    while place < pattern.count {
      let byte = pattern[place]
      guard (0x20...0x7E).contains(byte) else { return nil }
      if byte == quote {
        // Two are one quote of the text.
        let isDoubled = place + 1 < pattern.count && pattern[place + 1] == quote
        if isDoubled { add(quote) } else { isQuoted.toggle() }
        place += isDoubled ? 2 : 1
      } else if isQuoted || !Character(Unicode.Scalar(byte)).isLetter {
        add(byte)
        place += 1
      } else {
        let width = pattern[place...].prefix { $0 == byte }.count
        guard let part = Part(byte, width: width) else { return nil }
        parts.append(part)
        place += width
      }
    }
    return isQuoted ? nil : parts
  }

  /// Whether each field is there once, and a number of any width has no digits beside it.
  private static func isReadable(_ parts: [Part]) -> Bool {
    var seen: Set<Field> = []
    func isNumber(_ place: Int) -> Bool {
      if parts.indices.contains(place), case .number = parts[place] { true } else { false }
    }
    for (place, part) in parts.enumerated() {
      switch part {
      case .fixed(let text): if text.contains(where: DigitReader.isDigit) { return false }
      // Without an hour the formatter ignores an offset.
      case .offset: if place + 1 < parts.count || !seen.contains(.hour) { return false }
      case .number(let field, let width):
        guard seen.insert(field).inserted else { return false }
        if field == .fraction, width > 3 { return false }
        if width == 1, field != .fraction, isNumber(place - 1) || isNumber(place + 1) { return false }
      }
    }
    return true
  }

  // MARK: Writing

  /// The text of a date in seconds since 2001; nil for one that is left to the formatter.
  func text(_ seconds: Double) -> Text? {
    // The formatter's own sum, which rounds to milliseconds and halves upwards.
    let milliseconds = ((seconds + Double(Self.epoch)) * 1000 + 0.5).rounded(.down)
    guard abs(milliseconds) < 1e15 else { return nil }
    let local = Int(milliseconds) + (offset - Self.epoch) * 1000
    let days = (local >= 0 ? local : local - Self.millisecondsOfDay + 1) / Self.millisecondsOfDay
    let date = CivilDate(daysSince2001: days)
    guard Self.years.contains(date.year) else { return nil }
    let time = local - days * Self.millisecondsOfDay
    var text: [UInt8] = []
    text.reserveCapacity(32)
    for part in parts {
      switch part {
      case .fixed(let fixed): text += fixed
      case .offset(let hasColon, let hasZ): append(to: &text, hasColon: hasColon, hasZ: hasZ)
      case .number(.year, let width): text.append(date.year, width: width)
      case .number(.month, let width): text.append(date.month, width: width)
      case .number(.day, let width): text.append(date.day, width: width)
      case .number(.hour, let width): text.append(time / 3_600_000, width: width)
      case .number(.minute, let width): text.append(time / 60_000 % 60, width: width)
      case .number(.second, let width): text.append(time / 1000 % 60, width: width)
      case .number(.fraction, let width):
        text.append(time % 1000, width: 3)
        if width < 3 { text.removeLast(3 - width) }
        for _ in 3..<max(3, width) { text.append(UInt8(ascii: "0")) }
      }
    }
    return Text(utf8: text)
  }

  private func append(to text: inout [UInt8], hasColon: Bool, hasZ: Bool) {
    if hasZ, offset == 0 { return text.append(UInt8(ascii: "Z")) }
    let size = abs(offset)
    text.append(UInt8(ascii: offset < 0 ? "-" : "+"))
    text.append(size / 3600, width: 2)
    if hasColon { text.append(UInt8(ascii: ":")) }
    text.append(size / 60 % 60, width: 2)
  }

  // MARK: Reading

  /// The seconds since 2001 of a text; nil for one that is left to the formatter.
  func seconds(_ text: Text) -> Double? {
    guard isReadable else { return nil }
    var (year, month, day) = (2000, 1, 1)
    var (time, east) = (0, offset)
    var reader = DigitReader(text.utf8)
    for part in parts {
      switch part {
      case .fixed(let fixed): guard reader.take(fixed) else { return nil }
      case .offset(let hasColon, let hasZ):
        guard let read = Self.offset(&reader, hasColon: hasColon, hasZ: hasZ) else { return nil }
        east = read
      case .number(let field, let width):
        let digits = field == .year ? 4 : field == .fraction || width > 1 ? width : nil
        guard let number = digits.map({ reader.digits($0) }) ?? reader.oneOrTwoDigits() else { return nil }
        switch field {
        case .year: year = number
        case .month: month = number
        case .day: day = number
        case .hour where number < 24: time += number * 3_600_000
        case .minute where number < 60: time += number * 60_000
        case .second where number < 60: time += number * 1000
        case .fraction: time += number * (width == 1 ? 100 : width == 2 ? 10 : 1)
        default: return nil
        }
      }
    }
    let date = CivilDate(year: year, month: month, day: day)
    guard reader.isAtEnd, Self.years.contains(year), date.exists else { return nil }
    let milliseconds = date.daysSince2001 * Self.millisecondsOfDay + time + (Self.epoch - east) * 1000
    // The formatter's own sum.
    return Double(milliseconds) / 1000 - Double(Self.epoch)
  }

  /// Seconds east of Greenwich.
  private static func offset(_ reader: inout DigitReader, hasColon: Bool, hasZ: Bool) -> Int? {
    if hasZ, reader.take("Z") { return 0 }
    let isWest = reader.take("-")
    guard isWest || reader.take("+"), let hours = reader.digits(2), !hasColon || reader.take(":"),
      let minutes = reader.digits(2), hours < 13, minutes < 60
    else { return nil }
    let size = hours * 3600 + minutes * 60
    return isWest ? -size : size
  }
}

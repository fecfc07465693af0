/// ISO 8601 with a date, perhaps a time and perhaps an offset, as `2001-01-31T23:59:59.5+02:00`.
enum ISODate {
  /// A date; without a fraction where the second is whole, else with up to 6 digits.
  static func text(_ seconds: Double, offset: Int) -> Text {
    var text = DateText.bytes(seconds + Double(offset))
    while text.last == UInt8(ascii: "0") { text.removeLast() }
    if text.last == UInt8(ascii: ".") { text.removeLast() }
    guard offset != 0 else { return Text(utf8: text + [UInt8(ascii: "Z")]) }
    let size = abs(offset)
    text.append(UInt8(ascii: offset < 0 ? "-" : "+"))
    text.append(size / 3600, width: 2)
    text.append(UInt8(ascii: ":"))
    text.append(size / 60 % 60, width: 2)
    if size % 60 != 0 {
      text.append(UInt8(ascii: ":"))
      text.append(size % 60, width: 2)
    }
    return Text(utf8: text)
  }

  /// The seconds since 2001 without an offset, and the offset if there is one; nil for a text of another form.
  static func read(_ text: Text) -> (local: Double, offset: Int?)? {
    var reader = DigitReader(text.utf8)
    guard let year = year(&reader), reader.take("-"), let month = reader.digits(2), reader.take("-"),
      let day = reader.digits(2)
    else { return nil }
    let date = CivilDate(year: year, month: month, day: day)
    guard date.exists else { return nil }
    var seconds = Double(date.daysSince2001) * 86_400
    var offset: Int?
    if reader.take("T") || reader.take(" ") {
      guard let hour = reader.digits(2), reader.take(":"), let minute = reader.digits(2), hour < 24, minute < 60 else {
        return nil
      }
      seconds += Double(hour * 3600 + minute * 60)
      if reader.take(":") {
        guard let second = reader.digits(2), second < 60 else { return nil }
        seconds += Double(second)
        if reader.take(".") || reader.take(",") {
          guard let fraction = fraction(&reader) else { return nil }
          seconds += fraction
        }
      }
      guard read(&offset, &reader) else { return nil }
    }
    return reader.isAtEnd ? (seconds, offset) : nil
  }

  /// Four digits, or a sign and six.
  private static func year(_ reader: inout DigitReader) -> Int? {
    if reader.take("-") { return reader.digits(6).map { -$0 } }
    return reader.take("+") ? reader.digits(6) : reader.digits(4)
  }

  private static func fraction(_ reader: inout DigitReader) -> Double? {
    let digits = reader.digits()
    guard !digits.isEmpty, digits.count <= 30 else { return nil }
    return Double("0." + String(decoding: digits, as: UTF8.self))
  }

  /// Whether `Z`, an offset or nothing follows.
  private static func read(_ offset: inout Int?, _ reader: inout DigitReader) -> Bool {
    if reader.take("Z") {
      offset = 0
      return true
    }
    let isWest = reader.take("-")
    guard isWest || reader.take("+") else { return true }
    guard let hours = reader.digits(2), hours < 24 else { return false }
    var size = hours * 3600
    if reader.take(":") || !reader.isAtEnd {
      guard let minutes = reader.digits(2), minutes < 60 else { return false }
      size += minutes * 60
      // Zones had such offsets before their standard time.
      if reader.take(":") {
        guard let seconds = reader.digits(2), seconds < 60 else { return false }
        size += seconds
      }
    }
    offset = isWest ? -size : size
    return true
  }
}

/// Reads ASCII digits and fixed text from the start of a text to its end.
struct DigitReader {
  private let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { place == bytes.count }

  static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  /// Whether the byte was next.
  mutating func take(_ byte: Unicode.Scalar) -> Bool {
    guard place < bytes.count, bytes[place] == UInt8(ascii: byte) else { return false }
    place += 1
    return true
  }

  /// Whether the bytes were next. Some of them may be taken where they were not.
  mutating func take(_ fixed: [UInt8]) -> Bool {
    for byte in fixed {
      guard place < bytes.count, bytes[place] == byte else { return false }
      place += 1
    }
    return true
  }

  /// A number of so many digits; nil where other bytes come before.
  mutating func digits(_ count: Int) -> Int? {
    guard bytes.count - place >= count else { return nil }
    var number = 0
    for byte in bytes[place..<place + count] {
      guard Self.isDigit(byte) else { return nil }
      number = number * 10 + Int(byte - 0x30)
    }
    place += count
    return number
  }

  /// A number of one or two digits without a zero in front.
  mutating func oneOrTwoDigits() -> Int? {
    guard let first = digits(1) else { return nil }
    guard first > 0, place < bytes.count, Self.isDigit(bytes[place]) else { return first }
    return digits(1).map { first * 10 + $0 }
  }

  /// All digits that are next.
  mutating func digits() -> ArraySlice<UInt8> {
    let digits = bytes[place...].prefix(while: Self.isDigit)
    place += digits.count
    return digits
  }
}

import Foundation

extension ArchivedValue {
  /// The value as JSON on one line. Equal values give equal text.
  package var json: String {
    var text = ""
    write(to: &text)
    return text
  }

  /// Whether its JSON is a string.
  package var isString: Bool {
    switch self {
    case .string, .url, .date, .data, .uuid: true
    case .real(let number): !number.isFinite
    case .decimal(let number): !number.isFinite
    case .null, .boolean, .integer, .array, .set, .dictionary: false
    }
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .boolean(let truth): text += truth ? "true" : "false"
    case .integer(let number): text += String(number)
    case .real(let number): text += number.isFinite ? number.description : JSONString.quoted(number.description)
    case .decimal(let number): text += number.isFinite ? number.description : JSONString.quoted("nan")
    case .string(let string), .url(let string): text += JSONString.quoted(string)
    case .date(let seconds): text += JSONString.quoted(DateText.text(seconds))
    case .data(let bytes): text += JSONString.quoted(Data(bytes).base64EncodedString())
    case .uuid(let uuid): text += JSONString.quoted(uuid.uuidString)
    case .array(let members):
      text += "["
      for (place, member) in members.enumerated() {
        if place > 0 { text += "," }
        member.write(to: &text)
      }
      text += "]"
    case .set(let members):
      text += "[" + members.map(\.json).sorted { Text($0) < Text($1) }.joined(separator: ",") + "]"
    case .dictionary(let entries):
      text += "{"
      for (place, entry) in entries.sorted(by: { $0.key < $1.key }).enumerated() {
        text += (place > 0 ? "," : "") + JSONString.quoted(entry.key.string) + ":"
        entry.value.write(to: &text)
      }
      text += "}"
    }
  }

  /// Reads a JSON text: objects, arrays, strings, numbers, `true`, `false` and `null`.
  ///
  /// A number without fraction and exponent is whole if 64 bits hold it. A text with a key twice is
  /// refused.
  ///
  /// - Parameter decimals: Whether a number whose digits no `Double` keeps is a decimal, as far as a decimal keeps them.
  /// - Throws: For a text that is not JSON, and beyond the limits.
  package init(json text: some Sequence<UInt8>, decimals: Bool = false) throws(Malformed) {
    var reader = JSONReader(bytes: Array(text), decimals: decimals)
    self = try reader.whole()
  }
}

/// Reads JSON by RFC 8259, bounded in depth, size and number of values.
///
/// It keeps `1` and `1.0` apart, and refuses a key that is used twice. `JSONDecoder` does neither.
private struct JSONReader {
  typealias Malformed = ArchivedValue.Malformed

  let bytes: [UInt8]
  let decimals: Bool
  private var place = 0
  private var room = ArchivedValue.Room()

  init(bytes: [UInt8], decimals: Bool) { (self.bytes, self.decimals) = (bytes, decimals) }

  mutating func whole() throws(Malformed) -> ArchivedValue {
    try room.take(depth: 0, bytes: bytes.count)
    let value = try value(depth: 0)
    skipSpace()
    guard place == bytes.count else { throw wrong("the end") }
    return value
  }

  private func wrong(_ expected: String) -> Malformed {
    guard place < bytes.count else { return Malformed(problem: "it is not JSON: expected \(expected), found its end") }
    return Malformed(problem: "it is not JSON: expected \(expected) at byte \(place + 1)")
  }

  private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skipSpace() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { place += 1 }
  }

  /// Passes over a character if it is next.
  private mutating func pass(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard next == UInt8(ascii: character) else { return false }
    place += 1
    return true
  }

  private mutating func value(depth: Int) throws(Malformed) -> ArchivedValue {
    try room.take(depth: depth)
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .boolean(true))
    case UInt8(ascii: "f"): return try word("false", .boolean(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return try number()
    }
  }

  private mutating func word(_ word: String, _ value: ArchivedValue) throws(Malformed) -> ArchivedValue {
    guard bytes[place...].starts(with: Array(word.utf8)) else { throw wrong("a value") }
    place += word.utf8.count
    return value
  }

  private mutating func array(depth: Int) throws(Malformed) -> ArchivedValue {
    place += 1
    var members: [ArchivedValue] = []
    if pass("]") { return .array(members) }
    repeat { members.append(try value(depth: depth + 1)) } while pass(",")
    guard pass("]") else { throw wrong("',' or ']'") }
    return .array(members)
  }

  private mutating func object(depth: Int) throws(Malformed) -> ArchivedValue {
    place += 1
    var entries: [Text: ArchivedValue] = [:]
    if pass("}") { return .dictionary(entries) }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw wrong("a key in quotes") }
      let key = try string()
      guard pass(":") else { throw wrong("':'") }
      guard entries.updateValue(try value(depth: depth + 1), forKey: Text(key)) == nil else {
        throw Malformed(problem: "it has the key '\(key.prefix(60))' twice")
      }
    } while pass(",")
    guard pass("}") else { throw wrong("',' or '}'") }
    return .dictionary(entries)
  }

  private mutating func number() throws(Malformed) -> ArchivedValue {
    let start = place
    func isDigit(_ byte: UInt8?) -> Bool { byte.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false }
    if next == UInt8(ascii: "-") { place += 1 }
    guard isDigit(next) else {
      place = start
      throw wrong("a value")
    }
    let startsWithZero = next == UInt8(ascii: "0")
    place += 1
    if !startsWithZero { while isDigit(next) { place += 1 } }
    var isWhole = true
    if next == UInt8(ascii: ".") {
      isWhole = false
      place += 1
      guard isDigit(next) else { throw wrong("a digit") }
      while isDigit(next) { place += 1 }
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      isWhole = false
      place += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { place += 1 }
      guard isDigit(next) else { throw wrong("a digit") }
      while isDigit(next) { place += 1 }
    }
    let text = String(decoding: bytes[start..<place], as: UTF8.self)
    if isWhole, let whole = Int64(text) { return .integer(whole) }
    guard let number = Double(text), number.isFinite else {
      throw Malformed(problem: "the number '\(text.prefix(60))' is too large")
    }
    if decimals, text.utf8.count > 15, let exact = Self.decimal(text), exact != Self.decimal(number.description) {
      return .decimal(exact)
    }
    return .real(number)
  }

  /// The number of a text if a decimal keeps all of its digits.
  private static func decimal(_ text: String) -> Decimal? {
    guard let number = Decimal(string: text, locale: nil), number.isFinite else { return nil }
    return digits(text) == digits(number.description) ? number : nil
  }

  /// The digits of a number without zeros at both ends.
  private static func digits(_ text: String) -> Substring {
    var digits = Substring(text.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber)).drop { $0 == "0" }
    while digits.last == "0" { digits.removeLast() }
    return digits
  }

  /// The string that begins here, after its quote.
  private mutating func string() throws(Malformed) -> String {
    place += 1
    var content: [UInt8] = []
    while let byte = next {
      place += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let text = String(validating: content, as: UTF8.self) else {
          throw Malformed(problem: "a string in it is not UTF-8")
        }
        return text
      case UInt8(ascii: "\\"): content += String(try escape()).utf8
      case 0..<0x20: throw Malformed(problem: "it is not JSON: a string has a control character at byte \(place)")
      default: content.append(byte)
      }
    }
    throw wrong("the end of a string")
  }

  private mutating func escape() throws(Malformed) -> Character {
    guard let byte = next else { throw wrong("an escape") }
    place += 1
    switch byte {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = try hexadecimal()
      if let scalar = Unicode.Scalar(unit) { return Character(scalar) }
      // A character beyond the basic plane is written as two halves.
      guard (0xD800..<0xDC00).contains(unit), bytes[place...].starts(with: Array("\\u".utf8)) else {
        throw wrong("the second half of a character")
      }
      place += 2
      let second = try hexadecimal()
      guard (0xDC00..<0xE000).contains(second),
        let scalar = Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
      else { throw wrong("the second half of a character") }
      return Character(scalar)
    default:
      place -= 1
      throw wrong("an escape")
    }
  }

  private mutating func hexadecimal() throws(Malformed) -> UInt16 {
    guard place + 4 <= bytes.count else { throw wrong("four hexadecimal digits") }
    let digits = bytes[place..<(place + 4)]
    guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
      let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw wrong("four hexadecimal digits") }
    place += 4
    return unit
  }
}

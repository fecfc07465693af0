/// The text of an `<attribute>` in an XML store or an `xcmapping.xml`, which Core Data writes with escapes of its own.
///
/// | character | escape |
/// |---|---|
/// | a backslash | two backslashes |
/// | `<`, `>`, `&` and characters that XML lacks | `\u` and the UTF-16 code unit, its two bytes exchanged, in hexadecimal: `\u3c00` |
///
/// Only `<`, `>`, `&` and backslashes were seen in real stores. Numbers and base64 have none of these characters. Names,
/// identifiers and the property list in the head have no escapes.
///
/// A carriage return is the reference `&#13;`, which every parser of XML resolves.
package enum AttributeText {
  /// An escape that is half of a character.
  package struct HalfCharacter: Error {
    /// The text in the form of the file.
    package var escape: String

    /// For messages.
    package var found: String { "found '\(escape)', which is half of one" }
  }

  private static let backslash = UInt8(ascii: "\\")

  /// The text that a file means.
  ///
  /// A backslash that begins no escape is a plain one: Core Data writes none, but other programs do.
  ///
  /// - Parameter text: Valid UTF-8.
  package static func decoded(_ text: [UInt8]) throws(HalfCharacter) -> [UInt8] {
    guard let first = text.firstIndex(of: backslash) else { return text }
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    result += text[..<first]
    var place = first
    while place < text.count {
      guard text[place] == backslash else {
        result.append(text[place])
        place += 1
        continue
      }
      if let unit = codeUnit(text, at: place) {
        let isPair = UTF16.isLeadSurrogate(unit)
        let units = isPair ? [unit, codeUnit(text, at: place + 6)].compactMap { $0 } : [unit]
        guard let character = String(validating: units, as: UTF16.self) else {
          throw HalfCharacter(escape: String(decoding: text[place..<(place + 6)], as: UTF8.self))
        }
        result += character.utf8
        place += 6 * units.count
      } else {
        result.append(backslash)
        place += place + 1 < text.count && text[place + 1] == backslash ? 2 : 1
      }
    }
    return result
  }

  /// The code unit of `\u3c00`; nil for anything else.
  private static func codeUnit(_ text: [UInt8], at place: Int) -> UInt16? {
    guard place + 6 <= text.count, text[place] == backslash, text[place + 1] == UInt8(ascii: "u") else { return nil }
    let digits = text[(place + 2)..<(place + 6)]
    guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
    return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)?.byteSwapped
  }

  /// The text in the form between the tags. A tab and a line feed are unchanged.
  ///
  /// - Returns: nil when the text is not UTF-8.
  package static func encoded(_ text: [UInt8]) -> [UInt8]? {
    guard String(validating: text, as: UTF8.self) != nil else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    for (place, byte) in text.enumerated() {
      switch byte {
      case backslash: result += [backslash, backslash]
      case 0x0D: result += Array("&#13;".utf8)
      case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"), 0..<0x09, 0x0B..<0x20:
        result += escape(UInt16(byte))
      case 0xBE where text[..<place].suffix(2) == [0xEF, 0xBF], 0xBF where text[..<place].suffix(2) == [0xEF, 0xBF]:
        result.removeLast(2)
        result += escape(byte == 0xBE ? 0xFFFE : 0xFFFF)
      default: result.append(byte)
      }
    }
    return result
  }

  private static func escape(_ unit: UInt16) -> [UInt8] {
    let digits = String(unit.byteSwapped, radix: 16)
    return Array("\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
  }
}

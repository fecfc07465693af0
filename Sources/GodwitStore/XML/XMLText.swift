import GodwitModel

/// Names and the property list of an XML store as they are written: XML without Core Data's escapes.
enum XMLText {
  /// A text that XML cannot hold.
  struct Unwritable: Error {
    /// The unwritable content, for messages.
    var found: String

    static let notUTF8 = Unwritable(found: "bytes that are not UTF-8")
  }

  /// With `&`, `<`, `>` and carriage returns as references; all other characters are unchanged.
  ///
  /// XML 1.0 has only tab, line feed and carriage return below U+0020, and lacks U+FFFE and U+FFFF.
  static func escaped(_ text: [UInt8]) throws(Unwritable) -> [UInt8] {
    guard String(validating: text, as: UTF8.self) != nil else { throw .notUTF8 }
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    var previous: (UInt8, UInt8) = (0, 0)
    for byte in text {
      switch byte {
      case UInt8(ascii: "&"): result += Array("&amp;".utf8)
      case UInt8(ascii: "<"): result += Array("&lt;".utf8)
      case UInt8(ascii: ">"): result += Array("&gt;".utf8)
      case 0x0D: result += Array("&#13;".utf8)
      case 0x09, 0x0A: result.append(byte)
      case 0..<0x20:
        let hex = String(byte, radix: 16, uppercase: true)
        throw Unwritable(found: "the control character U+00\(hex.count == 1 ? "0" : "")\(hex)")
      case 0xBE where previous == (0xEF, 0xBF): throw Unwritable(found: "the character U+FFFE")
      case 0xBF where previous == (0xEF, 0xBF): throw Unwritable(found: "the character U+FFFF")
      default: result.append(byte)
      }
      previous = (previous.1, byte)
    }
    return result
  }

  /// For a value between double quotes.
  static func quoted(_ text: String) throws(Unwritable) -> String {
    String(decoding: try escaped(Array(text.utf8)), as: UTF8.self).replacing(scalar: "\"", with: "&quot;")
  }
}

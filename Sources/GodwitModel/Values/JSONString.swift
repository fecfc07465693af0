/// Texts in JSON, and string constants of expressions, which have the same form.
package enum JSONString {
  /// A JSON string: only what must be escaped is.
  package static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

  /// The text between the quotes of a JSON string.
  package static func escaped(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): bytes += Array("\\n".utf8)
      case UInt8(ascii: "\r"): bytes += Array("\\r".utf8)
      case UInt8(ascii: "\t"): bytes += Array("\\t".utf8)
      case 0..<0x20: bytes += Array((byte < 16 ? "\\u000" : "\\u00").utf8) + Array(String(byte, radix: 16).utf8)
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

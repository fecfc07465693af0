/// Characters that a terminal obeys, or that turn the direction of text round, made visible.
///
/// Names and messages come from stores, manifests and hooks. A carriage return or an escape sequence in one of them
/// could overwrite a line of the plan, and a bidirectional control show it in another order.
package enum TextEscape {
  /// C0 and C1 controls, DEL, separators of lines and bidirectional controls become `\u001B` and the like, which JSON strings take for the
  /// same character. Line feeds, tabs, and the carriage return of a line end stay.
  static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: isSuspicious) else { return text }
    var result = ""
    result.reserveCapacity(text.utf8.count + 16)
    let scalars = text.unicodeScalars
    for index in scalars.indices {
      let scalar = scalars[index]
      guard isControl(scalar.value), !isLineEnd(index, scalars) else {
        result.unicodeScalars.append(scalar)
        continue
      }
      let hex = String(scalar.value, radix: 16, uppercase: true)
      result += "\\u" + String(repeating: "0", count: max(0, 4 - hex.count)) + hex
    }
    return result
  }

  /// Whether a byte of UTF-8 may belong to such a character.
  private static func isSuspicious(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x0A: false
    case 0..<0x20, 0x7F, 0xC2, 0xD8, 0xE2: true
    default: false
    }
  }

  private static func isControl(_ value: UInt32) -> Bool {
    switch value {
    case 0x09, 0x0A: false
    case 0..<0x20, 0x7F...0x9F: true
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  private static func isLineEnd(_ index: String.Index, _ scalars: String.UnicodeScalarView) -> Bool {
    guard scalars[index] == "\r" else { return false }
    let next = scalars.index(after: index)
    return next < scalars.endIndex && scalars[next] == "\n"
  }
}

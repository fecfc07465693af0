/// Random texts of the characters that XML stores write with escapes, and their spellings in such a file.
package enum EscapedText {
  private static let pieces = [
    "<", ">", "&", "\\", "\\\\", "\\\\\\", "\\u3c00", "\\u", "\\u3c0", "\\n", "&lt;", "&#60;", "]]>", "<!--", "\"", "'",
    " ", "a",
    "\t", "\n", "\r", "\r\n", "\u{7F}", "\u{85}", "\u{2028}", "\u{E9}", "\u{E000}", "\u{FFFD}", "\u{FFFE}", "\u{FFFF}",
    "\u{1F600}", "\u{10FFFF}", "\u{1D11E}",
  ]

  /// - Parameter hasNull: Whether U+0000 may be in it.
  package static func random(_ random: inout SeededGenerator, hasNull: Bool = true) -> String {
    var text = ""
    for _ in 0..<random.below(9) {
      let control = UInt8((hasNull ? 0 : 1) + random.below(hasNull ? 32 : 31))
      text += random.chance(30) ? String(Unicode.Scalar(control)) : pieces[random.below(pieces.count)]
    }
    return text
  }

  /// The text in an `<attribute>`: any spelling that a reader must understand.
  package static func spelled(_ text: String, _ random: inout SeededGenerator) -> String {
    text.unicodeScalars.map { scalar in
      let reference = ["<": "&lt;", ">": "&gt;", "&": "&amp;", "\r": "&#13;"][scalar]
      if let reference, random.chance(30) { return reference }
      if scalar == "\\", random.chance(80) { return "\\\\" }
      let isPlain = reference == nil && scalar != "\\" && (scalar.value >= 0x20 || scalar == "\t" || scalar == "\n")
      if isPlain, scalar != "\u{FFFE}", scalar != "\u{FFFF}", !random.chance(10) { return String(scalar) }
      return String(scalar).utf16.map { unit in
        let digits = String(unit.byteSwapped, radix: 16, uppercase: random.chance(20))
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }.joined()
    }.joined()
  }
}

import GodwitModel
import TestSupport
import Testing

private func decoded(_ text: String) throws -> String {
  String(decoding: try AttributeText.decoded(Array(text.utf8)), as: UTF8.self)
}

@Suite struct AttributeTextTests {
  @Test(arguments: [
    ("<note>a & b</note>", #"\u3c00note\u3e00a \u2600 b\u3c00/note\u3e00"#), (#"\"#, #"\\"#), (#"a\\b"#, #"a\\\\b"#),
    (#"\u3c00"#, #"\\u3c00"#), ("\u{0}\u{1}\u{C}\u{1F}", #"\u0000\u0100\u0c00\u1f00"#),
    ("\u{FFFE}a\u{FFFF}\u{FFFD}", "\\ufeffa\\uffff\u{FFFD}"),
    ("\t\n \"'\u{7F}\u{E9}\u{1F600}", "\t\n \"'\u{7F}\u{E9}\u{1F600}"),
  ]) func `text is written with Core Data's escapes, and read back`(text: String, written: String) throws {
    let found = try #require(AttributeText.encoded(Array(text.utf8)))
    #expect(String(decoding: found, as: UTF8.self) == written)
    #expect(try decoded(written) == text)
  }

  @Test(arguments: [
    (#"\u3dd8\u00de"#, "\u{1F600}"), (#"\u3DD8\u00DE!"#, "\u{1F600}!"), (#"\ue900\u4e00"#, "\u{E9}N"),
    // No escapes: Core Data does not write these.
    (#"C:\temp\users\"#, #"C:\temp\users\"#), (#"\u"#, #"\u"#), (#"\u3c0"#, #"\u3c0"#), (#"\u3c0g"#, #"\u3c0g"#),
    (#"\u+3c0"#, #"\u+3c0"#), (#"\U3c00"#, #"\U3c00"#), ("\\\u{E9}", "\\\u{E9}"), (#"\\\u3c00"#, #"\<"#),
  ]) func `other spellings of escapes are read, and a lone backslash stands for itself`(
    written: String, text: String
  ) throws {
    #expect(try decoded(written) == text)
    #expect(XMLStoreContent.plain(written) == text)
  }

  @Test(arguments: [
    #"a\u3dd8"#, #"\u3dd8b"#, #"\u00de"#, #"\u3dd8\u3c00"#, #"\u3dd8\\u00de"#, #"\u00de\u3dd8"#, #"\u3dd8\u3dd8\u00de"#,
  ]) func `half of a character is refused`(written: String) throws {
    let error = #expect(throws: AttributeText.HalfCharacter.self) { try decoded(written) }
    #expect(try written.contains(#require(error).escape))
  }

  @Test func `a text that is not UTF-8 cannot be written`() {
    #expect(AttributeText.encoded([0x61, 0xFF]) == nil)
    #expect(AttributeText.encoded([0xEF, 0xBF]) == nil)
  }

  @Test func `every text comes back, and nothing that XML lacks is written`() throws {
    var random = SeededGenerator(seed: testSeeds(1)[0])
    for _ in 0..<3000 {
      let text = EscapedText.random(&random)
      let found = try #require(AttributeText.encoded(Array(text.utf8)))
      let written = String(decoding: found, as: UTF8.self)
      let plain = written.replacing("&#13;", with: "\r")
      try #require(try Array(decoded(plain).utf8) == Array(text.utf8), "\(text.debugDescription)")
      try #require(Array(XMLStoreContent.plain(plain).utf8) == Array(text.utf8))
      #expect(
        written.replacing("&#13;", with: "").unicodeScalars.allSatisfy {
          ($0.value >= 0x20 || $0 == "\t" || $0 == "\n") && !["<", ">", "&", "\u{FFFE}", "\u{FFFF}"].contains($0)
        })
    }
  }
}

import GodwitModel
import Testing

/// The limits of a YAML file: its bytes, its depth, and the values that its aliases stand for.
struct YAMLLimitTests {
  @Test func `a YAML file of more than 2 MiB is 78`() throws {
    let bytes = Array((required + "# ").utf8) + [UInt8](repeating: 0x20, count: 2 << 20)
    let error = try #require(try complaint(of: bytes))
    #expect(error.code == .configuration && error.message.contains("2 MiB"))
  }

  @Test func `YAML aliases that multiply are refused, in values and in keys`() throws {
    var text = "a0: &a0 [x, x]\n"
    for level in 1...40 { text += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
    for bomb in [text, text + "? *a40\n: x\n"] {
      let error = try #require(try complaint(of: required + bomb))
      #expect(error.code == .configuration && error.message.contains("1000000 values"), "\(error)")
    }
    var chain = "a0: &a0 [x]\n"
    for level in 1...20000 { chain += "a\(level): &a\(level) [*a\(level - 1)]\n" }
    #expect(try #require(try complaint(of: required + chain)).message.contains("64 levels"))
  }

  /// Without a space after the name, an alias within brackets is the key of a pair. Read as text it once hid its
  /// extent, and a file of a few lines kept the reader busy for ever.
  @Test(arguments: ["*:v", "*:*", "'k':*", "[*, 1]:v"])
  func `YAML aliases that multiply within pairs are refused`(pair: String) throws {
    var text = "a0: &a0 [x, x]\n"
    for level in 1...40 {
      let item = pair.replacing("*", with: "*a\(level - 1)")
      text += "a\(level): &a\(level) [\(item), \(item)]\n"
    }
    let error = try #require(try complaint(of: required + text))
    #expect(error.code == .configuration && error.message.contains("1000000 values"), "\(error)")
  }

  @Test(arguments: ["[", "{a: ", "- ", "? ", "[[{x: "]) func `deeply nested YAML is refused`(piece: String) throws {
    for count in [65, 2000, 100_000] {
      let text = required + "job:\n  " + String(repeating: piece, count: count) + "x\n"
      #expect(try complaint(of: text)?.code == .configuration)
    }
  }
}

import GodwitModel
import TestSupport
import Testing

@Suite struct `Mutated files` {
  static let pieces = [
    "\n", "  ", "\t", ": ", "- ", "[", "]", "{", "}", ",", "'", "\"", "|\n", ">-\n", "&a ", "*a", "!!int ", "!x ", "? ",
    "#", "---\n",
    "...\n", "%YAML 1.2\n", "<<: *a\n", "~", "null", "99999999999999999999", "-1", "\u{0}", "é", "\u{2028}", "\u{FEFF}",
    "\\", "$",
    "$source.", "(", ")",
  ]

  static func mutated(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let start = Int.random(in: 0...bytes.count, using: &random)
      let end = min(bytes.count, start + Int.random(in: 0...12, using: &random))
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes.removeSubrange(start..<end)
      case 1: bytes.insert(contentsOf: Array((pieces.randomElement(using: &random) ?? "").utf8), at: start)
      case 2: bytes.insert(contentsOf: Array(bytes[start..<end]), at: Int.random(in: 0...bytes.count, using: &random))
      case 3: if start < bytes.count { bytes[start] = UInt8.random(in: 0...255, using: &random) }
      default: bytes.replaceSubrange(start..<end, with: Array((pieces.randomElement(using: &random) ?? "").utf8))
      }
    }
    return bytes
  }

  @Test(arguments: testSeeds(3))
  func `a mutated manifest is read or refused with 78 and a place`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for mapping in [false, true] {
      for sample in mapping ? Samples.mappings : Samples.jobs {
        for _ in 0..<100 {
          let bytes = Self.mutated(Array(sample.utf8), &random)
          guard let error = try complaint(of: bytes, mapping: mapping) else { continue }
          let lines =
            bytes.count { $0 == 0x0A || $0 == 0x0D } + bytes.count { $0 == 0x85 || $0 == 0xA8 || $0 == 0xA9 } + 1
          #expect(error.code == .configuration, "seed \(seed): \(error)")
          let location = try #require(error.location)
          #expect(location.line >= 1 && location.line <= lines && location.column >= 1, "seed \(seed): \(error)")
        }
      }
    }
  }

  @Test(arguments: Array(0..<10) as [UInt64])
  func `random bytes are refused as a manifest`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(try complaint(of: bytes)?.code == .configuration)
      #expect(try complaint(of: bytes.map { $0 & 0x5F | 0x20 }, mapping: true)?.code == .configuration)
    }
  }
}

import Foundation
import GodwitStore
import TestSupport
import Testing

/// The tables of `SpillRecord` and `AssociationBlock` as bytes. A change here is a change of the format, and needs a new
/// tag.
struct SpillGoldenTests {
  private static let pairs = [Pair(1, 10), Pair(2, 11), Pair(-7, 300), Pair(-7, -300), Pair(1000, .max)]
  private static let mark = SpillMark(length: 258, checksum: 0x9350_fa82_a747_5051)
  private static let golden = """
    502a4d1838000000475350310200000000000000000000000100000000000000
    02000000000000003b000000240000002e003939896f36c04b854985aa70f640
    04224d186c402400000000000000ab2000000040010000000400000200100205
    00410000000a0600a00000000000000200010000000000af4ff97a502a4d1838
    00000047535031030000007b00000000000000f9ffffffffffffffe803000000
    000000470000003300000046d8c81710042a50dd87f9f6577b934e04224d186c
    403300000000000000182c0000006201000000f9ff010031e803000100102c15
    00710000000f0000001300e0af09ef07a9fbffffffffffffff01000000002f5d
    22d0
    """

  @Test func `two tiny chunks are written as the bytes in the format documentation`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let mark = try write([Array(Self.pairs[..<2]), Array(Self.pairs[2...])], to: path)
    #expect(try hexadecimal(readBytes(path)) == Self.golden.filter { !$0.isWhitespace })
    #expect(mark == Self.mark)
  }

  @Test func `the bytes in the format documentation are read`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let digits = Array(Self.golden.filter { !$0.isWhitespace })
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<($0 + 2)]), radix: 16) }
    try writeBytes(bytes, path)
    let reader = try SpillReader(path: path, mark: Self.mark)
    #expect(try all(reader) == [Self.pairs[2], Self.pairs[3], Self.pairs[0], Self.pairs[1], Self.pairs[4]])
    if let status = try lz4Test(path) { #expect(status == 0) }
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

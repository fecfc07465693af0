import Foundation
import TestSupport
import Testing

@testable import GodwitSpill

/// The page "Spill files" as bytes. A change here is a change of the format, and needs a new tag.
struct SpillGoldenTests {
  private static let pairs = [Pair(1, 10), Pair(2, 11), Pair(-7, 300), Pair(-7, -300), Pair(1000, .max)]
  private static let mark = SpillMark(length: 0, checksum: 0)
  private static let golden = ""

  @Test func `two tiny chunks are written as the bytes of the format page`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let mark = try write([Array(Self.pairs[..<2]), Array(Self.pairs[2...])], to: path)
    #expect(try hexadecimal(readBytes(path)) == Self.golden.filter { !$0.isWhitespace })
    #expect(mark == Self.mark)
  }

  @Test func `the bytes of the format page are read`() throws {
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

import Foundation
import TestSupport
import Testing

@testable import GodwitStore

struct SpillDamageTests {
  /// Two chunks, one that counts up and one that does not.
  private static let chunks = [(0..<40).map { Pair($0, $0 + 7) }, (0..<30).map { Pair($0 * 5, ($0 * 31) % 17) }]

  private func kind(_ body: () throws -> Void) -> SpillError.Kind? {
    do {
      try body()
      return nil
    } catch { return (error as? SpillError)?.kind }
  }

  @Test func `each flipped bit is noticed by the reader and the resuming writer`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let mark = try write(Self.chunks, to: path)
    let whole = try readBytes(path)
    var unnoticed: [Int] = []
    for bit in 0..<(whole.count * 8) {
      var bytes = whole
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      try writeBytes(bytes, path)
      // Without a mark the file must betray itself.
      for mark in [mark, nil] {
        if kind({ _ = try all(SpillReader(path: path, mark: mark)) }) != .damaged { unnoticed.append(bit) }
      }
      if kind({ _ = try SpillWriter(path: path, resumingAt: mark) }) != .damaged { unnoticed.append(bit) }
    }
    #expect(unnoticed == [])
  }

  @Test func `a spill file truncated at any length is noticed`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let first = try write([Self.chunks[0]], to: path)
    let mark = try write(Self.chunks, to: path)
    let whole = try readBytes(path)
    for length in 0..<whole.count {
      try writeBytes(Array(whole.prefix(length)), path)
      #expect(kind { _ = try all(SpillReader(path: path, mark: mark)) } == .damaged, "\(length) bytes")
      #expect(kind { _ = try SpillWriter(path: path, resumingAt: mark) } == .damaged, "\(length) bytes")
      let isWhole = length == 0 || length == Int(first.length)
      #expect(kind { _ = try all(SpillReader(path: path)) } == (isWhole ? nil : .damaged), "\(length) bytes")
    }
  }

  @Test func `reordered frames are noticed`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let first = Int(try write([Self.chunks[0]], to: path).length)
    try write(Self.chunks, to: path)
    let whole = try readBytes(path)
    try writeBytes(Array(whole[first...] + whole[..<first]), path)
    #expect(kind { _ = try SpillReader(path: path) } == .damaged)
  }

  @Test func `forged contents with right checksums never trap`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    var random = SeededGenerator(seed: 3)
    let pairs = stable(Self.chunks[1])
    let content = AssociationBlock.encode(sources: pairs.map(\.source), destinations: pairs.map(\.destination))
    var refused = 0
    for _ in 0..<3000 {
      var bytes = content
      for _ in 0...Int.random(in: 0...2, using: &random) {
        bytes[.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0...bytes.count - 1, using: &random)) }
      let frame = try #require(LZ4Frame.compress(bytes))
      let record = SpillRecord(
        position: 0, pairCount: 30, firstSource: 0, lastSource: 145, contentBytes: bytes.count, frame: frame)
      try writeBytes(record.encoded() + frame, path)
      let reader = try SpillReader(path: path)
      if kind({ _ = try all(reader) }) == .damaged { refused += 1 }
      for key in [Int64.min, 0, 5, 145, .max] { _ = kind { _ = try reader.lookup(source: key) } }
    }
    #expect(refused > 1000)
  }

  @Test func `impossible lengths are refused before memory is allocated`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    try write([Self.chunks[0]], to: path)
    let whole = try readBytes(path)
    for field in [12, 40, 44] {
      var header = Array(whole.prefix(56))
      header.replaceSubrange(field..<(field + 4), with: [0xff, 0xff, 0xff, 0xff])
      header.appendLittleEndian(header.withUnsafeBytes { FNV1a.hash($0) })
      try writeBytes(header + whole[64...], path)
      #expect(kind { _ = try SpillReader(path: path) } == .damaged, "field at \(field)")
    }
  }

  @Test func `a damage error names the file and the byte`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let mark = try write([Self.chunks[0]], to: path)
    var bytes = try readBytes(path)
    bytes[bytes.count - 1] ^= 1
    try writeBytes(bytes, path)
    let error = #expect(throws: SpillError.self) { try SpillReader(path: path, mark: mark).lookup(source: 1) }
    #expect(error?.path == path)
    #expect(
      error?.message == "cannot read the spill file at byte 64: expected the frame's checksum, found another")
  }
}

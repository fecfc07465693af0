/// The header before each LZ4 frame of a spill file, itself a skippable LZ4 frame, so `lz4 -t` checks the file.
///
/// Numbers are little-endian. `SpillGoldenTests` holds the bytes: a change of them is a new format, with a new tag.
///
/// | byte | size | field | value |
/// |---|---|---|---|
/// | 0 | 4 | magic | `50 2A 4D 18` |
/// | 4 | 4 | bytes that follow | 56 |
/// | 8 | 4 | tag `GSP1`, with the version | `47 53 50 31` |
/// | 12 | 4 | pairs in the frame | 1 to 65,536 |
/// | 16 | 8 | offset of this header, to find moved records | |
/// | 24, 32 | 8, 8 | first and last source key | signed |
/// | 40 | 4 | size of the LZ4 frame | 23 to 31 + content + 4 for each whole 64 KiB of content |
/// | 44 | 4 | size of its content | at most 4 + 52 for each pair |
/// | 48 | 8 | FNV-1a of the frame | |
/// | 56 | 8 | FNV-1a of bytes 0 to 55 | |
struct SpillRecord: Sendable, Equatable {
  static let headerBytes = 64
  static let magic: UInt32 = 0x184D_2A50
  static let tag: UInt32 = 0x3150_5347  // "GSP1"

  var pairCount: Int
  /// The start of the header in the file.
  var position: Int64
  var firstSource: Int64
  var lastSource: Int64
  var frameBytes: Int
  var contentBytes: Int
  var frameChecksum: UInt64

  var framePosition: Int64 { position + Int64(Self.headerBytes) }

  /// The header in the form of the file.
  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.headerBytes)
    bytes.appendLittleEndian(Self.magic)
    bytes.appendLittleEndian(UInt32(Self.headerBytes - 8))
    bytes.appendLittleEndian(Self.tag)
    bytes.appendLittleEndian(UInt32(truncatingIfNeeded: pairCount))
    bytes.appendLittleEndian(position)
    bytes.appendLittleEndian(firstSource)
    bytes.appendLittleEndian(lastSource)
    bytes.appendLittleEndian(UInt32(truncatingIfNeeded: frameBytes))
    bytes.appendLittleEndian(UInt32(truncatingIfNeeded: contentBytes))
    bytes.appendLittleEndian(frameChecksum)
    bytes.appendLittleEndian(bytes.withUnsafeBytes { FNV1a.hash($0) })
    return bytes
  }

  /// Reads a header; `end` is the end of the bytes that may be used.
  init(decoding bytes: [UInt8], at position: Int64, end: Int64, path: String) throws(SpillError) {
    func damaged(_ expected: String, _ found: String) -> SpillError {
      .damaged(path, at: position, expected: expected, found: found)
    }
    guard bytes.count == Self.headerBytes else { throw damaged("a record header", "\(bytes.count) bytes") }
    guard bytes.littleEndian(at: 0, as: UInt32.self) == Self.magic,
      bytes.littleEndian(at: 4, as: UInt32.self) == UInt32(Self.headerBytes - 8),
      bytes.littleEndian(at: 8, as: UInt32.self) == Self.tag
    else { throw damaged("the start of a record", "other bytes") }
    let checksum = bytes.withUnsafeBytes { FNV1a.hash(UnsafeRawBufferPointer(rebasing: $0[0..<56])) }
    guard bytes.littleEndian(at: 56, as: UInt64.self) == checksum else {
      throw damaged("a record header with its checksum", "another checksum")
    }
    pairCount = Int(bytes.littleEndian(at: 12, as: UInt32.self))
    self.position = bytes.littleEndian(at: 16, as: Int64.self)
    firstSource = bytes.littleEndian(at: 24, as: Int64.self)
    lastSource = bytes.littleEndian(at: 32, as: Int64.self)
    frameBytes = Int(bytes.littleEndian(at: 40, as: UInt32.self))
    contentBytes = Int(bytes.littleEndian(at: 44, as: UInt32.self))
    frameChecksum = bytes.littleEndian(at: 48, as: UInt64.self)
    guard self.position == position else {
      throw damaged("a record for this place", "a record for byte \(self.position)")
    }
    guard (1...AssociationBlock.pairsMax).contains(pairCount) else {
      throw damaged("1 to \(AssociationBlock.pairsMax) pairs", "\(pairCount)")
    }
    guard firstSource <= lastSource else { throw damaged("keys in order", "the last key before the first") }
    // Both lengths are sizes of buffers, so the number of pairs bounds them.
    guard contentBytes <= AssociationBlock.contentBytesMax(pairs: pairCount) else {
      throw damaged("content that fits its pair count", "\(contentBytes) bytes")
    }
    guard frameBytes >= LZ4Frame.bytesMin, frameBytes <= LZ4Frame.bytesMax(content: contentBytes) else {
      throw damaged("a frame that fits its content", "\(frameBytes) bytes")
    }
    guard Int64(frameBytes) <= end - position - Int64(Self.headerBytes) else {
      throw damaged("a whole frame of \(frameBytes) bytes", "the end of the file")
    }
  }

  init(
    position: Int64, pairCount: Int, firstSource: Int64, lastSource: Int64, contentBytes: Int, frame: [UInt8]
  ) {
    self.position = position
    self.pairCount = pairCount
    self.firstSource = firstSource
    self.lastSource = lastSource
    self.contentBytes = contentBytes
    frameBytes = frame.count
    frameChecksum = frame.withUnsafeBytes { FNV1a.hash($0) }
  }
}

extension [UInt8] {
  mutating func appendLittleEndian<Value: FixedWidthInteger>(_ value: Value) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  /// The value at an offset; zero where the array is too short.
  func littleEndian<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
    guard offset >= 0, offset <= count - MemoryLayout<Value>.size else { return 0 }
    return withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Value.self)) }
  }
}

import Foundation

/// A row in the record format of SQLite's page "Database File Format", section 2.1, of which large values stay where
/// they lie until they are read.
///
///     record    bytes of the header, this number included; a serial type for each column; the values
///     numbers   variable-length integers, seven bits a byte
struct RowRecord {
  enum Field {
    case value(SQLValue)
    case large(any LargeBytes)
  }

  private enum Content {
    case bytes([UInt8])
    case large(any LargeBytes)

    var count: Int {
      switch self {
      case .bytes(let bytes): bytes.count
      case .large(let value): value.byteCount
      }
    }
  }

  private var parts: [(start: Int, content: Content)] = []
  private(set) var byteCount = 0

  init(_ fields: [Field]) {
    var types: [UInt8] = []
    var contents: [Content] = [.bytes([])]
    for field in fields {
      switch field {
      case .large(let value):
        Self.append(UInt64(value.byteCount) * 2 + (value.isText ? 13 : 12), to: &types)
        contents.append(.large(value))
      case .value(let value):
        var bytes: [UInt8] = []
        Self.append(Self.encode(value, to: &bytes), to: &types)
        if case .bytes(let before)? = contents.last {
          contents[contents.count - 1] = .bytes(before + bytes)
        } else {
          contents.append(.bytes(bytes))
        }
      }
    }
    // The number counts its own bytes, and one more of them may make it longer.
    var header: [UInt8] = []
    while header.count != Self.length(UInt64(header.count + types.count)) { header.append(0) }
    let size = header.count + types.count
    header = []
    Self.append(UInt64(size), to: &header)
    for content in [.bytes(header + types)] + contents where content.count > 0 {
      parts.append((byteCount, content))
      byteCount += content.count
    }
  }

  /// The value's serial type; its bytes are appended.
  private static func encode(_ value: SQLValue, to bytes: inout [UInt8]) -> UInt64 {
    switch value {
    case .null: return 0
    case .integer(let number):
      let (type, width): (UInt64, Int) =
        switch number {
        case -0x80...0x7f: (1, 1)
        case -0x8000...0x7fff: (2, 2)
        case -0x80_0000...0x7f_ffff: (3, 3)
        case -0x8000_0000...0x7fff_ffff: (4, 4)
        case -0x8000_0000_0000...0x7fff_ffff_ffff: (5, 6)
        default: (6, 8)
        }
      for shift in stride(from: (width - 1) * 8, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
      }
      return type
    case .real(let number):
      withUnsafeBytes(of: number.bitPattern.bigEndian) { bytes.append(contentsOf: $0) }
      return 7
    case .blob(let content):
      bytes += content
      return UInt64(content.count) * 2 + 12
    case .text(let content):
      bytes += content
      return UInt64(content.count) * 2 + 13
    }
  }

  /// Appends a variable-length integer: seven bits a byte, the highest first; a ninth byte has eight.
  static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    var reversed: [UInt8] = []
    var rest = number
    if number >> 56 != 0 {
      reversed.append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
      for _ in 0..<8 {
        reversed.append(UInt8(rest & 0x7f) | 0x80)
        rest >>= 7
      }
    } else {
      repeat {
        reversed.append(UInt8(rest & 0x7f) | (reversed.isEmpty ? 0 : 0x80))
        rest >>= 7
      } while rest != 0
    }
    bytes.append(contentsOf: reversed.reversed())
  }

  private static func length(_ number: UInt64) -> Int {
    var bytes: [UInt8] = []
    append(number, to: &bytes)
    return bytes.count
  }

  /// Fills a buffer with the bytes from an offset; those behind the end are zero.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    var done = 0
    // Few parts: two for each large value.
    for (start, content) in parts where start + content.count > offset + done {
      guard done < buffer.count else { break }
      let from = offset + done - start
      let part = UnsafeMutableRawBufferPointer(
        rebasing: buffer[done..<done + min(buffer.count - done, content.count - from)])
      switch content {
      case .bytes(let bytes): part.copyBytes(from: bytes[from..<from + part.count])
      case .large(let value): try value.read(part, at: from)
      }
      done += part.count
    }
    buffer[done...].initializeMemory(as: UInt8.self, repeating: 0)
  }
}

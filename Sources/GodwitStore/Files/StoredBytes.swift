import CSQLite
import Foundation

/// The bytes of a value, wherever they are stored, to be compared without holding them in memory.
package enum StoredBytes {
  case memory([UInt8])
  /// A file of a support folder.
  case file(String, SupportFolder)
  /// A value in its row, from a byte on.
  case row(LargeValue, from: Int = 0, StoreConnection)

  private static let pieceBytes = 1 << 18

  /// Whether both are the same bytes, read side by side a piece at a time.
  ///
  /// - Throws: `.missingInput`, `.permission` or `.inputOutput` when a file cannot be read; SQLite's errors as they
  ///   map.
  package func isSame(as other: StoredBytes) throws -> Bool {
    let (a, b) = (try reader(), try other.reader())
    guard a.size == b.size else { return false }
    var (x, y) = ([UInt8](repeating: 0, count: Self.pieceBytes), [UInt8](repeating: 0, count: Self.pieceBytes))
    while true {
      let count = try x.withUnsafeMutableBytes { try a.fill($0) }
      guard try y.withUnsafeMutableBytes({ try b.fill($0) }) == count, memcmp(x, y, count) == 0 else { return false }
      if count < Self.pieceBytes { return true }
    }
  }

  /// The first bytes; fewer at the end.
  package func prefix(_ count: Int) throws -> [UInt8] {
    let reader = try reader()
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = try reader.fill(UnsafeMutableRawBufferPointer(buffer))
    }
  }

  /// All bytes. A value of a store has at most a gigabyte.
  package func all() throws -> [UInt8] {
    var all: [UInt8] = []
    try forEachPiece { all += $0 }
    return all
  }

  /// Hands the bytes to `body` a piece at a time. But for the last one, a piece has a multiple of three bytes, which
  /// base64 needs.
  package func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let reader = try reader()
    try withUnsafeTemporaryAllocation(byteCount: Self.pieceBytes / 4 * 3, alignment: 16) { buffer in
      while true {
        let count = try reader.fill(buffer)
        if count > 0 { try body(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
        if count < buffer.count { return }
      }
    }
  }

  /// Passes a text to `body` in pieces, none of which ends within a character's bytes.
  ///
  /// - Returns: false if bytes are not UTF-8; `body` has received the pieces before them.
  package func forEachText(_ body: (String) throws -> Void) throws -> Bool {
    struct NoText: Error {}
    var rest: [UInt8] = []
    do {
      try forEachPiece { piece in
        rest += piece
        // The last character may continue in the next piece.
        let start = rest.lastIndex { $0 & 0xC0 != 0x80 } ?? 0
        let needed = rest[start] >= 0xF0 ? 4 : rest[start] >= 0xE0 ? 3 : rest[start] >= 0xC0 ? 2 : 1
        let end = rest.count - start < needed ? start : rest.count
        guard let text = String(validating: rest[..<end], as: UTF8.self) else { throw NoText() }
        try body(text)
        rest.removeSubrange(..<end)
      }
    } catch is NoText { return false }
    return rest.isEmpty
  }

  /// The number of bytes, nil for a file that is not a regular one; and what fills a buffer with the next of them. It
  /// returns how many there were, fewer at the end alone.
  private typealias Reader = (size: Int64?, fill: (UnsafeMutableRawBufferPointer) throws -> Int)

  private func reader() throws -> Reader {
    switch self {
    case .memory(let bytes):
      var offset = 0
      return (
        Int64(bytes.count),
        { buffer in
          let part = bytes[offset...].prefix(buffer.count)
          buffer.copyBytes(from: part)
          offset += part.count
          return part.count
        }
      )
    case .file(let name, let folder):
      let size = try folder.size(of: name)
      let file = try ExternalFile(folder.path(of: name))
      return (size, { try file.fill($0) })
    case .row(let large, let start, let connection):
      let value = try OpenValue(large, connection)
      var offset = start
      return (
        Int64(value.byteCount - start),
        { buffer in
          let length = min(buffer.count, value.byteCount - offset)
          try value.read(UnsafeMutableRawBufferPointer(rebasing: buffer[..<max(0, length)]), at: offset)
          offset += length
          return length
        }
      )
    }
  }
}

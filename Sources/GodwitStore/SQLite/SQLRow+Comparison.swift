import CSQLite
import Foundation

/// Values compared where SQLite has them, without a copy.
extension SQLRow {
  package func storage(_ column: Int) -> StorageClass { StorageClass(sqlite3_column_type(statement, Int32(column))) }

  /// The bytes of a text or blob, valid until the next step.
  private func buffer(_ column: Int) -> UnsafeRawBufferPointer {
    // `sqlite3_column_blob` of a text gives its bytes as they are.
    let start = sqlite3_column_blob(statement, Int32(column))
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, Int32(column))))
  }

  /// The first byte of a text or blob; nil if it is empty.
  package func firstByte(_ column: Int) -> UInt8? { buffer(column).first }

  /// Whether a text or blob has the same bytes as one of another row; both columns must hold one.
  package func hasSameBytes(_ column: Int, as other: SQLRow, _ otherColumn: Int) -> Bool {
    Self.isSame(buffer(column), other.buffer(otherColumn))
  }

  /// Whether a text or blob has these bytes.
  package func hasBytes(_ column: Int, _ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { Self.isSame(buffer(column), $0) }
  }

  private static func isSame(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    guard a.count == b.count else { return false }
    guard let first = a.baseAddress, let second = b.baseAddress else { return true }
    return memcmp(first, second, a.count) == 0
  }
}

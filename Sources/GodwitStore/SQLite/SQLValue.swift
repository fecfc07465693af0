import CSQLite

/// A value as SQLite holds it.
package enum SQLValue: Sendable, Hashable {
  /// NULL.
  case null
  /// An integer of 64 bits.
  case integer(Int64)
  /// A floating point number of 64 bits.
  case real(Double)
  /// UTF-8 bytes, valid or not.
  case text([UInt8])
  /// Bytes.
  case blob([UInt8])

  /// A text.
  package static func text(_ string: String) -> SQLValue { .text(Array(string.utf8)) }
  /// An integer.
  package static func int(_ value: Int) -> SQLValue { .integer(Int64(value)) }

  package var isNull: Bool { if case .null = self { true } else { false } }
}

/// The storage class of a value.
package enum StorageClass: Sendable {
  case null, integer, real, text, blob

  /// - Parameter type: SQLite's number of it.
  init(_ type: Int32) {
    self =
      switch type {
      case SQLITE_INTEGER: .integer
      case SQLITE_FLOAT: .real
      case SQLITE_TEXT: .text
      case SQLITE_BLOB: .blob
      default: .null
      }
  }
}

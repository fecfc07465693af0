/// A value as SQLite holds it.
public enum SQLValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  /// UTF-8 bytes, valid or not.
  case text([UInt8])
  case blob([UInt8])

  public static func text(_ string: String) -> SQLValue { .text(Array(string.utf8)) }
  public static func int(_ value: Int) -> SQLValue { .integer(Int64(value)) }
}

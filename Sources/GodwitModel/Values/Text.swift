/// A string value as the bytes that the store holds.
///
/// Swift's `String` compares by canonical equivalence and turns invalid UTF-8 into U+FFFD; a
/// migration must do neither. `Text` compares and hashes by byte, and carries invalid UTF-8 through.
public struct Text: Sendable, Hashable, ExpressibleByStringLiteral {
  public var utf8: [UInt8]

  public init(utf8: [UInt8]) { self.utf8 = utf8 }
  public init(_ string: String) { utf8 = Array(string.utf8) }
  public init(stringLiteral value: String) { utf8 = Array(value.utf8) }

  /// The text as a Swift string; invalid UTF-8 becomes U+FFFD. For messages and Unicode functions.
  public var string: String { String(decoding: utf8, as: UTF8.self) }
}

extension Text: Comparable {
  /// Byte order, which is code point order for valid UTF-8 (SQLite's BINARY collation).
  public static func < (a: Text, b: Text) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
}

extension Text: CustomStringConvertible {
  public var description: String { string }
}

/// A string value as the bytes that the store holds.
///
/// Swift's `String` compares by canonical equivalence and turns invalid UTF-8 into U+FFFD; a
/// migration must do neither. `Text` compares and hashes by byte, and carries invalid UTF-8 through. It is the key of
/// every dictionary and set of texts that a user chose.
public struct Text: Sendable, Hashable, ExpressibleByStringLiteral {
  /// The bytes. They need not be valid UTF-8.
  package var utf8: [UInt8]

  /// A text of these bytes.
  package init(utf8: [UInt8]) { self.utf8 = utf8 }
  /// A text as UTF-8. No Unicode normalization takes place.
  package init(_ string: String) { utf8 = Array(string.utf8) }
  /// A text as UTF-8.
  public init(stringLiteral value: String) { utf8 = Array(value.utf8) }

  /// Whether bytes are UTF-8.
  package static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    String(validating: bytes, as: UTF8.self) != nil
  }

  /// The text as a Swift string; invalid UTF-8 becomes U+FFFD. For messages and Unicode functions.
  public var string: String { String(decoding: utf8, as: UTF8.self) }
}

extension Text: Comparable {
  /// Byte order, which is code point order for valid UTF-8 (SQLite's BINARY collation).
  public static func < (a: Text, b: Text) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
}

extension Text: CustomStringConvertible {
  /// The text as a Swift string, with U+FFFD in place of invalid UTF-8.
  public var description: String { string }
}

extension Dictionary where Key == Text {
  /// The value of a key.
  public subscript(key: String) -> Value? {
    get { self[Text(key)] }
    set { self[Text(key)] = newValue }
  }
}

extension Dictionary where Key == Text {
  /// The entries by names of a model, in which no two are canonically equal. The last of such keys counts.
  package var named: [String: Value] {
    [String: Value](sorted { $0.key < $1.key }.map { ($0.key.string, $0.value) }) { $1 }
  }
}

extension Dictionary where Key == String {
  /// The same entries under exact keys.
  package var exact: [Text: Value] { [Text: Value](uniqueKeysWithValues: map { (Text($0.key), $0.value) }) }
}

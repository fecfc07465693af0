public import Foundation

/// A value of an attribute or of an expression, independent of how a store encodes it.
public enum AttributeValue: Sendable, Hashable {
  /// No value, Core Data's nil.
  case null
  /// True or false.
  case boolean(Bool)
  /// Integer 16, 32 and 64.
  case integer(Int64)
  /// A decimal number.
  case decimal(Decimal)
  /// Double and Float.
  case double(Double)
  /// A text, byte for byte as the store holds it.
  case string(Text)
  /// Seconds since 2001-01-01T00:00:00Z.
  case date(Double)
  /// Bytes: binary data, or the output of a value transformer.
  case data([UInt8])
  /// A UUID.
  case uuid(UUID)
  /// The absolute string of the URI.
  case uri(Text)

  /// Floating point numbers of at least this size are not decimals: Foundation's type ends not far above.
  package static let decimalLimit = 1e127
  /// Numbers nearer to 0 than this, and not 0, are not decimals either: Foundation makes NaN of them.
  package static let decimalFloor = 1e-108

  /// A text.
  ///
  /// - Parameter string: Kept as UTF-8; no Unicode normalization takes place.
  public init(_ string: some StringProtocol) { self = .string(Text(String(string))) }

  /// A text.
  ///
  /// - Parameter string: Kept as UTF-8; no Unicode normalization takes place.
  public init(_ string: String) { self = .string(Text(string)) }

  /// A date, as its seconds since 2001-01-01T00:00:00Z.
  public init(_ date: Date) { self = .date(date.timeIntervalSinceReferenceDate) }

  /// Binary data.
  public init(_ data: Data) { self = .data([UInt8](data)) }

  /// A URI, as its absolute string.
  public init(_ url: URL) { self = .uri(Text(url.absoluteString)) }

  /// The date of a `.date`; nil for other values.
  public var date: Date? {
    if case .date(let seconds) = self { Date(timeIntervalSinceReferenceDate: seconds) } else { nil }
  }

  /// The bytes of a `.data`; nil for other values.
  public var data: Data? { if case .data(let bytes) = self { Data(bytes) } else { nil } }

  /// The text of a `.string`, with U+FFFD in place of invalid UTF-8; nil for other values.
  public var string: String? { if case .string(let text) = self { text.string } else { nil } }

  /// Whether the value is `.null`.
  public var isNull: Bool { if case .null = self { true } else { false } }
}

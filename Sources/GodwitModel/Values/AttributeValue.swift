public import Foundation

/// A value of an attribute or of an expression, independent of how a store encodes it.
public enum AttributeValue: Sendable, Hashable {
  case null
  case boolean(Bool)
  /// Integer 16, 32 and 64 alike.
  case integer(Int64)
  case decimal(Decimal)
  /// Double and Float alike.
  case double(Double)
  case string(Text)
  /// Seconds since 2001-01-01T00:00:00Z.
  case date(Double)
  case data([UInt8])
  case uuid(UUID)
  /// The absolute string of the URI.
  case uri(Text)

  /// Floating point numbers of at least this size are no decimals: Foundation's type ends not far above.
  public static let decimalLimit = 1e127

  public init(_ string: some StringProtocol) { self = .string(Text(String(string))) }

  public var isNull: Bool { if case .null = self { true } else { false } }
}

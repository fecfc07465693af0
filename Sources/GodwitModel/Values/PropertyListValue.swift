public import Foundation

/// A value of a property list, unchanged from its file.
public indirect enum PropertyListValue: Sendable, Hashable {
  /// A text.
  case string(String)
  /// A whole number.
  case integer(Int64)
  /// A floating point number.
  case real(Double)
  /// True or false.
  case boolean(Bool)
  /// Seconds since 2001-01-01T00:00:00Z.
  case date(Double)
  /// Bytes.
  case data([UInt8])
  /// The number of an object in a keyed archive.
  case uid(UInt64)
  /// Several values.
  case array([PropertyListValue])
  /// Values by name.
  case dictionary([String: PropertyListValue])

  /// Binary data.
  public init(_ data: Data) { self = .data([UInt8](data)) }

  /// A date.
  public init(_ date: Date) { self = .date(date.timeIntervalSinceReferenceDate) }

  /// The text of a `.string`; nil for other values.
  public var string: String? { if case .string(let value) = self { value } else { nil } }
  /// The number of an `.integer`; nil for other values.
  public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  /// The bytes of a `.data`; nil for other values.
  package var bytes: [UInt8]? { if case .data(let value) = self { value } else { nil } }
  /// The elements of an `.array`; nil for other values.
  package var array: [PropertyListValue]? { if case .array(let value) = self { value } else { nil } }
  /// The entries of a `.dictionary`; nil for other values.
  package var dictionary: [String: PropertyListValue]? {
    if case .dictionary(let value) = self { value } else { nil }
  }
}

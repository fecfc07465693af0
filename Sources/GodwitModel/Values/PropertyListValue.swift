public import Foundation

/// A value of a property list, unchanged from its file.
///
/// Values are equal if their files are: texts by their bytes, floating point numbers by their bits.
public indirect enum PropertyListValue: Sendable, Hashable {
  /// A text.
  case string(String)
  /// A whole number.
  case integer(Int64)
  /// A whole number above `Int64.max`.
  case unsigned(UInt64)
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
  case dictionary([Text: PropertyListValue])

  /// Values by name, where no two names are canonically equal.
  @_disfavoredOverload public static func dictionary(_ entries: [String: PropertyListValue]) -> PropertyListValue {
    .dictionary(entries.exact)
  }

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
  package var dictionary: [Text: PropertyListValue]? {
    if case .dictionary(let value) = self { value } else { nil }
  }
}

// MARK: Equality

extension PropertyListValue {
  /// Whether both are the same value, to the byte and the bit.
  public static func == (a: PropertyListValue, b: PropertyListValue) -> Bool {
    switch (a, b) {
    case (.string(let x), .string(let y)): x.utf8.elementsEqual(y.utf8)
    case (.integer(let x), .integer(let y)): x == y
    case (.unsigned(let x), .unsigned(let y)): x == y
    case (.real(let x), .real(let y)), (.date(let x), .date(let y)): x.bitPattern == y.bitPattern
    case (.boolean(let x), .boolean(let y)): x == y
    case (.data(let x), .data(let y)): x == y
    case (.uid(let x), .uid(let y)): x == y
    case (.array(let x), .array(let y)): x == y
    case (.dictionary(let x), .dictionary(let y)): x == y
    case (.string, _), (.integer, _), (.unsigned, _), (.real, _), (.boolean, _), (.date, _), (.data, _), (.uid, _),
      (.array, _), (.dictionary, _):
      false
    }
  }

  /// Hashes the bytes and bits.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .string(let text): hasher.combine(Text(text))
    case .integer(let number): hasher.combine(number)
    case .unsigned(let number): hasher.combine(number)
    case .real(let number), .date(let number): hasher.combine(number.bitPattern)
    case .boolean(let truth): hasher.combine(truth)
    case .data(let bytes): hasher.combine(bytes)
    case .uid(let number): hasher.combine(number)
    case .array(let members): hasher.combine(members)
    case .dictionary(let entries): hasher.combine(entries)
    }
  }
}

/// A value of a property list, kept as it was read.
public indirect enum PropertyListValue: Sendable, Hashable {
  case string(String)
  case integer(Int64)
  case real(Double)
  case boolean(Bool)
  /// Seconds since 2001-01-01T00:00:00Z.
  case date(Double)
  case data([UInt8])
  case uid(UInt64)
  case array([PropertyListValue])
  case dictionary([String: PropertyListValue])

  public var string: String? { if case .string(let value) = self { value } else { nil } }
  public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  public var data: [UInt8]? { if case .data(let value) = self { value } else { nil } }
  public var array: [PropertyListValue]? { if case .array(let value) = self { value } else { nil } }
  public var dictionary: [String: PropertyListValue]? {
    if case .dictionary(let value) = self { value } else { nil }
  }
}

/// The type of an attribute, as Core Data's `NSAttributeType`.
///
/// The raw value is the number Core Data hashes and archives
/// (`version-hash` rules, `.mom` key `NSAttributeType`).
public enum AttributeType: Int, Sendable, Hashable, CaseIterable {
  /// No type; legal for transient attributes only.
  case undefined = 0
  /// A whole number of 16 bits.
  case integer16 = 100
  /// A whole number of 32 bits.
  case integer32 = 200
  /// A whole number of 64 bits.
  case integer64 = 300
  /// A decimal number. A SQLite store keeps the nearest 64-bit floating point number.
  case decimal = 400
  /// A floating point number of 64 bits.
  case double = 500
  /// A floating point number of 32 bits.
  case float = 600
  /// A text.
  case string = 700
  /// True or false.
  case boolean = 800
  /// Seconds since 2001-01-01T00:00:00Z.
  case date = 900
  /// Bytes.
  case binary = 1000
  /// A UUID of 16 bytes.
  case uuid = 1100
  /// A URI, kept as its text.
  case uri = 1200
  /// Opaque bytes that a value transformer made. They are copied unchanged.
  case transformable = 1800
  /// The identifier of an object; legal for transient attributes only.
  case objectID = 2000
  /// Several values under one name, as a composite attribute of SwiftData has them.
  case composite = 2100

  /// The spelling in Xcode's model files (`attributeType`), also used in messages.
  package var xcodeName: String { facts.xcodeName }

  /// The type that Xcode's `attributeType` names, or nil when it names none.
  package init?(xcodeName: String) {
    guard let type = Self.allCases.first(where: { $0.xcodeName == xcodeName }) else { return nil }
    self = type
  }

  package var isInteger: Bool {
    switch self {
    case .integer16, .integer32, .integer64: true
    default: false
    }
  }

  /// Whether values are numbers: integers, decimal, double, float.
  package var isNumeric: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float: true
    default: false
    }
  }

  /// The values an integer attribute can hold; nil for other types.
  package var integerRange: ClosedRange<Int64>? {
    switch self {
    case .integer16: Int64(Int16.min)...Int64(Int16.max)
    case .integer32: Int64(Int32.min)...Int64(Int32.max)
    case .integer64: Int64.min...Int64.max
    default: nil
    }
  }
}

extension AttributeType {
  /// The type in a message: `an integer`.
  package var phrase: String { facts.phrase }
}

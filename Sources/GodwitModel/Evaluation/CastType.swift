/// The types that a CAST can name.
enum CastType {
  /// For hints.
  static let names = ["NSNumber", "NSDecimalNumber", "NSString", "NSDate", "NSData"]

  /// The kind of value that a name asks for: `.double` for any number.
  static func named(_ name: String) -> AttributeType? {
    switch name {
    case "NSNumber", "Number": .double
    case "NSDecimalNumber": .decimal
    case "NSString", "String": .string
    case "NSDate", "Date": .date
    case "NSData", "Data": .binary
    default: nil
    }
  }
}

import Foundation

extension ArchivedValue {
  /// The classes whose objects an attribute can hold, and the type of such an attribute: `.double` for any number.
  static let attributeClasses: [(name: String, type: AttributeType)] = [
    ("NSString", .string), ("NSNumber", .double), ("NSDate", .date), ("NSData", .binary), ("NSURL", .uri),
    ("NSUUID", .uuid),
  ]

  static func attributeType(ofClass name: String) -> AttributeType? {
    attributeClasses.first { $0.name == name }?.type
  }

  /// The object of a class that an attribute's value stands for.
  ///
  /// - Throws: When the value is none of that class.
  init(_ value: AttributeValue, asClass name: String) throws(Malformed) {
    switch (name, value) {
    case ("NSString", .string(let text)), ("NSString", .uri(let text)): self = .string(try Self.string(text))
    case ("NSURL", .string(let text)), ("NSURL", .uri(let text)): self = .url(try Self.string(text))
    case ("NSNumber", .boolean(let truth)): self = .boolean(truth)
    case ("NSNumber", .integer(let number)): self = .integer(number)
    case ("NSNumber", .double(let number)): self = .real(number)
    case ("NSNumber", .decimal(let number)): self = .decimal(number)
    case ("NSDate", .date(let seconds)): self = .date(seconds)
    case ("NSData", .data(let bytes)): self = .data(bytes)
    case ("NSUUID", .uuid(let uuid)): self = .uuid(uuid)
    default: throw Malformed(problem: "expected a value for '\(name)', found \(EvaluatedValue.value(value).phrase)")
    }
  }

  private static func string(_ text: Text) throws(Malformed) -> String {
    guard let string = String(validating: text.utf8, as: UTF8.self) else {
      throw Malformed(problem: "the string is not UTF-8")
    }
    return string
  }

  /// The value of an attribute that holds an object of a class; nil for an archived nil.
  ///
  /// - Throws: When the archive holds an object of another class.
  func attributeValue(ofClass name: String) throws(Malformed) -> AttributeValue {
    switch (name, self) {
    case (_, .null): return .null
    case ("NSString", .string(let text)): return AttributeValue(text)
    case ("NSURL", .url(let text)): return .uri(Text(text))
    case ("NSNumber", .boolean(let truth)): return .boolean(truth)
    case ("NSNumber", .integer(let number)): return .integer(number)
    case ("NSNumber", .real(let number)): return number.isNaN ? .null : .double(number)
    case ("NSNumber", .decimal(let number)): return number.isNaN ? .null : .decimal(number)
    case ("NSDate", .date(let seconds)): return .date(seconds)
    case ("NSData", .data(let bytes)): return .data(bytes)
    case ("NSUUID", .uuid(let uuid)): return .uuid(uuid)
    default: throw Malformed(problem: "expected an archive of '\(name)', found one of \(kind)")
    }
  }

  /// The kind of value, in messages.
  var kind: String {
    switch self {
    case .null: "nil"
    case .boolean, .integer, .real, .decimal: "a number"
    case .string: "a string"
    case .date: "a date"
    case .data: "data"
    case .url: "a URL"
    case .uuid: "a UUID"
    case .array: "an array"
    case .set: "a set"
    case .dictionary: "a dictionary"
    }
  }
}

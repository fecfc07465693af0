/// The expression that makes values of one type of attribute out of those of another, and the values that it cannot make.
///
/// Drafts of mappings, messages about types and the page `Types` have one table: this one.
package struct TypeConversion: Sendable, Hashable {
  /// The expression with `{x}` for the value.
  private let template: String
  /// The values that do not fit, in one sentence; empty if every value fits.
  package let misfit: String

  private init(_ template: String, _ misfit: String = "") { (self.template, self.misfit) = (template, misfit) }

  /// The types of stored attributes. A part of a composite is an attribute of its own.
  package static let types: [AttributeType] = [
    .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean, .string, .uri, .date, .binary, .uuid,
    .transformable,
  ]

  /// The expression for a value.
  ///
  /// - Parameter operand: The expression of the value, such as `$source.age`.
  package func expression(of operand: String) -> String {
    let isPath = operand.utf8.allSatisfy { byte in
      byte >= 0x80 || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || "$._#".utf8.contains(byte)
    }
    if !isPath, template.hasPrefix("{x}.") { return "FUNCTION(\(operand), \"\(template.dropFirst(4))\")" }
    return template.replacing("{x}", with: operand)
  }

  /// The expression that reads a member, such as `boolValue`, of a value.
  static func member(_ name: String, of operand: String) -> String {
    TypeConversion("{x}.\(name)").expression(of: operand)
  }

  /// The conversion between two types; nil where no expression converts.
  package static func between(_ source: AttributeType, _ destination: AttributeType) -> TypeConversion? {
    if source == destination { return TypeConversion("{x}") }
    guard types.contains(source), types.contains(destination) else { return nil }
    switch source.expressionClass {
    case .number: return ofNumber(source, to: destination)
    case .string: return ofText(source, to: destination)
    case .date: return ofDate(to: destination)
    case .data: return ofData(to: destination)
    case .uuid: return ofIdentifier(to: destination)
    case .transformable: return ofTransformable(to: destination)
    case .objectID, .composite, .any: return nil
    }
  }

  // MARK: Sources

  private static func ofNumber(_ source: AttributeType, to destination: AttributeType) -> TypeConversion? {
    switch destination {
    case .boolean: return TypeConversion("{x}.boolValue", "every number but 0 is `YES`")
    case _ where destination.expressionClass == .number: return TypeConversion("{x}", misfit(source, destination))
    case .string: return TypeConversion("CAST({x}, \"NSString\")")
    case .binary: return TypeConversion("CAST(CAST({x}, \"NSString\"), \"NSData\")")
    case .date where source != .boolean: return TypeConversion("CAST({x}, \"NSDate\")")
    case .transformable: return TypeConversion("archive:as:({x}, \"NSNumber\")")
    default: return nil
    }
  }

  /// The numbers that another numeric type cannot hold.
  private static func misfit(_ source: AttributeType, _ destination: AttributeType) -> String {
    guard let change = NumericChange(from: source, to: destination) else { return "" }
    if destination.isInteger {
      guard change.mayNotFit else { return "" }
      return source.isInteger
        ? "a number out of range is 65" : "a fraction and a number out of range are 65; `trunc:` cuts a fraction"
    }
    if destination == .decimal {
      return change.mayNotFit ? "a number too large for a decimal, or too near to 0, stays and reads as `NaN`" : ""
    }
    return change.mayRound ? "the nearest \(destination.xcodeName) is taken" : ""
  }

  private static let noNumber = "a text that is not a number becomes nil, a counted loss"

  private static func ofText(_ source: AttributeType, to destination: AttributeType) -> TypeConversion? {
    let text = source == .uri ? "CAST({x}, \"NSString\")" : "{x}"
    switch destination {
    case .string: return TypeConversion("{x}")
    case .uri: return TypeConversion("{x}")
    case .boolean where source == .string:
      return TypeConversion("{x}.boolValue", "a text that does not begin as yes, true or a number but 0 is `NO`")
    case .boolean: return nil
    case .integer16, .integer32, .integer64:
      return TypeConversion(
        "CAST(\(text), \"NSNumber\")", noNumber + "; a fraction and a number out of range are 65")
    case .double, .float: return TypeConversion("CAST(\(text), \"NSNumber\")", noNumber)
    case .decimal: return TypeConversion("CAST(\(text), \"NSDecimalNumber\")", noNumber)
    case .date: return TypeConversion("date:format:(\(text), \"iso8601\")", "a text of another form is 65")
    case .binary: return TypeConversion("CAST(\(text), \"NSData\")")
    case .uuid: return TypeConversion("uuid:(\(text))", "a text that is no UUID is 65")
    case .transformable: return TypeConversion("archive:as:({x}, \"\(source == .uri ? "NSURL" : "NSString")\")")
    default: return nil
    }
  }

  private static func ofDate(to destination: AttributeType) -> TypeConversion? {
    let text = "text:format:({x}, \"iso8601\")"
    switch destination {
    case .double: return TypeConversion("CAST({x}, \"NSNumber\")")
    case .float: return TypeConversion("CAST({x}, \"NSNumber\")", "the nearest Float is taken, up to 32 seconds away")
    case .decimal: return TypeConversion("CAST({x}, \"NSDecimalNumber\")")
    case .integer16, .integer32, .integer64:
      return TypeConversion("trunc:(CAST({x}, \"NSNumber\"))", "parts of a second are cut; a number out of range is 65")
    case .string: return TypeConversion(text, "microseconds are the smallest part")
    case .binary: return TypeConversion("CAST(\(text), \"NSData\")", "microseconds are the smallest part")
    case .transformable: return TypeConversion("archive:as:({x}, \"NSDate\")")
    default: return nil
    }
  }

  private static func ofData(to destination: AttributeType) -> TypeConversion? {
    let (text, noText) = ("CAST({x}, \"NSString\")", "bytes that are not UTF-8 are 65")
    switch destination {
    case .string, .uri: return TypeConversion(text, noText)
    case .integer16, .integer32, .integer64, .double, .float:
      return TypeConversion("CAST(\(text), \"NSNumber\")", noText + "; " + noNumber)
    case .decimal: return TypeConversion("CAST(\(text), \"NSDecimalNumber\")", noText + "; " + noNumber)
    case .boolean: return TypeConversion("FUNCTION(\(text), \"boolValue\")", noText)
    case .date: return TypeConversion("date:format:(\(text), \"iso8601\")", "a text of another form is 65")
    case .uuid: return TypeConversion("uuid:({x})", "other than 16 bytes are 65")
    case .transformable:
      return TypeConversion("CAST({x}, \"NSData\")", "the bytes stay: they must be what the transformer reads")
    default: return nil
    }
  }

  private static func ofIdentifier(to destination: AttributeType) -> TypeConversion? {
    switch destination {
    case .string: TypeConversion("{x}.UUIDString")
    case .binary: TypeConversion("CAST({x}, \"NSData\")")
    case .transformable: TypeConversion("archive:as:({x}, \"NSUUID\")")
    default: nil
    }
  }

  private static func ofTransformable(to destination: AttributeType) -> TypeConversion? {
    func value(_ name: String) -> String { "unarchive:as:({x}, \"\(name)\")" }
    let other = "an archive of another class is 65"
    switch destination {
    case .string: return TypeConversion(value("NSString"), other + "; `unarchive:` gives the JSON of any")
    case .uri: return TypeConversion(value("NSURL"), other)
    case .integer16, .integer32, .integer64:
      return TypeConversion(value("NSNumber"), other + ", as are a fraction and a number out of range")
    case .decimal, .double, .float: return TypeConversion(value("NSNumber"), other)
    case .boolean: return TypeConversion("FUNCTION(\(value("NSNumber")), \"boolValue\")", other)
    case .date: return TypeConversion(value("NSDate"), other)
    case .uuid: return TypeConversion(value("NSUUID"), other)
    case .binary: return TypeConversion("CAST({x}, \"NSData\")", "the bytes of the archive stay as they are")
    default: return nil
    }
  }
}

extension AttributeType {
  /// How a value of this type becomes one of a type that cannot take it as it is, in messages.
  ///
  /// - Parameter operand: The expression of the value.
  package func way(to target: AttributeType, of operand: String) -> String {
    TypeConversion.between(self, target).map { "write '\($0.expression(of: operand))', or use a policy" }
      ?? "no expression converts it, a policy does"
  }
}

public import Foundation
public import GodwitModel

/// An object whose properties can be read by name, each as the type that the caller expects.
///
/// A name that the entity does not have, and a value of another type, is an error: `.dataWrong` (65) in a policy,
/// `.usage` (64) for an object that a test reads.
public protocol ReadableObject {
  /// The name of the object's own entity.
  var entityName: String { get }
  /// The primary key.
  var key: Int64 { get }

  /// The value of an attribute, as its type says.
  ///
  /// - Throws: When there is no such attribute, or the store holds something else than its type says.
  func attributeValue(_ name: String) throws -> AttributeValue

  /// The objects that a relationship leads to: in its order if it is ordered, otherwise by key.
  ///
  /// - Throws: When there is no such relationship.
  func objects(_ relationship: String) throws -> [Self]
}

extension ReadableObject {
  package func failure(_ message: String) -> GodwitError {
    GodwitError(.dataWrong, "\(entityName) p\(key): \(message)")
  }

  private func typed<T>(_ name: String, _ what: String, _ pick: (AttributeValue) -> T?) throws -> T? {
    let value = try attributeValue(name)
    if value.isNull { return nil }
    guard let picked = pick(value) else {
      throw failure("attribute '\(name)' holds \(value.phrase), not \(what)")
    }
    return picked
  }

  /// The text of a string or URI attribute; nil for nil.
  ///
  /// Invalid UTF-8 becomes U+FFFD; ``attributeValue(_:)`` keeps the bytes.
  ///
  /// - Throws: As ``attributeValue(_:)``, and for an attribute of another type.
  public func string(_ attribute: String) throws -> String? {
    try typed(attribute, "text") { value in
      switch value {
      case .string(let text), .uri(let text): text.string
      default: nil
      }
    }
  }

  /// The value of an integer attribute; nil for nil.
  ///
  /// - Throws: As ``attributeValue(_:)``, and for an attribute of another type.
  public func integer(_ attribute: String) throws -> Int64? {
    try typed(attribute, "an integer") { if case .integer(let number) = $0 { number } else { nil } }
  }

  /// The value of a Boolean attribute; nil for nil.
  ///
  /// - Throws: As ``attributeValue(_:)``, and for an attribute of another type.
  public func boolean(_ attribute: String) throws -> Bool? {
    try typed(attribute, "a boolean") { if case .boolean(let truth) = $0 { truth } else { nil } }
  }

  /// The value of a numeric attribute as the nearest `Double`; nil for nil.
  ///
  /// - Throws: As ``attributeValue(_:)``, and for an attribute of another type.
  public func double(_ attribute: String) throws -> Double? {
    try typed(attribute, "a number") { value in
      switch value {
      case .double(let number): number
      case .integer(let number): Double(number)
      case .decimal(let number): number.nearestDouble
      default: nil
      }
    }
  }

  /// The value of a decimal or integer attribute; nil for nil.
  ///
  /// - Throws: As ``attributeValue(_:)``, and for an attribute of another type.
  public func decimal(_ attribute: String) throws -> Decimal? {
    try typed(attribute, "a decimal number") { value in
      switch value {
      case .decimal(let number): number
      case .integer(let number): Decimal(number)
      default: nil
      }
    }
  }

  /// The value of a date attribute; nil for nil.
  ///
  /// A `Date` holds the same seconds since 2001 as the store, so nothing is rounded.
  ///
  /// - Throws: As ``attributeValue(_:)``, and for an attribute of another type.
  public func date(_ attribute: String) throws -> Date? {
    try typed(attribute, "a date") { $0.date }
  }

  /// The value of a binary or transformable attribute; nil for nil.
  ///
  /// - Throws: As ``attributeValue(_:)``, and for an attribute of another type.
  public func data(_ attribute: String) throws -> Data? {
    try typed(attribute, "binary data") { $0.data }
  }

  /// The value of a UUID attribute; nil for nil.
  ///
  /// - Throws: As ``attributeValue(_:)``, and for an attribute of another type.
  public func uuid(_ attribute: String) throws -> UUID? {
    try typed(attribute, "a UUID") { if case .uuid(let uuid) = $0 { uuid } else { nil } }
  }

  /// The object that a to-one leads to.
  ///
  /// - Throws: As ``objects(_:)``.
  public func object(_ relationship: String) throws -> Self? { try objects(relationship).first }
}

extension AttributeValue {
  /// The kind of value in a message: `an integer`.
  package var phrase: String {
    switch self {
    case .null: "nil"
    case .boolean: "a boolean"
    case .integer: "an integer"
    case .decimal: "a decimal number"
    case .double: "a number"
    case .string: "text"
    case .date: "a date"
    case .data: "binary data"
    case .uuid: "a UUID"
    case .uri: "a URI"
    }
  }
}

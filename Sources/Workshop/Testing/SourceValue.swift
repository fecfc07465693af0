public import Foundation
public import GodwitModel

/// A value for a property of a ``SourceObject``: a value, an object or an array of objects.
///
/// The literals of Swift are values: `"Ada"`, `36`, `1.5`, `true`, `[home, office]`. `nil` is written as such.
public protocol SourceValue: Sendable {
  /// The value in the form of the store.
  var sourceContent: SourceContent { get }
}

/// A value for a property of a ``SourceObject``, ready to be compared with the property's type.
///
/// A type of your own conforms to ``SourceValue`` by giving the `sourceContent` of a value that conforms.
public struct SourceContent: Sendable {
  enum Kind: Sendable {
    case value(AttributeValue)
    case object(SourceObject)
    case objects([SourceObject])
  }

  let kind: Kind

  init(_ value: AttributeValue) { kind = .value(value) }

  init(object: SourceObject) { kind = .object(object) }

  init(objects: [SourceObject]) { kind = .objects(objects) }

  /// The kind of value in a message: `an integer`.
  var phrase: String {
    switch kind {
    case .value(let value): value.phrase
    case .object(let object): "an object of '\(object.entityName)'"
    case .objects: "an array of objects"
    }
  }
}

extension AttributeValue: SourceValue {
  /// The value itself.
  public var sourceContent: SourceContent { SourceContent(self) }
}

extension String: SourceValue {
  /// A text.
  public var sourceContent: SourceContent { SourceContent(AttributeValue(self)) }
}

extension Bool: SourceValue {
  /// A boolean.
  public var sourceContent: SourceContent { SourceContent(.boolean(self)) }
}

extension Int: SourceValue {
  /// An integer.
  public var sourceContent: SourceContent { SourceContent(.integer(Int64(self))) }
}

extension Int16: SourceValue {
  /// An integer.
  public var sourceContent: SourceContent { SourceContent(.integer(Int64(self))) }
}

extension Int32: SourceValue {
  /// An integer.
  public var sourceContent: SourceContent { SourceContent(.integer(Int64(self))) }
}

extension Int64: SourceValue {
  /// An integer.
  public var sourceContent: SourceContent { SourceContent(.integer(self)) }
}

extension Double: SourceValue {
  /// A number.
  public var sourceContent: SourceContent { SourceContent(.double(self)) }
}

extension Float: SourceValue {
  /// A number. A decimal attribute gets the exact value of the `Float`, which is seldom the one that was written.
  public var sourceContent: SourceContent { SourceContent(.double(Double(self))) }
}

extension Decimal: SourceValue {
  /// A decimal number.
  public var sourceContent: SourceContent { SourceContent(.decimal(self)) }
}

extension Date: SourceValue {
  /// A date.
  public var sourceContent: SourceContent { SourceContent(AttributeValue(self)) }
}

extension Data: SourceValue {
  /// Bytes, for binary and transformable attributes.
  public var sourceContent: SourceContent { SourceContent(AttributeValue(self)) }
}

extension UUID: SourceValue {
  /// A UUID.
  public var sourceContent: SourceContent { SourceContent(.uuid(self)) }
}

extension URL: SourceValue {
  /// A URI.
  public var sourceContent: SourceContent { SourceContent(AttributeValue(self)) }
}

extension Array: SourceValue where Element == SourceObject {
  /// The objects of a to-many, in their order.
  public var sourceContent: SourceContent { SourceContent(objects: self) }
}

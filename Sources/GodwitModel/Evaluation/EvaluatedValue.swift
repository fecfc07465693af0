import Foundation

/// An object that expressions read, usually a row of the source store.
public protocol EvaluatedObject {
  /// The name of the object's own entity.
  var entityName: String { get }
  /// The primary key.
  var key: Int64 { get }
  /// The value of an attribute, or the objects of a relationship.
  func value(_ property: String) throws -> EvaluatedValue
  /// Whether both are the same object.
  func isSame(as other: any EvaluatedObject) -> Bool
}

extension EvaluatedObject {
  /// Whether both are the object with this entity and key.
  public func isSame(as other: any EvaluatedObject) -> Bool {
    key == other.key && entityName == other.entityName
  }
}

/// The result of an expression for one object.
public enum EvaluatedValue {
  /// One value of an attribute, or `.null`.
  case value(AttributeValue)
  // Boxed, so that the values, which are many, are copied in registers.
  /// One object, or nil.
  indirect case object((any EvaluatedObject)?)
  /// The objects that a to-many leads to, in their order when it is ordered.
  case objects([any EvaluatedObject], ordered: Bool)
  /// Several values, such as an attribute of each object that a to-many leads to.
  case values([AttributeValue])

  static var null: EvaluatedValue { .value(.null) }

  var isNull: Bool {
    switch self {
    case .value(let value): !value.isKnown
    case .object(nil): true
    default: false
    }
  }

  /// The number of members of a collection; nil for a single value or object.
  var memberCount: Int? {
    switch self {
    case .value, .object: nil
    case .objects(let objects, _): objects.count
    case .values(let values): values.count
    }
  }

  /// A member of a collection by its place from 0; nil if the place does not exist.
  func member(_ place: Int) -> EvaluatedValue {
    switch self {
    case .objects(let objects, _) where objects.indices.contains(place): .object(objects[place])
    case .values(let values) where values.indices.contains(place): .value(values[place])
    default: .null
    }
  }

  /// The members of a collection; nil for a single value or object.
  var elements: [EvaluatedValue]? {
    switch self {
    case .value, .object: nil
    case .objects(let objects, _): objects.map { .object($0) }
    case .values(let values): values.map { .value($0) }
    }
  }
}

extension AttributeValue {
  /// Whether it is a value in a calculation.
  var isKnown: Bool {
    switch self {
    case .null: false
    case .double(let number), .date(let number): !number.isNaN
    // Core Data keeps a decimal that is not a number as text.
    case .decimal(let number): !number.isNaN
    default: true
    }
  }

  /// The value, or nil for one that calculations cannot use.
  var known: AttributeValue { isKnown ? self : .null }
}

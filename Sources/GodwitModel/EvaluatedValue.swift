import Foundation

/// An object that expressions read, usually a row of the source store.
public protocol EvaluatedObject {
  var entityName: String { get }
  /// The primary key.
  var key: Int64 { get }
  /// The value of an attribute, or what a relationship leads to.
  func value(_ property: String) throws -> EvaluatedValue
  func isSame(as other: any EvaluatedObject) -> Bool
}

extension EvaluatedObject {
  /// Whether both are the object with this entity and key.
  public func isSame(as other: any EvaluatedObject) -> Bool {
    key == other.key && entityName == other.entityName
  }
}

/// What an expression yields for one object.
public enum EvaluatedValue {
  case value(AttributeValue)
  case object((any EvaluatedObject)?)
  case objects([any EvaluatedObject], ordered: Bool)
  case values([AttributeValue])

  static var null: EvaluatedValue { .value(.null) }

  var isNull: Bool {
    switch self {
    case .value(.null), .object(nil): true
    case .value(.double(let number)), .value(.date(let number)): number.isNaN
    // Core Data keeps a decimal that is not a number as text; it has no value in a calculation.
    case .value(.decimal(let number)): number.isNaN
    default: false
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

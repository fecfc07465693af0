/// The use of an expression, which decides the names that it may use and the meaning of nil.
package enum ExpressionRole: Sendable, Hashable {
  /// A condition on source objects: bare key paths start at the object, a comparison with nil is unknown.
  case filter
  /// A value of a mapping: `$source` is the object, nil equals nil.
  case value
}

/// The type of an expression's result, as far as the model determines it.
package enum ExpressionType: Sendable, Hashable {
  case null
  case value(AttributeType)
  case object(entity: String)
  /// A composite attribute, by its path from the object, of one object or of each of several.
  case composite(path: String, entity: String, many: Bool?)
  case objects(entity: String, ordered: Bool)
  /// Several values of one type: an attribute read through a to-many relationship.
  case values(AttributeType)
  /// `{a, b}`.
  case list
  /// `$manager`.
  case manager
  /// `$entityPolicy`.
  case policy
  /// The result of the manager's lookups.
  case destinationInstances
  /// The source objects of destination objects, from the manager.
  case sourceInstances
  /// A fetch request for objects of an entity.
  case fetchRequest(entity: String)
  /// `$manager.sourceContext`.
  case sourceContext
  /// `$entityMapping`, `$propertyMapping` and `$entityMapping.userInfo`, by that name.
  case facts(of: String)
  /// `CAST("NSUUID", "Class")`, by the name of the class.
  case type(String)
  /// A set that class methods of `NSCharacterSet` make.
  case characterSet
  /// A way to round that class methods of `NSDecimalNumberHandler` make.
  case rounding
  /// `$destination` and key paths from it.
  case other

  var isCollection: Bool {
    switch self {
    case .objects, .values, .list: true
    default: false
    }
  }

  /// Whether `FUNCTION` sends methods to it that need neither the manager nor a policy.
  var hasMethods: Bool {
    switch self {
    case .null, .value, .objects, .values, .list, .type, .characterSet, .rounding: true
    default: false
    }
  }

  /// The type as messages name it.
  var phrase: String {
    switch self {
    case .null: "nil"
    case .value(let type): type.expressionClass.phrase
    case .object(let entity): "an object of '\(entity)'"
    case .composite(let path, _, _): "the composite attribute '\(path)'"
    case .objects(let entity, _): "a collection of '\(entity)' objects"
    case .values: "a collection of values"
    case .list: "a list"
    case .manager: "the migration manager"
    case .policy: "the entity policy"
    case .destinationInstances: "destination objects"
    case .sourceInstances: "the source objects of destination objects"
    case .fetchRequest: "a fetch request"
    case .sourceContext: "the source context"
    case .facts(let name): "'\(name)'"
    case .type(let name): "class '\(name)'"
    case .characterSet: "a character set"
    case .rounding: "a way to round"
    case .other: "the destination object"
    }
  }
}

extension AttributeType {
  /// Types whose values compare with each other.
  package enum ExpressionClass: Hashable, Sendable {
    case number, string, date, data, uuid, transformable, objectID, composite, any

    var phrase: String {
      switch self {
      case .number: "a number"
      case .string: "a string"
      case .date: "a date"
      case .data: "data"
      case .uuid: "a UUID"
      case .transformable: "a transformable value"
      case .objectID: "an object ID"
      case .composite: "a composite value"
      case .any: "a value"
      }
    }
  }

  package var expressionClass: ExpressionClass { facts.expressionClass }

  /// Whether arithmetic on it stays in integers; booleans count as 0 and 1.
  var isWhole: Bool { isInteger || self == .boolean }
}

extension AttributeValue {
  /// The type of attribute that holds such values; nil for nil.
  package var attributeType: AttributeType? {
    switch self {
    case .null: nil
    case .boolean: .boolean
    case .integer: .integer64
    case .decimal: .decimal
    case .double: .double
    case .string: .string
    case .date: .date
    case .data: .binary
    case .uuid: .uuid
    case .uri: .uri
    }
  }
}

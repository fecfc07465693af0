/// An attribute as its model declares it, Core Data's `NSAttributeDescription`.
public struct AttributeDescription: Sendable, Hashable {
  public var name: String
  public var type: AttributeType
  public var isOptional: Bool
  public var isTransient: Bool
  /// The value new objects take when nothing is mapped; `.null` when the model gives none.
  public var defaultValue: AttributeValue
  /// Limits on numbers and dates (seconds since 2001), inclusive. For strings: see `minimumLength`.
  public var minimumValue: AttributeValue?
  public var maximumValue: AttributeValue?
  /// Limits on the length of a string, in UTF-16 code units as `NSString.length` counts them.
  public var minimumLength: Int?
  public var maximumLength: Int?
  /// An ICU regular expression that must match the whole string.
  public var regularExpression: String?
  /// Large values may live in files beside the store; each value carries a prefix byte.
  public var allowsExternalBinaryDataStorage: Bool
  public var preservesValueInHistoryOnDeletion: Bool
  public var valueTransformerName: String?
  public var customClassName: String?
  /// The old `indexed="YES"` of models before fetch indexes.
  public var isIndexed: Bool
  /// The text of the derivation expression, for a derived attribute.
  public var derivationExpression: String?
  /// The name of a composite type, for `AttributeType.composite`.
  public var compositeName: String?
  public var versionHashModifier: String?
  /// The name in the earlier version (`elementID`); nil when it is the same.
  public var renamingIdentifier: String?
  public var userInfo: [String: String]

  public var isDerived: Bool { derivationExpression != nil }

  public init(name: String, type: AttributeType, isOptional: Bool = true) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    isTransient = false
    defaultValue = .null
    allowsExternalBinaryDataStorage = false
    preservesValueInHistoryOnDeletion = false
    isIndexed = false
    userInfo = [:]
  }
}

/// A relationship as its model declares it, Core Data's `NSRelationshipDescription`.
public struct RelationshipDescription: Sendable, Hashable {
  public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
    case noAction = "No Action"
    case nullify = "Nullify"
    case cascade = "Cascade"
    case deny = "Deny"
  }

  public var name: String
  public var destinationEntityName: String
  /// The relationship on the destination that is kept in step; nil when there is none.
  public var inverseName: String?
  /// The entity that declares the inverse, as the model file says; usually the destination.
  public var inverseEntityName: String?
  public var isOptional: Bool
  public var isTransient: Bool
  public var isToMany: Bool
  public var isOrdered: Bool
  /// As in the file: 0 when absent.
  public var minCount: Int
  /// As in the file: 0 for unbounded, 1 for to-one.
  public var maxCount: Int
  public var deleteRule: DeleteRule
  public var versionHashModifier: String?
  public var renamingIdentifier: String?
  public var userInfo: [String: String]
  /// For a to-many without an inverse, the to-one that a SQLite store holds in its place; its model gives it.
  package internal(set) var storedInverseName = Derived(String?.none)
  /// Whether it is such a to-one: no property of the model.
  package internal(set) var isUnnamedInverse = Derived(false)

  /// Whether an object that leads nowhere is invalid.
  ///
  /// A required to-many without a minimum may be empty: only `minCount` says how few objects are too few.
  public var requiresObject: Bool { !isOptional && (!isToMany || minCount > 0) }

  public init(
    name: String, destinationEntityName: String, inverseName: String? = nil,
    isToMany: Bool = false, isOptional: Bool = true
  ) {
    self.name = name
    self.destinationEntityName = destinationEntityName
    self.inverseName = inverseName
    inverseEntityName = inverseName == nil ? nil : destinationEntityName
    self.isOptional = isOptional
    isTransient = false
    self.isToMany = isToMany
    isOrdered = false
    minCount = 0
    maxCount = isToMany ? 0 : 1
    deleteRule = .nullify
    userInfo = [:]
  }
}

/// A fetched property: a stored query, with no storage of its own.
public struct FetchedPropertyDescription: Sendable, Hashable {
  public var name: String
  public var isOptional: Bool
  public var fetchRequest: FetchRequestTemplate?
  public var userInfo: [String: String]

  public init(name: String, isOptional: Bool, fetchRequest: FetchRequestTemplate?) {
    self.name = name
    self.isOptional = isOptional
    self.fetchRequest = fetchRequest
    userInfo = [:]
  }
}

/// A named fetch request of a model.
public struct FetchRequestTemplate: Sendable, Hashable {
  public var name: String
  public var entityName: String
  public var predicateText: String?

  public init(name: String, entityName: String, predicateText: String?) {
    self.name = name
    self.entityName = entityName
    self.predicateText = predicateText
  }
}

/// A fetch index, Core Data's `NSFetchIndexDescription`.
public struct FetchIndexDescription: Sendable, Hashable {
  public struct Element: Sendable, Hashable {
    /// The property, when the element indexes one.
    public var propertyName: String?
    /// The expression text, when it indexes an expression.
    public var expressionText: String?
    public var isRTree: Bool
    public var isAscending: Bool

    public init(
      propertyName: String?, expressionText: String?, isRTree: Bool, isAscending: Bool
    ) {
      self.propertyName = propertyName
      self.expressionText = expressionText
      self.isRTree = isRTree
      self.isAscending = isAscending
    }
  }

  public var name: String
  public var elements: [Element]
  public var partialPredicateText: String?

  public init(name: String, elements: [Element], partialPredicateText: String? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicateText = partialPredicateText
  }
}

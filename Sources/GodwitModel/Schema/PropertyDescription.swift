/// An attribute as its model declares it, Core Data's `NSAttributeDescription`.
public struct AttributeDescription: Sendable, Hashable {
  /// The attribute's name.
  public var name: String
  /// The type of the attribute's values.
  public var type: AttributeType
  /// Whether nil is valid.
  public var isOptional: Bool
  /// Whether a store leaves the attribute out.
  package var isTransient = false
  /// The value of new objects if no mapping sets the attribute; `.null` if the model gives none.
  public var defaultValue = AttributeValue.null
  /// Limits on numbers and dates (seconds since 2001), inclusive. For strings: see `minimumLength`.
  package var minimumValue: AttributeValue?
  /// The largest valid number or date, inclusive; nil for no limit.
  package var maximumValue: AttributeValue?
  /// Limits on the length of a string, in UTF-16 code units as `NSString.length` counts them.
  package var minimumLength: Int?
  /// The largest valid length of a string, in UTF-16 code units; nil for no limit.
  package var maximumLength: Int?
  /// An ICU regular expression that must match the whole string.
  package var regularExpression: String?
  /// Large values may live in files beside the store; each value carries a prefix byte.
  package var allowsExternalBinaryDataStorage = false
  /// Whether persistent history keeps the value of a deleted object.
  package var preservesValueInHistoryOnDeletion = false
  /// Whether CloudKit encrypts the value; it does not matter to a store.
  package var allowsCloudEncryption = false
  /// The name of the value transformer of a transformable attribute; nil for none.
  package var valueTransformerName: String?
  /// The name of the class of a transformable attribute's values; nil for none.
  package var customClassName: String?
  /// The old `indexed="YES"` of models before fetch indexes.
  package var isIndexed = false
  /// The text of the derivation expression, for a derived attribute.
  package var derivationExpression: String?
  /// The attributes that a composite attribute consists of, in declared order; empty for any other type.
  ///
  /// A store holds these and not the composite: see ``leaves``.
  package var elements: [AttributeDescription] = []
  /// The name that an Xcode model gives the type of a composite attribute; nil if it is unknown, as in a compiled
  /// model.
  ///
  /// The name labels the elements. Comparisons of attributes ignore it.
  package var compositeName: String? {
    get { label.value }
    set { label.value = newValue }
  }
  private var label = Derived(String?.none)
  /// A text that makes the version hash another one; nil for none.
  package var versionHashModifier: String?
  /// The name in the earlier version (`elementID`); nil when it is the same.
  package var renamingIdentifier: String?
  /// The attribute's user info, as the model file gives it.
  package var userInfo: [String: String] = [:]

  /// Whether a derivation expression gives the value.
  package var isDerived: Bool { derivationExpression != nil }

  /// An attribute without limits, default or options.
  package init(name: String, type: AttributeType, isOptional: Bool = true) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
  }
}

extension AttributeDescription {
  /// The attributes that a store holds for this one: the attribute itself, or for a composite one its elements in
  /// declared order, each under its path, such as `author.name`.
  ///
  /// A composite attribute is nil when all its leaves are. So a leaf of an optional composite is optional.
  package var leaves: [AttributeDescription] {
    guard type == .composite else { return [self] }
    return elements.flatMap(\.leaves).map { element in
      var leaf = element
      leaf.name = "\(name).\(element.name)"
      leaf.isOptional = element.isOptional || isOptional
      leaf.isTransient = element.isTransient || isTransient
      if renamingIdentifier != nil || element.renamingIdentifier != nil {
        leaf.renamingIdentifier = "\(renamingIdentifier ?? name).\(element.renamingIdentifier ?? element.name)"
      }
      return leaf
    }
  }

  /// The last part of the name: that of the element, for a leaf of a composite attribute.
  package var leafName: String { name.split(separator: ".").last.map(String.init) ?? name }
}

/// A relationship as its model declares it, Core Data's `NSRelationshipDescription`.
public struct RelationshipDescription: Sendable, Hashable {
  /// The effect of deleting an object on its related objects, Core Data's `NSDeleteRule`. A migration deletes
  /// nothing.
  package enum DeleteRule: String, Sendable, Hashable, CaseIterable {
    /// The related objects are not touched.
    case noAction = "No Action"
    /// The related objects no longer lead to the object.
    case nullify = "Nullify"
    /// The related objects are deleted too.
    case cascade = "Cascade"
    /// The object cannot be deleted while it leads to others.
    case deny = "Deny"
  }

  /// The relationship's name.
  public var name: String
  /// The name of the entity that the relationship leads to.
  public var destinationEntityName: String
  /// The relationship on the destination that is kept consistent; nil without one.
  public var inverseName: String?
  /// The entity that declares the inverse, as the model file says; usually the destination.
  package var inverseEntityName: String?
  /// Whether it is valid to lead to no object.
  public var isOptional: Bool
  /// Whether a store leaves the relationship out.
  package var isTransient = false
  /// Whether it leads to any number of objects.
  public var isToMany: Bool
  /// Whether the related objects have an order.
  public var isOrdered = false
  /// As in the file: 0 when absent.
  package var minCount = 0
  /// As in the file: 0 for unbounded, 1 for to-one.
  package var maxCount: Int
  /// The effect of deleting an object on its related objects.
  package var deleteRule = DeleteRule.nullify
  /// A text that makes the version hash another one; nil for none.
  package var versionHashModifier: String?
  /// The name in the earlier version (`elementID`); nil when it is the same.
  package var renamingIdentifier: String?
  /// The relationship's user info, as the model file gives it.
  package var userInfo: [String: String] = [:]
  /// For a to-many without an inverse, the to-one that a SQLite store holds in its place; its model gives it.
  package internal(set) var storedInverseName = Derived(String?.none)
  /// Whether it is such a to-one: no property of the model.
  package internal(set) var isUnnamedInverse = Derived(false)

  /// Whether an object without a related object is invalid.
  ///
  /// A required to-many without a minimum may be empty: only `minCount` says how few objects are too few.
  package var requiresObject: Bool { !isOptional && (!isToMany || minCount > 0) }

  /// A relationship. A to-one gets `maxCount` 1.
  package init(
    name: String, destinationEntityName: String, inverseName: String? = nil,
    isToMany: Bool = false, isOptional: Bool = true
  ) {
    self.name = name
    self.destinationEntityName = destinationEntityName
    self.inverseName = inverseName
    inverseEntityName = inverseName == nil ? nil : destinationEntityName
    self.isOptional = isOptional
    self.isToMany = isToMany
    maxCount = isToMany ? 0 : 1
  }
}

/// A fetched property: a stored query, with no storage of its own.
package struct FetchedPropertyDescription: Sendable, Hashable {
  /// The fetched property's name.
  package var name: String
  /// Whether the model calls it optional.
  package var isOptional: Bool
  /// The query; nil when the model file gives none.
  package var fetchRequest: FetchRequestTemplate?
  /// The property's user info, as the model file gives it.
  package var userInfo: [String: String] = [:]

  package init(name: String, isOptional: Bool, fetchRequest: FetchRequestTemplate?) {
    self.name = name
    self.isOptional = isOptional
    self.fetchRequest = fetchRequest
  }
}

/// A named fetch request of a model.
package struct FetchRequestTemplate: Sendable, Hashable {
  /// The request's name.
  package var name: String
  /// The name of the entity that is fetched.
  package var entityName: String
  /// The predicate as the model file gives it; nil takes every object.
  package var predicateText: String?

  package init(name: String, entityName: String, predicateText: String?) {
    self.name = name
    self.entityName = entityName
    self.predicateText = predicateText
  }
}

/// A fetch index, Core Data's `NSFetchIndexDescription`.
package struct FetchIndexDescription: Sendable, Hashable {
  /// One property or expression of an index.
  package struct Element: Sendable, Hashable {
    /// The property, when the element indexes one.
    package var propertyName: String?
    /// The expression's text, when the element indexes an expression.
    package var expressionText: String?
    /// Whether the element is of an R-tree index (`rtree`) rather than a binary one.
    package var isRTree: Bool
    /// Whether the element is sorted upwards.
    package var isAscending: Bool

    /// An element of an index. Give a property or an expression.
    package init(
      propertyName: String?, expressionText: String?, isRTree: Bool, isAscending: Bool
    ) {
      self.propertyName = propertyName
      self.expressionText = expressionText
      self.isRTree = isRTree
      self.isAscending = isAscending
    }
  }

  /// The index's name.
  package var name: String
  /// The indexed elements, in order.
  package var elements: [Element]
  /// Restricts the index to some objects, as the model file says; nil for all.
  package var partialPredicateText: String?

  package init(name: String, elements: [Element], partialPredicateText: String? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicateText = partialPredicateText
  }
}

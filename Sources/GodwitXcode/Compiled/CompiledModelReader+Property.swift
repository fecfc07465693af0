import Foundation
import GodwitModel

extension CompiledModelReader {
  private static let propertyKeys: Set<String> = [
    "NSPropertyName", "NSEntity", "NSIsOptional", "NSIsTransient", "NSIsReadOnly", "NSIsIndexed",
    "NSIndexedBySpotlight", "NSRenamingIdentifier", "NSVersionHashModifier", "NSUserInfo", "NSValidationPredicates",
    "NSValidationWarnings", "_P",
  ]
  private static let attributeKeys = propertyKeys.union([
    "NSAttributeType", "NSAttributeValueClassName", "NSDefaultValue", "NSValueTransformerName", "NSFlagsKey",
    "NSAllowsCloudEncryption",
  ])
  private static let derivedAttributeKeys = attributeKeys.union(["NSDerivationExpression", "NSFilteringPredicate"])
  private static let compositeAttributeKeys = attributeKeys.union(["NSCompositeElements"])
  /// The greatest depth of composite attributes inside each other.
  private static let compositeDepthMaximum = 20
  private static let relationshipKeys = propertyKeys.union([
    "NSDestinationEntity", "_NSDestinationEntityName", "NSInverseRelationship", "_NSInverseRelationshipName",
    "NSMaxCount", "NSMinCount", "NSDeleteRule", "NSIsOrdered",
  ])
  private static let fetchedPropertyKeys = propertyKeys.union(["NSFetchRequest", "_NSFetchRequestEntityName"])

  private mutating func name(of object: KeyedArchive.Object, key: String, at place: String) throws -> String {
    let name = try required("NSPropertyName", of: object)
    guard name == key else { throw problem("\(place) has the name '\(name)'") }
    return name
  }

  /// Checks class and keys of a property. The model that a store carries may be of a later framework: what is unknown in
  /// it is named, and the rest read.
  private mutating func checkProperty(
    _ object: KeyedArchive.Object, is className: String, keys: Set<String>, at place: String
  ) throws {
    guard allowsOmissions else { return try check(object, is: className, keys: keys, at: place) }
    if object.className != className {
      try omit("the unknown class '\(object.className)' at \(place), which is read as '\(className)'")
    }
    for key in object.keys where !keys.contains(key) {
      try omit("the unknown key '\(key)' of class '\(object.className)' at \(place)")
    }
  }

  // MARK: Attributes

  mutating func attribute(
    _ object: KeyedArchive.Object, key: String, at place: String, depth: Int = 0
  ) throws -> AttributeDescription {
    let isDerived = object.className == "NSDerivedAttributeDescription"
    let isComposite = object.className == "NSCompositeAttributeDescription"
    let name = isDerived || isComposite ? object.className : "NSAttributeDescription"
    let keys =
      isDerived ? Self.derivedAttributeKeys : isComposite ? Self.compositeAttributeKeys : Self.attributeKeys
    try checkProperty(object, is: name, keys: keys, at: place)
    let number = try integer("NSAttributeType", of: object) ?? 0
    guard let type = AttributeType(rawValue: number), (type == .composite) == isComposite else {
      throw problem("unknown value \(number) of key 'NSAttributeType' at \(place)")
    }
    var attribute = AttributeDescription(
      name: try self.name(of: object, key: key, at: place), type: type,
      isOptional: try flag("NSIsOptional", of: object))
    attribute.isTransient = try flag("NSIsTransient", of: object)
    if try !isDerived && flag("NSIsReadOnly", of: object) {
      throw problem("unknown value of key 'NSIsReadOnly' at \(place): read-only attributes are not supported")
    }
    attribute.isIndexed = try flag("NSIsIndexed", of: object)
    let flags = try integer("NSFlagsKey", of: object) ?? 0
    if flags & ~20 != 0 {
      guard allowsOmissions else { throw problem("unknown value \(flags) of key 'NSFlagsKey' at \(place)") }
      try omit("the unknown part \(flags & ~20) of key 'NSFlagsKey' at \(place)")
    }
    attribute.allowsExternalBinaryDataStorage = flags & 4 != 0
    attribute.preservesValueInHistoryOnDeletion = flags & 16 != 0
    attribute.allowsCloudEncryption = try flag("NSAllowsCloudEncryption", of: object)
    attribute.valueTransformerName = try nonEmpty("NSValueTransformerName", of: object)
    if type == .transformable {
      let className = try nonEmpty("NSAttributeValueClassName", of: object)
      attribute.customClassName = className == "NSObject" ? nil : className
    }
    attribute.versionHashModifier = try nonEmpty("NSVersionHashModifier", of: object)
    let renaming = try nonEmpty("NSRenamingIdentifier", of: object)
    attribute.renamingIdentifier = renaming == attribute.name ? nil : renaming
    attribute.userInfo = try userInfo(of: object, at: place)
    if isDerived { attribute.derivationExpression = try derivation(of: object, at: place) }
    if isComposite {
      try readElements(of: object, into: &attribute, at: place, depth: depth)
      return attribute
    }
    let value = try archive.value("NSDefaultValue", of: object)
    if let known = try archive.attributeValue(value, type: type) {
      attribute.defaultValue = known
    } else if type == .boolean, let found = try archive.number(value) {
      attribute.defaultValue = .boolean(found.decimal != 0)
      replace("the default value at \(place) is a number and is read as \(found.decimal != 0 ? "YES" : "NO")")
    } else {
      // Xcode keeps a default value when the type is changed; no hash covers it.
      replace(
        "the default value at \(place) (key 'NSDefaultValue') does not fit the type \(type.xcodeName) and is left out")
    }
    try readLimits(of: object, into: &attribute, at: place)
    return attribute
  }

  /// The elements in their order, each with its part of the composite's default value.
  private mutating func readElements(
    of object: KeyedArchive.Object, into attribute: inout AttributeDescription, at place: String, depth: Int
  ) throws {
    guard depth < Self.compositeDepthMaximum else {
      throw problem("expected at most \(Self.compositeDepthMaximum) composite attributes in each other at \(place)")
    }
    let elements = try objects("NSCompositeElements", of: object)
    try count(elements.count)
    for element in elements {
      let name = try required("NSPropertyName", of: element)
      guard !attribute.elements.contains(where: { $0.name == name }) else {
        throw problem("\(place) has two elements '\(name)'")
      }
      attribute.elements.append(
        try self.attribute(element, key: name, at: "'\(place.dropFirst().dropLast()).\(name)'", depth: depth + 1))
    }
    let value = try archive.value("NSDefaultValue", of: object)
    if case .null = value { return }
    guard case .object(let dictionary) = value, let entries = try? archive.entries(of: dictionary) else {
      replace("the default value at \(place) (key 'NSDefaultValue') is not a dictionary by names and is left out")
      return
    }
    for (key, value) in entries {
      guard let index = attribute.elements.firstIndex(where: { $0.name == key }),
        let known = try archive.attributeValue(value, type: attribute.elements[index].type)
      else {
        replace("'\(key)' of the default value at \(place) fits no element and is left out")
        continue
      }
      attribute.elements[index].defaultValue = known
    }
  }

  /// The text in the form of NSExpression, from which the version hash is computed.
  private mutating func derivation(of object: KeyedArchive.Object, at place: String) throws -> String {
    guard let found = try self.object("NSDerivationExpression", of: object) else {
      throw problem("expected an expression for key 'NSDerivationExpression' at \(place), found none")
    }
    guard try self.object("NSFilteringPredicate", of: object) == nil else {
      throw problem("a filter in key 'NSFilteringPredicate' at \(place) is not supported")
    }
    do { return "\(try expression(found))" } catch let error as UnknownExpression {
      throw problem("\(error.text) in key 'NSDerivationExpression' at \(place)")
    }
  }

  // MARK: Relationships and fetched properties

  mutating func relationship(
    _ object: KeyedArchive.Object, key: String, at place: String
  ) throws -> RelationshipDescription {
    try checkProperty(object, is: "NSRelationshipDescription", keys: Self.relationshipKeys, at: place)
    let destination = try self.object("NSDestinationEntity", of: object).map { try required("NSEntityName", of: $0) }
    let inverse = try self.object("NSInverseRelationship", of: object).map { try underlying($0) }
    let maxCount = try integer("NSMaxCount", of: object) ?? 0
    var relationship = RelationshipDescription(
      name: try name(of: object, key: key, at: place),
      destinationEntityName: try destination ?? required("_NSDestinationEntityName", of: object),
      inverseName: try inverse.map { try required("NSPropertyName", of: $0) }
        ?? nonEmpty("_NSInverseRelationshipName", of: object),
      isToMany: maxCount != 1, isOptional: try flag("NSIsOptional", of: object))
    if let inverse, let entity = try self.object("NSEntity", of: inverse) {
      relationship.inverseEntityName = try required("NSEntityName", of: entity)
    }
    relationship.maxCount = maxCount
    relationship.minCount = try integer("NSMinCount", of: object) ?? 0
    relationship.isTransient = try flag("NSIsTransient", of: object)
    relationship.isOrdered = try flag("NSIsOrdered", of: object)
    if try flag("NSIsReadOnly", of: object) || !objects("NSValidationPredicates", of: object).isEmpty {
      try omit("'NSIsReadOnly' or 'NSValidationPredicates' at \(place), which no relationship of Xcode's has,")
    }
    let rules: [RelationshipDescription.DeleteRule] = [.noAction, .nullify, .cascade, .deny]
    let rule = try integer("NSDeleteRule", of: object) ?? 1
    if rules.indices.contains(rule) {
      relationship.deleteRule = rules[rule]
    } else {
      replace("unknown value \(rule) of key 'NSDeleteRule' at \(place): it is read as Nullify")
    }
    relationship.versionHashModifier = try nonEmpty("NSVersionHashModifier", of: object)
    let renaming = try nonEmpty("NSRenamingIdentifier", of: object)
    relationship.renamingIdentifier = renaming == relationship.name ? nil : renaming
    relationship.userInfo = try userInfo(of: object, at: place)
    return relationship
  }

  /// The property that a proxy represents.
  private mutating func underlying(_ object: KeyedArchive.Object) throws -> KeyedArchive.Object {
    guard object.className == "_NSPropertyDescriptionProxy" else { return object }
    guard let property = try self.object("NSUnderlyingProperty", of: object) else {
      throw problem("expected a property for key 'NSUnderlyingProperty' of class '\(object.className)', found none")
    }
    return property
  }

  mutating func fetchedProperty(
    _ object: KeyedArchive.Object, key: String, at place: String
  ) throws -> FetchedPropertyDescription {
    try check(object, is: "NSFetchedPropertyDescription", keys: Self.fetchedPropertyKeys, at: place)
    var property = FetchedPropertyDescription(
      name: try name(of: object, key: key, at: place), isOptional: try flag("NSIsOptional", of: object),
      // The name that Xcode gives the request of a fetched property.
      fetchRequest: try self.object("NSFetchRequest", of: object).flatMap {
        try fetchRequest($0, name: "fetchedPropertyFetchRequest")
      })
    property.userInfo = try userInfo(of: object, at: place)
    return property
  }
}

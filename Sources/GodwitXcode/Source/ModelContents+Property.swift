import GodwitModel

extension ModelContents {
  // MARK: Attributes

  /// - Parameter owner: The entity or composite type, as remarks name it.
  func attribute(
    _ element: MarkupElement, of owner: String, composites: CompositeTypes
  ) throws -> AttributeDescription {
    try check(element, attributes: Self.attributeAttributes, children: ["userInfo"])
    let name = try required("name", of: element)
    let isTransient = try flag("transient", of: element)
    var type = AttributeType.undefined
    if let spelling = element.attribute("attributeType") {
      let types = AttributeType.allCases.map(\.xcodeName)
      if let known = AttributeType(xcodeName: spelling.value) {
        type = known
      } else {
        // No store and no hash has a transient attribute.
        guard isTransient else { throw unknown("attribute type", spelling.value, among: types, at: spelling) }
        ignoreValue(spelling, of: element, among: types, for: "no type")
      }
    }
    var attribute = AttributeDescription(name: name, type: type, isOptional: try flag("optional", of: element))
    attribute.isTransient = isTransient
    if type == .undefined, !attribute.isTransient {
      throw problem("attribute '\(name)' has no type, which only a transient one may lack", at: element)
    }
    if let composite = element.attribute("composite") {
      guard let elements = composites.elements[composite.value] else {
        throw unknown("composite type", composite.value, among: composites.elements.keys.sorted(), at: composite)
      }
      attribute.compositeName = composite.value
      attribute.elements = elements
    }
    if (type == .composite) != (attribute.compositeName != nil) {
      throw problem(
        "attribute '\(name)' must have both the type Composite and a composite type, or neither", at: element)
    }
    attribute.isIndexed = note("indexed", of: element)
    attribute.allowsExternalBinaryDataStorage = try flag("allowsExternalBinaryDataStorage", of: element)
    attribute.preservesValueInHistoryOnDeletion = try flag("preserveAfterDeletion", of: element)
    attribute.allowsCloudEncryption = note("allowsCloudEncryption", of: element)
    attribute.valueTransformerName = nonEmpty("valueTransformerName", of: element)
    attribute.customClassName = nonEmpty("customClassName", of: element)
    attribute.regularExpression = nonEmpty("regularExpressionString", of: element)
    attribute.versionHashModifier = nonEmpty("versionHashModifier", of: element)
    attribute.renamingIdentifier = nonEmpty("elementID", of: element)
    if try flag("derived", of: element) {
      attribute.derivationExpression = try required("derivationExpression", of: element)
    }
    readDefault(of: element, owner: owner, into: &attribute)
    readLimits(of: element, owner: owner, into: &attribute)
    checkPattern(of: attribute, owner, element)
    for child in element.children { attribute.userInfo = try userInfo(child) }
    return attribute
  }

  // MARK: Relationships and fetched properties

  func relationship(_ element: MarkupElement) throws -> RelationshipDescription {
    try check(element, attributes: Self.relationshipAttributes, children: ["userInfo"])
    let isToMany = try flag("toMany", of: element)
    var relationship = RelationshipDescription(
      name: try required("name", of: element),
      destinationEntityName: try required("destinationEntity", of: element),
      inverseName: nonEmpty("inverseName", of: element), isToMany: isToMany,
      isOptional: try flag("optional", of: element))
    relationship.inverseEntityName =
      relationship.inverseName.flatMap { _ in nonEmpty("inverseEntity", of: element) }
      ?? relationship.inverseEntityName
    relationship.isTransient = try flag("transient", of: element)
    relationship.isOrdered = try flag("ordered", of: element)
    relationship.minCount = try count("minCount", of: element) ?? 0
    relationship.maxCount = try count("maxCount", of: element) ?? relationship.maxCount
    if !isToMany, let maximum = element.attribute("maxCount"), relationship.maxCount != 1 {
      throw problem("expected a 'maxCount' of 1 without toMany=\"YES\", found '\(maximum.value)'", at: maximum)
    }
    let rules = RelationshipDescription.DeleteRule.allCases.map(\.rawValue)
    let rule = word("deletionRule", of: element, from: rules, default: relationship.deleteRule.rawValue)
    relationship.deleteRule = .init(rawValue: rule) ?? relationship.deleteRule
    relationship.versionHashModifier = nonEmpty("versionHashModifier", of: element)
    relationship.renamingIdentifier = nonEmpty("elementID", of: element)
    for child in element.children { relationship.userInfo = try userInfo(child) }
    return relationship
  }

  func fetchedProperty(_ element: MarkupElement) throws -> FetchedPropertyDescription {
    try check(element, attributes: Self.propertyAttributes, children: ["fetchRequest", "userInfo"])
    var property = FetchedPropertyDescription(
      name: try required("name", of: element), isOptional: note("optional", of: element),
      fetchRequest: try element.children(named: "fetchRequest").first.map(fetchRequest))
    for child in element.children(named: "userInfo") { property.userInfo = try userInfo(child) }
    return property
  }
}

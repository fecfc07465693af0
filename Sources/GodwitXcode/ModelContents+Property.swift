import Foundation
import GodwitModel

extension ModelContents {
  // MARK: Attributes

  func attribute(_ element: MarkupElement, composites: Set<String>) throws -> AttributeDescription {
    try check(element, attributes: Self.attributeAttributes, children: ["userInfo"])
    let name = try required("name", of: element)
    var type = AttributeType.undefined
    if let spelling = element.attribute("attributeType") {
      guard let known = AttributeType(xcodeName: spelling.value) else {
        throw unknown("attribute type", spelling.value, among: AttributeType.allCases.map(\.xcodeName), at: spelling)
      }
      type = known
    }
    var attribute = AttributeDescription(name: name, type: type, isOptional: try flag("optional", of: element))
    attribute.isTransient = try flag("transient", of: element)
    if type == .undefined, !attribute.isTransient {
      throw problem("attribute '\(name)' has no type, which only a transient one may lack", at: element)
    }
    if let composite = element.attribute("composite") {
      guard composites.contains(composite.value) else {
        throw unknown("composite type", composite.value, among: composites.sorted(), at: composite)
      }
      attribute.compositeName = composite.value
    }
    if (type == .composite) != (attribute.compositeName != nil) {
      throw problem(
        "attribute '\(name)' must have both the type Composite and a composite type, or neither", at: element)
    }
    attribute.isIndexed = try flag("indexed", of: element)
    attribute.allowsExternalBinaryDataStorage = try flag("allowsExternalBinaryDataStorage", of: element)
    attribute.preservesValueInHistoryOnDeletion = try flag("preserveAfterDeletion", of: element)
    attribute.valueTransformerName = nonEmpty("valueTransformerName", of: element)
    attribute.customClassName = nonEmpty("customClassName", of: element)
    attribute.regularExpression = nonEmpty("regularExpressionString", of: element)
    attribute.versionHashModifier = nonEmpty("versionHashModifier", of: element)
    attribute.renamingIdentifier = nonEmpty("elementID", of: element)
    if try flag("derived", of: element) {
      attribute.derivationExpression = try required("derivationExpression", of: element)
    }
    try readDefault(of: element, into: &attribute)
    try readLimits(of: element, into: &attribute)
    for child in element.children { attribute.userInfo = try userInfo(child) }
    return attribute
  }

  private func readDefault(of element: MarkupElement, into attribute: inout AttributeDescription) throws {
    if let text = element.attribute("defaultValueString") {
      attribute.defaultValue = try value(text, type: attribute.type)
    }
    if let text = element.attribute("defaultDateTimeInterval") {
      guard attribute.type == .date else {
        throw problem("'\(text.name)' needs the type Date, found \(attribute.type.xcodeName)", at: text)
      }
      attribute.defaultValue = .date(try number(text))
    }
  }

  private func readLimits(of element: MarkupElement, into attribute: inout AttributeDescription) throws {
    for (key, isMinimum) in [("minValueString", true), ("maxValueString", false)] {
      guard let text = element.attribute(key) else { continue }
      if attribute.type == .string {
        let length = try integer(text)
        guard let length = Int(exactly: length), length >= 0 else {
          throw problem("expected a length for '\(key)', found '\(text.value)'", at: text)
        }
        if isMinimum { attribute.minimumLength = length } else { attribute.maximumLength = length }
      } else {
        guard attribute.type.isNumeric else {
          throw problem("'\(key)' needs a number or a string, found \(attribute.type.xcodeName)", at: text)
        }
        let limit: AttributeValue =
          attribute.type.isInteger ? .integer(try integer(text)) : try value(text, type: attribute.type)
        if isMinimum { attribute.minimumValue = limit } else { attribute.maximumValue = limit }
      }
    }
    for (key, isMinimum) in [("minDateTimeInterval", true), ("maxDateTimeInterval", false)] {
      guard let text = element.attribute(key) else { continue }
      guard attribute.type == .date else {
        throw problem("'\(key)' needs the type Date, found \(attribute.type.xcodeName)", at: text)
      }
      let limit = AttributeValue.date(try number(text))
      if isMinimum { attribute.minimumValue = limit } else { attribute.maximumValue = limit }
    }
  }

  // MARK: Values

  private func value(_ text: MarkupElement.Attribute, type: AttributeType) throws -> AttributeValue {
    switch type {
    case .string: return .string(Text(text.value))
    case .uri: return .uri(Text(text.value))
    case .boolean:
      switch text.value {
      case "YES", "true", "1": return .boolean(true)
      case "NO", "false", "0": return .boolean(false)
      default: throw problem("expected YES or NO for '\(text.name)', found '\(text.value)'", at: text)
      }
    case .integer16, .integer32, .integer64:
      let value = try integer(text)
      guard type.integerRange?.contains(value) == true else {
        throw problem("'\(text.name)' \(text.value) does not fit the type \(type.xcodeName)", at: text)
      }
      return .integer(value)
    case .double, .float: return .double(try number(text))
    case .decimal:
      guard Self.isNumber(text.value), let decimal = Decimal(string: text.value), decimal.isFinite else {
        throw problem("expected a number for '\(text.name)', found '\(text.value)'", at: text)
      }
      return .decimal(decimal)
    case .date: return .date(try number(text))
    case .uuid:
      guard let uuid = UUID(uuidString: text.value) else {
        throw problem("expected a UUID for '\(text.name)', found '\(text.value)'", at: text)
      }
      return .uuid(uuid)
    case .undefined, .binary, .transformable, .objectID, .composite:
      throw problem("'\(text.name)' cannot be given for the type \(type.xcodeName)", at: text)
    }
  }

  /// A whole number, also when written with a fraction of zero.
  private func integer(_ text: MarkupElement.Attribute) throws -> Int64 {
    if let value = Int64(text.value) { return value }
    guard Self.isNumber(text.value), let double = Double(text.value), let value = Int64(exactly: double) else {
      throw problem("expected a whole number for '\(text.name)', found '\(text.value)'", at: text)
    }
    return value
  }

  private func number(_ text: MarkupElement.Attribute) throws -> Double {
    guard Self.isNumber(text.value), let value = Double(text.value), value.isFinite else {
      throw problem("expected a number for '\(text.name)', found '\(text.value)'", at: text)
    }
    return value
  }

  /// Whether the text is a decimal number: Swift also reads hexadecimal, `inf` and `nan`, which Xcode never writes.
  private static func isNumber(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) } && Double(text) != nil
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
    if let rule = element.attribute("deletionRule") {
      guard let known = RelationshipDescription.DeleteRule(rawValue: rule.value) else {
        throw unknown(
          "deletion rule", rule.value, among: RelationshipDescription.DeleteRule.allCases.map(\.rawValue), at: rule)
      }
      relationship.deleteRule = known
    }
    relationship.versionHashModifier = nonEmpty("versionHashModifier", of: element)
    relationship.renamingIdentifier = nonEmpty("elementID", of: element)
    for child in element.children { relationship.userInfo = try userInfo(child) }
    return relationship
  }

  func fetchedProperty(_ element: MarkupElement) throws -> FetchedPropertyDescription {
    try check(element, attributes: Self.propertyAttributes, children: ["fetchRequest", "userInfo"])
    var property = FetchedPropertyDescription(
      name: try required("name", of: element), isOptional: try flag("optional", of: element),
      fetchRequest: try element.children(named: "fetchRequest").first.map(fetchRequest))
    for child in element.children(named: "userInfo") { property.userInfo = try userInfo(child) }
    return property
  }
}

import Foundation
package import GodwitModel

extension ManagedObjectModel {
  /// The model as the `contents` file of a `.xcdatamodel`, which Xcode and `ModelBundle` read.
  ///
  /// Reading it again gives an equal model. Only the first of several version identifiers is written.
  package var xcodeContents: String { texts.contents { madeContents } }

  private static let mirrored: MarkupWriter.Attributes = [("usedWithCloudKit", "YES")]

  private var madeContents: String {
    var out = MarkupWriter(composites: CompositeNames(of: self))
    let isMirrored = !entities.isEmpty && entities.allSatisfy { cloudKitEntities.contains($0.name) }
    out.open(
      "model",
      [
        ("type", "com.apple.IDECoreDataModeler.DataModel"), ("documentVersion", "1.0"),
        ("userDefinedModelVersionIdentifier", versionIdentifiers.first ?? ""),
      ] + (isMirrored ? Self.mirrored : []))
    for entity in entities { out.write(entity) }
    for request in fetchRequestTemplates { out.write(request) }
    for (name, members) in configurations.sorted(by: { Text($0.key) < Text($1.key) }) {
      let isMirrored = !isMirrored && !members.isEmpty && cloudKitEntities.isSuperset(of: members)
      out.open("configuration", [("name", name)] + (isMirrored ? Self.mirrored : []))
      for member in members { out.empty("memberEntity", [("name", member)]) }
      out.close("configuration")
    }
    for (name, elements) in out.composites.types.sorted(by: { Text($0.key) < Text($1.key) }) {
      out.open("composite", [("name", name)])
      for element in elements { out.write(element) }
      out.close("composite")
    }
    out.close("model")
    return out.text
  }
}

/// The composite types of a model, which its file names and attributes refer to.
private struct CompositeNames {
  private(set) var types: [String: [AttributeDescription]] = [:]

  init(of model: ManagedObjectModel) {
    for attribute in model.entities.flatMap(\.attributes) { add(attribute) }
  }

  private mutating func add(_ attribute: AttributeDescription) {
    guard attribute.type == .composite else { return }
    types[name(of: attribute)] = attribute.elements
    for element in attribute.elements { add(element) }
  }

  /// The type's own name, or one after the attribute; with a number where that names other elements.
  func name(of attribute: AttributeDescription) -> String {
    let name = attribute.compositeName ?? attribute.name.prefix(1).uppercased() + attribute.name.dropFirst()
    var candidate = name
    var number = 1
    while let other = types[candidate], other != attribute.elements {
      number += 1
      candidate = name + String(number)
    }
    return candidate
  }
}

private struct MarkupWriter {
  let composites: CompositeNames
  var text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
  private var depth = 0

  init(composites: CompositeNames) { self.composites = composites }

  typealias Attributes = [(name: String, value: String?)]

  mutating func open(_ name: String, _ attributes: Attributes = []) {
    tag(name, attributes, end: ">")
    depth += 1
  }

  mutating func empty(_ name: String, _ attributes: Attributes) { tag(name, attributes, end: "/>") }

  mutating func close(_ name: String) {
    depth -= 1
    text += String(repeating: "    ", count: depth) + "</\(name)>\n"
  }

  private mutating func tag(_ name: String, _ attributes: Attributes, end: String) {
    text += String(repeating: "    ", count: depth) + "<" + name
    for (name, value) in attributes {
      if let value { text += " \(name)=\"\(Self.escaped(value))\"" }
    }
    text += end + "\n"
  }

  private static func escaped(_ value: String) -> String {
    var result = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\n", "\r", "\t": result += "&#\(scalar.value);"
      default: result.unicodeScalars.append(scalar.value < 0x20 ? "\u{FFFD}" : scalar)
      }
    }
    return result
  }

  // MARK: The parts of a model

  mutating func write(_ entity: EntityDescription) {
    open(
      "entity",
      [
        ("name", entity.name), ("representedClassName", entity.managedObjectClassName),
        ("parentEntity", entity.superentityName), ("isAbstract", Self.flag(entity.isAbstract)),
        ("elementID", entity.renamingIdentifier), ("versionHashModifier", entity.versionHashModifier),
      ])
    for attribute in entity.attributes { write(attribute) }
    for relationship in entity.relationships { write(relationship) }
    for property in entity.fetchedProperties {
      open("fetchedProperty", [("name", property.name), ("optional", Self.flag(property.isOptional))])
      if let request = property.fetchRequest { write(request) }
      write(userInfo: property.userInfo)
      close("fetchedProperty")
    }
    for index in entity.fetchIndexes {
      open("fetchIndex", [("name", index.name), ("partialIndexPredicate", index.partialPredicateText)])
      for element in index.elements {
        empty(
          "fetchIndexElement",
          [
            ("property", element.propertyName), ("expression", element.expressionText),
            ("type", element.isRTree ? "RTree" : "Binary"),
            ("order", element.isAscending ? "ascending" : "descending"),
          ])
      }
      close("fetchIndex")
    }
    write(lists: entity.uniquenessConstraints, "uniquenessConstraints", "uniquenessConstraint", "constraint")
    write(lists: entity.compoundIndexes, "compoundIndexes", "compoundIndex", "index")
    write(userInfo: entity.userInfo)
    close("entity")
  }

  mutating func write(_ attribute: AttributeDescription) {
    var (value, date): (String?, String?) = (Self.text(attribute.defaultValue), nil)
    if case .date = attribute.defaultValue { swap(&value, &date) }
    let isDate = attribute.type == .date
    let minimum = attribute.minimumValue.flatMap(Self.text)
    let maximum = attribute.maximumValue.flatMap(Self.text)
    let attributes: Attributes = [
      ("name", attribute.name), ("optional", Self.flag(attribute.isOptional)),
      ("transient", Self.flag(attribute.isTransient)),
      ("attributeType", attribute.type == .undefined ? nil : attribute.type.xcodeName),
      ("composite", attribute.type == .composite ? composites.name(of: attribute) : nil),
      ("indexed", Self.flag(attribute.isIndexed)),
      ("derived", Self.flag(attribute.isDerived)), ("derivationExpression", attribute.derivationExpression),
      ("defaultValueString", value), ("defaultDateTimeInterval", date),
      ("minValueString", attribute.minimumLength.map(String.init) ?? (isDate ? nil : minimum)),
      ("maxValueString", attribute.maximumLength.map(String.init) ?? (isDate ? nil : maximum)),
      ("minDateTimeInterval", isDate ? minimum : nil), ("maxDateTimeInterval", isDate ? maximum : nil),
      ("regularExpressionString", attribute.regularExpression),
      ("valueTransformerName", attribute.valueTransformerName), ("customClassName", attribute.customClassName),
      ("allowsExternalBinaryDataStorage", Self.flag(attribute.allowsExternalBinaryDataStorage)),
      ("preserveAfterDeletion", Self.flag(attribute.preservesValueInHistoryOnDeletion)),
      ("allowsCloudEncryption", Self.flag(attribute.allowsCloudEncryption)),
      ("elementID", attribute.renamingIdentifier), ("versionHashModifier", attribute.versionHashModifier),
    ]
    write(element: "attribute", attributes, userInfo: attribute.userInfo)
  }

  mutating func write(_ relationship: RelationshipDescription) {
    let attributes: Attributes = [
      ("name", relationship.name), ("optional", Self.flag(relationship.isOptional)),
      ("transient", Self.flag(relationship.isTransient)), ("toMany", Self.flag(relationship.isToMany)),
      ("minCount", relationship.minCount == 0 ? nil : "\(relationship.minCount)"),
      ("maxCount", relationship.maxCount <= 0 ? nil : "\(relationship.maxCount)"),
      ("ordered", Self.flag(relationship.isOrdered)), ("deletionRule", relationship.deleteRule.rawValue),
      ("destinationEntity", relationship.destinationEntityName), ("inverseName", relationship.inverseName),
      ("inverseEntity", relationship.inverseEntityName), ("elementID", relationship.renamingIdentifier),
      ("versionHashModifier", relationship.versionHashModifier),
    ]
    write(element: "relationship", attributes, userInfo: relationship.userInfo)
  }

  mutating func write(_ request: FetchRequestTemplate) {
    empty(
      "fetchRequest",
      [("name", request.name), ("entity", request.entityName), ("predicateString", request.predicateText)])
  }

  private mutating func write(element name: String, _ attributes: Attributes, userInfo: [String: String]) {
    guard !userInfo.isEmpty else { return empty(name, attributes) }
    open(name, attributes)
    write(userInfo: userInfo)
    close(name)
  }

  private mutating func write(userInfo: [String: String]) {
    guard !userInfo.isEmpty else { return }
    open("userInfo")
    for (key, value) in userInfo.sorted(by: { Text($0.key) < Text($1.key) }) {
      empty("entry", [("key", key), ("value", value)])
    }
    close("userInfo")
  }

  private mutating func write(lists: [[String]], _ group: String, _ item: String, _ entry: String) {
    guard !lists.isEmpty else { return }
    open(group)
    for list in lists {
      open(item)
      for name in list { empty(entry, [("value", name)]) }
      close(item)
    }
    close(group)
  }

  private static func flag(_ value: Bool) -> String? { value ? "YES" : nil }

  /// Nil for values that Xcode's format cannot hold: a missing value, and bytes.
  private static func text(_ value: AttributeValue) -> String? {
    switch value {
    case .null, .data: nil
    case .boolean(let value): value ? "YES" : "NO"
    case .integer(let value): "\(value)"
    case .decimal(let value): "\(value)"
    case .double(let value), .date(let value): "\(value)"
    case .string(let value), .uri(let value): value.string
    case .uuid(let value): value.uuidString
    }
  }
}

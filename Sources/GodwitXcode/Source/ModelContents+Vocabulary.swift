import GodwitModel

/// The words of the format, and the checks that each is known and well formed.
extension ModelContents {
  static let modelAttributes = [
    "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion", "sourceLanguage",
    "macOSVersion", "iOSVersion", "tvOSVersion", "watchOSVersion", "visionOSVersion", "name",
    "userDefinedModelVersionIdentifier", "usedWithCloudKit", "usedWithSwiftData",
  ]
  static let modelChildren = ["entity", "fetchRequest", "configuration", "composite", "elements"]
  static let entityAttributes = [
    "name", "representedClassName", "parentEntity", "isAbstract", "elementID", "versionHashModifier", "syncable",
    "codeGenerationType", "coreSpotlightDisplayNameExpression",
  ]
  static let entityChildren = [
    "attribute", "relationship", "fetchedProperty", "userInfo", "fetchIndex", "uniquenessConstraints",
    "compoundIndexes",
  ]
  static let propertyAttributes = [
    "name", "optional", "transient", "indexed", "elementID", "versionHashModifier", "syncable",
    "spotlightIndexingEnabled", "storedInTruthFile",
  ]
  static let attributeAttributes =
    propertyAttributes + [
      "attributeType", "defaultValueString", "defaultDateTimeInterval", "minValueString", "maxValueString",
      "minDateTimeInterval", "maxDateTimeInterval", "regularExpressionString", "usesScalarValueType",
      "valueTransformerName", "customClassName", "allowsExternalBinaryDataStorage", "preserveAfterDeletion",
      "allowsCloudEncryption", "derived", "derivationExpression", "composite",
    ]
  static let relationshipAttributes =
    propertyAttributes + [
      "destinationEntity", "inverseName", "inverseEntity", "deletionRule", "toMany", "minCount", "maxCount",
      "ordered", "preserveAfterDeletion",
    ]
  static let fetchRequestAttributes = [
    "name", "entity", "predicateString", "fetchLimit", "fetchBatchSize", "resultType", "includeSubentities",
    "includesSubentities", "includePropertyValues", "includesPropertyValues", "includesPendingChanges",
    "returnObjectsAsFaults", "returnsObjectsAsFaults", "returnDistinctResults", "returnsDistinctResults",
    "syncable",
  ]

  // MARK: Checks

  func check(_ element: MarkupElement, attributes: [String], children: [String]) throws {
    for attribute in element.attributes where !attributes.contains(attribute.name) {
      ignore(attribute, of: element, among: attributes)
    }
    for child in element.children where !children.contains(child.name) {
      guard !Self.properties.contains(element.name) else {
        throw unknown("element", child.name, of: element, among: children, at: child)
      }
      remarks.ignore(
        "<\(element.name)>.<\(child.name)>",
        "the unknown element '\(child.name)' in <\(element.name)>"
          + Spelling.suggestion(for: child.name, among: children),
        location(child.line, child.column))
    }
    guard element.text.allSatisfy(\.isWhitespace) else {
      if MarkupReader.hasConflictMarker(element.text) {
        throw problem("<\(element.name)> holds the conflict markers of an unfinished merge", at: element)
      }
      throw problem("expected no text inside <\(element.name)>, found some", at: element)
    }
  }

  private static let properties: Set<String> = ["attribute", "relationship", "fetchedProperty"]

  /// Xcode's compiler passes over an attribute that it does not know.
  private func ignore(_ attribute: MarkupElement.Attribute, of element: MarkupElement, among known: [String]) {
    let place = location(attribute.line, attribute.column)
    guard attribute.name == "renamingIdentifier", known.contains("elementID") else {
      return remarks.ignore(
        "<\(element.name)>.\(attribute.name)",
        "the unknown attribute '\(attribute.name)' of <\(element.name)>"
          + Spelling.suggestion(for: attribute.name, among: known), place)
    }
    remarks.list.append(
      ModelRemark(
        "'renamingIdentifier' of <\(element.name)> '\(element["name"] ?? "")' is ignored: Core Data does not rename here: write elementID",
        location: place, ignoredWord: (element["name"] ?? "") + ".renamingIdentifier"))
  }

  /// The value of an attribute that must be there and not be empty.
  func required(_ name: String, of element: MarkupElement) throws -> String {
    guard let attribute = element.attribute(name) else {
      throw problem("expected attribute '\(name)' in <\(element.name)>, found none", at: element)
    }
    guard !attribute.value.isEmpty else {
      throw problem("expected a value of '\(name)', found an empty one", at: attribute)
    }
    return attribute.value
  }

  func nonEmpty(_ name: String, of element: MarkupElement) -> String? {
    element[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  func flag(_ name: String, of element: MarkupElement) throws -> Bool {
    try choice(name, of: element, from: ["YES", "NO"], default: "NO") == "YES"
  }

  func choice(
    _ name: String, of element: MarkupElement, from choices: [String], default value: String
  ) throws -> String {
    guard let attribute = element.attribute(name) else { return value }
    guard choices.contains(attribute.value) else {
      throw problem(
        "expected \(choices.joined(separator: " or ")) for '\(name)', found '\(attribute.value)'", at: attribute)
    }
    return attribute.value
  }

  /// A word that the version hash does not contain. An unknown word is read as the default, with a remark.
  func word(_ name: String, of element: MarkupElement, from choices: [String], default value: String) -> String {
    guard let attribute = element.attribute(name) else { return value }
    if choices.contains(attribute.value) { return attribute.value }
    ignoreValue(attribute, of: element, among: choices, for: value)
    return value
  }

  /// A flag that the version hash does not contain.
  func note(_ name: String, of element: MarkupElement) -> Bool {
    word(name, of: element, from: ["YES", "NO"], default: "NO") == "YES"
  }

  func ignoreValue(
    _ attribute: MarkupElement.Attribute, of element: MarkupElement, among known: [String], for value: String
  ) {
    remarks.ignore(
      "<\(element.name)>.\(attribute.name)=\(attribute.value)",
      "the unknown value '\(attribute.value)' of '\(attribute.name)' in <\(element.name)>"
        + Spelling.suggestion(for: attribute.value, among: known),
      location(attribute.line, attribute.column), done: "is read as \(value)")
  }

  func count(_ name: String, of element: MarkupElement) throws -> Int? {
    guard let attribute = element.attribute(name) else { return nil }
    guard let value = Int32(attribute.value), value >= 0 else {
      throw problem("expected a count for '\(name)', found '\(attribute.value)'", at: attribute)
    }
    return Int(value)
  }

  // MARK: Complaints

  func problem(_ text: String, at element: MarkupElement) -> GodwitError {
    problem(text, line: element.line, column: element.column)
  }

  func problem(_ text: String, at attribute: MarkupElement.Attribute) -> GodwitError {
    problem(text, line: attribute.line, column: attribute.column)
  }

  func unknown(
    _ kind: String, _ name: String, of element: MarkupElement, among known: [String], at child: MarkupElement
  ) -> GodwitError {
    problem("unknown \(kind) '\(name)' in <\(element.name)>" + Spelling.suggestion(for: name, among: known), at: child)
  }

  func unknown(_ kind: String, _ name: String, among known: [String], at element: MarkupElement) -> GodwitError {
    problem("unknown \(kind) '\(name)'" + Spelling.suggestion(for: name, among: known), at: element)
  }

  func unknown(
    _ kind: String, _ name: String, among known: [String], at attribute: MarkupElement.Attribute
  ) -> GodwitError {
    problem("unknown \(kind) '\(name)'" + Spelling.suggestion(for: name, among: known), at: attribute)
  }

  func location(_ line: Int, _ column: Int) -> GodwitError.Location? {
    hasLines ? .init(file: file, line: line, column: column) : nil
  }

  private func problem(_ text: String, line: Int, column: Int) -> GodwitError {
    GodwitError(
      .missingInput, "cannot read model '\(modelName)': \(text)", location: location(line, column),
      context: hasLines ? nil : file, remedy: "correct the model in Xcode's editor")
  }
}

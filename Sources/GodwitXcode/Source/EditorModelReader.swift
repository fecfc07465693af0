package import GodwitModel

/// Turns a model as Xcode's editor archives it into a model: the `elements` file of a model that Xcode 3 saved, or
/// the copy inside an `xcmapping.xml`.
///
/// The archive is read as data and rewritten as the elements of a `contents` file, so that names, values and
/// limits are checked in one place. A copy may be older than its model: Xcode keeps the last refresh.
package struct EditorModelReader: ArchiveReader {
  var archive: KeyedArchive
  var expressionCount = 0
  let name: String
  private let origin: Origin
  private var remarks: [ModelRemark] = []

  private enum Origin {
    case mappingModel
    /// The path of the file.
    case elements(String)
  }

  /// Far more than any model has. The limits bound the work for a damaged file.
  static let valuesMaximum = 1_000_000
  static let entitiesMaximum = 1_000
  static let propertiesMaximum = 10_000
  private var propertyCount = 0

  func problem(_ text: String) -> GodwitError { Self.problem(text, name: name, origin: origin) }

  private static func problem(_ text: String, name: String, origin: Origin) -> GodwitError {
    switch origin {
    case .mappingModel:
      GodwitError(
        .missingInput, "cannot read the model '\(name)' inside the mapping model: \(text)",
        remedy: "give the .xcdatamodeld that the mapping model was made for")
    case .elements(let file):
      GodwitError(
        .missingInput, "cannot read model '\(name)': \(text)", context: file,
        remedy: "open the model in Xcode 4.3 or later, or give the .mom that was compiled from it")
    }
  }

  /// The copy of a model inside an `xcmapping.xml`.
  ///
  /// - Throws: code `.missingInput`.
  package static func read(embedded bytes: [UInt8], name: String) throws -> ManagedObjectModel {
    try read(bytes, name: name, origin: .mappingModel)
  }

  /// The `elements` file of a `.xcdatamodel` that Xcode 3 saved.
  ///
  /// - Throws: code `.missingInput`.
  package static func read(elements bytes: [UInt8], name: String, file: String) throws -> ManagedObjectModel {
    try read(bytes, name: name, origin: .elements(file))
  }

  private static func read(_ bytes: [UInt8], name: String, origin: Origin) throws -> ManagedObjectModel {
    let file = if case .elements(let file) = origin { file } else { "model '\(name)'" }
    let list = try PropertyListFile.read(bytes, file: file, maximumValues: valuesMaximum)
    do {
      var reader = EditorModelReader(archive: try KeyedArchive(list), name: name, origin: origin)
      let contents = ModelContents(file: file, modelName: name, hasLines: false)
      var model = try contents.model(reader.model())
      model.remarks += reader.remarks
      return model
    } catch let error as KeyedArchive.Malformed {
      throw problem(error.problem, name: name, origin: origin)
    }
  }

  // MARK: Elements

  private static func element(_ name: String, _ attributes: [(String, String?)]) -> MarkupElement {
    MarkupElement(
      name: name,
      attributes: attributes.compactMap { key, value in
        value.map { MarkupElement.Attribute(name: key, value: $0, line: 1, column: 1) }
      }, line: 1, column: 1)
  }

  private mutating func model() throws -> MarkupElement {
    let root = try archive.root()
    guard root.className == "XDPMModel", let package = try object("_xd_rootPackage", of: root) else {
      throw problem("expected a model of Xcode's editor, found the class '\(root.className)'")
    }
    var model = Self.element(
      "model", [("userDefinedModelVersionIdentifier", try text("_modelVersionIdentifier", of: root) ?? "")])
    let entities = try entries("XDBucketForClassesstorage", of: package)
    guard entities.count <= Self.entitiesMaximum else {
      throw problem("expected at most \(Self.entitiesMaximum) entities, found \(entities.count)")
    }
    for (key, value) in entities {
      guard case .object(let object) = value, object.className == "XDPMEntity" else {
        throw problem("entity '\(key)' is not an entity")
      }
      model.children.append(try entity(object, key: key))
    }
    model.children.sort { Text($0["name"] ?? "") < Text($1["name"] ?? "") }
    for (name, value) in try entries("_configurationsByName", of: root).sorted(by: { Text($0.key) < Text($1.key) }) {
      if let configuration = try configuration(value, name: name) { model.children.append(configuration) }
    }
    return model
  }

  /// A list of entities, or of their names; nil for the configuration of all entities and for one of another form.
  private mutating func configuration(_ value: KeyedArchive.Value, name: String) throws -> MarkupElement? {
    guard name != ManagedObjectModel.defaultConfigurationName, !name.isEmpty else { return nil }
    var result = Self.element("configuration", [("name", name)])
    guard case .object(let list) = value, KeyedArchive.isList(list) else {
      // It says which entities a store has, and is part of no hash.
      remarks.append(ModelRemark("the configuration '\(name)' is left out: its form is not known"))
      return nil
    }
    for member in try archive.members(of: list) {
      var entity = try archive.text(member)
      if case .object(let object) = member, object.className == "XDPMEntity" {
        entity = try required("_name", of: object)
      }
      guard let entity else {
        remarks.append(ModelRemark("the configuration '\(name)' is left out: its form is not known"))
        return nil
      }
      result.children.append(Self.element("memberEntity", [("name", entity)]))
    }
    return result
  }

  private mutating func entity(_ object: KeyedArchive.Object, key: String) throws -> MarkupElement {
    let values = try TaggedValues(of: object, in: &self)
    guard try required("_name", of: object) == key else { throw problem("entity '\(key)' has another name") }
    let parents = try objects("XDBucketForGeneralizationsstorage", of: object)
    guard parents.count <= 1 else { throw problem("entity '\(key)' has several parents") }
    var parent: String?
    if let link = parents.first {
      // One whose parent was removed is left in the file, and names no entity.
      parent = try self.object("_general", of: link).map { try required("_name", of: $0) }
    }
    let isAbstract = try values.flag("XD_PSK_isAbstract", &self)
    var result = Self.element(
      "entity",
      [
        ("name", key), ("representedClassName", try values.text("XD_PSK_entityClassName", &self)),
        ("parentEntity", parent), ("isAbstract", isAbstract ? "YES" : "NO"),
        ("elementID", try values.text("XD_PSK_elementID", &self)),
        ("versionHashModifier", try values.text("XD_PSK_versionHashModifier", &self)),
      ])
    for (name, value) in try entries("XDBucketForOwnedAttributesstorage", of: object) {
      propertyCount += 1
      guard propertyCount <= Self.propertiesMaximum else {
        throw problem("expected at most \(Self.propertiesMaximum) properties, found more")
      }
      guard case .object(let property) = value else { throw problem("'\(key).\(name)' is not a property") }
      guard try required("_name", of: property) == name else { throw problem("'\(key).\(name)' has another name") }
      var child = try self.property(property, name: name, of: key)
      let info = try TaggedValues(of: property, in: &self).object("XD_PPSK_userInfo", &self)
      if let info = try userInfo(info) { child.children.append(info) }
      result.children.append(child)
    }
    result.children.sort { Text($0["name"] ?? "") < Text($1["name"] ?? "") }
    for (name, group, item, entry) in [
      ("XDPMUniquenessConstraints", "uniquenessConstraints", "uniquenessConstraint", "constraint"),
      ("XDPMCompoundIndexes", "compoundIndexes", "compoundIndex", "index"),
    ] {
      guard let lists = try lists(values.value(name, &self), at: key), !lists.isEmpty else { continue }
      var element = Self.element(group, [])
      element.children = lists.map { names in
        var list = Self.element(item, [])
        list.children = names.map { Self.element(entry, [("value", $0)]) }
        return list
      }
      result.children.append(element)
    }
    if let info = try userInfo(values.object("XD_PSK_userInfo", &self)) { result.children.append(info) }
    return result
  }

  /// The texts among the entries; nil without any.
  private mutating func userInfo(_ dictionary: KeyedArchive.Object?) throws -> MarkupElement? {
    guard let dictionary else { return nil }
    var result = Self.element("userInfo", [])
    for (key, value) in try archive.entries(of: dictionary).sorted(by: { Text($0.key) < Text($1.key) }) {
      guard let text = try archive.text(value) else { continue }
      result.children.append(Self.element("entry", [("key", key), ("value", text)]))
    }
    return result.children.isEmpty ? nil : result
  }

  private mutating func lists(_ value: KeyedArchive.Value, at entity: String) throws -> [[String]]? {
    guard case .object(let list) = value else { return nil }
    return try archive.members(of: list).map { member in
      guard case .object(let names) = member else { throw problem("a constraint of '\(entity)' is not a list") }
      return try archive.members(of: names).map { name in
        guard let text = try archive.text(name) else { throw problem("a constraint of '\(entity)' names no property") }
        return text
      }
    }
  }

  // MARK: Properties

  private mutating func property(
    _ object: KeyedArchive.Object, name: String, of entity: String
  ) throws -> MarkupElement {
    let place = "'\(entity).\(name)'"
    let values = try TaggedValues(of: object, in: &self)
    let common: [(String, String?)] = [
      ("name", name), ("optional", try values.flag("XD_PPSK_isOptional", &self) ? "YES" : "NO"),
      ("transient", try values.flag("XD_PPSK_isTransient", &self) ? "YES" : "NO"),
      ("indexed", try values.flag("XD_PPSK_isIndexed", &self) ? "YES" : "NO"),
      ("elementID", try values.text("XD_PPSK_elementID", &self)),
      ("versionHashModifier", try values.text("XD_PPSK_versionHashModifier", &self)),
    ]
    switch object.className {
    case "XDPMAttribute": return try attribute(values, common, at: place)
    case "XDPMRelationship": return try relationship(values, common, at: place)
    case "XDPMFetchedProperty":
      // A query, with no storage and no part in the version hash.
      return Self.element("fetchedProperty", [("name", name), common[1]])
    default: throw problem("unknown class '\(object.className)' at \(place)")
    }
  }

  private mutating func attribute(
    _ values: TaggedValues, _ common: [(String, String?)], at place: String
  ) throws -> MarkupElement {
    let number = try values.integer("XD_PAttK_attributeType", &self) ?? 0
    guard let type = AttributeType(rawValue: number), type != .composite else {
      throw problem("unknown attribute type \(number) at \(place)")
    }
    if let kind = try values.text("XD_PAttK_derivationExpression", &self) {
      throw problem("\(place) is derived ('\(kind)'), whose form in a mapping model is not known")
    }
    let (low, high) = (
      try values.text("XD_PAttK_minValueString", &self), try values.text("XD_PAttK_maxValueString", &self)
    )
    // The form of a date here has never been observed, and no hash covers it.
    let isDate = type == .date
    let standard = try values.text("XD_PAttK_defaultValueAsString", &self)
    if isDate, standard != nil || low != nil || high != nil {
      remarks.append(
        ModelRemark("the default value and limits of \(place) are left out: the form of dates is not known"))
    }
    return Self.element(
      "attribute",
      common + [
        ("attributeType", type == .undefined ? nil : type.xcodeName),
        ("defaultValueString", isDate ? nil : standard),
        ("minValueString", isDate ? nil : low), ("maxValueString", isDate ? nil : high),
        ("regularExpressionString", try values.text("XD_PAttK_regularExpressionString", &self)),
        ("valueTransformerName", try values.text("XD_PAttK_valueTransformerName", &self)),
        (
          "allowsExternalBinaryDataStorage",
          try values.flag("XD_PAttK_allowsExternalBinaryDataStorage", &self) ? "YES" : "NO"
        ),
      ])
  }

  private mutating func relationship(
    _ values: TaggedValues, _ common: [(String, String?)], at place: String
  ) throws -> MarkupElement {
    guard let destination = try values.object("XD_PRK_destination", &self) else {
      throw problem("\(place) leads to no entity")
    }
    let inverse = try values.object("XD_PRK_inverseRelationship", &self)
    let isToMany = try values.flag("XD_PRK_isToMany", &self)
    let maximum = try values.integer("XD_PRK_maxCount", &self)
    let minimum = try values.integer("XD_PRK_minCount", &self)
    let rules = ["No Action", "Nullify", "Cascade", "Deny"]
    let rule = try values.integer("XD_PRK_deleteRule", &self) ?? 1
    if !rules.indices.contains(rule) {
      remarks.append(ModelRemark("the unknown deletion rule \(rule) at \(place) is read as Nullify"))
    }
    return Self.element(
      "relationship",
      common + [
        ("destinationEntity", try required("_name", of: destination)),
        ("inverseName", try inverse.map { try required("_name", of: $0) }),
        (
          "inverseEntity",
          try inverse.flatMap { try self.object("_owner", of: $0) }.map { try required("_name", of: $0) }
        ), ("deletionRule", rules.indices.contains(rule) ? rules[rule] : nil), ("toMany", isToMany ? "YES" : "NO"),
        ("minCount", minimum.map { "\($0)" }), ("maxCount", isToMany ? maximum.map { "\($0)" } : nil),
        ("ordered", try values.flag("XD_PRK_ordered", &self) ? "YES" : "NO"),
      ])
  }

  /// The tagged values of an element, by name, in groups that the editor calls stereotypes.
  private struct TaggedValues {
    private var objects: [String: KeyedArchive.Object] = [:]

    init(of element: KeyedArchive.Object, in reader: inout EditorModelReader) throws {
      for (group, stereotype) in try reader.entries("XDBucketForStereotypesstorage", of: element) {
        guard case .object(let stereotype) = stereotype else { throw reader.problem("'\(group)' holds no values") }
        for (name, value) in try reader.entries("XDBucketForOwnedAttributesstorage", of: stereotype) {
          guard case .object(let object) = value else { throw reader.problem("'\(name)' has no value") }
          objects[name] = object
        }
      }
    }

    func value(_ name: String, _ reader: inout EditorModelReader) throws -> KeyedArchive.Value {
      try objects[name].map { try reader.archive.value("_default", of: $0) } ?? .null
    }

    func text(_ name: String, _ reader: inout EditorModelReader) throws -> String? {
      let value = try value(name, &reader)
      if case .null = value { return nil }
      guard let text = try reader.archive.text(value) else { throw reader.problem("expected a text for '\(name)'") }
      return text.isEmpty ? nil : text
    }

    func flag(_ name: String, _ reader: inout EditorModelReader) throws -> Bool {
      switch try value(name, &reader) {
      case .null: return false
      case .plain(.boolean(let flag)): return flag
      case .plain(.integer(let number)) where number == 0 || number == 1: return number == 1
      default: throw reader.problem("expected true or false for '\(name)'")
      }
    }

    func integer(_ name: String, _ reader: inout EditorModelReader) throws -> Int? {
      switch try value(name, &reader) {
      case .null: return nil
      case .plain(.integer(let number)):
        if let number = Int(exactly: number) { return number }
      default: break
      }
      throw reader.problem("expected a whole number for '\(name)'")
    }

    func object(_ name: String, _ reader: inout EditorModelReader) throws -> KeyedArchive.Object? {
      switch try value(name, &reader) {
      case .null: return nil
      case .object(let object): return object
      case .plain: throw reader.problem("expected an object for '\(name)'")
      }
    }
  }
}

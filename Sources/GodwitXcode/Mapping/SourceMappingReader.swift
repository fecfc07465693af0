import GodwitModel

/// Turns the objects of an `xcmapping.xml` into the content of a mapping model.
///
/// Only objects linked from the mapping model count: mappings deleted in Xcode's editor may stay in the file.
///
/// | object | attribute | meaning |
/// |---|---|---|
/// | `XDDEVMAPPINGMODEL` | `sourcemodelpath`, `destinationmodelpath` | the last component is the version |
/// | | `sourcemodeldata`, `destinationmodeldata` | the models as the editor last saw them |
/// | `XDDEVENTITYMAPPING` | `mappingnumber` | mapping order |
/// | | `name` | if absent `<Source>To<Destination>`, or the only entity |
/// | | `sourcename`, `destinationname` | absent in an added or removed entity |
/// | | `migrationpolicyclassname` | empty for none |
/// | | `sourcefilterpredicatestring`, `sourceexpressiondata` | the filter |
/// | | `userinfodata` | strings, numbers, booleans |
/// | `XDDEVATTRIBUTEMAPPING` | `name`, `valueexpressiondata`, `userinfodata` | the expression is archived |
/// | `XDDEVRELATIONSHIPMAPPING` | the same, `sourcekeypath`, `sourcemappingname` | `$source.a.b` and a mapping: a lookup |
struct SourceMappingReader {
  let document: MappingDocument
  /// The one object of the mapping model itself.
  let root: MappingDocument.Object

  private static let modelAttributes = [
    "sourcemodelpath", "destinationmodelpath", "sourcemodeldata", "destinationmodeldata",
  ]
  private static let entityAttributes = [
    "name", "sourcename", "destinationname", "mappingtypename", "mappingnumber", "autogenerateexpression",
    "migrationpolicyclassname", "userinfodata", "sourcefilterpredicatestring", "sourceexpressiondata",
  ]
  private static let attributeAttributes = ["name", "valueexpressiondata", "userinfodata"]
  private static let relationshipAttributes = [
    "name", "valueexpressiondata", "userinfodata", "autogenerateexpression", "sourcekeypath", "sourcemappingname",
  ]

  /// - Throws: code `.missingInput` for a damaged file, `.configuration` for one with unsupported content.
  init(_ bytes: [UInt8], file: String) throws {
    document = try MappingDocument(bytes, file: file)
    let roots = document.objects.filter { $0.type == "XDDEVMAPPINGMODEL" }
    guard roots.count == 1, let root = roots.first else {
      throw MappingDocument.problem(
        "expected one XDDEVMAPPINGMODEL, found \(roots.isEmpty ? "none" : "\(roots.count)")",
        at: .init(file: file, line: 1, column: 1))
    }
    self.root = root
    try document.check(root, attributes: Self.modelAttributes)
  }

  /// Far more than any mapping model has. The limit bounds the work for a damaged file.
  static let archivesMaximum = 10_000
  static let mappingsMaximum = 10_000

  private var archiveCount = 0
  /// Rows belong to one mapping each.
  private var takenRows: Set<String> = []

  mutating func content() throws -> MappingContent {
    let mappings = try document.objects("entitymappings", of: root, type: "XDDEVENTITYMAPPING")
    let numbered = try mappings.map { (number: try document.integer("mappingnumber", of: $0) ?? 0, object: $0) }
    let ordered = numbered.sorted { a, b in
      a.number == b.number
        ? (a.object.id.count, a.object.id) < (b.object.id.count, b.object.id) : a.number < b.number
    }
    guard ordered.count <= Self.mappingsMaximum else {
      throw MappingDocument.problem(
        "expected at most \(Self.mappingsMaximum) entity mappings, found \(ordered.count)", at: root.location)
    }
    var entities: [MappingContent.Entity] = []
    for (_, object) in ordered where !isEmpty(object) { entities.append(try entity(object)) }
    return MappingContent(file: document.file, entities: entities)
  }

  /// The name of a model version, from the path that the file gives.
  func modelName(_ attribute: String) -> String? {
    guard let path = nonEmpty(attribute, of: root) else { return nil }
    let name = XcodeFile.stem(path)
    return name.isEmpty ? nil : name
  }

  private func nonEmpty(_ name: String, of object: MappingDocument.Object) -> String? {
    document.text(name, of: object).flatMap { text in text.contains { !$0.isWhitespace } ? text : nil }
  }

  // MARK: Entity mappings

  /// A mapping that was begun in the editor without an entity. Xcode's compiler accepts it, and it does nothing.
  private func isEmpty(_ object: MappingDocument.Object) -> Bool {
    let type = nonEmpty("mappingtypename", of: object) ?? "Undefined"
    return type == "Undefined" && nonEmpty("sourcename", of: object) == nil
      && nonEmpty("destinationname", of: object) == nil
  }

  private mutating func entity(_ object: MappingDocument.Object) throws -> MappingContent.Entity {
    try document.check(object, attributes: Self.entityAttributes)
    let (source, destination) = (nonEmpty("sourcename", of: object), nonEmpty("destinationname", of: object))
    guard let name = nonEmpty("name", of: object) ?? Self.standardName(source, destination) else {
      throw MappingDocument.problem("an entity mapping has neither source nor destination", at: object.location)
    }
    var entity = MappingContent.Entity(name: name, source: source, destination: destination)
    entity.location = object.location
    entity.policyName = nonEmpty("migrationpolicyclassname", of: object)
    entity.userInfo = try userInfo(of: object)
    entity.filter = try filter(of: object, source: source)
    for row in try rows("attributemappings", of: object, type: "XDDEVATTRIBUTEMAPPING") {
      try document.check(row, attributes: Self.attributeAttributes)
      let value = try value(of: row)
      if let property = try property(row, value, of: name) { entity.attributes.append(property) }
    }
    for row in try rows("relationshipmappings", of: object, type: "XDDEVRELATIONSHIPMAPPING") {
      try document.check(row, attributes: Self.relationshipAttributes)
      let value = try relationshipValue(of: row)
      if let property = try property(row, value, of: name) { entity.relationships.append(property) }
    }
    try Self.checkNames(entity)
    return entity
  }

  /// The name that Xcode's compiler gives to a mapping without one.
  private static func standardName(_ source: String?, _ destination: String?) -> String? {
    switch (source, destination) {
    case (let source?, let destination?): "\(source)To\(destination)"
    case (let name?, nil), (nil, let name?): name
    case (nil, nil): nil
    }
  }

  private mutating func rows(
    _ relationship: String, of object: MappingDocument.Object, type: String
  ) throws -> [MappingDocument.Object] {
    let rows = try document.objects(relationship, of: object, type: type)
    for row in rows {
      guard takenRows.insert(row.id).inserted else {
        throw MappingDocument.problem("two mappings have the row '\(row.id)'", at: row.location)
      }
    }
    return rows
  }

  private static func checkNames(_ entity: MappingContent.Entity) throws {
    var seen: Set<String> = []
    for property in entity.attributes + entity.relationships {
      guard seen.insert(property.name).inserted else {
        throw GodwitError(
          .configuration, "cannot use mapping '\(entity.name)': property '\(property.name)' is mapped twice",
          location: property.location, remedy: "delete one of the two rows in Xcode")
      }
    }
  }

  /// Nil for an empty row without a name, which says nothing.
  private mutating func property(
    _ row: MappingDocument.Object, _ value: MappingContent.Value, of mapping: String
  ) throws -> MappingContent.Property? {
    let info = try userInfo(of: row)
    guard let name = nonEmpty("name", of: row) else {
      if case .standard = value, info.isEmpty { return nil }
      throw MappingDocument.problem("a row of mapping '\(mapping)' names no property", at: row.location)
    }
    return MappingContent.Property(name: name, value: value, userInfo: info, location: row.location)
  }

  // MARK: Values

  private mutating func archive(
    _ attribute: String, of object: MappingDocument.Object
  ) throws -> ArchivedExpression? {
    guard let bytes = try document.bytes(attribute, of: object) else { return nil }
    archiveCount += 1
    guard archiveCount <= Self.archivesMaximum else {
      throw MappingDocument.problem(
        "expected at most \(Self.archivesMaximum) expressions, found more", at: object.location)
    }
    return try ArchivedExpression(
      bytes, file: document.file, location: object.attributes[attribute]?.location ?? object.location)
  }

  private mutating func value(of row: MappingDocument.Object) throws -> MappingContent.Value {
    guard var archive = try archive("valueexpressiondata", of: row) else { return .standard }
    return .expression(try archive.rootExpression())
  }

  private mutating func relationshipValue(of row: MappingDocument.Object) throws -> MappingContent.Value {
    let value = try value(of: row)
    let path = nonEmpty("sourcekeypath", of: row)
    let mapping = nonEmpty("sourcemappingname", of: row)
    guard path != nil || mapping != nil else { return value }
    guard case .standard = value else {
      throw GodwitError(
        .configuration,
        "cannot use relationship '\(document.text("name", of: row) ?? "")': it has a value expression, and a key path "
          + "or mapping name too", location: row.location, remedy: "remove one of the two in Xcode")
    }
    return .keyPath(try path.map { try segments($0, of: row) }, mapping: mapping)
  }

  /// The segments of `$source.a.@distinctUnionOfSets.b`.
  private func segments(_ text: String, of row: MappingDocument.Object) throws -> [String] {
    var segments = text.split(separator: ".", omittingEmptySubsequences: false)
      .map { String($0.drop { $0 == " " }) }
    if segments.first == "$source" { segments.removeFirst() }
    guard segments.allSatisfy(ArchivedExpression.isName) else {
      throw GodwitError(
        .configuration, "cannot use the key path '\(text.prefix(100))': expected one such as '$source.country'",
        location: row.attributes["sourcekeypath"]?.location, remedy: "correct the key path in Xcode")
    }
    return segments
  }

  private mutating func userInfo(of object: MappingDocument.Object) throws -> [String: String] {
    guard var archive = try archive("userinfodata", of: object) else { return [:] }
    return try archive.reporting { try $0.userInfo($0.archive.root()) }
  }

  /// The predicate, from its own field or from the fetch that was typed in place of it.
  private mutating func filter(of object: MappingDocument.Object, source: String?) throws -> FilterPredicate? {
    let text = nonEmpty("sourcefilterpredicatestring", of: object)
    var filter = try text.map {
      try ArchivedExpression.parsed(
        predicate: $0, file: document.file, location: object.attributes["sourcefilterpredicatestring"]?.location)
    }
    if var archive = try archive("sourceexpressiondata", of: object) {
      let fetched = try archive.reporting { try $0.fetch($0.archive.root(), source: source) }
      guard filter == nil || fetched == nil || filter == fetched else {
        throw GodwitError(
          .configuration, "cannot use the source of a mapping: its fetch and its filter predicate differ",
          location: object.location, remedy: "remove one of the two in Xcode")
      }
      filter = filter ?? fetched
    }
    if case .constant(true)? = filter?.node { return nil }
    return filter
  }
}

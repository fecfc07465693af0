public import Foundation
public import GodwitModel
import Yams

extension MappingModel {
  /// Reads a mapping model in text, the reviewable form of `.xcmappingmodel`.
  ///
  /// Expressions and predicates are parsed. The planner checks whether entities and properties exist.
  ///
  /// - Parameter url: A mapping file in YAML.
  /// - Throws: `GodwitError`: 66 when there is no such file, 77 when it may not be read, 78 with line
  ///   and column when it is wrong.
  public init(contentsOfYAML url: URL) throws { try self.init(contentsOfYAML: url.filePath) }

  package init(contentsOfYAML path: String) throws {
    self = try Self(bytes: YAMLFile.read(path, what: Self.fileKind), path: path)
  }

  package init(bytes: [UInt8], path: String) throws {
    let file = try YAMLFile(bytes: bytes, path: path, what: Self.fileKind)
    self = try MappingReader(reader: YAMLReader(file: file)).model()
  }

  static let fileKind = "mapping file"
}

/// Reads the parts of a mapping file.
package struct MappingReader {
  /// The known keys, by the map that they belong to; the empty name is the top level.
  package static let keys: [String: [String]] = [
    "": ["godwit-mapping", "source-model", "destination-model", "entity-mappings"],
    "entity-mappings": [
      "name", "type", "source", "for-each", "destination", "filter", "policy", "unique-by", "merge-nil", "attributes",
      "relationships", "user-info", "property-user-info",
    ],
    "unique-by": ["attributes", "order-by", "fill-nil", "nil-keys"],
    "attributes": ["value", "if-nil"],
    "relationships": ["mapping", "key-path", "of", "source-relationship", "order-by"],
  ]

  let reader: YAMLReader

  private func keys(in map: String) -> [String] { Self.keys[map] ?? [] }

  func model() throws -> MappingModel {
    let root = reader.file.root
    let found = try reader.entries(root, key: "")
    try reader.checkVersion(found.first { $0.key == "godwit-mapping" }, key: "godwit-mapping", among: found)
    let top = try reader.entries(root, key: "", known: keys(in: ""))
    guard let list = top["entity-mappings"] else {
      throw reader.error(
        "expected the key 'entity-mappings', found none", at: reader.file.location(of: root),
        remedy: "add `entity-mappings:` with a list of mappings")
    }
    var seen: Set<String> = []
    let mappings = try reader.list(list.value, key: "entity-mappings").map { node in
      let (mapping, nameLocation) = try entityMapping(node)
      guard seen.insert(mapping.name).inserted else {
        throw reader.error(
          "two mappings of the file are named '\(mapping.name)'", at: nameLocation, remedy: "rename one of the two")
      }
      return mapping
    }
    var model = MappingModel(
      sourceModelName: try name("source-model", top), destinationModelName: try name("destination-model", top),
      entityMappings: mappings, file: reader.file.path)
    model.locations = top.mapValues { reader.file.textLocation(of: $0.value) }
    return model
  }

  private func name(_ key: String, _ entries: YAMLReader.Entries) throws -> String? {
    try entries[key].map { try reader.text($0.value, key: key, expected: "a name") }
  }

  private func entityMapping(_ node: Node) throws -> (EntityMapping, GodwitError.Location) {
    let entries = try reader.entries(
      node, key: "entity-mappings", known: keys(in: "entity-mappings"), expected: "a mapping with a name")
    guard let nameEntry = entries["name"] else {
      throw reader.error(
        "expected the key 'name' in an entity mapping, found none", at: reader.file.location(of: node),
        remedy: "add `name: SourceToDestination`")
    }
    let name = try reader.text(nameEntry.value, key: "name", expected: "a name")
    var mapping = EntityMapping(
      name: name, source: try self.name("source", entries), destination: try self.name("destination", entries))
    mapping.location = reader.file.location(of: node)
    mapping.locations = entries.mapValues { reader.file.textLocation(of: $0.value) }
    if let entry = entries["type"] { mapping.kind = try reader.choice(entry.value, key: "type") }
    mapping.forEach = try self.name("for-each", entries)
    mapping.filter = try entries["filter"].map { try filter($0.value, of: name) }
    mapping.policyName = try self.name("policy", entries)
    if let entry = entries["unique-by"] { try unique(entry, &mapping, beside: entries["merge-nil"]) }
    if let entry = entries["merge-nil"] {
      mapping.mergesNil = try reader.flag(entry.value, key: "merge-nil")
      guard !mapping.mergesNil || !mapping.uniqueBy.isEmpty else {
        throw reader.error(
          "'merge-nil' has no meaning without 'unique-by'", at: entry.location,
          remedy: "add `unique-by`, or remove the key")
      }
    }
    if let entry = entries["attributes"] {
      mapping.attributeMappings = try reader.entries(entry.value, key: "attributes").map {
        try attribute($0, mapping: name)
      }
    }
    if let entry = entries["relationships"] {
      mapping.relationshipMappings = try reader.entries(entry.value, key: "relationships").map {
        try relationship($0, mapping: name)
      }
    }
    if let entry = entries["user-info"] { mapping.userInfo = try texts(entry.value, key: "user-info") }
    if let entry = entries["property-user-info"] {
      for property in try reader.entries(entry.value, key: "property-user-info") {
        mapping.propertyUserInfo[property.key] = try texts(property.value, key: property.key)
      }
    }
    return (mapping, reader.file.textLocation(of: nameEntry.value))
  }

  /// The values of `nil-keys`.
  private enum NilKeys: String, CaseIterable { case apart, merge }

  /// `unique-by`: attributes, or a map with them.
  private func unique(
    _ entry: YAMLReader.Entry, _ mapping: inout EntityMapping, beside mergeNil: YAMLReader.Entry?
  ) throws {
    func names(_ node: Node, _ key: String) throws -> [String] {
      try reader.items(node, key: key, expected: "an attribute name").map {
        try reader.text($0, key: key, expected: "an attribute name")
      }
    }
    guard case .mapping = entry.value else {
      mapping.uniqueBy = try names(entry.value, "unique-by")
      return
    }
    let parts = try reader.entries(entry.value, key: "unique-by", known: keys(in: "unique-by"))
    guard let attributes = parts["attributes"] else {
      throw reader.error(
        "expected the key 'attributes' in 'unique-by', found none", at: reader.file.location(of: entry.value),
        remedy: "write `unique-by: {attributes: [email], order-by: [\"modifiedAt DESC\"]}`")
    }
    mapping.uniqueBy = try names(attributes.value, "attributes")
    if let order = parts["order-by"] { mapping.uniqueOrder = try descriptors(order.value) }
    if let fill = parts["fill-nil"] { mapping.fillsNil = try reader.flag(fill.value, key: "fill-nil") }
    guard let nilKeys = parts["nil-keys"] else { return }
    let word: NilKeys = try reader.choice(nilKeys.value, key: "nil-keys")
    mapping.mergesNil = word == .merge
    if let mergeNil {
      throw reader.error(
        "expected either 'nil-keys' or 'merge-nil', found both", at: mergeNil.location, remedy: "remove 'merge-nil'")
    }
  }

  /// The sort descriptors of `order-by`.
  private func descriptors(_ node: Node) throws -> [EntityMapping.SortDescriptor] {
    let expected = "a key path of the source entity, which ASC or DESC may follow"
    return try reader.items(node, key: "order-by", expected: expected).map { item in
      guard let descriptor = EntityMapping.SortDescriptor(text: try reader.text(item, key: "order-by")) else {
        var complaint = reader.wrong("order-by", expected: expected, item)
        complaint.remedy = "write a key path alone, or with ASC or DESC behind it: `order-by: [\"modifiedAt DESC\"]`"
        throw complaint
      }
      return descriptor
    }
  }

  private func texts(_ node: Node, key: String) throws -> [String: String] {
    var texts: [String: String] = [:]
    for pair in try reader.entries(node, key: key) {
      guard case .scalar(let scalar) = pair.value else { throw reader.wrong(pair.key, expected: "text", pair.value) }
      texts[pair.key] = YAMLReader.isNull(scalar) ? "" : scalar.string
    }
    return texts
  }

  /// `EXPRESSION`, or `{value: EXPRESSION, if-nil: default}`.
  private func attribute(_ entry: YAMLReader.Entry, mapping name: String) throws -> AttributeMapping {
    let what = "attribute '\(entry.key)' of mapping '\(name)'"
    guard case .mapping = entry.value else {
      return AttributeMapping(
        name: entry.key, value: try expression(entry.value, key: entry.key, what: what), location: entry.location)
    }
    if let hint = reader.file.listHint(entry.value) {
      throw reader.error(
        "expected an expression for '\(entry.key)', found keys and values", at: entry.location, remedy: hint)
    }
    let parts = try reader.entries(entry.value, key: entry.key, known: keys(in: "attributes"))
    guard let value = parts["value"] else {
      throw reader.error(
        "expected the key 'value' in '\(entry.key)', found none", at: entry.location,
        remedy: "write `\(entry.key): {value: EXPRESSION, if-nil: default}`")
    }
    if let choice = parts["if-nil"] { let _: NilRule = try reader.choice(choice.value, key: "if-nil") }
    return AttributeMapping(
      name: entry.key, value: try expression(value.value, key: "value", what: what),
      usesDefaultForNil: parts["if-nil"] != nil, location: entry.location)
  }

  /// The value that replaces nil if a mapping says so.
  private enum NilRule: String, CaseIterable {
    /// The default of the destination model.
    case `default`
  }

  private func relationship(_ entry: YAMLReader.Entry, mapping name: String) throws -> RelationshipMapping {
    let what = "relationship '\(entry.key)' of mapping '\(name)'"
    guard case .mapping = entry.value else {
      guard case .scalar = entry.value else {
        throw reader.wrong(
          entry.key, expected: "{mapping: NAME, key-path: PATH}, {source-relationship: NAME} or an expression",
          entry.value)
      }
      let value = try expression(entry.value, key: entry.key, what: what)
      return RelationshipMapping(
        name: entry.key, value: .expression(value), location: entry.location, valueLocation: value.source.location)
    }
    let parts = try reader.entries(entry.value, key: entry.key, known: keys(in: "relationships"))
    let value: RelationshipMapping.Value
    let place: Node
    if let source = parts["source-relationship"] {
      if let other = parts["mapping"] ?? parts["key-path"] ?? parts["of"] {
        throw reader.error(
          "expected 'source-relationship' alone in '\(entry.key)', found '\(other.key)' beside it", at: other.location,
          remedy: "remove one of the two")
      }
      value = .sourceRelationship(try reader.text(source.value, key: source.key, expected: "a relationship name"))
      place = source.value
    } else if let mapping = parts["mapping"] {
      let path = try parts["key-path"].map { try keyPath($0.value) } ?? []
      value = .mapping(try reader.text(mapping.value, key: "mapping", expected: "the name of a mapping"), keyPath: path)
      place = mapping.value
    } else {
      throw reader.error(
        "expected the key 'mapping' or 'source-relationship' in '\(entry.key)', found neither", at: entry.location,
        remedy: "write `\(entry.key): {mapping: NAME, key-path: PATH}`")
    }
    var found = RelationshipMapping(
      name: entry.key, value: value, location: entry.location, valueLocation: reader.file.textLocation(of: place))
    if let end = parts["of"] {
      found.end = try self.end(end.value)
      found.endLocation = reader.file.textLocation(of: end.value)
    }
    if let order = parts["order-by"] {
      found.order = try descriptors(order.value)
      found.orderLocation = reader.file.textLocation(of: order.value)
    }
    return found
  }

  /// `$source` or `$element`.
  private func end(_ node: Node) throws -> RelationshipMapping.End {
    let text = try reader.text(node, key: "of", expected: "$source or $element")
    guard let end = RelationshipMapping.End.allCases.first(where: { "$\($0.rawValue)" == text }) else {
      throw reader.error(
        "expected $source or $element for 'of', found '\(text)'", at: reader.file.textLocation(of: node),
        remedy: "write `of: $source`, or `of: $element`")
    }
    return end
  }

  /// The segments of `$source.a.@count.b` or `a.b`; none for `$source` and for no text at all.
  private func keyPath(_ node: Node) throws -> [String] {
    guard case .scalar(let scalar) = node else { throw reader.wrong("key-path", expected: "a key path", node) }
    if YAMLReader.isNull(scalar) || scalar.string.isEmpty || scalar.string == "$source" { return [] }
    var segments = scalar.string.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if segments.first == "$source" { segments.removeFirst() }
    // The other end of a link starts a key path too.
    let names = segments.first == "$element" ? segments.dropFirst() : segments[...]
    let sound = names.allSatisfy { segment in
      let name = segment.hasPrefix("@") ? segment.dropFirst() : segment[...]
      guard let first = name.unicodeScalars.first else { return false }
      return (first == "_" || first.properties.isXIDStart)
        && name.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
    }
    guard sound else {
      throw reader.error(
        "expected a key path such as 'country.continent' for 'key-path', found \(YAMLReader.kind(of: node))",
        at: reader.file.textLocation(of: node), remedy: "write property names with full stops between them")
    }
    return segments
  }

  private func source(_ node: Node, key: String) throws -> SourceText {
    if case .scalar(let scalar) = node, YAMLReader.isNull(scalar), !scalar.string.isEmpty {
      return SourceText("nil", location: reader.file.location(of: node))
    }
    let source = try self.text(node, key: key, expected: "an expression")
    guard source.text != MappingPlaceholder.marker else {
      throw reader.error(
        "'\(key)' is still a placeholder ('\(MappingPlaceholder.marker)')", at: reader.file.textLocation(of: node),
        remedy: "write an expression in place of '\(MappingPlaceholder.marker)', or remove the line")
    }
    return source
  }

  /// The text of an expression. Where YAML leaves nothing of it, the error says why.
  private func text(_ node: Node, key: String, expected: String) throws -> SourceText {
    let cut = reader.file.cut(of: node)
    if let cut, let tag = cut.tag {
      throw reader.error(
        "expected \(expected) for '\(key)', found YAML's tag '\(tag)'", at: reader.file.location(of: node),
        remedy: cut.remedy)
    }
    do { return try reader.source(node, key: key, expected: expected) } catch var error as GodwitError {
      if let cut { error.remedy = cut.remedy }
      throw error
    }
  }

  private func expression(_ node: Node, key: String, what: String) throws -> ValueExpression {
    let source = try source(node, key: key)
    do throws(ExpressionError) {
      return try ValueExpression(parsing: source)
    } catch { throw complaint(error, in: source, node, what: what) }
  }

  private func filter(_ node: Node, of mapping: String) throws -> FilterPredicate {
    let source = try text(node, key: "filter", expected: "a predicate")
    do throws(ExpressionError) {
      return try FilterPredicate(parsing: source)
    } catch { throw complaint(error, in: source, node, what: "filter of mapping '\(mapping)'") }
  }

  private func complaint(_ error: ExpressionError, in source: SourceText, _ node: Node, what: String) -> GodwitError {
    var complaint = GodwitError(error, in: source, what: what)
    complaint.location = complaint.location.map { reader.file.location($0, inTextOf: node) }
    let isAtEnd = error.range.upperBound >= source.text.utf8.count
    if let cut = reader.file.cut(of: node), cut.isAtStart || isAtEnd { complaint.remedy = cut.remedy }
    return complaint
  }
}

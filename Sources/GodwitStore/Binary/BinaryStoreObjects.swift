import Foundation
import GodwitModel

/// The objects of a binary store in the words of the model.
///
/// The values of an object have no names. Their order is that of Core Data: see `BinaryStoreLayout`.
final class BinaryStoreObjects: AtomicStoreReader {
  private let model: ManagedObjectModel
  private let reader: BinaryStoreReader
  private let path: String
  private var layouts: [String: BinaryStoreLayout] = [:]

  var metadata: StoreMetadata { reader.metadata }
  var highestNumber: Int64? { reader.highestKey }

  init(_ files: StoreFiles, model: ManagedObjectModel) throws {
    (self.model, path) = (model, files.givenPath)
    try StoreType.binary.checkComposites(of: model)
    reader = try BinaryStoreReader(path: files.path, name: files.givenPath)
  }

  func name(of number: Int64) -> String { "\(number)" }
  func finish() {}

  private func layout(of entity: String, _ name: String) throws -> BinaryStoreLayout {
    if let known = layouts[entity] { return known }
    guard model.entity(entity) != nil else {
      throw wrong(
        "entity '\(entity)' is not one of model '\(model.name)'"
          + Spelling.suggestion(for: entity, among: model.entities.map(\.name)), name)
    }
    let layout = BinaryStoreLayout(of: entity, in: model)
    layouts[entity] = layout
    return layout
  }

  private func wrong(_ problem: String, _ name: String) -> GodwitError {
    .damagedStore(.binary, path: path, problem, object: name)
  }

  func next() throws -> AtomicObject? {
    guard let node = try reader.next() else { return nil }
    let name = "object \(node.key) of entity \(node.entity)"
    let layout = try layout(of: node.entity, name)
    guard node.key > 0 else { throw wrong("expected a positive key, found \(node.key)", name) }
    guard layout.valueCounts.contains(node.values.count) else {
      throw wrong(
        "expected \(layout.valueCounts.lowerBound) values, one for each attribute and relationship of model '\(model.name)', found \(node.values.count)",
        name)
    }
    var object = AtomicObject(entity: node.entity, number: node.key, name: name)
    for (attribute, value) in zip(layout.attributes, node.values) {
      object.attributes[attribute.name] = try reader.reading("attribute '\(attribute.name)' of \(name)") {
        try self.value(value, attribute, name)
      }
    }
    for value in node.values.dropFirst(layout.attributes.count) {
      guard try reader.reading(name, { try isNil(value) }) else {
        throw wrong("expected nil after the values of its attributes, found a value", name)
      }
    }
    var seen: Set<String> = []
    for (related, keys) in node.related {
      guard let relationship = layout.relationships[related] else {
        throw wrong("entity '\(node.entity)' has no relationship '\(related)'", name)
      }
      guard seen.insert(related).inserted else { throw wrong("expected relationship '\(related)' once", name) }
      object.relationships.append(AtomicRelationship(description: relationship, numbers: keys))
    }
    return object
  }

  // MARK: Values

  private func isNil(_ value: PropertyListValue) throws -> Bool {
    guard let object = try reader.archive.resolve(value) else { return true }
    return try reader.archive.className(of: object) == "NSNull"
  }

  private func value(
    _ reference: PropertyListValue, _ attribute: AttributeDescription, _ name: String
  ) throws -> AttributeValue {
    guard case .uid(let number) = reference, let object = try reader.archive.resolve(reference) else {
      if case .uid = reference { return .null }
      throw KeyedArchive.Malformed(problem: "expected a reference to a value, found a plain value")
    }
    guard try reader.archive.className(of: object) != "NSNull" else { return .null }
    if attribute.type == .transformable {
      // A value transformer that archives its object would make the same of it.
      return .data(try graph(number).archive.binaryPropertyList)
    }
    guard let value = try plainValue(object, attribute.type) ?? archivedValue(number, object, attribute.type) else {
      throw KeyedArchive.Malformed(
        problem:
          "expected \(attribute.type.xcodeName) as attribute '\(attribute.name)', found \(try kind(of: object))")
    }
    return value
  }

  /// How messages call what an archive holds.
  private func kind(of object: PropertyListValue) throws -> String {
    if let name = try reader.archive.className(of: object) { return "an object of the class '\(name)'" }
    return switch object {
    case .string: "a text"
    case .integer, .unsigned, .real: "a number out of range, or of another kind"
    case .boolean: "true or false"
    case .date: "a date"
    case .data: "data"
    case .uid, .array, .dictionary: "another value"
    }
  }

  private func graph(_ number: UInt64) throws -> ArchivedGraph {
    try ArchivedGraph(of: number) { try reader.archive.entry($0) }
  }

  /// A value that the archive holds without a class of its own.
  private func plainValue(_ value: PropertyListValue, _ type: AttributeType) throws -> AttributeValue? {
    if type == .string || type == .uri, let text = try reader.archive.text(value) {
      return type == .uri ? .uri(Text(text)) : .string(Text(text))
    }
    switch (type, value) {
    case (.boolean, .boolean(let truth)): return .boolean(truth)
    case (.boolean, .integer(let number)): return .boolean(number != 0)
    case (.integer16, .boolean(let truth)), (.integer32, .boolean(let truth)), (.integer64, .boolean(let truth)):
      return .integer(truth ? 1 : 0)
    case (.integer16, .integer(let number)), (.integer32, .integer(let number)), (.integer64, .integer(let number)):
      return type.integerRange?.contains(number) == true ? .integer(number) : nil
    case (.integer16, .real(let number)), (.integer32, .real(let number)), (.integer64, .real(let number)):
      return Int64(exactly: number).flatMap { type.integerRange?.contains($0) == true ? .integer($0) : nil }
    case (.decimal, .integer(let number)): return .decimal(Decimal(number))
    case (.decimal, .unsigned(let number)): return .decimal(Decimal(number))
    case (.decimal, .real(let number)): return Decimal(stored: number).map { .decimal($0) }
    case (.double, .real(let number)), (.float, .real(let number)): return number.isNaN ? nil : .double(number)
    case (.double, .integer(let number)), (.float, .integer(let number)): return .double(Double(number))
    case (.double, .unsigned(let number)), (.float, .unsigned(let number)): return .double(Double(number))
    case (.date, .date(let seconds)): return seconds.isNaN ? nil : .date(seconds)
    case (.binary, .data(let bytes)): return .data(bytes)
    default: return nil
    }
  }

  /// A value that is an object with a class.
  private func archivedValue(
    _ number: UInt64, _ object: PropertyListValue, _ type: AttributeType
  ) throws -> AttributeValue? {
    guard case .dictionary(let fields) = object else { return nil }
    if type == .date, try reader.archive.className(of: object) == "NSDate" {
      switch try reader.archive.resolve(fields["NS.time"]) {
      case .real(let seconds) where !seconds.isNaN: return .date(seconds)
      case .integer(let seconds): return .date(Double(seconds))
      default: return nil
      }
    }
    var archive = try KeyedArchive(try graph(number).archive)
    let root = try archive.root()
    if type == .decimal, root.className == "NSDecimalNumber" {
      return try archive.decimal(root).map { .decimal($0) }
    }
    return try archive.attributeValue(.object(root), type: type)
  }
}

public import GodwitJob
public import GodwitModel
import GodwitStore

/// An object of the destination of a test, with everything that the store says of it.
public struct MigratedObject: ReadableObject, Sendable {
  /// The name of the object's own entity.
  public let entityName: String
  /// The primary key. An object that a policy makes from a source object first has that object's key.
  public let key: Int64
  let content: MigratedContent

  private var model: ManagedObjectModel { content.model }

  private var stored: [String: ObjectReader.Value] {
    content.properties[ObjectReader.Reference(entity: entityName, key: key)] ?? [:]
  }

  /// The value of an attribute in the attribute's type. A transient attribute has none.
  ///
  /// - Throws: `.usage` (64) if the entity lacks the attribute.
  public func attributeValue(_ name: String) throws -> AttributeValue {
    guard model.attribute(name, of: entityName) != nil else {
      let names = model.attributes(of: entityName).map(\.name)
      throw GodwitError(
        .usage,
        "cannot read '\(name)': '\(entityName)' has no such attribute\(Spelling.suggestion(for: name, among: names))",
        remedy: model.relationship(name, of: entityName) == nil
          ? "read one of \(names.sorted().joined(separator: ", "))"
          : "read the relationship with `objects(\"\(name)\")`")
    }
    guard case .attribute(let value, _)? = stored[name] else { return .null }
    return value
  }

  /// The objects that a relationship leads to: in its order if it is ordered, otherwise by key.
  ///
  /// - Throws: `.usage` (64) if the entity lacks the relationship.
  public func objects(_ relationship: String) throws -> [MigratedObject] {
    guard model.relationship(relationship, of: entityName) != nil else {
      let names = model.relationships(of: entityName).map(\.name)
      throw GodwitError(
        .usage,
        "cannot follow '\(relationship)': '\(entityName)' has no such relationship"
          + Spelling.suggestion(for: relationship, among: names),
        remedy: names.isEmpty ? "the entity has none" : "follow one of \(names.sorted().joined(separator: ", "))")
    }
    let references: [ObjectReader.Reference] =
      switch stored[relationship] {
      case .toOne(let reference)?: reference.map { [$0] } ?? []
      case .toMany(let references)?: references
      case .attribute?, .large?, .missingFile?, nil: []
      }
    return references.map { MigratedObject(entityName: $0.entity, key: $0.key, content: content) }
  }
}

extension MigratedObject: Equatable {
  /// Whether both are the same object of the same store.
  public static func == (a: MigratedObject, b: MigratedObject) -> Bool {
    a.key == b.key && a.entityName == b.entityName && a.content === b.content
  }
}

extension MigratedObject: CustomStringConvertible {
  /// Entity and key.
  public var description: String { "\(entityName) p\(key)" }
}

/// All objects of a destination.
final class MigratedContent: Sendable {
  let model: ManagedObjectModel
  let properties: [ObjectReader.Reference: [String: ObjectReader.Value]]
  /// In the order of the model's root entities, then of keys.
  let objects: [ObjectReader.Reference]

  /// Reads a whole store.
  init(storeAt path: String, model: ManagedObjectModel) throws {
    let reader = try ObjectReader(path: path, model: model)
    var properties: [ObjectReader.Reference: [String: ObjectReader.Value]] = [:]
    var objects: [ObjectReader.Reference] = []
    for root in model.entities where root.superentityName == nil {
      try reader.forEachObject(of: model.family(of: root.name).map(\.name)) { object in
        objects.append(object.reference)
        properties[object.reference] = Dictionary(object.properties) { first, _ in first }
        return true
      }
    }
    self.model = model
    self.properties = properties
    self.objects = objects
  }

  /// The first place in which another content differs; nil if both are equal. It shows no values.
  func firstDifference(from other: MigratedContent) -> String? {
    for object in objects {
      let name = "\(object.entity) p\(object.key)"
      guard let theirs = other.properties[object] else { return "\(name) is missing" }
      guard let ours = properties[object] else { continue }
      for property in ours.keys.sorted() where ours[property] != theirs[property] {
        return "\(name) has another '\(property)'"
      }
    }
    let known = Set(objects)
    return other.objects.first { !known.contains($0) }.map { "\($0.entity) p\($0.key) is an object more" }
  }
}

package import GodwitModel

/// Which entities and properties of two models belong together: by name, or by a renaming identifier.
///
/// A renaming identifier that names an entity or property of the other model, or is the same in both, makes a
/// rename of what would be one removed and one added.
package struct ModelPairing {
  package enum Property {
    case attribute(AttributeDescription)
    case relationship(RelationshipDescription)

    package var name: String {
      switch self {
      case .attribute(let attribute): attribute.name
      case .relationship(let relationship): relationship.name
      }
    }

    var renamingIdentifier: String? {
      switch self {
      case .attribute(let attribute): attribute.renamingIdentifier
      case .relationship(let relationship): relationship.renamingIdentifier
      }
    }

    var facts: PropertyFacts {
      switch self {
      case .attribute(let attribute): PropertyFacts(attribute)
      case .relationship(let relationship): PropertyFacts(relationship)
      }
    }

    static func all(of entity: EntityDescription) -> [Property] {
      entity.attributes.map(Property.attribute) + entity.relationships.map(Property.relationship)
    }

    /// With inherited ones.
    package static func all(of entity: String, in model: ManagedObjectModel) -> [Property] {
      model.attributes(of: entity).map(Property.attribute) + model.relationships(of: entity).map(Property.relationship)
    }
  }

  let old, new: ManagedObjectModel
  /// In the order of the new names, removed ones by their old name; nil where a side has none.
  package let entities: [(old: EntityDescription?, new: EntityDescription?)]
  private let newNames, oldNames: [String: String]

  package init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
    self.old = old
    self.new = new
    let pairs = Self.pairs(
      old.entities.map { ($0.name, $0.renamingIdentifier) }, new.entities.map { ($0.name, $0.renamingIdentifier) })
    entities =
      pairs.sorted { ManagedObjectModel.precedes($0.new ?? $0.old ?? "", $1.new ?? $1.old ?? "") }
      .map { ($0.old.flatMap(old.entity), $0.new.flatMap(new.entity)) }
    var (newNames, oldNames): ([String: String], [String: String]) = ([:], [:])
    for case (let oldName?, let newName?) in pairs {
      newNames[oldName] = newName
      oldNames[newName] = oldName
    }
    self.newNames = newNames
    self.oldNames = oldNames
  }

  /// What an entity of the earlier model is called in the later; nil when it is gone.
  package func newName(of entity: String) -> String? { newNames[entity] }

  /// What an entity of the later model was called in the earlier; nil when it is new.
  package func oldName(of entity: String) -> String? { oldNames[entity] }

  /// The properties that both versions of an entity declare, in name order; nil where a side has none.
  func properties(_ before: EntityDescription, _ after: EntityDescription) -> [(old: Property?, new: Property?)] {
    let was = Property.all(of: before)
    let now = Property.all(of: after)
    let pairs = Self.pairs(was.map { ($0.name, $0.renamingIdentifier) }, now.map { ($0.name, $0.renamingIdentifier) })
    return pairs.sorted { Text($0.new ?? $0.old ?? "") < Text($1.new ?? $1.old ?? "") }
      .map { pair in (was.first { $0.name == pair.old }, now.first { $0.name == pair.new }) }
  }

  /// A property of an entity of the earlier model that becomes the property of the later one, declared wherever.
  func oldProperty(of property: Property, in oldEntity: String) -> Property? {
    if case .relationship(let inverse) = property, inverse.isUnnamedInverse.value {
      return Self.unnamedCounterpart(of: inverse, in: oldEntity, from: new, to: old) { owner, relationship in
        oldName(of: owner).flatMap { origin(of: relationship, in: owner, from: $0) }
      }
    }
    return Self.counterpart(of: property, among: Property.all(of: oldEntity, in: old))
  }

  /// The property of an entity of the later model that an earlier property becomes, declared wherever.
  func newProperty(of property: Property, in newEntity: String) -> Property? {
    if case .relationship(let inverse) = property, inverse.isUnnamedInverse.value {
      return Self.unnamedCounterpart(of: inverse, in: newEntity, from: old, to: new) { owner, relationship in
        newName(of: owner).flatMap { newProperty(of: relationship, in: $0) }
      }
    }
    return Self.counterpart(of: property, among: Property.all(of: newEntity, in: new))
  }

  /// The property of the earlier entity whose data a property of the later one holds; nil for one that is new.
  ///
  /// A name that a rename has claimed for another property of the later entity is not taken twice.
  package func origin(of property: Property, in newEntity: String, from oldEntity: String) -> Property? {
    guard let found = oldProperty(of: property, in: oldEntity) else { return nil }
    guard found.name == property.name, property.renamingIdentifier == nil else { return found }
    let isClaimed = Property.all(of: newEntity, in: new).contains { other in
      other.name != property.name && other.renamingIdentifier == found.name
        && oldProperty(of: other, in: oldEntity)?.name == found.name
    }
    return isClaimed ? nil : found
  }

  /// What stores a to-many without an inverse belongs to what stores its counterpart.
  ///
  /// - Parameter find: The counterpart of a relationship of an entity.
  private static func unnamedCounterpart(
    of inverse: RelationshipDescription, in entity: String, from model: ManagedObjectModel,
    to other: ManagedObjectModel,
    find: (String, Property) -> Property?
  ) -> Property? {
    guard let relationship = model.inverse(of: inverse),
      case .relationship(let found)? = find(inverse.destinationEntityName, .relationship(relationship)),
      let name = found.storedInverseName.value, let stored = other.relationship(name, of: entity)
    else { return nil }
    return .relationship(stored)
  }

  private static func counterpart(of property: Property, among all: [Property]) -> Property? {
    if let identifier = property.renamingIdentifier,
      // The rename may be an older one, and its name another property's by now.
      let found = all.first(where: { $0.name == property.name && $0.renamingIdentifier == identifier })
        ?? all.first(where: { $0.name == identifier })
        ?? all.first(where: { $0.renamingIdentifier == identifier })
    {
      return found
    }
    return all.first { $0.name == property.name } ?? all.first { $0.renamingIdentifier == property.name }
  }

  /// Old and new names that belong together; nil where a side has none.
  private static func pairs(
    _ old: [(name: String, identifier: String?)], _ new: [(name: String, identifier: String?)]
  ) -> [(old: String?, new: String?)] {
    var left = old
    func take(_ matches: ((name: String, identifier: String?)) -> Bool) -> String? {
      left.firstIndex(where: matches).map { left.remove(at: $0).name }
    }
    var pairs: [(old: String?, new: String?)] = []
    var rest: [String] = []
    // Renames first: a new name may be the old name of another.
    for (name, identifier) in new {
      if let identifier, identifier != name,
        let oldName = take({ $0.name == name && $0.identifier == identifier })
          ?? take({ $0.name == identifier }) ?? take({ $0.identifier == identifier })
      {
        pairs.append((oldName, name))
      } else {
        rest.append(name)
      }
    }
    let same = rest.map { name in (take { $0.name == name }, name) }
    // The way back: what the earlier model calls a rename of the later one's name.
    pairs += same.map { oldName, name in (oldName ?? take { $0.identifier == name }, name) }
    return pairs + left.map { ($0.name, nil) }
  }
}

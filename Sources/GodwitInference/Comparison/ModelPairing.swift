package import GodwitModel

/// Which entities and properties of two models belong together: by name, or by a renaming identifier.
///
/// A renaming identifier that names an entity or property of the other model, or is the same in both, turns a removed
/// and an added one into a rename.
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

    /// `String`, or `to-many Person`.
    package var kind: String { facts.kind }

    static func all(of entity: EntityDescription) -> [Property] {
      entity.leaves.map(Property.attribute) + entity.relationships.map(Property.relationship)
    }

    /// The properties of an entity, inherited ones included.
    package static func all(of entity: String, in model: ManagedObjectModel) -> [Property] {
      model.attributes(of: entity).map(Property.attribute) + model.relationships(of: entity).map(Property.relationship)
    }
  }

  let old, new: ManagedObjectModel
  /// The pairs in the order of the new names, removed entities by their old name. A side that lacks the entity is nil.
  package let entities: [(old: EntityDescription?, new: EntityDescription?)]
  private let newNames, oldNames: [String: String]
  private let oldIdentified, newIdentified: Identified
  private let hashes: (old: [String: VersionHash], new: [String: VersionHash])

  /// The properties with a renaming identifier, by entity and identifier, inherited ones included.
  private typealias Identified = [String: [String: [Property]]]

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
    hashes = (old.versionHashes, new.versionHashes)
    oldIdentified = Self.identified(old)
    newIdentified = Self.identified(new)
  }

  private static func identified(_ model: ManagedObjectModel) -> Identified {
    var found: Identified = [:]
    for entity in model.entities {
      // Most models rename nothing.
      guard
        model.lineage(of: entity.name).contains(where: { declaring in
          declaring.attributes.contains { $0.renamingIdentifier != nil }
            || declaring.relationships.contains { $0.renamingIdentifier != nil }
        })
      else { continue }
      for attribute in model.attributes(of: entity.name) {
        guard let identifier = attribute.renamingIdentifier else { continue }
        found[entity.name, default: [:]][identifier, default: []].append(.attribute(attribute))
      }
      for relationship in model.relationships(of: entity.name) {
        guard let identifier = relationship.renamingIdentifier else { continue }
        found[entity.name, default: [:]][identifier, default: []].append(.relationship(relationship))
      }
    }
    return found
  }

  /// Whether two versions of an entity have the same properties by their version hashes, and none is renamed.
  package func isSame(_ before: EntityDescription, _ after: EntityDescription) -> Bool {
    before.name == after.name && oldIdentified[before.name] == nil && newIdentified[after.name] == nil
      && hashes.old[before.name] == hashes.new[after.name]
  }

  /// The name in the later model of an entity of the earlier one; nil when it is gone.
  package func newName(of entity: String) -> String? { newNames[entity] }

  /// The name in the earlier model of an entity of the later one; nil when it is new.
  package func oldName(of entity: String) -> String? { oldNames[entity] }

  /// The properties that both versions of an entity declare, in name order. A side that lacks the property is nil.
  func properties(_ before: EntityDescription, _ after: EntityDescription) -> [(old: Property?, new: Property?)] {
    let was = Property.all(of: before)
    let now = Property.all(of: after)
    let pairs = Self.pairs(was.map { ($0.name, $0.renamingIdentifier) }, now.map { ($0.name, $0.renamingIdentifier) })
    let before = Dictionary(was.map { ($0.name, $0) }) { first, _ in first }
    let after = Dictionary(now.map { ($0.name, $0) }) { first, _ in first }
    return pairs.sorted { Text($0.new ?? $0.old ?? "") < Text($1.new ?? $1.old ?? "") }
      .map { pair in (pair.old.flatMap { before[$0] }, pair.new.flatMap { after[$0] }) }
  }

  /// A property of an entity of the earlier model that becomes the property of the later one, in any declaring entity.
  func oldProperty(of property: Property, in oldEntity: String) -> Property? {
    if case .relationship(let inverse) = property, inverse.isUnnamedInverse.value {
      return Self.unnamedCounterpart(of: inverse, in: oldEntity, from: new, to: old) { owner, relationship in
        oldName(of: owner).flatMap { origin(of: relationship, in: owner, from: $0) }
      }
    }
    return Self.counterpart(of: property, in: oldEntity, of: old, oldIdentified[oldEntity] ?? [:])
  }

  /// The property of an entity of the later model that an earlier property becomes, in any declaring entity.
  func newProperty(of property: Property, in newEntity: String) -> Property? {
    if case .relationship(let inverse) = property, inverse.isUnnamedInverse.value {
      return Self.unnamedCounterpart(of: inverse, in: newEntity, from: old, to: new) { owner, relationship in
        newName(of: owner).flatMap { newProperty(of: relationship, in: $0) }
      }
    }
    return Self.counterpart(of: property, in: newEntity, of: new, newIdentified[newEntity] ?? [:])
  }

  /// The property of the earlier entity that becomes a property of the later one; nil for a new property.
  ///
  /// A name that a rename has claimed for another property of the later entity is not taken twice.
  package func origin(of property: Property, in newEntity: String, from oldEntity: String) -> Property? {
    guard let found = oldProperty(of: property, in: oldEntity) else { return nil }
    guard found.name == property.name, property.renamingIdentifier == nil else { return found }
    let isClaimed = (newIdentified[newEntity]?[found.name] ?? []).contains { other in
      other.name != property.name && oldProperty(of: other, in: oldEntity)?.name == found.name
    }
    return isClaimed ? nil : found
  }

  /// A to-many without an inverse is stored by an unnamed relationship. Its counterpart is the one that stores the
  /// counterpart of the to-many.
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

  private static func counterpart(
    of property: Property, in entity: String, of model: ManagedObjectModel, _ identified: [String: [Property]]
  ) -> Property? {
    func named(_ name: String) -> Property? {
      if let attribute = model.attribute(name, of: entity) { return .attribute(attribute) }
      guard let found = model.relationship(name, of: entity), !found.isUnnamedInverse.value else { return nil }
      return .relationship(found)
    }
    if let identifier = property.renamingIdentifier,
      // The rename may be an old one, and its name may belong to another property now.
      let found = identified[identifier]?.first(where: { $0.name == property.name })
        ?? named(identifier) ?? identified[identifier]?.first
    {
      return found
    }
    return named(property.name) ?? identified[property.name]?.first
  }

  /// Names in pairs, the earlier one first. A side without a name is nil.
  private static func pairs(
    _ old: [(name: String, identifier: String?)], _ new: [(name: String, identifier: String?)]
  ) -> [(old: String?, new: String?)] {
    let byName = Dictionary(grouping: old.indices) { old[$0].name }
    var byIdentifier: [String: [Int]] = [:]
    for (place, entry) in old.enumerated() {
      if let identifier = entry.identifier { byIdentifier[identifier, default: []].append(place) }
    }
    var isTaken = [Bool](repeating: false, count: old.count)
    func take(_ places: [Int]?, where matches: (Int) -> Bool = { _ in true }) -> String? {
      guard let place = places?.first(where: { !isTaken[$0] && matches($0) }) else { return nil }
      isTaken[place] = true
      return old[place].name
    }
    var pairs: [(old: String?, new: String?)] = []
    var rest: [String] = []
    // Renames first: a new name may be the old name of another.
    for (name, identifier) in new {
      if let identifier, identifier != name,
        let oldName = take(byName[name], where: { old[$0].identifier == identifier })
          ?? take(byName[identifier]) ?? take(byIdentifier[identifier])
      {
        pairs.append((oldName, name))
      } else {
        rest.append(name)
      }
    }
    let same = rest.map { name in (take(byName[name]), name) }
    // The other direction: the earlier model has the identifier of the later one's name.
    pairs += same.map { oldName, name in (oldName ?? take(byIdentifier[name]), name) }
    return pairs + old.indices.filter { !isTaken[$0] }.map { (old[$0].name, nil) }
  }
}

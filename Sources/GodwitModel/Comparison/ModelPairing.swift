/// Which entities and properties of two models belong together: by renaming identifier, or by name (`NamePairing`).
///
/// Where all version hashes are equal, each name stays what it is, whatever the identifiers say: Core Data opens such a
/// store as it is.
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

    package var facts: PropertyFacts {
      switch self {
      case .attribute(let attribute): PropertyFacts(attribute)
      case .relationship(let relationship): PropertyFacts(relationship)
      }
    }

    /// `String`, or `to-many Person`.
    package var kind: String { facts.kind }

    package static func all(of entity: EntityDescription) -> [Property] {
      entity.leaves.map(Property.attribute) + entity.relationships.map(Property.relationship)
    }

    /// The properties of an entity, inherited ones included.
    package static func all(of entity: String, in model: ManagedObjectModel) -> [Property] {
      model.attributes(of: entity).map(Property.attribute) + model.relationships(of: entity).map(Property.relationship)
    }
  }

  package let old, new: ManagedObjectModel
  /// The pairs in the order of the new names, removed entities by their old name. A side that lacks the entity is nil.
  package let entities: [(old: EntityDescription?, new: EntityDescription?)]
  private let names: NamePairing
  private let hashes: (old: [String: VersionHash], new: [String: VersionHash])
  /// Whether all version hashes are equal.
  private let isSettled: Bool
  /// The properties of the pairs in which a name alone does not decide, by the later entity.
  private let properties: [String: NamePairing]

  package init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
    (self.old, self.new) = (old, new)
    let hashes = (old: old.versionHashes, new: new.versionHashes)
    self.hashes = hashes
    let isSettled = hashes.old == hashes.new
    self.isSettled = isSettled
    func entries(_ model: ManagedObjectModel) -> [NamePairing.Entry] {
      model.entities.map { NamePairing.Entry($0.name, $0.renamingIdentifier) }
    }
    let names = NamePairing(entries(old), entries(new), isSettled: isSettled)
    self.names = names
    let pairs =
      new.entities.map { (old: names.oldNames[$0.name], new: String?.some($0.name)) }
      + old.entities.filter { names.newNames[$0.name] == nil }.map { (old: $0.name, new: nil) }
    entities =
      pairs.sorted { ManagedObjectModel.precedes($0.new ?? $0.old ?? "", $1.new ?? $1.old ?? "") }
      .map { ($0.old.flatMap(old.entity), $0.new.flatMap(new.entity)) }
    var properties: [String: NamePairing] = [:]
    for case (let before?, let after?) in pairs {
      properties[after] = Self.properties(before, old, after, new, isSettled, hashes.old[before] == hashes.new[after])
    }
    self.properties = properties
  }

  /// Whether two versions of an entity have the same properties by their version hashes, all under the same names.
  package func isSame(_ before: EntityDescription, _ after: EntityDescription) -> Bool {
    // Hashes do not know the name of a composite attribute.
    before.name == after.name && hashes.old[before.name] == hashes.new[after.name]
      && properties[after.name]?.oldNames.allSatisfy { $0.key == $0.value } != false
  }

  /// The properties of a later entity that take what another name had, although the version hash of the entity is equal.
  package func exchanged(in entity: EntityDescription) -> [String: String] {
    guard oldName(of: entity.name) == entity.name, hashes.old[entity.name] == hashes.new[entity.name] else {
      return [:]
    }
    return (properties[entity.name]?.oldNames ?? [:]).filter { new, old in
      new != old && properties[entity.name]?.newNames[new] != nil && entity.leaves.contains { $0.name == new }
        || new != old && entity.relationships.contains { $0.name == new }
    }
  }

  /// The name in the later model of an entity of the earlier one; nil when it is gone.
  package func newName(of entity: String) -> String? { names.newNames[entity] }

  /// The name in the earlier model of an entity of the later one; nil when it is new.
  package func oldName(of entity: String) -> String? { names.oldNames[entity] }

  /// The contradiction between the name of a later entity and renaming identifiers; nil without one.
  package func doubt(of entity: String) -> RenamingDoubt? { names.doubts[entity] }

  /// The contradiction between the name of a property, or of the composite attribute around it, and renaming
  /// identifiers; nil without one.
  package func doubt(of property: String, in newEntity: String) -> RenamingDoubt? {
    guard let doubts = properties[newEntity]?.doubts, !doubts.isEmpty else { return nil }
    return doubts[property] ?? property.split(separator: ".").first.flatMap { doubts[String($0)] }
  }

  /// An entity or a stored property of the later model about which names and identifiers say different things.
  package struct Contradiction: Sendable, Hashable {
    package let entity: String
    /// Nil for the entity itself.
    package let property: String?
    package let doubt: RenamingDoubt

    /// `Trip.date`, or `Trip`.
    package var path: String { property.map { "\(entity).\($0)" } ?? entity }
  }

  /// All contradictions between names and renaming identifiers, each property once.
  package var contradictions: [Contradiction] {
    entities.compactMap(\.new).flatMap { entity -> [Contradiction] in
      let own = names.doubts[entity.name].map { Contradiction(entity: entity.name, property: nil, doubt: $0) }
      let doubts = (properties[entity.name]?.doubts ?? [:]).sorted { Text($0.key) < Text($1.key) }
      return [own].compactMap(\.self)
        + doubts.compactMap { name, doubt in
          let isInherited = new.lineage(of: entity.name).dropFirst().contains {
            properties[$0.name]?.doubts[name] == doubt
          }
          let isStored =
            new.attribute(name, of: entity.name).map { !$0.isTransient && !$0.isDerived }
            ?? new.relationship(name, of: entity.name).map(new.isStored)
            ?? (new.composite(name, of: entity.name) != nil)
          return isInherited || !isStored ? nil : Contradiction(entity: entity.name, property: name, doubt: doubt)
        }
    }
  }

  /// The properties that both versions of an entity declare, in name order. A side that lacks the property is nil.
  package func properties(_ before: EntityDescription, _ after: EntityDescription) -> [(old: Property?, new: Property?)]
  {
    var was = Dictionary(Property.all(of: before).map { ($0.name, $0) }) { first, _ in first }
    let now: [(old: Property?, new: Property?)] = Property.all(of: after).map { property in
      (name(of: property, in: after.name, from: before.name).flatMap { was.removeValue(forKey: $0) }, property)
    }
    return (now + was.values.map { ($0, nil) }).sorted {
      Text(($0.new ?? $0.old)?.name ?? "") < Text(($1.new ?? $1.old)?.name ?? "")
    }
  }

  /// The property of the earlier entity that becomes a property of the later one; nil for a new property.
  package func origin(of property: Property, in newEntity: String, from oldEntity: String) -> Property? {
    if case .relationship(let inverse) = property, inverse.isUnnamedInverse.value {
      return Self.unnamedCounterpart(of: inverse, in: oldEntity, from: new, to: old) { owner, relationship in
        oldName(of: owner).flatMap { origin(of: relationship, in: owner, from: $0) }
      }
    }
    return name(of: property, in: newEntity, from: oldEntity).flatMap { Self.named($0, of: oldEntity, in: old) }
  }

  /// The property of the later entity that a property of the earlier one becomes; nil for one that is gone.
  package func successor(of property: Property, of oldEntity: String, in newEntity: String) -> Property? {
    if case .relationship(let inverse) = property, inverse.isUnnamedInverse.value {
      return Self.unnamedCounterpart(of: inverse, in: newEntity, from: old, to: new) { owner, relationship in
        newName(of: owner).flatMap { successor(of: relationship, of: owner, in: $0) }
      }
    }
    let names = pairing(oldEntity, newEntity)
    let name = if let names { names.newNames[property.name] } else { String?.some(property.name) }
    return name.flatMap { Self.named($0, of: newEntity, in: new) }
  }

  private func name(of property: Property, in newEntity: String, from oldEntity: String) -> String? {
    guard let names = pairing(oldEntity, newEntity) else { return property.name }
    return names.oldNames[property.name]
  }

  /// Nil if names alone decide.
  private func pairing(_ oldEntity: String, _ newEntity: String) -> NamePairing? {
    oldName(of: newEntity) == oldEntity
      ? properties[newEntity] : Self.properties(oldEntity, old, newEntity, new, isSettled, false)
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

  private static func named(_ name: String, of entity: String, in model: ManagedObjectModel) -> Property? {
    if let attribute = model.attribute(name, of: entity) { return .attribute(attribute) }
    guard let found = model.relationship(name, of: entity), !found.isUnnamedInverse.value else { return nil }
    return .relationship(found)
  }
}

// MARK: Properties by name

extension ModelPairing {
  /// An attribute or relationship as its entity declares it, composites in one piece.
  private struct Declared {
    var entry: NamePairing.Entry
    /// The elements of a composite attribute; nil for any other property.
    var elements: [AttributeDescription]?
  }

  /// How the properties of two entities belong together, inherited ones included; nil if names alone decide.
  private static func properties(
    _ before: String, _ old: ManagedObjectModel, _ after: String, _ new: ManagedObjectModel,
    _ isSettled: Bool, _ hasEqualHash: Bool
  ) -> NamePairing? {
    func declared(_ entity: String, _ model: ManagedObjectModel) -> [String: Declared] {
      var found: [String: Declared] = [:]
      for owner in model.lineage(of: entity) {
        func add(_ name: String, _ identifier: String?, _ elements: [AttributeDescription]? = nil) {
          guard found[name] == nil else { return }
          found[name] = Declared(entry: NamePairing.Entry(name, identifier), elements: elements)
        }
        for attribute in owner.attributes {
          add(attribute.name, attribute.renamingIdentifier, attribute.type == .composite ? attribute.elements : nil)
        }
        for relationship in owner.relationships { add(relationship.name, relationship.renamingIdentifier) }
      }
      return found
    }
    let (was, now) = (declared(before, old), declared(after, new))
    func decides(_ properties: [String: Declared]) -> Bool {
      properties.values.allSatisfy { $0.entry.identifier == nil && $0.elements == nil }
    }
    // Most models rename nothing.
    guard !decides(was) || !decides(now) else { return nil }
    var names = NamePairing(was.values.map(\.entry), now.values.map(\.entry), isSettled: isSettled)
    for (newName, oldName) in names.oldNames {
      guard let before = was[oldName]?.elements, let after = now[newName]?.elements else { continue }
      addElements(before, oldName, after, newName, isSettled, to: &names)
    }
    if before == after, hasEqualHash {
      // The hash knows leaves by their own names, as their columns do.
      func rest(_ model: ManagedObjectModel, _ taken: [String: String]) -> [AttributeDescription] {
        model.attributes(of: before).filter { taken[$0.name] == nil }
      }
      var open = rest(old, names.newNames)
      for leaf in rest(new, names.oldNames) {
        guard let place = open.firstIndex(where: { $0.leafName == leaf.leafName }) else { continue }
        names.add(open.remove(at: place).name, leaf.name)
      }
    }
    return names
  }

  /// Pairs the elements of two composite attributes that belong together.
  private static func addElements(
    _ before: [AttributeDescription], _ oldPath: String, _ after: [AttributeDescription], _ newPath: String,
    _ isSettled: Bool, to names: inout NamePairing
  ) {
    func entries(_ elements: [AttributeDescription]) -> [NamePairing.Entry] {
      elements.map { NamePairing.Entry($0.name, $0.renamingIdentifier) }
    }
    func last(_ path: String) -> String { path.split(separator: ".").last.map(String.init) ?? path }
    var own = NamePairing(entries(before), entries(after), isSettled: isSettled)
    // SwiftData's enum: a composite with an element of its own name.
    if before.contains(where: { $0.name == last(oldPath) }), after.contains(where: { $0.name == last(newPath) }) {
      own.add(last(oldPath), last(newPath))
    }
    names.adopt(own, oldPath, newPath)
    for element in after where element.type == .composite {
      guard let was = before.first(where: { $0.name == own.oldNames[element.name] }), was.type == .composite else {
        continue
      }
      addElements(
        was.elements, "\(oldPath).\(was.name)", element.elements, "\(newPath).\(element.name)", isSettled, to: &names)
    }
  }
}

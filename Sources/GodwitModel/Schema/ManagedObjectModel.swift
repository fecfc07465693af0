/// A model version: entities, their properties and inheritance, Core Data's `NSManagedObjectModel`.
///
/// A value: build it in code or read it with `GodwitXcode`. `init` checks that names resolve and
/// that inheritance has no cycle, so every query below is total for the names the model has.
public struct ManagedObjectModel: Sendable, Hashable {
  /// What messages call the model: a version name, for example `Peoplizer 3`.
  public let name: String
  /// In name order (case-insensitive, then by byte), the order of entity numbers among siblings.
  public let entities: [EntityDescription]
  public let versionIdentifiers: [String]
  /// Configuration name to entity names. The default configuration (all entities) is not listed.
  public let configurations: [String: [String]]
  public let fetchRequestTemplates: [FetchRequestTemplate]
  /// Composite type name to its attributes.
  public let composites: [String: [AttributeDescription]]
  /// Hashes that Apple's software computed for this very model; they win over computed ones. By entity name.
  public internal(set) var publishedVersionHashes: [String: VersionHash] = [:]
  /// What the reader of the model's file replaced or left out. Takes no part in comparing models.
  public package(set) var remarks: [ModelRemark] {
    get { noted.value }
    set { noted.value = newValue }
  }

  private var noted = Derived<[ModelRemark]>([])
  /// Shared by all copies: what it is computed of never changes.
  let hashCache = Derived(VersionHashCache())

  private let indexByName: [String: Int]
  private let subentityNames: [String: [String]]
  private let inherited: Derived<[String: Inherited]>
  private let unnamed: Derived<[String: [RelationshipDescription]]>

  /// What an entity has with all that it inherits: asked for with every object that code handles.
  private struct Inherited: Sendable {
    var lineage: [EntityDescription] = []
    var names: Set<String> = []
    /// In name order.
    var attributes: [AttributeDescription] = []
    var relationships: [RelationshipDescription] = []
    var attributeByName: [String: AttributeDescription] = [:]
    var relationshipByName: [String: RelationshipDescription] = [:]
    /// By name; see `unnamedInverses(declaredIn:)`.
    var unnamedByName: [String: RelationshipDescription] = [:]
  }

  /// - Throws: code `.missingInput` when a name is used twice, a parent, destination or inverse
  ///   is unknown, inheritance runs in a circle, or a property overrides one of another kind.
  public init(
    name: String, entities: [EntityDescription], versionIdentifiers: [String] = [],
    configurations: [String: [String]] = [:],
    fetchRequestTemplates: [FetchRequestTemplate] = [],
    composites: [String: [AttributeDescription]] = [:]
  ) throws {
    self.name = name
    let (sorted, unnamed) = Self.givingStoredInverses(entities.sorted { Self.precedes($0.name, $1.name) })
    self.entities = sorted
    self.versionIdentifiers = versionIdentifiers
    self.configurations = configurations
    self.fetchRequestTemplates = fetchRequestTemplates
    self.composites = composites
    var index: [String: Int] = [:]
    for (position, entity) in self.entities.enumerated() {
      guard index.updateValue(position, forKey: entity.name) == nil else {
        throw Self.broken(name, "entity '\(entity.name)' is defined twice")
      }
    }
    indexByName = index
    var children: [String: [String]] = [:]
    for entity in self.entities {
      if let parent = entity.superentityName {
        children[parent, default: []].append(entity.name)
      }
    }
    subentityNames = children
    var inherited: [String: Inherited] = [:]
    for entity in self.entities {
      var own = Inherited()
      var next: EntityDescription? = entity
      while let current = next, own.lineage.count <= self.entities.count {
        own.lineage.append(current)
        next = current.superentityName.flatMap { index[$0] }.map { [entities = self.entities] in entities[$0] }
      }
      own.names = Set(own.lineage.map(\.name))
      for ancestor in own.lineage.reversed() {
        for attribute in ancestor.attributes { own.attributeByName[attribute.name] = attribute }
        for relationship in ancestor.relationships { own.relationshipByName[relationship.name] = relationship }
        for relationship in unnamed[ancestor.name] ?? [] { own.unnamedByName[relationship.name] = relationship }
      }
      own.attributes = own.attributeByName.values.sorted { Text($0.name) < Text($1.name) }
      own.relationships = own.relationshipByName.values.sorted { Text($0.name) < Text($1.name) }
      inherited[entity.name] = own
    }
    self.inherited = Derived(inherited)
    self.unnamed = Derived(unnamed)
    try check()
  }

  /// Gives each to-many without an inverse the to-one that stores its links.
  ///
  /// - Returns: The entities, and by destination entity the to-ones.
  private static func givingStoredInverses(
    _ entities: [EntityDescription]
  ) -> ([EntityDescription], [String: [RelationshipDescription]]) {
    func isStoredElsewhere(_ relationship: RelationshipDescription) -> Bool {
      relationship.isToMany && !relationship.isTransient && relationship.inverseName == nil
    }
    var entities = entities
    var unnamed: [String: [RelationshipDescription]] = [:]
    let byName = Dictionary(entities.map { ($0.name, $0) }) { first, _ in first }
    for position in entities.indices {
      for place in entities[position].relationships.indices {
        entities[position].relationships[place].storedInverseName = Derived(nil)
        let relationship = entities[position].relationships[place]
        guard isStoredElsewhere(relationship) else { continue }
        // The entity nearest the root that declares it decides the column.
        var top = entities[position]
        var next = top.superentityName.flatMap { byName[$0] }
        var steps = 0
        while let ancestor = next, steps < entities.count {
          if ancestor.relationships.contains(where: { $0.name == relationship.name }) { top = ancestor }
          next = ancestor.superentityName.flatMap { byName[$0] }
          steps += 1
        }
        guard let declared = top.relationships.first(where: { $0.name == relationship.name }),
          isStoredElsewhere(declared)
        else { continue }
        // No property has a space in its name.
        let name = "inverse of \(top.name).\(declared.name)"
        entities[position].relationships[place].storedInverseName = Derived(name)
        guard top.name == entities[position].name else { continue }
        var inverse = RelationshipDescription(
          name: name, destinationEntityName: top.name, inverseName: declared.name, isToMany: false)
        inverse.isUnnamedInverse = Derived(true)
        unnamed[declared.destinationEntityName, default: []].append(inverse)
      }
    }
    return (entities, unnamed)
  }

  /// The order of entity names: case-insensitive first, then by byte.
  public static func precedes(_ a: String, _ b: String) -> Bool {
    let (x, y) = (a.lowercased(), b.lowercased())
    return x == y ? Text(a) < Text(b) : Text(x) < Text(y)
  }

  // MARK: Entities

  public func entity(_ name: String) -> EntityDescription? {
    indexByName[name].map { entities[$0] }
  }

  public var entityNames: [String] { entities.map(\.name) }

  /// Direct subentities, in name order.
  public func subentities(of name: String) -> [EntityDescription] {
    (subentityNames[name] ?? []).compactMap(entity)
  }

  public func hasSubentities(_ name: String) -> Bool { subentityNames[name] != nil }

  /// The entity and its ancestors, the entity first.
  public func lineage(of name: String) -> [EntityDescription] {
    inherited.value[name]?.lineage ?? []
  }

  /// The topmost ancestor, whose table holds the entity's rows; the entity itself when it is a root.
  public func root(of name: String) -> EntityDescription? { lineage(of: name).last }

  /// The entity and all its descendants, depth first, siblings in name order.
  public func family(of name: String) -> [EntityDescription] {
    guard let entity = entity(name) else { return [] }
    return [entity] + subentities(of: name).flatMap { family(of: $0.name) }
  }

  public func isKind(_ name: String, of ancestor: String) -> Bool {
    inherited.value[name]?.names.contains(ancestor) ?? false
  }

  public var rootEntities: [EntityDescription] { entities.filter { $0.superentityName == nil } }

  // MARK: Properties, inherited ones included

  /// Attributes of the entity and its ancestors; an override replaces the inherited one. Sorted by name.
  public func attributes(of name: String) -> [AttributeDescription] {
    inherited.value[name]?.attributes ?? []
  }

  /// Relationships of the entity and its ancestors; an override replaces the inherited one. Sorted by name.
  public func relationships(of name: String) -> [RelationshipDescription] {
    inherited.value[name]?.relationships ?? []
  }

  public func attribute(_ property: String, of entity: String) -> AttributeDescription? {
    inherited.value[entity]?.attributeByName[property]
  }

  public func relationship(_ property: String, of entity: String) -> RelationshipDescription? {
    let own = inherited.value[entity]
    return own?.relationshipByName[property] ?? own?.unnamedByName[property]
  }

  /// The to-ones that a SQLite store holds in the rows of an entity for to-many relationships without an inverse that
  /// lead to it, in the order of the owners.
  ///
  /// They are no properties: no list of them has these, and hashes do not know them. `relationship(_:of:)` finds them
  /// by name, so that code which asks how links are stored treats them like any other.
  package func unnamedInverses(declaredIn entity: String) -> [RelationshipDescription] { unnamed.value[entity] ?? [] }

  /// The entity in the lineage that first declares the property (nearest the root), which decides its column.
  public func declaringEntity(of property: String, in entity: String) -> EntityDescription? {
    lineage(of: entity).last { ancestor in
      ancestor.attributes.contains { $0.name == property }
        || ancestor.relationships.contains { $0.name == property }
        || unnamed.value[ancestor.name]?.contains { $0.name == property } == true
    }
  }

  /// The inverse of a relationship, seen from the relationship's destination entity; of a to-many without one, the to-one
  /// that stores it.
  public func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
    (relationship.inverseName ?? relationship.storedInverseName.value).flatMap {
      self.relationship(
        $0, of: relationship.inverseEntityName ?? relationship.destinationEntityName)
        ?? self.relationship($0, of: relationship.destinationEntityName)
    }
  }

  /// Whether a store holds the links of a relationship: not of a transient one.
  public func isStored(_ relationship: RelationshipDescription) -> Bool {
    !relationship.isTransient && (!relationship.isToMany || inverse(of: relationship) != nil)
  }

  /// Uniqueness constraints in force on an entity: its own and its ancestors'.
  public func uniquenessConstraints(of name: String) -> [(entity: String, properties: [String])] {
    lineage(of: name).reversed().flatMap { entity in
      entity.uniquenessConstraints.map { (entity.name, $0) }
    }
  }

  /// The names of all attributes and relationships, inherited ones included.
  public func propertyNames(of name: String) -> [String] {
    attributes(of: name).map(\.name) + relationships(of: name).map(\.name)
  }

  // MARK: Checks

  private static func broken(_ model: String, _ problem: String) -> GodwitError {
    GodwitError(
      .missingInput, "cannot use model '\(model)': \(problem)",
      remedy: "correct the model in Xcode's editor")
  }

  private func check() throws {
    for entity in entities {
      if let parent = entity.superentityName, indexByName[parent] == nil {
        throw Self.broken(
          name,
          "entity '\(entity.name)' has the unknown parent '\(parent)'"
            + Spelling.suggestion(for: parent, among: entityNames))
      }
      if lineage(of: entity.name).count > entities.count {
        throw Self.broken(name, "entity '\(entity.name)' inherits from itself")
      }
    }
    for entity in entities {
      var seen: Set<String> = []
      for property in entity.attributes.map(\.name) + entity.relationships.map(\.name)
        + entity.fetchedProperties.map(\.name)
      {
        guard seen.insert(property).inserted else {
          throw Self.broken(name, "property '\(entity.name).\(property)' is defined twice")
        }
      }
      for relationship in entity.relationships {
        let path = "\(entity.name).\(relationship.name)"
        guard self.entity(relationship.destinationEntityName) != nil else {
          throw Self.broken(
            name,
            "relationship '\(path)' leads to the unknown entity '\(relationship.destinationEntityName)'"
              + Spelling.suggestion(for: relationship.destinationEntityName, among: entityNames))
        }
        if let inverse = relationship.inverseName, self.inverse(of: relationship) == nil {
          throw Self.broken(
            name,
            "relationship '\(path)' names the inverse '\(inverse)', which '\(relationship.destinationEntityName)' lacks"
          )
        }
      }
      for constraint in entity.uniquenessConstraints {
        for property in constraint
        where attribute(property, of: entity.name) == nil
          && relationship(property, of: entity.name) == nil
        {
          throw Self.broken(
            name, "a uniqueness constraint of '\(entity.name)' names the unknown property '\(property)'")
        }
      }
    }
    for (configuration, members) in configurations {
      for member in members where indexByName[member] == nil {
        throw Self.broken(
          name, "configuration '\(configuration)' lists the unknown entity '\(member)'")
      }
    }
  }
}

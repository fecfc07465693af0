/// A model version: entities, their properties and inheritance, Core Data's `NSManagedObjectModel`.
///
/// A value: build it in code or read it with `GodwitXcode`. `init` checks that names resolve and that inheritance has
/// no cycle, so every query below has an answer for the names in the model.
public struct ManagedObjectModel: Sendable, Hashable {
  /// The name of the model in messages: a version name, for example `Peoplizer 3`.
  public let name: String
  /// In name order (case-insensitive, then by byte), the order of entity numbers among siblings.
  public let entities: [EntityDescription]
  /// The developer's own names of the version, as the model file gives them.
  package let versionIdentifiers: [String]
  /// Configuration name to entity names. The default configuration (all entities) is not listed.
  package let configurations: [String: [String]]
  /// The model's named fetch requests.
  package let fetchRequestTemplates: [FetchRequestTemplate]
  /// Hashes that Apple's software computed for this model, by entity name. They take precedence over computed ones.
  package internal(set) var publishedVersionHashes: [String: VersionHash] = [:]
  /// The replacements and omissions of the reader of the model's file. Comparisons of models ignore them.
  package var remarks: [ModelRemark] {
    get { noted.value }
    set { noted.value = newValue }
  }

  private var noted = Derived<[ModelRemark]>([])
  /// The entities that CloudKit mirrors, as the model's file says. Comparisons of models ignore them.
  package var cloudKitEntities: Set<String> {
    get { mirrored.value }
    set { mirrored.value = newValue }
  }
  private var mirrored = Derived<Set<String>>([])
  /// The entities of pairs that the model has beside those of its version: see ``PairEntity``.
  package var pairEntities: [PairEntity] { paired.value.pairs }
  /// The version without them.
  package var withoutPairs: ManagedObjectModel { paired.value.version.first ?? self }
  private var paired = Derived(Paired())

  private struct Paired: Sendable {
    var pairs: [PairEntity] = []
    /// One, or none without pairs.
    var version: [ManagedObjectModel] = []
  }

  mutating func setPairs(_ pairs: [PairEntity], besides version: ManagedObjectModel) {
    paired = Derived(Paired(pairs: pairs, version: [version]))
  }

  /// The computed version hashes, which all copies share, because their inputs never change.
  let hashCache = Derived(MadeOnce<[String: VersionHash]>())
  private let madeTexts = Derived(ModelTexts())
  /// The texts derived from the model once, without published hashes and remarks, which each copy may have of its own.
  package var texts: ModelTexts { madeTexts.value }

  private let indexByName: [String: Int]
  private let subentityNames: [String: [String]]
  private let inherited: Derived<[String: InheritedProperties]>
  private let unnamed: Derived<[String: [RelationshipDescription]]>

  /// - Throws: code `.missingInput` when a name is used twice, a parent, destination or inverse
  ///   is unknown, inheritance runs in a circle or too deep, or a property overrides one of another kind.
  package init(
    name: String, entities: [EntityDescription], versionIdentifiers: [String] = [],
    configurations: [String: [String]] = [:],
    fetchRequestTemplates: [FetchRequestTemplate] = []
  ) throws {
    self.name = name
    let sorted = Self.inNameOrder(entities)
    var index: [String: Int] = [:]
    for (position, entity) in sorted.enumerated() {
      guard index.updateValue(position, forKey: entity.name) == nil else {
        throw Self.broken(name, "entity '\(entity.name)' is defined twice")
      }
    }
    let parentsFirst = try Self.parentsFirst(sorted, index, model: name)
    let (complete, unnamed) = Self.givingStoredInverses(sorted)
    self.entities = complete
    self.versionIdentifiers = versionIdentifiers
    self.configurations = configurations
    self.fetchRequestTemplates = fetchRequestTemplates
    indexByName = index
    var children: [String: [String]] = [:]
    for entity in complete {
      if let parent = entity.superentityName {
        children[parent, default: []].append(entity.name)
      }
    }
    subentityNames = children
    var inherited: [String: InheritedProperties] = [:]
    var count = 0
    for position in parentsFirst {
      let entity = complete[position]
      let own = InheritedProperties(
        entity, of: entity.superentityName.flatMap { inherited[$0] }, unnamed[entity.name] ?? [])
      count += own.count
      guard count <= Self.inheritedMaximum else {
        throw Self.broken(
          name,
          "expected at most \(Self.inheritedMaximum) properties and ancestors of all entities, inherited ones counted each time, found more at '\(entity.name)'"
        )
      }
      inherited[entity.name] = own
    }
    self.inherited = Derived(inherited)
    self.unnamed = Derived(unnamed)
    try check()
  }

  /// The order of entity names: case-insensitive first, then by byte.
  package static func precedes(_ a: String, _ b: String) -> Bool {
    let (x, y) = (a.lowercased(), b.lowercased())
    return x == y ? Text(a) < Text(b) : Text(x) < Text(y)
  }

  // MARK: Entities

  /// The entity with a name; nil if the model lacks it.
  public func entity(_ name: String) -> EntityDescription? {
    indexByName[name].map { entities[$0] }
  }

  /// The names of all entities, in the order of `entities`.
  package var entityNames: [String] { entities.map(\.name) }

  /// Direct subentities, in name order.
  package func subentities(of name: String) -> [EntityDescription] {
    (subentityNames[name] ?? []).compactMap(entity)
  }

  package func hasSubentities(_ name: String) -> Bool { subentityNames[name] != nil }

  /// The entity and its ancestors, the entity first.
  package func lineage(of name: String) -> [EntityDescription] {
    inherited.value[name]?.lineage ?? []
  }

  /// The topmost ancestor, whose table holds the entity's rows; the entity itself when it is a root.
  package func root(of name: String) -> EntityDescription? { lineage(of: name).last }

  /// The entity and all its descendants, depth first, siblings in name order.
  package func family(of name: String) -> [EntityDescription] {
    guard let entity = entity(name) else { return [] }
    return [entity] + subentities(of: name).flatMap { family(of: $0.name) }
  }

  /// Whether an entity is another one or one of its descendants.
  ///
  /// - Parameters:
  ///   - name: The entity.
  ///   - ancestor: The same entity, or a possible ancestor.
  package func isKind(_ name: String, of ancestor: String) -> Bool {
    inherited.value[name]?.names.contains(ancestor) ?? false
  }

  /// The entities without a parent, in name order.
  package var rootEntities: [EntityDescription] { entities.filter { $0.superentityName == nil } }

  // MARK: Properties, inherited ones included

  /// Attributes of the entity and its ancestors; an override replaces the inherited one. Sorted by name.
  ///
  /// In place of a composite attribute stand its leaves: see ``AttributeDescription/leaves``.
  package func attributes(of name: String) -> [AttributeDescription] {
    inherited.value[name]?.attributes ?? []
  }

  /// Relationships of the entity and its ancestors; an override replaces the inherited one. Sorted by name.
  package func relationships(of name: String) -> [RelationshipDescription] {
    inherited.value[name]?.relationships ?? []
  }

  /// An attribute of an entity, inherited or its own; nil if the entity lacks it.
  ///
  /// A leaf of a composite attribute is found by its path, such as `author.name`; the composite itself is not.
  package func attribute(_ property: String, of entity: String) -> AttributeDescription? {
    inherited.value[entity]?.attributeByName[property]
  }

  /// A composite attribute of an entity, inherited or its own, one inside another by its path; nil if the entity lacks
  /// it.
  package func composite(_ property: String, of entity: String) -> AttributeDescription? {
    inherited.value[entity]?.compositeByName[property]
  }

  /// Whether some entity has a composite attribute.
  package var hasComposites: Bool { inherited.value.values.contains { !$0.compositeByName.isEmpty } }

  /// A relationship of an entity, inherited or its own; nil if the entity lacks it.
  package func relationship(_ property: String, of entity: String) -> RelationshipDescription? {
    let own = inherited.value[entity]
    return own?.relationshipByName[property] ?? own?.unnamedByName[property]
  }

  /// The to-ones that a SQLite store holds in the rows of an entity for to-many relationships without an inverse that
  /// lead to it, in the order of the owners.
  ///
  /// They do not count as properties: they are in no list of properties, and hashes ignore them. `relationship(_:of:)`
  /// finds them by name, so that code about the storage of links treats them like any other.
  package func unnamedInverses(declaredIn entity: String) -> [RelationshipDescription] { unnamed.value[entity] ?? [] }

  /// The entity in the lineage that first declares the property (nearest the root), which decides its column.
  package func declaringEntity(of property: String, in entity: String) -> EntityDescription? {
    lineage(of: entity).last { ancestor in
      ancestor.leaves.contains { $0.name == property }
        || ancestor.relationships.contains { $0.name == property }
        || unnamed.value[ancestor.name]?.contains { $0.name == property } == true
    }
  }

  /// The inverse of a relationship, seen from the relationship's destination entity; of a to-many without one, the
  /// to-one that stores it.
  ///
  /// Two to-ones have a column each. If only one of them names the other, neither has an inverse: a link of one says
  /// nothing of the other.
  package func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
    namedInverse(of: relationship).flatMap { inverse in
      relationship.isToMany || inverse.isToMany || inverse.inverseName == relationship.name ? inverse : nil
    }
  }

  private func namedInverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
    (relationship.inverseName ?? relationship.storedInverseName.value).flatMap {
      self.relationship(
        $0, of: relationship.inverseEntityName ?? relationship.destinationEntityName)
        ?? self.relationship($0, of: relationship.destinationEntityName)
    }
  }

  /// Whether a store holds the links of a relationship: not of a transient one.
  package func isStored(_ relationship: RelationshipDescription) -> Bool {
    !relationship.isTransient && (!relationship.isToMany || inverse(of: relationship) != nil)
  }

  /// Uniqueness constraints in force on an entity: its own and its ancestors'.
  package func uniquenessConstraints(of name: String) -> [(entity: String, properties: [String])] {
    lineage(of: name).reversed().flatMap { entity in
      entity.uniquenessConstraints.map { (entity.name, $0) }
    }
  }

  /// The names of all attributes and relationships, inherited ones included.
  package func propertyNames(of name: String) -> [String] {
    attributes(of: name).map(\.name) + relationships(of: name).map(\.name)
  }

  // MARK: Checks

  static func broken(_ model: String, _ problem: String) -> GodwitError {
    GodwitError(
      .missingInput, "cannot use model '\(model)': \(problem)",
      remedy: "correct the model in Xcode's editor")
  }

  private func check() throws {
    for entity in entities {
      var seen: Set<String> = []
      let composites = entity.attributes.filter { $0.type == .composite }
      for property in composites.map(\.name) + entity.leaves.map(\.name) + entity.relationships.map(\.name)
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
        if let inverse = relationship.inverseName, namedInverse(of: relationship) == nil {
          throw Self.broken(
            name,
            "relationship '\(path)' names the inverse '\(inverse)', which '\(relationship.destinationEntityName)' lacks"
          )
        }
      }
      for constraint in entity.uniquenessConstraints {
        for property in constraint
        where attribute(property, of: entity.name) == nil && composite(property, of: entity.name) == nil
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

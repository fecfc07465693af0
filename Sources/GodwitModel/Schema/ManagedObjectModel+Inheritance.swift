/// The properties of an entity, inherited ones included. Code needs them for every object that it handles.
///
/// They are made from those of the parent, and share whatever the entity does not add to.
struct InheritedProperties: Sendable {
  private(set) var lineage: [EntityDescription] = []
  private(set) var names: Set<String> = []
  /// In name order.
  private(set) var attributes: [AttributeDescription] = []
  private(set) var relationships: [RelationshipDescription] = []
  private(set) var attributeByName: [String: AttributeDescription] = [:]
  private(set) var relationshipByName: [String: RelationshipDescription] = [:]
  /// The composite attributes, by path also those inside others. Their leaves stand among the attributes.
  private(set) var compositeByName: [String: AttributeDescription] = [:]
  /// The unnamed inverses by name; see `ManagedObjectModel.unnamedInverses(declaredIn:)`.
  private(set) var unnamedByName: [String: RelationshipDescription] = [:]

  init(_ entity: EntityDescription, of parent: InheritedProperties?, _ unnamed: [RelationshipDescription]) {
    if let parent { self = parent }
    lineage.insert(entity, at: 0)
    names.insert(entity.name)
    if !entity.attributes.isEmpty {
      for attribute in entity.attributes {
        for leaf in compositeByName[attribute.name]?.leaves ?? [] { attributeByName[leaf.name] = nil }
        if attribute.type == .composite { attributeByName[attribute.name] = nil }
        addComposites(of: attribute, at: attribute.name)
        for leaf in attribute.leaves { attributeByName[leaf.name] = leaf }
      }
      attributes = attributeByName.values.sorted { Text($0.name) < Text($1.name) }
    }
    if !entity.relationships.isEmpty {
      for relationship in entity.relationships { relationshipByName[relationship.name] = relationship }
      relationships = relationshipByName.values.sorted { Text($0.name) < Text($1.name) }
    }
    for relationship in unnamed { unnamedByName[relationship.name] = relationship }
  }

  private mutating func addComposites(of attribute: AttributeDescription, at path: String) {
    compositeByName[path] = attribute.type == .composite ? attribute : nil
    for element in attribute.elements { addComposites(of: element, at: "\(path).\(element.name)") }
  }

  /// How much it holds.
  var count: Int {
    lineage.count + compositeByName.count + attributes.count + relationships.count + unnamedByName.count
  }
}

extension ManagedObjectModel {
  /// How many ancestors an entity may have. Real models have fewer than ten.
  package static let ancestorsMaximum = 100
  /// How many properties and ancestors all entities may have together, inherited ones counted each time. A table of
  /// SQLite holds 2,000 columns, so that only a model made to fill the memory comes near.
  static let inheritedMaximum = 500_000

  /// In the order of `precedes`.
  static func inNameOrder(_ entities: [EntityDescription]) -> [EntityDescription] {
    let keys = entities.map { (Text($0.name.lowercased()), Text($0.name)) }
    return entities.indices.sorted { keys[$0] < keys[$1] }.map { entities[$0] }
  }

  /// The places of entities, each after its parent's.
  ///
  /// - Throws: code `.missingInput` when a parent is unknown, or inheritance runs in a circle or too deep.
  static func parentsFirst(
    _ entities: [EntityDescription], _ index: [String: Int], model: String
  ) throws -> [Int] {
    var order: [Int] = []
    /// How many ancestors, once known.
    var depths = [Int?](repeating: nil, count: entities.count)
    for start in entities.indices {
      var path: [Int] = []
      var next: Int? = start
      var depth = -1
      while let place = next {
        if let known = depths[place] {
          depth = known
          break
        }
        path.append(place)
        guard path.count <= entities.count else {
          throw broken(model, "entity '\(entities[start].name)' inherits from itself")
        }
        next = try entities[place].superentityName.map { parent in
          if let found = index[parent] { return found }
          throw broken(
            model,
            "entity '\(entities[place].name)' has the unknown parent '\(parent)'"
              + Spelling.suggestion(for: parent, among: entities.map(\.name)))
        }
      }
      for place in path.reversed() {
        depth += 1
        guard depth <= ancestorsMaximum else {
          throw broken(
            model,
            "expected at most \(ancestorsMaximum) ancestors of an entity, found more at '\(entities[place].name)'")
        }
        depths[place] = depth
        order.append(place)
      }
    }
    return order
  }

  /// Gives each to-many without an inverse the to-one that stores its links.
  ///
  /// - Returns: The entities, and by destination entity the to-ones.
  static func givingStoredInverses(
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
}

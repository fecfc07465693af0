import GodwitJob
import GodwitModel
import GodwitStore

/// Compares two models with regard to existing rows: whether each row is valid unchanged in both.
struct SchemaOnlyComparison {
  typealias Obstacle = SchemaOnlyLayout.Obstacle

  let resolved: ResolvedMapping
  let source, destination: StoreSchema
  let pairing: ModelPairing

  private var old: ManagedObjectModel { resolved.sourceModel }
  private var new: ManagedObjectModel { resolved.destinationModel }

  init(resolved: ResolvedMapping, source: StoreSchema, destination: StoreSchema) {
    self.resolved = resolved
    self.source = source
    self.destination = destination
    pairing = ModelPairing(from: resolved.sourceModel, to: resolved.destinationModel)
  }

  /// Entities of both models.
  private var pairs: [(was: EntityDescription, now: EntityDescription)] {
    pairing.entities.compactMap { pair in pair.old.flatMap { was in pair.new.map { (was, $0) } } }
  }

  /// - Throws: the first thing that a row would have to be read or written for.
  func check() throws(Obstacle) {
    try checkEntities()
    try checkMappings()
    for (was, now) in pairs {
      try checkAttributes(was, now)
      try checkRelationships(was, now)
      try checkConstraints(was, now)
    }
    try checkDerived()
  }

  // MARK: Entities

  private func checkEntities() throws(Obstacle) {
    for pair in pairing.entities {
      switch (pair.old, pair.new) {
      case (let was?, nil): throw Obstacle(reason: "entity \(was.name) goes")
      case (nil, let now?):
        guard let root = new.root(of: now.name), pairing.oldName(of: root.name) != nil else { continue }
        throw Obstacle(reason: "entity \(now.name) moves into the table of \(root.name)")
      case (let was?, let now?):
        let numbers = (source.number(of: was.name) ?? -1, destination.number(of: now.name) ?? -1)
        guard numbers.0 == numbers.1 else {
          throw Obstacle(reason: "the entity number of \(now.name) changes, \(numbers.0) to \(numbers.1)")
        }
        guard was.superentityName == now.superentityName.flatMap({ pairing.oldName(of: $0) }),
          (was.superentityName == nil) == (now.superentityName == nil)
        else { throw Obstacle(reason: "entity \(now.name) has a different parent") }
      case (nil, nil): continue
      }
    }
  }

  private func checkMappings() throws(Obstacle) {
    var mapped: Set<String> = []
    for mapping in resolved.entityMappings {
      guard pairing.oldName(of: mapping.destination.name) == mapping.source.name, mapping.filter == nil,
        mapping.mapping.uniqueBy.isEmpty, mapped.insert(mapping.source.name).inserted
      else { throw Obstacle(reason: "mapping '\(mapping.name)' does not lead from one entity to its successor") }
    }
    for (was, now) in pairs where !was.isAbstract && !mapped.contains(was.name) {
      throw Obstacle(reason: "no mapping takes the objects of \(now.name)")
    }
  }

  // MARK: Attributes

  /// The stored attribute whose values an attribute holds; nil for one that is new.
  private func origin(
    of attribute: AttributeDescription, in now: String, from was: String
  ) throws(Obstacle) -> AttributeDescription? {
    switch pairing.origin(of: .attribute(attribute), in: now, from: was) {
    case .attribute(let found)?: return found.isTransient ? nil : found
    case .relationship?: throw Obstacle(reason: "\(now).\(attribute.name) was a relationship")
    case nil: return nil
    }
  }

  private func checkAttributes(_ was: EntityDescription, _ now: EntityDescription) throws(Obstacle) {
    var kept: Set<String> = []
    for attribute in new.attributes(of: now.name) where !attribute.isTransient {
      let path = "\(now.name).\(attribute.name)"
      guard let from = try origin(of: attribute, in: now.name, from: was.name) else {
        if attribute.isDerived { throw Obstacle(reason: "\(path) is new and derived") }
        if !attribute.defaultValue.isNull { throw Obstacle(reason: "\(path) is new and has a default") }
        if !attribute.isOptional { throw Obstacle(reason: "\(path) is new and required") }
        continue
      }
      kept.insert(from.name)
      if from.type != attribute.type { throw Obstacle(reason: "\(path) changes its type") }
      if from.allowsExternalBinaryDataStorage != attribute.allowsExternalBinaryDataStorage {
        throw Obstacle(reason: "\(path) changes its external storage")
      }
      if from.derivationExpression != attribute.derivationExpression {
        throw Obstacle(reason: "\(path) changes its derivation")
      }
      if from.isOptional, !attribute.isOptional { throw Obstacle(reason: "\(path) becomes required") }
      if !from.isAtLeastAsStrict(as: attribute) {
        throw Obstacle(reason: "\(path) has a stricter rule", isRule: true)
      }
    }
    for attribute in old.attributes(of: was.name) where !attribute.isTransient && !kept.contains(attribute.name) {
      throw Obstacle(reason: "\(was.name).\(attribute.name) goes")
    }
  }

  /// A derived attribute is computed from the rows: the stored value may be old.
  private func checkDerived() throws(Obstacle) {
    for (_, now) in pairs {
      guard let derived = new.attributes(of: now.name).first(where: { $0.isDerived && !$0.isTransient }) else {
        continue
      }
      throw Obstacle(reason: "\(now.name).\(derived.name) is derived, and is computed for every object")
    }
  }

  // MARK: Relationships

  private func origin(
    of relationship: RelationshipDescription, in now: String, from was: String
  ) throws(Obstacle) -> RelationshipDescription? {
    switch pairing.origin(of: .relationship(relationship), in: now, from: was) {
    case .relationship(let found)?: return old.isStored(found) ? found : nil
    case .attribute?: throw Obstacle(reason: "\(now).\(relationship.name) was an attribute")
    case nil: return nil
    }
  }

  private func checkRelationships(_ was: EntityDescription, _ now: EntityDescription) throws(Obstacle) {
    var kept: Set<String> = []
    for relationship in new.relationships(of: now.name) where new.isStored(relationship) {
      let path = "\(now.name).\(relationship.name)"
      guard let from = try origin(of: relationship, in: now.name, from: was.name) else {
        try checkNew(relationship, path)
        continue
      }
      kept.insert(from.name)
      if from.isToMany != relationship.isToMany || from.isOrdered != relationship.isOrdered {
        throw Obstacle(reason: "\(path) changes its storage")
      }
      guard pairing.oldName(of: relationship.destinationEntityName) == from.destinationEntityName else {
        throw Obstacle(reason: "\(path) leads to another entity")
      }
      guard try isSameInverse(from, relationship) else { throw Obstacle(reason: "\(path) has another inverse") }
      if !from.requiresObject, relationship.requiresObject {
        throw Obstacle(reason: "\(path) becomes required", isRule: true)
      }
      let isCounted = relationship.isToMany
      if isCounted,
        relationship.minCount > from.minCount
          || relationship.maxCount > 0 && (from.maxCount <= 0 || from.maxCount > relationship.maxCount)
      {
        throw Obstacle(reason: "\(path) has a stricter rule", isRule: true)
      }
    }
    for relationship in old.relationships(of: was.name)
    where old.isStored(relationship) && !kept.contains(relationship.name) {
      throw Obstacle(reason: "\(was.name).\(relationship.name) goes")
    }
  }

  /// A new relationship has no targets, which must be allowed.
  private func checkNew(_ relationship: RelationshipDescription, _ path: String) throws(Obstacle) {
    if relationship.requiresObject { throw Obstacle(reason: "\(path) is new and required") }
    guard let inverse = new.inverse(of: relationship) else { return }
    for owner in new.family(of: relationship.destinationEntityName) {
      guard let was = pairing.oldName(of: owner.name), new.relationship(inverse.name, of: owner.name) != nil,
        try origin(of: inverse, in: owner.name, from: was) != nil
      else { continue }
      throw Obstacle(reason: "\(path) is new, and its inverse has links")
    }
  }

  private func isSameInverse(
    _ was: RelationshipDescription, _ now: RelationshipDescription
  ) throws(Obstacle) -> Bool {
    switch (old.inverse(of: was), new.inverse(of: now)) {
    case (nil, nil): return true
    case (let before?, let after?):
      guard before.isToMany == after.isToMany, before.isOrdered == after.isOrdered,
        before.isTransient == after.isTransient, (before.name == was.name) == (after.name == now.name)
      else { return false }
      guard !after.isTransient else { return true }
      for owner in new.family(of: now.destinationEntityName) where new.relationship(after.name, of: owner.name) != nil {
        guard let entity = pairing.oldName(of: owner.name),
          try origin(of: after, in: owner.name, from: entity)?.name == before.name
        else { return false }
      }
      return true
    default: return false
    }
  }

  // MARK: Constraints

  private func checkConstraints(_ was: EntityDescription, _ now: EntityDescription) throws(Obstacle) {
    for properties in now.uniquenessConstraints {
      let before = properties.map { name in
        ModelPairing.Property.all(of: now.name, in: new).first { $0.name == name }
          .flatMap { pairing.origin(of: $0, in: now.name, from: was.name)?.name } ?? ""
      }
      guard was.uniquenessConstraints.contains(before) else {
        throw Obstacle(reason: "\(now.name) has a new uniqueness constraint, \(properties.joined(separator: ", "))")
      }
    }
  }

  // MARK: Columns

  /// The present column that holds the values of a column of an entity's table; nil for a new column, which has no
  /// values.
  func origin(of column: StoreSchema.Column) throws(Obstacle) -> String? {
    let entity: String
    switch column.role {
    case .primaryKey, .entity, .optimisticLock: return column.name
    case .attribute(let owner, _, _), .foreignKey(let owner, _), .foreignEntity(let owner, _), .orderKey(let owner, _):
      entity = owner
    }
    var found: Set<String?> = []
    for member in new.family(of: entity) {
      guard let was = pairing.oldName(of: member.name) else { continue }
      found.insert(try origin(of: column, in: member.name, from: was))
    }
    guard found.count == 1, let only = found.first else {
      throw Obstacle(reason: "column \(column.name) has values only for some entities")
    }
    return only
  }

  private func origin(
    of column: StoreSchema.Column, in now: String, from was: String
  ) throws(Obstacle) -> String? {
    switch column.role {
    case .primaryKey, .entity, .optimisticLock: return column.name
    case .attribute(_, let name, _):
      guard let attribute = new.attribute(name, of: now),
        let from = try origin(of: attribute, in: now, from: was)
      else { return nil }
      guard let present = source.column(of: from.name, in: was) else {
        throw Obstacle(reason: "\(now).\(name) had no column")
      }
      return present
    case .foreignKey(_, let name), .foreignEntity(_, let name), .orderKey(_, let name):
      guard let relationship = new.relationship(name, of: now),
        let from = try origin(of: relationship, in: now, from: was)
      else { return nil }
      guard case .foreignKey(_, let key, let entity, let order) = source.storage(of: from.name, in: was) else {
        throw Obstacle(reason: "the links of \(now).\(name) were stored differently")
      }
      let present: String?
      switch column.role {
      case .foreignKey: present = key
      case .foreignEntity: present = entity
      default: present = order
      }
      guard let present else {
        throw Obstacle(reason: "column \(column.name) is new, and there are links that need it")
      }
      return present
    }
  }

  /// The present table of a relationship's links with its columns, and the new columns; nil for a new relationship.
  func joinOrigin(
    of join: StoreSchema.JoinTable
  ) throws(Obstacle) -> (
    old: StoreSchema.JoinTable, was: InPlaceSQLLayout.JoinColumns, now: InPlaceSQLLayout.JoinColumns
  )? {
    let (entity, name) = (join.ownerEntityName, join.ownerRelationshipName)
    guard let was = pairing.oldName(of: entity), let relationship = new.relationship(name, of: entity),
      let from = try origin(of: relationship, in: entity, from: was)
    else { return nil }
    guard
      case .join(let old, let oldSubject, let oldObject, let oldOrder) = source.storage(of: from.name, in: was),
      case .join(_, let subject, let object, let order) = destination.storage(of: name, in: entity),
      old.isReflexive == join.isReflexive
    else { throw Obstacle(reason: "the links of \(entity).\(name) were stored differently") }
    return (
      old, .init(old, subject: oldSubject, object: oldObject, order: oldOrder),
      .init(join, subject: subject, object: object, order: order)
    )
  }
}

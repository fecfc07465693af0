import GodwitModel

extension StoreSchema {
  /// The column type that Core Data declares, and the group the column stands in; nil when the
  /// type has no column.
  static func storage(of type: AttributeType) -> (declaredType: String, group: Int)? {
    switch type {
    case .integer16, .integer32, .integer64, .boolean: ("INTEGER", 1)
    case .double, .float: ("FLOAT", 3)
    case .date: ("TIMESTAMP", 3)
    case .decimal: ("DECIMAL", 4)
    case .string: ("VARCHAR", 5)
    case .uri: ("VARCHAR", 6)
    case .uuid: ("BLOB", 7)
    case .transformable: ("BLOB", 8)
    case .binary: ("BLOB", 9)
    case .undefined, .objectID, .composite: nil
    }
  }

  /// Hands out column names of one table: the first taker gets the plain name, later ones a number.
  struct Names {
    private var taken: Set<String>
    init(_ taken: Set<String> = []) { self.taken = taken }

    mutating func take(_ name: String) -> String {
      var candidate = name
      var suffix = 0
      while !taken.insert(candidate).inserted {
        suffix += 1
        candidate = name + String(suffix)
      }
      return candidate
    }
  }

  /// Whether an ancestor already gave the property its column.
  private func isInherited(_ property: String, in entity: EntityDescription) -> Bool {
    model.lineage(of: entity.name).dropFirst().contains { ancestor in
      ancestor.attributes.contains { $0.name == property && !$0.isTransient }
        || ancestor.relationships.contains { $0.name == property && !$0.isTransient }
    }
  }

  /// Columns in Core Data's order: by group, inside a group by entity number, inside an entity by name.
  func makeTable(root: String) -> EntityTable {
    var names = Names(["Z_PK", "Z_ENT", "Z_OPT"])
    var groups: [Int: [Column]] = [:]
    var orderKeys: [(inverse: String, column: Column)] = []
    for entity in model.family(of: root) {
      for attribute in entity.attributes.sorted(by: { Text($0.name) < Text($1.name) }) {
        guard !attribute.isTransient, let storage = Self.storage(of: attribute.type),
          !isInherited(attribute.name, in: entity)
        else { continue }
        groups[storage.group, default: []].append(
          Column(
            name: names.take("Z" + attribute.name.uppercased()), declaredType: storage.declaredType,
            role: .attribute(entity: entity.name, name: attribute.name, type: attribute.type)))
      }
      var entityOrderKeys: [(inverse: String, column: Column)] = []
      for relationship in entity.relationships.sorted(by: { Text($0.name) < Text($1.name) }) {
        guard !relationship.isTransient, !relationship.isToMany, !isInherited(relationship.name, in: entity)
        else { continue }
        let key = names.take("Z" + relationship.name.uppercased())
        groups[1, default: []].append(
          Column(
            name: key, declaredType: "INTEGER",
            role: .foreignKey(entity: entity.name, relationship: relationship.name)))
        let destination = relationship.destinationEntityName
        if model.hasSubentities(destination), let number = entityNumbers[destination] {
          groups[1, default: []].append(
            Column(
              name: names.take("Z\(number)_" + relationship.name.uppercased()), declaredType: "INTEGER",
              role: .foreignEntity(entity: entity.name, relationship: relationship.name)))
        }
        if let inverse = model.inverse(of: relationship), inverse.isToMany, inverse.isOrdered {
          entityOrderKeys.append(
            (
              inverse.name,
              Column(
                name: names.take("Z_FOK_" + key.dropFirst()), declaredType: "INTEGER",
                role: .orderKey(entity: entity.name, relationship: relationship.name))
            ))
        }
      }
      // Observed only: the order keys of an entity stand in descending order of the inverse's name.
      orderKeys += entityOrderKeys.sorted { Text($1.inverse) < Text($0.inverse) }
    }
    groups[2] = orderKeys.map(\.column)
    let fixed = [
      Column(name: "Z_PK", declaredType: "INTEGER", role: .primaryKey),
      Column(name: "Z_ENT", declaredType: "INTEGER", role: .entity),
      Column(name: "Z_OPT", declaredType: "INTEGER", role: .optimisticLock),
    ]
    return EntityTable(
      name: "Z" + root.uppercased(), rootEntityName: root,
      columns: fixed + (1...9).flatMap { groups[$0] ?? [] })
  }

  /// A many-to-many relationship with its owner chosen as Core Data chooses it.
  struct JoinEnds {
    var owner: EntityDescription
    var relationship: RelationshipDescription
    var destination: EntityDescription
    var inverse: RelationshipDescription
    var isReflexive: Bool
  }

  /// The ends of the join table that stores a relationship, or nil when none does.
  ///
  /// The owner is the entity whose name sorts first. With both ends in one entity it is the
  /// relationship whose name sorts last (23 of 28 observed tables; the others the first).
  func joinEnds(of relationship: RelationshipDescription, in entity: String) -> JoinEnds? {
    guard relationship.isToMany, !relationship.isTransient,
      let inverse = model.inverse(of: relationship), inverse.isToMany, !inverse.isTransient,
      let subject = model.declaringEntity(of: relationship.name, in: entity),
      let object = model.declaringEntity(
        of: inverse.name, in: relationship.inverseEntityName ?? relationship.destinationEntityName)
        ?? model.declaringEntity(of: inverse.name, in: relationship.destinationEntityName)
    else { return nil }
    let isSame = subject.name == object.name
    let owns =
      isSame
      ? !(Text(relationship.name) < Text(inverse.name)) : Text(subject.name) < Text(object.name)
    let isReflexive = isSame && relationship.name == inverse.name
    return owns
      ? JoinEnds(
        owner: subject, relationship: relationship, destination: object, inverse: inverse,
        isReflexive: isReflexive)
      : JoinEnds(
        owner: object, relationship: inverse, destination: subject, inverse: relationship,
        isReflexive: isReflexive)
  }

  /// Join tables by the root table of their owner, owners in number order, relationships in
  /// descending name order (observed in the clash suffixes of real stores).
  func makeJoinTables() -> [JoinTable] {
    var names = Names()
    var made: [JoinTable] = []
    for entity in model.rootEntities.flatMap({ model.family(of: $0.name) }) {
      for relationship in entity.relationships.sorted(by: { Text($1.name) < Text($0.name) }) {
        guard !isInherited(relationship.name, in: entity),
          let ends = joinEnds(of: relationship, in: entity.name),
          ends.owner.name == entity.name, ends.relationship.name == relationship.name,
          let owner = entityNumbers[ends.owner.name], let destination = entityNumbers[ends.destination.name]
        else { continue }
        let first =
          ends.isReflexive
          ? names.take("Z_\(owner)" + relationship.name.uppercased())
          : names.take("Z_\(owner)" + ends.inverse.name.uppercased())
        // Known from public reports, not from a file: a relationship that is its own inverse.
        let second =
          ends.isReflexive
          ? Self.reflexiveColumn : names.take("Z_\(destination)" + ends.relationship.name.uppercased())
        made.append(
          JoinTable(
            name: "Z_\(owner)" + relationship.name.uppercased(),
            ownerEntityName: ends.owner.name, ownerRelationshipName: relationship.name,
            ownerColumn: first, destinationColumn: second, destinationEntityName: ends.destination.name,
            inverseRelationshipName: ends.inverse.name,
            ownerOrderColumn: ends.relationship.isOrdered
              ? "Z_FOK_" + (ends.isReflexive ? second : String(second.dropFirst(2))) : nil,
            destinationOrderColumn: ends.inverse.isOrdered && !ends.isReflexive
              ? "Z_FOK_" + first.dropFirst(2) : nil))
      }
    }
    return made
  }
}

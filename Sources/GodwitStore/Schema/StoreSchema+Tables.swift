import GodwitModel

extension StoreSchema {
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
      ancestor.leaves.contains { $0.name == property && !$0.isTransient }
        || ancestor.relationships.contains { $0.name == property && !$0.isTransient }
    }
  }

  /// The columns of a to-one: its key, the entity number of the object that it leads to, and its place among the
  /// owner's objects.
  ///
  /// - Parameters:
  ///   - name: The name in upper case, as column names have it.
  ///   - inverse: The inverse if it is an ordered to-many; nil for any other.
  private func addKeys(
    of relationship: RelationshipDescription, named name: String, orderedBy inverse: RelationshipDescription?,
    in entity: EntityDescription, names: inout Names, into groups: inout [Int: [Column]],
    orderKeys: inout [(inverse: String, column: Column)]
  ) {
    func column(_ name: String, _ role: ColumnRole) -> Column {
      Column(name: name, declaredType: "INTEGER", role: role)
    }
    let key = names.take("Z" + name)
    groups[1, default: []].append(column(key, .foreignKey(entity: entity.name, relationship: relationship.name)))
    let destination = relationship.destinationEntityName
    if model.hasSubentities(destination), let number = entityNumbers[destination] {
      groups[1, default: []].append(
        column(
          names.take("Z\(number)_" + name), .foreignEntity(entity: entity.name, relationship: relationship.name)))
    }
    if let inverse {
      let place = names.take("Z_FOK_" + key.dropFirst())
      orderKeys.append(
        (inverse.name, column(place, .orderKey(entity: entity.name, relationship: relationship.name))))
    }
  }

  /// Columns in Core Data's order: by group, inside a group by entity number, inside an entity by name.
  ///
  /// The leaves of a composite attribute take its place, in declared order, each with its own name.
  func makeTable(root: String) -> EntityTable {
    var names = Names(["Z_PK", "Z_ENT", "Z_OPT"])
    var groups: [Int: [Column]] = [:]
    var orderKeys: [(inverse: String, column: Column)] = []
    for entity in model.family(of: root) {
      for attribute in entity.attributes.sorted(by: { Text($0.name) < Text($1.name) }).flatMap(\.leaves) {
        guard !attribute.isTransient, let storage = attribute.type.facts.column,
          !isInherited(attribute.name, in: entity)
        else { continue }
        groups[storage.group, default: []].append(
          Column(
            name: names.take("Z" + attribute.leafName.uppercased()), declaredType: storage.declaredType,
            role: .attribute(entity: entity.name, name: attribute.name, type: attribute.type)))
      }
      var entityOrderKeys: [(inverse: String, column: Column)] = []
      for relationship in entity.relationships.sorted(by: { Text($0.name) < Text($1.name) }) {
        guard !relationship.isTransient, !relationship.isToMany, !isInherited(relationship.name, in: entity)
        else { continue }
        let inverse = model.inverse(of: relationship).flatMap { $0.isToMany && $0.isOrdered ? $0 : nil }
        addKeys(
          of: relationship, named: relationship.name.uppercased(), orderedBy: inverse, in: entity, names: &names,
          into: &groups, orderKeys: &entityOrderKeys)
      }
      let unnamed = model.unnamedInverses(declaredIn: entity.name).sorted { a, b in
        (entityNumbers[a.destinationEntityName] ?? 0, Text(a.inverseName ?? ""))
          < (entityNumbers[b.destinationEntityName] ?? 0, Text(b.inverseName ?? ""))
      }
      // A to-many without an inverse has its columns in the table of the objects that it leads to. The key is known from
      // files. The entity column, for an owner with subentities, and the order column follow the rule for a to-one of
      // this name: no known file shows them.
      for inverse in unnamed {
        guard let owner = entityNumbers[inverse.destinationEntityName], let relationship = model.inverse(of: inverse)
        else { continue }
        addKeys(
          of: inverse, named: "\(owner)" + relationship.name.uppercased(),
          orderedBy: relationship.isOrdered ? relationship : nil, in: entity, names: &names, into: &groups,
          orderKeys: &entityOrderKeys)
      }
      // Observed only: the order keys of an entity are in descending order of the inverse's name.
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
}

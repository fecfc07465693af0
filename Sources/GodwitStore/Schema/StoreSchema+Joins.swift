import GodwitModel

/// Join tables as Core Data names them. `Decisions.md` lists which rules are proved, fitted and open.
extension StoreSchema {
  /// A many-to-many relationship and its inverse, before it is said which one names the table.
  private struct Pair {
    var a, b: Side
    var isReflexive: Bool { a.end == b.end }
    var sides: [Side] { isReflexive ? [a] : [a, b] }

    func other(_ side: Side) -> Side { side.end == a.end ? b : a }
  }

  private struct Side {
    var end: JoinNames.End
    var relationship: RelationshipDescription
  }

  /// Join tables being named.
  struct JoinNaming {
    var tables: [JoinTable] = []
    var guesses: [NameGuess] = []
    /// Ends whose columns would have the same name, in the order of their suffixes.
    var suffixGroups: [[JoinNames.End]] = []
  }

  /// Every many-to-many once, in the order of the entities and of their properties.
  private func pairs() -> [Pair] {
    var pairs: [Pair] = []
    var seen: Set<JoinNames.End> = []
    for entity in model.rootEntities.flatMap({ model.family(of: $0.name) }) {
      for relationship in entity.relationships.sorted(by: { Text($0.name) < Text($1.name) }) {
        guard relationship.isToMany, !relationship.isTransient,
          let inverse = model.inverse(of: relationship), inverse.isToMany, !inverse.isTransient,
          model.declaringEntity(of: relationship.name, in: entity.name)?.name == entity.name,
          let other = model.declaringEntity(
            of: inverse.name, in: relationship.inverseEntityName ?? relationship.destinationEntityName)
            ?? model.declaringEntity(of: inverse.name, in: relationship.destinationEntityName)
        else { continue }
        let own = Side(end: .init(entity: entity.name, relationship: relationship.name), relationship: relationship)
        let far = Side(end: .init(entity: other.name, relationship: inverse.name), relationship: inverse)
        guard seen.insert(own.end).inserted else { continue }
        seen.insert(far.end)
        pairs.append(Pair(a: own, b: far))
      }
    }
    return pairs
  }

  /// Places of properties by entity, worked out once.
  private final class Places {
    let model: ManagedObjectModel
    private var known: [String: [String: Int]] = [:]
    init(_ model: ManagedObjectModel) { self.model = model }

    subscript(_ end: JoinNames.End) -> Int {
      let places = known[end.entity] ?? model.propertyPlaces(of: end.entity)
      known[end.entity] = places
      return places[end.relationship] ?? .max
    }
  }

  /// - Parameter known: Names that are known from a store; they win over the rules.
  func makeJoinTables(_ known: JoinNames) -> JoinNaming {
    let places = Places(model)
    let early = earlyRoots()
    var naming = JoinNaming()
    var owned: [(owner: Side, other: Side, isReflexive: Bool)] = []
    for pair in pairs() {
      let (owner, guess) = owner(of: pair, known: known, places: places, early: early)
      owned.append((owner, pair.other(owner), pair.isReflexive))
      if let guess { naming.guesses.append(guess) }
    }
    let order = Dictionary(
      model.rootEntities.flatMap { model.family(of: $0.name) }.enumerated().map { ($1.name, $0) }
    ) { first, _ in first }
    owned.sort { a, b in
      let (x, y) = (a.owner.end, b.owner.end)
      return (order[x.entity] ?? 0, places[x], Text(x.relationship))
        < (order[y.entity] ?? 0, places[y], Text(y.relationship))
    }
    // Ends by the name of the column with the keys of what they lead to.
    var columns: [String: [(end: JoinNames.End, owner: JoinNames.End, into: JoinNames.End)]] = [:]
    for (owner, other, isReflexive) in owned {
      columns[base(of: owner, into: other), default: []].append((owner.end, owner.end, other.end))
      if !isReflexive { columns[base(of: other, into: owner), default: []].append((other.end, owner.end, owner.end)) }
    }
    var suffixes: [JoinNames.End: String] = [:]
    for (base, group) in columns.sorted(by: { Text($0.key) < Text($1.key) }) where group.count > 1 {
      let ends = group.map(\.end)
      let stored = ends.compactMap { known.suffixes[$0] }
      if stored.count == ends.count, Set(stored).count == ends.count {
        for end in ends { suffixes[end] = known.suffixes[end] }
        naming.suffixGroups.append(ends.sorted { (Int(suffixes[$0] ?? "") ?? 0) < (Int(suffixes[$1] ?? "") ?? 0) })
        continue
      }
      let byOwner = group.sorted { a, b in
        let (x, y) = (rank(a.owner, early), rank(b.owner, early))
        return (x.isSub, x.number, x.step, places[a.owner], Text(a.end.entity), Text(a.end.relationship))
          < (y.isSub, y.number, y.step, places[b.owner], Text(b.end.entity), Text(b.end.relationship))
      }.map(\.end)
      let byInverse = group.sorted { (places[$0.into], Text($0.end.entity)) < (places[$1.into], Text($1.end.entity)) }
        .map(\.end)
      for (place, end) in byOwner.enumerated() { suffixes[end] = place == 0 ? "" : String(place) }
      naming.suffixGroups.append(byOwner)
      naming.guesses.append(
        NameGuess(
          name: byOwner.map { base + (suffixes[$0] ?? "") }.joined(separator: ", ") + " in this order",
          subject: "join columns of " + byOwner.map(\.description).joined(separator: ", "),
          alternative: byOwner == byInverse
            ? "another order" : "the order " + byInverse.map(\.description).joined(separator: ", "),
          rulesAgree: byOwner == byInverse))
    }
    for (owner, other, isReflexive) in owned {
      naming.tables.append(table(owner: owner, other: other, isReflexive: isReflexive, suffixes: suffixes))
    }
    return naming
  }

  private func base(of side: Side, into other: Side) -> String {
    "Z_\(entityNumbers[other.end.entity] ?? 0)" + side.end.relationship.uppercased()
  }

  private func table(
    owner: Side, other: Side, isReflexive: Bool, suffixes: [JoinNames.End: String]
  ) -> JoinTable {
    // Known from public reports, not from a file: a relationship that is its own inverse.
    let second =
      isReflexive ? Self.reflexiveColumn : base(of: owner, into: other) + (suffixes[owner.end] ?? "")
    let first = base(of: other, into: owner) + (suffixes[other.end] ?? "")
    return JoinTable(
      name: tableName(of: owner.end),
      ownerEntityName: owner.end.entity, ownerRelationshipName: owner.end.relationship,
      ownerColumn: first, destinationColumn: second, destinationEntityName: other.end.entity,
      inverseRelationshipName: other.end.relationship,
      ownerOrderColumn: owner.relationship.isOrdered
        ? "Z_FOK_" + (isReflexive ? second : String(second.dropFirst(2))) : nil,
      destinationOrderColumn: other.relationship.isOrdered && !isReflexive ? "Z_FOK_" + first.dropFirst(2) : nil)
  }

  private func tableName(of end: JoinNames.End) -> String {
    "Z_\(entityNumbers[end.entity] ?? 0)" + end.relationship.uppercased()
  }

  // MARK: Which end names the table

  private func owner(
    of pair: Pair, known: JoinNames, places: Places, early: [String: Int]
  ) -> (Side, NameGuess?) {
    guard !pair.isReflexive else { return (pair.a, nil) }
    if let stored = pair.sides.first(where: { known.owners.contains($0.end) }) { return (stored, nil) }
    func guess(_ chosen: Side, rulesAgree: Bool) -> NameGuess {
      NameGuess(
        name: tableName(of: chosen.end), subject: "join table of \(chosen.end) and \(pair.other(chosen).end)",
        alternative: tableName(of: pair.other(chosen).end), rulesAgree: rulesAgree)
    }
    let (a, b) = (pair.a, pair.b)
    if a.end.entity == b.end.entity {
      let last = JoinNames.End.precedes(a.end, b.end) ? b : a
      let hashed = places[a.end] < places[b.end] ? a : b
      // Fitted, not explained: between these numbers the names of all known stores follow their own order.
      let count = model.persistentPropertyCount(of: a.end.entity)
      let chosen = (26...32).contains(count) ? last : hashed
      return (chosen, guess(chosen, rulesAgree: last.end == hashed.end))
    }
    let byName = Text(a.end.entity) < Text(b.end.entity) ? a : b
    let (x, y) = (rank(byName.end, early), rank(pair.other(byName).end, early))
    // Seen once, in the table of an entity that a one-to-one had brought forward.
    if y.step > 0, x.isSub == 0, (y.number, y.step) < (x.number, x.step) {
      return (pair.other(byName), guess(pair.other(byName), rulesAgree: false))
    }
    let isOneHierarchy = model.root(of: a.end.entity)?.name == model.root(of: b.end.entity)?.name
    return (byName, isOneHierarchy ? guess(byName, rulesAgree: true) : nil)
  }

  /// When Core Data works on an entity: roots first, by number, then subentities by number; an entity that a one-to-one
  /// to one of its subentities brings forward comes right after the one that has the one-to-one.
  private func rank(_ end: JoinNames.End, _ early: [String: Int]) -> (isSub: Int, number: Int, step: Int) {
    if let number = early[end.entity] { return (0, number, 1) }
    return (model.entity(end.entity)?.superentityName == nil ? 0 : 1, entityNumbers[end.entity] ?? 0, 0)
  }

  /// Root entities that a one-to-one to one of their subentities brings forward, and the number of the entity that has
  /// it.
  private func earlyRoots() -> [String: Int] {
    var early: [String: Int] = [:]
    for entity in model.rootEntities {
      guard let number = entityNumbers[entity.name] else { continue }
      for relationship in entity.relationships where !relationship.isToMany && !relationship.isTransient {
        guard let inverse = model.inverse(of: relationship), !inverse.isToMany,
          let root = model.root(of: relationship.destinationEntityName)?.name,
          root != relationship.destinationEntityName, root != entity.name,
          let own = entityNumbers[root], number < min(own, early[root] ?? .max)
        else { continue }
        early[root] = number
      }
    }
    return early
  }
}

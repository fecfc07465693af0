import GodwitModel

/// Join tables as Core Data names them. `CoreDataFiles.md` lists the rules with their evidence.
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

  /// The orders that decide names, worked out once.
  private final class Orders {
    let model: ManagedObjectModel
    private let visits: [String: Int]
    private var known: [String: (name: [String: Int], file: [String: Int])] = [:]

    init(_ model: ManagedObjectModel) { (self.model, visits) = (model, model.visits) }

    func visit(_ end: JoinNames.End) -> Int { visits[end.entity] ?? .max }
    func name(_ end: JoinNames.End) -> Int { places(end.entity).name[end.relationship] ?? .max }
    func file(_ end: JoinNames.End) -> Int { places(end.entity).file[end.relationship] ?? .max }

    private func places(_ entity: String) -> (name: [String: Int], file: [String: Int]) {
      if let places = known[entity] { return places }
      let places = (model.namePlaces(of: entity), model.filePlaces(of: entity))
      known[entity] = places
      return places
    }
  }

  /// - Parameter known: Names that are known from a store; they win over the rules.
  func makeJoinTables(_ known: JoinNames) -> JoinNaming {
    let orders = Orders(model)
    var naming = JoinNaming()
    var owned = pairs().map { pair in
      let owner = owner(of: pair, known: known, orders)
      return (owner: owner, other: pair.other(owner), isReflexive: pair.isReflexive)
    }
    let order = Dictionary(
      model.rootEntities.flatMap { model.family(of: $0.name) }.enumerated().map { ($1.name, $0) }
    ) { first, _ in first }
    owned.sort { a, b in
      let (x, y) = (a.owner.end, b.owner.end)
      return (order[x.entity] ?? 0, orders.file(x), Text(x.relationship))
        < (order[y.entity] ?? 0, orders.file(y), Text(y.relationship))
    }
    // The ends by the name of the column with the keys of the objects that they lead to.
    var columns: [String: [(end: JoinNames.End, owner: JoinNames.End)]] = [:]
    for (owner, other, isReflexive) in owned {
      columns[base(of: owner, into: other), default: []].append((owner.end, owner.end))
      if !isReflexive { columns[base(of: other, into: owner), default: []].append((other.end, owner.end)) }
    }
    var suffixes: [JoinNames.End: String] = [:]
    for group in columns.values where group.count > 1 {
      var ends = group.sorted { a, b in
        let (x, y) = (a.owner, b.owner)
        return (orders.visit(x), orders.name(x), Text(a.end.entity), Text(a.end.relationship))
          < (orders.visit(y), orders.name(y), Text(b.end.entity), Text(b.end.relationship))
      }.map(\.end)
      if let stored = known.suffixes(of: ends) {
        ends.sort { (Int(stored[$0] ?? "") ?? 0) < (Int(stored[$1] ?? "") ?? 0) }
        suffixes.merge(stored) { _, stored in stored }
      } else {
        for (place, end) in ends.enumerated() { suffixes[end] = place == 0 ? "" : String(place) }
      }
      naming.suffixGroups.append(ends)
    }
    for (owner, other, isReflexive) in owned {
      var join = table(owner: owner, other: other, isReflexive: isReflexive, suffixes: suffixes)
      if known.reflexiveOrders[owner.end] == .relationship { join.ownerOrderColumn = join.alternativeOrderColumn }
      naming.tables.append(join)
    }
    return naming
  }

  private func base(of side: Side, into other: Side) -> String {
    "Z_\(entityNumbers[other.end.entity] ?? 0)" + side.end.relationship.uppercased()
  }

  private func table(
    owner: Side, other: Side, isReflexive: Bool, suffixes: [JoinNames.End: String]
  ) -> JoinTable {
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

  private func owner(of pair: Pair, known: JoinNames, _ orders: Orders) -> Side {
    if let stored = pair.sides.first(where: { known.owners.contains($0.end) }) { return stored }
    let (a, b) = (pair.a.end, pair.b.end)
    return (orders.visit(a), orders.name(a)) <= (orders.visit(b), orders.name(b)) ? pair.a : pair.b
  }

  // MARK: Which names are certain

  /// The names that Core Data may choose otherwise (`CoreDataFiles.md` has the rules and how often each was right).
  ///
  /// - Parameter known: Names that are known from a store.
  func nameGuesses(_ known: JoinNames) -> [NameGuess] {
    var guesses: [NameGuess] = []
    var selfReferential: [String: [JoinTable]] = [:]
    func add(_ join: JoinTable, isLikely: Bool) {
      guard let (owner, inverse) = join.ends else { return }
      guesses.append(
        NameGuess(
          name: join.name, subject: "join table of \(owner) and \(inverse)", alternative: tableName(of: inverse),
          isLikely: isLikely))
    }
    for join in joinTables {
      guard !join.isReflexive, let (owner, inverse) = join.ends, !known.owners.contains(owner) else { continue }
      if owner.entity == inverse.entity {
        selfReferential[owner.entity, default: []].append(join)
      } else if model.root(of: owner.entity)?.name == model.root(of: inverse.entity)?.name {
        add(join, isLikely: false)
      }
    }
    for join in joinTables where join.isReflexive {
      guard let (end, _) = join.ends, let name = join.ownerOrderColumn, let other = join.alternativeOrderColumn,
        known.reflexiveOrders[end] == nil
      else { continue }
      guesses.append(
        NameGuess(name: name, subject: "order column of \(end)", alternative: other, isLikely: false))
    }
    for (entity, joins) in selfReferential.sorted(by: { Text($0.key) < Text($1.key) }) {
      let pairs = joins.map { (first: $0.ownerRelationshipName, second: $0.inverseRelationshipName ?? "") }
      for (join, share) in zip(joins, model.shares(of: pairs, in: entity)) where share < 0.995 {
        add(join, isLikely: share >= 0.9)
      }
    }
    let tables = Dictionary(joinTables.flatMap { join in join.endSet.map { ($0, join) } }) { first, _ in first }
    for ends in suffixGroups where known.suffixes(of: ends) == nil {
      let joins = ends.compactMap { tables[$0] }
      guard Set(joins.map(\.ownerEntityName)).count < joins.count else { continue }
      let columns = zip(ends, joins).map { $0 == $1.ends?.0 ? $1.destinationColumn : $1.ownerColumn }
      guesses.append(
        NameGuess(
          name: columns.joined(separator: ", ") + " in this order",
          subject: "join columns of " + ends.map(\.description).joined(separator: ", "), alternative: "another order",
          isLikely: false))
    }
    return guesses
  }
}

package import GodwitModel

/// The names of join tables as a store has them: which end names the table, and the suffixes of join columns that would
/// have the same name. They win over the rules.
package struct JoinNames: Sendable, Hashable {
  /// One side of a many-to-many.
  package struct End: Sendable, Hashable, CustomStringConvertible {
    /// The entity that declares the relationship.
    package var entity: String
    package var relationship: String
    package var description: String { "\(entity).\(relationship)" }

    static func precedes(_ a: End, _ b: End) -> Bool {
      (Text(a.relationship), Text(a.entity)) < (Text(b.relationship), Text(b.entity))
    }
  }

  /// Ends that name their table.
  package private(set) var owners: Set<End> = []
  /// The suffix of the column with the keys of the objects at the other end, by end.
  package private(set) var suffixes: [End: String] = [:]

  /// Ordered to-many relationships without an inverse whose order the store has a column for.
  package private(set) var orders: Set<End> = []

  /// The name that the order column of a many-to-many that is its own inverse is made of.
  package enum ReflexiveOrder: String, Sendable {
    /// `Z_FOK_REFLEXIVE`, after the column with the keys of the ordered objects, as in any other many-to-many.
    case reflexive
    /// `Z_FOK_<n><REL>`.
    case relationship
  }

  /// The known ones, by end.
  package private(set) var reflexiveOrders: [End: ReflexiveOrder] = [:]

  package init() {}

  /// The suffixes of columns that would have the same name; nil unless all are known and no two are the same.
  func suffixes(of ends: [End]) -> [End: String]? {
    let found = Dictionary(ends.compactMap { end in suffixes[end].map { (end, $0) } }) { first, _ in first }
    return found.count == ends.count && Set(found.values).count == ends.count ? found : nil
  }

  /// A text that differs where the names do.
  package var text: String {
    let owners = owners.sorted(by: End.precedes).map(\.description)
    let suffixes = suffixes.sorted { End.precedes($0.key, $1.key) }.map { "\($0.key) \($0.value)" }
    let reflexive = reflexiveOrders.sorted { End.precedes($0.key, $1.key) }.map { "\($0.key) by \($0.value.rawValue)" }
    return (owners + suffixes + orders.sorted(by: End.precedes).map(\.description) + reflexive)
      .joined(separator: ", ")
  }

  /// The names that a user gives, as `Entity.relationship` and name.
  ///
  /// - Parameter schema: A layout for the model.
  /// - Throws: a complaint about the first name that is impossible; `place` says which one.
  package init(
    naming given: [(end: String, name: String)], in schema: StoreSchema,
    refuse: (_ place: Int, _ why: String) -> any Error
  ) throws {
    for (place, pair) in given.enumerated() {
      let parts = pair.end.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, let entity = schema.model.entity(parts[0]) else {
        let found = parts[0].isEmpty || parts.count < 2 ? "'\(pair.end)'" : "the unknown entity '\(parts[0])'"
        throw refuse(
          place,
          "expected Entity.relationship of '\(schema.model.name)', found \(found)"
            + Spelling.suggestion(for: parts[0], among: schema.model.entityNames))
      }
      guard let declaring = schema.model.declaringEntity(of: parts[1], in: entity.name),
        schema.model.relationship(parts[1], of: entity.name) != nil
      else {
        let known = schema.model.lineage(of: entity.name).flatMap(\.relationships).map(\.name)
        throw refuse(
          place,
          "'\(entity.name)' has no relationship '\(parts[1])'" + Spelling.suggestion(for: parts[1], among: known))
      }
      let end = End(entity: declaring.name, relationship: parts[1])
      let names = schema.possibleNames(of: end)
      guard !names.isEmpty else {
        throw refuse(place, "nothing is open about the names of '\(end)': Core Data has one name for each")
      }
      guard names.contains(where: { $0.name == pair.name }) else {
        throw refuse(
          place,
          "Core Data never uses '\(pair.name)' for '\(end)': it is \(names.map(\.name).joined(separator: " or "))")
      }
      for found in names where found.name == pair.name { take(found.choice) }
    }
    for group in schema.suffixGroups {
      let open = group.filter { suffixes[$0] == nil }
      guard open.count < group.count, suffixes(of: group) == nil else { continue }
      let place = given.indices.first { index in group.contains { $0.description == given[index].end } } ?? 0
      let rest =
        open.isEmpty ? "give each another name" : "name those of \(open.map(\.description).joined(separator: ", ")) too"
      throw refuse(place, "the columns of \(group.map(\.description).joined(separator: ", ")) share one name: \(rest)")
    }
  }

  private mutating func take(_ choice: StoreSchema.NameChoice) {
    switch choice {
    case .owner(let end): owners.insert(end)
    case .suffix(let end, let suffix): suffixes[end] = suffix
    case .order(let end): orders.insert(end)
    case .reflexiveOrder(let end, let order): reflexiveOrders[end] = order
    }
  }

  /// These names, and those of a user in their place.
  package func replaced(by given: JoinNames, in schema: StoreSchema) -> JoinNames {
    var names = self
    for join in schema.joinTables where !join.endSet.isDisjoint(with: given.owners) {
      names.owners.subtract(join.endSet)
    }
    names.owners.formUnion(given.owners)
    names.suffixes.merge(given.suffixes) { _, given in given }
    names.orders.formUnion(given.orders)
    names.reflexiveOrders.merge(given.reflexiveOrders) { _, given in given }
    return names
  }

  package var isEmpty: Bool { owners.isEmpty && suffixes.isEmpty && orders.isEmpty && reflexiveOrders.isEmpty }

  /// The names of a store that exists.
  package init(of schema: StoreSchema) {
    orders = Set(schema.unnamedOrders)
    for join in schema.joinTables {
      guard let (owner, inverse) = join.ends else { continue }
      owners.insert(owner)
      if join.isReflexive, let column = join.ownerOrderColumn {
        reflexiveOrders[owner] =
          column == "Z_FOK_" + StoreSchema.reflexiveColumn
          ? .reflexive : column == join.alternativeOrderColumn ? .relationship : nil
      }
      var columns = [(owner, join.destinationColumn, join.destinationEntityName)]
      columns.append((inverse, join.ownerColumn, join.ownerEntityName))
      for (end, column, entity) in join.isReflexive ? columns.suffix(1) : columns[...] {
        let base = schema.number(of: entity).map { "Z_\($0)" + end.relationship.uppercased() }
        guard let base, column.hasPrefix(base) else { continue }
        suffixes[end] = String(column.dropFirst(base.count))
      }
    }
  }

  /// The names of an earlier version's store that also hold for a later version. If everything that Core Data looks at
  /// is the same in both, its choice is the same.
  ///
  /// - Parameters:
  ///   - earlier: The model of the store that the names are of.
  ///   - later: The model of the store that is to be made.
  package func kept(from earlier: ManagedObjectModel, to later: ManagedObjectModel) -> JoinNames {
    var kept = JoinNames()
    let (before, after) = (StoreSchema(model: earlier), StoreSchema(model: later))
    kept.orders = orders.intersection(after.unnamedOrders)
    let visits = (before: earlier.visits, after: later.visits)
    var same: [String: Bool] = [:]
    func isSame(_ entity: String) -> Bool {
      if let known = same[entity] { return known }
      let isSame = earlier.propertyLines(of: entity) == later.propertyLines(of: entity)
      same[entity] = isSame
      return isSame
    }
    func decideAlike(_ ends: [End]) -> Bool {
      let entities = Set(ends.map(\.entity))
      return entities.allSatisfy(isSame)
        && entities.sorted { visits.before[$0] ?? 0 < visits.before[$1] ?? 0 }
          == entities.sorted { visits.after[$0] ?? 0 < visits.after[$1] ?? 0 }
    }
    let pairs = Set(before.joinTables.map(\.endSet))
    for join in after.joinTables where pairs.contains(join.endSet) && decideAlike(Array(join.endSet)) {
      if let named = join.endSet.first(where: owners.contains) { kept.owners.insert(named) }
      for end in join.endSet { kept.reflexiveOrders[end] = reflexiveOrders[end] }
    }
    let groups = Set(before.suffixGroups.map(Set.init))
    for group in after.suffixGroups where groups.contains(Set(group)) {
      let tables = after.joinTables.filter { !$0.endSet.isDisjoint(with: group) }
      guard tables.allSatisfy({ pairs.contains($0.endSet) }), decideAlike(tables.flatMap(\.endSet)) else { continue }
      kept.suffixes.merge(suffixes(of: group) ?? [:]) { _, new in new }
    }
    return kept
  }
}

extension StoreSchema {
  /// The parts of the schema that are guessed or unknown.
  package var remarks: [String] {
    guesses.map(\.description)
      + unknownOrders.map {
        "how Core Data stores the order of \($0), an ordered to-many without an inverse, is not known"
      }
      + omittedIndexes.map { "not made: \($0)" }
  }

  /// The meaning of a name of a many-to-many.
  enum NameChoice {
    /// The end names the join table.
    case owner(JoinNames.End)
    /// The suffix of the column with the keys of the objects at the other end.
    case suffix(JoinNames.End, String)
    /// There is a column for the order.
    case order(JoinNames.End)
    /// The name that the order column is made of.
    case reflexiveOrder(JoinNames.End, JoinNames.ReflexiveOrder)
  }

  /// The names that Core Data may use for a relationship if the model leaves them open, with the choice that each
  /// implies.
  func possibleNames(of end: JoinNames.End) -> [(name: String, choice: NameChoice)] {
    var names: [(name: String, choice: NameChoice)] = []
    if unknownOrders.contains(end.description), let number = number(of: end.entity) {
      names.append(("Z_FOK_\(number)\(end.relationship.uppercased())", .order(end)))
    }
    if let join = joinTables.first(where: { $0.endSet.contains(end) }), join.isReflexive,
      let name = join.ownerOrderColumn, let other = join.alternativeOrderColumn
    {
      names += [(name, .reflexiveOrder(end, .reflexive)), (other, .reflexiveOrder(end, .relationship))]
    }
    if let join = joinTables.first(where: { $0.endSet.contains(end) }), !join.isReflexive, let (a, b) = join.ends,
      model.root(of: a.entity)?.name == model.root(of: b.entity)?.name
    {
      for end in [a, b] {
        guard let number = number(of: end.entity) else { continue }
        names.append(("Z_\(number)\(end.relationship.uppercased())", .owner(end)))
      }
    }
    if let group = suffixGroups.first(where: { $0.contains(end) }),
      let join = joinTables.first(where: { $0.endSet.contains(end) }), let (owner, inverse) = join.ends,
      let number = number(of: end == owner ? inverse.entity : owner.entity)
    {
      let base = "Z_\(number)\(end.relationship.uppercased())"
      for place in group.indices {
        names.append((base + (place == 0 ? "" : "\(place)"), .suffix(end, place == 0 ? "" : "\(place)")))
      }
    }
    return names
  }

  /// A name in a layout that Core Data may choose otherwise.
  package struct NameGuess: Sendable, Hashable, CustomStringConvertible {
    /// The name that the layout has.
    package var name: String
    /// The table, column or index that has the name.
    package var subject: String
    /// The name that Core Data may expect in its place.
    package var alternative: String
    /// Whether the rule has named all such tables of known stores as Core Data did.
    package var isLikely: Bool

    package var description: String {
      "\(subject): \(name) is a \(isLikely ? "likely " : "")guess; Core Data may expect \(alternative)"
    }
  }
}

extension StoreSchema {
  /// The ordered to-many relationships without an inverse that an order column is there for.
  var unnamedOrders: [JoinNames.End] {
    tables.flatMap(\.columns).compactMap { column in
      guard case .orderKey(let owner, let name) = column.role,
        let inverse = model.relationship(name, of: owner), inverse.isUnnamedInverse.value
      else { return nil }
      return inverse.inverseName.map { .init(entity: inverse.destinationEntityName, relationship: $0) }
    }
  }
}

extension StoreSchema.JoinTable {
  /// The end that names the table, and the other; nil without an inverse.
  var ends: (JoinNames.End, JoinNames.End)? {
    inverseRelationshipName.map {
      (
        .init(entity: ownerEntityName, relationship: ownerRelationshipName),
        .init(entity: destinationEntityName, relationship: $0)
      )
    }
  }

  /// The column that may have the order of a relationship that is its own inverse in place of `Z_FOK_REFLEXIVE`; nil if
  /// it has no order.
  var alternativeOrderColumn: String? {
    isReflexive && ownerOrderColumn != nil ? "Z_FOK_" + ownerColumn.dropFirst(2) : nil
  }

  /// Both ends; empty without an inverse.
  var endSet: Set<JoinNames.End> { ends.map { [$0.0, $0.1] } ?? [] }
}

package import GodwitModel

/// Names in a layout that no model tells: which end names the join table of a pair in one entity, and the suffixes of
/// join columns that would have the same name. A store that Core Data wrote has them.
package struct JoinNames: Sendable, Hashable {
  /// One side of a many-to-many.
  package struct End: Sendable, Hashable, CustomStringConvertible {
    /// The entity that declares the relationship.
    package var entity: String
    package var relationship: String
    package init(entity: String, relationship: String) {
      self.entity = entity
      self.relationship = relationship
    }
    package var description: String { "\(entity).\(relationship)" }

    static func precedes(_ a: End, _ b: End) -> Bool {
      (Text(a.relationship), Text(a.entity)) < (Text(b.relationship), Text(b.entity))
    }
  }

  /// Ends that name their table.
  package private(set) var owners: Set<End> = []
  /// By end, the suffix of the column with the keys of the objects that it leads to.
  package private(set) var suffixes: [End: String] = [:]

  /// Ordered to-many relationships without an inverse whose order the store has a column for.
  package private(set) var orders: Set<End> = []

  package init() {}

  /// A text that differs where the names do.
  package var text: String {
    let owners = owners.sorted(by: End.precedes).map(\.description)
    let suffixes = suffixes.sorted { End.precedes($0.key, $1.key) }.map { "\($0.key) \($0.value)" }
    return (owners + suffixes + orders.sorted(by: End.precedes).map(\.description)).joined(separator: ", ")
  }

  /// The names of a store that exists.
  package init(of schema: StoreSchema) {
    orders = Set(schema.unnamedOrders)
    for join in schema.joinTables {
      guard let (owner, inverse) = join.ends else { continue }
      owners.insert(owner)
      guard !join.isReflexive else { continue }
      for (end, column, entity) in [
        (owner, join.destinationColumn, join.destinationEntityName), (inverse, join.ownerColumn, join.ownerEntityName),
      ] {
        let base = schema.number(of: entity).map { "Z_\($0)" + end.relationship.uppercased() }
        guard let base, column.hasPrefix(base) else { continue }
        suffixes[end] = String(column.dropFirst(base.count))
      }
    }
  }

  /// What of the names of an earlier version's store holds for a later version: where all that Core Data looks at is
  /// the same in both, its choice is the same.
  ///
  /// - Parameters:
  ///   - earlier: The model of the store that the names are of.
  ///   - later: The model of the store that is to be made.
  package func kept(from earlier: ManagedObjectModel, to later: ManagedObjectModel) -> JoinNames {
    var kept = JoinNames()
    let schema = StoreSchema(model: later)
    kept.orders = orders.intersection(schema.unnamedOrders)
    var same: [String: Bool] = [:]
    func isSame(_ entity: String) -> Bool {
      if let known = same[entity] { return known }
      let lines = later.propertyLines(of: entity)
      let isSame = earlier.entity(entity) != nil && !lines.isEmpty && earlier.propertyLines(of: entity) == lines
      same[entity] = isSame
      return isSame
    }
    for join in schema.joinTables {
      guard let (owner, inverse) = join.ends else { continue }
      guard isSame(owner.entity), isSame(inverse.entity) else { continue }
      if let named = [owner, inverse].first(where: owners.contains) { kept.owners.insert(named) }
    }
    let before = StoreSchema(model: earlier).suffixGroups
    for group in schema.suffixGroups where group.count > 1 {
      guard before.contains(where: { Set($0) == Set(group) }), group.allSatisfy({ suffixes[$0] != nil }) else {
        continue
      }
      let others = schema.joinTables.compactMap(\.ends).filter { group.contains($0.0) || group.contains($0.1) }
      guard others.allSatisfy({ isSame($0.0.entity) && isSame($0.1.entity) }) else { continue }
      for end in group { kept.suffixes[end] = suffixes[end] }
    }
    return kept
  }
}

extension StoreSchema {
  /// What of the schema is a guess, or not known.
  package var remarks: [String] {
    guesses.map(\.description)
      + unknownOrders.map {
        "how Core Data stores the order of \($0), an ordered to-many without an inverse, is not known"
      }
      + omittedIndexes.map { "not made: \($0)" }
  }

  /// A name in a layout that Core Data may choose otherwise.
  package struct NameGuess: Sendable, Hashable, CustomStringConvertible {
    /// The name that the layout has.
    package var name: String
    /// What it is the name of.
    package var subject: String
    /// What Core Data may expect in its place.
    package var alternative: String
    /// Whether the rules that are known agree on the name.
    package var rulesAgree: Bool

    package var description: String {
      "\(subject): \(name) is a guess\(rulesAgree ? ", though all known rules agree" : ""); Core Data may expect \(alternative)"
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
}

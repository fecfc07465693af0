import GodwitJob
import GodwitModel
import GodwitStore

/// Relationship assignments are replayed one after the other, as if objects were set in memory: in mapping order, then
/// by source key, then by property name. Each assignment clears the object's old links. If the inverse is a to-one, it
/// also removes the new targets from other objects. The final state is in the table `edge` of the scratch store.
struct LinkReplay {
  /// A target of one assignment: its position among the owner's objects, and the owner's among its objects.
  private struct Target {
    var key: Int64
    var place: SQLValue?
    var inversePlace: SQLValue?
  }

  private struct Part {
    var end: Int
    var assignment: VerifiedMapping.Assignment
  }

  private let stores: ComparedStores
  private let keys: KeyAssignment

  init(_ stores: ComparedStores, _ keys: KeyAssignment) { (self.stores, self.keys) = (stores, keys) }

  /// Makes the table of all links of a relationship. The caller drops it.
  func replay(_ link: VerifiedLink) throws {
    // a is the object at the first end, b the one it leads to. pa orders the b of one a; pb the a of one b.
    // way says how the places came about: only places of one way compare.
    try stores.scratch.execute(
      "CREATE TABLE temp.edge (a INTEGER, b INTEGER, pa, pb, way INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID"
    )
    try stores.scratch.execute("CREATE INDEX temp.edge_b ON edge (b, a)")
    for mapping in stores.mappings {
      let parts = mapping.assignments.compactMap { assignment in
        link.end(of: assignment, in: mapping, model: stores.job.destinationModel).map {
          Part(end: $0, assignment: assignment)
        }
      }.sorted { Text($0.assignment.relationship.name) < Text($1.assignment.relationship.name) }
      guard !parts.isEmpty else { continue }
      // An object is assigned once for each property, whatever the number of its sources: it holds nothing
      // between two of them, so that one property's turn ends before the next one's begins.
      guard mapping.earlierOffset == nil else { continue }
      var walk = try keys.counterparts[mapping.index].walk()
      while let (winner, object) = try walk.next() {
        for part in parts { try assign(part, of: link, mapping: mapping, winner: winner, object: object) }
      }
    }
  }

  /// Sets one property of one object: a to-one to the target that its lowest-key source finds, a to-many to the targets
  /// that all its sources find together.
  private func assign(
    _ part: Part, of link: VerifiedLink, mapping: VerifiedMapping, winner: Int64, object: Int64
  ) throws {
    try clear(object, end: part.end, of: link)
    guard part.assignment.relationship.isToMany, !mapping.uniqueBy.isEmpty else {
      return try assign(part, of: link, mapping: mapping, source: winner, object: object)
    }
    try keys.counterparts[mapping.index].forEachSource(of: winner) {
      try assign(part, of: link, mapping: mapping, source: $0, object: object)
    }
  }

  private func assign(
    _ part: Part, of link: VerifiedLink, mapping: VerifiedMapping, source key: Int64, object: Int64
  ) throws {
    let isToMany = part.assignment.relationship.isToMany
    let (reached, isAnyOrdered) = try follow(part.assignment.path, from: key, in: mapping.sourceEntity)
    // A path of one segment can keep the source's order. A longer path can only if none of its segments is ordered.
    let isSourceOrdered = reached.contains { $0.place != nil || $0.inversePlace != nil }
    let isOwnInverse = stores.sourceSchema.isOwnInverse(part.assignment.path, of: mapping.sourceEntity)
    let isMixed = part.assignment.path.count > 1 && isAnyOrdered || !mapping.uniqueBy.isEmpty
    for lookup in part.assignment.lookups {
      // Several sources of one object may each have their place.
      let way =
        part.end * 4 + (isMixed || !stores.mappings[lookup].uniqueBy.isEmpty ? 2 : 0) + (isSourceOrdered ? 1 : 0)
      // In a relationship that is its own inverse each assignment gives places at both ends. They compare if the
      // source's relationship is like that too, or has no order.
      let ways = (way, isSourceOrdered && !isOwnInverse ? way + 8 : way)
      var targets: [Target] = []
      for target in reached {
        guard let counterpart = try keys.counterparts[lookup].destination(of: target.key) else { continue }
        targets.append(Target(key: counterpart, place: target.place, inversePlace: target.inversePlace))
      }
      if !isToMany {
        guard let first = targets.min(by: { $0.key < $1.key }) else { continue }
        return try connect(object, first, part: part, ways: ways, mapping: mapping, lookup: lookup, link: link)
      }
      for target in targets {
        try connect(object, target, part: part, ways: ways, mapping: mapping, lookup: lookup, link: link)
      }
    }
  }

  /// Takes away all that an object leads to at one end.
  private func clear(_ object: Int64, end: Int, of link: VerifiedLink) throws {
    if end == 0 || link.isOwnInverse { try change("DELETE FROM temp.edge WHERE a = ?1", [.integer(object)]) }
    if end == 1 || link.isOwnInverse { try change("DELETE FROM temp.edge WHERE b = ?1", [.integer(object)]) }
  }

  private func connect(
    _ object: Int64, _ target: Target, part: Part, ways: (Int, turned: Int), mapping: VerifiedMapping,
    lookup: MappingID,
    link: VerifiedLink
  ) throws {
    if let inverse = link.inverse(ofEnd: part.end), !inverse.isToMany {
      try clear(target.key, end: link.isOwnInverse ? 0 : 1 - part.end, of: link)
    }
    let (a, b) = part.end == 0 ? (object, target.key) : (target.key, object)
    let place = target.place ?? .int(lookup.number)
    let inversePlace = target.inversePlace ?? .int(mapping.index.number)
    let places = part.end == 0 ? [place, inversePlace] : [inversePlace, place]
    let insert = "INSERT OR REPLACE INTO temp.edge (a, b, pa, pb, way) VALUES (?1, ?2, ?3, ?4, ?5)"
    try change(insert, [.integer(a), .integer(b)] + places + [.int(ways.0)])
    guard link.isOwnInverse, a != b else { return }
    try change(insert, [.integer(b), .integer(a)] + places.reversed() + [.int(ways.turned)])
  }

  private func change(_ sql: String, _ arguments: [SQLValue]) throws {
    try stores.cached(sql, on: stores.scratch).run(arguments)
  }

  /// The source objects along a path of relationships, with the source's order keys of the last one; and whether any of
  /// them is ordered.
  private func follow(
    _ path: [String], from key: Int64, in entity: String
  ) throws -> (targets: [Target], isOrdered: Bool) {
    var reached = [Target(key: key)]
    var isOrdered = false
    var current = entity
    for (index, name) in path.enumerated() {
      guard let relationship = stores.sourceSchema.model.relationship(name, of: current) else { return ([], false) }
      var next: [Target] = []
      for object in reached {
        // A path continues from objects, not from keys of missing objects.
        guard try index == 0 || isThere(object.key, current) else { continue }
        try step(name, in: current, from: object.key, to: &next)
      }
      isOrdered = isOrdered || next.contains { $0.place != nil || $0.inversePlace != nil }
      reached = next
      current = relationship.destinationEntityName
    }
    return (reached, isOrdered)
  }

  /// Whether a key leads to an object of an entity or of one of its subentities.
  private func isThere(_ key: Int64, _ entity: String) throws -> Bool {
    guard let table = stores.sourceSchema.table(of: entity) else { return false }
    let kind = table.rootEntityName == entity ? "" : " AND \(stores.isKind(entity, "Z_ENT", in: stores.sourceSchema))"
    return try stores.integer(
      "SELECT 1 FROM \(stores.table(table.name)) WHERE Z_PK = ?1\(kind)", [.integer(key)], on: stores.source)
      != nil
  }

  private func step(_ name: String, in entity: String, from key: Int64, to reached: inout [Target]) throws {
    let sql: String
    let hasPlaces: [Bool]
    func column(_ name: String?) -> String { name.map(StoreSchema.identifier) ?? "NULL" }
    switch stores.sourceSchema.storage(of: name, in: entity) {
    case .foreignKey(let table, let key, _, let order):
      hasPlaces = [false, order != nil]
      sql = "SELECT \(column(key)), NULL, \(column(order)) FROM \(stores.table(table)) WHERE Z_PK = ?1"
    case .inverse(let table, let key, _, let order):
      hasPlaces = [order != nil, false]
      sql = "SELECT Z_PK, \(column(order)), NULL FROM \(stores.table(table)) WHERE \(column(key)) = ?1"
    case .join(let join, let subject, let object, let order):
      let other = join.inverseOrderColumn(from: subject)
      hasPlaces = [order != nil, other != nil]
      sql =
        "SELECT \(column(object)), \(column(order)), \(column(other)) FROM \(join.rows(in: ComparedStores.attached)) WHERE \(column(subject)) = ?1"
    case .none: return
    }
    let statement = try stores.cached(sql, on: stores.source)
    try statement.bind([.integer(key)])
    while try statement.step() {
      // A key that is not an integer leads to nothing.
      guard case .integer(let target) = statement.row.value(0) else { continue }
      func place(_ index: Int) -> SQLValue? { hasPlaces[index - 1] ? statement.row.value(index) : nil }
      reached.append(Target(key: target, place: place(1), inversePlace: place(2)))
    }
    try statement.bind([])
  }
}

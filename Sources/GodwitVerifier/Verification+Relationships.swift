import GodwitJob
import GodwitModel
import GodwitStore

/// Relationship assignments are replayed one after the other, as if objects were set in memory: in mapping order, then
/// by source key, then by property name. Each assignment clears the object's old links. If the inverse is a to-one, it
/// also removes the new targets from other objects. The store must hold the final state.
extension Verification {
  func compareRelationships() throws {
    let links = VerifiedLink.all(of: job.destinationModel)
    for (index, link) in links.enumerated() where index >= progress.checkpoint?.links ?? 0 {
      progress.advance(
        Share.objects + (Share.relationships - Share.objects) * Double(index) / Double(links.count))
      try compare(link)
      progress.keep { $0.links = index + 1 }
      try progress.checkStop()
    }
    for mapping in mappings where mapping.unread > 0 {
      findings.count("not proved: relationships of mapping '\(mapping.name)'", Int64(mapping.unread))
    }
  }

  private func compare(_ link: VerifiedLink) throws {
    if let (side, count) = try provenLinks(link) { return findings.count("links of \(side.name)", count) }
    // A relationship that was examined and is wrong is examined as a whole, to find the fault.
    if sample != nil, !isDoubtful(link) { return findings.count("not proved: relationships outside the sample", 1) }
    try replay(link)
    for end in link.ends.indices { try compare(link, end: end) }
    try scratch.execute("DROP TABLE temp.edge")
  }

  // MARK: Replay

  /// A target of one assignment: its position among the owner's objects, and the owner's among its objects.
  private struct Target {
    var key: Int64
    var place: Int64?
    var inversePlace: Int64?
  }

  private struct Part {
    var end: Int
    var assignment: VerifiedMapping.Assignment
  }

  private func replay(_ link: VerifiedLink) throws {
    // a is the object at the first end, b the one it leads to. pa orders the b of one a; pb the a of one b.
    // way says how the places came about: only places of one way compare.
    try scratch.execute(
      "CREATE TABLE temp.edge (a INTEGER, b INTEGER, pa INTEGER, pb INTEGER, way INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID"
    )
    try scratch.execute("CREATE INDEX temp.edge_b ON edge (b, a)")
    for mapping in mappings {
      let parts = mapping.assignments.compactMap { assignment in
        link.end(of: assignment, in: mapping, model: job.destinationModel).map { Part(end: $0, assignment: assignment) }
      }.sorted { Text($0.assignment.relationship.name) < Text($1.assignment.relationship.name) }
      guard !parts.isEmpty else { continue }
      // An object is assigned once for each property, whatever the number of its sources: it holds nothing
      // between two of them, so that one property's turn ends before the next one's begins.
      guard mapping.earlierOffset == nil else { continue }
      var walk = try counterparts[mapping.index].walk()
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
    try counterparts[mapping.index].forEachSource(of: winner) {
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
    let isOwnInverse = sourceSchema.isOwnInverse(part.assignment.path, of: mapping.sourceEntity)
    let isMixed = part.assignment.path.count > 1 && isAnyOrdered || !mapping.uniqueBy.isEmpty
    for lookup in part.assignment.lookups {
      // Several sources of one object may each have their place.
      let way = part.end * 4 + (isMixed || !mappings[lookup].uniqueBy.isEmpty ? 2 : 0) + (isSourceOrdered ? 1 : 0)
      // In a relationship that is its own inverse each assignment gives places at both ends. They compare if the
      // source's relationship is like that too, or has no order.
      let ways = (way, isSourceOrdered && !isOwnInverse ? way + 8 : way)
      var targets: [Target] = []
      for target in reached {
        guard let counterpart = try counterparts[lookup].destination(of: target.key) else { continue }
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
    _ object: Int64, _ target: Target, part: Part, ways: (Int, turned: Int), mapping: VerifiedMapping, lookup: Int,
    link: VerifiedLink
  ) throws {
    if let inverse = link.inverse(ofEnd: part.end), !inverse.isToMany {
      try clear(target.key, end: link.isOwnInverse ? 0 : 1 - part.end, of: link)
    }
    let (a, b) = part.end == 0 ? (object, target.key) : (target.key, object)
    let place = SQLValue.integer(target.place ?? Int64(lookup))
    let inversePlace = SQLValue.integer(target.inversePlace ?? Int64(mapping.index))
    let places = part.end == 0 ? [place, inversePlace] : [inversePlace, place]
    let insert = "INSERT OR REPLACE INTO temp.edge (a, b, pa, pb, way) VALUES (?1, ?2, ?3, ?4, ?5)"
    try change(insert, [.integer(a), .integer(b)] + places + [.int(ways.0)])
    guard link.isOwnInverse, a != b else { return }
    try change(insert, [.integer(b), .integer(a)] + places.reversed() + [.int(ways.turned)])
  }

  private func change(_ sql: String, _ arguments: [SQLValue]) throws { try cached(sql, on: scratch).run(arguments) }

  /// The source objects along a path of relationships, with the source's order keys of the last one; and whether any of
  /// them is ordered.
  private func follow(
    _ path: [String], from key: Int64, in entity: String
  ) throws -> (targets: [Target], isOrdered: Bool) {
    var reached = [Target(key: key)]
    var isOrdered = false
    var current = entity
    for (index, name) in path.enumerated() {
      guard let relationship = sourceSchema.model.relationship(name, of: current) else { return ([], false) }
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
    guard let table = sourceSchema.table(of: entity) else { return false }
    let kind = table.rootEntityName == entity ? "" : " AND \(isKind(entity, "Z_ENT", in: sourceSchema))"
    return try integer("SELECT 1 FROM \(self.table(table.name)) WHERE Z_PK = ?1\(kind)", [.integer(key)], on: source)
      != nil
  }

  private func step(_ name: String, in entity: String, from key: Int64, to reached: inout [Target]) throws {
    let sql: String
    let hasPlaces: [Bool]
    func column(_ name: String?) -> String { name.map(StoreSchema.identifier) ?? "NULL" }
    switch sourceSchema.storage(of: name, in: entity) {
    case .foreignKey(let table, let key, _, let order):
      hasPlaces = [false, order != nil]
      sql = "SELECT \(column(key)), NULL, \(column(order)) FROM \(self.table(table)) WHERE Z_PK = ?1"
    case .inverse(let table, let key, _, let order):
      hasPlaces = [order != nil, false]
      sql = "SELECT Z_PK, \(column(order)), NULL FROM \(self.table(table)) WHERE \(column(key)) = ?1"
    case .join(let join, let subject, let object, let order):
      let other = join.inverseOrderColumn(from: subject)
      hasPlaces = [order != nil, other != nil]
      sql =
        "SELECT \(column(object)), \(column(order)), \(column(other)) FROM \(join.rows(in: Self.attached)) WHERE \(column(subject)) = ?1"
    case .none: return
    }
    let statement = try cached(sql, on: source)
    try statement.bind([.integer(key)])
    while try statement.step() {
      // A key that is not an integer leads to nothing.
      guard case .integer(let target) = statement.row.value(0) else { continue }
      // A link without a place comes after those with one.
      func place(_ index: Int) -> Int64? {
        guard hasPlaces[index - 1] else { return nil }
        return statement.row.isNull(index) ? .max : statement.row.int64(index)
      }
      reached.append(Target(key: target, place: place(1), inversePlace: place(2)))
    }
    try statement.bind([])
  }

  // MARK: Compare

  private func compare(_ link: VerifiedLink, end: Int) throws {
    let side = link.ends[end]
    switch destinationSchema.storage(of: side.relationship.name, in: side.entity) {
    case .foreignKey(let table, let column, let entityColumn, let orderColumn):
      try compareKeys(link, end: end, table: table, column: column)
      try checkTargets(side, table: table, column: column, entityColumn: entityColumn)
      if let orderColumn {
        let owner = link.ends.count == 2 ? link.ends[1 - end] : side
        let columns = OrderColumns(table: table, owner: column, member: "Z_PK", order: orderColumn)
        try compareOrder(owner, sql: columns, end: 1 - end)
      }
    case .join(let join, let subject, let object, let order):
      if end == 0 { try compareJoin(link, side: side, join: join, subject: subject, object: object) }
      if let order {
        let columns = OrderColumns(table: join.name, owner: subject, member: object, order: order)
        try compareOrder(side, sql: columns, end: end)
      }
    case .inverse, .none: break
    }
  }

  /// Compares the replayed pairs with those of a query, in the same order: a pair in only the first is missing, one in
  /// only the second is extra.
  ///
  /// - Returns: How many pairs are in both.
  private func merge(_ link: VerifiedLink, end: Int, _ sql: String) throws -> Int64 {
    let (side, inverse) = (link.ends[end], link.inverse(ofEnd: end))
    let pair = end == 0 ? "a, b" : "b, a"
    let expected = try scratch.prepare("SELECT \(pair) FROM temp.edge ORDER BY \(pair)")
    defer { expected.finalize() }
    let actual = try destination.prepare(sql)
    defer { actual.finalize() }
    var links: Int64 = 0
    var unproved: Int64 = 0
    var old: Int64 = 0
    defer {
      if old > 0 { findings.count("links of \(side.name) to nothing, as in the old store", old) }
      if unproved > 0 {
        findings.count("not proved: links of \(side.name) that involve a policy's objects", unproved)
      }
    }
    var hasExpected = try expected.step()
    var hasActual = try actual.step()
    func report(_ kind: VerificationReport.Finding.Kind, _ row: SQLRow, _ what: String) {
      find(
        kind, side.entity, key: row.int64(0), property: side.relationship.name, "the link to p\(row.int64(1)) \(what)")
    }
    while hasExpected || hasActual {
      let (e, a) = (expected.row, actual.row)
      if hasExpected, hasActual, e.int64(0) == a.int64(0), e.int64(1) == a.int64(1) {
        links += 1
        hasExpected = try expected.step()
        hasActual = try actual.step()
      } else if hasExpected, !hasActual || (e.int64(0), e.int64(1)) < (a.int64(0), a.int64(1)) {
        if try isDisplacedByPolicy(e.int64(0), e.int64(1), of: side, inverse: inverse) {
          unproved += 1
        } else {
          report(.missingLink, e, "is missing")
        }
        hasExpected = try expected.step()
      } else {
        if try isMadeByPolicy(a.int64(0), side.entity)
          || isMadeByPolicy(a.int64(1), side.relationship.destinationEntityName)
        {
          unproved += 1
        } else if try original?.holdsLinkToNothing(side, from: a.int64(0), to: a.int64(1)) == true {
          old += 1
        } else {
          report(.extraLink, a, "comes from no assignment, or from one that a later one overrides")
        }
        hasActual = try actual.step()
      }
    }
    return links
  }

  private func compareKeys(_ link: VerifiedLink, end: Int, table: String, column: String) throws {
    let side = link.ends[end]
    let key = StoreSchema.identifier(column)
    let links = try merge(
      link, end: end,
      "SELECT Z_PK, \(key) FROM \(self.table(table)) WHERE \(key) IS NOT NULL\(own("Z_PK", side.entity)) ORDER BY Z_PK")
    findings.count("links of \(side.name)", links)
  }

  private func compareJoin(
    _ link: VerifiedLink, side: VerifiedLink.End, join: StoreSchema.JoinTable, subject: String, object: String
  ) throws {
    let (from, to) = (StoreSchema.identifier(subject), StoreSchema.identifier(object))
    let own = ownRows(from, side.entity, to, side.relationship.destinationEntityName)
    let links = try merge(
      link, end: 0, "SELECT \(from), \(to) FROM \(table(join.name)) AS j WHERE 1\(own) ORDER BY \(from), \(to)")
    findings.count("links of \(side.name)", links)
    let ends = [(side.entity, from), (side.relationship.destinationEntityName, to)]
    for (entity, column) in ends {
      try destination.query(
        """
        SELECT j.\(from), j.\(to) FROM \(table(join.name)) AS j LEFT JOIN \(table(try destinationTable(entity).name)) AS o \
        ON o.Z_PK = j.\(column) WHERE (o.Z_PK IS NULL OR NOT \(isKind(entity, "o.Z_ENT", in: destinationSchema)))\(own)
        """
      ) { row in
        if try original?.holdsLinkToNothing(side, from: row.int64(0), to: row.int64(1)) == true { return true }
        find(
          .danglingLink, side.entity, key: row.int64(0), property: side.relationship.name,
          "its row of \(join.name) leads to p\(row.int64(1)), and one of the two is not of entity '\(entity)'")
        return true
      }
    }
  }

  /// Keys without a target or with a target of another entity, and entity columns that disagree with the object.
  private func checkTargets(_ side: VerifiedLink.End, table: String, column: String, entityColumn: String?) throws {
    let wanted = side.relationship.destinationEntityName
    let key = "t.\(StoreSchema.identifier(column))"
    let entity = entityColumn.map { "t.\(StoreSchema.identifier($0))" } ?? "NULL"
    let isNone = "(o.Z_PK IS NULL OR NOT \(isKind(wanted, "o.Z_ENT", in: destinationSchema)))"
    try destination.query(
      """
      SELECT t.Z_PK, \(key), \(isNone), \(entity) \
      FROM \(self.table(table)) AS t LEFT JOIN \(self.table(try destinationTable(wanted).name)) AS o ON o.Z_PK = \(key) \
      WHERE ((\(key) IS NOT NULL AND \(isNone)) \
      OR \(entityColumn == nil ? "0" : "\(entity) IS NOT o.Z_ENT"))\(own("t.Z_PK", side.entity)) ORDER BY t.Z_PK
      """
    ) { row in
      let isDangling = !row.isNull(1) && row.int64(2) != 0
      if isDangling,
        try original?.holdsLinkToNothing(side, from: row.int64(0), to: row.int64(1), entity: row.value(3)) == true
      {
        return true
      }
      find(
        .danglingLink, side.entity, key: row.int64(0), property: side.relationship.name,
        isDangling
          ? "it leads to p\(row.int64(1)), which is not an object of '\(wanted)'"
          : "column \(entityColumn ?? "") is not the object's Z_ENT")
      return true
    }
  }

  /// The columns of an ordered to-many.
  private struct OrderColumns {
    var table, owner, member, order: String
  }

  /// One place of an ordered to-many.
  private struct OrderPlace {
    var owner, order, member: Int64
    /// The source's place and the way that the link came; below all others and negative where no link is known.
    var place = Int64.min
    var way: Int64 = -1
    /// The rank by `order-by`, which comes before the place.
    var grade = RelatedOrder.Grade.unsorted

    /// Whether `order-by` puts it before, or after, another place of its owner; nil where it does not tell.
    func precedes(_ other: OrderPlace) -> Bool? {
      switch (grade, other.grade) {
      case (.bytes(let own), .bytes(let others)):
        own == others ? nil : own.lexicographicallyPrecedes(others)
      case (.bytes, .last): true
      case (.last, .bytes): false
      case (.unsorted, _), (_, .unsorted), (.last, .last): nil
      }
    }
  }

  /// Order keys ascend strictly for each owner, and follow the source's order if there is one to keep.
  ///
  /// - Parameter end: The end whose objects own the order: 0 for the places `pa`.
  private func compareOrder(
    _ owner: VerifiedLink.End, sql: OrderColumns, end: Int
  ) throws {
    let names = [sql.owner, sql.order, sql.member].map(StoreSchema.identifier)
    let place =
      end == 0
      ? "SELECT pa, way FROM temp.edge WHERE a = ?1 AND b = ?2"
      : "SELECT pb, way FROM temp.edge WHERE b = ?1 AND a = ?2"
    var last: OrderPlace?
    var unproved: Int64 = 0
    var places: Int64 = 0
    let sorted = try relatedOrder(of: owner)
    defer { try? sorted?.drop() }
    try destination.query(
      "SELECT \(names.joined(separator: ", ")) FROM \(table(sql.table)) WHERE \(names[0]) IS NOT NULL\(own(names[0], owner.entity)) ORDER BY \(names.joined(separator: ", "))"
    ) { row in
      let (key, order, member) = (row.int64(0), row.int64(1), row.int64(2))
      places += 1
      func wrong(_ what: String) {
        find(.order, owner.entity, key: key, property: owner.relationship.name, "the position of p\(member) \(what)")
      }
      guard !row.isNull(1) else {
        wrong("is not set")
        return true
      }
      let expected = try self.row(place, [.integer(key), .integer(member)], on: scratch)
      var now = OrderPlace(owner: key, order: order, member: member)
      if case .integer(let number)? = expected?.first, case .integer(let way)? = expected?.last {
        (now.place, now.way) = (number, way)
      }
      if let sorted { now.grade = try sorted.grade(of: member, in: key) }
      if let last, last.owner == key {
        if order <= last.order { wrong("is not after that of p\(last.member)") }
        if let isSound = last.precedes(now) {
          if !isSound { wrong("is not what order-by says: p\(last.member) should come after it") }
        } else if now.way < 0 || last.way < 0 || now.way != last.way || now.way & 2 != 0 {
          unproved += 1
        } else if (last.place, last.member) > (now.place, now.member) {
          wrong("is not the source's: p\(last.member) should come after it")
        }
      }
      last = now
      return true
    }
    findings.count("positions in \(owner.name)", places)
    if unproved > 0 { findings.count("not proved: neighbours in \(owner.name)", unproved) }
  }
}

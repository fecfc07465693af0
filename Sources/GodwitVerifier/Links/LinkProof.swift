import GodwitJob
import GodwitModel
import GodwitStore

/// Proves the relationships of the destination, one after the other.
///
/// 1. `provenLinks`: a relationship with a plan is proved without a replay if nothing is wrong.
/// 2. `LinkReplay` replays the assignments of any other.
/// 3. `compare`: keys, join rows and order must be the final state of the replay.
struct LinkProof {
  private typealias Share = VerificationProgress.Share

  let stores: ComparedStores
  let keys: KeyAssignment
  let plans: LinkPlans
  let findings: Findings
  private let met: MetProof
  private let progress: VerificationProgress
  private let replay: LinkReplay
  private let orderProof: OrderProof

  init(
    _ stores: ComparedStores, _ keys: KeyAssignment, _ plans: LinkPlans, _ met: MetProof, _ findings: Findings,
    _ progress: VerificationProgress
  ) {
    (self.stores, self.keys, self.plans) = (stores, keys, plans)
    (self.met, self.findings, self.progress) = (met, findings, progress)
    replay = LinkReplay(stores, keys)
    orderProof = OrderProof(stores, keys, findings)
  }

  func compareRelationships() throws {
    let links = VerifiedLink.all(of: stores.job.destinationModel)
    for (index, link) in links.enumerated() where index >= progress.checkpoint?.links ?? 0 {
      progress.advance(
        Share.objects + (Share.relationships - Share.objects) * Double(index) / Double(links.count))
      try compare(link)
      progress.keep { $0.links = index + 1 }
      try progress.checkStop()
    }
    for mapping in stores.mappings where mapping.unread > 0 {
      findings.count("not proved: relationships of mapping '\(mapping.name)'", Int64(mapping.unread))
    }
  }

  private func compare(_ link: VerifiedLink) throws {
    if let (side, count) = try provenLinks(link) { return findings.count("links of \(side.name)", count) }
    // A relationship that was examined and is wrong is examined as a whole, to find the fault.
    if stores.sample != nil, !isDoubtful(link) {
      return findings.count("not proved: relationships outside the sample", 1)
    }
    let before = findings.report
    try replay.replay(link)
    try met.redirect(link)
    for end in link.ends.indices { try compare(link, end: end) }
    try stores.scratch.execute("DROP TABLE temp.edge")
    guard findings.report.totalFindings > before.totalFindings, let count = try linksAsBefore(link) else { return }
    findings.takeBack(to: before)
    findings.count("links of \(link.ends[0].name), as in the old store", count)
    for side in link.ends {
      guard case .foreignKey(let table, let column, let entityColumn, _) = storage(of: side) else { continue }
      try checkTargets(side, table: table, column: column, entityColumn: entityColumn)
    }
  }

  private func storage(of side: VerifiedLink.End) -> StoreSchema.RelationshipStorage {
    stores.destinationSchema.storage(of: side.relationship.name, in: side.entity)
  }

  /// The number of rows that hold a link where all of them are as they were in the old store, with their order; nil for
  /// any other link, or if a mapping model decides.
  ///
  /// In the old store the keys of two ends may disagree, places may be missing or equal, and a many-to-many that is its
  /// own inverse may have a pair once. A step that changes only definitions leaves all of it. Any other step writes
  /// the links of the replay.
  private func linksAsBefore(_ link: VerifiedLink) throws -> Int64? {
    guard let original = stores.original, stores.job.steps.allSatisfy(\.isInferred) else { return nil }
    // A link without rows of its own has nothing to compare.
    var count: Int64?
    for side in link.ends {
      let columns: [String?]
      let table: String
      switch storage(of: side) {
      case .foreignKey(let name, let column, _, let order): (table, columns) = (name, ["Z_PK", column, order])
      case .join(let join, let subject, let object, let order):
        (table, columns) = (join.name, [subject, object, order])
      case .inverse, .none: continue
      }
      let rows = (table: stores.table(table), columns: columns.compactMap(\.self))
      guard let found = try original.count(ofRowsLike: side, in: stores.destination, rows.table, rows.columns) else {
        return nil
      }
      count = (count ?? 0) + found
    }
    return count
  }

  private func compare(_ link: VerifiedLink, end: Int) throws {
    let side = link.ends[end]
    switch storage(of: side) {
    case .foreignKey(let table, let column, let entityColumn, let orderColumn):
      try compareKeys(link, end: end, table: table, column: column)
      try checkTargets(side, table: table, column: column, entityColumn: entityColumn)
      if let orderColumn {
        let owner = link.ends.count == 2 ? link.ends[1 - end] : side
        let columns = OrderProof.Columns(table: table, owner: column, member: "Z_PK", order: orderColumn)
        try orderProof.compareOrder(owner, sql: columns, end: 1 - end)
        if let met = met.met { try orderProof.compareMetOrder(owner, sql: columns, met) }
      }
    case .join(let join, let subject, let object, let order):
      if end == 0 { try compareJoin(link, side: side, join: join, subject: subject, object: object) }
      if let order {
        let columns = OrderProof.Columns(table: join.name, owner: subject, member: object, order: order)
        try orderProof.compareOrder(side, sql: columns, end: end)
        if let met = met.met { try orderProof.compareMetOrder(side, sql: columns, met) }
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
    let expected = try stores.scratch.prepare("SELECT \(pair) FROM temp.edge ORDER BY \(pair)")
    defer { expected.finalize() }
    let actual = try stores.destination.prepare(sql)
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
      findings.find(
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
        if try keys.isMadeByPolicy(a.int64(0), side.entity)
          || keys.isMadeByPolicy(a.int64(1), side.relationship.destinationEntityName)
        {
          unproved += 1
        } else if try stores.original?.holdsLinkToNothing(side, from: a.int64(0), to: a.int64(1)) == true {
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
      "SELECT Z_PK, \(key) FROM \(stores.table(table)) WHERE \(key) IS NOT NULL\(stores.own("Z_PK", side.entity)) ORDER BY Z_PK"
    )
    findings.count("links of \(side.name)", links)
  }

  private func compareJoin(
    _ link: VerifiedLink, side: VerifiedLink.End, join: StoreSchema.JoinTable, subject: String, object: String
  ) throws {
    let (from, to) = (StoreSchema.identifier(subject), StoreSchema.identifier(object))
    let own = stores.ownRows(from, side.entity, to, side.relationship.destinationEntityName)
    let links = try merge(
      link, end: 0, "SELECT \(from), \(to) FROM \(stores.table(join.name)) AS j WHERE 1\(own) ORDER BY \(from), \(to)")
    findings.count("links of \(side.name)", links)
    let ends = [(side.entity, from), (side.relationship.destinationEntityName, to)]
    for (entity, column) in ends {
      try stores.destination.query(
        """
        SELECT j.\(from), j.\(to) FROM \(stores.table(join.name)) AS j LEFT JOIN \(stores.table(try stores.destinationTable(entity).name)) AS o \
        ON o.Z_PK = j.\(column) WHERE (o.Z_PK IS NULL OR NOT \(stores.isKind(entity, "o.Z_ENT", in: stores.destinationSchema)))\(own)
        """
      ) { row in
        if try stores.original?.holdsLinkToNothing(side, from: row.int64(0), to: row.int64(1)) == true { return true }
        findings.find(
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
    let isNone = "(o.Z_PK IS NULL OR NOT \(stores.isKind(wanted, "o.Z_ENT", in: stores.destinationSchema)))"
    try stores.destination.query(
      """
      SELECT t.Z_PK, \(key), \(isNone), \(entity) \
      FROM \(stores.table(table)) AS t LEFT JOIN \(stores.table(try stores.destinationTable(wanted).name)) AS o ON o.Z_PK = \(key) \
      WHERE ((\(key) IS NOT NULL AND \(isNone)) \
      OR \(entityColumn == nil ? "0" : "\(entity) IS NOT o.Z_ENT"))\(stores.own("t.Z_PK", side.entity)) ORDER BY t.Z_PK
      """
    ) { row in
      let isDangling = !row.isNull(1) && row.int64(2) != 0
      if isDangling,
        try stores.original?.holdsLinkToNothing(side, from: row.int64(0), to: row.int64(1), entity: row.value(3))
          == true
      {
        return true
      }
      findings.find(
        .danglingLink, side.entity, key: row.int64(0), property: side.relationship.name,
        isDangling
          ? "it leads to p\(row.int64(1)), which is not an object of '\(wanted)'"
          : "column \(entityColumn ?? "") is not the object's Z_ENT")
      return true
    }
  }
}

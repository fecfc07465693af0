import GodwitJob
import GodwitModel
import GodwitStore

/// The links of new objects that are one with an object of the destination.
extension MetProof {
  /// Leads the links of the replay from new objects to the old ones, and takes those out that old objects hold among
  /// themselves, which are compared here.
  func redirect(_ link: VerifiedLink) throws {
    guard met != nil else { return }
    let roots = [link.ends[0].entity, link.ends[0].relationship.destinationEntityName].map {
      stores.job.destinationModel.root(of: $0)?.name ?? $0
    }
    for (end, side) in link.ends.enumerated() {
      guard
        case .foreignKey(let table, let column, _, _) = stores.destinationSchema.storage(
          of: side.relationship.name, in: side.entity)
      else { continue }
      return try redirect(link, end: end, roots: roots, table: table, column: column)
    }
    guard
      case .join(let join, let subject, let object, _) = stores.destinationSchema.storage(
        of: link.ends[0].relationship.name, in: link.ends[0].entity)
    else { return }
    for (column, root) in zip(["a", "b"], roots) { try redirect(column, to: root) }
    try compareOldRows(link, roots: roots, join: join.name, columns: (subject, object))
  }

  private func redirect(_ column: String, to root: String) throws {
    let found = "SELECT old FROM \(MetObjects.table) WHERE root = ?1 AND new = \(column)"
    let isNew = "\(column) IN (SELECT new FROM \(MetObjects.table) WHERE root = ?1)"
    try stores.scratch.execute("UPDATE OR IGNORE temp.edge SET \(column) = (\(found)) WHERE \(isNew)", [.text(root)])
    try stores.scratch.execute("DELETE FROM temp.edge WHERE \(isNew)", [.text(root)])
  }

  /// Rows of a join table between two objects that were there before.
  private func compareOldRows(
    _ link: VerifiedLink, roots: [String], join: String, columns: (String, String)
  ) throws {
    let side = link.ends[0]
    let areOld = zip(["a", "b"], roots).map { "\($0) < \(stores.keys(of: $1).first)" }.joined(separator: " AND ")
    let (from, to) = (StoreSchema.identifier(columns.0), StoreSchema.identifier(columns.1))
    try stores.scratch.query("SELECT a, b FROM temp.edge WHERE \(areOld) ORDER BY a, b") { row in
      let pair: [SQLValue] = [.integer(row.int64(0)), .integer(row.int64(1))]
      let isThere = try stores.integer(
        "SELECT 1 FROM \(stores.table(join)) WHERE \(from) = ?1 AND \(to) = ?2", pair, on: stores.destination)
      if isThere == nil {
        findings.find(
          .missingLink, side.entity, key: row.int64(0), property: side.relationship.name,
          "the link to p\(row.int64(1)) is missing")
      }
      return true
    }
    try stores.scratch.execute("DELETE FROM temp.edge WHERE \(areOld)")
  }

  /// Whether a mapping decides what its objects lead to at an end: by its own assignment, or by one at the other end that
  /// looks the mapping up.
  private func isSet(_ link: VerifiedLink, at end: Int, by index: MappingID) -> Bool {
    stores.mappings.contains { mapping in
      mapping.assignments.contains { assignment in
        let found = link.end(of: assignment, in: mapping, model: stores.job.destinationModel)
        return found == end ? mapping.index == index : found != nil && assignment.lookups.contains(index)
      }
    }
  }

  /// The same for links that are stored as a key of the object at an end.
  private func redirect(
    _ link: VerifiedLink, end: Int, roots: [String], table name: String, column: String
  ) throws {
    let (holder, target) = end == 0 ? ("a", "b") : ("b", "a")
    let (root, other) = end == 0 ? (roots[0], roots[1]) : (roots[1], roots[0])
    try redirect(target, to: other)
    try stores.scratch.execute(
      """
      CREATE TABLE temp.met_edge AS SELECT m.old AS holder, e.\(target) AS target FROM \(MetObjects.table) AS m \
      CROSS JOIN temp.edge AS e ON e.\(holder) = m.new WHERE m.root = ?1
      """, [.text(root)])
    defer { try? stores.scratch.execute("DROP TABLE temp.met_edge") }
    try stores.scratch.execute(
      "DELETE FROM temp.edge WHERE \(holder) IN (SELECT new FROM \(MetObjects.table) WHERE root = ?1)", [.text(root)])
    let deciding = stores.mappings.ids.filter { isSet(link, at: end, by: $0) }
    let side = link.ends[end]
    let key = StoreSchema.identifier(column)
    try stores.scratch.query(
      """
      SELECT m.old, m.mapping, m.verdict, e.target FROM \(MetObjects.table) AS m LEFT JOIN temp.met_edge AS e \
      ON e.holder = m.old WHERE m.root = '\(root)' AND m.verdict IS NOT NULL ORDER BY m.old
      """
    ) { row in
      let mapping = stores.mappings[MappingID(row.int(1))]
      guard stores.job.destinationModel.isKind(mapping.destinationEntity, of: side.entity),
        deciding.contains(mapping.index), let verdict = MetObjects.Verdict(rawValue: row.int64(2)), verdict != .wrong
      else { return true }
      let (old, given) = (row.int64(0), row.value(3))
      let found =
        try stores.row(
          "SELECT \(key) FROM \(stores.table(name)) WHERE Z_PK = ?1", [.integer(old)], on: stores.destination)?
        .first ?? .null
      guard found != given else { return true }
      if verdict == .even { met?.unlike[mapping.index, default: 0] += 1 }
      return true
    }
  }
}

import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// The statements that resolve recorded assignments in assignment order.
struct ResolutionStatements: StageStatements {
  let step: StepProgram

  /// Makes the indexes that resolving a link needs.
  func preparation(_ link: LinkID) -> [String] {
    let indexes = AssignmentResolver.indexes(links[link], table: StepProgram.linkTable(link))
    return indexes?.map { "CREATE INDEX IF NOT EXISTS \($0.name) \($0.rest)" } ?? indexesForSQL(link)
  }

  /// The indexes for resolving by SQL, in place of those of the walk: SQLite might choose one of the latter that is not
  /// selective enough.
  func indexesForSQL(_ link: LinkID) -> [String] {
    let others = AssignmentResolver.indexes(links[link], table: StepProgram.linkTable(link)) ?? []
    return others.map { "DROP INDEX IF EXISTS \($0.name)" }
      + linkIndexes(link).map { "CREATE INDEX IF NOT EXISTS \($0.name) ON \($0.columns)" }
  }

  func linkIndexes(_ link: LinkID) -> [(name: String, columns: String)] {
    let table = StepProgram.linkTable(link)
    return [
      ("\(table)_subject", "\(table) (side, subject, mapping, turn)"),
      ("\(table)_target", "\(table) (side, target, mapping, turn)"),
    ]
  }

  /// The statements that resolve a link for a range of keys at its first end: recorded edges that no later assignment
  /// overrides are stored.
  ///
  /// `d` is the object at the first end, `x` the one at the second, `dx` the place of `x` among those of
  /// `d`, and `xd` the place of `d` among those of `x`.
  func statements(_ link: LinkID) throws -> Statements { try step.kept.resolutions(link) { try lower(link) } }

  private func lower(_ index: LinkID) throws -> Statements {
    let edges =
      links[index].isOwnInverse
      ? edgeQuery(index, subject: "subject BETWEEN ?1 AND ?2", target: "target BETWEEN ?1 AND ?2")
      : edgeQuery(
        index, subject: "target IS NOT NULL AND subject BETWEEN ?1 AND ?2", target: "target BETWEEN ?1 AND ?2")
    let collect = """
      INSERT INTO temp.godwit_edge (d, x, dx, xd) SELECT d, x, MIN(dx), MIN(xd) FROM (\(edges)) AS e \
      WHERE \(survives(index)) GROUP BY d, x
      """
    let asserted = "SELECT COUNT(*) FROM (SELECT DISTINCT d, x FROM (\(edges)))"
    return Statements(
      asserted: asserted, collect: collect, store: try storeEdges(links[index], .gathered).map(\.sql))
  }

  /// The statements that resolve a link for a range of keys at its first end.
  struct Statements {
    /// Counts the edges that were assigned.
    var asserted: String
    /// Puts those that stand into `temp.godwit_edge`.
    var collect: String
    var store: [String]
  }

  /// The statements that store one edge: `?1` to `?4` are the columns of a row of `temp.godwit_edge`.
  func storeEdge(_ index: LinkID) throws -> [StoredEdge] { try storeEdges(links[index], .single) }

  struct StoredEdge {
    var sql: String
    /// The table whose row is changed, and whether its key is the second end's; nil where a row is added.
    var row: (table: String, isSecond: Bool)?
  }

  private enum EdgeSource {
    case gathered, single

    /// A column of the edge.
    func callAsFunction(_ column: String) -> String {
      switch self {
      case .gathered: "e.\(column)"
      case .single: "?\((["d", "x", "dx", "xd"].firstIndex(of: column) ?? 0) + 1)"
      }
    }
  }

  /// Every assigned edge of a link, from both ends.
  ///
  /// - Parameters:
  ///   - subject: Which assignments of the first end are wanted.
  ///   - target: Which of the second end; for a relationship that is its own inverse, of those that come the other way.
  func edgeQuery(_ index: LinkID, subject: String, target: String) -> String {
    let table = StepProgram.linkTable(index)
    // A relationship that is its own inverse says the same from either end: one edge, by its lower key.
    let (own, other) =
      links[index].isOwnInverse
      ? ("side = 0 AND target >= subject", "side = 0 AND target < subject") : ("side = 0", "side = 1")
    return """
      SELECT subject AS d, target AS x, mapping, turn, side, position AS dx, inverse_position AS xd FROM \(table) \
      WHERE \(own) AND \(subject) \
      UNION ALL SELECT target, subject, mapping, turn, side, inverse_position, position FROM \(table) \
      WHERE \(other) AND \(target)
      """
  }

  /// The condition that no later assignment overrides edge `e`.
  ///
  /// Assignments run in mapping order, then source key, then property name. Within a mapping destination keys ascend
  /// with source keys, so (mapping, subject, side) orders them: `turn` is the subject, or a count for an assignment by
  /// a policy. The side is compared in a separate term, so that an index leads past the assignment itself, which may
  /// have as many rows as there are objects.
  func survives(_ index: LinkID) -> String {
    let link = links[index]
    let table = StepProgram.linkTable(index)
    func notLater(side: Int, _ condition: String) -> String {
      let none = "NOT EXISTS (SELECT 1 FROM \(table) AS l WHERE l.side = \(side) AND \(condition) AND"
      let later = "\(none) (l.mapping, l.turn) > (e.mapping, e.turn))"
      guard side == 1 else { return later }
      return "\(later) AND (e.side = 1 OR \(none) l.mapping = e.mapping AND l.turn = e.turn))"
    }
    var conditions: [String]
    if link.isOwnInverse, link.isToMany(.first) {
      conditions = ["d", "x"].map { notLater(side: 0, "l.subject = e.\($0)") }
    } else if link.isOwnInverse {
      conditions = ["d", "x"].flatMap {
        [notLater(side: 0, "l.subject = e.\($0)"), notLater(side: 0, "l.target = e.\($0)")]
      }
    } else {
      conditions = [notLater(side: 0, "l.subject = e.d"), notLater(side: 1, "l.subject = e.x")]
      if !link.isToMany(.first) { conditions.append(notLater(side: 1, "l.target = e.d")) }
      if link.second != nil, !link.isToMany(.second) { conditions.append(notLater(side: 0, "l.target = e.x")) }
    }
    return conditions.joinedEvenly(by: " AND ")
  }

  private func storeEdges(_ link: InversePair, _ edge: EdgeSource) throws -> [StoredEdge] {
    let from = edge == .gathered ? " FROM temp.godwit_edge AS e" : ""
    func update(_ end: InversePair.End, own: String, other: String) throws -> StoredEdge {
      guard let side = link.side(end),
        case .foreignKey(let table, let column, let entityColumn, let orderColumn) = destinationSchema.storage(
          of: side.relationship.name, in: side.entityName)
      else { throw GodwitError(.internalBug, "cannot find the column of a relationship") }
      var sets = ["\(quoted(column)) = \(edge(other))"]
      if let entityColumn {
        let target = try destinationTable(of: side.relationship.destinationEntityName).name
        sets.append("\(quoted(entityColumn)) = (SELECT Z_ENT FROM main.\(quoted(target)) WHERE Z_PK = \(edge(other)))")
      }
      if let orderColumn { sets.append("\(quoted(orderColumn)) = \(edge(other + own))") }
      return StoredEdge(
        sql: "UPDATE main.\(quoted(table)) AS t SET \(sets.joined(separator: ", "))\(from) WHERE t.Z_PK = \(edge(own))",
        row: (table, own == "x"))
    }
    switch link.storage {
    case .foreignKey(let holder):
      return [holder == .first ? try update(.first, own: "d", other: "x") : try update(.second, own: "x", other: "d")]
    case .oneToOne:
      let other: InversePair.End = link.second == nil ? .first : .second
      return [try update(.first, own: "d", other: "x"), try update(other, own: "x", other: "d")]
    case .join:
      guard
        case .join(let join, let subject, let object, let order) = destinationSchema.storage(
          of: link.first.relationship.name, in: link.first.entityName)
      else { throw GodwitError(.internalBug, "cannot find the join table of a relationship") }
      let otherOrder = subject == join.ownerColumn ? join.destinationOrderColumn : join.ownerOrderColumn
      var columns = [subject, object]
      var values = ["d", "x"]
      for case (let column?, let value) in [(order, "dx"), (otherOrder, "xd")] {
        columns.append(column)
        values.append(value)
      }
      let insert = "INSERT OR IGNORE INTO main.\(quoted(join.name)) (\(columns.map(quoted).joined(separator: ", ")))"
      if join.isReflexive {
        let (forward, back) = order == nil ? ("d, x", "x, d") : ("d, x, dx", "x, d, xd")
        return [
          .init(
            sql:
              "\(insert) SELECT \(forward) FROM temp.godwit_edge UNION ALL SELECT \(back) FROM temp.godwit_edge WHERE d <> x ORDER BY 1, 2"
          )
        ]
      }
      if edge == .single {
        return [.init(sql: "\(insert) VALUES (\(values.map { edge($0) }.joined(separator: ", ")))")]
      }
      return [.init(sql: "\(insert) SELECT \(values.joined(separator: ", ")) FROM temp.godwit_edge ORDER BY d, x")]
    }
  }
}

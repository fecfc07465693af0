import GodwitJob
import GodwitModel
import GodwitStore

/// Links of the source that lead to nothing: to a row that is gone, or to a row of an entity that the relationship
/// cannot hold. Stores that have been in use for years have some; they are nil to Core Data, and they become nil.
extension Planner {
  /// The links of each relationship that lead to nothing, to be counted; none where there can be none.
  func strayWalks(_ facts: PlanFacts) throws -> [(relationship: String, walk: SourceWalk)] {
    let ends = try KeyEnds(self, facts: facts)
    return try linkPlaces().compactMap { relationship, place in
      let walk =
        switch place {
        case .column(let table, let column, let holder, let target):
          try ends.strays(table, column: column, holder: holder, to: target)
        case .join(let join): try ends.strays(join)
        }
      return walk.map { (relationship, $0) }
    }
  }

  /// Where a store holds links.
  private enum LinkPlace {
    /// Keys of the target's objects, in rows of the holder.
    case column(table: String, column: String, holder: String, target: String)
    case join(StoreSchema.JoinTable)
  }

  /// The places of all links, each once, with the relationship that is named for it.
  private func linkPlaces() -> [(relationship: String, place: LinkPlace)] {
    var found: [(relationship: String, place: LinkPlace)] = []
    var seen: Set<String> = []
    // Pairs are links whose ends are there.
    for entity in resolved.sourceModel.withoutPairs.entities {
      for relationship in entity.relationships where !relationship.isTransient {
        let name = relationship.name
        guard resolved.sourceModel.declaringEntity(of: name, in: entity.name)?.name == entity.name else { continue }
        let place: LinkPlace
        switch sourceSchema.storage(of: name, in: entity.name) {
        case .foreignKey(let table, let column, _, _):
          guard seen.insert("\(table).\(column)").inserted else { continue }
          place = .column(
            table: table, column: column, holder: entity.name, target: relationship.destinationEntityName)
        case .inverse(let table, let column, _, _):
          // If there is an inverse, the to-one's entity counts it.
          guard resolved.sourceModel.inverse(of: relationship) == nil, seen.insert("\(table).\(column)").inserted else {
            continue
          }
          place = .column(
            table: table, column: column, holder: relationship.destinationEntityName, target: entity.name)
        case .join(let join, _, _, _):
          guard seen.insert(join.name).inserted else { continue }
          place = .join(join)
        case .none: continue
        }
        found.append(("\(entity.name).\(name)", place))
      }
    }
    return found
  }

  /// Whether an index of the source begins with a column.
  func isIndexed(_ column: String, of table: String) throws -> Bool {
    try connection.integer(
      """
      SELECT 1 FROM pragma_index_list(?1, ?3) AS l CROSS JOIN pragma_index_info(l.name, ?3) AS i \
      WHERE NOT l.partial AND i.seqno = 0 AND i.name = ?2 LIMIT 1
      """, [.text(table), .text(column), .text(StoreConnection.sourceSchema)]) != nil
  }

  /// The number of an entity's links, as SQL; nil for other objects, and for links that are rows of their elements.
  ///
  /// Links between objects whose keys have no gap need not be looked up one by one, if no link leads beyond the ends.
  func countOfLinks(_ links: LinkRows?) throws -> String? {
    guard let links else { return nil }
    let count = "(SELECT COUNT(*) FROM \(links.rows))"
    guard let join = links.plainJoin,
      try join.ends.allSatisfy({ try isIndexed($0.column, of: join.table) })
    else { return count }
    let rows = "source.\(quoted(join.table))"
    let terms = join.ends.map { end in
      let (column, objects) = (quoted(end.column), "source.\(quoted(end.objects))")
      let (low, high) = ("(SELECT MIN(Z_PK) FROM \(objects))", "(SELECT MAX(Z_PK) FROM \(objects))")
      return "(SELECT MIN(\(column)) FROM \(rows)) >= \(low) AND (SELECT MAX(\(column)) FROM \(rows)) <= \(high) "
        + "AND (SELECT COUNT(*) FROM \(objects)) = \(high) - \(low) + 1"
    }
    return "(CASE WHEN \(terms.joined(separator: " AND ")) THEN (SELECT COUNT(*) FROM \(rows)) ELSE \(count) END)"
  }

  /// How many links of some objects lead to nothing, by relationship.
  ///
  /// - Parameter keys: The objects, by the table of the source.
  func strays(of keys: [String: Set<Int64>]) throws -> [String: Int64] {
    func isOne(_ key: String, _ entity: String) -> String? {
      guard let table = sourceSchema.table(of: entity), let keys = keys[table.name], !keys.isEmpty else { return nil }
      let kind = sourceSchema.isKind(of: entity, row: "o").further
      let list = keys.sorted().map(String.init).joined(separator: ", ")
      return
        "(\(key) IN (\(list)) AND EXISTS (SELECT 1 FROM source.\(quoted(table.name)) AS o WHERE o.Z_PK = \(key)\(kind)))"
    }
    var counts: [String: Int64] = [:]
    for (relationship, place) in linkPlaces() {
      let table: String
      let tests: [String]
      let those: [String]
      switch place {
      case .column(let name, let column, let holder, let target):
        let key = "h.\(quoted(column))"
        table = name
        tests = [isNowhere(key, target).map { "\(key) IS NOT NULL AND \($0)" }].compactMap(\.self)
        those = [isOne("h.Z_PK", holder)].compactMap(\.self)
      case .join(let join):
        let ends = [
          ("h.\(quoted(join.ownerColumn))", join.ownerEntityName),
          ("h.\(quoted(join.destinationColumn))", join.destinationEntityName),
        ]
        table = join.name
        tests = ends.compactMap { isNowhere($0.0, $0.1) }
        those = ends.compactMap { isOne($0.0, $0.1) }
      }
      guard !tests.isEmpty, !those.isEmpty else { continue }
      let conditions = [tests, those].map { "(\($0.joined(separator: " OR ")))" }.joined(separator: " AND ")
      let count = try connection.integer("SELECT COUNT(*) FROM source.\(quoted(table)) AS h WHERE \(conditions)") ?? 0
      if count > 0 { counts[relationship, default: 0] += count }
    }
    return counts
  }

  /// The condition that a key leads to no object of an entity or of its subentities; nil for an entity without a table.
  func isNowhere(_ key: String, _ entity: String) -> String? {
    guard let table = sourceSchema.table(of: entity) else { return nil }
    let kind = sourceSchema.isKind(of: entity, row: "t").further
    return "NOT EXISTS (SELECT 1 FROM source.\(quoted(table.name)) AS t WHERE t.Z_PK = \(key)\(kind))"
  }

  /// Finds keys without a row. If the keys of a table have no gap, the ends of an index prove that there are none.
  private final class KeyEnds {
    let planner: Planner
    /// The lowest and the highest key of tables whose keys have no gap, by root entity.
    private var runs: [String: ClosedRange<Int64>] = [:]

    init(_ planner: Planner, facts: PlanFacts) throws {
      self.planner = planner
      // Estimates cannot show gaps.
      guard !planner.scan.isSample else { return }
      let rowsByEntity = Dictionary(facts.entities.map { ($0.name, $0.rows) }, uniquingKeysWith: +)
      for root in planner.resolved.sourceModel.withoutPairs.rootEntities {
        guard let table = planner.sourceSchema.table(of: root.name) else { continue }
        let rows = planner.resolved.sourceModel.family(of: root.name).reduce(0) { $0 + (rowsByEntity[$1.name] ?? 0) }
        guard rows > 0, let ends = try planner.connection.keys(of: "source.\(quoted(table.name))"),
          case (let span, false) = ends.upperBound.subtractingReportingOverflow(ends.lowerBound), span == rows - 1
        else { continue }
        runs[root.name] = ends
      }
    }

    /// Whether every key of a column lies between the ends of a table without gaps, and is an integer.
    ///
    /// - Parameter areIntegers: Whether no key is another number. For links `TableKeys` has proved that.
    private func isWithinRun(
      _ table: String, _ column: String, of entity: String, areIntegers: Bool
    ) throws -> Bool {
      guard planner.resolved.sourceModel.entity(entity)?.superentityName == nil, let run = runs[entity] else {
        return false
      }
      let name = quoted(column)
      let row = try planner.scan.reading(table) {
        try planner.connection.rows(
          "SELECT (SELECT MIN(\(name)) FROM source.\(quoted(table))), (SELECT MAX(\(name)) FROM source.\(quoted(table)))"
        ).first ?? []
      }
      switch (row.first, row.last) {
      case (.integer(let low), .integer(let high)):
        guard run.contains(low), run.contains(high) else { return false }
        if areIntegers { return true }
        // A real number between the two leads to nothing.
        return try planner.scan.reading(table) {
          try planner.connection.value(
            "SELECT 1 FROM source.\(quoted(table)) WHERE typeof(\(name)) = 'real' LIMIT 1") == nil
        }
      case (.null, .null): return true
      default: return false
      }
    }

    /// nil if there are none.
    func strays(_ table: String, column: String, holder: String, to entity: String) throws -> SourceWalk? {
      guard try !isWithinRun(table, column, of: entity, areIntegers: false),
        let isNowhere = planner.isNowhere("h.\(quoted(column))", entity)
      else {
        return nil
      }
      let kind = planner.sourceSchema.isKind(of: holder, row: "h")
      return SourceWalk(table, key: "h.Z_PK") {
        "SELECT COUNT(*) FROM source.\(quoted(table)) AS h"
          + whereClause(["h.\(quoted(column)) IS NOT NULL", isNowhere, kind.sql, $0])
      }
    }

    func strays(_ join: StoreSchema.JoinTable) throws -> SourceWalk? {
      let ends = [
        (join.ownerColumn, join.ownerEntityName), (join.destinationColumn, join.destinationEntityName),
      ]
      if try ends.allSatisfy({ try isWithinRun(join.name, $0.0, of: $0.1, areIntegers: true) }) { return nil }
      let tests = ends.compactMap { planner.isNowhere("j.\(quoted($0.0))", $0.1) }
      return SourceWalk(join.name, key: "j.rowid") {
        "SELECT COUNT(*) FROM source.\(quoted(join.name)) AS j"
          + whereClause(["(\(tests.joinedEvenly(by: " OR ")))", $0])
      }
    }
  }
}

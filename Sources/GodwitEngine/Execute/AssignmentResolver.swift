import GodwitJob
import GodwitModel
import GodwitStore

/// Finds the edges of a link that no later assignment overrides, for a range of keys at its first end.
///
/// It gives in one walk the same result as the SQL of `StepProgram.resolve`. Assignments are ordered by mapping, turn
/// and side, and an edge stays if no later assignment displaces it. The walk itself meets the assignments of the first
/// object. The last assignment of the second object is looked up, once for each object while memory lasts.
final class AssignmentResolver {
  /// The place of an assignment among all.
  private struct Place: Comparable {
    var mapping, sequence: Int64
    var side: Int

    static func < (a: Place, b: Place) -> Bool { (a.mapping, a.sequence, a.side) < (b.mapping, b.sequence, b.side) }
  }

  private struct Edge {
    var other: Int64
    var place: Place
    /// The position of the other object at the first end, and the position of the first object at the other end.
    var position, inversePosition: Int64?
  }

  /// An object has more edges than fit into memory.
  struct TooMany: Error {}

  private static let limitKnown = 50_000

  private let firstIsToMany: Bool
  private let assigned, reverse: SQLStatement
  /// The last assignment to the second end, and the last from the first end that leads there; nil where none can
  /// displace.
  private let lastOwn, lastLeading: SQLStatement?
  /// More edges than this are collected by SQL instead of in memory.
  private let limitEdges = EngineTuning.current.limitEdges
  private let store: [(edge: ResolutionStatements.StoredEdge, statement: SQLStatement)]
  private let storesPlaces: Bool
  private var known: [Int64: Place?] = [:]

  /// Distinct edges that were assigned, and those that stay.
  private(set) var wanted: Int64 = 0
  private(set) var kept: Int64 = 0

  /// A row with a value above the limit, and the statement that would store an edge in it.
  struct Refused {
    var table: String
    var key: Int64
    var sql: String
    var arguments: [SQLValue]
  }

  /// SQLite changes no row with a larger value; nil without a limit.
  private let limit: ByteCount?
  /// The rows that the limit kept from being changed.
  private(set) var refused: [Refused] = []

  /// - Parameter limit: Rows with larger values are left to the caller.
  /// - Returns: nil for a link that is its own inverse, whose edges need the SQL form.
  init?(_ program: StepProgram, link index: LinkID, connection: StoreConnection, lengthLimit limit: ByteCount? = nil)
    throws
  {
    self.limit = limit
    let (link, table) = (program.links[index], "main.\(StepProgram.linkTable(index))")
    guard !link.isOwnInverse else { return nil }
    firstIsToMany = link.isToMany(.first)
    let queries = Self.queries(link, table: table)
    assigned = try connection.prepare(queries.assigned)
    reverse = try connection.prepare(queries.reverse)
    func last(_ side: Int, _ query: String?) throws -> SQLStatement? {
      guard let query,
        try connection.integer("SELECT EXISTS (SELECT 1 FROM \(table) WHERE side = \(side))") != 0
      else { return nil }
      return try connection.prepare(query)
    }
    lastOwn = try last(1, queries.own)
    lastLeading = try last(0, queries.leading)
    store = try program.resolution.storeEdge(index).map { ($0, try connection.prepare($0.sql)) }
    storesPlaces = store.contains { $0.statement.parameterCount > 2 }
  }

  /// Picks one row of each assignment from an end. An assignment of a to-many has a row without a target.
  private static func onceEach(_ link: InversePair, _ end: InversePair.End) -> String {
    link.isToMany(end) ? " AND target IS NULL" : ""
  }

  /// The queries of the walk: both kinds of edges by the key of the first end, and the last assignment to an object of
  /// the second end if one can displace it.
  struct Queries {
    var assigned, reverse, own: String
    var leading: String?
  }

  static func queries(_ link: InversePair, table: String) -> Queries {
    func last(_ condition: String, _ column: String) -> String {
      "SELECT mapping, turn FROM \(table) WHERE \(condition) AND \(column) = ?1 ORDER BY mapping DESC, turn DESC LIMIT 1"
    }
    let isLed = link.second != nil && !link.isToMany(.second)
    return Queries(
      assigned:
        "SELECT subject, target, mapping, turn, position, inverse_position FROM \(table) WHERE side = 0 AND subject BETWEEN ?1 AND ?2 ORDER BY subject",
      reverse:
        "SELECT target, subject, mapping, turn, inverse_position, position FROM \(table) WHERE side = 1 AND target IS NOT NULL AND target BETWEEN ?1 AND ?2 ORDER BY target",
      own: last("side = 1\(onceEach(link, .second))", "subject"),
      leading: isLed ? last("side = 0 AND target IS NOT NULL", "target") : nil
    )
  }

  /// Indexes of the rows that the walk reads; nil for a link that it does not resolve.
  static func indexes(_ link: InversePair, table: String) -> [(name: String, rest: String)]? {
    guard !link.isOwnInverse else { return nil }
    func index(_ name: String, _ columns: String, _ condition: String) -> (name: String, rest: String) {
      ("\(table)_\(name)", "ON \(table) (\(columns)) WHERE \(condition)")
    }
    var indexes = [
      index("assigned", "subject", "side = 0"), index("reverse", "target", "side = 1 AND target IS NOT NULL"),
      index("own", "subject, mapping, turn", "side = 1\(onceEach(link, .second))"),
    ]
    if link.second != nil, !link.isToMany(.second) {
      indexes.append(index("leading", "target, mapping, turn", "side = 0 AND target IS NOT NULL"))
    }
    return indexes
  }

  /// Stores the edges that stay, in the order of keys.
  ///
  /// - Throws: `TooMany`, when some may be stored; all of them may be stored once more.
  func run(from first: Int64, through last: Int64) throws {
    let range: [SQLValue] = [.integer(first), .integer(last)]
    try assigned.bind(range)
    try reverse.bind(range)
    defer {
      assigned.reset()
      reverse.reset()
    }
    var (hasAssigned, hasReverse) = (try assigned.step(), try reverse.step())
    var edges: [Edge] = []
    while hasAssigned || hasReverse {
      let key =
        !hasReverse || hasAssigned && assigned.row.int64(0) <= reverse.row.int64(0)
        ? assigned.row.int64(0) : reverse.row.int64(0)
      edges.removeAll(keepingCapacity: true)
      // The last assignment that displaces the object's earlier target.
      var floor: Place?
      while hasAssigned, assigned.row.int64(0) == key {
        let place = Self.place(assigned.row, side: 0)
        floor = max(floor ?? place, place)
        if !assigned.row.isNull(1) { edges.append(Self.edge(assigned.row, place)) }
        hasAssigned = try assigned.step()
        guard edges.count <= limitEdges else { throw TooMany() }
      }
      while hasReverse, reverse.row.int64(0) == key {
        let place = Self.place(reverse.row, side: 1)
        if !firstIsToMany { floor = max(floor ?? place, place) }
        edges.append(Self.edge(reverse.row, place))
        hasReverse = try reverse.step()
        guard edges.count <= limitEdges else { throw TooMany() }
      }
      try storeEdges(key, &edges, floor)
    }
  }

  private static func place(_ row: SQLRow, side: Int) -> Place {
    Place(mapping: row.int64(2), sequence: row.int64(3), side: side)
  }

  private static func edge(_ row: SQLRow, _ place: Place) -> Edge {
    Edge(
      other: row.int64(1), place: place, position: row.isNull(4) ? nil : row.int64(4),
      inversePosition: row.isNull(5) ? nil : row.int64(5))
  }

  /// Edges to one object are one, at the lowest of their positions.
  private func storeEdges(_ key: Int64, _ edges: inout [Edge], _ floor: Place?) throws {
    if edges.count > 1 { edges.sort { $0.other < $1.other } }
    var next = edges.startIndex
    while next < edges.endIndex {
      let other = edges[next].other
      let last = try lastPlace(of: other)
      var stays = false
      var (position, inversePosition): (Int64?, Int64?)
      while next < edges.endIndex, edges[next].other == other {
        let edge = edges[next]
        next += 1
        if let floor, edge.place < floor { continue }
        if let last, edge.place < last { continue }
        stays = true
        if let found = edge.position { position = min(position ?? found, found) }
        if let found = edge.inversePosition { inversePosition = min(inversePosition ?? found, found) }
      }
      wanted += 1
      guard stays else { continue }
      kept += 1
      for (edge, statement) in store {
        statement.bind(key, at: 1)
        statement.bind(other, at: 2)
        if storesPlaces {
          statement.bind(position, at: 3)
          statement.bind(inversePosition, at: 4)
        }
        guard let limit, let row = edge.row else {
          try statement.runBound()
          continue
        }
        guard try !statement.runBound(lengthLimit: limit) else { continue }
        let places = [position, inversePosition].map { $0.map { SQLValue.integer($0) } ?? .null }
        refused.append(
          Refused(
            table: row.table, key: row.isSecond ? other : key, sql: edge.sql,
            arguments: [.integer(key), .integer(other)] + places))
      }
    }
  }

  private func lastPlace(of other: Int64) throws -> Place? {
    if lastOwn == nil, lastLeading == nil { return nil }
    if let found = known[other] { return found }
    var last: Place?
    for (statement, side) in [(lastOwn, 1), (lastLeading, 0)] {
      guard let statement else { continue }
      try statement.bind(.integer(other))
      if try statement.step() {
        let place = Place(mapping: statement.row.int64(0), sequence: statement.row.int64(1), side: side)
        last = max(last ?? place, place)
      }
      statement.reset()
    }
    if known.count >= Self.limitKnown { known.removeAll(keepingCapacity: true) }
    known[other] = .some(last)
    return last
  }
}

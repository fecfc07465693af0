import GodwitModel
import GodwitStore

/// A walk over one table of the source that counts something.
///
/// The counts of the parts of a table add up to the count of the whole table.
struct SourceWalk {
  typealias Read = (_ functions: SQLFunctions, _ keys: ClosedRange<Int64>?) throws -> [SQLValue]

  /// The table whose rows are counted.
  let table: String
  /// The column that the table is cut by.
  let column: String
  /// Whether parts of the table are counted on several threads. Where SQLite reads an index in place of the table, that
  /// would be slower.
  let isCut: Bool
  /// Counts the rows between two keys, or all rows.
  let read: Read
  /// Its counts, where other walks may count in the same pass.
  private(set) var figures: Figures?

  /// Aggregates over the rows `s` of a table.
  struct Figures {
    struct Figure {
      /// The call of an aggregate function.
      var sql: String
      /// The condition for the rows that it counts, beside that of all figures.
      var condition: String?
    }

    var columns: [Figure]
    /// The conditions for the rows that all of them count.
    var terms: [String?]
    var builder = StatementBuilder()
    var context: String?
    /// Whether SQLite may choose an index.
    var usesIndex = true

    fileprivate var condition: String? {
      let terms = terms.compactMap(\.self)
      return terms.isEmpty ? nil : terms.joinedEvenly(by: " AND ")
    }
  }

  /// - Parameters:
  ///   - key: The column that the table is cut by, as the statement calls it: `s.Z_PK`.
  ///   - sql: The statement, which gives one row, for a condition on the keys of its rows; nil for all of them.
  init(
    _ table: String, key: String, isCut: Bool = true, builder: StatementBuilder = StatementBuilder(),
    context: String? = nil, sql: @escaping (_ keys: String?) -> String
  ) {
    self.init(table, column: key.split(separator: ".").last.map(String.init) ?? key, isCut: isCut) {
      functions, keys in
      let statement = ChunkStatement(
        sql: sql(keys.map { _ in "\(key) BETWEEN ?1 AND ?2" }), builder: builder)
      let arguments = builder.arguments(from: keys?.lowerBound ?? .min, through: keys?.upperBound ?? .max)
      return try functions.running(statement, context: context ?? "planning, reading table \(table)") {
        try functions.connection.rows(statement.sql, arguments).first ?? []
      }
    }
  }

  /// A walk whose figures may be counted in the same pass as those of other walks.
  init(_ table: String, counting figures: Figures) {
    self.init(table, counting: figures, as: figures.columns, where: figures.terms)
    self.figures = figures
  }

  private init(
    _ table: String, counting figures: Figures, as columns: [Figures.Figure], where terms: [String?]
  ) {
    let list = columns.map { $0.sql + ($0.condition.map { " FILTER (WHERE \($0))" } ?? "") }.joined(separator: ", ")
    let rows = "source.\(quoted(table)) AS s\(figures.usesIndex ? "" : " NOT INDEXED")"
    self.init(table, key: "s.Z_PK", builder: figures.builder, context: figures.context) {
      "SELECT \(list) FROM \(rows)\(whereClause(terms + [$0]))"
    }
  }

  init(_ table: String, column: String, isCut: Bool = true, read: @escaping Read) {
    (self.table, self.column, self.isCut, self.read) = (table, column, isCut, read)
  }

  /// The counts of a walk, for all rows or for a sample.
  struct Count {
    /// One for each part of the table.
    let rows: [[SQLValue]]
    /// The number of rows that each row read represents.
    let factor: Double

    var isEstimate: Bool { factor != 1 }

    /// The sums of columns of whole numbers.
    func sums(_ columns: Int = 1) -> [Int64] {
      var sums = Array(repeating: Int64(0), count: columns)
      for row in rows {
        for (index, value) in row.prefix(columns).enumerated() {
          if case .integer(let number) = value { sums[index] &+= number }
        }
      }
      return sums.map(scaled)
    }

    var sum: Int64 { sums()[0] }

    func scaled(_ number: Int64) -> Int64 {
      isEstimate ? Int64(exactly: (Double(number) * factor).rounded()) ?? .max : number
    }
  }
}

/// Walks that take one pass over the rows of their table in place of several.
///
/// A pass reads a page of each row. A statement has one list of constants and calls, so that no two walks with a list of
/// their own are counted together.
struct JoinedWalks {
  private struct Pass {
    var members: [Int]
    var walk: SourceWalk
  }

  private var passes: [Pass] = []
  private let walks: [SourceWalk]
  fileprivate static let limitFigures = 1000

  init(_ walks: [SourceWalk]) {
    self.walks = walks
    var open: [String: Int] = [:]
    for (number, walk) in walks.enumerated() {
      if walk.figures != nil, let place = open[walk.table],
        let joined = SourceWalk(joining: (passes[place].members + [number]).map { walks[$0] })
      {
        passes[place].members.append(number)
        passes[place].walk = joined
        continue
      }
      if walk.figures != nil, open[walk.table] == nil { open[walk.table] = passes.count }
      passes.append(Pass(members: [number], walk: walk))
    }
  }

  /// The walks to be passed.
  var joined: [SourceWalk] { passes.map(\.walk) }

  /// The counts of the walks that were joined, in their order.
  func counts(of found: [SourceWalk.Count]) -> [SourceWalk.Count] {
    var counts = walks.map { _ in SourceWalk.Count(rows: [], factor: 1) }
    for (pass, count) in zip(passes, found) {
      guard pass.members.count > 1 else {
        counts[pass.members[0]] = count
        continue
      }
      var start = 0
      for member in pass.members {
        let end = start + (walks[member].figures?.columns.count ?? 0)
        let rows = count.rows.map { $0.count >= end ? Array($0[start..<end]) : [] }
        counts[member] = SourceWalk.Count(rows: rows, factor: count.factor)
        start = end
      }
    }
    return counts
  }
}

extension SourceWalk {
  /// One walk with the figures of several of one table; nil if one statement cannot hold them.
  fileprivate init?(joining walks: [SourceWalk]) {
    let all = walks.compactMap(\.figures)
    let withLists = all.filter { !$0.builder.isEmpty }
    guard all.count == walks.count, withLists.count <= 1, var figures = withLists.first ?? all.first,
      all.reduce(0, { $0 + $1.columns.count }) <= JoinedWalks.limitFigures
    else { return nil }
    figures.usesIndex = false
    let columns = all.flatMap { part in
      part.columns.map { figure -> Figures.Figure in
        let terms = [part.condition, figure.condition].compactMap(\.self)
        return .init(
          sql: figure.sql, condition: terms.isEmpty ? nil : terms.map { "(\($0))" }.joined(separator: " AND "))
      }
    }
    // SQLite tests a condition once for each figure: one that looks into other tables or asks Swift costs more than a pass.
    let isCostly = columns.contains {
      $0.condition.map { $0.contains("SELECT") || $0.contains("godwit_") } ?? false
    }
    guard !isCostly else { return nil }
    self.init(walks[0].table, counting: figures, as: columns, where: [])
  }
}

/// The condition of a statement, as SQL after its tables; empty without one.
func whereClause(_ terms: [String?]) -> String {
  let terms = terms.compactMap(\.self)
  return terms.isEmpty ? "" : " WHERE \(terms.joinedEvenly(by: " AND "))"
}

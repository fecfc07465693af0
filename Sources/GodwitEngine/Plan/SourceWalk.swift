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

/// The condition of a statement, as SQL after its tables; empty without one.
func whereClause(_ terms: [String?]) -> String {
  let terms = terms.compactMap(\.self)
  return terms.isEmpty ? "" : " WHERE \(terms.joinedEvenly(by: " AND "))"
}

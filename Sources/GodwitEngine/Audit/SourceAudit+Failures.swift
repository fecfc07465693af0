import GodwitJob
import GodwitModel
import GodwitStore

extension SourceAudit {
  /// Rows for which something cannot be computed.
  struct Failures {
    /// In key order.
    var keys: [Int64] = []
    /// The error of the first one.
    var message = ""
    /// Whether all rows were tried. If not, none after the last key was.
    var isComplete = true
    /// Whether a run with a quarantine sets such rows aside.
    var isOfObject = true

    /// - Parameter setsAside: Whether the job has a quarantine.
    mutating func take(_ error: GodwitError, setsAside: Bool) {
      message = error.message
      isOfObject = error.topic == .rejectedRow || setsAside && error.isOfObject
    }

    /// More are not looked for: each takes a statement of its own.
    static let limit = 500

    /// A condition on the row `alias` that is false for these rows, and is not computed for them.
    func excluded(from condition: String, alias: String) -> String {
      guard let last = keys.last else { return isComplete ? condition : "0" }
      var terms = ["\(alias).Z_PK IN (\(keys.map { "\($0)" }.joined(separator: ", ")))"]
      if !isComplete { terms.append("\(alias).Z_PK > \(last)") }
      return "(CASE WHEN \(terms.joined(separator: " OR ")) THEN 0 ELSE (\(condition)) END)"
    }
  }

  /// Whether an error is about a value that cannot be computed, and not about a damaged file or the machine.
  static func isOfRow(_ error: GodwitError) -> Bool {
    if error.refusal == .integerOverflow { return true }
    return error.code == .dataWrong && error.topic != .database
  }

  /// Finds the rows for which a value cannot be computed.
  ///
  /// - Parameters:
  ///   - table: The table as SQL.
  ///   - kind: Which of its rows `s` are tried.
  ///   - value: The value of a row `s` as SQL.
  func failures(
    in table: String, _ kind: StoreSchema.RowCondition, computing value: String, _ builder: StatementBuilder
  ) throws -> Failures {
    var found = Failures()
    let rows = "FROM \(table) AS s WHERE s.Z_PK BETWEEN ?1 AND ?2\(kind.further)"
    let statement = ChunkStatement(sql: "SELECT COUNT(\(value)) \(rows)", builder: builder)
    var search = RowSearch(
      enough: Int64(Failures.limit), isOfRow: Self.isOfRow,
      ends: { [connection] in try connection.ends(of: rows, from: $0, through: $1) },
      attempt: { [attached, connection] first, last in
        try attached.functions.running(statement, context: "audit") {
          _ = try connection.rows(statement.sql, builder.arguments(from: first, through: last))
        }
      })
    try search.search(from: .min, through: .max) { key, error in
      if found.keys.isEmpty { found.take(error, setsAside: job.quarantine != nil) }
      found.keys.append(key)
    }
    if found.keys.count == Failures.limit, let last = found.keys.last, last < .max {
      found.isComplete = try connection.ends(of: rows, from: last + 1, through: .max) == nil
    }
    return found
  }

  /// Reports rows for which a filter or a value cannot be computed.
  ///
  /// - Parameter what: `the filter`, `the value`.
  func add(_ failed: Failures, of mapping: ResolvedEntityMapping, property: String?, _ what: String) {
    if failed.isOfObject, let table = schema.table(of: mapping.source.name)?.name {
      rejected[table, default: []].formUnion(failed.keys)
    }
    add(
      AuditReport.Finding(
        failed.isOfObject || !isForecast ? .expression : .missingFile, model: resolved.destinationModel.name,
        entity: mapping.source.name, property: property,
        mapping: mapping.name, count: Int64(max(1, failed.keys.count)), isLowerBound: !failed.isComplete,
        message: "\(what) cannot be computed. The first error: \(failed.message)",
        samples: failed.keys.prefix(sampleCount).map {
          AuditReport.Sample(uri: uri(mapping.source.name, $0), value: nil)
        }))
    guard !failed.isComplete else { return }
    let place = property.map { "'\(mapping.destination.name).\($0)'" } ?? "objects"
    let after = failed.keys.last.map { " after \(uri(mapping.source.name, $0))" } ?? ""
    skip("\(place) in mapping '\(mapping.name)'\(after), since too many values cannot be computed")
  }
}

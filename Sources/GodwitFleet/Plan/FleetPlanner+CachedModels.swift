import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore

/// Stores of a version that no listed model has. A store may carry its model: then its own run finds it.
extension FleetPlanner {
  /// Takes those stores of a version out of the shards that carry no model of it.
  ///
  /// - Parameter problem: Why, as JSON.
  /// - Returns: How many are left, and their bytes.
  func leaveThoseWithModels(
    ofVersion version: Int64, _ table: SurveyTable, problem: String
  ) throws -> (stores: Int64, bytes: Int64) {
    var left: (stores: Int64, bytes: Int64) = (0, 0)
    let paths = paths
    try table.forEachWanted(ofVersion: version, atOnce: Self.storesAtOnce) { rows in
      let carry = Parallel.map(rows, threads: lookingThreads) { Self.carriesItsModel(paths.opened($0.path)) }
      for (row, carriesIt) in zip(rows, carry) {
        if carriesIt {
          left.stores += 1
          left.bytes = left.bytes.addingReportingOverflow(row.bytes).partialValue
        } else {
          try table.setUnreadable(row.id, problem: problem)
        }
      }
    }
    return left
  }

  /// Whether the store has a model with its own version hashes. One that cannot be looked at says so in its run.
  private static func carriesItsModel(_ path: String) -> Bool {
    do {
      let metadata = try StoreMetadata(readingStoreAt: path)
      if case .fits = try StoredModel(inStoreAt: path, metadata: metadata) { return true }
      return false
    } catch { return true }
  }
}

extension SurveyTable {
  /// Calls `body` with the stores of a version that are to be migrated, so many at a time. It may change their states.
  func forEachWanted(ofVersion version: Int64, atOnce count: Int, _ body: ([Row]) throws -> Void) throws {
    var last = Row(id: -1, path: "", bytes: -1)
    while true {
      try commit()
      var rows: [Row] = []
      // In the order of the index, so that the next ones are found without those before.
      try connection.query(
        """
        SELECT id, path, bytes FROM stores WHERE version = ?1 AND state = 3 AND (bytes, path) > (?2, ?3)
        ORDER BY bytes, path LIMIT \(max(1, count))
        """, [.integer(version), .integer(last.bytes), .text(last.path)]
      ) { row in
        rows.append(Row(id: row.int64(0), path: row.string(1) ?? "", bytes: row.int64(2)))
        return true
      }
      guard let end = rows.last else { return }
      try body(rows)
      last = end
    }
  }

  /// Takes one store out of the shards.
  func setUnreadable(_ id: Int64, problem: String) throws {
    try begin()
    try connection.execute(
      "UPDATE stores SET state = 2, problem = ?2 WHERE id = ?1", [.integer(id), .text(problem)])
  }
}

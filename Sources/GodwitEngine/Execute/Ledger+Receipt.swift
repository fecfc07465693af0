import GodwitJob
import GodwitStore

extension Ledger {
  /// The destination objects that each mapping made, by its name.
  package func objectsMade() throws -> [String: Int64] {
    var made: [String: Int64] = [:]
    try connection.query(
      "SELECT name, SUM(rows) FROM godwit_chunk WHERE stage IN ('create', 'policy') GROUP BY name"
    ) { row in
      made[row.string(0) ?? ""] = row.int64(1)
      return true
    }
    return made
  }
}

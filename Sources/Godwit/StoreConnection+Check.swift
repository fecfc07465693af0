import GodwitModel
import GodwitStore

extension StoreConnection {
  /// SQLite's quick check of the store that was made: every page and record is sound.
  ///
  /// - Throws: `.inputOutput` (74) with SQLite's first complaint.
  func quickCheck(remedy: String, safe: String? = nil) throws {
    var problem: String?
    try query("PRAGMA main.quick_check(1)") { row in
      problem = row.string(0)
      return false
    }
    guard problem == "ok" else {
      throw GodwitError(
        .inputOutput, "cannot finish: the new store fails SQLite's check", cause: problem, remedy: remedy, safe: safe)
    }
  }
}

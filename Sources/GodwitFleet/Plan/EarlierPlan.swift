import Foundation
import GodwitModel
import GodwitPlatform
import GodwitStore

/// What an earlier plan and its results say of the stores that a new survey wants to migrate.
///
/// The two surveys found the same paths. What is behind them may have changed: a store that could not be read may have
/// been mended, and one that is finished may have been written to since.
struct EarlierPlan {
  let folder: FleetFolder
  let plan: FleetPlan
  let paths: FleetPaths
  let isInPlace: Bool

  /// Why the earlier plan does not do for the stores that are to be migrated now; nil when it does.
  func difference(from table: SurveyTable) throws -> String? {
    for shard in 0..<plan.shards {
      let reader = try ShardReader(folder, shard: shard, expecting: plan.shardStores[shard])
      while let store = try reader.next() { try table.noteEarlier(store.store) }
      var results = ResultsReader(folder, shard: shard, plan: plan)
      try results.read { result, _, _, _ in
        // Without its time, the store counts as changed.
        let began = result.isDone ? (FleetTime.seconds(result.time) ?? 0) - max(0, result.seconds) : nil
        try table.noteEarlier(result.store, began: began)
      }
    }
    let new = try table.wantedInNoEarlierShard()
    guard new == 0 else {
      return "\(new) of the stores are in no shard of it, and are to be migrated now"
    }
    var changed: Int64 = 0
    try table.forEachWantedAgain { path, began in
      if isInPlace || isChanged(paths.opened(path), since: began) { changed += 1 }
    }
    return changed == 0 ? nil : "\(changed) of the stores that were migrated have changed since"
  }

  /// Whether a store was written to after a time.
  private func isChanged(_ path: String, since began: Double) -> Bool {
    for file in [path, path + "-wal", path + "-journal"] {
      var info = stat()
      guard stat(file, &info) == 0 else { continue }
      let time = CLibrary.modificationTime(info)
      if Double(time.tv_sec) + Double(time.tv_nsec) / 1e9 > began { return true }
    }
    return false
  }
}

extension SurveyTable {
  /// A store of an earlier plan's shard.
  ///
  /// - Parameter began: When the run that finished it began; nil for one that is not finished.
  func noteEarlier(_ path: String, began: Double? = nil) throws {
    try begin()
    try connection.execute(
      "INSERT INTO earlier (path, began) VALUES (?1, ?2) ON CONFLICT (path) DO UPDATE SET began = ?2",
      [.text(path), began.map { .real($0) } ?? .null])
  }

  /// How many stores are to be migrated that no earlier shard has.
  func wantedInNoEarlierShard() throws -> Int64 {
    try commit()
    return try connection.integer(
      "SELECT COUNT(*) FROM stores WHERE state = 3 AND path NOT IN (SELECT path FROM earlier)") ?? 0
  }

  /// Calls `body` with the stores that are to be migrated though an earlier run has finished them, and when it began.
  func forEachWantedAgain(_ body: (_ path: String, _ began: Double) throws -> Void) throws {
    try commit()
    try connection.query(
      "SELECT path, began FROM stores JOIN earlier USING (path) WHERE state = 3 AND began IS NOT NULL"
    ) { row in
      try body(row.string(0) ?? "", row.double(1))
      return true
    }
  }
}

import GodwitModel
import GodwitStore

/// The parts of a store that a compaction removes, before it begins or after it ended.
package struct CompactionReport: Sendable, Codable, Hashable {
  /// How it ended.
  package enum Outcome: String, Sendable, Codable, Hashable {
    /// The store was only looked at.
    case planned
    /// The compact store has the place of the old one.
    case compacted
    /// The store has no history and no free pages, and lacks no model.
    case nothingToDo = "nothing-to-do"
  }

  /// A table of persistent history.
  package struct History: Sendable, Codable, Hashable {
    /// The table's name.
    package var table: String
    package var rows: Int64
    /// The bytes of its pages and those of its indexes; nil if this SQLite cannot tell.
    package var bytes: Int64?
  }

  /// The model in `Z_MODELCACHE`.
  package enum ModelCache: String, Sendable, Codable, Hashable {
    /// The store has one.
    case present
    /// The store has none, and gets none.
    case absent
    /// The store has none, and gets the model that was named.
    case added
  }

  /// The path of the store.
  package var store: String
  package var outcome: Outcome
  /// The size of the store before, in bytes, with its log.
  package var sizeBytes: Int64
  /// The bytes in free pages.
  package var freeBytes: Int64
  /// The tables of persistent history, empty ones too.
  package var history: [History]
  /// The size that the store will have, about.
  package var expectedBytes: Int64
  /// The size of the compact store; nil before it is made.
  package var newBytes: Int64?
  package var modelCache: ModelCache
  /// Whether CloudKit mirrors the store.
  package var isMirrored: Bool
  /// Where the old store is kept; nil if it is not.
  package var keptAs: String?
  /// Further facts, one sentence each.
  package var notes: [String]

  /// Whether the store has nothing to remove or to add.
  var isCompact: Bool { freeBytes == 0 && history.allSatisfy { $0.rows == 0 } && modelCache != .added }
}

extension CompactionReport: CustomStringConvertible {
  package var description: String {
    var lines = ["store        \(store), \(ByteCount(bytes: sizeBytes))"]
    for table in history {
      let bytes = table.bytes.map { ", \(ByteCount(bytes: $0))" } ?? ""
      lines.append("history      \(table.table): \(table.rows.counted("row"))\(bytes)")
    }
    if history.isEmpty { lines.append("history      none") }
    lines.append("free pages   \(ByteCount(bytes: freeBytes))")
    lines += notes.map { "note         \($0)" }
    switch outcome {
    case .nothingToDo: lines.append("verdict      nothing to do")
    case .planned:
      let less = max(0, sizeBytes - expectedBytes)
      lines.append("verdict      about \(ByteCount(bytes: less)) less: \(ByteCount(bytes: expectedBytes))")
    case .compacted:
      let new = newBytes ?? expectedBytes
      lines.append(
        "verdict      compacted: \(ByteCount(bytes: new)), \(ByteCount(bytes: max(0, sizeBytes - new))) less")
      if let keptAs { lines.append("old store    \(keptAs)") }
    }
    return lines.asLines
  }
}

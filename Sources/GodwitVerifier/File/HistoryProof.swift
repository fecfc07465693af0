import GodwitJob
import GodwitModel
import GodwitStore

/// Persistent history is dropped: its tables are as the source made them, empty, and count on from where they were.
struct HistoryProof {
  private static let history = "('ACHANGE', 'ATRANSACTION', 'ATRANSACTIONSTRING')"

  /// A table or an index of the history, and the statement that made it.
  struct HistoryItem {
    var type, name, sql: String
  }

  private let stores: ComparedStores
  private let findings: Findings

  init(_ stores: ComparedStores, _ findings: Findings) { (self.stores, self.findings) = (stores, findings) }

  /// The statements in the source that made the history's tables and indexes.
  ///
  /// None for an atomic store, which has no tables.
  func historyItems() throws -> [HistoryItem] {
    guard stores.job.destinationType == .sqlite else { return [] }
    return try stores.source.rows(
      "SELECT type, name, sql FROM \(ComparedStores.attached).sqlite_master WHERE tbl_name IN \(Self.history) AND sql NOT NULL AND type <> 'trigger'"
    ).map { HistoryItem(type: $0[0].text, name: $0[1].text, sql: $0[2].text) }
  }

  /// - Parameter rows: Rows of the destination's `Z_PRIMARYKEY`; those of history are taken out.
  func checkHistory(_ rows: inout [Int64: [SQLValue]]) throws {
    for item in try historyItems() where item.type == "table" {
      let count = try stores.destination.integer("SELECT COUNT(*) FROM \(stores.table(item.name))") ?? 0
      if count > 0 {
        findings.find(.schema, "table '\(item.name)' has \(count.counted("row")) of a history that should be dropped")
      }
      let name = String(item.name.dropFirst())
      let highest = try stores.source.integer("SELECT MAX(Z_PK) FROM \(stores.table(item.name))") ?? 0
      for row in try stores.source.rows(
        "SELECT Z_ENT, Z_MAX FROM \(ComparedStores.attached).Z_PRIMARYKEY WHERE Z_NAME = ?1 AND Z_ENT > 16000",
        [.text(name)])
      {
        guard case .integer(let number) = row[0] else { continue }
        var wanted = highest
        if case .integer(let counter) = row[1] { wanted = max(wanted, counter) }
        let made = rows.removeValue(forKey: number)
        let counter = try stores.destination.integer(
          "SELECT Z_MAX FROM \(ComparedStores.attached).Z_PRIMARYKEY WHERE Z_ENT = ?1 AND Z_NAME = ?2",
          [.integer(number), .text(name)])
        if made == nil || counter ?? -1 < wanted {
          findings.find(
            .counter, name, "the history's counter is \(counter.map { "\($0)" } ?? "missing"), less than \(wanted)")
        }
        findings.count("counters of persistent history", 1)
      }
    }
  }
}

extension SQLValue {
  /// The text; empty for a value that is not a text.
  fileprivate var text: String {
    if case .text(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { "" }
  }
}

import GodwitJob
import GodwitModel
import GodwitStore

/// Proves the rows of `Z_PRIMARYKEY`: the number of each entity, and the counter of each table.
struct CounterProof {
  private let stores: ComparedStores
  private let findings: Findings

  init(_ stores: ComparedStores, _ findings: Findings) { (self.stores, self.findings) = (stores, findings) }

  func checkNumbers() throws {
    var rows: [Int64: [SQLValue]] = [:]
    for row in try stores.destination.rows(
      "SELECT Z_ENT, Z_NAME, Z_SUPER FROM \(ComparedStores.attached).Z_PRIMARYKEY ORDER BY Z_ENT")
    {
      if case .integer(let number) = row[0] { rows[number] = row }
    }
    for (name, number) in stores.destinationSchema.entityNumbers.sorted(by: { $0.value < $1.value }) {
      let parent =
        stores.destinationSchema.model.entity(name)?.superentityName.flatMap(stores.destinationSchema.number) ?? 0
      guard let row = rows.removeValue(forKey: Int64(number)) else {
        findings.find(.counter, name, "Z_PRIMARYKEY has no row with number \(number)")
        continue
      }
      if row[1] != .text(name) || row[2] != .int(parent) {
        findings.find(.counter, name, "row \(number) of Z_PRIMARYKEY does not name the entity and its parent")
      }
    }
    // A store that was there before the append has a history of its own.
    if stores.appended?.foundStore == true {
      rows = [:]
    } else {
      try HistoryProof(stores, findings).checkHistory(&rows)
    }
    for number in rows.keys.sorted() {
      findings.find(.counter, "row \(number) of Z_PRIMARYKEY belongs to no entity of the model")
    }
    findings.count("entity numbers", Int64(stores.destinationSchema.entityNumbers.count))
  }

  /// `Z_MAX` is at least every key, and where keys were kept at least the source's counter.
  func checkCounters(_ keys: KeyAssignment) throws {
    for table in stores.destinationSchema.tables {
      let root = table.rootEntityName
      guard let number = stores.destinationSchema.number(of: root) else { continue }
      let counter = try stores.destination.integer(
        "SELECT Z_MAX FROM \(ComparedStores.attached).Z_PRIMARYKEY WHERE Z_ENT = ?1", [.int(number)])
      guard let counter else {
        findings.find(.counter, root, "Z_MAX is not set")
        continue
      }
      let highest = try stores.destination.integer("SELECT MAX(Z_PK) FROM \(stores.table(table.name))") ?? 0
      if counter < highest {
        findings.find(.counter, root, key: highest, "Z_MAX is \(counter), less than the highest key")
      }
      findings.count("key counters", 1)
      guard let kept = keys.keptRoots[root] else { continue }
      let before =
        try stores.source.integer(
          "SELECT MAX(Z_MAX) FROM \(ComparedStores.attached).Z_PRIMARYKEY WHERE Z_ENT IN (\(stores.numbers(kept, in: stores.sourceSchema)))"
        )
        ?? 0
      if counter < before {
        findings.find(.counter, root, "Z_MAX is \(counter), less than the source's \(before), whose keys were kept")
      }
    }
  }
}

import GodwitJob
import GodwitModel
import GodwitStore

/// Compares the tables, indexes and triggers of the destination with the statements of its schema.
struct SchemaProof {
  private struct Item: Hashable {
    var type: String
    var name: String
  }

  private let stores: ComparedStores
  private let findings: Findings

  init(_ stores: ComparedStores, _ findings: Findings) { (self.stores, self.findings) = (stores, findings) }

  func checkSchema() throws -> Bool {
    var expected: [Item: String] = [:]
    for table in stores.destinationSchema.tables {
      expected[Item(type: "table", name: table.name)] = table.createStatement
    }
    for join in stores.destinationSchema.joinTables {
      expected[Item(type: "table", name: join.name)] = join.createStatement
    }
    for index in stores.destinationSchema.indexes { expected[Item(type: "index", name: index.name)] = index.sql }
    // An atomic store has no triggers.
    let triggers = stores.job.destinationType == .sqlite ? stores.destinationSchema.triggers : []
    for trigger in triggers { expected[Item(type: "trigger", name: trigger.name)] = trigger.sql }
    for statement in stores.destinationSchema.createStatements {
      for name in ["Z_PRIMARYKEY", "Z_METADATA"] where statement.hasPrefix("CREATE TABLE \(name) ") {
        expected[Item(type: "table", name: name)] = statement
      }
    }
    // A store that existed before the append keeps the definitions that it was made with.
    if stores.appended?.foundStore == true {
      return try checkTables(expected.keys.filter { $0.type == "table" }.map(\.name))
    }
    for item in try HistoryProof(stores, findings).historyItems() {
      expected[Item(type: item.type, name: item.name)] = item.sql
    }
    var found: [Item: String] = [:]
    try stores.destination.query(
      "SELECT type, name, sql FROM \(ComparedStores.attached).sqlite_master WHERE sql IS NOT NULL ORDER BY type, name"
    ) { row in
      found[Item(type: row.string(0) ?? "", name: row.string(1) ?? "")] = row.string(2)
      return true
    }
    findings.count("tables, indexes and triggers", Int64(expected.count))
    for derived in stores.destinationSchema.derivedAttributes
    where stores.destinationSchema.triggers(of: derived) == nil {
      let part = "_\(derived.entityName)_\(derived.attributeName)_"
      guard !found.keys.contains(where: { $0.type == "trigger" && $0.name.contains(part) }) else { continue }
      findings.count("not proved: triggers of derived attribute \(derived.entityName).\(derived.attributeName)", 1)
    }
    var isReadable = true
    for (item, sql) in expected.sorted(by: { ($0.key.type, $0.key.name) < ($1.key.type, $1.key.name) }) {
      guard let present = found[item] else {
        findings.find(.schema, "\(item.type) '\(item.name)' is missing")
        if item.type == "table" { isReadable = false }
        continue
      }
      if try present != sql && !(item.type == "table" && isInOtherOrder(item.name, sql: present)) {
        findings.find(.schema, "\(item.type) '\(item.name)' differs: expected '\(sql)', found '\(present)'")
        if item.type == "table" { isReadable = false }
      }
    }
    for item in found.keys.sorted(by: { ($0.type, $0.name) < ($1.type, $1.name) }) where expected[item] == nil {
      // Core Data makes this one itself when it opens the store.
      if item.name == "Z_MODELCACHE" { continue }
      if item.type == "trigger", try isOfSource(item.name, sql: found[item] ?? "") { continue }
      let what = item.name.hasPrefix("godwit_") ? "was left behind by the migration" : "is not of the model"
      findings.find(.schema, "\(item.type) '\(item.name)' \(what)")
    }
    return isReadable
  }

  /// Whether a table of a store that was migrated in place is the model's but for the order of its columns.
  private func isInOtherOrder(_ name: String, sql: String) throws -> Bool {
    guard stores.original != nil, var table = stores.destinationSchema.tables.first(where: { $0.name == name }) else {
      return false
    }
    let names = try stores.destination.strings(
      "PRAGMA \(ComparedStores.attached).table_info(\(StoreSchema.identifier(name)))", column: 1)
    table.columns.sort { (names.firstIndex(of: $0.name) ?? .max) < (names.firstIndex(of: $1.name) ?? .max) }
    return table.createStatement == sql
  }

  /// The tables are there, and nothing of the migration.
  private func checkTables(_ names: [String]) throws -> Bool {
    let found = Set(
      try stores.destination.strings("SELECT name FROM \(ComparedStores.attached).sqlite_master WHERE type = 'table'"))
    var isReadable = true
    for name in names.sorted() where !found.contains(name) {
      findings.find(.schema, "table '\(name)' is missing")
      isReadable = false
    }
    for name in found.sorted() where name.hasPrefix("godwit_") {
      findings.find(.schema, "table '\(name)' was left behind by the migration")
    }
    findings.count("tables", Int64(names.count))
    findings.count("not proved: indexes and triggers, which the store had before the job", 1)
    return isReadable
  }

  /// Whether the source has the same trigger, which is kept because its spelling is not known for every derivation.
  private func isOfSource(_ trigger: String, sql: String) throws -> Bool {
    try stores.source.value(
      "SELECT 1 FROM \(ComparedStores.attached).sqlite_master WHERE type = 'trigger' AND name = ?1 AND sql = ?2",
      [.text(trigger), .text(sql)]) != nil
  }
}

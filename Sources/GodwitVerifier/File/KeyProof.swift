import GodwitModel
import GodwitStore

/// Proves that the rows of a store can be told apart by their keys.
///
/// SQLite keeps the keys of a table apart whose text is Core Data's. In any other table the keys are counted. A run asks
/// SQLite for the parts of the definition instead.
/// With a damaged definition SQLite reads every key as NULL, and says ok.
struct KeyProof {
  let connection: StoreConnection
  let schema: StoreSchema

  /// The tables with rows that have no key of their own, each with the reason.
  func faults() throws -> [String] {
    var texts: [String: String] = [:]
    try connection.query("SELECT name, sql FROM \(ComparedStores.attached).sqlite_master WHERE type = 'table'") { row in
      // Blanks and quotes do not count.
      let words = (row.string(1) ?? "").split { $0.isWhitespace || $0 == "\"" || $0 == "`" }
      texts[row.string(0) ?? ""] = words.joined(separator: " ").replacing(" (", with: "(").replacing("( ", with: "(")
        .replacing(" )", with: ")").replacing(" ,", with: ",").replacing(", ", with: ",")
      return true
    }
    var faults: [String] = []
    for table in schema.tables {
      let text = texts[table.name] ?? ""
      if text.hasPrefix("CREATE TABLE \(table.name)(Z_PK INTEGER PRIMARY KEY,"), text.hasSuffix(")") { continue }
      let odd = "TYPEOF(Z_PK) <> 'integer'"
      if let fault = try fault(in: table.name, key: ["Z_PK"], odd: odd) { faults.append(fault) }
    }
    for join in schema.joinTables {
      let key = [join.ownerColumn, join.destinationColumn]
      let odd = key.map { "TYPEOF(\(StoreSchema.identifier($0))) <> 'integer'" }.joined(separator: " OR ")
      let isKept = (texts[join.name] ?? "").hasSuffix(",PRIMARY KEY(\(key.joined(separator: ","))))")
      if let fault = try fault(in: join.name, key: isKept ? [] : key, odd: odd) { faults.append(fault) }
    }
    return faults
  }

  /// - Parameters:
  ///   - key: The columns whose values are counted; empty where SQLite keeps them apart.
  ///   - odd: True for a row whose key is none.
  private func fault(in table: String, key: [String], odd: String) throws -> String? {
    let rows = "\(ComparedStores.attached).\(StoreSchema.identifier(table))"
    let keyless = try connection.integer("SELECT COUNT(*) FROM \(rows) WHERE \(odd)") ?? 0
    if keyless > 0 { return "\(keyless.counted("row")) of table '\(table)' without a key" }
    guard !key.isEmpty else { return nil }
    let list = key.map(StoreSchema.identifier).joined(separator: ", ")
    let all = try connection.integer("SELECT COUNT(*) FROM \(rows)") ?? 0
    let keys = try connection.integer("SELECT COUNT(*) FROM (SELECT DISTINCT \(list) FROM \(rows))") ?? 0
    return keys < all ? "\(all.counted("row")) of table '\(table)' with \(keys.counted("key"))" : nil
  }
}

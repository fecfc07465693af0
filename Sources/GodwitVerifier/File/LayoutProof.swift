import GodwitJob
import GodwitModel
import GodwitStore

/// The destination beside a store of its version that Core Data wrote: the names of tables and columns must be the
/// same.
struct LayoutProof {
  private let stores: ComparedStores
  private let findings: Findings

  init(_ stores: ComparedStores, _ findings: Findings) { (self.stores, self.findings) = (stores, findings) }

  /// - Throws: as `StoreConnection.openStore`.
  func compareLayout() throws {
    guard stores.job.position.isLast, let store = stores.job.layoutStore, stores.appended?.foundStore != true else {
      return
    }
    let connection = try StoreConnection.openStore(readingAt: store.path, model: store.model)
    defer { try? connection.close() }
    let wanted = try StoreLayout(of: connection)
    let found = try StoreLayout(of: stores.destination)
    let unknown = stores.destinationSchema.tables.map(\.name) + stores.destinationSchema.joinTables.map(\.name)
    func ours(_ name: String) -> Bool { StoreLayout.isOfModel(name) }
    for name in Set(unknown).union(wanted.columns.keys.filter(ours)).union(found.columns.keys.filter(ours)).sorted() {
      switch (wanted.columns[name], found.columns[name]) {
      case (let columns?, let present?):
        for column in columns.subtracting(present).sorted() {
          findings.find(.schema, "table '\(name)' lacks column '\(column)', which '\(store.path)' has")
        }
        for column in present.subtracting(columns).sorted() {
          findings.find(.schema, "table '\(name)' has column '\(column)', which '\(store.path)' lacks")
        }
      case (.some, nil): findings.find(.schema, "table '\(name)' is missing, which '\(store.path)' has")
      case (nil, .some): findings.find(.schema, "table '\(name)' is not in '\(store.path)'")
      case (nil, nil): break
      }
    }
    findings.count("tables of the layout store", Int64(wanted.columns.keys.count(where: ours)))
    // If the store has an index on the same columns, it must have the same name. Other stores may have fewer indexes,
    // made by an earlier version of Core Data, or more, left behind by a migration.
    var compared: Int64 = 0
    var others: Int64 = 0
    for (name, index) in wanted.indexes.sorted(by: { $0.key < $1.key }) where ours(index.table) {
      guard found.indexes[name] != index else {
        compared += 1
        continue
      }
      let same = found.indexes.filter { $0.value == index }.keys.sorted()
      if !same.isEmpty, wanted.isCurrent, !same.contains(where: { wanted.indexes[$0] == index }) {
        findings.find(.schema, "index '\(same[0])' is called '\(name)' in '\(store.path)'")
      } else if same.isEmpty, found.indexes[name] != nil {
        findings.find(.schema, "index '\(name)' has other columns in '\(store.path)'")
      } else {
        others += 1
      }
    }
    findings.count("indexes of the layout store", compared)
    if others > 0 {
      findings.count("not proved: indexes of the layout store that the model does not ask for under their name", others)
    }
  }
}

/// Tables, columns and indexes of a store as its file says.
private struct StoreLayout {
  struct Index: Equatable {
    var table: String
    /// In order, each with its direction.
    var columns: [String]
    var isUnique: Bool
  }

  private(set) var columns: [String: Set<String>] = [:]
  private(set) var indexes: [String: Index] = [:]
  /// Whether Core Data named its indexes as it does from framework version 851 on.
  private(set) var isCurrent = false

  static func isOfModel(_ name: String) -> Bool {
    name.hasPrefix("Z") && !["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"].contains(name)
  }

  init(of connection: StoreConnection) throws {
    let database = ComparedStores.attached
    for table in try connection.strings("SELECT name FROM \(database).sqlite_master WHERE type = 'table'") {
      columns[table] = Set(
        try connection.strings("PRAGMA \(database).table_info(\(StoreSchema.identifier(table)))", column: 1))
    }
    struct Definition {
      var name, table, sql: String
    }
    var found: [Definition] = []
    try connection.query(
      "SELECT name, tbl_name, sql FROM \(ComparedStores.attached).sqlite_master WHERE type = 'index' AND sql NOT NULL"
    ) { row in
      found.append(Definition(name: row.string(0) ?? "", table: row.string(1) ?? "", sql: row.string(2) ?? ""))
      return true
    }
    for index in found {
      let (name, sql) = (index.name, index.sql)
      if sql.contains("COLLATE BINARY") { isCurrent = true }
      var names: [String] = []
      try connection.query(
        "SELECT name, \"desc\" FROM pragma_index_xinfo(?1, ?2) WHERE key = 1 ORDER BY seqno",
        [.text(name), .text(ComparedStores.attached)]
      ) { row in
        names.append((row.string(0) ?? "") + (row.int64(1) == 0 ? "" : " DESC"))
        return true
      }
      indexes[name] = Index(table: index.table, columns: names, isUnique: sql.uppercased().hasPrefix("CREATE UNIQUE"))
    }
  }
}

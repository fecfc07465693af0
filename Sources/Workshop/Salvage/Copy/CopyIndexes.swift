import GodwitModel
import GodwitStore

/// Makes the indexes, views and triggers of a copy when all rows are there.
struct CopyIndexes {
  private let copy: CopyStore
  private(set) var notes: [String] = []
  private(set) var losses: [String] = []

  init(_ copy: CopyStore) { self.copy = copy }

  /// - Parameter schema: The model's indexes are made too, if the source has none of their names; nil without a model.
  mutating func make(_ schema: StoreSchema?) throws {
    try copy.beginIndexes()
    try makeVirtualTables()
    for entry in copy.source.catalog.entries {
      guard let sql = entry.sql else { continue }
      switch entry.type {
      case "index": try make(sql, "index '\(entry.name)'", prefixes: ["CREATE INDEX ", "CREATE UNIQUE INDEX "])
      case "view": try make(sql, "view '\(entry.name)'", prefixes: ["CREATE VIEW "])
      case "trigger": try make(sql, "trigger '\(entry.name)'", prefixes: ["CREATE TRIGGER "])
      default: break
      }
    }
    guard let schema else { return }
    var isMade = false
    let names = try copy.connection.strings("SELECT lower(name) FROM main.sqlite_master WHERE type = 'index'")
    let present = Set(names)
    for index in schema.indexes where !present.contains(index.name.lowercased()) {
      guard !copy.source.catalog.lost.isEmpty || copy.states[index.table]?.isMade == true else { continue }
      try make(index.sql, "index '\(index.name)'", prefixes: ["CREATE "])
      isMade = true
    }
    if isMade { notes.append("indexes whose definitions are lost were made from the model") }
    if !copy.source.catalog.lost.isEmpty {
      let triggers = try copy.connection.integer("SELECT count(*) FROM main.sqlite_master WHERE type = 'trigger'") ?? 0
      if triggers == 0 {
        for trigger in schema.triggerStatements { try make(trigger, "a trigger", prefixes: ["CREATE "]) }
      }
    }
  }

  /// Defines the virtual tables of the source. Their rows are in other tables, which are copied already.
  private mutating func makeVirtualTables() throws {
    let tables = copy.source.catalog.virtualTables
    guard !tables.isEmpty else { return }
    let connection = copy.connection
    try connection.undefended {
      try connection.execute("PRAGMA writable_schema = ON")
      for entry in tables {
        guard let sql = entry.sql, sql.uppercased().hasPrefix("CREATE VIRTUAL TABLE ") else {
          losses.append("virtual table '\(entry.name)': its definition cannot be used")
          continue
        }
        try connection.execute(
          "INSERT INTO main.sqlite_master (type, name, tbl_name, rootpage, sql) VALUES ('table', ?1, ?1, 0, ?2)",
          [.text(entry.name), .text(sql)])
        let parts = copy.names.filter { $0.hasPrefix(entry.name + "_") }
        if parts.contains(where: { copy.states[$0]?.parts.isEmpty == false }) {
          losses.append("virtual table '\(entry.name)': tables in which it keeps its rows have lost some")
        }
      }
      try connection.execute("PRAGMA writable_schema = RESET")
    }
  }

  private mutating func make(_ sql: String, _ what: String, prefixes: [String]) throws {
    guard prefixes.contains(where: sql.uppercased().hasPrefix) else {
      losses.append("\(what): its definition cannot be used")
      return
    }
    do { try copy.connection.execute(sql) } catch let error as GodwitError {
      if error.refusal == .duplicate {
        let plain = sql.replacing(/(?i)^CREATE UNIQUE INDEX/, with: "CREATE INDEX")
        try copy.connection.execute(plain)
        notes.append("\(what) is not unique in the copy: rows have the same values")
        return
      }
      guard error.code != .inputOutput else { throw error }
      losses.append("\(what): SQLite refuses its definition")
    }
  }
}

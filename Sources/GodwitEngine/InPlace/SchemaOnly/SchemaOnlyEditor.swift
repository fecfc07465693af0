import GodwitModel
import GodwitStore

/// Changes the definitions of a store's file. Names may be exchanged. Call inside a transaction.
struct SchemaOnlyEditor {
  let connection: StoreConnection

  // MARK: What goes

  func dropTriggersAndViews() throws {
    for kind in ["trigger", "view"] {
      for name in try names("SELECT name FROM main.sqlite_master WHERE type = '\(kind)'") {
        try connection.execute("DROP \(kind.uppercased()) main.\(quoted(name))")
      }
    }
  }

  func dropTables(but known: Set<String>) throws {
    for name in try names("SELECT name FROM main.sqlite_master WHERE type = 'table'") where !known.contains(name) {
      try connection.execute("DROP TABLE main.\(quoted(name))")
    }
  }

  func dropIndex(_ name: String) throws { try connection.execute("DROP INDEX main.\(quoted(name))") }

  /// Names that a statement may drop. Among SQLite's own tables only those of its statistics may be dropped.
  private func names(_ sql: String) throws -> [String] {
    try connection.strings(sql).filter { !$0.hasPrefix("sqlite_") || $0.hasPrefix("sqlite_stat") }
  }

  // MARK: Names

  func rename(_ table: String, _ name: String) throws {
    try connection.execute("ALTER TABLE main.\(quoted(table)) RENAME TO \(quoted(name))")
  }

  /// Two names may change places.
  func rename(tables moves: [(from: String, to: String)]) throws {
    let renamed = moves.filter { $0.from != $0.to }
    for (number, move) in renamed.enumerated() { try rename(move.from, "godwit_moved_\(number)") }
    for (number, move) in renamed.enumerated() { try rename("godwit_moved_\(number)", move.to) }
  }

  /// Two names may change places.
  func rename(columns: [(from: String, to: String)], of table: String) throws {
    let head = "ALTER TABLE main.\(quoted(table)) RENAME COLUMN"
    for (number, column) in columns.enumerated() {
      try connection.execute("\(head) \(quoted(column.from)) TO \(quoted("godwit_moved_\(number)"))")
    }
    for (number, column) in columns.enumerated() {
      try connection.execute("\(head) \(quoted("godwit_moved_\(number)")) TO \(quoted(column.to))")
    }
  }

  /// Gives tables their names, and their columns; new columns come at the end.
  func alter(_ tables: [InPlaceSQLLayout.Kept], _ joins: [InPlaceSQLLayout.KeptJoin]) throws {
    try rename(tables: tables.map { ($0.old, $0.new.name) } + joins.map { ($0.old, $0.new.name) })
    for table in tables {
      try rename(columns: table.renamedColumns, of: table.new.name)
      for column in table.addedColumns {
        try connection.execute(
          "ALTER TABLE main.\(quoted(table.new.name)) ADD COLUMN \(quoted(column.name)) \(column.declaredType)")
      }
    }
    for join in joins { try rename(columns: join.renamedColumns, of: join.new.name) }
  }

  // MARK: Spelling

  /// Gives definitions that SQLite put together the spelling that Core Data and new stores have.
  ///
  /// - Throws: `.internalBug` when a definition differs from the wanted one in more than blanks and quotes.
  func spell(_ tables: [InPlaceSQLLayout.Kept], _ joins: [InPlaceSQLLayout.KeptJoin]) throws {
    let wanted =
      tables.map { ($0.new.name, $0.new.createStatement) } + joins.map { ($0.new.name, $0.new.createStatement) }
    try writingSchema {
      for (name, sql) in wanted {
        let text = try definition("table", name)
        guard let text, StoreTables.isSame(text, sql) else {
          throw GodwitError(.internalBug, "table '\(name)' did not become '\(sql)'")
        }
        guard text != sql else { continue }
        try connection.execute(
          "UPDATE main.sqlite_master SET sql = ?2 WHERE type = 'table' AND name = ?1", [.text(name), .text(sql)])
      }
    }
  }

  /// Gives indexes that stay the names and the spelling that they have in a new store; SQLite has no statement for
  /// that, and building an index again would read every row.
  ///
  /// - Throws: `.internalBug` when an index is of other columns than the wanted one.
  func spell(_ indexes: [StoreIndexes.Kept]) throws {
    // Two names may change places: rows are found before any is written.
    var rows: [(row: Int64, index: StoreSchema.Index)] = []
    for (old, index) in indexes {
      let found = try connection.rows(
        "SELECT rowid, sql FROM main.sqlite_master WHERE type = 'index' AND name = ?1", [.text(old)]
      ).first
      guard let found, case .integer(let row) = found[0], case .text(let bytes) = found[1],
        case let sql = String(decoding: bytes, as: UTF8.self),
        let shape = StoreIndexes.shape(sql, name: old), shape == StoreIndexes.shape(index.sql, name: index.name)
      else { throw GodwitError(.internalBug, "index '\(old)' did not become '\(index.sql)'") }
      if old != index.name || sql != index.sql { rows.append((row, index)) }
    }
    try writingSchema {
      for (row, index) in rows {
        try connection.execute(
          "UPDATE main.sqlite_master SET name = ?2, sql = ?3 WHERE rowid = ?1",
          [.integer(row), .text(index.name), .text(index.sql)])
      }
    }
  }

  func definition(_ type: String, _ name: String) throws -> String? {
    try connection.strings(
      "SELECT sql FROM main.sqlite_master WHERE type = ?1 AND name = ?2", [.text(type), .text(name)]
    ).first
  }

  private func writingSchema(_ body: () throws -> Void) throws {
    try connection.undefended {
      try connection.execute("PRAGMA writable_schema = ON")
      do { try body() } catch {
        try? connection.execute("PRAGMA writable_schema = OFF")
        throw error
      }
      // Reads every definition again, and so finds one that SQLite cannot read.
      try connection.execute("PRAGMA writable_schema = RESET")
    }
  }
}

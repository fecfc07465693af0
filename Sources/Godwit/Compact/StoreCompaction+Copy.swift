import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The compact store, in the work folder.
extension StoreCompaction {
  /// - Returns: its path.
  func make(_ finding: Finding, in folder: String) throws -> String {
    let (copy, made) = (folder + "/copy.sqlite", StepFolder(path: folder).storePath)
    do {
      try StoreCloner.make(of: path, to: copy) { _ in try control.checkpoint() }
      try empty(copy, finding, into: made)
    } catch let error as GodwitError where control.reason != nil && error.code != .stopped {
      try control.checkpoint()
      throw error
    }
    for suffix in ["", "-journal"] { try WorkFolder.removeFile(copy + suffix) }
    try check(made, finding)
    return made
  }

  /// Empties the tables of history in a copy, and writes the copy into a new file. A failure may leave the copy half done.
  private func empty(_ copy: String, _ finding: Finding, into made: String) throws {
    let connection = try StoreConnection(path: copy, cache: .mebibytes(32))
    defer { try? connection.close() }
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    try connection.execute("PRAGMA journal_mode = DELETE")
    try connection.undefended { try connection.execute("PRAGMA journal_mode = OFF") }
    try connection.execute("PRAGMA synchronous = OFF")
    try connection.execute("PRAGMA temp_store = FILE")
    connection.whileRunning { [control] in control.reason != nil }
    defer { connection.whileRunning(stopIf: nil) }
    for table in finding.report.history {
      // A number that was given out is never given out again.
      try connection.execute(
        """
        UPDATE main.Z_PRIMARYKEY SET Z_MAX = MAX(COALESCE(Z_MAX, 0), COALESCE((SELECT MAX(Z_PK) FROM main.\(quoted(table.table))), 0)) \
        WHERE Z_NAME = ?1 AND Z_ENT > \(StoreSchema.lastEntityNumber)
        """, [.text(String(table.table.dropFirst()))])
      try connection.execute("DELETE FROM main.\(quoted(table.table))")
    }
    if let cache = finding.cache {
      try connection.execute("CREATE TABLE main.Z_MODELCACHE (Z_CONTENT BLOB)")
      try connection.execute("INSERT INTO main.Z_MODELCACHE (Z_CONTENT) VALUES (?1)", [.blob(cache)])
    }
    try WorkFolder.removeFile(made)
    do { try connection.undefended { try connection.execute("VACUUM main INTO ?1", [.text(made)]) } } catch let error
      as GodwitError where error.message.contains("'no such function: ")
    {
      throw refusal(ofForeign: "a table of it needs a function that only the application has", cause: error.message)
    }
  }

  /// Compares the compact store with the old one, which may be the only copy: the definitions, every value of every table,
  /// and its pages.
  private func check(_ made: String, _ finding: Finding) throws {
    let (old, new) = (
      try StoreConnection.openStore(readingAt: path), try StoreConnection.openStore(readingAt: made)
    )
    defer {
      try? old.close()
      try? new.close()
    }
    for connection in [old, new] { connection.whileRunning { [control] in control.reason != nil } }
    func failure(_ what: String) -> GodwitError {
      GodwitError(
        .dataWrong, "cannot compact '\(path)': the compact store differs, \(what)",
        remedy: "check the store with `godwit inspect`; a damaged one is for `godwit salvage`",
        safe: "the store is unchanged")
    }
    if let fault = try new.complaints(about: StoreConnection.sourceSchema, isFull: false, limit: 1).first {
      throw failure(fault)
    }
    let definitions =
      "SELECT type || ' ' || name || ' ' || COALESCE(sql, '') FROM source.sqlite_master WHERE name <> 'Z_MODELCACHE' ORDER BY 1"
    guard try old.strings(definitions) == new.strings(definitions) else { throw failure("in its definitions") }
    let emptied = Set(finding.report.history.map(\.table))
    let tables = try old.strings(
      "SELECT name FROM source.sqlite_master WHERE type = 'table' AND rootpage > 0 AND name <> 'Z_MODELCACHE'")
    for table in tables {
      try control.checkpoint()
      let isRight =
        try emptied.contains(table)
        ? new.integer("SELECT COUNT(*) FROM source.\(quoted(table))") == 0
        : Self.isEqual(table, old, new) { try control.checkpoint() }
      guard isRight else { throw failure("in the rows of table '\(table)'") }
    }
  }

  /// Whether a table has the same rows in two stores. `VACUUM INTO` keeps the numbers of rows, so both come in one order.
  ///
  /// - Parameter checkpoint: Called now and then.
  static func isEqual(
    _ table: String, _ old: StoreConnection, _ new: StoreConnection, checkpoint: () throws -> Void
  ) throws -> Bool {
    // An index with all columns would give its own order. The counters of history may have grown.
    let rows = "SELECT * FROM source.\(quoted(table)) NOT INDEXED"
    let sql = table == "Z_PRIMARYKEY" ? rows + " WHERE (Z_ENT > \(StoreSchema.lastEntityNumber)) IS NOT TRUE" : rows
    let (a, b) = (try old.prepare(sql), try new.prepare(sql))
    defer {
      a.finalize()
      b.finalize()
    }
    var count = 0
    while try a.step() {
      let columns = 0..<a.row.count
      guard try b.step(), b.row.count == columns.count, a.row.values(columns) == b.row.values(columns) else {
        return false
      }
      count += 1
      if count.isMultiple(of: 10_000) { try checkpoint() }
    }
    return try !b.step()
  }
}

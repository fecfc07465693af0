import CSQLite

/// The settings of SQLite for files from an unknown writer.
extension StoreConnection {
  /// - `cell_size_check`: a page is tested before it is used, so that damage is an error and not another row.
  /// - `trusted_schema` off: the schema of a store calls no function that could do harm.
  /// - The defensive mode: no SQL writes the schema or a shadow table as if it were rows.
  func defend() throws {
    try execute("PRAGMA cell_size_check = ON")
    godwit_sqlite3_switch(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    try setDefensive(true)
  }

  /// Runs `body` without the defensive mode, to write definitions or turn the journal off.
  package func undefended<T>(_ body: () throws -> T) throws -> T {
    try setDefensive(false)
    defer { try? setDefensive(true) }
    return try body()
  }

  /// Reads on where the schema of a file leads to a page beyond its end. For a connection that only reads: it stays
  /// without the defensive mode.
  func acceptDamagedSchema() throws {
    try setDefensive(false)
    try execute("PRAGMA writable_schema = ON")
  }

  private func setDefensive(_ isOn: Bool) throws {
    let code = withHandle { godwit_sqlite3_switch($0, SQLITE_DBCONFIG_DEFENSIVE, isOn ? 1 : 0) }
    guard code == SQLITE_OK else { throw lastError(code, sql: nil) }
  }
}

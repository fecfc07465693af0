import CSQLite
package import GodwitStore

extension StoreConnection {
  /// Runs a statement to its end and counts the instructions of SQLite's virtual machine that it took: a cost that
  /// does not depend on the machine or on what else runs.
  package func instructions(of sql: String, _ arguments: [SQLValue] = []) throws -> Int {
    let statement = try prepare(sql)
    defer { statement.finalize() }
    // The statement itself is found by its text among those of the connection.
    try statement.bind(arguments)
    while try statement.step() {}
    return withHandle { handle in
      var next = sqlite3_next_stmt(handle, nil)
      while let found = next {
        if let text = sqlite3_sql(found), String(cString: text) == sql {
          return Int(sqlite3_stmt_status(found, SQLITE_STMTSTATUS_VM_STEP, 0))
        }
        next = sqlite3_next_stmt(handle, found)
      }
      return 0
    }
  }
}

/// Adds up what the statements of a connection cost, from its making until it is gone.
package final class ConnectionCost {
  private let connection: StoreConnection
  /// Instructions of SQLite's virtual machine.
  package private(set) var instructions = 0
  /// Rows that it stepped to in tables without the help of an index or a key.
  package private(set) var scannedRows = 0

  package init(_ connection: StoreConnection) {
    self.connection = connection
    connection.withHandle { handle in
      _ = sqlite3_trace_v2(
        handle, UInt32(SQLITE_TRACE_PROFILE),
        { _, context, statement, _ in
          guard let context, let statement else { return 0 }
          let cost = Unmanaged<ConnectionCost>.fromOpaque(context).takeUnretainedValue()
          func status(_ kind: Int32) -> Int { Int(sqlite3_stmt_status(OpaquePointer(statement), kind, 1)) }
          cost.instructions += status(SQLITE_STMTSTATUS_VM_STEP)
          cost.scannedRows += status(SQLITE_STMTSTATUS_FULLSCAN_STEP)
          return 0
        }, Unmanaged.passUnretained(self).toOpaque())
    }
  }

  deinit { connection.withHandle { _ = sqlite3_trace_v2($0, 0, nil, nil) } }
}

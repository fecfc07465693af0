import CSQLite
import GodwitModel

/// What is kept in memory of the transactions that a connection gathers, and must follow them.
package protocol GatheredState: AnyObject {
  func transactionBegins()
  /// The transaction that began last is taken back.
  func transactionIsTakenBack()
  /// All since the last commit are.
  func allIsTakenBack()
  /// Writes what belongs to the commit.
  func willCommit() throws
}

extension StoreConnection {
  func gather<T>(for seconds: Double, _ body: () throws -> T) throws -> T {
    if gathering == nil || sqlite3_get_autocommit(handle) != 0 {
      if gathering != nil { gatheredState?.allIsTakenBack() }
      try execute("BEGIN IMMEDIATE")
      gathering = .now
    }
    let result: T
    do {
      try executeKept("SAVEPOINT godwit_gathered")
      gatheredState?.transactionBegins()
      result = try body()
      try executeKept("RELEASE godwit_gathered")
    } catch {
      guard !takeBackGathered() else { throw error }
      // Who goes on after an error counts on what was done before it.
      if (error as? GodwitError).map({ [.stopped, .inputOutput].contains($0.code) }) == true { throw error }
      throw rolledBack
    }
    if let since = gathering, since.duration(to: .now) >= .seconds(seconds) { try commitGathered() }
    return result
  }

  /// Takes back the last of the transactions that are gathered; all of them where SQLite has done that, or cannot do
  /// less.
  ///
  /// - Returns: Whether the others are still there.
  private func takeBackGathered() -> Bool {
    if sqlite3_get_autocommit(handle) == 0 {
      do {
        try execute("ROLLBACK TO godwit_gathered")
        try execute("RELEASE godwit_gathered")
        gatheredState?.transactionIsTakenBack()
        return true
      } catch { try? execute("ROLLBACK") }
    }
    forgetGathered()
    return false
  }

  private func forgetGathered() {
    gathering = nil
    gatheredState?.allIsTakenBack()
  }

  /// Takes back all transactions that were gathered.
  package func rollBackGathered() {
    guard gathering != nil else { return }
    forgetGathered()
    if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
  }

  /// Commits the transactions that were gathered.
  package func commitGathered() throws {
    guard gathering != nil else { return }
    guard sqlite3_get_autocommit(handle) == 0 else { return forgetGathered() }
    do {
      try gatheredState?.willCommit()
      try execute("COMMIT")
      gathering = nil
    } catch {
      forgetGathered()
      if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
      throw error
    }
  }
}

extension StoreConnection {
  /// Runs a statement without parameters and rows to its end, and keeps it for the next time.
  func executeKept(_ sql: String) throws {
    let statement: OpaquePointer
    if let known = kept[sql] {
      statement = known
    } else {
      var made: OpaquePointer?
      let code = sqlite3_prepare_v2(handle, sql, -1, &made, nil)
      guard code == SQLITE_OK, let made else { throw lastError(code, sql: sql) }
      kept[sql] = made
      statement = made
    }
    sqlite3_step(statement)
    let code = sqlite3_reset(statement)
    guard code == SQLITE_OK else { throw lastError(code, sql: sql) }
  }

  func dropKept() {
    for statement in kept.values { sqlite3_finalize(statement) }
    kept = [:]
  }
}

import CSQLite
import Foundation
package import GodwitModel
import Synchronization

/// One SQLite connection: the main database (a store under construction, or memory) and, when
/// attached as `source`, a store that is only read.
///
/// Use it from one thread at a time; `interrupt()` alone may be called from any.
package final class StoreConnection: @unchecked Sendable {
  let handle: OpaquePointer
  private var isClosed = false
  private let beside = Mutex<[StoreConnection]>([])
  /// The name of the main database in messages.
  package let path: String
  /// Whether the main database is one that this process makes.
  private let isMade: Bool
  /// The name of the attached source in messages; nil without one.
  var sourcePath: String?
  /// The URI of an attached source that no process writes; nil for any other.
  var sourceURI: String?
  /// Whether the main database is the source too: see `aliasSourceToMain`.
  package internal(set) var isOwnSource = false
  /// The statements that made the views of pairs: see `showPairs`.
  var pairViews: [String] = []
  /// Whether SQLite refused a value or a row since `withLengthLimit` began.
  private var hasRefused = false
  /// Short statements that `query` has run, by their text: one that comes again is not compiled again.
  private var idle: [String: OpaquePointer] = [:]
  /// Whether bytes are compared for collations that SQLite lacks: see `standInForCollations`.
  var hasStandIns = false
  /// The check that `whileRunning(stopIf:)` set.
  var progressCheck: ProgressCheck?

  /// The name under which the source store is attached.
  package static let sourceSchema = "source"

  /// Opens a SQLite database for reading and writing.
  ///
  /// - Parameters:
  ///   - path: The main database file; nil for a private one in memory.
  ///   - cache: The page cache of the main database.
  ///   - create: Whether a missing file is created.
  /// - Throws: `.missingInput` (66) when the file is missing, `.dataWrong` (65) when it is not a database,
  ///   `.permission` (77) when it cannot be opened, `.inputOutput` (74) when the disk is full or fails.
  package init(path: String?, cache: ByteCount = .mebibytes(8), create: Bool = false) throws {
    self.path = path ?? ":memory:"
    isMade = create
    let kib = max(256, cache.bytes / 1024)
    if let path, !create, FileStatus(following: path) == nil {
      guard [ENOENT, ENOTDIR].contains(errno) else { throw StoreFiles.failure(errno, reading: path) }
      throw GodwitError(.missingInput, "cannot open '\(path)': no such file")
    }
    if let path {
      // SQLite looks for the journal beside the real file.
      let real = realpath(path, nil)
      defer { free(real) }
      try StoreFiles.refuseSuperJournal(beside: real.map { String(cString: $0) } ?? path, named: path)
      try StoreFiles.refuseSpecialFile(path)
    }
    handle = try Self.open(self.path, create: create)
    godwit_sqlite3_switch(handle, SQLITE_DBCONFIG_DQS_DML, 0)
    godwit_sqlite3_switch(handle, SQLITE_DBCONFIG_DQS_DDL, 0)
    if path != nil {
      do {
        // Opening reads nothing. This statement fails if the file is not a database.
        try execute("SELECT 1 FROM sqlite_master LIMIT 1")
      } catch let error as GodwitError where create { throw Self.unopened(error, path: self.path, systemErrno: 0) }
      try execute("PRAGMA cache_size = -\(kib)")
    }
    try defend()
    // Memory has no store of an application; attached ones are read.
    if path == nil { standInForCollations() }
  }

  /// Has SQLite count no memory, for which all threads of the process would wait for each other at each allocation. For
  /// a process that is ours alone, before its first connection; later it has no effect.
  package static func forgoMemoryStatistics() { _ = godwit_sqlite3_without_statistics() }

  /// The oldest SQLite that supports every feature used: extended result codes from the call that opens a file.
  static let minimumVersion: Int32 = 3_037_000

  /// - Parameter found: As `sqlite3_libversion_number` counts: 3.37.2 is 3 037 002.
  /// - Throws: `.configuration` (78) when the library is too old.
  package static func checkVersion(_ found: Int32 = sqlite3_libversion_number()) throws {
    guard found < minimumVersion else { return }
    func text(_ number: Int32) -> String { "\(number / 1_000_000).\(number / 1000 % 1000)" }
    throw GodwitError(
      .configuration, "cannot use SQLite \(text(found)): Godwit needs \(text(minimumVersion)) or later",
      remedy: "install a newer libsqlite3")
  }

  private static func open(_ path: String, create: Bool) throws -> OpaquePointer {
    try checkVersion()
    var handle: OpaquePointer?
    // Sources are attached by URI.
    let flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    if code == SQLITE_OK, let handle { return handle }
    sqlite3_close(handle)
    let error = translate(code: code, message: String(cString: sqlite3_errstr(code)), path: path, sql: nil)
    throw create ? unopened(error, path: path, systemErrno: 0) : error
  }

  deinit {
    forgetStatements()
    if !isClosed { sqlite3_close_v2(handle) }
  }

  /// Closes the connection. Do not use it afterwards. A connection that is not closed explicitly closes when it is
  /// released.
  ///
  /// - Throws: `.stopped` (75) while a statement is not finalized.
  package func close() throws {
    guard !isClosed else { return }
    forgetStatements()
    let code = sqlite3_close(handle)
    guard code == SQLITE_OK else {
      throw Self.translate(code: code, message: String(cString: sqlite3_errmsg(handle)), path: path, sql: nil)
    }
    isClosed = true
  }

  /// Makes the running statement end with an error soon. Safe to call from any thread.
  ///
  /// So do those of the connections beside it.
  package func interrupt() {
    sqlite3_interrupt(handle)
    for other in beside.withLock({ $0 }) { other.interrupt() }
  }

  /// Runs `body` while interrupts reach other connections too.
  package func accompanied<T>(by others: [StoreConnection], _ body: () throws -> T) rethrows -> T {
    beside.withLock { $0 = others }
    defer { beside.withLock { $0 = [] } }
    return try body()
  }

  /// Gives access to the handle, for calls that this type lacks, such as `sqlite3_create_function_v2`.
  package func withHandle<T>(_ body: (OpaquePointer) throws -> T) rethrows -> T { try body(handle) }

  // MARK: Statements

  /// Runs one statement to its end, ignoring rows.
  package func execute(_ sql: String, _ arguments: [SQLValue] = []) throws {
    try query(sql, arguments) { _ in true }
  }

  /// Runs one statement and hands each row to `body`, which returns false to stop.
  package func query(
    _ sql: String, _ arguments: [SQLValue] = [], _ body: (SQLRow) throws -> Bool
  ) throws {
    let sql = addressed(sql)
    let known = idle.removeValue(forKey: sql)
    let statement = try known.map { SQLStatement($0, connection: self, sql: sql) } ?? compile(sql)
    // A statement that failed is not kept.
    defer { statement.finalize() }
    try statement.bind(arguments)
    while try statement.step() {
      guard try body(statement.row) else { break }
    }
    keep(statement, sql)
  }

  private static let idleMaximum = 32
  private static let idleTextMaximum = 512
  private static let repeated = ["SELECT ", "INSERT ", "UPDATE ", "SAVEPOINT ", "RELEASE "].map { Array($0.utf8) }

  private func keep(_ statement: SQLStatement, _ sql: String) {
    guard idle[sql] == nil, sql.utf8.count <= Self.idleTextMaximum,
      Self.repeated.contains(where: { sql.utf8.starts(with: $0) })
    else { return }
    if idle.count >= Self.idleMaximum { forgetStatements() }
    idle[sql] = statement.surrendered()
  }

  private func forgetStatements() {
    for statement in idle.values { sqlite3_finalize(statement) }
    idle = [:]
  }

  /// All rows of a small result.
  package func rows(_ sql: String, _ arguments: [SQLValue] = []) throws -> [[SQLValue]] {
    var rows: [[SQLValue]] = []
    try query(sql, arguments) { row in
      rows.append((0..<row.count).map { row.value($0) })
      return true
    }
    return rows
  }

  /// The first column of the first row; nil without rows.
  package func value(_ sql: String, _ arguments: [SQLValue] = []) throws -> SQLValue? {
    var value: SQLValue?
    try query(sql, arguments) { row in
      value = row.value(0)
      return false
    }
    return value
  }

  /// The first column of the first row if it is an integer; nil otherwise.
  package func integer(_ sql: String, _ arguments: [SQLValue] = []) throws -> Int64? {
    if case .integer(let value)? = try value(sql, arguments) { value } else { nil }
  }

  /// The texts in a column of all rows of a small result. Rows with NULL there are left out.
  package func strings(_ sql: String, _ arguments: [SQLValue] = [], column: Int = 0) throws -> [String] {
    var strings: [String] = []
    try query(sql, arguments) { row in
      if let string = row.string(column) { strings.append(string) }
      return true
    }
    return strings
  }

  /// A statement to run many times. Finalize it before the connection closes.
  package func prepare(_ sql: String) throws -> SQLStatement {
    try compile(addressed(sql))
  }

  private func compile(_ sql: String) throws -> SQLStatement {
    var statement: OpaquePointer?
    errno = 0
    let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard code == SQLITE_OK, let statement else {
      // SQLite reads to the first NUL, which ends in the middle of a quoted name.
      guard sql.utf8.contains(0) else { throw lastError(code, sql: sql) }
      throw GodwitError(
        .dataWrong, "cannot use '\(sourcePath ?? path)': a name has a NUL character, which SQLite cannot hold",
        remedy: "rename what has the name in the model, or " + GodwitError.damageRemedy)
    }
    return SQLStatement(statement, connection: self, sql: sql)
  }

  /// The same statement each time, for many runs. Not for one that is still being stepped at the next request.
  ///
  /// - Parameter statements: The statements by their text.
  package func prepare(_ sql: String, keptIn statements: inout [String: SQLStatement]) throws -> SQLStatement {
    if let known = statements[sql] { return known }
    let statement = try prepare(sql)
    statements[sql] = statement
    return statement
  }

  /// Runs `body` in an immediate transaction: committed when it returns, rolled back when it throws.
  ///
  /// Inside another transaction it is a savepoint: the changes of `body` are undone when it throws, and are otherwise
  /// committed with the outer transaction.
  package func transaction<T>(_ body: () throws -> T) throws -> T {
    let isInner = sqlite3_get_autocommit(handle) == 0
    try execute(isInner ? "SAVEPOINT godwit_inner" : "BEGIN IMMEDIATE")
    do {
      let result = try body()
      try execute(isInner ? "RELEASE godwit_inner" : "COMMIT")
      return result
    } catch {
      let isOver = sqlite3_get_autocommit(handle) != 0
      if !isOver {
        for sql in isInner ? ["ROLLBACK TO godwit_inner", "RELEASE godwit_inner"] : ["ROLLBACK"] { try? execute(sql) }
      }
      // A caller that continues after an error relies on the work done before it.
      guard isInner, isOver, (error as? GodwitError)?.code == .dataWrong else { throw error }
      throw rolledBack
    }
  }

  /// Throws when the transaction that `transaction` began is over.
  ///
  /// SQLite rolls a whole transaction back when it interrupts a statement that writes, and for some errors of the disk.
  /// Each statement after that commits on its own, so callers that continue after an error check this first.
  package func checkTransaction() throws {
    guard sqlite3_get_autocommit(handle) != 0 else { return }
    throw rolledBack
  }

  var rolledBack: GodwitError {
    GodwitError(
      .stopped, "stopped: SQLite has rolled back what a chunk wrote to '\(path)'",
      remedy: "run the same command to resume", stopReason: .requested)
  }

  /// Rows inserted, updated or deleted by the last statement.
  package var changes: Int64 { sqlite3_changes64(handle) }

  /// The key of the row that was inserted last.
  package var lastInsertedKey: Int64 { sqlite3_last_insert_rowid(handle) }

  /// Runs `body` while SQLite refuses values and rows above a limit, which it does before it makes room for them.
  ///
  /// The caller undoes the changes of `body` when a value was refused, even if `body` did not fail.
  ///
  /// - Returns: nil when a value was refused.
  package func withLengthLimit<T>(_ limit: ByteCount, _ body: () throws -> T) throws -> T? {
    let bytes = Int32(clamping: limit.bytes)
    let before = sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, -1)
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, min(before, bytes))
    hasRefused = false
    defer { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, before) }
    do {
      let result = try body()
      return hasRefused ? nil : result
    } catch {
      if hasRefused { return nil }
      throw error
    }
  }

  /// Drops all clean pages that are not in use, of each attached database.
  func forgetPages() { sqlite3_db_release_memory(handle) }

  // MARK: Errors

  /// The error of a call that has just failed. `errno` was 0 before the call.
  func lastError(_ code: Int32, sql: String?) -> GodwitError {
    let systemCode = errno
    if code == SQLITE_TOOBIG { hasRefused = true }
    var code = sqlite3_extended_errcode(handle)
    var message = String(cString: sqlite3_errmsg(handle))
    // SQLite says of a disk that fails that the file is damaged.
    if code & 0xFF == SQLITE_CORRUPT, [EIO, ENXIO].contains(systemCode) || hasFailedRead {
      (code, message) = (SQLITE_IOERR, "disk I/O error")
    }
    // A journal that cannot be opened for writing is opened for reading, which rolls nothing back.
    if code & 0xFF == SQLITE_READONLY, [EIO, ENXIO].contains(systemCode) {
      (code, message) = (SQLITE_IOERR, "disk I/O error")
    }
    // A file that cannot be opened for writing is opened for reading, whatever the reason was.
    if code == SQLITE_READONLY, sqlite3_db_readonly(handle, "main") == 1, Self.opensForWriting(path) {
      (code, message) = (SQLITE_IOERR, "disk I/O error")
    }
    // The message of ATTACH contains the URI, which the user never wrote.
    if message.hasPrefix("unable to open database: ") { message = String(cString: sqlite3_errstr(code)) }
    var error = Self.translate(code: code, message: message, path: path, sql: sql)
    error.refusal = Self.refusal(code, message)
    // SQLite itself makes a full disk of ENOSPC alone; a quota is one too.
    if code & 0xFF == SQLITE_IOERR, hasFullDisk {
      error = error.about(.diskFull)
      error.remedy = "free disk space and run the same command"
    }
    if isMade, code & 0xFF == SQLITE_CANTOPEN {
      error = Self.unopened(error, path: path, systemErrno: sqlite3_system_errno(handle))
    }
    // SQLite does not say which of the attached files is damaged.
    if let sourcePath, error.code == .dataWrong, code & 0xFF != SQLITE_CONSTRAINT, code & 0xFF != SQLITE_MISMATCH {
      let isMainEmpty =
        sqlite3_table_column_metadata(handle, "main", "Z_METADATA", nil, nil, nil, nil, nil, nil) != SQLITE_OK
      let files = isMainEmpty ? "'\(sourcePath)'" : "'\(path)' with the source '\(sourcePath)'"
      error.message = error.message.replacing("'\(path)'", with: files, maxReplacements: 1)
    }
    return error
  }

  /// Whether a file can be opened for writing now. Rights alone do not say it: a file may be for appending only.
  ///
  /// Closing the file drops the process's locks on it, so call it only for a connection whose work has failed.
  private static func opensForWriting(_ path: String) -> Bool {
    guard let file = fopen(path, "r+e") else { return false }
    fclose(file)
    return true
  }

  /// Whether the last failed system call found the disk full. Ending a statement makes other calls, so the error number
  /// of the file is checked too.
  private var hasFullDisk: Bool {
    var code: Int32 = 0
    if sqlite3_file_control(handle, "main", SQLITE_FCNTL_LAST_ERRNO, &code) != SQLITE_OK { code = 0 }
    return [code, sqlite3_system_errno(handle)].contains { [ENOSPC, EDQUOT].contains($0) }
  }

  /// Whether the disk failed the last read of a database. SQLite forgets it with a database that it could not attach.
  private var hasFailedRead: Bool {
    ["main", Self.sourceSchema].contains { schema in
      var code: Int32 = 0
      let isKnown = sqlite3_file_control(handle, schema, SQLITE_FCNTL_LAST_ERRNO, &code) == SQLITE_OK
      return isKnown && [EIO, ENXIO].contains(code)
    }
  }

  /// SQLite has no separate codes for two of these, so the text of the message decides.
  private static func refusal(_ code: Int32, _ message: String) -> DatabaseRefusal? {
    switch (code & 0xFF, code >> 8) {
    // SQLITE_CONSTRAINT_PRIMARYKEY, _UNIQUE, _ROWID
    case (SQLITE_CONSTRAINT, 6), (SQLITE_CONSTRAINT, 8), (SQLITE_CONSTRAINT, 10): .duplicate
    case (SQLITE_BUSY, _), (SQLITE_LOCKED, _): .locked
    case (SQLITE_ERROR, _) where message == "integer overflow": .integerOverflow
    case (SQLITE_ERROR, _) where message.contains("same text encoding"): .textEncoding
    default: nil
    }
  }

  /// A file of the database under construction that SQLite could not open or create: not one that the user named.
  private static func unopened(_ error: GodwitError, path: String, systemErrno: Int32) -> GodwitError {
    guard error.code == .missingInput else { return error }
    var error = error
    let folder = path.parentPath
    let isForbidden = systemErrno == EACCES || access(folder.isEmpty ? "." : folder, W_OK) != 0 && errno == EACCES
    error.code = isForbidden ? .permission : .inputOutput
    if systemErrno != 0 { error.cause = String(cString: strerror(systemErrno)) }
    error.remedy =
      isForbidden
      ? "check the permissions of the folder and run the same command"
      : systemErrno == ENOSPC
        ? "free disk space and run the same command"
        : [EMFILE, ENFILE].contains(systemErrno) ? GodwitError.moreFiles : "fix the cause and run the same command"
    return error
  }

  /// SQLite's result code as a `GodwitError`:
  ///
  /// | SQLite | code |
  /// |---|---|
  /// | CORRUPT, NOTADB, MISMATCH, CONSTRAINT, an unknown format | `.dataWrong` (65) |
  /// | CANTOPEN | `.missingInput` (66) |
  /// | FULL, IOERR, NOMEM, PROTOCOL | `.inputOutput` (74) |
  /// | BUSY, LOCKED, INTERRUPT | `.stopped` (75) |
  /// | PERM, AUTH, READONLY | `.permission` (77) |
  /// | all others | `.internalBug` (70) |
  package static func translate(code: Int32, message: String, path: String, sql: String?) -> GodwitError {
    let (kind, remedy): (GodwitError.Code, String?) =
      switch code & 0xFF {
      case SQLITE_CORRUPT, SQLITE_NOTADB:
        (.dataWrong, GodwitError.damageRemedy)
      // A later version of SQLite made the file, or its header is damaged. SQLite has no code of its own for it.
      case SQLITE_ERROR where message == "unsupported file format": (.dataWrong, GodwitError.damageRemedy)
      case SQLITE_ERROR where isForeignName(message): (.dataWrong, foreignNameRemedy)
      case SQLITE_CONSTRAINT, SQLITE_MISMATCH: (.dataWrong, nil)
      case SQLITE_CANTOPEN: (.missingInput, "check that the file exists and can be read")
      case SQLITE_FULL: (.inputOutput, "free disk space and run the same command")
      case SQLITE_IOERR, SQLITE_NOMEM, SQLITE_PROTOCOL: (.inputOutput, "fix the cause and run the same command")
      case SQLITE_BUSY, SQLITE_LOCKED: (.stopped, "wait until no other process uses the file and run the same command")
      case SQLITE_INTERRUPT: (.stopped, "run the same command to resume")
      case SQLITE_PERM, SQLITE_AUTH, SQLITE_READONLY: (.permission, "check the permissions of the file and its folder")
      default: (.internalBug, nil)
      }
    var cause: String?
    if kind == .internalBug, let sql { cause = "SQL: \(sql)" }
    let isInterrupted = code & 0xFF == SQLITE_INTERRUPT
    let error = GodwitError(
      kind,
      isInterrupted
        ? "stopped on request, before the work was done"
        : "cannot use '\(path)': SQLite says '\(message)' (\(code))", cause: cause, remedy: remedy,
      stopReason: kind == .stopped ? (isInterrupted ? .requested : .inUse) : nil)
    return error.about(code & 0xFF == SQLITE_FULL ? .diskFull : .database)
  }
}

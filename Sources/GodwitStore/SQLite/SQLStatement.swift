import CSQLite
package import GodwitModel

/// A prepared statement. Not `Sendable`: use it where its connection is used.
package final class SQLStatement {
  private var statement: OpaquePointer?
  private let connection: StoreConnection
  private let sql: String

  init(_ statement: OpaquePointer, connection: StoreConnection, sql: String) {
    self.statement = statement
    self.connection = connection
    self.sql = sql
  }

  deinit { finalize() }

  /// Frees the statement. Do not use it afterwards. A statement that is not finalized is freed when it is released.
  package func finalize() {
    sqlite3_finalize(statement)
    statement = nil
  }

  /// Gives the statement back to its connection, reset and without bindings. Do not use it afterwards.
  func surrendered() -> OpaquePointer? {
    defer { statement = nil }
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
    return statement
  }

  /// Resets the statement and binds its parameters, the first to `?1`. Arguments beyond the statement's
  /// last parameter are left out, so that one list serves statements with and without a key range.
  package func bind(_ arguments: [SQLValue]) throws {
    sqlite3_reset(statement)
    for (index, argument) in arguments.prefix(Int(sqlite3_bind_parameter_count(statement))).enumerated() {
      try bind(argument, at: index + 1)
    }
  }

  /// Resets the statement and binds its one parameter.
  package func bind(_ argument: SQLValue) throws {
    sqlite3_reset(statement)
    try bind(argument, at: 1)
  }

  /// Binds one parameter, the first at 1, of a statement that is reset.
  package func bind(_ argument: SQLValue, at position: Int) throws {
    let position = Int32(position)
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    let code =
      switch argument {
      case .null: sqlite3_bind_null(statement, position)
      case .integer(let value): sqlite3_bind_int64(statement, position, value)
      case .real(let value): sqlite3_bind_double(statement, position, value)
      case .text(let bytes):
        // An empty array may have no address, which would bind NULL.
        bytes.isEmpty
          ? sqlite3_bind_text64(statement, position, "", 0, transient, UInt8(SQLITE_UTF8))
          : bytes.withUnsafeBytes {
            sqlite3_bind_text64(
              statement, position, $0.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64($0.count), transient,
              UInt8(SQLITE_UTF8))
          }
      case .blob(let bytes):
        bytes.isEmpty
          ? sqlite3_bind_zeroblob(statement, position, 0)
          : bytes.withUnsafeBytes {
            sqlite3_bind_blob64(statement, position, $0.baseAddress, UInt64($0.count), transient)
          }
      }
    guard code == SQLITE_OK else { throw connection.lastError(code, sql: sql) }
  }

  package var parameterCount: Int { Int(sqlite3_bind_parameter_count(statement)) }

  /// Binds one parameter, the first at 1, of a statement that is reset.
  package func bind(_ value: Int64, at position: Int) {
    sqlite3_bind_int64(statement, Int32(position), value)
  }

  /// As the other; nil is NULL.
  package func bind(_ value: Int64?, at position: Int) {
    if let value { bind(value, at: position) } else { sqlite3_bind_null(statement, Int32(position)) }
  }

  /// Binds one parameter to a number of zero bytes, which take no memory.
  package func bind(zeros count: Int, at position: Int) throws {
    let code = sqlite3_bind_zeroblob64(statement, Int32(position), UInt64(count))
    guard code == SQLITE_OK else { throw connection.lastError(code, sql: sql) }
  }

  /// Binds all parameters of a statement that is reset to values of a batch, without copying bytes: run the statement
  /// before they move.
  func bind(_ cells: UnsafeBufferPointer<RowBatch.Cell>, in bytes: UnsafeRawBufferPointer) throws {
    let statement = statement
    for index in 0..<cells.count {
      let cell = cells[index]
      let position = Int32(truncatingIfNeeded: index + 1)
      let start = Int(truncatingIfNeeded: cell.number)
      let code =
        switch cell.kind {
        case .null: sqlite3_bind_null(statement, position)
        case .integer: sqlite3_bind_int64(statement, position, cell.number)
        case .real:
          sqlite3_bind_double(statement, position, Double(bitPattern: UInt64(bitPattern: cell.number)))
        case .text where cell.count == 0:
          sqlite3_bind_text(statement, position, "", 0, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
        case .text:
          sqlite3_bind_text(
            statement, position, bytes.baseAddress?.advanced(by: start).assumingMemoryBound(to: CChar.self),
            cell.count, nil)
        case .blob where cell.count == 0: sqlite3_bind_zeroblob(statement, position, 0)
        case .blob: sqlite3_bind_blob(statement, position, bytes.baseAddress?.advanced(by: start), cell.count, nil)
        }
      guard code == SQLITE_OK else { throw connection.lastError(code, sql: sql) }
    }
  }

  /// Runs the statement with the parameters as they are bound.
  package func runBound() throws {
    while try step() {}
    reset()
  }

  /// Runs a statement that gives no rows unless a value is above a limit.
  ///
  /// - Returns: false when one was; then nothing was done, provided the statement changes one row.
  package func runBound(lengthLimit limit: ByteCount) throws -> Bool {
    if case .tooLarge = try step(lengthLimit: limit) { return false }
    reset()
    return true
  }

  /// Ends the current run before its last row.
  package func reset() { sqlite3_reset(statement) }

  /// Moves to the next row; false at the end.
  package func step() throws -> Bool {
    errno = 0
    switch sqlite3_step(statement) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let error = connection.lastError(code, sql: sql)
      sqlite3_reset(statement)
      throw error
    }
  }

  enum LimitedStep {
    case row, done
    /// The row has a value above the limit; the statement is reset.
    case tooLarge
  }

  /// Moves to the next row unless it has a value above a limit: SQLite finds that out before it makes room for the value.
  func step(lengthLimit limit: ByteCount) throws -> LimitedStep {
    let bytes = Int32(clamping: limit.bytes)
    let before = sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, bytes)
    if before < bytes { sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, before) }
    defer { sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, before) }
    errno = 0
    switch sqlite3_step(statement) {
    case SQLITE_ROW: return .row
    case SQLITE_DONE: return .done
    case SQLITE_TOOBIG:
      sqlite3_reset(statement)
      return .tooLarge
    case let code:
      let error = connection.lastError(code, sql: sql)
      sqlite3_reset(statement)
      throw error
    }
  }

  /// Runs the statement once with new arguments.
  package func run(_ arguments: [SQLValue] = []) throws {
    try bind(arguments)
    try runBound()
  }

  /// The values of the first row; nil without rows.
  package func firstRow(_ arguments: [SQLValue]) throws -> [SQLValue]? {
    try bind(arguments)
    defer { reset() }
    return try step() ? row.values(0..<row.count) : nil
  }

  /// The current row; valid until the next `step`.
  package var row: SQLRow { SQLRow(statement: statement) }
}

/// The current row of a statement; valid until the next step.
package struct SQLRow {
  let statement: OpaquePointer?

  /// The number of columns.
  package var count: Int { Int(sqlite3_column_count(statement)) }

  /// Whether the column holds NULL. Columns count from 0.
  package func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }

  /// The integer in the column, by SQLite's conversion (0 for NULL).
  package func int64(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }

  /// The integer in the column, by SQLite's conversion (0 for NULL).
  package func int(_ column: Int) -> Int { Int(int64(column)) }

  /// The number in the column, by SQLite's conversion (0 for NULL).
  package func double(_ column: Int) -> Double { sqlite3_column_double(statement, Int32(column)) }

  /// The text as a Swift string (invalid UTF-8 becomes U+FFFD); nil for NULL.
  package func string(_ column: Int) -> String? {
    isNull(column) ? nil : String(decoding: bytes(column), as: UTF8.self)
  }

  /// The bytes of a text or blob; empty for NULL.
  package func bytes(_ column: Int) -> [UInt8] {
    let pointer: UnsafeRawPointer? =
      sqlite3_column_type(statement, Int32(column)) == SQLITE_BLOB
      ? sqlite3_column_blob(statement, Int32(column))
      : UnsafeRawPointer(sqlite3_column_text(statement, Int32(column)))
    guard let pointer else { return [] }
    return Array(UnsafeRawBufferPointer(start: pointer, count: Int(sqlite3_column_bytes(statement, Int32(column)))))
  }

  /// The length of a text or blob; 0 for anything else.
  package func byteCount(_ column: Int) -> Int {
    switch sqlite3_column_type(statement, Int32(column)) {
    case SQLITE_TEXT, SQLITE_BLOB: Int(sqlite3_column_bytes(statement, Int32(column)))
    default: 0
    }
  }

  package func values(_ columns: Range<Int>) -> [SQLValue] {
    var values: [SQLValue] = []
    values.reserveCapacity(columns.count)
    for column in columns { values.append(value(column)) }
    return values
  }

  /// The value in the column, as SQLite holds it.
  package func value(_ column: Int) -> SQLValue {
    switch sqlite3_column_type(statement, Int32(column)) {
    case SQLITE_INTEGER: .integer(int64(column))
    case SQLITE_FLOAT: .real(double(column))
    case SQLITE_TEXT: .text(bytes(column))
    case SQLITE_BLOB: .blob(bytes(column))
    default: .null
    }
  }
}

import CSQLite

/// Rows of one table that wait to be inserted together: one statement with many groups of parameters takes half the
/// time of as many statements.
///
/// A row begins with its first `add` and ends with `endRow`. Bytes are copied once, when they are added.
package final class RowBatch {
  /// How much may wait.
  package struct Limits: Sendable {
    /// A full batch is written.
    package var rows: Int
    /// A batch of this many bytes is written. A value of more than a quarter of them is refused, and a row of more too.
    package var bytes: Int

    package init(rows: Int, bytes: Int) { (self.rows, self.bytes) = (max(1, rows), max(1024, bytes)) }
  }

  /// A value that waits. The bytes are in `bytes`, and `number` is their offset.
  struct Cell {
    enum Kind: UInt8 { case null, integer, real, text, blob }

    var kind: Kind
    var count: Int32 = 0
    var number: Int64 = 0
  }

  /// Groups of parameters of the larger statement: more save little.
  private static let limitGroups = 32

  private let connection: StoreConnection
  private let head, tail: String
  private let width: Int
  private let groups: Int
  private let limits: Limits
  @exclusivity(unchecked) private var cells: [Cell] = []
  @exclusivity(unchecked) private var bytes: UnsafeMutableRawBufferPointer
  @exclusivity(unchecked) private var usedBytes = 0
  /// The offset of the current row's bytes.
  @exclusivity(unchecked) private var rowStart = 0
  /// Rows that are complete.
  @exclusivity(unchecked) package private(set) var count = 0
  private var many: SQLStatement?
  private var one: SQLStatement?

  /// - Parameters:
  ///   - table: As SQL.
  ///   - columns: As SQL.
  ///   - conflict: The clause after the values, as SQL.
  package init(
    _ connection: StoreConnection, into table: String, columns: [String], conflict: String = "", limits: Limits
  ) {
    self.connection = connection
    head = "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES "
    tail = conflict.isEmpty ? "" : " " + conflict
    width = columns.count
    let parameters = Int(sqlite3_limit(connection.handle, SQLITE_LIMIT_VARIABLE_NUMBER, -1))
    groups = max(1, min(limits.rows, Self.limitGroups, parameters / max(1, width)))
    self.limits = limits
    bytes = .allocate(byteCount: 0, alignment: 1)
  }

  deinit { bytes.deallocate() }

  package var isEmpty: Bool { count == 0 }

  /// The bytes of the values that wait.
  package var waitingBytes: Int { usedBytes }

  // MARK: Adding

  /// Adds an integer to the current row.
  package func add(_ number: Int64) { cells.append(Cell(kind: .integer, number: number)) }

  /// As the other; nil is NULL.
  package func add(_ number: Int64?) {
    if let number { add(number) } else { cells.append(Cell(kind: .null)) }
  }

  /// Adds a value to the current row.
  ///
  /// - Returns: false for a value that is too large to wait, or whose row is. Call `dropRow` then.
  package func add(_ value: SQLValue) -> Bool {
    switch value {
    case .null: cells.append(Cell(kind: .null))
    case .integer(let number): cells.append(Cell(kind: .integer, number: number))
    // SQLite turns a NaN into NULL.
    case .real(let number): cells.append(Cell(kind: .real, number: Int64(bitPattern: number.bitPattern)))
    case .text(let bytes): return bytes.withUnsafeBytes { add($0, .text) }
    case .blob(let bytes): return bytes.withUnsafeBytes { add($0, .blob) }
    }
    return true
  }

  /// Adds the values of a row at some of its places.
  ///
  /// - Returns: As `add(_:)`.
  package func add(_ row: [SQLValue], at places: [Int]) -> Bool {
    for place in places { guard add(row[place]) else { return false } }
    return true
  }

  private func add(_ value: UnsafeRawBufferPointer, _ kind: Cell.Kind) -> Bool {
    guard value.count <= limits.bytes / 4, usedBytes - rowStart + value.count <= limits.bytes else { return false }
    if usedBytes + value.count > bytes.count { makeRoom(usedBytes + value.count) }
    UnsafeMutableRawBufferPointer(rebasing: bytes[usedBytes...]).copyMemory(from: value)
    cells.append(Cell(kind: kind, count: Int32(truncatingIfNeeded: value.count), number: Int64(usedBytes)))
    usedBytes += value.count
    return true
  }

  private func makeRoom(_ needed: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(needed, bytes.count * 2, 4096), alignment: 1)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<usedBytes]))
    bytes.deallocate()
    bytes = larger
  }

  /// Whether the current row has a value for each column.
  package var isRowComplete: Bool { cells.count == (count + 1) * width }

  /// Ends the current row.
  ///
  /// - Returns: Whether the batch is full: call `write`.
  package func endRow() -> Bool {
    count += 1
    rowStart = usedBytes
    return count >= limits.rows || usedBytes + cells.count * MemoryLayout<Cell>.stride >= limits.bytes
  }

  /// Drops the current row.
  package func dropRow() {
    cells.removeLast(cells.count - count * width)
    usedBytes = rowStart
  }

  /// Forgets all rows.
  package func discard() {
    cells.removeAll(keepingCapacity: true)
    (count, usedBytes, rowStart) = (0, 0, 0)
  }

  // MARK: Writing

  /// Inserts the rows that wait, in their order.
  ///
  /// - Returns: How many were inserted.
  @discardableResult package func write() throws -> Int64 {
    guard count > 0 else { return 0 }
    defer { discard() }
    var inserted: Int64 = 0
    var row = 0
    while count - row >= groups {
      inserted += try insert(try statement(groups), rows: row..<row + groups)
      row += groups
    }
    while row < count {
      inserted += try insert(try statement(1), rows: row..<row + 1)
      row += 1
    }
    return inserted
  }

  /// Ends the statements, which are made again when they are needed.
  package func endStatements() { (many, one) = (nil, nil) }

  private func insert(_ statement: SQLStatement, rows: Range<Int>) throws -> Int64 {
    try cells[rows.lowerBound * width..<rows.upperBound * width].withUnsafeBufferPointer {
      try statement.bind($0, in: UnsafeRawBufferPointer(bytes))
    }
    try statement.runBound()
    return connection.changes
  }

  private func statement(_ rows: Int) throws -> SQLStatement {
    if let known = rows == 1 ? one : many { return known }
    let group = "(" + Array(repeating: "?", count: width).joined(separator: ", ") + ")"
    let made = try connection.prepare(head + Array(repeating: group, count: rows).joined(separator: ", ") + tail)
    if rows == 1 { one = made } else { many = made }
    return made
  }
}

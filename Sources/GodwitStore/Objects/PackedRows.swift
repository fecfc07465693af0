import CSQLite

/// The values of many rows in two allocations, for a thread that reads rows for another one. Memory that one thread
/// allocates and another frees value by value costs both of them time.
package struct PackedRows: Sendable {
  private enum Kind: UInt8 { case null, integer, real, text, blob, large }

  private struct Cell {
    var kind: Kind
    var count: Int32 = 0
    /// The number's bits, or where the bytes begin.
    var number: Int64 = 0
  }

  /// Longer values are kept one by one.
  private static let limitBytes = 16 << 10

  private var cells: [Cell] = []
  private var bytes: [UInt8] = []
  private var large: [SQLValue] = []
  private var largeBytes = 0

  package init() {}

  /// How many values there are.
  package var count: Int { cells.count }

  /// Memory, about.
  package var byteCount: Int { cells.count * MemoryLayout<Cell>.stride + bytes.count + largeBytes }

  /// Adds the values of some columns of the current row of a statement.
  package mutating func append(_ row: SQLRow, _ columns: Range<Int>) {
    for column in columns { append(row, column) }
  }

  private mutating func append(_ row: SQLRow, _ column: Int) {
    let place = Int32(truncatingIfNeeded: column)
    switch sqlite3_column_type(row.statement, place) {
    case SQLITE_INTEGER: cells.append(Cell(kind: .integer, number: sqlite3_column_int64(row.statement, place)))
    case SQLITE_FLOAT:
      let bits = sqlite3_column_double(row.statement, place).bitPattern
      cells.append(Cell(kind: .real, number: Int64(bitPattern: bits)))
    case SQLITE_TEXT: append(row, column, .text, UnsafeRawPointer(sqlite3_column_text(row.statement, place)))
    case SQLITE_BLOB: append(row, column, .blob, sqlite3_column_blob(row.statement, place))
    default: cells.append(Cell(kind: .null))
    }
  }

  private mutating func append(_ row: SQLRow, _ column: Int, _ kind: Kind, _ pointer: UnsafeRawPointer?) {
    let count = pointer == nil ? 0 : Int(sqlite3_column_bytes(row.statement, Int32(truncatingIfNeeded: column)))
    guard count <= Self.limitBytes else {
      cells.append(Cell(kind: .large, number: Int64(large.count)))
      large.append(row.value(column))
      largeBytes += count
      return
    }
    cells.append(Cell(kind: kind, count: Int32(count), number: Int64(bytes.count)))
    bytes.append(contentsOf: UnsafeRawBufferPointer(start: pointer, count: count))
  }

  /// One value, counted from the first of all.
  package func value(_ index: Int) -> SQLValue {
    let cell = cells[index]
    let start = Int(truncatingIfNeeded: cell.number)
    func found() -> [UInt8] {
      bytes.withUnsafeBytes { Array(UnsafeRawBufferPointer(rebasing: $0[start..<start + Int(cell.count)])) }
    }
    switch cell.kind {
    case .null: return .null
    case .integer: return .integer(cell.number)
    case .real: return .real(Double(bitPattern: UInt64(bitPattern: cell.number)))
    case .text: return .text(found())
    case .blob: return .blob(found())
    case .large: return large[start]
    }
  }

  /// Some of the values, counted from the first of all.
  package func values(_ indices: Range<Int>) -> [SQLValue] {
    var values: [SQLValue] = []
    values.reserveCapacity(indices.count)
    for index in indices { values.append(value(index)) }
    return values
  }

  /// Forgets the values from an index on.
  package mutating func removeLast(from index: Int) { cells.removeLast(cells.count - index) }
}

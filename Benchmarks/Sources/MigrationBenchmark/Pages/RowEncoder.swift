import Foundation
import GRDBSQLite

/// Makes the cell of a table's leaf, or of an index, from values.
///
/// Source: "Database File Format" of SQLite, section 2.1.
struct RowEncoder {
  private let head = UnsafeMutableRawPointer.allocate(byteCount: 1024, alignment: 16)
  private let body = UnsafeMutableRawPointer.allocate(byteCount: 8192, alignment: 16)
  private let cell = UnsafeMutableRawPointer.allocate(byteCount: 16384, alignment: 16)

  func deallocate() { for buffer in [head, body, cell] { buffer.deallocate() } }

  /// The cell of the row that a statement stands at. Its first column is the key, which the record has as NULL.
  @inline(__always) func row(_ statement: OpaquePointer, columns: Int32, key: Int64) -> UnsafeRawBufferPointer {
    var (headUsed, bodyUsed) = (1, 0)
    head.storeBytes(of: 0, toByteOffset: headUsed, as: UInt8.self)
    headUsed += 1
    for column in 1..<columns {
      switch sqlite3_column_type(statement, column) {
      case SQLITE_INTEGER: add(sqlite3_column_int64(statement, column), &headUsed, &bodyUsed)
      case SQLITE_FLOAT:
        let number = sqlite3_column_double(statement, column)
        if number.magnitude < 1e14, number.rounded() == number {
          add(Int64(number), &headUsed, &bodyUsed)
        } else {
          head.storeBytes(of: 7, toByteOffset: headUsed, as: UInt8.self)
          headUsed += 1
          body.storeBytes(of: number.bitPattern.bigEndian, toByteOffset: bodyUsed, as: UInt64.self)
          bodyUsed += 8
        }
      case SQLITE_NULL:
        head.storeBytes(of: 0, toByteOffset: headUsed, as: UInt8.self)
        headUsed += 1
      case let type:
        let isText = type == SQLITE_TEXT
        let bytes =
          isText ? UnsafeRawPointer(sqlite3_column_text(statement, column)) : sqlite3_column_blob(statement, column)
        let count = Int(sqlite3_column_bytes(statement, column))
        guard bodyUsed + count < 4000 else { fatalError("a row with overflow pages is not supported") }
        headUsed += putVarint(UInt64(count * 2 + (isText ? 13 : 12)), head + headUsed)
        if let bytes { (body + bodyUsed).copyMemory(from: bytes, byteCount: count) }
        bodyUsed += count
      }
    }
    var used = putVarint(UInt64(headUsed + bodyUsed), cell)
    used += putVarint(UInt64(bitPattern: key), cell + used)
    return finish(used, headUsed, bodyUsed)
  }

  /// The cell of the row of a join table, whose two columns follow a first one that is not read.
  @inline(__always) func join(_ statement: OpaquePointer, key: Int64) -> UnsafeRawBufferPointer {
    var (headUsed, bodyUsed) = (1, 0)
    for column in Int32(1)...2 { add(sqlite3_column_int64(statement, column), &headUsed, &bodyUsed) }
    var used = putVarint(UInt64(headUsed + bodyUsed), cell)
    used += putVarint(UInt64(bitPattern: key), cell + used)
    return finish(used, headUsed, bodyUsed)
  }

  /// The cell of an index with one or two numbers; `PageIndex.null` is NULL.
  @inline(__always) func entry(_ entry: PageIndex.Entry, columns: Int) -> UnsafeRawBufferPointer {
    var (headUsed, bodyUsed) = (1, 0)
    add(orNull: entry.first, &headUsed, &bodyUsed)
    if columns > 1 { add(orNull: entry.second, &headUsed, &bodyUsed) }
    add(entry.key, &headUsed, &bodyUsed)
    return finish(putVarint(UInt64(headUsed + bodyUsed), cell), headUsed, bodyUsed)
  }

  @inline(__always) private func finish(_ start: Int, _ headUsed: Int, _ bodyUsed: Int) -> UnsafeRawBufferPointer {
    guard headUsed < 128 else { fatalError("a record with a long header is not supported") }
    head.storeBytes(of: UInt8(headUsed), as: UInt8.self)
    (cell + start).copyMemory(from: head, byteCount: headUsed)
    (cell + start + headUsed).copyMemory(from: body, byteCount: bodyUsed)
    return UnsafeRawBufferPointer(start: cell, count: start + headUsed + bodyUsed)
  }

  @inline(__always) private func add(orNull number: Int64, _ headUsed: inout Int, _ bodyUsed: inout Int) {
    guard number == PageIndex.null else { return add(number, &headUsed, &bodyUsed) }
    head.storeBytes(of: 0, toByteOffset: headUsed, as: UInt8.self)
    headUsed += 1
  }

  @inline(__always) private func add(_ number: Int64, _ headUsed: inout Int, _ bodyUsed: inout Int) {
    let (type, count): (UInt8, Int) =
      switch number {
      case 0: (8, 0)
      case 1: (9, 0)
      case -0x80...0x7F: (1, 1)
      case -0x8000...0x7FFF: (2, 2)
      case -0x80_0000...0x7F_FFFF: (3, 3)
      case -0x8000_0000...0x7FFF_FFFF: (4, 4)
      case -0x8000_0000_0000...0x7FFF_FFFF_FFFF: (5, 6)
      default: (6, 8)
      }
    head.storeBytes(of: type, toByteOffset: headUsed, as: UInt8.self)
    headUsed += 1
    for byte in 0..<count {
      let bits = UInt8(truncatingIfNeeded: number >> Int64(8 * (count - 1 - byte)))
      body.storeBytes(of: bits, toByteOffset: bodyUsed + byte, as: UInt8.self)
    }
    bodyUsed += count
  }
}

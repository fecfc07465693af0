import CSQLite
package import GodwitModel

/// A text or blob that is left in its row, to be read a piece at a time.
package struct LargeValue: Sendable, Hashable {
  /// The name under which a connection has the database.
  package let database: String
  package let table: String
  package let column: String
  package let key: Int64
  /// false for a blob.
  package let isText: Bool
  /// SQLite's number of the row, where the key may be another one: in a table that was rebuilt without its primary key.
  var rowNumber: Int64?

  /// A value over this size is left in its row.
  package static let limit = ByteCount.mebibytes(1)
}

/// The bytes of a text or blob, wherever they are stored, readable from any offset.
package protocol LargeBytes: AnyObject {
  var byteCount: Int { get }
  /// false for a blob.
  var isText: Bool { get }

  /// Fills a buffer with the bytes from an offset; all of them must be there.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws
}

extension LargeBytes {
  /// All bytes, for writers that need the whole value.
  package var whole: SQLValue {
    get throws {
      let bytes = try [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
        try read(UnsafeMutableRawBufferPointer(buffer), at: 0)
        count = byteCount
      }
      return isText ? .text(bytes) : .blob(bytes)
    }
  }
}

/// The bytes of a value as another attribute stores them: some in front are left out, or others put before them.
package final class ShiftedBytes: LargeBytes {
  private let bytes: any LargeBytes
  private let added: [UInt8]
  private let leftOut: Int
  package let isText: Bool

  /// - Parameter isBlob: Whether a text becomes a blob.
  package init(
    _ bytes: any LargeBytes, leavingOut leftOut: Int = 0, adding added: [UInt8] = [], asBlob isBlob: Bool = false
  ) {
    (self.bytes, self.leftOut, self.added) = (bytes, min(leftOut, bytes.byteCount), added)
    isText = bytes.isText && !isBlob
  }

  package var byteCount: Int { added.count + bytes.byteCount - leftOut }

  package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    let front = added.dropFirst(offset).prefix(buffer.count)
    buffer.copyBytes(from: front)
    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[front.count...])
    if !rest.isEmpty { try bytes.read(rest, at: offset + front.count - added.count + leftOut) }
  }
}

/// A large value that is open to be read from any place.
///
/// Valid while nothing writes to the row, which is a read of its database all the while.
package final class OpenValue: LargeBytes {
  package let large: LargeValue
  package let byteCount: Int
  private let blob: OpaquePointer
  private let connection: StoreConnection

  /// - Throws: SQLite's errors as they map, also for a row that is gone or holds no text or blob.
  package init(_ large: LargeValue, _ connection: StoreConnection) throws {
    blob = try connection.openBlob(
      database: large.database, table: large.table, column: large.column, row: large.rowNumber ?? large.key,
      isWritten: false)
    self.large = large
    self.connection = connection
    byteCount = Int(sqlite3_blob_bytes(blob))
  }

  deinit { sqlite3_blob_close(blob) }

  package var isText: Bool { large.isText }

  package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    errno = 0
    let code = sqlite3_blob_read(blob, buffer.baseAddress, Int32(buffer.count), Int32(offset))
    guard code == SQLITE_OK else { throw connection.lastError(code, sql: nil) }
  }
}

/// The content of a column of a row.
package enum StoredContent: Sendable, Hashable {
  case value(SQLValue)
  case large(LargeValue)

  package var isNull: Bool { self == .value(.null) }

  /// The name of the storage class in messages.
  package var kind: String {
    switch self {
    case .value(let value): value.kind
    case .large(let large): large.isText ? SQLValue.text([]).kind : SQLValue.blob([]).kind
    }
  }
}

/// A row: its values in the order of its columns, without the large ones.
package struct StoredRow: Sendable, Hashable {
  /// NULL in the place of a large value.
  package var values: [SQLValue]
  /// The large values by column.
  package var large: [Int: LargeValue]

  package init(values: [SQLValue], large: [Int: LargeValue] = [:]) { (self.values, self.large) = (values, large) }

  package func content(_ place: Int) -> StoredContent {
    if !large.isEmpty, let large = large[place] { return .large(large) }
    return .value(values[place])
  }
}

extension StoreConnection {
  /// Reads a large value as a whole, for operations that need all of it.
  ///
  /// - Throws: `.dataWrong` when it is no longer in its row; SQLite's errors as they map.
  package func whole(_ large: LargeValue) throws -> SQLValue {
    let found = try value(
      "SELECT \(StoreSchema.identifier(large.column)) FROM \(StoreSchema.identifier(large.database)).\(StoreSchema.identifier(large.table)) WHERE Z_PK = ?1",
      [.integer(large.key)])
    guard let found else {
      throw GodwitError(
        .dataWrong, "cannot read column '\(large.column)' of '\(large.table)': row \(large.key) is gone",
        remedy: "stop what writes to the store and run the same command")
    }
    return found
  }
}

import CSQLite
public import GodwitModel

/// A text or blob that is left in its row, to be read a piece at a time.
public struct LargeValue: Sendable, Hashable {
  /// The name under which a connection has the database.
  public let database: String
  public let table: String
  public let column: String
  public let key: Int64
  /// false for a blob.
  public let isText: Bool

  /// What is larger is left in its row.
  public static let limit = ByteCount.mebibytes(1)
}

/// A large value that is open to be read from any place.
///
/// Valid while nothing writes to the row, which is a read of its database all the while.
public final class OpenValue {
  public let large: LargeValue
  public let byteCount: Int
  private let blob: OpaquePointer
  private let connection: StoreConnection

  /// - Throws: SQLite's errors as they map, also for a row that is gone or holds no text or blob.
  public init(_ large: LargeValue, _ connection: StoreConnection) throws {
    var blob: OpaquePointer?
    let code = connection.withHandle {
      sqlite3_blob_open($0, large.database, large.table, large.column, large.key, 0, &blob)
    }
    guard code == SQLITE_OK, let blob else {
      let error = connection.lastError(code, sql: nil)
      sqlite3_blob_close(blob)
      throw error
    }
    self.blob = blob
    self.large = large
    self.connection = connection
    byteCount = Int(sqlite3_blob_bytes(blob))
  }

  deinit { sqlite3_blob_close(blob) }

  /// Fills a buffer with the bytes from an offset; all of them must be there.
  public func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    let code = sqlite3_blob_read(blob, buffer.baseAddress, Int32(buffer.count), Int32(offset))
    guard code == SQLITE_OK else { throw connection.lastError(code, sql: nil) }
  }
}

/// What a column of a row holds.
public enum StoredContent: Sendable, Hashable {
  case value(SQLValue)
  case large(LargeValue)

  public var isNull: Bool { self == .value(.null) }

  /// What messages call the storage class.
  public var kind: String {
    switch self {
    case .value(let value): value.kind
    case .large(let large): large.isText ? SQLValue.text([]).kind : SQLValue.blob([]).kind
    }
  }
}

/// A row as it was read: its values in the order of its columns, but for large ones.
public struct StoredRow: Sendable, Hashable {
  /// NULL in the place of a large value.
  public var values: [SQLValue]
  /// By place.
  public var large: [Int: LargeValue]

  public init(values: [SQLValue], large: [Int: LargeValue] = [:]) { (self.values, self.large) = (values, large) }

  public func content(_ place: Int) -> StoredContent {
    if !large.isEmpty, let large = large[place] { return .large(large) }
    return .value(values[place])
  }
}

extension StoreConnection {
  /// Reads a large value as a whole, for what cannot be said of its pieces.
  ///
  /// - Throws: `.dataWrong` when it is no longer in its row; SQLite's errors as they map.
  public func whole(_ large: LargeValue) throws -> SQLValue {
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

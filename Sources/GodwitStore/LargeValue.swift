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

package import GodwitModel

/// Rows between two keys that are processed together: a range of small ones, or one large one.
package enum RowSpan: Sendable, Hashable {
  /// The keys of the first and the last row.
  case small(ClosedRange<Int64>)
  case large(Int64)
}

extension StoreConnection {
  /// Tells rows with large values from others, in the order of keys. Each row is read once, large ones in part.
  ///
  /// - Parameters:
  ///   - columns: The columns to measure, without the key.
  ///   - limit: A row is large when it has more bytes in texts and blobs.
  package func spans(
    database: String, table: String, columns: [String], from first: Int64, through last: Int64, limit: ByteCount
  ) throws -> [RowSpan] {
    let rows =
      "FROM \(StoreSchema.identifier(database)).\(StoreSchema.identifier(table)) WHERE Z_PK BETWEEN ?1 AND ?2 ORDER BY Z_PK"
    let list = (["Z_PK"] + columns.map { StoreSchema.identifier($0) }).joined(separator: ", ")
    let walk = try prepare("SELECT \(list) \(rows)")
    let seek = try prepare("SELECT Z_PK \(rows) LIMIT 1")
    defer {
      walk.finalize()
      seek.finalize()
    }
    var spans: [RowSpan] = []
    var small: ClosedRange<Int64>?
    func add(large key: Int64) {
      if let small { spans.append(.small(small)) }
      small = nil
      spans.append(.large(key))
    }
    var next = first
    var isAtEnd = false
    try walk.bind([.integer(next), .integer(last)])
    while !isAtEnd {
      switch try walk.step(lengthLimit: limit) {
      case .done: isAtEnd = true
      case .row:
        let row = walk.row
        let key = row.int64(0)
        let bytes = columns.indices.reduce(0) { $0 + Int64(row.byteCount($1 + 1)) }
        if bytes > limit.bytes { add(large: key) } else { small = (small?.lowerBound ?? key)...key }
        guard key < last else { break }
        next = key + 1
      case .tooLarge:
        // The walk stopped at the first row that it had not given.
        try seek.bind([.integer(next), .integer(last)])
        guard try seek.step() else {
          isAtEnd = true
          break
        }
        let key = seek.row.int64(0)
        seek.reset()
        add(large: key)
        guard key < last else {
          isAtEnd = true
          break
        }
        next = key + 1
        try walk.bind([.integer(next), .integer(last)])
      }
    }
    if let small { spans.append(.small(small)) }
    return spans
  }

  /// Opens the texts and blobs of a row that are larger than a limit, by column.
  package func openValues(
    above limit: ByteCount, database: String, table: String, key: Int64, columns: [String]
  ) throws -> [String: OpenValue] {
    let kinds = columns.map { "typeof(\(StoreSchema.identifier($0)))" }.joined(separator: ", ")
    let found = try rows(
      "SELECT rowid, \(kinds) FROM \(StoreSchema.identifier(database)).\(StoreSchema.identifier(table)) WHERE Z_PK = ?1",
      [.integer(key)])
    var values: [String: OpenValue] = [:]
    guard let row = found.first, case .integer(let number) = row[0] else { return values }
    for (column, kind) in zip(columns, row.dropFirst()) {
      let isText = kind == .text(Array("text".utf8))
      guard isText || kind == .text(Array("blob".utf8)) else { continue }
      let value = try OpenValue(
        LargeValue(database: database, table: table, column: column, key: key, isText: isText, rowNumber: number),
        self)
      if value.byteCount > limit.bytes { values[column] = value }
    }
    return values
  }
}

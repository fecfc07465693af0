import GodwitModel

/// A range of keys, cut into spans of the same width.
package struct KeySpans: RandomAccessCollection, Sendable {
  private let keys: ClosedRange<Int64>
  private let width: UInt64
  package let startIndex = 0
  package let endIndex: Int

  /// - Parameter parts: The most spans.
  package init(_ keys: ClosedRange<Int64>, parts: Int64) {
    self.keys = keys
    let distance = UInt64(bitPattern: keys.upperBound &- keys.lowerBound)
    width = Swift.min(distance / UInt64(Swift.max(1, parts)), .max - 1) + 1
    endIndex = Int(distance / width) + 1
  }

  /// - Parameter rows: About how many there are between the keys.
  package init(_ keys: ClosedRange<Int64>, rows: Int64, rowsPerSpan: Int64) {
    self.init(keys, parts: rows / rowsPerSpan)
  }

  package func contains(_ key: Int64) -> Bool { keys.contains(key) }

  /// The span that a key of the range is in.
  package func number(of key: Int64) -> Int { Int(UInt64(bitPattern: key &- keys.lowerBound) / width) }

  package subscript(number: Int) -> ClosedRange<Int64> {
    let first = keys.lowerBound &+ Int64(bitPattern: UInt64(number) &* width)
    return first...(number == count - 1 ? keys.upperBound : first &+ Int64(bitPattern: width - 1))
  }
}

extension StoreConnection {
  /// The lowest and the highest key of a table; nil for a table without rows or with other keys than integers.
  ///
  /// - Parameter table: Its name in SQL, with that of the database.
  package func keys(of table: String, column: String = "Z_PK") throws -> ClosedRange<Int64>? {
    // Two subqueries: SQLite finds each end through the b-tree, but scans for both at once.
    let row = try rows("SELECT (SELECT MIN(\(column)) FROM \(table)), (SELECT MAX(\(column)) FROM \(table))").first
    guard let row, case (.integer(let low), .integer(let high)) = (row[0], row[1]), low <= high else { return nil }
    return low...high
  }

  /// The highest key that the source's counters name for a root entity; nil if none has one.
  package func highestCounter(of root: String, in schema: StoreSchema) throws -> Int64? {
    let numbers = schema.model.family(of: root).compactMap { schema.number(of: $0.name) }.map(String.init)
    return try integer("SELECT MAX(Z_MAX) FROM source.Z_PRIMARYKEY WHERE Z_ENT IN (\(numbers.joined(separator: ", ")))")
  }
}

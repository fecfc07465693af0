/// A range of keys, cut into spans of about as many rows.
struct KeySpans: Sendable {
  private let keys: ClosedRange<Int64>
  private let width: UInt64
  let count: Int

  /// - Parameter rows: About how many there are between the keys.
  init(_ keys: ClosedRange<Int64>, rows: Int64, rowsPerSpan: Int64) {
    self.keys = keys
    let distance = UInt64(bitPattern: keys.upperBound &- keys.lowerBound)
    width = distance / UInt64(max(1, rows / rowsPerSpan)) + 1
    count = Int(distance / width) + 1
  }

  func contains(_ key: Int64) -> Bool { keys.contains(key) }

  /// The span that a key of the range is in.
  func number(of key: Int64) -> Int { Int(UInt64(bitPattern: key &- keys.lowerBound) / width) }

  subscript(number: Int) -> ClosedRange<Int64> {
    let first = keys.lowerBound &+ Int64(bitPattern: UInt64(number) &* width)
    return first...(number == count - 1 ? keys.upperBound : first &+ Int64(bitPattern: width - 1))
  }
}

/// A set of primary keys that takes at most a bit for each key between its ends, and less where few are there or few
/// are missing.
///
/// Keys are added in ascending order. They are grouped by their upper 48 bits. The lower 16 bits of a group form a
/// sorted list of the present or of the missing keys if either list has fewer than 4096, and otherwise a bitmap. It is
/// a class, since a lookup in a value with three arrays would count references.
package final class KeySet {
  private enum Group {
    case list([UInt16])
    case holes([UInt16])
    case bitmap([UInt64])
  }

  private static let limit = 4096

  package init() {}

  private var prefixes: [Int64] = []
  private var groups: [Group] = []
  private var open: [UInt16] = []
  package private(set) var count: Int64 = 0
  private var lowest: Int64 = 0
  private var highest: Int64 = 0
  /// Whether every key between the lowest and the highest is there.
  private var isRange: Bool { count > 0 && UInt64(bitPattern: highest &- lowest) == UInt64(count - 1) }

  /// The most bytes that this many keys, at least one, between two others may take.
  package static func bytes(keys: Int64, from lowest: Int64, through highest: Int64) -> Int64 {
    let span = UInt64(bitPattern: highest &- lowest)
    // A gapless run is its ends.
    if span == UInt64(bitPattern: keys - 1) { return 64 }
    let groups = Int64(min(UInt64(bitPattern: keys), span >> 16 + 2))
    // A damaged index may count more keys than fit between the ends.
    let others = UInt64(bitPattern: keys - 1)
    let missing = span >= others ? span - others : .max
    // The first group and the last lack the keys beyond the ends too.
    let holes = min(twice(missing), .max - 16384) + 16384
    return groups * 72 + min(twice(UInt64(bitPattern: keys)), holes, groups * 8192)
  }

  private static func twice(_ count: UInt64) -> Int64 { count > UInt64(Int64.max / 2) ? .max : Int64(count) * 2 }

  /// - Parameter key: Above every key added before.
  package func append(_ key: Int64) {
    if count == 0 { lowest = key }
    let isNext = count > 0 && isRange && key == highest &+ 1
    let wasRange = count == 0 || isRange
    highest = key
    count += 1
    if count == 1 || isNext { return }
    // The first gap ends the single run, which becomes groups.
    if wasRange { for known in lowest...(lowest + (count - 2)) { add(known) } }
    add(key)
  }

  private func add(_ key: Int64) {
    let prefix = key >> 16
    if prefixes.last != prefix {
      close()
      prefixes.append(prefix)
    }
    open.append(UInt16(truncatingIfNeeded: key))
  }

  private func close() {
    guard !open.isEmpty else { return }
    if open.count < Self.limit {
      groups.append(.list(Array(open)))
    } else if 65536 - open.count < Self.limit {
      var holes: [UInt16] = []
      holes.reserveCapacity(65536 - open.count)
      var next = 0
      for key in open {
        while next < key {
          holes.append(UInt16(next))
          next += 1
        }
        next += 1
      }
      while next < 65536 {
        holes.append(UInt16(next))
        next += 1
      }
      groups.append(.holes(holes))
    } else {
      var words = [UInt64](repeating: 0, count: 1024)
      for key in open { words[Int(key) >> 6] |= 1 << UInt64(key & 63) }
      groups.append(.bitmap(words))
    }
    open.removeAll(keepingCapacity: true)
  }

  /// Call after the last key.
  package func finish() {
    close()
    open = []
  }

  /// The bytes of the groups, each with its upper bits and the header of its array.
  package var bytes: Int64 {
    if isRange { return 64 }
    return groups.reduce(Int64(prefixes.count) * 72) { sum, group in
      switch group {
      case .list(let parts), .holes(let parts): sum + Int64(parts.count) * 2
      case .bitmap(let words): sum + Int64(words.count) * 8
      }
    }
  }

  package func contains(_ key: Int64) -> Bool {
    guard count > 0, key >= lowest, key <= highest else { return false }
    if isRange { return true }
    let prefix = key >> 16
    // Without a missing group the place follows from the prefix.
    var index = Int(truncatingIfNeeded: prefix &- prefixes[0])
    if index >= prefixes.count || prefixes[index] != prefix {
      guard let found = Self.place(of: prefix, in: prefixes) else { return false }
      index = found
    }
    let part = UInt16(truncatingIfNeeded: key)
    switch groups[index] {
    case .bitmap(let words): return words[Int(part) >> 6] & (1 << UInt64(part & 63)) != 0
    case .list(let list): return Self.place(of: part, in: list) != nil
    case .holes(let holes): return Self.place(of: part, in: holes) == nil
    }
  }

  /// The place of a number in a sorted list.
  private static func place<Number: FixedWidthInteger>(of number: Number, in list: [Number]) -> Int? {
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low < list.count && list[low] == number ? low : nil
  }
}

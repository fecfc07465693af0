/// The hash table that Core Data keeps the properties of an entity in, as far as names and orders show it.
///
/// Names of join tables follow the table of the 32-bit system that Core Data first appeared in; the order of join
/// tables of one entity in a file follows the table of 64-bit systems (right 51 of 66 times, irrelevant to Core Data). A
/// key whose slot is occupied uses the next free one. `CoreDataFiles.md` has the evidence.
struct PropertyHashTable<Width: FixedWidthInteger & UnsignedInteger> {
  typealias Size = (keys: Int, slots: Int)

  /// Numbers of slots with the most keys that each takes.
  private static var sizes: [Size] {
    Width.bitWidth == 32
      ? [
        (4, 5), (8, 11), (17, 23), (29, 41), (47, 67), (76, 113), (123, 199), (199, 317), (322, 521), (521, 839),
        (843, 1361), (1364, 2207), (2207, 3571), (3571, 5779),
      ]
      : [
        (3, 3), (6, 7), (11, 13), (19, 23), (32, 41), (52, 71), (85, 127), (118, 191), (155, 251), (237, 383),
        (390, 631), (672, 1087), (1065, 1723), (1732, 2803), (2795, 4523),
      ]
  }

  /// More keys than any table that was seen: an odd number of slots with room to spare.
  private static func size(for count: Int) -> Size {
    sizes.first { count <= $0.keys } ?? (count * 2, count * 4 | 1)
  }

  private var size: Size
  private var count = 0
  private var slots: [(key: Int, hash: Width)?]

  /// - Parameter capacity: The number of keys that it has slots for from the start; it grows when there are more.
  init(capacity: Int = 0) {
    size = Self.size(for: capacity)
    slots = Array(repeating: nil, count: size.slots)
  }

  /// - Parameters:
  ///   - key: A number by which the caller knows the key.
  ///   - hash: Nil for a key that counts, but whose slot is not known: it takes none.
  mutating func insert(_ key: Int, hash: Width?) {
    count += 1
    if count > size.keys {
      let old = slots
      size = Self.size(for: count)
      slots = Array(repeating: nil, count: size.slots)
      for entry in old { if let entry { place(entry.key, entry.hash) } }
    }
    if let hash { place(key, hash) }
  }

  private mutating func place(_ key: Int, _ hash: Width) {
    var slot = Int(hash % Width(slots.count))
    while slots[slot] != nil { slot = slot + 1 == slots.count ? 0 : slot + 1 }
    slots[slot] = (key, hash)
  }

  /// The keys from the first slot up.
  var keys: [Int] { slots.compactMap { $0?.key } }

  /// The hash of a CFString, whose long texts are hashed in parts.
  static func hash(_ text: String) -> Width {
    let units = text.utf16.map { Width($0) }
    let count = units.count
    var starts = [0]
    var length = count
    if Width.bitWidth == 32, count >= 24 {
      (starts, length) = ([0, 4, count - 16, count - 12, count - 8, count - 4], 4)
    } else if Width.bitWidth == 64, count > 96 {
      (starts, length) = ([0, count / 2 - 16, count - 32], 32)
    }
    var result = Width(count)
    for start in starts {
      var rest = units[start..<start + length]
      while rest.count >= 4 {
        result = result &* 67_503_105 &+ rest.prefix(4).reduce(0) { $0 &* 257 &+ $1 }
        rest = rest.dropFirst(4)
      }
      for unit in rest { result = result &* 257 &+ unit }
    }
    return result &+ (result &<< Width(count & 31))
  }
}

/// The content of one frame: up to 65,536 pairs in order of their source keys, coded in groups.
///
/// A directory of groups comes first, so that a lookup decodes one group. The number of groups (4 bytes) stands before
/// it, the bytes of the groups behind it. An entry of the directory has 32 bytes:
///
/// | byte | size | field | value |
/// |---|---|---|---|
/// | 0, 8 | 8, 8 | first and last source key | not less than the previous group's |
/// | 16 | 8 | first destination key | |
/// | 24 | 4 | bytes of the group | 0 for kind 1 |
/// | 28 | 2 | pairs of the group | 1 to 4,096; written: 256 |
/// | 30 | 2 | kind | 0 differences, 1 both keys count up by one |
///
/// Each pair of kind 0 but the first is two varints (seven bits a byte, lowest first, top bit on all but the last, at
/// most ten): the difference of source keys, unsigned, and of destination keys, zigzag coded; both modulo 2^64.
struct AssociationBlock {
  static let pairsMax = 65536
  /// How many pairs this writer puts into a group.
  static let groupPairs = 256
  /// How many pairs a group may have in a file.
  static let groupPairsMax = 4096
  static let entryBytes = 32

  /// Two varints of ten bytes a pair, and at worst a directory entry for each.
  static func contentBytesMax(pairs: Int) -> Int { 4 + pairs * (20 + entryBytes) }

  struct Group {
    var firstSource: Int64
    var lastSource: Int64
    var firstDestination: Int64
    var offset: Int
    var end: Int
    var count: Int
    /// Source and destination both count up by one.
    var isArithmetic: Bool
  }

  let content: [UInt8]
  let groups: [Group]

  /// Reads and checks the directory.
  init(content: [UInt8], of record: SpillRecord, path: String) throws(SpillError) {
    func damaged(_ expected: String) -> SpillError {
      .damaged(path, at: record.framePosition, expected: expected, found: "something else")
    }
    let groupCount = Int(content.littleEndian(at: 0, as: UInt32.self))
    guard content.count >= 4, groupCount >= 1, groupCount <= record.pairCount,
      4 + groupCount * Self.entryBytes <= content.count
    else { throw damaged("a directory of groups") }
    var groups: [Group] = []
    groups.reserveCapacity(groupCount)
    var pairs = 0
    var offset = 4 + groupCount * Self.entryBytes
    var last = record.firstSource
    for index in 0..<groupCount {
      let entry = 4 + index * Self.entryBytes
      let length = Int(content.littleEndian(at: entry + 24, as: UInt32.self))
      let count = Int(content.littleEndian(at: entry + 28, as: UInt16.self))
      let kind = content.littleEndian(at: entry + 30, as: UInt16.self)
      let group = Group(
        firstSource: content.littleEndian(at: entry, as: Int64.self),
        lastSource: content.littleEndian(at: entry + 8, as: Int64.self),
        firstDestination: content.littleEndian(at: entry + 16, as: Int64.self),
        offset: offset, end: offset + length, count: count, isArithmetic: kind == 1)
      guard kind <= 1, (1...Self.groupPairsMax).contains(count) else { throw damaged("a group of a known kind") }
      guard group.firstSource >= last, group.lastSource >= group.firstSource else { throw damaged("keys in order") }
      guard group.end <= content.count else { throw damaged("a group within its frame") }
      if group.isArithmetic {
        let step = Int64(count - 1)
        guard length == 0, group.lastSource.subtractingReportingOverflow(group.firstSource) == (step, false),
          !group.firstDestination.addingReportingOverflow(step).overflow
        else { throw damaged("a group that counts up by one") }
      }
      pairs += count
      offset = group.end
      last = group.lastSource
      groups.append(group)
    }
    guard pairs == record.pairCount, offset == content.count, groups.first?.firstSource == record.firstSource,
      last == record.lastSource
    else { throw damaged("a directory that agrees with the record header") }
    self.content = content
    self.groups = groups
  }

  /// The index of the first group whose last source key is not before `source`; the group count without one.
  func firstGroup(reaching source: Int64) -> Int { groups.indices.firstPlace { groups[$0].lastSource >= source } }

  /// Decodes one group; false when its bytes contradict the directory.
  func decode(_ index: Int, into buffer: inout GroupBuffer) -> Bool {
    guard groups.indices.contains(index) else { return false }
    let group = groups[index]
    buffer.reserve(group.count)
    buffer.count = 0
    if group.isArithmetic {
      for step in 0..<group.count {
        buffer.sources[step] = group.firstSource &+ Int64(step)
        buffer.destinations[step] = group.firstDestination &+ Int64(step)
      }
      buffer.count = group.count
      return true
    }
    let isWhole = content.withUnsafeBufferPointer { bytes in
      buffer.sources.withUnsafeMutableBufferPointer { sources in
        buffer.destinations.withUnsafeMutableBufferPointer { destinations in
          var source = group.firstSource
          var destination = group.firstDestination
          var position = group.offset
          sources[0] = source
          destinations[0] = destination
          for step in 1..<max(group.count, 1) {
            guard let forward = Self.varint(bytes, &position, group.end),
              let zigzag = Self.varint(bytes, &position, group.end)
            else { return false }
            let next = Int64(bitPattern: UInt64(bitPattern: source) &+ forward)
            // A sum past the last key wraps to a smaller one.
            guard next >= source else { return false }
            source = next
            destination = destination &+ Int64(bitPattern: (zigzag >> 1) ^ (0 &- (zigzag & 1)))
            sources[step] = source
            destinations[step] = destination
          }
          return position == group.end && source == group.lastSource
        }
      }
    }
    if isWhole { buffer.count = group.count }
    return isWhole
  }

  @inline(__always)
  private static func varint(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int, _ end: Int) -> UInt64? {
    guard position < end else { return nil }
    let first = bytes[position]
    position += 1
    if first < 0x80 { return UInt64(first) }
    var value = UInt64(first & 0x7f)
    var shift: UInt64 = 7
    while position < end, shift < 64 {
      let byte = bytes[position]
      position += 1
      if shift == 63 && byte > 1 { return nil }
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }
}

/// A decoded group.
struct GroupBuffer {
  var sources: [Int64] = []
  var destinations: [Int64] = []
  var count = 0

  mutating func reserve(_ pairs: Int) {
    if sources.count < pairs {
      sources = Array(repeating: 0, count: pairs)
      destinations = Array(repeating: 0, count: pairs)
    }
  }

  /// The position of the first pair whose source key is not before `source`.
  func lowerBound(_ source: Int64) -> Int {
    sources.withUnsafeBufferPointer { keys in (0..<min(count, keys.count)).firstPlace { keys[$0] >= source } }
  }
}

extension Range<Int> {
  /// The first place of a sorted list from which on a condition holds; the end without one.
  @inline(__always) func firstPlace(where holds: (Int) -> Bool) -> Int {
    var (low, high) = (lowerBound, upperBound)
    while low < high {
      let middle = (low + high) / 2
      if holds(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

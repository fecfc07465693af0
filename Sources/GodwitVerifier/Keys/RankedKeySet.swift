import GodwitModel
import GodwitStore

/// A set of primary keys in ascending order, each with its rank.
///
/// A run without gaps is stored as its ends. Other keys are grouped by their upper 48 bits: the lower 16 of each group
/// are a sorted list, or a bitmap if that is shorter. Beyond a limit of memory they are in a temporary table.
final class RankedKeySet {
  private enum Group {
    case list([UInt16])
    case bitmap([UInt64])
  }

  private(set) var count: Int64 = 0
  private(set) var first: Int64 = 0
  private(set) var last: Int64 = 0
  private var prefixes: [Int64] = []
  /// How many keys are in the groups before each.
  private var ranks: [Int64] = []
  private var groups: [Group] = []
  private var open: [UInt16] = []
  private var openPrefix: Int64 = 0
  /// About, of the groups.
  private var bytes = 0

  private let scratch: StoreConnection
  private let table: String
  private let limit: ByteCount
  private var insertion: SQLStatement?
  private var search: SQLStatement?

  /// - Parameters:
  ///   - table: The name of the temporary table, which is made only when it is needed.
  ///   - limit: How much memory the keys may take.
  init(scratch: StoreConnection, table: String, limit: ByteCount) {
    (self.scratch, self.table, self.limit) = (scratch, table, limit)
  }

  /// Whether every key between the first and the last is there.
  var isRun: Bool { count > 0 && UInt64(bitPattern: last &- first) == UInt64(count - 1) }
  /// Whether the keys are in the temporary table.
  var isSpilled: Bool { insertion != nil }

  // MARK: Making

  /// - Parameter key: Above every key added before.
  /// - Throws: `.internalBug` for another one, as SQLite gives them where pages of a table are damaged.
  func append(_ key: Int64) throws {
    guard count == 0 || key > last else {
      throw GodwitError(.internalBug, "cannot verify: the keys of a table do not ascend, p\(key) follows p\(last)")
    }
    let wasRun = count == 0 || isRun
    let continues = count == 0 || wasRun && key == last &+ 1
    if count == 0 { first = key }
    if !continues, wasRun { try addRun() }
    last = key
    count += 1
    if !continues { try add(key, rank: count - 1) }
  }

  /// The first gap ends the single run, which becomes groups.
  private func addRun() throws {
    var rank: Int64 = 0
    for key in first...last {
      try add(key, rank: rank)
      rank += 1
    }
  }

  private func add(_ key: Int64, rank: Int64) throws {
    if let insertion {
      insertion.bind(key, at: 1)
      insertion.bind(rank, at: 2)
      return try insertion.runBound()
    }
    let prefix = key >> 16
    if open.isEmpty || prefix != openPrefix {
      close()
      openPrefix = prefix
      ranks.append(rank)
      prefixes.append(prefix)
      if bytes > limit.bytes {
        try spill()
        return try add(key, rank: rank)
      }
    }
    open.append(UInt16(truncatingIfNeeded: key))
  }

  private func close() {
    guard !open.isEmpty else { return }
    if open.count < 4096 {
      groups.append(.list(Array(open)))
      bytes += 80 + open.count * 2
    } else {
      var words = [UInt64](repeating: 0, count: 1024)
      for key in open { words[Int(key) >> 6] |= 1 << UInt64(key & 63) }
      groups.append(.bitmap(words))
      bytes += 80 + 8192
    }
    open.removeAll(keepingCapacity: true)
  }

  private func spill() throws {
    try scratch.execute("CREATE TABLE temp.\(table) (key INTEGER PRIMARY KEY, rank INTEGER)")
    let insertion = try scratch.prepare("INSERT INTO temp.\(table) (key, rank) VALUES (?1, ?2)")
    for (group, prefix) in zip(groups, prefixes) {
      for part in Self.parts(of: group) {
        insertion.bind(prefix << 16 | Int64(part), at: 1)
        insertion.bind(spilled, at: 2)
        try insertion.runBound()
        spilled += 1
      }
    }
    (groups, prefixes, ranks, open) = ([], [], [], [])
    self.insertion = insertion
    search = try scratch.prepare("SELECT rank FROM temp.\(table) WHERE key = ?1")
  }

  private var spilled: Int64 = 0

  private static func parts(of group: Group) -> [UInt16] {
    switch group {
    case .list(let list): return list
    case .bitmap(let words):
      var parts: [UInt16] = []
      for (index, word) in words.enumerated() {
        var rest = word
        while rest != 0 {
          parts.append(UInt16(index << 6 | rest.trailingZeroBitCount))
          rest &= rest - 1
        }
      }
      return parts
    }
  }

  /// Call after the last key.
  func finish() {
    close()
    open = []
  }

  // MARK: Looking up

  func contains(_ key: Int64) throws -> Bool {
    guard count > 0, key >= first, key <= last else { return false }
    if isRun { return true }
    if isSpilled { return try spilledRank(key) != nil }
    guard let index = index(of: key >> 16) else { return false }
    let part = UInt16(truncatingIfNeeded: key)
    switch groups[index] {
    case .bitmap(let words): return words[Int(part) >> 6] & (1 << UInt64(part & 63)) != 0
    case .list(let list): return Self.place(of: part, in: list) != nil
    }
  }

  /// The rank of a key among all keys; nil if it is not one of them.
  func rank(_ key: Int64) throws -> Int64? {
    guard count > 0, key >= first, key <= last else { return nil }
    if isRun { return key - first }
    if isSpilled { return try spilledRank(key) }
    guard let index = index(of: key >> 16) else { return nil }
    let part = UInt16(truncatingIfNeeded: key)
    switch groups[index] {
    case .bitmap(let words):
      let (word, bit) = (Int(part) >> 6, UInt64(1) << UInt64(part & 63))
      guard words[word] & bit != 0 else { return nil }
      var below = (words[word] & (bit - 1)).nonzeroBitCount
      for index in 0..<word { below += words[index].nonzeroBitCount }
      return ranks[index] + Int64(below)
    case .list(let list): return Self.place(of: part, in: list).map { ranks[index] + Int64($0) }
    }
  }

  private func spilledRank(_ key: Int64) throws -> Int64? {
    guard let search else { return nil }
    search.reset()
    search.bind(key, at: 1)
    defer { search.reset() }
    return try search.step() ? search.row.int64(0) : nil
  }

  /// The key of a rank; nil for keys in the temporary table, and for a rank that none has.
  func key(ofRank rank: Int64) -> Int64? {
    guard rank >= 0, rank < count else { return nil }
    if isRun { return first + rank }
    guard !isSpilled else { return nil }
    guard let next = ranks.firstIndex(where: { $0 > rank }) ?? (ranks.isEmpty ? nil : ranks.count), next > 0 else {
      return nil
    }
    let parts = Self.parts(of: groups[next - 1])
    let place = Int(rank - ranks[next - 1])
    return parts.indices.contains(place) ? prefixes[next - 1] << 16 | Int64(parts[place]) : nil
  }

  private func index(of prefix: Int64) -> Int? {
    guard let lowest = prefixes.first else { return nil }
    // Without a missing group the place follows from the prefix.
    let guess = prefix &- lowest
    if guess >= 0, guess < Int64(prefixes.count), prefixes[Int(guess)] == prefix { return Int(guess) }
    let found = group(from: prefix)
    return found < prefixes.count && prefixes[found] == prefix ? found : nil
  }

  /// The first group whose prefix is at least the given one.
  private func group(from prefix: Int64) -> Int {
    var (low, high) = (0, prefixes.count)
    while low < high {
      let middle = (low + high) / 2
      if prefixes[middle] < prefix { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func place(of part: UInt16, in list: [UInt16]) -> Int? {
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle] < part { low = middle + 1 } else { high = middle }
    }
    return low < list.count && list[low] == part ? low : nil
  }

  /// Whether a key is in both.
  func intersects(_ other: RankedKeySet) throws -> Bool {
    guard count > 0, other.count > 0, first <= other.last, other.first <= last else { return false }
    let (few, many) = count <= other.count ? (self, other) : (other, self)
    var keys = try few.walk()
    while let key = try keys.next() { if try many.contains(key) { return true } }
    return false
  }

  // MARK: Walking

  /// The keys in ascending order.
  func walk(from first: Int64 = .min) throws -> Walk { try Walk(self, from: first) }

  struct Walk {
    private let keys: RankedKeySet
    private let isRun: Bool
    private let statement: SQLStatement?
    private var nextInRun: Int64?
    private var group = 0
    private var parts: [UInt16] = []
    private var place = 0

    fileprivate init(_ keys: RankedKeySet, from first: Int64) throws {
      self.keys = keys
      isRun = keys.isRun
      nextInRun = isRun && first <= keys.last ? max(first, keys.first) : nil
      guard keys.isSpilled, !isRun else {
        statement = nil
        guard !isRun, first > .min else { return }
        group = keys.group(from: first >> 16)
        guard group < keys.groups.count else { return }
        parts = RankedKeySet.parts(of: keys.groups[group]).filter { keys.prefixes[group] << 16 | Int64($0) >= first }
        group += 1
        return
      }
      let rest = try keys.scratch.prepare("SELECT key FROM temp.\(keys.table) WHERE key >= ?1 ORDER BY key")
      rest.bind(first, at: 1)
      statement = rest
    }

    mutating func next() throws -> Int64? {
      if isRun {
        guard let key = nextInRun else { return nil }
        nextInRun = key == keys.last ? nil : key + 1
        return key
      }
      if let statement { return try statement.step() ? statement.row.int64(0) : nil }
      if place == parts.count {
        guard group < keys.groups.count else { return nil }
        parts = RankedKeySet.parts(of: keys.groups[group])
        (group, place) = (group + 1, 0)
      }
      defer { place += 1 }
      return keys.prefixes[group - 1] << 16 | Int64(parts[place])
    }
  }
}

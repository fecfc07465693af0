import GodwitModel
package import GodwitStore

/// A faster `PRAGMA integrity_check`: SQLite's quick check, and each index compared with its table in two walks in
/// place of a search for each row.
///
/// It only ever says that a file is sound. If it is not sure, SQLite's full check finds the fault.
package struct IndexProof {
  private struct Index {
    var name: String
    var isUnique: Bool
    var columns: [String]
  }

  private let connection: StoreConnection
  private let database: String
  private let sums: EntrySum

  package init(_ connection: StoreConnection, database: String) {
    (self.connection, self.database) = (connection, database)
    sums = EntrySum()
  }

  /// Whether the quick check has nothing to say and every index has the entries of its table, in order.
  package func holds() throws -> Bool {
    guard try connection.complaints(about: database, isFull: false, limit: 1).isEmpty else { return false }
    let tables = try connection.strings(
      "SELECT name FROM \(database).sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name")
    for table in tables { guard try holds(table) else { return false } }
    return true
  }

  private func holds(_ table: String) throws -> Bool {
    guard let indexes = try indexes(of: table) else { return false }
    guard !indexes.isEmpty else { return true }
    var columns: [String] = []
    for name in indexes.flatMap(\.columns) where !columns.contains(name) { columns.append(name) }
    let places = indexes.map { index in index.columns.compactMap { columns.firstIndex(of: $0) } }
    let rows = "\(database).\(StoreSchema.identifier(table))"
    var expected = indexes.map { _ in sums }
    try connection.query("SELECT \(Self.list(columns)), rowid FROM \(rows) NOT INDEXED") { row in
      for index in expected.indices { expected[index].add(row, places[index], key: columns.count) }
      return true
    }
    for (index, wanted) in zip(indexes, expected) {
      var found = sums
      var order = EntryOrder(columns: index.columns.count, isUnique: index.isUnique)
      let list = Self.list(index.columns)
      let places = Array(0..<index.columns.count)
      try connection.query(
        "SELECT \(list), rowid FROM \(rows) INDEXED BY \(StoreSchema.identifier(index.name)) ORDER BY \(list)"
      ) { row in
        found.add(row, places, key: index.columns.count)
        return order.follows(row)
      }
      guard order.isKept, found == wanted else { return false }
    }
    return true
  }

  private static func list(_ columns: [String]) -> String {
    columns.map(StoreSchema.identifier).joined(separator: ", ")
  }

  /// The columns of an index whose values are not stored in the table's record: the row number itself, and computed
  /// columns. nil when a column hides the row number.
  private func borrowedColumns(of table: String) throws -> Set<String>? {
    var (borrowed, keys): (Set<String>, [String]) = ([], [])
    var hidesNumber = false
    try connection.query("PRAGMA \(database).table_xinfo(\(StoreSchema.identifier(table)))") { row in
      let name = row.string(1) ?? ""
      if ["rowid", "_rowid_", "oid"].contains(name.lowercased()) { hidesNumber = true }
      if row.int64(5) > 0 { keys.append(name) }
      if row.int64(6) != 0 { borrowed.insert(name) }
      return true
    }
    // A key of one column may be another name of the row number.
    if keys.count == 1 { borrowed.formUnion(keys) }
    return hidesNumber ? nil : borrowed
  }

  /// The indexes of a table; nil when one is not a plain list of columns, or the table has no row numbers.
  private func indexes(of table: String) throws -> [Index]? {
    guard let borrowed = try borrowedColumns(of: table) else { return nil }
    var indexes: [Index] = []
    var isPlain = true
    try connection.query("PRAGMA \(database).index_list(\(StoreSchema.identifier(table)))") { row in
      indexes.append(Index(name: row.string(1) ?? "", isUnique: row.int64(2) != 0, columns: []))
      if row.int64(4) != 0 { isPlain = false }
      return true
    }
    for place in indexes.indices {
      try connection.query("PRAGMA \(database).index_xinfo(\(StoreSchema.identifier(indexes[place].name)))") { row in
        guard row.int64(5) != 0 else {
          // The column after the indexed ones must be the row number.
          if row.int64(1) != -1 { isPlain = false }
          return true
        }
        guard row.int64(1) >= 0, row.int64(3) == 0, row.string(4) == "BINARY", let name = row.string(2),
          !borrowed.contains(name)
        else {
          isPlain = false
          return true
        }
        indexes[place].columns.append(name)
        return true
      }
    }
    return isPlain ? indexes : nil
  }
}

/// A sum over the entries of an index that does not depend on their order, under random keys.
private struct EntrySum: Equatable {
  private var count: Int64 = 0
  private var first: UInt64 = 0
  private var second: UInt64 = 0
  private let keys: (UInt64, UInt64)

  init() {
    var random = SystemRandomNumberGenerator()
    keys = (random.next() | 1, random.next() | 1)
  }

  static func == (a: EntrySum, b: EntrySum) -> Bool { (a.count, a.first, a.second) == (b.count, b.first, b.second) }

  mutating func add(_ row: SQLRow, _ places: [Int], key: Int) {
    var (a, b) = (keys.0, keys.1)
    for place in places { row.mix(place, into: &a, &b) }
    row.mix(key, into: &a, &b)
    count += 1
    first &+= a
    second &+= b
  }
}

/// Whether the entries of an index are in the order that SQLite's searches need.
private struct EntryOrder {
  private var last: [SQLValue] = []
  /// The last entry, where all of it are integers.
  private var numbers: [Int64]
  private var hasNumbers = false
  private let columns: Int
  private let isUnique: Bool
  private(set) var isKept = true

  init(columns: Int, isUnique: Bool) {
    (self.columns, self.isUnique) = (columns, isUnique)
    numbers = [Int64](repeating: 0, count: columns + 1)
  }

  /// Whether the entry of a row follows the previous one.
  mutating func follows(_ row: SQLRow) -> Bool {
    let areNumbers = (0...columns).allSatisfy { row.storage($0) == .integer }
    defer {
      if areNumbers {
        for place in 0...columns { numbers[place] = row.int64(place) }
        last = []
      } else {
        last = row.values(0..<(columns + 1))
      }
      hasNumbers = areNumbers
    }
    if areNumbers, hasNumbers {
      for place in 0..<(isUnique ? columns : columns + 1) {
        let number = row.int64(place)
        if number != numbers[place] { return told(numbers[place] < number) }
      }
      return told(false)
    }
    if hasNumbers { last = numbers.map { .integer($0) } }
    guard !last.isEmpty else { return true }
    let entry = row.values(0..<(columns + 1))
    // A NULL equals nothing.
    let mayRepeat = !isUnique || entry.dropLast().contains(.null)
    for place in 0..<(mayRepeat ? columns + 1 : columns) {
      if let isBefore = Self.isBefore(last[place], entry[place]) { return told(isBefore) }
    }
    return told(false)
  }

  private mutating func told(_ isRight: Bool) -> Bool {
    if !isRight { isKept = false }
    return isRight
  }

  /// nil for equal values.
  private static func isBefore(_ a: SQLValue, _ b: SQLValue) -> Bool? {
    if a == b { return nil }
    switch (a, b) {
    case (.integer(let a), .integer(let b)): return a < b
    case (.real(let a), .real(let b)): return a < b
    case (.integer(let a), .real(let b)): return Double(a) < b
    case (.real(let a), .integer(let b)): return a < Double(b)
    case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)): return a.lexicographicallyPrecedes(b)
    default: return rank(a) < rank(b)
    }
  }

  private static func rank(_ value: SQLValue) -> Int {
    switch value {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    }
  }
}

extension SQLRow {
  /// Mixes a value and its storage class into a hash of two halves.
  fileprivate func mix(_ column: Int, into first: inout UInt64, _ second: inout UInt64) {
    switch storage(column) {
    case .null: Self.mix(0, 1, &first, &second)
    case .integer: Self.mix(UInt64(bitPattern: int64(column)), 2, &first, &second)
    case .real:
      // An index and its table may hold a whole number in either way.
      let number = double(column)
      if let whole = Int64(exactly: number) {
        Self.mix(UInt64(bitPattern: whole), 2, &first, &second)
      } else {
        Self.mix(number.bitPattern, 3, &first, &second)
      }
    case .text, .blob:
      let bytes = self.bytes(column)
      Self.mix(UInt64(bytes.count), storage(column) == .text ? 4 : 5, &first, &second)
      var place = 0
      while place + 8 <= bytes.count {
        let word = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: UInt64.self) }
        Self.mix(word, 6, &first, &second)
        place += 8
      }
      var rest: UInt64 = 0
      while place < bytes.count {
        rest = rest << 8 | UInt64(bytes[place])
        place += 1
      }
      Self.mix(rest, 7, &first, &second)
    }
  }

  private static func mix(_ word: UInt64, _ kind: UInt64, _ first: inout UInt64, _ second: inout UInt64) {
    let a = (first ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15 &+ kind &* 2)
    let b = (second &+ word ^ kind).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    first = a.high ^ a.low &+ second
    second = b.high ^ b.low ^ first.byteSwapped
  }
}

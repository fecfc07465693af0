import GodwitModel
import GodwitStore

/// Completes join tables from their indexes, which have every pair too.
///
/// A pair that a sound index has, and the table lost, comes back. Where a table that was read whole does not have the
/// pairs of its indexes, and these agree, the pages are those of another table. The place of an object in an ordered
/// relationship is in the table alone, and stays nil.
struct JoinRebuild {
  private let copy: CopyStore
  private let schema: StoreSchema
  private(set) var notes: [String] = []
  private(set) var losses: [String] = []

  init(_ copy: CopyStore, _ schema: StoreSchema) { (self.copy, self.schema) = (copy, schema) }

  mutating func run() throws {
    for join in schema.joinTables {
      guard let state = copy.states[join.name], !state.isMade else { continue }
      let indexes = indexes(of: join)
      if state.parts.isEmpty {
        try compare(join, state, indexes)
      } else {
        try complete(join, indexes)
      }
    }
  }

  /// An index with both columns.
  private struct PairIndex {
    let root: UInt32
    /// Whether it has the destination first.
    let isTurned: Bool
  }

  private func indexes(of join: StoreSchema.JoinTable) -> [PairIndex] {
    copy.source.catalog.indexes.compactMap { index in
      guard index.table == join.name else { return nil }
      // The index of a primary key has no text: the table's definition has the columns in its order.
      let words: [String]
      if let sql = index.sql {
        let list: Substring = sql.drop { $0 != "(" }
        words = list.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
      } else {
        words = copy.tables[join.name]?.recordColumns.map(\.name) ?? []
      }
      guard let owner = words.firstIndex(of: join.ownerColumn),
        let destination = words.firstIndex(of: join.destinationColumn)
      else { return nil }
      return PairIndex(root: index.root, isTurned: destination < owner)
    }
  }

  /// Walks an index from owner to destination.
  private func walk(
    _ index: PairIndex, _ body: @escaping (_ owner: Int64, _ destination: Int64) throws -> Void
  ) throws -> Bool {
    var last: (Int64, Int64, Int64)?
    let walk = IndexWalk(copy.source) { values in
      guard values.count == 3, case .integer(let first) = values[0], case .integer(let second) = values[1],
        case .integer(let row) = values[2]
      else { return false }
      if let last, last >= (first, second, row) { return false }
      last = (first, second, row)
      try index.isTurned ? body(second, first) : body(first, second)
      return true
    }
    return try walk.walk(from: index.root, reached: &copy.source.reached)
  }

  // MARK: Completing

  private mutating func complete(_ join: StoreSchema.JoinTable, _ indexes: [PairIndex]) throws {
    try leaveOutOthers(join, indexes)
    let (count, isWhole) = try insert(join, from: indexes)
    if count > 0 {
      copy.states[join.name]?.rows += count
      notes.append("\(count.counted("pair")) of join table '\(join.name)' came back from its indexes")
    }
    // All pairs are there again: nothing is lost but places.
    guard isWhole, count == 0 || !isOrdered(join) else { return }
    let healed = copy.states[join.name]?.parts.count ?? 0
    copy.states[join.name]?.healedParts += healed
    copy.states[join.name]?.parts = []
  }

  /// Deletes the pairs of a table if some are of another one: two whole indexes agree, and do not have them.
  private mutating func leaveOutOthers(_ join: StoreSchema.JoinTable, _ indexes: [PairIndex]) throws {
    guard indexes.count > 1 else { return }
    let connection = copy.connection
    var sums: [PairSum] = []
    try connection.execute("CREATE TEMP TABLE godwit_salvage_pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID")
    defer { try? connection.execute("DROP TABLE temp.godwit_salvage_pairs") }
    let insert = try connection.prepare("INSERT OR IGNORE INTO temp.godwit_salvage_pairs VALUES (?1, ?2)")
    defer { insert.finalize() }
    for index in indexes {
      let sum = PairSumBox()
      let isFirst = sums.isEmpty
      let isWhole = try walk(index) { owner, destination in
        sum.value.add(owner, destination)
        if isFirst { try insert.run([.integer(owner), .integer(destination)]) }
      }
      guard isWhole, isFirst || sums[0] == sum.value else { return }
      sums.append(sum.value)
    }
    let columns = [join.ownerColumn, join.destinationColumn].map(quoted).joined(separator: ", ")
    try connection.execute(
      "DELETE FROM main.\(quoted(join.name)) WHERE (\(columns)) NOT IN (SELECT a, b FROM temp.godwit_salvage_pairs)")
    guard connection.changes > 0 else { return }
    copy.states[join.name]?.rows -= connection.changes
    notes.append(
      "\(connection.changes.counted("pair")) in join table '\(join.name)' were of another table, as its indexes show")
  }

  private func isOrdered(_ join: StoreSchema.JoinTable) -> Bool {
    join.ownerOrderColumn != nil || join.destinationOrderColumn != nil
  }

  private func insert(
    _ join: StoreSchema.JoinTable, from indexes: [PairIndex]
  ) throws -> (count: Int64, isWhole: Bool) {
    let connection = copy.connection
    let columns = [join.ownerColumn, join.destinationColumn].map(quoted).joined(separator: ", ")
    let insert = try connection.prepare(
      "INSERT OR IGNORE INTO main.\(quoted(join.name)) (\(columns)) VALUES (?1, ?2)")
    defer { insert.finalize() }
    var count: Int64 = 0
    var isWhole = false
    for index in indexes where !isWhole {
      isWhole = try walk(index) { owner, destination in
        try insert.run([.integer(owner), .integer(destination)])
        count += connection.changes
      }
    }
    return (count, isWhole)
  }

  // MARK: Comparing

  /// Replaces the pairs of a table whose two indexes agree with each other, and not with it.
  private mutating func compare(
    _ join: StoreSchema.JoinTable, _ state: CopyStore.State, _ indexes: [PairIndex]
  ) throws {
    var (own, turned) = (PairSum(), PairSum())
    try copy.connection.query(
      "SELECT \(quoted(join.ownerColumn)), \(quoted(join.destinationColumn)) FROM main.\(quoted(join.name))"
    ) { row in
      own.add(row.int64(0), row.int64(1))
      turned.add(row.int64(1), row.int64(0))
      return true
    }
    var sums: [PairSum] = []
    for index in indexes {
      let sum = PairSumBox()
      guard try walk(index, { sum.value.add($0, $1) }) else { return }
      // Two indexes that changed places have each pair the other way round.
      if sum.value == own || sum.value == turned { return }
      sums.append(sum.value)
    }
    guard let first = sums.first else { return }
    guard sums.count > 1, sums.allSatisfy({ $0 == first }) else {
      losses.append("the pairs of join table '\(join.name)' are not those of its index: which are right is not known")
      return
    }
    try copy.connection.execute("DELETE FROM main.\(quoted(join.name))")
    copy.states[join.name]?.rows = try insert(join, from: indexes).count
    notes.append("join table '\(join.name)' was made again from its indexes, which agree: its pages had other pairs")
    if isOrdered(join) {
      copy.states[join.name]?.parts = [LostPart(page: 0, keys: .min ... .max, reason: .misplaced)]
    }
  }
}

/// Pairs as a number and a sum that does not depend on their order.
private struct PairSum: Equatable {
  private var count: Int64 = 0
  private var sum: UInt64 = 0

  mutating func add(_ owner: Int64, _ destination: Int64) {
    count += 1
    var bits = UInt64(bitPattern: owner) &* 0x9E37_79B9_7F4A_7C15
    bits = (bits ^ (bits >> 29) ^ UInt64(bitPattern: destination)) &* 0xBF58_476D_1CE4_E5B9
    sum &+= bits ^ (bits >> 32)
  }
}

private final class PairSumBox { var value = PairSum() }

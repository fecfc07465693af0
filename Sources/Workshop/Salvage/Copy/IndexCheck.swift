import GodwitModel
import GodwitStore

/// Compares the rows of tables that were read whole with the entries of their indexes.
///
/// An index has one entry for each row, with the key of the row. If all indexes of a table that can be read have other
/// keys, a page of the table may be one of another table, or of an earlier time. If one has the same keys, an index with
/// other keys is old. An index with the same keys and other values shows that a value is wrong, there or in the row. Join
/// tables of the model are left to `JoinRebuild`.
struct IndexCheck {
  private let copy: CopyStore
  private let schema: StoreSchema?

  init(_ copy: CopyStore, _ schema: StoreSchema?) { (self.copy, self.schema) = (copy, schema) }

  private struct Index {
    let name: String
    let root: UInt32
    /// nil if the terms are not columns alone.
    let columns: [String]?
  }

  /// - Returns: The indexes that contradict a table, one sentence each.
  func run() throws -> [String] {
    try copy.names.flatMap { name -> [String] in
      guard let state = copy.states[name], state.parts.isEmpty, !state.isMade, state.madeColumns.isEmpty,
        schema?.joinTables.contains(where: { $0.name == name }) != true, let table = copy.tables[name]
      else { return [] }
      var (ofKeys, ofValues): ([String], [String]) = ([], [])
      var isConfirmed = false
      for entry in copy.source.catalog.indexes where entry.table == name && !entry.isPartial {
        let index = Index(name: entry.name, root: entry.root, columns: try columns(of: entry, table))
        guard let entries = try entries(index) else { continue }
        let rows = try rows(table, index)
        isConfirmed = isConfirmed || entries.hasKeys(of: rows)
        guard entries != rows else { continue }
        let contradiction =
          "table '\(name)' has \(rows.count.counted("row")) and its index '\(entry.name)' "
          + (entries.hasKeys(of: rows) ? "other values" : entries.count == rows.count ? "others" : "\(entries.count)")
          + ": which are right is not known"
        if entries.hasKeys(of: rows) { ofValues.append(contradiction) } else { ofKeys.append(contradiction) }
      }
      return ofValues + (isConfirmed ? [] : Array(ofKeys.prefix(1)))
    }
  }

  private func columns(of entry: Catalog.Entry, _ table: CopyTable) throws -> [String]? {
    let known = Dictionary(table.recordColumns.map { ($0.name.lowercased(), $0.name) }) { first, _ in first }
    guard let sql = entry.sql else {
      let names = try copy.connection.strings(
        "SELECT name FROM pragma_index_info(?1, 'main') ORDER BY seqno", [.text(entry.name)])
      return names.isEmpty ? nil : names
    }
    guard let start = sql.lastIndex(of: "("), let end = sql.lastIndex(of: ")"), start < end else { return nil }
    var columns: [String] = []
    for term in sql[sql.index(after: start)..<end].split(separator: ",") {
      let words = term.split { $0.isWhitespace || $0 == "\"" }.map { $0.lowercased() }
      guard let first = words.first, let name = known[first],
        words.dropFirst().allSatisfy({ ["asc", "desc", "collate", "binary"].contains($0) })
      else { return nil }
      columns.append(name)
    }
    return columns
  }

  /// The entries of an index; nil unless its tree is whole.
  private func entries(_ index: Index) throws -> RowSum? {
    var sum = RowSum()
    let walk = IndexWalk(copy.source) { values in
      guard case .integer(let key)? = values.last else { return false }
      if let columns = index.columns, values.count != columns.count + 1 { return false }
      sum.add(key, index.columns == nil ? [] : values.dropLast())
      return true
    }
    return try walk.walk(from: index.root, reached: &copy.source.reached) ? sum : nil
  }

  private func rows(_ table: CopyTable, _ index: Index) throws -> RowSum {
    var sum = RowSum()
    let columns = ([table.rowidName] + (index.columns ?? []).map(quoted)).joined(separator: ", ")
    try copy.connection.query("SELECT \(columns) FROM main.\(quoted(table.name))") { row in
      sum.add(row.int64(0), row.values(1..<row.count)[...])
      return true
    }
    return sum
  }
}

/// Rows as a number, and as sums of keys and of values that do not depend on their order.
private struct RowSum: Equatable {
  private(set) var count: Int64 = 0
  private var keys: UInt64 = 0
  private var sum: UInt64 = 0

  func hasKeys(of other: RowSum) -> Bool { count == other.count && keys == other.keys }

  mutating func add(_ key: Int64, _ values: ArraySlice<SQLValue>) {
    count += 1
    var bits = Self.mixed(UInt64(bitPattern: key))
    keys &+= bits
    for value in values {
      let number: UInt64 =
        switch value {
        case .integer(let number): UInt64(bitPattern: number)
        case .real(let number): Int64(exactly: number).map { UInt64(bitPattern: $0) } ?? number.bitPattern
        case .null: 1 << 63
        case .text(let bytes), .blob(let bytes): Self.hash(bytes)
        }
      bits = Self.mixed(bits ^ number)
    }
    sum &+= bits
  }

  /// FNV-1a.
  private static func hash(_ bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  private static func mixed(_ bits: UInt64) -> UInt64 {
    let bits = (bits ^ (bits >> 29)) &* 0xBF58_476D_1CE4_E5B9 &+ 0x9E37_79B9_7F4A_7C15
    return bits ^ (bits >> 32)
  }
}

import GodwitModel
import GodwitStore

/// The copy under construction: the tables of the source, and what was read of each.
///
/// 1. `makeTables` executes the definitions that are left.
/// 2. `load` walks the tree of a table, and writes its rows as they are found.
/// 3. `findOrphans` looks for leaves without a tree, for the tables that lost a part.
///
/// Rows stream from page to table. Memory holds one row, SQLite's cache, two bits for each page, and the lost parts.
final class CopyStore {
  /// The rows and the losses of a table.
  struct State {
    var rows: Int64 = 0
    var orphanRows: Int64 = 0
    var guessedRows: Int64 = 0
    /// Rows that a constraint of the table forbids, or whose key is taken.
    var refusedRows: Int64 = 0
    var parts: [LostPart] = []
    /// Lost parts whose pages were found without their parents.
    var healedParts = 0
    var knownLengths: Set<Int> = []
    /// Rows whose last value ends with a page of zeros, which may be a hole.
    var doubtful = SomeRows()
    /// Rows with a text that is not UTF-8.
    var malformed = SomeRows()
    /// Whether the definition is the model's, as the source has none.
    var isMade = false
    var madeColumns: [String] = []
    var isLoaded = false
  }

  /// A number of rows, and the keys of the first ones.
  struct SomeRows {
    private(set) var count: Int64 = 0
    private var keys: [Int64] = []

    mutating func add(_ key: Int64) {
      count += 1
      if keys.count < 10 { keys.append(key) }
    }

    /// `keys 3, 4, …`
    var text: String {
      "keys \(keys.map(String.init).joined(separator: ", "))\(Int64(keys.count) < count ? ", …" : "")"
    }
  }

  let source: SalvageSource
  let connection: StoreConnection
  private(set) var tables: [String: CopyTable] = [:]
  /// In the order of their definitions.
  private(set) var names: [String] = []
  var states: [String: State] = [:]
  var shapes: [String: TableShape] = [:]
  private(set) var roots: [String: UInt32] = [:]
  /// The tables that the copy lacks, one sentence each.
  private(set) var leftOut: [String] = []
  private(set) var unassignedPages: [UInt32] = []
  private(set) var freedPages: Int64 = 0

  /// More parts than these are kept as wider ones.
  private static let limitParts = 50_000
  /// A row of this size is decoded to look whether its page is misplaced.
  private static let sampledBytes = 64 << 10

  init(_ source: SalvageSource, path: String, cache: ByteCount) throws {
    self.source = source
    connection = try StoreConnection(path: path, cache: cache, create: true)
    try EmptyStore.configure(connection)
    // A copy that fails is deleted, so a rollback is not needed.
    try connection.undefended { try connection.execute("PRAGMA main.journal_mode = OFF") }
    try connection.execute("PRAGMA main.synchronous = OFF")
    // A row of the source is copied although it breaks a CHECK.
    try connection.execute("PRAGMA ignore_check_constraints = ON")
    try connection.execute("PRAGMA temp_store = FILE")
    try connection.execute("BEGIN IMMEDIATE")
  }

  // MARK: Tables

  func makeTables() throws {
    for entry in source.catalog.tables {
      guard let sql = entry.sql, Self.isPlain(sql) else {
        leftOut.append("table '\(entry.name)': its definition is not one of a plain table")
        continue
      }
      do { try connection.execute(sql) } catch let error as GodwitError where error.code != .inputOutput {
        leftOut.append("table '\(entry.name)': SQLite refuses its definition")
        continue
      }
      if try addTable(entry.name) { roots[entry.name] = entry.root }
    }
  }

  /// Whether a definition only lists columns: it runs no query.
  private static func isPlain(_ sql: String) -> Bool {
    let text = Catalog.Entry.words(of: sql).uppercased()
    guard text.hasPrefix("CREATE TABLE ") else { return false }
    return !text.contains(/\bAS\b\s*\(?\s*(SELECT|WITH|VALUES)\b/)
  }

  /// Makes a table that the source does not define.
  func makeTable(_ name: String, _ sql: String) throws {
    try connection.execute(sql)
    guard try addTable(name) else { return }
    states[name]?.isMade = true
  }

  func makeColumn(_ column: String, _ type: String, in table: String) throws {
    try connection.execute("ALTER TABLE main.\(quoted(table)) ADD COLUMN \(quoted(column)) \(type)")
    states[table]?.madeColumns.append(column)
  }

  private func addTable(_ name: String) throws -> Bool {
    guard let table = try CopyTable(name, on: connection) else {
      leftOut.append("table '\(name)': it has no row keys, or does not bear the name of its definition")
      return false
    }
    tables[name] = table
    names.append(name)
    states[name] = State()
    shapes[name] = table.shape()
    return true
  }

  /// Gives a table whose definition is lost the root at which it must be.
  func adopt(_ root: UInt32, for name: String) { roots[name] = root }

  // MARK: Rows

  /// Writes all rows of a table that its tree leads to.
  func load(_ name: String) throws {
    guard let table = tables[name], states[name]?.isLoaded == false else { return }
    states[name]?.isLoaded = true
    guard let root = roots[name] else {
      return note(LostPart(page: 0, keys: .min ... .max, reason: .missing), name)
    }
    try table.begin(connection)
    defer { table.finish() }
    let walk = TableWalk(pages: source.pages, map: source.map) { [self] leaf, bytes, page, keys in
      try take(leaf, bytes, page, keys, table)
    } lost: { [self] in
      note($0, name)
    }
    try walk.walk(from: root, reached: &source.reached)
  }

  private func take(
    _ leaf: TableLeaf, _ bytes: [UInt8], _ page: UInt32, _ keys: ClosedRange<Int64>, _ table: CopyTable
  ) throws -> Bool {
    guard let shape = shapes[table.name] else { return false }
    guard leaf.isSound else {
      let rows = try source.rows.remains(of: leaf, bytes, page: page, keys: keys, shape: known(shape))
      guard !rows.isEmpty else { return false }
      for row in rows { try add(row, table) }
      note(LostPart(page: page, keys: keys, reason: .rows), table.name)
      return true
    }
    guard try !isMisplaced(leaf, bytes, page, shape), try !isOfCatalog(leaf, bytes, page) else { return false }
    try source.rows.forEachRow(of: leaf, bytes, page: page) { row in
      if row.values.count < table.recordColumns.count { states[table.name]?.knownLengths.insert(row.values.count) }
      try add(row, table)
    } lost: { key in
      note(LostPart(page: page, keys: key...key, reason: .rows), table.name)
    }
    return true
  }

  private func add(_ row: LeafRows.Row, _ table: CopyTable) throws {
    if try insert(row, table) {
      states[table.name]?.rows += 1
    } else {
      states[table.name]?.refusedRows += 1
    }
  }

  private func insert(_ row: LeafRows.Row, _ table: CopyTable) throws -> Bool {
    guard try table.insert(row, on: connection) else { return false }
    if row.isDoubtful { states[table.name]?.doubtful.add(row.key) }
    let isMalformed = row.values.contains { value in
      guard case .text(let bytes) = value else { return false }
      return !bytes.withUnsafeBytes(Text.isUTF8)
    }
    if isMalformed { states[table.name]?.malformed.add(row.key) }
    return true
  }

  /// Whether no row of a page can be of the table, and all can be of another one.
  private func isMisplaced(_ leaf: TableLeaf, _ bytes: [UInt8], _ page: UInt32, _ shape: TableShape) throws -> Bool {
    var sample: [[SQLValue]] = []
    for cell in leaf.cells where cell.payloadBytes <= Self.sampledBytes {
      guard let row = try source.rows.row(cell, bytes, page: page) else { continue }
      if shape.begins(row.values) { return false }
      sample.append(row.values)
    }
    guard !sample.isEmpty else { return false }
    return sample.allSatisfy { Catalog.isEntry($0, source.pages.pageCount) }
      || shapes.contains { name, other in name != shape.table && sample.allSatisfy(other.begins) }
  }

  /// Whether a page is a copy of a page with definitions.
  private func isOfCatalog(_ leaf: TableLeaf, _ bytes: [UInt8], _ page: UInt32) throws -> Bool {
    guard let cell = leaf.cells.first, let row = try source.rows.row(cell, bytes, page: page),
      Catalog.isEntry(row.values, source.pages.pageCount)
    else { return false }
    return try source.catalog.leaves.contains { try source.pages.page($0) == bytes }
  }

  private func known(_ shape: TableShape) -> TableShape {
    var shape = shape
    shape.knownLengths = states[shape.table]?.knownLengths ?? []
    return shape
  }

  private func note(_ part: LostPart, _ table: String) {
    guard let parts = states[table]?.parts else { return }
    if parts.count >= Self.limitParts, let last = parts.last {
      let keys = min(last.keys.lowerBound, part.keys.lowerBound)...max(last.keys.upperBound, part.keys.upperBound)
      states[table]?.parts[parts.count - 1] = LostPart(page: last.page, keys: keys, reason: last.reason)
    } else {
      states[table]?.parts.append(part)
    }
  }

  // MARK: Leaves without a tree

  /// Notes the tables of which pages are left that their trees do not lead to: a tree that looks whole may have the page
  /// of another place as its root.
  func noteUnreached() throws {
    guard source.pages.ownPages > 2 else { return }
    let tables = Dictionary(roots.map { ($1, $0) }) { first, _ in first }
    var noted: Set<String> = []
    for page in 3...source.pages.ownPages where !source.reached.contains(page) {
      if source.map.isPresent {
        guard let root = try source.map.root(of: page), let name = tables[root], noted.insert(name).inserted,
          states[name]?.parts.contains(where: { $0.reason != .rows }) == false
        else { continue }
        note(LostPart(page: page, keys: .min ... .max, reason: .misplaced), name)
      } else if source.free.isSound, !source.free.contains(page) {
        try noteLeaf(page)
      }
    }
  }

  /// Notes the tables that all rows of a leaf fit.
  private func noteLeaf(_ page: UInt32) throws {
    guard let bytes = try source.pages.page(page),
      let leaf = TableLeaf(bytes, at: 0, usableSize: source.pages.usableSize), leaf.isSound,
      let first = leaf.cells.first, let last = leaf.cells.last
    else { return }
    let rows = try leaf.cells.filter { $0.payloadBytes <= Self.sampledBytes }.compactMap {
      try source.rows.row($0, bytes, page: page)?.values
    }
    guard !rows.isEmpty else { return }
    for (name, shape) in shapes
    where rows.allSatisfy(known(shape).fits)
      && states[name]?.parts.contains(where: { $0.keys.contains(first.key) && $0.keys.contains(last.key) }) == false
    {
      note(LostPart(page: page, keys: first.key...last.key, reason: .misplaced), name)
    }
  }

  /// - Parameters:
  ///   - wanted: The tables to look for.
  ///   - isRow: More that rows of a table must fulfil.
  ///   - isLast: Whether all tables were walked, so that a page that is left has rows of no table that is known.
  func findOrphans(of wanted: [String], isRow: [String: (LeafRows.Row) -> Bool] = [:], isLast: Bool) throws {
    var candidates: [OrphanSearch.Candidate] = []
    for name in wanted {
      guard let table = tables[name], let shape = shapes[name], let parts = states[name]?.parts,
        parts.contains(where: { $0.reason != .rows })
      else { continue }
      candidates.append(
        .init(table: table, shape: known(shape), root: roots[name], parts: parts, isRow: isRow[name] ?? { _ in true }))
      try table.begin(connection)
    }
    guard !candidates.isEmpty || isLast && !source.catalog.lost.isEmpty else { return }
    let search = OrphanSearch(
      source.pages, source.map, source.free, source.rows, candidates: candidates,
      roots: source.catalog.roots.merging(roots.map { ($1, $0) }) { first, _ in first }
    ) { [self] table, row in try insert(row, table) }
    search.isForeign = { [self] leaf, bytes, page in try isOfCatalog(leaf, bytes, page) }
    try search.run(reached: &source.reached)
    if isLast { (unassignedPages, freedPages) = (search.unassigned, search.freedPages) }
    for candidate in candidates {
      candidate.table.finish()
      guard let result = search.results[candidate.table.name] else { continue }
      states[candidate.table.name]?.rows += result.rows
      states[candidate.table.name]?.orphanRows += result.rows
      states[candidate.table.name]?.guessedRows += result.guessedRows
      if result.isComplete {
        let rest = candidate.parts.filter { $0.reason == .rows }
        states[candidate.table.name]?.healedParts = candidate.parts.count - rest.count
        states[candidate.table.name]?.parts = rest
      }
      for part in result.lost { note(part, candidate.table.name) }
    }
  }

  /// Lets a statement that fails leave nothing behind: an index that two rows forbid.
  func beginIndexes() throws {
    try connection.execute("COMMIT")
    try connection.execute("PRAGMA main.journal_mode = MEMORY")
    try connection.execute("BEGIN IMMEDIATE")
  }

  /// The end of the transaction, and of the connection.
  func finish() throws {
    try connection.execute("COMMIT")
    try connection.close()
  }
}

import GodwitModel
import GodwitStore

/// Finds leaf pages that no tree leads to any more, and the table of each.
///
/// A page belongs to a table if the pointer map leads from it to the root of the table, and its rows fit. Where the map is
/// missing, or says of the page what cannot be, the page must be sound, all of its rows must fit exactly one table that
/// lost a part, and its keys must lie within one such part. Free pages are left alone: their rows were deleted.
final class OrphanSearch {
  /// A table that lost a part.
  struct Candidate {
    let table: CopyTable
    let shape: TableShape
    let root: UInt32?
    let parts: [LostPart]
    /// More that all rows of a page must fulfil.
    var isRow: (LeafRows.Row) -> Bool = { _ in true }
  }

  /// The rows and pages that were found for a table.
  struct Result {
    var rows: Int64 = 0
    var pages: Int64 = 0
    /// Rows of pages that were assigned without the pointer map.
    var guessedRows: Int64 = 0
    /// Parts of found pages that are lost.
    var lost: [LostPart] = []
    /// Whether the pointer map shows that no page of the table is missing.
    var isComplete = false
  }

  /// The owner of a page by the pointer map.
  private enum Owner: Equatable {
    case table(String)
    case unknownRoot(UInt32)
    /// A tree that lost nothing.
    case other
    case unknown
  }

  private let pages: PageFile
  private let map: PointerMap
  private let free: FreePages
  private let rows: LeafRows
  private let candidates: [String: Candidate]
  /// The table of each root; empty for the root of an index.
  private let roots: [UInt32: String]
  /// Roots that no definition names, and the tables that they were found to be of.
  private var found: [UInt32: String] = [:]
  private let insert: (CopyTable, LeafRows.Row) throws -> Bool
  /// Whether a page is of no table that is searched for, whatever its rows look like.
  var isForeign: (_ leaf: TableLeaf, _ bytes: [UInt8], _ page: UInt32) throws -> Bool = { _, _, _ in false }

  private(set) var results: [String: Result] = [:]
  /// The tables of which a page is lost for certain.
  private var incomplete: Set<String> = []
  /// Sound leaves with rows whose table is not known.
  private(set) var unassigned: [UInt32] = []
  private(set) var freedPages: Int64 = 0

  init(
    _ pages: PageFile, _ map: PointerMap, _ free: FreePages, _ rows: LeafRows, candidates: [Candidate],
    roots: [UInt32: String], insert: @escaping (CopyTable, LeafRows.Row) throws -> Bool
  ) {
    (self.pages, self.map, self.free, self.rows, self.roots) = (pages, map, free, rows, roots)
    self.candidates = Dictionary(candidates.map { ($0.table.name, $0) }) { first, _ in first }
    self.insert = insert
  }

  /// - Parameter reached: The pages of trees that were walked; the pages that are found are added.
  func run(reached: inout PageBits) throws {
    guard pages.ownPages >= 2 else { return }
    for candidate in candidates.values { results[candidate.table.name] = Result() }
    let (parents, isMapWhole) = try parents()
    var open = PageBits(pageCount: pages.pageCount)
    for page in 2...pages.ownPages
    where !reached.contains(page) && !map.isMap(page) && !pages.isLockPage(page) {
      let entry = try map.entry(of: page)
      if free.isSound && free.contains(page) || entry?.use == .free {
        freedPages += 1
        continue
      }
      let owner = try owner(of: page)
      let bytes = try pages.page(page)
      var leaf = bytes.flatMap { TableLeaf($0, at: 0, usableSize: pages.usableSize) }
      if let bytes, let found = leaf, try isForeign(found, bytes, page) { leaf = nil }
      if case .table(let name) = owner, let candidate = candidates[name] {
        if let bytes, let leaf, !leaf.cells.isEmpty, try take(leaf, bytes, page, for: candidate) {
          reached.insert(page)
          continue
        }
        // The rows of an inner page are in its children.
        if !parents.contains(page) { incomplete.insert(name) }
      }
      if owner != .other, let leaf, leaf.isSound, !leaf.cells.isEmpty { open.insert(page) }
    }
    for page in 2...pages.ownPages where open.contains(page) {
      if try !assign(page) { unassigned.append(page) } else { reached.insert(page) }
    }
    for name in candidates.keys where isMapWhole && !incomplete.contains(name) {
      let isRooted = candidates[name]?.root != nil || found.values.contains(name)
      results[name]?.isComplete = isRooted
    }
  }

  /// The parents of pages by the pointer map, and whether the map is whole.
  private func parents() throws -> (parents: PageBits, isMapWhole: Bool) {
    var parents = PageBits(pageCount: pages.pageCount)
    var isMapWhole = map.isPresent && pages.missingPages == 0
    for page in 2...pages.ownPages where map.isPresent && !map.isMap(page) && !pages.isLockPage(page) {
      if let entry = try map.entry(of: page) {
        if entry.use == .tree { parents.insert(entry.parent) }
      } else if page > 2 {
        isMapWhole = false
      }
    }
    // Without a header, an entry of a page behind the end shows that the file is cut off.
    if pages.header.pageCount == nil, try map.entry(of: pages.pageCount + 1) != nil { isMapWhole = false }
    return (parents, isMapWhole)
  }

  // MARK: By the pointer map

  private func owner(of page: UInt32) throws -> Owner {
    guard let root = try map.root(of: page) else { return roots[page].map(owner) ?? .unknown }
    return (roots[root] ?? found[root]).map(owner) ?? .unknownRoot(root)
  }

  private func owner(_ name: String) -> Owner { candidates[name] == nil ? .other : .table(name) }

  /// Takes the rows of a page that the map gives to a table, if they fit.
  ///
  /// The table stays incomplete if the page is damaged, or has keys that are not of a lost part: what was there is lost.
  private func take(_ leaf: TableLeaf, _ bytes: [UInt8], _ page: UInt32, for candidate: Candidate) throws -> Bool {
    guard leaf.isSound else {
      let own = candidate.parts.first { $0.page == page && $0.reason != .rows }
      let keys = own?.keys ?? .min ... .max
      let remains = try rows.remains(of: leaf, bytes, page: page, keys: keys, shape: candidate.shape)
      guard !remains.isEmpty else { return false }
      incomplete.insert(candidate.table.name)
      for row in remains { try add(row, to: candidate, isGuess: false) }
      let range = (remains.first?.key ?? .min)...(remains.last?.key ?? .max)
      results[candidate.table.name]?.lost.append(LostPart(page: page, keys: range, reason: .rows))
      results[candidate.table.name]?.pages += 1
      return true
    }
    // One row that fits is enough where the map says the same.
    guard try fits(leaf, bytes, page, candidate, needsAll: false) else { return false }
    let isOfGap = candidate.parts.contains { part in
      part.reason != .rows && leaf.cells.allSatisfy { part.keys.contains($0.key) }
    }
    if !isOfGap { incomplete.insert(candidate.table.name) }
    try takeAll(leaf, bytes, page, candidate, isGuess: false)
    return true
  }

  // MARK: By the rows

  /// - Returns: Whether the page belongs to exactly one table.
  private func assign(_ page: UInt32) throws -> Bool {
    guard let bytes = try pages.page(page), let leaf = TableLeaf(bytes, at: 0, usableSize: pages.usableSize),
      let first = leaf.cells.first?.key, let last = leaf.cells.last?.key
    else { return false }
    let fitting = try candidates.values.filter { candidate in
      guard candidate.parts.contains(where: { $0.reason != .rows && $0.keys.contains(first) && $0.keys.contains(last) })
      else { return false }
      return try fits(leaf, bytes, page, candidate)
    }
    guard fitting.count == 1 else { return false }
    if case .unknownRoot(let root) = try owner(of: page) {
      // The pages of one tree belong to one table.
      let name = fitting[0].table.name
      guard found[root] == nil || found[root] == name else { return false }
      found[root] = name
    }
    try takeAll(leaf, bytes, page, fitting[0], isGuess: true)
    return true
  }

  /// Whether the rows of a page that decode whole fit a table: all of them, or at least one.
  private func fits(
    _ leaf: TableLeaf, _ bytes: [UInt8], _ page: UInt32, _ candidate: Candidate, needsAll: Bool = true
  ) throws -> Bool {
    var count = 0
    for cell in leaf.cells {
      guard let row = try rows.row(cell, bytes, page: page) else { continue }
      let fits = candidate.shape.fits(row.values) && candidate.isRow(row)
      if fits, !needsAll { return true }
      if !fits, needsAll { return false }
      if fits { count += 1 }
    }
    return count > 0
  }

  private func takeAll(
    _ leaf: TableLeaf, _ bytes: [UInt8], _ page: UInt32, _ candidate: Candidate, isGuess: Bool
  ) throws {
    results[candidate.table.name]?.pages += 1
    try rows.forEachRow(of: leaf, bytes, page: page) { row in
      try add(row, to: candidate, isGuess: isGuess)
    } lost: { key in
      results[candidate.table.name]?.lost.append(LostPart(page: page, keys: key...key, reason: .rows))
    }
  }

  private func add(_ row: LeafRows.Row, to candidate: Candidate, isGuess: Bool) throws {
    guard try insert(candidate.table, row) else {
      // The page is a copy of another one, and its own rows are lost.
      incomplete.insert(candidate.table.name)
      return
    }
    results[candidate.table.name]?.rows += 1
    if isGuess { results[candidate.table.name]?.guessedRows += 1 }
  }
}

import GodwitModel
import GodwitStore

/// The definitions of a database: what is left of its table `sqlite_schema`.
struct Catalog {
  struct Entry: Hashable {
    /// `table`, `index`, `view` or `trigger`.
    let type: String
    let name: String
    let table: String
    /// 0 for what has no pages.
    let root: UInt32
    let sql: String?
  }

  /// In the order of the file.
  private(set) var entries: [Entry] = []
  /// The parts of the table that are lost.
  private(set) var lost: [LostPart] = []
  /// The pages that were found without the tree.
  private(set) var orphanPages = 0

  /// The most definitions that are read.
  private static let limitEntries = 100_000

  /// - Parameter reached: The pages of the table are added.
  init(
    _ pages: PageFile, _ map: PointerMap, _ free: FreePages, _ rows: LeafRows, reached: inout PageBits
  ) throws {
    var found: [Int64: Entry] = [:]
    var parts: [LostPart] = []
    func add(_ row: LeafRows.Row) -> Bool {
      guard let entry = Self.entry(row.values, pages.pageCount) else { return false }
      if found.count < Self.limitEntries, found[row.key] == nil { found[row.key] = entry }
      return true
    }
    let walk = TableWalk(pages: pages) { leaf, bytes, page, keys in
      var isAny = false
      try rows.forEachRow(of: leaf, bytes, page: page) { row in
        guard leaf.isSound || keys.contains(row.key) else { return }
        if add(row) { isAny = true } else { parts.append(LostPart(page: page, keys: row.key...row.key, reason: .rows)) }
      } lost: { key in
        parts.append(LostPart(page: page, keys: key...key, reason: .rows))
      }
      if !leaf.isSound, isAny { parts.append(LostPart(page: page, keys: keys, reason: .rows)) }
      return isAny || leaf.cells.isEmpty && leaf.isSound
    } lost: {
      parts.append($0)
    }
    try walk.walk(from: 1, reached: &reached)
    if parts.contains(where: { $0.reason != .rows }) || !parts.isEmpty {
      for page in 2...max(2, pages.pageCount) where !reached.contains(page) && !map.isMap(page) {
        guard !(free.isSound && free.contains(page)), try map.entry(of: page)?.use != .free,
          let bytes = try pages.page(page), let leaf = TableLeaf(bytes, at: 0, usableSize: pages.usableSize),
          leaf.isSound, !leaf.cells.isEmpty
        else { continue }
        var all: [LeafRows.Row] = []
        for cell in leaf.cells {
          guard let row = try rows.row(cell, bytes, page: page), Self.entry(row.values, pages.pageCount) != nil else {
            all = []
            break
          }
          all.append(row)
        }
        guard !all.isEmpty else { continue }
        for row in all { _ = add(row) }
        reached.insert(page)
        orphanPages += 1
      }
    }
    entries = found.sorted { $0.key < $1.key }.map(\.value)
    lost = parts
  }

  private static func entry(_ values: [SQLValue], _ pageCount: UInt32) -> Entry? {
    guard values.count == 5, case .text(let type) = values[0], case .text(let name) = values[1],
      case .text(let table) = values[2], let kind = String(validating: type, as: UTF8.self),
      let name = String(validating: name, as: UTF8.self), let table = String(validating: table, as: UTF8.self),
      ["table", "index", "view", "trigger"].contains(kind)
    else { return nil }
    var root: UInt32 = 0
    switch values[3] {
    case .integer(let number):
      guard let page = UInt32(exactly: number) else { return nil }
      root = page
    case .null: break
    default: return nil
    }
    var sql: String?
    switch values[4] {
    case .text(let bytes):
      guard let text = String(validating: bytes, as: UTF8.self), text.uppercased().hasPrefix("CREATE ") else {
        return nil
      }
      sql = text
    case .null: guard kind == "index" else { return nil }
    default: return nil
    }
    return Entry(type: kind, name: name, table: table, root: root, sql: sql)
  }

  /// The tables with pages of their own, without those that SQLite keeps for itself.
  var tables: [Entry] {
    entries.filter { $0.type == "table" && $0.root > 0 && !$0.name.lowercased().hasPrefix("sqlite_") }
  }

  /// Virtual tables, whose rows are in other tables.
  var virtualTables: [Entry] { entries.filter { $0.type == "table" && $0.root == 0 } }

  var indexes: [Entry] { entries.filter { $0.type == "index" && $0.root > 0 } }

  /// By root, the table of each; empty for an index.
  var roots: [UInt32: String] {
    Dictionary(
      entries.compactMap { entry -> (UInt32, String)? in
        guard entry.root > 0 else { return nil }
        return (entry.root, entry.type == "table" ? entry.name : "")
      }
    ) { first, _ in first }
  }
}

/// Whether the log beside a file is its own.
///
/// A log does not name the file that it belongs to. A log of another file shows in two ways: the store alone is whole
/// and is not with the log, or its identifier is another one with the log.
enum LogCheck {
  /// - Returns: Why the log or the journal is not used; nil if it is.
  static func refusal(of withLog: PageFile, path: String) throws -> String? {
    guard withLog.log != nil || withLog.hasJournal else { return nil }
    let name = withLog.log != nil ? "-wal" : "-journal"
    guard let alone = try? PageFile(path: path, usesLog: false), alone.header.isRead else { return nil }
    let (first, second) = (try Look(withLog), try Look(alone))
    if let a = first.identifier, let b = second.identifier, a != b {
      return "'\(path)\(name)' is not used: it is of another store, as its identifier shows"
    }
    if first.failures > 0, second.failures == 0 {
      return
        "'\(path)\(name)' is not used: the store is whole without it, and damaged with it, so it is of another file"
    }
    return nil
  }

  /// The state of the pages with or without the log.
  private struct Look {
    /// Parts of trees that are damaged, and indexes that do not have as many entries as their table has rows.
    var failures = 0
    var identifier: [UInt8]?
    private var counts: [String: Int] = [:]

    init(_ pages: PageFile) throws {
      let (map, free) = (try PointerMap(pages), try FreePages(pages))
      let rows = LeafRows(pages, OverflowReader(pages, map))
      var reached = PageBits(pageCount: pages.pageCount)
      let catalog = try Catalog(pages, map, free, rows, reached: &reached)
      failures = catalog.lost.count + (pages.missingPages > 0 ? 1 : 0)
      for table in catalog.tables {
        var found: [UInt8]?
        var (count, failed) = (0, 0)
        let walk = TableWalk(pages: pages) { leaf, bytes, page, _ in
          count += leaf.count
          if table.name == "Z_METADATA", let cell = leaf.cells.first,
            let row = try rows.row(cell, bytes, page: page), row.values.count > 1, case .text(let text) = row.values[1]
          {
            found = text
          }
          return leaf.isSound
        } lost: { _ in
          failed += 1
        }
        try walk.walk(from: table.root, reached: &reached)
        if table.name == "Z_METADATA" { identifier = found }
        failures += failed
        counts[table.name] = count
      }
      for index in catalog.indexes where index.sql?.uppercased().contains(" WHERE ") != true {
        guard let rows = counts[index.table] else { continue }
        if try IndexCount.entries(from: index.root, pages, &reached) != rows { failures += 1 }
      }
    }
  }
}

/// How many entries an index has.
private enum IndexCount {
  /// - Returns: nil if a page of the tree is none of an index.
  static func entries(from root: UInt32, _ pages: PageFile, _ reached: inout PageBits, depth: Int = 0) throws -> Int? {
    guard depth < 40, root > 1, reached.insert(root), let bytes = try pages.page(root),
      bytes[0] == 0x0A || bytes[0] == 0x02
    else { return nil }
    var count = Int(bytes.number(at: 3, size: 2))
    guard bytes[0] == 0x02 else { return count }
    guard 12 + 2 * count <= pages.usableSize else { return nil }
    var children = [UInt32(bytes.number(at: 8, size: 4))]
    for index in 0..<count {
      let place = Int(bytes.number(at: 12 + 2 * index, size: 2))
      guard place + 4 <= pages.usableSize else { return nil }
      children.append(UInt32(bytes.number(at: place, size: 4)))
    }
    for child in children {
      guard let entries = try entries(from: child, pages, &reached, depth: depth + 1) else { return nil }
      count += entries
    }
    return count
  }
}

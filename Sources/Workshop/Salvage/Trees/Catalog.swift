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

    /// Whether the rows of a table are in the tree of an index.
    var isWithoutRowKeys: Bool {
      sql.map(Self.words)?.contains(/(?i)\)[^()]*\bWITHOUT\s+ROWID\b[^()]*$/) == true
    }

    /// Whether an index has entries for some rows alone.
    var isPartial: Bool { sql.map(Self.words)?.contains(/(?i)\bWHERE\b/) == true }

    /// A definition without its comments, and with an empty text in place of each that is quoted.
    static func words(of sql: String) -> String {
      sql.replacing(
        /(?s)\/\*.*?\*\/|--[^\n]*|'(?:[^']|'')*'|"(?:[^"]|"")*"|\[[^\]]*\]|`(?:[^`]|``)*`/, with: "''")
    }
  }

  /// In the order of the file.
  private(set) var entries: [Entry] = []
  /// The parts of the table that are lost.
  private(set) var lost: [LostPart] = []
  /// The leaves of the table.
  private(set) var leaves: [UInt32] = []
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
    var leaves: [UInt32] = []
    let walk = TableWalk(pages: pages) { leaf, bytes, page, keys in
      leaves.append(page)
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
      for page in 2...max(2, pages.ownPages) where !reached.contains(page) && !map.isMap(page) {
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
        leaves.append(page)
        orphanPages += 1
      }
    }
    entries = found.sorted { $0.key < $1.key }.map(\.value)
    lost = parts
    self.leaves = leaves
  }

  /// Whether values are those of a row of the schema.
  static func isEntry(_ values: [SQLValue], _ pageCount: UInt32) -> Bool { entry(values, pageCount) != nil }

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

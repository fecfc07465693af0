import Foundation
import GodwitModel
import GodwitSalvage
import GodwitStore
import GodwitSynthesis
import GodwitXcode
import TestSupport

/// A random store, and which page holds which row, as SQLite itself says.
final class DamageWorld {
  static let models = [
    "Library.xcdatamodeld#Library 3", "Messenger.xcdatamodeld#Messenger v2.0", "Podcasts.xcdatamodeld#Podcasts 14",
    "Circles.xcdatamodeld#Circles 3", "Mixtapes.xcdatamodeld#Mixtapes 3",
  ]

  let folder: TemporaryFolder
  let store: String
  let model: String
  let schema: StoreSchema
  let content: StoreContent
  let pages: PageContent

  /// - Parameters:
  ///   - hasLog: Whether the last rows are in a write-ahead log.
  ///   - hasMap: Whether the file has a pointer map, as Core Data's have.
  init(seed: UInt64, rows: Int = 260, hasLog: Bool = false, hasMap: Bool = true) throws {
    var random = SeededGenerator(seed: seed)
    folder = try TemporaryFolder()
    let name = Self.models[Int(seed % UInt64(Self.models.count))]
    model = Checkout.url("Tests/Fixtures").path + "/" + name
    let reference = ModelReference(parsing: model)
    let version = try ModelBundle(contentsOf: reference.path).model(named: reference.version ?? "")
    schema = StoreSchema(model: version)
    store = folder.file("store.sqlite")
    let made = hasLog ? folder.file("made.sqlite") : store
    try StoreSynthesis(model: version, rows: rows, seed: seed).write(to: made)
    let connection = try StoreConnection(path: made)
    if !hasMap {
      try connection.execute("PRAGMA auto_vacuum = NONE")
      try connection.execute("VACUUM")
    }
    if hasLog {
      try connection.execute("PRAGMA journal_mode = WAL")
      try connection.execute("PRAGMA wal_autocheckpoint = 0")
    }
    // Pages that become free keep their rows.
    try connection.execute("PRAGMA secure_delete = OFF")
    try connection.execute("BEGIN")
    for table in schema.tables {
      for column in table.columns where column.declaredType == "VARCHAR" {
        let length = 3000 + random.below(9000)
        try connection.execute(
          "UPDATE \(quoted(table.name)) SET \(quoted(column.name)) = printf('%.*c', \(length), char(97 + Z_PK % 26)) || Z_PK WHERE Z_PK % 31 = ?1",
          [.int(random.below(31))])
      }
    }
    let table = schema.tables[random.below(schema.tables.count)]
    try connection.execute(
      "DELETE FROM \(quoted(table.name)) WHERE Z_PK BETWEEN ?1 AND ?1 + 60", [.int(random.below(60))])
    try connection.execute("COMMIT")
    if hasLog {
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: made + suffix, toPath: store + suffix)
      }
    }
    content = try StoreContent(connection)
    pages = try PageContent(connection, content)
    try connection.close()
  }

  /// The bytes of the store, or of a file beside it.
  func bytes(_ suffix: String = "") throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: store + suffix))) }

  /// Writes a damaged store with the same log, and salvages it.
  func salvage(
    _ bytes: [UInt8], log: [UInt8]? = nil, name: String = "damaged", models: [String]? = nil
  ) throws -> (report: SalvageReport, content: StoreContent, copy: String) {
    let path = folder.file("\(name).sqlite")
    let copy = folder.file("\(name)-copy.sqlite")
    for file in [path, path + "-wal", copy] { try? FileManager.default.removeItem(atPath: file) }
    try Data(bytes).write(to: URL(filePath: path))
    if let log { try Data(log).write(to: URL(filePath: path + "-wal")) }
    let report = try Salvage(store: path, copy: copy, models: models ?? [model]).run()
    let connection = try StoreConnection(path: copy)
    defer { try? connection.close() }
    return (report, try StoreContent(connection), copy)
  }
}

/// The rows of all tables by their keys.
struct StoreContent {
  struct Table {
    var columns: [String]
    var rows: [Int64: [SQLValue]]
  }

  var tables: [String: Table] = [:]

  init(_ connection: StoreConnection) throws {
    for name in try connection.strings(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT wr AND name NOT LIKE 'sqlite%'"
    ) {
      var rows: [Int64: [SQLValue]] = [:]
      try connection.query("SELECT rowid, * FROM \(quoted(name))") { row in
        rows[row.int64(0)] = row.values(1..<row.count)
        return true
      }
      let columns = try connection.strings("SELECT name FROM pragma_table_info(?1)", [.text(name)])
      tables[name] = Table(columns: columns, rows: rows)
    }
  }
}

/// Which pages hold each row, by SQLite's table `dbstat`.
struct PageContent {
  struct Row: Hashable {
    let table: String
    let key: Int64
  }

  private(set) var pagesOfRow: [Row: Set<Int>] = [:]
  private(set) var tableOfPage: [Int: String] = [:]
  private(set) var kindOfPage: [Int: String] = [:]
  let count: Int
  let size: Int
  private let hasMap: Bool

  private struct Page {
    let number: Int
    let path: String
    let cells: Int
  }

  init(_ connection: StoreConnection, _ content: StoreContent) throws {
    var leaves: [String: [Page]] = [:]
    var overflow: [String: [Page]] = [:]
    var (tables, kinds): ([Int: String], [Int: String]) = ([:], [:])
    try connection.query("SELECT name, path, pageno, pagetype, ncell FROM dbstat") { row in
      guard let name = row.string(0), let path = row.string(1), let type = row.string(3) else { return true }
      let page = Page(number: row.int(2), path: path, cells: row.int(4))
      (tables[page.number], kinds[page.number]) = (name, type)
      if type == "leaf" { leaves[name, default: []].append(page) }
      if type == "overflow" { overflow[name, default: []].append(page) }
      return true
    }
    for (name, table) in content.tables {
      let keys = table.rows.keys.sorted()
      var next = 0
      for leaf in (leaves[name] ?? []).sorted(by: { $0.path < $1.path }) {
        for cell in 0..<leaf.cells {
          let row = Row(table: name, key: keys[next])
          let hex = String(cell, radix: 16)
          let prefix = leaf.path + String(repeating: "0", count: 3 - hex.count) + hex + "+"
          pagesOfRow[row] = Set(
            (overflow[name] ?? []).filter { $0.path.hasPrefix(prefix) }.map(\.number) + [leaf.number])
          next += 1
        }
      }
      precondition(next == keys.count, "\(name): \(next) cells and \(keys.count) rows")
    }
    (tableOfPage, kindOfPage) = (tables, kinds)
    hasMap = try connection.integer("PRAGMA auto_vacuum") != 0
    count = Int(try connection.integer("PRAGMA page_count") ?? 0)
    size = Int(try connection.integer("PRAGMA page_size") ?? 0)
  }

  /// The pages of trees and of the pointer map, without free ones.
  func usedPages(_ bytes: [UInt8]) -> [Int] { (1...count).filter { tableOfPage[$0] != nil || isMap($0) } }

  func isMap(_ page: Int) -> Bool { hasMap && page >= 2 && (page - 2) % (size / 5 + 1) == 0 }
}

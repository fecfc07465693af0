import Foundation
import GodwitModel
import GodwitStore
import TestSupport

/// The kinds of damage of the page "Damaged stores". Each makes a small damaged store of a random one.
enum DamageKind: String, CaseIterable {
  case leaf = "a page of rows is zeros"
  case root = "the root page of a table is noise"
  case firstPage = "the first page is zeros"
  case cutOff = "the file is cut off"
  case swapped = "two pages changed places"
  case column = "a table lacks a column"
  case table = "a table is missing"
  case foreignLog = "the log is of another store"
  case damagedLog = "the log is damaged in the middle"
  case entityRows = "`Z_PRIMARYKEY` is wrong"
  case strays = "rows have a `Z_ENT` of no entity"
  case metadata = "the metadata is gone"

  /// The files of a damaged store.
  struct Made {
    var bytes: [UInt8]
    var log: [UInt8]?
    /// The pages that are damaged.
    var damaged: Set<Int> = []
  }

  /// Whether the log is part of it.
  var hasLog: Bool { self == .foreignLog || self == .damagedLog }

  func make(_ world: DamageWorld, seed: UInt64) throws -> Made {
    var made = Made(bytes: try world.bytes(), log: hasLog ? try world.bytes("-wal") : nil)
    let size = world.pages.size
    let largest = (world.schema.tables.max { rows($0.name, world) < rows($1.name, world) }?.name ?? "")
    func pages(_ kind: String) -> [Int] {
      world.pages.kindOfPage.filter { $0.value == kind && world.pages.tableOfPage[$0.key] == largest }.keys.sorted()
    }
    func fill(_ page: Int, _ byte: () -> UInt8) {
      for place in 0..<size { made.bytes[(page - 1) * size + place] = byte() }
      made.damaged.insert(page)
    }
    var random = SeededGenerator(seed: seed)
    switch self {
    case .leaf: fill(pages("leaf")[0]) { 0 }
    case .root: fill(pages("internal").first ?? pages("leaf")[0]) { UInt8(random.below(256)) }
    case .firstPage: fill(1) { 0 }
    case .cutOff:
      let page = world.pages.count * 2 / 3
      made.bytes.removeLast(made.bytes.count - page * size)
      made.damaged = Set(page + 1...world.pages.count)
    case .swapped:
      let leaves = pages("leaf")
      let (a, b) = ((leaves[0] - 1) * size, (leaves[leaves.count - 1] - 1) * size)
      let first = Array(made.bytes[a..<a + size])
      made.bytes.replaceSubrange(a..<a + size, with: Array(made.bytes[b..<b + size]))
      made.bytes.replaceSubrange(b..<b + size, with: first)
      made.damaged = [leaves[0], leaves[leaves.count - 1]]
    case .foreignLog: made.log = try DamageWorld(seed: seed + 5, rows: 400, hasLog: true).bytes("-wal")
    case .damagedLog:
      let place = 32 + (size + 24) * 2 + 1000
      made.log?[place] ^= 0xFF
    case .column, .table, .entityRows, .strays, .metadata: made.bytes = try edited(world, largest)
    }
    return made
  }

  private func rows(_ table: String, _ world: DamageWorld) -> Int { world.content.tables[table]?.rows.count ?? 0 }

  private func edited(_ world: DamageWorld, _ table: String) throws -> [UInt8] {
    let path = world.folder.file("edited.sqlite")
    try? FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: world.store, toPath: path)
    let connection = try StoreConnection(path: path)
    let column = world.schema.table(named: table)?.columns.last { $0.declaredType == "VARCHAR" }?.name ?? ""
    switch self {
    case .column: try connection.execute("ALTER TABLE \(table) DROP COLUMN \(column)")
    case .table: try connection.execute("DROP TABLE \(table)")
    case .entityRows:
      try connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = -1")
      try connection.execute("DELETE FROM Z_PRIMARYKEY WHERE Z_ENT = (SELECT max(Z_ENT) FROM Z_PRIMARYKEY)")
    case .strays:
      try connection.execute("UPDATE \(table) SET Z_ENT = 77 WHERE Z_PK = (SELECT min(Z_PK) FROM \(table))")
    default: try connection.execute("DELETE FROM Z_METADATA")
    }
    try connection.close()
    return Array(try Data(contentsOf: URL(filePath: path)))
  }
}

extension StoreSchema {
  fileprivate func table(named name: String) -> EntityTable? { tables.first { $0.name == name } }
}

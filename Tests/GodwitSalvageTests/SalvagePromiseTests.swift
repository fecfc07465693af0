import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitSalvage

/// "Nothing was lost" stands only where nothing was lost, and no sound row is missing.
@Suite struct SalvagePromiseTests {
  typealias Result = (report: SalvageReport, content: StoreContent, copy: String)

  /// Whether a report names a loss, besides links: worlds have some that lead nowhere.
  static func namesLoss(_ report: SalvageReport) -> Bool {
    !report.losses.isEmpty || !report.pages.unassigned.isEmpty
      || report.tables.contains { $0.lostRanges > 0 || $0.refusedRows > 0 }
  }

  /// A copy that lacks rows says so, and no table has rows of other keys.
  static func expectHonest(_ result: Result, _ content: StoreContent, _ place: String) {
    for (name, table) in content.tables where !name.hasPrefix("Z_") {
      let found = result.content.tables[name]?.rows ?? [:]
      let missing = table.rows.keys.filter { found[$0] == nil }
      let others = found.keys.filter { table.rows[$0] == nil }
      #expect(
        missing.isEmpty || namesLoss(result.report), "\(place): \(missing.count) rows of \(name)\n\(result.report)")
      #expect(others.isEmpty, "\(place): \(name) has \(others.prefix(3))")
    }
  }

  private struct Page {
    let number: Int
    let table: String
  }

  private static func pages(_ world: DamageWorld, _ kind: String) -> [Page] {
    world.pages.kindOfPage.filter { $0.value == kind }.keys.sorted().compactMap { number in
      guard number > 2, let table = world.pages.tableOfPage[number], world.content.tables[table] != nil,
        !table.hasPrefix("Z_")
      else { return nil }
      return Page(number: number, table: table)
    }
  }

  private static func place(_ bytes: inout [UInt8], _ page: Int, _ world: DamageWorld, _ content: ArraySlice<UInt8>) {
    let start = (page - 1) * world.pages.size
    bytes.replaceSubrange(start..<start + content.count, with: content)
  }

  private static func page(_ bytes: [UInt8], _ page: Int, _ world: DamageWorld) -> ArraySlice<UInt8> {
    bytes[(page - 1) * world.pages.size..<page * world.pages.size]
  }

  private static func edit(_ path: String, _ statements: String...) throws {
    let connection = try StoreConnection(path: path)
    try connection.undefended {
      for statement in statements { try connection.execute(statement) }
    }
    try connection.close()
  }

  private static func content(_ path: String) throws -> StoreContent {
    let connection = try StoreConnection(path: path)
    defer { try? connection.close() }
    return try StoreContent(connection)
  }

  @Test(arguments: [true, false], [true, false])
  func `a leaf that is zeros behind its head is lost`(hasMap: Bool, hasModel: Bool) throws {
    let world = try DamageWorld(seed: 3, hasMap: hasMap)
    let sound = try world.bytes()
    for leaf in TestTier.sample(Self.pages(world, "leaf"), each: 6) {
      var bytes = sound
      Self.place(
        &bytes, leaf.number, world,
        Self.page(sound, leaf.number, world).prefix(8) + [UInt8](repeating: 0, count: world.pages.size - 8))
      let result = try world.salvage(bytes, models: hasModel ? nil : [])
      Self.expectHonest(result, world.content, "page \(leaf.number) of \(leaf.table)")
    }
  }

  @Test(arguments: [true, false]) func `a leaf that is a copy of another leaf of its table is lost`(hasMap: Bool) throws
  {
    let world = try DamageWorld(seed: 3, rows: 20, hasMap: hasMap)
    try Self.edit(
      world.store, "CREATE TABLE OWN (a INTEGER PRIMARY KEY, b TEXT)",
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) \
      INSERT INTO OWN SELECT i, 'row ' || i FROM n
      """)
    let content = try Self.content(world.store)
    let connection = try StoreConnection(path: world.store)
    let leaves = try connection.rows("SELECT pageno FROM dbstat WHERE name = 'OWN' AND pagetype = 'leaf'").compactMap {
      if case .integer(let page) = $0[0] { Int(page) } else { nil }
    }
    try connection.close()
    #expect(leaves.count > 2)
    let sound = try world.bytes()
    for (page, other) in zip(leaves, leaves.dropFirst() + leaves.prefix(1)) {
      var bytes = sound
      Self.place(&bytes, page, world, Self.page(sound, other, world))
      Self.expectHonest(try world.salvage(bytes), content, "page \(page) as \(other)")
    }
  }

  @Test func `a root that is an inner page of another table costs its own rows alone`() throws {
    let world = try DamageWorld(seed: 3)
    try Self.edit(world.store, "CREATE TABLE OWN (a INTEGER PRIMARY KEY, b)", "INSERT INTO OWN VALUES (1, 2), (3, 4)")
    let content = try Self.content(world.store)
    let connection = try StoreConnection(path: world.store)
    let root = Int(try #require(try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = 'OWN'")))
    try connection.close()
    let sound = try world.bytes()
    let inner = try #require(Self.pages(world, "internal").first)
    var bytes = sound
    Self.place(&bytes, root, world, Self.page(sound, inner.number, world))
    let result = try world.salvage(bytes)
    Self.expectHonest(result, content, "page \(root)")
    #expect(result.content.tables[inner.table]?.rows.count == content.tables[inner.table]?.rows.count)
  }

  @Test(arguments: [true, false]) func `a leaf without rows is none of SQLite's`(hasMap: Bool) throws {
    let world = try DamageWorld(seed: 3, hasMap: hasMap)
    let sound = try world.bytes()
    let empty: [UInt8] = [0x0D, 0, 0, 0, 0, 0x10, 0, 0] + [UInt8](repeating: 0, count: world.pages.size - 8)
    for leaf in TestTier.sample(Self.pages(world, "leaf"), each: 6) {
      guard Self.pages(world, "internal").contains(where: { $0.table == leaf.table }) else { continue }
      var bytes = sound
      Self.place(&bytes, leaf.number, world, empty[...])
      Self.expectHonest(try world.salvage(bytes, models: []), world.content, "page \(leaf.number) of \(leaf.table)")
    }
  }

  @Test(arguments: [true, false], [0, 1, 3, 20])
  func `a page count of the header that is too low hides no row`(hasMap: Bool, less: Int) throws {
    let world = try DamageWorld(seed: 3, hasMap: hasMap)
    var bytes = try world.bytes()
    let count = less == 20 ? 4 : world.pages.count - less
    for place in 0..<4 { bytes[28 + place] = UInt8(count >> (24 - 8 * place) & 0xFF) }
    let result = try world.salvage(bytes)
    var oracle = SalvageOracle(world)
    oracle.check(result.content, damaged: [])
    #expect(oracle.faults.isEmpty, "\(oracle.faults.prefix(3))\n\(result.report)")
    #expect(result.report.losses.isEmpty)
  }

  @Test func `stale pages behind the end of a store stay away`() throws {
    let world = try DamageWorld(seed: 3)
    let sound = try world.bytes()
    let leaf = try #require(Self.pages(world, "leaf").first)
    let result = try world.salvage(sound + Self.page(sound, leaf.number, world))
    Self.expectHonest(result, world.content, "one more page")
    #expect(!Self.namesLoss(result.report), "\(result.report)")
  }

  @Test func `binary data that ends with a page of zeros comes over`() throws {
    let world = try DamageWorld(seed: 3, rows: 20)
    try Self.edit(
      world.store, "CREATE TABLE OWN (a INTEGER PRIMARY KEY, b BLOB)",
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 128) INSERT INTO OWN \
      SELECT i, CAST(replace(hex(zeroblob(2000 + 16 * i)), '0', 'x') || zeroblob(4110) AS BLOB) FROM n
      """)
    let content = try Self.content(world.store)
    let result = try world.salvage(world.bytes())
    #expect(result.content.tables["OWN"]?.rows == content.tables["OWN"]?.rows, "\(result.report)")
  }

  @Test func `rows with the same value of a unique index come over`() throws {
    let world = try DamageWorld(seed: 3, rows: 20)
    try Self.edit(
      world.store, "CREATE TABLE OWN (a INTEGER PRIMARY KEY, b)", "CREATE INDEX OWN_B ON OWN (b)",
      "INSERT INTO OWN VALUES (1, 'x'), (2, 'x'), (3, 'y')", "PRAGMA writable_schema = ON",
      "UPDATE sqlite_master SET sql = replace(sql, 'CREATE INDEX', 'CREATE UNIQUE INDEX') WHERE name = 'OWN_B'",
      "PRAGMA writable_schema = RESET")
    let result = try world.salvage(world.bytes())
    #expect(result.content.tables["OWN"]?.rows.count == 3)
    #expect(result.report.inferred.contains("index 'OWN_B' is not unique in the copy: rows have the same values"))
    let connection = try StoreConnection(path: result.copy)
    defer { try? connection.close() }
    #expect(try connection.strings("PRAGMA integrity_check") == ["ok"])
    #expect(
      try connection.strings("SELECT sql FROM sqlite_master WHERE name = 'OWN_B'").first?.hasPrefix("CREATE INDEX")
        == true)
  }

  @Test func `rows from before a column was added have its default`() throws {
    let world = try DamageWorld(seed: 3, rows: 20)
    try Self.edit(
      world.store, "CREATE TABLE OWN (a INTEGER PRIMARY KEY)", "INSERT INTO OWN VALUES (1), (2)",
      "ALTER TABLE OWN ADD COLUMN b TEXT DEFAULT 'it''s'", "ALTER TABLE OWN ADD COLUMN c INTEGER DEFAULT (-7)",
      "ALTER TABLE OWN ADD COLUMN d DEFAULT x'00ff'", "ALTER TABLE OWN ADD COLUMN e DEFAULT hey",
      "INSERT INTO OWN VALUES (3, 'x', 1, NULL, 2)")
    let content = try Self.content(world.store)
    let result = try world.salvage(world.bytes())
    #expect(result.content.tables["OWN"]?.rows == content.tables["OWN"]?.rows)
  }

  @Test func `without a model a lost table of entities is a loss`() throws {
    let world = try DamageWorld(seed: 3)
    try Self.edit(world.store, "DROP TABLE Z_PRIMARYKEY", "DROP TABLE IF EXISTS Z_MODELCACHE")
    #expect(Self.namesLoss(try world.salvage(world.bytes(), models: []).report))
    #expect(!Self.namesLoss(try world.salvage(world.bytes()).report))
  }

  @Test func `without a model a missing table of an entity that is listed is a loss`() throws {
    for seed in testSeeds(4) {
      let world = try DamageWorld(seed: seed)
      try Self.edit(world.store, "DROP TABLE IF EXISTS Z_MODELCACHE")
      let whole = try world.salvage(world.bytes(), models: []).report
      #expect(!whole.losses.contains { $0.contains("is not in the store") }, "\(seed): \(whole.losses)")
      let connection = try StoreConnection(path: world.store)
      let roots = try connection.strings("SELECT Z_NAME FROM Z_PRIMARYKEY WHERE Z_SUPER = 0 ORDER BY 1")
      try connection.close()
      let gone = try #require(roots.last)
      try Self.edit(world.store, "DROP TABLE Z\(gone.uppercased())")
      let losses = try world.salvage(world.bytes(), models: []).report.losses
      #expect(
        losses.contains { $0.hasPrefix("the table of entity '\(gone)' is not in the store") }, "\(seed): \(losses)")
    }
  }

  /// Two tables of entities whose rows look alike.
  private static func twins(_ world: DamageWorld) throws -> (content: StoreContent, roots: [Int]) {
    try edit(world.store, "DROP TABLE IF EXISTS Z_MODELCACHE")
    for (number, name) in [(200, "AA"), (201, "BB")] {
      try edit(
        world.store,
        "CREATE TABLE Z\(name) (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR)",
        "INSERT INTO Z_PRIMARYKEY VALUES (\(number), '\(name)', 0, 2)",
        "INSERT INTO Z\(name) VALUES (1, \(number), 1, '\(name) 1'), (2, \(number), 1, '\(name) 2')")
    }
    let connection = try StoreConnection(path: world.store)
    defer { try? connection.close() }
    let roots = try connection.rows("SELECT rootpage FROM sqlite_master WHERE name IN ('ZAA', 'ZBB') ORDER BY name")
    return (
      try StoreContent(connection), roots.compactMap { if case .integer(let root) = $0[0] { Int(root) } else { nil } }
    )
  }

  @Test(arguments: [true, false])
  func `without a model a root that is a copy of another root is a loss`(hasMap: Bool) throws {
    let world = try DamageWorld(seed: 2, rows: 60, hasMap: hasMap)
    let (content, roots) = try Self.twins(world)
    let sound = try world.bytes()
    #expect(!Self.namesLoss(try world.salvage(sound, models: []).report))
    for (from, to) in [(roots[0], roots[1]), (roots[1], roots[0])] {
      var bytes = sound
      Self.place(&bytes, to, world, Self.page(sound, from, world))
      let result = try world.salvage(bytes, models: [])
      Self.expectHonest(result, content, "\(to) as \(from)")
      #expect(Self.namesLoss(result.report))
      let copied = result.content.tables[to == roots[0] ? "ZAA" : "ZBB"]?.rows
      #expect(copied?.isEmpty == true, "\(result.report)")
    }
  }

  @Test func `without a model roots that changed places are a loss`() throws {
    let world = try DamageWorld(seed: 2, rows: 60)
    let (_, roots) = try Self.twins(world)
    let sound = try world.bytes()
    var bytes = sound
    Self.place(&bytes, roots[0], world, Self.page(sound, roots[1], world))
    Self.place(&bytes, roots[1], world, Self.page(sound, roots[0], world))
    #expect(Self.namesLoss(try world.salvage(bytes, models: []).report))
  }

  @Test func `a table with fewer rows than its index is a loss`() throws {
    let world = try DamageWorld(seed: 3, rows: 20)
    try Self.edit(
      world.store, "CREATE TABLE OWN (a INTEGER PRIMARY KEY, b TEXT, c REAL)", "CREATE INDEX OWN_B ON OWN (b, c DESC)",
      "INSERT INTO OWN VALUES (1, 'x', 1), (2, 'y', 2.5), (3, NULL, 1e300)")
    let connection = try StoreConnection(path: world.store)
    let root = Int(try #require(try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = 'OWN'")))
    let before = Self.page(try world.bytes(), root, world)
    try connection.execute("INSERT INTO OWN VALUES (4, 'z', 4)")
    try connection.close()
    var bytes = try world.bytes()
    #expect(!Self.namesLoss(try world.salvage(bytes).report))
    Self.place(&bytes, root, world, before)
    let result = try world.salvage(bytes)
    #expect(result.report.losses.contains { $0.contains("'OWN_B'") }, "\(result.report)")
  }

  @Test(arguments: [UInt8(ascii: "y"), 0x2A])
  func `a value that one index contradicts is a loss, although another index agrees`(value: UInt8) throws {
    let world = try DamageWorld(seed: 3, rows: 20)
    try Self.edit(
      world.store, "CREATE TABLE OWN (a INTEGER PRIMARY KEY, b TEXT, c INTEGER)", "CREATE INDEX OWN_B ON OWN (b)",
      "CREATE INDEX OWN_C ON OWN (c)", "INSERT INTO OWN VALUES (1, 'first-x', 7), (2, 'other-z', 8)")
    let connection = try StoreConnection(path: world.store)
    let root = Int(try #require(try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = 'OWN'")))
    try connection.close()
    var bytes = try world.bytes()
    #expect(!Self.namesLoss(try world.salvage(bytes).report))
    var page = Self.page(bytes, root, world)
    let text = try #require(page.firstRange(of: Array("first-x".utf8)))
    // The last character of the text, or the number behind it.
    let isText = value == UInt8(ascii: "y")
    page[isText ? text.upperBound - 1 : text.upperBound] = value
    Self.place(&bytes, root, world, page)
    let losses = try world.salvage(bytes).report.losses.filter { $0.contains("'OWN'") }
    #expect(
      losses == [
        "table 'OWN' has 2 rows and its index '\(isText ? "OWN_B" : "OWN_C")' other values: which are right is not known"
      ])
  }

  @Test func `an old index is no loss where another index has the keys of all rows`() throws {
    let world = try DamageWorld(seed: 3, rows: 20)
    try Self.edit(
      world.store, "CREATE TABLE OWN (a INTEGER PRIMARY KEY, b TEXT, c INTEGER)", "CREATE INDEX OWN_B ON OWN (b)",
      "CREATE INDEX OWN_C ON OWN (c)", "INSERT INTO OWN VALUES (1, 'x', 7)")
    let connection = try StoreConnection(path: world.store)
    let root = Int(try #require(try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = 'OWN_B'")))
    let before = Self.page(try world.bytes(), root, world)
    try connection.execute("INSERT INTO OWN VALUES (2, 'y', 8)")
    try connection.close()
    var bytes = try world.bytes()
    Self.place(&bytes, root, world, before)
    #expect(!Self.namesLoss(try world.salvage(bytes).report))
  }
}

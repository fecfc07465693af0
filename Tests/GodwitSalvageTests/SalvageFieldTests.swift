import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitSalvage

/// One wrong field, and one read that fails.
@Suite struct SalvageFieldTests {
  private static func edit(_ path: String, _ statements: String...) throws {
    let connection = try StoreConnection(path: path)
    for statement in statements { try connection.execute(statement) }
    try connection.close()
  }

  /// The place of a byte of the header, and the bit that is wrong.
  private static let bits = [
    (20, 1), (20, 0x20), (59, 2), (59, 1), (3, 1), (15, 0x80), (16, 0x40), (28, 0x40), (36, 1),
  ]

  @Test(arguments: bits, [true, false])
  func `one wrong bit of the header hides no row`(bit: (place: Int, mask: Int), hasMap: Bool) throws {
    let world = try DamageWorld(seed: 3, hasMap: hasMap)
    var bytes = try world.bytes()
    bytes[bit.place] ^= UInt8(bit.mask)
    let result = try world.salvage(bytes)
    var oracle = SalvageOracle(world)
    oracle.check(result.content, damaged: [])
    #expect(oracle.faults.isEmpty, "\(oracle.faults.prefix(3))\n\(result.report)")
  }

  @Test func `texts that are not UTF-8 are copied and named`() throws {
    let world = try DamageWorld(seed: 4)
    try Self.edit(
      world.store, "CREATE TABLE OWN (a TEXT)", "INSERT INTO OWN VALUES ('sound'), (CAST(x'C328' AS TEXT))",
      "INSERT INTO OWN SELECT CAST(x'41FF' AS TEXT) FROM sqlite_master LIMIT 2")
    let result = try world.salvage(world.bytes())
    #expect(result.content.tables["OWN"]?.rows[2] == [.text([0xC3, 0x28])])
    #expect(
      result.report.inferred.contains(
        "table 'OWN': 3 rows with a text that is not UTF-8, copied as it is (keys 2, 3, 4)"),
      "\(result.report)")
    #expect(try !world.salvage(DamageWorld(seed: 4).bytes()).report.inferred.contains { $0.contains("UTF-8") })
  }

  @Test func `definitions are no rows of a table`() throws {
    let world = try DamageWorld(seed: 1)
    try Self.edit(
      world.store, "CREATE TABLE OWN (a, b, c, d, e)", "INSERT INTO OWN VALUES (1, 2, 3, 4, 5)")
    let connection = try StoreConnection(path: world.store)
    for index in 0..<40 {
      let columns = (0..<20).map { "a_long_name_of_a_column_\($0)" }.joined(separator: ", ")
      try connection.execute("CREATE TABLE MORE_\(index) (\(columns))")
    }
    let root = try #require(try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = 'OWN'"))
    let page = try #require(
      try connection.integer(
        "SELECT pageno FROM dbstat WHERE name IN ('sqlite_schema', 'sqlite_master') AND pagetype = 'leaf' LIMIT 1"))
    try connection.close()
    var bytes = try world.bytes()
    let size = world.pages.size
    bytes.replaceSubrange(
      (Int(root) - 1) * size..<Int(root) * size, with: Array(bytes[(Int(page) - 1) * size..<Int(page) * size]))
    let result = try world.salvage(bytes)
    #expect(result.content.tables["OWN"]?.rows.isEmpty == true)
    #expect(SalvagePromiseTests.namesLoss(result.report))
  }

  @Test(arguments: [
    "UPDATE Z_PRIMARYKEY SET Z_NAME = CASE Z_NAME WHEN 'Tag' THEN 'Podcast' ELSE 'Tag' END WHERE Z_NAME IN ('Tag', 'Podcast')",
    "UPDATE Z_PRIMARYKEY SET Z_NAME = 'Podcast' WHERE Z_NAME = 'Tag'",
    "UPDATE Z_PRIMARYKEY SET Z_ENT = 40 WHERE Z_NAME = 'Tag'",
  ]) func `wrong numbers of entities are corrected`(statement: String) throws {
    let world = try DamageWorld(seed: 2)
    try Self.edit(world.store, statement)
    let result = try world.salvage(world.bytes())
    var oracle = SalvageOracle(world)
    oracle.check(result.content, damaged: [])
    #expect(oracle.faults.isEmpty, "\(oracle.faults.prefix(3))\n\(result.report)")
    func names(_ content: StoreContent) -> [Int64: SQLValue] {
      (content.tables["Z_PRIMARYKEY"]?.rows ?? [:]).mapValues { $0[1] }
    }
    #expect(names(result.content) == names(world.content))
  }

  @Test func `a row that a check forbids comes over`() throws {
    let world = try DamageWorld(seed: 3, rows: 20)
    try Self.edit(
      world.store, "CREATE TABLE OWN (a INTEGER PRIMARY KEY, b CHECK (b > 0))", "PRAGMA ignore_check_constraints = ON",
      "INSERT INTO OWN VALUES (1, 1), (2, -1)")
    let result = try world.salvage(world.bytes())
    #expect(result.content.tables["OWN"]?.rows.count == 2)
  }

  @Test(arguments: [
    [0x3D, 0xD8, 0x78, 0], [0x3D, 0xD8], [0, 0xDC, 0x41, 0], [0x3D, 0xD8, 0, 0xDE], [0xFF, 0xFE, 0x41],
  ])
  func `texts in UTF-16 are converted as SQLite does`(bytes: [UInt8]) throws {
    let folder = try TemporaryFolder()
    let connection = try StoreConnection(path: folder.file("x.sqlite"), create: true)
    try connection.execute("PRAGMA encoding = 'UTF-16le'")
    try connection.execute("CREATE TABLE t (a TEXT)")
    let hex = bytes.map { String(Int($0) + 256, radix: 16).suffix(2) }.joined()
    let expected = try connection.value("SELECT CAST(x'\(hex)' AS TEXT)")
    try connection.close()
    #expect(.text(StoredRecord.text(bytes[...], .utf16LittleEndian)) == expected)
  }

  @Test func `a read that fails costs a page at most`() throws {
    let world = try DamageWorld(seed: 0, rows: 40, hasLog: true)
    let folder = try TemporaryFolder()
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: world.store + suffix, toPath: folder.file("s.sqlite") + suffix)
    }
    let looks = FaultLayer(.none, looksAt: folder.path)
    func salvage(_ layer: FaultLayer, _ copy: String) throws -> SalvageReport {
      try layer.run { try Salvage(store: folder.file("s.sqlite"), copy: copy, models: [world.model]).run() }
    }
    _ = try salvage(looks, world.folder.file("c0.sqlite"))
    for position in TestTier.sample(1...looks.operations.count, each: 9)
    where looks.operations[position - 1].kind == .read {
      let copy = world.folder.file("c\(position).sqlite")
      let report = try salvage(FaultLayer(.fail(EIO, at: position), looksAt: folder.path), copy)
      let connection = try StoreConnection(path: copy)
      defer { try? connection.close() }
      let content = try StoreContent(connection)
      SalvagePromiseTests.expectHonest((report, content, copy), world.content, "read \(position)")
    }
  }
}

import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitSalvage

@Suite struct SalvagePageTests {
  /// Salvages a store in which each page in turn is changed.
  private func each(
    _ world: DamageWorld, step: Int, _ change: (inout [UInt8], Int, inout SeededGenerator) -> Set<Int>,
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let sound = try world.bytes()
    for page in TestTier.sample(world.pages.usedPages(sound), each: step) {
      var bytes = sound
      let damaged = change(&bytes, page, &random)
      var oracle = SalvageOracle(world)
      do {
        let result = try world.salvage(bytes)
        oracle.check(result.content, damaged: damaged)
        let kind =
          "page \(page) of \(world.pages.tableOfPage[page] ?? "the map"), \(world.pages.kindOfPage[page] ?? "")"
        #expect(
          oracle.faults.isEmpty,
          "seed \(seed), \(kind): \(oracle.faults.prefix(5)) of \(oracle.faults.count)\n\(result.report)")
        try checkIntegrity(result.copy, "seed \(seed), page \(page)")
        try checkHonesty(result, world, "seed \(seed), \(kind)")
      } catch { Issue.record("seed \(seed), page \(page): \(error)") }
    }
  }

  /// A copy with fewer rows says so.
  private func checkHonesty(
    _ result: (report: SalvageReport, content: StoreContent, copy: String), _ world: DamageWorld, _ place: String
  ) throws {
    for (name, table) in world.content.tables where name.hasPrefix("Z") && name != "Z_METADATA" {
      guard let found = result.content.tables[name], found.rows.count < table.rows.count else { continue }
      #expect(!result.report.isWhole, "\(place): \(name)")
    }
  }

  private func checkIntegrity(_ path: String, _ place: String) throws {
    let connection = try StoreConnection(path: path)
    defer { try? connection.close() }
    #expect(try connection.strings("PRAGMA integrity_check") == ["ok"], "\(place)")
  }

  @Test(arguments: testSeeds(5)) func `a page of zeros costs its own rows alone`(seed: UInt64) throws {
    let world = try DamageWorld(seed: seed)
    try each(
      world, step: 4,
      { bytes, page, _ in
        for place in 0..<world.pages.size { bytes[(page - 1) * world.pages.size + place] = 0 }
        return [page]
      }, seed: seed)
  }

  @Test(arguments: testSeeds(3)) func `a page whose second half is zeros makes up no row`(seed: UInt64) throws {
    let world = try DamageWorld(seed: seed)
    try each(
      world, step: 4,
      { bytes, page, random in
        guard page > 1, world.pages.kindOfPage[page] == "leaf" else { return [] }
        let half = world.pages.size / 2
        for place in half..<world.pages.size { bytes[(page - 1) * world.pages.size + place] = 0 }
        return [page]
      }, seed: seed)
  }

  @Test(arguments: testSeeds(5)) func `a page of noise costs its own rows alone`(seed: UInt64) throws {
    let world = try DamageWorld(seed: seed)
    try each(
      world, step: 4,
      { bytes, page, random in
        for place in 0..<world.pages.size { bytes[(page - 1) * world.pages.size + place] = UInt8(random.below(256)) }
        return [page]
      }, seed: seed)
  }

  @Test(arguments: testSeeds(5)) func `a file that is cut off loses the rows behind the cut`(seed: UInt64) throws {
    let world = try DamageWorld(seed: seed)
    try each(
      world, step: 6,
      { bytes, page, random in
        guard page > 1 else { return [] }
        bytes.removeLast(bytes.count - (page - 1) * world.pages.size - random.below(world.pages.size))
        return Set(page...world.pages.count)
      }, seed: seed)
  }

  @Test(arguments: testSeeds(5)) func `two pages that changed places make up no row`(seed: UInt64) throws {
    let world = try DamageWorld(seed: seed)
    let trees = world.pages.usedPages(try world.bytes()).filter {
      $0 > 2 && ["leaf", "internal"].contains(world.pages.kindOfPage[$0])
    }
    try each(
      world, step: 4,
      { bytes, page, random in
        let other = trees[random.below(trees.count)]
        guard page > 2, world.pages.kindOfPage[page] != "overflow", !world.pages.isMap(page) else { return [] }
        let size = world.pages.size
        let (a, b) = ((page - 1) * size, (other - 1) * size)
        let first = Array(bytes[a..<a + size])
        bytes.replaceSubrange(a..<a + size, with: Array(bytes[b..<b + size]))
        bytes.replaceSubrange(b..<b + size, with: first)
        return page == other ? [] : [page, other]
      }, seed: seed)
  }

  @Test(arguments: testSeeds(3)) func `a file without a pointer map loses no more`(seed: UInt64) throws {
    let world = try DamageWorld(seed: seed, hasMap: false)
    try each(
      world, step: 4,
      { bytes, page, random in
        let isNoise = random.chance(50)
        for place in 0..<world.pages.size {
          bytes[(page - 1) * world.pages.size + place] = isNoise ? UInt8(random.below(256)) : 0
        }
        return [page]
      }, seed: seed)
  }

  @Test(arguments: testSeeds(3), [true, false])
  func `deleted rows on free pages do not come back`(seed: UInt64, hasMap: Bool) throws {
    let world = try DamageWorld(seed: seed, rows: 400, hasMap: hasMap)
    let table = try #require(
      world.schema.tables.max { a, b in
        func rows(_ name: String) -> Int { world.content.tables[name]?.rows.count ?? 0 }
        return rows(a.name) < rows(b.name)
      }?.name)
    let connection = try StoreConnection(path: world.store)
    try connection.execute("PRAGMA secure_delete = OFF")
    try connection.execute(
      "DELETE FROM \(quoted(table)) WHERE Z_PK > (SELECT max(Z_PK) / 3 FROM \(quoted(table)))")
    let kept = Set(try connection.rows("SELECT Z_PK FROM \(quoted(table))").map { $0[0] })
    let root = try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = ?1", [.text(table)])
    #expect(try connection.integer("PRAGMA freelist_count") ?? 0 > 0)
    try connection.close()
    var bytes = try world.bytes()
    let start = (Int(try #require(root)) - 1) * world.pages.size
    for place in start..<start + world.pages.size { bytes[place] = 0 }
    let result = try world.salvage(bytes)
    let found = Set(try #require(result.content.tables[table]).rows.keys.map { SQLValue.integer($0) })
    #expect(found.isSubset(of: kept), "seed \(seed): \(found.subtracting(kept).count) rows of \(table) came back")
    #expect(!found.isEmpty)
  }

  @Test(arguments: testSeeds(3)) func `a sound store is copied whole`(seed: UInt64) throws {
    let world = try DamageWorld(seed: seed)
    let result = try world.salvage(world.bytes())
    var oracle = SalvageOracle(world)
    oracle.check(result.content, damaged: [])
    #expect(oracle.faults.isEmpty, "\(oracle.faults.prefix(5))")
    #expect(result.report.losses.isEmpty && result.report.pages.unassigned.isEmpty, "\(result.report)")
    #expect(result.report.tables.allSatisfy { $0.lostRanges == 0 && $0.orphanRows == 0 })
  }
}

import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitSalvage

/// Compares with the command `.recover` of SQLite's shell, where there is one.
@Suite struct SalvageRecoverTests {
  private static let shell = ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  private static let canRecover: Bool = {
    guard let shell else { return false }
    return (try? run("'\(shell)' :memory: '.help recover' | grep -q '^.recover'")) == 0
  }()

  private static func run(_ command: String) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", command]
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.start()
    process.wait()
    return process.terminationStatus
  }

  /// A row of a table by its key, or a pair of a join table.
  private struct Found: Hashable {
    let table: String
    let values: [SQLValue]
  }

  private func join(_ table: String, _ world: DamageWorld) -> StoreSchema.JoinTable? {
    world.schema.joinTables.first { $0.name == table }
  }

  private func pairs(_ join: StoreSchema.JoinTable, _ table: StoreContent.Table) -> Set<[SQLValue]> {
    let places = [join.ownerColumn, join.destinationColumn].compactMap(table.columns.firstIndex)
    return Set(table.rows.values.map { row in places.map { row[$0] } })
  }

  /// The rows that are equal to rows of the store.
  private func right(_ content: StoreContent, _ world: DamageWorld) -> Set<Found> {
    var found: Set<Found> = []
    for (name, table) in world.content.tables where name.hasPrefix("Z") && !name.hasPrefix("Z_M") {
      guard let other = content.tables[name] else { continue }
      if let join = join(name, world) {
        for pair in pairs(join, table).intersection(pairs(join, other)) {
          found.insert(Found(table: name, values: pair))
        }
      } else {
        for (key, row) in other.rows where table.rows[key] == row {
          found.insert(Found(table: name, values: [.integer(key)]))
        }
      }
    }
    return found
  }

  /// Whether a copy has a row, whatever links it has lost. A pair counts only if both of its ends are in the copy.
  private func has(_ content: StoreContent, _ row: Found, _ world: DamageWorld) -> Bool {
    guard let table = content.tables[row.table] else { return false }
    func isThere(_ key: SQLValue, _ table: String?) -> Bool {
      guard case .integer(let key) = key, let table else { return false }
      return content.tables[table]?.rows[key] != nil
    }
    guard let join = join(row.table, world) else { return isThere(row.values[0], row.table) }
    let ends = [join.ownerEntityName, join.destinationEntityName].map { world.schema.table(of: $0)?.name }
    return !zip(row.values, ends).allSatisfy(isThere) || pairs(join, table).contains(row.values)
  }

  @Test(.enabled(if: canRecover, "the sqlite3 of this machine has no .recover"), arguments: testSeeds(3))
  func `each right row that SQLite recovers is in the copy`(seed: UInt64) throws {
    let shell = try #require(Self.shell)
    let world = try DamageWorld(seed: seed)
    var random = SeededGenerator(seed: seed)
    let sound = try world.bytes()
    let size = world.pages.size
    for page in TestTier.sample(world.pages.usedPages(sound), each: 12) {
      var bytes = sound
      let isNoise = random.chance(50)
      // Whole pages, and parts of pages.
      let range = random.chance(50) ? 0..<size : 200..<(200 + random.below(1500))
      for place in range { bytes[(page - 1) * size + place] = isNoise ? UInt8(random.below(256)) : 0 }
      let result = try world.salvage(bytes)
      let recovered = world.folder.file("recovered.sqlite")
      try? FileManager.default.removeItem(atPath: recovered)
      _ = try Self.run("'\(shell)' '\(world.folder.file("damaged.sqlite"))' .recover | '\(shell)' '\(recovered)'")
      guard let connection = try? StoreConnection(path: recovered) else { continue }
      defer { try? connection.close() }
      let theirs = right(try StoreContent(connection), world)
      let missing = theirs.filter { $0.table != "Z_PRIMARYKEY" && !has(result.content, $0, world) }
      #expect(
        missing.isEmpty,
        "seed \(seed), page \(page) \(world.pages.tableOfPage[page] ?? "") \(range): \(missing.prefix(5)) of \(missing.count)"
      )
    }
  }
}

import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Random changes of random stores that have a receipt.
///
/// Whether a change is one of objects or links is decided here, by the rows before and after it: nothing of that comes
/// from the check.
struct RandomReceiptTests {
  /// A finished store of a folder, which a change may be made to.
  private final class Store {
    let path: String
    private let connection: StoreConnection
    private let schema: StoreSchema

    init(_ path: String) throws {
      self.path = path
      connection = try StoreConnection(path: path)
      schema = StoreSchema(model: try QuarantineWorld.destination)
    }

    func execute(_ sql: String) throws { try connection.execute(sql) }

    /// The part of the store that the model knows: rows without Core Data's counters of edits, pairs of joins, and
    /// files.
    func content() throws -> [String] {
      var lines: [String] = []
      for table in schema.tables {
        let columns = table.columns.map(\.name).filter { $0 != "Z_OPT" }.map(quoted).joined(separator: ", ")
        lines += try connection.rows("SELECT \(columns) FROM main.\(quoted(table.name))").map { row in
          table.name + " " + row.map(\.plain).joined(separator: "|")
        }
      }
      for join in schema.joinTables {
        lines += try connection.rows("SELECT * FROM main.\(quoted(join.name))").map { row in
          join.name + " " + row.map(\.plain).joined(separator: "|")
        }
      }
      let support = SupportFolder(ofStoreAt: path)
      let named = try connection.rows("SELECT ZPHOTO FROM main.ZPERSON WHERE ZPHOTO NOT NULL")
      for case .blob(let bytes)? in named.map(\.first) {
        guard case .external(let name)? = StoredBinary(bytes) else { continue }
        let data = try? Data(contentsOf: URL(filePath: support.path(of: name)))
        lines.append("\(name) \(data.map { Digest.hex($0.base64EncodedString()) } ?? "missing")")
      }
      return lines.sorted()
    }

    /// A key of a table.
    private func key(_ table: String, _ random: inout SeededGenerator) throws -> Int64 {
      let keys = try connection.rows("SELECT Z_PK FROM main.\(table) ORDER BY 1").compactMap { row -> Int64? in
        if case .integer(let key)? = row.first { key } else { nil }
      }
      return keys[random.below(keys.count)]
    }

    private func join(_ name: String, of entity: String) throws -> (table: String, subject: String, object: String) {
      guard case .join(let join, let subject, let object, _) = schema.storage(of: name, in: entity) else {
        throw GodwitError(.internalBug, "'\(name)' is in no join table")
      }
      return (quoted(join.name), quoted(subject), quoted(object))
    }

    /// Changes something, which may be something that nobody can tell.
    ///
    /// - Returns: The change.
    func change(_ random: inout SeededGenerator) throws -> String {
      let (person, other) = (try key("ZPERSON", &random), try key("ZPERSON", &random))
      let text = ["x", "", "A1", "name \(other)", "\u{e9}"][random.below(5)]
      func update(_ table: String, _ set: String, _ key: Int64) -> String {
        "UPDATE \(table) SET \(set) WHERE Z_PK = \(key)"
      }
      let sql: String
      switch random.below(16) {
      case 0: sql = update("ZPERSON", "ZNAME = '\(text)'", person)
      case 1: sql = update("ZPERSON", "ZNAME = NULL", person)
      case 2: sql = update("ZPERSON", "ZAGE = \(random.below(90))", person)
      case 3: sql = update("ZPERSON", "ZBADGE = '\(text)'", person) + " AND ZBADGE NOT NULL"
      case 4: sql = update("ZADDRESS", "ZSTREET = '\(text)'", try key("ZADDRESS", &random))
      case 5: sql = update("ZGROUP", "ZTITLE = 'group \(random.below(9))'", try key("ZGROUP", &random))
      case 6: sql = update("ZPERSON", "ZBOSS = \(random.chance(30) ? "NULL" : "\(other)")", person)
      case 7: sql = update("ZPERSON", "ZADDRESS = \(try key("ZADDRESS", &random))", person)
      case 8: sql = "DELETE FROM \(["ZPERSON", "ZADDRESS", "ZGROUP"][random.below(3)]) WHERE Z_PK = \(random.below(9))"
      case 9:
        let join = try join("friends", of: "Person")
        sql = "DELETE FROM \(join.table) WHERE rowid = \(random.below(30))"
      case 10:
        let join = try join("friends", of: "Person")
        sql = "INSERT OR IGNORE INTO \(join.table) (\(join.subject), \(join.object)) VALUES (\(person), \(other))"
      case 11:
        sql = "INSERT INTO ZADDRESS (Z_PK, Z_ENT, Z_OPT, ZSTREET) SELECT MAX(Z_PK) + 1, Z_ENT, 1, 'new' FROM ZADDRESS"
      case 12:
        let names = try connection.rows("SELECT ZNAME FROM ZPERSON WHERE Z_PK IN (\(person), \(other)) ORDER BY Z_PK")
        sql =
          "UPDATE ZPERSON SET ZNAME = (SELECT ZNAME FROM ZPERSON AS o WHERE o.Z_PK = \(person) + \(other) - ZPERSON.Z_PK) WHERE Z_PK IN (\(person), \(other)) AND \(names.count) = 2"
      case 13: return try changeFile(&random)
      case 14: sql = update("ZPERSON", "ZPHOTO = x'0102'", person) + " AND ZPHOTO NOT NULL"
      default: return try changeNothing(&random)
      }
      try connection.execute(sql)
      return sql
    }

    private func changeFile(_ random: inout SeededGenerator) throws -> String {
      let support = SupportFolder(ofStoreAt: path)
      var names: [String] = []
      try support.forEachFile { name, _ in names.append(name) }
      guard let name = names.sorted().randomElement(using: &random) else { return "no file" }
      let url = URL(filePath: support.path(of: name))
      if random.chance(50) {
        try FileManager.default.removeItem(at: url)
        return "removed \(name)"
      }
      var bytes = try Data(contentsOf: url)
      bytes[random.below(bytes.count)] ^= 1
      try bytes.write(to: url)
      return "changed \(name)"
    }

    /// A change that Core Data, SQLite or an administrator makes to a store without a change of an object.
    private func changeNothing(_ random: inout SeededGenerator) throws -> String {
      let sql = [
        "VACUUM", "ANALYZE", "REINDEX", "UPDATE ZPERSON SET Z_OPT = Z_OPT + 1", "PRAGMA user_version = 7",
        "CREATE INDEX more ON ZPERSON (ZNAME)", "UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + 3",
        "UPDATE ZPERSON SET ZNAME = ZNAME",
      ][random.below(8)]
      try connection.execute(sql)
      return sql
    }

    func close() throws { try connection.close() }
  }

  /// A random store of people, migrated with a receipt.
  private func made(_ seed: UInt64, _ random: inout SeededGenerator) throws -> (QuarantineWorld, MigrationJob) {
    let world = try QuarantineWorld(seed: seed, people: 12 + random.below(20), broken: 0)
    world.people[0].hasFile = true
    try world.write(to: world.sourcePath)
    var job = try world.job(
      from: world.sourcePath, to: world.folder.file("out/people.sqlite"), chunkRows: [1, 7, nil][random.below(3)],
      quarantine: nil)
    job.receipt = .besideDestination
    if random.chance(50) { job.durability = .restart }
    try MigrationManager(job).run()
    return (world, job)
  }

  /// `GODWIT_RUNS` runs so many seeds, `GODWIT_SEED` one.
  @Test func `a random change of objects or links is found by the receipt, and any other is not a finding`() throws {
    var (changed, unchanged) = (0, 0)
    let seeds = testSeeds(6)
    for seed in seeds {
      var random = SeededGenerator(seed: seed)
      let (world, job) = try made(seed, &random)
      func findings(_ folder: String) throws -> [String] {
        let receipt = world.folder.file("\(folder)/people.sqlite.receipt.json")
        return try ReceiptCheck(receipt: URL(filePath: receipt)).run().findings.map(\.description)
      }
      #expect(try findings("out") == [], "seed \(seed)")
      #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
      for number in 0..<14 {
        let folder = "changed-\(number)"
        try FileManager.default.copyItem(atPath: world.folder.file("out"), toPath: world.folder.file(folder))
        let store = try Store(world.folder.file("\(folder)/people.sqlite"))
        let before = try store.content()
        let what = try store.change(&random)
        let isChanged = try store.content() != before
        try store.close()
        if isChanged { changed += 1 } else { unchanged += 1 }
        let found = try findings(folder)
        #expect(found.isEmpty != isChanged, "seed \(seed), \(number), \(what): \(found)")
        try FileManager.default.removeItem(atPath: world.folder.file(folder))
      }
    }
    if seeds.count > 3 { #expect(changed > seeds.count * 4 && unchanged > seeds.count / fewest(2)) }
  }
}

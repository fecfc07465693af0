import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitSalvage

/// The table of the page "Damaged stores".
@Suite struct DamageKindTests {
  private struct Case: CustomTestStringConvertible {
    let kind: DamageKind
    let seed: UInt64
    var testDescription: String { "\(kind.rawValue), seed \(seed)" }
  }

  private static let cases = DamageKind.allCases.flatMap { kind in
    testSeeds(TestTier.choose(2, long: 10)).map { Case(kind: kind, seed: $0) }
  }

  @Test(arguments: cases) private func `each kind of damage gives what the page says`(_ each: Case) throws {
    let world = try DamageWorld(seed: each.seed, rows: 150, hasLog: each.kind.hasLog)
    let made = try each.kind.make(world, seed: each.seed)
    let result = try world.salvage(made.bytes, log: made.log)
    let lostTables = [.column, .table, .strays].contains(each.kind)
    if !lostTables, !each.kind.hasLog, each.kind != .entityRows {
      var oracle = SalvageOracle(world)
      oracle.check(result.content, damaged: made.damaged)
      #expect(oracle.faults.isEmpty, "\(oracle.faults.prefix(5))\n\(result.report)")
    }
    let path = world.folder.file("damaged-copy.sqlite")
    let connection = try StoreConnection(path: path)
    defer { try? connection.close() }
    #expect(try connection.strings("PRAGMA integrity_check") == ["ok"])
    // Godwit reads the copy as a store of the same version.
    let schema = try StoreSchema(model: world.schema.model, probing: connection, schema: "main")
    let metadata = try StoreMetadata(reading: connection, schema: "main", path: path)
    #expect(schema.tables.count == world.schema.tables.count)
    #expect(world.schema.model.isCompatible(with: metadata))
  }

  @Test func `the page has a row for each kind`() throws {
    let page = try Checkout.text("Sources/Godwit/Godwit.docc/DamagedStores.md")
    for kind in DamageKind.allCases { #expect(page.contains("| \(kind.rawValue) |"), "\(kind.rawValue)") }
  }

  @Test(arguments: DamageKind.allCases) func `the page has the words of SQLite and of Godwit`(kind: DamageKind) throws {
    let world = try DamageWorld(seed: 0, rows: 150, hasLog: kind.hasLog)
    let made = try kind.make(world, seed: 0)
    let path = world.folder.file("damaged.sqlite")
    _ = try world.salvage(made.bytes, log: made.log)
    // The words of SQLite and of Godwit, on one line of the table.
    let page = try Checkout.text("Sources/Godwit/Godwit.docc/DamagedStores.md")
    let line = try #require(page.split(separator: "\n").first { $0.hasPrefix("| \(kind.rawValue) |") })
    let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    let words = try said(path, world)
    #expect(cells.count == 4 && words.sqlite.contains(cells[1].replacing("`", with: "")), "\(words.sqlite)")
    #expect(cells.count == 4 && words.godwit.contains(cells[2].replacing("`", with: "")), "\(words.godwit)")
  }

  /// The words of SQLite when it reads all rows and checks the file, and of Godwit before a run.
  private func said(_ path: String, _ world: DamageWorld) throws -> (sqlite: String, godwit: String) {
    var (sqlite, godwit) = ("nothing", "nothing")
    do {
      let reader = try ObjectReader(path: path, model: world.schema.model)
      let entities = world.schema.model.entities.filter { !$0.isAbstract }.map(\.name)
      try reader.checkEntities(entities)
      _ = try StoreMetadata(readingStoreAt: path)
      let connection = try StoreConnection.openStore(readingAt: path)
      if try !connection.complaints(about: StoreConnection.sourceSchema, isFull: false, limit: 1).isEmpty {
        godwit = "SQLite finds the store damaged"
      }
      try connection.close()
      if let note = try UnusedLog.notes(ofStoreAt: path).first { godwit = note }
    } catch let error as GodwitError { godwit = error.message }
    do {
      let connection = try StoreConnection(path: path)
      defer { try? connection.close() }
      for table in world.schema.tables {
        let columns = table.columns.map { quoted($0.name) }.joined(separator: ", ")
        try connection.query("SELECT \(columns) FROM \(quoted(table.name))") { _ in true }
      }
      let check = try connection.strings("PRAGMA integrity_check")
      if check != ["ok"] { sqlite = check.joined(separator: " ") }
    } catch let error as GodwitError { sqlite = error.message }
    return (sqlite, godwit)
  }
}

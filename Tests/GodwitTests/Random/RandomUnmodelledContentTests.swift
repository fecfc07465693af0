import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Random tables, columns, views, triggers and indexes of the application in random stores.
///
/// The expected losses are counted here while the content is made. The objects must be those of the same store without
/// it.
struct RandomUnmodelledContentTests {
  /// The additions of an application to a store.
  private struct Additions {
    var statements: [String] = []
    /// The line that a report must have for each thing with content.
    var losses: [String] = []

    private static let names = ["search", "my table", "ZINDEX", "Ünïcode", "a-b", "z_pk", "search_content"]

    init(_ random: inout SeededGenerator, keys: Int, allowsVirtual: Bool) {
      for name in Self.names.shuffled(using: &random).prefix(random.below(4)) { addTable(name, &random) }
      for table in ["ZAUTHOR", "ZBOOK"] where random.chance(40) {
        let column = ["rank", "ZEXTRA", "my column"][random.below(3)]
        statements.append("ALTER TABLE \(table) ADD COLUMN \"\(column)\"")
        let limit = random.below(keys + 1)
        // Nil is not a value; an empty text is one.
        statements.append("UPDATE \(table) SET \"\(column)\" = '' WHERE Z_PK <= \(limit)")
        if limit > 0 {
          losses.append("\(limit) value\(limit == 1 ? "" : "s") of \(table).\(column) (no model names the column)")
        }
      }
      if random.chance(30) { statements.append("CREATE VIEW newest AS SELECT * FROM ZBOOK") }
      if random.chance(30) {
        statements.append("CREATE TRIGGER touched AFTER UPDATE ON ZBOOK BEGIN UPDATE ZAUTHOR SET ZNAME = 'no'; END")
      }
      if random.chance(30) { statements.append("CREATE INDEX own ON ZBOOK (ZTITLE DESC)") }
      if random.chance(20) { statements.append("ANALYZE") }
      if allowsVirtual, random.chance(40) { addVirtualTable(&random) }
    }

    private mutating func addTable(_ name: String, _ random: inout SeededGenerator) {
      let forms = ["(a, b)", "(a INTEGER PRIMARY KEY AUTOINCREMENT, b)", "(a PRIMARY KEY, b) WITHOUT ROWID"]
      let form = forms[random.below(3)]
      statements.append("CREATE TABLE \"\(name)\" \(form)")
      let rows = random.below(4)
      for row in 0..<rows { statements.append("INSERT INTO \"\(name)\" VALUES (\(row + 1), 'text')") }
      if rows > 0 { losses.append("\(rows) row\(rows == 1 ? "" : "s") of table \(name) (no model names it)") }
      if random.chance(30) { statements.append("CREATE INDEX \"of \(name)\" ON \"\(name)\" (b)") }
    }

    private mutating func addVirtualTable(_ random: inout SeededGenerator) {
      let (module, columns) = [("fts5", "(text)"), ("fts4", "(text)"), ("rtree", "(id, low, high)")][random.below(3)]
      statements.append("CREATE VIRTUAL TABLE words USING \(module)\(columns)")
      let rows = 1 + random.below(3)
      for row in 0..<rows {
        statements.append("INSERT INTO words VALUES (\(module == "rtree" ? "\(row), 1, 2" : "'text \(row)'"))")
      }
      losses.append("\(rows) row\(rows == 1 ? "" : "s") of table words (no model names it)")
    }
  }

  private static func entities(_ more: [AttributeDescription]) -> [EntityDescription] {
    var book = EntityDescription.make("Book", ["title": .string], [.toOne("author", "Author", inverse: "books")])
    book.attributes += more
    return [.make("Author", ["name": .string], [.toMany("books", "Book", inverse: "author")]), book]
  }

  /// A store of authors and books whose inferred mapping needs a change of definitions alone, or of rows too.
  private func fixture(_ random: inout SeededGenerator, keys: Int) throws -> MigrationFixture {
    var more = AttributeDescription(name: "zeta", type: .string)
    if random.chance(50) { (more.isOptional, more.defaultValue) = (false, .init("new")) }
    let fixture = try MigrationFixture(Self.entities([]), to: Self.entities([more]))
    try fixture.build { store in
      for key in 1...Int64(keys) { try store.insert("Author", key: key, attributes: ["name": .init("n\(key)")]) }
      for key in 1...Int64(keys) {
        try store.insert(
          "Book", key: key, attributes: ["title": .init("t\(key)")],
          relationships: ["author": [Int64(random.below(keys)) + 1]])
      }
    }
    fixture.chunkRows = [1, 3, 100][random.below(3)]
    try fixture.infer()
    return fixture
  }

  /// The rows of the objects, by name of column: those that were edited in their place have other columns last.
  private static func objects(_ path: String) throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: path)
    return try [
      "SELECT Z_PK, Z_ENT, Z_OPT, ZNAME FROM source.ZAUTHOR ORDER BY 1",
      "SELECT Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR, ZZETA FROM source.ZBOOK ORDER BY 1",
      "SELECT Z_ENT, Z_NAME, Z_MAX FROM source.Z_PRIMARYKEY ORDER BY 1",
    ].flatMap { try connection.rows($0).map { $0.map(\.plain).joined(separator: "|") } }
  }

  /// The losses of what no model names.
  private static func lost(_ losses: LossReport) -> [String] {
    losses.losses.map { "\($0)" }.filter { $0.contains("no model names") }.sorted()
  }

  /// `GODWIT_RUNS` runs so many seeds, `GODWIT_SEED` one.
  @Test func `what no model names is reported to the row, and the objects are those of a store without it`() throws {
    for seed in testSeeds(8) {
      var random = SeededGenerator(seed: seed)
      let keys = 1 + random.below(9)
      let fixture = try fixture(&random, keys: keys)
      var job = try fixture.job
      job.destinationPath = fixture.folder.file("plain/destination.sqlite")
      try MigrationManager(job).run()
      let expected = try Self.objects(job.destinationPath)
      let additions = Additions(&random, keys: keys, allowsVirtual: true)
      for sql in additions.statements { try fixture.alter(sql) }
      let wanted = additions.losses.sorted()
      let what = "seed \(seed): \(additions.statements.joined(separator: "; "))"

      job = try fixture.job
      let summary = try MigrationManager(job).run()
      #expect(Self.lost(summary.losses) == wanted, "\(what)")
      #expect(try Self.objects(job.destinationPath) == expected, "\(what)")

      for keepsOld in [true, false] {
        let path = try fixture.copyOfSource("place-\(keepsOld)")
        let before = try Data(contentsOf: URL(filePath: path))
        var job = fixture.jobInPlace(path, keepsOld: keepsOld)
        #expect(try Self.lost(MigrationManager(job).plan().losses) == wanted, "\(what)")
        job.onLoss = .fail
        if !wanted.isEmpty {
          let error = #expect(throws: GodwitError.self, "\(what)") { try MigrationManager(job).run() }
          #expect(error?.code == .dataWrong, "\(what)")
          #expect(try Data(contentsOf: URL(filePath: path)) == before, "\(what)")
        }
        job.onLoss = .allowEmpty
        let made = try MigrationManager(job).run()
        #expect(Self.lost(made.losses) == wanted, "\(what), in place, \(keepsOld)")
        #expect(try Self.objects(path) == expected, "\(what), in place, \(keepsOld)")
        // The old store has all of it.
        if keepsOld { #expect(try Data(contentsOf: URL(filePath: MigrationJob.oldPath(of: path))) == before) }
      }
    }
  }
}

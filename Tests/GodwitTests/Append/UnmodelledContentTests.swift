import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Tables, columns, views and triggers that no model names.
@Suite struct UnmodelledContentTests {
  private static let table = [
    "CREATE TABLE search (word TEXT)", "INSERT INTO search VALUES ('a'), ('b'), ('c')", "CREATE TABLE blank (x)",
    "CREATE VIEW newest AS SELECT * FROM ZNOTE",
    "CREATE TRIGGER touched AFTER DELETE ON ZNOTE BEGIN DELETE FROM search; END",
  ]
  private static let column = [
    "ALTER TABLE ZNOTE ADD COLUMN rank INTEGER", "UPDATE ZNOTE SET rank = 3 WHERE Z_PK = 2",
    "ALTER TABLE ZNOTE ADD COLUMN unused",
  ]
  private static let indexes = [
    "CREATE VIRTUAL TABLE words USING fts5(text)", "INSERT INTO words VALUES ('one'), ('two')",
    "CREATE VIRTUAL TABLE old USING fts3(text)", "INSERT INTO old VALUES ('one')",
    "CREATE VIRTUAL TABLE boxes USING rtree(id, low, high)", "INSERT INTO boxes VALUES (1, 2, 3), (2, 3, 4)",
    "CREATE VIRTUAL TABLE bare USING fts5(text, content='', columnsize=0)",
  ]
  private static let lostTable = "1 lost 3 rows of table search (no model names it)"
  private static let lostColumn = "1 lost 1 value of ZNOTE.rank (no model names the column)"
  private static let lostIndexes = [
    "1 lost 2 rows of table boxes (no model names it)", "1 lost 1 row of table old (no model names it)",
    lostTable, "1 lost 2 rows of table words (no model names it)",
  ]

  private static func note(_ names: String...) -> EntityDescription {
    .make("Note", Dictionary(uniqueKeysWithValues: names.map { ($0, AttributeType.string) }))
  }

  private func fixture(_ statements: [String], to later: [EntityDescription]? = nil) throws -> MigrationFixture {
    let before = Self.note("text", "title")
    let fixture = try MigrationFixture([before], to: later ?? [before, .make("Other", ["x": .string])])
    try fixture.build { store in
      for key in Int64(1)...4 { try store.insert("Note", key: key, attributes: ["text": .init("t")]) }
    }
    for sql in statements { try fixture.alter(sql) }
    try fixture.infer()
    return fixture
  }

  private func lines(_ losses: LossReport) -> [String] {
    losses.losses.filter { $0.subject != "Note.title" }.map { "\($0.step) \($0.label) \($0)" }.sorted()
  }

  @Test func `tables and columns that no model names are losses of a run, in plan, summary and receipt`() throws {
    let fixture = try fixture(Self.table + Self.column + Self.indexes)
    var job = try fixture.job
    job.receipt = .besideDestination
    let plan = try MigrationManager(job).plan()
    let expected = ([Self.lostColumn] + Self.lostIndexes).sorted()
    #expect(lines(plan.losses) == expected)
    #expect(plan.summary.verdict == "the step loses data")
    #expect(plan.overview.contains("lost: 1 value, 8 rows"), "\(plan.overview)")
    let note = "the new store has no views and triggers but those of Core Data; left out: view newest, trigger touched"
    #expect(plan.notes.contains(note), "\(plan.notes)")
    let summary = try MigrationManager(job).run()
    #expect(lines(summary.losses) == expected && summary.notes.contains(note))
    let receipt = try Receipt.read(fixture.destinationPath + Receipt.suffix)
    #expect(lines(LossReport(receipt.losses)) == expected)
  }

  /// By definition alone, by SQL because of a column, by a new store because of a virtual table.
  @Test(arguments: 0...2, [false, true])
  func `they are losses in place, whichever way the store is migrated`(way: Int, keepsOld: Bool) throws {
    let fixture = try fixture([Self.table, Self.table + Self.column, Self.table + Self.column + Self.indexes][way])
    let path = try fixture.copyOfSource("live")
    var job = fixture.jobInPlace(path, keepsOld: keepsOld)
    let ways: [MigrationPlan.Strategy] = [.definitions, .sql, .executor]
    let plan = try MigrationManager(job).plan()
    #expect(plan.steps[0].strategy == ways[way])
    let expected = [[Self.lostTable], [Self.lostColumn, Self.lostTable], [Self.lostColumn] + Self.lostIndexes]
    #expect(lines(plan.losses) == expected[way].sorted())
    let before = try Data(contentsOf: URL(filePath: path))
    job.onLoss = .fail
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.code == .dataWrong && error?.cause?.contains("step 1: lost 3 rows of table search (") == true)
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
    job.onLoss = .allowEmpty
    #expect(try lines(MigrationManager(job).run().losses) == lines(plan.losses))
  }

  @Test func `they are losses of the first of several steps`() throws {
    let fixture = try fixture(Self.table + Self.column)
    let copy = [MappingModel(entityMappings: [try .make("Note", "Note", kind: .copy)])]
    let last = try ManagedObjectModel(name: "3", entities: [Self.note("text", "title", "more")])
    let job = MigrationJob(
      name: "test", sourcePath: fixture.sourcePath, destinationPath: fixture.destinationPath,
      first: MigrationStep(sourceModel: fixture.source, destinationModel: fixture.destination, mappingModels: copy),
      later: [MigrationStep(sourceModel: fixture.destination, destinationModel: last, mappingModels: copy)])
    let expected = [Self.lostColumn, Self.lostTable].sorted()
    #expect(try lines(MigrationManager(job).plan().losses).filter { !$0.contains("Other") } == expected)
    #expect(try lines(MigrationManager(job).run().losses) == expected)
  }

  // MARK: Real stores

  /// Stores of the corpus, and of the other kinds beside it, whose model is known.
  private static let realStores: [CorpusPair] = {
    guard let kinds = Corpus.folder?.deletingLastPathComponent().appending(path: "kinds").path,
      let walk = FileManager.default.enumerator(atPath: kinds)
    else { return CorpusPair.withModel }
    let others = walk.compactMap { $0 as? String }.filter { $0.hasSuffix(".sqlite") }.sorted().compactMap { name in
      let path = kinds + "/" + name
      return (try? StoreModelCache.content(ofStoreAt: path)).flatMap {
        try? CachedModel(modelCache: $0, name: "cache").model
      }.map { CorpusPair(path: path, model: $0) }
    }
    return CorpusPair.withModel + others
  }()

  @Test(.enabled(if: Corpus.isPresent, "the corpus is missing"))
  func `nothing that Core Data makes is foreign in a real store`() throws {
    var opened = 0
    for store in Self.realStores {
      let connection = try StoreConnection.openStore(readingAt: store.path, model: store.model)
      defer { try? connection.close() }
      guard let schema = try? StoreSchema(model: store.model, probing: connection) else { continue }
      opened += 1
      #expect(try schema.foreignContent.findings(on: connection) == [], "\(store.name)")
      // Photos makes triggers of its own.
      let programs = schema.foreignContent.programs.filter { !$0.hasPrefix("trigger ZT_") }
      #expect(programs == [], "\(store.name)")
    }
    #expect(opened > 20, "\(opened) of \(Self.realStores.count)")
  }
}

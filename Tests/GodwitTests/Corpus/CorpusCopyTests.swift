import GodwitJob
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// Every store with a published model, copied object by object into an empty store of the same model.
@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct CorpusCopyTests {
  /// Its one row of ZARTWORK, made by hand, has the entity number of Album, which lives in another table.
  private static let foreign = "ArtsyPartner_2.0.sqlite"

  private static let names = CorpusPair.all.map(\.name)

  private func job(_ name: String, in folder: TemporaryFolder, chunkRows: Int) throws -> MigrationJob {
    let pair = try #require(CorpusPair.all.first { $0.name == name })
    let mappings = pair.model.entities.filter { !$0.isAbstract }.map {
      EntityMapping(name: $0.name, kind: .copy, source: $0.name, destination: $0.name)
    }
    return try MigrationJob(
      copying: pair.path, into: folder, from: pair.model, to: pair.model,
      mappings: MappingModel(entityMappings: mappings), chunkRows: chunkRows, run: "\(chunkRows)")
  }

  @Test func `a row with the entity number of another table is an object of its own table`() throws {
    let name = try #require(Self.names.first { $0.hasSuffix(Self.foreign) })
    let folder = try TemporaryFolder()
    let finished = try FinishedMigration(running: job(name, in: folder, chunkRows: 10))
    #expect(
      finished.summary.notes == [
        "1 row of ZARTWORK has another entity's number; it is read as Artwork, as Core Data does"
      ])
    #expect(try finished.rows("SELECT Z_ENT FROM source.ZARTWORK") == ["1"])
    #expect(try finished.rows("SELECT Z_ENT FROM made.ZARTWORK") == ["3"])
    try finished.expectVerified()
  }

  @Test(arguments: TestTier.sample(names, each: 8))
  func `a corpus store copied by mappings is the same store`(name: String) throws {
    let folder = try TemporaryFolder()
    var first: StoreDump?
    // Many chunks for every store, but not thousands.
    let isLarge = name.contains("Example_")
    for rows in isLarge ? TestTier.choose([1000], long: [200, 1000]) : [5, 1000] {
      let job = try job(name, in: folder, chunkRows: rows)
      let finished = try FinishedMigration(running: job)
      #expect(finished.summary.dropped.isEmpty && finished.summary.overridden == 0)
      try compare(finished, schema: job.destinationSchema())
      if first == nil, !isLarge { try finished.expectVerified() }
      let dump = try StoreDump(job.destinationPath)
      #expect(dump.firstDifference(from: first ?? dump) == nil)
      first = dump
    }
  }

  @Test(arguments: ["V1", "V2"])
  func `a corpus store with derived attributes and history is copied with the model inside it`(version: String) throws {
    let path = Corpus.path("alemar11_CoreDataPlus/Tests/Resources/SampleModel2/Fixtures/SampleModel2_\(version).sqlite")
    let content = try #require(try StoreModelCache.content(ofStoreAt: path))
    let model = try CachedModel(modelCache: content, name: version).model
    let mappings = model.entities.filter { !$0.isAbstract }.map {
      EntityMapping(name: $0.name, kind: .copy, source: $0.name, destination: $0.name)
    }
    let folder = try TemporaryFolder()
    let job = try MigrationJob(
      copying: path, into: folder, from: model, to: model, mappings: MappingModel(entityMappings: mappings),
      chunkRows: 1000)
    let finished = try FinishedMigration(running: job)
    // Derived values are computed again, and equal those that Core Data computed.
    try compare(finished, schema: StoreSchema(model: model))
    try finished.expectVerified()
    try finished.expectEqual(
      "SELECT * FROM made.Z_PRIMARYKEY ORDER BY 1", "SELECT * FROM source.Z_PRIMARYKEY ORDER BY 1")
    #expect(try finished.integer("SELECT COUNT(*) FROM made.ATRANSACTION") == 0)
  }

  private func compare(_ finished: FinishedMigration, schema: StoreSchema) throws {
    for table in schema.tables {
      var columns: [String] = []
      for column in table.columns {
        let name = StoreSchema.identifier(column.name)
        switch column.role {
        case .optimisticLock: break
        // The number is right afterwards, which `FinishedMigration` looks at.
        // Its to-one keys are 0, which no object has.
        case .foreignKey, .foreignEntity:
          columns.append(finished.job.sourcePath.hasSuffix(Self.foreign) ? "NULLIF(\(name), 0)" : name)
        case .entity where finished.job.sourcePath.hasSuffix(Self.foreign): break
        case .orderKey(let entity, let relationship):
          // Keys are numbered again; their meaning is the place among the objects of one owner.
          guard case .foreignKey(_, let key, _, _) = schema.storage(of: relationship, in: entity) else { break }
          columns.append(place(of: name, among: [key], by: "Z_PK"))
        default: columns.append(name)
        }
      }
      try compare(finished, table.name, columns, order: "Z_PK")
    }
    for join in schema.joinTables {
      let ends = [join.ownerColumn, join.destinationColumn].map(StoreSchema.identifier)
      var columns = ends
      if let order = join.ownerOrderColumn {
        columns.append(place(of: StoreSchema.identifier(order), among: [ends[0]], by: ends[1]))
      }
      if let order = join.destinationOrderColumn {
        columns.append(place(of: StoreSchema.identifier(order), among: [ends[1]], by: ends[0]))
      }
      try compare(finished, join.name, columns, order: "1, 2")
    }
  }

  private func place(of order: String, among owner: [String], by key: String) -> String {
    "CASE WHEN \(owner[0]) IS NOT NULL THEN row_number() OVER (PARTITION BY \(owner[0]) ORDER BY \(order), \(key)) END"
  }

  private func compare(_ finished: FinishedMigration, _ table: String, _ columns: [String], order: String) throws {
    let list = columns.joined(separator: ", ")
    let name = StoreSchema.identifier(table)
    try finished.expectEqual(
      "SELECT \(list) FROM made.\(name) ORDER BY \(order)", "SELECT \(list) FROM source.\(name) ORDER BY \(order)")
  }
}

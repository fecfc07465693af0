import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import GodwitXcode
import TestSupport
import Testing

/// Every store with a published model takes a copy of its own objects: tables, numbers and indexes as Apple's Core Data
/// of many years made them.
@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct AppendCorpusTests {
  private static let names = TestTier.sample(CorpusPair.all.map(\.name), each: 4)

  @Test(arguments: names) func `a corpus store's own objects can be appended to it`(name: String) throws {
    let pair = try #require(CorpusPair.all.first { $0.name == name })
    try append(pair.path, model: pair.model)
  }

  @Test(arguments: ["V1", "V2"]) func `a corpus store with derived attributes and history keeps both after an append`(
    version: String
  ) throws {
    let path = Corpus.path("alemar11_CoreDataPlus/Tests/Resources/SampleModel2/Fixtures/SampleModel2_\(version).sqlite")
    let content = try #require(try StoreModelCache.content(ofStoreAt: path))
    let plan = try append(path, model: CachedModel(modelCache: content, name: version).model)
    #expect(plan.notes.contains { $0.contains("persistent history stays") })
  }

  @discardableResult
  private func append(_ path: String, model: ManagedObjectModel) throws -> MigrationPlan {
    let folder = try TemporaryFolder()
    let destination = try CorpusStores.copy(path, into: folder)
    let mappings = model.entities.filter { !$0.isAbstract }.map {
      EntityMapping(name: $0.name, kind: .copy, source: $0.name, destination: $0.name)
    }
    var job = MigrationJob(
      name: "again", sourcePath: path, destinationPath: destination, sourceModel: model, destinationModel: model,
      mappingModels: [MappingModel(entityMappings: mappings)], chunkRows: 1000)
    job.existingDestination = .append
    let before = try StoreDump(destination).lines
    let plan = try MigrationManager(job).plan()
    do { try MigrationManager(job).run() } catch let error as GodwitError where error.code == .dataWrong {
      // Its objects are there already, and the model forbids a second one.
      #expect(model.entities.contains { !$0.uniquenessConstraints.isEmpty })
      #expect(error.message.contains("uniqueness constraint"))
      #expect(try StoreDump(destination).lines == before)
      return plan
    }
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    let after = Set(try StoreDump(destination).lines)
    // Counters, metadata and the statement of an index may differ; rows, tables and triggers may not.
    let lost = before.filter { !after.contains($0) && !$0.hasPrefix("metadata") && !$0.contains("CREATE INDEX") }
    let counters = StoreSchema(model: model).entityNumbers.count
    #expect(lost.allSatisfy { $0.hasPrefix("  ") } && lost.count <= counters + 1, "\(lost)")
    let source = try StoreConnection.openStore(readingAt: path)
    let made = try StoreConnection.openStore(readingAt: destination)
    for table in try StoreSchema(model: model, probing: source).tables {
      let count = "SELECT COUNT(*) FROM source.\(quoted(table.name))"
      #expect(try made.integer(count) == source.integer(count).map { $0 * 2 }, "\(table.name)")
    }
    return plan
  }
}

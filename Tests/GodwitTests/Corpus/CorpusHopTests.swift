import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// Every chain of the corpus, hop by hop, from every store that Core Data wrote.
@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct CorpusHopTests {
  struct Start: Sendable, CustomStringConvertible {
    var family: String
    var store: Int
    var description: String { "\(family), store \(store + 1)" }
  }

  private static let starts = CorpusFamily.all.flatMap { family in
    family.stores.indices.filter { !family.hops(from: family.stores[$0].version).isEmpty }
      .map { Start(family: family.name, store: $0) }
  }

  @Test(arguments: TestTier.sample(starts, each: 3))
  func `each corpus hop gives Core Data's structure and every carried value`(start: Start) throws {
    let family = try #require(CorpusFamily.all.first { $0.name == start.family })
    let store = family.stores[start.store]
    let folder = try TemporaryFolder()
    var (path, version) = (Corpus.path(store.path), store.version)
    // On every change the first store goes all the way, and each other one its first hop.
    let hops = family.hops(from: version)
    let taken = start.store == 0 ? hops.count : TestTier.choose(1, long: hops.count)
    for (number, hop) in hops.prefix(taken).enumerated() {
      let (source, destination) = (try model(version, of: family), try model(hop.version, of: family))
      var job = try MigrationJob(
        copying: path, into: folder, from: source, to: destination, mappings: .init(entityMappings: []), chunkRows: 500,
        run: "\(number)")
      if number > 0 { job.sourcePath = path }
      job.steps = [try step(hop, from: source, to: destination)]
      job.unregisteredPolicies = .default
      let finished = try FinishedMigration(running: job)
      try finished.expectVerified()
      var comparison = try HopComparison(finished, hop)
      let objects = try comparison.run()
      #expect(objects == finished.summary.objects)
      if number == 0 { #expect(try countObjects(in: job.sourcePath, version: source) == store.objects) }
      // Every hop once, and what Core Data wrote always.
      if case .inferred = hop.way, start.store == 0 || number == 0 {
        try expectSameInPlace(job, into: folder, run: number)
      }
      for apple in family.stores where apple.version == hop.version {
        try StoreStructure(job.destinationPath)
          .expectEqual(to: StoreStructure(Corpus.path(apple.path)), but: apple.differences, "\(apple.path)")
      }
      (path, version) = (job.destinationPath, hop.version)
    }
    if taken == hops.count { #expect(version == family.hops.last?.version) }
  }

  private func model(_ version: String, of family: CorpusFamily) throws -> ManagedObjectModel {
    if let bundle = family.models { return try ModelBundle(contentsOf: Corpus.path(bundle)).model(named: version) }
    let store = try #require(family.stores.first { $0.version == version })
    let content = try #require(try StoreModelCache.content(ofStoreAt: Corpus.path(store.path)))
    return try CachedModel(modelCache: content, name: version).model
  }

  /// A copy of the source, migrated in place without a new store, says what the destination says.
  private func expectSameInPlace(_ job: MigrationJob, into folder: TemporaryFolder, run: Int) throws {
    let path = folder.file("in-place-\(run).sqlite")
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: job.sourcePath + suffix) {
      try FileManager.default.copyItem(atPath: job.sourcePath + suffix, toPath: path + suffix)
    }
    var inPlace = job
    (inPlace.sourcePath, inPlace.destinationPath) = (path, path)
    inPlace.existingDestination = .inPlace(keepsOld: false)
    let manager = MigrationManager(inPlace)
    let way = try manager.plan().steps.first?.way
    let isByDefinition = way == MigrationPlan.wayOfDefinitions
    #expect(isByDefinition || way == "in place by SQL, loading no rows")
    #expect(try manager.run().outcome == .finished)
    guard !isByDefinition else {
      let schema = StoreSchema(model: job.destinationModel)
      let dumps = try [path, job.destinationPath].map { try StoreDump(byColumnName: $0, schema: schema) }
      #expect(dumps[0] == dumps[1], "\(dumps[0].firstDifference(from: dumps[1]) ?? "")")
      return
    }
    // The job's digest takes in the bytes of a log, which is written back before a migration in place.
    let dumps = try [path, job.destinationPath].map { path in
      try StoreDump(path).lines.filter { !$0.hasPrefix("metadata GodwitJobs") && !$0.contains("x'62706c697374") }
    }
    let difference = zip(dumps[0], dumps[1]).first { $0 != $1 }
    #expect(dumps[0].count == dumps[1].count)
    #expect(difference == nil, "in place \(difference?.0 ?? ""), else \(difference?.1 ?? "")")
  }

  private func step(
    _ hop: CorpusHop, from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) throws -> MigrationStep {
    switch hop.way {
    case .inferred:
      MigrationStep(
        sourceModel: source, destinationModel: destination,
        mappingModels: [try MappingModel(inferredFrom: source, to: destination)], origin: MigrationStep.inferredOrigin)
    case .xcode(let paths):
      MigrationStep(
        sourceModel: source, destinationModel: destination,
        mappingModels: try paths.map {
          try XcodeMappingModel(contentsOf: Corpus.path($0)).mappingModel(from: source, to: destination)
        }, origin: "files")
    case .ours(let name):
      MigrationStep(
        sourceModel: source, destinationModel: destination, mappingModels: [try .named(name)], origin: name)
    }
  }

  /// All rows of tables of objects.
  private func countObjects(in path: String, version: ManagedObjectModel) throws -> Int64 {
    let connection = try StoreConnection.openStore(readingAt: path)
    return try version.rootEntities.reduce(0) { sum, root in
      sum + (try connection.integer("SELECT COUNT(*) FROM source.Z\(root.name.uppercased())") ?? 0)
    }
  }
}

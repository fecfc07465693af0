import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// Stores of kinds that the corpus lacks: Photos libraries, SwiftData, Final Cut, an application with renaming.
@Suite(.enabled(if: Corpus.kinds != nil, "the stores of further kinds are not beside this checkout"))
struct `Stores of further kinds` {
  static let photos = [
    "tkanarsky_osxphotos/tests/Test-Empty-Library-Ventura-13-5.photoslibrary/database/Photos.sqlite",
    "tkanarsky_osxphotos/tests/Test-Lock-10_15_1.photoslibrary/database/Photos.sqlite",
  ]
  static let stores =
    photos + [
      "Karim-ezzedine_CartKit/Tests/CartKitStorageSwiftDataTests/LegacySwiftData/CartKitSwiftData_v1.sqlite",
      "kasianov-mikhail_scout/Tests/ScoutTests/Fixtures/Scout-v4.sqlite",
      "vjeux_fcp-to-json/fcp-to-json.fcpbundle/CurrentVersion.flexolibrary",
    ]
  private static let scout = "kasianov-mikhail_scout/Sources/Scout/Persistence/ScoutModel.xcdatamodeld"

  private func path(_ name: String) throws -> String { try #require(Corpus.kinds).appending(path: name).path }

  private func cached(_ name: String) throws -> CachedModel {
    let content = try #require(try StoreModelCache.content(ofStoreAt: path(name)))
    return try CachedModel(modelCache: content, name: "Stored")
  }

  /// The model with one more attribute and one more entity.
  private func edited(_ model: ManagedObjectModel) throws -> ManagedObjectModel {
    var entities = model.entities
    let place = try #require(entities.firstIndex { !$0.isAbstract && $0.superentityName == nil })
    entities[place].attributes.append(AttributeDescription(name: "addedByTest", type: .string))
    entities.append(EntityDescription(name: "AddedByTest", attributes: [.init(name: "name", type: .string)]))
    return try ManagedObjectModel(name: "Edited", entities: entities)
  }

  @Test(arguments: TestTier.sample(stores, each: 2))
  func `a store opens with the model inside it, is exported, migrated and verified`(name: String) throws {
    let store = try path(name)
    let model = try cached(name).model
    let metadata = try StoreMetadata(readingStoreAt: store)
    #expect(model.isCompatible(with: metadata))
    // Written in Xcode's format and read again, it is the same model.
    let written = try ManagedObjectModel(xcodeContents: model.xcodeContents, name: "Stored", file: "contents")
    #expect(written.isCompatible(with: metadata))
    #expect(written.remarks == [])

    let project = ProjectFixture()
    let inspection = project.godwit("inspect", store)
    #expect(inspection.status == 0 && inspection.output.contains("  model cache  fits"), "\(inspection)")
    let export = project.godwit("export", store, "-o", try project.path("export.sqlite"), "--all", "--format", "sqlite")
    #expect(export.status == 0, "\(export.diagnostics)")

    try project.bundle("Kind.xcdatamodeld", [model, try edited(model)])
    let why = project.godwit("why", store, try project.path("Kind.xcdatamodeld"))
    #expect(why.status == 2, "\(why)")
    try project.write(
      "job.yaml",
      """
      godwit: 1
      source: \(store)
      destination: made.sqlite
      models: Kind.xcdatamodeld
      mappings: inferred

      """)
    let job = try project.path("job.yaml")
    let run = project.godwit("run", job, "--progress", "plain")
    #expect(run.status == 0, "\(run.diagnostics)")
    let verify = project.godwit("verify", job)
    #expect(verify.status == 0, "\(verify.output) \(verify.diagnostics)")
  }

  @Test(arguments: photos)
  func `a Photos library names what is not carried over, and its indexes over expressions are made`(name: String) throws
  {
    let found = try cached(name)
    let schema = StoreSchema(model: found.model)
    // Word for word those that Core Data made: indexes over `entity` and over the object itself, partial ones too.
    // Framework 973 wrote one of these with two spaces.
    let connection = try StoreConnection.openStore(readingAt: path(name))
    defer { try? connection.close() }
    let made = try connection.rows("SELECT sql FROM source.sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
      .compactMap { row -> String? in
        if case .text(let sql) = row[0] {
          String(decoding: sql, as: UTF8.self).replacing("WHERE  ", with: "WHERE ")
        } else {
          nil
        }
      }
    let own = Set(made.filter { !$0.contains("ON A") && !$0.contains("Z_TRANSACTION") })
    let predicted = Set(schema.indexes.map(\.sql))
    #expect(predicted.subtracting(own).sorted() == [])
    #expect(own.subtracting(predicted).sorted() == [])

    let project = ProjectFixture()
    #expect(schema.omittedIndexes == [])
    let parts = [
      "_boundedByRect' of an index is not made, and a fetch that", "keeps counts (NSTriggerKey) are not made",
    ]
    let inspection = project.godwit("inspect", try path(name))
    for part in parts { #expect(inspection.output.contains(part), "\(inspection.output)") }

    try project.bundle("Kind.xcdatamodeld", [edited(found.model)])
    try project.write(
      "job.yaml",
      """
      godwit: 1
      source: \(path(name))
      destination: made.sqlite
      models: Kind.xcdatamodeld
      mappings: inferred

      """)
    let plan = project.godwit("plan", "--details", try project.path("job.yaml"))
    #expect(plan.status == 0, "\(plan.diagnostics)")
    for part in parts { #expect(plan.output.contains(part), "\(plan.output)") }
    #expect(!plan.output.contains("views and triggers that Core Data did not make"))
    if !found.omissions.isEmpty {
      #expect(plan.output.contains("of the model that the store carries, the value of '_NSLocationAttributeDerived"))
    }
  }

  @Test func `an XML store is exported without its model`() throws {
    let project = ProjectFixture()
    let store = try path("haraldmartin_things-rb/test/fixtures/Database.xml")
    let all = project.godwit("export", store, "--raw", "--all")
    #expect(all.status == 0, "\(all.diagnostics)")
    let lines = try JSONValue.lines(all.output)
    var counts: [String: Int] = [:]
    for line in lines { counts[line["@table"]?.string ?? "", default: 0] += 1 }
    #expect(counts["TODO"] == 41 && counts["FOCUS"] == 18 && counts["TAG"] == 5, "\(counts)")
    #expect(lines.allSatisfy { $0["id"]?.string?.hasPrefix("z") == true })
    // Core Data's escapes are undone, and nothing of the file is in them any more.
    #expect(!all.output.contains("u3c00") && all.output.contains("<"))
    let csv = project.godwit("export", store, "--raw", "--table", "TAG", "--format", "csv")
    #expect(csv.status == 0 && csv.output.split(separator: "\r\n").count == 6, "\(csv)")
    let file = try project.path("things.db")
    #expect(project.godwit("export", store, "--raw", "--all", "--format", "sqlite", "-o", file).status == 0)
    let connection = try StoreConnection(path: file)
    #expect(try connection.integer("SELECT COUNT(*) FROM TODO") == 41)
    try connection.close()
    let unknown = project.godwit("export", store, "--raw", "--table", "TADO")
    #expect(unknown.status == 64 && unknown.diagnostics.contains("did you mean 'TODO'?"), "\(unknown)")
  }

  @Test func `an XML store with its model opens, is exported, migrated and verified`() throws {
    let folder = "mcubedsw_M3CoreData/M3CoreData Tests/TestData/"
    let (store, model) = (try path(folder + "TestStore.storedata"), try path(folder + "TestModel.xcdatamodel"))
    let project = ProjectFixture()
    #expect(project.godwit("inspect", store).status == 0)
    let export = project.godwit("export", store, "--all", "--model", model, "-o", try project.path("all"))
    #expect(export.status == 0, "\(export.diagnostics)")
    let found = try ManagedObjectModel(contentsOf: model)
    let plain = try ManagedObjectModel(name: "Stored", entities: found.entities)
    try project.bundle("Kind.xcdatamodeld", [plain, edited(plain)])
    let bundle = try project.path("Kind.xcdatamodeld")
    #expect(project.godwit("why", store, bundle).status == 2)
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: \(store)\ndestination: made.sqlite\nmodels: Kind.xcdatamodeld\nmappings: inferred\n")
    let job = try project.path("job.yaml")
    let run = project.godwit("run", job, "--progress", "plain")
    #expect(run.status == 0, "\(run.diagnostics)")
    #expect(project.godwit("verify", job).status == 0)
  }

  @Test func `an ignored renaming identifier renames nothing and has a remark with its place`() throws {
    let bundle = try ModelBundle(contentsOf: path(Self.scout))
    let models = try bundle.models()
    #expect(models.count == 2)
    let ignored = models.flatMap(\.remarks).filter { $0.text.contains("'renamingIdentifier'") }
    #expect(!ignored.isEmpty)
    #expect(ignored.allSatisfy { $0.text.hasSuffix("Core Data does not rename here: write elementID") })
    #expect(ignored.allSatisfy { $0.location?.line ?? 0 > 1 })
    for model in models {
      #expect(model.entities.allSatisfy { $0.attributes.allSatisfy { $0.renamingIdentifier == nil } })
    }
  }
}

import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

private func corpusPaths(endingIn name: String) -> [String] {
  guard let folder = Corpus.folder, let walk = FileManager.default.enumerator(atPath: folder.path) else { return [] }
  return walk.compactMap { $0 as? String }.filter { $0.hasSuffix(name) }.sorted().map(Corpus.path)
}

/// Every SQLite file of the corpus, whatever its name.
private let storePaths: [String] = {
  guard let folder = Corpus.folder, let walk = FileManager.default.enumerator(atPath: folder.path) else { return [] }
  return walk.compactMap { $0 as? String }.sorted().map(Corpus.path).filter { path in
    guard let file = FileHandle(forReadingAtPath: path) else { return false }
    return (try? file.read(upToCount: 15)) == Data("SQLite format 3".utf8)
  }
}()

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct CorpusCompiledModelTests {
  /// Written by another implementation, which archives a predicate as its text.
  static let ofAnotherTool = "EmployeeDirectory.mom"

  @Test func `every compiled model of the corpus is read`() throws {
    let paths = corpusPaths(endingIn: ".mom")
    #expect(paths.count >= 15)
    for path in paths {
      guard !path.hasSuffix(Self.ofAnotherTool) else {
        let error = #expect(throws: GodwitError.self) { try ManagedObjectModel(contentsOf: path) }
        #expect(error?.message.contains("key 'NSValidationPredicates' of class 'NSAttributeDescription'") == true)
        #expect(error?.code == .missingInput)
        continue
      }
      #expect(try !ManagedObjectModel(contentsOf: path).entities.isEmpty, "\(path)")
    }
  }

  @Test func `every compiled bundle of the corpus has the hashes of its VersionInfo`() throws {
    let paths = corpusPaths(endingIn: ".momd").filter { !$0.hasSuffix("EmployeeDirectory.momd") }
    #expect(paths.count >= 8)
    var (versions, checksums) = (0, 0)
    for path in paths {
      let info = try VersionInfo(contentsOf: path)
      let bundle = try ModelBundle(contentsOf: path)
      #expect(bundle.versions == info.versionHashes.keys.sorted(by: ModelBundle.precedes))
      #expect(bundle.currentVersion == info.currentVersion || info.currentVersion == nil)
      for model in try bundle.models() {
        #expect(model.versionHashes == info.versionHashes[model.name], "\(path)")
        versions += 1
        if let checksum = info.versionChecksums[model.name] {
          #expect(model.versionChecksum == checksum)
          checksums += 1
        }
      }
    }
    #expect(versions >= 14 && checksums >= 4)
  }

  @Test(arguments: ["SampleModel", "SampleModel3"])
  func `a compiled version equals the model it was compiled from`(name: String) throws {
    let folder = Corpus.path("alemar11_CoreDataPlus/Tests/Resources/\(name)")
    let compiled = try ModelBundle(contentsOf: "\(folder)/Fixtures/\(name).momd")
    let source = try ModelBundle(contentsOf: "\(folder)/\(name).xcdatamodeld")
    #expect(compiled.versions == source.versions)
    for (a, b) in zip(try compiled.models(), try source.models()) {
      #expect(a.versionHashes == b.versionHashes)
      #expect(a.withoutPublishedHashes == (try Self.asCompiled(b)), "\(a.name)")
    }
  }

  /// The model as its archive keeps it: properties in no order of their own, and no class for this one attribute.
  private static func asCompiled(_ model: ManagedObjectModel) throws -> ManagedObjectModel {
    var entities = model.entities
    for index in entities.indices {
      entities[index].attributes.sort { Text($0.name) < Text($1.name) }
      entities[index].relationships.sort { Text($0.name) < Text($1.name) }
      for place in entities[index].attributes.indices where entities[index].attributes[place].customClassName == "Color"
      {
        entities[index].attributes[place].customClassName = nil
      }
    }
    return try ManagedObjectModel(
      name: model.name, entities: entities, versionIdentifiers: model.versionIdentifiers,
      configurations: model.configurations, fetchRequestTemplates: model.fetchRequestTemplates)
  }

  @Test func `an optimised model is refused by name`() throws {
    for path in corpusPaths(endingIn: ".omo") {
      let error = #expect(throws: GodwitError.self) { try ManagedObjectModel(contentsOf: path) }
      #expect(error?.message.hasSuffix("expected a .mom, found its optimised form, an .omo") == true)
    }
  }

  /// Stores whose model was built in code, with parts that Xcode's models cannot express.
  static let withOmissions: Set<String> = ["SampleModel2_V1.sqlite", "SampleModel2_V2.sqlite"]

  /// Indexes that the model asks for and the file lacks: there the column itself is unique.
  static let missingIndexes: [String: Set<String>] = [
    "knowledgec-10.13.db": ["Z_StructuredMetadata_UNIQUE_metadataHash"]
  ]

  @Test func `the model inside every corpus store fits the store and predicts its tables`() throws {
    var read = 0
    for path in storePaths {
      let connection = try StoreConnection.openStore(readingAt: path)
      // One has no metadata, its log was not kept.
      guard let metadata = try? StoreMetadata(reading: connection, path: path),
        let content = try StoreModelCache.content(of: connection, path: path)
      else { continue }
      let cached = try CachedModel(modelCache: content, name: "cache")
      read += 1
      #expect(cached.omissions.isEmpty != Self.withOmissions.contains(URL(filePath: path).lastPathComponent), "\(path)")
      #expect(cached.model.isCompatible(with: metadata.entityVersionHashes), "\(path)")
      let schema = StoreSchema(model: cached.model)
      let probed = try StoreSchema(model: cached.model, probing: connection)
      #expect(probed.tables == schema.tables, "\(path)")
      #expect(probed.joinTables == schema.joinTables, "\(path)")
      #expect(probed.entityNumbers == schema.entityNumbers, "\(path)")
      // Older versions of Core Data named and chose indexes in other ways.
      guard metadata.frameworkVersion ?? 0 >= 851 else { continue }
      let actual = try connection.rows(
        """
        SELECT sql FROM source.sqlite_master WHERE type = 'index' AND tbl_name GLOB 'Z*' AND sql NOT NULL ORDER BY sql
        """)
      let surplus = Self.missingIndexes[URL(filePath: path).lastPathComponent] ?? []
      let predicted = schema.indexStatements.filter { statement in !surplus.contains { statement.contains(" \($0) ") } }
      #expect(predicted.count == schema.indexStatements.count - surplus.count)
      #expect(actual == predicted.sorted { Text($0) < Text($1) }.map { [.text(Array($0.utf8))] }, "\(path)")
    }
    #expect(read >= 23)
  }

  @Test func `the model inside a store gives the same storage as the model it was written with`() throws {
    var compared = 0
    for pair in CorpusPair.all {
      guard let content = try StoreModelCache.content(ofStoreAt: pair.path) else { continue }
      compared += 1
      let schema = StoreSchema(model: try CachedModel(modelCache: content, name: pair.model.name).model)
      let expected = StoreSchema(model: pair.model)
      #expect(schema.createStatements == expected.createStatements, "\(pair.name)")
    }
    #expect(compared >= 12)
  }
}

import Foundation
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

/// The paths below the corpus that end in a name.
private func corpusPaths(endingIn name: String) -> [String] {
  guard let folder = Corpus.folder, let walk = FileManager.default.enumerator(atPath: folder.path) else { return [] }
  return walk.compactMap { $0 as? String }.filter { $0.hasSuffix(name) }.sorted().map(Corpus.path)
}

private struct VersionInfo: Decodable {
  var hashes: [String: [String: Data]]
  var checksums: [String: String]?

  enum CodingKeys: String, CodingKey {
    case hashes = "NSManagedObjectModel_VersionHashes"
    case checksums = "NSManagedObjectModel_VersionChecksums"
  }
}

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct CorpusModelTests {
  @Test func `every contents file of the corpus is read, and its copy reads the same`() throws {
    let folder = try TemporaryFolder()
    let paths = corpusPaths(endingIn: ".xcdatamodel/contents")
    #expect(paths.count >= 160)
    for path in paths {
      let source = String(path.dropLast("/contents".count))
      let model = try ManagedObjectModel(contentsOf: source, version: nil)
      let hasEntities = try String(contentsOfFile: path, encoding: .utf8).contains("<entity ")
      #expect(model.entities.isEmpty != hasEntities, "\(source)")
      let copy = folder.file(URL(filePath: source).lastPathComponent)
      try? FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
      try model.xcodeContents.write(toFile: copy + "/contents", atomically: false, encoding: .utf8)
      #expect(try ManagedObjectModel(contentsOf: copy) == model, "\(source)")
    }
  }

  @Test func `every versioned model of the corpus has a current version or lists its versions`() throws {
    let paths = corpusPaths(endingIn: ".xcdatamodeld")
    #expect(paths.count >= 50)
    for path in paths {
      let names = try FileManager.default.contentsOfDirectory(atPath: path)
      // One folder of the corpus holds the marker of the current version alone.
      guard names.contains(where: { $0.hasSuffix(".xcdatamodel") }) else { continue }
      let bundle = try ModelBundle(contentsOf: path)
      #expect(bundle.versions.count >= 1)
      if let current = bundle.currentVersion, bundle.versions.contains(current) {
        do {
          #expect(try bundle.currentModel().name == current)
        } catch let error as GodwitError {
          #expect(error.message.contains("the elements format of Xcode 3"), "\(path): \(error)")
        }
      }
    }
  }

  @Test(arguments: ["SampleModel", "SampleModel3"])
  func `hashes and checksums of corpus models are those of the compiled bundle`(name: String) throws {
    let folder = Corpus.path("alemar11_CoreDataPlus/Tests/Resources/\(name)")
    let info = try PropertyListDecoder().decode(
      VersionInfo.self, from: Data(contentsOf: URL(filePath: "\(folder)/Fixtures/\(name).momd/VersionInfo.plist")))
    let models = try ModelBundle(contentsOf: "\(folder)/\(name).xcdatamodeld").models()
    #expect(models.map(\.name) == info.hashes.keys.sorted())
    for model in models {
      let stored = try #require(info.hashes[model.name]).compactMapValues { VersionHash(bytes: $0) }
      #expect(model.versionHashes == stored)
      #expect(model.isCompatible(with: stored))
      if let checksum = info.checksums?[model.name] { #expect(model.versionChecksum == checksum) }
    }
  }
}

import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

extension MigrationFixture {
  /// A copy of the source, with its external files, in a folder of its own.
  func copyOfSource(_ name: String) throws -> String {
    let copy = folder.file("\(name)/source.sqlite")
    let manager = FileManager.default
    try manager.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
    try manager.copyItem(atPath: sourcePath, toPath: copy)
    let support = SupportFolder(ofStoreAt: sourcePath)
    if support.exists { try manager.copyItem(atPath: support.path, toPath: SupportFolder(ofStoreAt: copy).path) }
    return copy
  }

  /// The inferred mapping as a job that replaces a store.
  func jobInPlace(_ path: String, keepsOld: Bool = true) -> MigrationJob {
    var job = MigrationJob(
      name: "test", sourcePath: path, destinationPath: path,
      first: MigrationStep(
        sourceModel: source, destinationModel: destination, mappingModels: [MappingModel(entityMappings: mappings)],
        origin: MigrationStep.inferredOrigin), chunkRows: chunkRows)
    job.inPlace = .init(keepsOld: keepsOld)
    return job
  }

  /// Migrates copies of the source in place by SQL, keeping the old store and not, and compares them with the store
  /// that the ordinary run made.
  func expectSameInPlace(as summary: MigrationSummary, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let expected = try InPlaceContent(destinationPath)
    for keepsOld in [true, false] {
      let path = try copyOfSource(keepsOld ? "kept" : "edited")
      let before = try InPlaceContent(path)
      let manager = MigrationManager(jobInPlace(path, keepsOld: keepsOld))
      #expect(try manager.plan().steps.first?.way == "in place by SQL, loading no rows", sourceLocation: sourceLocation)
      let found = try manager.run()
      #expect(found.outcome == .finished, sourceLocation: sourceLocation)
      #expect(found.objects == summary.objects, sourceLocation: sourceLocation)
      #expect(found.dropped == summary.dropped, sourceLocation: sourceLocation)
      #expect(found.displaced == summary.displaced, sourceLocation: sourceLocation)
      let content = try InPlaceContent(path)
      #expect(
        content == expected, "\(keepsOld ? "copied" : "edited"): \(content.firstDifference(from: expected) ?? "")",
        sourceLocation: sourceLocation)
      let old = MigrationJob.InPlace.oldPath(of: path)
      if keepsOld {
        #expect(try InPlaceContent(old) == before, sourceLocation: sourceLocation)
      } else {
        #expect(!FileManager.default.fileExists(atPath: old), sourceLocation: sourceLocation)
      }
      #expect(!WorkFolder.exists(forDestination: path), sourceLocation: sourceLocation)
      #expect(try manager.run().outcome == .alreadyFinished, sourceLocation: sourceLocation)
    }
  }
}

/// What a store and its external files hold.
struct InPlaceContent: Hashable {
  var dump: StoreDump
  var files: [String] = []

  init(_ path: String) throws {
    dump = try StoreDump(path)
    let support = SupportFolder(ofStoreAt: path)
    try support.forEachFile { name, _ in
      let data = try Data(contentsOf: URL(filePath: support.path(of: name)))
      files.append("\(name) \(Digest.hex(data.base64EncodedString()))")
    }
    files.sort()
  }

  func firstDifference(from other: InPlaceContent) -> String? {
    dump.firstDifference(from: other.dump) ?? (files == other.files ? nil : "files \(files) against \(other.files)")
  }
}

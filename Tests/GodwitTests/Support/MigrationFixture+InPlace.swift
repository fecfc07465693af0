import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

extension MigrationFixture {
  /// A copy of the source, with its external files, in a folder of its own.
  func copyOfSource(_ name: String) throws -> String {
    let copy = folder.file("\(name)/source.sqlite")
    let manager = FileManager.default
    try manager.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
    try manager.copyItem(atPath: sourcePath, toPath: copy)
    let support = SupportFolder(ofStoreAt: sourcePath)
    if try support.exists { try manager.copyItem(atPath: support.path, toPath: SupportFolder(ofStoreAt: copy).path) }
    return copy
  }

  /// The inferred mapping as a job that replaces a store.
  func jobInPlace(_ path: String, keepsOld: Bool = true) -> MigrationJob {
    var job = MigrationJob(
      name: "test", sourcePath: path, destinationPath: path,
      first: MigrationStep(
        sourceModel: source, destinationModel: destination, mappingModels: [MappingModel(entityMappings: mappings)],
        origin: MigrationStep.inferredOrigin), chunkRows: chunkRows)
    job.existingDestination = .inPlace(keepsOld: keepsOld)
    return job
  }

  /// Migrates copies of the source in place without a new store, keeping the old store and not, and compares them with
  /// the store that the ordinary run made: by definition alone as far as a reader by column names can tell, else in
  /// full.
  func expectSameInPlace(as summary: MigrationSummary, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for keepsOld in [true, false] {
      let path = try copyOfSource(keepsOld ? "kept" : "edited")
      let before = try InPlaceContent(path)
      let manager = MigrationManager(jobInPlace(path, keepsOld: keepsOld))
      let way = try #require(try manager.plan().steps.first?.way, sourceLocation: sourceLocation)
      let isByDefinition = way == MigrationPlan.wayOfDefinitions
      #expect(isByDefinition || way == "in place by SQL, loading no rows", sourceLocation: sourceLocation)
      let found = try manager.run()
      #expect(found.outcome == .finished, sourceLocation: sourceLocation)
      #expect(found.isCounted == !isByDefinition, sourceLocation: sourceLocation)
      if isByDefinition {
        #expect(found.objects == 0 && found.dropped == [] && found.overridden == 0, sourceLocation: sourceLocation)
        try expectSameByName(path, sourceLocation: sourceLocation)
        try expectSameRows(path, sourceLocation: sourceLocation)
      } else {
        #expect(found.objects == summary.objects, sourceLocation: sourceLocation)
        #expect(found.dropped == summary.dropped, sourceLocation: sourceLocation)
        #expect(found.overridden == summary.overridden, sourceLocation: sourceLocation)
        let (content, expected) = (try InPlaceContent(path), try InPlaceContent(destinationPath))
        #expect(
          content == expected, "\(keepsOld ? "copied" : "edited"): \(content.firstDifference(from: expected) ?? "")",
          sourceLocation: sourceLocation)
      }
      let old = MigrationJob.oldPath(of: path)
      if keepsOld {
        #expect(try InPlaceContent(old) == before, sourceLocation: sourceLocation)
        let report = try verifyInPlace(path)
        #expect(report.isClean, "\(report)", sourceLocation: sourceLocation)
      } else {
        #expect(!FileManager.default.fileExists(atPath: old), sourceLocation: sourceLocation)
      }
      #expect(try !WorkFolder.exists(forDestination: path), sourceLocation: sourceLocation)
      #expect(try manager.run().outcome == .alreadyFinished, sourceLocation: sourceLocation)
    }
  }

  /// The report of `godwit verify` on a store that was migrated in place and kept the old one.
  func verifyInPlace(_ path: String) throws -> VerificationReport {
    var job = jobInPlace(path)
    (job.sourcePath, job.existingDestination) = (MigrationJob.oldPath(of: path), .fail)
    return try Verifier(job: job).runBothWays()
  }

  /// A reader by column names finds what the ordinary run made.
  func expectSameByName(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let schema = StoreSchema(model: destination)
    let found = try StoreDump(byColumnName: path, schema: schema)
    let expected = try StoreDump(byColumnName: destinationPath, schema: schema)
    #expect(found == expected, "\(found.firstDifference(from: expected) ?? "")", sourceLocation: sourceLocation)
    #expect(try InPlaceContent(path).files == InPlaceContent(destinationPath).files, sourceLocation: sourceLocation)
  }

  /// Every row of every entity begins with the very values of the source's row, whatever they are.
  func expectSameRows(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let (was, now) = (
      try StoreConnection.openStore(readingAt: sourcePath), try StoreConnection.openStore(readingAt: path)
    )
    let pairing = ModelPairing(from: source, to: destination)
    let schema = StoreSchema(model: destination)
    for table in try StoreSchema(model: source, probing: was).tables {
      let new = try #require(pairing.newName(of: table.rootEntityName).flatMap(schema.table))
      let before = try was.rows("SELECT rowid, * FROM source.\(quoted(table.name)) ORDER BY rowid")
      let after = try now.rows("SELECT rowid, * FROM source.\(quoted(new.name)) ORDER BY rowid")
      #expect(before.count == after.count, sourceLocation: sourceLocation)
      for (before, after) in zip(before, after) {
        #expect(Array(after.prefix(before.count)) == before, "\(new.name)", sourceLocation: sourceLocation)
        #expect(after.dropFirst(before.count).allSatisfy { $0 == .null }, sourceLocation: sourceLocation)
      }
    }
  }
}

/// The content of a store and its external files.
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

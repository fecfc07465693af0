import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitVerifier

/// A verification that is stopped again and again comes to the report of one that is not.
struct StoppedVerificationTests {
  /// Runs a verification that stops as soon as it has done more than the one before.
  ///
  /// - Returns: The report, and how many runs it took.
  private static func runInPieces(_ verifier: Verifier, in file: String) throws -> (VerificationReport, Int) {
    var verifier = verifier
    verifier.checkpointFile = URL(filePath: file)
    verifier.rowsPerCheckpoint = 5
    var reached = Verification.Share.associations
    for run in 1...500 {
      let control = MigrationControl()
      do {
        let report = try verifier.run(control: control) { share in
          guard share > reached else { return }
          reached = share
          control.stop(reason: "test")
        }
        return (report, run)
      } catch let error as GodwitError where error.code == .stopped {
        #expect(error.remedy?.contains("to go on") == true, "\(error)")
        #expect(FileManager.default.fileExists(atPath: file))
      }
    }
    Issue.record("a verification does not get on")
    return (VerificationReport(), 0)
  }

  private static func expectSame(_ verifier: Verifier, folder: TemporaryFolder, _ name: String) throws -> Int {
    let whole = try verifier.run()
    let file = folder.file("v.json")
    let (pieces, runs) = try runInPieces(verifier, in: file)
    #expect(pieces.findings == whole.findings, "\(name)")
    #expect(pieces.totalFindings == whole.totalFindings, "\(name)")
    #expect(pieces.checks == whole.checks, "\(name)")
    let kept = try StoppedVerification(at: URL(filePath: file))
    #expect(kept?.hasContent != true && kept?.found?.count == (whole.isClean ? nil : whole.totalFindings), "\(name)")
    return runs
  }

  @Test func `a sound store is proved in pieces`() throws {
    let fixture = try School.fixture()
    try MigrationManager(fixture.job).run()
    let runs = try Self.expectSame(Verifier(job: fixture.job), folder: fixture.folder, "sound")
    #expect(runs > 10)
    var thorough = Verifier(job: try fixture.job)
    thorough.usesShortcuts = false
    #expect(try Self.expectSame(thorough, folder: fixture.folder, "thorough") > 10)
  }

  @Test func `breakages are found in pieces as they are at once`() throws {
    let fixture = try School.fixture()
    try MigrationManager(fixture.job).run()
    let folder = URL(filePath: fixture.destinationPath).deletingLastPathComponent()
    for breakage in TestTier.sample(VerifierBreakageTests.breakages, each: 12) {
      let copy = try TemporaryFolder()
      var job = try fixture.job
      job.destinationPath = copy.file("destination.sqlite")
      for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
        try FileManager.default.copyItem(atPath: file.path, toPath: copy.file(file.lastPathComponent))
      }
      try breakage.apply(to: job)
      _ = try Self.expectSame(Verifier(job: job), folder: copy, breakage.name)
    }
  }

  @Test func `a job with a quarantine is proved in pieces, and each says what was found until then`() throws {
    let world = try QuarantineWorld(seed: 21, people: 30, broken: 20)
    try world.write(to: world.sourcePath)
    let job = try world.job(
      from: world.sourcePath, to: world.folder.file("out/people.sqlite"), chunkRows: nil,
      quarantine: Quarantine(maximumPercent: 100))
    #expect(try MigrationManager(job).run().quarantinedObjects > 0)
    let connection = try StoreConnection(path: job.destinationPath)
    // Addresses are compared first.
    try connection.execute("UPDATE ZADDRESS SET ZSTREET = 'other' WHERE Z_PK = (SELECT MIN(Z_PK) FROM ZADDRESS)")
    try connection.close()
    #expect(try Self.expectSame(Verifier(job: job), folder: world.folder, "quarantine") > 3)

    var verifier = Verifier(job: job)
    verifier.rowsPerCheckpoint = 1
    let file = URL(filePath: world.folder.file("w.json"))
    verifier.checkpointFile = file
    let control = MigrationControl()
    let error = try #require(throws: GodwitError.self) {
      _ = try verifier.run(control: control) { if $0 > 0.7 { control.stop(reason: "test") } }
    }
    #expect(error.message.hasSuffix("after 1 difference was found"), "\(error)")
    #expect(try StoppedVerification(at: file)?.found?.count == 1)
    // One that does not get past the quarantine says what the one before found.
    let early = MigrationControl()
    early.stop(reason: "test")
    let second = try #require(throws: GodwitError.self) { _ = try verifier.run(control: early) }
    #expect(second.message.hasSuffix("after 1 difference was found"), "\(second)")
    #expect(second.remedy?.contains("to go on") == true)
    // The comparison holds for this quarantine alone.
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: job.quarantinePath)
    var shares: [Double] = []
    _ = try verifier.run { shares.append($0) }
    #expect(shares.first.map { $0 < 0.5 } == true)
  }

  @Test func `a job of several steps keeps the steps that are proved`() throws {
    let folder = try TemporaryFolder()
    let models = try (1...3).map { number in
      try ManagedObjectModel(
        name: "V\(number)",
        entities: [.make("Note", Dictionary(uniqueKeysWithValues: (1...number).map { ("a\($0)", .string) }))])
    }
    let path = folder.file("in.sqlite")
    let store = try StoreBuilder(path: path, model: models[0])
    for key in Int64(1)...30 { try store.insert("Note", key: key, attributes: ["a1": .init("n\(key)")]) }
    try store.finish()
    func step(_ index: Int) throws -> MigrationStep {
      MigrationStep(
        sourceModel: models[index], destinationModel: models[index + 1],
        mappingModels: [MappingModel(entityMappings: [try .make("Note", "Note", kind: .copy)])])
    }
    let job = MigrationJob(
      name: "notes", sourcePath: path, destinationPath: folder.file("out.sqlite"), first: try step(0),
      later: [try step(1)])
    try MigrationManager(job).run()
    var verifier = Verifier(job: job)
    let whole = try verifier.run()
    let file = URL(filePath: folder.file("v.json"))
    verifier.checkpointFile = file
    let control = MigrationControl()
    let error = try #require(throws: GodwitError.self) {
      _ = try verifier.run(control: control) { if $0 > 0.5 { control.stop(reason: "test") } }
    }
    #expect(error.remedy?.contains("to go on") == true, "\(error)")
    #expect(try StoppedVerification(at: file)?.steps == 1)
    let report = try verifier.run()
    #expect(report.isClean && report.checks == whole.checks, "\(report)")
  }

  @Test func `what was kept is not used for a store that changed, and no other file is replaced`() throws {
    let fixture = try School.fixture()
    try MigrationManager(fixture.job).run()
    var verifier = Verifier(job: try fixture.job)
    verifier.rowsPerCheckpoint = 1
    let file = fixture.folder.file("v.json")
    verifier.checkpointFile = URL(filePath: file)
    func stop() throws -> GodwitError {
      let control = MigrationControl()
      return try #require(throws: GodwitError.self) {
        _ = try verifier.run(control: control) { if $0 > 0.7 { control.stop(reason: "test") } }
      }
    }
    #expect(try stop().stopReason == .requested)
    let kept = try #require(try StoppedVerification(at: URL(filePath: file)))
    let rows = try #require(kept.checkpoint).rowsDone
    #expect(rows > 10)
    // The first row was compared, and is changed.
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute(
      "UPDATE ZPERSON SET ZNAME = 'other' WHERE Z_PK = (SELECT MIN(Z_PK) FROM ZPERSON WHERE ZNAME IS NOT NULL)")
    try connection.close()
    let report = try verifier.run()
    #expect(report.findings.map(\.kind) == [.value], "\(report)")
    #expect(try StoppedVerification(at: URL(filePath: file))?.hasContent == false)
    // A sample says nothing of the whole, and leaves what is kept.
    #expect(try stop().stopReason == .requested)
    var sample = verifier
    sample.samplePercent = 50
    _ = try sample.run()
    #expect(try StoppedVerification(at: URL(filePath: file)) != nil)
    // The next one begins where the last one stopped.
    var shares: [Double] = []
    _ = try verifier.run { shares.append($0) }
    #expect(shares.first.map { $0 > 0.7 } == true && shares == shares.sorted(), "\(shares)")
    // Another file of that name stays, and the verification begins with the first object each time.
    try Data("mine".utf8).write(to: URL(filePath: file))
    #expect(try stop().remedy?.contains("first object") == true)
    _ = try verifier.run()
    #expect(try Data(contentsOf: URL(filePath: file)) == Data("mine".utf8))
  }
}

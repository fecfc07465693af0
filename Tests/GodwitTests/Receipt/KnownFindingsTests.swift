import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import Godwit

/// The findings of a verification are known afterwards, as long as they are true of the store.
struct KnownFindingsTests {
  private static func verifier(_ job: MigrationJob) -> Verifier {
    var verifier = Verifier(job: job)
    verifier.checkpointFile = URL(filePath: job.destinationPath + MigrationJob.verificationSuffix)
    return verifier
  }

  private static func isKept(_ job: MigrationJob) -> Bool {
    FileManager.default.fileExists(atPath: job.destinationPath + MigrationJob.verificationSuffix)
  }

  @Test func `findings are known until a verification finds nothing, whatever an application writes`() throws {
    let fixture = try School.fixture()
    let job = try fixture.job
    try MigrationManager(job).run()
    let made = try Data(contentsOf: URL(filePath: job.destinationPath))
    func status() throws -> MigrationStatus { try MigrationManager(job).status() }
    #expect(try Self.verifier(job).run().isClean)
    #expect(try !Self.isKept(job) && status().verifyFindings == nil && status().lastSuccess != nil)

    try SecondNight.edit(job.destinationPath, "UPDATE ZPERSON SET ZNAME = 'other' WHERE ZNAME IS NOT NULL")
    let found = try Self.verifier(job).run().totalFindings
    #expect(try found > 0 && status().verifyFindings == found && status().lastSuccess == nil)
    #expect(try status().state == .finished)
    #expect(try status().description.contains("\n  the last verification found \(found) differences"))
    try SecondNight.edit(job.destinationPath, "CREATE TABLE other (x)", "DROP TABLE other")
    #expect(try status().verifyFindings == found)
    // A run that finds nothing to do repairs nothing, and a sample proves too little.
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
    try made.write(to: URL(filePath: job.destinationPath))
    var sample = Self.verifier(job)
    sample.samplePercent = 50
    _ = try sample.run()
    // One that is stopped has found nothing, and not all is looked at.
    let control = MigrationControl()
    control.stop(reason: "test")
    #expect(throws: GodwitError.self) { _ = try Self.verifier(job).run(control: control) }
    #expect(try status().verifyFindings == found)
    #expect(try Self.verifier(job).run().isClean)
    #expect(try !Self.isKept(job) && status().verifyFindings == nil && status().lastSuccess != nil)
  }

  @Test func `a run that makes the destination again ends the findings, and another store never had it`() throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    // The source has changed since, which is a difference too.
    #expect(try !Self.verifier(job).run().isClean)
    #expect(try MigrationManager(job).status().verifyFindings != nil)
    let kept = try Data(contentsOf: URL(filePath: job.destinationPath + MigrationJob.verificationSuffix))
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(try !Self.isKept(job) && MigrationManager(job).status().verifyFindings == nil)
    // A run that was killed before it could remove the file.
    try kept.write(to: URL(filePath: job.destinationPath + MigrationJob.verificationSuffix))
    #expect(try MigrationManager(job).status().verifyFindings == nil)
    _ = try Self.verifier(job).run()
    #expect(!Self.isKept(job))
  }

  @Test func `a run that finds nothing to do is a success only when the proof after it is`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    try MigrationManager(job).run()
    let receipt = job.destinationPath + Receipt.suffix
    let old = Date(timeIntervalSince1970: 1e9)
    try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: receipt)
    var manager = MigrationManager(job)
    manager.isProvedAfter = true
    #expect(try manager.run().outcome == .alreadyFinished)
    #expect(try DestinationLook.timeOfChange(receipt) == old)
    try manager.noteSuccess()
    #expect(try #require(try DestinationLook.timeOfChange(receipt)) > old)
  }

  @Test func `what was compared of a store that is gone is removed, whosever it is`() throws {
    let fixture = try School.fixture()
    var job = try fixture.job
    try MigrationManager(job).run()
    var verifier = Self.verifier(job)
    verifier.rowsPerCheckpoint = 1
    let control = MigrationControl()
    #expect(throws: GodwitError.self) {
      _ = try verifier.run(control: control) { if $0 > 0.7 { control.stop(reason: "test") } }
    }
    #expect(Self.isKept(job))
    // The same store by another path is another job's to this file.
    let copy = fixture.folder.file("copy.sqlite")
    try FileManager.default.copyItem(atPath: job.sourcePath, toPath: copy)
    let support = SupportFolder(ofStoreAt: job.sourcePath)
    if try support.exists {
      try FileManager.default.copyItem(atPath: support.path, toPath: SupportFolder(ofStoreAt: copy).path)
    }
    job.sourcePath = copy
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: job.destinationPath)
    #expect(throws: GodwitError.self) {
      let stopped = MigrationControl()
      stopped.stop(reason: "test")
      _ = try Self.verifier(job).run(control: stopped)
    }
    #expect(!Self.isKept(job))
  }
}

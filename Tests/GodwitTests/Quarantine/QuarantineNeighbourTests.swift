import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A quarantine beside jobs that go another way: that replace, append, migrate in place, are discarded or begin again.
@Suite struct QuarantineNeighbourTests {
  /// Twenty people of whom two have no name.
  private static func world() throws -> QuarantineWorld {
    let world = try QuarantineWorld(seed: 13, people: 20, broken: 0)
    for key in [3, 8] { world.people[key - 1].name = nil }
    try world.write(to: world.sourcePath)
    return world
  }

  private static func job(_ world: QuarantineWorld, to name: String = "out/people.sqlite") throws -> MigrationJob {
    var job = try world.job(
      from: world.sourcePath, to: world.folder.file(name), chunkRows: 4, quarantine: Quarantine(maximumRows: 9))
    job.receipt = .besideDestination
    return job
  }

  private static func replacing(_ world: QuarantineWorld, keepsOld: Bool = false) throws -> MigrationJob {
    var job = try job(world)
    job.quarantine = nil
    job.existingDestination = .replace(keepsOld: keepsOld)
    return job
  }

  private static func repair(_ world: QuarantineWorld, _ name: String = "repaired") throws {
    try SecondNight.edit(world.sourcePath, "UPDATE ZPERSON SET ZNAME = '\(name)' WHERE Z_PK IN (3, 8)")
  }

  private static func check(_ job: MigrationJob) throws -> VerificationReport {
    try ReceiptCheck(receipt: URL(filePath: job.destinationPath + Receipt.suffix)).run()
  }

  private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  // MARK: Finished before

  @Test func `a job that set objects aside says so in whatever way it is found finished`() throws {
    let world = try Self.world()
    let job = try Self.job(world)
    #expect(try MigrationManager(job).run().quarantinedObjects == 2)
    var appending = job
    (appending.quarantine, appending.existingDestination) = (nil, .append)
    for other in [job, try Self.replacing(world), appending] {
      let summary = try MigrationManager(other).run()
      #expect(summary.outcome == .alreadyFinished && summary.codedNotes.isEmpty)
      #expect(summary.quarantined.reduce(0) { $0 + $1.objects } == 2 && summary.quarantinedObjects == 2)
    }
    // A quarantine that lost an object, one that cannot be counted, and one that is gone.
    let changes: [(sql: [String], quarantined: Int64, says: String)] = [
      (["DELETE FROM ZPERSON WHERE Z_PK = 3"], 1, "has 1 of them"),
      (["ALTER TABLE ZPERSON RENAME TO ZOTHER"], 0, "cannot be read"), ([], 0, "is not there"),
    ]
    for change in changes {
      if change.sql.isEmpty { try FileManager.default.removeItem(atPath: job.quarantinePath) }
      for sql in change.sql { try SecondNight.edit(job.quarantinePath, sql) }
      for other in [job, try Self.replacing(world), appending] {
        let summary = try MigrationManager(other).run()
        #expect(summary.codedNotes.map(\.code) == [.quarantineMissing])
        #expect(summary.notes.first?.contains(change.says) == true, "\(summary.notes)")
        #expect(summary.quarantined.reduce(0) { $0 + $1.objects } == change.quarantined)
        #expect(summary.quarantinedObjects == 2)
      }
    }
  }

  @Test func `a receipt counts the objects of the quarantine, and needs no step for that`() throws {
    let world = try Self.world()
    let job = try Self.job(world)
    try MigrationManager(job).run()
    #expect(try Self.check(job).isClean)
    let quarantine = try Data(contentsOf: URL(filePath: job.quarantinePath))
    for sql in ["DELETE FROM ZPERSON", "DELETE FROM ZGODWITQUARANTINEREASON"] {
      try SecondNight.edit(job.quarantinePath, sql)
      let report = try Self.check(job)
      #expect(report.findings.map(\.kind) == [.missingObject], "\(sql): \(report)")
      #expect(report.findings.first?.message.contains("the receipt counts 2 objects") == true)
      try quarantine.write(to: URL(filePath: job.quarantinePath))
    }
    var receipt = try Receipt.read(job.destinationPath + Receipt.suffix)
    receipt.steps = []
    try receipt.encoded().write(to: URL(filePath: job.destinationPath + Receipt.suffix))
    #expect(try Self.check(job).isClean)
    try FileManager.default.removeItem(atPath: job.quarantinePath)
    #expect(try Self.check(job).findings.first?.message.contains("quarantine of 2 objects is missing") == true)
  }

  // MARK: Replacing

  @Test(arguments: [true, false])
  func `a destination is replaced when its quarantine was moved away, and that is not a write`(keepsOld: Bool) throws {
    let world = try Self.world()
    let job = try Self.job(world)
    try MigrationManager(job).run()
    try Self.repair(world)
    let next = try Self.replacing(world, keepsOld: keepsOld)
    let error = try SecondNight.refusal(next)
    #expect(error.message.contains("set aside are in '\(job.quarantinePath)'"), "\(error)")
    #expect(error.remedy?.contains("move the quarantine away") == true)
    try FileManager.default.moveItem(atPath: job.quarantinePath, toPath: world.folder.file("away.sqlite"))
    // An application has opened the store, so that every object is compared.
    try SecondNight.edit(job.destinationPath, "PRAGMA journal_mode = WAL")
    for name in ["third", "fourth"] {
      let summary = try MigrationManager(next).run()
      #expect(summary.outcome == .finished && !summary.codedNotes.contains { $0.code == .destinationChanged })
      try Self.repair(world, name)
      guard keepsOld else { continue }
      try SecondNight.edit(InPlaceSwap.oldPath(of: job.destinationPath), "PRAGMA journal_mode = WAL")
    }
    #expect(try MigrationManager(next).run().quarantinedObjects == 0)
  }

  // MARK: A quarantine that was put in its place

  /// Leaves a work folder whose quarantine is in its place: that of a finished job of the same source.
  private static func leavePlaced(_ world: QuarantineWorld) throws -> (job: MigrationJob, made: MigrationJob) {
    let made = try job(world, to: "made/people.sqlite")
    try MigrationManager(made).run()
    let job = try job(world)
    let control = MigrationControl()
    let folder = WorkFolder.path(forDestination: job.destinationPath)
    try MigrationManager(job).run(control: control) { _ in
      if (try? RejectionRecord.percentBefore(readingIn: folder)) ?? 0 > 0 { control.stop(reason: "test") }
    }
    let record = try #require(try RejectionRecord.opened(in: folder))
    try record.setDigest(#require(try QuarantineModel.jobDigest(ofStoreAt: made.quarantinePath)))
    try record.close()
    try FileManager.default.copyItem(atPath: made.quarantinePath, toPath: job.quarantinePath)
    return (job, made)
  }

  @Test func `a job that is discarded removes its quarantine, but not that of a finished store`() throws {
    let world = try Self.world()
    let (job, made) = try Self.leavePlaced(world)
    // A run died after it had put both in their places.
    try FileManager.default.copyItem(atPath: made.destinationPath, toPath: job.destinationPath)
    #expect(try MigrationManager.discard(destination: job.destinationPath))
    #expect(Self.exists(job.quarantinePath) && Self.exists(job.destinationPath))

    let other = try Self.world()
    let (unfinished, _) = try Self.leavePlaced(other)
    try Data("mine".utf8).write(to: URL(filePath: unfinished.destinationPath))
    #expect(try MigrationManager.discard(destination: unfinished.destinationPath))
    #expect(!Self.exists(unfinished.quarantinePath))
    #expect(try Data(contentsOf: URL(filePath: unfinished.destinationPath)) == Data("mine".utf8))
  }

  @Test func `a job that begins again removes the quarantine of what it removes`() throws {
    let world = try Self.world()
    let (job, _) = try Self.leavePlaced(world)
    try Self.repair(world)
    let summary = try MigrationManager(Self.replacing(world)).run()
    #expect(summary.outcome == .finished && summary.codedNotes.contains { $0.code == .workDropped }, "\(summary)")
    #expect(!Self.exists(job.quarantinePath))
  }

  // MARK: In place

  @Test func `a job in place keeps the number of objects that another one set aside, and a copy does not`() throws {
    let fixture = try MigrationFixture.notes()
    var metadata = try StoreMetadata(readingStoreAt: fixture.sourcePath)
    metadata.values[StoreMetadata.Key.quarantined] = .integer(5)
    let connection = try StoreConnection(path: fixture.sourcePath)
    try metadata.write(to: connection)
    try connection.close()
    try MigrationManager(fixture.job).run()
    func number(_ path: String) throws -> Int64? {
      try StoreMetadata(readingStoreAt: path).values[StoreMetadata.Key.quarantined]?.integer
    }
    #expect(try number(fixture.destinationPath) == nil)
    let lightweight = fixture.jobInPlace(try fixture.copyOfSource("light"))
    var copied = try fixture.job
    copied.sourcePath = try fixture.copyOfSource("copied")
    (copied.destinationPath, copied.existingDestination) = (copied.sourcePath, .inPlace(keepsOld: true))
    var stepped = copied
    stepped.sourcePath = try fixture.copyOfSource("stepped")
    stepped.destinationPath = stepped.sourcePath
    stepped.steps[0].willMigrate = MigrationStage.Hook("test") { _ in }
    for job in [lightweight, copied, stepped] {
      #expect(try MigrationManager(job).run().outcome == .finished)
      #expect(try number(job.sourcePath) == 5)
    }
  }

  @Test func `a store that was edited itself by a run that died has no receipt, and the next run says so`() throws {
    let fixture = try MigrationFixture.notes()
    var job = fixture.jobInPlace(try fixture.copyOfSource("edited"), keepsOld: false)
    job.receipt = .besideDestination
    let manager = MigrationManager(job)
    #expect(try manager.run().outcome == .finished)
    let receipt = job.sourcePath + Receipt.suffix
    func runAgain() throws -> [MigrationNote.Code] {
      // A killed run leaves this.
      do { _ = try WorkFolder(forDestination: job.sourcePath) }
      #expect(try WorkFolder.exists(forDestination: job.sourcePath))
      let summary = try manager.run()
      #expect(try summary.outcome == .alreadyFinished && !WorkFolder.exists(forDestination: job.sourcePath))
      return summary.codedNotes.map(\.code)
    }
    #expect(try Self.exists(receipt) && runAgain() == [])
    try FileManager.default.removeItem(atPath: receipt)
    #expect(try runAgain() == [.receiptMissing])
  }
}

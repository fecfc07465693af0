import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// The decisions about a run that need no look at anything but the place of its destination.
struct RunRequestTests {
  private static func job(_ change: (inout MigrationJob) throws -> Void = { _ in }) throws -> MigrationJob {
    var job = try MigrationFixture.notes().job
    try change(&job)
    return job
  }

  // MARK: Deliveries

  @Test(arguments: [
    (MigrationJob.ExistingDestinationRule.fail, RunRequest.Delivery.create, RunRequest.Delivery.create),
    (.append, .create, .append), (.replace(keepsOld: true), .create, .replace(keepsOld: true)),
    (.inPlace(keepsOld: false), .inPlace(keepsOld: false), .inPlace(keepsOld: false)),
  ])
  func `a delivery follows from the key and from what is at the destination`(
    rule: MigrationJob.ExistingDestinationRule, free: RunRequest.Delivery, taken: RunRequest.Delivery
  ) throws {
    let job = try Self.job { $0.existingDestination = rule }
    #expect(try RunRequest(job, isTaken: false).delivery == free)
    #expect(try RunRequest(job, isTaken: true).delivery == taken)
  }

  // MARK: Makers

  @Test func `a job of one step is made of its chunks, in rounds if it sets objects aside`() throws {
    #expect(try RunRequest(Self.job(), isTaken: false).maker == .step)
    let quarantine = Quarantine(maximumRows: 3)
    let job = try Self.job { $0.quarantine = quarantine }
    #expect(try RunRequest(job, isTaken: false).maker == .rounds(quarantine))
  }

  @Test func `several steps, and one with a hook, are made one after the other`() throws {
    #expect(try RunRequest(MigrationManager(FaultJob(.severalSteps).job).job, isTaken: false).maker == .steps)
    let job = try Self.job { $0.steps[0].didMigrate = .init("look") { _ in } }
    #expect(try RunRequest(job, isTaken: false).maker == .steps)
  }

  @Test func `an inferred step in place may need statements only, and one with a hook or a mapping does not`() throws {
    let fixture = try MigrationFixture.notes()
    try fixture.infer()
    var job = fixture.jobInPlace(fixture.sourcePath)
    #expect(try RunRequest(job, isTaken: true).maker == .statements)
    job.steps[0].willMigrate = .init("look") { _ in }
    #expect(try RunRequest(job, isTaken: true).maker == .steps)
    let written = try Self.job { $0.existingDestination = .inPlace(keepsOld: true) }
    #expect(try RunRequest(written, isTaken: true).maker == .step)
  }

  // MARK: Durability

  @Test func `only a new store of its own may begin again after a kill`() throws {
    let asked = try Self.job { $0.durability = .restart }
    #expect(try RunRequest(asked, isTaken: false).durability == .restart)
    #expect(try RunRequest(asked, isTaken: true).durability == .resumable)
    for change: (inout MigrationJob) -> Void in [
      { $0.existingDestination = .append }, { $0.existingDestination = .inPlace(keepsOld: true) },
      { $0.quarantine = Quarantine(maximumRows: 3) },
    ] {
      var job = asked
      change(&job)
      #expect(try RunRequest(job, isTaken: false).durability == .resumable)
    }
    #expect(try RunRequest(Self.job(), isTaken: false).durability == .resumable)
  }

  // MARK: Refusals

  @Test(arguments: ["source.sqlite-wal", "source.sqlite-journal", "o.sqlite-shm", "x.godwit/o.sqlite", ".x_SUPPORT/o"])
  func `a destination does not get the name of a log, and is in no folder of a store`(name: String) throws {
    let fixture = try MigrationFixture.notes()
    var job = try fixture.job
    job.destinationPath = URL(filePath: fixture.sourcePath).deletingLastPathComponent().path + "/" + name
    for work in [{ _ = try MigrationManager(job).plan() }, { _ = try MigrationManager(job).run() }] {
      let error = try #require(throws: GodwitError.self) { try work() }
      #expect(error.code == .configuration && error.message.contains("cannot write the destination"), "\(error)")
    }
    #expect(!FileManager.default.fileExists(atPath: job.destinationPath))
    #expect(!FileManager.default.fileExists(atPath: WorkFolder.path(forDestination: job.destinationPath)))
  }

  @Test func `a job that cannot run is refused before the request is made`() throws {
    for change: (inout MigrationJob) -> Void in [
      { ($0.existingDestination, $0.destinationType) = (.append, .xml) }, { $0.quarantine = Quarantine() },
    ] {
      let job = try Self.job(change)
      let error = #expect(throws: GodwitError.self) { try RunRequest(job, isTaken: false) }
      #expect(error?.code == .configuration)
    }
  }
}

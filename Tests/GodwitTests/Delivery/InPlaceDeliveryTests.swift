import Foundation
import GodwitEngine
import GodwitJob
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// A store that takes the place of its source.
struct InPlaceDeliveryTests {
  private let fixture: MigrationFixture

  init() throws {
    fixture = try MigrationFixture.notes()
    try fixture.infer()
  }

  private func delivery(_ world: RunWorld, keepsOld: Bool) throws -> InPlaceDelivery {
    InPlaceDelivery(try world.request, watch: world.watch, keepsOld: keepsOld)
  }

  /// How a run begins: `finished`, `make` or `edit`, with a copy or without one.
  private func beginning(_ job: MigrationJob, keepsOld: Bool) throws -> String {
    let world = RunWorld(job)
    let claim = try Claim(world.job)
    let beginning = try delivery(world, keepsOld: keepsOld).begin(claim)
    try claim.end(.kept)
    return switch beginning {
    case .finished: "finished"
    case .make: "make"
    case .edit(let work): work.swap == nil ? "edit" : "edit a copy"
    }
  }

  @Test func `an inferred step edits the store itself, or a copy where the old store is kept`() throws {
    let path = fixture.sourcePath
    #expect(try beginning(fixture.jobInPlace(path, keepsOld: false), keepsOld: false) == "edit")
    #expect(try beginning(fixture.jobInPlace(path, keepsOld: true), keepsOld: true) == "edit a copy")
  }

  @Test func `a written mapping makes a store, and so does a step with a hook`() throws {
    var written = try fixture.job
    (written.destinationPath, written.existingDestination) = (written.sourcePath, .inPlace(keepsOld: true))
    #expect(try beginning(written, keepsOld: true) == "make")
    var hooked = fixture.jobInPlace(fixture.sourcePath)
    hooked.steps[0].didMigrate = .init("look") { _ in }
    #expect(try beginning(hooked, keepsOld: true) == "make")
  }

  @Test func `the hooks of an inferred step in place are called`() throws {
    let calls = fixture.folder.file("calls")
    var job = fixture.jobInPlace(fixture.sourcePath, keepsOld: false)
    job.steps[0].didMigrate = .init("note") { _ in try Data("called".utf8).write(to: URL(filePath: calls)) }
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(FileManager.default.fileExists(atPath: calls))
  }

  @Test func `a store that was edited is finished, and the next run ends the folder`() throws {
    let job = fixture.jobInPlace(fixture.sourcePath, keepsOld: false)
    let world = RunWorld(job)
    try MigrationManager(job).run()
    #expect(try delivery(world, keepsOld: false).finished()?.outcome == .alreadyFinished)
    let claim = try Claim(world.job)
    guard case .finished(_, let end) = try delivery(world, keepsOld: false).begin(claim) else {
      throw GodwitError(.internalBug, "not finished")
    }
    // A folder beside a migrated store may have a receipt that waits.
    #expect(try delivery(world, keepsOld: false).hasBegunExchange(claim))
    try claim.end(end)
    #expect(try !world.hasFolder)
  }

  @Test func `a store that is made is exchanged, and the old one is kept`() throws {
    var job = try fixture.job
    (job.destinationPath, job.existingDestination) = (job.sourcePath, .inPlace(keepsOld: true))
    let world = RunWorld(job)
    let old = try Data(contentsOf: URL(filePath: job.sourcePath))
    let delivery = try delivery(world, keepsOld: true)
    #expect(try delivery.finished() == nil)
    let claim = try Claim(world.job)
    _ = try delivery.begin(claim)
    _ = try delivery.deliver(world.make(in: claim), claim)
    #expect(claim.journal.content?.phase == .placing)
    #expect(try DestinationLook(world.job).isMigratedInPlace())
    #expect(try Data(contentsOf: URL(filePath: MigrationJob.oldPath(of: job.sourcePath))) == old)
    try claim.end(.done)
  }
}

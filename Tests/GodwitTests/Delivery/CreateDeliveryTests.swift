import Foundation
import GodwitEngine
import GodwitJob
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// A new store where nothing is.
struct CreateDeliveryTests {
  private let fixture: MigrationFixture
  private let world: RunWorld
  private var delivery: CreateDelivery { CreateDelivery(job: world.job, watch: world.watch) }

  init() throws {
    fixture = try MigrationFixture.notes()
    world = RunWorld(try fixture.job)
  }

  @Test func `a finished store gets its name by one link, and the folder no longer has it`() throws {
    #expect(try delivery.finished() == nil)
    let claim = try Claim(world.job)
    guard case .make = try delivery.begin(claim) else { throw GodwitError(.internalBug, "nothing to make") }
    let made = try world.make(in: claim)
    let before = try FileStatus.look(named: made.file)?.identity
    #expect(try delivery.deliver(made, claim).isEmpty)
    #expect(try FileStatus.look(named: world.job.destinationPath)?.identity == before)
    #expect(try !WorkFolder.exists(made.file))
    try claim.end(.done)
    #expect(try delivery.finished()?.outcome == .alreadyFinished)
  }

  @Test func `a file that took the name meanwhile stays, and so does the finished store`() throws {
    let claim = try Claim(world.job)
    let made = try world.make(in: claim)
    try Data("other".utf8).write(to: URL(filePath: world.job.destinationPath))
    var code: GodwitError.Code?
    do { _ = try delivery.deliver(made, claim) } catch let error as GodwitError { code = error.code }
    #expect(code == .cannotCreate)
    #expect(try String(contentsOfFile: world.job.destinationPath, encoding: .utf8) == "other")
    #expect(try WorkFolder.exists(made.file) && delivery.hasBegunExchange(claim))
    try claim.end(.kept)
  }

  @Test func `a store of another job is refused before a folder is claimed`() throws {
    try MigrationManager(world.job).run()
    var other = world.job
    other.name = "other"
    try fixture.alter("UPDATE ZNOTE SET ZTEXT = 'changed'")
    let error = #expect(throws: GodwitError.self) { try CreateDelivery(job: other, watch: world.watch).finished() }
    #expect(error?.code == .cannotCreate)
    #expect(try !world.hasFolder)
  }

  @Test func `a run that died after the link is ended by the next one`() throws {
    let claim = try Claim(world.job)
    let made = try world.make(in: claim)
    _ = try delivery.deliver(made, claim)
    try claim.end(.kept)
    let next = try Claim(world.job)
    guard case .finished(let summary, let end) = try delivery.begin(next) else {
      throw GodwitError(.internalBug, "not finished")
    }
    #expect(summary.outcome == .alreadyFinished)
    try next.end(end)
    #expect(try !world.hasFolder)
  }
}

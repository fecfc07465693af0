import Foundation
import GodwitEngine
import GodwitJob
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// The ends of a claim on a work folder.
struct ClaimTests {
  private let fixture: MigrationFixture
  private let world: RunWorld

  init() throws {
    fixture = try MigrationFixture.notes()
    world = RunWorld(try fixture.job)
  }

  @Test(arguments: [
    (Claim.End.done, false, true), (.undone, false, false), (.kept, true, true), (.failed, false, false),
  ])
  func `the end of a claim decides what becomes of its folder, and of the folders above`(
    end: Claim.End, isFolderLeft: Bool, isParentLeft: Bool
  ) throws {
    let claim = try Claim(world.job)
    #expect(try world.hasFolder)
    try claim.end(end)
    #expect(try world.hasFolder == isFolderLeft)
    #expect(try WorkFolder.exists(world.job.destinationPath.parentPath) == isParentLeft)
  }

  @Test func `the lock of a claim ends with it`() throws {
    let claim = try Claim(world.job)
    #expect(try isLocked())
    try claim.end(.kept)
    #expect(try !isLocked())
  }

  private func isLocked() throws -> Bool {
    guard let other = try Claim.unlessLocked(world.job) else { return true }
    try other.end(.kept)
    return false
  }

  @Test func `a run that failed with durable work keeps all of it`() throws {
    try world.stop()
    let before = try world.names
    let claim = try Claim(world.job)
    try claim.end(.failed)
    #expect(try world.names == before && before.contains("store.sqlite"))
  }

  @Test func `a run that failed and begins again leaves its journal only`() throws {
    let claim = try Claim(world.job, .restart)
    try Data("half".utf8).write(to: URL(filePath: claim.path + "/store.sqlite"))
    claim.journal.hasBegun = true
    try claim.end(.failed)
    let names = try world.names
    #expect(names.contains("run.json") && !names.contains("store.sqlite"), "\(names)")
  }

  @Test func `a run that failed after its store had got a name leaves all to the next run`() throws {
    let claim = try Claim(world.job, .restart)
    try Data("made".utf8).write(to: URL(filePath: claim.path + "/store.sqlite"))
    claim.journal.hasBegun = true
    claim.journal.delivered()
    try claim.end(.failed)
    #expect(try world.names.contains("store.sqlite"))
  }

  @Test func `a folder with a file of others is not removed, and a job that is done says so`() throws {
    let claim = try Claim(world.job)
    try Data("mine".utf8).write(to: URL(filePath: claim.path + "/letter.txt"))
    var code: GodwitError.Code?
    do { try claim.end(.done) } catch let error as GodwitError { code = error.code }
    #expect(code == .cannotCreate)
    #expect(try world.names.contains("letter.txt"))
  }

  @Test func `work without a journal is removed before a run begins`() throws {
    try world.stop()
    try FileManager.default.removeItem(atPath: WorkFolder.journalPath(in: world.job.workPath))
    let claim = try Claim(world.job)
    try claim.begin(world.job)
    #expect(try !world.names.contains("store.sqlite"))
  }
}

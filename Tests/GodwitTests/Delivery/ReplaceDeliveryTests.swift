import Foundation
import GodwitEngine
import GodwitJob
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// A destination that the same job made before something changed.
struct ReplaceDeliveryTests {
  private let night: SecondNight
  private let world: RunWorld

  init() throws {
    night = try SecondNight(.smallStore)
    world = RunWorld(try night.job(night.first))
  }

  private func delivery(isProvedAfter: Bool = false) throws -> ReplaceDelivery {
    let request = try RunRequest(world.job, isTaken: true, isProvedAfter: isProvedAfter)
    return ReplaceDelivery(request, watch: world.watch, keepsOld: false)
  }

  @Test func `a destination of an earlier source is replaced in one exchange`() throws {
    let delivery = try delivery()
    #expect(try delivery.finished() == nil)
    let claim = try Claim(world.job)
    guard case .make(_, let notes) = try delivery.begin(claim) else { throw GodwitError(.internalBug, "not made") }
    #expect(notes.map(\.code) == [.replaces])
    let made = try world.make(in: claim)
    #expect(try SecondNight.content(world.job.destinationPath) == night.old)
    _ = try delivery.deliver(made, claim)
    #expect(claim.journal.content?.phase == .placing)
    let settled = try ReceiptPlacement(world.job).settle(claim)
    try claim.end(settled.end)
    try night.expectDone(night.first, "delivered by hand")
  }

  @Test func `a destination must be looked at before it is replaced`() throws {
    let delivery = try delivery()
    let claim = try Claim(world.job)
    var code: GodwitError.Code?
    do { _ = try delivery.begin(claim) } catch let error as GodwitError { code = error.code }
    #expect(code == .internalBug)
    try claim.end(.undone)
  }

  @Test(arguments: [false, true])
  func `a source as it was is a success now, unless a verification has to say so`(isProvedAfter: Bool) throws {
    try MigrationManager(world.job).run()
    let receipt = world.job.destinationPath + Receipt.suffix
    var times = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
    utimes(receipt, &times)
    #expect(try delivery(isProvedAfter: isProvedAfter).finished()?.outcome == .alreadyFinished)
    let time = try #require(try DestinationLook.timeOfChange(receipt))
    #expect((time.timeIntervalSince1970 == 1_000_000_000) == isProvedAfter)
  }

  @Test func `a destination that was written to since is refused before the work`() throws {
    try SecondNight.edit(world.job.destinationPath, "UPDATE ZPERSON SET ZNAME = 'mine' WHERE Z_PK = 2")
    let delivery = try delivery()
    #expect(try delivery.finished() == nil)
    let claim = try Claim(world.job)
    var found: GodwitError?
    do { _ = try delivery.begin(claim) } catch let error as GodwitError { found = error }
    #expect(
      found?.code == .cannotCreate && found?.message.contains("written to") == true, "\(String(describing: found))")
    try claim.end(.undone)
  }

  @Test func `a run that finds its destination moved away makes a new one`() throws {
    let delivery = try delivery()
    #expect(try delivery.finished() == nil)
    let claim = try Claim(world.job)
    _ = try delivery.begin(claim)
    let made = try world.make(in: claim)
    let path = world.job.destinationPath
    try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
    try FileManager.default.removeItem(atPath: SupportFolder(ofStoreAt: path).path)
    #expect(try delivery.deliver(made, claim).isEmpty)
    #expect(try SecondNight.content(path) == night.new)
    try claim.end(.done)
  }
}

import Foundation
import GodwitEngine
import GodwitJob
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// Objects that are added to a destination.
struct AppendDeliveryTests {
  private let shop: AppendWorld
  private let world: RunWorld

  init() throws {
    shop = try AppendWorld()
    try shop.build("a.sqlite")
    try shop.buildDestination()
    world = RunWorld(try shop.job("a.sqlite"))
  }

  private func begun(_ delivery: AppendDelivery, _ claim: borrowing Claim) throws -> Bool {
    if case .make = try delivery.begin(claim) { true } else { false }
  }

  @Test func `the destination is locked from the beginning to the end of the delivery`() throws {
    var delivery: AppendDelivery? = AppendDelivery(job: world.job)
    let claim = try Claim(world.job)
    #expect(try delivery.map { try begun($0, claim) } == true)
    let error = #expect(throws: GodwitError.self) { _ = try StoreLock(store: world.job.destinationPath) }
    #expect(error?.stopReason == .inUse)
    delivery = nil
    #expect(throws: Never.self) { _ = try StoreLock(store: world.job.destinationPath) }
    try claim.end(.undone)
  }

  @Test func `old and new objects are in the store that is exchanged for the destination`() throws {
    let delivery = AppendDelivery(job: world.job)
    #expect(try delivery.finished() == nil)
    let claim = try Claim(world.job)
    #expect(try begun(delivery, claim))
    let made = try world.make(in: claim)
    #expect(try shop.rows("SELECT COUNT(*) FROM source.ZCUSTOMER") == ["1"])
    #expect(try delivery.deliver(made, claim).isEmpty)
    #expect(try shop.rows("SELECT COUNT(*) FROM source.ZCUSTOMER") == ["5"])
    #expect(claim.journal.content?.phase == .placing)
    try claim.end(.done)
    #expect(try delivery.finished()?.outcome == .alreadyFinished)
    try shop.verify(world.job)
  }

  @Test func `a destination that changed since the copy was made is not exchanged`() throws {
    let delivery = AppendDelivery(job: world.job)
    let claim = try Claim(world.job)
    #expect(try begun(delivery, claim))
    let made = try world.make(in: claim)
    let path = world.job.destinationPath
    var times = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
    utimes(path, &times)
    var code: GodwitError.Code?
    do { _ = try delivery.deliver(made, claim) } catch let error as GodwitError { code = error.code }
    #expect(code == ExistingDestination.changed(path).code)
    #expect(try shop.rows("SELECT COUNT(*) FROM source.ZCUSTOMER") == ["1"])
    try claim.end(.kept)
  }

  @Test func `the folder of a run that died after the exchange goes, and work of another job stays`() throws {
    let delivery = AppendDelivery(job: world.job)
    let claim = try Claim(world.job)
    #expect(try begun(delivery, claim))
    _ = try delivery.deliver(world.make(in: claim), claim)
    try claim.end(.kept)
    #expect(try AppendDelivery(job: world.job).finished()?.outcome == .alreadyFinished)
    #expect(try !world.hasFolder)
    try shop.build("b.sqlite", firstKey: 100)
    try RunWorld(shop.job("b.sqlite")).stop()
    #expect(try AppendDelivery(job: world.job).finished()?.outcome == .alreadyFinished)
    #expect(try world.names.contains("store.sqlite"))
  }
}

import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// What a finished job that met objects shows: to an audit, and of the places of its new links.
@Suite struct MetLinkTests {
  @Test func `an audit of a finished job looks at the source alone, and says so`() throws {
    let world = try MeetingTests.world()
    try world.run("a.sqlite")
    try world.run("b.sqlite")
    let report = try MigrationManager(world.job("b.sqlite")).audit()
    #expect(report.findings.isEmpty, "\(report)")
    #expect(report.notLookedAt.contains { $0.hasPrefix("the objects of the destination: the job has finished") })
  }
}

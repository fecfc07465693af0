import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A finished job that met objects shows: to an audit, and of the places of its new links.
@Suite struct MetLinkTests {
  @Test func `an audit of a finished job looks at the source alone, and says so`() throws {
    let world = try MeetingTests.world()
    try world.run("a.sqlite")
    try world.run("b.sqlite")
    let report = try MigrationManager(world.job("b.sqlite")).audit()
    #expect(report.findings.isEmpty, "\(report)")
    #expect(report.notLookedAt.contains { $0.hasPrefix("the objects of the destination: the job has finished") })
  }

  @Test func `new links of an object that was there follow order-by behind the old ones, and verify knows`() throws {
    let world = try MeetingTests.world()
    func job(_ name: String) throws -> MigrationJob {
      var mappings = try world.mappings()
      let (person, note) = (
        try #require(mappings.firstIndex { $0.name == "PersonToPerson" }),
        try #require(mappings.firstIndex { $0.name == "NoteToNote" })
      )
      mappings[note].relationshipMappings = []
      var notes = RelationshipMapping(name: "notes", value: .sourceRelationship("notes"))
      notes.order = [try #require(EntityMapping.SortDescriptor(text: "text DESC"))]
      mappings[person].relationshipMappings.append(notes)
      var job = try world.job(name)
      job.steps[0].mappingModels = [MappingModel(entityMappings: mappings)]
      return job
    }
    for name in ["a.sqlite", "b.sqlite"] {
      try MigrationManager(job(name)).run()
      #expect(try Verifier(job: job(name)).run().isClean)
    }
    #expect(
      try world.people(sortingNotes: false).prefix(2).map { $0.split(separator: "|").last } == ["a2+a1+a3", "b1+b3+b2"])
    guard case .foreignKey(_, _, _, let place?) = StoreSchema(model: world.destination).storage(of: "owner", in: "Note")
    else { return }
    try world.alter("UPDATE ZNOTE SET \(place) = 99999 WHERE ZTEXT = 'b3'")
    let findings = try Verifier(job: job("b.sqlite")).run().findings
    #expect(findings.contains { $0.kind == .order && $0.message.contains("not what order-by says") }, "\(findings)")
  }
}

import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Traces of jobs with objects in quarantine.
@Suite struct QuarantineTraceTests {
  @Test func `an object in quarantine is traced to its reason`() throws {
    let world = try RepairWorld(seed: 91, people: 20, broken: 50)
    try world.run()
    let manager = MigrationManager(try world.job())
    let held = world.world.rejected().people
    try #require(!held.isEmpty)
    for key in held {
      let uri = "\(world.entity(key))/p\(key)"
      let trace = try manager.trace(uri, in: .source)
      #expect(trace.associations.isEmpty && trace.gaps.map(\.reason) == [.quarantined], "\(uri): \(trace.gaps)")
      #expect(trace.gaps.first?.message.contains(world.quarantine) == true)
    }
  }

  @Test func `objects are numbered without those in quarantine`() throws {
    var pet = EntityDescription.make("Pet", ["name": .string])
    pet.attributes[0].isOptional = false
    let fixture = try MigrationFixture(
      [.make("Cat", ["name": .string]), .make("Dog", ["name": .string])], to: [pet])
    let dogs: [Int64] = [.max - 3, .max - 2, .max - 1]
    try fixture.build { store in
      for key in [1, 2] as [Int64] { try store.insert("Cat", key: key, attributes: ["name": .init("cat \(key)")]) }
      for key in dogs {
        try store.insert("Dog", key: key, attributes: ["name": key == dogs[0] ? .null : .init("dog \(key)")])
      }
    }
    fixture.mappings = [
      try .make("Cat", "Pet", attributes: ["name": "$source.name"]),
      try .make("Dog", "Pet", attributes: ["name": "$source.name"]),
    ]
    var job = try fixture.job
    job.quarantine = Quarantine(maximumRows: 1)
    let manager = MigrationManager(job)
    #expect(try manager.run().quarantinedObjects == 1)
    #expect(try manager.trace("Pet/p3").associations.map(\.source.key) == [dogs[1]])
    #expect(try manager.trace("Pet/p4").associations.map(\.source.key) == [dogs[2]])
    #expect(try manager.trace("Dog/p\(dogs[2])").associations.map(\.destination?.key) == [4])
    #expect(try manager.trace("Dog/p\(dogs[0])").gaps.map(\.reason) == [.quarantined])
  }
}

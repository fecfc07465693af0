import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitDisk
@testable import GodwitJob
@testable import GodwitStore

/// Traces and audits of jobs with objects in quarantine, and with repairs.
@Suite struct RepairedTraceTests {
  private func name(_ object: ObjectTrace.Object?) -> AttributeValue? { object?.attributes["name"] }

  @Test func `an object in quarantine is traced to its reason, and a repaired one to its repair`() throws {
    let world = try RepairWorld(seed: 91, people: 20, broken: 50)
    try world.run()
    let manager = MigrationManager(try world.job())
    let held = world.world.rejected().people
    try #require(!held.isEmpty)
    for key in held {
      let uri = "\(world.entity(key))/p\(key)"
      let trace = try manager.trace(uri, in: .source)
      #expect(trace.associations.isEmpty && trace.gaps.map(\.reason) == [.quarantined], "\(uri): \(trace.gaps)")
      #expect(trace.gaps.first?.message.contains(world.quarantine) == true && !trace.object.isRepaired)
    }
    try world.edit(seed: 92, percent: 60)
    let summary = try world.take()
    let still = Set(try summary.quarantinedObjects > 0 ? world.open().people : [])
    try #require(still.count < held.count)
    let before = try FileManager.default.contentsOfDirectory(atPath: world.folder.file("out")).sorted()
    var (repaired, moved) = (0, 0)
    let whole = try StoreConnection(path: world.repairedPath)
    for person in world.world.people {
      let uri = "\(world.entity(person.key))/p\(person.key)"
      let trace = try manager.trace(uri, in: .source)
      #expect(trace.remarks.isEmpty, "\(trace.remarks)")
      guard !still.contains(person.key) else {
        #expect(trace.gaps.map(\.reason) == [.quarantined], "\(uri): \(trace.gaps)")
        continue
      }
      let found = try #require(trace.associations.first, "\(uri)")
      // The source that was repaired by hand has the same values.
      let row = try whole.rows("SELECT ZNAME, ZAGE FROM ZPERSON WHERE Z_PK = ?1", [.integer(person.key)])
      guard case (.text(let bytes), .integer(let age))? = row.first.map({ ($0[0], $0[1]) }) else { continue }
      let text = String(decoding: bytes, as: UTF8.self)
      #expect(name(found.source) == .string(Text(text)), "\(uri)")
      #expect(found.source.attributes["age"] == .integer(age), "\(uri)")
      #expect(name(found.destination) == name(found.source), "\(uri)")
      #expect(found.destination?.attributes["age"] == .integer(age + 1), "\(uri)")
      #expect(found.source.isRepaired == trace.object.isRepaired && found.destination?.isRepaired == false)
      if found.source.isRepaired { repaired += 1 }
      if person.name != text {
        moved += 1
        #expect(found.source.isRepaired, "\(uri)")
        let back = try manager.trace(found.destinationURI)
        #expect(back.associations.first?.source == found.source, "\(uri)")
      } else if !held.contains(person.key) {
        #expect(!found.source.isRepaired, "\(uri)")
      }
    }
    try whole.close()
    #expect(repaired >= moved && moved > 0, "\(repaired), \(moved)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: world.folder.file("out")).sorted() == before)
  }

  @Test func `without its repairs a trace says that they are missing, and so does an audit`() throws {
    let world = try RepairWorld(seed: 93, people: 12, broken: 60)
    let manager = MigrationManager(try world.job())
    try world.run()
    let before = try manager.audit()
    #expect(!before.isClean && before.repaired == nil)
    try world.edit(seed: 94, percent: 100)
    let summary = try world.take()
    let after = try manager.audit()
    // The audit reads the source as the run has read it.
    #expect(after.repaired.map { $0 > 0 } == true && "\(after)".contains("as repaired in a quarantine"))
    #expect(after.findings.reduce(0) { $0 + $1.count } < before.findings.reduce(0) { $0 + $1.count }, "\(after)")
    #expect(summary.outcome == .finished)
    #expect(after.notLookedAt == before.notLookedAt)

    try FileManager.default.removeItem(atPath: world.repairs)
    let lost = try manager.audit()
    #expect(lost.repaired == nil && lost.findings == before.findings)
    #expect(lost.notLookedAt.contains { $0.contains(world.repairs) }, "\(lost.notLookedAt)")
    #expect(try manager.trace("Group/p1").remarks.contains { $0.contains(world.repairs) })
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

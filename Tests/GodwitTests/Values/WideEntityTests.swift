import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Entities as wide as SQLite's tables can be.
@Suite struct WideEntityTests {
  private func entity(_ count: Int, _ more: String...) -> EntityDescription {
    var entity = EntityDescription(name: "Wide")
    for name in (0..<count).map({ "a\($0)" }) + more {
      var attribute = AttributeDescription(name: name, type: .string)
      attribute.defaultValue = .init("x")
      attribute.isOptional = more.contains(name)
      entity.attributes.append(attribute)
    }
    return entity
  }

  @Test func `an expression of many terms is lowered to few levels`() {
    #expect(["a", "b", "c"].joinedEvenly(by: " + ") == "a + b + c")
    let terms = (0..<250).map { "\($0)" }
    let joined = terms.joinedEvenly(by: " + ")
    #expect(joined.filter { $0 != "(" && $0 != ")" } == terms.joined(separator: " + "))
    #expect(joined.hasPrefix("((0 + 1") || joined.hasPrefix("(0 + 1"))
    #expect([String]().joinedEvenly(by: " OR ") == "")
  }

  @Test func `an entity of 1,200 required attributes is planned and migrated`() throws {
    let fixture = try MigrationFixture([entity(1200)], to: [entity(1200, "more")])
    try fixture.build { store in try store.insert("Wide", key: 1, attributes: ["a7": .init("y")]) }
    fixture.mappings = try fixture.infer().entityMappings
    try fixture.run()
    #expect(try fixture.rows("SELECT ZA7, ZMORE FROM ZWIDE").count == 1)
  }

  @Test func `the losses of many attributes are counted where keys lie as far apart as can be`() throws {
    func wide(_ type: AttributeType) -> EntityDescription {
      EntityDescription(
        name: "Wide", attributes: (0..<1200).map { AttributeDescription(name: "a\($0)", type: type) })
    }
    let fixture = try MigrationFixture([wide(.double)], to: [wide(.float)])
    try fixture.build { store in
      for key in [1, Int64.max - 1] { try store.insert("Wide", key: key, attributes: ["a7": .double(0.1)]) }
    }
    fixture.mappings = [try .make("Wide", "Wide", kind: .copy)]
    let losses = try MigrationManager(fixture.job).plan().losses.losses
    #expect(losses.map(\.count) == [2] && losses.first?.subject == "Wide.a7", "\(losses)")
  }

  @Test func `a table of more columns than SQLite allows is refused by the name of its entity`() throws {
    let folder = try TemporaryFolder()
    let model = try ManagedObjectModel(name: "Wide", entities: [entity(1998)])
    let error = #expect(throws: GodwitError.self) {
      try EmptyStore.create(
        at: folder.file("wide.sqlite"), schema: StoreSchema(model: model), metadata: StoreMetadata(model: model))
    }
    #expect(error?.code == .dataWrong)
    #expect(error?.message.contains("'Wide'") == true && error?.message.contains("2001") == true)
  }

  @Test func `plan and run refuse a table with too many columns before they write, also in place`() throws {
    var other = entity(2000)
    other.name = "Other"
    let fixture = try MigrationFixture([entity(2)], to: [entity(2, "more"), other])
    try fixture.build { store in try store.insert("Wide", key: 1, attributes: ["a0": .init("y")]) }
    try fixture.infer()
    let place = fixture.jobInPlace(try fixture.copyOfSource("place"), keepsOld: false)
    for job in [try fixture.job, place] {
      let works: [() throws -> Void] = [{ _ = try MigrationManager(job).plan() }, { try MigrationManager(job).run() }]
      for work in works {
        let error = #expect(throws: GodwitError.self) { try work() }
        #expect(error?.code == .dataWrong && error?.message.contains("'Other'") == true, "\(error?.message ?? "")")
      }
      #expect(!FileManager.default.fileExists(atPath: job.destinationPath + ".godwit"))
    }
  }
}

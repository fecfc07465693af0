import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// Waiting writes are never lost in silence: not by a hook that catches errors, and not by a chunk that runs twice.
@Suite struct PolicyBatchFaultTests {
  /// Two fixtures with the same source.
  private func pair(_ make: () throws -> MigrationFixture) throws -> (whole: MigrationFixture, broken: MigrationFixture)
  {
    let (whole, broken) = (try make(), try make())
    try FileManager.default.removeItem(atPath: broken.sourcePath)
    try FileManager.default.copyItem(atPath: whole.sourcePath, toPath: broken.sourcePath)
    return (whole, broken)
  }

  /// Runs a job until the instance creation of a mapping comes next.
  private func stop(_ job: MigrationJob, before mapping: String) throws {
    let chunks = try MigrationManager(job).plan().chunks
    let first = try #require(chunks.firstIndex { $0.phase == .create && $0.name == mapping })
    #expect(first > 0)
    for _ in 0..<first { #expect(try MigrationManager(job).run(maximumSeconds: 0).outcome == .stopped) }
  }

  private func alterStoreUnderConstruction(_ fixture: MigrationFixture, _ sql: String) throws {
    let folder = WorkFolder.path(forDestination: fixture.destinationPath)
    let store = try StoreConnection(path: folder + "/store.sqlite")
    try store.execute(sql)
    try store.close()
  }

  /// Inserts contacts; what it does beside that for person 13 is `fault`, whose error it ignores.
  private func catching(_ fault: @escaping ClosurePolicy.ObjectHook) -> PolicyRegistry {
    var policy = ClosurePolicy()
    policy.create = { person, mapping, manager in
      if person.key == 13 { do { try fault(person, mapping, &manager) } catch {} }
      try manager.createDestinationInstances(forSource: person, in: mapping)
    }
    let made = policy
    return ["P": { made }]
  }

  private func fixtures() throws -> (whole: MigrationFixture, broken: MigrationFixture) {
    let fixtures = try pair { try policyFixture(rows: nil) }
    for fixture in [fixtures.whole, fixtures.broken] { fixture.setPolicy("P", of: "PersonToContact") }
    return fixtures
  }

  // MARK: Errors that a hook catches

  @Test(arguments: 0..<3) func `a hook that catches the error of objects that others had waiting fails the run`(
    look: Int
  ) throws {
    let policies = catching { _, _, manager in
      switch look {
      case 0: _ = try manager.destinationInstance(ofEntityNamed: "Contact", where: "age", equals: .integer(4))
      case 1: _ = try manager.destinationInstances(ofEntityNamed: "Contact", limit: 5)
      default: _ = try manager.destinationInstance(ofEntityNamed: "Contact", key: 3)
      }
    }
    let (whole, broken) = try fixtures()
    try whole.run(policies)
    let job = try broken.job(policies)
    try stop(job, before: "PersonToContact")
    // Only what waits by then meets it. The name is one that a run gives its own indexes: others it refuses.
    try alterStoreUnderConstruction(broken, "CREATE UNIQUE INDEX godwit_fault ON ZCONTACT (Z_ENT) WHERE Z_PK < 13")
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error.refusal == .duplicate, "\(error)")
    // The hook for person 13 is not what is wrong.
    #expect(error.cause?.contains("p13") != true, "\(error)")
    #expect(error.context?.contains("PersonToContact") == true, "\(error)")
    try alterStoreUnderConstruction(broken, "DROP INDEX godwit_fault")
    try broken.run(policies)
    #expect(try broken.content() == whole.content())
  }

  @Test func `a chunk that SQLite rolls back under a hook keeps nothing, and resumes to the same store`() throws {
    let plain: PolicyRegistry = ["P": { ClosurePolicy() }]
    let (whole, broken) = try fixtures()
    try whole.run(plain)
    // As SQLite does when it interrupts a statement that writes.
    let policies = catching { _, _, manager in
      let run = try #require(manager.run as? PolicyRun)
      try run.step.connection.execute("ROLLBACK")
    }
    let error = try #require(throws: GodwitError.self) { try MigrationManager(broken.job(policies)).run() }
    #expect(error.code == .stopped, "\(error)")
    #expect(error.message.hasPrefix("stopped: SQLite has rolled back what a chunk wrote"), "\(error)")
    try broken.run(plain)
    #expect(try broken.content() == whole.content())
  }

  // MARK: A chunk that runs twice

  @Test func `a chunk that meets a damaged spill file while rows wait runs again to the same store`() throws {
    let (whole, broken) = try pair {
      let fixture = try MigrationFixture(
        [.make("Person", ["name": .string, "company": .string])],
        to: [
          .make("Worker", ["name": .string], [.toOne("company", "Company", inverse: "staff")]),
          .make("Company", ["name": .string], [.toMany("staff", "Worker", inverse: "company")]),
        ])
      try fixture.build { store in
        for key in Int64(1)...20 {
          try store.insert(
            "Person", key: key, attributes: ["name": .init("person \(key)"), "company": .init("company \(key % 3)")])
        }
      }
      fixture.chunkRows = nil
      fixture.mappings = [
        try .make("Person", "Company", uniqueBy: ["name"], attributes: ["name": "$source.company"]),
        try .make(
          "Person", "Worker", attributes: ["name": "$source.name"],
          relationships: ["company": .mapping("PersonToCompany", keyPath: [])]),
      ]
      fixture.setPolicy("P", of: "PersonToWorker")
      return fixture
    }
    func policies(_ damage: @escaping @Sendable () throws -> Void) -> PolicyRegistry {
      var policy = ClosurePolicy()
      policy.create = { person, mapping, manager in
        try manager.createDestinationInstances(forSource: person, in: mapping)
        guard person.key == 15 else { return }
        try damage()
        let found = try manager.destinationInstances(
          forEntityMappingNamed: "PersonToCompany", sourceInstances: [person])
        #expect(found.count == 1)
      }
      let made = policy
      return ["P": { made }]
    }
    // Links are resolved, so that nothing reads the spill file before the hook does.
    try EngineTuning.with(\.usesShortcuts, false) {
      let (undamaged, _) = try whole.run(policies {})
      let folder = WorkFolder.path(forDestination: broken.destinationPath)
      let log = HookLog()
      let damaging = policies {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".lz4") }
        log.note("\(names)")
        guard log.all.count == 1 else { return }
        let name = try #require(names.first)
        let file = try #require(FileHandle(forUpdatingAtPath: folder + "/" + name))
        try file.seek(toOffset: file.seekToEnd() - 2)
        try file.write(contentsOf: Data([0xA5, 0x5A]))
        try file.close()
      }
      try stop(broken.job(damaging), before: "PersonToWorker")
      let (summary, report) = try broken.run(damaging)
      #expect(report.isClean, "\(report)")
      #expect(log.all.count == 2)
      #expect(summary.notes.contains { $0.contains("'PersonToCompany' was damaged and rebuilt") }, "\(summary.notes)")
      #expect(summary.objects == undamaged.objects)
      #expect(try broken.content() == whole.content())
    }
  }

  // MARK: Entities with an ancestor

  @Test func `an object found by the name of an ancestor is found as it was last saved`() throws {
    let fixture = try MigrationFixture(
      [.make("Item", ["name": .string])],
      to: [
        .make("Animal", ["name": .string, "count": .integer32]), .make("Dog", parent: "Animal", ["breed": .string]),
      ])
    try fixture.build { store in
      for key in Int64(1)...9 { try store.insert("Item", key: key, attributes: ["name": .init("dog \(key % 3)")]) }
    }
    fixture.chunkRows = nil
    fixture.mappings = [try .make("Item", "Dog", attributes: ["name": "$source.name"])]
    fixture.setPolicy("Merge", of: "ItemToDog")
    var merge = ClosurePolicy()
    merge.create = { item, mapping, manager in
      let known = try manager.destinationInstance(ofEntityNamed: "Animal", where: "name", equals: item["name"])
      var dog = try known ?? manager.createDestinationInstance(forSource: item, in: mapping)
      dog["count"] = try .integer((dog.integer("count") ?? 0) + 1)
      try manager.save(dog)
      manager.associate(sourceInstance: item, withDestinationInstance: dog, for: mapping)
    }
    let made = merge
    let (_, report) = try fixture.run(["Merge": { made }])
    #expect(report.isClean, "\(report)")
    #expect(
      try fixture.rows("SELECT ZNAME, ZCOUNT FROM source.ZANIMAL ORDER BY ZNAME") == ["dog 0|3", "dog 1|3", "dog 2|3"])
  }
}

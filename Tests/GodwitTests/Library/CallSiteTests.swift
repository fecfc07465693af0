import Dispatch
import Foundation
import Godwit
import TestSupport
import Testing

/// The call sites that the library is to have, word for word. `import Godwit` is the only one of ours that they need.
struct CallSiteTests {
  @Test func `a store is migrated from two models, a mapping and a policy in a few lines`() async throws {
    let folder = try TemporaryFolder()
    try CallSiteFiles.write(in: folder)
    let (bundle, store, destination) = (
      folder.file("Peoplizer.xcdatamodeld"), folder.file("people.sqlite"), folder.file("people-4.sqlite")
    )

    let people3 = try ManagedObjectModel(contentsOf: bundle, version: "Peoplizer 3")
    let people4 = try ManagedObjectModel(contentsOf: bundle, version: "Peoplizer 4")
    let metadata = try StoreMetadata(readingStoreAt: store)
    guard people3.isCompatible(with: metadata) else {
      Issue.record("the model is not the store's")
      return
    }
    #expect(!people4.isCompatible(with: metadata))

    var mapping = try MappingModel(inferredFrom: people3, to: people4)
    #expect(mapping.entityMappings.map(\.name) == ["IEM_Add_Adult", "IEM_Add_Contact", "IEM_Remove_Person"])
    mapping.entityMappings = try CallSiteFiles.mapping().entityMappings
    mapping.entityMappings["PersonToAdult"]?.filter = try FilterPredicate("age >= 18")

    let manager = MigrationManager(
      sourceModel: people3, destinationModel: people4, mappingModel: mapping,
      policies: ["PersonToContact": SplitFullName()])
    let plan = try manager.plan(
      migratingStoreAt: URL(filePath: store), to: URL(filePath: destination),
      limits: MigrationLimits(memory: .mebibytes(64)))
    print(plan)
    #expect(plan.description.contains("filter     age >= 18"))
    #expect(try plan == manager.plan(migratingStoreAt: URL(filePath: store), to: URL(filePath: destination)))
    #expect(
      try plan
        != manager.plan(
          migratingStoreAt: URL(filePath: store), to: URL(filePath: destination),
          limits: MigrationLimits(memory: .mebibytes(32), chunkRows: 1)))
    let report = try await manager.migrate(plan) { progress in _ = progress.percent }

    #expect(report.outcome == .finished)
    let made = try StoreConnection.openStore(readingAt: destination)
    #expect(try made.rows("SELECT Z_PK FROM source.ZADULT ORDER BY 1") == [[.integer(2)], [.integer(3)]])
    let names = try made.rows("SELECT ZGIVENNAME, ZFAMILYNAME FROM source.ZCONTACT ORDER BY Z_PK")
    #expect(
      names == [
        [.text(Array("Ada".utf8)), .text(Array("Lovelace".utf8))], [.text(Array("Bo".utf8)), .null], [.null, .null],
      ])
    #expect(try await manager.migrate(plan).outcome == .alreadyFinished)
  }

  @Test func `a cancelled task stops the migration at a checkpoint, and the same call resumes`() async throws {
    let folder = try TemporaryFolder()
    try CallSiteFiles.write(in: folder)
    let manager = MigrationManager(
      sourceModel: try CallSiteFiles.model(3), destinationModel: try CallSiteFiles.model(4),
      mappingModel: try CallSiteFiles.mapping(), policies: ["PersonToContact": SplitFullName()])
    let plan = try manager.plan(
      migratingStoreAt: URL(filePath: folder.file("people.sqlite")),
      to: URL(filePath: folder.file("out/people.sqlite")),
      limits: MigrationLimits(chunkRows: 1))
    let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    let task = Task {
      try await manager.migrate(plan) { progress in
        guard progress.rows > 0 else { return }
        continuation.yield()
        gate.wait()
      }
    }
    for await _ in begun { break }
    task.cancel()
    for _ in 0..<plan.chunks.count { gate.signal() }
    await #expect(throws: CancellationError.self) { try await task.value }
    let resumed = try await manager.migrate(plan)
    #expect(resumed.outcome == .finished)
    #expect(resumed.wasResumed)
  }

  @Test func `a plan is refused for a store and itself, and for too little memory`() throws {
    let manager = MigrationManager(
      sourceModel: try CallSiteFiles.model(3), destinationModel: try CallSiteFiles.model(4),
      mappingModel: try CallSiteFiles.mapping())
    let itself = #expect(throws: GodwitError.self) {
      try manager.plan(migratingStoreAt: URL(filePath: "/tmp/a.sqlite"), to: URL(filePath: "/tmp/../tmp/a.sqlite"))
    }
    #expect(itself?.code == .configuration)
    let small = #expect(throws: GodwitError.self) {
      try manager.plan(
        migratingStoreAt: URL(filePath: "a.sqlite"), to: URL(filePath: "b.sqlite"),
        limits: MigrationLimits(memory: .mebibytes(15)))
    }
    #expect(small?.message == "cannot run with a memory budget of 15 MiB: a run needs at least 16 MiB")
  }

  @Test func `entity mappings are read, changed, added and removed by name`() throws {
    var mapping = try CallSiteFiles.mapping()
    mapping.entityMappings["PersonToContact"]?.kind = .custom
    #expect(mapping.entityMappings[1].kind == .custom)
    mapping.entityMappings["Nobody"]?.filter = try FilterPredicate("age >= 18")
    #expect(mapping.entityMappings.map(\.name) == ["PersonToAdult", "PersonToContact"])
    mapping.entityMappings["PersonToAdult"] = nil
    #expect(mapping.entityMappings["PersonToAdult"] == nil)
    mapping.entityMappings["More"] = EntityMapping(name: "More", source: "Person", destination: "Adult")
    #expect(mapping.entityMappings.map(\.name) == ["PersonToContact", "More"])
    mapping["More"]?.filter = try FilterPredicate("name == 'Ada'")
    let filter = try #require(mapping["More"]?.filter)
    #expect(try FilterPredicate(parsing: filter.source.text) == filter)
    #expect(try FilterPredicate("age  >=  18").source.text == "age  >=  18")
    #expect(FilterPredicate(.constant(true)).source.text == "TRUEPREDICATE")
  }
}

/// Splits `Person.fullName` at its first space into `Contact.givenName` and `familyName`.
struct SplitFullName: EntityMigrationPolicy {
  func createDestinationInstances(
    forSource person: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
  ) throws {
    var contact = try manager.createDestinationInstance(forSource: person, in: mapping)  // what `super` was
    let names = try person.string("fullName")?.split(separator: " ", maxSplits: 1) ?? []
    contact["givenName"] = names.first.map(AttributeValue.init) ?? .null
    contact["familyName"] = names.count == 2 ? AttributeValue(names[1]) : .null
    try manager.insert(contact)
    manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
  }
}

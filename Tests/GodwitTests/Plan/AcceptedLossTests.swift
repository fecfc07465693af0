import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Losses that are meant: `on-loss: fail` stops for the rest alone, and an entry must name a loss of the job.
@Suite struct AcceptedLossTests {
  /// Four people and three pets. The destination has adults without their age, and pets without owner.
  private func people(attributes: [String: String] = ["name": "$source.name"]) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [
        .make("Person", ["name": .string, "age": .integer16], [.toMany("pets", "Pet", inverse: "owner")]),
        .make("Pet", ["name": .string], [.toOne("owner", "Person", inverse: "pets")]),
        .make("Car", ["name": .string]),
      ], to: [.make("Adult", ["name": .string, "isOld": .boolean]), .make("Pet", ["name": .string])])
    try fixture.build { store in
      for key in Int64(1)...4 {
        try store.insert("Person", key: key, attributes: ["name": .init("p\(key)"), "age": .integer(key * 10)])
      }
      for key in Int64(1)...3 {
        try store.insert(
          "Pet", key: key, attributes: ["name": key == 2 ? .null : .init("x")], relationships: ["owner": [key]])
      }
    }
    fixture.mappings = [
      try .make("Person", "Adult", filter: "age >= 18", attributes: attributes),
      try .make("Pet", "Pet", filter: "name != nil", attributes: ["name": "$source.name"]),
    ]
    return fixture
  }

  private func strict(_ fixture: MigrationFixture, _ accepted: [MigrationJob.AcceptedLoss]) throws -> MigrationJob {
    var job = try fixture.job
    (job.onLoss, job.acceptedLosses) = (.fail, accepted)
    return job
  }

  private static let all: [MigrationJob.AcceptedLoss] = [
    "Person.age", "Person (filtered out)", "Pet (filtered-out)", "Pet.owner",
  ]

  @Test func `a job that accepts all of its losses runs, and lists them as accepted`() throws {
    let fixture = try people()
    let job = try strict(fixture, Self.all)
    let plan = try MigrationManager(job).plan()
    #expect(plan.losses.losses.count == 4 && plan.losses.losses.allSatisfy { $0.isAccepted == true })
    #expect(plan.verdict == "OK: the step loses data that the job accepts to lose")
    let summary = try MigrationManager(job).runAsPlanned()
    #expect(
      summary.losses.losses.map(\.description).sorted() == [
        "1 of Person (filtered out), accepted", "1 of Pet (filtered out), accepted",
        "3 links of Pet.owner (no destination relationship takes them), accepted",
        "4 values of Person.age (no destination attribute takes them; the filter of mapping 'PersonToAdult' reads them), accepted",
      ])
    #expect(try Verifier(job: job).run().isClean)
  }

  @Test(arguments: [0, 1, 2, 3])
  func `a job stops for the losses that it does not accept, and names these alone`(left: Int) throws {
    let fixture = try people()
    var accepted = Self.all
    let rest = accepted.remove(at: left)
    let job = try strict(fixture, accepted)
    let plan = try MigrationManager(job).plan()
    #expect(plan.losses.refusable.map(\.subject) == [rest.subject])
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
    #expect(
      error?.code == .dataWrong && error?.cause?.split(separator: "\n").count == 1, "\(String(describing: error))")
    #expect(error?.cause?.contains(" \(rest.subject) (") == true, "\(String(describing: error))")
    #expect(!FileManager.default.fileExists(atPath: fixture.destinationPath))
  }

  @Test(
    arguments: [
      "Person.age (no destination attribute takes them; the filter of mapping 'PersonToAdult' reads them)",
      "values of Person.age (not taken)", "links of Pet.owner", "objects of Car (no mapping carries them over)",
      "Pet.owner (no destination relationship takes them)", "Person (filtered out)", "of Person (filtered out)",
      "value of Person.age (not taken)", "link of Pet.owner (no destination relationship takes them)",
    ] as [MigrationJob.AcceptedLoss])
  func `the words that a plan prints are accepted as they are`(entry: MigrationJob.AcceptedLoss) throws {
    let fixture = try people()
    _ = try MigrationManager(strict(fixture, Self.all + [entry])).runAsPlanned()
  }

  @Test(arguments: ["Cache (old)", "Cache (old) (no model names it)", "row of table Cache (old) (no model names it)"])
  func `a table with parentheses in its name is accepted like any other`(entry: String) throws {
    let fixture = try people()
    try fixture.alter("CREATE TABLE \"Cache (old)\" (a)")
    try fixture.alter("INSERT INTO \"Cache (old)\" VALUES (1)")
    _ = try MigrationManager(strict(fixture, Self.all + [.init(entry)])).runAsPlanned()
  }

  @Test func `the words behind the count of lost order are accepted as they are`() throws {
    func items(isOrdered: Bool) -> [EntityDescription] {
      [
        .make("List", ["name": .string], [.toMany("items", "Item", inverse: "list", ordered: isOrdered)]),
        .make("Item", ["name": .string], [.toOne("list", "List", inverse: "items")]),
      ]
    }
    let fixture = try MigrationFixture(items(isOrdered: true), to: items(isOrdered: false))
    try fixture.build { store in
      for key in Int64(1)...2 { try store.insert("Item", key: key, attributes: [:], relationships: [:]) }
      try store.insert("List", key: 1, attributes: [:], relationships: ["items": [2, 1]])
    }
    try fixture.infer()
    let told = try MigrationManager(fixture.job).plan().losses.losses.map(\.description)
    #expect(told.first?.hasPrefix("2 links of List.items lose their order (") == true, "\(told)")
    let entry = try #require(told.first?.split(separator: " ", maxSplits: 1).last)
    _ = try MigrationManager(strict(fixture, [.init(String(entry))])).runAsPlanned()
  }

  @Test func `values that became nil are accepted by the words that name them`() throws {
    for entry: MigrationJob.AcceptedLoss in [
      "Adult.age (became nil)", "Adult.age became nil (mapping PersonToAdult)", "Adult.age (expression)",
    ] {
      let fixture = try MigrationFixture([.make("Person", ["age": .string])], to: [.make("Adult", ["age": .integer16])])
      try fixture.build { store in try store.insert("Person", key: 1, attributes: ["age": .init("x")]) }
      fixture.mappings = [try .make("Person", "Adult", attributes: ["age": "CAST($source.age, 'NSNumber')"])]
      let summary = try MigrationManager(strict(fixture, [entry])).runAsPlanned()
      #expect(
        summary.losses.losses.map(\.description) == [
          "1 value of Adult.age became nil (mapping PersonToAdult), accepted"
        ])
    }
  }

  @Test(
    arguments: [
      ("Person.aeg", "Person.age"), ("Person.name", "Person.age"), ("Pet (no mapping)", "Pet (filtered out)"),
      ("Adult.age", nil), ("Pets", "Pet"), ("Person.age (merged)", "Person.age (not taken)"),
    ] as [(MigrationJob.AcceptedLoss, String?)])
  func `an entry that names no loss is 78 with the nearest one`(
    entry: MigrationJob.AcceptedLoss, nearest: String?
  ) throws {
    let fixture = try people()
    let job = try strict(fixture, Self.all + [entry])
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
    #expect(error?.code == .configuration && error?.message.contains("'\(entry.text)'") == true)
    if let nearest {
      #expect(error?.message.contains("(did you mean '\(nearest)'?)") == true, "\(error?.message ?? "")")
    }
    #expect(error?.cause?.contains("Person.age") == true)
    #expect(!FileManager.default.fileExists(atPath: job.workPath))
  }

  @Test func `a loss that happens in no row of this store may be named all the same`() throws {
    let fixture = try people()
    for sql in [
      "UPDATE ZPERSON SET ZAGE = NULL", "UPDATE ZPET SET ZOWNER = NULL", "DELETE FROM ZPET WHERE ZNAME IS NULL",
    ] {
      try fixture.alter(sql)
    }
    let job = try strict(fixture, Self.all + ["Car (no mapping)", "Car"])
    let summary = try MigrationManager(job).runAsPlanned()
    #expect(summary.losses.losses.map(\.subject) == ["Person"])
  }

  @Test func `a value that only weighs an attribute does not take it, and the message says so`() throws {
    let fixture = try people(attributes: ["isOld": "TERNARY($source.age > 25, YES, NO)", "name": "$source.name"])
    let found = try MigrationManager(fixture.job).plan().losses.losses.filter { $0.kind == .values }
    #expect(
      found.map(\.description) == [
        "4 values of Person.age (no destination attribute takes them; the filter of mapping 'PersonToAdult' and a condition of mapping 'PersonToAdult' read them)"
      ])
    let taking = try people(attributes: ["name": "TERNARY($source.age > 25, CAST($source.age, 'NSString'), nil)"])
    #expect(try MigrationManager(taking.job).plan().losses.losses.map(\.subject).contains("Person.name"))
    #expect(try !MigrationManager(taking.job).plan().losses.losses.map(\.subject).contains("Person.age"))
  }

  @Test func `tables and columns that no model names may be accepted, but only if the store has them`() throws {
    let fixture = try people()
    let changes = [
      "CREATE TABLE app (a)", "INSERT INTO app VALUES (1)", "ALTER TABLE ZPET ADD COLUMN mine",
      "UPDATE ZPET SET mine = 7",
    ]
    for sql in changes { try fixture.alter(sql) }
    var job = try strict(fixture, Self.all)
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
    #expect(error?.code == .dataWrong)
    job.acceptedLosses += ["app", "ZPET.mine (no model names the column)"]
    #expect(try MigrationManager(job).runAsPlanned().losses.accepted.count == 6)
    job.acceptedLosses.append("apps")
    job.destinationPath = fixture.folder.file("other.sqlite")
    #expect(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
  }

  @Test(arguments: [StoreType.sqlite, .xml, .binary])
  func `a chain of steps accepts losses of each step`(type: StoreType) throws {
    func model(_ name: String, _ attributes: [String: AttributeType]) throws -> ManagedObjectModel {
      try ManagedObjectModel(name: name, entities: [.make("Note", attributes)])
    }
    let models = [
      try model("1", ["a": .string, "b": .string, "c": .string]), try model("2", ["a": .string, "b": .string]),
      try model("3", ["a": .string]),
    ]
    let folder = try TemporaryFolder()
    let builder = try StoreBuilder(path: folder.file("notes.sqlite"), model: models[0])
    for key in Int64(1)...5 {
      try builder.insert("Note", key: key, attributes: ["a": .init("a"), "b": .init("b"), "c": .init("c")])
    }
    try builder.finish()
    let steps = try (0...1).map { place in
      MigrationStep(
        sourceModel: models[place], destinationModel: models[place + 1],
        mappingModels: [MappingModel(entityMappings: [try .make("Note", "Note", kind: .copy)])])
    }
    func run(_ accepted: [MigrationJob.AcceptedLoss], to name: String) throws -> MigrationSummary {
      var job = MigrationJob(
        name: "notes", sourcePath: folder.file("notes.sqlite"), destinationPath: folder.file(name), first: steps[0],
        later: [steps[1]])
      (job.onLoss, job.destinationType, job.acceptedLosses) = (.fail, type, accepted)
      return try MigrationManager(job).run()
    }
    let summary = try run(["Note.b", "Note.c (not taken)"], to: "all")
    #expect(
      summary.losses.losses.map { "\($0.step) \($0.subject) \($0.isAccepted ?? false)" } == [
        "1 Note.c true", "2 Note.b true",
      ])
    let error = #expect(throws: GodwitError.self) { try run(["Note.c"], to: "part") }
    #expect(error?.code == .dataWrong && error?.cause?.hasPrefix("step 2: lost 5 values of Note.b") == true)
    #expect(#expect(throws: GodwitError.self) { try run(["Note.c", "Note.a"], to: "none") }?.code == .configuration)
  }

  @Test func `a store in place is changed, appended to and planned with accepted losses`() throws {
    let fixture = try MigrationFixture(
      [.make("Note", ["a": .string, "b": .string])], to: [.make("Note", ["a": .string])])
    try fixture.build { store in
      for key in Int64(1)...9 { try store.insert("Note", key: key, attributes: ["a": .init("a"), "b": .init("b")]) }
    }
    try fixture.infer()
    var appending = try strict(fixture, ["Note.b"])
    appending.existingDestination = .append
    appending.steps[0].origin = MigrationStep.inferredOrigin
    #expect(try MigrationManager(appending).runAsPlanned().losses.accepted.map(\.count) == [9])
    var inPlace = try strict(fixture, [])
    (inPlace.destinationPath, inPlace.existingDestination) = (inPlace.sourcePath, .inPlace(keepsOld: true))
    inPlace.steps[0].origin = MigrationStep.inferredOrigin
    #expect(throws: GodwitError.self) { try MigrationManager(inPlace).runAsPlanned() }
    inPlace.acceptedLosses = ["Note.b", "Note.c"]
    #expect(throws: GodwitError.self) { try MigrationManager(inPlace).runAsPlanned() }
    inPlace.acceptedLosses = ["Note.b"]
    #expect(try MigrationManager(inPlace).runAsPlanned().losses.accepted.map(\.count) == [9])
    // The next night finds the store migrated.
    #expect(try MigrationManager(inPlace).run().outcome == .alreadyFinished)
  }

  @Test func `objects in quarantine may be accepted, and their links with them`() throws {
    let world = try QuarantineWorld(seed: 11, people: 30, broken: 0)
    for key in [3, 8, 9, 20, 30] { world.people[key - 1].name = nil }
    try world.write(to: world.sourcePath)
    var job = try world.job(
      from: world.sourcePath, to: world.folder.file("out/people.sqlite"), chunkRows: 4,
      quarantine: Quarantine(maximumRows: 9))
    job.onLoss = .fail
    // The losses beside the quarantine are accepted by their own names.
    var other = job
    (other.onLoss, other.destinationPath) = (.report, world.folder.file("other/people.sqlite"))
    let summary = try MigrationManager(other).run()
    let rest = summary.losses.refusable.filter { $0.cause != .quarantined }
    let entities = Set(summary.losses.losses.filter { $0.kind == .objects && $0.cause == .quarantined }.map(\.subject))
    #expect(!entities.isEmpty)
    job.acceptedLosses = rest.map { MigrationJob.AcceptedLoss($0.subject) }
    #expect(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
    try MigrationManager.discard(destination: job.destination)
    job.acceptedLosses += entities.map { MigrationJob.AcceptedLoss("\($0) (quarantined)") }
    #expect(try MigrationManager(job).runAsPlanned().quarantinedObjects == 5)
  }

  @Test func `whatever a random job loses can be named, and each name is needed`() throws {
    for seed in testSeeds(12) {
      let world = try LossWorld(seed: seed)
      let lost = try MigrationManager(world.fixture.job).run().losses.losses.filter(\.isLoss)
      let subjects = Set(lost.map(\.subject)).sorted()
      var job = try world.fixture.job
      job.onLoss = .fail
      for (place, left) in ([nil] + subjects.map(Optional.some)).enumerated() {
        job.destinationPath = world.fixture.folder.file("strict-\(place).sqlite")
        job.acceptedLosses = subjects.filter { $0 != left }.map { MigrationJob.AcceptedLoss($0) }
        guard let left else {
          #expect(try MigrationManager(job).run().losses.refusable.isEmpty, "seed \(seed)")
          continue
        }
        let error = #expect(throws: GodwitError.self, "seed \(seed): \(left)") { try MigrationManager(job).run() }
        #expect(error?.code == .dataWrong && error?.cause?.contains(left) == true, "seed \(seed): \(left)")
      }
    }
  }
}

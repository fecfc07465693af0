import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// The limits of a quarantine, the jobs that refuse it, and the findings of a proof.
@Suite struct QuarantineLimitTests {
  /// Thirty people of whom five have no name, and one has an age that is not a number.
  private static func world() throws -> QuarantineWorld {
    let world = try QuarantineWorld(seed: 11, people: 30, broken: 0)
    for key in [3, 8, 9, 20, 30] { world.people[key - 1].name = nil }
    world.people[13].ageText = "old"
    try world.write(to: world.sourcePath)
    return world
  }

  private func job(_ world: QuarantineWorld, _ quarantine: Quarantine?, rows: Int? = 4) throws -> MigrationJob {
    try world.job(
      from: world.sourcePath, to: world.folder.file("out/people.sqlite"), chunkRows: rows, quarantine: quarantine)
  }

  @discardableResult
  private func expectFailure(
    _ job: MigrationJob, _ code: GodwitError.Code, _ text: String
  ) throws -> GodwitError? {
    do {
      let summary = try MigrationManager(job).run()
      Issue.record("the run ended: \(summary.outcome)")
    } catch let error as GodwitError {
      #expect(error.code == code, "\(error)")
      #expect(error.description.contains(text), "\(error)")
      #expect(error.remedy != nil)
      return error
    }
    return nil
  }

  @Test func `the limit may be reached, and one object more stops the run`() throws {
    let world = try Self.world()
    let error = try expectFailure(job(world, Quarantine(maximumRows: 5)), .dataWrong, "at most 5 objects")
    #expect(error?.cause?.contains("x-coredata://\(world.uuid.uuidString)/") == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: world.folder.file("out")) == ["people.sqlite.godwit"])
    // With a higher limit the same work goes on.
    let summary = try MigrationManager(job(world, Quarantine(maximumRows: 6))).run()
    #expect(summary.quarantinedObjects == 6)
    let names = try FileManager.default.contentsOfDirectory(atPath: world.folder.file("out"))
    #expect(
      names.filter { !$0.hasSuffix("_SUPPORT") }.sorted() == ["people.sqlite", "people.sqlite.quarantine.sqlite"])
    #expect(try Verifier(job: job(world, Quarantine(maximumRows: 6))).run().isClean)
  }

  @Test func `the percentage is of all objects that the mappings take, those in quarantine included`() throws {
    let world = try Self.world()
    // 30 people, 7 addresses, 6 groups: six of them are 13.95 %.
    let taken = 30 + world.addresses.count + Int(world.groups)
    let exact = 600.0 / Double(taken)
    try expectFailure(
      job(world, Quarantine(maximumPercent: exact - 0.01)), .dataWrong, "of \(taken) that the job takes")
    let summary = try MigrationManager(job(world, Quarantine(maximumPercent: exact))).run()
    #expect(summary.quarantinedObjects == 6)
  }

  @Test(arguments: [
    (Quarantine(maximumRows: 3), 1000, 3), (Quarantine(maximumPercent: 0.1), 1000, 1),
    (Quarantine(maximumPercent: 0.1), 999, 0), (Quarantine(maximumRows: 100, maximumPercent: 0.1), 5000, 5),
    (Quarantine(maximumRows: 2, maximumPercent: 100), 5000, 2), (Quarantine(maximumPercent: 100), 7, 7),
    (Quarantine(maximumPercent: 0), 7, 0), (Quarantine(maximumRows: 0), .max, 0),
  ])
  func `the lower of both limits holds`(quarantine: Quarantine, taken: Int64, limit: Int64) {
    #expect(quarantine.limit(of: taken) == limit)
  }

  @Test func `a job that has set objects aside does not go on without a quarantine`() throws {
    let world = try Self.world()
    let control = MigrationControl()
    let stopped = try MigrationManager(job(world, Quarantine(maximumRows: 9))).run(control: control) { _ in
      // The second round: the first has ended with what cannot be made.
      if (try? RejectionRecord.percentBefore(readingIn: world.folder.file("out/people.sqlite.godwit"))) ?? 0 > 0 {
        control.stop(reason: "test")
      }
    }
    #expect(stopped.outcome == .stopped)
    try expectFailure(job(world, nil), .cannotCreate, "has set aside 1 object")
    #expect(try MigrationManager.discard(destination: world.folder.file("out/people.sqlite")))
    #expect(try FileManager.default.contentsOfDirectory(atPath: world.folder.file("out")).isEmpty)
    try expectFailure(job(world, nil), .dataWrong, "p14")
  }

  @Test func `a file in the place of the quarantine is refused before anything is written`() throws {
    let world = try Self.world()
    let path = world.folder.file("out/people.sqlite") + Quarantine.suffix
    try FileManager.default.createDirectory(atPath: world.folder.file("out"), withIntermediateDirectories: true)
    try Data("mine".utf8).write(to: URL(filePath: path))
    try expectFailure(job(world, Quarantine(maximumRows: 9)), .cannotCreate, "quarantine.sqlite' exists")
    #expect(try Data(contentsOf: URL(filePath: path)) == Data("mine".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: world.folder.file("out")).count == 1)
  }

  @Test func `what on-loss forbids is forbidden in quarantine too`() throws {
    let world = try Self.world()
    var job = try job(world, Quarantine(maximumRows: 9))
    job.onLoss = .fail
    try expectFailure(job, .dataWrong, "would lose data")
    #expect(!FileManager.default.fileExists(atPath: job.destinationPath))
  }

  @Test func `a filter that cannot be computed for a row sets its object aside`() throws {
    let world = try Self.world()
    for key in [3, 8, 9, 20, 30] { world.people[key - 1].name = "somebody" }
    try FileManager.default.removeItem(atPath: world.sourcePath)
    try world.write(to: world.sourcePath)
    var job = try job(world, Quarantine(maximumRows: 1))
    var mappings = job.steps[0].mappingModels[0].entityMappings
    for place in mappings.indices
    where mappings[place].name.hasSuffix("ToPerson") || mappings[place].name.hasSuffix("ToEmployee") {
      mappings[place].filter = try FilterPredicate("age >= 0")
    }
    job.steps[0].mappingModels = [MappingModel(entityMappings: mappings)]
    let summary = try MigrationManager(job).run()
    #expect(summary.quarantinedObjects == 1)
    #expect(try Verifier(job: job).run().isClean)
    let connection = try StoreConnection.openStore(readingAt: job.quarantinePath)
    #expect(try connection.integer("SELECT Z_PK FROM source.ZPERSON") == 14)
  }

  @Test func `jobs whose rejected rows are not objects of the source are refused`() throws {
    let world = try Self.world()
    let job = try job(world, Quarantine(maximumRows: 9))
    var inPlace = job
    inPlace.existingDestination = .inPlace(keepsOld: true)
    var appending = job
    appending.existingDestination = .append
    var stepped = job
    stepped.steps[0].willMigrate = MigrationStage.Hook("test") { _ in }
    var policies = job
    policies.steps[0].mappingModels[0].entityMappings[0].policyName = "Policy"
    policies.unregisteredPolicies = .fail
    var replacing = job
    replacing.existingDestination = .replace(keepsOld: true)
    let jobs: [(MigrationJob, String)] = [
      (inPlace, "in place"), (appending, "appends"), (replacing, "replaces"), (stepped, "hooks"), (policies, "policy"),
    ]
    for (refused, text) in jobs {
      #expect(refused.quarantineObstacle?.code == .configuration)
      #expect(refused.quarantineObstacle?.message.contains(text) == true)
      do {
        _ = try MigrationManager(refused).plan()
        Issue.record("\(text) was planned")
      } catch let error as GodwitError { #expect(error.code == .configuration && error.message.contains(text)) }
    }
    #expect(job.quarantineObstacle == nil)
  }

  // MARK: Proof

  private func prove(_ job: MigrationJob, after sql: String, on path: String) throws -> VerificationReport {
    let connection = try StoreConnection(path: path)
    try connection.execute(sql)
    try connection.close()
    return try Verifier(job: job).run()
  }

  @Test(arguments: [
    ("DELETE FROM ZPERSON WHERE Z_PK = 3", "missing object"),
    ("UPDATE ZPERSON SET ZAGE = 5 WHERE Z_PK = 3", "it is not what the source has"),
    ("UPDATE ZPERSON SET ZBOSS = 1 WHERE Z_PK = 3", "it is not what the source has"),
    ("DELETE FROM ZGODWITQUARANTINEREASON WHERE ZKEY = 3", "the store gives no reason"),
    (
      "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE) SELECT 1000, Z_ENT, 1, NULL, 1 FROM ZPERSON LIMIT 1",
      "the source has no such object"
    ),
    ("UPDATE ZPERSON SET Z_PK = 1 WHERE Z_PK = 3", "in quarantine"),
  ])
  func `a changed quarantine is found`(sql: String, text: String) throws {
    let world = try Self.world()
    let job = try job(world, Quarantine(maximumRows: 9))
    _ = try MigrationManager(job).run()
    let report = try prove(job, after: sql, on: job.quarantinePath)
    #expect(!report.isClean)
    #expect(report.description.contains(text), "\(report)")
  }

  @Test func `a sound object that was moved into the quarantine is found`() throws {
    let world = try Self.world()
    let job = try job(world, Quarantine(maximumRows: 9))
    _ = try MigrationManager(job).run()
    let name = world.people[0].name ?? ""
    let isEmployee = world.people[0].isEmployee
    let quarantine = try StoreConnection(path: job.quarantinePath)
    let model = try QuarantineModel.model(for: try QuarantineWorld.source)
    let number = try #require(StoreSchema(model: model).number(of: isEmployee ? "Employee" : "Person"))
    try quarantine.execute(
      "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, ZBADGE) VALUES (1, ?1, 1, ?2, ?3, ?4)",
      [
        .int(number), .text(name), .integer(world.people[0].age ?? 0),
        world.people[0].badge.map { .text($0) } ?? .null,
      ])
    try quarantine.close()
    let report = try prove(job, after: "DELETE FROM ZPERSON WHERE Z_PK = 1", on: job.destinationPath)
    #expect(!report.isClean)
    #expect(report.findings.contains { $0.key == 1 && $0.message.contains("in quarantine") }, "\(report)")
  }

  @Test func `an object that is missing from the destination and not in quarantine is found`() throws {
    let world = try Self.world()
    let job = try job(world, Quarantine(maximumRows: 9))
    _ = try MigrationManager(job).run()
    let report = try prove(job, after: "DELETE FROM ZGROUP WHERE Z_PK = 1", on: job.destinationPath)
    #expect(report.findings.contains { $0.kind == .missingObject && $0.entity == "Group" }, "\(report)")
  }

  // MARK: Without a quarantine

  @Test func `an error of validation names the objects of its chunk by their source`() throws {
    let world = try Self.world()
    world.people[13].ageText = nil
    try FileManager.default.removeItem(atPath: world.sourcePath)
    try world.write(to: world.sourcePath)
    let error = try expectFailure(job(world, nil, rows: nil), .dataWrong, "validation failed for")
    let cause = try #require(error?.cause)
    let named = cause.split(separator: "\n").dropFirst()
    let entities = Dictionary(grouping: [3, 8, 9, 20, 30]) { world.people[$0 - 1].isEmployee ? "Employee" : "Person" }
    // One entity is validated at a time.
    let expected = entities.map { entity, keys in
      keys.sorted().map {
        "x-coredata://\(world.uuid.uuidString)/\(entity)/p\($0): attribute 'name' is required and is nil"
      }
    }
    #expect(expected.contains(named.map(String.init)), "\(cause)")
  }

  @Test func `an error of validation names twenty objects at most`() throws {
    let world = try QuarantineWorld(seed: 2, people: 60, broken: 0)
    for place in world.people.indices { (world.people[place].name, world.people[place].isEmployee) = (nil, false) }
    try world.write(to: world.sourcePath)
    let error = try expectFailure(job(world, nil, rows: nil), .dataWrong, "the first 20 of the chunk")
    #expect(error?.cause?.split(separator: "\n").count == 21)
  }

  @Test(arguments: testSeeds(3))
  func `rows that cannot be carried out are found by halves`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let keys = Set([Int64.min, -5, 0, .max]).union((0..<60).map { _ in Int64(random.below(1000)) }).sorted()
    let bad = Set(keys.filter { _ in random.chance(30) })
    var search = RowSearch(
      enough: .max,
      ends: { first, last in
        let inside = keys.filter { $0 >= first && $0 <= last }
        return inside.isEmpty ? nil : (inside[0], inside[inside.count - 1])
      },
      attempt: { first, last in
        guard keys.contains(where: { $0 >= first && $0 <= last && bad.contains($0) }) else { return }
        throw GodwitError(.dataWrong, "bad").about(.rejectedRow)
      })
    var found: [Int64] = []
    try search.search(from: .min, through: .max) { key, _ in found.append(key) }
    #expect(found == bad.sorted())
    var few = RowSearch(enough: 2, ends: search.ends, attempt: search.attempt)
    found = []
    try few.search(from: .min, through: .max) { key, _ in found.append(key) }
    #expect(found == Array(bad.sorted().prefix(2)))
  }
}

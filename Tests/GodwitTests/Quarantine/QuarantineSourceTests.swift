import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// The bonds of a quarantine: one job, one state of its source, and the files beside the stores.
@Suite struct QuarantineSourceTests {
  /// Twenty people of whom two have no name, and one has an age that is not a number. Two have files, one of them no
  /// name.
  private static func world(isBroken: Bool = true) throws -> QuarantineWorld {
    let world = try QuarantineWorld(seed: 12, people: 20, broken: 0)
    for place in world.people.indices {
      world.people[place].hasFile = place == 1 || place == 2
      (world.people[place].isEmployee, world.people[place].badge) = (false, nil)
    }
    if isBroken {
      for key in [3, 8] { world.people[key - 1].name = nil }
      world.people[13].ageText = "old"
    }
    try world.write(to: world.sourcePath)
    return world
  }

  private func job(_ world: QuarantineWorld, _ quarantine: Quarantine? = Quarantine(maximumRows: 9)) throws
    -> MigrationJob
  {
    try world.job(
      from: world.sourcePath, to: world.folder.file("out/people.sqlite"), chunkRows: 4, quarantine: quarantine)
  }

  private func workFolder(_ world: QuarantineWorld) -> String { world.folder.file("out/people.sqlite.godwit") }

  @discardableResult
  private func expectFailure(
    _ job: MigrationJob, _ code: GodwitError.Code, _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> GodwitError? {
    do {
      let summary = try MigrationManager(job).run()
      Issue.record("the run ended: \(summary.outcome)", sourceLocation: sourceLocation)
    } catch let error as GodwitError {
      #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
      #expect(error.description.contains(text), "\(error)", sourceLocation: sourceLocation)
      return error
    }
    return nil
  }

  /// Leaves a record of rejected objects, and no ledger.
  private func stopBetweenRounds(_ world: QuarantineWorld) throws {
    var strict = try job(world)
    strict.onLoss = .fail
    try expectFailure(strict, .dataWrong, "would lose data")
    let record = try #require(try RejectionRecord.opened(in: workFolder(world)))
    #expect(try record.round == 1)
    try record.close()
  }

  private func change(_ path: String, _ sql: String) throws {
    let connection = try StoreConnection(path: path)
    try connection.execute(sql)
    try connection.close()
  }

  // MARK: One job, one source

  @Test func `a source that changed between two rounds is refused, until the job is discarded`() throws {
    let world = try Self.world()
    try stopBetweenRounds(world)
    try change(world.sourcePath, "UPDATE ZPERSON SET ZNAME = 'repaired' WHERE Z_PK = 3")
    let error = try expectFailure(job(world), .cannotCreate, "the source store changed")
    #expect(error?.remedy?.contains("discard") == true)
    #expect(try MigrationManager.discard(destination: world.folder.file("out/people.sqlite")))
    #expect(try MigrationManager(job(world)).run().quarantinedObjects == 2)
    #expect(try Verifier(job: job(world)).run().isClean)
  }

  @Test func `a mapping that changed between two rounds is refused`() throws {
    let world = try Self.world()
    try stopBetweenRounds(world)
    var other = try job(world)
    var mappings = other.steps[0].mappingModels[0].entityMappings
    mappings[0] = try .make("Person", "Person", kind: .copy, attributes: ["age": "1"])
    other.steps[0].mappingModels = [MappingModel(entityMappings: mappings)]
    try expectFailure(other, .cannotCreate, "the mapping changed")
  }

  @Test func `between two rounds a job is unfinished, and keeps its percent`() throws {
    let world = try Self.world()
    #expect(try MigrationManager(job(world)).status().state == .notStarted)
    try stopBetweenRounds(world)
    let before = try RejectionRecord.percentBefore(readingIn: workFolder(world))
    let status = try MigrationManager(job(world)).status()
    #expect(status.state == .unfinished && before > 0 && status.percent >= before, "\(status)")
    #expect(status.run?.state == .failed)
    #expect(try MigrationManager(job(world)).run().quarantinedObjects == 3)
    #expect(try MigrationManager(job(world)).status().state == .finished)
  }

  @Test func `a source that was only touched between two rounds is the same`() throws {
    let world = try Self.world()
    try stopBetweenRounds(world)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: world.sourcePath)
    #expect(try MigrationManager(job(world)).run().quarantinedObjects == 3)
  }

  @Test func `a job with hooks and without a quarantine does not go on with the objects of another`() throws {
    let world = try Self.world()
    try stopBetweenRounds(world)
    var stepped = try job(world, nil)
    stepped.steps[0].willMigrate = MigrationStage.Hook("test") { _ in }
    try expectFailure(stepped, .cannotCreate, "has set aside 1 object")
  }

  @Test func `a copy of a source that changes meanwhile is not taken`() throws {
    let world = try Self.world()
    let job = try job(world)
    let folder = world.folder.file("copy")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let files = try StoreFiles(path: world.sourcePath)
    let record = try RejectionRecord(
      in: folder, for: JobFingerprint(job).withContent(of: files), stamp: files.stamp())
    let reader = try StoreConnection(path: nil)
    try reader.attachSource(files, workFolder: folder, model: job.sourceModel)
    let kept = FilteredSource(try StoreSchema(model: job.sourceModel, probing: reader), record, in: folder)
    var isChanged = false
    let error = try #require(throws: GodwitError.self) {
      try kept.make(from: reader, of: files) { _ in
        guard !isChanged else { return }
        isChanged = true
        try? change(world.sourcePath, "UPDATE ZPERSON SET ZNAME = 'new' WHERE Z_PK = 1")
      }
    }
    #expect(error.code == .stopped && error.stopReason == .sourceChanged)
    #expect(try !FilteredSource.exists(in: folder))
  }

  @Test func `what a round has noted and then carried over is in the destination alone`() throws {
    let world = try Self.world(isBroken: false)
    let job = try job(world)
    let control = MigrationControl()
    let stopped = try MigrationManager(job).run(control: control) { _ in control.stop(reason: "test") }
    #expect(stopped.outcome == .stopped)
    let files = try StoreFiles(path: world.sourcePath)
    let record = try RejectionRecord(
      in: workFolder(world), for: JobFingerprint(job).withContent(of: files), stamp: files.stamp())
    try record.add(
      in: "validate Person", roots: ["Person": "Person"],
      find: { note in
        for key in [Int64(1), 2] {
          try note(
            .init(entity: "Person", key: key, mapping: "m", destination: "Person", property: nil, message: "it was"))
        }
      }, check: { #expect($0 == 2) })
    try record.close()
    let summary = try MigrationManager(job).run()
    #expect(summary.outcome == .finished && summary.quarantinedObjects == 0)
    #expect(!FileManager.default.fileExists(atPath: job.quarantinePath))
    let made = try StoreConnection.openStore(readingAt: job.destinationPath)
    #expect(try made.integer("SELECT COUNT(*) FROM source.ZPERSON") == 20)
  }

  // MARK: Other content than rows

  @Test func `an object is set aside for the missing file that an expression reads`() throws {
    let world = try Self.world(isBroken: false)
    var job = try job(world)
    var mappings = job.steps[0].mappingModels[0].entityMappings
    mappings[0] = try .make("Person", "Person", kind: .copy, attributes: ["age": "TERNARY($source.photo == nil, 1, 2)"])
    job.steps[0].mappingModels = [MappingModel(entityMappings: mappings)]
    let support = SupportFolder(ofStoreAt: world.sourcePath)
    let (path, aside) = (support.path(of: QuarantineWorld.fileName(2)), world.folder.file("aside"))
    try FileManager.default.moveItem(atPath: path, toPath: aside)
    let summary = try MigrationManager(job).runAsPlanned()
    #expect(summary.quarantined.map(\.objects) == [1])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    try FileManager.default.moveItem(atPath: aside, toPath: path)
    job.destinationPath = world.folder.file("again/people.sqlite")
    #expect(try MigrationManager(job).runAsPlanned().quarantinedObjects == 0)
  }

  @Test func `external files that cannot be seen are not missing ones`() throws {
    let world = try Self.world(isBroken: false)
    let support = SupportFolder(ofStoreAt: world.sourcePath)
    #expect(try support.size(of: QuarantineWorld.fileName(2)) == 500)
    #expect(try support.size(of: QuarantineWorld.fileName(5)) == nil)
    let inside = SupportFolder(path: support.path(of: QuarantineWorld.fileName(2)))
    #expect(throws: GodwitError.self) { try inside.size(of: QuarantineWorld.fileName(2)) }
  }

  @Test func `external files that the source lacks are told, and not proved`() throws {
    let world = try Self.world()
    let name = QuarantineWorld.fileName(3)
    try FileManager.default.removeItem(atPath: SupportFolder(ofStoreAt: world.sourcePath).path(of: name))
    let summary = try MigrationManager(job(world)).run()
    #expect(summary.quarantinedObjects == 3)
    #expect(summary.codedNotes.contains { $0.code == .externalDataMissing && $0.text.contains("in quarantine") })
    let report = try Verifier(job: job(world)).run()
    #expect(report.isClean, "\(report)")
    #expect(report.checks.contains { $0.name.hasPrefix("not proved: external files in quarantine") && $0.count == 1 })
  }

  @Test(arguments: [true, false])
  func `a quarantine that has lost an external file, or has another, is found`(isRemoved: Bool) throws {
    let world = try Self.world()
    let job = try job(world)
    _ = try MigrationManager(job).run()
    #expect(try Verifier(job: job).run().isClean)
    let path = SupportFolder(ofStoreAt: job.quarantinePath).path(of: QuarantineWorld.fileName(3))
    try FileManager.default.removeItem(atPath: path)
    if !isRemoved { try Data(repeating: 9, count: 500).write(to: URL(filePath: path)) }
    let report = try Verifier(job: job).run()
    #expect(report.findings.contains { $0.key == 3 && $0.property == "photo" && $0.message.contains("external file") })
  }

  // MARK: A lost quarantine

  @Test func `a quarantine that is gone is told by the next run and by the receipt`() throws {
    let world = try Self.world()
    var job = try job(world)
    job.receipt = .besideDestination
    _ = try MigrationManager(job).run()
    let receipt = ReceiptCheck(receipt: URL(filePath: job.destinationPath + Receipt.suffix))
    #expect(try receipt.run().isClean)
    #expect(try MigrationManager(job).run().codedNotes.isEmpty)
    try FileManager.default.removeItem(atPath: job.quarantinePath)
    let again = try MigrationManager(job).run()
    #expect(again.outcome == .alreadyFinished)
    #expect(again.codedNotes.map(\.code) == [.quarantineMissing])
    #expect(again.quarantinedObjects == 3 && again.quarantined.isEmpty)
    let report = try receipt.run()
    #expect(report.findings.contains { $0.message.contains("the quarantine of 3 objects is missing") }, "\(report)")
  }

  @Test(arguments: [0, 5000])
  func `a job with an empty or a damaged record can be discarded`(bytes: Int) throws {
    let world = try Self.world()
    try stopBetweenRounds(world)
    let path = RejectionRecord.path(in: workFolder(world))
    try Data(repeating: 7, count: bytes).write(to: URL(filePath: path))
    if bytes > 0 {
      let error = try expectFailure(job(world), .dataWrong, "rejected.sqlite")
      #expect(error?.remedy?.contains("discard") == true)
    }
    #expect(try MigrationManager.discard(destination: world.folder.file("out/people.sqlite")))
    #expect(try FileManager.default.contentsOfDirectory(atPath: world.folder.file("out")).isEmpty)
  }

  @Test func `a record that died before its first commit is none`() throws {
    let world = try Self.world()
    try stopBetweenRounds(world)
    try Data().write(to: URL(filePath: RejectionRecord.path(in: workFolder(world))))
    try expectFailure(job(world, nil), .dataWrong, "p14")
    #expect(try MigrationManager(job(world)).run().quarantinedObjects == 3)
  }

  // MARK: Rounds

  @Test func `rounds are limited, and their progress has a number`() throws {
    let world = try Self.world()
    var job = try job(world)
    job.hooks.rejectionRounds = 2
    let error = try expectFailure(job, .dataWrong, "after 2 rounds objects are still rejected, 3 until now")
    #expect(error?.remedy?.contains("discard") == true)
    job.hooks.rejectionRounds = 3
    var names: Set<String> = []
    let summary = try MigrationManager(job).run { names.insert($0.name) }
    #expect(summary.quarantinedObjects == 3)
    #expect(names.contains { $0.hasSuffix(" (round 3)") } && !names.contains { $0.contains("(round 1)") })
  }

  @Test func `a part is searched to its end, whatever another part has found`() throws {
    let fixture = try MigrationFixture(
      [.make("Person", ["name": .string, "age": .integer16])],
      to: [.make("Person", ["age": .integer16]), .make("Twin", ["age": .integer16])])
    fixture.mappings = [
      try .make("Person", "Person", filter: "name != 'b'", attributes: ["age": "$source.age + 1"]),
      try .make("Person", "Twin", name: "Twins", attributes: ["age": "$source.age + 1"]),
    ]
    fixture.chunkRows = 100
    try fixture.build { store in
      // The first mapping rejects six objects, the second one these and three more.
      for key in Int64(1)...20 {
        try store.insert(
          "Person", key: key,
          attributes: ["name": .init(key > 6 ? "b" : "a"), "age": .integer(key <= 9 ? 32767 : 1)])
      }
    }
    var job = try fixture.job
    job.quarantine = Quarantine(maximumRows: 10)
    #expect(try MigrationManager(job).run().quarantinedObjects == 9)
    let connection = try StoreConnection.openStore(readingAt: job.quarantinePath)
    #expect(
      try connection.rows("SELECT COUNT(*), MAX(ZROUND) FROM source.ZGODWITQUARANTINEREASON")
        == [[.integer(15), .integer(0)]])
  }

  @Test func `a copy that is there needs no room once more`() throws {
    let world = try Self.world()
    var job = try job(world)
    let source = try StoreFiles(path: world.sourcePath).size
    let room = try MigrationManager(job).plan().disk.destinationBytes + source / 2
    let folder = workFolder(world)
    job.hooks.freeSpace = { _ in
      FreeSpace(device: 1, bytes: room - ((try? FilteredSource.exists(in: folder)) == true ? source : 0))
    }
    #expect(try MigrationManager(job).run().quarantinedObjects == 3)
    // Without room for the copy it is not begun, and what was found is kept.
    let other = try Self.world()
    var small = try self.job(other)
    let record = RejectionRecord.path(in: workFolder(other))
    small.hooks.freeSpace = { _ in
      FreeSpace(device: 1, bytes: FileManager.default.fileExists(atPath: record) ? source - 1 : room)
    }
    let error = try expectFailure(small, .inputOutput, "free space")
    #expect(error?.safe?.contains("noted") == true)
    #expect(try !FilteredSource.exists(in: workFolder(other)))
  }

  @Test(arguments: [
    Quarantine(), Quarantine(maximumPercent: .nan), Quarantine(maximumPercent: 101), Quarantine(maximumRows: -1),
  ])
  func `limits that are none are refused`(quarantine: Quarantine) throws {
    #expect(try job(Self.world(isBroken: false), quarantine).quarantineObstacle?.code == .configuration)
  }
}

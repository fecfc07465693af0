import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// Runs of merged stores that are stopped, killed or find their stores changed; and the proof of a merge.
struct MergeRunTests {
  private static func job() throws -> (FaultJob, expected: [String]) {
    let whole = try FaultJob(.merged, chunkRows: 5)
    let reference = try FaultJob(again: whole)
    try reference.run()
    return (try FaultJob(again: whole), try reference.content())
  }

  @Test func `a run stopped after every chunk ends in the same store, and merges once`() throws {
    let (job, expected) = try Self.job()
    var marks: Set<FileStatus.Identity> = []
    var runs = 0
    while try job.run(maximumSeconds: 0).outcome == .stopped {
      runs += 1
      let status = FileStatus(named: try job.job.workPath + "/merged.sqlite")
      marks.insert(try #require(status).identity)
    }
    #expect(runs > 5 && marks.count == 1)
    #expect(try job.content() == expected)
    #expect(try job.namesLeft() == job.leftNames)
  }

  @Test func `a run that is stopped while it merges makes the same store later`() throws {
    let (job, expected) = try Self.job()
    let control = MigrationControl()
    control.stop(reason: "test")
    #expect(try MigrationManager(job.job).run(control: control).outcome == .stopped)
    #expect(try MigrationManager(job.job).status().state == .unfinished)
    try job.run()
    #expect(try job.content() == expected)
  }

  @Test func `half of a merge, or one without its record, is never taken for whole`() throws {
    let (job, expected) = try Self.job()
    _ = try job.run(maximumSeconds: 0)
    let folder = try job.job.workPath
    // The rows of the second store are missing, as after a kill before the record was written.
    let connection = try StoreConnection(path: folder + "/merged.sqlite")
    try connection.execute("DELETE FROM ZPERSON WHERE Z_PK > 20")
    try connection.close()
    try job.run()
    #expect(try job.content() == expected)
  }

  @Test(arguments: ["people.sqlite", "others.sqlite"]) func `a store that changed is refused, whichever it is`(
    name: String
  ) throws {
    let (job, expected) = try Self.job()
    _ = try job.run(maximumSeconds: 0)
    let path = job.folder.file(name)
    let bytes = try Data(contentsOf: URL(filePath: path))
    let connection = try StoreConnection(path: path)
    try connection.execute("UPDATE ZPERSON SET ZNAME = 'new' WHERE Z_PK = 3")
    try connection.close()
    let error = try #require(throws: GodwitError.self) { try job.run() }
    #expect(error.code == .cannotCreate && error.message.contains("the source store '\(path)' changed"), "\(error)")
    // The same content with another time is the same store.
    try bytes.write(to: URL(filePath: path))
    try job.run()
    #expect(try job.content() == expected)
  }

  @Test func `a store that changes during the run stops it`() throws {
    let (job, _) = try Self.job()
    var isChanged = false
    let error = try #require(throws: GodwitError.self) {
      try MigrationManager(job.job).run { _ in
        guard !isChanged else { return }
        isChanged = true
        let connection = try? StoreConnection(path: job.otherPath)
        try? connection?.execute("UPDATE ZPERSON SET ZNAME = 'new' WHERE Z_PK = 3")
        try? connection?.close()
      }
    }
    #expect(error.code == .stopped && error.stopReason == .sourceChanged, "\(error)")
    #expect(error.message == "stopped: '\(job.otherPath)' changed while the stores were merged")
  }

  @Test func `a finished job is finished again without a merge, and not after a change`() throws {
    let (job, _) = try Self.job()
    try job.run()
    let layer = try FaultLayer(.none)
    #expect(try layer.run { try job.run() }.outcome == .alreadyFinished)
    #expect(!layer.operations.contains { $0.path.contains("merged") })
    let connection = try StoreConnection(path: job.otherPath)
    try connection.execute("UPDATE ZPERSON SET ZNAME = 'new' WHERE Z_PK = 3")
    try connection.close()
    let error = try #require(throws: GodwitError.self) { try job.run() }
    #expect(error.code == .cannotCreate)
  }

  @Test func `discard removes a merge with all else`() throws {
    let (job, _) = try Self.job()
    _ = try job.run(maximumSeconds: 0)
    #expect(try MigrationManager.discard(destination: URL(filePath: job.destinationPath)))
    #expect(try job.namesLeft() == [])
  }

  @Test func `several steps read a merge, and a quarantine takes its objects`() throws {
    let world = try FaultJob(.merged)
    var job = try world.job
    job.steps += try FaultJob(.severalSteps).job.steps.dropFirst()
    try MigrationManager(job).run()
    #expect(try Verifier(job: job).run().isClean)
    let other = try FaultJob(.merged)
    let connection = try StoreConnection(path: other.otherPath)
    try connection.execute("UPDATE ZPERSON SET ZAGE = 32767 WHERE Z_PK = 1")
    try connection.close()
    var strict = try other.job
    strict.quarantine = Quarantine(maximumRows: 2)
    let summary = try MigrationManager(strict).run()
    #expect(summary.outcome == .finished)
    #expect(try MigrationManager(strict).setAsideBefore() == 1)
    let report = try Verifier(job: strict).run()
    #expect(report.isClean, "\(report)")
  }

  @Test func `the quarantine of merged stores is not applied to one of them`() throws {
    let world = try FaultJob(.merged)
    let connection = try StoreConnection(path: world.otherPath)
    try connection.execute("UPDATE ZPERSON SET ZAGE = 32767 WHERE Z_PK = 1")
    try connection.close()
    var job = try world.job
    job.quarantine = Quarantine(maximumRows: 2)
    try MigrationManager(job).run()
    let error = try #require(throws: GodwitError.self) {
      _ = try QuarantineEdits.apply(
        job.quarantineURL, to: URL(filePath: world.otherPath), writing: URL(filePath: world.folder.file("copy.sqlite")))
    }
    #expect(error.code == .dataWrong && error.message.contains("has merged several stores"), "\(error)")
  }

  @Test func `a program merges stores by their URLs, and is told what cannot be merged`() throws {
    let world = try PartWorld()
    for name in ["a.sqlite", "b.sqlite"] { try world.build(name) }
    func job() throws -> MigrationJob {
      MigrationJob(
        name: "call", source: URL(filePath: world.folder.file("a.sqlite")),
        destination: URL(filePath: world.destinationPath), sourceModel: world.model,
        destinationModel: world.destination,
        mappingModels: [try MappingModel(inferredFrom: world.model, to: world.destination)])
    }
    var merged = try job()
    try merged.merge(with: [URL(filePath: world.folder.file("b.sqlite"))])
    try world.run(merged)
    #expect(try world.people().count == 4)
    var twice = try job()
    let error = try #require(throws: GodwitError.self) { try twice.merge(with: [twice.source]) }
    #expect(error.code == .configuration && error.message.contains("is named twice"))
    let other = try StoreBuilder(path: world.folder.file("c.sqlite"), model: world.destination)
    try other.finish()
    var mixed = try job()
    let version = try #require(throws: GodwitError.self) {
      try mixed.merge(with: [URL(filePath: world.folder.file("c.sqlite"))])
    }
    #expect(version.code == .configuration && version.message.contains("it has another version of the model"))
  }

  // MARK: Proof

  @Test func `a merge that lacks or changes anything of a store is found`() throws {
    let world = try PartWorld()
    for name in ["a.sqlite", "b.sqlite"] { try world.build(name) }
    try world.addPhoto("b.sqlite", key: 1, file: "00000001-1111-2222-3333-444444444444", bytes: "photo")
    let join = try #require(StoreSchema(model: world.model).joinTables.first)
    let edits = [
      "UPDATE ZPERSON SET ZPHOTO = NULL WHERE Z_PK = 3",
      "DELETE FROM ZPERSON WHERE Z_PK = 4", "INSERT INTO ZTEAM (Z_PK, Z_ENT, Z_OPT) VALUES (9, 3, 1)",
      "UPDATE ZPERSON SET ZNAME = 'other' WHERE Z_PK = 3", "UPDATE ZPERSON SET ZTEAM = 1 WHERE Z_PK = 3",
      "UPDATE ZPERSON SET ZTEAM = NULL WHERE Z_PK = 1", "UPDATE ZPERSON SET Z_ENT = 2 WHERE Z_PK = 1",
      "DELETE FROM \(join.name) WHERE rowid = 1", "UPDATE ZPERSON SET Z_OPT = 5 WHERE Z_PK = 2",
      "INSERT INTO \(join.name) (\(join.ownerColumn), \(join.destinationColumn)) SELECT 1, 2",
    ]
    let job = try world.job("a.sqlite", "b.sqlite")
    try MigrationManager(job).run()
    for edit in [nil] + edits.map(Optional.some) {
      var verifier = Verifier(job: job)
      verifier.afterMerge = { path in
        guard let edit else { return }
        let connection = try StoreConnection(path: path)
        try connection.execute(edit)
        try connection.close()
      }
      let found = try verifier.run().findings.filter { $0.message.contains("the merged source") }
      #expect(found.isEmpty == (edit == nil), "\(edit ?? ""): \(found)")
    }
  }

  // MARK: Trace

  @Test func `a trace takes the URI of an object of any store, and says which store an object is from`() throws {
    let world = try PartWorld()
    for name in ["a.sqlite", "b.sqlite"] { try world.build(name) }
    let job = try world.job("a.sqlite", "b.sqlite")
    try MigrationManager(job).run()
    let uuid = try StoreMetadata(readingStoreAt: world.folder.file("b.sqlite")).uuid
    let trace = try MigrationManager(job).trace("x-coredata://\(uuid)/Person/p2")
    #expect(trace.object.attributes["name"] == .init("b.sqlite 1"))
    #expect(
      trace.remarks.contains("Person/p4 of the source is Person/p2 of '\(world.folder.file("b.sqlite"))'"),
      "\(trace.remarks)")
    let back = try MigrationManager(job).trace("Person/p4", in: .destination)
    #expect(back.remarks.contains { $0.hasSuffix("is Person/p2 of '\(world.folder.file("b.sqlite"))'") })
    let error = try #require(throws: GodwitError.self) {
      _ = try MigrationManager(job).trace("x-coredata://\(uuid)/Person/p7")
    }
    #expect(error.code == .missingInput && error.message.contains("b.sqlite"))
  }
}

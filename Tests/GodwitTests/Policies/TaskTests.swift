import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitSynthesis
import GodwitVerifier
import GodwitXcode
import Synchronization
import TestSupport
import Testing

/// The behaviour of the library towards the task that calls it, and towards errors of Swift's own kinds.
struct TaskTests {
  private func job(_ folder: TemporaryFolder) throws -> MigrationJob {
    try CallSiteFiles.write(in: folder)
    var mapping = try CallSiteFiles.mapping()
    mapping.entityMappings.removeLast()
    return MigrationJob(
      name: "people", sourcePath: folder.file("people.sqlite"), destinationPath: folder.file("out/people.sqlite"),
      sourceModel: try CallSiteFiles.model(3), destinationModel: try CallSiteFiles.model(4), mappingModels: [mapping],
      chunkRows: 1)
  }

  @Test func `a run stops at a checkpoint when its task is cancelled, and the next run resumes`() async throws {
    let folder = try TemporaryFolder()
    let manager = MigrationManager(try job(folder))
    let stopped = try await Task {
      try manager.run(control: MigrationControl()) { progress in
        if progress.rows > 0 { withUnsafeCurrentTask { $0?.cancel() } }
      }
    }.value
    #expect(stopped.outcome == .stopped)
    #expect(stopped.reason == "cancelled")
    #expect(try manager.status().state == .unfinished)
    let resumed = try await manager.run()
    #expect(resumed.outcome == .finished && resumed.wasResumed)
  }

  @Test func `a verification of a cancelled task does not start`() async throws {
    let folder = try TemporaryFolder()
    let job = try job(folder)
    try await MigrationManager(job).run()
    let before = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await Verifier(job: job).run()
    }
    await #expect(throws: CancellationError.self) { try await before.value }
    #expect(try await Verifier(job: job).run().isClean)
  }

  @Test func `a verification ends early when its task is cancelled`() async throws {
    let folder = try TemporaryFolder()
    var job = try job(folder)
    job.sourcePath = folder.file("many.sqlite")
    job.chunkRows = nil
    try StoreSynthesis(model: job.sourceModel, rows: 4_000, seed: 3).write(to: job.sourcePath)
    try await MigrationManager(job).run()
    let shares = Mutex<[Double]>([])
    let amid = Task { [job] in
      try await Verifier(job: job).run { share in
        shares.withLock { $0.append(share) }
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    await #expect(throws: CancellationError.self) { try await amid.value }
    #expect(shares.withLock { $0.last ?? 1 } < 1)
  }

  @Test func `a run gives its progress as a sequence, and its summary at the end`() async throws {
    let folder = try TemporaryFolder()
    let manager = MigrationManager(try job(folder))
    let plan = try await manager.plan()
    #expect(plan.chunks.count > 1)
    let run = manager.start()
    var last = 0.0
    for try await progress in run {
      #expect(progress.percent >= last && progress.fraction == progress.percent / 100)
      last = progress.percent
    }
    #expect(last == 100)
    let summary = try await run.summary
    #expect(summary.outcome == .finished)
    #expect(try await Verifier(job: manager.job).run().isClean)
  }

  @Test func `a run that is cancelled stops at a checkpoint, and says so wherever it is read`() async throws {
    let folders = try (0..<3).map { _ in try TemporaryFolder() }
    let jobs = try folders.map(job)
    let run = jobs[0].run()
    run.cancel()
    await #expect(throws: CancellationError.self) { for try await _ in run {} }
    await #expect(throws: CancellationError.self) { try await run.summary }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await MigrationManager(jobs[1]).run()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    // A time limit is not a cancellation.
    #expect(try await jobs[2].run(maximumSeconds: 0).summary.outcome == .stopped)
    for job in jobs { #expect(try await job.run().summary.outcome == .finished) }
  }

  @Test func `a job of a store, a place and a bundle goes to the current version and is proved`() async throws {
    let folder = try TemporaryFolder()
    func write(_ text: String, _ path: String) throws {
      let url = URL(filePath: folder.file(path))
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: url)
    }
    let title = AttributeDescription(name: "title", type: .string)
    let stars = AttributeDescription(name: "stars", type: .integer16)
    for (name, attributes) in [("Notes", [title]), ("Notes 2", [title, stars])] {
      let model = try ManagedObjectModel(
        name: name, entities: [EntityDescription(name: "Note", attributes: attributes)])
      try write(model.xcodeContents, "Notes.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    try write(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict>
      <key>_XCCurrentVersionName</key><string>Notes 2.xcdatamodel</string>
      </dict></plist>
      """, "Notes.xcdatamodeld/.xccurrentversion")
    let bundle = try ModelBundle(contentsOf: URL(filePath: folder.file("Notes.xcdatamodeld")))
    let (store, place) = (folder.file("notes.sqlite"), folder.file("new/notes.sqlite"))
    let builder = try StoreBuilder(path: store, model: bundle.model(named: "Notes"))
    for name in ["a", "b"] { try builder.insert("Note", attributes: ["title": .init(name)]) }
    try builder.finish()
    let job = try MigrationJob(migrating: URL(filePath: store), to: URL(filePath: place), models: bundle)
    #expect(job.destinationModel.name == bundle.currentVersion)
    #expect(try await job.plan().chunks.isEmpty == false)
    var fractions: [Double] = []
    for try await progress in job.run() { fractions.append(progress.fraction) }
    #expect(fractions.last == 1)
    #expect(try job.status().state == .finished)
    #expect(try await job.verify().isClean)
    let again = #expect(throws: GodwitError.self) {
      try MigrationJob(migrating: URL(filePath: place), to: URL(filePath: store + ".2"), models: bundle)
    }
    #expect(again?.code == .noPath && again?.message.contains("already has the version") == true)
    let foreign = #expect(throws: GodwitError.self) {
      try MigrationJob(
        migrating: URL(filePath: store), to: URL(filePath: place), models: bundle, version: "Notes 99")
    }
    #expect(foreign?.code == .missingInput)
  }

  /// The store of the README's example, with the mapping models that each needs to get to version 5.
  private static let readme: [(store: String, origins: [String])] = [
    ("people-1.sqlite", ["V1toV2.mapping.yaml", "V2toV3.mapping.yaml", "V3toV4.mapping.yaml", "V4toV5.mapping.yaml"]),
    ("people-2.sqlite", ["V2toV3.mapping.yaml", "V3toV4.mapping.yaml", "V4toV5.mapping.yaml"]),
    ("people-3.sqlite", ["V3toV4.mapping.yaml", "V4toV5.mapping.yaml"]),
    ("people-4.sqlite", ["V4toV5.mapping.yaml"]), ("people-4.xml", ["V4toV5.mapping.yaml"]),
  ]

  @Test(arguments: readme.indices)
  func `the example of the README uses the mapping models of the project`(index: Int) async throws {
    let (name, origins) = Self.readme[index]
    let folder = try TemporaryFolder()
    let files = try FileManager.default.contentsOfDirectory(atPath: Checkout.url("jobs/peoplizer").path)
    for file in files where file.hasSuffix(".mapping.yaml") || file.hasSuffix(".xcdatamodeld") {
      try FileManager.default.copyItem(
        at: Checkout.url("jobs/peoplizer/\(file)"), to: URL(filePath: folder.file(file)))
    }
    let bundle = try ModelBundle(contentsOf: URL(filePath: folder.file("Peoplizer.xcdatamodeld")))
    let store = Checkout.url("jobs/peoplizer/stores/\(name)")
    let job = try MigrationJob(
      migrating: store, to: URL(filePath: folder.file("people-5.sqlite")), models: bundle)
    #expect(job.mappingOrigins == origins)
    #expect(job.destinationModel.name == "Peoplizer 5")
    for try await progress in job.run() { #expect(progress.fraction <= 1) }
    #expect(try await job.verify().isClean)
    // An unreadable mapping model stops the job.
    try Data("godwit-mapping: 1\nsource-model: Peoplizer 4\n".utf8).write(
      to: URL(filePath: folder.file("V4toV5.mapping.yaml")))
    let error = #expect(throws: GodwitError.self) {
      try MigrationJob(migrating: store, to: URL(filePath: folder.file("other.sqlite")), models: bundle)
    }
    #expect(error?.code == .configuration)
  }

  @Test func `a failed run ends its sequence and throws from its summary`() async throws {
    let folder = try TemporaryFolder()
    var job = try job(folder)
    job.sourcePath = folder.file("nosuch.sqlite")
    let run = MigrationManager(job).start()
    await #expect(throws: GodwitError.self) {
      for try await _ in run { Issue.record("there is nothing to tell") }
    }
    await #expect(throws: GodwitError.self) { try await run.summary }
  }

  @Test func `the verifier proves what a plan made`() async throws {
    let folder = try TemporaryFolder()
    let job = try job(folder)
    let manager = MigrationManager(
      sourceModel: job.sourceModel, destinationModel: job.destinationModel, mappingModel: job.mappingModels[0])
    let plan = try manager.plan(migratingStoreAt: URL(filePath: job.sourcePath), to: URL(filePath: job.destinationPath))
    let verifier = Verifier(job: job)
    await #expect(throws: GodwitError.self) { try await verifier.run() }
    try await manager.migrate(plan)
    #expect(try await verifier.run().isClean)
  }

  @Test func `a migration of a cancelled task writes nothing`() async throws {
    let folder = try TemporaryFolder()
    let job = try job(folder)
    let manager = MigrationManager(
      sourceModel: job.sourceModel, destinationModel: job.destinationModel, mappingModel: job.mappingModels[0])
    let plan = try manager.plan(migratingStoreAt: URL(filePath: job.sourcePath), to: URL(filePath: job.destinationPath))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await manager.migrate(plan)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!FileManager.default.fileExists(atPath: folder.file("out")))
  }

  @Test func `a manager made from models answers only for a store that it is given`() throws {
    let folder = try TemporaryFolder()
    let job = try job(folder)
    let manager = MigrationManager(
      sourceModel: job.sourceModel, destinationModel: job.destinationModel, mappingModel: job.mappingModels[0])
    for ask in [
      { _ = try manager.status() }, { _ = try manager.plan() }, { _ = try manager.isFinished() },
      { _ = try manager.run() },
    ] as [() throws -> Void] {
      let error = #expect(throws: GodwitError.self) { try ask() }
      #expect(error?.code == .usage && error?.message.contains("names none") == true, "\(error?.message ?? "")")
    }
    func state() throws -> MigrationStatus.State {
      try manager.status(migratingStoreAt: URL(filePath: job.sourcePath), to: URL(filePath: job.destinationPath)).state
    }
    #expect(try state() == .notStarted)
    try MigrationManager(job).run()
    #expect(try state() == .finished)
  }

  @Test func `GodwitError has Foundation's description, failure reason and recovery suggestion`() {
    var error = GodwitError(
      .configuration, "cannot read it", location: .init(file: "job.yaml", line: 3, column: 1), context: "step 1",
      cause: "it is empty", remedy: "write it", safe: "nothing was written")
    let any: any Error = error
    #expect(any.localizedDescription == "job.yaml:3:1: cannot read it")
    #expect((any as? any LocalizedError)?.failureReason == "step 1\nit is empty")
    #expect((any as? any LocalizedError)?.recoverySuggestion == "write it\nnothing was written")
    (error.location, error.context, error.cause, error.remedy, error.safe) = (nil, nil, nil, nil, nil)
    #expect(error.errorDescription == "cannot read it")
    #expect(error.failureReason == nil && error.recoverySuggestion == nil)
  }

  @Test func `a line feed in a name does not end the line of a message`() {
    let error = GodwitError(
      .missingInput, "cannot read 'a\nb'", location: .init(file: "c\nd", line: 1, column: 1), cause: "one\ntwo")
    #expect(error.description == "c\\nd:1:1: cannot read 'a\\nb'\n  cause   one\n          two")
    #expect(error.line == "c\\nd:1:1: cannot read 'a\\nb'")
  }

  @Test func `an inferred mapping model given in code migrates in place by SQL`() throws {
    let folder = try TemporaryFolder()
    func model(_ name: String, _ attributes: [AttributeDescription]) throws -> ManagedObjectModel {
      try ManagedObjectModel(name: name, entities: [EntityDescription(name: "Note", attributes: attributes)])
    }
    let title = AttributeDescription(name: "title", type: .string)
    var stars = AttributeDescription(name: "stars", type: .integer16)
    (stars.isOptional, stars.defaultValue) = (false, .integer(3))
    let (old, new) = (try model("Notes", [title]), try model("Notes 2", [title, stars]))
    let store = folder.file("notes.sqlite")
    let builder = try StoreBuilder(path: store, model: old)
    for name in ["a", "b"] { try builder.insert("Note", attributes: ["title": .init(name)]) }
    try builder.finish()
    var job = MigrationJob(
      name: "notes", sourcePath: store, destinationPath: store, sourceModel: old, destinationModel: new,
      mappingModels: [try MappingModel(inferredFrom: old, to: new)])
    job.existingDestination = .inPlace(keepsOld: true)
    #expect(try MigrationManager(job).plan().steps[0].way == "in place by SQL, loading no rows")
    // One that says anything else goes through the executor, as a mapping file does.
    var other = job
    other.steps[0].mappingModels[0].entityMappings[0].attributeMappings.removeAll { $0.name == "title" }
    #expect(try MigrationManager(other).plan().steps[0].way == "through the executor: the mapping is not inferred")
    #expect(try MigrationManager(job).run().outcome == .finished)
    let made = try StoreConnection.openStore(readingAt: store)
    #expect(try made.rows("SELECT ZSTARS FROM source.ZNOTE") == [[.integer(3)], [.integer(3)]])
    var old2 = job
    old2.sourcePath = MigrationJob.oldPath(of: store)
    old2.existingDestination = .fail
    #expect(try Verifier(job: old2).run().isClean)
  }
}

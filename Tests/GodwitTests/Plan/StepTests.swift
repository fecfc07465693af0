import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// The hops of Peoplizer from a version to the newest, as one job.
private func chain(from version: Int = 1, to destination: String, chunkRows: Int? = nil) throws -> MigrationJob {
  let steps = try (version...4).map { number in
    MigrationStep(
      sourceModel: try PeoplizerStores.model(version: number),
      destinationModel: try PeoplizerStores.model(version: number + 1),
      mappingModels: [
        try MappingModel(contentsOfYAML: PeoplizerStores.file("V\(number)toV\(number + 1).mapping.yaml"))
      ], origin: "V\(number)toV\(number + 1).mapping.yaml")
  }
  return MigrationJob(
    name: "chain", sourcePath: PeoplizerStores.path(version: version), destinationPath: destination,
    first: steps[0], later: Array(steps.dropFirst()), chunkRows: chunkRows)
}

/// The content of a store, without the key that names the jobs that made it; metadata are compared decoded.
private func content(_ path: String) throws -> [String] {
  let magic = "bplist".utf8.map { String($0, radix: 16) }.joined()
  return try StoreDump(path).lines.filter { !$0.hasPrefix("metadata GodwitJobs") && !$0.contains("x'\(magic)") }
}

/// Names the first line in which two stores differ.
private func expectEqual(_ a: String, _ b: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let (a, b) = (try content(a), try content(b))
  let difference = zip(a, b).first { $0 != $1 }
  #expect(a == b, "\(String(describing: difference))", sourceLocation: sourceLocation)
}

/// The same by one job after the other.
private func hops(from version: Int, in folder: TemporaryFolder) throws -> String {
  var path = PeoplizerStores.path(version: version)
  let whole = try chain(from: version, to: "unused")
  for (index, step) in whole.steps.enumerated() {
    let next = folder.file("hop-\(index)/people.sqlite")
    try MigrationManager(
      MigrationJob(
        name: "hop", sourcePath: path, destinationPath: next, sourceModel: step.sourceModel,
        destinationModel: step.destinationModel, mappingModels: step.mappingModels)
    ).run()
    path = next
  }
  return path
}

private func stop(_ manager: MigrationManager, afterChunks limit: Int) throws -> MigrationSummary {
  let control = MigrationControl()
  var count = -1
  return try manager.run(control: control) { _ in
    count += 1
    if count == limit { control.stop(reason: "test") }
  }
}

@Suite struct StepTests {
  @Test(arguments: [1, 2, 3]) func `a job of several steps equals the jobs of its steps`(version: Int) throws {
    let folder = try TemporaryFolder()
    let job = try chain(from: version, to: folder.file("out/people.sqlite"))
    let summary = try MigrationManager(job).run()
    #expect(summary.outcome == .finished)
    try expectEqual(job.destinationPath, hops(from: version, in: folder))
    #expect(try contents(of: folder.file("out")).keys.sorted() == ["people.sqlite"])
    let jobs = try StoreMetadata(readingStoreAt: job.destinationPath).values[MigrationManager.jobsKey]?.array
    #expect(jobs?.count == 1)
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
  }

  @Test func `a job of several steps stopped at every checkpoint resumes to the same store`() throws {
    let folder = try TemporaryFolder()
    let whole = try chain(to: folder.file("whole/people.sqlite"), chunkRows: 50)
    try MigrationManager(whole).run()
    let pieces = MigrationManager(try chain(to: folder.file("pieces/people.sqlite"), chunkRows: 50))
    let work = WorkFolder.path(forDestination: pieces.job.destinationPath)
    var runs = 0
    var percent = 0.0
    var steps: [Int] = []
    while runs < 300 {
      runs += 1
      let control = MigrationControl()
      var calls = 0
      let summary = try pieces.run(control: control) { progress in
        #expect(progress.percent >= percent, "the percent went back")
        percent = max(percent, progress.percent)
        #expect(progress.steps == 4)
        if steps.last != progress.step { steps.append(progress.step) }
        calls += 1
        if calls == 2 { control.stop(reason: "test") }
      }
      if summary.outcome == .finished { break }
      #expect(summary.outcome == .stopped)
      let stores = try FileManager.default.contentsOfDirectory(atPath: work).filter { $0.hasPrefix("step-") }
      #expect(stores.count <= 2, "\(stores)")
      let status = try pieces.status()
      #expect(status.state == .unfinished)
      #expect(status.steps == 4)
    }
    #expect(runs > 20)
    #expect(steps == [1, 2, 3, 4])
    #expect(percent == 100)
    try expectEqual(pieces.job.destinationPath, whole.destinationPath)
    #expect(!FileManager.default.fileExists(atPath: work))
  }

  @Test func `a step that was finished but not recorded is not run again`() throws {
    let folder = try TemporaryFolder()
    let job = try chain(to: folder.file("out/people.sqlite"))
    let manager = MigrationManager(job)
    // Stops in step 2; then the record is set back to before step 1 was finished.
    var count = 0
    let control = MigrationControl()
    _ = try manager.run(control: control) { progress in
      if progress.step == 2 { count += 1 }
      if count == 2 { control.stop(reason: "test") }
    }
    let work = WorkFolder.path(forDestination: job.destinationPath)
    var journal = try #require(try WorkJournal.read(in: work))
    #expect(journal.steps?.finished.count == 1)
    journal.steps?.finished = []
    try journal.write(in: work)
    let before = try FileManager.default.attributesOfItem(atPath: work + "/step-1/store.sqlite")[.modificationDate]
    var first: Int?
    _ = try stop(manager, afterChunks: 1)
    #expect(
      try FileManager.default.attributesOfItem(atPath: work + "/step-1/store.sqlite")[.modificationDate] as? Date
        == before as? Date)
    try manager.run { first = first ?? $0.step }
    #expect(first == 2)
    try expectEqual(job.destinationPath, hops(from: 1, in: folder))
  }

  @Test func `a changed mapping in a later step makes it another job`() throws {
    let folder = try TemporaryFolder()
    var job = try chain(to: folder.file("out/people.sqlite"))
    #expect(try stop(MigrationManager(job), afterChunks: 2).outcome == .stopped)
    job.steps[3].mappingModels[0].entityMappings.removeLast()
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.code == .cannotCreate)
    #expect(error?.message == "cannot resume 'chain': the mapping changed since the run began")
  }

  @Test func `a changed hook makes it another job, and the message names it`() throws {
    let folder = try TemporaryFolder()
    var job = try chain(to: folder.file("out/people.sqlite"))
    job.steps[3].willMigrate = .init("one") { _ in }
    #expect(try stop(MigrationManager(job), afterChunks: 2).outcome == .stopped)
    job.steps[3].willMigrate = .init("two") { _ in }
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.code == .cannotCreate)
    #expect(
      error?.message == "cannot resume 'chain': the hook before 'Peoplizer 5', 'two', changed since the run began")
  }

  @Test func `a hook that fails says what to do next, also where its own error says nothing`() throws {
    struct Odd: Error {}
    for error in [GodwitError(.inputOutput, "the disk of the hook is full") as any Error, Odd()] {
      let folder = try TemporaryFolder()
      var job = try chain(to: folder.file("out/people.sqlite"))
      job.steps[0].willMigrate = .init("look") { _ in throw error }
      let found = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(found?.code == .inputOutput)
      #expect(
        found?.remedy
          == "fix the cause and run the same job; to change the hook, `godwit discard` the job and run it again")
    }
  }

  @Test func `the plan shows every step, and checks later ones before the first begins`() throws {
    let folder = try TemporaryFolder()
    var job = try chain(to: folder.file("out/people.sqlite"))
    let plan = try MigrationManager(job).plan()
    #expect(plan.steps.count == 4)
    let text = "\(plan)"
    #expect(text.contains("step 1 of 4: Peoplizer to Peoplizer 2\n  mappings     V1toV2.mapping.yaml"))
    #expect(text.contains("step 4 of 4: Peoplizer 4 to Peoplizer 5"))
    #expect(text.contains("rows       counted when the previous step is done"))
    #expect(!FileManager.default.fileExists(atPath: folder.file("out")))

    job.steps[3].mappingModels[0].entityMappings[0].destinationEntityName = "Nobody"
    for act in [{ _ = try MigrationManager(job).plan() }, { _ = try MigrationManager(job).run() }] {
      let error = #expect(throws: GodwitError.self) { try act() }
      #expect(error?.code == .configuration)
      #expect(error?.message.contains("Nobody") == true)
    }
    #expect(!FileManager.default.fileExists(atPath: folder.file("out")), "a job that was never right leaves no trace")
  }

  @Test func `the plan of an unfinished run says which steps are done`() throws {
    let folder = try TemporaryFolder()
    let manager = MigrationManager(try chain(to: folder.file("out/people.sqlite")))
    let control = MigrationControl()
    _ = try manager.run(control: control) { if $0.step == 2 { control.stop(reason: "test") } }
    let plan = try manager.plan()
    #expect(plan.steps[0].rowsNote == "the step is done")
    #expect(plan.steps[1].rowsNote == nil)
    #expect(plan.steps[2].rowsNote == "counted when the previous step is done")
    #expect("\(try manager.status())".contains(", step 2 of 4"))
    #expect(try MigrationManager.discard(destination: manager.job.destinationPath))
    #expect(try manager.status().state == .notStarted)
  }

  @Test func `verify proves every step, and finds damage in each`() throws {
    let folder = try TemporaryFolder()
    let job = try chain(to: folder.file("out/people.sqlite"))
    try MigrationManager(job).run()
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(report.checks.contains { $0.name.hasSuffix("step 1 of 4") })
    let store = try StoreConnection(path: job.destinationPath)
    try store.execute("UPDATE ZPERSON SET ZNAME = 'x' WHERE Z_PK = (SELECT MIN(Z_PK) FROM ZPERSON)")
    try store.close()
    let broken = try Verifier(job: job).run()
    #expect(!broken.isClean)
    #expect(broken.findings.contains { $0.property == "name" && $0.message.hasPrefix("step 4 of 4: ") })
  }
}

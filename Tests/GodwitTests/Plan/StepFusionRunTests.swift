import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitSynthesis
import GodwitVerifier
import TestSupport
import Testing

/// Whole jobs whose steps are fused, beside the same jobs step by step.
struct `Fused runs` {
  /// Whether rows break what Core Data keeps: links that disagree or lead nowhere, nil where it is not allowed, wrong
  /// types.
  private func damage(_ path: String, _ random: inout SeededGenerator) throws {
    let connection = try StoreConnection(path: path)
    let tables = try connection.rows(
      "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name LIKE 'Z%' AND name NOT LIKE 'Z\\_%' ESCAPE '\\' ORDER BY 1"
    ).map { $0[0].plain }
    for _ in 0..<(1 + random.below(3)) {
      let table = tables[random.below(tables.count)]
      let columns = try connection.rows(
        "SELECT name, type FROM pragma_table_info('\(table)') WHERE name NOT IN ('Z_PK', 'Z_ENT', 'Z_OPT')")
      guard !columns.isEmpty else { continue }
      let column = columns[random.below(columns.count)][0].plain
      let value = ["NULL", "1", "3", "99", "'x'", "x'02'", "0.5"][random.below(7)]
      try connection.execute("UPDATE \(table) SET \(column) = \(value) WHERE Z_PK % 4 = \(random.below(4))")
    }
    try connection.close()
  }

  private enum Result: Equatable {
    case made([String], files: [String])
    case failed(GodwitError.Code)
  }

  private func result(of job: MigrationJob) throws -> Result {
    do { try MigrationManager(job).run() } catch let error as GodwitError { return .failed(error.code) }
    let content = try InPlaceContent(job.destinationPath)
    // Metadata are compared decoded.
    let plist = "x'" + "bplist".utf8.map { String($0, radix: 16) }.joined()
    return .made(content.dump.lines.filter { !$0.contains(plist) }, files: content.files)
  }

  /// `GODWIT_SEED` runs one seed, `GODWIT_RUNS` so many.
  @Test func `a fused chain makes the same store as its steps, from valid and invalid rows`() throws {
    var (fused, made, failed) = (0, 0, 0)
    let seeds = testSeeds(24)
    for seed in seeds {
      var random = SeededGenerator(seed: seed)
      let chain = try RandomChain(&random)
      let folder = try TemporaryFolder()
      let steps = try chain.steps
      var job = MigrationJob(
        name: "chain", sourcePath: folder.file("in.sqlite"), destinationPath: folder.file("fused/out.sqlite"),
        first: steps[0], later: Array(steps.dropFirst()), chunkRows: [2, 5, 1000][random.below(3)])
      job.now = Date(timeIntervalSinceReferenceDate: 0)
      guard MigrationManager(job).job.steps.count == 1 else { continue }
      fused += 1
      try StoreSynthesis(model: chain.models[0], rows: 30, seed: seed, isNasty: random.chance(20))
        .write(to: job.sourcePath)
      if random.chance(50) { try damage(job.sourcePath, &random) }
      let once = try result(of: job)
      var apart = job
      apart.hooks.fusesSteps = false
      apart.destinationPath = folder.file("apart/out.sqlite")
      let stepped = try result(of: apart)
      if case .made = once { made += 1 } else { failed += 1 }
      guard once != stepped else { continue }
      var difference = "\(once == .failed(.dataWrong)) \(stepped == .failed(.dataWrong))"
      if case .made(let lines, let files) = once, case .made(let others, let more) = stepped {
        let pair = zip(lines, others).first { $0 != $1 }
        difference = pair.map { "\($0)\n\($1)" } ?? "\(lines.count) and \(others.count) lines, \(files) and \(more)"
      }
      Issue.record("GODWIT_SEED=\(seed): \(difference)")
    }
    // Two dozen seeds of another round may have few chains that fuse, by chance.
    if seeds.count >= 24, testRound == 0 {
      #expect(
        fused > seeds.count / 4 && made > seeds.count / 8 && failed > 0,
        "\(fused) fused, \(made) made, \(failed) failed")
    }
  }

  // MARK: One chain

  private func versions() throws -> [ManagedObjectModel] {
    let names = ["a", "b", "c"]
    return try (1...3).map { number in
      try ManagedObjectModel(
        name: "V\(number)",
        entities: [
          EntityDescription(name: "Note", attributes: names[..<number].map { .init(name: $0, type: .string) })
        ])
    }
  }

  private func job(_ folder: TemporaryFolder, rows: Int64 = 9) throws -> MigrationJob {
    let versions = try versions()
    let path = folder.file("in.sqlite")
    if !FileManager.default.fileExists(atPath: path) {
      let store = try StoreBuilder(path: path, model: versions[0])
      for key in 1...rows { try store.insert("Note", key: key, attributes: ["a": .init("n\(key)")]) }
      try store.finish()
    }
    // A lightweight stage is a stop for the way, and none for the rows.
    let steps = try MigrationPathFinder(models: versions, mappings: [], stages: [.lightweight(to: "V2")])
      .path(from: versions[0], to: versions[2])
    #expect(steps.count == 2)
    return MigrationJob(
      name: "notes", sourcePath: path, destinationPath: folder.file("out/notes.sqlite"), first: steps[0],
      later: Array(steps.dropFirst()), chunkRows: 2)
  }

  @Test func `the plan shows the hops of a fused step, and why other steps are apart`() throws {
    let folder = try TemporaryFolder()
    var job = try job(folder)
    let plan = try MigrationManager(job).plan()
    #expect(plan.steps.map(\.hops) == [["V1", "V2", "V3"]])
    #expect(
      "\(plan)".contains("step 1 of 1: V1 to V3\n  mappings     inferred, 2 hops in one: V1 to V2 to V3\n  pass 1"))
    #expect(try MigrationManager(job).run().outcome == .finished)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(report.checks.contains { $0.name.hasSuffix("step 2 of 2") }, "each hop is proved")
    job.steps[1].willMigrate = .init("look") { _ in }
    job.destinationPath = folder.file("other/notes.sqlite")
    #expect(
      "\(try MigrationManager(job).plan())".contains(
        "step 2 of 2: V2 to V3\n  mappings     inferred\n  apart        from the previous step: the hook 'look' runs before or after them\n"
      ))
  }

  @Test func `verify finds a fused store that its steps would not have made`() throws {
    let folder = try TemporaryFolder()
    let job = try job(folder)
    try MigrationManager(job).run()
    let store = try StoreConnection(path: job.destinationPath)
    try store.execute("UPDATE ZNOTE SET ZB = 'x' WHERE Z_PK = 4")
    try store.close()
    let report = try Verifier(job: job).run()
    #expect(report.findings.contains { $0.property == "b" && $0.message.hasPrefix("step 2 of 2: ") }, "\(report)")
  }

  @Test func `a fused job stopped at every chunk resumes to the same store`() throws {
    let folder = try TemporaryFolder()
    let job = try job(folder)
    try MigrationManager(job).run()
    var pieces = job
    pieces.destinationPath = folder.file("pieces/notes.sqlite")
    var runs = 0
    while runs < 50 {
      runs += 1
      let control = MigrationControl()
      var count = 0
      let summary = try MigrationManager(pieces).run(control: control) { progress in
        #expect(progress.steps == 1)
        count += 1
        if count == 2 { control.stop(reason: "test") }
      }
      if summary.outcome == .finished { break }
    }
    #expect(runs > 4)
    #expect(try StoreDump(pieces.destinationPath) == StoreDump(job.destinationPath))
    #expect(try MigrationManager(pieces).run().outcome == .alreadyFinished)
  }

  @Test
  func `a finished job is recognised whether or not it was fused, and an unfinished one resumes only as it began`()
    throws
  {
    let folder = try TemporaryFolder()
    let job = try job(folder)
    var apart = job
    apart.hooks.fusesSteps = false
    try MigrationManager(apart).run()
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
    for (first, second) in [(job, apart), (apart, job)] {
      let path = folder.file("half-\(first.hooks.fusesSteps)/notes.sqlite")
      var (begun, other) = (first, second)
      (begun.destinationPath, other.destinationPath) = (path, path)
      let control = MigrationControl()
      _ = try MigrationManager(begun).run(control: control) { if $0.rows > 0 { control.stop(reason: "test") } }
      let error = #expect(throws: GodwitError.self) { try MigrationManager(other).run() }
      #expect(error?.code == .cannotCreate)
      #expect(
        error?.message
          == "cannot resume 'notes': other hops are fused into one step than when the run began")
      #expect(try MigrationManager(begun).run().outcome == .finished)
    }
  }

  @Test func `a fused chain in place is migrated by definition alone`() throws {
    let folder = try TemporaryFolder()
    var job = try job(folder)
    try MigrationManager(job).run()
    let schema = StoreSchema(model: job.destinationModel)
    let expected = try StoreDump(byColumnName: job.destinationPath, schema: schema)
    job.destinationPath = job.sourcePath
    job.existingDestination = .inPlace(keepsOld: true)
    let manager = MigrationManager(job)
    #expect(try manager.plan().steps.map(\.way) == [MigrationPlan.wayOfDefinitions])
    try manager.run()
    #expect(try StoreDump(byColumnName: job.sourcePath, schema: schema) == expected)
    #expect(try manager.run().outcome == .alreadyFinished)
    var verified = job
    (verified.sourcePath, verified.existingDestination) = (MigrationJob.oldPath(of: job.sourcePath), .fail)
    #expect(try Verifier(job: verified).run().isClean)
  }

  @Test func `a fused chain with defaults in place is migrated by SQL`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("notes.sqlite")
    let models = try ["", "b", "c"].enumerated().map { number, _ in
      let attributes = ["a", "b", "c"].prefix(number + 1).map { name in
        var attribute = AttributeDescription(name: name, type: .string)
        if name != "a" { attribute.defaultValue = .init(name) }
        return attribute
      }
      return try ManagedObjectModel(
        name: "V\(number + 1)", entities: [EntityDescription(name: "Note", attributes: attributes)])
    }
    let store = try StoreBuilder(path: path, model: models[0])
    for key in Int64(1)...5 { try store.insert("Note", key: key, attributes: ["a": .init("n\(key)")]) }
    try store.finish()
    let steps = try zip(models, models.dropFirst()).map { source, destination in
      MigrationStep(
        sourceModel: source, destinationModel: destination,
        mappingModels: [try MappingModel(inferredFrom: source, to: destination)], origin: MigrationStep.inferredOrigin)
    }
    var job = MigrationJob(
      name: "notes", sourcePath: path, destinationPath: folder.file("out/notes.sqlite"), first: steps[0],
      later: Array(steps.dropFirst()))
    try MigrationManager(job).run()
    let expected = try StoreDump(job.destinationPath)
    job.destinationPath = path
    job.existingDestination = .inPlace(keepsOld: true)
    let manager = MigrationManager(job)
    #expect(try manager.plan().steps.map(\.way) == ["in place by SQL, loading no rows"])
    try manager.run()
    #expect(try StoreDump(path) == expected)
    #expect(try manager.run().outcome == .alreadyFinished)
    (job.sourcePath, job.existingDestination) = (MigrationJob.oldPath(of: path), .fail)
    #expect(try Verifier(job: job).run().isClean)
  }
}

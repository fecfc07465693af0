import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// `source: {merge: […]}`: one job of several stores of one version.
@Suite struct MergeTests {
  @Test(arguments: testSeeds(12)) func `a job of several stores makes all objects of each, with their links`(
    seed: UInt64
  ) throws {
    let world = try MergeWorld(seed: seed)
    let plan = try MigrationManager(world.job(world.names)).plan()
    let summary = try MigrationManager(world.job(world.names)).run()
    #expect(try world.found() == world.expected, "seed \(seed)")
    #expect(plan.facts.entities.reduce(0) { $0 + $1.rows } == Int64(world.stores.joined().count), "seed \(seed)")
    #expect(summary.codedNotes.filter { $0.code == .merged } == plan.codedNotes.filter { $0.code == .merged })
    let report = try Verifier(job: world.job(world.names)).run()
    #expect(report.isClean, "seed \(seed): \(report)")
    #expect(report.checks.contains(.init(name: "stores that were merged", count: Int64(world.stores.count))))
    #expect(try !FileManager.default.fileExists(atPath: world.job(world.names).workPath))
  }

  // MARK: The same as appending

  @Test(arguments: testSeeds(8), [false, true])
  func `a merge gives what appending one store after the other gives`(seed: UInt64, inSwift: Bool) throws {
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      var random = SeededGenerator(seed: seed)
      let sources = (0..<random.below(3) + 2).map { _ in
        MeetWorld.Source.random(&random) { $0.chance(20) ? nil : Int64($0.below(5)) }
      }
      let order = [["stamp DESC"], ["stamp"], []][random.below(3)]
      let rows = random.below(5) + 1
      let worlds = try (0..<2).map { _ in
        let world = try MeetWorld()
        (world.order, world.chunkRows) = (order, rows)
        for (number, source) in sources.enumerated() { try world.build("\(number).sqlite", source) }
        return world
      }
      let names = sources.indices.map { "\($0).sqlite" }
      var expected = MeetWorld.Expected()
      for (name, source) in zip(names, sources) {
        try worlds[0].run(name)
        expected = worlds[0].adding(source, to: expected)
      }
      try MigrationManager(worlds[1].merging(names)).run()
      #expect(try worlds[1].people() == expected.lines, "seed \(seed)")
      #expect(try worlds[1].people(sortingNotes: false) == worlds[0].people(sortingNotes: false), "seed \(seed)")
      let counts =
        "SELECT (SELECT COUNT(*) FROM source.ZTAG), (SELECT COUNT(*) FROM source.ZTEAM), (SELECT COUNT(*) FROM source.ZNOTE)"
      #expect(try worlds[1].rows(counts) == worlds[0].rows(counts), "seed \(seed)")
      let report = try Verifier(job: worlds[1].merging(names)).run()
      #expect(report.isClean, "seed \(seed): \(report)")
    }
  }

  @Test(arguments: testSeeds(6)) func `where order-by decides, the order of the stores does not matter`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    var stamps = Array(Int64(1)...80).shuffled(using: &random)
    let sources = (0..<3).map { _ in MeetWorld.Source.random(&random) { _ in stamps.removeLast() } }
    let (fills, order) = (random.chance(50), random.chance(50) ? ["stamp DESC"] : ["stamp"])
    let results = try [[0, 1, 2], [2, 0, 1], [1, 2, 0]].map { places in
      let world = try MeetWorld()
      (world.order, world.fillsNil) = (order, fills)
      for (number, source) in sources.enumerated() { try world.build("\(number).sqlite", source) }
      try MigrationManager(world.merging(places.map { "\($0).sqlite" })).run()
      return try world.people()
    }
    #expect(Set(results).count == 1 && !results[0].isEmpty, "seed \(seed)")
  }

  @Test func `merged stores are added to a destination as one`() throws {
    let world = try MeetWorld()
    for (number, email) in ["a", "b", "a"].enumerated() {
      try world.build(
        "\(number).sqlite",
        .init(
          people: [
            .init(email: email, name: "n\(number)", city: nil, stamp: Int64(number), team: nil, tags: [], notes: [])
          ],
          ranks: [:]))
    }
    try world.run("0.sqlite")
    let job = try world.merging(["1.sqlite", "2.sqlite"], existing: .append)
    let plan = try MigrationManager(job).plan()
    #expect(plan.codedNotes.contains { $0.code == .met && $0.text.hasPrefix("1 object of Person") })
    try MigrationManager(job).run()
    #expect(try world.people() == ["a|n2|nil|2|nil||", "b|n1|nil|1|nil||"])
    #expect(try Verifier(job: job).run().isClean)
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
    #expect(try MigrationManager(job).status().state == .finished)
  }
}

extension MeetWorld {
  /// A job of several stores.
  func merging(
    _ names: [String], existing: MigrationJob.ExistingDestinationRule = .fail
  ) throws -> MigrationJob {
    var job = try job("merged")
    job.existingDestination = existing
    job.merged = try MergedSources(names.map { folder.file($0) })
    return job.readingMerged(in: job.workPath)
  }
}

extension MeetWorld.Source {
  static func random(_ random: inout SeededGenerator, stamp: (inout SeededGenerator) -> Int64?) -> Self {
    let people = (0..<random.below(7) + 1).map { _ in
      func text(_ texts: [String]) -> String? { random.chance(25) ? nil : texts[random.below(texts.count)] }
      return MeetWorld.Person(
        email: text(["a", "b", "c", "d"]), name: text(["Ann", "Bob", "Cid"]), city: text(["Rome", "Oslo"]),
        stamp: stamp(&random), team: text(["red", "blue", "green"]),
        tags: Set(["x", "y", "z"].filter { _ in random.chance(40) }),
        notes: (0..<random.below(3)).map { _ in "n\(random.below(1000))" })
    }
    return .init(
      people: people, ranks: ["red": Int64(random.below(9)), "blue": 2, "green": 3],
      firstKey: random.chance(20) ? -3 : random.chance(20) ? 1 << 60 : 1)
  }
}

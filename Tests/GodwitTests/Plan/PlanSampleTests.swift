import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import Synchronization
import TestSupport
import Testing

/// Plans from a sample, plans on several threads, and what plans tell while they count.
@Suite struct PlanSampleTests {
  /// People, half of them with a nickname that is lost, a third without a mapping that takes them; tags that some have
  /// and that are lost with the links; a few links that lead nowhere.
  private func fixture(people: Int64, step: Int64 = 1) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [
        .make(
          "Person", ["name": .string, "nick": .string, "age": .integer32],
          [
            .toMany("tags", "Tag", inverse: "people"), .toOne("friend", "Person", inverse: "friends"),
            .toMany("friends", "Person", inverse: "friend"),
          ]),
        .make("Tag", ["word": .string], [.toMany("people", "Person", inverse: "tags")]),
      ],
      to: [.make("Person", ["name": .string, "age": .integer16])])
    try fixture.build { store in
      for key in Int64(1)...20 { try store.insert("Tag", key: key, attributes: ["word": .init("tag \(key)")]) }
      for key in 1...people {
        try store.insert(
          "Person", key: key * step,
          attributes: [
            "name": .init("person \(key)"), "nick": key % 2 == 0 ? .init("nick") : .null, "age": .integer(key % 90),
          ],
          relationships: [
            "tags": key % 4 == 0 ? [key % 20 + 1] : [],
            "friend": [key % 10 == 0 ? 1_000_000_000 : key / 2 * step + step],
          ])
      }
    }
    fixture.mappings = [
      try .make(
        "Person", "Person", name: "Grown", filter: "age >= 30",
        attributes: ["name": "$source.name", "age": "$source.age"])
    ]
    fixture.chunkRows = nil
    return fixture
  }

  private func plan(_ fixture: MigrationFixture, samples: Bool = false) throws -> MigrationPlan {
    var job = try fixture.job
    job.hooks.samplesPlans = samples
    return try MigrationManager(job).plan(estimatingTime: true)
  }

  private func counts(_ plan: MigrationPlan) -> [String: Int64] {
    var counts: [String: Int64] = ["taken": plan.steps[0].passes.flatMap(\.mappings).reduce(0) { $0 + $1.rows }]
    for loss in plan.losses.losses { counts["\(loss.kind.rawValue) \(loss.subject)"] = loss.count ?? -1 }
    return counts
  }

  @Test func `a sample gives nearly the counts that every row gives, and marks them`() throws {
    let fixture = try fixture(people: 12_000)
    let (exact, sample) = (
      counts(try plan(fixture)),
      try EngineTuning.with(\.sampledKeys, 20) { try plan(fixture, samples: true) }
    )
    let found = counts(sample)
    #expect(exact.count == 7, "\(exact)")
    #expect(Set(found.keys) == Set(exact.keys))
    for (name, count) in exact {
      let estimate = Double(found[name] ?? 0)
      #expect(abs(estimate - Double(count)) <= max(2, Double(count) * 0.2), "\(name): \(count), estimated \(estimate)")
    }
    #expect(sample.sample.map { $0.keys < 4000 && $0.ofKeys > 12_000 } == true)
    // Tables that are not longer than their sample are counted.
    for loss in sample.losses.losses where loss.subject.hasPrefix("Person") {
      #expect(loss.isEstimate == true && "\(loss)".hasPrefix("about "), "\(loss)")
    }
    #expect(sample.overview.contains("  estimate     from a sample, "))
    #expect(sample.overview.contains("; an estimate from a sample"))
    #expect("\(sample)".contains("  estimate     from a sample, "))
  }

  @Test func `a sample of a table that is not longer than the sample is exact`() throws {
    let fixture = try fixture(people: 500)
    let (exact, sample) = (try plan(fixture), try plan(fixture, samples: true))
    #expect(counts(sample) == counts(exact))
    #expect(sample.losses.losses.filter { $0.kind != .objects }.allSatisfy { $0.isEstimate == nil })
    #expect(exact.sample == nil && !exact.overview.contains("estimate  "))
  }

  /// Instructions of SQLite, whatever the size of the table.
  @Test func `a sample costs the same for a table four times as long`() throws {
    func instructions(_ people: Int64) throws -> Int {
      let fixture = try fixture(people: people)
      var job = try fixture.job
      job.hooks.samplesPlans = true
      let source = try SourceFiles(job)
      let cost = ConnectionCost(try #require(source.attached).connection)
      try EngineTuning.with(\.sampledKeys, 10) { _ = try source.planner(job).plan(now: 0) }
      return cost.instructions
    }
    let (few, many) = (try instructions(5_000), try instructions(20_000))
    #expect(Double(many) < 1.3 * Double(few), "\(few) instructions, then \(many)")
  }

  @Test(arguments: [Int64(1), 1_000]) func `several threads count the same losses as one`(step: Int64) throws {
    let fixture = try fixture(people: 900, step: step)
    func plan(_ leastKeys: Int64) throws -> MigrationPlan {
      try EngineTuning.with(\.leastCountedKeys, leastKeys) {
        try EngineTuning.with(\.readers, 4) { try self.plan(fixture) }
      }
    }
    let alone = try plan(.max)
    #expect(try plan(0) == alone)
    #expect(counts(alone)["values Person.nick"] == 450)
  }

  // MARK: Progress

  @Test func `a plan tells how much it has counted`() throws {
    let fixture = try fixture(people: 2_000)
    let told = Mutex<[MigrationProgress]>([])
    var job = try fixture.job
    job.hooks.whilePlanning = { part in told.withLock { $0.append(part) } }
    try EngineTuning.with(\.leastCountedKeys, 0) {
      try EngineTuning.with(\.progressPulseSeconds, 0) { _ = try MigrationManager(job).plan() }
    }
    let parts = told.withLock { $0 }
    #expect(parts.map(\.percent) == parts.map(\.percent).sorted())
    #expect(Set(parts.map(\.stage)) == ["count", "losses"] && parts.allSatisfy { $0.name == "planning" })
    #expect(parts.allSatisfy { (0...100).contains($0.percent) && $0.rows <= $0.totalRows })
    #expect(parts.last.map { $0.percent > 90 } == true)
  }

  @Test(arguments: [false, true])
  func `a run tells that it counts, at the percent of its chunks`(resumed: Bool) throws {
    let fixture = try fixture(people: 2_000)
    fixture.chunkRows = 100
    var job = try fixture.job
    if resumed {
      let control = MigrationControl()
      _ = try MigrationManager(job).run(control: control) { part in
        if part.percent > 30 { control.stop(reason: "enough") }
      }
    }
    job.onLoss = .fail
    var told: [MigrationProgress] = []
    let error = #expect(throws: GodwitError.self) {
      try EngineTuning.with(\.leastCountedKeys, 0) {
        try EngineTuning.with(\.progressPulseSeconds, 0) {
          _ = try MigrationManager(job).run(control: MigrationControl()) { told.append($0) }
        }
      }
    }
    #expect(error?.code == .dataWrong)
    let planning = told.filter(\.isPlanning)
    // A run that is resumed would show less than before.
    #expect(Set(planning.map(\.stage)) == (resumed ? [] : ["count", "losses"]))
    #expect(told.map(\.percent) == told.map(\.percent).sorted())
    #expect(planning.allSatisfy { $0.totalRows == 0 && $0.percent == 0 })
  }
}

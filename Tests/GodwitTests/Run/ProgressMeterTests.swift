import Foundation
import GodwitEngine
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitJob

/// The figures that a run tells of itself.
struct ProgressMeterTests {
  private func plan() throws -> MigrationPlan {
    let fixture = try MigrationFixture([.make("A", ["n": .integer32])], to: [.make("A", ["n": .integer32])])
    fixture.chunkRows = 2
    try fixture.build { store in for key in Int64(1)...9 { try store.insert("A", key: key) } }
    fixture.mappings = [try .make("A", "A", kind: .copy)]
    return try fixture.planned().1
  }

  @Test func `the percent never decreases, and is 100 only when the store is in place`() throws {
    let plan = try plan()
    let meter = ProgressMeter(plan: plan, done: [], start: Date())
    var percents = [meter.progress.percent]
    for chunk in plan.chunks { percents.append(meter.finish(chunk).percent) }
    #expect(percents == percents.sorted() && percents[0] == 0)
    #expect(meter.isComplete && meter.progress.percent == 99.9)
    let last = meter.complete()
    #expect(last.percent == 100 && last.rows == last.totalRows && last.secondsLeft == 0)
  }

  @Test func `a resumed run starts where the last one stopped`() throws {
    let plan = try plan()
    let whole = ProgressMeter(plan: plan, done: [], start: Date())
    for chunk in plan.chunks.prefix(3) { _ = whole.finish(chunk) }
    let resumed = ProgressMeter(plan: plan, done: Set(plan.chunks.prefix(3).map(\.id)), start: Date())
    #expect(resumed.progress.percent == whole.progress.percent)
    #expect(resumed.progress.rows == whole.progress.rows)
    #expect(!resumed.isComplete)
  }

  @Test func `the speed counts only the rows of this run`() throws {
    let plan = try plan()
    let before = Set(plan.chunks.prefix(2).map(\.id))
    let meter = ProgressMeter(plan: plan, done: before, start: Date(timeIntervalSinceNow: -10))
    let progress = meter.finish(plan.chunks[2])
    #expect(progress.rowsPerSecond > 0 && progress.rowsPerSecond <= Double(max(1, plan.chunks[2].rows)) / 10)
    let left = try #require(progress.secondsLeft)
    #expect(left > 0)
  }

  @Test func `progress counts chunks within their stage and mapping`() throws {
    let plan = try plan()
    let created = plan.chunks.filter { $0.phase == .create }
    let meter = ProgressMeter(plan: plan, done: [], start: Date())
    for (number, chunk) in created.enumerated() {
      let progress = meter.finish(chunk)
      #expect(progress.chunk == number + 1 && progress.chunks == created.count)
      #expect(progress.stage == "create" && progress.name == chunk.name)
    }
    #expect(created.count == 5)
  }

  @Test func `a running chunk moves rows and percent, which the end of the chunk never lowers`() throws {
    let plan = try plan()
    let start = Date()
    let meter = ProgressMeter(plan: plan, done: [], start: start)
    let chunk = try #require(plan.chunks.first)
    _ = meter.begin([chunk], now: start)
    let early = meter.tick(now: start)
    #expect(early == nil, "nothing is told before its time")
    let told = meter.tick(now: start.addingTimeInterval(1))
    let part = try #require(told)
    #expect(part.isEstimated && part.percent > 0 && part.chunk == 0)
    #expect(part.secondsLeft.map { $0 > 0 } == true)
    let soon = meter.tick(now: start.addingTimeInterval(1.1))
    #expect(soon == nil)
    let done = meter.finish(chunk, now: start.addingTimeInterval(2))
    #expect(!done.isEstimated && done.percent >= part.percent && done.chunk == 1)
    #expect(done.rows == max(1, chunk.rows))
    #expect(part.percent < done.percent)
  }

  @Test func `an index is told when its building begins`() throws {
    let model = { () throws -> EntityDescription in
      var entity = EntityDescription.make("A", ["n": .integer32])
      entity.fetchIndexes = [
        FetchIndexDescription(
          name: "byN", elements: [.init(propertyName: "n", expressionText: nil, isRTree: false, isAscending: true)])
      ]
      return entity
    }
    let fixture = try MigrationFixture([model()], to: [model()])
    try fixture.build { store in for key in Int64(1)...9 { try store.insert("A", key: key) } }
    fixture.mappings = [try .make("A", "A", kind: .copy)]
    let plan = try fixture.planned().1
    let meter = ProgressMeter(plan: plan, done: [], start: Date())
    let create = try #require(plan.chunks.first { $0.phase == .create })
    let silent = meter.begin([create])
    #expect(silent == nil, "it tells of itself while it runs")
    _ = meter.finish(create)
    let index = try #require(plan.chunks.first { $0.phase == .index })
    let begun = meter.begin([index])
    let told = try #require(begun)
    #expect(told.stage == "index" && told.name == index.name && told.percent == meter.progress.percent)
  }

  @Test func `the writing of an atomic store is expected to last as long as its percent says`() throws {
    var meter = AtomicStoreMeter(steps: 1, shown: 0)
    let start = Date()
    var chunks = ProgressMeter(plan: try plan(), done: [], start: start).progress
    // Six seconds of chunks, of which nearly all is over: four seconds follow.
    (chunks.percent, chunks.secondsLeft) = (0, 6)
    let early = meter.part(chunks, now: start).secondsLeft
    #expect(try abs(#require(early) - 10) < 1e-9)
    (chunks.percent, chunks.secondsLeft) = (99.9, 1)
    let late = meter.part(chunks, now: start.addingTimeInterval(5)).secondsLeft
    #expect(try abs(#require(late) - 5) < 1e-9)
  }

  @Test func `a chunk that is carried out again shows no lower percent`() throws {
    let plan = try plan()
    let start = Date()
    let meter = ProgressMeter(plan: plan, done: [], start: start)
    let pair = Array(plan.chunks.prefix(2))
    _ = meter.begin(pair, now: start)
    for _ in 0..<100 { _ = meter.tick(now: start) }
    let first = meter.tick(now: start.addingTimeInterval(1))
    let high = try #require(first)
    _ = meter.begin([pair[0]], now: start.addingTimeInterval(1))
    let second = meter.tick(now: start.addingTimeInterval(2))
    let again = try #require(second)
    #expect(again.percent == high.percent && again.rows == high.rows)
  }
}

import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

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
    meter.begin([chunk], now: start)
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

  @Test func `a chunk that is carried out again shows no lower percent`() throws {
    let plan = try plan()
    let start = Date()
    let meter = ProgressMeter(plan: plan, done: [], start: start)
    let pair = Array(plan.chunks.prefix(2))
    meter.begin(pair, now: start)
    for _ in 0..<100 { _ = meter.tick(now: start) }
    let first = meter.tick(now: start.addingTimeInterval(1))
    let high = try #require(first)
    meter.begin([pair[0]], now: start.addingTimeInterval(1))
    let second = meter.tick(now: start.addingTimeInterval(2))
    let again = try #require(second)
    #expect(again.percent == high.percent && again.rows == high.rows)
  }
}

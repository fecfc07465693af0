import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import Synchronization
import TestSupport
import Testing

/// One job with every stage over all that must not decide its content.
@Suite struct DeterminismTests {
  private final class Count: Sendable { let rows = Mutex(0) }

  private let whole: FaultJob
  private let expected: [String]

  init() throws {
    whole = try FaultJob(.everyStage, people: 25)
    let reference = try FaultJob(again: whole)
    try reference.run()
    expected = try reference.content()
  }

  private func run(_ job: FaultJob, inSwift: Bool, stoppingAfterEveryChunk: Bool) throws {
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      guard stoppingAfterEveryChunk else {
        #expect(try job.run().outcome == .finished)
        return
      }
      for _ in 0..<2000 where try job.run(maximumSeconds: 0).outcome == .finished { return }
      Issue.record("the job does not end")
    }
  }

  @Test(arguments: TestTier.choose([1, 7, nil], long: [1, 7, 1000, nil]) as [Int?], [false, true])
  func `content does not depend on chunk size, budget, lane and interruptions`(rows: Int?, inSwift: Bool) throws {
    for memory in TestTier.choose([64], long: [16, 64, 1024]) as [Int64] {
      // Stopping after every chunk costs a start for each; once for each lane and middling chunks is enough.
      for isStopped in [false, true] where !isStopped || (rows == 7 && memory == 64) {
        let job = try FaultJob(again: whole)
        job.chunkRows = rows
        job.memory = .mebibytes(memory)
        try run(job, inSwift: inSwift, stoppingAfterEveryChunk: isStopped)
        #expect(
          try job.content() == expected,
          "\(rows.map(String.init) ?? "chosen") rows, \(memory) MiB, \(inSwift ? "Swift" : "SQL"), stopped: \(isStopped)"
        )
      }
    }
  }

  @Test(arguments: [false, true]) func `content does not depend on the user's chunk predicates`(inSwift: Bool) throws {
    let job = try FaultJob(again: whole)
    job.chunkPredicates = [
      "PersonToPerson": try ["age >= 12", "age < 12", "age == nil"].map { try FilterPredicate($0) }
    ]
    try run(job, inSwift: inSwift, stoppingAfterEveryChunk: true)
    #expect(try job.content() == expected)
  }

  @Test(arguments: TestTier.choose([7], long: [1, 7, 1000]), [true, false])
  func `content does not depend on which rows are too large for a chunk's statement`(rows: Int, isFilled: Bool) throws {
    var limits = LargeRowLimits(rowBytes: 1, valueBytes: 0, recordBytes: isFilled ? 0 : .max)
    let count = Count()
    limits.onRow = { _ in count.rows.withLock { $0 += 1 } }
    for isStopped in [false, true] {
      let job = try FaultJob(again: whole)
      job.chunkRows = rows
      try EngineTuning.with(\.largeRows, limits) {
        try run(job, inSwift: false, stoppingAfterEveryChunk: isStopped && rows == 7)
      }
      #expect(try job.content() == expected)
    }
    // Twice all that have a name or a street.
    #expect(count.rows.withLock { $0 } >= 2 * 30)
  }

  @Test func `a run that changes lanes midway makes the same store`() throws {
    let job = try FaultJob(again: whole)
    job.chunkRows = 7
    var inSwift = false
    for _ in 0..<2000 {
      inSwift.toggle()
      let summary = try EngineTuning.with(\.runsAllInSwift, inSwift) { try job.run(maximumSeconds: 0) }
      if summary.outcome == .finished { break }
    }
    #expect(try job.content() == expected)
  }

  @Test func `the tests' switch moves mappings to the object lane`() throws {
    let job = try FaultJob(again: whole)
    let lanes = try EngineTuning.with(\.runsAllInSwift, true) {
      try MigrationManager(job.job).plan().steps[0].passes.flatMap(\.mappings).map(\.lane)
    }
    #expect(lanes.contains(.object))
    #expect(try MigrationManager(job.job).plan().steps[0].passes.flatMap(\.mappings).allSatisfy { $0.lane == .sql })
  }
}

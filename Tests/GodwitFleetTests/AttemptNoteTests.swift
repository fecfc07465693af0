import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitFleet

/// Which stores a process had at work when it died.
@Suite struct AttemptNoteTests {
  private let folder: TemporaryFolder
  private let place: FleetFolder
  private var plan: FleetPlan

  init() throws {
    folder = try TemporaryFolder()
    place = FleetFolder(path: folder.path)
    try FileManager.default.createDirectory(atPath: folder.file("results"), withIntermediateDirectories: true)
    plan = FleetPlan(
      fleet: "f", jobManifest: "job.yaml", made: "1970-01-01T00:00:00.000Z", jobs: 1, memoryBytes: 1, failures: nil,
      inputs: "i")
    plan.identity = "this"
  }

  /// A run as it begins. Who lets go of it without `finish` has died.
  private func note(ended: Set<Int64> = []) -> AttemptNote {
    AttemptNote(place, shard: 0, plan: plan) { ended.contains($0) }
  }

  private var isThere: Bool { FileManager.default.fileExists(atPath: place.attemptsPath(0)) }

  @Test func `a death counts for a store that was alone, and makes the others suspect`() {
    var run = note()
    #expect(run.suspects == [])
    for index in [1, 2, 3] as [Int64] { run.begin(index, isRepeated: false) }
    run.end(3, isRecorded: true)
    run = note(ended: [3])
    #expect(run.suspects == [1, 2] && run.deaths(of: 1) == 0)
    // Nothing ran: the same death does not count again, and a store that ended is none.
    run = note(ended: [3])
    #expect(run.suspects == [1, 2])
    for death in 1...3 {
      run.begin(1, isRepeated: false)
      run = note(ended: [3])
      #expect(run.deaths(of: 1) == death && run.suspects == [2, 1])
    }
    // The line that says that it failed ends it.
    run.end(1, isRecorded: true)
    run.begin(2, isRepeated: false)
    run.end(2, isRecorded: true)
    run.finish()
    #expect(!isThere && note(ended: [1, 2, 3]).suspects == [])
  }

  @Test func `a stop is no death, and clears what was counted`() {
    var run = note()
    run.begin(4, isRepeated: false)
    run = note()
    #expect(run.suspects == [4] && run.deaths(of: 4) == 1)
    run.begin(4, isRepeated: false)
    run.end(4, isRecorded: false)
    run.finish()
    #expect(note().suspects == [])
    // What is suspect and did not run stays so.
    run = note()
    run.begin(5, isRepeated: false)
    run = note()
    run.finish()
    #expect(note().deaths(of: 5) == 1)
  }

  @Test func `a store that runs again after a failure is suspect in spite of its line`() {
    var run = note()
    run.begin(6, isRepeated: true)
    run = note(ended: [6])
    #expect(run.suspects == [6])
    run.begin(6, isRepeated: true)
    run.end(6, isRecorded: true)
    run = note(ended: [6])
    #expect(run.suspects == [])
  }

  @Test func `a note of another plan, and a damaged one, say nothing`() throws {
    note().begin(1, isRepeated: false)
    let text = try String(contentsOfFile: place.attemptsPath(0), encoding: .utf8)
    for wrong in [text.replacing("this", with: "that"), String(text.prefix(9)), ""] {
      try Data(wrong.utf8).write(to: URL(filePath: place.attemptsPath(0)))
      #expect(note().suspects == [])
    }
  }

  // MARK: What needs no run

  @Test func `findings of a proof are kept, and a proof is made where there was none`() {
    var plan = plan
    (plan.shards, plan.shardStores) = (1, [4])
    var state = ShardState(place, shard: 0, plan: plan)
    state.note(0, .finished, status: 0, isProved: false)
    state.note(1, .finished, status: 0, isProved: true)
    state.note(2, .failed, status: 4, isProved: true)
    state.note(3, .failed, status: 65, isProved: false)
    func passed(retries: Bool, verifies: Bool) -> [Int64] {
      (0..<4).filter { state.isPassed($0, retries: retries, verifies: verifies) }
    }
    #expect(passed(retries: false, verifies: false) == [0, 1, 2, 3])
    #expect(passed(retries: true, verifies: false) == [0, 1, 2])
    #expect(passed(retries: false, verifies: true) == [1, 2, 3])
    #expect(passed(retries: true, verifies: true) == [1])
    #expect(state.hasFindings && !state.hasQuarantine)
    // A later line takes back what it says no more.
    state.note(2, .finished, status: 3, isProved: true)
    #expect(!state.hasFindings && state.hasQuarantine)
    state.note(2, .finished, status: 0, isProved: true)
    #expect(!state.hasQuarantine)
  }
}

import Foundation
import GodwitManifest
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitFleet

/// What is a result of a store, and what is of the machine.
struct ShardRecorderTests {
  private let folder: TemporaryFolder
  private let place: FleetFolder
  private let plan: FleetPlan
  private let recorder: ShardRecorder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["stores", "f/results"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
    }
    try Data().write(to: URL(filePath: folder.file("stores/there.sqlite")))
    place = FleetFolder(path: folder.file("f"))
    var plan = FleetPlan(
      fleet: "f", jobManifest: "job.yaml", made: "1970-01-01T00:00:00.000Z", jobs: 1, memoryBytes: 1, failures: nil,
      inputs: "i")
    (plan.identity, plan.stores, plan.shards, plan.shardStores) = ("this", 100, 1, [100])
    self.plan = plan
    let tally = FleetTally()
    tally.begin(ShardState(place, shard: 0, plan: plan))
    recorder = ShardRecorder(
      fleet: "f", shard: 0, identity: "this", paths: FleetPaths(base: folder.path + "/", root: folder.path),
      places: FleetPlaces(stores: folder.file("stores/"), destinations: folder.file("out/"), folder: place),
      control: BatchControl(), tally: tally,
      progress: FleetProgress(stores: 100, bytes: 100, mode: .none, isQuiet: true, stream: .memory()),
      problem: FirstError(), shortage: FirstError(), hold: FailureHold(),
      results: try ResultsFile(path: place.resultsPath(0), cuttingTornLine: true),
      note: AttemptNote(place, shard: 0, plan: plan) { _ in false },
      counter: ShardCounter(place, shard: 0, plan: plan))
  }

  private var store: StorePlace {
    StorePlace(path: folder.file("stores/there.sqlite"), destination: folder.file("out/there.sqlite"))
  }

  private func fail(_ index: Int, _ code: GodwitError.Code = .permission) {
    recorder.tally.begin(index, ShardStore(store: "stores/\(index).sqlite", bytes: 1, pair: nil))
    let error = GodwitError(code, "failure \(index)")
    recorder.ended(index, StoreResult(store, failed: error, seconds: 0), error)
  }

  private func succeed(_ index: Int) {
    recorder.tally.begin(index, ShardStore(store: "stores/\(index).sqlite", bytes: 1, pair: nil))
    recorder.ended(index, StoreResult(store, .finished), nil)
  }

  /// The places in the list of the lines, in their order.
  private func lines() throws -> [Int64] {
    try JSONValue.lines(String(contentsOfFile: place.resultsPath(0), encoding: .utf8)).compactMap {
      $0["index"]?.integer
    }
  }

  @Test func `so many failures in a row are of the machine, and none is recorded`() throws {
    for index in 0..<FailureHold.maximum - 1 { fail(index) }
    // A broken store says nothing about the machine.
    fail(50, .dataWrong)
    #expect(try lines() == [50])
    #expect(recorder.control.reason == nil && recorder.problem.error == nil)
    fail(99)
    #expect(recorder.control.reason == ShardRecorder.trouble && recorder.problem.error?.code == .inputOutput)
    #expect(recorder.problem.error?.cause?.contains("failure 99") == true)
    // Those that were at work when all were stopped.
    fail(60)
    recorder.finish { Issue.record("what is known is not asked for") }
    #expect(try lines() == [50])
    #expect(recorder.tally.counts.failed == 1 && recorder.tally.counts.stopped == FailureHold.maximum + 1)
    #expect(ShardCount(readingFrom: place.failedPath(0), identity: "this")?.failed == 1)
  }

  @Test func `failures before a store that ends well are of their stores`() throws {
    for index in 0..<FailureHold.maximum - 1 { fail(index) }
    #expect(try lines() == [])
    succeed(30)
    #expect(try lines() == Array(0..<Int64(FailureHold.maximum - 1)) + [30])
    #expect(ShardCount(readingFrom: place.failedPath(0), identity: "this")?.failed == Int64(FailureHold.maximum - 1))
    // The row begins again.
    for index in 40..<40 + FailureHold.maximum - 1 { fail(index) }
    #expect(recorder.problem.error == nil)
  }

  @Test func `at the end of a shard the machine is looked at`() throws {
    fail(1)
    fail(2)
    recorder.finish {}
    #expect(try lines() == [1, 2] && recorder.problem.error == nil)
    fail(3)
    recorder.finish { throw GodwitError(.inputOutput, "the mount is away") }
    #expect(try lines() == [1, 2] && recorder.problem.error?.message == "the mount is away")
    #expect(recorder.tally.counts.failed == 2 && recorder.tally.counts.stopped == 1)
  }

  @Test func `what is in the store is of the store, and the rest is suspect`() throws {
    func isSuspect(_ code: GodwitError.Code, _ topic: ErrorTopic? = nil, store: String = "there") -> Bool {
      var error = GodwitError(code, "failed")
      error.topic = topic
      let place = StorePlace(path: folder.file("stores/\(store).sqlite"), destination: folder.file("out/x.sqlite"))
      return recorder.isSuspect(StoreResult(place, failed: error, seconds: 0), error)
    }
    for code in [GodwitError.Code.dataWrong, .noPath, .internalBug, .cannotCreate, .configuration] {
      #expect(!isSuspect(code), "\(code)")
    }
    #expect(isSuspect(.inputOutput) && isSuspect(.permission) && isSuspect(.missingInput))
    #expect(!isSuspect(.inputOutput, .diskFull) && !isSuspect(.inputOutput, .tooLittleRoom))
    #expect(!isSuspect(.missingInput, .externalFile))
    // A store that was removed, among others that are there.
    #expect(!isSuspect(.missingInput, store: "nosuch"))
    try Data().write(to: URL(filePath: folder.file("out")))
    #expect(isSuspect(.cannotCreate))
    try FileManager.default.removeItem(atPath: folder.file("stores/there.sqlite"))
    #expect(isSuspect(.missingInput, store: "nosuch"))
    #expect(!recorder.isSuspect(StoreResult(self.store, .finished), nil))
  }
}

import Foundation
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitDisk
@testable import GodwitEngine
@testable import GodwitJob
@testable import GodwitStore

/// Jobs whose chunks commit together, and whose ledger is in memory until they do.
struct HeldLedgerTests {
  private static let kinds = [FaultJob.Kind.unsynced, .smallStore]

  /// The tables of ours that others can see in the stores under construction.
  private func tables(_ job: FaultJob) -> [String] {
    let folder = WorkFolder.path(forDestination: job.destinationPath)
    let folders = [folder, StepFolder.path(ofStep: 1, in: folder), StepFolder.path(ofStep: 2, in: folder)]
    return folders.reduce(into: []) { names, folder in
      let rows = try? StoreConnection(path: StepFolder(path: folder).storePath)
        .rows("SELECT name FROM sqlite_master WHERE name LIKE 'godwit%'")
      names += rows.map { $0.map { "\($0)" } } ?? []
    }
  }

  @Test(arguments: kinds) func `a run that is done with its first commit writes no ledger`(kind: FaultJob.Kind) throws {
    let job = try FaultJob(kind)
    var seen: [String] = []
    let layer = try FaultLayer(.none)
    var notes = 0
    layer.beforeEach = { if $0.kind != .unlink, $0.path.contains("outcome.json") { notes += 1 } }
    try EngineTuning.with(\.gatherSeconds, 1000) {
      try layer.run { _ = try MigrationManager(job.job).run { _ in seen += tables(job) } }
    }
    #expect(seen.isEmpty && notes == 0)
    // Where each transaction commits, it is there.
    let other = try FaultJob(again: job)
    try EngineTuning.with(\.gatherSeconds, 0) { _ = try MigrationManager(other.job).run { _ in seen += tables(other) } }
    #expect(!seen.isEmpty)
    #expect(try other.content() == job.content())
  }

  @Test(arguments: kinds) func `a run that is stopped after any chunk resumes from the ledger that was held`(
    kind: FaultJob.Kind
  ) throws {
    let whole = try FaultJob(kind)
    var chunks = 0
    try EngineTuning.with(\.gatherSeconds, 1000) { _ = try MigrationManager(whole.job).run { _ in chunks += 1 } }
    let expected = try whole.content()
    #expect(chunks > 5)
    for stop in TestTier.sample(1...chunks, each: 3) {
      let job = try FaultJob(again: whole)
      try EngineTuning.with(\.gatherSeconds, 1000) {
        let control = MigrationControl()
        var count = 0
        let stopped = try MigrationManager(job.job).run(control: control) { _ in
          count += 1
          if count == stop { control.stop(reason: "test") }
        }
        guard stopped.outcome == .stopped else { return }
        let before = try MigrationManager(job.job).status().lines.reduce(0) { $0 + $1.done }
        let resumed = try MigrationManager(job.job).run()
        #expect(resumed.outcome == .finished && (resumed.wasResumed || before == 0), "\(stop)")
      }
      #expect(try job.content() == expected, "\(stop)")
    }
  }

  @Test func `a held ledger follows what is taken back, and is written with what is committed`() throws {
    let folder = try TemporaryFolder()
    let connection = try StoreConnection(path: folder.file("a.sqlite"), create: true)
    connection.gatherSeconds = 1000
    let ledger = Ledger(connection: connection)
    let chunks = (0..<3).map {
      Chunk(
        id: $0, pass: 1, work: .create(mapping: 0, predicate: nil), name: "m", range: .init(lower: 1, upper: 2), rows: 2
      )
    }
    let identity = try JobFingerprint(FaultJob(.smallStore).job)
    let facts = PlanFacts(
      mappings: [], entities: [], overlaps: [], highestKeys: [:], now: 1, sourceBytes: 1, highestDestinationKeys: nil)
    let stamp = StoreFiles.Stamp(store: .init(size: 1, seconds: 2, nanoseconds: 3, header: [4]))
    try connection.transaction {
      try ledger.create(identity: identity, facts: facts, chunks: chunks, stamp: stamp, isHeld: true)
    }
    try connection.transaction {
      try ledger.finish(chunks[0], .init(rows: 2, nils: [NilCount(mapping: 0, attribute: "a", count: 1)]))
    }
    #expect(throws: GodwitError.self) {
      try connection.transaction {
        try ledger.finish(chunks[1], .init(rows: 2))
        try ledger.setSource("other")
        throw GodwitError(.dataWrong, "wrong")
      }
    }
    func check() throws {
      #expect(try ledger.done() == [0] && ledger.totals().objects == 2 && ledger.objectsMade() == ["m": 2])
      #expect(try ledger.identity() == identity && ledger.stamp() == stamp && ledger.nils().map(\.count) == [1])
      #expect(try !ledger.isComplete() && ledger.chunks().map(\.id) == [0, 1, 2])
    }
    #expect(ledger.isHeld)
    try check()
    try connection.commitGathered()
    #expect(!ledger.isHeld)
    try check()
    // And as another connection reads it.
    let other = Ledger(connection: try StoreConnection(path: folder.file("a.sqlite")))
    #expect(try other.done() == [0] && other.nils().map(\.count) == [1])
    try other.connection.close()
    connection.rollBackGathered()
    try connection.transaction { try ledger.finish(chunks[1], .init(rows: 2)) }
    connection.rollBackGathered()
    #expect(try ledger.done() == [0])
  }
}

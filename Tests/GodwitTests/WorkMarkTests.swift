import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitDisk
@testable import GodwitJob

/// Work whose checkpoints are not synced.
struct WorkMarkTests {
  @Test(arguments: [WorkMark.synced, .unsynced(boot: "b-1")]) func `a mark is read as it was written`(mark: WorkMark) {
    #expect(WorkMark(text: mark.text) == mark)
    for count in 0..<mark.text.count { #expect(WorkMark(text: String(mark.text.prefix(count))) == .torn, "\(count)") }
  }

  /// A job whose run was stopped at its first report.
  private func stopped() throws -> (fixture: MigrationFixture, job: MigrationJob) {
    let fixture = try MigrationFixture.notes()
    var job = try fixture.job
    job.syncsCheckpoints = false
    #expect(try chunksAfterStop(of: job) == 1)
    return (fixture, job)
  }

  /// Runs a chunk, and returns how many are done.
  private func chunksAfterStop(of job: MigrationJob) throws -> Int {
    let control = MigrationControl()
    try MigrationManager(job).run(control: control) { _ in control.stop(reason: "test") }
    return try MigrationManager(job).status().lines.reduce(0) { $0 + $1.done }
  }

  @Test func `work that is not synced is resumed while the machine runs, and begun anew after that`() throws {
    for (boot, isResumed) in [(BootIdentity.current, true), ("another start", false)] {
      let (fixture, job) = try stopped()
      defer { withExtendedLifetime(fixture) {} }
      try BootIdentity.$current.withValue(boot) {
        let state = try MigrationManager(job).status().state
        #expect(state == (isResumed ? .unfinished : .notStarted))
        let chunks = try chunksAfterStop(of: job)
        #expect(chunks == (isResumed ? 2 : 1))
        let outcome = try MigrationManager(job).run().outcome
        #expect(outcome == .finished)
      }
    }
  }

  @Test func `a run that syncs makes the work durable that it goes on with`() throws {
    let (fixture, first) = try stopped()
    defer { withExtendedLifetime(fixture) {} }
    var job = first
    job.syncsCheckpoints = true
    #expect(!WorkFolder.isSynced(job.workPath))
    #expect(try chunksAfterStop(of: job) == 2)
    #expect(WorkFolder.isSynced(job.workPath))
    // One that need not sync leaves it so.
    #expect(try chunksAfterStop(of: first) == 3)
    #expect(WorkFolder.isSynced(job.workPath))
    let last = try BootIdentity.$current.withValue("another start") {
      _ = try chunksAfterStop(of: first)
      return try MigrationManager(first).status().state
    }
    #expect(last == .finished)
  }

  /// Runs a job of one step whose checkpoints are not synced.
  ///
  /// - Returns: The names of what was synced, those of the two folders as `work` and `place`.
  private func synced(_ receipt: MigrationJob.ReceiptPlace?) throws -> [String] {
    let fixture = try MigrationFixture.notes()
    var job = try fixture.job
    (job.syncsCheckpoints, job.receipt) = (false, receipt)
    let place = (job.destinationPath as NSString).deletingLastPathComponent
    try WorkFolder.makeFolder(place)
    let layer = try FaultLayer(.none, keepsAll: true)
    try layer.run { _ = try MigrationManager(job).run() }
    func name(_ path: String) -> String { (path as NSString).lastPathComponent }
    let folders = [name(job.workPath): "work", name(place): "place"]
    return layer.operations.filter { $0.kind == .sync }.map { folders[name($0.path)] ?? name($0.path) }
  }

  @Test func `a small store with its receipt is delivered with four syncs`() throws {
    let synced = try synced(.besideDestination)
    #expect(Set(synced.prefix(2)) == ["store.sqlite", "receipt.json"])
    #expect(synced.dropFirst(2) == ["work", "place"], "\(synced)")
  }

  @Test func `a small store alone is delivered with two syncs`() throws {
    #expect(try synced(nil) == ["store.sqlite", "place"])
  }

  @Test func `a finished store is synced work, whatever the mark says`() throws {
    let (fixture, job) = try stopped()
    defer { withExtendedLifetime(fixture) {} }
    do {
      let folder = try WorkFolder(forDestination: job.destinationPath, isSynced: false)
      try Data().write(to: URL(filePath: folder.receiptPath))
      try folder.settle(finished: StepFolder(path: folder.path).storePath)
    }
    #expect(WorkFolder.isSynced(job.workPath))
    try Data().write(to: URL(filePath: job.workPath + "/made-by-godwit"))
    #expect(WorkFolder.isSynced(job.workPath))
    let state = try BootIdentity.$current.withValue("another start") { try MigrationManager(job).status().state }
    #expect(state == .unfinished)
  }

  @Test func `the mark of finished work stays when its content goes`() throws {
    let (fixture, job) = try stopped()
    defer { withExtendedLifetime(fixture) {} }
    do {
      let folder = try WorkFolder(forDestination: job.destinationPath, isSynced: false)
      try folder.settle(finished: StepFolder(path: folder.path).storePath)
    }
    do {
      let folder = try WorkFolder(forDestination: job.destinationPath)
      let isSynced = folder.isSynced
      #expect(isSynced)
      try folder.removeContent()
    }
    #expect(WorkFolder.isSynced(job.workPath))
  }

  @Test func `a job without synced checkpoints syncs a few times, whatever its chunks`() throws {
    func syncs(_ isSynced: Bool, rows: Int) throws -> Int {
      let fixture = try MigrationFixture.notes()
      fixture.chunkRows = rows
      var job = try fixture.job
      job.syncsCheckpoints = isSynced
      let layer = try FaultLayer(.none, keepsAll: true)
      try layer.run { _ = try MigrationManager(job).run() }
      return layer.operations.count { $0.kind == .sync }
    }
    let few = try syncs(false, rows: 2)
    #expect(try few == syncs(false, rows: 40))
    #expect(try syncs(true, rows: 2) > 3 * few)
  }
}

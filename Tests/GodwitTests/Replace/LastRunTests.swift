import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// The record of the last run under odd conditions, and a status that must not read the source.
struct LastRunTests {
  private func stopped() throws -> MigrationFixture {
    let fixture = try MigrationFixture.notes()
    let control = MigrationControl()
    try MigrationManager(fixture.job).run(control: control) { _ in control.stop(reason: "test") }
    #expect(try MigrationManager(fixture.job).status().run?.state == .stopped)
    return fixture
  }

  // MARK: The record

  @Test func `a record in a folder that others can write is not read`() throws {
    let fixture = try stopped()
    #expect(try chmod(fixture.job.workPath, 0o777) == 0)
    #expect(try MigrationManager(fixture.job).status().run?.state == .stale)
  }

  @Test func `a journal is read only if it is a file itself`() throws {
    let fixture = try stopped()
    let journal = try fixture.job.workPath + "/run.json"
    let elsewhere = fixture.folder.file("elsewhere.json")
    try FileManager.default.moveItem(atPath: journal, toPath: elsewhere)
    try FileManager.default.createSymbolicLink(atPath: journal, withDestinationPath: elsewhere)
    let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).status() }
    #expect(error?.code == .dataWrong && error?.message.contains(journal) == true)
  }

  @Test func `a run that fails before it has the lock is the last one all the same`() throws {
    let fixture = try stopped()
    let away = fixture.sourcePath + ".away"
    try FileManager.default.moveItem(atPath: fixture.sourcePath, toPath: away)
    #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    try FileManager.default.moveItem(atPath: away, toPath: fixture.sourcePath)
    let run = try #require(try MigrationManager(fixture.job).status().run)
    #expect(run.state == .failed && run.status == 66 && run.pid == getpid(), "\(run)")
    let (since, ended) = (try #require(run.since), try #require(run.ended))
    #expect(since <= ended)
    #expect(try MigrationManager(fixture.job).run().wasResumed)
  }

  @Test func `a run that another one has followed is not recorded`() throws {
    let fixture = try stopped()
    let folder = WorkFolder.path(forDestination: fixture.destinationPath)
    let before = try #require(try WorkJournal.read(in: folder)?.lastRun)
    let next = LockHolder(pid: getpid() &+ 1, since: LockHolder.text(Date().addingTimeInterval(60)), host: "other")
    let descriptor = open(folder + "/lock", O_RDWR | O_CLOEXEC)
    next.write(to: descriptor)
    close(descriptor)
    let watch = StopCondition(control: MigrationControl(), start: Date(), maximumSeconds: nil)
    try RunEnd(job: fixture.job, watch: watch).note(failedWith: GodwitError(.internalBug, "test"))
    #expect(try WorkJournal.read(in: folder)?.lastRun == before)
  }

  @Test(arguments: [("SIGTERM", Int32(143)), ("SIGINT", 130)])
  func `a run that a signal ends with an error has the status of the signal`(reason: String, status: Int32) throws {
    let fixture = try stopped()
    let control = MigrationControl()
    control.stop(reason: reason)
    let watch = StopCondition(control: control, start: Date(), maximumSeconds: nil)
    try RunEnd(job: fixture.job, watch: watch).note(failedWith: GodwitError(.stopped, "test", stopReason: .signal))
    let run = try #require(try MigrationManager(fixture.job).status().run)
    #expect(run.state == .stopped && run.status == status && run.reasonCode == "signal", "\(run)")
  }

  // MARK: Figures

  @Test func `a damaged ledger gives no figures rather than impossible ones`() {
    let chunks = (0..<2).map {
      Chunk(id: $0, pass: 1, work: .create(mapping: 0, predicate: nil), name: "A", range: .all, rows: .max)
    }
    for pace: MigrationStatus.Pace in [
      .init(began: 0, rowsBefore: .min, committed: 1), .init(began: 0, rowsBefore: 0, committed: 1e300),
      .init(began: .nan, rowsBefore: 0, committed: 1), .init(began: -.infinity, rowsBefore: 0, committed: 1),
      .init(began: 0, rowsBefore: 0, committed: .leastNonzeroMagnitude),
    ] {
      var status = MigrationStatus(state: .unfinished, job: "job", chunks: [], done: [])
      status.take(pace, of: chunks, done: chunks)
      #expect(status.rowsPerSecond == nil && status.secondsLeft == nil, "\(pace)")
      #expect(status.lastCommit.map { $0.timeIntervalSinceReferenceDate < 2e11 } ?? true, "\(pace)")
    }
  }

  @Test func `the time left of a stopped run goes by rows, whatever empty chunks took`() throws {
    func chunk(_ id: Int, _ phase: ChunkWork, _ rows: Int64) -> Chunk {
      Chunk(id: id, pass: 1, work: phase, name: "A", range: .all, rows: rows)
    }
    let create = ChunkWork.create(mapping: 0, predicate: nil)
    let empty = (0..<100).map { chunk($0, create, 0) }
    let full = (100..<110).map { chunk($0, create, 1_000_000) }
    var status = MigrationStatus(state: .unfinished, job: "job", chunks: [], done: [])
    // Hundred chunks of a millisecond: ten million rows do not take ten million milliseconds.
    status.take(.init(began: 0, rowsBefore: 0, workBefore: 0, committed: 0.1), of: empty + full, done: empty)
    #expect(try #require(status.secondsLeft) < 60)
    // Half of the rows in ten seconds.
    status.take(
      .init(began: 0, rowsBefore: 0, workBefore: 0, committed: 10), of: empty + full, done: empty + full.prefix(5))
    #expect(try abs(#require(status.secondsLeft) - 10) < 0.2)
    // A ledger of an earlier version does not say what the work was.
    status.secondsLeft = nil
    status.take(.init(began: 0, rowsBefore: 0, committed: 10), of: empty + full, done: empty)
    #expect(status.secondsLeft == nil && status.rowsPerSecond != nil)
  }

  @Test func `a success is never one of the time to come`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    try FileManager.default.setAttributes(
      [.modificationDate: Date().addingTimeInterval(1e6)], ofItemAtPath: job.destinationPath + Receipt.suffix)
    #expect(try #require(MigrationManager(job).status().lastSuccess) <= Date())
  }

  // MARK: Without reading the source

  /// Sets the time of the source's last change.
  private func touch(_ path: String, _ seconds: TimeInterval) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date().addingTimeInterval(seconds)], ofItemAtPath: path)
  }

  /// A reader of the source would see that only its time differs.
  @Test(arguments: [true, false]) func `a monitor goes by the times of the source`(hasReceipt: Bool) throws {
    let fixture = try MigrationFixture.notes()
    var job = try fixture.job
    job.receipt = hasReceipt ? .besideDestination : nil
    try touch(job.sourcePath, -1000)
    try MigrationManager(job).run()
    #expect(try MigrationManager(job).status(comparesSource: false).state == .finished)
    try touch(job.sourcePath, 60)
    #expect(try MigrationManager(job).status().state == .finished)
    let touched = try MigrationManager(job).status(comparesSource: false)
    #expect(touched.state == .foreign && touched.changes == [.source])
    try fixture.alter("UPDATE ZNOTE SET ZTEXT = 'other' WHERE Z_PK = 1")
    try touch(job.sourcePath, -1000)
    #expect(try MigrationManager(job).status().state == .foreign)
    // The receipt knows which time it was; without it an old one tells nothing.
    #expect(try MigrationManager(job).status(comparesSource: false).state == (hasReceipt ? .foreign : .finished))
    // Another model does not depend on time.
    job.steps[0].destinationModel = try ManagedObjectModel(
      name: "3", entities: [.make("Note", ["text": .string, "less": .string])])
    let other = try MigrationManager(job).status(comparesSource: false)
    #expect(other.state == .foreign && other.changes.contains(.destinationModel) == hasReceipt, "\(other)")
  }

  @Test func `a monitor of a job that appends goes by the times too`() throws {
    let fixture = try MigrationFixture.notes()
    var job = try fixture.job
    job.existingDestination = .append
    try touch(job.sourcePath, -1000)
    try MigrationManager(job).run()
    #expect(try MigrationManager(job).status(comparesSource: false).state == .finished)
    try touch(job.sourcePath, 60)
    #expect(try MigrationManager(job).status().state == .finished)
    #expect(try MigrationManager(job).status(comparesSource: false).state == .notStarted)
  }

  @Test func `a finished store that waits is not told from the content of the source`() throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    job.hooks.lockSeconds = 0
    do {
      let user = try StoreLock(store: job.destinationPath)
      defer { withExtendedLifetime(user) {} }
      #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    }
    try night.sourceBefore.write(to: URL(filePath: job.sourcePath))
    try touch(job.sourcePath, 60)
    #expect(try MigrationManager(job).status(comparesSource: false).state == .unfinished)
    #expect(try MigrationManager(job).status().state == .finished)
  }
}

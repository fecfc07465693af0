import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The status of the last run.
struct RunStateTests {
  private func stop(_ fixture: MigrationFixture, reason: String) throws {
    let control = MigrationControl()
    let summary = try MigrationManager(fixture.job).run(control: control) { _ in control.stop(reason: reason) }
    #expect(summary.outcome == .stopped)
  }

  private func status(_ fixture: MigrationFixture) throws -> MigrationStatus {
    try MigrationManager(fixture.job).status()
  }

  private func folder(_ fixture: MigrationFixture) -> String {
    WorkFolder.path(forDestination: fixture.destinationPath)
  }

  @Test func `a job that nobody has run has no run, and a finished one has a time`() throws {
    let fixture = try MigrationFixture.notes()
    #expect(try status(fixture).run == nil)
    let before = Date()
    try MigrationManager(fixture.job).run()
    let finished = try status(fixture)
    #expect(finished.run?.state == .finished)
    // Without a receipt the store's own time tells.
    #expect(try #require(finished.lastSuccess) >= before.addingTimeInterval(-2))
    #expect(!FileManager.default.fileExists(atPath: folder(fixture)))
  }

  @Test(
    arguments: [
      ("SIGTERM", "signal", 143), ("SIGINT", "signal", 130), ("time limit reached", "time-box", 75),
      ("because", "requested", 75),
    ] as [(String, String, Int32)])
  func `a run that stopped says why, how fast it was, and that it can be resumed`(
    reason: String, code: String, status: Int32
  ) throws {
    let fixture = try MigrationFixture.notes()
    try stop(fixture, reason: reason)
    let found = try self.status(fixture)
    let run = try #require(found.run)
    #expect(run.state == .stopped && run.reason == reason && run.reasonCode == code && run.status == status)
    #expect(run.isResumable && run.pid == getpid() && run.message == nil)
    let (since, ended, commit) = (try #require(run.since), try #require(run.ended), try #require(found.lastCommit))
    // The record has milliseconds.
    #expect(since <= ended && commit <= ended.addingTimeInterval(0.001))
    #expect(try #require(found.rowsPerSecond) > 0)
    #expect(found.secondsLeft == nil && found.lastSuccess == nil)
    #expect(found.description.contains("\n  stopped 20"))
    #expect(found.description.contains("\(reason) (\(code)); the same command resumes"))
    try MigrationManager(fixture.job).run()
    #expect(try self.status(fixture).run?.state == .finished)
  }

  @Test func `a run that failed says with what, and is not called stale`() throws {
    let fixture = try MigrationFixture.notes()
    try stop(fixture, reason: "test")
    try fixture.alter("UPDATE ZNOTE SET ZTEXT = 'other' WHERE Z_PK = 1")
    #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    let run = try #require(try status(fixture).run)
    #expect(run.state == .failed && run.status == 73 && !run.isResumable && run.reasonCode == nil)
    #expect(run.message == "cannot resume 'test': the source store changed since the run began")
    #expect(run.remedy?.contains("discard") == true)
  }

  @Test func `an unfinished job whose last run left no word is stale, also after a run that did`() throws {
    let fixture = try MigrationFixture.notes()
    try stop(fixture, reason: "test")
    #expect(try status(fixture).run?.state == .stopped)
    // A run that is killed as soon as it has the lock leaves this.
    do {
      let folder = try WorkFolder(forDestination: fixture.destinationPath)
      let running = try #require(try status(fixture).run)
      #expect(running.state == .running && running.pid == getpid() && running.since != nil)
      #expect(folder.path == self.folder(fixture))
    }
    let stale = try status(fixture)
    #expect(stale.run?.state == .stale && stale.run?.isResumable == true && stale.run?.pid == getpid())
    #expect(stale.state == .unfinished && stale.percent > 0)
    // A damaged journal is not one that is missing: it may say that files lie beside the destination.
    try stop(fixture, reason: "test")
    try Data("{".utf8).write(to: URL(filePath: folder(fixture) + "/run.json"))
    for action in [{ _ = try status(fixture) }, { _ = try MigrationManager(fixture.job).run() }] {
      let error = #expect(throws: GodwitError.self) { try action() }
      #expect(error?.code == .dataWrong && error?.remedy?.contains("discard") == true)
    }
    #expect(try MigrationManager.discard(destination: fixture.destinationPath))
    #expect(try MigrationManager(fixture.job).run().outcome == .finished)
  }

  @Test func `a run that finds the lock taken names the process and its start`() throws {
    let fixture = try MigrationFixture.notes()
    let folder = try WorkFolder(forDestination: fixture.destinationPath)
    guard case .held(let holder?) = try WorkFolder.lockState(ofFolder: folder.path) else {
      Issue.record("the lock is not held")
      return
    }
    #expect(holder.pid == getpid() && LockHolder.time(holder.since) != nil)
    let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    #expect(error?.stopReason == .locked)
    #expect(error?.cause == "the lock is held by \(holder.description)")
    #expect(error?.description.contains("\n  reason  lock\n") == true)
    #expect(holder.description.hasPrefix("process \(getpid())"))
    // The refused run records nothing: the work folder is another run's.
    #expect(try WorkJournal.read(in: folder.path) == nil)
  }

  @Test func `asking for the state of a lock neither makes a file nor keeps a run out`() throws {
    let fixture = try MigrationFixture.notes()
    #expect(try WorkFolder.lockState(ofFolder: folder(fixture)) == .none)
    try stop(fixture, reason: "test")
    let before = try FolderContents(folder(fixture))
    // A reader holds the lock for a moment, and a run waits for that.
    let lock = open(folder(fixture) + "/lock", O_RDONLY | O_CLOEXEC)
    #expect(flock(lock, LOCK_SH | LOCK_NB) == 0)
    guard case .free = try WorkFolder.lockState(ofFolder: folder(fixture)) else {
      Issue.record("one who looks counts as a run")
      return
    }
    #expect(try FolderContents(folder(fixture)) == before)
    Thread.detachNewThread {
      usleep(20_000)
      close(lock)
    }
    #expect(try MigrationManager(fixture.job).run().outcome == .finished)
  }

  @Test func `a record that cannot be written fails no run`() throws {
    let fixture = try MigrationFixture.notes()
    let layer = try FaultLayer(.none, keepsAll: true)
    try layer.run { try stop(fixture, reason: "test") }
    // The record comes when the run has given up its lock.
    let last = layer.operations.lastIndex { $0.path.contains("store.sqlite") } ?? 0
    let positions = layer.operations.enumerated().filter {
      $0 > last && $1.path.contains("run.json") || $1.path.hasSuffix("/lock")
    }
    #expect(positions.count >= 4)
    for (position, operation) in positions where operation.kind != .create || !operation.path.hasSuffix("/lock") {
      let other = try MigrationFixture.notes()
      let layer = try FaultLayer(.fail(EIO, at: position + 1))
      try layer.run { try stop(other, reason: "test") }
      #expect(layer.hasStruck, "\(operation)")
      #expect(try MigrationManager(other.job).run().outcome == .finished, "\(operation)")
    }
  }

  @Test func `a run that could not mark its work folder keeps no other out`() throws {
    let fixture = try MigrationFixture.notes()
    let layer = try FaultLayer(.none, keepsAll: true)
    try layer.run { try stop(fixture, reason: "test") }
    let marking = try #require(layer.operations.firstIndex { $0.path.hasSuffix("/made-by-godwit") })
    let other = try MigrationFixture.notes()
    let failing = try FaultLayer(.fail(EIO, at: marking + 1))
    #expect(throws: GodwitError.self) { try failing.run { _ = try MigrationManager(other.job).run() } }
    #expect(failing.hasStruck)
    #expect(try MigrationManager(other.job).run().outcome == .finished)
  }

  @Test func `of two runs that make the work folder at once, the later one ends with 75`() throws {
    let fixture = try MigrationFixture.notes()
    let layer = try FaultLayer(.none)
    var errors: [GodwitError] = []
    layer.beforeEach = { operation in
      // The folder and its lock are there, and the marker is not.
      guard operation.kind == .create, operation.path.hasSuffix("/made-by-godwit") else { return }
      do { _ = try MigrationManager(fixture.job).run() } catch let error as GodwitError { errors.append(error) } catch {
      }
    }
    #expect(try layer.run { try MigrationManager(fixture.job).run() }.outcome == .finished)
    #expect(errors.map(\.code) == [.stopped] && errors.map(\.stopReason) == [.locked], "\(errors)")
  }

  @Test func `what changed since the destination was made is part of the status`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    let outdated = try MigrationManager(job).status()
    #expect(outdated.state == .outdated && outdated.changes == [.source] && outdated.run == nil)
    #expect(outdated.lastSuccess != nil)
    #expect(outdated.description.hasSuffix("because of a change: the source store"))
    // A monitor does not read the source for that.
    #expect(try MigrationManager(job).status(comparesSource: false).state == .finished)
    var other = job
    other.existingDestination = .fail
    let foreign = try MigrationManager(other).status()
    #expect(foreign.state == .foreign && foreign.changes == [.source])
    #expect(try MigrationManager(other).status(comparesSource: false).state == .foreign)
  }

  /// The statuses of a job that reads the source, and of a monitor that does not.
  private func statuses(_ job: MigrationJob) throws -> [MigrationStatus] {
    try [true, false].map { try MigrationManager(job).status(comparesSource: $0) }
  }

  @Test func `a store that was written to since is not told as one that the next run replaces`() throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    try SecondNight.edit(job.destinationPath, "UPDATE ZPERSON SET ZNAME = 'edited' WHERE Z_PK = 5")
    for status in try statuses(job) {
      #expect(status.state == .foreign && status.changes == [.source, .destination])
      #expect(status.description.contains("before a change: the source store, the destination itself"))
    }
    #expect(try SecondNight.refusal(job).message.contains("it was written to since"))
    // With the old store beside it nothing is lost.
    job.existingDestination = .replace(keepsOld: true)
    #expect(try statuses(job).map(\.state) == [.outdated, .finished])
  }

  @Test(arguments: [nil, "junk"] as [String?])
  func `a store without its receipt is not told as one that the next run replaces`(receipt: String?) throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    let path = job.destinationPath + Receipt.suffix
    try FileManager.default.removeItem(atPath: path)
    if let receipt { try Data(receipt.utf8).write(to: URL(filePath: path)) }
    let found = try statuses(job)
    #expect(found.map(\.state) == [.foreign, .foreign] && found.map(\.changes) == [[], [.source]])
    _ = try SecondNight.refusal(job)
  }
}

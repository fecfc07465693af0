import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// The bytes of a store, its log and its journal. The index of the log is in the writer's memory as well.
private func files(_ store: String) throws -> [String: Data] {
  var files: [String: Data] = [:]
  for path in ["", "-wal", "-journal"].map({ store + $0 }) where FileManager.default.fileExists(atPath: path) {
    files[path] = try Data(contentsOf: URL(filePath: path))
  }
  return files
}

/// A source that another process writes to while a run reads it.
///
/// No lock keeps the writer out: a run compares the files before each commit, and ends with 75.
struct ChangingSourceTests {
  enum Journal: String, CaseIterable, Sendable {
    case rollback = "DELETE"
    case log = "WAL"
  }

  /// Another process, as long as the value lives. With a log, what it writes stays in there.
  private final class Writer {
    private let connection: StoreConnection

    init(_ path: String, _ journal: Journal) throws {
      connection = try StoreConnection(path: path)
      try connection.execute("PRAGMA journal_mode = \(journal.rawValue)")
      try connection.execute("PRAGMA wal_autocheckpoint = 0")
    }

    /// Commits a change of one row, which moves no page.
    func write(_ text: String, to table: String = "ZPERSON") throws {
      try connection.execute("UPDATE \(table) SET ZNAME = ?1 WHERE Z_PK = 3", [.text(text)])
    }
  }

  // MARK: New stores

  /// One kind of run with one kind of writer.
  private struct World {
    let whole: FaultJob
    let journal: Journal
    /// The progress of an undisturbed run.
    let events: [MigrationProgress]

    init(_ kind: FaultJob.Kind, _ journal: Journal) throws {
      (whole, self.journal) = (try FaultJob(kind), journal)
      let job = try FaultJob(again: whole)
      var events: [MigrationProgress] = []
      try MigrationManager(job.job).run { events.append($0) }
      self.events = events
    }

    /// The events at which the source is still read, from 1: some of them but for the long tier.
    func places() -> [Int] {
      let reading = events.indices.filter { place in
        let event = events[place]
        return event.step == 1 && event.percent < 100 && event.stage != "write"
      }.map { $0 + 1 }
      guard !TestTier.isLong, reading.count > 4 else { return reading }
      // The first and the last one, and one between: another one for each kind of journal and in each round.
      let shift = Int(testSeeds(1)[0] % 5) + (journal == .log ? 1 : 0)
      let between = 1 + (reading.count / 2 + shift) % (reading.count - 2)
      return [0, between, reading.count - 1].map { reading[$0] }
    }

    /// Runs a job whose source changes at an event, and then again.
    ///
    /// - Parameter beginsAnew: Whether nothing of the first run was durable.
    func disturb(at place: Int, beginsAnew: Bool) throws {
      let job = try FaultJob(again: whole)
      let writer = try Writer(job.sourcePath, journal)
      try writer.write("before")
      let what = "\(whole.kind), \(journal), event \(place) of \(events.count)"
      var (count, written): (Int, [String: Data]) = (0, [:])
      var failure: GodwitError?
      do {
        try MigrationManager(job.job).run { _ in
          count += 1
          guard count == place else { return }
          try? writer.write("during the run")
          written = (try? files(job.sourcePath)) ?? [:]
        }
      } catch let error as GodwitError { failure = error }
      let told = "\(what): \(String(describing: failure))"
      #expect(failure?.code == .stopped && failure?.stopReason == .sourceChanged, "\(told)")
      #expect(failure?.remedy?.contains("discard") == !beginsAnew, "\(what)")
      #expect(!written.isEmpty)
      #expect(try files(job.sourcePath) == written, "\(what): the source is not as the writer left it")
      for path in try [job.destinationPath, job.job.quarantinePath, job.destinationPath + Receipt.suffix] {
        #expect(!FileManager.default.fileExists(atPath: path), "\(what): \(path)")
      }
      // Work that is in vain goes on for no more than what one statement makes of several mappings.
      if place == 1, !beginsAnew {
        #expect(count <= 6 && events.count > 12, "\(what): \(count)")
      }

      if beginsAnew {
        let again = try job.run()
        #expect(again.outcome == .finished && !again.wasResumed, "\(what)")
      } else {
        let error = #expect(throws: GodwitError.self, "\(what)") { try job.run() }
        #expect(error?.code == .cannotCreate, "\(what): \(String(describing: error))")
        #expect(error?.message.contains("the source store changed since the run began") == true, "\(what)")
        #expect(try MigrationManager.discard(destination: job.destinationPath))
        #expect(try job.run().outcome == .finished, "\(what)")
      }
      let report = try Verifier(job: job.job).run()
      #expect(report.isClean, "\(what): \(report)")
      #expect(try files(job.sourcePath) == written, "\(what): the source is not as the writer left it")
    }
  }

  @Test(arguments: [.everyStage, .severalSteps, .xml, .quarantine] as [FaultJob.Kind], Journal.allCases)
  func `a source that changes between two chunks is 75, and the next run does not take it for the old one`(
    kind: FaultJob.Kind, journal: Journal
  ) throws {
    let world = try World(kind, journal)
    let places = world.places()
    #expect(places.count >= 3)
    for place in places { try world.disturb(at: place, beginsAnew: false) }
  }

  @Test(arguments: [.everyStage, .quarantine] as [FaultJob.Kind], Journal.allCases)
  func `a large source that changes before its digest is known is 75 too`(
    kind: FaultJob.Kind, journal: Journal
  ) throws {
    try EngineTuning.with(\.largeSourceBytes, 0) {
      let world = try World(kind, journal)
      for place in world.places() { try world.disturb(at: place, beginsAnew: false) }
    }
  }

  @Test(arguments: [.restart, .smallStore] as [FaultJob.Kind], Journal.allCases)
  func `a source of a run that begins again is 75 too when it changes, and nothing of the run is left`(
    kind: FaultJob.Kind, journal: Journal
  ) throws {
    let world = try World(kind, journal)
    for place in world.places() { try world.disturb(at: place, beginsAnew: true) }
  }

  @Test(arguments: [FaultJob.Kind.severalSteps, .restart], Journal.allCases)
  func `a source that changes when the first of several steps has read it stops nothing`(
    kind: FaultJob.Kind, journal: Journal
  ) throws {
    let world = try World(kind, journal)
    let second = try #require(world.events.firstIndex { $0.step == 2 }) + 1
    let job = try FaultJob(again: world.whole)
    let writer = try Writer(job.sourcePath, journal)
    try writer.write("before")
    var count = 0
    let summary = try MigrationManager(job.job).run { _ in
      count += 1
      if count == second { try? writer.write("during the run") }
    }
    #expect(summary.outcome == .finished)
    let made = try StoreConnection.openStore(readingAt: job.destinationPath)
    #expect(try made.rows("SELECT ZNAME FROM source.ZPERSON WHERE Z_PK = 3").map { $0.map(\.plain) } == [["before"]])
    // The destination is of what was read.
    #expect(try MigrationManager(job.job).status().state == .foreign)
  }

  // MARK: Appending

  @Test(arguments: Journal.allCases)
  func `a source that changes while its rows are appended is 75, and the destination stays as it was`(
    journal: Journal
  ) throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.buildDestination()
    let job = try world.job("a.sqlite")
    var events = 0
    try MigrationManager(job).run { _ in events += 1 }
    for place in [1, 2, events / 2, events - 1] {
      let world = try AppendWorld()
      try world.build("a.sqlite")
      try world.buildDestination()
      let (job, source) = (try world.job("a.sqlite"), world.folder.file("a.sqlite"))
      let destination = try files(world.destinationPath)
      let writer = try Writer(source, journal)
      try writer.write("before", to: "ZCUSTOMER")
      var (count, written): (Int, [String: Data]) = (0, [:])
      let error = try #require(throws: GodwitError.self, "event \(place) of \(events)") {
        try MigrationManager(job).run { _ in
          count += 1
          guard count == place else { return }
          try? writer.write("during the run", to: "ZCUSTOMER")
          written = (try? files(source)) ?? [:]
        }
      }
      #expect(error.code == .stopped && error.stopReason == .sourceChanged, "event \(place): \(error)")
      #expect(try files(source) == written)
      #expect(Set(try files(world.destinationPath).values) == Set(destination.values), "event \(place)")
      let refusal = try world.refusal(job)
      #expect(refusal.code == .cannotCreate && refusal.message.contains("the source store changed"), "\(refusal)")
      #expect(try MigrationManager.discard(destination: world.destinationPath))
      #expect(try world.run(job).outcome == .finished)
    }
  }

  // MARK: In place

  /// A store that is edited by the executor, by SQL or by definitions alone.
  enum Way: String, CaseIterable, Sendable { case executor, sql, definitions }

  private func jobInPlace(_ way: Way, keepsOld: Bool) throws -> (MigrationFixture, MigrationJob) {
    var more = AttributeDescription(name: "more", type: .string)
    if way == .sql { (more.isOptional, more.defaultValue) = (false, .init("new")) }
    var note = EntityDescription.make("Person", ["name": .string])
    let old = note
    note.attributes.append(more)
    let fixture = try MigrationFixture([old], to: [note])
    try fixture.build { store in
      for key in Int64(1)...40 { try store.insert("Person", key: key, attributes: ["name": .init("note \(key)")]) }
    }
    try fixture.infer()
    fixture.chunkRows = 10
    var job = fixture.jobInPlace(try fixture.copyOfSource("in-place"), keepsOld: keepsOld)
    if way == .executor { job.steps[0].origin = nil }
    return (fixture, job)
  }

  @Test(arguments: Way.allCases, [true, false])
  func `nobody can write to a store in place between two parts of the run`(way: Way, keepsOld: Bool) throws {
    let (fixture, job) = try jobInPlace(way, keepsOld: keepsOld)
    let wanted = ["executor": "through the executor", "sql": "in place by SQL", "definitions": "in place"][way.rawValue]
    #expect(try MigrationManager(job).plan().steps.first?.way?.hasPrefix(wanted ?? "none") == true)
    var (tries, refusals, others): (Int, Int, [String]) = (0, 0, [])
    let summary = try MigrationManager(job).run { progress in
      guard progress.percent < 100 else { return }
      tries += 1
      // A process that has just begun to use the store, with its own patience.
      do { try Writer(job.sourcePath, .rollback).write("during the run") } catch let error as GodwitError {
        if error.refusal == .locked || error.code == .stopped { refusals += 1 } else { others.append("\(error)") }
      } catch { others.append("\(error)") }
    }
    #expect(summary.outcome == .finished && tries > 3 && refusals == tries, "\(refusals) of \(tries), \(others)")
    let made = try StoreConnection.openStore(readingAt: job.sourcePath)
    #expect(try made.integer("SELECT COUNT(*) FROM source.ZPERSON WHERE ZNAME = 'note ' || Z_PK") == 40)
    withExtendedLifetime(fixture) {}
  }

  /// A writer without SQLite's locks: a copy over the store, or a tool of another kind.
  @Test(arguments: [true, false])
  func `a store in place that is overwritten all the same is 75`(keepsOld: Bool) throws {
    let (fixture, job) = try jobInPlace(.executor, keepsOld: keepsOld)
    var count = 0
    let error = #expect(throws: GodwitError.self) {
      try MigrationManager(job).run { _ in
        count += 1
        guard count == 3, let file = FileHandle(forUpdatingAtPath: job.sourcePath) else { return }
        // The change counter of the header.
        try? file.seek(toOffset: 24)
        try? file.write(contentsOf: Data([9, 9, 9, 9]))
        try? file.close()
      }
    }
    #expect(error?.code == .stopped && error?.stopReason == .sourceChanged, "\(String(describing: error))")
    #expect(try StoreMetadata(readingStoreAt: job.sourcePath).entityVersionHashes == fixture.source.versionHashes)
  }
}

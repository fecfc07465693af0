import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// `run.json`, and the pages that tell of it.
struct WorkJournalTests {
  private static func page(_ name: String) throws -> String {
    try Checkout.text("Sources/Godwit/Godwit.docc/\(name).md")
  }

  @Test func `the page of formats lists every file of a work folder`() throws {
    let page = try Self.page("Formats")
    for name in WorkFolder.notes.union(WorkFolder.stores) {
      #expect(page.contains("    \(name) ") || page.contains("`\(name)`"), "\(name)")
    }
  }

  @Test func `the page of a run's life tells of every phase`() throws {
    let page = try Self.page("LifeOfARun")
    for phase in WorkJournal.Phase.allCases { #expect(page.contains("| `\(phase.rawValue)` |"), "\(phase)") }
  }

  @Test func `a journal of another version is 73, and a damaged one 65`() throws {
    let folder = try TemporaryFolder()
    var journal = WorkJournal(owner: .init(job: "a", appends: true))
    (journal.phase, journal.support) = (.exchanging, "1 2")
    try journal.write(in: folder.path)
    let found = try #require(try WorkJournal.read(in: folder.path))
    #expect(found.owner == journal.owner && found.phase == .exchanging && found.support == "1 2")
    let file = URL(filePath: folder.file("run.json"))
    let text = try String(contentsOf: file, encoding: .utf8)
    for (other, code) in [
      (text.replacing("\"version\":2", with: "\"version\":1"), GodwitError.Code.cannotCreate),
      (String(text.dropLast(3)), .dataWrong), ("", .dataWrong),
    ] {
      try Data(other.utf8).write(to: file)
      let error = #expect(throws: GodwitError.self) { try WorkJournal.read(in: folder.path) }
      #expect(error?.code == code && error?.remedy?.contains("discard") == true, "\(other)")
    }
  }

  @Test func `a small store of many leaves no journal and begins again`() throws {
    let job = try FaultJob(.smallStore)
    let layer = try FaultLayer(.none)
    // A store with external files needs one while they move.
    var writes = 0
    layer.beforeEach = { if $0.kind == .rename, $0.secondPath?.hasSuffix("/run.json") == true { writes += 1 } }
    try layer.run { _ = try job.run() }
    #expect(writes == 1)
    let stopped = try FaultJob(again: job)
    let control = MigrationControl()
    let summary = try MigrationManager(stopped.job).run(control: control) { _ in control.stop(reason: "test") }
    #expect(summary.outcome == .stopped)
    #expect(try !WorkFolder.exists(forDestination: stopped.destinationPath))
    #expect(try stopped.run().wasResumed == false)
    #expect(try stopped.content() == job.content())
  }

  private struct Died: Error {}

  @Test(arguments: [FaultJob.Kind.smallStore, .everyStage])
  func `a receipt that waits for its place outlives a run that finds the source changed`(kind: FaultJob.Kind) throws {
    let whole = try FaultJob(kind)
    func made(_ fault: FaultJob) throws -> MigrationJob {
      var job = try fault.job
      job.receipt = .besideDestination
      return job
    }
    let reference = try FaultJob(again: whole)
    let layer = try FaultLayer(.none)
    let first = try made(reference)
    try layer.run { _ = try MigrationManager(first).run() }
    // The store has its name, and its receipt has not.
    let linked = try #require(
      layer.operations.firstIndex { $0.kind == .link && $0.secondPath == first.destinationPath })
    let job = try made(whole)
    let dying = try FaultLayer(.death(at: linked + 3))
    #expect(throws: GodwitError.self) { try dying.run { _ = try MigrationManager(job).run() } }
    let receipt = job.workPath + "/receipt.json"
    #expect(try FileManager.default.fileExists(atPath: receipt) && job.isDestinationTaken)
    let connection = try StoreConnection(path: job.sourcePath)
    try connection.execute("UPDATE ZPERSON SET ZNAME = 'changed' WHERE Z_PK = 3")
    try connection.close()
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.code == .cannotCreate)
    #expect(FileManager.default.fileExists(atPath: receipt))
    #expect(try MigrationManager.discard(destination: job.destinationPath))
    #expect(FileManager.default.fileExists(atPath: job.destinationPath + Receipt.suffix))
  }

  @Test func `a store that was put back after a finished exchange keeps its external files`() throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    let path = job.destinationPath
    let (store, support) = (try Data(contentsOf: URL(filePath: path)), SupportFolder(ofStoreAt: path))
    let backup = night.first.folder.file("backup")
    try FileManager.default.copyItem(atPath: support.path, toPath: backup)
    job.hooks.beforeSwapStep = { if $0 == 6 { throw Died() } }
    #expect(throws: Died.self) { try MigrationManager(job).run() }
    // As if the run had died a moment later.
    var journal = try #require(try WorkJournal.read(in: job.workPath))
    #expect(journal.phase == .exchanging)
    journal.phase = .placing
    try journal.write(in: job.workPath)
    for item in [path, support.path] { try FileManager.default.removeItem(atPath: item) }
    try store.write(to: URL(filePath: path))
    try FileManager.default.copyItem(atPath: backup, toPath: support.path)
    (job.existingDestination, job.hooks.beforeSwapStep) = (.fail, { _ in })
    #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(try SecondNight.content(path) == night.old)
  }

  /// A file system gives a freed inode to the next file, and a backup that is copied over a store keeps the inode.
  @Test(arguments: [true, false])
  func `a store that has the inode of the exchanged one is not taken for it`(isNewFile: Bool) throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    let path = job.destinationPath
    let (store, support) = (try Data(contentsOf: URL(filePath: path)), SupportFolder(ofStoreAt: path))
    let backup = night.first.folder.file("backup")
    try FileManager.default.copyItem(atPath: support.path, toPath: backup)
    job.hooks.beforeSwapStep = { if $0 == 6 { throw Died() } }
    #expect(throws: Died.self) { try MigrationManager(job).run() }
    try FileManager.default.removeItem(atPath: support.path)
    try FileManager.default.copyItem(atPath: backup, toPath: support.path)
    if isNewFile {
      try FileManager.default.removeItem(atPath: path)
      try store.write(to: URL(filePath: path))
      let identity = try #require(FileStatus(following: path)?.identity)
      // As if the new file had got the inode of the exchanged store, whose time it cannot have.
      let journal = try #require(try WorkJournal.read(in: job.workPath))
      let mark = try #require(journal.exchange)
      var text = try String(contentsOfFile: job.workPath + "/run.json", encoding: .utf8)
      let made = try #require(mark.made.split(separator: " ").dropFirst(2).last)
      text = text.replacing("\"\(mark.made)\"", with: "\"\(identity) \(made)\"")
      text = text.replacing(/"content":"[^"]*",/, with: "")
      try text.write(toFile: job.workPath + "/run.json", atomically: false, encoding: .utf8)
    } else {
      let file = try FileHandle(forWritingTo: URL(filePath: path))
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: store)
      try file.close()
    }
    (job.existingDestination, job.hooks.beforeSwapStep) = (.fail, { _ in })
    #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(try SecondNight.content(path) == night.old)
  }

  @Test func `a support folder that has the inode of the moved one is not removed`() throws {
    let fault = try FaultJob(.everyStage)
    let job = try fault.job
    let support = SupportFolder(ofStoreAt: job.destinationPath)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    let identity = try #require(FileStatus(named: support.path)?.identity)
    do {
      let folder = try WorkFolder(forDestination: job.destinationPath)
      let mark = "\(identity) 1.5"
      try WorkJournal(owner: job.owner, support: mark).write(in: folder.path)
    }
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.code == .cannotCreate && FileManager.default.fileExists(atPath: support.path))
  }

  @Test func `what an edit of a quarantine left beside a name is not taken for a job's`() throws {
    let fault = try FaultJob(.everyStage)
    let job = try fault.job
    // A killed `quarantine apply`: its support folder has its place, its store has none.
    let support = SupportFolder(ofStoreAt: job.destinationPath)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    try Data("other".utf8).write(to: URL(filePath: support.path(of: "00000000-0000-0000-9000-000000000001")))
    let identity = try #require(FileStatus(named: support.path)?.identity)
    do {
      let folder = try WorkFolder(forDestination: job.destinationPath)
      try WorkJournal(owner: .edits, support: identity.description).write(in: folder.path)
    }
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(try fault.namesLeft() == fault.leftNames)
    let fresh = try FaultJob(again: fault)
    _ = try fresh.run()
    #expect(try fault.content() == fresh.content())
  }
}

import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The journal and its folder tell which work a later run could resume.
struct RunJournalTests {
  private let fixture: MigrationFixture
  private let job: MigrationJob
  private var folder: TemporaryFolder { fixture.folder }

  init() throws {
    fixture = try MigrationFixture.notes()
    job = try fixture.job
  }

  private func journal(_ durability: MigrationJob.Durability = .resumable) throws -> RunJournal {
    try RunJournal(job, in: folder.path, durability)
  }

  private func write(_ name: String, _ text: String = "") throws {
    let path = folder.file(name)
    try FileManager.default.createDirectory(atPath: path.parentPath, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  private func named(_ finished: Int) throws -> WorkJournal.Steps {
    let stamp = try StoreFiles(path: fixture.sourcePath).stamp()
    var steps = WorkJournal.Steps(identity: JobFingerprint(job), stamp: stamp, now: 0, hops: [1, 1])
    let step = WorkJournal.Steps.Step(digest: "", summary: MigrationSummary(outcome: .finished), receipt: nil)
    steps.finished = Array(repeating: step, count: finished)
    return steps
  }

  @Test func `a folder without a journal has nothing to resume, whatever lies there`() throws {
    try write("store.sqlite", "anything")
    #expect(try !journal().isResumable)
  }

  @Test func `a store whose plan is not committed is nothing to resume, and a finished store is`() throws {
    let journal = try journal()
    try journal.update { $0.phase = .making }
    #expect(try !journal.isResumable)
    try StoreConnection(path: folder.file("store.sqlite"), create: true).close()
    #expect(try !journal.isResumable)
    try journal.update { $0.phase = .made }
    #expect(try journal.isResumable)
    try FileManager.default.removeItem(atPath: folder.file("store.sqlite"))
    #expect(try !journal.isResumable)
  }

  @Test func `a ledger that cannot be read is left to the run that reads it`() throws {
    let journal = try journal()
    try journal.update { $0.phase = .making }
    try write("store.sqlite", String(repeating: "no database ", count: 1000))
    #expect(try journal.isResumable)
  }

  @Test func `several steps have something to resume from the hook before the first one on`() throws {
    let journal = try journal()
    let (none, one) = (try named(0), try named(1))
    try journal.update { $0.steps = none }
    #expect(try journal.isResumable)
    try write("step-1/store.sqlite", String(repeating: "no database ", count: 1000))
    #expect(try journal.isResumable)
    try FileManager.default.removeItem(atPath: folder.file("step-1"))
    try journal.update { $0.steps = one }
    #expect(try journal.isResumable)
  }

  @Test func `a run that begins again leaves nothing until something of its store has a name`() throws {
    let journal = try journal(.restart)
    try write("store.sqlite")
    try journal.update { $0.phase = .made }
    #expect(try !journal.isResumable && !WorkFolder.exists(folder.file("run.json")))
    try journal.publish { $0.phase = .exchanging }
    #expect(try journal.isResumable && WorkFolder.exists(folder.file("run.json")))
    journal.forget()
    #expect(try !journal.isResumable)
    journal.delivered()
    #expect(try journal.isResumable)
  }

  @Test func `work that can be resumed stays so`() throws {
    try WorkJournal(owner: job.owner).write(in: folder.path)
    #expect(try journal(.restart).isDurable)
  }

  @Test func `a folder that cannot be looked at may have something to resume`() throws {
    let journal = try journal()
    try journal.update { $0.phase = .making }
    #expect(!journal.mayBeResumable)
    let layer = FaultLayer(.fail(EIO, at: 1), looksAt: folder.path)
    #expect(layer.run { journal.mayBeResumable } && layer.hasStruck)
  }
}

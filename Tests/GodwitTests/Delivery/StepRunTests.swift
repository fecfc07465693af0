import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// One step on its way into the store of its folder.
struct StepRunTests {
  private let fixture: MigrationFixture
  private let folder: StepFolder

  init() throws {
    fixture = try MigrationFixture.notes()
    folder = StepFolder(path: fixture.folder.file("work"))
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
  }

  private func run(
    _ durability: MigrationJob.Durability = .resumable, stoppingAfter chunks: Int = .max
  ) throws -> MigrationSummary {
    let job = try fixture.job
    let journal = try RunJournal(job, in: folder.path, durability)
    if journal.isDurable { try journal.update { $0.owner = job.owner } }
    let control = MigrationControl()
    let watch = StopCondition(control: control, start: Date(), maximumSeconds: nil)
    let run = StepRun(job, in: folder, journal, source: try SourceFiles(job, attach: false), watch: watch)
    defer { run.abandon() }
    var left = chunks
    return try run.run { _ in
      left -= 1
      if left == 0 { control.stop(reason: "test") }
    }.0
  }

  private func texts() throws -> [String] {
    try StoreConnection.openStore(readingAt: folder.storePath).rows("SELECT ZTEXT FROM source.ZNOTE ORDER BY Z_PK")
      .map { $0.map(\.plain).joined() }
  }

  @Test(arguments: [MigrationJob.Durability.resumable, .restart])
  func `a step makes its store in its folder, without a ledger at the end`(durability: MigrationJob.Durability) throws {
    let summary = try run(durability)
    #expect(summary.outcome == .finished && summary.objects == 40 && !summary.wasResumed)
    #expect(try texts() == (1...40).map { "note \($0)" })
    #expect(try Ledger.opened(in: folder.path) == nil)
  }

  @Test func `a step that is done is not made again`() throws {
    let first = try run()
    let before = try Data(contentsOf: URL(filePath: folder.storePath))
    // Without a receipt a step of its own records no outcome: its store names the job.
    let second = try run()
    #expect(second.outcome == .finished && second.wasResumed && first.outcome == .finished)
    #expect(try Data(contentsOf: URL(filePath: folder.storePath)) == before)
  }

  @Test func `a step that is stopped goes on from its ledger`() throws {
    #expect(try run(stoppingAfter: 3).outcome == .stopped)
    let ledger = try #require(try Ledger.opened(in: folder.path))
    #expect(try !ledger.done().isEmpty && !ledger.isComplete())
    let summary = try run()
    #expect(summary.outcome == .finished && summary.wasResumed && summary.objects == 40)
    #expect(try texts().count == 40)
  }

  @Test func `a step that begins again leaves no ledger when it is stopped`() throws {
    #expect(try run(.restart, stoppingAfter: 3).outcome == .stopped)
    #expect(try Ledger.opened(in: folder.path) == nil)
  }

  @Test func `a store of another program at the place of the step's is started over`() throws {
    let other = try StoreConnection(path: folder.storePath, create: true)
    try other.execute("CREATE TABLE other (a)")
    try other.close()
    let summary = try run()
    #expect(summary.outcome == .finished && !summary.wasResumed)
    #expect(try texts().count == 40)
  }
}

import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitDisk
@testable import GodwitJob

/// `run.json`, and the pages that tell of it.
struct WorkJournalTests {
  private static func page(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: "Sources/Godwit/Godwit.docc/\(name).md"), encoding: .utf8)
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
      (text.replacing("\"version\":1", with: "\"version\":2"), GodwitError.Code.cannotCreate),
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
    #expect(!WorkFolder.exists(forDestination: stopped.destinationPath))
    #expect(try stopped.run().wasResumed == false)
    #expect(try stopped.content() == job.content())
  }
}

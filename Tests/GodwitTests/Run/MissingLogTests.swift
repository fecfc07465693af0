import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Stores in WAL mode that were copied without their write-ahead log.
@Suite struct MissingLogTests {
  /// A store in WAL mode.
  private func fixture(rows: Int64) throws -> MigrationFixture {
    let note = EntityDescription.make("Note", ["text": .string])
    let fixture = try MigrationFixture([note], to: [.make("Note", ["text": .string, "more": .string])])
    try fixture.build { store in
      for key in 0..<rows { try store.insert("Note", key: key + 1, attributes: ["text": .init("t")]) }
    }
    fixture.mappings = [try .make("Note", "Note", kind: .copy)]
    try fixture.alter("PRAGMA journal_mode = WAL")
    return fixture
  }

  private func notes(_ fixture: MigrationFixture) throws -> [MigrationNote.Code] {
    try MigrationManager(fixture.job).plan().codedNotes.map(\.code)
  }

  private func put(_ suffix: String, beside fixture: MigrationFixture, bytes: Int) throws {
    try Data(count: bytes).write(to: URL(filePath: fixture.sourcePath + suffix))
  }

  @Test func `the store of the test is in WAL mode and has no log`() throws {
    let fixture = try fixture(rows: 1)
    let head = [UInt8](try Data(contentsOf: URL(filePath: fixture.sourcePath)).prefix(20))
    #expect(head[18] == 2 && head[19] == 2)
    for suffix in ["-wal", "-shm"] {
      #expect(!FileManager.default.fileExists(atPath: fixture.sourcePath + suffix), "\(suffix)")
    }
  }

  @Test func `a store with rows and without a log is whole, as its last writer leaves it`() throws {
    let fixture = try fixture(rows: 2)
    #expect(try notes(fixture) == [])
    #expect(try MigrationManager(fixture.job).run().codedNotes == [])
  }

  @Test func `a -shm without a -wal is noted by plan and run, which is not refused`() throws {
    let fixture = try fixture(rows: 2)
    try put("-shm", beside: fixture, bytes: 32_768)
    #expect(try notes(fixture) == [.logMissing])
    let note = try #require(try MissingLog.note(ofStoreAt: fixture.sourcePath))
    #expect(note.contains("its -shm is there without a -wal") && note.contains("copy the -wal too"))
    let summary = try MigrationManager(fixture.job).run()
    #expect(summary.outcome == .finished && summary.codedNotes.map(\.code) == [.logMissing])
  }

  @Test func `a store without rows is noted, and not one with an empty log beside it`() throws {
    let fixture = try fixture(rows: 0)
    #expect(try MissingLog.note(ofStoreAt: fixture.sourcePath)?.contains("no -wal and no objects") == true)
    try put("-wal", beside: fixture, bytes: 0)
    #expect(try MissingLog.note(ofStoreAt: fixture.sourcePath) == nil)
  }

  @Test(.enabled(if: geteuid() != 0, "root may write to every folder"))
  func `a plan tells that a folder takes no files`() throws {
    let fixture = try fixture(rows: 1)
    let folder = fixture.folder.file("closed")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    #expect(chmod(folder, 0o555) == 0)
    defer { chmod(folder, 0o755) }
    for path in [folder + "/out.sqlite", folder + "/a/b/out.sqlite"] {
      var job = try fixture.job
      job.destinationPath = path
      #expect(try MigrationManager(job).plan().destinationObstacles.map(\.failure) == [.permission])
      let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(error?.code == .permission)
    }
  }

  @Test func `a store without rows in another mode is not noted`() throws {
    let fixture = try fixture(rows: 0)
    try fixture.alter("PRAGMA journal_mode = DELETE")
    #expect(try MissingLog.note(ofStoreAt: fixture.sourcePath) == nil)
    #expect(throws: GodwitError.self) { try MissingLog.note(ofStoreAt: fixture.sourcePath + ".none") }
  }
}

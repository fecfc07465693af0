import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// The leftovers of a killed run are read without a copy of them, and remain unchanged.
struct KilledStatusTests {
  /// A run that was stopped after some chunks, then killed in the middle of the next.
  private func killed() throws -> MigrationFixture {
    let fixture = try MigrationFixture.notes()
    let control = MigrationControl()
    try MigrationManager(fixture.job).run(control: control) { _ in control.stop(reason: "test") }
    let store = WorkFolder.path(forDestination: fixture.destinationPath) + "/store.sqlite"
    let connection = try StoreConnection(path: store)
    for sql in ["PRAGMA cache_size = 1", "PRAGMA cache_spill = 1", "BEGIN IMMEDIATE"] { try connection.execute(sql) }
    try connection.execute("UPDATE godwit_chunk SET done = 1, name = zeroblob(5000)")
    try connection.execute("CREATE TABLE godwit_half AS SELECT zeroblob(4000000) AS A")
    let hot = try [store, store + "-journal"].map { ($0, try Data(contentsOf: URL(filePath: $0))) }
    try connection.execute("ROLLBACK")
    try connection.close()
    for (path, bytes) in hot { try bytes.write(to: URL(filePath: path)) }
    return fixture
  }

  @Test func `'status' and 'plan' of a killed run read through its hot journal`() throws {
    let fixture = try killed()
    let folder = WorkFolder.path(forDestination: fixture.destinationPath)
    let before = try FolderContents(folder)
    let manager = MigrationManager(try fixture.job)
    var status: MigrationStatus?
    let cost = try ThreadCost { status = try manager.status() }
    let line = try #require(status?.lines.first { $0.stage == "create" })
    #expect(line.name == "NoteToNote" && line.done == 1 && line.chunks == 4, "\(line)")
    #expect(cost.writtenBytes == 0 && cost.readBytes < 2_000_000, "\(cost)")
    #expect(try manager.plan().chunks.filter { $0.phase == .create }.count == 4)
    #expect(try FolderContents(folder) == before)
    // The run itself rolls back, and goes on.
    #expect(try manager.run().outcome == .finished)
    #expect(try Verifier(job: fixture.job).run().isClean)
  }
}
